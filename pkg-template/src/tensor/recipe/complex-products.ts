/** Products of many complex numbers, and of complex matrices, as products of their parts. */

import { invalidArgument } from '../../arguments/errors.js';
import { product as countOf, sizeText, type Size } from '../size.js';
import { apply } from './elementwise.js';
import { ComplexNode, constantNode, type Node } from './node.js';
import { concat, slice } from './slices.js';
import { permute, reshaped } from './views.js';

/** The product of complex matrices, by four of real ones: of three, Gauss's, the error of a small part is that of the large one. */
export function complexMatmul(a: ComplexNode, b: ComplexNode, matmul: (a: Node, b: Node) => Node): Node {
  const re = apply('sub', [matmul(a.re, b.re), matmul(a.im, b.im)]);
  return new ComplexNode(re, apply('add', [matmul(a.re, b.im), matmul(a.im, b.re)]));
}

/** The product over axes, which are sorted: halves are multiplied until one number is left. Throws 'invalid-argument' where a Dim says how many there are. */
export function productOver(x: ComplexNode, axes: readonly number[], keep: boolean): Node {
  if (axes.length === 0) return x;
  const rest = x.shape.map((_, axis) => axis).filter((axis) => !axes.includes(axis));
  const kept = rest.map((axis) => x.shape[axis] as Size);
  const count = countOf(axes.map((axis) => x.shape[axis] as Size));
  if (typeof count !== 'number') throw invalidArgument('prod', `${sizeText(count)} elements of c64`, 'axes whose sizes are numbers');
  let left: Node = count === 0 ? constantNode(1, 'c64', [1, ...kept]) : reshaped(permute(x, [...axes, ...rest]), [count, ...kept]);
  for (let size = Math.max(count, 1); size > 1; size = Math.ceil(size / 2)) {
    const half = Math.floor(size / 2);
    const products = apply('mul', [slice(left, [[0, half]]), slice(left, [[half, 2 * half]])]);
    left = size % 2 === 0 ? products : concat([products, slice(left, [[2 * half]])], 0);
  }
  return reshaped(left, keep ? x.shape.map((size, axis) => (axes.includes(axis) ? 1 : size)) : kept);
}
