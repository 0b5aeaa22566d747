/** Recipes that are computed once, for reads and stores. */

import { invalidArgument, invalidGraph } from '../../arguments/errors.js';
import type { Memory } from '../engine/engine.js';
import type { Pending } from '../engine/pending.js';
import { elementBytes, paddedBytes } from '../memory/numbers.js';
import type { Node } from '../recipe/node.js';
import type { Assignment } from '../recipe/tape.js';
import { knownSizes } from '../size.js';
import { Cell, checkAliases } from './cell.js';
import { checksOf } from './checks.js';
import { CompiledRecipes, type Executable, type Written } from './compiled.js';
import type { DeviceCore } from './core.js';
import { isRandomSource, KEY_WORDS, writeKey } from './random-key.js';
import { writeRecipe } from './written.js';

/** What takes results: memory of each result in order, which is freed afterwards unless `keep` is called for it. */
export type Taker<T> = (results: readonly Memory[], keep: (memory: Memory) => void) => T | Promise<T>;

/** Computes recipes on a device. */
export class Evaluations {
  private readonly recipes: CompiledRecipes;

  constructor(private readonly core: DeviceCore) {
    this.recipes = new CompiledRecipes(core);
  }

  /**
   * Computes results and assignments with what stored tensors hold when it is their turn, those too that are disposed of after the call. Rejects with
   * 'out-of-memory' and 'limit-exceeded'. Throws 'disposed' where a stored tensor was disposed of before, 'invalid-argument' for a recipe with a Dim, and
   * 'invalid-graph' for one that uses inputs of a program or of another device.
   *
   * @param what the call, in messages
   * @param caller the waits of the call, where it can be aborted: what is left of the work is then left out
   */
  run<T>(what: string, results: readonly Node[], assignments: readonly Assignment[], take: Taker<T>, caller?: Pending): Promise<T> {
    const { core } = this;
    for (const node of results) knownSizes(what, node.shape);
    const written = writeRecipe(results, checksOf(core)?.with(what, results, assignments) ?? assignments, true);
    checkSources(what, core, written);
    checkAliases(what, written.inputs, assignments);
    const [dim] = written.dims;
    if (dim !== undefined) throw invalidArgument(what, `a recipe with the Dim ${dim.name}`, 'one of known sizes, as a Dim has its size in runs of a program');
    const known = this.recipes.get(written);
    const isReady = !(known instanceof Promise);
    let compiled = isReady ? known : null;
    const ready = isReady ? undefined : known.then((found) => (compiled = found));
    // What frees this memory stands behind this work.
    const stored = written.inputs.map(({ source }) => (source instanceof Cell ? source.memory : null));
    const work = () => compute(core, what, written, stored, compiled as Executable, take, caller);
    return core.inOrder(work, ready);
  }
}

/** Throws unless all inputs are those of one device: 'invalid-graph' for an input of a program or of another device, 'disposed'. */
function checkSources(what: string, core: DeviceCore, { inputs }: Written): void {
  for (const { source } of inputs) {
    if (source instanceof Cell) {
      if (source.core !== core) throw invalidGraph(`${what}: a recipe uses stored tensors of two devices; takes those of one`);
      source.check(what);
    } else if (!isRandomSource(source)) {
      throw invalidGraph(`${what}: the recipe uses an input of a program, or a tensor of the body of a loop or of vmap(), which has numbers there alone`);
    }
  }
}

function* compute<T>(core: DeviceCore, what: string, { inputs, numbers }: Written, stored: readonly (Memory | null)[], compiled: Executable, take: Taker<T>, caller: Pending | undefined): Generator<void, Promise<T>, void> {
  caller?.check();
  const { engine } = core;
  const owned = new Set<Memory>();
  const allocate = (bytes: number) => {
    const memory = engine.allocate({ what, bytes: paddedBytes(bytes), purpose: 'program' });
    owned.add(memory);
    return memory;
  };
  const free = () => {
    for (const memory of owned) engine.free(memory, true);
  };
  try {
    const slots = inputs.map(({ source }, slot) => {
      const own = stored[slot] ?? null;
      if (own !== null) return own;
      const key = new Uint32Array(KEY_WORDS);
      if (isRandomSource(source)) writeKey(key, source, 0);
      const memory = allocate(key.byteLength);
      engine.write(memory, 0, new Uint8Array(key.buffer));
      return memory;
    });
    // Each run has a runner, so that no words change.
    const { runner, results: found } = compiled.load(allocate, true);
    try {
      runner.setWords(compiled.wordsOfNumbers(numbers), numbers);
      for (const _ of runner.run(slots, caller) ?? []) {
        yield;
        caller?.check();
      }
    } finally {
      runner.dispose();
    }
    const used = new Set<Memory>();
    const results = found.map((memory) => {
      // Two results of one place have memory of their own.
      if (!used.has(memory)) {
        used.add(memory);
        return memory;
      }
      const copy = allocate(memory.bytes);
      engine.copy(memory, copy, memory.bytes);
      return copy;
    });
    const taken = Promise.resolve(take(results, (memory) => void owned.delete(memory)));
    return finish(core, [...slots, ...owned, ...results], taken);
  } finally {
    free();
  }
}

async function finish<T>(core: DeviceCore, memories: readonly Memory[], taken: Promise<T>): Promise<T> {
  const [result] = await Promise.all([taken, core.checkAllocated(memories)]);
  return result;
}

/** Bytes of the elements of a node whose sizes are known. */
export function nodeBytes({ dtype, shape }: Node): number {
  return elementBytes(dtype, knownSizes('a recipe', shape));
}

const evaluations = /* @__PURE__ */ new WeakMap<DeviceCore, Evaluations>();

/** Returns what computes recipes on a device. */
export function evaluationsOf(core: DeviceCore): Evaluations {
  let found = evaluations.get(core);
  if (found === undefined) evaluations.set(core, (found = new Evaluations(core)));
  return found;
}
