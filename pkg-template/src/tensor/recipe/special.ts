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

/** log Γ(x) over (x − 1)(x − 2) from 1 to 3 as a polynomial in (x − 2)/(x + 1), the highest power first: the best in relative error, 1.4e-8. */
const NEAR_TWO = [-0.00421935599, -0.00654737108, -0.01343777887, -0.00914923545, -0.04194466962, -0.00426606413, -0.30095201762, 0.422784332];
/** Bₖ/(k(k − 1)) of Stirling's series, the highest power of 1/x² first. */
const STIRLING = [1 / 1188, -1 / 1680, 1 / 1260, -1 / 360, 1 / 12];
/** −Bₖ/k of the series of its derivative, likewise; the last one is of 1/x². */
const STIRLING_SLOPE = [-1 / 132, 1 / 240, -1 / 252, 1 / 120, -1 / 12];

/** sin πx and cos πx, from the difference to the nearest whole number: of the sine without its sign. */
function turned(x: Node): { sine: Node; cosine: Node } {
  const angle = apply('mul', [apply('sub', [x, apply('stopGradient', [apply('round', [x])])]), Math.PI]);
  return { sine: apply('sin', [angle]), cosine: apply('cos', [angle]) };
}

/**
 * log |Γ(x)|. From 3 on Stirling's series; below by Γ(x) = Γ(x + 1)/x a polynomial around 2, where it has two roots; of negative numbers by
 * Γ(x) Γ(1 − x) = π/sin πx. (NIST Handbook of Mathematical Functions, 5.5 and 5.11.)
 */
export function logGamma(x: Node): Node {
  checkType('logGamma', x, REALS);
  return inSingle(x, (y) => {
    const isNegative = apply('lt', [y, 0]);
    const z = where(isNegative, apply('sub', [1, y]), y);
    const isLarge = apply('gte', [z, 3]);
    const large = where(isLarge, z, 3);
    const inverse = apply('div', [1, large]);
    const rest = apply('mul', [polynomial(apply('mul', [inverse, inverse]), STIRLING), inverse]);
    const stirling = apply('add', [apply('sub', [apply('mul', [apply('sub', [large, 0.5]), apply('sub', [apply('log', [large]), 1])]), 0.5 - Math.log(2 * Math.PI) / 2]), rest]);
    const small = where(isLarge, 1, z);
    const isBelow = apply('lt', [small, 1]);
    // A number from 1 to 3, of which differences to 1 and 2 are exact.
    const fromOne = where(isBelow, small, apply('sub', [small, 1]));
    const fromTwo = apply('sub', [fromOne, 1]);
    const aroundTwo = apply('mul', [apply('mul', [fromOne, fromTwo]), polynomial(apply('div', [fromTwo, apply('add', [fromOne, 2])]), NEAR_TWO)]);
    const ofSmall = apply('sub', [aroundTwo, apply('log', [where(isBelow, small, 1)])]);
    // Products with ∞ have its slope, too.
    const positive = where(apply('eq', [z, Infinity]), apply('mul', [z, Infinity]), where(isLarge, stirling, ofSmall));
    const { sine } = turned(where(isNegative, y, 0.5));
    const reflected = apply('sub', [Math.log(Math.PI), apply('log', [apply('abs', [sine])])]);
    return where(isNegative, where(apply('eq', [y, -Infinity]), apply('mul', [y, -Infinity]), apply('sub', [reflected, positive])), positive);
  });
}

/** The derivative of log Γ: below 6 by ψ(x) = ψ(x + 1) − 1/x, from there on a series, of negative numbers by ψ(x) = ψ(1 − x) − π/tan πx. NaN at 0, −1, −2, … */
export function digamma(x: Node): Node {
  checkType('digamma', x, REALS);
  return inSingle(x, (y) => {
    const isNegative = apply('lt', [y, 0]);
    const z = where(isNegative, apply('sub', [1, y]), y);
    const isLarge = apply('gte', [z, 6]);
    const small = where(isLarge, 1, z);
    const terms = [0, 1, 2, 3, 4, 5].map((k) => apply('div', [1, apply('add', [small, k])]));
    const steps = terms.reduceRight((sum, term) => apply('add', [sum, term]));
    const large = where(isLarge, z, apply('add', [small, 6]));
    const inverse = apply('div', [1, large]);
    const square = apply('mul', [inverse, inverse]);
    const series = apply('add', [apply('sub', [apply('log', [large]), apply('mul', [inverse, 0.5])]), apply('mul', [polynomial(square, STIRLING_SLOPE), square])]);
    const positive = where(isLarge, series, apply('sub', [series, steps]));
    const { sine, cosine } = turned(where(isNegative, y, 0.5));
    const reflected = apply('sub', [positive, apply('div', [apply('mul', [cosine, Math.PI]), sine])]);
    const isPole = apply('and', [apply('lte', [y, 0]), apply('eq', [y, apply('round', [y])])]);
    // Not a number, and neither is its slope.
    return where(isPole, apply('mul', [y, NaN]), where(isNegative, reflected, positive));
  });
}
