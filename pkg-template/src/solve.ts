/** The one-liner: compiles, solves and disposes. */

import type { CompileOptions } from './compile.js';
import { describe, invalidArgument } from './errors.js';
import { GpuCompiledFunctions } from './functions.js';
import { lbfgs, type LbfgsOptions } from './lbfgs.js';
import { here, type Host } from './loading.js';
import { levenbergMarquardt, type LevenbergMarquardtOptions } from './levenberg-marquardt.js';
import { checkOptions } from './numeric-arguments.js';
import { Problem } from './problem.js';
import type { SolveResult } from './solve-options.js';

/**
 * Compiles a problem, minimises its least-squares cost ½ Σ weight·ρ(‖r‖²) (with L-BFGS, or what `objective` says) and frees what it
 * made. The result is written back to the problem's parameter arrays, so `readBack: false` is refused. `method` names the solver: 'lm',
 * which is the default, or 'lbfgs'.
 *
 * Rejects with what compiling and solving reject with.
 */
export function solve(
  problem: Problem,
  options: CompileOptions & ((LevenbergMarquardtOptions & { method?: 'lm' }) | (LbfgsOptions & { method: 'lbfgs' })) = {},
): Promise<SolveResult> {
  return solveOn(here, problem, options);
}

/** The same on a host. */
export async function solveOn(host: Host, problem: Problem, options: NonNullable<Parameters<typeof solve>[1]>): Promise<SolveResult> {
  if (!(problem instanceof Problem)) throw invalidArgument('solve: problem', describe(problem), 'a Problem');
  checkOptions('solve: options', options);
  const { method, readBack } = options;
  if (method !== undefined && method !== 'lm' && method !== 'lbfgs') throw invalidArgument('solve: method', describe(method), "'lm' or 'lbfgs'");
  if (readBack === false) throw invalidArgument('solve: readBack', 'false', 'true: what was solved is gone when it returns');
  const functions = await GpuCompiledFunctions.on(host).compile(problem, options);
  try {
    if (options.method === 'lbfgs') return await lbfgs(functions, { ...options, objective: options.objective ?? 'least-squares' });
    return await levenbergMarquardt(functions, options);
  } finally {
    functions.dispose();
  }
}
