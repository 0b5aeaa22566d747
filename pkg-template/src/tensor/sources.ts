/** Tensors without memory: they are computed where they are used. */

import type { DType } from './dtype.js';
import { nodeOf } from './recipe/operands.js';
import * as sources from './recipe/sources.js';
import type { Shape, Size } from './size.js';
import { Tensor, type Axis, type Indices } from './tensor.js';

/** Zeros; of f32 unless told. */
export function zeros<D extends DType = 'f32'>(shape: Shape, dtype?: D): Tensor<D> {
  return Tensor.make(sources.full('zeros', shape, 0, dtype));
}

/** Ones; of f32 unless told. */
export function ones<D extends DType = 'f32'>(shape: Shape, dtype?: D): Tensor<D> {
  return Tensor.make(sources.full('ones', shape, 1, dtype));
}

/** One number everywhere; of f32 unless told. Throws 'invalid-argument' for a number that the type does not have. */
export function full<D extends DType = 'f32'>(shape: Shape, value: number, dtype?: D): Tensor<D> {
  return Tensor.make(sources.full('full', shape, value, dtype));
}

/** A matrix with 1 on the diagonal, else 0; square unless told. */
export function eye(rows: number, columns?: number): Tensor<'f32'> {
  return Tensor.make(sources.eye(rows, columns));
}

/** A vector of the numbers 0, 1, … of a type, f32 unless told. */
export function arange<D extends DType = 'f32'>(count: Size, dtype?: D): Tensor<D> {
  return Tensor.make(sources.arange(count, dtype));
}

/** A vector of numbers at equal distances from `start` to `end`, both among them. */
export function linspace(start: number, end: number, count: number): Tensor<'f32'> {
  return Tensor.make(sources.linspace(start, end, count));
}

/** The coordinate along an axis, of a type, f32 unless told. */
export function iota<D extends DType = 'f32'>(shape: Shape, axis: Axis, dtype?: D): Tensor<D> {
  return Tensor.make(sources.iota('iota', shape, axis, dtype));
}

/** A last axis of size `classes` for each index, with 1 at its place, else 0. A negative index counts from the end; one that is out of range has zeros. */
export function oneHot(indices: Indices, classes: number): Tensor<'f32'> {
  return Tensor.make(sources.oneHot(nodeOf('oneHot: indices', indices), classes));
}
