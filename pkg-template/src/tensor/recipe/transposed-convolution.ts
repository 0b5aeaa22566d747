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
    const [elements, places] = [3 + axis, 3 + axes + axis];
    node = overlap.dilation === 1 ? addedByPhase(operation, node, elements, places, overlap) : addedWithGaps(operation, node, elements, places, overlap);
  });
  const summed = overlaps.map((_, axis) => 3 + axis).filter((axis) => node.shape[axis] !== 1);
  return reduce('sum', node, summed, true);
}

/** Windows [..., size, windows], `stride` apart, added where they overlap. */
export function overlapped(operation: string, patches: Node, stride: number): Node {
  const places = patches.shape.length - 1;
  const [size, count] = patches.shape.slice(-2) as [number, Size];
  const extent = plus(times(minus(count, 1), stride), size);
  const terms = addedByPhase(operation, patches, places - 1, places, { size, stride, dilation: 1, before: 0, after: 0, extent });
  return reduce('sum', terms, [places - 1]);
}

/**
 * The terms of each place of the result, along the axis of the elements; places stand along that of the windows. Element t = j · stride + r is of place
 * q · stride + r in the window that is j before number q, so that only ⌈size / stride⌉ terms are of one place.
 */
function addedByPhase(operation: string, patches: Node, elements: number, places: number, { size, stride, before, extent }: Overlap): Node {
  const terms = Math.ceil(size / stride);
  const whole = padded(patches, elements, 0, terms * stride - size);
  const { shape } = whole;
  const phases = reshaped(whole, [...shape.slice(0, elements), terms, stride, ...shape.slice(elements + 1)]);
  const around = padded(phases, places + 1, terms - 1, terms - 1);
  const ofPlaces = terms === 1 ? around : antidiagonal(operation, around, elements, places + 1, terms, 1);
  const order = ofPlaces.shape.map((_, axis) => axis);
  const ordered = permute(ofPlaces, [...order.slice(0, elements + 1), ...order.slice(elements + 2, places + 2), elements + 1, ...order.slice(places + 2)]);
  const count = times(ordered.shape[places] as Size, stride);
  const merged = reshaped(ordered, [...ordered.shape.slice(0, places), count, ...ordered.shape.slice(places + 2)]);
  return cropped(merged, places, before, extent);
}

/** The same for windows with gaps: windows stand at multiples of the stride, with zeros between, and each place has as many terms as a window has elements. */
function addedWithGaps(operation: string, patches: Node, elements: number, places: number, { size, stride, dilation, before, extent }: Overlap): Node {
  const { shape } = patches;
  const apart = padded(reshaped(patches, [...shape.slice(0, places + 1), 1, ...shape.slice(places + 1)]), places + 1, 0, stride - 1);
  const from = times(shape[places] as Size, stride);
  const spread = reshaped(apart, shape.map((each, axis) => (axis === places ? from : each)));
  const span = (size - 1) * dilation;
  return cropped(antidiagonal(operation, padded(spread, places, span, span), elements, places, size, dilation), places, before, extent);
}

/** Element t of the windows over an axis at their element size − 1 − t: along the axis of the elements what stands t · dilation before the last element of a window. */
function antidiagonal(operation: string, x: Node, elements: number, places: number, size: number, dilation: number): Node {
  const over = windows(x, places, size, 1, dilation);
  checkCount(operation, over.shape);
  const order = over.shape.map((_, axis) => axis);
  const beside = permute(over, [...order.slice(0, elements + 1), order.length - 1, ...order.slice(elements + 1, -1)]);
  const squares = reshaped(beside, [...beside.shape.slice(0, elements), size * size, ...beside.shape.slice(elements + 2)]);
  return slice(squares, squares.shape.map((_, axis) => (axis === elements ? [size - 1, size * (size - 1) + 1, size - 1] : null)));
}

/** An axis without its first places, cut or with zeros to a size. */
function cropped(x: Node, axis: number, before: number, extent: Size): Node {
  // A number: the size of a result depends on dims as that of the windows does.
  return padded(x, axis, -before, minus(plus(extent, before), x.shape[axis] as Size) as number);
}

/** Zeros before and after an axis; negative numbers take away. */
function padded(x: Node, axis: number, before: number, after: number): Node {
  return pad(x, x.shape.map((_, other) => (other === axis ? [before, after] : [0, 0])));
}
