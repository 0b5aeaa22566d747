/** What stands beyond the border of a tensor: padding, shifts, rolls. And windows, triangles. */

import { describe, invalidArgument } from '../../arguments/errors.js';
import { checkOptions } from '../../arguments/options.js';
import { checkWholeNumber } from '../../arguments/numeric-arguments.js';
import { checkElement } from '../dtype.js';
import { minus, plus, sizeText, type Shape, type Size } from '../size.js';
import { BORDER } from '../tape-codes.js';
import { apply, where } from './elementwise.js';
import { byParts, ComplexNode, Node, numberNode } from './node.js';
import { checkAxis, nodeText } from './operands.js';

/** Options of pad. */
export interface PadOptions {
  /** What stands beyond the border: a number (default), the nearest element, the axis again, or the axis mirrored without its outermost element twice. */
  mode?: 'constant' | 'clamp' | 'wrap' | 'mirror';
  /** The number of the mode 'constant'. Default 0. */
  value?: number;
}

function padded(operation: string, x: Node, before: readonly number[], shape: Shape, mode: keyof typeof BORDER, value = 0): Node {
  const isEmpty = (sizes: Shape) => sizes.includes(0);
  if (mode !== 'constant' && isEmpty(x.shape) && !isEmpty(shape)) throw invalidArgument(operation, nodeText(x), 'a tensor with elements to repeat');
  if (x instanceof ComplexNode) {
    const part = (y: Node, number: number) => padded(operation, y, before, shape, mode, number);
    return new ComplexNode(part(x.re, value), part(x.im, 0));
  }
  const operands = mode === 'constant' ? [x, numberNode(value, x.dtype)] : [x];
  return new Node('pad', x.dtype, shape, operands, [BORDER[mode], ...before.map((size) => ({ size }))]);
}

/** Adds so many elements before and after each axis; negative numbers take away. */
export function pad(x: Node, widths: unknown, options: PadOptions = {}): Node {
  checkOptions('pad: options', options, { mode: true, value: true });
  const { mode = 'constant', value = 0 } = options;
  if (!Object.hasOwn(BORDER, mode)) throw invalidArgument('pad: mode', describe(mode), "'constant', 'clamp', 'wrap' or 'mirror'");
  checkElement('pad: value', value, x.dtype);
  if (!Array.isArray(widths) || widths.length !== x.shape.length) {
    throw invalidArgument('pad: widths', describe(widths), `${x.shape.length} pairs [before, after], one an axis`);
  }
  const pairs = widths.map((pair, axis) => {
    const isPair = Array.isArray(pair) && pair.length === 2 && pair.every((width) => Number.isInteger(width));
    if (!isPair) throw invalidArgument(`pad: widths[${axis}]`, describe(pair), '[before, after], two whole numbers');
    return pair as [before: number, after: number];
  });
  const shape = x.shape.map((size, axis) => {
    const [before, after] = pairs[axis] as [number, number];
    const sum = plus(size, before + after);
    if (typeof sum === 'number' && sum < 0) throw invalidArgument(`pad: widths[${axis}]`, `[${before}, ${after}]`, `widths that take away at most the ${sizeText(size)} elements of the axis`);
    return sum;
  });
  if (pairs.every(([before, after]) => before === 0 && after === 0)) return x;
  return padded('pad', x, pairs.map(([before]) => before), shape, mode, value);
}

/** What stands so much further along the last axes. */
export function shift(x: Node, offsets: unknown, border: unknown): Node {
  const rank = x.shape.length;
  if (!Array.isArray(offsets) || offsets.length > rank || !offsets.every((offset) => Number.isInteger(offset))) {
    throw invalidArgument('shift: offsets', Array.isArray(offsets) ? `[${offsets.join(', ')}]` : describe(offsets), `at most ${rank} whole numbers, for the last axes`);
  }
  if (border !== 'clamp' && border !== 'zero' && border !== 'wrap' && border !== 'mirror') {
    throw invalidArgument('shift: border', describe(border), "'clamp', 'zero', 'wrap' or 'mirror'");
  }
  const before = x.shape.map((_, axis) => 0 - (offsets[axis - rank + offsets.length] ?? 0));
  if (before.every((offset) => offset === 0)) return x;
  return padded('shift', x, before, x.shape, border === 'zero' ? 'constant' : border);
}

/** Moves elements further along an axis; those beyond its end come in at its start. */
export function roll(x: Node, by: unknown, axis: unknown): Node {
  if (typeof by !== 'number' || !Number.isInteger(by)) throw invalidArgument('roll: by', describe(by), 'a whole number');
  const at = checkAxis('roll: axis', axis, x.shape.length);
  if (by === 0 || x.shape.includes(0)) return x;
  return padded('roll', x, x.shape.map((_, k) => (k === at ? by : 0)), x.shape, 'wrap');
}

/** Overlapping pieces of an axis: the axis becomes their number, and an axis of `size` is added at the end. */
export function windows(x: Node, axis: unknown, size: unknown, step: unknown, dilation: unknown): Node {
  const at = checkAxis('windows: axis', axis, x.shape.length);
  checkWholeNumber('windows: size', size, 1);
  checkWholeNumber('windows: step', step, 1);
  checkWholeNumber('windows: dilation', dilation, 1);
  const span = (size - 1) * dilation + 1;
  const room = minus(x.shape[at] as Size, span);
  if (typeof room === 'number' && room < 0) {
    throw invalidArgument('windows: size', `windows over ${span} elements`, `at most the ${sizeText(x.shape[at] as Size)} elements of axis ${at}`);
  }
  if (typeof room !== 'number' && step !== 1) throw invalidArgument('windows: step', String(step), `1, as the size of axis ${at} is the Dim ${sizeText(x.shape[at] as Size)}`);
  const count = typeof room === 'number' ? Math.floor(room / step) + 1 : plus(room, 1);
  const shape = [...x.shape.slice(0, at), count, ...x.shape.slice(at + 1), size];
  return byParts(x, (part) => new Node('windows', part.dtype, shape, [part], [at, step, dilation]));
}

/** Keeps the elements on one side of a diagonal of the last two axes, and puts 0 instead of others. */
export function triangle(x: Node, side: 'tril' | 'triu', diagonal: unknown): Node {
  if (typeof diagonal !== 'number' || !Number.isInteger(diagonal)) throw invalidArgument(`${side}: diagonal`, describe(diagonal), 'a whole number');
  const shape = x.shape.slice(-2);
  if (shape.length < 2) throw invalidArgument(side, nodeText(x), 'a tensor with at least two axes');
  const [row, column] = [iota(shape, 0), iota(shape, 1)];
  const kept = apply(side === 'tril' ? 'lte' : 'gte', [column, apply('add', [row, diagonal])]);
  return where(kept, x, 0, side);
}

function iota(shape: Shape, axis: number): Node {
  return new Node('iota', 'i32', shape, [], [axis]);
}
