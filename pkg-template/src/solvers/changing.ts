/**
 * Solves in which the caller changes the problem between iterations. Each iteration is a solve of one step, with the radius of the one before, on the GPU its
 * damping. Nothing else of a solve is carried: the scale D of the parameters, which otherwise only grows, is that of the Jacobian at each step's start, and the
 * choice of a model of second order is made anew.
 */

import { describe, invalidArgument } from '../arguments/errors.js';
import type { GpuCompiledFunctions } from '../compile/functions.js';
import type { RawListener } from '../module/raw.js';
import { DAMPING, ROW, type SolveRecord } from '../module/solve-record.js';
import { SolveSeries } from './solve-series.js';
import type { StoppingTests } from './stopping.js';

/** What `beforeIteration` is called with. */
export interface BeforeIteration {
  /** Number of calls before this one. */
  readonly iteration: number;
  /**
   * All parameters at the current point, array after array in order of creation, as `functions.download()` gives them. On the GPU they are read back
   * when the property is read, and not otherwise.
   */
  readonly x: Promise<Float64Array>;
}

/** Changes the problem before an iteration. True, or a promise of it, lets the solve go on although it has converged. */
export type ChangeProblem = (before: BeforeIteration) => boolean | void | Promise<boolean | void>;

/** Where the next solve begins: the radius of the last step on the CPU, its damping on the GPU. */
export interface Continuation {
  initialRadius?: number;
  initialDamping?: number;
}

/** Most iterations by default. */
const MOST_ITERATIONS = 100;

/** Throws 'invalid-argument' unless `change` is a function or absent. */
export function checkChange(argument: string, change: unknown): void {
  if (change !== undefined && typeof change !== 'function') throw invalidArgument(argument, describe(change), 'a function');
}

/** Solves step by step, each after the caller's changes. `step` runs one solve with limits and a beginning. */
export async function solveChanging(
  functions: GpuCompiledFunctions,
  change: ChangeProblem,
  limits: Partial<StoppingTests>,
  listen: RawListener,
  step: (within: Partial<StoppingTests> & Continuation, listen: RawListener) => Promise<{ result: SolveRecord; additions: string }>,
): Promise<{ result: SolveRecord; additions: string }> {
  const { maxIterations = MOST_ITERATIONS } = limits;
  const series = new SolveSeries({ ...limits, maxIterations }, listen);
  let from: Continuation = {};
  // A solve of a problem that has converged takes no step: calls are limited, as steps are.
  for (let [iteration, initialCost] = [0, NaN]; ; iteration++) {
    const goesOn = (await change({ iteration, get x() { return functions.download(); } })) === true;
    const { result, additions } = await step({ ...series.within(1), ...from }, series.listener());
    if (iteration === 0) ({ initialCost } = result);
    series.add(result);
    from = continuation(result);
    let { success, termination } = result;
    // A step may have led to the minimum for these data; whether it is one for those of the next iteration is not known before them.
    const isAtEnd = success && (result.iterations === 0 || termination !== 'gradient-tolerance') && !goesOn;
    if (!isAtEnd && (success || termination === 'max-iterations')) {
      const limit = iteration + 1 >= maxIterations ? 'max-iterations' : series.limit;
      if (!series.isEnded && limit === null) continue;
      [success, termination] = [false, series.isEnded ? 'aborted' : (limit as string)];
    }
    return { result: { ...result, ...series.totals(), initialCost, success, termination, message: messageOf(result, termination, iteration + 1) }, additions };
  }
}

/** The message of the last step, or that of the limit which ended the series. */
function messageOf({ message, termination }: SolveRecord, end: string, calls: number): string {
  const changed = `beforeIteration was called ${calls} times.`;
  if (end === termination && end !== 'max-iterations') return `${message} ${changed}`;
  const why = { 'max-iterations': 'at its limit of iterations', 'max-time': 'at its limit of time' }[end] ?? 'by the caller';
  return `Stopped ${why}. ${changed}`;
}

function continuation({ radius, rows, success }: SolveRecord): Continuation {
  // What converged says nothing of steps in a problem that has changed.
  if (success) return {};
  if (radius > 0 && radius < Infinity) return { initialRadius: radius };
  const damping = rows[rows.length - ROW + DAMPING];
  return damping !== undefined && Number.isFinite(damping) ? { initialDamping: damping } : {};
}
