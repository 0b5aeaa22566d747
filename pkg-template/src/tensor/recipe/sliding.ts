/** Windows that slide over the last axes: what convolutions and pools have in common. */

import { describe, invalidArgument, ResiduaError } from '../../arguments/errors.js';
import { checkWholeNumber } from '../../arguments/numeric-arguments.js';
import { largest, minus, plus, product, sizeText, times, type Shape, type Size } from '../size.js';
import { pad, windows } from './borders.js';
import type { Node } from './node.js';
import { nodeText } from './operands.js';
import { slice } from './slices.js';
import { expandDims, permute } from './views.js';

/**
 * What is added around the last axes: nothing ('valid', the default), so much that a result has ⌈size / stride⌉ places ('same'; of an odd number
 * one more at the end), a number for all sides, a number for both sides of each axis, or [before, after] for each axis.
 */
export type Padding = 'valid' | 'same' | number | readonly number[] | readonly (readonly [before: number, after: number])[];

/** How windows slide. A number stands for all axes. */
export interface PoolOptions {
  /** Distance of windows. Default 1 of convolutions, the size of the window of pools. */
  stride?: number | readonly number[];
  /** What is added around the axes. Default 'valid'. */
  padding?: Padding;
  /** Distance of the elements of a window. Default 1. */
  dilation?: number | readonly number[];
}

/** A window along one axis, and what is added before and after the axis. */
export interface Sliding {
  readonly size: number;
  readonly stride: number;
  readonly dilation: number;
  readonly before: number;
  readonly after: number;
}

/** The largest distance, and the largest size with its padding: places are counted in 31 bits. */
const LARGEST = 2 ** 31 - 1;

/** Returns a whole number for each axis: one for all, a list, or the default. */
export function perAxis(argument: string, value: unknown, axes: number, least: number, fallback: readonly number[]): readonly number[] {
  if (value === undefined) return fallback;
  const list: readonly unknown[] = Array.isArray(value) ? value : Array.from({ length: axes }, () => value);
  if (list.length !== axes) throw invalidArgument(argument, `${list.length} numbers`, `one number, or ${axes}, one an axis`);
  // Holes of a list are looked at too.
  return Array.from(list, (each, axis) => {
    checkWholeNumber(Array.isArray(value) ? `${argument}[${axis}]` : argument, each, least, LARGEST);
    return each;
  });
}

/** Returns 'valid' or 'same', or the widths before and after each axis. */
export function paddingOf(argument: string, value: unknown, axes: number): 'valid' | 'same' | readonly (readonly [before: number, after: number])[] {
  if (value === undefined || value === 'valid' || value === 'same') return value ?? 'valid';
  if (typeof value !== 'number' && !Array.isArray(value)) {
    throw invalidArgument(argument, describe(value), "'valid', 'same', a number, or a number or a pair [before, after] for each axis");
  }
  if (!(Array.isArray(value) && value.some(Array.isArray))) return perAxis(argument, value, axes, 0, []).map((width) => [width, width] as const);
  if (value.length !== axes) throw invalidArgument(argument, `${value.length} pairs`, `${axes}, one an axis`);
  return Array.from(value, (pair: unknown, axis) => {
    if (!Array.isArray(pair) || pair.length !== 2) throw invalidArgument(`${argument}[${axis}]`, describe(pair), 'a pair [before, after]');
    const [before, after] = perAxis(`${argument}[${axis}]`, pair, 2, 0, []);
    return [before as number, after as number];
  });
}

/** Elements of an axis that a window covers. */
export function spanOf({ size, dilation }: Pick<Sliding, 'size' | 'dilation'>): number {
  return (size - 1) * dilation + 1;
}

/**
 * Reads stride, padding and dilation for windows of these sizes over the last axes of a tensor. Throws 'invalid-argument' where a window is larger
 * than an axis with its padding, or slides by more than 1 along an axis whose size is a Dim.
 */
export function slidingOf(operation: string, x: Node, sizes: readonly number[], options: PoolOptions, strides: readonly number[]): Sliding[] {
  const axes = sizes.length;
  const stride = perAxis(`${operation}: stride`, options.stride, axes, 1, strides);
  const dilation = perAxis(`${operation}: dilation`, options.dilation, axes, 1, sizes.map(() => 1));
  const padding = paddingOf(`${operation}: padding`, options.padding, axes);
  return sizes.map((size, axis) => {
    const window = { size, stride: stride[axis] as number, dilation: size === 1 ? 1 : (dilation[axis] as number) };
    const at = x.shape.length - axes + axis;
    const extent = x.shape[at] as Size;
    if (typeof extent !== 'number' && window.stride !== 1) {
      throw invalidArgument(`${operation}: stride`, String(window.stride), `1 along axis ${at}, whose size is the Dim ${sizeText(extent)}`);
    }
    const [before, after] = padding === 'same' ? sameWidths(window, extent) : padding === 'valid' ? [0, 0] : (padding[axis] as readonly [number, number]);
    const padded = plus(extent, before + after);
    if (largest(padded) > LARGEST) throw invalidArgument(`${operation}: padding`, `${before} and ${after} around the ${sizeText(extent)} elements of axis ${at}`, `at most ${LARGEST} elements in all`);
    const room = minus(padded, spanOf(window));
    if (typeof room === 'number' && room < 0) {
      throw invalidArgument(operation, `windows over ${spanOf(window)} elements of axis ${at} of ${nodeText(x)}`, `at most the ${sizeText(padded)} elements that the axis has with its padding`);
    }
    return { ...window, before, after };
  });
}

/** What leaves ⌈size / stride⌉ windows. */
function sameWidths(window: Pick<Sliding, 'size' | 'stride' | 'dilation'>, extent: Size): readonly [before: number, after: number] {
  const { stride } = window;
  // Along a Dim the stride is 1.
  const last = typeof extent === 'number' ? (Math.ceil(extent / stride) - 1) * stride - extent : -1;
  const width = Math.max(last + spanOf(window), 0);
  return [Math.floor(width / 2), Math.ceil(width / 2)];
}

/** How many windows there are along an axis. */
export function countOfWindows(extent: Size, sliding: Sliding): Size {
  const room = minus(plus(extent, sliding.before + sliding.after), spanOf(sliding));
  return plus(typeof room === 'number' ? Math.floor(room / sliding.stride) : room, 1);
}

/** Throws 'limit-exceeded' where windows have more elements than kernels count, though none of them has memory. */
export function checkCount(operation: string, windows: Shape): void {
  const count = largest(product(windows));
  if (count >= 2 ** 32) throw new ResiduaError('limit-exceeded', `${operation}: got windows with ${count} elements in all; takes fewer than 4294967296: fewer images or channels at once`);
}

/**
 * The windows over the last axes, with a number beyond the border: [..., elements of a window along each axis, windows along each axis]. The elements
 * stand before the windows, so that neighbours in memory are of neighbouring windows.
 */
export function slidingWindows(operation: string, x: Node, sliding: readonly Sliding[], beyond: number): Node {
  const rank = x.shape.length;
  const first = rank - sliding.length;
  let node = withBorder(x, sliding, beyond);
  sliding.forEach(({ size, stride, dilation }, k) => {
    const axis = first + k;
    if (size > 1) {
      node = windows(node, axis, size, stride, dilation);
    } else {
      if (stride > 1) node = slice(node, node.shape.map((_, other) => (other === axis ? [0, null, stride] : null)));
      node = expandDims(node, [node.shape.length]);
    }
  });
  checkCount(operation, node.shape);
  const order = Array.from({ length: rank + sliding.length }, (_, axis) => axis);
  return permute(node, [...order.slice(0, first), ...order.slice(rank), ...order.slice(first, rank)]);
}

/** The elements of all windows over the last axes that stand at one place within their window, for each place of a window: as {@link slidingWindows} has them. */
export function slidingElements(x: Node, sliding: readonly Sliding[], beyond: number): Node[] {
  const first = x.shape.length - sliding.length;
  const counts = sliding.map((each, k) => countOfWindows(x.shape[first + k] as Size, each));
  let parts = [withBorder(x, sliding, beyond)];
  sliding.forEach(({ size, stride, dilation }, k) => {
    const places = Array.from({ length: size }, (_, place) => place * dilation);
    const span = plus(times(minus(counts[k] as Size, 1), stride), 1);
    const ranges = places.map((start) => [...Array.from({ length: first + k }, () => null), [start, plus(span, start), stride]]);
    parts = parts.flatMap((part) => ranges.map((range) => slice(part, range)));
  });
  return parts;
}

function withBorder(x: Node, sliding: readonly Sliding[], beyond: number): Node {
  const first = x.shape.length - sliding.length;
  const widths = x.shape.map((_, axis) => {
    const { before, after } = sliding[axis - first] ?? { before: 0, after: 0 };
    return [before, after] as const;
  });
  return pad(x, widths, { value: beyond });
}
