/**
 * Sorting, selection and search along an axis. Elements become 32 bits in the same order, of which the module finds the places in ascending order;
 * values are gathered from these places, so that a gradient goes back to where a value stood.
 */

import { describe, invalidArgument } from '../../arguments/errors.js';
import { checkWholeNumber } from '../../arguments/numeric-arguments.js';
import { checkFlag, checkOptions } from '../../arguments/options.js';
import { largest, minus, plus, product, sizeText, type Size } from '../size.js';
import { highProduct } from './distributions.js';
import { apply, bitcast, cast, inSingle, test, where } from './elementwise.js';
import { constantNode, Node, REAL_NUMBERS } from './node.js';
import { checkAxis, checkKeep, checkType, nodeText, REALS, type Keep } from './operands.js';
import { sizeNode } from './reductions.js';
import { stack } from './slices.js';
import { permute, reshaped } from './views.js';

/** Options of sort and argsort. */
export interface SortOptions {
  /** The largest first. Default false. */
  descending?: boolean;
}

/** Options of topk. */
export interface TopkOptions {
  /** The smallest elements instead of the largest. Default false. */
  smallest?: boolean;
}

/** Words of 32 bits that are ordered as elements are, and how many of their low bits may differ from 0. */
interface Keys {
  readonly keys: Node;
  readonly bits: number;
}

/** The sign of a number. */
const SIGN = 0x80000000;

/** Keys of elements. Those of equal elements are equal, and that of a NaN is larger than all others. */
function keysOf(operation: string, x: Node, isDescending: boolean): Keys {
  const reversed = (keys: Node): Node => (isDescending ? apply('not', [keys]) : keys);
  switch (x.dtype) {
    case 'f32':
    case 'f16': {
      const number = cast(x, 'f32');
      const bits = bitcast(number, 'u32');
      // The bits of negative numbers fall where the numbers rise. What the engine takes for 0 has the key of 0: −0, and on some GPUs subnormal numbers.
      const nonzero = where(apply('gte', [bits, SIGN]), apply('not', [bits]), apply('or', [bits, SIGN]));
      const ordered = where(apply('eq', [number, 0]), SIGN, nonzero);
      return { keys: where(test('isNaN', number), 0xffffffff, reversed(ordered)), bits: 32 };
    }
    case 'i32':
      return { keys: reversed(apply('xor', [bitcast(x, 'u32'), SIGN])), bits: 32 };
    case 'u32':
      return { keys: reversed(x), bits: 32 };
    case 'c64':
      throw invalidArgument(operation, nodeText(x), REAL_NUMBERS);
    case 'u8':
    case 'bool': {
      const [most, bits] = x.dtype === 'u8' ? [255, 8] : [1, 1];
      const keys = cast(x, 'u32');
      return { keys: isDescending ? apply('sub', [most, keys]) : keys, bits };
    }
  }
}

/** The places along an axis of the first `count` elements of the sorted axis. */
function order(operation: string, x: Node, axis: number, isDescending: boolean, count: Size): Node {
  const rank = x.shape.length;
  const { keys, bits } = keysOf(operation, x, isDescending);
  const others = x.shape.map((_, k) => k).filter((k) => k !== axis);
  const rows = permute(keys, [...others, axis]);
  const shape = [...others.map((k) => x.shape[k] as Size), count];
  const bounds = [minus(x.shape[axis] as Size, count)];
  const places = new Node('argsort', 'i32', shape, [rows], [bits], null, bounds);
  // Axis k of the result is axis k − 1 of the rows where it stands behind the sorted one.
  return permute(places, Array.from({ length: rank }, (_, k) => (k === axis ? rank - 1 : k > axis ? k - 1 : k)));
}

/** The elements at places along an axis. */
function at(x: Node, places: Node, axis: number): Node {
  return new Node('gatherElements', x.dtype, places.shape, [x, places], [axis]);
}

/** A tensor with a number after the last of an axis, so that one of a size that a run tells has a place to read. */
function withLast(x: Node, axis: number, last: number): Node {
  const shape = x.shape.map((size, k) => (k === axis ? plus(size, 1) : size));
  return new Node('pad', x.dtype, shape, [x, constantNode(last, x.dtype)], [0, ...shape.map(() => ({ size: 0 }))]);
}

function isDescending(operation: string, options: SortOptions | undefined): boolean {
  if (options === undefined) return false;
  checkOptions(`${operation}: options`, options, { descending: true });
  checkFlag(`${operation}: descending`, options.descending);
  return options.descending === true;
}

/** The places of the elements of an axis in order. */
export function argsort(x: Node, axis: unknown, options?: SortOptions, operation = 'argsort'): Node {
  const along = checkAxis(`${operation}: axis`, axis, x.shape.length);
  return order(operation, x, along, isDescending(operation, options), x.shape[along] as Size);
}

/** The places of a vector's elements in order, and words in this order, which are equal for equal elements and for all NaN. */
export function inOrder(operation: string, x: Node): { order: Node; keys: Node } {
  const places = argsort(x, 0, undefined, operation);
  return { order: places, keys: at(keysOf(operation, x, false).keys, places, 0) };
}

/** The elements of an axis in order. */
export function sort(x: Node, axis: unknown, options?: SortOptions): Node {
  const places = argsort(x, axis, options, 'sort');
  return at(x, places, checkAxis('sort: axis', axis, x.shape.length));
}

/** The largest or smallest elements of an axis, and their places. */
export function topk(x: Node, k: unknown, axis: unknown, options?: TopkOptions): { values: Node; indices: Node } {
  checkWholeNumber('topk: k', k, 0);
  const along = checkAxis('topk: axis', axis, x.shape.length);
  const size = x.shape[along] as Size;
  if (k > largest(size)) throw invalidArgument('topk: k', String(k), `at most ${sizeText(size)}, the size of axis ${along}`);
  let isSmallest = false;
  if (options !== undefined) {
    checkOptions('topk: options', options, { smallest: true });
    checkFlag('topk: smallest', options.smallest);
    isSmallest = options.smallest === true;
  }
  const indices = order('topk', x, along, !isSmallest, k);
  return { values: at(x, indices, along), indices };
}

/** How many elements of a sorted vector are smaller than each value, or not larger: by bisection. */
export function searchSorted(x: Node, values: Node, side: unknown): Node {
  if (x.shape.length !== 1) throw invalidArgument('searchSorted', nodeText(x), 'a vector');
  if (values.dtype !== x.dtype) throw invalidArgument('searchSorted: values', nodeText(values), `a tensor of ${x.dtype}, or a cast() to it`);
  if (side !== 'left' && side !== 'right') throw invalidArgument('searchSorted: side', describe(side), "'left' or 'right'");
  const size = x.shape[0] as Size;
  const [keys, wanted] = [keysOf('searchSorted', x, false).keys, keysOf('searchSorted', values, false).keys];
  const sorted = typeof size === 'number' ? keys : withLast(keys, 0, 0);
  const count = sizeNode(size, 'u32');
  let found = constantNode(0, 'u32', values.shape);
  for (let step = 31 - Math.clz32(largest(size)); step >= 0; step--) {
    const next = apply('add', [found, 2 ** step]);
    // Places beyond the end are not counted, and are not read either.
    const place = apply('sub', [apply('minimum', [next, apply('maximum', [count, 1])]), 1]);
    const before = new Node('gather', 'u32', values.shape, [sorted, place], [0]);
    const isBefore = apply(side === 'left' ? 'lt' : 'lte', [before, wanted]);
    found = where(apply('and', [isBefore, apply('lte', [next, count])]), next, found);
  }
  return cast(found, 'i32');
}

/** Numbers below which shares of an axis lie. */
export function quantile(operation: string, x: Node, q: unknown, axis: unknown, options?: Keep): Node {
  checkType(operation, x, REALS);
  const keep = checkKeep(operation, options);
  const list: readonly unknown[] = Array.isArray(q) ? q : [q];
  list.forEach((share) => {
    if (typeof share !== 'number' || !(share >= 0 && share <= 1)) throw invalidArgument(`${operation}: q`, describe(share), 'numbers from 0 to 1');
  });
  if (list.length === 0) throw invalidArgument(`${operation}: q`, 'an empty list', 'at least one number');
  const along = axis === undefined ? null : checkAxis(`${operation}: axis`, axis, x.shape.length);
  const flat = along === null ? reshaped(x, [product(x.shape)]) : x;
  const over = along ?? 0;
  const rest = x.shape.filter((_, k) => along !== null && k !== along);
  const shape = keep ? x.shape.map((size, k) => (along === null || k === along ? 1 : size)) : rest;
  return inSingle(flat, (y) => {
    const size = y.shape[over] as Size;
    if (size === 0) return constantNode(NaN, 'f32', Array.isArray(q) ? [list.length, ...shape] : shape);
    const places = order(operation, y, over, false, size);
    // Of nothing, all places are 0, where a NaN stands.
    const [numbers, found] = typeof size === 'number' ? [y, places] : [withLast(y, over, NaN), withLast(places, over, 0)];
    const results = (list as readonly number[]).map((share) => reshaped(between(numbers, found, over, size, share), shape));
    return Array.isArray(q) ? stack(results, 0) : (results[0] as Node);
  });
}

/** The number at a share of the sorted axis of a size, between its neighbours. The axis stays, with size 1. */
function between(x: Node, places: Node, axis: number, size: Size, share: number): Node {
  const one = (place: Node): Node => {
    const shape = x.shape.map((each, k) => (k === axis ? 1 : each));
    return at(x, new Node('gather', 'i32', shape, [places, reshaped(place, [1])], [axis]), axis);
  };
  // Of nothing there is no last place, and 0 is read.
  const last = apply('sub', [apply('maximum', [sizeNode(size, 'u32'), 1]), 1]);
  const most = one(last);
  const orNaN = (value: Node): Node => where(test('isNaN', most), most, value);
  if (typeof size === 'number') {
    const place = share * (size - 1);
    const low = Math.floor(place);
    const lower = one(constantNode(low, 'u32'));
    if (low === place) return orNaN(lower);
    return orNaN(mean(lower, one(constantNode(low + 1, 'u32')), place - low));
  }
  if (share === 1) return most;
  // The share as a multiple of 2⁻³²: the high word of the product is the place, the low word how far it is to the next.
  const multiple = Math.min(Math.round(share * 2 ** 32), 2 ** 32 - 1);
  const low = highProduct(last, multiple);
  const distance = apply('mul', [cast(apply('mul', [last, multiple]), 'f32'), 2 ** -32]);
  const next = apply('minimum', [apply('add', [low, 1]), last]);
  return orNaN(mean(one(low), one(next), distance));
}

/** Between two numbers, from the nearer one. */
function mean(a: Node, b: Node, distance: number | Node): Node {
  const difference = apply('sub', [b, a]);
  const rest = typeof distance === 'number' ? 1 - distance : apply('sub', [1, distance]);
  // Two equal infinities have no difference, and an infinity times no distance is NaN.
  const areEqual = test('isNaN', difference);
  const isFirst = typeof distance === 'number' ? areEqual : apply('or', [areEqual, apply('eq', [distance, 0])]);
  // The difference of large numbers may overflow: parts of them do not.
  const parts = apply('add', [apply('mul', [a, rest]), apply('mul', [b, distance])]);
  return where(isFirst, a, where(test('isFinite', difference), interpolated(a, b, difference, distance, rest), parts));
}

function interpolated(a: Node, b: Node, difference: Node, distance: number | Node, rest: number | Node): Node {
  const fromFirst = apply('add', [a, apply('mul', [difference, distance])]);
  const fromSecond = apply('sub', [b, apply('mul', [difference, rest])]);
  if (typeof distance === 'number') return distance < 0.5 ? fromFirst : fromSecond;
  return where(apply('lt', [distance, 0.5]), fromFirst, fromSecond);
}
