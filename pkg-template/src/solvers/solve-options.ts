/** Options, stopping tests and results that all solvers share. */


import { describe, invalidArgument } from '../arguments/errors.js';
import { showInNotebooks } from '../arguments/notebook.js';
import { checkOptions, type OptionNames } from '../arguments/options.js';
import { checkFinite, checkWholeNumber } from '../arguments/numeric-arguments.js';
import { GpuCompiledFunctions } from '../compile/functions.js';
import { Cancellation, checkSignal, type CancellationToken } from '../module/cancellation.js';
import type { IterationSummary, RawFunctions, RawListener } from '../module/raw.js';
import { DAMPING, readSolve, ROW, type Finding, type RawSolveResult } from '../module/solve-record.js';
import { solveChanging, type ChangeProblem, type Continuation } from './changing.js';
import { solveConstrained, type ConstrainedRecord, type ConstrainedSettings } from './constrained/augmented.js';
import type { ConstraintResult } from './constrained/findings.js';
import { solveGraduated, type GraduatedRecord } from './graduated.js';
import { iterationLines } from './iteration-lines.js';
import { reportHtml, reportRows, reportText } from './report.js';
import type { StoppingTests, Termination } from './stopping.js';

export type { IterationSummary } from '../module/raw.js';
export type { StoppingTests, Termination } from './stopping.js';

/** The result of a solve. */
export interface SolveResult {
  /** Whether the solver converged, and the arithmetic could tell. */
  success: boolean;
  /** Why the solve ended. */
  termination: Termination;
  /** The reason as text, with what was found beside it. */
  message: string;
  /** What was found beside the reason, as data: each has its sentence, which `message` has too. */
  findings: readonly Finding[];
  /** The arithmetic that the run ended in. */
  arithmetic: 'f32' | 'f32x2' | 'f64';
  /**
   * The share of the final cost that rounding can explain, from 0 to 1, estimated in f64 on a sample of instances; 0 where everything was f64. Above
   * 1e-3 the run ends with 'precision-limit'. It is estimated where a solve on the GPU converges; with `readBack: false` after the first one and then
   * after every 128th, whose results do not wait for it: the estimate is in the result of the next solve that converges.
   */
  precisionLoss: number;
  /**
   * What the model without a trust region still takes from the cost at the end, in units of the residuals' variance σ² = 2F/(m − n): the square of the distance
   * to the minimum in standard errors, halved. At most 1e-4 where a run of Levenberg-Marquardt has converged, unless the cost itself is rounding. L-BFGS on the CPU has
   * it for a least-squares cost, by the model of its own history, and does not end by a small change of the cost or a short step while it is larger. Not there where
   * no model was made.
   */
  promise?: number;
  /**
   * Newton's method: what the quadratic model still took from the objective at the last point that had one, −gᵀd/2, half of the squared Newton decrement. Not
   * there for other solvers.
   */
  newtonDecrement?: number;
  /** Number of steps, rejected ones included. */
  iterations: number;
  /** Number of evaluations of the objective. */
  functionEvaluations: number;
  /**
   * The objective at the start. NaN, with an empty history, where `maxTimeMs` was over before it was known: the solve has then ended with 'max-time', or
   * with 'aborted' if `signal` had fired too.
   */
  initialCost: number;
  /** The objective at the end, NaN as `initialCost` is. */
  finalCost: number;
  /** Duration in milliseconds. */
  computationTime: number;
  /** All parameters, array after array in order of creation; also written back to the arrays or params. Empty with readBack: false. */
  x: Float64Array;
  /** What became of the constraints, block after block in order of creation. Absent where no constraint block is enabled. */
  constraints?: ConstraintResult[];
  /**
   * All iterations. With constraints the cost of some is that of the augmented Lagrangian; with a graduated loss they are those of all stages, each with the
   * cost of its weighted least squares.
   */
  history: IterationSummary[];
  /**
   * With `loss.graduated` the weight that each instance of such a block ends with, by the block's name: 1 for a residual far below the loss' scale, 0 for an
   * outlier. Absent without such a block. `initialCost` and `finalCost` then are those of the loss itself; counts and times are of all stages.
   */
  lossWeights?: Readonly<Record<string, Float64Array>>;
  /** Returns a table of the run in the format of Ceres. */
  report(): string;
  /**
   * Returns the figures of the report as rows, times in milliseconds: for `console.table` and for the tables of notebooks. `history` has a row for each iteration.
   */
  table(): { title: string; value: number | string }[];
}

/**
 * Options of all solvers. The tolerances are of ratios: multiplying all residuals by a number, or a parameter's unit, changes no decision of
 * Levenberg-Marquardt. A tolerance of 0 disables its test; one below what the arithmetic can tell counts as that (with Levenberg-Marquardt in
 * single precision 5e-7 for gradients and steps, 2e-13 for the cost).
 */
export interface SolveOptions {
  /**
   * Maximum number of iterations, rejected steps included; a whole number from 0. By default 100; Levenberg-Marquardt may make as many as
   * take about a second on the CPU, up to 2,000, where the CPU solves or the problem is small.
   */
  maxIterations?: number;
  /**
   * Maximum time in milliseconds from the call of the solver, above 0; none by default. It includes the kernels that a solve on the CPU makes when they
   * are first needed, between whose pieces a solve ends: the next solve goes on with them. Compiling comes before, in `solve(problem)` too.
   */
  maxTimeMs?: number;
  /**
   * Share of the cost by which a step lowers it, and was predicted to lower it, at which the solve ends; 1e-8 by default. One of at most 1e-15 asks
   * Levenberg-Marquardt for all digits: only what no arithmetic can tell is small enough.
   */
  costTolerance?: number;
  /**
   * Levenberg-Marquardt: the largest cosine between the residuals and a column of the Jacobian at which the solve ends. L-BFGS: the gradient's
   * largest entry, relative to the largest of the run. 1e-8 by default.
   */
  gradientTolerance?: number;
  /**
   * Length of a step relative to that of the parameters, at which the solve ends; with Levenberg-Marquardt in units of the Jacobian's columns.
   * 1e-8 by default.
   */
  parameterTolerance?: number;
  /**
   * The largest violation of a constraint, relative to its terms: the sum of |∂c/∂x · x| over its parameters. By default 1e-10 on the CPU, and on
   * the GPU 1e-5 in f32 and 1e-9 in f32x2. Without effect where no constraint block is enabled.
   */
  constraintTolerance?: number;
  /**
   * Ends the solve with 'aborted' and the best point so far: at the start, where it has fired before. `solve(problem)` rejects with 'aborted' where it
   * fires before the compile has ended.
   */
  signal?: AbortSignal;
  /**
   * Called when an iteration's results arrive, without delaying the GPU; true ends the solve. The result is read at once: if the listener
   * returns a promise, the solve ends and rejects with 'invalid-argument'.
   */
  onIteration?: (summary: IterationSummary) => boolean | void;
  /** false leaves the parameters on the GPU: x is empty, and values() is unchanged until download(). Default true. */
  readBack?: boolean;
  /** Prints each iteration and the outcome to the console; false by default. */
  verbose?: boolean;
}

/** Their names. */
export const SOLVE_OPTIONS: OptionNames<SolveOptions> = {
  maxIterations: true,
  maxTimeMs: true,
  costTolerance: true,
  gradientTolerance: true,
  parameterTolerance: true,
  constraintTolerance: true,
  signal: true,
  onIteration: true,
  readBack: true,
  verbose: true,
};

/** A solver whose options were checked. */
export type Solver = (functions: GpuCompiledFunctions) => Promise<SolveResult>;

/** Throws 'invalid-argument' unless `functions` are compiled functions. */
export function checkFunctions(solver: string, functions: unknown): asserts functions is GpuCompiledFunctions {
  if (!(functions instanceof GpuCompiledFunctions)) throw invalidArgument(`${solver}: functions`, describe(functions), 'GpuCompiledFunctions');
}

/** Checks the options of all solvers and returns the stopping tests with their defaults. Throws 'invalid-argument'. */
export function stoppingTests(
  solver: string,
  options: SolveOptions,
  names: Readonly<Record<string, true>>,
): StoppingTests {
  checkOptions(`${solver}: options`, options, names);
  const { maxIterations, maxTimeMs = Infinity, costTolerance = 1e-8, gradientTolerance = 1e-8 } = options;
  const { parameterTolerance = 1e-8, onIteration, readBack, verbose } = options;
  if (maxIterations !== undefined) checkWholeNumber(`${solver}: maxIterations`, maxIterations, 0);
  if (typeof maxTimeMs !== 'number' || !(maxTimeMs > 0)) throw invalidArgument(`${solver}: maxTimeMs`, describe(maxTimeMs), 'milliseconds, above 0');
  checkFinite(`${solver}: costTolerance`, costTolerance, 0);
  checkFinite(`${solver}: gradientTolerance`, gradientTolerance, 0);
  checkFinite(`${solver}: parameterTolerance`, parameterTolerance, 0);
  if (options.constraintTolerance !== undefined) checkFinite(`${solver}: constraintTolerance`, options.constraintTolerance, 0);
  checkSignal(`${solver}: signal`, options.signal);
  if (onIteration !== undefined && typeof onIteration !== 'function') throw invalidArgument(`${solver}: onIteration`, describe(onIteration), 'a function');
  for (const [name, flag] of [['readBack', readBack], ['verbose', verbose]] as const) {
    if (flag !== undefined && typeof flag !== 'boolean') throw invalidArgument(`${solver}: ${name}`, describe(flag), 'true or false');
  }
  const limit = maxIterations === undefined ? {} : { maxIterations };
  return { ...limit, maxTimeMs, costTolerance, gradientTolerance, parameterTolerance };
}

/** A solver of the module. The limits `within` replace those of the options; Levenberg-Marquardt can begin where another solve ended. */
export type RawSolver = (handle: RawFunctions, within: Partial<StoppingTests> & Continuation, onIteration: RawListener, aborted: CancellationToken) => Promise<RawSolveResult>;

/**
 * Runs a solver of the module with the options of all solvers, and converts its result. `hasLosses` says whether the objective contains the losses of
 * blocks.
 */
export function runSolver(functions: GpuCompiledFunctions, options: SolveOptions, solver: RawSolver, hasLosses = true): Promise<SolveResult> {
  const readBack = options.readBack ?? true;
  return runWith(functions, options, (listen, token) =>
    functions.solveWith<GraduatedRecord>((handle, wait, graduated) => {
      const solve = async (within: Partial<StoppingTests>, hear: RawListener) => readSolve(await wait(() => solver(handle, within, hear, token)));
      if (!hasLosses || graduated.length === 0) return solve({}, listen);
      return solveGraduated(solve, handle, wait, graduated, options, listen, functions.numParams);
    }, readBack),
  );
}

/** Runs a solver of the module, one iteration after the other, with the caller's changes in between. `call` names the function in messages. */
export function runChanging(call: string, functions: GpuCompiledFunctions, options: SolveOptions, change: ChangeProblem, solver: RawSolver): Promise<SolveResult> {
  const readBack = options.readBack ?? true;
  // The caller may set losses and enable constraints in each call.
  const refuse = (): void => {
    functions.refuseGraduated(`${call}: beforeIteration`, 'other losses, or weights that beforeIteration sets');
    const constraint = functions.enabledConstraint;
    if (constraint !== null) throw invalidArgument(`${call}: beforeIteration`, `the constraint block "${constraint.name}"`, 'problems without enabled constraints');
  };
  return runWith(functions, options, (listen, token) =>
    solveChanging(functions, change, options, listen, (within, hear) => {
      refuse();
      return functions.solveWith(async (handle, wait) => readSolve(await wait(() => solver(handle, within, hear, token))), readBack);
    }),
  );
}

/**
 * Runs a solver with constraints around one without. `restore` minimises the least squares of constraints alone. `call` names the function in messages. Throws
 * 'invalid-argument' for graduated losses in the objective.
 */
export function runConstrained(
  call: string,
  functions: GpuCompiledFunctions,
  options: SolveOptions,
  settings: Omit<ConstrainedSettings, 'constraintTolerance'>,
): Promise<SolveResult> {
  if (settings.objective === 'least-squares') functions.refuseGraduated(call, 'other losses in a problem with constraints');
  const { constraintTolerance, readBack = true } = options;
  const all = { ...settings, constraintTolerance };
  return runWith(functions, options, (listen, token) => functions.solveConstrained((session) => solveConstrained(session, all, listen, token), readBack));
}

async function runWith(
  functions: GpuCompiledFunctions,
  options: SolveOptions,
  run: (onIteration: RawListener, aborted: CancellationToken) => Promise<{ result: GraduatedRecord | ConstrainedRecord; additions: string }>,
): Promise<SolveResult> {
  const { signal, onIteration, verbose = false, readBack = true } = options;
  let failure: { thrown: unknown } | null = null;
  const hear = (summary: IterationSummary): boolean => {
    if (failure !== null || functions.isDisposed) return true;
    if (verbose) console.log(iterationLine(summary));
    try {
      const answer: unknown = onIteration?.({ ...summary });
      refusePromise(answer);
      return answer === true;
    } catch (thrown) {
      // An exception must not pass through the module. It ends the solve and is thrown afterwards.
      failure = { thrown };
      return true;
    }
  };
  const listen: RawListener = Object.assign(hear, { isDeaf: onIteration === undefined && !verbose });
  const cancellation = new Cancellation(signal);
  // A solve of functions that are disposed is cancelled.
  const forget = functions.whenDisposed(cancellation.cancel);
  const { result, additions } = await run(listen, cancellation.token).finally(() => {
    cancellation.end();
    forget();
  });
  const thrownByListener = failure as { thrown: unknown } | null;
  if (thrownByListener !== null) throw thrownByListener.thrown;
  const { success, termination, arithmetic, precisionLoss, promise, newtonDecrement, iterations, functionEvaluations, initialCost, finalCost, computationTime } = result;
  const message = additions === '' ? result.message : `${result.message} ${additions}`;
  if (verbose) console.log(message);
  const solved: SolveResult = {
    success,
    termination: termination as Termination,
    message, findings: result.findings, arithmetic, precisionLoss, ...(Number.isNaN(promise) ? {} : { promise }), ...(Number.isNaN(newtonDecrement) ? {} : { newtonDecrement }),
    iterations, functionEvaluations, initialCost, finalCost, computationTime,
    x: readBack ? result.x : new Float64Array(0),
    ...('constraints' in result ? { constraints: result.constraints } : {}),
    ...('lossWeights' in result ? { lossWeights: result.lossWeights } : {}),
    history: iterationsOf(result.rows),
    // The text takes longer than a small solve. The caller may change the history.
    report: () => reportText(result, functions.kernelCount, functions.compileTimes, iterationLines(iterationsOf(result.rows)), additions),
    table: () => reportRows(result, functions.kernelCount, functions.compileTimes),
  };
  return showInNotebooks(solved, () => ({ 'text/plain': solved.report(), 'text/html': reportHtml(solved.table(), message) }));
}

/** The optional entries of an iteration, in the order of their bits. */
const OPTIONAL = ['damping', 'gainRatio', 'linearIterations', 'stepSize'] as const;

/** The iterations of which these are the rows. */
function iterationsOf(rows: ArrayLike<number>): IterationSummary[] {
  const history: IterationSummary[] = [];
  for (let at = 0; at < rows.length; at += ROW) {
    const entry = (column: number): number => rows[at + column] as number;
    const flags = entry(5);
    const summary: IterationSummary = {
      iteration: entry(0),
      cost: entry(1),
      costChange: entry(2),
      gradientMaxNorm: entry(3),
      stepNorm: entry(4),
      accepted: (flags & 1) !== 0,
      elapsedMs: entry(ROW - 1),
    };
    OPTIONAL.forEach((name, k) => {
      if ((flags & (2 << k)) !== 0) summary[name] = entry(DAMPING + k);
    });
    history.push(summary);
  }
  return history;
}

/** Throws 'invalid-argument' if a listener returns a promise: nothing awaits it, so an async listener could never end a solve. */
function refusePromise(answer: unknown): void {
  const promise = answer as PromiseLike<unknown> | null | undefined;
  if (typeof promise !== 'object' || promise === null || typeof promise.then !== 'function') return;
  // A rejection of that promise must not be reported a second time.
  Promise.resolve(promise).catch(() => {});
  throw invalidArgument('what onIteration returned', describe(promise), 'true or nothing, at once: it may not be an async function');
}

function iterationLine({ iteration, cost, costChange, gradientMaxNorm, stepNorm }: IterationSummary): string {
  const column = (number: number) => number.toExponential(4).padStart(12);
  return `${String(iteration).padStart(5)}  cost ${column(cost)}  change ${column(costChange)}  |gradient| ${column(gradientMaxNorm)}  |step| ${column(stepNorm)}`;
}
