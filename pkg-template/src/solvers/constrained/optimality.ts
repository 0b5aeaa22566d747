/**
 * How far a point is from the conditions of Karush, Kuhn and Tucker, in ratios: units of parameters, of constraints and of the objective have no effect.
 */

import type { Lagrangian, Point } from './lagrangian.js';

/** The distances of a point from optimality. */
export interface Optimality {
  /** The largest violation, relative to the terms of its constraint. */
  readonly violation: number;
  /** The largest entry of the projected gradient of the Lagrangian, relative to its terms. */
  readonly stationarity: number;
  /** The largest |λc| of an inequality that holds, relative to the objective's terms. */
  readonly complementarity: number;
  /** The largest |λc| of a constraint that does not hold: what the objective gains by it to first order, relative to its terms. */
  readonly gain: number;
}

/** A size of each parameter: steps of that size change terms by about themselves. */
export function parameterScales({ session }: Lagrangian, ...points: readonly Float64Array[]): Float64Array {
  const scales = new Float64Array(session.numParams);
  for (const x of points) for (let j = 0; j < scales.length; j++) scales[j] = Math.max(scales[j] as number, Math.abs(x[j] as number));
  for (const { offset, dim, count } of session.arrays) {
    // Numbers of an array have similar units, so one that is 0 has the size of the others.
    for (let coordinate = 0; coordinate < dim; coordinate++) {
      let most = 0;
      for (let block = 0; block < count; block++) most = Math.max(most, scales[offset + block * dim + coordinate] as number);
      for (let block = 0; block < count; block++) {
        const place = offset + block * dim + coordinate;
        scales[place] = Math.max(scales[place] as number, 0.01 * most);
      }
    }
  }
  const most = scales.reduce((a, b) => Math.max(a, b), 0);
  return scales.map((scale) => (scale > 0 ? scale : most > 0 ? 0.01 * most : 1));
}

/** The amount of each constraint that counts as its terms: what changes of the parameters by their own sizes change. */
export function constraintScales({ count }: Lagrangian, { offsets, columns, entries }: Point, scales: Float64Array): Float64Array {
  const sizes = new Float64Array(count);
  for (let i = 0; i < count; i++) {
    let sum = 0;
    for (let k = offsets[i] as number; k < (offsets[i + 1] as number); k++) sum += Math.abs((entries[k] as number) * (scales[columns[k] as number] as number));
    sizes[i] = sum;
  }
  return sizes;
}

/** How much a constraint is violated; 0 where it holds. */
export function violationOf({ isEquality }: Lagrangian, c: Float64Array, i: number): number {
  const value = c[i] as number;
  return isEquality[i] === 1 ? Math.abs(value) : value > 0 ? value : Number.isNaN(value) ? NaN : 0;
}

/** Measures a point with its multipliers. `least` is a size of a gradient, in units of the objective, below which none counts. */
export function optimality(problem: Lagrangian, point: Point, multipliers: Float64Array, scales: Float64Array, sizes: Float64Array, least: number): Optimality {
  const { free, count, isEquality, session } = problem;
  const { lower, upper } = session.domain;
  let violation = 0;
  for (let i = 0; i < count; i++) {
    const amount = violationOf(problem, point.c, i);
    if (amount !== 0) violation = Math.max(violation, amount / ((sizes[i] as number) + Number.MIN_VALUE));
    if (Number.isNaN(amount)) violation = NaN;
  }
  const gradient = problem.gradient(point, multipliers);
  const terms = free.reduce((most, j) => Math.max(most, Math.abs((point.gradient[j] as number) * (scales[j] as number))), least);
  const forces = forcesOf(problem, point, multipliers);
  let stationarity = 0;
  for (const j of free) {
    const scale = scales[j] as number;
    const [x, slope] = [point.x[j] as number, gradient[j] as number];
    // A bound stops a parameter that would move beyond it.
    const margin = 1e-12 * scale;
    if (slope === 0 || (slope > 0 && x <= (lower[j] as number) + margin) || (slope < 0 && x >= (upper[j] as number) - margin)) continue;
    // Where no multipliers exist they grow without a bound, and the sum for a parameter keeps digits of its own terms.
    const ratio = Math.abs(slope * scale) / (Math.max(terms, 1e-6 * (forces[j] as number) * scale) + Number.MIN_VALUE);
    stationarity = ratio <= stationarity ? stationarity : ratio;
  }
  let [complementarity, gain] = [0, 0];
  for (let i = 0; i < count; i++) {
    // A constraint without a multiplier may be −∞.
    const share = multipliers[i] === 0 ? 0 : Math.abs((multipliers[i] as number) * (point.c[i] as number)) / (terms + Number.MIN_VALUE);
    if (isEquality[i] === 1 || (point.c[i] as number) > 0) gain = share <= gain ? gain : share;
    else complementarity = share <= complementarity ? complementarity : share;
  }
  return { violation, stationarity, complementarity, gain };
}

/** Σ |λA| of each parameter: the terms of ∇L that constraints have. */
function forcesOf({ count, session }: Lagrangian, { offsets, columns, entries }: Point, multipliers: Float64Array): Float64Array {
  const forces = new Float64Array(session.numParams);
  for (let i = 0; i < count; i++) {
    const multiplier = multipliers[i] as number;
    if (multiplier === 0) continue;
    for (let k = offsets[i] as number; k < (offsets[i + 1] as number); k++) {
      const column = columns[k] as number;
      forces[column] = (forces[column] as number) + Math.abs(multiplier * (entries[k] as number));
    }
  }
  return forces;
}

/** The mean curvature of the objective in units of scales, by a difference of gradients along one direction, the same at every call. */
export async function curvature(problem: Lagrangian, point: Point, scales: Float64Array): Promise<number> {
  const x = point.x.slice();
  const directions = scales.map((scale, j) => 5e-5 * scale * Math.sin(1 + 12.9898 * j));
  for (const j of problem.free) x[j] = (x[j] as number) + (directions[j] as number);
  const { gradient } = await problem.at(x);
  let [product, squares] = [0, 0];
  for (const j of problem.free) {
    const direction = directions[j] as number;
    product += direction * ((gradient[j] as number) - (point.gradient[j] as number));
    squares += (direction / (scales[j] as number)) ** 2;
  }
  const size = Math.abs(product) / squares;
  return Number.isFinite(size) ? size : 0;
}
