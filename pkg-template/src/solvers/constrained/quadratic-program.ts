/**
 * Strictly convex quadratic programs by the dual active-set method (D. Goldfarb, A. Idnani, "A numerically stable dual method for solving strictly convex
 * quadratic programs", Mathematical Programming 27, 1983). It begins at the minimum without constraints and adds violated ones, one at a time.
 * Equalities that follow from others are met before they are looked at, so dependent ones do no harm.
 */

import { cholesky, solveCholesky } from './dense.js';

/** Minimise ½dᵀBd + gᵀd subject to Cd + b = 0 in the first rows and ≤ 0 in the others. */
export interface QuadraticProgram {
  readonly size: number;
  /** B, positive definite, row after row. */
  readonly hessian: Float64Array;
  readonly gradient: Float64Array;
  /** C, row after row. */
  readonly rows: Float64Array;
  readonly values: Float64Array;
  /** Number of equalities. */
  readonly equalities: number;
}

/** A solution. Multipliers λ have Bd + g + Cᵀλ = 0. */
export interface QuadraticSolution {
  readonly step: Float64Array;
  readonly multipliers: Float64Array;
}

const EPSILON = 2 ** -52;

/** Solves a program. Returns 'indefinite' where B is not positive definite, and 'infeasible' where no step meets the constraints. */
export function solveQuadraticProgram({ size, hessian, gradient, rows, values, equalities }: QuadraticProgram): QuadraticSolution | 'indefinite' | 'infeasible' {
  const factor = hessian.slice();
  if (!cholesky(factor, size)) return 'indefinite';
  const count = values.length;
  const norms = new Float64Array(count);
  for (let i = 0; i < count; i++) {
    let sum = 0;
    for (let j = 0; j < size; j++) sum += (rows[i * size + j] as number) ** 2;
    norms[i] = Math.sqrt(sum);
  }
  const state = new ActiveSet(factor, size);
  const step = state.unconstrained(gradient);
  /** The constraint of each active place, and its multiplier, for a normal that points out of the feasible side. */
  const active: number[] = [];
  const signs: number[] = [];
  const weights: number[] = [];
  const isActive = new Uint8Array(count);
  const valueAt = (i: number): number => {
    let sum = values[i] as number;
    for (let j = 0; j < size; j++) sum += (rows[i * size + j] as number) * (step[j] as number);
    return sum;
  };
  /** How much of a value rounding explains. */
  const roundingOf = (i: number): number => {
    let sum = Math.abs(values[i] as number);
    for (let j = 0; j < size; j++) sum += Math.abs((rows[i * size + j] as number) * (step[j] as number));
    return 64 * EPSILON * sum;
  };
  const normal = new Float64Array(size);
  for (let round = 0; round < 50 * (size + count) + 100; round++) {
    // Equalities come first, then the inequality that is farthest from holding.
    let [worst, most] = [-1, 0];
    for (let i = 0; i < count && !(worst >= 0 && worst < equalities); i++) {
      if (isActive[i] === 1) continue;
      const value = i < equalities ? Math.abs(valueAt(i)) : valueAt(i);
      if (!(value > roundingOf(i))) continue;
      if ((norms[i] as number) === 0) return 'infeasible';
      const distance = value / (norms[i] as number);
      if (distance > most) [worst, most] = [i, distance];
    }
    if (worst < 0) {
      const multipliers = new Float64Array(count);
      active.forEach((i, k) => (multipliers[i] = (signs[k] as number) * (weights[k] as number)));
      return { step, multipliers };
    }
    const sign = valueAt(worst) > 0 ? 1 : -1;
    // The normal points to where the constraint holds.
    for (let j = 0; j < size; j++) normal[j] = -sign * (rows[worst * size + j] as number);
    let weight = 0;
    for (let isDone = false; !isDone; ) {
      const { direction, combination, curvature } = state.directions(normal, active.length);
      let [blocking, dual] = [-1, Infinity];
      for (let k = 0; k < active.length; k++) {
        if ((active[k] as number) < equalities || !((combination[k] as number) > 0)) continue;
        const ratio = (weights[k] as number) / (combination[k] as number);
        if (ratio < dual) [blocking, dual] = [k, ratio];
      }
      const value = sign * valueAt(worst);
      const primal = curvature > 0 ? value / curvature : Infinity;
      const length = Math.min(primal, dual);
      if (length === Infinity) {
        // A constraint that depends on active ones is violated by no more than their rounding, or contradicts them.
        if (value <= 1e-9 * (norms[worst] as number) * (1 + Math.sqrt(step.reduce((sum, entry) => sum + entry * entry, 0)))) {
          isActive[worst] = 1;
          break;
        }
        return 'infeasible';
      }
      for (let k = 0; k < active.length; k++) weights[k] = (weights[k] as number) - length * (combination[k] as number);
      weight += length;
      if (primal < Infinity) for (let j = 0; j < size; j++) step[j] = (step[j] as number) + length * (direction[j] as number);
      if (length === primal) {
        if (!state.add(normal, active.length)) return 'infeasible';
        active.push(worst);
        signs.push(sign);
        weights.push(weight);
        isActive[worst] = 1;
        isDone = true;
      } else {
        isActive[active[blocking] as number] = 0;
        state.drop(blocking, active.length);
        for (const list of [active, signs, weights]) list.splice(blocking, 1);
      }
    }
  }
  return 'infeasible';
}

/** The matrices J = L⁻ᵀQ and R of the active normals N, with QᵀL⁻¹N = R on top of zeros. */
class ActiveSet {
  private readonly inverse: Float64Array;
  private readonly triangle: Float64Array;

  constructor(
    private readonly factor: Float64Array,
    private readonly size: number,
  ) {
    this.inverse = new Float64Array(size * size);
    this.triangle = new Float64Array(size * size);
    // Column k of L⁻ᵀ solves Lᵀx = e.
    for (let k = 0; k < size; k++) {
      for (let i = k; i >= 0; i--) {
        let sum = i === k ? 1 : 0;
        for (let j = i + 1; j <= k; j++) sum -= (factor[j * size + i] as number) * (this.inverse[j * size + k] as number);
        this.inverse[i * size + k] = sum / (factor[i * size + i] as number);
      }
    }
  }

  /** −B⁻¹g */
  unconstrained(gradient: Float64Array): Float64Array {
    return solveCholesky(this.factor, this.size, gradient.map((entry) => -entry));
  }

  /** The step towards a constraint that keeps the active ones, the change of their multipliers, and nᵀ·step; 0 where the normal depends on theirs. */
  directions(normal: Float64Array, count: number): { direction: Float64Array; combination: Float64Array; curvature: number } {
    const { size, inverse, triangle } = this;
    const projected = this.project(normal);
    const direction = new Float64Array(size);
    const combination = new Float64Array(count);
    let [curvature, whole] = [0, 0];
    for (let k = 0; k < size; k++) {
      const square = (projected[k] as number) ** 2;
      whole += square;
      if (k >= count) curvature += square;
    }
    if (curvature <= 1e-20 * whole) curvature = 0;
    for (let i = 0; i < size; i++) {
      let sum = 0;
      for (let k = count; k < size; k++) sum += (inverse[i * size + k] as number) * (projected[k] as number);
      direction[i] = sum;
    }
    for (let i = count - 1; i >= 0; i--) {
      let sum = projected[i] as number;
      for (let k = i + 1; k < count; k++) sum -= (triangle[i * size + k] as number) * (combination[k] as number);
      combination[i] = sum / (triangle[i * size + i] as number);
    }
    return { direction, combination, curvature };
  }

  /** Adds a normal as the last active one. Returns false where it depends on the others. */
  add(normal: Float64Array, count: number): boolean {
    const { size, triangle } = this;
    const projected = this.project(normal);
    for (let k = size - 1; k > count; k--) {
      const [upper, lower] = [projected[k - 1] as number, projected[k] as number];
      if (lower === 0) continue;
      const length = Math.hypot(upper, lower);
      projected[k - 1] = length;
      this.rotateColumns(k - 1, k, upper / length, lower / length);
    }
    for (let k = 0; k <= count; k++) triangle[k * size + count] = projected[k] as number;
    return projected[count] !== 0;
  }

  /** Drops an active normal. */
  drop(place: number, count: number): void {
    const { size, triangle } = this;
    for (let k = place + 1; k < count; k++) {
      for (let i = 0; i <= k; i++) triangle[i * size + k - 1] = triangle[i * size + k] as number;
      const [upper, lower] = [triangle[(k - 1) * size + k - 1] as number, triangle[k * size + k - 1] as number];
      const length = Math.hypot(upper, lower);
      if (length === 0) continue;
      const [c, s] = [upper / length, lower / length];
      triangle[(k - 1) * size + k - 1] = length;
      triangle[k * size + k - 1] = 0;
      for (let j = k + 1; j < count; j++) {
        const [a, b] = [triangle[(k - 1) * size + j] as number, triangle[k * size + j] as number];
        triangle[(k - 1) * size + j] = c * a + s * b;
        triangle[k * size + j] = c * b - s * a;
      }
      this.rotateColumns(k - 1, k, c, s);
    }
  }

  /** Jᵀn */
  private project(normal: Float64Array): Float64Array {
    const { size, inverse } = this;
    const projected = new Float64Array(size);
    for (let i = 0; i < size; i++) {
      const entry = normal[i] as number;
      if (entry === 0) continue;
      for (let k = 0; k < size; k++) projected[k] = (projected[k] as number) + (inverse[i * size + k] as number) * entry;
    }
    return projected;
  }

  private rotateColumns(p: number, q: number, c: number, s: number): void {
    const { size, inverse } = this;
    for (let i = 0; i < size; i++) {
      const [a, b] = [inverse[i * size + p] as number, inverse[i * size + q] as number];
      inverse[i * size + p] = c * a + s * b;
      inverse[i * size + q] = c * b - s * a;
    }
  }
}
