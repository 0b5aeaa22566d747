/** Elementwise operations, of complex numbers too: those record operations on real and imaginary parts. */

import { describe } from '../../arguments/errors.js';
import { checkDType, type DType } from '../dtype.js';
import * as complex from './complex.js';
import * as nodes from './elementwise-nodes.js';
import type { ElementwiseName } from './elementwise-codes.js';
import { ComplexNode, type Node } from './node.js';
import type { NodeOrNumber } from './operands.js';

export { bitcast, inSingle } from './elementwise-nodes.js';

const isComplex = (operand: NodeOrNumber) => operand instanceof ComplexNode;

/**
 * Applies an elementwise operation to tensors that broadcast. A number takes the type of the first tensor. Throws 'invalid-argument' for
 * operands of two types, of a type that the operation does not take, or of shapes that do not broadcast.
 *
 * @param operation its name in messages
 */
export function apply(name: ElementwiseName, operands: readonly NodeOrNumber[], operation: string = name): Node {
  return operands.some(isComplex) ? complex.apply(name, operands, operation) : nodes.apply(name, operands, operation);
}

/** Returns `a` where the condition holds, else `b`. Throws 'invalid-argument' for a condition that is not of bool, or operands of two types. */
export function where(condition: Node, a: NodeOrNumber, b: NodeOrNumber, operation = 'where'): Node {
  return isComplex(a) || isComplex(b) ? complex.where(condition, a, b, operation) : nodes.where(condition, a, b, operation);
}

/** Converts to another type: to c64 with an imaginary part of 0, and from c64 to bool alone. */
export function cast(x: Node, dtype: DType): Node {
  checkDType('cast: dtype', dtype);
  if (x.dtype === dtype) return x;
  if (x instanceof ComplexNode) return complex.castTo(x, dtype, describe(dtype));
  return dtype === 'c64' ? complex.fromReal(x) : nodes.cast(x, dtype);
}

/** Whether each element is NaN, or infinite, in one of its parts; integers and truth values never are. */
export function test(name: 'isNaN' | 'isFinite' | 'isInfinite', x: Node): Node {
  return x instanceof ComplexNode ? complex.test(name, x) : nodes.test(name, x);
}
