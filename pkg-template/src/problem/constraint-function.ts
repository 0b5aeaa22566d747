/**
 * What is recorded of a constraint function. It has more than the constraints c: a solver changes it by data that no caller sees, so that nothing is
 * recompiled while it solves. An output is
 *
 *     u · (a + h·u), with u = c + s of an equality and u = max(c + s, floor) of an inequality.
 *
 * It is the constraint itself with a = 1 and s = h = 0, a residual of the augmented Lagrangian of least squares with a = √μ and s = λ/μ, and a term of
 * that of a sum of energies with a = 0 and h = μ/2 (R. T. Rockafellar, "Augmented Lagrange multiplier functions and duality in nonconvex
 * programming", 1974).
 */

import { invalidArgument } from '../arguments/errors.js';
import { Op, type OpCode } from '../expressions/op-codes.js';
import { operandsOf } from '../expressions/tape.js';
import { asValue, binary, type Scalar, type Value } from '../expressions/value.js';
import type { Tape } from '../module/raw.js';
import type { NamedInputs } from './block-inputs.js';
import { DataInput, DataStarInput } from './inputs.js';

/** Equalities = 0, or inequalities ≤ 0. */
export type ConstraintKind = 'equality' | 'inequality';

/** Numbers that an output takes beside the inputs of its instance: s, a, h. */
export const STATES = 3;

/** A floor below every constraint, also as an f32. */
export const NO_FLOOR = -1e30;

/** Returns what the module computes for constraints c, and the hidden data in their order: s, a, h of each output, then the floor of an inequality. */
export function withStates(kind: ConstraintKind, constraints: readonly Scalar[], nextDatum: () => Value): Scalar[] {
  const states = constraints.map(() => [nextDatum(), nextDatum(), nextDatum()] as const);
  const floor = kind === 'inequality' ? nextDatum() : null;
  return constraints.map((c, k) => {
    const [s, a, h] = states[k] as (typeof states)[number];
    const shifted = asValue(c).add(s);
    const u = floor === null ? shifted : shifted.max(floor);
    // The product is guarded: what is infinite stays so where h is 0.
    return u.mul(a.add(binary(Op.guardedMul, h, u)));
  });
}

/** Throws 'invalid-argument' where no input is a block of parameters. */
export function checkHasParameters(argument: string, inputs: NamedInputs): void {
  if ([...inputs.values()].some((input) => !(input instanceof DataInput || input instanceof DataStarInput))) return;
  throw invalidArgument(`${argument}: inputs`, 'data alone', 'at least one block of parameters, which at, shared or star return');
}

/** Throws 'invalid-argument' where a recorded constraint depends on no parameter: no solver could change it. */
export function checkDependsOnParameters(argument: string, { ops, a, b, c, outputs }: Tape, constraints: Uint32Array): void {
  const depends = new Uint8Array(ops.length);
  for (let place = 0; place < ops.length; place++) {
    const op = ops[place] as OpCode;
    const operands = operandsOf(op, [a[place] as number, b[place] as number, c[place] as number]);
    depends[place] = Number(op === Op.parameter || (op !== Op.stopGradient && operands.some((operand) => depends[operand] === 1)));
  }
  const without = constraints.findIndex((position) => depends[position] === 0);
  if (without < 0) return;
  const which = outputs.length === 1 ? 'an expression' : `output ${without}, an expression`;
  throw invalidArgument(`${argument}: what constraint returned`, `${which} without parameters`, 'expressions of the parameters of its inputs');
}
