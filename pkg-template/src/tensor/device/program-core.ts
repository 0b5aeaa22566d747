/** A compiled program with its memory: what a run needs, without the objects that the application has. */

import { describe, invalidArgument, ResiduaError } from '../../arguments/errors.js';
import { checkObject, checkWholeNumber } from '../../arguments/numeric-arguments.js';
import { paddedBytes } from '../memory/numbers.js';
import { haveCommonBytes, type Memory, type Runner } from '../engine/engine.js';
import { runsWith, type Pending } from '../engine/pending.js';
import type { Node } from '../recipe/node.js';
import type { Assignment } from '../recipe/tape.js';
import { sizeAt, type Dim, type Shape, type Size } from '../size.js';
import { Cell, type ProgramInput } from './cell.js';
import type { Executable, Written } from './compiled.js';
import type { Trial } from './compiler.js';
import type { DeviceCore } from './core.js';
import { ProgramInputs, type FeedValue } from './program-inputs.js';
import type { Drawn } from './random-key.js';

/** A result of a program: its memory, and that of an earlier result which it is a copy of. */
interface Output {
  readonly memory: Memory;
  readonly copiedFrom: Memory | null;
}

const nothing = () => {};

/** Steps of a run, until it is aborted. */
function* until(caller: Pending, steps: Generator<void, void, void>): Generator<void, void, void> {
  for (const _ of steps) {
    yield;
    if (caller.failure !== null) return;
  }
}

/** A program on a device. */
export class ProgramCore {
  /** Memory of each result. */
  readonly outputs: readonly Memory[];
  /** Bytes of all memory that it owns. */
  readonly bytes: number;
  private readonly owned: Memory[] = [];
  private readonly inputs: ProgramInputs;
  private readonly runner: Runner;
  private readonly results: readonly Output[];
  private readonly hasCopies: boolean;
  /** Memory of each slot in the latest run; null for a large input that was not given yet. */
  private readonly slots: (Memory | null)[];
  private readonly written = new Set<Memory>();
  /** The dims of the latest run, and the numbers for them. */
  private present: Uint32Array<ArrayBuffer>;
  private words: Uint32Array<ArrayBuffer>;
  private areWordsWritten = false;
  private readonly tapeDims: number;
  /** Positions of the dims, by name. */
  private readonly positions: ReadonlyMap<string, number>;
  /** Sizes that no run may make negative. */
  private readonly bounds: readonly Dim[];
  private disposed = false;
  /** A run, in messages. */
  private readonly runCall: string;
  // What each run passes on: made once, as a small run takes less than a microsecond.
  private readonly sizesOfInput = ({ shape }: ProgramInput) => this.sizesOf(shape);
  private readonly isWritten = (memory: Memory) => this.writes(memory);

  constructor(
    readonly core: DeviceCore,
    readonly name: string,
    tape: Pick<Written, 'inputs' | 'dims' | 'bounds'>,
    readonly compiled: Executable,
    /** The dims of which each run tells the sizes: first those of the tape. */
    readonly dims: readonly Dim[],
    resultNodes: readonly Node[],
    assignments: readonly Assignment[],
  ) {
    try {
      this.inputs = new ProgramInputs(core, tape.inputs, (bytes) => this.allocate('the inputs', bytes, true));
      const { runner, results, memories } = compiled.load((bytes) => this.allocate('the memory', bytes));
      this.slots = this.inputs.slots();
      const used = new Set<Memory>();
      this.results = results.map((memory) => {
        if (used.has(memory)) return { memory: this.allocate('the results', memory.bytes), copiedFrom: memory };
        used.add(memory);
        return { memory, copiedFrom: null };
      });
      this.hasCopies = this.results.some(({ copiedFrom }) => copiedFrom !== null);
      this.outputs = resultNodes.map((_, k) => (this.results[k] as Output).memory);
      this.runner = runner;
      if (this.slots.every((memory) => memory !== null)) this.runner.bind(this.slots as Memory[]);
      for (const memory of memories) this.written.add(memory);
      for (const { input } of assignments) if (input.source instanceof Cell) this.written.add(input.source.memory);
    } catch (error) {
      for (const memory of this.owned) core.engine.free(memory, true);
      throw error;
    }
    this.words = compiled.words;
    this.runCall = `${name}.run`;
    this.positions = new Map(dims.map(({ name }, position) => [name, position]));
    this.tapeDims = tape.dims.length;
    this.bounds = tape.bounds;
    this.present = Uint32Array.from(dims, ({ max }) => max);
    this.bytes = this.owned.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** Whether it was disposed of, or its device. */
  get isDisposed(): boolean {
    return this.disposed || this.core.isDisposed;
  }

  /** All memory that it owns. */
  get memories(): readonly Memory[] {
    return this.owned;
  }

  /** What its runs have drawn from each generator; setting it, with as many entries, goes on from there. */
  get drawn(): readonly Drawn[] {
    return this.inputs.drawn;
  }
  set drawn(drawn: readonly Drawn[]) {
    this.inputs.drawn = drawn;
  }

  /** Throws 'disposed' or the failure of the device. */
  check(): void {
    if (this.isDisposed) throw new ResiduaError('disposed', `${this.name}: the program was used after dispose()`);
    this.core.check();
  }

  /** Submits a run when it is its turn, until `signal` fires. Throws 'invalid-argument', 'disposed' and 'device-lost'. */
  run(feedOf: (input: ProgramInput) => FeedValue, sizes: unknown, signal?: AbortSignal): void {
    this.check();
    const { core, inputs, runner, slots } = this;
    const call = this.runCall;
    // Inputs may be refused: the words of these sizes then stay to be written.
    if (this.takeSizes(call, sizes)) this.areWordsWritten = false;
    inputs.take(
      call,
      feedOf,
      this.sizesOfInput,
      this.isWritten,
      slots,
    );
    const isImmediate = core.queue.isIdle;
    const transfer = inputs.transfer(isImmediate);
    // All inputs are given.
    const bound = (isImmediate ? slots : [...slots]) as readonly Memory[];
    const { words, present, tapeDims } = this;
    const isWritten = this.areWordsWritten;
    this.areWordsWritten = true;
    const { hasCopies } = this;
    const caller = signal === undefined ? undefined : runsWith(signal);
    core.queue.push(() => {
      // Later runs count on both.
      transfer?.();
      if (!isWritten) runner.setWords(words, present.slice(0, tapeDims));
      if (caller !== undefined && caller.failure !== null) return undefined;
      const steps = runner.run(bound, caller);
      const all = hasCopies ? this.copyResults(steps) : steps;
      return caller === undefined || all === undefined ? all : until(caller, all);
    });
  }

  /** Copies results that have the memory of others, after a run. */
  private *copyResults(steps: ReturnType<Runner['run']>): Generator<void, void, void> {
    if (steps !== undefined) yield* steps;
    for (const { memory, copiedFrom } of this.results) if (copiedFrom !== null) this.core.engine.copy(copiedFrom, memory, memory.bytes);
  }

  /**
   * What a run with these inputs and sizes would use, without being a run: later ones draw the random numbers and have the sizes that they have without it. `transfer` uploads the inputs
   * when it is their turn. Throws 'invalid-argument', 'disposed' and 'device-lost'.
   */
  trial(feedOf: (input: ProgramInput) => FeedValue, sizes: unknown): Trial {
    this.check();
    const { inputs, present, words: before } = this;
    const call = `${this.name}.verify`;
    const bound = inputs.slots();
    try {
      if (this.takeSizes(call, sizes)) this.areWordsWritten = false;
      const { words } = this;
      const dims = this.present.slice(0, this.tapeDims);
      inputs.take(
        call,
        feedOf,
        this.sizesOfInput,
        this.isWritten,
        bound,
      );
      inputs.undraw();
      const slots = bound as readonly Memory[];
      return { words, dims, slots, isWritten: (slot) => this.written.has(slots[slot] as Memory) || this.owned.some(({ buffer }) => buffer === slots[slot]?.buffer), transfer: inputs.transfer(false) ?? nothing };
    } finally {
      [this.present, this.words] = [present, before];
    }
  }

  /** The dims of the latest run; another array where they differ from those of the run before. */
  get dimValues(): Uint32Array {
    return this.present;
  }

  /** The sizes of a shape in the latest run. */
  sizesOf(shape: Shape): number[] {
    return shape.map((size) => this.sizeIn(this.present, size));
  }

  /** A size where the dims have these values. */
  private sizeIn(present: Uint32Array, size: Size): number {
    return sizeAt(size, ({ name }) => present[this.positions.get(name) as number] as number);
  }

  /** Frees all memory after the runs so far. */
  dispose(): void {
    if (this.disposed) return;
    const wasUsable = !this.isDisposed && this.core.isUsable;
    this.disposed = true;
    this.compiled.free();
    if (!wasUsable) return;
    this.core.queue.push(() => {
      this.runner.dispose();
      for (const memory of this.owned) this.core.engine.free(memory, true);
    });
  }

  private allocate(what: string, bytes: number, isZeroed = false): Memory {
    const memory = this.core.allocate({ what: `${what} of ${this.name}`, bytes: paddedBytes(bytes), purpose: 'program', isZeroed });
    this.owned.push(memory);
    return memory;
  }

  /** Whether runs write memory, or bytes of a buffer that it lies in. */
  private writes(memory: Memory): boolean {
    if (this.written.has(memory)) return true;
    for (const written of this.written) if (haveCommonBytes(written, memory)) return true;
    return false;
  }

  /** Takes the sizes of a run. Returns whether they differ from those of the latest run. */
  private takeSizes(call: string, sizes: unknown): boolean {
    const { dims, present } = this;
    if (dims.length === 0 && sizes === undefined) return false;
    const argument = `${call}: sizes`;
    checkObject(argument, sizes);
    const given = sizes as Readonly<Record<string, unknown>>;
    for (const name of Object.keys(given)) {
      if (!this.positions.has(name)) {
        throw invalidArgument(`${argument}.${name}`, describe(given[name]), dims.length === 0 ? 'no sizes, as the program has no Dim' : `'${dims.map((dim) => dim.name).join("', '")}'`);
      }
    }
    const next = Uint32Array.from(dims, ({ name, max }) => {
      const size = given[name];
      checkWholeNumber(`${argument}.${name}`, size, 0, max);
      return size;
    });
    for (const bound of this.bounds) {
      if (this.sizeIn(next, bound) >= 0) continue;
      const got = dims.map(({ name }, k) => `${name} = ${next[k]}`).join(', ');
      throw invalidArgument(argument, got, `sizes for which ${bound.name} is not negative: an operation has this size, or reads or writes so far from the end of an axis`);
    }
    if (next.every((size, k) => size === present[k])) return false;
    this.words = this.compiled.wordsFor(next.slice(0, this.tapeDims));
    this.present = next;
    return true;
  }
}
