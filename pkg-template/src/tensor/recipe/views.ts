/** Shapes of views: the same elements in another shape or order, or repeated. */

import { describe, invalidArgument } from '../../arguments/errors.js';
import { checkWholeNumber } from '../../arguments/numeric-arguments.js';
import { isSize, product, quotient, sameShape, sameSize, shapeText, sizeText, times, type Shape, type Size } from '../size.js';
import { expandTo } from './broadcast.js';
import { byParts, Node } from './node.js';
import { checkAxes, checkAxis, nodeText } from './operands.js';

/** Returns the same elements in another shape, which is known to have as many. */
export function reshaped(x: Node, shape: Shape): Node {
  return sameShape(x.shape, shape) ? x : byParts(x, (part) => new Node('reshape', part.dtype, shape, [part]));
}

/** Returns the same elements, in C order, in another shape. One size may be −1. Throws 'invalid-argument' for another number of elements. */
export function reshape(x: Node, shape: unknown): Node {
  if (!Array.isArray(shape)) throw invalidArgument('reshape: shape', describe(shape), 'an array of sizes');
  const open = shape.indexOf(-1);
  shape.forEach((size, axis) => {
    if (!isSize(size) && axis !== open) throw invalidArgument(`reshape: shape[${axis}]`, describe(size), 'a size; one may be -1');
  });
  const sizes = [...shape] as Size[];
  const count = product(x.shape);
  if (open >= 0) {
    const rest = product(sizes.filter((_, axis) => axis !== open));
    const size = quotient(count, rest);
    if (size === null) throw notAsMany(x, shape as Size[], count);
    sizes[open] = size;
  }
  if (!sameSize(product(sizes), count)) throw notAsMany(x, sizes, count);
  return reshaped(x, sizes);
}

function notAsMany(x: Node, shape: Shape, count: Size): Error {
  return invalidArgument('reshape: shape', `${shapeText(shape)} for ${nodeText(x)}`, `a shape of ${sizeText(count)} elements`);
}

/** Merges the axes from one to another. */
export function flatten(x: Node, from: unknown, to: unknown): Node {
  if (x.shape.length === 0) return reshaped(x, [1]);
  const first = checkAxis('flatten: from', from, x.shape.length);
  const last = checkAxis('flatten: to', to, x.shape.length);
  if (last < first) throw invalidArgument('flatten: to', describe(to), 'an axis that is not before the first');
  return reshaped(x, [...x.shape.slice(0, first), product(x.shape.slice(first, last + 1)), ...x.shape.slice(last + 1)]);
}

/** Takes away axes of size 1: all, or those told. */
export function squeeze(x: Node, axes: unknown): Node {
  const told = checkAxes('squeeze: axes', axes, x.shape.length);
  const long = axes === undefined ? undefined : told.find((axis) => x.shape[axis] !== 1);
  if (long !== undefined) throw invalidArgument('squeeze', `axis ${long} of ${nodeText(x)}`, 'axes of size 1');
  return reshaped(x, x.shape.filter((size, axis) => size !== 1 || !told.includes(axis)));
}

/** Adds axes of size 1, which have these numbers in the result. */
export function expandDims(x: Node, axes: readonly unknown[]): Node {
  const rank = x.shape.length + axes.length;
  const added = checkAxes('expandDims: axes', axes, rank);
  let next = 0;
  return reshaped(x, Array.from({ length: rank }, (_, axis) => (added.includes(axis) ? 1 : (x.shape[next++] as Size))));
}

/** Reorders axes: axis k of the result is this axis of the operand. */
export function permute(x: Node, axes: unknown, operation = 'permute'): Node {
  const rank = x.shape.length;
  if (!Array.isArray(axes) || axes.length !== rank) throw invalidArgument(`${operation}: axes`, describe(axes), `an array of all ${rank} axes`);
  const argument = `${operation}: axes`;
  checkAxes(argument, axes, rank);
  const order = axes.map((axis) => checkAxis(argument, axis, rank));
  if (order.every((axis, k) => axis === k)) return x;
  const shape = order.map((axis) => x.shape[axis] as Size);
  return byParts(x, (part) => new Node('permute', part.dtype, shape, [part], order));
}

/** Exchanges two axes. */
export function transpose(x: Node, a: unknown, b: unknown, operation = 'transpose'): Node {
  const rank = x.shape.length;
  if (rank < 2) throw invalidArgument(operation, nodeText(x), 'a tensor with at least two axes');
  const [first, second] = [checkAxis(`${operation}: a`, a, rank), checkAxis(`${operation}: b`, b, rank)];
  const order = x.shape.map((_, axis) => (axis === first ? second : axis === second ? first : axis));
  return permute(x, order, operation);
}

/** Repeats an axis as a whole. */
export function repeat(x: Node, count: unknown, axis: unknown, operation = 'repeat'): Node {
  checkWholeNumber(`${operation}: count`, count, 0);
  const at = checkAxis(`${operation}: axis`, axis, x.shape.length);
  if (count === 1) return x;
  const [before, size, after] = [x.shape.slice(0, at), x.shape[at] as Size, x.shape.slice(at + 1)];
  if (size === 1) return expandTo(operation, x, [...before, count, ...after]);
  const copies = expandTo(operation, reshaped(x, [...before, 1, size, ...after]), [...before, count, size, ...after]);
  return reshaped(copies, [...before, times(size, count), ...after]);
}

/** Repeats each axis as a whole. Counts are aligned with the last axes; further ones add axes at the front. */
export function tile(x: Node, counts: unknown): Node {
  if (!Array.isArray(counts)) throw invalidArgument('tile: counts', describe(counts), 'an array of whole numbers, one an axis');
  const rank = Math.max(counts.length, x.shape.length);
  const wide = reshaped(x, [...Array.from({ length: rank - x.shape.length }, () => 1), ...x.shape]);
  return counts.reduce<Node>((tiled, count, k) => repeat(tiled, count, rank - counts.length + k, 'tile'), wide);
}
