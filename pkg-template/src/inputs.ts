/** The inputs of residual functions: which blocks and which data each instance takes. */

import type { ParameterBlocks } from './parameter-array.js';

/** One input of a residual function, per instance. Made by ParameterArray.at, .shared and .star, Problem.data and .dataStar. */
export interface Input<T> {
  /** Carries the type alone; there is no such property. */
  readonly __block?: T;
}

/** `width` blocks an instance, instance after instance; `single` hands the block over as it is, else in an array. */
export class AtInput {
  constructor(
    readonly array: ParameterBlocks,
    readonly indices: Uint32Array,
    readonly width: number,
    readonly single: boolean,
  ) {}
}

/** One block for all instances. */
export class SharedInput {
  constructor(
    readonly array: ParameterBlocks,
    readonly index: number,
  ) {}
}

/** The blocks indices[offsets[i] .. offsets[i + 1]] for instance i. */
export class StarInput {
  constructor(
    readonly array: ParameterBlocks,
    readonly offsets: Uint32Array,
    readonly indices: Uint32Array,
  ) {}
}

/** `dim` numbers an instance. */
export class DataInput {
  constructor(
    readonly owner: object,
    readonly dim: number,
    readonly values: Float64Array,
  ) {}
}

/** `dim` numbers for each entry offsets[i] .. offsets[i + 1] of instance i. */
export class DataStarInput {
  constructor(
    readonly owner: object,
    readonly dim: number,
    readonly offsets: Uint32Array,
    readonly values: Float64Array,
  ) {}
}

/** Any input. */
export type AnyInput = AtInput | SharedInput | StarInput | DataInput | DataStarInput;

/** Whether something is an input. */
export function isInput(value: unknown): value is AnyInput {
  return (
    value instanceof AtInput ||
    value instanceof SharedInput ||
    value instanceof StarInput ||
    value instanceof DataInput ||
    value instanceof DataStarInput
  );
}

/** How many instances an input is for; null where it serves any number. */
export function instanceCount(input: AnyInput): number | null {
  if (input instanceof SharedInput) return null;
  if (input instanceof AtInput) return input.indices.length / input.width;
  if (input instanceof DataInput) return input.values.length / input.dim;
  return input.offsets.length - 1;
}

/** The problem that an input belongs to. */
export function ownerOf(input: AnyInput): object {
  return input instanceof DataInput || input instanceof DataStarInput ? input.owner : input.array.owner;
}

/** The offsets of an input whose length varies. */
export function offsetsOf(input: AnyInput): Uint32Array | null {
  return input instanceof StarInput || input instanceof DataStarInput ? input.offsets : null;
}
