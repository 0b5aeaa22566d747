/** What the residuals determine, and what they leave free. */

import { checkFinite, checkOptions } from './numeric-arguments.js';
import type { GpuCompiledFunctions } from './functions.js';
import { checkFunctions } from './solve-options.js';

/** Options of rank(). */
export interface RankOptions {
  /**
   * A column of the Jacobian counts as dependent if its distance from the span of others is at most this part of its length; 1e-10 by
   * default. At least 1e-14, which is what rounding makes.
   */
  tolerance?: number;
}

/** One number of a direction. */
export interface DirectionEntry {
  /** Name of the parameter array; '' where functions were compiled from params. */
  readonly array: string;
  /** Which of its blocks; the position of the param. */
  readonly block: number;
  /** Which of the block's numbers. */
  readonly coordinate: number;
  /** How much it moves. */
  readonly value: number;
}

/** The rank of the Jacobian, and what is left free. */
export interface RankResult {
  /** How many degrees of freedom the residuals determine. */
  readonly rank: number;
  /** How many there are: numbers that are not constant, on manifolds those of the tangent space. */
  readonly degreesOfFreedom: number;
  /** The tolerance that was used. */
  readonly tolerance: number;
  /**
   * A basis of the directions in which no residual changes, to first order: `degreesOfFreedom - rank` of them, the largest entry of each
   * about 1. Entries below 1e-9 are left out.
   */
  readonly free: readonly (readonly DirectionEntry[])[];
}

/**
 * The numerical rank of the Jacobian at the parameters' current numbers, in double precision on the CPU, wherever the functions are. The
 * Jacobian has losses and weights in it, as the solvers have: a block that is disabled determines nothing. Columns are scaled to
 * unit length first, so that units play no part. Up to 400 parameters the rank is that of a QR factorisation with column pivoting; of
 * more, that of a sparse Cholesky factorisation, with every column that it finds dependent checked against the Jacobian itself.
 *
 * Rejects with 'limit-exceeded' where the factor, or the basis of what is free, would be too large; with 'non-finite' where a residual or
 * derivative is.
 */
export async function rank(functions: GpuCompiledFunctions, options: RankOptions = {}): Promise<RankResult> {
  checkFunctions('rank', functions);
  checkOptions('rank: options', options);
  const { tolerance = 1e-10 } = options;
  checkFinite('rank: tolerance', tolerance, 1e-14);
  const found = await functions.callWith((handle) => handle.rank(tolerance));
  const entry = (k: number): DirectionEntry => {
    const parameter = found.parameters[k] as number;
    const value = found.values[k] as number;
    const array = functions.parameterArrays?.find(({ offset, dim, count }) => parameter >= offset && parameter < offset + dim * count);
    if (array === undefined) return { array: '', block: parameter, coordinate: 0, value };
    const within = parameter - array.offset;
    return { array: array.name, block: Math.floor(within / array.dim), coordinate: within % array.dim, value };
  };
  const free = Array.from({ length: found.offsets.length - 1 }, (_, direction) => {
    const start = found.offsets[direction] as number;
    return Array.from({ length: (found.offsets[direction + 1] as number) - start }, (_, k) => entry(start + k));
  });
  return { rank: found.rank, degreesOfFreedom: found.columns, tolerance, free };
}
