/**
 * Functions of the exponential of similarities, smooth in both the angle θ and the logarithm of the scale σ: with z = σ + iθ and f(z) = (eᶻ − 1)/z
 *
 *     ∫₀¹ e^(uσ) exp(u [ω]×) du = A I + B [ω]× + C [ω]×²,  A = f(σ),  B = Im f(z)/θ,  C = (A − Re f(z))/θ².
 */

import { halfCosine, halfSineRatio } from './series.js';
import { literal, select, type Value } from './value.js';

/** A, B, C, and P = Re f(z). */
export interface SimilarityFactors {
  readonly a: Value;
  readonly b: Value;
  readonly c: Value;
  readonly p: Value;
}

/** Below this |z|² series are used. Closed forms lose a factor of 25 there, and series of so many terms have a relative error of 1e-17. */
const SMALL = 0.25;
const TERMS = 15;

/** The factors from θ² and σ, for any θ up to 2π. */
export function similarityFactors(squared: Value, sigma: Value): SimilarityFactors {
  const one = literal(1);
  // Horner's rule for f(z) = 1 + z/2 (1 + z/3 (…)), with the real part x, the imaginary part θ y, and θ² c as the difference of x from its value at θ = 0.
  let [x, y, c] = [one, literal(0), literal(0)];
  let ofSigma = one;
  for (let k = TERMS; k >= 2; k--) {
    const factor = literal(1 / k);
    c = sigma.mul(c).add(y).mul(factor);
    [x, y] = [sigma.mul(x).sub(squared.mul(y)).mul(factor).add(one), sigma.mul(y).add(x).mul(factor)];
    ofSigma = sigma.mul(ofSigma).mul(factor).add(one);
  }
  const exponential = sigma.exp();
  const a = select(sigma.square().lt(literal(SMALL)), ofSigma, exponential.sub(one).div(sigma));
  // (1 − cos θ)/θ² and sin θ/θ
  const ratio = halfSineRatio(squared);
  const versine = ratio.square().mul(literal(2));
  const sine = ratio.mul(halfCosine(squared)).mul(literal(2));
  const cosine = one.sub(squared.mul(versine));
  const size = squared.add(sigma.square());
  const isSmall = size.lt(literal(SMALL));
  const [turned, scaled] = [exponential.mul(sine), sigma.mul(exponential)];
  const b = select(isSmall, y, scaled.mul(sine).sub(exponential.mul(cosine)).add(one).div(size));
  const curved = select(isSmall, c, scaled.mul(versine).add(a).sub(turned).div(size));
  return { a, b, c: curved, p: a.sub(squared.mul(curved)) };
}
