/**
 * The number behind an expression, for `Value.data`: what it stands on is put on a tape of its own and evaluated by the module's
 * reference evaluation in double precision.
 */

import { invalidArgument, invalidGraph } from './errors.js';
import { here } from './loading.js';
import { Op } from './op-codes.js';
import type { Tape } from './raw.js';
import { arity, Recording } from './tape.js';
import type { Value } from './value.js';

/** The number of an expression that was made outside a recording. */
export function evaluateTree(value: Value): number {
  // With no params of its own the recording takes every parameter as a constant at its current number. The marks that an
  // enclosing recording left in the Values are overwritten; it imports them anew, which costs entries and changes nothing.
  const recording = new Recording('expression');
  const output = recording.position(value);
  return evaluate(recording.finish(Uint32Array.of(output)), new Float64Array(0));
}

/** The number of an expression that is being recorded. */
export function evaluateRecorded(value: Value): number {
  const recording = value.recording;
  if (recording === null || recording.finished) {
    throw invalidGraph('data of a Value from a recording that is over; read it inside the function that records, or build the expression outside');
  }
  const tape = below(recording, value.index);
  const parameters = new Float64Array(recording.params.length);
  for (const [index, param] of recording.params.entries()) parameters[index] = param.data;
  return evaluate(tape, parameters);
}

/** The part of a recording's tape that one entry stands on. */
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
    for (let operand = 0; operand < arity(op); operand++) needed.add(recording.operandAt(position, operand));
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
