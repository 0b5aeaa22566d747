/** Losses as expressions. Robust losses of least squares, which can be changed without recompiling, are in problem/loss.ts. */

import { describe, invalidArgument } from '../arguments/errors.js';
import { Op } from './op-codes.js';
import { mean, sum } from './sums.js';
import { asValue, binary, checkNumber, checkScalars, constant, literal, select, toValue, unary, type Scalar, type Value } from './value.js';

/** The mean of (output − target)². The lists have the same length, at least 1. */
export function mse(outputs: readonly Scalar[], targets: readonly Scalar[]): Value {
  checkPairs('V.mse', 'outputs', outputs, targets);
  return mean(pairs(outputs, targets, (output, target) => output.sub(target).square()));
}

/** The mean of |output − target|. The lists have the same length, at least 1. */
export function mae(outputs: readonly Scalar[], targets: readonly Scalar[]): Value {
  checkPairs('V.mae', 'outputs', outputs, targets);
  return mean(pairs(outputs, targets, (output, target) => output.sub(target).abs()));
}

/** r²/2 where |r| ≤ delta, delta (|r| − delta/2) beyond: quadratic near 0, linear far from it. `delta` is 1 by default. */
export function huber(residual: Scalar, delta = 1): Value {
  checkPositive('V.huber: delta', delta);
  const r = toValue('V.huber: residual', residual);
  const size = r.abs();
  const bound = constant(delta);
  const half = literal(0.5);
  return select(size.lte(bound), r.square().mul(half), bound.mul(size.sub(bound.mul(half))));
}

/**
 * Tukey's biweight: c²/6 (1 − (1 − (r/c)²)³) where |r| ≤ c, c²/6 beyond, so that the gradient of far outliers is 0. `c` is 4.685 by
 * default, which has 95 % efficiency for normal errors with standard deviation 1.
 */
export function tukey(residual: Scalar, c = 4.685): Value {
  checkPositive('V.tukey: c', c);
  const r = toValue('V.tukey: residual', residual);
  const bound = constant(c);
  const sixth = literal(1 / 6);
  const s = r.div(bound).square();
  // 1 − (1 − s)³ = s (3 − 3s + s²), which does not cancel near 0.
  const inside = r.square().mul(sixth).mul(literal(3).add(s.mul(s.sub(literal(3)))));
  return select(r.abs().lte(bound), inside, bound.square().mul(sixth));
}

/** The least normal f32 number: its logarithm and its reciprocal are finite in f32, and no GPU flushes it to 0. */
const LEAST_PROBABILITY = 2 ** -126;

/**
 * The mean of −(t log p + (1 − t) log(1 − p)) over probabilities `outputs` in [0, 1] and targets in [0, 1], where 0 log 0 is 0. A certain
 * output that is right contributes 0. One that is wrong contributes as much as p = 2⁻¹²⁶, about 87, with gradient 0. The lists have the
 * same length, at least 1. An expression outside [0, 1] counts as the nearer end; a number outside throws 'invalid-argument'.
 */
export function binaryCrossEntropy(outputs: readonly Scalar[], targets: readonly Scalar[]): Value {
  checkPairs('V.binaryCrossEntropy', 'outputs', outputs, targets);
  checkProbabilities('V.binaryCrossEntropy: outputs', outputs);
  checkProbabilities('V.binaryCrossEntropy: targets', targets);
  const one = literal(1);
  return mean(pairs(outputs, targets, (p, t) => surprise(t, p).add(surprise(one.sub(t), one.sub(p)))));
}

/** −t log p, and 0 where t is 0. */
function surprise(t: Value, p: Value): Value {
  const one = literal(1);
  // `min` would halve the derivative at p = 1.
  const probability = select(p.gt(one), one, p).max(literal(LEAST_PROBABILITY));
  return select(t, t.mul(probability.log().neg()), literal(0));
}

function checkProbabilities(argument: string, list: readonly Scalar[]): void {
  list.forEach((p, i) => {
    if (typeof p === 'number' && !(p >= 0 && p <= 1)) throw invalidArgument(`${argument}[${i}]`, describe(p), 'a probability, from 0 to 1');
  });
}

/**
 * −Σ tᵢ log softmax(z)ᵢ over logits z and class probabilities t, without overflow for large logits. The lists have the same length, at
 * least 1.
 */
export function categoricalCrossEntropy(logits: readonly Scalar[], targets: readonly Scalar[]): Value {
  checkPairs('V.categoricalCrossEntropy', 'logits', logits, targets);
  const z = logits.map(asValue);
  // log Σ eᶻ = m + log Σ eᶻ⁻ᵐ for every m. With m the largest logit no term overflows, and the derivative of m cancels.
  const m = unary(Op.stopGradient, z.reduce((largest, logit) => binary(Op.max, largest, logit)));
  const logSumExp = sum(z.map((logit) => logit.sub(m).exp())).log().add(m);
  return sum(pairs(z, targets, (logit, t) => t.mul(logSumExp.sub(logit))));
}

function pairs(outputs: readonly Scalar[], targets: readonly Scalar[], term: (output: Value, target: Value) => Value): Value[] {
  return outputs.map((output, i) => term(asValue(output), asValue(targets[i] as Scalar)));
}

function checkPairs(name: string, first: string, outputs: readonly Scalar[], targets: readonly Scalar[]): void {
  checkScalars(`${name}: ${first}`, outputs);
  checkScalars(`${name}: targets`, targets);
  if (outputs.length === 0) throw invalidArgument(`${name}: ${first}`, 'an empty array', 'at least one term');
  if (outputs.length !== targets.length) {
    throw invalidArgument(`${name}: targets`, `${targets.length} terms`, `as many as ${first}, ${outputs.length}`);
  }
}

function checkPositive(argument: string, value: number): void {
  checkNumber(argument, value);
  if (!(value > 0 && value < Infinity)) throw invalidArgument(argument, String(value), 'a finite number above 0');
}
