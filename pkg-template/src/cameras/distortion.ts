/**
 * Distortion of a plane by a radial factor and tangential terms (D. C. Brown, "Decentering Distortion of Lenses", 1966), and its inverse:
 *
 *     (x, y) ↦ c (x, y) + (2 p1 x y + p2 (r² + 2 x²), p1 (r² + 2 y²) + 2 p2 x y),  c = (1 + n₁ r² + n₂ r⁴ + …) / (1 + d₁ r² + d₂ r⁴ + …)
 */

import { squaredNorm } from '../expressions/sums.js';
import { literal, type Value } from '../expressions/value.js';
import { Vec2 } from '../expressions/vec2.js';

/** The coefficients n₁, n₂, …, then d₁, d₂, …, then p1 and p2. */
export interface Coefficients<T> {
  readonly numerator: readonly T[];
  readonly denominator: readonly T[];
  readonly tangential: readonly [T, T] | null;
}

/** The distorted point as an expression. */
export function distorted({ numerator, denominator, tangential }: Coefficients<Value>, point: Vec2): Vec2 {
  if (numerator.length === 0) return point;
  const { x, y } = point;
  const squared = squaredNorm([x, y]);
  const polynomial = (terms: readonly Value[]): Value => terms.reduceRight((sum, term) => sum.mul(squared).add(term)).mul(squared).add(literal(1));
  const factor = denominator.length === 0 ? polynomial(numerator) : polynomial(numerator).div(polynomial(denominator));
  const radial = point.mul(factor);
  if (tangential === null) return radial;
  const [p1, p2] = tangential;
  const two = literal(2);
  const both = x.mul(y).mul(two);
  return radial.add(new Vec2(
    p1.mul(both).add(p2.mul(squared.add(x.square().mul(two)))),
    p1.mul(squared.add(y.square().mul(two))).add(p2.mul(both)),
  ));
}

/** A distorted point and the derivatives there. */
export class Distortion {
  u = 0;
  v = 0;
  /** ∂u/∂x, then ∂u/∂y = ∂v/∂x, then ∂v/∂y. */
  xx = 0;
  xy = 0;
  yy = 0;
  /** 1 + d₁ r² + d₂ r⁴ + … */
  below = 0;

  constructor(private readonly coefficients: Coefficients<number>) {}

  /** Computes them at (x, y). */
  evaluate(x: number, y: number): void {
    const { numerator, denominator, tangential } = this.coefficients;
    const squared = x * x + y * y;
    let [above, aboveSlope, below, belowSlope] = [0, 0, 0, 0];
    for (let k = numerator.length - 1; k >= 0; k--) {
      aboveSlope = aboveSlope * squared + above;
      above = above * squared + (numerator[k] as number);
    }
    for (let k = denominator.length - 1; k >= 0; k--) {
      belowSlope = belowSlope * squared + below;
      below = below * squared + (denominator[k] as number);
    }
    this.below = 1 + squared * below;
    const factor = (1 + squared * above) / this.below;
    const slope = (2 * (above + squared * aboveSlope - factor * (below + squared * belowSlope))) / this.below;
    const p1 = tangential === null ? 0 : tangential[0];
    const p2 = tangential === null ? 0 : tangential[1];
    this.u = x * factor + 2 * p1 * x * y + p2 * (squared + 2 * x * x);
    this.v = y * factor + p1 * (squared + 2 * y * y) + 2 * p2 * x * y;
    this.xx = factor + x * x * slope + 2 * p1 * y + 6 * p2 * x;
    this.xy = x * y * slope + 2 * p1 * x + 2 * p2 * y;
    this.yy = factor + y * y * slope + 6 * p1 * y + 2 * p2 * x;
  }

  /**
   * The point that is distorted to (u, v), in the region around the centre in which the distortion does not fold the plane. It is found by continuation
   * from the centre to (u, v), in one step where that suffices. `isFound` is false where the way ends at a fold: the point is then on the way, near the
   * fold.
   */
  inverse(u: number, v: number): { x: number; y: number; isFound: boolean } {
    let [x, y, done, step] = [0, 0, 0, 1];
    while (done < 1) {
      const goal = Math.min(1, done + step);
      const next = this.newton(goal * u, goal * v, x, y);
      if (next !== null && this.isUnfoldedTo(x, y, next.x, next.y)) {
        ({ x, y } = next);
        done = goal;
        step *= 2;
      } else {
        step /= 2;
        if (step < SHORTEST) return { x, y, isFound: false };
      }
    }
    return { x, y, isFound: true };
  }

  /** Newton's method from (x, y). Returns null where it does not converge. */
  private newton(u: number, v: number, x: number, y: number): { x: number; y: number } | null {
    // Some hundred roundings of the distorted point, which a step near a fold makes.
    const tolerance = 1e-12 * (1 + Math.hypot(u, v));
    let [best, foundX, foundY] = [Infinity, x, y];
    for (let iteration = 0; iteration < ITERATIONS; iteration++) {
      this.evaluate(x, y);
      const { xx, xy, yy } = this;
      const [du, dv] = [u - this.u, v - this.v];
      const error = Math.hypot(du, dv);
      if (error < best) [best, foundX, foundY] = [error, x, y];
      // Rounding prevents a further decrease.
      else if (best <= tolerance) break;
      const determinant = xx * yy - xy * xy;
      x += (yy * du - xy * dv) / determinant;
      y += (xx * dv - xy * du) / determinant;
    }
    return best <= tolerance ? { x: foundX, y: foundY } : null;
  }

  /** Whether there is no fold on the way between two points: the Jacobian and the denominator keep the signs that they have at the centre. */
  private isUnfoldedTo(x: number, y: number, toX: number, toY: number): boolean {
    for (let k = 1; k <= CHECKS; k++) {
      const share = k / CHECKS;
      this.evaluate(x + share * (toX - x), y + share * (toY - y));
      const { xx, xy, yy, below } = this;
      if (!(below > 0 && xx + yy > 0 && xx * yy - xy * xy > 0)) return false;
    }
    return true;
  }
}

/** Newton's iterations: more than quadratic convergence needs from a start of one digit. */
const ITERATIONS = 12;
/** Points of a segment at which it is checked for folds. */
const CHECKS = 16;
/** The shortest step along the way from the centre. */
const SHORTEST = 2 ** -20;
