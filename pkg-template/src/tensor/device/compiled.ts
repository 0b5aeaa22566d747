/** Recipes that were compiled for a device: plans with their kernels. */

import type { KernelProgress, Memory, Runner } from '../engine/engine.js';
import type { Pending } from '../engine/pending.js';
import { memoryOf, ownedPlaces } from '../engine/places.js';
import { isDispatch, NOTHING_VARIES, STEP_WORDS, wordsAt, type Place } from '../engine/plan.js';
import type { Tape } from '../recipe/tape.js';
import type { Compiled } from './compiler.js';
import type { DeviceCore } from './core.js';

/** What a run needs of a recipe: a plan, or a schedule of several. It has no memory. */
export interface Executable {
  /** The numbers of a run for the largest dims. */
  readonly words: Uint32Array<ArrayBuffer>;
  /** How many kernels a run dispatches for the largest dims; of a loop those of a step. */
  readonly dispatches: number;
  /** What a run does, in words. */
  readonly text: string;
  /** The kernels, and how often they are dispatched. */
  kernels(): { name: string; wgsl: string; dispatches: number }[];
  /** The numbers of a run for values of its dims. */
  wordsFor(dims: Uint32Array): Uint32Array<ArrayBuffer>;
  /** The same for dims that no size has, from those for the largest ones; also after `free`. */
  wordsOfNumbers(dims: Uint32Array): Uint32Array<ArrayBuffer>;
  /** Allocates the memory of runs. `isOnce`: the runner's numbers are set once. */
  load(allocate: (bytes: number) => Memory, isOnce?: boolean): Loaded;
  /** Frees the module's part. */
  free(): void;
}

/** A recipe with its memory. */
export interface Loaded {
  readonly runner: Runner;
  /** The memory of each result. */
  readonly results: readonly Memory[];
  /** All memory that runs write. */
  readonly memories: readonly Memory[];
}

/** A compiled tape. */
export class CompiledTape implements Executable {
  constructor(
    private readonly core: DeviceCore,
    readonly compiled: Compiled,
  ) {}

  get words(): Uint32Array<ArrayBuffer> {
    return this.compiled.words;
  }

  get dispatches(): number {
    const { plan, words } = this.compiled;
    return plan.steps.filter((step, k) => isDispatch(step) && words[k * STEP_WORDS] !== 0).length;
  }

  get text(): string {
    return this.core.compiler.text(this.compiled);
  }

  kernels(): { name: string; wgsl: string; dispatches: number }[] {
    const { kernels, steps } = this.compiled.plan;
    return kernels.map(({ name, text }, k) => ({ name, wgsl: text, dispatches: steps.filter((step) => isDispatch(step) && step.kernel === k).length }));
  }

  wordsFor(dims: Uint32Array): Uint32Array<ArrayBuffer> {
    return this.core.compiler.words(this.compiled, dims);
  }

  wordsOfNumbers(dims: Uint32Array): Uint32Array<ArrayBuffer> {
    return wordsAt(this.compiled.plan, this.words, dims);
  }

  load(allocate: (bytes: number, kind: Place['kind']) => Memory, isOnce = false): Loaded & { places: (Memory | null)[] } {
    const { compiled, words, core } = this;
    const { plan, kernels } = compiled;
    const places = ownedPlaces(plan, core.engine, allocate);
    const runner = core.engine.runner(isOnce ? { ...plan, varying: NOTHING_VARIES } : plan, kernels, places, words);
    // No result is a slot.
    return { runner, places, results: plan.results.map((place) => memoryOf(plan, places, [], place)), memories: places.filter((memory) => memory !== null) };
  }

  free(): void {
    this.core.compiler.free(this.compiled);
  }
}

/**
 * Compiles a tape. Rejects with what the module or the browser's compiler finds wrong.
 *
 * @param most the largest values of its dims
 * @param caller the waits of the call that the tape is compiled for, where it can be aborted
 */
export async function compileTape(core: DeviceCore, tape: Float64Array, most: Uint32Array, onProgress: KernelProgress, caller?: Pending): Promise<CompiledTape> {
  return new CompiledTape(core, await core.compiler.compile(tape, most, onProgress, caller));
}

/** A recipe that is written for the module. */
export interface Written extends Pick<Tape, 'inputs' | 'dims' | 'bounds' | 'numbers'> {
  /** Equal for recipes that differ in their memory alone. */
  key(): string;
  /** Compiles it for the largest values of its dims. */
  compile(core: DeviceCore, most: Uint32Array, onProgress: KernelProgress, caller?: Pending): Promise<Executable>;
}

/** What tells a tape from others: its bits, so that 0 and -0 are two numbers. */
export function keyOf({ tape }: Pick<Tape, 'tape'>): string {
  return new Uint32Array(tape.buffer, tape.byteOffset, 2 * tape.length).join();
}

/** Compiled recipes that are kept. */
const KEPT = 256;

interface Entry {
  compiled: Executable | null;
  readonly ready: Promise<Executable>;
}

/** Recipes without dims of the caller by their content, so that one of the same structure is compiled once, whatever its numbers are. */
export class CompiledRecipes {
  private readonly known = new Map<string, Entry>();

  constructor(private readonly core: DeviceCore) {}

  /** Returns a compiled recipe, or the promise of one where it has to be compiled, with the words of the `numbers` that it was compiled for. */
  get(written: Written): Executable | Promise<Executable> {
    const key = written.key();
    const known = this.known.get(key);
    if (known !== undefined) {
      // The latest used is kept longest.
      this.known.delete(key);
      this.known.set(key, known);
      return known.compiled ?? known.ready;
    }
    const ready = written.compile(this.core, written.numbers, () => {}).then((compiled) => {
      // Its numbers are known, so that the module's part is not needed.
      compiled.free();
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
