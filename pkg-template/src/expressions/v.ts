/** The operators as functions, with the names of ScalarAutograd. Each takes Values and numbers. */

import { describe, invalidArgument } from '../arguments/errors.js';
import { binaryCrossEntropy, categoricalCrossEntropy, huber, mae, mse, tukey } from './loss-expressions.js';
import { loop, trajectory } from './loop.js';
import { Op } from './op-codes.js';
import { mean, norm, sum } from './sums.js';
import { binary, checkNumber, checkScalars, constant, literal, parameter, select, toValue, unary, type Scalar, type Value } from './value.js';

/** The operators as functions. mod is JavaScript's %, round is Math.round; comparisons give 1 or 0. */
export const V = {
  /** A constant. Residuals that differ in their constants alone share a kernel. */
  C: (value: number): Value => {
    checkNumber('V.C: value', value);
    return constant(value);
  },
  /** A parameter that is solved for, starting at `value`. */
  W: (value: number, label?: string): Value => {
    checkNumber('V.W: value', value);
    checkLabel('V.W: label', label);
    return parameter(value, label);
  },
  /** A parameter that is solved for, with a name. */
  Param: (value: number, name: string): Value => {
    checkNumber('V.Param: value', value);
    if (typeof name !== 'string') throw invalidArgument('V.Param: name', describe(name), 'a string');
    return parameter(value, name);
  },

  /** a + b */
  add: (a: Scalar, b: Scalar): Value => binary(Op.add, a, b),
  /** a − b */
  sub: (a: Scalar, b: Scalar): Value => binary(Op.sub, a, b),
  /** a · b */
  mul: (a: Scalar, b: Scalar): Value => binary(Op.mul, a, b),
  /** a / b */
  div: (a: Scalar, b: Scalar): Value => binary(Op.div, a, b),
  /** −a */
  neg: (a: Scalar): Value => unary(Op.neg, a),
  /** |a|; the derivative at 0 is 0. */
  abs: (a: Scalar): Value => unary(Op.abs, a),
  /** −1, 0 or 1; the derivative is 0. */
  sign: (a: Scalar): Value => unary(Op.sign, a),
  /** a² */
  square: (a: Scalar): Value => toValue('square: a', a).square(),
  /** a³ */
  cube: (a: Scalar): Value => toValue('cube: a', a).cube(),
  /** √a; NaN below 0. The derivative at 0 is infinite. */
  sqrt: (a: Scalar): Value => unary(Op.sqrt, a),
  /** 1 / a */
  reciprocal: (a: Scalar): Value => toValue('reciprocal: a', a).reciprocal(),
  /** a to a power that is a number; see {@link Value.pow}. */
  pow: (a: Scalar, exponent: number): Value => toValue('pow: a', a).pow(exponent),
  /** a to a power that is an expression or a number. */
  powValue: (a: Scalar, exponent: Scalar): Value => toValue('pow: a', a).pow(exponent),
  /** The remainder with the sign of a, as JavaScript's %. */
  mod: (a: Scalar, b: Scalar): Value => binary(Op.mod, a, b),
  /** e to the power of a. */
  exp: (a: Scalar): Value => unary(Op.exp, a),
  /** Natural logarithm; −∞ at 0, NaN below. */
  log: (a: Scalar): Value => unary(Op.log, a),
  /** Sine of an angle in radians. */
  sin: (a: Scalar): Value => unary(Op.sin, a),
  /** Cosine of an angle in radians. */
  cos: (a: Scalar): Value => unary(Op.cos, a),
  /** Tangent of an angle in radians. */
  tan: (a: Scalar): Value => unary(Op.tan, a),
  /** Arc sine in [−π/2, π/2]; NaN outside [−1, 1]. */
  asin: (a: Scalar): Value => unary(Op.asin, a),
  /** Arc cosine in [0, π]; NaN outside [−1, 1]. */
  acos: (a: Scalar): Value => unary(Op.acos, a),
  /** Arc tangent in [−π/2, π/2]. */
  atan: (a: Scalar): Value => unary(Op.atan, a),
  /** The angle of the point (x, y) in (−π, π]. */
  atan2: (y: Scalar, x: Scalar): Value => binary(Op.atan2, y, x),
  /** The norm of the vector of its arguments; its derivative at 0 is 0. */
  hypot: (...a: readonly Scalar[]): Value => {
    checkScalars('V.hypot: a', a);
    return norm(a);
  },
  /** Hyperbolic sine. */
  sinh: (a: Scalar): Value => unary(Op.sinh, a),
  /** Hyperbolic cosine. */
  cosh: (a: Scalar): Value => unary(Op.cosh, a),
  /** Hyperbolic tangent. */
  tanh: (a: Scalar): Value => unary(Op.tanh, a),
  /** 1 / (1 + e^−a) */
  sigmoid: (a: Scalar): Value => unary(Op.sigmoid, a),
  /** log(1 + e^a), without overflow. */
  softplus: (a: Scalar): Value => unary(Op.softplus, a),
  /** Error function, 2/√π ∫₀^a e^−t² dt; between −1 and 1. */
  erf: (a: Scalar): Value => unary(Op.erf, a),
  /** a above 0, else 0; NaN for NaN. */
  relu: (a: Scalar): Value => toValue('relu: a', a).relu(),
  /** The largest whole number not above a. */
  floor: (a: Scalar): Value => unary(Op.floor, a),
  /** The smallest whole number not below a. */
  ceil: (a: Scalar): Value => unary(Op.ceil, a),
  /** The nearest whole number, halves upward, as Math.round. */
  round: (a: Scalar): Value => unary(Op.round, a),
  /** The smaller; NaN if either is NaN. Where both are equal, each gets half of the derivative. */
  min: (a: Scalar, b: Scalar): Value => binary(Op.min, a, b),
  /** The larger; NaN if either is NaN. Where both are equal, each gets half of the derivative. */
  max: (a: Scalar, b: Scalar): Value => binary(Op.max, a, b),
  /** min(max(a, low), high) */
  clamp: (a: Scalar, low: Scalar, high: Scalar): Value => toValue('clamp: a', a).clamp(low, high),
  /** 1 if a = b, else 0. */
  eq: (a: Scalar, b: Scalar): Value => binary(Op.eq, a, b),
  /** 1 if a ≠ b or if either is NaN, else 0. */
  neq: (a: Scalar, b: Scalar): Value => binary(Op.neq, a, b),
  /** 1 if a < b, else 0. */
  lt: (a: Scalar, b: Scalar): Value => binary(Op.lt, a, b),
  /** 1 if a ≤ b, else 0. */
  lte: (a: Scalar, b: Scalar): Value => binary(Op.lte, a, b),
  /** 1 if a > b, else 0. */
  gt: (a: Scalar, b: Scalar): Value => binary(Op.gt, a, b),
  /** 1 if a ≥ b, else 0. */
  gte: (a: Scalar, b: Scalar): Value => binary(Op.gte, a, b),
  /** `a` where `condition` is not 0, else `b`. The gradient passes to the selected operand alone; a NaN in the other has no effect. */
  ifThenElse: (condition: Scalar, a: Scalar, b: Scalar): Value => select(condition, a, b),

  /**
   * The barrier of incremental potential contact, −(d − r)² log(d/r) for a distance d below the range r, 0 from there on and infinite where d is not above 0; twice
   * continuously differentiable (M. Li et al., "Incremental Potential Contact", 2020). Multiply it by a stiffness.
   */
  barrier: (distance: Scalar, range: Scalar): Value => {
    const [d, r] = [toValue('V.barrier: distance', distance), toValue('V.barrier: range', range)];
    const value = d.sub(r).square().mul(d.div(r).log()).neg();
    return select(binary(Op.lte, d, literal(0)), literal(Infinity), select(binary(Op.lt, d, r), value, literal(0)));
  },

  /**
   * Applies `body` to a state `count` times, in a residual function, and returns the last state. The state is a list or record of Values and numbers; the body gets
   * it with the counter, 0, 1, …, as a Value and returns the next one, of the same shape. `count` is a whole number from 0 to 1,000,000 or a data input of such
   * numbers, each instance its own. The body is recorded once and compiled as a loop: neither takes longer for more steps. Loops may stand in loops. Throws
   * 'invalid-argument' for another count, for a state or a result of the body of another kind or shape, and 'invalid-graph' outside of residual functions and for
   * Values of a body that are used outside of it.
   */
  loop: loop as typeof loop,
  /**
   * The states of a loop after each of the steps `at`, ascending: whole numbers from 0 to 1,000,000, or data inputs of such numbers, as the entries of one data
   * input. `V.trajectory([10, 20], state, body)` goes through 20 steps and returns two states, so that one instance has a residual for each observation.
   * Errors are those of {@link V.loop}.
   */
  trajectory: trajectory as typeof trajectory,

  /** The sum, added in pairs; the empty sum is 0. */
  sum: (a: readonly Scalar[]): Value => {
    checkScalars('V.sum: a', a);
    return sum(a);
  },
  /** The mean of at least one term. */
  mean: (a: readonly Scalar[]): Value => {
    checkScalars('V.mean: a', a);
    if (a.length === 0) throw invalidArgument('V.mean: a', 'an empty array', 'at least one term');
    return mean(a);
  },
  /** a as a constant: no gradient passes through it. */
  stopGradient: (a: Scalar): Value => unary(Op.stopGradient, a),

  mse: mse as typeof mse,
  mae: mae as typeof mae,
  huber: huber as typeof huber,
  tukey: tukey as typeof tukey,
  binaryCrossEntropy: binaryCrossEntropy as typeof binaryCrossEntropy,
  categoricalCrossEntropy: categoricalCrossEntropy as typeof categoricalCrossEntropy,
} as const;

function checkLabel(argument: string, label: unknown): void {
  if (label !== undefined && typeof label !== 'string') throw invalidArgument(argument, describe(label), 'a string');
}
