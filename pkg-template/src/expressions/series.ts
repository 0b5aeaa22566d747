/**
 * Functions of rotations that are smooth at angle 0, where their closed forms divide 0 by 0. Below a bound a Taylor series is selected; the
 * gradient passes through the selected form alone.
 */

import { Op } from './op-codes.js';
import { binary, literal, select, unary, type Value } from './value.js';

/** Below this square of an angle in radians series are used: their first omitted terms are below 1e-16. */
const SMALL = 0.1;

/** Σ coefficients[k] xᵏ */
function polynomial(x: Value, coefficients: readonly number[]): Value {
  let sum = literal(coefficients.at(-1) as number);
  for (let k = coefficients.length - 2; k >= 0; k--) sum = sum.mul(x).add(literal(coefficients[k] as number));
  return sum;
}

/** Returns `series` in x for x below a bound, else `closed`. */
function belowBound(x: Value, bound: number, series: readonly number[], closed: Value): Value {
  return select(x.lt(literal(bound)), polynomial(x, series), closed);
}

/** √x; its derivative at 0 is 0. */
function root(x: Value): Value {
  return unary(Op.norm, x);
}

/** sin(θ/2)/θ from θ²; ½ at 0. */
export function halfSineRatio(squared: Value): Value {
  const angle = root(squared);
  return belowBound(squared, SMALL, [1 / 2, -1 / 48, 1 / 3840, -1 / 645_120, 1 / 185_794_560], angle.mul(literal(0.5)).sin().div(angle));
}

/** cos(θ/2) from θ². */
export function halfCosine(squared: Value): Value {
  return root(squared).mul(literal(0.5)).cos();
}

/** (θ − sin θ)/θ³ from θ²; ⅙ at 0. */
export function sineDefect(squared: Value): Value {
  const angle = root(squared);
  const series = [1 / 6, -1 / 120, 1 / 5040, -1 / 362_880, 1 / 39_916_800, -1 / 6_227_020_800];
  return belowBound(squared, SMALL, series, angle.sub(angle.sin()).div(squared.mul(angle)));
}

/** (1 − (θ/2) cot(θ/2))/θ² from θ², for θ ≤ π; 1/12 at 0. */
export function cotangentDefect(squared: Value): Value {
  const half = root(squared).mul(literal(0.5));
  const closed = literal(1).sub(half.mul(half.cos()).div(half.sin())).div(squared);
  return belowBound(squared, SMALL, [1 / 12, 1 / 720, 1 / 30_240, 1 / 1_209_600, 1 / 47_900_160, 691 / 1_307_674_368_000], closed);
}

/**
 * θ/sin(θ/2) of a quaternion with the real part `w` ≥ 0 and the squared length `squared` of its imaginary part, for θ in [0, π], whatever
 * the quaternion's length is.
 */
export function angleRatio(w: Value, squared: Value): Value {
  const length = root(squared);
  const tangent = squared.div(w.square());
  const series = polynomial(tangent, [2, -2 / 3, 2 / 5, -2 / 7, 2 / 9]).div(w);
  return select(squared.lt(w.square().mul(literal(1e-3))), series, binary(Op.atan2, length, w).mul(literal(2)).div(length));
}
