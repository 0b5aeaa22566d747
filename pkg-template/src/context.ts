/** The GPU device that compiled functions run on. */

import { makeDisposable } from './dispose.js';
import { describe, invalidArgument, ResiduaError } from './errors.js';
import { here, type Host, type Instance } from './loading.js';
import { checkOptions } from './numeric-arguments.js';
import type { RawContext } from './raw.js';

/** How a context is to be had. */
export interface GpuContextOptions {
  /** Which GPU to prefer where there are several. */
  powerPreference?: 'low-power' | 'high-performance';
  /** The application's own device, so that results can be drawn without leaving the GPU. The application keeps owning it. */
  device?: GPUDevice;
  /**
   * Measures where the time goes, for `stats().profile`. It costs some microseconds a dispatch, since the GPU is timed by giving each a pass
   * of its own. Default false.
   */
  profile?: boolean;
}

/** Something that was done several times. */
export interface StageTimes {
  /** How often. */
  count: number;
  /** Milliseconds in all, by the page's clock. */
  ms: number;
}

/** What one kernel did. */
export interface KernelTimes {
  /** How often it ran. */
  dispatches: number;
  /** Of these, those whose time is known: times come some turns after results, and many in flight may go untimed. Absent without `hasGpuTimes`. */
  timed?: number;
  /** The GPU's milliseconds of all that were timed. Browsers may round each to 0.1 ms. Absent without `hasGpuTimes`. */
  gpuMs?: number;
}

/** Where the time of a context went since it was created. */
export interface ContextProfile {
  /** Waiting for pipelines until they could be used, what was waited for at the same time once; counts pipelines. */
  compile: StageTimes;
  /** Handing work to the device: uploading, encoding, submitting; counts submissions. */
  encode: StageTimes;
  /** Waiting for results and copying them, what the GPU computes meanwhile included; counts results read back. */
  readBack: StageTimes;
  /** The device has timestamps ('timestamp-query'); without them kernels are counted and not timed. */
  hasGpuTimes: boolean;
  /** By name: generated ones as in `kernels()`, solvers' by what they do. */
  kernels: Record<string, KernelTimes>;
}

/** What lives on the device, and what it was asked to do. */
export interface ContextStats {
  /** Live GPU buffers, pooled ones included. */
  buffers: number;
  /** Their size in bytes. */
  bufferBytes: number;
  /** The largest that size has been. */
  peakBufferBytes: number;
  /** Pipelines compiled. */
  pipelines: number;
  /** Pipelines that were there already. */
  pipelineCacheHits: number;
  /** Dispatches recorded. */
  dispatches: number;
  /** Command buffers submitted. */
  submits: number;
  /** Results read back. */
  readbacks: number;
  /** Where the time went; absent unless the context was created with `profile: true`. */
  profile?: ContextProfile;
}

/** A GPU device with its buffers and pipelines. */
export class GpuContext {
  /** What the device runs on, as far as the browser tells. */
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

  /** Whether a context can be had here. Never throws. */
  static isAvailable(): Promise<boolean> {
    return isAvailable(here);
  }

  /** The shared context, requested on first use and again after a loss or dispose. Rejects with 'gpu-unavailable'. */
  static default(): Promise<GpuContext> {
    return GpuContext.shared(here);
  }

  /** A context of its own. Rejects with 'gpu-unavailable', its message saying what is missing. */
  static create(options: GpuContextOptions = {}): Promise<GpuContext> {
    return GpuContext.make(here, options);
  }

  /** @internal This class for contexts on a host. */
  static on(host: Host): typeof GpuContext {
    let kind = host === here ? GpuContext : kinds.get(host);
    if (kind === undefined) {
      kind = class extends GpuContext {
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
      Object.defineProperty(kind, 'name', { value: GpuContext.name });
      kinds.set(host, kind);
    }
    return kind;
  }

  private static shared(host: Host): Promise<GpuContext> {
    const known = shared.get(host);
    if (known !== undefined && (known.context === null || known.context.isUsable())) return known.promise;
    const request: SharedContext = { promise: GpuContext.make(host, {}), context: null };
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
    checkOptions('GpuContext.create: options', options);
    const { powerPreference, device, profile = false } = options;
    if (powerPreference !== undefined && powerPreference !== 'low-power' && powerPreference !== 'high-performance') {
      throw invalidArgument('GpuContext.create: powerPreference', describe(powerPreference), "'low-power' or 'high-performance'");
    }
    if (typeof profile !== 'boolean') throw invalidArgument('GpuContext.create: profile', describe(profile), 'true or false');
    const instance = await host.ready();
    const handle = await instance.wait((module) => module.RawContext.create(powerPreference, device, profile));
    return new (GpuContext.on(host))(instance, handle);
  }

  /** The device; buffers of other devices can't be mixed with its own. Throws 'gpu-unavailable' where it is out of reach, in a worker. */
  get device(): GPUDevice {
    if (this.gpuDevice !== null) return this.gpuDevice;
    throw new ResiduaError('gpu-unavailable', "GpuContext.device: the device is in the worker, which it can't leave; contexts of 'residua' have theirs on the page");
  }

  /** @internal Where it is. */
  get host(): Host {
    return this.instance.host;
  }

  /** Counts of what lives on the device and of what it was asked to do. */
  stats(): ContextStats {
    return this.use((handle) => handle.stats());
  }

  /** Frees what the pool holds unused. */
  trim(): void {
    this.use((handle) => handle.trim());
  }

  /** Frees everything; functions compiled on it reject with 'disposed' from now on. The application's own device stays. */
  dispose(): void {
    if (this.disposed) return;
    this.disposed = true;
    if (this.instance.failure === null) this.instance.call(() => this.handle.dispose());
  }

  /** @internal The handle, with the instance that it lives in. */
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
const kinds = /* @__PURE__ */ new WeakMap<Host, typeof GpuContext>();
