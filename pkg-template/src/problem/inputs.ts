/** The inputs of residual functions: which blocks and which data each instance takes. */

import { makeInspectable } from '../arguments/inspection.js';
import type { Value } from '../expressions/value.js';

/** One input of a residual function, per instance. Made by ParameterArray.at, .shared and .star, Problem.data and .dataStar. */
export interface Input<T> {
  /** Holds the type alone; the property does not exist at run time. */
  readonly __block?: T;
}

/** The part of a parameter array that inputs use. */
export interface ParameterBlockArray {
  /** The problem of the array. */
  readonly owner: object;
  /** Its name. */
  readonly name: string;
  /** Number of blocks. */
  readonly count: number;
  /** Numbers per block. */
  readonly dim: number;
  /** Returns what residual functions get for a block, made of Values of `next`. */
  makeBlock(next: () => Value): unknown;
}

/**
 * `width` blocks per instance, instance after instance. With `single` the residual function gets the block itself, else an array of blocks.
 */
export class AtInput {
  constructor(
    readonly array: ParameterBlockArray,
    readonly indices: Uint32Array,
    readonly width: number,
    readonly single: boolean,
  ) {}

  toJSON(): object {
    return { dim: this.array.dim, instances: this.indices.length / this.width };
  }
}

/** The part of a grid of parameters that inputs use. */
export interface PlacedGrid {
  /** Returns, for each place, the blocks that are read there, and how far it lies behind its cell's first along each axis. Throws 'invalid-argument'. */
  place(argument: string, coordinates: unknown): { blocks: Uint32Array; behind: Float64Array };
  /** Returns what residual functions get for a place. */
  makePoint(nodes: readonly (readonly Value[])[], behind: readonly Value[]): unknown;
}

/**
 * The blocks of a grid around a place for each instance. Beside their indices it has data: how far the place lies behind the first of its cell along each axis.
 */
export class GridInput extends AtInput {
  constructor(
    array: ParameterBlockArray,
    indices: Uint32Array,
    width: number,
    readonly grid: PlacedGrid,
    readonly behind: DataInput,
  ) {
    super(array, indices, width, false);
  }

  /** The input of other places, or of the same with other parameters. */
  of(array: ParameterBlockArray, indices: Uint32Array, behind: DataInput): GridInput {
    return new GridInput(array, indices, this.width, this.grid, behind);
  }
}

/** One block for all instances. */
export class SharedInput {
  constructor(
    readonly array: ParameterBlockArray,
    readonly index: number,
  ) {}

  toJSON(): object {
    return { dim: this.array.dim };
  }
}

/** The blocks indices[offsets[i] .. offsets[i + 1]] for instance i. */
export class StarInput {
  constructor(
    readonly array: ParameterBlockArray,
    readonly offsets: Uint32Array,
    readonly indices: Uint32Array,
  ) {}

  toJSON(): object {
    return { dim: this.array.dim, instances: this.offsets.length - 1 };
  }
}

/** `dim` numbers per instance. */
export class DataInput {
  constructor(
    readonly owner: object,
    readonly dim: number,
    readonly values: Float64Array,
  ) {}

  toJSON(): object {
    return { dim: this.dim, instances: this.values.length / this.dim };
  }
}

/** `dim` numbers for each entry offsets[i] .. offsets[i + 1] of instance i. */
export class DataStarInput {
  constructor(
    readonly owner: object,
    readonly dim: number,
    readonly offsets: Uint32Array,
    readonly values: Float64Array,
  ) {}

  toJSON(): object {
    return { dim: this.dim, instances: this.offsets.length - 1 };
  }
}

for (const type of [AtInput, SharedInput, StarInput, DataInput, DataStarInput]) makeInspectable(type, 'Input');

/** Any input. */
export type AnyInput = AtInput | SharedInput | StarInput | DataInput | DataStarInput;

/** Whether `value` is an input. */
export function isInput(value: unknown): value is AnyInput {
  return (
    value instanceof AtInput ||
    value instanceof SharedInput ||
    value instanceof StarInput ||
    value instanceof DataInput ||
    value instanceof DataStarInput
  );
}

/** Returns the number of instances of an input; null for a shared one, which takes any number. */
export function instanceCount(input: AnyInput): number | null {
  if (input instanceof SharedInput) return null;
  if (input instanceof AtInput) return input.indices.length / input.width;
  if (input instanceof DataInput) return input.values.length / input.dim;
  return input.offsets.length - 1;
}

/** Returns the problem of an input. */
export function ownerOf(input: AnyInput): object {
  return input instanceof DataInput || input instanceof DataStarInput ? input.owner : input.array.owner;
}

/** Returns the offsets of a star or dataStar; null for other inputs. */
export function offsetsOf(input: AnyInput): Uint32Array | null {
  return input instanceof StarInput || input instanceof DataStarInput ? input.offsets : null;
}

/** Returns the length of an instance's star. */
export function starLength(offsets: Uint32Array, instance: number): number {
  return (offsets[instance + 1] as number) - (offsets[instance] as number);
}
