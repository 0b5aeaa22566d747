/** Operations along one axis that keep its size: softmax and accumulations. Half precision is computed in single. */

import { checkFlag, checkOptions } from '../../arguments/options.js';
import { REDUCTION } from '../tape-codes.js';
import { apply, inSingle } from './elementwise.js';
import { byParts, Node } from './node.js';
import { checkAxis, checkType, NUMBERS, NUMBERS_OR_COMPLEX, REALS } from './operands.js';
import { reduce } from './reductions.js';

/** Options of accumulations along an axis. */
export interface ScanOptions {
  /** Leaves out the element itself. Default false. */
  exclusive?: boolean;
  /** Goes from the end. Default false. */
  reverse?: boolean;
}

/** Differences to the largest of a row, their exponentials, and the sum of these. */
function exponentials(x: Node, axis: number): [shifted: Node, exponential: Node, sum: Node] {
  const shifted = apply('sub', [x, apply('stopGradient', [reduce('max', x, [axis], true)])]);
  const exponential = apply('exp', [shifted]);
  return [shifted, exponential, reduce('sum', exponential, [axis], true)];
}

/** exp x / Σ exp x along an axis. */
export function softmax(x: Node, axis: unknown): Node {
  checkType('softmax', x, REALS);
  const along = checkAxis('softmax: axis', axis, x.shape.length);
  return inSingle(x, (y) => {
    const [, exponential, sum] = exponentials(y, along);
    return apply('div', [exponential, sum]);
  });
}

/** x − log Σ exp x along an axis. */
export function logSoftmax(x: Node, axis: unknown, operation = 'logSoftmax'): Node {
  checkType(operation, x, REALS);
  const along = checkAxis(`${operation}: axis`, axis, x.shape.length);
  return inSingle(x, (y) => {
    const [shifted, , sum] = exponentials(y, along);
    return apply('sub', [shifted, apply('log', [sum])]);
  });
}

/** Returns the options of an accumulation as they stand on the tape. */
export function scanFlags(operation: string, options: ScanOptions | undefined): [exclusive: number, reverse: number] {
  if (options === undefined) return [0, 0];
  checkOptions(`${operation}: options`, options, { exclusive: true, reverse: true });
  checkFlag(`${operation}: exclusive`, options.exclusive);
  checkFlag(`${operation}: reverse`, options.reverse);
  return [Number(options.exclusive === true), Number(options.reverse === true)];
}

/** Sums, products or extremes of all elements of an axis up to each. */
export function accumulate(operation: string, reduction: 'sum' | 'prod' | 'min' | 'max', x: Node, axis: unknown, options?: ScanOptions): Node {
  checkType(operation, x, reduction === 'sum' ? NUMBERS_OR_COMPLEX : NUMBERS);
  const along = checkAxis(`${operation}: axis`, axis, x.shape.length);
  const flags = scanFlags(operation, options);
  return byParts(x, (part) => inSingle(part, (y) => new Node('scan', y.dtype, y.shape, [y], [REDUCTION[reduction], along, ...flags])));
}
