/** Products of matrices and vectors. */

import { invalidArgument } from '../../arguments/errors.js';
import { isReal, type DType } from '../dtype.js';
import { sameSize, sizeText, type Size } from '../size.js';
import { broadcastShapes } from './broadcast.js';
import { apply, cast, inSingle } from './elementwise.js';
import { complexMatmul } from './complex-products.js';
import { ComplexNode, Node } from './node.js';
import { checkType, nodeText, NUMBERS_OR_COMPLEX } from './operands.js';
import { reduce } from './reductions.js';
import { reshaped, transpose } from './views.js';

/**
 * The product over the last axis of `a` and the last but one of `b`; a vector is a row on the left and a column on the right, whose axis goes.
 * The type is that of `a`; products of half precision are added in single.
 */
export function matmul(a: Node, b: Node, operation = 'matmul', dtype: DType = a.dtype): Node {
  checkType(operation, a, NUMBERS_OR_COMPLEX);
  checkType(operation, b, NUMBERS_OR_COMPLEX);
  if (a.dtype !== b.dtype && !(isReal(a.dtype) && isReal(b.dtype))) {
    throw invalidArgument(operation, `tensors of ${a.dtype} and ${b.dtype}`, 'tensors of one type, or one of f16 where the other is f32');
  }
  if (a instanceof ComplexNode && b instanceof ComplexNode) return complexMatmul(a, b, (x, y) => matmul(x, y, operation));
  if (a.shape.length === 0 || b.shape.length === 0) throw invalidArgument(operation, `${nodeText(a)} and ${nodeText(b)}`, 'vectors, matrices, or batches of matrices');
  const left = a.shape.length === 1 ? reshaped(a, [1, a.shape[0] as Size]) : a;
  const right = b.shape.length === 1 ? reshaped(b, [b.shape[0] as Size, 1]) : b;
  const [rows, depth] = left.shape.slice(-2) as [Size, Size];
  const [height, columns] = right.shape.slice(-2) as [Size, Size];
  if (!sameSize(depth, height)) {
    const axis = b.shape.length === 1 ? 'the size' : 'the last but one size';
    throw invalidArgument(operation, `${nodeText(a)} and ${nodeText(b)}`, `tensors where the last size of the first is ${axis} of the second`);
  }
  const batch = broadcastShapes(`${operation}: leading axes`, [left.shape.slice(0, -2), right.shape.slice(0, -2)]);
  const product = new Node('matmul', dtype, [...batch, rows, columns], [left, right]);
  return reshaped(product, [...batch, ...(a.shape.length === 1 ? [] : [rows]), ...(b.shape.length === 1 ? [] : [columns])]);
}

/** Σ a · b of vectors. */
export function dot(a: Node, b: Node): Node {
  checkVectors('dot', a, b);
  if (!sameSize(a.shape[0] as Size, b.shape[0] as Size)) throw invalidArgument('dot', `${nodeText(a)} and ${nodeText(b)}`, 'vectors of one size');
  const products = apply('mul', [a, b], 'dot');
  checkType('dot', products, NUMBERS_OR_COMPLEX);
  return a.dtype === 'f16' ? cast(reduce('sum', apply('mul', [cast(a, 'f32'), cast(b, 'f32')]), [0]), 'f16') : reduce('sum', products, [0]);
}

/** The matrix of the products of two vectors' elements. */
export function outer(a: Node, b: Node): Node {
  checkVectors('outer', a, b);
  return apply('mul', [reshaped(a, [a.shape[0] as Size, 1]), b], 'outer');
}

function checkVectors(operation: string, a: Node, b: Node): void {
  if (a.shape.length !== 1 || b.shape.length !== 1) throw invalidArgument(operation, `${nodeText(a)} and ${nodeText(b)}`, 'vectors');
}

/** x · weightᵀ + bias in single precision, with the weight as [out, in]. */
export function linear(x: Node, weight: Node, bias: Node | null): Node {
  if (!isReal(x.dtype) || !isReal(weight.dtype)) throw invalidArgument('linear', `${nodeText(x)} and ${nodeText(weight)}`, 'tensors of f32 or f16');
  if (weight.shape.length < 2) throw invalidArgument('linear: weight', nodeText(weight), 'a matrix [out, in], or several');
  const size = x.shape.at(-1);
  if (size === undefined) throw invalidArgument('linear: x', nodeText(x), 'a tensor [..., in]');
  if (!sameSize(size, weight.shape.at(-1) as Size)) throw invalidArgument('linear: weight', nodeText(weight), `a matrix [out, in] whose last size is ${sizeText(size)}, as that of x, ${nodeText(x)}`);
  if (weight.shape.length > 2 && x.shape.length < 2) throw invalidArgument('linear: x', nodeText(x), 'a tensor [..., n, in], as there are several matrices');
  const product = matmul(x, transpose(weight, -2, -1), 'linear', 'f32');
  if (bias === null) return product;
  checkType('linear: bias', bias, ['f32', 'f16']);
  const out = weight.shape.at(-2) as Size;
  const own = bias.shape.at(-1);
  if (own !== undefined && own !== 1 && out !== 1 && !sameSize(own, out)) {
    throw invalidArgument('linear: bias', nodeText(bias), `a tensor that broadcasts to [..., ${sizeText(out)}], as the weight is ${nodeText(weight)}`);
  }
  return apply('add', [product, cast(bias, 'f32')], 'linear: bias');
}

/** Sums in single precision over axes. */
export function sumOver(x: Node, axes: readonly number[]): Node {
  return axes.length === 0 ? x : inSingle(x, (y) => reduce('sum', y, axes));
}
