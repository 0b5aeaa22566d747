/** What a run of a model is given: sizes that its inputs name are told by shapes of tensors, or follow from numbers of numbers. */

import { describe, invalidArgument } from '../../arguments/errors.js';
import { checkObject } from '../../arguments/numeric-arguments.js';
import { StoredTensor } from '../device/stored-tensor.js';
import type { DType } from '../dtype.js';
import { elementCount, numbersOf, type Numeric } from '../memory/numbers.js';
import { shapeText, type Dims, type Size } from '../size.js';
import { Tensor } from '../tensor.js';
import { typeOfDType, type ElementType } from './element-types.js';
import type { ValueInfo } from './model.js';
import { MOST_ELEMENTS_IN_MEMORY } from './reading.js';
import type { Host } from './values.js';

/** An input or an output of a model. */
export interface ModelValue {
  /** Its name in the file, by which feeds and outputs have it. */
  readonly name: string;
  /** The element type in the file, such as 'int64'. */
  readonly type: string;
  /** What its elements are here: i32 for integers of 64 bits, f32 for doubles. */
  readonly dtype: DType;
  /** A size, the name of a size that runs tell, or '' of one without a name; null where the file does not even tell the number of axes. */
  readonly shape: readonly (Size | string)[] | null;
}

/** Numbers with a shape. */
export interface ModelNumbers {
  /** The numbers, in C order. */
  readonly data: Numeric | number;
  /** Sizes of the axes, the outermost first. */
  readonly shape: readonly number[];
}

/** What a run gives for an input: a stored tensor, numbers with their shape, or numbers alone where the shape follows from the other sizes. */
export type ModelFeed = StoredTensor | ModelNumbers | Numeric | number;

/** Returns an input or output as the application sees it. */
export function publicValue({ name, type, shape }: ValueInfo, dims: Dims): ModelValue {
  const { name: typeName, dtype } = type ?? typeOfDType('f32');
  const sizes = shape?.map((size) => (typeof size === 'string' && Object.hasOwn(dims, size) ? (dims[size] as Size) : size)) ?? null;
  return Object.freeze({ name, type: typeName, dtype, shape: sizes === null ? null : Object.freeze(sizes) });
}

/** Throws 'invalid-argument' unless the feeds have the names of the inputs. */
export function checkNames(argument: string, feeds: unknown, inputs: readonly ModelValue[]): asserts feeds is Readonly<Record<string, unknown>> {
  checkObject(argument, feeds);
  const names = inputs.map(({ name }) => name);
  const takes = names.length === 0 ? 'no inputs' : `the inputs '${names.join("', '")}'`;
  for (const name of Object.keys(feeds as object)) if (!names.includes(name)) throw invalidArgument(`${argument}.${name}`, describe((feeds as Record<string, unknown>)[name]), takes);
  for (const name of names) if ((feeds as Record<string, unknown>)[name] === undefined) throw invalidArgument(`${argument}.${name}`, 'undefined', takes);
}

/** A feed with its sizes. */
export interface SizedFeed {
  readonly input: ModelValue;
  readonly sizes: readonly number[];
  readonly feed: StoredTensor | Numeric | number;
}

/** Finds the sizes of all feeds. Throws 'invalid-argument' where they do not fit the shapes of the inputs, or do not follow. */
export function sizedFeeds(argument: string, feeds: Readonly<Record<string, unknown>>, inputs: readonly ModelValue[]): SizedFeed[] {
  const bound = new Map<string, number>();
  const shaped = inputs.map((input) => shapedFeed(`${argument}.${input.name}`, input, feeds[input.name]));
  for (const { input, sizes } of shaped) if (sizes !== null) bindAll(`${argument}.${input.name}`, input, sizes, bound);
  return shaped.map(({ input, sizes, feed }) => {
    if (sizes !== null) return { input, sizes, feed };
    const place = `${argument}.${input.name}`;
    const found = inferred(place, input, feed as Numeric | number, bound);
    bindAll(place, input, found, bound);
    return { input, sizes: found, feed };
  });
}

function shapedFeed(place: string, input: ModelValue, given: unknown): { input: ModelValue; sizes: readonly number[] | null; feed: StoredTensor | Numeric | number } {
  if (given instanceof StoredTensor) {
    if (given.dtype !== input.dtype) throw invalidArgument(place, `a tensor of ${given.dtype}`, `one of ${input.dtype}`);
    return { input, sizes: given.shape, feed: given };
  }
  if (given instanceof Tensor) throw invalidArgument(place, 'a tensor that is not stored', 'a stored tensor or numbers: Device.store() computes it, and recipe() takes it as it is');
  if (typeof given === 'object' && given !== null && 'data' in given && 'shape' in given) {
    const { data, shape } = given as ModelNumbers;
    if (!Array.isArray(shape) || !shape.every((size) => Number.isSafeInteger(size) && size >= 0)) throw invalidArgument(`${place}.shape`, describe(shape), 'an array of whole numbers');
    const count = typeof data === 'number' ? 1 : numbersOf(`${place}.data`, data).length;
    if (count !== elementCount(shape)) throw invalidArgument(`${place}.data`, `${count} numbers`, `${elementCount(shape)}: the shape is ${shapeText(shape)}`);
    return { input, sizes: shape, feed: data };
  }
  if (typeof given !== 'number') numbersOf(place, given);
  return { input, sizes: null, feed: given as Numeric | number };
}

/** Takes the sizes of an input for the names in its shape. */
function bindAll(place: string, { shape }: ModelValue, sizes: readonly number[], bound: Map<string, number>): void {
  if (shape === null) return;
  const takes = `the shape [${shape.map((size) => (typeof size === 'object' ? size.name : size === '' ? '?' : size)).join(', ')}]`;
  if (shape.length !== sizes.length) throw invalidArgument(place, `the shape ${shapeText(sizes)}`, takes);
  shape.forEach((size, axis) => {
    const own = sizes[axis] as number;
    if (size === '') return;
    const key = typeof size === 'object' ? size.name : size;
    const known = typeof key === 'number' ? key : bound.get(key);
    if (known !== undefined && known !== own) throw invalidArgument(place, `the shape ${shapeText(sizes)}`, typeof key === 'number' ? takes : `${takes} where ${key} is ${known}`);
    if (typeof key === 'string') bound.set(key, own);
  });
}

/** The sizes that so many numbers have: one of them may be open. */
function inferred(place: string, { shape }: ModelValue, data: Numeric | number, bound: ReadonlyMap<string, number>): readonly number[] {
  const count = typeof data === 'number' ? 1 : data.length;
  const known = shape?.map((size) => (typeof size === 'number' ? size : bound.get(typeof size === 'object' ? size.name : size)));
  const open = known?.flatMap((size, axis) => (size === undefined ? [axis] : [])) ?? [];
  if (known === undefined || open.length > 1) {
    // One number of a shape that is all open is one of each.
    throw invalidArgument(place, `${count} numbers`, 'a stored tensor, or { data, shape }, as the file leaves more than one of its sizes open');
  }
  const rest = elementCount(known.map((size) => size ?? 1));
  const size = open.length === 0 ? undefined : count / rest;
  if (open.length === 0 ? rest !== count : !Number.isInteger(size)) throw invalidArgument(place, `${count} numbers`, open.length === 0 ? `${rest}: the shape is ${shapeText(known as number[])}` : `a multiple of ${rest}`);
  return known.map((each) => each ?? (size as number));
}

/** The numbers of a feed as a graph reads them while it is recorded; null of many, and of those on a device. */
export function hostOf({ feed, sizes }: SizedFeed): Host | null {
  if (feed instanceof StoredTensor || elementCount(sizes) > MOST_ELEMENTS_IN_MEMORY) return null;
  return { sizes, data: typeof feed === 'number' ? [feed] : Array.from(feed as ArrayLike<number | bigint>, Number) };
}

/** The element type of an input of a file, or of a tensor where the file says none. */
export function typeOfInput(info: ValueInfo, dtype: DType): ElementType {
  return info.type ?? typeOfDType(dtype);
}
