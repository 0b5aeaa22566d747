/**
 * Slices of the first axis that are combined by segments, and counts. Ids are in any order; a negative one counts from the end, and one that is out
 * of range is left out. Sums are in the order of the slices, so that results repeat bit for bit. Each throws 'invalid-argument' where types or
 * shapes do not fit.
 */

import type { DType } from './dtype.js';
import { nodeOf } from './recipe/operands.js';
import * as segments from './recipe/segments.js';
import { Tensor, type Indices } from './tensor.js';

/**
 * The sum of the slices of each segment, [count, ...] of x [slices, ...] and ids [slices]. An empty segment has 0. Integers wrap; half precision is
 * added in single.
 */
export function segmentSum<D extends DType>(x: Tensor<D>, ids: Indices, count: number): Tensor<D> {
  return Tensor.make(segments.segmentSum(nodeOf('segmentSum', x), nodeOf('segmentSum: ids', ids), count));
}

/** The mean of the slices of each segment, as segmentSum() has them. An empty segment has 0. Of integers it is cut toward zero. */
export function segmentMean<D extends DType>(x: Tensor<D>, ids: Indices, count: number): Tensor<D> {
  return Tensor.make(segments.segmentMean(nodeOf('segmentMean', x), nodeOf('segmentMean: ids', ids), count));
}

/** The largest of each segment, element by element, as segmentSum() has them; NaN if any is. An empty segment has the smallest number of the type, −∞ of floats. */
export function segmentMax<D extends DType>(x: Tensor<D>, ids: Indices, count: number): Tensor<D> {
  return Tensor.make(segments.segmentExtreme('segmentMax', nodeOf('segmentMax', x), nodeOf('segmentMax: ids', ids), count));
}

/** The smallest of each segment, element by element, as segmentSum() has them; NaN if any is. An empty segment has the largest number of the type, ∞ of floats. */
export function segmentMin<D extends DType>(x: Tensor<D>, ids: Indices, count: number): Tensor<D> {
  return Tensor.make(segments.segmentExtreme('segmentMin', nodeOf('segmentMin', x), nodeOf('segmentMin: ids', ids), count));
}

/** How often each of the numbers from 0 to `count` − 1 is among the ids, which have any shape. */
export function bincount(ids: Indices, count: number): Tensor<'u32'> {
  return Tensor.make(segments.bincount(nodeOf('bincount: ids', ids), count));
}

/**
 * How many numbers of x, of any shape, are in each of `bins` intervals of equal length from `low` to `high`. Each has its lower bound and not its
 * upper one, but for the last, which has both, as NumPy has it; the bounds are those of `linspace(low, high, bins + 1)`. NaN and numbers outside are
 * not counted.
 */
export function histogram(x: Tensor<'f32'>, bins: number, low: number, high: number): Tensor<'u32'> {
  return Tensor.make(segments.histogram(nodeOf('histogram', x), bins, low, high));
}
