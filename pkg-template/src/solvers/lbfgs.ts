/** L-BFGS with a weak Wolfe line search, along manifolds for blocks that have one. */

import { describe, invalidArgument } from '../arguments/errors.js';
import type { OptionNames } from '../arguments/options.js';
import { checkFinite, checkWholeNumber } from '../arguments/numeric-arguments.js';
import type { GpuCompiledFunctions } from '../compile/functions.js';
import { restoration } from './levenberg-marquardt.js';
import { checkFunctions, runConstrained, runSolver, SOLVE_OPTIONS, stoppingTests, type RawSolver, type SolveOptions, type SolveResult, type Solver } from './solve-options.js';

/**
 * Options of L-BFGS. `gradientTolerance`: each entry of the gradient relative to its own largest value in the run. `costTolerance` and
 * `parameterTolerance` end a run where the gradient has come to rest too, so that a stop with badly scaled parameters is no success. Of sums
 * `costTolerance` is relative to the cost or to its fall, whichever is smaller: a number that is added to energies makes no success.
 */
export interface LbfgsOptions extends SolveOptions {
  /** Number of history pairs; 10 by default. */
  historySize?: number;
  /** Maximum number of evaluations in one line search; 20 by default. */
  maxLineSearchSteps?: number;
  /** Constant of the sufficient-decrease condition, 0 < c1 < 0.5; 1e-4 by default. */
  c1?: number;
  /** Constant of the curvature condition, c1 < c2 < 1; 0.9 by default. */
  c2?: number;
  /** 'sum' minimises Σ weight·f, 'least-squares' ½ Σ weight·ρ(‖r‖²). Default 'sum'. */
  objective?: 'sum' | 'least-squares';
}

/** Their names. */
export const LBFGS_OPTIONS: OptionNames<LbfgsOptions> = {
  ...SOLVE_OPTIONS,
  historySize: true,
  maxLineSearchSteps: true,
  c1: true,
  c2: true,
  objective: true,
};

/**
 * Minimises Σ weight·f, or the least-squares cost, from the current parameters, and writes the best point back to them. Parameters should be
 * of similar size. Constraints of the problem are met as by `levenbergMarquardt`. A sum that falls without a bound ends with 'non-finite', and `message` says so. Blocks on manifolds
 * stay on them; the history is in tangent coordinates. Rejects with 'non-finite' where the start is not finite, with 'device-lost', with
 * 'disposed', with 'invalid-argument' for options out of range and for blocks without a nearest point on their manifold, and with any
 * exception of `onIteration`, which ends the solve.
 */
export async function lbfgs(functions: GpuCompiledFunctions, options: LbfgsOptions = {}): Promise<SolveResult> {
  checkFunctions('lbfgs', functions);
  return lbfgsSolver('lbfgs', options)(functions);
}

/** Returns L-BFGS with checked options. `call` names the function in messages. Throws 'invalid-argument'. */
export function lbfgsSolver(call: string, options: LbfgsOptions): Solver {
  const tests = stoppingTests(call, options, LBFGS_OPTIONS);
  const { historySize = 10, maxLineSearchSteps = 20, c1 = 1e-4, c2 = 0.9, objective = 'sum' } = options;
  checkWholeNumber(`${call}: historySize`, historySize, 1);
  checkWholeNumber(`${call}: maxLineSearchSteps`, maxLineSearchSteps, 1);
  checkFinite(`${call}: c1`, c1);
  checkFinite(`${call}: c2`, c2);
  // With c1 ≥ ½ the line search would reject the exact minimiser of a parabola.
  if (!(0 < c1 && c1 < 0.5)) throw invalidArgument(`${call}: c1`, describe(c1), 'a number above 0 and below 0.5');
  if (!(c1 < c2 && c2 < 1)) throw invalidArgument(`${call}: c2`, describe(c2), `a number above c1, here ${c1}, and below 1`);
  if (objective !== 'sum' && objective !== 'least-squares') throw invalidArgument(`${call}: objective`, describe(objective), "'sum' or 'least-squares'");
  const leastSquares = Number(objective === 'least-squares');
  const settings = { ...tests, historySize, maxLineSearchSteps, c1, c2, leastSquares };
  return (functions) => {
    const raw = { ...settings, takeOver: Number(functions.canMoveToCpu), readBack: Number(functions.enabledConstraint !== null || (options.readBack ?? true)) };
    const solver: RawSolver = (handle, within, onIteration, aborted) => handle.lbfgs({ ...raw, ...within }, onIteration, aborted);
    if (functions.enabledConstraint === null) return runSolver(functions, options, solver, objective === 'least-squares');
    return runConstrained(call, functions, options, { objective, tests, inner: solver, restore: restoration(functions) });
  };
}
