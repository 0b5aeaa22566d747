/**
 * Functions of residua's Values over tensors. A function is called once, to record; what it has recorded becomes elementwise nodes, so it is
 * fused and differentiated as they are.
 */

import { describe, invalidArgument } from '../../arguments/errors.js';
import { Op, type OpCode } from '../../expressions/op-codes.js';
import { arity, record, Recording } from '../../expressions/tape.js';
import { checkScalar, Value, type Scalar } from '../../expressions/value.js';
import type { Tape } from '../../module/raw.js';
import { broadcastShapes, expandTo } from './broadcast.js';
import { ELEMENTWISE, type ElementwiseName } from './elementwise-codes.js';
import { apply, cast, where } from './elementwise.js';
import { constantNode, type Node, type Rule } from './node.js';
import { checkType, NOT_COMPLEX } from './operands.js';

/** Operations whose names differ between Values and tensors. */
const OTHER_NAMES: Readonly<Record<string, ElementwiseName>> = { norm: 'vectorNorm', min: 'minimum', max: 'maximum' };

const NAMES: ReadonlyMap<number, string> = new Map(Object.entries(Op).map(([name, code]) => [code, name]));

/** Calls a function with the Values of `count` inputs, and returns what it recorded. Its results are a Value or number, or a list of them. */
function recorded(argument: string, count: number, fn: (...values: Value[]) => unknown): { tape: Tape; isList: boolean } {
  if (typeof fn !== 'function') throw invalidArgument(argument, describe(fn), 'a function of Values');
  const recording = new Recording('residual');
  return record(recording, () => {
    const inputs = Array.from({ length: count }, (_, input) => Value.at(recording, recording.push(Op.data, input, 0, 0)));
    const results = fn(...inputs);
    const isList = Array.isArray(results);
    const list: unknown[] = isList ? results : [results];
    list.forEach((result, k) => checkScalar(isList ? `${argument}: result ${k}` : `${argument}: the result`, result));
    return { tape: recording.finish(recording.positions(list as Scalar[])), isList };
  });
}

/** The nodes of what was recorded over inputs of single precision. */
function nodesOf(tape: Tape, inputs: readonly Node[]): Node[] {
  const nodes: Node[] = [];
  tape.ops.forEach((code, position) => {
    const operands = [tape.a, tape.b, tape.c].slice(0, arity(code as OpCode)).map((places) => nodes[places[position] as number] as Node);
    nodes.push(code === Op.data ? (inputs[tape.a[position] as number] as Node) : nodeOf(code, operands, tape.constants[tape.a[position] as number] as number));
  });
  return Array.from(tape.outputs, (position) => nodes[position] as Node);
}

function nodeOf(code: number, operands: readonly Node[], number: number): Node {
  if (operands.length === 0) return constantNode(number, 'f32');
  if (code === Op.select) {
    const [condition, a, b] = operands as [Node, Node, Node];
    return where(truth(condition), a, b);
  }
  const name = NAMES.get(code) as string;
  const found = apply(OTHER_NAMES[name] ?? (name as ElementwiseName), operands);
  // Comparisons of Values are 1 or 0.
  return cast(found, 'f32');
}

/** Whether a number is not 0. */
function truth(condition: Node): Node {
  const [operand] = condition.operands;
  const isCast = condition.op === 'elementwise' && condition.attributes[0] === ELEMENTWISE.cast.code;
  return isCast && operand?.dtype === 'bool' ? operand : apply('neq', [condition, 0]);
}

/** Applies a function of Values to tensors that broadcast. The results have single precision and the shape to which all inputs broadcast. */
export function mapValues(argument: string, fn: (...values: Value[]) => unknown, inputs: readonly Node[]): { results: Node[]; isList: boolean } {
  inputs.forEach((input, k) => checkType(`${argument}: input ${k}`, input, NOT_COMPLEX));
  const shape = broadcastShapes(argument, inputs.map((input) => input.shape));
  const { tape, isList } = recorded(argument, inputs.length, fn);
  const results = nodesOf(tape, inputs.map((input) => cast(input, 'f32')));
  return { results: results.map((result) => (result.op === 'constant' ? constantNode(result.attributes[0] as number, 'f32', shape) : expandTo(argument, result, shape))), isList };
}

/** The rule by which a function merges two states of `identity.length` numbers. */
export function ruleOf(argument: string, identity: readonly number[], merge: (a: Value[], b: Value[]) => unknown): Rule {
  const count = identity.length;
  const { tape, isList } = recorded(argument, 2 * count, (...values) => merge(values.slice(0, count), values.slice(count)));
  checkState(argument, tape.outputs.length, isList, count);
  const scalars: number[] = [];
  tape.ops.forEach((code, position) => {
    const operands = [tape.a, tape.b, tape.c].slice(0, arity(code as OpCode)).map((places) => places[position] as number);
    const first = tape.a[position] as number;
    if (code === Op.data) scalars.push(Op.data, first);
    else if (operands.length === 0) scalars.push(Op.literal, tape.constants[first] as number);
    else scalars.push(code, ...operands);
  });
  return { identity: [...identity], count: tape.ops.length, scalars, results: Array.from(tape.outputs) };
}

/** Throws 'invalid-argument' unless a function gave a state. */
export function checkState(argument: string, got: number, isList: boolean, count: number): void {
  if (!isList || got !== count) throw invalidArgument(argument, isList ? `${got} results` : 'one result', `a function that returns a list of ${count}, as the identity has`);
}
