/** The GPU device of compiled functions. */

import { describe, invalidArgument, ResiduaError } from '../arguments/errors.js';
import { checkOptions, type OptionNames } from '../arguments/options.js';
import { here, type Host, type Instance } from '../module/loading.js';
import { hasWebGpu, pageDevice } from '../module/page-device.js';
import type { RawContext } from '../module/raw.js';
import { makeDisposable } from './dispose.js';

/** Options of GpuContext.create(). */
export interface GpuContextOptions {
  /** Which GPU is preferred where there are several. */
  powerPreference?: 'low-power' | 'high-performance';
  /** The application's own device, so that results can be drawn without leaving the GPU. The application keeps owning it. */
  device?: GPUDevice;
  /**
   * Measures times for `stats().profile`. It costs some microseconds per dispatch, because each dispatch gets a pass of its own. Default
   * false.
   */
  profile?: boolean;
}

const CONTEXT_OPTIONS: OptionNames<GpuContextOptions> = { powerPreference: true, device: true, profile: true };

/** Count and time of one kind of operation. */
export interface StageTimes {
  /** Number of operations. */
  count: number;
  /** Total time in milliseconds, by the page's clock. */
  ms: number;
}

/** Count and time of one kernel. */
export interface KernelTimes {
  /** Number of dispatches. */
  dispatches: number;
  /**
   * Number of dispatches with a known time. Times arrive some turns of the event loop after results, and dispatches may go untimed when
   * many are in flight. Absent without `hasGpuTimes`.
   */
  timed?: number;
  /** Total GPU time of the timed dispatches in milliseconds. Browsers may round each to 0.1 ms. Absent without `hasGpuTimes`. */
  gpuMs?: number;
}

/** The times of a context since it was created. */
export interface ContextProfile {
  /** Waiting for pipelines; simultaneous waits count once. Counts pipelines. */
  compile: StageTimes;
  /** Passing work to the device: upload, encoding, submission. Counts submissions. */
  encode: StageTimes;
  /** Waiting for results, during which the GPU computes, and copying them. Counts results. */
  readBack: StageTimes;
  /** Whether the device has timestamps ('timestamp-query'). Without them kernels are counted and not timed. */
  hasGpuTimes: boolean;
  /** By name: generated kernels as in `kernels()`, those of solvers by their task. */
  kernels: Record<string, KernelTimes>;
}

/** Counters of a context: resources on the device, and operations. */
export interface ContextStats {
  /** Live GPU buffers, pooled ones included. */
  buffers: number;
  /** Their total size in bytes. */
  bufferBytes: number;
  /** The maximum of that size. */
  peakBufferBytes: number;
  /** Compiled pipelines. */
  pipelines: number;
  /** Requests of pipelines that were already compiled. */
  pipelineCacheHits: number;
  /** Recorded dispatches. */
  dispatches: number;
  /** Submitted command buffers. */
  submits: number;
  /** Results that were read back. */
  readbacks: number;
  /** Times; absent unless the context was created with `profile: true`. */
  profile?: ContextProfile;
}

/** A GPU device with its buffers and pipelines. */
export class GpuContext {
  /** The adapter, as far as the browser describes it. */
  readonly adapter: { vendor: string; architecture: string; description: string; isSoftware: boolean };
  /** Resolves with the reason when the device is lost. */
  readonly lost: Promise<{ reason: string; message: string }>;
  /** The same as dispose(), for `using`. */
  declare readonly [Symbol.dispose]: () => void;

  private disposed = false;
  private readonly gpuDevice: GPUDevice | null;

  private constructor(
    private readonly instance: Instance,
    private readonly handle: RawContext,
  ) {
    this.gpuDevice = instance.call(() => handle.device());
    this.adapter = instance.call(() => handle.adapter());
    this.lost = instance
      .wait(() => handle.lost())
      .catch((error: unknown) => ({ reason: 'unknown', message: error instanceof Error ? error.message : String(error) }));
  }

  /** Whether a context can be created here. Never throws. */
  static isAvailable(): Promise<boolean> {
    return isAvailable(here);
  }

  /** Returns the shared context. It is requested on first use, and again after a loss or dispose. Rejects with 'gpu-unavailable'. */
  static default(): Promise<GpuContext> {
    return GpuContext.shared(here);
  }

  /**
   * Creates a context. Rejects with 'gpu-unavailable', with the missing feature or limit in the message, and with 'invalid-argument' for
   * wrong options.
   */
  static create(options: GpuContextOptions = {}): Promise<GpuContext> {
    return GpuContext.make(here, options);
  }

  /** @internal Returns this class for contexts on a host. */
  static on(host: Host): typeof GpuContext {
    let subclass = host === here ? GpuContext : subclasses.get(host);
    if (subclass === undefined) {
      subclass = class extends GpuContext {
        static override isAvailable(): Promise<boolean> {
          return isAvailable(host);
        }
        static override default(): Promise<GpuContext> {
          return GpuContext.shared(host);
        }
        static override create(options: GpuContextOptions = {}): Promise<GpuContext> {
          return GpuContext.make(host, options);
        }
      };
      Object.defineProperty(subclass, 'name', { value: GpuContext.name });
      subclasses.set(host, subclass);
    }
    return subclass;
  }

  private static shared(host: Host): Promise<GpuContext> {
    const known = shared.get(host);
    if (known !== undefined && (known.context === null || known.context.isUsable())) return known.promise;
    // On the page it shares its device with tensors. Without one, the module says what is missing.
    const device = host === here && hasWebGpu() ? pageDevice().catch(() => undefined) : Promise.resolve(undefined);
    const promise = device.then((found) => GpuContext.make(host, found === undefined ? {} : { device: found }));
    const request: SharedContext = { promise, context: null };
    shared.set(host, request);
    request.promise.then(
      (context) => {
        request.context = context;
      },
      () => {
        if (shared.get(host) === request) shared.delete(host);
      },
    );
    return request.promise;
  }

  private static async make(host: Host, options: GpuContextOptions): Promise<GpuContext> {
    checkOptions('GpuContext.create: options', options, CONTEXT_OPTIONS);
    const { powerPreference, device, profile = false } = options;
    if (powerPreference !== undefined && powerPreference !== 'low-power' && powerPreference !== 'high-performance') {
      throw invalidArgument('GpuContext.create: powerPreference', describe(powerPreference), "'low-power' or 'high-performance'");
    }
    // A worker refuses every device with words of its own.
    if (host === here && device !== undefined && !isDevice(device)) throw invalidArgument('GpuContext.create: device', describe(device), 'a GPUDevice');
    if (typeof profile !== 'boolean') throw invalidArgument('GpuContext.create: profile', describe(profile), 'true or false');
    const instance = await host.ready();
    const handle = await instance.wait((module) => module.RawContext.create(powerPreference, device, profile));
    return new (GpuContext.on(host))(instance, handle);
  }

  /** The device. Buffers of other devices cannot be combined with its buffers. Throws 'gpu-unavailable' for a context in a worker. */
  get device(): GPUDevice {
    if (this.gpuDevice !== null) return this.gpuDevice;
    throw new ResiduaError('gpu-unavailable', "GpuContext.device: the device is in the worker, which it can't leave; contexts of 'residua' have theirs on the page");
  }

  /** @internal The device; null in a worker. */
  get deviceOnPage(): GPUDevice | null {
    return this.gpuDevice;
  }

  /** @internal The host of the context. */
  get host(): Host {
    return this.instance.host;
  }

  /** Returns the counters. */
  stats(): ContextStats {
    return this.use((handle) => handle.stats());
  }

  /** Frees unused buffers of the pool. */
  trim(): void {
    this.use((handle) => handle.trim());
  }

  /**
   * Frees all resources. Functions that were compiled on the context reject with 'disposed' from then on. A device of the application is
   * not destroyed.
   */
  dispose(): void {
    if (this.disposed) return;
    this.disposed = true;
    if (this.instance.failure === null) this.instance.call(() => this.handle.dispose());
  }

  /** @internal Returns the handle with its instance of the module. */
  raw(): { instance: Instance; handle: RawContext } {
    return this.use((handle) => ({ instance: this.instance, handle }));
  }

  private isUsable(): boolean {
    return !this.disposed && this.host.isRunning(this.instance) && !this.instance.call(() => this.handle.isLost());
  }

  private use<T>(work: (handle: RawContext) => T): T {
    if (this.disposed) throw new ResiduaError('disposed', 'the GpuContext was used after dispose()');
    return this.instance.call(() => work(this.handle));
  }
}

makeDisposable(GpuContext);

/** Whether a value may be a GPUDevice, perhaps of another window. The module checks more. */
function isDevice(value: unknown): boolean {
  return typeof value === 'object' && value !== null && typeof (value as Partial<GPUDevice>).createBuffer === 'function';
}

async function isAvailable(host: Host): Promise<boolean> {
  try {
    const instance = await host.ready();
    return await instance.wait((module) => module.RawContext.isAvailable());
  } catch {
    return false;
  }
}

interface SharedContext {
  readonly promise: Promise<GpuContext>;
  context: GpuContext | null;
}

const shared = /* @__PURE__ */ new WeakMap<Host, SharedContext>();
const subclasses = /* @__PURE__ */ new WeakMap<Host, typeof GpuContext>();
