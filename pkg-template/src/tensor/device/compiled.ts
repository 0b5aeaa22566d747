/** Tapes that were compiled for a device: plans with their kernels. */

import type { Kernels, KernelProgress } from '../engine/engine.js';
import type { Pending } from '../engine/pending.js';
import type { Plan } from '../engine/plan.js';
import type { Tape } from '../recipe/tape.js';
import type { DeviceCore } from './core.js';

/** A compiled tape. It has no memory. */
export interface Compiled {
  readonly plan: Plan;
  readonly kernels: Kernels;
  /** The numbers of a run for the largest dims. */
  readonly words: Uint32Array<ArrayBuffer>;
}

/**
 * Compiles a tape. Rejects with what the module or the browser's compiler finds wrong.
 *
 * @param most the largest values of its dims
 * @param caller the waits of the call that the tape is compiled for, where it can be aborted
 */
export async function compileTape(core: DeviceCore, tape: Float64Array, most: Uint32Array, onProgress: KernelProgress, caller?: Pending): Promise<Compiled> {
  core.check();
  let plan = await core.plan(tape, caller);
  try {
    if (core.tuner !== null) plan = await core.tuner.tiled(plan, most, caller);
    const words = core.words(plan, most);
    const kernels = await core.engine.compile(plan, onProgress);
    return { plan, kernels, words };
  } catch (error) {
    core.freePlan(plan);
    throw error;
  }
}

/** Compiled tapes that are kept. */
const KEPT = 256;

interface Entry {
  compiled: Compiled | null;
  readonly ready: Promise<Compiled>;
}

/** Tapes without dims of the caller by their content, so that a recipe of the same structure is compiled once, whatever its numbers are. */
export class CompiledTapes {
  private readonly known = new Map<string, Entry>();

  constructor(private readonly core: DeviceCore) {}

  /** Returns a compiled tape, or the promise of one where it has to be compiled, with the words of the `numbers` that it was compiled for. */
  get({ tape, numbers }: Pick<Tape, 'tape' | 'numbers'>): Compiled | Promise<Compiled> {
    // By bits, so that 0 and -0 are two numbers.
    const key = new Uint32Array(tape.buffer, tape.byteOffset, 2 * tape.length).join();
    const known = this.known.get(key);
    if (known !== undefined) {
      // The latest used is kept longest.
      this.known.delete(key);
      this.known.set(key, known);
      return known.compiled ?? known.ready;
    }
    const { core } = this;
    const ready = compileTape(core, tape, numbers, () => {}).then((compiled) => {
      // Its numbers are known, so that the module's part is not needed.
      core.freePlan(compiled.plan);
      return compiled;
    });
    const entry: Entry = { compiled: null, ready };
    this.known.set(key, entry);
    ready.then(
      (compiled) => (entry.compiled = compiled),
      () => this.known.delete(key),
    );
    if (this.known.size > KEPT) this.known.delete(this.known.keys().next().value as string);
    return ready;
  }
}
