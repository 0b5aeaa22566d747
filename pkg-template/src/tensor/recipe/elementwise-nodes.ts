/** Elementwise operations of the tape, which has no complex numbers: types and shapes of their results. */

import { invalidArgument } from '../../arguments/errors.js';
import { checkDType, checkElement, isInteger, isReal, type DType } from '../dtype.js';
import { broadcastShapes } from './broadcast.js';
import { ELEMENTWISE, type ElementwiseName, type Takes } from './elementwise-codes.js';
import { constantNode, Node } from './node.js';
import { nodeText, type NodeOrNumber } from './operands.js';

/** Operations whose result is a truth value. */
const TESTS: ReadonlySet<ElementwiseName> = new Set<ElementwiseName>(['isNaN', 'isFinite', 'eq', 'neq', 'lt', 'lte', 'gt', 'gte']);

const TAKES: Readonly<Record<Takes, readonly [test: (dtype: DType) => boolean, text: string]>> = {
  reals: [isReal, 'f32 or f16'],
  numbers: [(dtype) => dtype !== 'bool', 'numbers'],
  bits: [(dtype) => !isReal(dtype), 'integers or bool'],
  integers: [isInteger, 'integers'],
  any: [() => true, 'any type'],
};

/**
 * Applies an elementwise operation to tensors that broadcast. A number takes the type of the first tensor. Throws 'invalid-argument' for
 * operands of two types, of a type that the operation does not take, or of shapes that do not broadcast.
 *
 * @param operation its name in messages
 */
export function apply(name: ElementwiseName, operands: readonly NodeOrNumber[], operation: string = name): Node {
  const dtype = operands.find((operand) => operand instanceof Node)?.dtype ?? 'f32';
  const nodes = operands.map((operand) => (operand instanceof Node ? operand : constant(operation, operand, dtype)));
  const other = nodes.find((node) => node.dtype !== dtype);
  if (other !== undefined) {
    throw invalidArgument(operation, `tensors of ${dtype} and ${other.dtype}`, 'tensors of one type: cast() changes it');
  }
  const [takes, text] = TAKES[ELEMENTWISE[name].takes];
  if (!takes(dtype)) throw invalidArgument(operation, nodeText(nodes[0] as Node), `a tensor of ${text}`);
  return node(operation, name, TESTS.has(name) ? 'bool' : dtype, nodes);
}

function node(operation: string, name: ElementwiseName, dtype: DType, operands: readonly Node[]): Node {
  const shape = broadcastShapes(operation, operands.map((operand) => operand.shape));
  return new Node('elementwise', dtype, shape, operands, [ELEMENTWISE[name].code]);
}

function constant(operation: string, value: number, dtype: DType): Node {
  checkElement(operation, value, dtype);
  return constantNode(value, dtype);
}

/** Returns `a` where the condition holds, else `b`. Throws 'invalid-argument' for a condition that is not of bool, or operands of two types. */
export function where(condition: Node, a: NodeOrNumber, b: NodeOrNumber, operation = 'where'): Node {
  if (condition.dtype !== 'bool') throw invalidArgument(`${operation}: condition`, nodeText(condition), 'a tensor of bool');
  const dtype = (a instanceof Node ? a : b instanceof Node ? b : undefined)?.dtype ?? 'f32';
  const nodes = [a, b].map((operand) => (operand instanceof Node ? operand : constant(operation, operand, dtype)));
  const other = nodes.find((each) => each.dtype !== dtype);
  if (other !== undefined) {
    throw invalidArgument(operation, `tensors of ${dtype} and ${other.dtype}`, 'tensors of one type: cast() changes it');
  }
  return node(operation, 'where', dtype, [condition, ...nodes]);
}

/** Converts to another type. */
export function cast(x: Node, dtype: DType): Node {
  checkDType('cast: dtype', dtype);
  return x.dtype === dtype ? x : node('cast', 'cast', dtype, [x]);
}

/** Takes the 32 bits of each element as another type. Throws 'invalid-argument' for types of other widths. */
export function bitcast(x: Node, dtype: DType): Node {
  const wide: readonly DType[] = ['f32', 'i32', 'u32'];
  checkDType('bitcast: dtype', dtype);
  if (!wide.includes(dtype)) throw invalidArgument('bitcast: dtype', `'${dtype}'`, "'f32', 'i32' or 'u32'");
  if (!wide.includes(x.dtype)) throw invalidArgument('bitcast', nodeText(x), 'a tensor of f32, i32 or u32');
  return x.dtype === dtype ? x : node('bitcast', 'bitcast', dtype, [x]);
}

/** Computes in single precision what is stored in half: `compute` gets f32, and the result has the type of `x`. Other types stay as they are. */
export function inSingle(x: Node, compute: (x: Node) => Node): Node {
  return x.dtype === 'f16' ? cast(compute(cast(x, 'f32')), 'f16') : compute(x);
}

/** Whether each element is NaN, or infinite; integers and truth values never are. */
export function test(name: 'isNaN' | 'isFinite' | 'isInfinite', x: Node): Node {
  if (!isReal(x.dtype)) return constantNode(Number(name === 'isFinite'), 'bool', x.shape);
  if (name !== 'isInfinite') return apply(name, [x]);
  return apply('eq', [apply('abs', [x]), Infinity], name);
}
