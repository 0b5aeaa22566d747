/** Pictures with other numbers of pixels, and pictures at other places. Each function throws 'invalid-argument' where types, shapes or options do not fit. */

import type { DType } from './dtype.js';
import { gridSample as sampled } from './recipe/grid-sampling.js';
import { nodeOf } from './recipe/operands.js';
import { resize as resized } from './recipe/resizing.js';
import { Tensor } from './tensor.js';

/** How a picture gets another size. */
export interface ResizeOptions {
  /**
   * 'nearest' (default): the pixel whose centre is nearest, of two the lower. 'linear': between the two pixels around a place along each axis. 'cubic':
   * between four, by Keys' kernel with a = −0.75. Beyond a border stands the nearest pixel.
   */
  mode?: 'nearest' | 'linear' | 'cubic';
  /** Whether the centres of the outer pixels stay where they are. By default the outer edges do. */
  alignCorners?: boolean;
}

/**
 * As many last axes of x as `size` has numbers, with these sizes. 'nearest' takes any type, the other modes f32 and f16. Nothing is averaged: where
 * the result is much smaller than x, avgPool() sees all pixels.
 */
export function resize<D extends DType>(x: Tensor<D>, size: readonly number[], options: ResizeOptions = {}): Tensor<D> {
  return Tensor.make(resized(nodeOf('resize', x), size, options));
}

/** How a picture is read at places of a grid. */
export interface GridSampleOptions {
  /** 'nearest' (default): the pixel whose centre is nearest, of two the lower. 'linear': between the four pixels around a place. */
  mode?: 'nearest' | 'linear';
  /** What stands beyond the picture: the nearest pixel (default), 0, or the picture mirrored at −1 and 1. */
  border?: 'clamp' | 'zero' | 'mirror';
  /** Whether −1 and 1 are the centres of the outer pixels. By default they are their outer edges. */
  alignCorners?: boolean;
}

/**
 * x [images, channels, height, width] at the places [images, h, w, 2] of a grid, each as x, y in −1 … 1, from the left and from the top: [images, channels,
 * h, w]. 'nearest' takes any type, 'linear' f32 and f16; its gradients go to the grid too. A place that is NaN gives NaN with 'linear', the first pixel
 * with 'nearest'.
 */
export function gridSample<D extends DType>(x: Tensor<D>, grid: Tensor<'f32'>, options: GridSampleOptions = {}): Tensor<D> {
  return Tensor.make(sampled(nodeOf('gridSample', x), nodeOf('gridSample: grid', grid), options));
}
