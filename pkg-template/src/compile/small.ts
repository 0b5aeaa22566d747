/** Problems that one solve on the CPU ends before a GPU has started. */

import { Op } from '../expressions/op-codes.js';
import type { Problem } from '../problem/problem.js';
import type { CompileOptions } from './compile.js';
import type { EngineOptions } from './engine-choice.js';

/**
 * Operations of all residuals. A core takes a millisecond or less for these with their derivatives, and a solve some tens of evaluations; a device is there after
 * 50 ms and more, and compiles a kernel in as many (docs/performance.md).
 */
const FEW_OPERATIONS = 100_000;

/** The most parameters of a problem that the core of the module solves: those of curves and small figures, by dense factorisations. */
const FEW_PARAMETERS = 100;

/** Why 'auto' takes the CPU for one solve of a problem; null where it is to be measured. */
export function reasonOfCpu(problem: Problem, { fallbackThreshold, context }: EngineOptions): string | null {
  if (fallbackThreshold !== undefined || context !== undefined) return null;
  const operations = operationsOf(problem);
  return operations < FEW_OPERATIONS ? `operations: ${operations}, fewer than ${FEW_OPERATIONS}: one solve on the CPU ends before a GPU has started` : null;
}

/** Whether one solve is work for the core of the module (module/core.ts): on the CPU, and nothing of the application is called that must not be called again. */
export function isForCore(problem: Problem, options: CompileOptions & { method?: string; onIteration?: unknown; beforeIteration?: unknown }): boolean {
  const { backend, context, method, onIteration, beforeIteration, onProgress } = options;
  if (backend === 'gpu' || (method !== undefined && method !== 'lm') || [context, onIteration, beforeIteration, onProgress].some((option) => option !== undefined)) return false;
  return problem.numParameters <= FEW_PARAMETERS && problem.constraints.length === 0 && (backend === 'cpu' || reasonOfCpu(problem, options) !== null);
}

/** Operations of an evaluation, without plain functions, which run on the CPU in any case; infinite with loops, whose counts the instances have. */
function operationsOf(problem: Problem): number {
  let operations = 0;
  for (const { templates } of [...problem.blocks, ...problem.constraints]) {
    for (const { tape, count, plain } of templates) if (plain === null) operations += tape.ops.includes(Op.loop) ? Infinity : count * tape.ops.length;
  }
  return operations;
}
