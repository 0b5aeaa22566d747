/** What is small: one solve for which 'auto' takes the CPU, and one for which the core of the module suffices. */

import { Op } from '../expressions/op-codes.js';
import type { Problem } from '../problem/problem.js';
import type { CompileOptions } from './compile.js';
import type { EngineOptions } from './engine-choice.js';

/**
 * Operations of all residuals. A core takes a millisecond or less for these with their derivatives, and a solve some tens of evaluations; a device is there
 * after 50 ms and more, and compiles a kernel in as many (docs/performance.md).
 */
const FEW_OPERATIONS = 100_000;

/** The most parameters and residuals of a problem for the core of the module: those of curves and small figures, which dense factorisations solve. */
const FEW_PARAMETERS = 60;
const FEW_RESIDUALS = 20_000;

/** Linear solvers of the core. */
const DENSE_SOLVERS: readonly unknown[] = [undefined, 'auto', 'dense-qr'];

/** Why 'auto' takes the CPU for one solve of a problem; null where it is to be measured. */
export function reasonOfCpu(problem: Problem, { fallbackThreshold, context }: EngineOptions): string | null {
  if (fallbackThreshold !== undefined || context !== undefined) return null;
  const operations = operationsOf(problem);
  return operations < FEW_OPERATIONS ? `operations: ${operations}, fewer than ${FEW_OPERATIONS}: one solve on the CPU ends before a GPU has started` : null;
}

/** Options of a call whose traces a second try would repeat, or that the core does not serve. */
const NOT_FOR_CORE = ['context', 'onIteration', 'beforeIteration', 'onProgress', 'signal', 'maxTimeMs'];

/**
 * Whether one solve is work for the core of the module (module/core.ts): small, on the CPU, by Levenberg-Marquardt and a dense factorisation, without callbacks
 * of the application that report to it, and without limits of time, which a second try would double. Models may be evaluated a second time.
 */
export function isForCore(problem: Problem, options: CompileOptions & { method?: string; linearSolver?: string }): boolean {
  const { backend, method = 'lm', linearSolver } = options;
  if (backend === 'gpu' || method !== 'lm' || !DENSE_SOLVERS.includes(linearSolver)) return false;
  if (NOT_FOR_CORE.some((name) => (options as Readonly<Record<string, unknown>>)[name] !== undefined)) return false;
  if (problem.numParameters > FEW_PARAMETERS || problem.numResiduals > FEW_RESIDUALS || problem.constraints.length > 0 || problem.grids.length > 0) return false;
  return backend === 'cpu' || reasonOfCpu(problem, options) !== null;
}

/** Operations of an evaluation, without plain functions, which run on the CPU in any case; infinite with loops, whose counts the instances have. */
function operationsOf(problem: Problem): number {
  let operations = 0;
  for (const { templates } of [...problem.blocks, ...problem.constraints]) {
    for (const { tape, count, plain } of templates) if (plain === null) operations += tape.ops.includes(Op.loop) ? Infinity : count * tape.ops.length;
  }
  return operations;
}
