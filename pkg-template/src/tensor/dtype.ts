/** Element types of tensors. */

import { describe, invalidArgument } from '../arguments/errors.js';

/**
 * How an element is stored. f16 is a type of storage: kernels read and write it and compute in f32, so every device has it. bool is a byte,
 * 0 or 1. c64 is a complex number, stored as two f32: its real part and its imaginary part.
 */
export type DType = 'f32' | 'f16' | 'i32' | 'u32' | 'u8' | 'bool' | 'c64';

/** Types of the elements that kernels read and write. */
export type RealDType = Exclude<DType, 'c64'>;

/** The typed array that a read gives, by element type: f16 is read as f32 numbers, c64 as pairs of them. */
export interface DataOf {
  /** Single precision. */
  f32: Float32Array;
  /** Half precision, widened. */
  f16: Float32Array;
  /** Signed 32-bit integers. */
  i32: Int32Array;
  /** Unsigned 32-bit integers. */
  u32: Uint32Array;
  /** Bytes. */
  u8: Uint8Array;
  /** 0 or 1. */
  bool: Uint8Array;
  /** Real part, imaginary part, and so on: two numbers an element. */
  c64: Float32Array;
}

/** Bytes of an element in memory. */
export const DTYPE_BYTES: Readonly<Record<DType, number>> = { f32: 4, f16: 2, i32: 4, u32: 4, u8: 1, bool: 1, c64: 8 };

/** How many numbers of the caller an element has. */
export function numbersPerElement(dtype: DType): number {
  return dtype === 'c64' ? 2 : 1;
}

/** The smallest and largest number of each integer type. */
const INTEGER_RANGE: Readonly<Partial<Record<DType, readonly [low: number, high: number]>>> = {
  i32: [-(2 ** 31), 2 ** 31 - 1],
  u32: [0, 2 ** 32 - 1],
  u8: [0, 255],
  bool: [0, 1],
};

/** The smallest and the largest number of a type. */
export function extremes(dtype: DType): readonly [low: number, high: number] {
  return INTEGER_RANGE[dtype] ?? [-Infinity, Infinity];
}

/** Whether a type holds real numbers. */
export function isReal(dtype: DType): boolean {
  return dtype === 'f32' || dtype === 'f16';
}

/** Whether a type holds integers that are no truth values. */
export function isInteger(dtype: DType): boolean {
  return dtype === 'i32' || dtype === 'u32' || dtype === 'u8';
}

/** Throws 'invalid-argument' unless `value` is the name of an element type. */
export function checkDType(argument: string, value: unknown): asserts value is DType {
  if (typeof value !== 'string' || !Object.hasOwn(DTYPE_BYTES, value)) {
    throw invalidArgument(argument, describe(value), `'${Object.keys(DTYPE_BYTES).join("', '")}'`);
  }
}

/** Throws 'invalid-argument' unless a number has a value of this type: a real type has any number, an integer type whole numbers of its range. */
export function checkElement(argument: string, value: unknown, dtype: DType): asserts value is number {
  if (typeof value !== 'number') throw invalidArgument(argument, describe(value), `a number of type ${dtype}`);
  const range = INTEGER_RANGE[dtype];
  if (range !== undefined && !(Number.isInteger(value) && value >= range[0] && value <= range[1])) {
    throw invalidArgument(argument, describe(value), `a whole number from ${range[0]} to ${range[1]}, as the type is ${dtype}`);
  }
}
