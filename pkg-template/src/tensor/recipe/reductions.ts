/** Reductions over axes. Half precision is reduced in single, and the result is half. */

import { describe, invalidArgument } from '../../arguments/errors.js';
import type { DType } from '../dtype.js';
import { product, type Size } from '../size.js';
import { REDUCTION } from '../tape-codes.js';
import { apply, cast, inSingle, test, where } from './elementwise.js';
import { productOver } from './complex-products.js';
import { byParts, ComplexNode, constantNode, Node, REAL_NUMBERS } from './node.js';
import { checkAxes, checkAxis, checkKeep, checkType, nodeText, NOT_COMPLEX, NUMBERS, NUMBERS_OR_COMPLEX, REALS, type Keep } from './operands.js';
import { reshaped } from './views.js';

/** Options of variance and std. */
export interface VarianceOptions extends Keep {
  /** Divides by the number of elements less this: 1 for a sample. Default 0. */
  correction?: number;
}

/** Options of norm. */
export interface NormOptions extends Keep {
  /** 1, 2 (default) or Infinity. */
  order?: number;
}

/** Reduces axes, which are sorted, and which go or stay with size 1. */
export function reduce(name: keyof typeof REDUCTION, x: Node, axes: readonly number[], keep = false): Node {
  if (x instanceof ComplexNode) {
    if (name === 'sum') return byParts(x, (part) => reduce(name, part, axes, keep));
    if (name === 'prod') return productOver(x, axes, keep);
    throw invalidArgument(name, nodeText(x), REAL_NUMBERS);
  }
  const isPlace = name === 'argMin' || name === 'argMax';
  if (axes.length === 0 && isPlace) return constantNode(0, 'i32', x.shape);
  if (axes.length === 0) return name === 'variance' ? apply('sub', [x, x]) : x;
  const shape = x.shape.filter((_, axis) => !axes.includes(axis));
  const reduced = new Node('reduce', isPlace ? 'i32' : x.dtype, shape, [x], [REDUCTION[name], ...axes]);
  return keep ? reshaped(reduced, x.shape.map((size, axis) => (axes.includes(axis) ? 1 : size))) : reduced;
}

/** Sum, product, smallest or largest. */
export function simple(name: 'sum' | 'prod' | 'min' | 'max', x: Node, axes: unknown, options?: Keep): Node {
  const keep = checkKeep(name, options);
  const over = checkAxes(`${name}: axes`, axes, x.shape.length);
  checkType(name, x, name === 'sum' || name === 'prod' ? NUMBERS_OR_COMPLEX : NUMBERS);
  return inSingle(x, (y) => reduce(name, y, over, keep));
}

/** The number of elements along axes, as a scalar of a type. */
export function countOf(x: Node, axes: readonly number[], dtype: DType): Node {
  return sizeNode(product(axes.map((axis) => x.shape[axis] as Size)), dtype);
}

/** A size as a scalar of a type. */
export function sizeNode(size: Size, dtype: DType): Node {
  return typeof size === 'number' ? constantNode(size, dtype) : new Node('extent', dtype, [], [], [{ size }]);
}

/** Mean over axes that were checked, of real numbers. */
export function meanOver(x: Node, axes: readonly number[], keep: boolean): Node {
  return apply('div', [reduce('sum', x, axes, keep), countOf(x, axes, x.dtype)], 'mean');
}

/** Mean. Of integers the sum wraps, and the quotient is cut toward zero; bytes are added as 32-bit integers. */
export function mean(x: Node, axes: unknown, options?: Keep): Node {
  const keep = checkKeep('mean', options);
  const over = checkAxes('mean: axes', axes, x.shape.length);
  checkType('mean', x, NUMBERS_OR_COMPLEX);
  if (x.dtype === 'u8') return cast(meanOver(cast(x, 'u32'), over, keep), 'u8');
  return byParts(x, (part) => inSingle(part, (y) => meanOver(y, over, keep)));
}

/** The first element along axes, which stay with size 1; 0 of nothing. */
export function firstOver(x: Node, axes: readonly number[]): Node {
  const shape = x.shape.map((size, axis) => (axes.includes(axis) ? 1 : size));
  return new Node('pad', x.dtype, shape, [x, constantNode(0, x.dtype)], [0, ...shape.map(() => ({ size: 0 }))]);
}

/** Variance of differences to the first element, by Welford's and Chan's updates. */
export function variance(x: Node, axes: unknown, options?: VarianceOptions, operation = 'variance'): Node {
  const keep = checkKeep(operation, options, { keep: true, correction: true });
  const over = checkAxes(`${operation}: axes`, axes, x.shape.length);
  const correction = options?.correction ?? 0;
  if (typeof correction !== 'number' || !(correction >= 0)) throw invalidArgument(`${operation}: correction`, describe(correction), 'a number of at least 0');
  checkType(operation, x, REALS);
  return inSingle(x, (y) => {
    const biased = reduce('variance', y, over, keep);
    if (correction === 0) return biased;
    const count = countOf(y, over, 'f32');
    return apply('mul', [biased, apply('div', [count, apply('maximum', [apply('sub', [count, correction]), 0])])]);
  });
}

/** The square root of the variance: the length of a vector of differences, whose derivative at 0 is 0. */
export function std(x: Node, axes: unknown, options?: VarianceOptions): Node {
  return inSingle(x, (y) => apply('vectorNorm', [variance(y, axes, options, 'std')]));
}

/** log Σ exp x, without overflow. */
export function logSumExp(x: Node, axes: unknown, options?: Keep): Node {
  const keep = checkKeep('logSumExp', options);
  const over = checkAxes('logSumExp: axes', axes, x.shape.length);
  checkType('logSumExp', x, REALS);
  return inSingle(x, (y) => {
    const largest = apply('stopGradient', [reduce('max', y, over, true)]);
    // An infinite or NaN maximum would make NaN of differences; the exponentials are 0, infinite or NaN without it.
    const level = where(test('isFinite', largest), largest, 0);
    const sum = reduce('sum', apply('exp', [apply('sub', [y, level])]), over, true);
    // Of nothing but −∞ the sum is 0, where the slope of the logarithm is infinite: that of the whole is 0.
    const isNothing = apply('eq', [sum, 0]);
    const kept = apply('add', [where(isNothing, -Infinity, apply('log', [where(isNothing, 1, sum)])), level]);
    return keep ? kept : reshaped(kept, y.shape.filter((_, axis) => !over.includes(axis)));
  });
}

/** Whether any or all elements are not 0. Of nothing any is false and all is true. */
export function anyOrAll(name: 'any' | 'all', x: Node, axes: unknown, options?: Keep): Node {
  const keep = checkKeep(name, options);
  const over = checkAxes(`${name}: axes`, axes, x.shape.length);
  return reduce(name === 'any' ? 'max' : 'min', cast(x, 'bool'), over, keep);
}

/** How many elements are not 0. */
export function countNonzero(x: Node, axes: unknown, options?: Keep): Node {
  const keep = checkKeep('countNonzero', options);
  const over = checkAxes('countNonzero: axes', axes, x.shape.length);
  return reduce('sum', cast(cast(x, 'bool'), 'u32'), over, keep);
}

/** The norm of vectors along axes, in single precision. The Euclidean one is scaled by the largest magnitude, so no square overflows or vanishes. */
export function norm(x: Node, axes: unknown, options?: NormOptions): Node {
  const keep = checkKeep('norm', options, { keep: true, order: true });
  const over = checkAxes('norm: axes', axes, x.shape.length);
  const order = options?.order ?? 2;
  checkType('norm', x, NUMBERS);
  const y = cast(x, 'f32');
  const magnitude = apply('abs', [y]);
  if (order === 1) return reduce('sum', magnitude, over, keep);
  // No magnitude is below 0, so that of nothing is 0.
  if (order === Infinity) return over.length === 0 ? magnitude : apply('maximum', [reduce('max', magnitude, over, keep), 0]);
  if (order !== 2) throw invalidArgument('norm: order', describe(order), '1, 2 or Infinity');
  if (over.length === 0) return magnitude;
  const largest = apply('stopGradient', [reduce('max', magnitude, over, true)]);
  const isScale = apply('and', [apply('gt', [largest, 0]), test('isFinite', largest)]);
  const scale = where(isScale, largest, 1);
  const ratio = apply('div', [y, scale]);
  const kept = apply('mul', [apply('vectorNorm', [reduce('sum', apply('mul', [ratio, ratio]), over, true)]), scale]);
  return keep ? kept : reshaped(kept, y.shape.filter((_, axis) => !over.includes(axis)));
}

/** The place of the first smallest or largest element along an axis, or of all; a NaN counts as the extreme. */
export function place(name: 'argmin' | 'argmax', x: Node, axis: unknown, options?: Keep): Node {
  const keep = checkKeep(name, options);
  const rank = x.shape.length;
  const over = axis === undefined ? checkAxes(name, undefined, rank) : [checkAxis(`${name}: axis`, axis, rank)];
  checkType(name, x, NOT_COMPLEX);
  const y = x.dtype === 'bool' ? cast(x, 'u8') : x;
  return reduce(name === 'argmin' ? 'argMin' : 'argMax', y, over, keep);
}
