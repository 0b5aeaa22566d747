/**
 * Transposed convolutions: the derivative of a convolution by its input. A product with the transposed weight gives a window for each place of x; the
 * windows are added where they overlap.
 */

import { invalidArgument } from '../../arguments/errors.js';
import { checkOptions } from '../../arguments/options.js';
import { minus, plus, product, shapeText, times, type Size } from '../size.js';
import { pad, windows } from './borders.js';
import { channelsOf, CONVOLUTION_OPTIONS, finished, type ConvolutionOptions } from './convolution.js';
import type { Node } from './node.js';
import { nodeText } from './operands.js';
import { matmul } from './products.js';
import { reduce } from './reductions.js';
import { checkCount, paddingOf, perAxis, spanOf, type Sliding } from './sliding.js';
import { slice } from './slices.js';
import { permute, reshaped, transpose } from './views.js';

/** Options of transposed convolutions. */
export interface TransposedOptions extends ConvolutionOptions {
  outputPadding?: unknown;
}

/** How windows are added along an axis: those of a convolution of the result, whose padding is cut off here, and the size of the result. */
interface Overlap extends Sliding {
  readonly extent: Size;
}

/** The transposed convolution over the last axes, as many as `axes`. */
export function transposedConvolution(operation: string, x: Node, weight: Node, axes: number, options: TransposedOptions): Node {
  checkOptions(`${operation}: options`, options, { ...CONVOLUTION_OPTIONS, outputPadding: true });
  const channels = channelsOf(operation, x, weight, axes, options, true);
  const { groups, from, to, sizes, dtype } = channels;
  const [images, , ...extents] = x.shape as readonly [Size, number, ...Size[]];
  const overlaps = overlapsOf(operation, x, sizes, options);
  const columns = reshaped(x, [images, groups, from, product(extents)]);
  const rows = transpose(reshaped(weight, [groups, from, sizes.reduce((count, size) => count * size, to)]), 1, 2);
  const patches = reshaped(matmul(rows, columns, operation, dtype), [images, groups, to, ...sizes, ...extents]);
  return finished(added(operation, patches, overlaps), channels, [images, groups * to, ...overlaps.map(({ extent }) => extent)], x.dtype);
}

/** The size of the result is (size − 1) · stride + span − padding + outputPadding, and size · stride with the padding 'same'. */
function overlapsOf(operation: string, x: Node, sizes: readonly number[], options: TransposedOptions): Overlap[] {
  const axes = sizes.length;
  const one = sizes.map(() => 1);
  const stride = perAxis(`${operation}: stride`, options.stride, axes, 1, one);
  const dilation = perAxis(`${operation}: dilation`, options.dilation, axes, 1, one);
  const padding = paddingOf(`${operation}: padding`, options.padding, axes);
  const more = perAxis(`${operation}: outputPadding`, options.outputPadding, axes, 0, sizes.map(() => 0));
  if (padding === 'same' && more.some((width) => width > 0)) {
    throw invalidArgument(`${operation}: outputPadding`, `[${more.join(', ')}]`, "0 with the padding 'same', whose result has a size of its own");
  }
  const overlaps = sizes.map((size, axis) => {
    const window = { size, stride: stride[axis] as number, dilation: size === 1 ? 1 : (dilation[axis] as number) };
    const from = x.shape[axis + 2] as Size;
    const whole = plus(times(minus(from, 1), window.stride), spanOf(window));
    if (padding === 'same') {
      // Windows that are shorter than the stride leave a rest at the end.
      const width = spanOf(window) - window.stride;
      return { ...window, before: Math.floor(Math.max(width, 0) / 2), after: 0, extent: times(from, window.stride) };
    }
    const [before, after] = padding === 'valid' ? [0, 0] : (padding[axis] as readonly [number, number]);
    return { ...window, before, after, extent: plus(whole, (more[axis] as number) - before - after) };
  });
  const extents = overlaps.map(({ extent }) => extent);
  if (x.shape.slice(2).includes(0) || extents.some((extent) => typeof extent === 'number' && extent < 1)) {
    throw invalidArgument(operation, `${nodeText(x)}, from which padding leaves a result of ${shapeText(extents)}`, 'a tensor with elements along the last axes, and padding that leaves elements');
  }
  return overlaps;
}

/**
 * Adds windows [images, groups, out, elements of a window along each axis, windows along each axis] where they overlap. The place p of a result is the
 * sum over the elements t of a window of those windows that begin at p + before − t · dilation.
 */
function added(operation: string, patches: Node, overlaps: readonly Overlap[]): Node {
  const axes = overlaps.length;
  let node = patches;
  overlaps.forEach((overlap, axis) => {
    node = alongAxis(operation, node, 3 + axis, 3 + axes + axis, overlap);
  });
  return reduce('sum', node, overlaps.flatMap(({ size }, axis) => (size > 1 ? [3 + axis] : [])), true);
}

/** Element t of the windows at each place of the result, along the axis of the elements and that of the windows; 0 where there is none. */
function alongAxis(operation: string, patches: Node, elements: number, places: number, { size, stride, dilation, before, extent }: Overlap): Node {
  const { shape } = patches;
  const along = (count: Size, at: number) => shape.map((each, axis) => (axis === at ? count : each));
  const widths = (pair: readonly [number, number], rank: number, at: number) => Array.from({ length: rank }, (_, axis) => (axis === at ? pair : ([0, 0] as const)));
  const from = shape[places] as Size;
  // Windows begin at multiples of the stride.
  let node = patches;
  if (stride > 1) {
    node = reshaped(node, [...shape.slice(0, places + 1), 1, ...shape.slice(places + 1)]);
    node = pad(node, widths([0, stride - 1], shape.length + 1, places + 1));
    node = reshaped(node, along(times(from, stride), places));
  }
  // So many places before the first window that the last element of a window has the place of the result as its own.
  const span = (size - 1) * dilation;
  // A number: the size of the result depends on dims as that of the windows does.
  const lacking = minus(plus(extent, before), times(from, stride)) as number;
  node = pad(node, widths([span - before, lacking], shape.length, places));
  if (size === 1) return node;
  // Element t of a window is read by element size − 1 − t of a window over places.
  const over = windows(node, places, size, 1, dilation);
  checkCount(operation, over.shape);
  const order = over.shape.map((_, axis) => axis);
  const beside = permute(over, [...order.slice(0, elements + 1), order.length - 1, ...order.slice(elements + 1, -1)]);
  const squares = reshaped(beside, [...beside.shape.slice(0, elements), size * size, ...beside.shape.slice(elements + 2)]);
  return slice(squares, squares.shape.map((_, axis) => (axis === elements ? [size - 1, size * (size - 1) + 1, size - 1] : null)));
}
