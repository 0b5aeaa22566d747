/** Tensors without memory, which are computed where they are used. */

import { describe, invalidArgument } from '../../arguments/errors.js';
import { checkFinite, checkWholeNumber } from '../../arguments/numeric-arguments.js';
import { checkDType, checkElement, type DType } from '../dtype.js';
import { checkShape, checkSize, type Shape } from '../size.js';
import { complexConstant } from './complex.js';
import { apply, cast, where } from './elementwise.js';
import { constantNode, Node, numberNode } from './node.js';
import { checkAxis, checkType, INDICES } from './operands.js';
import { reshaped } from './views.js';

/** One number everywhere. */
export function full(operation: string, shape: unknown, value: unknown, dtype: unknown = 'f32'): Node {
  checkDType(`${operation}: dtype`, dtype);
  checkElement(`${operation}: value`, value, dtype);
  const sizes = checkShape(`${operation}: shape`, shape);
  return dtype === 'c64' ? complexConstant(value, sizes) : numberNode(value, dtype, sizes);
}

/** The coordinate along an axis. */
export function iota(operation: string, shape: unknown, axis: unknown, dtype: unknown = 'f32'): Node {
  checkDType(`${operation}: dtype`, dtype);
  if (dtype === 'bool' || dtype === 'c64') throw invalidArgument(`${operation}: dtype`, `'${dtype}'`, 'a type of real numbers');
  const sizes = checkShape(`${operation}: shape`, shape);
  return coordinates(sizes, checkAxis(`${operation}: axis`, axis, sizes.length), dtype);
}

function coordinates(shape: Shape, axis: number, dtype: DType): Node {
  return new Node('iota', dtype, shape, [], [axis]);
}

/** The numbers from 0 on. */
export function arange(count: unknown, dtype: unknown = 'f32'): Node {
  checkSize('arange: count', count);
  return iota('arange', [count], 0, dtype);
}

/** 1 on the diagonal, else 0. */
export function eye(rows: unknown, columns: unknown = rows): Node {
  checkWholeNumber('eye: rows', rows, 0);
  checkWholeNumber('eye: columns', columns, 0);
  const shape = [rows, columns];
  return cast(apply('eq', [coordinates(shape, 0, 'i32'), coordinates(shape, 1, 'i32')]), 'f32');
}

/** Numbers at equal distances, both ends among them. */
export function linspace(start: unknown, end: unknown, count: unknown): Node {
  checkFinite('linspace: start', start);
  checkFinite('linspace: end', end);
  checkWholeNumber('linspace: count', count, 0);
  if (count < 2) return constantNode(start, 'f32', [count]);
  const place = coordinates([count], 0, 'f32');
  const step = (end - start) / (count - 1);
  // Each half counts from its own end, so that both ends are exact.
  const fromStart = apply('add', [apply('mul', [place, step]), start]);
  const fromEnd = apply('sub', [end, apply('mul', [apply('sub', [count - 1, place]), step])]);
  return where(apply('lt', [place, count / 2]), fromStart, fromEnd);
}

/** A vector for each index, with 1 at its place, else 0. A negative index counts from the end; one that is out of range has zeros. */
export function oneHot(indices: Node, classes: unknown): Node {
  checkType('oneHot: indices', indices, INDICES);
  checkWholeNumber('oneHot: classes', classes, 0);
  const { dtype, shape } = indices;
  const given = reshaped(indices, [...shape, 1]);
  const places = dtype === 'i32' ? where(apply('lt', [given, 0]), apply('add', [given, classes]), given) : given;
  return cast(apply('eq', [places, coordinates([classes], 0, dtype)]), 'f32');
}

/** The derivative of a scalar by a real tensor. */
export function gradient(scalar: Node, by: Node, place: number): Node {
  if (scalar.dtype !== 'f32' || scalar.shape.some((size) => size !== 1)) {
    throw invalidArgument('grad: scalar', `a tensor of ${scalar.dtype} with ${scalar.shape.length} axes`, 'one number of f32: sum() or mean() makes one');
  }
  if (by.dtype !== 'f32' && by.dtype !== 'f16') throw invalidArgument(`grad: wrt[${place}]`, `a tensor of ${describe(by.dtype)}`, 'a tensor of f32, f16 or c64');
  return new Node('gradient', by.dtype, by.shape, [scalar, by]);
}
