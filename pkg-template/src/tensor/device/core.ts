/**
 * What a device consists of: the engine that computes, the order of work on it, its counters, and its end by a failure or by dispose().
 */

import { ResiduaError } from '../../arguments/errors.js';
import { Accounts, type DeviceStats } from '../engine/accounts.js';
import { CpuEngine } from '../engine/cpu/cpu-engine.js';
import type { Engine, Memory, MemoryRequest } from '../engine/engine.js';
import { GpuEngine } from '../engine/gpu/gpu-engine.js';
import { Pending } from '../engine/pending.js';
import type { Plan } from '../engine/plan.js';
import { Planner } from '../engine/planner.js';
import { Turns } from '../memory/turns.js';
import { WorkQueue } from '../memory/work-queue.js';
import type { TensorInstance } from '../module/loading.js';
import { Tuner, type Tuning } from './tuner.js';

/** Why a device was lost. */
export interface Loss {
  /** 'destroyed' or 'unknown', as WebGPU has it; 'failed' where the WebAssembly module failed. */
  readonly reason: string;
  /** The browser's message. */
  readonly message: string;
}

/** Work in order: it may give the page turns, and gives a result or the promise of one. */
export type OrderedWork<T> = () => Generator<void, T | Promise<T>, void>;

/** The inside of a device. */
export class DeviceCore {
  /** Waits for the device. */
  readonly pending = new Pending();
  /** Counters. */
  readonly accounts = new Accounts();
  /** Where it computes. */
  readonly engine: Engine;
  /** The order of work. */
  readonly queue: WorkQueue;
  /** Resolves when everything on the device is gone. */
  readonly lost: Promise<Loss>;
  /** Whether operations are checked, and numbers as well. */
  readonly checks: boolean | 'finite';
  /** What chooses the tiles of products; null on the CPU. */
  readonly tuner: Tuner | null;
  private readonly planner: Planner;
  private disposed = false;
  /** Removes what waits for a failure of the module. */
  private readonly forget: () => void;

  /** @param gpu where it computes; null for the CPU */
  constructor(
    readonly instance: TensorInstance,
    readonly gpu: GPUDevice | null,
    options: { readonly isTimed: boolean; readonly sliceMs: number; readonly checks: boolean | 'finite'; readonly tuning: Tuning },
  ) {
    this.checks = options.checks;
    const turns = new Turns();
    this.queue = new WorkQueue(turns, (error) => this.fail(error));
    const onGpu = gpu === null ? null : new GpuEngine(gpu, this.accounts, this.pending, turns, options);
    this.engine = onGpu ?? new CpuEngine(instance, this.accounts, this.pending);
    this.planner = new Planner(instance, this.engine.planOptions, turns);
    this.tuner = onGpu === null ? null : new Tuner(instance, onGpu, this.pending, this.planner, options.tuning);
    let lose: (loss: Loss) => void = () => {};
    this.lost = new Promise((resolve) => (lose = resolve));
    // The module and the GPUDevice may live as long as the page, and must not keep a device that nobody refers to.
    const self = new WeakRef(this);
    const end = (loss: Loss, failure: ResiduaError) => {
      lose(loss);
      self.deref()?.end(failure);
    };
    this.forget = instance.whenFailed((failure) => end({ reason: 'failed', message: failure.message }, failure));
    void gpu?.lost.then(({ reason, message }) => {
      end({ reason, message }, new ResiduaError('device-lost', `the GPU device was lost (${reason}): ${message}. Everything stored on it is gone; Device.create() gives a new one`));
    });
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
   * Makes a plan of a tape, with a turn of the event loop every 12 ms. Rejects with what the module finds wrong, and where the device fails.
   *
   * @param caller the waits of the call that the plan is for, where it can be aborted: what is left is then left out
   */
  plan(tape: Float64Array, caller?: Pending): Promise<Plan> {
    return this.planner.plan(tape, () => {
      this.pending.check();
      caller?.check();
    });
  }

  /** The numbers of a run of a plan, for values of its dims. */
  words({ raw }: Plan, dims: Uint32Array): Uint32Array<ArrayBuffer> {
    return this.instance.call(() => raw.words(dims)) as Uint32Array<ArrayBuffer>;
  }

  /** Frees the plan in the module. */
  freePlan({ raw }: Plan): void {
    if (this.instance.failure === null) this.instance.call(() => raw.free());
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
