/**
 * How exact derivatives by differences are: of each parameter, the error of its derivatives in all residuals, relative to their length.
 *
 * Noise of residuals is measured, not assumed: it is what second differences by steps far below those of the derivatives are made of, where the smooth part of
 * the function leaves less (J. J. Moré and S. M. Wild, "Estimating computational noise", SIAM Journal on Scientific Computing 33, 2011).
 */

import type { ArrayPlace } from './plain-steps.js';

/** Shares of the steps of derivatives by which noise is measured. */
const SHARE = 2 ** -13;

/** Errors are estimates, of which so many times are taken: a direction counts as determined where they do not explain what is seen of it. */
export const SAFETY = 8;

const EPSILON = 2 ** -52;

/** Of each parameter, sums over the residuals that it has an effect on. */
export class Accuracy {
  private readonly lengths: Float64Array;
  private readonly noises: Float64Array;
  private readonly errors: Float64Array;

  constructor(private readonly numParams: number) {
    [this.lengths, this.noises, this.errors] = [new Float64Array(numParams), new Float64Array(numParams), new Float64Array(numParams)];
  }

  /** Adds derivatives of residuals by a parameter. */
  addDerivatives(position: number, derivatives: Float64Array): void {
    for (const derivative of derivatives) this.lengths[position]! += derivative * derivative;
  }

  /** Adds errors of such derivatives that are known. */
  addErrors(position: number, errors: Float64Array): void {
    for (const error of errors) if (error < Infinity) this.errors[position]! += error * error;
  }

  /** Adds the noise of residuals, from its squares: where derivatives are not 0, or of all where it may hide them. */
  addNoise(position: number, derivatives: Float64Array, residuals: Float64Array, squares: Float64Array, hides: boolean): void {
    for (let i = 0; i < squares.length; i++) {
      if (derivatives[i] === 0 && !hides) continue;
      const noise = Math.max(squares[i] as number, (EPSILON * (residuals[i] as number)) ** 2);
      if (noise < Infinity) this.noises[position]! += noise;
    }
  }

  /**
   * Returns the relative errors, on manifolds those of tangent coordinates, and then `told`, the noise that is told. `step` and `error`: the step by which a
   * parameter's derivatives were computed, and their error beside noise, relative to them.
   */
  relative(positions: Uint32Array, arrays: readonly ArrayPlace[], step: (position: number) => number, error: (position: number) => number, told: number): Float64Array {
    const relative = new Float64Array(this.numParams + 1);
    relative[this.numParams] = told;
    for (const at of positions) {
      const length = Math.sqrt(this.lengths[at] as number);
      // Nothing changes by any step.
      if (length === 0) continue;
      const of = Math.sqrt((this.noises[at] as number) / step(at) ** 2 + (this.errors[at] as number)) / length + error(at);
      relative[at] = Math.min(SAFETY * of, 1);
    }
    // A tangent coordinate moves all numbers of its block.
    for (const { manifold, offset, dim, count } of arrays) {
      if (manifold === 'euclidean') continue;
      for (let block = offset; block < offset + dim * count; block += dim) relative.fill(Math.max(...relative.subarray(block, block + dim)), block, block + dim);
    }
    return relative;
  }
}

/** Returns two points at equal distances from x, in which parameters with the given positions have moved by a share of their steps, as far as bounds leave room. */
export function pointsNear(
  x: Float64Array,
  positions: Uint32Array,
  step: (position: number) => number,
  bounds: { readonly lower: Float64Array; readonly upper: Float64Array } | null,
): readonly [near: Float64Array, far: Float64Array] {
  const [near, far] = [x.slice(), x.slice()];
  for (const at of positions) {
    const value = x[at] as number;
    const above = bounds === null ? Infinity : (bounds.upper[at] as number) - value;
    // Of x + h the difference to x is taken, so that the distances are equal although x is rounded.
    const size = SHARE * step(at);
    const move = value + (above < 2 * size ? -size : size) - value;
    if (bounds !== null && value + 2 * move < (bounds.lower[at] as number)) continue;
    [near[at], far[at]] = [value + move, value + 2 * move];
  }
  return [near, far];
}
