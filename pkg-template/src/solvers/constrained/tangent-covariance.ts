/**
 * The covariance under constraints: that of the tangent space of the active ones, Z(ZᵀHZ)⁻¹Zᵀ with Z a basis of the directions that keep them. Active
 * bounds make their numbers constant. Equations join the residuals with a weight that is large beside them: (H + K²AᵀA)⁻¹ is the covariance but for a
 * share of 1/K² (Å. Björck, "Numerical Methods for Least Squares Problems", section 5.1.5).
 */

import { invalidArgument } from '../../arguments/errors.js';
import type { ConstrainedSession } from '../../compile/functions.js';
import { dependentRows } from './dense.js';
import { Lagrangian, type Point } from './lagrangian.js';
import { constraintScales, curvature, parameterScales } from './optimality.js';

/** K where the module has a QR factorisation of J, up to so many parameters, whose errors are K roundings. */
const [MOST_OF_QR, WEIGHT_OF_QR] = [400, 1e6];
/** K where it has a Cholesky factorisation of JᵀJ, whose errors are K² roundings. */
const WEIGHT_OF_CHOLESKY = 1e4;
/** Entries of the matrix of active constraints up to which it is searched for dependent ones. */
const MOST_ENTRIES = 4e6;

/** What is asked for. */
export interface TangentRequest {
  /** The first parameters of the blocks; undefined for all. */
  readonly firsts: Uint32Array | undefined;
  readonly absoluteSigma: boolean;
  readonly robust: boolean | undefined;
}

/** Returns the covariance, row after row. */
export async function tangentCovariance(session: ConstrainedSession, { firsts, absoluteSigma, robust }: TangentRequest): Promise<Float64Array> {
  const { domain, layout } = session;
  const x = await session.call((raw) => raw.download());
  const problem = new Lagrangian(session, 'least-squares');
  const point = await problem.at(x);
  const scales = parameterScales(problem, x);
  const sizes = constraintScales(problem, point, scales);
  const active = activeConstraints(problem, point, sizes);
  const constant = withActiveBounds(problem, point, scales, active);
  const slope = Math.sqrt(await curvature(problem, point, scales)) || 1;
  const scale = new Float64Array(layout.count);
  const weight = session.numParams <= MOST_OF_QR ? WEIGHT_OF_QR : WEIGHT_OF_CHOLESKY;
  for (const i of active) scale[i] = (weight * slope) / ((sizes[i] as number) || 1);
  const zeros = new Float64Array(layout.count);
  // The rows of constraints are 0 here: what is left of their violation is no residual.
  const shift = point.c.slice(0, layout.count).map((c) => -c);
  const rows = layout.parts.reduce((sum, { block }, part) => sum + (domain.enabled[part] === true ? block.numConstraints : 0), 0);
  try {
    await session.call((raw) => {
      // The memory of the mask is transferred to a worker.
      raw.setConstant(constant.slice());
      layout.setStates(raw, { shift, scale, half: zeros, isCut: false });
      layout.setEnabled(raw, (part) => domain.enabled[part] === true);
    });
    const compute = (absolute: boolean, sandwich: boolean) => session.call((raw) => raw.covariance(firsts, absolute, sandwich));
    const inverse = await compute(true, false);
    const isSandwich = robust ?? domain.isRobust;
    if (absoluteSigma && !isSandwich) return inverse;
    const size = Math.sqrt(inverse.length);
    const place = Array.from({ length: size }, (_, k) => k * (size + 1)).reduce((best, at) => ((inverse[at] as number) > (inverse[best] as number) ? at : best), 0);
    const unit = inverse[place] as number;
    // Without a cost all residuals are 0, and so is their variance.
    if (unit === 0 || point.f === 0) return new Float64Array(inverse.length);
    const scaled = await compute(false, false);
    // The module counts the constraints' rows as samples, and its factor tells how many it has.
    const left = Math.round((2 * point.f) / ((scaled[place] as number) / unit));
    const freedom = left - rows + rankOf(problem, point, active, scales, constant);
    if (freedom <= 0) {
      const got = 'as many degrees of freedom as residuals: the variance of the residuals cannot be estimated';
      throw invalidArgument('covariance: functions', got, 'more residuals, or absoluteSigma: true with robust: false');
    }
    if (!isSandwich) return inverse.map((entry) => (entry * 2 * point.f) / freedom);
    const columns = (await session.call((raw) => raw.rank(1e-10))).columns;
    const samples = left + columns;
    const factor = (left / samples) * ((samples - rows) / freedom);
    return (await compute(false, true)).map((entry) => entry * factor);
  } finally {
    await session.call((raw) => raw.setConstant(domain.constant.slice()));
  }
}

/** The constraints that hold with equality: all equalities, and inequalities at their limit. */
function activeConstraints({ ofBlocks, isEnabled, isEquality, session }: Lagrangian, { c }: Point, sizes: Float64Array): number[] {
  // A solve in single precision ends at 1e-5 of a constraint's terms from its limit.
  const tolerance = session.backend === 'gpu' && !session.gradientsOnCpu ? 1e-4 : 1e-8;
  return Array.from({ length: ofBlocks }, (_, i) => i).filter((i) => {
    return isEnabled[i] === 1 && (isEquality[i] === 1 || Math.abs(c[i] as number) <= tolerance * (sizes[i] as number));
  });
}

/** The mask of constant numbers, and of those at bounds that the gradient of the Lagrangian does not lead away from. */
function withActiveBounds(problem: Lagrangian, point: Point, scales: Float64Array, active: readonly number[]): Uint8Array {
  const { session, count } = problem;
  const { lower, upper, constant } = session.domain;
  const multipliers = new Float64Array(count);
  for (const i of active) multipliers[i] = session.multipliers[i] as number;
  const gradient = problem.gradient(point, multipliers);
  const terms = 1e-6 * problem.free.reduce((most, j) => Math.max(most, Math.abs((point.gradient[j] as number) * (scales[j] as number))), 0);
  const mask = constant.slice();
  for (const j of problem.free) {
    const [x, slope] = [point.x[j] as number, (gradient[j] as number) * (scales[j] as number)];
    if ((x <= (lower[j] as number) && slope >= -terms) || (x >= (upper[j] as number) && slope <= terms)) mask[j] = 1;
  }
  return mask;
}

/** How many degrees of freedom active constraints take from those that constants and manifolds leave. */
function rankOf({ count, ofBlocks, session }: Lagrangian, { offsets, columns, entries }: Point, active: readonly number[], scales: Float64Array, constant: Uint8Array): number {
  const places = new Int32Array(session.numParams).fill(-1);
  let size = 0;
  for (let j = 0; j < places.length; j++) if (constant[j] === 0) places[j] = size++;
  const rows = [...Array.from({ length: count - ofBlocks }, (_, k) => ofBlocks + k), ...active];
  if (rows.length * size > MOST_ENTRIES) return active.length;
  const matrix = new Float64Array(rows.length * size);
  rows.forEach((i, row) => {
    for (let k = offsets[i] as number; k < (offsets[i + 1] as number); k++) {
      const place = places[columns[k] as number] as number;
      if (place >= 0) matrix[row * size + place] = (entries[k] as number) * (scales[columns[k] as number] as number);
    }
  });
  return active.length - dependentRows(matrix, size, 1e-9).filter((row) => row >= count - ofBlocks).length;
}

/** Whether any bound or constraint is active at the parameters' current numbers. */
export async function isAnyActive(session: ConstrainedSession): Promise<boolean> {
  const x = await session.call((raw) => raw.download());
  const { lower, upper, constant, enabled } = session.domain;
  return enabled.includes(true) || x.some((number, j) => constant[j] === 0 && (number <= (lower[j] as number) || number >= (upper[j] as number)));
}
