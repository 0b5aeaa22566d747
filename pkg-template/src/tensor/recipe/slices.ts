/** Parts of tensors, and tensors after one another. */

import { describe, invalidArgument } from '../../arguments/errors.js';
import { checkWholeNumber } from '../../arguments/numeric-arguments.js';
import { apply } from './elementwise.js';
import { isSize, minus, plus, sameShape, sameSize, shapeText, sizeText, times, type Size } from '../size.js';
import { byParts, byPartsOfAll, Node } from './node.js';
import { checkAxes, checkAxis, nodeText } from './operands.js';
import { expandDims, reshaped } from './views.js';

/**
 * [start, end) of an axis, perhaps with a step; null is all of it, and so is an `end` of null or undefined: up to the end, with a negative step
 * down to the start. Negative places count from the end. Numbers beyond the axis are clamped to it, as NumPy does; of an axis whose size is a
 * Dim, and of places that are Dims, nothing is clamped.
 */
export type Range = null | readonly [start: Size, end?: Size | null, step?: number];

/** Where a part begins, its step, and its size. */
interface Part {
  readonly start: Size;
  readonly step: number;
  readonly size: Size;
}

/** Returns a part: one range an axis, from the first on. */
export function slice(x: Node, ranges: readonly unknown[]): Node {
  if (ranges.length > x.shape.length) throw invalidArgument('slice', `${ranges.length} ranges`, `at most ${x.shape.length}, one an axis`);
  return part(x, x.shape.map((size, axis) => partOf(`slice: range ${axis}`, ranges[axis] ?? null, size)));
}

function part(x: Node, parts: readonly Part[]): Node {
  const shape = parts.map(({ size }) => size);
  if (sameShape(shape, x.shape) && parts.every(({ start, step }) => start === 0 && step === 1)) return x;
  const attributes = [...parts.map(({ start }) => ({ size: start })), ...parts.map(({ step }) => step)];
  const bounds = parts.flatMap((each, axis) => boundsOf(each, x.shape[axis] as Size));
  return byParts(x, (y) => new Node('slice', y.dtype, shape, [y], attributes, null, bounds));
}

/** What is not negative where a part is within an axis, as far as it depends on dims. */
function boundsOf({ start, step, size }: Part, of: Size): Size[] {
  if ([start, size, of].every((each) => typeof each === 'number')) return [];
  // A part whose size depends on dims has a step of 1 or −1.
  const last = plus(start, times(minus(size, 1), step));
  return step > 0 ? [start, minus(minus(of, 1), last)] : [last, minus(minus(of, 1), start)];
}

function partOf(argument: string, range: unknown, size: Size): Part {
  if (range === null) return { start: 0, step: 1, size };
  if (!Array.isArray(range) || range.length < 1 || range.length > 3) {
    throw invalidArgument(argument, describe(range), '[start], [start, end], [start, end, step] or null');
  }
  const [first, last = null, step = 1] = range as [unknown, unknown, unknown];
  if (!isSize(first, -Infinity)) throw invalidArgument(`${argument}: start`, describe(first), 'a whole number or a Dim');
  if (last !== null && !isSize(last, -Infinity)) throw invalidArgument(`${argument}: end`, describe(last), 'a whole number, a Dim or null');
  if (typeof step !== 'number' || !Number.isInteger(step) || step === 0 || Math.abs(step) >= 2 ** 31) {
    throw invalidArgument(`${argument}: step`, describe(step), 'a whole number that is not 0');
  }
  const place = (given: Size): Size => {
    const found = typeof given === 'number' && given < 0 ? plus(size, given) : given;
    if (typeof found !== 'number' || typeof size !== 'number') return found;
    return step > 0 ? Math.min(Math.max(found, 0), size) : Math.min(Math.max(found, -1), size - 1);
  };
  const start = place(first);
  const end = last === null ? (step > 0 ? size : -1) : place(last);
  const distance = step > 0 ? minus(end, start) : minus(start, end);
  if (typeof distance === 'number') return { start: distance > 0 ? start : 0, step, size: Math.max(0, Math.ceil(distance / Math.abs(step))) };
  if (Math.abs(step) === 1) return { start, step, size: distance };
  throw invalidArgument(`${argument}: step`, `${step} of ${sizeText(distance)} elements`, '1 or -1 where the size of the part depends on a Dim');
}

/** Returns one place of an axis, which goes. A negative number counts from the end. */
export function pick(x: Node, axis: unknown, index: unknown): Node {
  const at = checkAxis('pick: axis', axis, x.shape.length);
  const size = x.shape[at] as Size;
  if (!isSize(index, -Infinity)) throw invalidArgument('pick: index', describe(index), 'a whole number or a Dim');
  const start = typeof index === 'number' && index < 0 ? plus(size, index) : index;
  if (typeof start === 'number' && typeof size === 'number' && (start < 0 || start >= size)) {
    throw invalidArgument('pick: index', describe(index), `a place of axis ${at}, whose size is ${size}`);
  }
  const one = part(x, x.shape.map((each, k) => (k === at ? { start, step: 1, size: 1 } : { start: 0, step: 1, size: each })));
  return reshaped(one, x.shape.filter((_, k) => k !== at));
}

/** Cuts an axis into equal parts, or parts of these sizes. */
export function split(x: Node, parts: unknown, axis: unknown): Node[] {
  const at = checkAxis('split: axis', axis, x.shape.length);
  const size = x.shape[at] as Size;
  if (typeof size !== 'number') throw invalidArgument('split', `the Dim ${size.name} as the size of axis ${at}`, 'an axis whose size is a number: slice() takes Dims');
  let sizes: number[];
  if (typeof parts === 'number') {
    checkWholeNumber('split: parts', parts, 1);
    if (size % parts !== 0) throw invalidArgument('split: parts', String(parts), `a divisor of ${size}, the size of axis ${at}`);
    sizes = Array.from({ length: parts }, () => size / parts);
  } else {
    if (!Array.isArray(parts)) throw invalidArgument('split: parts', describe(parts), 'a whole number or an array of sizes');
    parts.forEach((each, k) => checkWholeNumber(`split: parts[${k}]`, each, 0));
    sizes = parts;
    const sum = sizes.reduce((total, each) => total + each, 0);
    if (sum !== size) throw invalidArgument('split: parts', `sizes with the sum ${sum}`, `sizes with the sum ${size}, the size of axis ${at}`);
  }
  let start = 0;
  return sizes.map((each) => {
    const from = start;
    start += each;
    return part(x, x.shape.map((whole, k) => (k === at ? { start: from, step: 1, size: each } : { start: 0, step: 1, size: whole })));
  });
}

/** Reverses axes: all unless told. */
export function flip(x: Node, axes: unknown): Node {
  const reversed = checkAxes('flip: axes', axes, x.shape.length);
  return part(
    x,
    x.shape.map((size, axis) => (reversed.includes(axis) && size !== 0 ? { start: minus(size, 1), step: -1, size } : { start: 0, step: 1, size })),
  );
}

/** Returns the elements of the last two axes whose coordinates are equal, as a last axis. */
export function diagonal(x: Node): Node {
  const rank = x.shape.length;
  const [rows, columns] = x.shape.slice(-2);
  if (rank < 2 || typeof rows !== 'number' || typeof columns !== 'number') {
    throw invalidArgument('diagonal', nodeText(x), 'a tensor whose last two axes have sizes that are numbers');
  }
  const size = Math.min(rows, columns);
  const rest = x.shape.slice(0, -2);
  if (size === 0) return slice(reshaped(x, [...rest, 0]), []);
  const whole = rest.map((each) => ({ start: 0, step: 1, size: each }));
  const wide = reshaped(part(x, [...whole, { start: 0, step: 1, size }, { start: 0, step: 1, size: columns }]), [...rest, size * columns]);
  return part(wide, [...whole, { start: 0, step: columns + 1, size }]);
}

/** Puts tensors after one another along an axis. */
export function concat(parts: readonly Node[], axis: unknown, operation = 'concat'): Node {
  const [first] = parts;
  if (first === undefined) throw invalidArgument(operation, 'no tensors', 'at least one');
  const at = checkAxis(`${operation}: axis`, axis, first.shape.length);
  for (const each of parts) {
    const isAlike = each.shape.length === first.shape.length && each.shape.every((size, k) => k === at || sameSize(size, first.shape[k] as Size));
    if (each.dtype !== first.dtype || !isAlike) {
      throw invalidArgument(operation, `${nodeText(first)} and ${nodeText(each)}`, `tensors of one type and of equal sizes but along axis ${at}`);
    }
  }
  if (parts.length === 1) return first;
  const size = parts.reduce<Size>((sum, each) => plus(sum, each.shape[at] as Size), 0);
  const shape = [...first.shape.slice(0, at), size, ...first.shape.slice(at + 1)];
  return byPartsOfAll(parts, (all) => new Node('concat', (all[0] as Node).dtype, shape, all, [at]));
}

/** Puts tensors of one shape after one another along a new axis. */
export function stack(parts: readonly Node[], axis: unknown): Node {
  const [first] = parts;
  const other = parts.find((each) => first !== undefined && !sameShape(each.shape, first.shape));
  if (first !== undefined && other !== undefined) {
    throw invalidArgument('stack', `shapes ${shapeText(first.shape)} and ${shapeText(other.shape)}`, 'tensors of one shape');
  }
  const at = checkAxis('stack: axis', axis, (first?.shape.length ?? 0) + 1);
  return concat(parts.map((each) => expandDims(each, [at])), at, 'stack');
}

/** Each element of an axis less the one before it. */
export function diff(x: Node, axis: unknown): Node {
  const along = checkAxis('diff: axis', axis, x.shape.length);
  const from = (start: Size, end: Size | null) => slice(x, x.shape.map((_, k) => (k === along ? [start, end] : null)));
  const size = x.shape[along] as Size;
  return typeof size === 'number' && size < 2 ? from(0, 0) : apply('sub', [from(1, null), from(0, minus(size, 1))], 'diff');
}
