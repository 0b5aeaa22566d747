/** The GPU device that compiled functions run on. */

import { makeDisposable } from './dispose.js';
import { describe, invalidArgument, ResiduaError } from './errors.js';
import { isRunning, ready, type Instance } from './loading.js';
import { checkOptions } from './numeric-arguments.js';
import type { RawContext } from './raw.js';

/** How a context is to be had. */
export interface GpuContextOptions {
  /** Which GPU to prefer where there are several. */
  powerPreference?: 'low-power' | 'high-performance';
  /** The application's own device, so that results can be drawn without leaving the GPU. The application keeps owning it. */
  device?: GPUDevice;
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
}

/** A GPU device with its buffers and pipelines. */
export class GpuContext {
  /** The device; buffers of other devices can't be mixed with its own. */
  readonly device: GPUDevice;
  /** What the device runs on, as far as the browser tells. */
  readonly adapter: { vendor: string; architecture: string; description: string; isSoftware: boolean };
  /** Resolves with the reason when the device is lost. */
  readonly lost: Promise<{ reason: string; message: string }>;
  /** The same as dispose(), for `using`. */
  declare readonly [Symbol.dispose]: () => void;

  private disposed = false;

  private constructor(
    private readonly instance: Instance,
    private readonly handle: RawContext,
  ) {
    this.device = instance.call(() => handle.device());
    this.adapter = instance.call(() => handle.adapter());
    this.lost = instance
      .wait(() => handle.lost())
      .catch((error: unknown) => ({ reason: 'unknown', message: error instanceof Error ? error.message : String(error) }));
  }

  /** Whether a context can be had here. Never throws. */
  static async isAvailable(): Promise<boolean> {
    try {
      const instance = await ready();
      return await instance.wait((module) => module.RawContext.isAvailable());
    } catch {
      return false;
    }
  }

  /** The shared context, requested on first use and again after a loss or dispose. Rejects with 'gpu-unavailable'. */
  static default(): Promise<GpuContext> {
    if (shared !== null && (shared.context === null || shared.context.isUsable())) return shared.promise;
    const request: SharedContext = { promise: GpuContext.create(), context: null };
    shared = request;
    request.promise.then(
      (context) => {
        request.context = context;
      },
      () => {
        if (shared === request) shared = null;
      },
    );
    return request.promise;
  }

  /** A context of its own. Rejects with 'gpu-unavailable', its message saying what is missing. */
  static async create(options: GpuContextOptions = {}): Promise<GpuContext> {
    checkOptions('GpuContext.create: options', options);
    const { powerPreference, device } = options;
    if (powerPreference !== undefined && powerPreference !== 'low-power' && powerPreference !== 'high-performance') {
      throw invalidArgument('GpuContext.create: powerPreference', describe(powerPreference), "'low-power' or 'high-performance'");
    }
    const instance = await ready();
    const handle = await instance.wait((module) => module.RawContext.create(powerPreference, device));
    return new GpuContext(instance, handle);
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
    return !this.disposed && isRunning(this.instance) && !this.instance.call(() => this.handle.isLost());
  }

  private use<T>(work: (handle: RawContext) => T): T {
    if (this.disposed) throw new ResiduaError('disposed', 'the GpuContext was used after dispose()');
    return this.instance.call(() => work(this.handle));
  }
}

makeDisposable(GpuContext);

interface SharedContext {
  readonly promise: Promise<GpuContext>;
  context: GpuContext | null;
}

let shared: SharedContext | null = null;
