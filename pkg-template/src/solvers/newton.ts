/** Newton's method with projected Hessians, for energies. */

import { describe, invalidArgument } from '../arguments/errors.js';
import { checkFinite, checkWholeNumber } from '../arguments/numeric-arguments.js';
import type { OptionNames } from '../arguments/options.js';
import type { GpuCompiledFunctions } from '../compile/functions.js';
import { checkChange, type ChangeProblem } from './changing.js';
import { restoration } from './levenberg-marquardt.js';
import { checkFunctions, runChanging, runConstrained, runSolver, stoppingTests, type RawSolver, type SolveOptions, type SolveResult, type Solver } from './solve-options.js';

/**
 * Options of Newton's method. `costTolerance`: a run has converged where the fall that the quadratic model promises, half of the squared Newton decrement, is at
 * most this share of the objective's magnitude, or within rounding of its fall since the start; 1e-8 by default. Steps near a minimum square the error, so that
 * the last one leaves far less.
 */
export interface NewtonOptions extends Omit<SolveOptions, 'gradientTolerance' | 'parameterTolerance' | 'readBack'> {
  /** 'sum' (default) minimises Σ weight·f, 'least-squares' ½ Σ weight·ρ(‖r‖²) with its exact second derivatives. */
  objective?: 'sum' | 'least-squares';
  /** What negative eigenvalues of an instance's Hessian become: 0 with 'clamp' (default), their magnitudes with 'absolute'. */
  projection?: 'clamp' | 'absolute';
  /** Called before each iteration, as that of levenbergMarquardt. */
  beforeIteration?: ChangeProblem;
  /** Maximum number of evaluations in one line search, each with a step of 0.8 times the one before; 64 by default. */
  maxLineSearchSteps?: number;
  /** Constant of the sufficient-decrease condition, 0 < c1 < 0.5; 1e-4 by default. */
  c1?: number;
}

/** Their names. */
export const NEWTON_OPTIONS: OptionNames<NewtonOptions> = {
  maxIterations: true,
  maxTimeMs: true,
  costTolerance: true,
  constraintTolerance: true,
  signal: true,
  onIteration: true,
  verbose: true,
  objective: true,
  projection: true,
  maxLineSearchSteps: true,
  c1: true,
  beforeIteration: true,
};

/**
 * Minimises Σ weight·f, or the least-squares cost, by projected Newton steps from the current parameters, and writes the best point back to them: for energies of
 * many small terms, of which each depends on at most 64 numbers. The exact Hessians of the instances are made positive semi-definite and added up; a line
 * search shortens the step until the objective falls, and where it is not finite, as beyond a barrier. Blocks on manifolds stay on them, constants stay, bounds
 * are kept.
 *
 * On the CPU the sum is factorised as a sparse matrix, in f64. Functions that were compiled for the GPU in f32 are minimised there, by conjugate gradients
 * without a matrix of the whole; with backend 'auto' on the CPU. So are, whatever the backend, blocks on manifolds and of more than 10 numbers, instances of
 * more than 16 numbers, Hessians of very long expressions, what does not fit the GPU's memory, least squares of long sums, and 'f32x2': `arithmetic` of the
 * result says where it was. Rejects with 'non-finite' where the start is not finite, with 'limit-exceeded' for an instance of more than 64 numbers, with
 * 'invalid-argument' for options out of range and plain functions, with 'disposed', and with any exception of `onIteration`, which ends the solve. Constraints
 * of the problem are met as by `levenbergMarquardt`. A point where the gradient vanishes and the curvature is negative, a saddle or a maximum, counts as
 * converged.
 */
export async function newton(functions: GpuCompiledFunctions, options: NewtonOptions = {}): Promise<SolveResult> {
  checkFunctions('newton', functions);
  return newtonSolver('newton', options)(functions);
}

/** Returns Newton's method with checked options. `call` names the function in messages. Throws 'invalid-argument'. */
export function newtonSolver(call: string, options: NewtonOptions): Solver {
  const tests = stoppingTests(call, options, NEWTON_OPTIONS);
  const { maxLineSearchSteps = 64, c1 = 1e-4, objective = 'sum', projection = 'clamp' } = options;
  const { beforeIteration } = options;
  checkChange(`${call}: beforeIteration`, beforeIteration);
  checkWholeNumber(`${call}: maxLineSearchSteps`, maxLineSearchSteps, 1);
  checkFinite(`${call}: c1`, c1);
  if (!(0 < c1 && c1 < 0.5)) throw invalidArgument(`${call}: c1`, describe(c1), 'a number above 0 and below 0.5');
  if (objective !== 'sum' && objective !== 'least-squares') throw invalidArgument(`${call}: objective`, describe(objective), "'sum' or 'least-squares'");
  if (projection !== 'clamp' && projection !== 'absolute') throw invalidArgument(`${call}: projection`, describe(projection), "'clamp' or 'absolute'");
  const { maxIterations, maxTimeMs, costTolerance } = tests;
  const raw = {
    ...(maxIterations === undefined ? {} : { maxIterations }),
    maxTimeMs,
    costTolerance,
    maxLineSearchSteps,
    c1,
    leastSquares: Number(objective === 'least-squares'),
    absolute: Number(projection === 'absolute'),
  };
  const solver: RawSolver = (handle, within, onIteration, aborted) => handle.newton({ ...raw, ...within }, onIteration, aborted);
  return async (functions) => {
    functions.refusePlain(call);
    if (beforeIteration !== undefined) return runChanging(call, functions, options, beforeIteration, solver);
    if (functions.enabledConstraint === null) return runSolver(functions, options, solver, objective === 'least-squares');
    return runConstrained(call, functions, options, { objective, tests, inner: solver, restore: restoration(functions) });
  };
}
