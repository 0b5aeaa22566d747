/** Arrays of parameter blocks: their numbers, the mask of constant numbers, bounds and manifold. */

import { makeInspectable } from '../arguments/inspection.js';
import { nextChange } from '../arguments/change-counter.js';
import { describe, invalidArgument } from '../arguments/errors.js';
import { checkOptions } from '../arguments/options.js';
import {
  checkWholeNumber,
  copyBounds,
  copyIndices,
  copyNumbers,
  copyNumbersOfLength,
  copyOffsets,
  type Indices,
  type Numbers,
} from '../arguments/numeric-arguments.js';
import { makeBlock as makePlainBlock, type Block, type Tuple } from '../expressions/block.js';
import type { Value } from '../expressions/value.js';
import { extended, grown } from './growing.js';
import { AtInput, SharedInput, StarInput, type Input, type ParameterBlockArray } from './inputs.js';
import { manifoldName, type Manifold, type ProductManifold } from './manifold.js';

/** What residual functions get for a block of `D` numbers; anything for `any`. */
export type BlockOf<D extends number> = 0 extends 1 & D ? any : Block<D>;

/**
 * `count` blocks of `dim` numbers each. Made by Problem.parameters, .rotations and .poses. `B` is what residual functions get for a block.
 */
// With `any` as the default, a plain `ParameterArray` accepts an array of any dimension; no other type argument does.
export interface ParameterArray<D extends number = any, B = BlockOf<D>> {
  /** Its name, unique in the problem. */
  readonly name: string;
  /** Number of blocks; `append` raises it. */
  readonly count: number;
  /** Numbers per block. */
  readonly dim: D;
  /** The position of its first number among all parameters; that of later arrays moves with `append`. */
  readonly offset: number;
  /** One block per instance. */
  at(indices: Indices): Input<B>;
  /** `n` blocks per instance; `indices` holds instance after instance. */
  at<N extends number>(indices: Indices, n: N): Input<Tuple<B, N>>;
  /** The same block for every instance, for example a shared scale or a curve's coefficients. Block 0 by default. */
  shared(index?: number): Input<B>;
  /**
   * A varying number of blocks per instance (one-rings, tracks): instance i takes indices[offsets[i] .. offsets[i + 1]]. Offsets ascend
   * from 0 to the number of indices. The residual function runs once for each length that occurs; with several stars, once for each
   * combination of lengths.
   */
  star(offsets: Indices, indices: Indices): Input<B[]>;
  /**
   * Makes blocks constant, or variable again: all their coordinates or the given ones. Constant numbers keep every bit during a solve.
   * Takes effect at the next call, without recompiling.
   */
  setConstant(indices: Indices, constant?: boolean, coordinates?: Indices): void;
  /**
   * Sets box bounds, one number or one per coordinate, of the given blocks or of all. −Infinity removes a lower bound, Infinity an upper
   * one. Throws 'invalid-argument' for an array with a manifold. Takes effect at the next call.
   */
  setBounds(bounds: { lower?: Numbers | number; upper?: Numbers | number }, indices?: Indices): void;
  /**
   * Sets the manifold, or with manifold.product those of a block's parts. A solve begins with each block normalised onto it; constant blocks, and
   * points that are evaluated, are used as they are, also quaternions and vectors of another length than 1. Throws 'invalid-argument' after compiling.
   */
  setManifold(manifold: Manifold | ProductManifold): void;
  /**
   * Puts the blocks into an elimination group, as Ceres' ParameterBlockOrdering does; null takes them out. The Schur complement eliminates
   * the blocks of all arrays of the lowest group, and these must share no residual: compiling rejects with 'invalid-argument' if they do.
   * Arrays of higher groups and of none stay in the complement. Without any group the solver finds independent blocks itself. Throws
   * 'invalid-argument' after compiling.
   */
  setElimination(group: number | null): void;
  /** Returns a copy of the numbers, block after block (count × dim), as of the last solve, download or set. */
  values(): Float64Array;
  /** Sets the numbers of all blocks (count × dim), from the next call on. */
  set(values: Numbers): void;
  /** Sets the numbers of one block (dim), from the next call on. */
  setAt(index: number, values: Numbers): void;
  /**
   * Adds blocks at the end, variable and without bounds; returns the index of the first. `values` are their start, block after block. A smoother of `incremental`
   * takes them in at its next update, compiled functions at their next call, without a new compile. The parameters of later arrays then stand further back in
   * `x`. Throws 'invalid-argument' for another number of numbers than a multiple of dim, and for numbers that are not finite; 'limit-exceeded' where the
   * problem would have more than 2³² − 1 numbers.
   */
  append(values: Numbers): number;
}

/** New numbers, from `offset` among all parameters on. */
export interface ValueEdit {
  readonly offset: number;
  readonly numbers: Float64Array;
}

/** The implementation of ParameterArray. */
export class ParameterBlocks implements ParameterArray<number>, ParameterBlockArray {
  /** The name of its blocks' manifold. */
  manifold = 'euclidean';
  /** Its elimination group; null while it has none. */
  elimination: number | null = null;
  /** Whether the problem was compiled, after which manifold and elimination group cannot change. */
  compiled = false;
  /** 1 for a number that is constant; null while there is none. */
  constant: Uint8Array | null = null;
  /** Number of the latest change of `constant`. */
  constantChange = 0;
  /** Lower and upper bound of every number; null while there is none. */
  bounds: { lower: Float64Array; upper: Float64Array } | null = null;
  /** Number of the latest change of `bounds`. */
  boundsChange = 0;

  private isInterpolated = false;
  private allChange = 0;
  private blockChange = 0;
  private blockChanges: Float64Array | null = null;
  private writeChange = 0;
  private writer: object | null = null;

  constructor(
    readonly owner: object,
    readonly name: string,
    readonly dim: number,
    /** Moves when an array before it grows. */
    public offset: number,
    private numbers: Float64Array,
    readonly makeBlock: (next: () => Value) => unknown = (next) => makePlainBlock(dim, next),
    /** Is called before blocks are added, with how many numbers there will be, and may throw. Gives what is to be called after that. */
    private readonly growing: (numbers: number) => () => void = () => () => {},
  ) {}

  get count(): number {
    return this.numbers.length / this.dim;
  }

  at(indices: Indices): Input<Block<number>>;
  at<N extends number>(indices: Indices, n: N): Input<Tuple<Block<number>, N>>;
  at(indices: Indices, n?: number): Input<unknown> {
    const argument = `${this.name}.at`;
    if (n !== undefined) checkWholeNumber(`${argument}: n`, n, 1);
    const width = n ?? 1;
    const copy = copyIndices(`${argument}: indices`, indices, this.count, `blocks of "${this.name}"`);
    if (copy.length % width !== 0) throw invalidArgument(`${argument}: indices`, `${copy.length} indices`, `a multiple of n, ${width}`);
    return new AtInput(this, copy, width, n === undefined) as Input<unknown>;
  }

  shared(index = 0): Input<Block<number>> {
    checkWholeNumber(`${this.name}.shared: index`, index, 0, this.count - 1);
    return new SharedInput(this, index) as Input<Block<number>>;
  }

  star(offsets: Indices, indices: Indices): Input<Block<number>[]> {
    const argument = `${this.name}.star`;
    const copy = copyIndices(`${argument}: indices`, indices, this.count, `blocks of "${this.name}"`);
    return new StarInput(this, copyOffsets(`${argument}: offsets`, offsets, copy.length, 'indices'), copy) as Input<Block<number>[]>;
  }

  setConstant(indices: Indices, constant = true, coordinates?: Indices): void {
    const argument = `${this.name}.setConstant`;
    const blocks = copyIndices(`${argument}: indices`, indices, this.count, `blocks of "${this.name}"`);
    if (typeof constant !== 'boolean') throw invalidArgument(`${argument}: constant`, describe(constant), 'true or false');
    const named = coordinates === undefined ? null : copyIndices(`${argument}: coordinates`, coordinates, this.dim, 'coordinates of a block');
    if (named !== null && this.manifold !== 'euclidean' && new Set(named).size < this.dim) {
      const got = `some coordinates of blocks on the manifold '${this.manifold}'`;
      throw invalidArgument(`${argument}: coordinates`, got, 'all of them, or none named: such blocks are constant as wholes');
    }
    const mask = (this.constant ??= new Uint8Array(this.numbers.length));
    for (const block of blocks) {
      const first = block * this.dim;
      if (named === null) mask.fill(Number(constant), first, first + this.dim);
      else for (const coordinate of named) mask[first + coordinate] = Number(constant);
    }
    this.constantChange = nextChange();
  }

  setBounds(bounds: { lower?: Numbers | number; upper?: Numbers | number }, indices?: Indices): void {
    const argument = `${this.name}.setBounds`;
    checkOptions(`${argument}: bounds`, bounds, { lower: true, upper: true });
    if (bounds.lower === undefined && bounds.upper === undefined) {
      throw invalidArgument(`${argument}: bounds`, 'neither lower nor upper', 'at least one of them');
    }
    if (this.manifold !== 'euclidean') {
      throw invalidArgument(argument, `bounds for "${this.name}", which has the manifold '${this.manifold}'`, 'arrays without a manifold');
    }
    const lower = this.perCoordinate(`${argument}: lower`, bounds.lower, -Infinity);
    const upper = this.perCoordinate(`${argument}: upper`, bounds.upper, Infinity);
    const blocks = indices === undefined ? null : copyIndices(`${argument}: indices`, indices, this.count, `blocks of "${this.name}"`);
    const size = this.numbers.length;
    const next = {
      lower: this.bounds?.lower.slice() ?? new Float64Array(size).fill(-Infinity),
      upper: this.bounds?.upper.slice() ?? new Float64Array(size).fill(Infinity),
    };
    const blockCount = blocks === null ? this.count : blocks.length;
    for (let i = 0; i < blockCount; i++) {
      const block = blocks === null ? i : (blocks[i] as number);
      for (let coordinate = 0; coordinate < this.dim; coordinate++) {
        const position = block * this.dim + coordinate;
        if (lower !== null) next.lower[position] = lower[coordinate] as number;
        if (upper !== null) next.upper[position] = upper[coordinate] as number;
        if ((next.lower[position] as number) > (next.upper[position] as number)) {
          throw invalidArgument(
            argument,
            `the lower bound ${next.lower[position]} above the upper bound ${next.upper[position]} at block ${block}, coordinate ${coordinate}`,
            'a lower bound that is not above the upper one',
          );
        }
      }
    }
    this.bounds = next;
    this.boundsChange = nextChange();
  }

  setManifold(manifold: Manifold | ProductManifold): void {
    const argument = `${this.name}.setManifold: manifold`;
    if (this.compiled) throw invalidArgument(argument, `${describe(manifold)} after compiling`, 'effect before the problem is compiled');
    const name = manifoldName(argument, manifold, this.dim);
    if (this.isInterpolated && name !== 'euclidean') throw invalidArgument(argument, `'${name}' for "${this.name}", whose numbers a grid interpolates`, 'arrays of no grid');
    if (this.bounds !== null && name !== 'euclidean') {
      throw invalidArgument(argument, `'${name}' for "${this.name}", which has bounds`, 'arrays without bounds');
    }
    this.manifold = name;
  }

  setElimination(group: number | null): void {
    const argument = `${this.name}.setElimination: group`;
    if (this.compiled) throw invalidArgument(argument, `${describe(group)} after compiling`, 'effect before the problem is compiled');
    if (group !== null) checkWholeNumber(argument, group, 0);
    this.elimination = group;
  }

  /** Notes that a grid interpolates between the blocks. Throws 'invalid-argument' for blocks with a manifold, between which no mean of numbers lies. */
  takeNumbers(argument: string): void {
    if (this.manifold !== 'euclidean') throw invalidArgument(argument, `"${this.name}", which has the manifold '${this.manifold}'`, 'an array without a manifold');
    this.isInterpolated = true;
  }

  values(): Float64Array {
    return this.numbers.slice();
  }

  /** Copies the numbers of the first `blocks` blocks, which begin at `offset`, to their positions in `target`, those of parameters `first` to `first + count` alone. */
  copyValues(target: Float64Array, first: number, count: number, offset: number, blocks: number): void {
    const start = Math.max(first - offset, 0);
    const end = Math.min(first + count - offset, blocks * this.dim);
    if (start < end) target.set(this.numbers.subarray(start, end), offset + start);
  }

  set(values: Numbers): void {
    this.numbers.set(copyNumbersOfLength(`${this.name}.set: values`, values, this.numbers.length, `${this.count} blocks of ${this.dim}`));
    this.allChange = nextChange();
  }

  setAt(index: number, values: Numbers): void {
    checkWholeNumber(`${this.name}.setAt: index`, index, 0, this.count - 1);
    this.numbers.set(copyNumbersOfLength(`${this.name}.setAt: values`, values, this.dim, 'one block'), index * this.dim);
    this.blockChange = nextChange();
    this.blockChanges ??= new Float64Array(this.count);
    this.blockChanges[index] = this.blockChange;
  }

  append(values: Numbers): number {
    const argument = `${this.name}.append: values`;
    const copy = copyNumbers(argument, values);
    if (copy.length % this.dim !== 0) throw invalidArgument(argument, `${copy.length} numbers`, `a multiple of ${this.dim}, the numbers of a block`);
    const { count } = this;
    const length = this.numbers.length + copy.length;
    const hasGrown = this.growing(length);
    this.numbers = extended(this.numbers, copy);
    if (this.constant !== null) this.constant = grown(this.constant, length);
    if (this.blockChanges !== null) this.blockChanges = grown(this.blockChanges, this.count);
    if (this.bounds !== null) {
      const { lower, upper } = this.bounds;
      this.bounds = { lower: extended(lower, new Float64Array(copy.length).fill(-Infinity)), upper: extended(upper, new Float64Array(copy.length).fill(Infinity)) };
    }
    hasGrown();
    return count;
  }

  /** A copy of the numbers of blocks from `first` on. */
  numbersFrom(first: number): Float64Array {
    return this.numbers.slice(first * this.dim);
  }

  /**
   * Returns the changes after change `since` that `reader` does not have: numbers that were set, and numbers that another writer wrote
   * back.
   */
  editsSince(since: number, reader: object): ValueEdit[] {
    if (this.allChange > since || (this.writeChange > since && this.writer !== reader)) {
      return [{ offset: this.offset, numbers: this.numbers.slice() }];
    }
    const changes = this.blockChanges;
    if (changes === null || this.blockChange <= since) return [];
    const edits: ValueEdit[] = [];
    for (let block = 0; block < this.count; block++) {
      if ((changes[block] as number) <= since) continue;
      const first = block * this.dim;
      edits.push({ offset: this.offset + first, numbers: this.numbers.slice(first, first + this.dim) });
    }
    return edits;
  }

  /** Writes the result of a solve that was called at change `since`, for as many blocks as it has. Numbers that were set after that call stay. */
  writeBack(numbers: Float64Array, since: number, writer: object): void {
    if (this.allChange > since) return;
    const changes = this.blockChange > since ? this.blockChanges : null;
    if (changes === null) this.numbers.set(numbers);
    else {
      for (let block = 0; block * this.dim < numbers.length; block++) {
        if ((changes[block] as number) > since) continue;
        const first = block * this.dim;
        this.numbers.set(numbers.subarray(first, first + this.dim), first);
      }
    }
    this.writeChange = nextChange();
    this.writer = writer;
  }

  private perCoordinate(argument: string, bound: Numbers | number | undefined, none: number): Float64Array | null {
    if (bound === undefined) return null;
    return copyBounds(argument, typeof bound === 'number' ? new Float64Array(this.dim).fill(bound) : bound, this.dim, none);
  }

  toJSON(): { name: string; count: number; dim: number; values: number[] } {
    return { name: this.name, count: this.count, dim: this.dim, values: Array.from(this.values()) };
  }
}

makeInspectable(ParameterBlocks, 'ParameterArray');
