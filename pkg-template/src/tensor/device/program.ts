/** Compiled programs. */

import { makeInspectable } from '../../arguments/inspection.js';
import { describe, invalidArgument, ResiduaError } from '../../arguments/errors.js';
import { checkObject } from '../../arguments/numeric-arguments.js';
import { checkOptions } from '../../arguments/options.js';
import { makeDisposable } from '../../compile/dispose.js';
import { checkSignal } from '../../module/cancellation.js';
import type { DType } from '../dtype.js';
import type { ImageSource } from '../../arguments/picture.js';
import type { ReadOptions } from '../evaluator.js';
import type { Numeric } from '../memory/numbers.js';
import type { Node } from '../recipe/node.js';
import { checkDType } from '../dtype.js';
import { checkShape, type Shape } from '../size.js';
import type { Tensor } from '../tensor.js';
import { Cell, type ProgramInput } from './cell.js';
import type { KernelComparison } from './compiler.js';
import type { DeviceCore } from './core.js';
import type { CompiledProgram } from './compile-program.js';
import type { Device } from './device.js';
import type { ProgramCore } from './program-core.js';
import type { FeedValue } from './program-inputs.js';
import { inFormOf, type Group, type Results } from './results.js';
import { StoredTensor } from './stored-tensor.js';
import { verify } from './verify.js';

/** Type and shape of an input of a program. */
export interface Spec<D extends DType = any> {
  /** Type of its elements. */
  readonly dtype: D;
  /** Sizes of its axes. */
  readonly shape: Shape;
}

/** Returns the type and shape of an input of a program. Throws 'invalid-argument' for an unknown type or a wrong shape. */
export function spec<D extends DType>(dtype: D, shape: Shape): Spec<D> {
  checkDType('spec: dtype', dtype);
  return Object.freeze({ dtype, shape: checkShape('spec: shape', shape) });
}

/** An input that is one f32 number, which may differ from run to run. */
export const scalar: Spec<'f32'> = /* @__PURE__ */ Object.freeze({ dtype: 'f32', shape: /* @__PURE__ */ Object.freeze([]) });

/** The inputs of a program by name. */
export type Specs = { readonly [name: string]: Spec };

/** Results with memory of their own, in the form in which they were given. */
export type Stored<R> = R extends Tensor | Group ? StoredPart<R> : R extends readonly (Tensor | Group)[] | { readonly [name: string]: Tensor | Group } ? { -readonly [K in keyof R]: StoredPart<R[K]> } : void;

type StoredPart<P> = P extends Tensor<infer D> ? StoredTensor<D> : P extends Group ? { -readonly [K in keyof P]: P[K] extends Tensor<infer D> ? StoredTensor<D> : never } : never;

/** What a run gives for an input: a stored tensor, which is read where it lies; numbers, which are copied; or for u8 [height, width, 4] a picture, as it is at the call. */
export type Feed<S> = S extends Spec<infer D> ? StoredTensor<D> | Numeric | number | ImageSource : never;

/** What a run gives for all inputs. */
export type Feeds<I> = { readonly [K in keyof I]: Feed<I[K]> };

/** The sizes of all Dims of a program, by their names. */
export type Sizes = Readonly<Record<string, number>>;

/** What a run does. */
export interface ProgramPlan {
  /** How many kernels it dispatches; those of a loop's body once, whatever its count is. */
  readonly dispatches: number;
  /** Bytes of the program's memory, outputs included. */
  readonly bytes: number;
  /** The kernels in order, with the operations in them, and their memory. */
  toString(): string;
}

const NO_FEEDS = /* @__PURE__ */ Object.freeze({});
const noFeed = () => 0;

/** A compiled program: a fixed list of kernels with its memory, to be run as often as wanted. */
export class Program<I extends Specs, R extends Results> {
  /** The same as dispose(), for `using`. */
  declare readonly [Symbol.dispose]: () => void;
  private cells: Cell[] = [];
  private stored: Stored<R>;
  /** The dims for which the outputs were made. */
  private storedAt: Uint32Array;

  private readonly core: ProgramCore;
  private readonly inputs: readonly ProgramInput[];
  private readonly results: unknown;
  private readonly resultNodes: readonly Node[];
  private readonly assigned: readonly Cell[];

  /** @internal Made by `Device.compile`. */
  constructor(
    private readonly device: Device,
    { core, inputs, results, resultNodes, assigned }: CompiledProgram,
  ) {
    [this.core, this.inputs, this.results, this.resultNodes, this.assigned] = [core, inputs, results, resultNodes, assigned];
    const { core: on } = core;
    on.accounts.programs += 1;
    forgotten.register(this, { on, core }, this);
    this.storedAt = core.dimValues;
    this.stored = this.outputTensors();
  }

  /** @internal The inside of a program, and the stored tensors that its body assigns to. */
  static insideOf(program: Program<any, any>): { core: ProgramCore; assigned: readonly Cell[] } {
    const { core, assigned } = program;
    return { core, assigned };
  }

  /** The outputs, of the latest run's sizes; before the first run of the largest. They hold what the latest run computed. */
  get outputs(): Stored<R> {
    return this.stored;
  }

  /**
   * Submits a run, which allocates nothing on the GPU, except at the first use of a stored tensor as an input its bind groups, and at the first
   * use of numbers for an input of more than 16 MiB memory for them, and textures for pictures, of which two are kept. A stored tensor is read where
   * it lies; numbers are copied at the call, and a picture is taken as it is then.
   * Each run draws new random numbers. The outputs belong to the program: the next run writes over them, after the reads that were asked for
   * before it. On the CPU a run is computed at once, or after earlier work where that is not done; the page has a turn every 12 ms.
   *
   * Throws 'invalid-argument' for inputs of another type or shape and for sizes that are missing or beyond their Dims, 'disposed',
   * 'device-lost', and 'out-of-memory' if the device had no memory for the texture of an earlier run's picture. The results of that run are then
   * not those of its picture. Throws 'aborted' where `signal` has fired. If it fires later, what is left of the run is left out: outputs and assigned
   * tensors then hold what was computed until then, until the next run or `set()`.
   */
  run(...args: {} extends Feeds<I> ? [inputs?: Feeds<I>, sizes?: Sizes, options?: ReadOptions] : [inputs: Feeds<I>, sizes?: Sizes, options?: ReadOptions]): Stored<R>;
  run(inputs: unknown = NO_FEEDS, sizes?: unknown, options?: ReadOptions): Stored<R> {
    const feeds = this.feeds('run', inputs);
    this.core.run(feeds, sizes, options === undefined ? undefined : this.signalOf(options));
    if (this.core.dimValues !== this.storedAt) this.resize();
    return this.stored;
  }

  /** What JSON.stringify writes: its name and the specs of its inputs. */
  toJSON(): { name: string; inputs: Specs } {
    return { name: this.core.name, inputs: Object.fromEntries(this.inputs.map(({ name, dtype, shape }) => [name, { dtype, shape }])) };
  }

  /** What a run does: its kernels in order, with the operations in them, and their memory. */
  get plan(): ProgramPlan {
    this.core.check();
    const { bytes, compiled } = this.core;
    const { dispatches, text } = compiled;
    return { dispatches, bytes, toString: () => text };
  }

  /** The kernels with their texts; on the CPU these are empty. `dispatches` is how often a run dispatches each, or a step of the loop that it is in. */
  kernels(): { name: string; wgsl: string; dispatches: number }[] {
    this.core.check();
    return this.core.compiled.kernels();
  }

  /**
   * Compares every kernel that a run with these inputs dispatches, in order: each runs on the GPU, and from the same numbers on the CPU. It shows where a kernel or a driver goes wrong. The
   * two may differ by roundings: sums are added in other orders and elementary functions differ by a few units in the last place, which `maxUlps` has, relative to results near 0 by many.
   *
   * It changes no stored tensor, not by assignments either, nor outputs and random numbers of later runs. It takes as much memory as the program once more, and a round trip for each
   * kernel. Rejects with 'gpu-unavailable' on the CPU, 'invalid-argument' as run() does and for a program with loops on a device in a worker,
   * 'out-of-memory', 'disposed' and 'device-lost'.
   */
  async verify(...args: {} extends Feeds<I> ? [inputs?: Feeds<I>, sizes?: Sizes] : [inputs: Feeds<I>, sizes?: Sizes]): Promise<KernelComparison[]> {
    const [inputs = {}, sizes] = args;
    return verify(this.core, this.feeds('verify', inputs), sizes);
  }

  /** Frees the program's memory, its outputs included, after the runs so far. A second call does nothing. */
  dispose(): void {
    if (this.core.isDisposed) return;
    forgotten.unregister(this);
    this.core.core.accounts.programs -= 1;
    this.core.dispose();
  }

  private signalOf(options: ReadOptions): AbortSignal | undefined {
    const call = `${this.core.name}.run`;
    checkOptions(`${call}: options`, options, { signal: true });
    checkSignal(`${call}: signal`, options.signal);
    if (options.signal?.aborted === true) throw new ResiduaError('aborted', `${call} was aborted by its signal`);
    return options.signal;
  }

  /** Checks the names of feeds, and returns what gives the feed of an input. */
  private feeds(method: string, given: unknown): (input: ProgramInput) => FeedValue {
    const argument = `${this.core.name}.${method}: inputs`;
    this.core.check();
    checkObject(argument, given);
    const feeds = given as Readonly<Record<string, unknown>>;
    if (this.inputs.length === 0 && feeds === NO_FEEDS) return noFeed;
    for (const name of Object.keys(feeds)) {
      if (this.inputs.every((input) => input.name !== name)) {
        throw invalidArgument(`${argument}.${name}`, describe(feeds[name]), this.inputs.length === 0 ? 'no inputs' : `inputs '${this.inputs.map((input) => input.name).join("', '")}'`);
      }
    }
    for (const { name } of this.inputs) {
      if (feeds[name] === undefined) throw invalidArgument(`${argument}.${name}`, describe(feeds[name]), 'a stored tensor, numbers or a picture');
    }
    return ({ name }) => {
      const feed = feeds[name];
      return feed instanceof StoredTensor ? feed.cell : (feed as FeedValue);
    };
  }

  /** Makes other outputs where they have other sizes than those of the run before. */
  private resize(): void {
    this.storedAt = this.core.dimValues;
    const isChanged = this.resultNodes.some(({ shape }, k) => {
      const { sizes: before } = this.cells[k] as Cell;
      return this.core.sizesOf(shape).some((size, axis) => size !== before[axis]);
    });
    if (isChanged) this.stored = this.outputTensors();
  }

  private outputTensors(): Stored<R> {
    // Outputs of other sizes are other objects: those of earlier runs keep their shape, and have the same memory.
    const cells = this.resultNodes.map(({ dtype, shape }, k) => {
      const cell = new Cell(this.core.core, dtype, this.core.sizesOf(shape), this.core.outputs[k] as Cell['memory'], 'program', this.core);
      cell.handle = this;
      return cell;
    });
    this.cells = cells;
    return inFormOf(
      this.results,
      cells.map((cell) => new StoredTensor(this.device, cell)),
    ) as Stored<R>;
  }
}

makeDisposable(Program);
makeInspectable(Program, 'Program');

/** Frees the memory of programs that were garbage-collected before they were disposed. */
const forgotten = /* @__PURE__ */ new FinalizationRegistry<{ readonly on: DeviceCore; readonly core: ProgramCore }>(({ on, core }) => {
  if (on.isDisposed) return;
  on.accounts.leaked += 1;
  on.accounts.programs -= 1;
  core.dispose();
});
