/**
 * The value of an expression, for `Value.data`. The expression is written to a tape of its own, and the module's reference evaluator
 * computes it in double precision.
 */

import { invalidArgument, invalidGraph } from '../arguments/errors.js';
import { here } from '../module/loading.js';
import type { Tape } from '../module/raw.js';
import { Op } from './op-codes.js';
import { arity, Recording, type Expression, type ExpressionNode } from './tape.js';

/** Returns the value of an expression that was made outside a recording. */
export function evaluateTree(value: Expression): number {
  // This recording has no params, so it takes every parameter as a constant. It overwrites the marks that an enclosing recording left in
  // the Values; that recording imports them again, which adds entries and does not change the result.
  const recording = new Recording('expression');
  const output = recording.position(value);
  return evaluate(recording.finish(Uint32Array.of(output)), new Float64Array(0));
}

/** Returns the value of an expression of the active recording. */
export function evaluateRecorded(value: Expression): number {
  const recording = value.recording;
  if (recording === null || recording.finished) {
    throw invalidGraph('data of a Value from a recording that has ended; read it inside the function that records, or build the expression outside');
  }
  const tape = below(recording, value.index);
  const parameters = new Float64Array(recording.params.length);
  for (const [index, param] of recording.params.entries()) parameters[index] = (param.node as ExpressionNode).number;
  return evaluate(tape, parameters);
}

/** Returns the part of a recording's tape on which one entry depends. */
function below(recording: Recording, root: number): Tape {
  const needed = new Set<number>([root]);
  for (const position of needed) {
    const op = recording.opAt(position);
    if (recording.kind === 'residual' && (op === Op.parameter || op === Op.data)) {
      throw invalidArgument(
        'data',
        'a read inside a residual function',
        'expressions that do not depend on its inputs: the function is called once to record, for many instances',
      );
    }
    if (op === Op.lookup) {
      throw invalidArgument('data', 'a read of what a grid gives', "expressions without a grid, whose numbers may change after the function is recorded");
    }
    if (op >= Op.counter && op <= Op.result) {
      throw invalidArgument('data', 'a read of what a loop computes', 'expressions without a loop');
    }
    for (const operand of recording.operandsAt(position)) needed.add(operand);
  }
  const positions = Uint32Array.from(needed).sort();
  const moved = new Map<number, number>();
  const part = new Recording('expression');
  for (const position of positions) {
    const op = recording.opAt(position);
    const first = recording.operandAt(position, 0);
    const count = arity(op);
    let at: number;
    if (op === Op.literal || op === Op.constant) at = part.number(op, recording.numberAt(first));
    else if (count === 0) at = part.push(op, first, 0, 0);
    else {
      const place = (operand: number) => (operand < count ? (moved.get(recording.operandAt(position, operand)) as number) : 0);
      at = part.push(op, place(0), place(1), place(2));
    }
    moved.set(position, at);
  }
  return part.finish(Uint32Array.of(moved.get(root) as number));
}

function evaluate(tape: Tape, parameters: Float64Array): number {
  const { ops, a, b, c, constants, outputs } = tape;
  return here.running().call((module) => module.evaluateExpression(ops, a, b, c, constants, parameters, outputs[0] as number));
}
