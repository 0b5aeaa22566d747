/** Numbers of the caller as bytes of an element type, and back. Memory is little-endian, in C order and without gaps. */

import { describe, invalidArgument } from '../../arguments/errors.js';
import { checkElement, DTYPE_BYTES, numbersPerElement, type DataOf, type DType } from '../dtype.js';
import type { Nested } from '../nested.js';
import { fromHalf, toHalf } from './half.js';

/** Numbers in the caller's memory. */
export type Numeric =
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

/** Throws 'invalid-argument' unless `data` is an array of numbers or a typed array of them. Elements of an array are not checked. */
export function checkNumeric(argument: string, data: unknown): asserts data is Numeric {
  const isTyped = ArrayBuffer.isView(data) && !(data instanceof DataView || data instanceof BigInt64Array || data instanceof BigUint64Array);
  if (!isTyped && !Array.isArray(data)) throw invalidArgument(argument, describe(data), 'an array of numbers or a typed array');
}

/**
 * The bytes of numbers as elements of a type: a view of the caller's memory where that has them, else fresh memory. Throws 'invalid-argument'
 * for a number that the type does not have, with its position: integer types take whole numbers of their range, bool 0 and 1. Elements of c64 are
 * two numbers each.
 */
export function encode(argument: string, dtype: DType, data: Numeric): Uint8Array<ArrayBuffer> {
  if (ArrayBuffer.isView(data) && isOf(data, SAME_BYTES[dtype])) {
    return new Uint8Array(data.buffer as ArrayBuffer, data.byteOffset, data.byteLength);
  }
  const bytes = new Uint8Array(data.length * (DTYPE_BYTES[dtype] / numbersPerElement(dtype)));
  encodeInto(argument, dtype, data, bytes);
  return bytes;
}

/** As {@link encode}, into memory whose address is a multiple of the element's size. */
export function encodeInto(argument: string, dtype: DType, data: Numeric, bytes: Uint8Array): void {
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

/** Lists of lists as their numbers, in C order, and their shape. Throws 'invalid-argument' where lists of one depth have different lengths. */
export function flatten(argument: string, data: Nested): { numbers: number[]; sizes: number[] } {
  const sizes: number[] = [];
  for (let part = data; Array.isArray(part); part = part[0] as Nested) {
    sizes.push(part.length);
    if (part.length === 0) break;
  }
  const numbers: number[] = [];
  const walk = (part: Nested, axis: number, place: string): void => {
    if (axis === sizes.length) {
      if (typeof part !== 'number') throw invalidArgument(`${argument}${place}`, describe(part), 'a number, as the first element at this depth');
      numbers.push(part);
      return;
    }
    if (!Array.isArray(part) || part.length !== sizes[axis]) {
      throw invalidArgument(`${argument}${place}`, describe(part), `an array of ${sizes[axis]}, as the first at this depth`);
    }
    part.forEach((inner: Nested, i) => walk(inner, axis + 1, `${place}[${i}]`));
  };
  walk(data, 0, '');
  return { numbers, sizes };
}
