/**
 * Elements and slices at places that indices say. Negative indices count from the end. An index that is out of range reads 0 and writes
 * nothing.
 */

import { describe, invalidArgument } from '../../arguments/errors.js';
import { checkOptions } from '../../arguments/options.js';
import { isSize, minus, plus, product, sameShape, sameSize, shapeText, sizeText, smallest, type Size } from '../size.js';
import { COMBINE } from '../tape-codes.js';
import { expandTo } from './broadcast.js';
import { apply, cast, where } from './elementwise.js';
import { byParts, byPartsOfAll, Node } from './node.js';
import { checkAxis, checkType, INDICES, nodeText, operandOf } from './operands.js';
import { sizeNode } from './reductions.js';
import { reshaped } from './views.js';

/** How several elements at one place combine: 'set' takes the last one, the others combine all with what is there. */
export type Combine = 'set' | 'add' | 'mul' | 'min' | 'max';

/** Options of scatter and indexAdd. */
export interface ScatterOptions {
  /** The axis that indices count along. Default 0. */
  axis?: number;
  /** How several elements at one place combine, in a fixed order. */
  combine?: Combine;
}

/** Returns slices of an axis, in the shape of the indices. */
export function indexSelect(x: Node, indices: Node, axis: unknown, operation = 'indexSelect'): Node {
  checkType(`${operation}: indices`, indices, INDICES);
  const at = checkAxis(`${operation}: axis`, axis, x.shape.length);
  const shape = [...x.shape.slice(0, at), ...indices.shape, ...x.shape.slice(at + 1)];
  return byParts(x, (part) => new Node('gather', part.dtype, shape, [part, indices], [at]));
}

/** Returns the elements whose coordinate along an axis the indices say; the other coordinates are those of the index. */
export function gather(x: Node, indices: Node, axis: unknown): Node {
  checkType('gather: indices', indices, INDICES);
  const at = checkAxis('gather: axis', axis, x.shape.length);
  checkWithin('gather', x, indices, at);
  return byParts(x, (part) => new Node('gatherElements', part.dtype, indices.shape, [part, indices], [at]));
}

/** Throws unless indices have the rank of a tensor, and along all axes but one its sizes or smaller ones. */
function checkWithin(operation: string, x: Node, indices: Node, axis: number): void {
  const fits = (size: Size, k: number) => {
    const own = x.shape[k] as Size;
    return k === axis || sameSize(size, own) || (typeof size === 'number' && typeof own === 'number' && size <= own);
  };
  if (indices.shape.length !== x.shape.length || !indices.shape.every(fits)) {
    throw invalidArgument(`${operation}: indices`, nodeText(indices), `indices of rank ${x.shape.length} that are not larger than ${shapeText(x.shape)} but along axis ${axis}`);
  }
}

function combineOf(operation: string, combine: unknown, dtype: string): Combine {
  if (typeof combine !== 'string' || !Object.hasOwn(COMBINE, combine)) throw invalidArgument(`${operation}: combine`, describe(combine), `'${Object.keys(COMBINE).join("', '")}'`);
  if (dtype === 'bool' && (combine === 'add' || combine === 'mul')) throw invalidArgument(`${operation}: combine`, `'${combine}' of bool`, "'set', 'min' or 'max'");
  if (dtype === 'c64' && combine !== 'set' && combine !== 'add') throw invalidArgument(`${operation}: combine`, `'${combine}' of c64`, "'set' or 'add'");
  return combine as Combine;
}

function scatterOptions(operation: string, options: ScatterOptions, combine: Combine, x: Node): [axis: number, combine: number] {
  checkOptions(`${operation}: options`, options, { axis: true, combine: true });
  const axis = checkAxis(`${operation}: axis`, options.axis ?? 0, x.shape.length);
  return [axis, COMBINE[combineOf(operation, options.combine ?? combine, x.dtype)]];
}

/** Puts elements of a source at places along an axis. */
export function scatter(x: Node, indices: Node, source: unknown, options: ScatterOptions = {}): Node {
  checkType('scatter: indices', indices, INDICES);
  const [axis, combine] = scatterOptions('scatter', options, 'set', x);
  checkWithin('scatter', x, indices, axis);
  const from = sourceOf('scatter', x, operandOf('scatter: source', source, x.dtype));
  return put('scatter', x, indices, expandTo('scatter: source', from, indices.shape), [axis, combine]);
}

/** Combines slices of a source with those at places along an axis; the indices are a vector. */
export function indexAdd(x: Node, indices: Node, source: Node, options: ScatterOptions = {}): Node {
  checkType('indexAdd: indices', indices, INDICES);
  const [axis, combine] = scatterOptions('indexAdd', options, 'add', x);
  if (indices.shape.length !== 1) throw invalidArgument('indexAdd: indices', nodeText(indices), 'a vector');
  const shape = [...x.shape.slice(0, axis), indices.shape[0] as Size, ...x.shape.slice(axis + 1)];
  const from = expandTo('indexAdd: source', sourceOf('indexAdd', x, source), shape);
  return put('indexPut', x, indices, from, [axis, combine]);
}

/** Writes a source to a tensor of its type. */
function put(op: 'scatter' | 'indexPut', x: Node, indices: Node, source: Node, attributes: readonly number[]): Node {
  return byPartsOfAll([x, source], ([to, from]) => new Node(op, (to as Node).dtype, x.shape, [to as Node, indices, from as Node], attributes));
}

function sourceOf(operation: string, x: Node, source: Node): Node {
  if (source.dtype !== x.dtype) throw invalidArgument(`${operation}: source`, nodeText(source), `a tensor of ${x.dtype}, or a cast() to it`);
  return source;
}

/** Rows of coordinates as positions along the first axes of a tensor, merged into one. A row with a coordinate out of range becomes one that is out of range. */
function positions(operation: string, x: Node, indices: Node): { position: Node; merged: Node; count: number } {
  checkType(`${operation}: indices`, indices, INDICES);
  const count = indices.shape.at(-1);
  if (typeof count !== 'number' || count < 1 || count > x.shape.length) {
    throw invalidArgument(`${operation}: indices`, nodeText(indices), `rows of 1 to ${x.shape.length} coordinates along the last axis`);
  }
  const total = product(x.shape.slice(0, count));
  const rows = indices.shape.slice(0, -1);
  let position: Node | null = null;
  let isInside: Node | null = null;
  for (let axis = 0; axis < count; axis++) {
    const size = sizeNode(x.shape[axis] as Size, indices.dtype);
    const starts = indices.shape.map((_, k) => ({ size: k === indices.shape.length - 1 ? axis : 0 }));
    const column = new Node('slice', indices.dtype, [...rows, 1], [indices], [...starts, ...indices.shape.map(() => 1)]);
    let place = reshaped(column, rows);
    let inside = apply('lt', [place, size]);
    if (indices.dtype === 'i32') {
      place = where(apply('lt', [place, 0]), apply('add', [place, size]), place);
      inside = apply('and', [apply('gte', [place, 0]), apply('lt', [place, size])]);
    }
    const stride = sizeNode(product(x.shape.slice(axis + 1, count)), indices.dtype);
    const part = apply('mul', [place, stride]);
    position = position === null ? part : apply('add', [position, part]);
    isInside = isInside === null ? inside : apply('and', [isInside, inside]);
  }
  const found = where(isInside as Node, position as Node, sizeNode(total, indices.dtype));
  return { position: cast(found, 'i32'), merged: reshaped(x, [total, ...x.shape.slice(count)]), count };
}

/** Returns elements, or slices, at rows of coordinates. */
export function gatherNd(x: Node, indices: Node): Node {
  const { position, merged } = positions('gatherNd', x, indices);
  return indexSelect(merged, position, 0, 'gatherNd');
}

/** Puts elements, or slices, at rows of coordinates. */
export function scatterNd(x: Node, indices: Node, source: Node, options: { combine?: Combine } = {}): Node {
  checkOptions('scatterNd: options', options, { combine: true });
  const combine = combineOf('scatterNd', options.combine ?? 'set', x.dtype);
  const { position, merged, count } = positions('scatterNd', x, indices);
  const inner = x.shape.slice(count);
  const from = expandTo('scatterNd: source', sourceOf('scatterNd', x, source), [...position.shape, ...inner]);
  const rows = product(position.shape);
  return reshaped(put('indexPut', merged, reshaped(position, [rows]), reshaped(from, [rows, ...inner]), [0, COMBINE[combine]]), x.shape);
}

/** Replaces the part that begins at some places by a source. */
export function setSlice(x: Node, starts: unknown, source: Node, operation = 'setSlice'): Node {
  sourceOf(operation, x, source);
  const rank = x.shape.length;
  if (!Array.isArray(starts) || starts.length > rank) throw invalidArgument(`${operation}: starts`, describe(starts), `an array of at most ${rank} places`);
  if (source.shape.length !== rank) throw invalidArgument(`${operation}: source`, nodeText(source), `a tensor of rank ${rank}`);
  const from = x.shape.map((size, axis) => startOf(`${operation}: starts[${axis}]`, starts[axis] ?? 0, size, source.shape[axis] as Size));
  if (sameShape(source.shape, x.shape) && from.every((start) => start === 0)) return source;
  const bounds = from.flatMap((start, axis) => [start, minus(x.shape[axis] as Size, plus(start, source.shape[axis] as Size))]);
  return byPartsOfAll([x, source], (both) => new Node('setSlice', (both[0] as Node).dtype, x.shape, both, from.map((size) => ({ size })), null, bounds));
}

function startOf(argument: string, start: unknown, size: Size, part: Size): Size {
  if (!isSize(start, -Infinity)) throw invalidArgument(argument, describe(start), 'a whole number or a Dim');
  const from = typeof start === 'number' && start < 0 ? plus(size, start) : start;
  const end = plus(from, part);
  // A Dim that is too large whatever it is told is an error before any run.
  const isBeyond = typeof size === 'number' && smallest(end) > size;
  const isBefore = typeof from === 'number' && from < 0;
  if (isBeyond || isBefore) {
    throw invalidArgument(argument, describe(typeof start === 'number' ? start : start.name), `a place from which ${sizeText(part)} elements are within the ${sizeText(size)} of the axis`);
  }
  return from;
}
