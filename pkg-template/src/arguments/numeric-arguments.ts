/** Checks and copies of numbers and indices from the caller. Copies make later changes of the caller's arrays ineffective. */

import { describe, invalidArgument } from './errors.js';

/** A list of numbers. */
export type Numbers = Float64Array | Float32Array | readonly number[];
/** A list of indices: whole numbers from 0. */
export type Indices = Uint32Array | Int32Array | readonly number[];

/** The largest index that the tables can hold. */
const LARGEST_INDEX = 2 ** 32 - 1;

/** Returns a copy of finite numbers in double precision. Throws 'invalid-argument' for anything else. */
export function copyNumbers(argument: string, values: unknown): Float64Array {
  return new Float64Array(checkNumbers(argument, values));
}

/** Returns arrays of numbers one after another, in a fresh one of this kind. */
export function joined<T extends Float64Array | Uint32Array>(Kind: new (length: number) => T, parts: readonly T[]): T {
  const all = new Kind(parts.reduce((total, { length }) => total + length, 0));
  let end = 0;
  for (const part of parts) {
    all.set(part, end);
    end += part.length;
  }
  return all;
}

/** This many numbers stay in the processor's first-level cache between the check and the copy. */
const PIECE = 2048;

/**
 * Copies finite numbers to `into`, in its precision, and returns it. Throws 'invalid-argument' for another number of numbers than `into`
 * has, or for numbers that are not finite.
 *
 * @param isFinite a faster check, where there is one, of whether all numbers of the copy are finite
 */
export function copyNumbersInto<T extends Float64Array | Float32Array>(
  argument: string,
  values: unknown,
  into: T,
  meaning: string,
  isFinite?: () => boolean,
): T {
  if (values instanceof Float64Array && values.length === into.length) {
    if (isFinite !== undefined) {
      into.set(values);
      if (!isFinite()) checkNumbers(argument, values);
      return into;
    }
    for (let from = 0; from < values.length; from += PIECE) {
      const piece = values.subarray(from, from + PIECE);
      // Throws, with the position of the number.
      if (!areFinite(piece)) checkNumbers(argument, values);
      into.set(piece, from);
    }
    return into;
  }
  const list = checkNumbers(argument, values);
  if (list.length !== into.length) throw invalidArgument(argument, `${list.length} numbers`, `${into.length}: ${meaning}`);
  into.set(list);
  return into;
}

/** Returns `values` if it is a list of finite numbers. Throws 'invalid-argument' otherwise. */
function checkNumbers(argument: string, values: unknown): ArrayLike<number> {
  const list = checkList(argument, values, 'an array of finite numbers');
  if (list instanceof Float64Array && areFinite(list)) return list;
  for (let i = 0; i < list.length; i++) {
    const value = list[i];
    // A finite number minus itself is 0.
    if (typeof value !== 'number' || value - value !== 0) throw invalidArgument(`${argument}[${i}]`, describe(value), 'a finite number');
  }
  return list as ArrayLike<number>;
}

/** Whether all numbers are finite. Four partial sums of zeros or NaN have a quarter of the latency of one sum. */
export function areFinite(list: Float64Array): boolean {
  const zero = 0;
  let [a, b, c, d] = [zero, zero, zero, zero];
  const whole = list.length - (list.length % 4);
  for (let i = 0; i < whole; i += 4) {
    a += zero * (list[i] as number);
    b += zero * (list[i + 1] as number);
    c += zero * (list[i + 2] as number);
    d += zero * (list[i + 3] as number);
  }
  for (let i = whole; i < list.length; i++) a += zero * (list[i] as number);
  return a + b + c + d === 0;
}

/** Returns a copy of `length` bounds. `none`, an infinity, stands for no bound. */
export function copyBounds(argument: string, bounds: unknown, length: number, none: number): Float64Array {
  const list = checkList(argument, bounds, 'a number or one per coordinate');
  for (let i = 0; i < list.length; i++) {
    const bound = list[i];
    // No number is above Infinity or below −Infinity.
    if (typeof bound !== 'number' || bound !== bound || bound === -none) {
      throw invalidArgument(`${argument}[${i}]`, describe(bound), `a finite number, or ${none} for no bound`);
    }
  }
  if (list.length !== length) throw invalidArgument(argument, `${list.length} numbers`, `one number or ${length}, one per coordinate`);
  return new Float64Array(list as ArrayLike<number>);
}

/** As {@link copyNumbers}, of a required length. */
export function copyNumbersOfLength(argument: string, values: unknown, length: number, meaning: string): Float64Array {
  const copy = copyNumbers(argument, values);
  if (copy.length !== length) throw invalidArgument(argument, `${copy.length} numbers`, `${length}: ${meaning}`);
  return copy;
}

/**
 * Returns a copy of `length` numbers, or of any number of them, which may be NaN or infinite: one such number must not prevent the solution of the other
 * problems.
 */
export function copyAnyNumbers(argument: string, values: unknown, length?: number, meaning = ''): Float64Array {
  const list = checkList(argument, values, 'an array of numbers');
  if (length !== undefined && list.length !== length) throw invalidArgument(argument, `${list.length} numbers`, `${length}: ${meaning}`);
  if (Array.isArray(list)) {
    const other = list.findIndex((value) => typeof value !== 'number');
    if (other >= 0) throw invalidArgument(`${argument}[${other}]`, describe(list[other]), 'a number');
  }
  return new Float64Array(list as ArrayLike<number>);
}

/** Returns a copy of indices, each below `count`. `what` names the indexed things in messages. */
export function copyIndices(argument: string, indices: unknown, count: number, what: string): Uint32Array {
  const list = checkList(argument, indices, 'an array of indices');
  if (list instanceof Uint32Array && areBelow(list, count)) return new Uint32Array(list);
  const copy = new Uint32Array(list.length);
  for (let i = 0; i < copy.length; i++) {
    const index = list[i];
    if (typeof index === 'number') copy[i] = index;
    if (copy[i] !== index || (copy[i] as number) >= count) {
      throw invalidArgument(`${argument}[${i}]`, describe(index), `a whole number from 0 below the number of ${what}, ${count}`);
    }
  }
  return copy;
}

/** The same check for a Uint32Array, where the loop is several times as fast. */
function areBelow(list: Uint32Array, count: number): boolean {
  for (let i = 0; i < list.length; i++) if ((list[i] as number) >= count) return false;
  return true;
}

/** Returns a copy of the offsets of a star: from 0, ascending, ending with the number of entries. */
export function copyOffsets(argument: string, offsets: unknown, entries: number, what: string): Uint32Array {
  const copy = copyIndices(argument, offsets, LARGEST_INDEX, 'addressable entries');
  if (copy.length === 0) throw invalidArgument(argument, 'an empty array', 'one offset more than there are instances');
  if (copy[0] !== 0) throw invalidArgument(`${argument}[0]`, String(copy[0]), '0');
  for (let i = 1; i < copy.length; i++) {
    if ((copy[i] as number) < (copy[i - 1] as number)) {
      throw invalidArgument(`${argument}[${i}]`, String(copy[i]), `at least the offset before it, ${copy[i - 1]}`);
    }
  }
  const last = copy.length - 1;
  if (copy[last] !== entries) throw invalidArgument(`${argument}[${last}]`, String(copy[last]), `the number of ${what}, ${entries}`);
  return copy;
}

/** Throws unless `value` is a whole number of at least `least` (and at most `most`). */
export function checkWholeNumber(argument: string, value: unknown, least: number, most: number = LARGEST_INDEX): asserts value is number {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < least || value > most) {
    const isTooLarge = typeof value === 'number' && value > most;
    const range = most === LARGEST_INDEX && !isTooLarge ? `of at least ${least}` : `from ${least} to ${most}`;
    throw invalidArgument(argument, describe(value), `a whole number ${range}`);
  }
}

/** Throws unless `value` is a finite number of at least `least`. */
export function checkFinite(argument: string, value: unknown, least: number = -Infinity): asserts value is number {
  if (typeof value !== 'number' || !Number.isFinite(value) || value < least) {
    throw invalidArgument(argument, describe(value), least === -Infinity ? 'a finite number' : `a finite number of at least ${least}`);
  }
}

/** Throws unless `name` is a string that is not empty. */
export function checkName(argument: string, name: unknown): asserts name is string {
  if (typeof name !== 'string' || name === '') throw invalidArgument(argument, describe(name), 'a name that is not empty');
}

/** Throws unless `value` is an object with properties: not an array, nor a Map or another collection, whose entries are no properties. */
export function checkObject(argument: string, value: unknown): asserts value is object {
  if (typeof value !== 'object' || value === null || Symbol.iterator in value) throw invalidArgument(argument, describe(value), 'an object');
}

/** Throws unless `list` is an array, or a typed array whose buffer is not detached. Its elements are not checked. */
function checkList(argument: string, list: unknown, takes: string): ArrayLike<unknown> {
  if (Array.isArray(list)) return list;
  const isNumeric = ArrayBuffer.isView(list) && !(list instanceof DataView) && !(list instanceof BigInt64Array) && !(list instanceof BigUint64Array);
  if (!isNumeric) throw invalidArgument(argument, describe(list), takes);
  const numbers = list as Float64Array;
  if (numbers.length === 0 && isDetached(numbers)) throw invalidArgument(argument, `a detached ${list.constructor.name}`, takes);
  return numbers;
}

/** Whether the buffer of a typed array was transferred, or has shrunk below the array's end. */
function isDetached(numbers: Float64Array): boolean {
  try {
    numbers.keys();
    return false;
  } catch {
    return true;
  }
}
