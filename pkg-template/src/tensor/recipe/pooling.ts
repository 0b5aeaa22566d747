/** Pools: reductions over windows of the last axes. */

import { describe, invalidArgument } from '../../arguments/errors.js';
import { checkFlag, checkOptions } from '../../arguments/options.js';
import { extremes } from '../dtype.js';
import type { Size } from '../size.js';
import { apply, cast, inSingle, where } from './elementwise.js';
import { indexSelect } from './indexing.js';
import { constantNode, Node } from './node.js';
import { checkType, nodeText, NUMBERS } from './operands.js';
import { commonDivisor, quotientOf } from './quotients.js';
import { reduce, sizeNode } from './reductions.js';
import { countOfWindows, perAxis, slidingOf, slidingWindows, type PoolOptions, type Sliding } from './sliding.js';
import { reshaped } from './views.js';

const OPTIONS = { stride: true, padding: true, dilation: true } as const;

/** Returns the sizes of windows or results over the last axes. */
function sizesOf(operation: string, x: Node, size: unknown, least: number): readonly number[] {
  checkType(operation, x, NUMBERS);
  if (!Array.isArray(size) || size.length === 0 || size.length > x.shape.length) {
    throw invalidArgument(`${operation}: size`, describe(size), `an array of 1 to ${x.shape.length} whole numbers, for the last axes of ${nodeText(x)}`);
  }
  return perAxis(`${operation}: size`, size, size.length, least, []);
}

/** The largest element of each window. */
export function maxPool(x: Node, size: unknown, options: PoolOptions): Node {
  const sizes = sizesOf('maxPool', x, size, 1);
  checkOptions('maxPool: options', options, OPTIONS);
  return largestOf('maxPool', x, slidingOf('maxPool', x, sizes, options, sizes));
}

function largestOf(operation: string, x: Node, sliding: readonly Sliding[]): Node {
  const [smallest] = extremes(x.dtype);
  return inSingle(x, (y) => reduce('max', slidingWindows(operation, y, sliding, smallest), axesOfElements(x, sliding)));
}

/** The axes of the windows' elements. */
function axesOfElements(x: Node, sliding: readonly Sliding[]): number[] {
  return sliding.map((_, axis) => x.shape.length - sliding.length + axis);
}

/** The mean of each window: over its elements alone, or over the padding too. */
export function avgPool(x: Node, size: unknown, options: PoolOptions & { countPadding?: boolean }): Node {
  const sizes = sizesOf('avgPool', x, size, 1);
  checkOptions('avgPool: options', options, { ...OPTIONS, countPadding: true });
  checkFlag('avgPool: countPadding', options.countPadding);
  return meansOf('avgPool', x, slidingOf('avgPool', x, sizes, options, sizes), options.countPadding === true);
}

function meansOf(operation: string, x: Node, sliding: readonly Sliding[], countPadding: boolean): Node {
  return summed(x, (y) => {
    const sums = reduce('sum', slidingWindows(operation, y, sliding, 0), axesOfElements(x, sliding));
    return apply('div', [sums, countsOf(y, sliding, countPadding)]);
  });
}

/** Computes what sums have: bytes are added as 32-bit integers, halves in single. */
function summed(x: Node, compute: (x: Node) => Node): Node {
  return x.dtype === 'u8' ? cast(compute(cast(x, 'u32')), 'u8') : inSingle(x, compute);
}

/** How many elements each window has, as the product of the counts along the axes: [windows along each axis]. */
function countsOf(x: Node, sliding: readonly Sliding[], countPadding: boolean): Node {
  const whole = sliding.reduce((count, { size }) => count * size, 1);
  if (countPadding || sliding.every(({ before, after }) => before === 0 && after === 0)) return constantNode(whole, x.dtype);
  const counts = sliding.map((each, axis) => {
    const at = sliding.length - 1 - axis;
    const extent = x.shape[x.shape.length - 1 - at] as Size;
    const shape = [countOfWindows(extent, each), ...Array.from({ length: at }, () => 1)];
    return countAlong(extent, each, new Node('iota', 'i32', shape, [], [0]));
  });
  return cast(counts.reduce((product, count) => apply('mul', [product, count])), x.dtype);
}

/** How many of a window's elements are within an axis, for the number of the window. */
function countAlong(extent: Size, { size, stride, dilation, before }: Sliding, window: Node): Node {
  // Element t stands at start + t · dilation; it is within for ⌈−start / dilation⌉ ≤ t < ⌈(extent − start) / dilation⌉.
  const start = apply('sub', [apply('mul', [window, stride]), before]);
  const firstFrom = (distance: Node) => apply('minimum', [apply('div', [apply('add', [apply('maximum', [distance, 0]), dilation - 1]), dilation]), size]);
  const end = firstFrom(apply('sub', [sizeNode(extent, 'i32'), start]));
  return apply('sub', [end, firstFrom(apply('neg', [start]))]);
}

/** The pool of as many windows as are asked for: window i of an axis is from ⌊i · extent / count⌋ to ⌈(i + 1) · extent / count⌉. */
export function adaptivePool(operation: 'adaptiveMaxPool' | 'adaptiveAvgPool', x: Node, size: unknown): Node {
  const counts = sizesOf(operation, x, size, 0);
  const rank = x.shape.length;
  const extents = x.shape.slice(rank - counts.length).map((extent) => {
    if (typeof extent !== 'number' || extent === 0) throw invalidArgument(operation, nodeText(x), 'a tensor whose last axes have sizes that are numbers of at least 1');
    return extent;
  });
  const isMax = operation === 'adaptiveMaxPool';
  if (counts.every((count, axis) => count > 0 && (extents[axis] as number) % count === 0)) {
    const sliding = counts.map((count, axis) => {
      const length = (extents[axis] as number) / count;
      return { size: length, stride: length, dilation: 1, before: 0, after: 0 };
    });
    return isMax ? largestOf(operation, x, sliding) : meansOf(operation, x, sliding, false);
  }
  const intervals = counts.map((count, axis) => intervalsOf(operation, extents[axis] as number, count));
  const axes = counts.map((_, axis) => rank - counts.length + axis * 2);
  const [smallest] = extremes(x.dtype);
  const gathered = (y: Node, beyond: number) => {
    let node = y;
    intervals.forEach(({ places, isWithin }, k) => {
      const axis = axes[k] as number;
      node = indexSelect(node, places, axis, operation);
      node = where(reshaped(isWithin, [...isWithin.shape, ...node.shape.slice(axis + 2).map(() => 1)]), node, beyond);
    });
    return node;
  };
  const elements = axes.map((axis) => axis + 1);
  if (isMax) return inSingle(x, (y) => reduce('max', gathered(y, smallest), elements));
  return summed(x, (y) => {
    const lengths = intervals.map(({ length }, axis) => reshaped(length, [counts[axis] as number, ...counts.slice(axis + 1).map(() => 1)]));
    const elementCounts = lengths.reduce((product, length) => apply('mul', [product, length]));
    return apply('div', [reduce('sum', gathered(y, 0), elements), cast(elementCounts, y.dtype)]);
  });
}

/** The places [windows, most elements of a window] of the windows of an axis, which of them are within their window, and how many. */
function intervalsOf(operation: string, extent: number, count: number): { places: Node; isWithin: Node; length: Node } {
  const window = new Node('iota', 'i32', [count, 1], [], [0]);
  const bound = (term: number) => quotientOf(window, count, { factor: extent, term, divisor: count })?.quotient;
  const [start, end] = [bound(0), bound(extent + count - 1)];
  if (start === undefined || end === undefined) throw invalidArgument(`${operation}: size`, `${count} for an axis of ${extent}`, 'sizes whose ratio has smaller terms: places are counted in 31 bits');
  // A window begins at a multiple of 1/count, and ends so much later that it has one more element, or two.
  const rest = extent % count;
  const most = Math.floor(extent / count) + (rest === 0 ? 0 : rest > commonDivisor(extent, count) ? 2 : 1);
  const place = apply('add', [start, new Node('iota', 'i32', [1, most], [], [1])]);
  return { places: apply('minimum', [place, extent - 1]), isWithin: apply('lt', [place, end]), length: apply('sub', [end, start]) };
}
