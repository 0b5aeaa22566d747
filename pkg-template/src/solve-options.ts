/** What all solvers share: when to stop, how to listen, what comes out. */

import { checkSignal } from './compile.js';
import { describe, invalidArgument } from './errors.js';
import { GpuCompiledFunctions } from './functions.js';
import { checkFinite, checkOptions, checkWholeNumber } from './numeric-arguments.js';
import type { RawFunctions, RawIteration, RawListener, RawSolveResult } from './raw.js';
import { Stop, type Stopped } from './stop.js';

/** Why a solver ended. An abort, or true from onIteration, resolves with 'aborted'. */
export type Termination =
  /** Converged: the cost, the gradient or the step changed less than its tolerance. */
  | 'cost-tolerance'
  | 'gradient-tolerance'
  | 'parameter-tolerance'
  /** Stopped; the best point so far is kept. */
  | 'max-iterations'
  | 'max-time'
  | 'aborted'
  /** No further progress in this arithmetic; the best point so far is kept. */
  | 'precision-limit'
  /** Could not go on; the best point so far is kept. */
  | 'line-search-failed'
  | 'trust-region-collapsed'
  | 'non-finite';

/** One iteration of a solver. */
export interface IterationSummary {
  /** From 0, which is the start. */
  iteration: number;
  /** Objective at the current point. */
  cost: number;
  /** How much the objective fell. */
  costChange: number;
  /** Largest entry of the gradient, by magnitude. */
  gradientMaxNorm: number;
  /** Length of the step. */
  stepNorm: number;
  /** Whether the step was taken. */
  accepted: boolean;
  /** λ, with Levenberg-Marquardt. */
  damping?: number;
  /** Actual over predicted reduction, with Levenberg-Marquardt. */
  gainRatio?: number;
  /** Iterations of the linear solver, where it is iterative. */
  linearIterations?: number;
  /** Factor of the search direction, with a line search. */
  stepSize?: number;
  /** Milliseconds since the solve began. */
  elapsedMs: number;
}

/** What came of a solve. */
export interface SolveResult {
  /** It converged. */
  success: boolean;
  /** Why it ended. */
  termination: Termination;
  /** The same for people. */
  message: string;
  /** Steps tried. */
  iterations: number;
  /** Evaluations of the objective. */
  functionEvaluations: number;
  /** Objective at the start. */
  initialCost: number;
  /** Objective at the end. */
  finalCost: number;
  /** Milliseconds. */
  computationTime: number;
  /** All parameters, array after array in order of creation; also written back to them. Empty with readBack: false. */
  x: Float64Array;
  /** Every iteration. */
  history: IterationSummary[];
  /** The run as a table, in the manner of Ceres. */
  report(): string;
}

/** What all solvers take. A tolerance of 0 switches its test off. */
export interface SolveOptions {
  /** Iterations at most, rejected steps among them; a whole number from 0, 100 by default. */
  maxIterations?: number;
  /** Milliseconds at most, above 0; none by default. */
  maxTimeMs?: number;
  /** Ends the solve when a step changes the cost by no more than this part of it; 1e-6 by default. */
  costTolerance?: number;
  /** Ends the solve when the largest entry of the gradient, by magnitude, is no more than this; 1e-6 by default. */
  gradientTolerance?: number;
  /** Ends the solve when a step is no longer than this part of the parameters' length; by default 1e-8 on the CPU, 1e-6 on the GPU. */
  parameterTolerance?: number;
  /** Ends the solve with 'aborted' and the best point so far. */
  signal?: AbortSignal;
  /**
   * Called as results arrive, without holding the GPU up; return true to stop. The answer counts at once: a solve whose listener returns a
   * promise ends and rejects with 'invalid-argument'.
   */
  onIteration?: (summary: IterationSummary) => boolean | void;
  /** false leaves the parameters on the GPU: x is empty and values() as before until download(). Default true. */
  readBack?: boolean;
  /** Prints each iteration and the outcome to the console; false by default. */
  verbose?: boolean;
}

/** The stopping tests, every one filled in. */
export interface StoppingTests {
  maxIterations: number;
  maxTimeMs: number;
  costTolerance: number;
  gradientTolerance: number;
  parameterTolerance: number;
}

/** Throws 'invalid-argument' unless these are compiled functions. */
export function checkFunctions(solver: string, functions: unknown): asserts functions is GpuCompiledFunctions {
  if (!(functions instanceof GpuCompiledFunctions)) throw invalidArgument(`${solver}: functions`, describe(functions), 'GpuCompiledFunctions');
}

/** Checks the options that all solvers share and fills the stopping tests in. */
export function stoppingTests(solver: string, options: SolveOptions, backend: 'gpu' | 'cpu'): StoppingTests {
  checkOptions(`${solver}: options`, options);
  const { maxIterations = 100, maxTimeMs = Infinity, costTolerance = 1e-6, gradientTolerance = 1e-6 } = options;
  const { parameterTolerance = backend === 'cpu' ? 1e-8 : 1e-6, onIteration, readBack, verbose } = options;
  checkWholeNumber(`${solver}: maxIterations`, maxIterations, 0);
  if (typeof maxTimeMs !== 'number' || !(maxTimeMs > 0)) throw invalidArgument(`${solver}: maxTimeMs`, describe(maxTimeMs), 'milliseconds, above 0');
  checkFinite(`${solver}: costTolerance`, costTolerance, 0);
  checkFinite(`${solver}: gradientTolerance`, gradientTolerance, 0);
  checkFinite(`${solver}: parameterTolerance`, parameterTolerance, 0);
  checkSignal(`${solver}: signal`, options.signal);
  if (onIteration !== undefined && typeof onIteration !== 'function') throw invalidArgument(`${solver}: onIteration`, describe(onIteration), 'a function');
  for (const [name, flag] of [['readBack', readBack], ['verbose', verbose]] as const) {
    if (flag !== undefined && typeof flag !== 'boolean') throw invalidArgument(`${solver}: ${name}`, describe(flag), 'true or false');
  }
  return { maxIterations, maxTimeMs, costTolerance, gradientTolerance, parameterTolerance };
}

/** Runs a solver of the module with the options that all share, and gives its result the public shape. */
export async function runSolver(
  functions: GpuCompiledFunctions,
  options: SolveOptions,
  solver: (
    handle: RawFunctions,
    onIteration: RawListener,
    aborted: Stopped,
  ) => Promise<RawSolveResult>,
): Promise<SolveResult> {
  const { signal, onIteration, verbose = false, readBack = true } = options;
  let failure: { thrown: unknown } | null = null;
  const hear = (summary: RawIteration): boolean => {
    if (failure !== null || functions.isDisposed) return true;
    if (verbose) console.log(iterationLine(summary));
    try {
      const answer: unknown = onIteration?.({ ...summary });
      refusePromise(answer);
      return answer === true;
    } catch (thrown) {
      // An exception must not pass through the module; it ends the solve and is thrown from there.
      failure = { thrown };
      return true;
    }
  };
  const listen: RawListener = Object.assign(hear, { isDeaf: onIteration === undefined && !verbose });
  const stop = new Stop(signal);
  // What was disposed during the solve is not worth going on for.
  const forget = functions.whenDisposed(stop.fire);
  const raw = await functions
    .solveWith((handle) => solver(handle, listen, stop.isStopped), readBack)
    .finally(() => {
      stop.end();
      forget();
    });
  const thrownByListener = failure as { thrown: unknown } | null;
  if (thrownByListener !== null) throw thrownByListener.thrown;
  const { reportText, ...result } = raw;
  if (verbose) console.log(result.message);
  return {
    ...result,
    termination: result.termination as Termination,
    x: readBack ? result.x : new Float64Array(0),
    report: () => reportText,
  };
}

/** Throws if a listener answers with a promise, which nobody would wait for: an async function never stops a solve. */
function refusePromise(answer: unknown): void {
  const promise = answer as PromiseLike<unknown> | null | undefined;
  if (typeof promise !== 'object' || promise === null || typeof promise.then !== 'function') return;
  // The refusal is all that shall be heard of it.
  Promise.resolve(promise).catch(() => {});
  throw invalidArgument('what onIteration returned', describe(promise), 'true or nothing, at once: it may not be an async function');
}

function iterationLine({ iteration, cost, costChange, gradientMaxNorm, stepNorm }: RawIteration): string {
  const column = (number: number) => number.toExponential(4).padStart(12);
  return `${String(iteration).padStart(5)}  cost ${column(cost)}  change ${column(costChange)}  |gradient| ${column(gradientMaxNorm)}  |step| ${column(stepNorm)}`;
}
