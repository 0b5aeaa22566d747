/**
 * Convolutions as products of matrices. The weight of a group is a matrix [out, in · elements of a window], and the right factor has the windows of x
 * as columns: y[o, p] = Σ W[o, k] X[k, p]. Products and sums of half precision are in single.
 */

import { describe, invalidArgument } from '../../arguments/errors.js';
import { checkWholeNumber } from '../../arguments/numeric-arguments.js';
import { checkOptions } from '../../arguments/options.js';
import { isReal, type DType } from '../dtype.js';
import { product, type Shape, type Size } from '../size.js';
import { apply, cast } from './elementwise.js';
import { Node } from './node.js';
import { checkType, nodeOf, nodeText, NUMBERS } from './operands.js';
import { matmul } from './products.js';
import { reduce } from './reductions.js';
import { slidingElements, slidingOf, slidingWindows, type PoolOptions, type Sliding } from './sliding.js';
import { reshaped } from './views.js';

/** Options of convolutions. */
export interface ConvolutionOptions extends PoolOptions {
  bias?: unknown;
  groups?: unknown;
  algorithm?: unknown;
}

/** Names of the options of convolutions. */
export const CONVOLUTION_OPTIONS = { stride: true, padding: true, dilation: true, bias: true, groups: true } as const;

/** Ways of computing the sums of products. */
const ALGORITHMS: readonly unknown[] = ['auto', 'direct'];

/** Which of x and its weight belong together: the channels of a group, the number of groups, sizes of the weight's windows. */
export interface Channels {
  readonly groups: number;
  /** Channels of x in a group. */
  readonly from: number;
  /** Channels of the result in a group. */
  readonly to: number;
  /** The size of a window along each axis. */
  readonly sizes: readonly number[];
  /** In what products are added: f32 for floats. */
  readonly dtype: DType;
  readonly bias: Node | null;
}

/**
 * Checks the types and shapes of x [images, channels, …] and of a weight [out, in/groups, …], transposed [in, out/groups, …], over so many axes, the
 * groups and the bias.
 */
export function channelsOf(operation: string, x: Node, weight: Node, axes: number, options: ConvolutionOptions, isTransposed: boolean): Channels {
  checkType(operation, x, NUMBERS);
  checkType(`${operation}: weight`, weight, NUMBERS);
  if (x.dtype !== weight.dtype && !(isReal(x.dtype) && isReal(weight.dtype))) {
    throw invalidArgument(operation, `tensors of ${x.dtype} and ${weight.dtype}`, 'tensors of one type, or one of f16 where the other is f32');
  }
  const layout = axes === 1 ? 'width' : 'height, width';
  const channels = x.shape[1];
  if (x.shape.length !== axes + 2 || typeof channels !== 'number') {
    throw invalidArgument(operation, nodeText(x), `a tensor [images, channels, ${layout}] whose number of channels is a number`);
  }
  const wanted = isTransposed ? `[in, out/groups, ${layout}]` : `[out, in/groups, ${layout}]`;
  const sizes = weight.shape.filter((size) => typeof size === 'number');
  if (weight.shape.length !== axes + 2 || sizes.length !== axes + 2 || sizes.slice(2).includes(0)) {
    throw invalidArgument(`${operation}: weight`, nodeText(weight), `a tensor ${wanted} of numbers whose windows have elements`);
  }
  const { groups = 1 } = options;
  checkWholeNumber(`${operation}: groups`, groups, 1);
  const [outer, inner] = [sizes[0] as number, sizes[1] as number];
  const [given, all] = isTransposed ? [outer, channels] : [inner * groups, outer];
  if (given !== channels || all % groups !== 0) {
    const takes = isTransposed ? `${channels} channels first, which ${groups} groups divide` : `${channels} / ${groups} channels second and a multiple of ${groups} first`;
    throw invalidArgument(`${operation}: weight`, nodeText(weight), `a tensor ${wanted} for ${nodeText(x)} and ${groups} groups: ${takes}`);
  }
  const [from, to] = isTransposed ? [outer / groups, inner] : [inner, outer / groups];
  const dtype = isReal(x.dtype) ? 'f32' : x.dtype;
  return { groups, from, to, sizes: sizes.slice(2), dtype, bias: biasOf(operation, options.bias, to * groups, dtype) };
}

function biasOf(operation: string, bias: unknown, channels: number, dtype: DType): Node | null {
  if (bias === undefined) return null;
  const node = nodeOf(`${operation}: bias`, bias);
  const fits = node.dtype === dtype || (isReal(node.dtype) && isReal(dtype));
  if (!fits || node.shape.length !== 1 || node.shape[0] !== channels) {
    throw invalidArgument(`${operation}: bias`, nodeText(node), `a vector with a number for each of the ${channels} channels of the result, of the type of x`);
  }
  return cast(node, dtype);
}

/** Adds a bias to [images, groups, out/groups, …], gives it the shape of a result, and converts it to a type. */
export function finished(y: Node, { bias, groups, to }: Channels, shape: Shape, dtype: DType): Node {
  const biased = bias === null ? y : apply('add', [y, reshaped(bias, [groups, to, ...y.shape.slice(3).map(() => 1)])]);
  return reshaped(cast(biased, dtype), shape);
}

/** The convolution over the last axes, as many as `axes`: without the weight's windows turned around, as networks have it. */
export function convolution(operation: string, x: Node, weight: Node, axes: number, options: ConvolutionOptions): Node {
  checkOptions(`${operation}: options`, options, { ...CONVOLUTION_OPTIONS, algorithm: true });
  const { algorithm = 'auto' } = options;
  if (!ALGORITHMS.includes(algorithm)) throw invalidArgument(`${operation}: algorithm`, describe(algorithm), "'auto' or 'direct'");
  const channels = channelsOf(operation, x, weight, axes, options, false);
  const { groups, from, to, sizes, dtype } = channels;
  const sliding = slidingOf(operation, x, sizes, options, sizes.map(() => 1));
  const [images, , ...extents] = x.shape as readonly [Size, number, ...Size[]];
  const patches = slidingWindows(operation, reshaped(x, [images, groups, from, ...extents]), sliding, 0);
  const positions = patches.shape.slice(3 + axes);
  const result = [images, groups * to, ...positions];
  const depth = sizes.reduce((count, size) => count * size, from);
  if (from === 1 && to === 1) {
    // Each channel by itself: a product of matrices with one row would have no sums in common, and the windows would be in memory on the CPU.
    if (depth <= MOST_ELEMENTS) return finished(sumOfElements(x, weight, channels, sliding), channels, result, x.dtype);
    const factors = reshaped(weight, [groups, 1, ...sizes, ...positions.map(() => 1)]);
    const products = apply('mul', [cast(patches, dtype), cast(factors, dtype)]);
    return finished(reduce('sum', products, sizes.map((_, axis) => 3 + axis)), channels, result, x.dtype);
  }
  const columns = reshaped(patches, [images, groups, depth, product(positions)]);
  const matrix = reshaped(weight, [groups, to, depth]);
  // A permutation that changes nothing: the planner leaves products with such a factor as they are.
  const rows = algorithm === 'direct' ? new Node('permute', matrix.dtype, matrix.shape, [matrix], [0, 1, 2]) : matrix;
  return finished(matmul(rows, columns, operation, dtype), channels, result, x.dtype);
}

/** Most elements of a window whose products one kernel adds one after the other. */
const MOST_ELEMENTS = 25;

/** Σ of a channel's elements times those of its window, as [images, channels, 1, …], in the order of the window. */
function sumOfElements(x: Node, weight: Node, { groups, sizes, dtype }: Channels, sliding: readonly Sliding[]): Node {
  const [images, , ...extents] = x.shape as readonly [Size, number, ...Size[]];
  const elements = slidingElements(reshaped(x, [images, groups, 1, ...extents]), sliding, 0);
  const factors = slidingElements(reshaped(weight, [groups, 1, ...sizes]), sizes.map((size) => ({ size, stride: 1, dilation: 1, before: 0, after: 0 })), 0);
  const products = elements.map((element, k) => apply('mul', [cast(element, dtype), cast(factors[k] as Node, dtype)]));
  return products.reduce((sum, each) => apply('add', [sum, each]));
}
