/** Compiling, solving and disposing in one call. */

import { describe, invalidArgument } from '../arguments/errors.js';
import { checkOptions, pickOptions } from '../arguments/options.js';
import { checkCompileOptions, COMPILE_OPTIONS, type CompileOptions } from '../compile/compile.js';
import { GpuCompiledFunctions } from '../compile/functions.js';
import { isForCore } from '../compile/small.js';
import { inCore } from '../module/core.js';
import { here, type Host } from '../module/loading.js';
import { Problem } from '../problem/problem.js';
import { LBFGS_OPTIONS, lbfgsSolver, type LbfgsOptions } from './lbfgs.js';
import { checkGpuOptions, LEVENBERG_MARQUARDT_OPTIONS, levenbergMarquardtSolver, needsCpu, type LevenbergMarquardtOptions } from './levenberg-marquardt.js';
import { NEWTON_OPTIONS, newtonSolver, type NewtonOptions } from './newton.js';
import type { Solver, SolveResult } from './solve-options.js';

/**
 * Compiles a problem, minimises its least-squares cost ½ Σ weight·ρ(‖r‖²), or with L-BFGS and Newton's method what `objective` names, and frees all memory.
 * The result is written back to the problem's parameter arrays, so `readBack: false` rejects with 'invalid-argument'. `method` is the solver, 'lm'
 * (default), 'lbfgs' or 'newton'. By default L-BFGS minimises the least-squares cost here, and Newton's method the sum Σ weight·f. With backend 'auto' and a
 * linear solver that the CPU alone has, and with Newton's method, the compile is for the CPU.
 *
 * Rejects with the errors of compiling and of the solver; options are checked before the compile. A signal that fires before the compile has ended
 * rejects with 'aborted', a later one ends the solve.
 */
export function solve(
  problem: Problem,
  options: CompileOptions & ((LevenbergMarquardtOptions & { method?: 'lm' }) | (LbfgsOptions & { method: 'lbfgs' }) | (NewtonOptions & { method: 'newton'; readBack?: boolean })) = {},
): Promise<SolveResult> {
  if (!(problem instanceof Problem) || !isForCore(problem, options ?? {})) return solveOn(here, problem, options);
  const start = problem.arrays.map((array) => array.values());
  return inCore(true, (host, isAgain) => (isAgain ? withValues(problem, start, () => solveOn(host, problem, options)) : solveOn(host, problem, options)));
}

/** Does work with the values that arrays had. Numbers that were set since then take no part in it, and keep what they were set to. */
async function withValues<T>(problem: Problem, start: readonly Float64Array[], work: () => Promise<T>): Promise<T> {
  const edited = problem.arrays
    .map((array, k) => ({ array, before: start[k] ?? new Float64Array(0), late: array.values() }))
    .filter(({ before, late }) => before.some((number, i) => !Object.is(number, late[i])));
  for (const { array, before, late } of edited) array.set(late.map((number, i) => before[i] ?? number));
  try {
    return await work();
  } finally {
    for (const { array, before, late } of edited) array.set(array.values().map((number, i) => (Object.is(before[i], late[i]) ? number : (late[i] ?? number))));
  }
}

/** solve() on a host. */
export async function solveOn(host: Host, problem: Problem, options: NonNullable<Parameters<typeof solve>[1]>): Promise<SolveResult> {
  if (!(problem instanceof Problem)) throw invalidArgument('solve: problem', describe(problem), 'a Problem');
  const own = options?.method === 'lbfgs' ? LBFGS_OPTIONS : options?.method === 'newton' ? NEWTON_OPTIONS : LEVENBERG_MARQUARDT_OPTIONS;
  checkOptions('solve: options', options, { ...COMPILE_OPTIONS, ...own, method: true, readBack: true });
  const { method, readBack } = options;
  if (method !== undefined && method !== 'lm' && method !== 'lbfgs' && method !== 'newton') {
    throw invalidArgument('solve: method', describe(method), "'lm', 'lbfgs' or 'newton'");
  }
  if (readBack === false) throw invalidArgument('solve: readBack', 'false', 'true: the functions are disposed when solve() returns');
  const ofCompile = pickOptions(options, COMPILE_OPTIONS);
  checkCompileOptions(host, 'solve', ofCompile);
  const solver = solverOf(options);
  const isForCpu = needsHost(options);
  const functions = await GpuCompiledFunctions.compileOnce(host, problem, isForCpu ? { ...ofCompile, backend: 'cpu' } : ofCompile);
  try {
    return await solver(functions);
  } finally {
    functions.dispose();
  }
}

/** Whether 'auto' takes the CPU, since the solver that the options name runs there alone, or is exact there. */
function needsHost(options: NonNullable<Parameters<typeof solve>[1]>): boolean {
  if (options.method === 'lbfgs' || options.backend === 'gpu') return false;
  return options.method === 'newton' || needsCpu(pickOptions(options, LEVENBERG_MARQUARDT_OPTIONS));
}

/** Returns the solver that the options name. Throws 'invalid-argument', also for options that the requested engine does not take. */
function solverOf(options: NonNullable<Parameters<typeof solve>[1]>): Solver {
  if (options.method === 'lbfgs') return lbfgsSolver('solve', { objective: 'least-squares', ...pickOptions(options, LBFGS_OPTIONS) });
  if (options.method === 'newton') return newtonSolver('solve', pickOptions(options, NEWTON_OPTIONS));
  const own = pickOptions(options, LEVENBERG_MARQUARDT_OPTIONS);
  const solver = levenbergMarquardtSolver('solve', own);
  if (options.backend === 'gpu') checkGpuOptions('solve', own, true);
  return solver;
}
