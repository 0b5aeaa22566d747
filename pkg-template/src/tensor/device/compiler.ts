/** What compiles the tapes of a device: the module on this thread, or a worker (remote/remote-compiler.ts). */

import type { Kernels, KernelProgress, LocalEngine, Memory } from '../engine/engine.js';
import { GpuEngine } from '../engine/gpu/gpu-engine.js';
import type { Pending } from '../engine/pending.js';
import type { LocalPlan, Plan } from '../engine/plan.js';
import { Planner } from '../engine/planner.js';
import type { Turns } from '../memory/turns.js';
import type { TensorInstance } from '../module/loading.js';
import type { RawCompiledPlan } from '../module/raw.js';
import { Tuner, type Tuning } from './tuner.js';

/** A compiled tape. It has no memory. */
export interface Compiled {
  readonly plan: Plan;
  readonly kernels: Kernels;
  /** The numbers of a run for the largest dims. */
  readonly words: Uint32Array<ArrayBuffer>;
}

/** What a run would use. */
export interface Trial {
  /** The numbers of a run. */
  readonly words: Uint32Array<ArrayBuffer>;
  /** The dims of the tape. */
  readonly dims: Uint32Array<ArrayBuffer>;
  /** Memory of each slot. */
  readonly slots: readonly Memory[];
  /** Whether runs write the memory of a slot: by an assignment, or as that of numbers. */
  readonly isWritten: (slot: number) => boolean;
  /** Uploads numbers of the caller. */
  readonly transfer: () => void;
}

/** How far the results of a kernel on the GPU and on the CPU are apart. */
export interface KernelComparison {
  /** The kernel's name. */
  readonly kernel: string;
  /** The largest difference of two elements; Infinity where one of them is NaN or infinite and the other is not the same. */
  readonly maxError: number;
  /** The same in units in the last place of the element type; for integers the difference itself. */
  readonly maxUlps: number;
}

/** Compiles tapes for one device. */
export interface Compiler {
  /**
   * Makes a plan of a tape, with a turn of the event loop every 12 ms, and compiles its kernels. Rejects with what the module or the browser's compiler finds
   * wrong, and where the device fails.
   *
   * @param most the largest values of its dims
   * @param caller the waits of the call that the tape is compiled for, where it can be aborted: what is left is then left out
   */
  compile(tape: Float64Array, most: Uint32Array, onProgress: KernelProgress, caller?: Pending): Promise<Compiled>;
  /** The numbers of a run for values of the dims. A worker computes them where it runs, and this is empty. */
  words(compiled: Compiled, dims: Uint32Array): Uint32Array<ArrayBuffer>;
  /** The plan in words. */
  text(compiled: Compiled): string;
  /** Frees what the plan has beside its kernels. */
  free(compiled: Compiled): void;
  /** What was found of tiles so far, as text. */
  readonly found: string;
  /** In a worker: compares the kernels of a trial there; see verify.ts. `name` is that of the program, in messages. */
  verify?(name: string, compiled: Compiled, trial: Trial): Promise<KernelComparison[]>;
}

/** Compiles with the module on this thread. */
export class LocalCompiler implements Compiler {
  private readonly planner: Planner;
  /** What chooses the tiles of products; null on the CPU. */
  private readonly tuner: Tuner | null;

  constructor(
    private readonly instance: TensorInstance,
    private readonly engine: LocalEngine,
    private readonly pending: Pending,
    turns: Turns,
    tuning: Tuning,
  ) {
    this.planner = new Planner(instance, engine.planOptions, turns);
    this.tuner = engine instanceof GpuEngine ? new Tuner(instance, engine, pending, this.planner, tuning) : null;
  }

  get found(): string {
    return this.tuner?.found ?? '';
  }

  async compile(tape: Float64Array, most: Uint32Array, onProgress: KernelProgress, caller?: Pending): Promise<Compiled> {
    const check = () => {
      this.pending.check();
      caller?.check();
    };
    let plan = await this.planner.plan(tape, check);
    try {
      if (this.tuner !== null) plan = await this.tuner.tiled(plan, most, caller);
      const words = this.words({ plan }, most);
      const kernels = await this.engine.compile(plan, onProgress);
      return { plan, kernels, words };
    } catch (error) {
      this.free({ plan });
      throw error;
    }
  }

  words({ plan }: Pick<Compiled, 'plan'>, dims: Uint32Array): Uint32Array<ArrayBuffer> {
    return this.instance.call(() => rawOf(plan).words(dims)) as Uint32Array<ArrayBuffer>;
  }

  text({ plan }: Compiled): string {
    return this.instance.call(() => rawOf(plan).toString());
  }

  free({ plan }: Pick<Compiled, 'plan'>): void {
    if (this.instance.failure === null) this.instance.call(() => rawOf(plan).free());
  }
}

/** The module's handle of a plan that it made on this thread. */
export function rawOf(plan: Plan): RawCompiledPlan {
  return (plan as LocalPlan).raw;
}
