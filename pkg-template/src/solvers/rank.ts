/** The numerical rank of the Jacobian, and the directions that the residuals do not determine. */

import { checkFinite } from '../arguments/numeric-arguments.js';
import { checkOptions } from '../arguments/options.js';
import type { ConstrainedSession, GpuCompiledFunctions } from '../compile/functions.js';
import type { RawFunctions } from '../module/raw.js';
import { checkFunctions } from './solve-options.js';

/** Calls with equalities as residuals. */
function rankWithEqualities<T>({ call, layout, domain }: ConstrainedSession, work: (handle: RawFunctions) => Promise<T>): Promise<T> {
  return call((handle) => {
    layout.setEnabled(handle, (part) => layout.parts[part]?.block.kind === 'equality' && domain.enabled[part] === true);
    return work(handle);
  });
}

/** Options of rank(). */
export interface RankOptions {
  /**
   * A column of the Jacobian counts as dependent if its distance from the span of others is at most this fraction of its norm; 1e-10 by
   * default, at least 1e-14, which is the rounding error. Columns of numeric differences have what those are exact to, if that is more.
   */
  tolerance?: number;
}

/** One entry of a direction. */
export interface DirectionEntry {
  /** Name of the parameter array; '' for functions that were compiled from params. */
  readonly array: string;
  /** Index of the block; for params, the position of the param. */
  readonly block: number;
  /** Index of the number in its block. */
  readonly coordinate: number;
  /** The entry's value. */
  readonly value: number;
}

/** The rank of the Jacobian and a basis of its kernel. */
export interface RankResult {
  /** The rank: the number of degrees of freedom that the residuals determine. */
  readonly rank: number;
  /** The number of parameters that are not constant; on manifolds, the dimension of the tangent space. */
  readonly degreesOfFreedom: number;
  /** The tolerance that was used. */
  readonly tolerance: number;
  /**
   * A basis of the directions in which no residual changes, to first order: `degreesOfFreedom - rank` directions, the largest entry of each
   * about 1. Entries below 1e-9 are omitted.
   */
  readonly free: readonly (readonly DirectionEntry[])[];
}

/**
 * Computes the numerical rank of the Jacobian at the parameters' current numbers, in double precision on the CPU for functions of either
 * engine. Blocks on manifolds count as normalised. The Jacobian includes losses and weights, as in the solvers: a disabled block determines
 * nothing, and a graduated loss counts as the squared one. Equalities of the problem count as residuals, inequalities and bounds do not. Columns are scaled to unit norm first, so units have no effect. For up to 400 parameters the rank is that of a QR factorisation with column pivoting; for more, that of a
 * sparse Cholesky factorisation, whose dependent columns are checked against the Jacobian itself.
 *
 * Rejects with 'limit-exceeded' where the factor or the basis would be too large, with 'non-finite' where a residual or derivative is
 * not finite, and with 'invalid-argument' for a block on a manifold that has length 0 or of which only some numbers are constant.
 */
export async function rank(functions: GpuCompiledFunctions, options: RankOptions = {}): Promise<RankResult> {
  checkFunctions('rank', functions);
  checkOptions('rank: options', options, { tolerance: true });
  const { tolerance = 1e-10 } = options;
  checkFinite('rank: tolerance', tolerance, 1e-14);
  const { places } = functions;
  const direct = (handle: RawFunctions) => handle.rank(tolerance);
  const found = await (functions.constraints === null ? functions.callWith(direct) : functions.exclusively((session) => rankWithEqualities(session, direct)));
  const entry = (k: number): DirectionEntry => {
    const parameter = found.parameters[k] as number;
    const value = found.values[k] as number;
    const array = places?.find(({ offset, dim, count }) => parameter >= offset && parameter < offset + dim * count);
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
