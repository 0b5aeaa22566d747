/**
 * What a device consists of: the engine that computes, the order of work on it, its counters, and its end by a failure or by dispose().
 */

import { ResiduaError } from '../../arguments/errors.js';
import { Accounts, type DeviceStats } from '../engine/accounts.js';
import { CpuEngine } from '../engine/cpu/cpu-engine.js';
import type { Engine, Memory, MemoryRequest } from '../engine/engine.js';
import { GpuEngine } from '../engine/gpu/gpu-engine.js';
import { Pending } from '../engine/pending.js';
import { Turns } from '../memory/turns.js';
import { WorkQueue } from '../memory/work-queue.js';
import type { TensorInstance } from '../module/loading.js';
import { LocalCompiler, type Compiler } from './compiler.js';
import type { Tuning } from './tuner.js';

/** Why a device was lost. */
export interface Loss {
  /** 'destroyed' or 'unknown', as WebGPU has it; 'failed' where the WebAssembly module failed, or a worker has ended. */
  readonly reason: string;
  /** The browser's message. */
  readonly message: string;
}

/** Work in order: it may give the page turns, and gives a result or the promise of one. */
export type OrderedWork<T> = () => Generator<void, T | Promise<T>, void>;

/** What a GPU has. */
export interface DeviceFeatures {
  /** 'shader-f16'. */
  readonly f16: boolean;
  /** 'subgroups'. */
  readonly subgroups: boolean;
  /** 'timestamp-query'. */
  readonly timestamps: boolean;
}

/** What computes for a device: the module and a GPU on this thread, or a worker. */
export interface DeviceParts {
  readonly accounts: Accounts;
  readonly pending: Pending;
  readonly engine: Engine;
  readonly compiler: Compiler;
  /** The module on this thread; null where a worker computes. */
  readonly instance: TensorInstance | null;
  /** Where it computes; null for the CPU, and where a worker computes. */
  readonly gpu: GPUDevice | null;
  readonly features: DeviceFeatures;
  /** Calls `end` when everything is gone. Returns what removes it. */
  watch(end: (loss: Loss, failure: ResiduaError) => void): () => void;
}

/** The inside of a device. */
export class DeviceCore {
  /** Waits for the device. */
  readonly pending: Pending;
  /** Counters. */
  readonly accounts: Accounts;
  /** Where it computes. */
  readonly engine: Engine;
  /** What compiles for it. */
  readonly compiler: Compiler;
  /** The module on this thread; null where a worker computes. */
  readonly instance: TensorInstance | null;
  /** The GPUDevice on this thread, if it computes there. */
  readonly gpu: GPUDevice | null;
  /** What its GPU has. */
  readonly features: DeviceFeatures;
  /** The order of work. */
  readonly queue: WorkQueue;
  /** Resolves when everything on the device is gone. */
  readonly lost: Promise<Loss>;
  private disposed = false;
  /** Removes what waits for the end of what computes. */
  private readonly forget: () => void;

  /** @param checks whether operations are checked, and numbers as well */
  constructor(
    parts: DeviceParts,
    readonly checks: boolean | 'finite',
    turns: Turns = new Turns(),
  ) {
    ({ pending: this.pending, accounts: this.accounts, engine: this.engine, compiler: this.compiler, instance: this.instance, gpu: this.gpu } = parts);
    this.features = Object.freeze({ ...parts.features });
    this.queue = new WorkQueue(turns, (error) => this.fail(error));
    let lose: (loss: Loss) => void = () => {};
    this.lost = new Promise((resolve) => (lose = resolve));
    this.forget = parts.watch(DeviceCore.ender(new WeakRef(this), lose));
  }

  /**
   * What ends a device. The module, the GPUDevice and the worker keep it, may live as long as the page, and must not keep a device that nobody refers to. Made in the
   * constructor it would keep what all closures there use, the device among it.
   */
  private static ender(device: WeakRef<DeviceCore>, lose: (loss: Loss) => void): (loss: Loss, failure: ResiduaError) => void {
    return (loss, failure) => {
      lose(loss);
      device.deref()?.end(failure);
    };
  }

  /** A device of the module on this thread. @param gpu where it computes; null for the CPU */
  static local(instance: TensorInstance, gpu: GPUDevice | null, options: { readonly isTimed: boolean; readonly sliceMs: number; readonly checks: boolean | 'finite'; readonly tuning: Tuning }): DeviceCore {
    const [pending, accounts, turns] = [new Pending(), new Accounts(), new Turns()];
    const isSoftware = gpu !== null && instance.call((module) => module.softwareReason(gpu.adapterInfo)) !== undefined;
    const engine = gpu === null ? new CpuEngine(instance, accounts, pending) : new GpuEngine(gpu, accounts, pending, turns, { ...options, isSoftware });
    const compiler = new LocalCompiler(instance, engine, pending, turns, options.tuning);
    const has = (feature: string) => gpu?.features.has(feature) === true;
    const features = { f16: has('shader-f16'), subgroups: has('subgroups'), timestamps: has('timestamp-query') };
    const watch: DeviceParts['watch'] = (end) => {
      void gpu?.lost.then(({ reason, message }) => {
        end({ reason, message }, new ResiduaError('device-lost', `the GPU device was lost (${reason}): ${message}. Everything stored on it is gone; Device.create() gives a new one`));
      });
      return instance.whenFailed((failure) => end({ reason: 'failed', message: failure.message }, failure));
    };
    return new DeviceCore({ accounts, pending, engine, compiler, instance, gpu, features, watch }, options.checks, turns);
  }

  /** Where it computes, in messages. */
  get placeText(): string {
    return this.instance === null ? 'in a worker' : `on the ${this.engine.backend === 'gpu' ? 'GPU' : 'CPU'}`;
  }

  /** Whether dispose() was called. */
  get isDisposed(): boolean {
    return this.disposed;
  }

  /** Whether calls can succeed: it was not disposed of or lost. */
  get isUsable(): boolean {
    return this.pending.failure === null;
  }

  /** Throws 'disposed' or the failure of the device. */
  check(): void {
    this.pending.check();
  }

  /** Allocates memory. Throws 'limit-exceeded' and 'out-of-memory'; a GPU tells the latter later, as `failure` of the memory. */
  allocate(request: MemoryRequest): Memory {
    this.check();
    return this.engine.allocate(request);
  }

  /** Frees memory after all earlier work. */
  free(memory: Memory, isReusable = true): void {
    if (!this.isUsable) return;
    this.queue.push(() => this.engine.free(memory, isReusable));
  }

  /**
   * Does work after all earlier work, and gives its result. Rejects with what it throws, and when the device fails or is disposed.
   *
   * @param ready the work waits for it, and rejects if it does
   */
  inOrder<T>(work: OrderedWork<T>, ready?: Promise<unknown>): Promise<T> {
    // Where the check below throws, nobody else waits for it.
    ready?.catch(() => {});
    const answer = new Promise<T>((resolve, reject) => {
      this.check();
      ready?.catch(reject);
      this.queue.push(function* () {
        try {
          resolve(yield* work());
        } catch (error) {
          reject(error as Error);
        }
      }, ready);
    });
    // The failure of the device may be reported in its place.
    answer.catch(() => {});
    return this.pending.wait(answer);
  }

  /** Does work that gives the page no turn after all earlier work, and gives its result. */
  afterEarlier<T>(work: () => T | Promise<T>): Promise<T> {
    const answer = new Promise<T>((resolve, reject) => {
      this.check();
      this.queue.push(() => {
        try {
          resolve(work());
        } catch (error) {
          reject(error as Error);
        }
      });
    });
    answer.catch(() => {});
    return this.pending.wait(answer);
  }

  /** Waits until it is known whether memory was allocated, and throws 'out-of-memory' if some was not. */
  async checkAllocated(memories: Iterable<Memory>): Promise<void> {
    await this.pending.wait(this.engine.allocated());
    for (const { failure } of memories) if (failure !== null) throw failure;
  }

  /** A copy of the counters. */
  stats(): DeviceStats {
    return this.accounts.snapshot();
  }

  /** Ends everything on the device. */
  dispose(): void {
    if (this.disposed) return;
    this.disposed = true;
    this.forget();
    this.end(new ResiduaError('disposed', 'the Device was used after dispose()'));
    this.engine.dispose();
  }

  /** Ends the device by a failure of deferred work. */
  private fail(error: unknown): void {
    this.end(error instanceof ResiduaError ? error : new ResiduaError('internal', `work on the device failed: ${String(error)}`, { cause: error }));
  }

  private end(reason: ResiduaError): void {
    this.queue.clear();
    this.pending.fail(reason);
  }
}
