/** Numbers of the caller as bytes of an element type, and back. Memory is little-endian, in C order and without gaps. */

import { describe, invalidArgument } from '../../arguments/errors.js';
import { checkElement, DTYPE_BYTES, numbersPerElement, type DataOf, type DType } from '../dtype.js';
import type { Nested } from '../nested.js';
import { fromHalf, toHalf } from './half.js';

/** Numbers in the caller's memory. Those of 64 bits are taken as the nearest that the element type has. */
export type Numeric = Numbers | BigInt64Array | BigUint64Array;

/** Lists of typed arrays, or lists of such lists: rows of a tensor. */
export type Rows = readonly (Numeric | Rows)[];

/** Numbers in memory, as JavaScript computes with them. */
export type Numbers =
  | Float32Array
  | Float64Array
  | Int32Array
  | Uint32Array
  | Int16Array
  | Uint16Array
  | Int8Array
  | Uint8Array
  | Uint8ClampedArray
  | readonly number[];

/** Memory of tensors is a multiple of this many bytes, and kernels read and write up to its end. */
const GRAIN = 16;

/** Bytes of memory for `bytes` bytes of elements. */
export function paddedBytes(bytes: number): number {
  return Math.max(1, Math.ceil(bytes / GRAIN)) * GRAIN;
}

/** Bytes of the elements of a shape, without padding. */
export function elementBytes(dtype: DType, sizes: readonly number[]): number {
  return elementCount(sizes) * DTYPE_BYTES[dtype];
}

/** Number of elements of a shape. */
export function elementCount(sizes: readonly number[]): number {
  return sizes.reduce((product, size) => product * size, 1);
}

/** How many numbers of the caller the elements of a shape are. */
export function numberCount(dtype: DType, sizes: readonly number[]): number {
  return elementCount(sizes) * numbersPerElement(dtype);
}

/** Typed arrays whose elements are those of an element type, so that their bytes need no conversion. */
const SAME_BYTES: Readonly<Record<DType, readonly (abstract new (...args: never) => object)[]>> = {
  f32: [Float32Array],
  f16: [],
  i32: [Int32Array],
  u32: [Uint32Array],
  u8: [Uint8Array, Uint8ClampedArray],
  bool: [],
  c64: [Float32Array],
};

/** Integer arrays all of whose numbers an element type has. */
const WITHIN: Readonly<Record<DType, readonly (abstract new (...args: never) => object)[]>> = {
  f32: [Float64Array, Int32Array, Uint32Array, Int16Array, Uint16Array, Int8Array, Uint8Array, Uint8ClampedArray],
  f16: [Float32Array, Float64Array, Int32Array, Uint32Array, Int16Array, Uint16Array, Int8Array, Uint8Array, Uint8ClampedArray],
  i32: [Int16Array, Uint16Array, Int8Array, Uint8Array, Uint8ClampedArray],
  u32: [Uint16Array, Uint8Array, Uint8ClampedArray],
  u8: [],
  bool: [],
  c64: [Float64Array, Int32Array, Uint32Array, Int16Array, Uint16Array, Int8Array, Uint8Array, Uint8ClampedArray],
};

const isOf = (data: object, types: readonly (abstract new (...args: never) => object)[]) => types.some((type) => data instanceof type);

/** Bytes with zeros up to a whole number of words, which memory has room for. */
export function wholeWords(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  if (bytes.length % 4 === 0) return bytes;
  const padded = new Uint8Array(Math.ceil(bytes.length / 4) * 4);
  padded.set(bytes);
  return padded;
}

/** Whether something is a typed array. */
function isTypedArray(data: unknown): data is Exclude<Numeric, readonly number[]> {
  return ArrayBuffer.isView(data) && !(data instanceof DataView);
}

/** Numbers of the caller, those of 64 bits in f64. Throws 'invalid-argument' unless they are an array or a typed array. Elements of an array are not checked. */
export function numbersOf(argument: string, data: unknown): Numbers {
  if (data instanceof BigInt64Array || data instanceof BigUint64Array) return Float64Array.from(data as Iterable<bigint>, Number);
  if (!isTypedArray(data) && !Array.isArray(data)) throw invalidArgument(argument, describe(data), 'an array of numbers or a typed array');
  return data as Numbers;
}

/**
 * The bytes of numbers as elements of a type: a view of the caller's memory where that has them, else fresh memory. Throws 'invalid-argument'
 * for a number that the type does not have, with its position: integer types take whole numbers of their range, bool 0 and 1. Elements of c64 are
 * two numbers each.
 */
export function encode(argument: string, dtype: DType, data: Numbers): Uint8Array<ArrayBuffer> {
  if (ArrayBuffer.isView(data) && isOf(data, SAME_BYTES[dtype])) {
    return new Uint8Array(data.buffer as ArrayBuffer, data.byteOffset, data.byteLength);
  }
  const bytes = new Uint8Array(data.length * (DTYPE_BYTES[dtype] / numbersPerElement(dtype)));
  encodeInto(argument, dtype, data, bytes);
  return bytes;
}

/** As {@link encode}, into memory whose address is a multiple of the element's size. */
export function encodeInto(argument: string, dtype: DType, data: Numbers, bytes: Uint8Array): void {
  if (!isOf(data, SAME_BYTES[dtype]) && !isOf(data, WITHIN[dtype])) {
    for (let i = 0; i < data.length; i++) checkElement(`${argument}[${i}]`, data[i], dtype);
  }
  const elements = elementsOf(dtype, bytes);
  if (dtype === 'f16') for (let i = 0; i < data.length; i++) elements[i] = toHalf(data[i] as number);
  else elements.set(data);
}

/** Memory as elements; those of f16 are their bits. */
function elementsOf(dtype: DType, { buffer, byteOffset, byteLength }: Uint8Array) {
  switch (dtype) {
    case 'f32':
    case 'c64':
      return new Float32Array(buffer, byteOffset, byteLength / 4);
    case 'f16':
      return new Uint16Array(buffer, byteOffset, byteLength / 2);
    case 'i32':
      return new Int32Array(buffer, byteOffset, byteLength / 4);
    case 'u32':
      return new Uint32Array(buffer, byteOffset, byteLength / 4);
    case 'u8':
    case 'bool':
      return new Uint8Array(buffer, byteOffset, byteLength);
  }
}

/** The typed array that a read gives, from bytes that it may keep. */
export function decode<D extends DType>(dtype: D, bytes: Uint8Array<ArrayBuffer>): DataOf[D];
export function decode(dtype: DType, bytes: Uint8Array<ArrayBuffer>): DataOf[DType] {
  const elements = elementsOf(dtype, bytes);
  return elements instanceof Uint16Array ? Float32Array.from(elements, fromHalf) : elements;
}

/** Whether data is lists of lists, or of typed arrays: rows of a tensor. */
export function isNested(data: unknown): data is Nested | Rows {
  return typeof data === 'number' || (Array.isArray(data) && (Array.isArray(data[0]) || isTypedArray(data[0])));
}

/**
 * Lists of lists as their numbers, in C order, and their shape; typed arrays are lists of numbers. Throws 'invalid-argument' where lists of one depth
 * have different lengths.
 */
export function flatten(argument: string, data: Nested | Rows): { numbers: number[]; sizes: number[] } {
  const isList = (part: unknown): part is Nested[] | Exclude<Numeric, readonly number[]> => Array.isArray(part) || isTypedArray(part);
  const sizes: number[] = [];
  for (let part: unknown = data; isList(part); part = part[0]) {
    sizes.push(part.length);
    if (part.length === 0) break;
  }
  const numbers: number[] = [];
  const walk = (part: unknown, axis: number, place: string): void => {
    if (axis === sizes.length) {
      if (typeof part !== 'number') throw invalidArgument(`${argument}${place}`, describe(part), 'a number, as the first element at this depth');
      numbers.push(part);
      return;
    }
    if (!isList(part)) throw invalidArgument(`${argument}${place}`, describe(part), `an array of ${sizes[axis]}, as the first at this depth`);
    if (part.length !== sizes[axis]) {
      const got = Array.isArray(part) ? describe(part) : `${describe(part)} of ${part.length}`;
      throw invalidArgument(`${argument}${place}`, got, `an array of ${sizes[axis]}, as the first at this depth`);
    }
    if (Array.isArray(part)) part.forEach((inner, i) => walk(inner, axis + 1, `${place}[${i}]`));
    else if (axis + 1 < sizes.length) throw invalidArgument(`${argument}${place}`, describe(part), 'an array of arrays, as the first at this depth');
    else for (const number of numbersOf(argument, part)) numbers.push(number);
  };
  walk(data, 0, '');
  return { numbers, sizes };
}
