/**
 * Convolutions and pools. Pictures are [images, channels, height, width], signals [images, channels, width]; other layouts become these by permute(),
 * which costs nothing. Sums of half precision are in single. Each function throws 'invalid-argument' where types, shapes or options do not fit, and
 * 'limit-exceeded' where all windows together have 2³² elements or more.
 */

import type { DType } from './dtype.js';
import { convolution } from './recipe/convolution.js';
import type { Node } from './recipe/node.js';
import { nodeOf } from './recipe/operands.js';
import * as pooling from './recipe/pooling.js';
import type { PoolOptions } from './recipe/sliding.js';
import { transposedConvolution } from './recipe/transposed-convolution.js';
import { Tensor } from './tensor.js';

/** What a convolution depends on. */
export interface ConvOptions extends PoolOptions {
  /** A number that is added to each channel of the result: a vector [out], of the type of x or of another float. */
  bias?: Tensor;
  /** Parts of the channels that see each other alone; it divides the channels of x and of the result. As many groups as channels: depthwise. Default 1. */
  groups?: number;
  /**
   * How sums of products are computed. 'direct' multiplies each element of a window. 'auto' (default) has tiles where a GPU computes these in less time
   * (Winograd's algorithm, of windows of 3 × 3 in f32 with stride 1): rounding errors are then relative to the largest numbers of a tile, and an
   * infinity or NaN is in all results of its tiles.
   */
  algorithm?: 'auto' | 'direct';
}

/** What a transposed convolution depends on. Its padding is cut off the result, which has size · stride places with 'same'. */
export interface ConvTransposeOptions extends Omit<ConvOptions, 'algorithm'> {
  /** Places that the result has more at the end: which of the sizes that one stride leads to is meant. Default 0. */
  outputPadding?: number | readonly number[];
}

type Convolution = (operation: string, x: Node, weight: Node, axes: number, options: ConvOptions) => Node;

function applied<D extends DType>(convolve: Convolution, operation: string, x: Tensor<D>, weight: Tensor, axes: number, options: ConvOptions): Tensor<D> {
  return Tensor.make(convolve(operation, nodeOf(operation, x), nodeOf(`${operation}: weight`, weight), axes, options));
}

/**
 * The convolution of x [images, channels, width] with a weight [out, channels/groups, size], as networks have it: y[i, o, p] =
 * bias[o] + Σ weight[o, c, t] · x[i, c, p · stride + t · dilation − padding]. The result is [images, out, width], of the type of x. Of x and the weight
 * one may be f16 where the other is f32; integers wrap. A size of x may be a Dim where the stride is 1.
 */
export function conv1d<D extends DType>(x: Tensor<D>, weight: Tensor, options: ConvOptions = {}): Tensor<D> {
  return applied(convolution, 'conv1d', x, weight, 1, options);
}

/** The convolution of x [images, channels, height, width] with a weight [out, channels/groups, rows, columns], as {@link conv1d} has it: [images, out, height, width]. */
export function conv2d<D extends DType>(x: Tensor<D>, weight: Tensor, options: ConvOptions = {}): Tensor<D> {
  return applied(convolution, 'conv2d', x, weight, 2, options);
}

/**
 * The transposed convolution of x [images, channels, width] with a weight [channels, out/groups, size]: each place of x adds its multiple of the
 * weight's window, from place · stride − padding on. The result is [images, out, (width − 1) · stride + (size − 1) · dilation + 1 − padding +
 * outputPadding], of the type of x. It is the derivative of {@link conv1d} with these options by its input.
 */
export function convTranspose1d<D extends DType>(x: Tensor<D>, weight: Tensor, options: ConvTransposeOptions = {}): Tensor<D> {
  return applied(transposedConvolution, 'convTranspose1d', x, weight, 1, options);
}

/** The transposed convolution of x [images, channels, height, width] with a weight [channels, out/groups, rows, columns], as {@link convTranspose1d} has it. */
export function convTranspose2d<D extends DType>(x: Tensor<D>, weight: Tensor, options: ConvTransposeOptions = {}): Tensor<D> {
  return applied(transposedConvolution, 'convTranspose2d', x, weight, 2, options);
}

/**
 * The largest element of each window over as many last axes as `size` has numbers; NaN if any is. The stride is the size unless told. Padding is never
 * the largest: a window without an element gives the smallest number of the type, −∞ of floats. Of several that are the largest each has a share of
 * the gradient.
 */
export function maxPool<D extends DType>(x: Tensor<D>, size: readonly number[], options: PoolOptions = {}): Tensor<D> {
  return Tensor.make(pooling.maxPool(nodeOf('maxPool', x), size, options));
}

/**
 * The mean of each window over as many last axes as `size` has numbers. The stride is the size unless told. The mean is that of the elements alone; with
 * `countPadding` zeros of the padding count as elements. A window without an element gives NaN. Of integers the mean is cut toward zero.
 */
export function avgPool<D extends DType>(x: Tensor<D>, size: readonly number[], options: PoolOptions & { countPadding?: boolean } = {}): Tensor<D> {
  return Tensor.make(pooling.avgPool(nodeOf('avgPool', x), size, options));
}

/**
 * The largest elements of as many windows as `size` says along the last axes: window i of an axis has the places from ⌊i · n / size⌋ to
 * ⌈(i + 1) · n / size⌉ − 1 of its n. [1, 1] takes the whole picture.
 */
export function adaptiveMaxPool<D extends DType>(x: Tensor<D>, size: readonly number[]): Tensor<D> {
  return Tensor.make(pooling.adaptivePool('adaptiveMaxPool', nodeOf('adaptiveMaxPool', x), size));
}

/** The means of as many windows as `size` says along the last axes, which are those of {@link adaptiveMaxPool}. */
export function adaptiveAvgPool<D extends DType>(x: Tensor<D>, size: readonly number[]): Tensor<D> {
  return Tensor.make(pooling.adaptivePool('adaptiveAvgPool', nodeOf('adaptiveAvgPool', x), size));
}
