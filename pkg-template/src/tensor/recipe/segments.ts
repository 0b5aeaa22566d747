/** Slices of the first axis that are combined by segments, and counts of integers and of numbers in intervals: compositions of scatters. */

import { describe, invalidArgument } from '../../arguments/errors.js';
import { checkFinite, checkWholeNumber } from '../../arguments/numeric-arguments.js';
import { extremes } from '../dtype.js';
import { product, sameSize, type Size } from '../size.js';
import { apply, cast, inSingle, where } from './elementwise.js';
import { indexAdd } from './indexing.js';
import { constantNode, type Node } from './node.js';
import { checkType, INDICES, nodeText, NUMBERS } from './operands.js';
import { slice } from './slices.js';
import { linspace } from './sources.js';
import { searchSorted } from './sorting.js';
import { reshaped } from './views.js';

/** Indices are i32. */
const MOST_SEGMENTS = 2 ** 31 - 1;

/** Throws 'invalid-argument' unless there is an id for each slice. */
function checkSegments(operation: string, x: Node, ids: Node, count: unknown): asserts count is number {
  checkType(operation, x, NUMBERS);
  checkType(`${operation}: ids`, ids, INDICES);
  checkWholeNumber(`${operation}: count`, count, 0, MOST_SEGMENTS);
  const [slices] = x.shape;
  if (slices === undefined) throw invalidArgument(operation, nodeText(x), 'a tensor with at least one axis');
  if (ids.shape.length !== 1 || !sameSize(ids.shape[0] as Size, slices)) {
    throw invalidArgument(`${operation}: ids`, nodeText(ids), `a vector with an id for each slice of ${nodeText(x)}`);
  }
}

function combined(combine: 'add' | 'min' | 'max', x: Node, ids: Node, count: number, empty: number): Node {
  return indexAdd(constantNode(empty, x.dtype, [count, ...x.shape.slice(1)]), ids, x, { combine });
}

/** Sums by segment. */
export function segmentSum(x: Node, ids: Node, count: unknown): Node {
  checkSegments('segmentSum', x, ids, count);
  return inSingle(x, (y) => combined('add', y, ids, count, 0));
}

/** Means by segment. Of integers the sum wraps, and the quotient is cut toward zero; bytes are added as 32-bit integers. */
export function segmentMean(x: Node, ids: Node, count: unknown): Node {
  checkSegments('segmentMean', x, ids, count);
  const mean = (y: Node): Node => {
    const one = constantNode(1, y.dtype, ids.shape);
    const slices = apply('maximum', [combined('add', one, ids, count, 0), 1]);
    return apply('div', [combined('add', y, ids, count, 0), reshaped(slices, [count, ...y.shape.slice(1).map(() => 1)])]);
  };
  return x.dtype === 'u8' ? cast(mean(cast(x, 'u32')), 'u8') : inSingle(x, mean);
}

/** Extremes by segment. */
export function segmentExtreme(operation: 'segmentMin' | 'segmentMax', x: Node, ids: Node, count: unknown): Node {
  checkSegments(operation, x, ids, count);
  const [smallest, largest] = extremes(x.dtype);
  return operation === 'segmentMax' ? combined('max', x, ids, count, smallest) : combined('min', x, ids, count, largest);
}

/** How often each id occurs. */
export function bincount(ids: Node, count: unknown): Node {
  checkType('bincount: ids', ids, INDICES);
  checkWholeNumber('bincount: count', count, 0, MOST_SEGMENTS);
  return counted(ids, count);
}

function counted(ids: Node, count: number): Node {
  const size = product(ids.shape);
  return combined('add', constantNode(1, 'u32', [size]), reshaped(ids, [size]), count, 0);
}

/** How many numbers there are in each of some equal intervals. */
export function histogram(x: Node, bins: unknown, low: unknown, high: unknown): Node {
  checkType('histogram', x, ['f32']);
  checkWholeNumber('histogram: bins', bins, 1, MOST_SEGMENTS - 1);
  checkFinite('histogram: low', low);
  checkFinite('histogram: high', high);
  if (!(Math.fround(low) < Math.fround(high))) throw invalidArgument('histogram: high', describe(high), `a number above ${low} in single precision`);
  // The numbers as they are given: their rounding would move the bounds between them.
  const above = searchSorted(linspace(low, high, bins + 1), x, 'right');
  // The upper bound is in the last interval. What is outside goes into one more, which is left out.
  const place = apply('minimum', [apply('sub', [above, 1]), bins - 1]);
  const isWithin = apply('and', [apply('gte', [x, low]), apply('lte', [x, high])]);
  return slice(counted(where(isWithin, place, bins), bins + 1), [[0, bins]]);
}
