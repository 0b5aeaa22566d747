/**
 * The scalar expression. A Value that is made outside a recording is a node of a graph; one that is made inside is a position on the
 * recording's tape.
 */

import { makeInspectable } from '../arguments/inspection.js';
import { nextChange } from '../arguments/change-counter.js';
import { describe, invalidArgument, invalidGraph } from '../arguments/errors.js';
import { evaluateRecorded, evaluateTree } from './evaluate.js';
import { Op, type OpCode } from './op-codes.js';
import { operandName } from './operand-names.js';
import { entryAt, refusePositions } from './positions.js';
import { textOnly } from './primitive.js';
import { activeRecording, foreign, type ExpressionNode, type Recording } from './tape.js';

/** A scalar expression or a number. */
export type Scalar = Value | number;

/**
 * A scalar expression. Operators never mutate. Each takes Values and numbers; a NaN or any other argument throws 'invalid-argument'. Values
 * are garbage-collected. A Value that was built before a compile, over its params, may be used in it. A parameter that is not among the
 * compile's `params` is a constant there.
 */
export class Value {
  /** @internal The expression, unless it was made by an operation inside a recording. */
  readonly node: ExpressionNode | null;
  /** @internal The recording in which it was made; for an expression with a node, the last recording that used it. */
  recording: Recording | null;
  /** @internal Its position on the tape of `recording`. */
  index: number;

  private constructor(node: ExpressionNode | null, recording: Recording | null, index: number) {
    this.node = node;
    this.recording = recording;
    this.index = index;
  }

  /** @internal Returns a Value with a node. */
  static of(node: ExpressionNode): Value {
    return new Value(node, null, 0);
  }

  /** @internal Returns the Value at a position of a tape. */
  static at(recording: Recording, index: number): Value {
    return new Value(null, recording, index);
  }

  /**
   * The value of the expression: of a constant or parameter, its number; of any other expression, the value in double precision at the
   * parameters' current numbers. The latter needs `init()` and throws 'not-initialized' before it. Inside a Problem's residual function, an
   * expression that depends on the function's inputs has no single value, so reading it throws 'invalid-argument'.
   *
   * Only constants and parameters can be assigned. A compiled function uses a parameter's new number from its next call on.
   */
  get data(): number {
    if (this.node === null) return evaluateRecorded(this);
    return this.node.a === null ? this.node.number : evaluateTree(this);
  }

  set data(value: number) {
    if (this.node === null || this.node.a !== null) {
      throw invalidArgument('data', 'a number for an expression', 'a constant or parameter, made by V.C, V.W or V.Param, to set it on');
    }
    checkNumber('data', value);
    this.node.setChange = writeNumber(this, value);
  }

  /** Whether a derivative with respect to a parameter passes through it. */
  get requiresGrad(): boolean {
    if (this.node !== null) return this.node.requiresGrad;
    return recordedRequiresGrad(this);
  }

  /** The name of a parameter; undefined for other expressions. */
  get label(): string | undefined {
    return this.node?.label;
  }

  /** this + b */
  add(b: Scalar): Value {
    return binary(Op.add, this, b);
  }
  /** this − b */
  sub(b: Scalar): Value {
    return binary(Op.sub, this, b);
  }
  /** this · b */
  mul(b: Scalar): Value {
    return binary(Op.mul, this, b);
  }
  /** this / b */
  div(b: Scalar): Value {
    return binary(Op.div, this, b);
  }
  /** −this */
  neg(): Value {
    return unary(Op.neg, this);
  }
  /** |this|; the derivative at 0 is 0. */
  abs(): Value {
    return unary(Op.abs, this);
  }
  /** −1, 0 or 1; the derivative is 0. */
  sign(): Value {
    return unary(Op.sign, this);
  }
  /** this² */
  square(): Value {
    return binary(Op.mul, this, this);
  }
  /** this³ */
  cube(): Value {
    return binary(Op.mul, this.square(), this);
  }
  /** √this; NaN below 0. The derivative at 0 is infinite, but 0 by what does not move this away from 0, such as a factor of x = 0. */
  sqrt(): Value {
    return unary(Op.sqrt, this);
  }
  /** 1 / this */
  reciprocal(): Value {
    return binary(Op.div, literal(1), this);
  }
  /**
   * this to a power, as Math.pow: a negative base takes integer exponents alone. An exponent that is a whole number from −8 to 8, or ±0.5,
   * is part of the formula; any other number is a constant, in which instances may differ. Derivatives at 0 are their limits where those exist.
   */
  pow(exponent: Scalar): Value {
    return binary(Op.pow, this, isStructuralExponent(exponent) ? literal(exponent) : exponent);
  }
  /** The remainder with the sign of this, as JavaScript's %. */
  mod(b: Scalar): Value {
    return binary(Op.mod, this, b);
  }
  /** e to the power of this. */
  exp(): Value {
    return unary(Op.exp, this);
  }
  /** Natural logarithm; −∞ at 0, NaN below. */
  log(): Value {
    return unary(Op.log, this);
  }
  /** Sine of an angle in radians. */
  sin(): Value {
    return unary(Op.sin, this);
  }
  /** Cosine of an angle in radians. */
  cos(): Value {
    return unary(Op.cos, this);
  }
  /** Tangent of an angle in radians. */
  tan(): Value {
    return unary(Op.tan, this);
  }
  /** Arc sine in [−π/2, π/2]; NaN outside [−1, 1]. */
  asin(): Value {
    return unary(Op.asin, this);
  }
  /** Arc cosine in [0, π]; NaN outside [−1, 1]. */
  acos(): Value {
    return unary(Op.acos, this);
  }
  /** Arc tangent in [−π/2, π/2]. */
  atan(): Value {
    return unary(Op.atan, this);
  }
  /** Hyperbolic sine. */
  sinh(): Value {
    return unary(Op.sinh, this);
  }
  /** Hyperbolic cosine. */
  cosh(): Value {
    return unary(Op.cosh, this);
  }
  /** Hyperbolic tangent. */
  tanh(): Value {
    return unary(Op.tanh, this);
  }
  /** 1 / (1 + e^−this) */
  sigmoid(): Value {
    return unary(Op.sigmoid, this);
  }
  /** log(1 + e^this), without overflow. */
  softplus(): Value {
    return unary(Op.softplus, this);
  }
  /** Error function, 2/√π ∫₀^this e^−t² dt; between −1 and 1. */
  erf(): Value {
    return unary(Op.erf, this);
  }
  /** this above 0, else 0; NaN for NaN. */
  relu(): Value {
    const zero = literal(0);
    return select(binary(Op.lte, this, zero), zero, this);
  }
  /** The largest whole number not above this. */
  floor(): Value {
    return unary(Op.floor, this);
  }
  /** The smallest whole number not below this. */
  ceil(): Value {
    return unary(Op.ceil, this);
  }
  /** The nearest whole number, halves upward, as Math.round. */
  round(): Value {
    return unary(Op.round, this);
  }
  /** The smaller; NaN if either is NaN. Where both are equal, each gets half of the derivative. */
  min(b: Scalar): Value {
    return binary(Op.min, this, b);
  }
  /** The larger; NaN if either is NaN. Where both are equal, each gets half of the derivative. */
  max(b: Scalar): Value {
    return binary(Op.max, this, b);
  }
  /** min(max(this, low), high) */
  clamp(low: Scalar, high: Scalar): Value {
    checkScalar('clamp: low', low);
    checkScalar('clamp: high', high);
    return this.max(low).min(high);
  }
  /** 1 if equal, else 0. The derivative of every comparison is 0. */
  eq(b: Scalar): Value {
    return binary(Op.eq, this, b);
  }
  /** 1 if not equal or if either is NaN, else 0. */
  neq(b: Scalar): Value {
    return binary(Op.neq, this, b);
  }
  /** 1 if this < b, else 0. */
  lt(b: Scalar): Value {
    return binary(Op.lt, this, b);
  }
  /** 1 if this ≤ b, else 0. */
  lte(b: Scalar): Value {
    return binary(Op.lte, this, b);
  }
  /** 1 if this > b, else 0. */
  gt(b: Scalar): Value {
    return binary(Op.gt, this, b);
  }
  /** 1 if this ≥ b, else 0. */
  gte(b: Scalar): Value {
    return binary(Op.gte, this, b);
  }

  /** This Value: a block of one number is a tuple too. */
  get 0(): Value {
    return this;
  }
  /** 1, as a tuple. */
  get length(): 1 {
    return 1;
  }
  /** This Value for position 0; a negative position counts from the end. Throws 'invalid-argument' for any other. */
  at(index: number): Value {
    return entryAt('a Value', this, index);
  }
  /** This Value alone. */
  *[Symbol.iterator](): IterableIterator<Value> {
    yield this;
  }
  /**
   * Conversion by JavaScript: text in a template literal. As a number, in JavaScript's operators and comparisons, it throws
   * 'invalid-graph'.
   */
  [Symbol.toPrimitive](hint: string): string {
    return textOnly(hint, this.label === undefined ? 'a Value' : `the Value "${this.label}"`);
  }

  /** What JSON.stringify writes and consoles show: its number, or null within a function that is being recorded. */
  toJSON(): number | null {
    return this.node === null ? null : this.data;
  }
}

refusePositions(Value.prototype, 'a Value', 1);

/** Whether an exponent is part of the formula: x² and x³ have other code than x^y. */
function isStructuralExponent(exponent: Scalar): exponent is number {
  if (typeof exponent !== 'number') return false;
  return (Number.isInteger(exponent) && Math.abs(exponent) <= 8) || Math.abs(exponent) === 0.5;
}

/** Returns a constant of the user. Residuals that differ in constants alone share a kernel. */
export function constant(value: number): Value {
  return leaf(Op.constant, value, undefined);
}

/** Returns a parameter. */
export function parameter(value: number, label: string | undefined): Value {
  return leaf(Op.parameter, value, label);
}

/** Returns a number that is part of the library's own formulas. */
export function literal(value: number): Value {
  const recording = activeRecording();
  return recording === null ? leaf(Op.literal, value, undefined) : Value.at(recording, recording.number(Op.literal, value));
}

/** Sets the number of a leaf and returns the number of the change. */
export function writeNumber(value: Value, number: number): number {
  const node = value.node as ExpressionNode;
  node.number = number;
  node.change = nextChange();
  // The entry that the active recording has written keeps the old number; the next use writes a new entry.
  value.recording = null;
  return node.change;
}

function leaf(op: OpCode, number: number, label: string | undefined): Value {
  return Value.of({ op, a: null, b: null, c: null, number, change: 0, setChange: 0, requiresGrad: op === Op.parameter, label });
}

/** Applies an operation to one operand. */
export function unary(op: OpCode, a: Scalar): Value {
  const recording = activeRecording();
  return recording === null ? operation(op, withNode(a, op, 0), null, null) : Value.at(recording, recording.push(op, operand(recording, a, op, 0), 0, 0));
}

/** Applies an operation to two operands. */
export function binary(op: OpCode, a: Scalar, b: Scalar): Value {
  const recording = activeRecording();
  return recording === null
    ? operation(op, withNode(a, op, 0), withNode(b, op, 1), null)
    : Value.at(recording, recording.push(op, operand(recording, a, op, 0), operand(recording, b, op, 1), 0));
}

/** Returns `a` where the condition is not 0, else `b`. */
export function select(condition: Scalar, a: Scalar, b: Scalar): Value {
  const recording = activeRecording();
  if (recording === null) {
    return operation(Op.select, withNode(condition, Op.select, 0), withNode(a, Op.select, 1), withNode(b, Op.select, 2));
  }
  return Value.at(
    recording,
    recording.push(
      Op.select,
      operand(recording, condition, Op.select, 0),
      operand(recording, a, Op.select, 1),
      operand(recording, b, Op.select, 2),
    ),
  );
}

/** Returns a Value unchanged and a number as a constant. Throws 'invalid-argument' for anything else. */
export function toValue(argument: string, x: Scalar): Value {
  checkScalar(argument, x);
  return asValue(x);
}

/** Returns a Value unchanged and a number as a constant. `x` has been checked. */
export function asValue(x: Scalar): Value {
  return typeof x === 'number' ? constant(x) : x;
}

function operation(op: OpCode, a: Value, b: Value | null, c: Value | null): Value {
  const requiresGrad =
    op !== Op.stopGradient && (a.requiresGrad || (b !== null && b.requiresGrad) || (c !== null && c.requiresGrad));
  return Value.of({ op, a, b, c, number: Number.NaN, change: 0, setChange: 0, requiresGrad, label: undefined });
}

/** Returns the position on a recording's tape of the operand of `op` at `place`, from 0. */
function operand(recording: Recording, x: Scalar, op: OpCode, place: number): number {
  // Most operands belong to the recording, so that case is tested first.
  if (typeof x === 'object' && x !== null && x.recording === recording) return x.index;
  checkOperand(x, op, place);
  return recording.position(x);
}

function withNode(x: Scalar, op: OpCode, position: number): Value {
  checkOperand(x, op, position);
  if (typeof x === 'number') return constant(x);
  if (x.node === null) throw foreign(x);
  return x;
}

/** Throws unless `x` can be the operand of `op` at `position`, from 0. The operand's name is looked up for the message alone. */
function checkOperand(x: unknown, op: OpCode, position: number): asserts x is Scalar {
  if (!isScalar(x)) throw notScalar(operandName(op, position), x);
}

/** Throws unless `x` is a Value or a number that is not NaN. */
export function checkScalar(argument: string, x: unknown): asserts x is Scalar {
  if (!isScalar(x)) throw notScalar(argument, x);
}

/** Throws unless `list` is an array of Values and numbers. */
export function checkScalars(argument: string, list: unknown): asserts list is readonly Scalar[] {
  if (!Array.isArray(list)) throw invalidArgument(argument, describe(list), 'an array of Values and numbers');
  for (let i = 0; i < list.length; i++) if (!isScalar(list[i])) throw notScalar(`${argument}[${i}]`, list[i]);
}

/** Returns the `count` Values and numbers of a list or block. Throws unless it has as many. */
export function checkScalarList(argument: string, list: unknown, count: number): Scalar[] {
  const isIterable = typeof list === 'object' && list !== null && Symbol.iterator in list;
  if (!isIterable) throw invalidArgument(argument, describe(list), `a list of ${count} Values and numbers`);
  const scalars = [...(list as Iterable<unknown>)];
  if (scalars.length !== count) throw invalidArgument(argument, `${scalars.length} entries`, `${count} Values and numbers`);
  checkScalars(argument, scalars);
  return scalars as Scalar[];
}

function isScalar(x: unknown): x is Scalar {
  return typeof x === 'number' ? x === x : x instanceof Value;
}

function notScalar(argument: string, got: unknown): Error {
  return invalidArgument(argument, describe(got), 'a Value or a number that is not NaN');
}

/** Throws unless `value` is a number and not NaN. */
export function checkNumber(argument: string, value: unknown): asserts value is number {
  if (typeof value !== 'number' || value !== value) throw invalidArgument(argument, describe(value), 'a number that is not NaN');
}

function recordedRequiresGrad(value: Value): boolean {
  const recording = value.recording;
  if (recording === null || recording.finished) throw invalidGraph('requiresGrad of a Value from a recording that has ended');
  const seen = new Set<number>([value.index]);
  for (const position of seen) {
    const op = recording.opAt(position);
    if (op === Op.parameter) return true;
    if (op === Op.stopGradient) continue;
    for (const operand of recording.operandsAt(position)) seen.add(operand);
  }
  return false;
}

makeInspectable(Value, 'Value');
