/**
 * The noise of residuals: errors that are not smooth, as where results are rounded, or are found by steps until a tolerance is met. Differences of a high order
 * at points of equal distances leave the noise, multiplied by what is known, and nothing of a function that is smooth over them (J. J. Moré and S. M. Wild,
 * "Estimating computational noise", SIAM Journal on Scientific Computing 33, 2011). The distances are some steps of derivatives, so that what is found is the
 * noise that these see: of rounded results the errors by which they differ from what was rounded, as soon as steps cross several of their values.
 */

import type { Bounds } from './plain-differences.js';

/** Points of a table, of which the first is that of the derivatives. */
export const POINTS = 7;

/** Orders of differences that are taken: what the mean of their squares is divided by is the variance of those of independent errors, (2k)!/(k!)². */
const ORDERS = [
  [4, 70],
  [5, 252],
  [6, 924],
] as const;

/** The noise of residuals, in order. */
export class Noise {
  /** The squares of their errors. */
  readonly squares: Float64Array;
  private readonly table = new Float64Array(POINTS);

  constructor(length: number) {
    this.squares = new Float64Array(length);
  }

  /** Takes values of residuals at the points of a table; `first`: the place of the first residual. What is not finite there has no noise. */
  take(first: number, rows: readonly Float64Array[]): void {
    const { length } = rows[0] as Float64Array;
    for (let i = 0; i < length; i++) {
      for (let point = 0; point < POINTS; point++) this.table[point] = (rows[point] as Float64Array)[i] as number;
      const square = this.variance();
      this.squares[first + i] = square < Infinity ? square : 0;
    }
  }

  /**
   * Takes values at x and at two points beside it, as near that second differences are noise but for rounding. Returns whether some residuals stay as they are
   * there, as rounded ones do.
   */
  takeNear(first: number, [at, near, far]: readonly Float64Array[]): boolean {
    const length = at?.length ?? 0;
    let still = 0;
    for (let i = 0; i < length; i++) {
      const [a, b, c] = [at?.[i] as number, near?.[i] as number, far?.[i] as number];
      const square = (c - b - (b - a)) ** 2 / 6;
      this.squares[first + i] = square < Infinity ? square : 0;
      if (a === b && b === c) still++;
    }
    return 4 * still > length;
  }

  /** The smallest of the estimates that two orders in a row do not exceed: what is smooth becomes less with each. Destroys the table. */
  private variance(): number {
    const { table } = this;
    let [order, before, least] = [0, Infinity, Infinity];
    for (const [wanted, factor] of ORDERS) {
      for (; order < wanted; order++) for (let i = 0; i < POINTS - 1 - order; i++) table[i] = (table[i + 1] as number) - (table[i] as number);
      let sum = 0;
      for (let i = 0; i < POINTS - order; i++) sum += (table[i] as number) ** 2;
      const square = sum / (POINTS - order) / factor;
      least = Math.min(least, Math.max(before, square));
      before = square;
    }
    return least;
  }
}

/** The points of a table but for the first: x, in which parameters with the given positions have moved by `distance`, as far as bounds leave room. */
export function pointsAlong(x: Float64Array, positions: Uint32Array, distance: (position: number) => number, bounds: (position: number) => Bounds): Float64Array[] {
  const points = Array.from({ length: POINTS - 1 }, () => x.slice());
  for (const at of positions) {
    const value = x[at] as number;
    const { lower, upper } = bounds(at);
    const [above, below] = [upper - value, value - lower];
    const far = (POINTS - 1) * distance(at);
    const room = above < far && below > above ? -Math.min(far, below) : Math.min(far, above);
    // Of x + h the difference to x is taken, so that the distances are equal although x is rounded.
    const move = value + room / (POINTS - 1) - value;
    points.forEach((point, i) => (point[at] = Math.min(Math.max(value + (i + 1) * move, lower), upper)));
  }
  return points;
}
