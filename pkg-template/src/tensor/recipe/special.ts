/** Functions of one number or two that are compositions of elementwise operations. Half precision is computed in single. */

import { describe, invalidArgument } from '../../arguments/errors.js';
import { complexOf } from './complex.js';
import { apply, cast, inSingle, test, where } from './elementwise.js';
import type { Node } from './node.js';
import { checkType, REALS } from './operands.js';
import { polynomial } from './polynomial.js';

/** Giles, "Approximating the erfinv function" (GPU Computing Gems 2011), table of the single precision version: |x| where −log(1 − x²) < 5. */
const CENTRAL = [2.81022636e-8, 3.43273939e-7, -3.5233877e-6, -4.39150654e-6, 0.00021858087, -0.00125372503, -0.00417768164, 0.246640727, 1.50140941];
/** The same for the tails. */
const TAIL = [-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613, 0.00943887047, 1.00167406, 2.83297682];

/** The inverse of erf in (−1, 1). */
export function inverseErf(x: Node): Node {
  const w = apply('neg', [apply('log', [apply('mul', [apply('sub', [1, x]), apply('add', [x, 1])])])]);
  const central = polynomial(apply('sub', [w, 2.5]), CENTRAL);
  const tail = polynomial(apply('sub', [apply('sqrt', [w]), 3]), TAIL);
  return apply('mul', [where(apply('lt', [w, 5]), central, tail), x]);
}

/** The inverse of erf: infinite at −1 and 1, NaN beyond. */
export function erfinv(x: Node): Node {
  checkType('erfinv', x, REALS);
  return inSingle(x, (y) => {
    const isInside = apply('lt', [apply('abs', [y]), 1]);
    // −1 and 1 divided by 0, and NaN beyond: no number reaches the polynomials that they are not made for.
    const border = where(apply('eq', [apply('abs', [y]), 1]), apply('mul', [y, Infinity]), NaN);
    return where(isInside, inverseErf(where(isInside, y, 0)), border);
  });
}

/** log₁₀ x, exact at the powers of 10 that the type has, which the product with log₁₀ e may miss by a bit. The derivative is that of the product. */
export function log10(x: Node): Node {
  checkType('log10', x, REALS);
  return inSingle(x, (y) => {
    const product = apply('mul', [apply('log', [y]), Math.LOG10E]);
    const whole = apply('round', [product]);
    const isPower = apply('eq', [apply('pow', [10, whole]), y]);
    return apply('add', [product, apply('stopGradient', [where(apply('and', [isPower, test('isFinite', whole)]), apply('sub', [whole, product]), 0)])]);
  });
}

/** √(x² + y²), of which no square overflows or vanishes. */
export function hypot(x: Node, y: Node): Node {
  checkType('hypot', x, REALS);
  const found = apply('abs', [complexOf(cast(x, 'f32'), cast(y, 'f32'))], 'hypot');
  return cast(found, x.dtype);
}

/** The nearest whole number, of two the upper one or the even one. */
export function round(x: Node, halves: unknown): Node {
  if (halves !== 'up' && halves !== 'even') throw invalidArgument('round: halves', describe(halves), "'up' or 'even'");
  const up = apply('round', [x]);
  if (halves === 'up') return up;
  const isOddHalf = apply('and', [apply('eq', [apply('sub', [up, x]), 0.5]), apply('neq', [apply('mod', [up, 2]), 0])]);
  return where(isOddHalf, apply('sub', [up, 1]), up);
}
