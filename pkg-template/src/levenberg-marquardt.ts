/** Levenberg-Marquardt: nonlinear least squares. */

import { describe, invalidArgument } from './errors.js';
import type { GpuCompiledFunctions } from './functions.js';
import { checkFinite, checkWholeNumber } from './numeric-arguments.js';
import { checkFunctions, runSolver, stoppingTests, type SolveOptions, type SolveResult } from './solve-options.js';

/** What solves the linear system of a step. */
export type LinearSolver = 'auto' | 'pcg' | 'sparse-cholesky' | 'dense-qr';

/** Options of Levenberg-Marquardt. */
export interface LevenbergMarquardtOptions extends SolveOptions {
  /**
   * 'auto' (default) chooses by size and sparsity, and the report says what and why. With functions on the GPU, 'auto' or 'pcg'; else
   * 'invalid-argument'.
   */
  linearSolver?: LinearSolver;
  /** λ of λ·D at the start, D the largest diagonal of JᵀJ so far, clamped to [1e-6, 1e32]; 1e-3 by default. */
  initialDamping?: number;
  /** Iterations of conjugate gradients in one step, at most; 100 by default. */
  maxLinearIterations?: number;
  /** The forcing term's ceiling, below 1; 0 runs all maxLinearIterations. 0.1 by default. */
  linearTolerance?: number;
}

const LINEAR_SOLVERS: readonly LinearSolver[] = ['auto', 'pcg', 'sparse-cholesky', 'dense-qr'];

/**
 * Minimises ½ Σ weight·ρ(‖r(x)‖²) from the current parameters, and writes the best point found back to them. `maxIterations` counts
 * rejected steps too. Rejects with 'non-finite' where the start is not finite, 'device-lost', 'disposed', and 'invalid-argument' for
 * options out of range; what `onIteration` throws ends the solve and rejects with it.
 */
export async function levenbergMarquardt(
  functions: GpuCompiledFunctions,
  options: LevenbergMarquardtOptions = {},
): Promise<SolveResult> {
  checkFunctions('levenbergMarquardt', functions);
  const tests = stoppingTests('levenbergMarquardt', options, functions.backend);
  const { linearSolver = 'auto', initialDamping = 1e-3, maxLinearIterations = 100, linearTolerance = 0.1 } = options;
  if (!LINEAR_SOLVERS.includes(linearSolver)) {
    throw invalidArgument('levenbergMarquardt: linearSolver', describe(linearSolver), `one of '${LINEAR_SOLVERS.join("', '")}'`);
  }
  if (functions.backend === 'gpu' && linearSolver !== 'auto' && linearSolver !== 'pcg') {
    throw invalidArgument('levenbergMarquardt: linearSolver', describe(linearSolver), "'auto' or 'pcg' with functions on the GPU");
  }
  checkFinite('levenbergMarquardt: initialDamping', initialDamping, 0);
  checkWholeNumber('levenbergMarquardt: maxLinearIterations', maxLinearIterations, 1);
  checkFinite('levenbergMarquardt: linearTolerance', linearTolerance, 0);
  if (linearTolerance >= 1) throw invalidArgument('levenbergMarquardt: linearTolerance', describe(linearTolerance), 'a number of at least 0 and below 1');
  const raw = {
    ...tests,
    linearSolver,
    initialDamping,
    maxLinearIterations,
    linearTolerance,
    readBack: Number(options.readBack ?? true),
    takeOver: Number(functions.mayTakeOver),
  };
  return runSolver(functions, options, (handle, onIteration, aborted) => handle.levenbergMarquardt(raw, onIteration, aborted));
}

/** The names that ScalarAutograd's users know. */
export const NonlinearLeastSquares: {
  /** The same as {@link levenbergMarquardt}. */
  solve(functions: GpuCompiledFunctions, options?: LevenbergMarquardtOptions): Promise<SolveResult>;
} = Object.freeze({ solve: levenbergMarquardt });
