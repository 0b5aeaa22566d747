/** Levenberg-Marquardt: nonlinear least squares. */

import { describe, invalidArgument } from '../arguments/errors.js';
import type { OptionNames } from '../arguments/options.js';
import { checkFinite, checkWholeNumber } from '../arguments/numeric-arguments.js';
import type { GpuCompiledFunctions } from '../compile/functions.js';
import type { InnerSolver } from './constrained/augmented.js';
import { checkChange, type ChangeProblem } from './changing.js';
import { checkFunctions, runChanging, runConstrained, runSolver, SOLVE_OPTIONS, stoppingTests, type RawSolver, type SolveOptions, type SolveResult, type Solver } from './solve-options.js';

/** The solver of a step's linear system. */
export type LinearSolver = 'auto' | 'pcg' | 'sparse-cholesky' | 'dense-qr' | 'sparse-schur' | 'dense-schur' | 'iterative-schur';

/**
 * How steps are bounded. On the CPU both bound them by a radius; 'dogleg' has exact linear systems, where the other may use conjugate gradients. On the GPU
 * 'levenberg-marquardt' is damping.
 */
export type TrustRegion = 'levenberg-marquardt' | 'dogleg';

/** Options of Levenberg-Marquardt. */
export interface LevenbergMarquardtOptions extends SolveOptions {
  /**
   * 'auto' (default) chooses by size and sparsity; the report states the choice and its reason. Functions on the GPU take 'auto', 'pcg'
   * or 'iterative-schur'; anything else is 'invalid-argument'. With 'auto' long chains and narrow bands that have as many residuals as parameters are solved by
   * a factorisation on the CPU: conjugate gradients on the GPU would use up their iterations. For a linear solver that the CPU alone has
   * `solve(problem, options)` with backend 'auto' compiles for the CPU.
   */
  linearSolver?: LinearSolver;
  /**
   * How steps are bounded, 'levenberg-marquardt' by default. With 'dogleg' a rejected step is followed by a shorter one on the same path, without a
   * new linear system. It runs on the CPU, where functions of `backend: 'auto'` are solved with it; with `backend: 'gpu'`, or 'pcg' or
   * 'iterative-schur' as `linearSolver`, it is 'invalid-argument'. `damping` in the history is that with which a step along the gradient is as long as the radius.
   */
  trustRegion?: TrustRegion;
  /**
   * The initial λ of the damping λ·D, where D is the diagonal of JᵀJ. On the CPU, where a radius bounds steps, the first radius is the length that a step against the
   * gradient has with it, and without it the length of the parameters, both in units of D. On the GPU 1e-4 by default.
   */
  initialDamping?: number;
  /**
   * Called before each iteration, with its number and the point: for correspondences of ICP, reweighting, annealing. It may change what can change between solves
   * (data, weights, losses, bounds, constants, values), and may call the functions, which are free meanwhile. The iteration begins with the changes. The solve
   * ends where an iteration converges with the data that it began with, unless `beforeIteration` returned true. `maxIterations` is 100 by default then. Functions
   * on the GPU with `readBack: false` read the point back only where `x` is read. An exception ends the solve and rejects it. A signal
   * takes effect when the promise that was returned settles. 'invalid-argument' for enabled constraints and graduated losses, also those that it sets.
   */
  beforeIteration?: ChangeProblem;
  /** Maximum number of iterations of conjugate gradients in one step; 500 by default. */
  maxLinearIterations?: number;
  /** The upper bound of the forcing term, at least 0 and below 1; with 0 every step runs maxLinearIterations. 0.1 by default. */
  linearTolerance?: number;
}

/** Their names. */
export const LEVENBERG_MARQUARDT_OPTIONS: OptionNames<LevenbergMarquardtOptions> = {
  ...SOLVE_OPTIONS,
  linearSolver: true,
  trustRegion: true,
  initialDamping: true,
  beforeIteration: true,
  maxLinearIterations: true,
  linearTolerance: true,
};

const TRUST_REGIONS: readonly TrustRegion[] = ['levenberg-marquardt', 'dogleg'];
const LINEAR_SOLVERS: readonly LinearSolver[] = ['auto', 'pcg', 'sparse-cholesky', 'dense-qr', 'sparse-schur', 'dense-schur', 'iterative-schur'];

const ON_GPU: readonly LinearSolver[] = ['auto', 'pcg', 'iterative-schur'];

/**
 * Minimises ½ Σ weight·ρ(‖r(x)‖²) from the current parameters, and writes the best point back to them. Constraints of the problem are met, and `constraints` of the result
 * says how; `linearSolver` and the like are then of the solves within, and `maxIterations` counts all of their steps. `maxIterations` includes rejected
 * steps. Rejects with 'non-finite' where the start is not finite, with 'device-lost', with 'disposed', with 'invalid-argument' for options
 * out of range, and with any exception of `onIteration`, which ends the solve.
 */
export async function levenbergMarquardt(
  functions: GpuCompiledFunctions,
  options: LevenbergMarquardtOptions = {},
): Promise<SolveResult> {
  checkFunctions('levenbergMarquardt', functions);
  return levenbergMarquardtSolver('levenbergMarquardt', options)(functions);
}

/** Returns Levenberg-Marquardt with checked options. `call` names the function in messages. Throws 'invalid-argument'. */
export function levenbergMarquardtSolver(call: string, options: LevenbergMarquardtOptions): Solver {
  const tests = stoppingTests(call, options, LEVENBERG_MARQUARDT_OPTIONS);
  const { beforeIteration } = options;
  checkChange(`${call}: beforeIteration`, beforeIteration);
  const { linearSolver = 'auto', trustRegion = 'levenberg-marquardt', initialDamping, maxLinearIterations = 500, linearTolerance = 0.1 } = options;
  if (!LINEAR_SOLVERS.includes(linearSolver)) {
    throw invalidArgument(`${call}: linearSolver`, describe(linearSolver), `one of '${LINEAR_SOLVERS.join("', '")}'`);
  }
  checkTrustRegion(call, trustRegion, linearSolver);
  if (initialDamping !== undefined) checkFinite(`${call}: initialDamping`, initialDamping, 0);
  checkWholeNumber(`${call}: maxLinearIterations`, maxLinearIterations, 1);
  checkFinite(`${call}: linearTolerance`, linearTolerance, 0);
  if (linearTolerance >= 1) throw invalidArgument(`${call}: linearTolerance`, describe(linearTolerance), 'a number of at least 0 and below 1');
  const damping = initialDamping === undefined ? {} : { initialDamping };
  const settings = { ...tests, ...damping, linearSolver, trustRegion, maxLinearIterations, linearTolerance };
  return async (functions) => {
    if (functions.backend === 'gpu') checkGpuOptions(call, options, !functions.canMoveToCpu);
    const raw = { ...settings, takeOver: Number(functions.canMoveToCpu), readBack: Number(functions.enabledConstraint !== null || (options.readBack ?? true)) };
    const solver: RawSolver = (handle, within, onIteration, aborted) => handle.levenbergMarquardt({ ...raw, ...within }, onIteration, aborted);
    if (beforeIteration !== undefined) return runChanging(call, functions, options, beforeIteration, solver);
    if (functions.enabledConstraint === null) return runSolver(functions, options, solver);
    return runConstrained(call, functions, options, { objective: 'least-squares', tests, inner: solver, restore: solver });
  };
}

/** Levenberg-Marquardt with default settings, for the least squares of constraints alone. */
export function restoration(functions: GpuCompiledFunctions): InnerSolver {
  const settings = { linearSolver: 'auto', trustRegion: 'levenberg-marquardt', maxLinearIterations: 500, linearTolerance: 0.1, readBack: 1 };
  const takeOver = Number(functions.canMoveToCpu);
  return (handle, tests, onIteration, aborted) => handle.levenbergMarquardt({ ...settings, ...tests, takeOver }, onIteration, aborted);
}

/** Whether the options name a linear solver that the CPU alone has. */
export function needsCpu({ linearSolver = 'auto' }: LevenbergMarquardtOptions): boolean {
  return !ON_GPU.includes(linearSolver);
}

/** Throws 'invalid-argument' for options that functions on the GPU do not take; with `staysThere` they cannot move to the CPU. */
export function checkGpuOptions(call: string, options: LevenbergMarquardtOptions, staysThere: boolean): void {
  const { linearSolver, trustRegion } = options;
  if (needsCpu(options)) {
    throw invalidArgument(`${call}: linearSolver`, describe(linearSolver), `one of '${ON_GPU.join("', '")}' with functions on the GPU`);
  }
  if (staysThere && trustRegion === 'dogleg') throw invalidArgument(`${call}: trustRegion`, describe(trustRegion), "'levenberg-marquardt' with backend 'gpu'");
}

function checkTrustRegion(call: string, trustRegion: TrustRegion, linearSolver: LinearSolver): void {
  const refused = (takes: string) => invalidArgument(`${call}: trustRegion`, describe(trustRegion), takes);
  if (!TRUST_REGIONS.includes(trustRegion)) throw refused(`one of '${TRUST_REGIONS.join("', '")}'`);
  if (trustRegion !== 'dogleg') return;
  if (linearSolver === 'pcg' || linearSolver === 'iterative-schur') {
    throw refused(`'levenberg-marquardt' with linearSolver '${linearSolver}', since 'dogleg' uses exact steps again`);
  }
}

/** The solver under the name of ScalarAutograd. */
export const NonlinearLeastSquares: {
  /** The same as {@link levenbergMarquardt}. */
  solve(functions: GpuCompiledFunctions, options?: LevenbergMarquardtOptions): Promise<SolveResult>;
} = Object.freeze({ solve: levenbergMarquardt });
