/** Curve fits: a model, measurements and start values in, parameters with their uncertainty out. */

import { describe, invalidArgument, ResiduaError } from '../arguments/errors.js';
import { showInNotebooks } from '../arguments/notebook.js';
import { checkFlag, checkOptions, pickOptions, type OptionNames } from '../arguments/options.js';
import { copyBounds, copyNumbers, copyNumbersOfLength, type Numbers } from '../arguments/numeric-arguments.js';
import { checkCompileOptions, COMPILE_OPTIONS, type CompileOptions } from '../compile/compile.js';
import { GpuCompiledFunctions } from '../compile/functions.js';
import { isForCore } from '../compile/small.js';
import { V } from '../expressions/v.js';
import type { Scalar, Value } from '../expressions/value.js';
import { inCore } from '../module/core.js';
import { here, type Host } from '../module/loading.js';
import type { Loss } from '../problem/loss.js';
import type { Differences, PlainFunction } from '../problem/plain-instances.js';
import { Problem } from '../problem/problem.js';
import { covariance } from './covariance.js';
import { fitHtml, fitReport } from './fit-report.js';
import { modelOf, type Names } from './fit-model.js';
import { checkGpuOptions, LEVENBERG_MARQUARDT_OPTIONS, levenbergMarquardtSolver, needsCpu, type LevenbergMarquardtOptions } from './levenberg-marquardt.js';
import type { SolveResult, Termination } from './solve-options.js';

/** Start values: a list, or a record whose names the parameters get. */
export type FitStart = ArrayLike<number> | Readonly<Record<string, number>>;

/** One `T` for each parameter: an array, or a record with the names of the start values. */
export type FitParameters<S extends FitStart, T> = S extends ArrayLike<number> ? T[] : { [K in keyof S]: T };

/** Measurements. */
export interface FitData<X extends number | ArrayLike<number>> {
  /** What the model takes for each sample: a number, or a list of several, as many for each. */
  readonly x: ArrayLike<X>;
  /** The measured values, one for each sample. */
  readonly y: Numbers;
}

/** What a model is called with: numbers, or Values where it returns a Value. The type has the operators of the former and the methods of the latter. */
export type FitScalar = number & Value;

/** What a model takes for a sample. */
export type FitSample<X> = X extends number ? FitScalar : FitScalar[];

/**
 * A model. It computes numbers, as ml-levenberg-marquardt takes it: any JavaScript; or it returns a Value, and is recorded once: its derivatives are exact, and it
 * runs on the GPU, too. It takes x beside the parameters, or returns a function of x.
 */
export type FitModel<S extends FitStart, X> = (parameters: FitParameters<S, FitScalar>, x: FitSample<X>) => Scalar | ((x: FitSample<X>) => Scalar);

/** Options of fit(), beside those of the solver and of compiling. */
export interface FitOptions<S extends FitStart, X = number> extends Omit<CompileOptions, 'batchSize'>, Omit<LevenbergMarquardtOptions, 'readBack'> {
  /** Start values. */
  initialValues: S;
  /** Lower bounds: one for each parameter, in their order or by name. −Infinity, or a name left out, is no bound. */
  minValues?: Numbers | Partial<Readonly<Record<keyof S & string, number>>>;
  /** Upper bounds, likewise. A parameter whose bounds are equal is constant, and has the standard error 0. */
  maxValues?: Numbers | Partial<Readonly<Record<keyof S & string, number>>>;
  /** Weights of the squared residuals: one for each sample, or one for all; 1 by default. Of a measurement with the standard error σ it is 1/σ². A sample of weight 0 is left out. */
  weights?: Numbers | number;
  /** The robust loss of each sample; squared by default. With `loss.graduated` there are no standard errors. */
  loss?: Loss;
  /** Derivatives of a plain model with respect to all parameters: a list in their order. Without it they are differences. */
  jacobianFunction?: (parameters: FitParameters<S, number>) => (x: X) => ArrayLike<number>;
  /** How derivatives of a plain model are approximated without `jacobianFunction`, see `Problem.residuals`; 'central' by default. */
  differences?: Differences;
  /** Whether weights are 1/σ² of known σ, as in `covariance`; false by default: then their common factor is estimated. */
  absoluteSigma?: boolean;
}

/** The result of fit(). Where the covariance does not exist, it and the standard errors are NaN, and `message` has the reason. */
export interface FitResult<S extends FitStart> {
  /** The parameters as the start values were given: an array or a record. */
  parameters: FitParameters<S, number>;
  /** The parameters in their order. */
  parameterValues: number[];
  /** The standard error of each parameter, like `parameters`. */
  standardErrors: FitParameters<S, number>;
  /** n × n numbers, row after row, for n parameters. */
  covariance: Float64Array;
  /** Σ weight · residual². */
  parameterError: number;
  /**
   * The coefficient of determination, 1 − Σ weight · residual² / Σ weight · (y − ȳ)², with the weighted mean ȳ; NaN where all measurements are equal, so that
   * there is nothing to explain.
   */
  rSquared: number;
  /** Model minus measurement, for each sample; 0 for one of weight 0. */
  residuals: Float64Array;
  /** Whether the solver converged: the parameters are a minimum, as its promise says. */
  success: boolean;
  /** Why the run ended. */
  termination: Termination;
  /** The same as a sentence, and why there are no standard errors if there are none. */
  message: string;
  /** What is left to gain, see `SolveResult.promise`. */
  promise?: number;
  /** Steps that were tried. */
  iterations: number;
  /** The result of the solver. */
  solve: SolveResult;
  /** Returns the parameters with their standard errors and the solver's report. */
  report(): string;
  /** Returns a row for each parameter: for `console.table` and for the tables of notebooks. `solve.table()` has the figures of the solver. */
  table(): { parameter: string; value: number; standardError: number }[];
}

const OWN_OPTIONS: OptionNames<Pick<FitOptions<number[]>, 'minValues' | 'maxValues' | 'weights' | 'loss' | 'jacobianFunction' | 'differences' | 'absoluteSigma'> & { initialValues?: unknown }> = {
  initialValues: true,
  minValues: true,
  maxValues: true,
  weights: true,
  loss: true,
  jacobianFunction: true,
  differences: true,
  absoluteSigma: true,
};
const { batchSize: _, ...OF_COMPILE } = COMPILE_OPTIONS;
const { readBack: __, ...OF_SOLVER } = LEVENBERG_MARQUARDT_OPTIONS;
const FIT_OPTIONS = { ...OF_COMPILE, ...OF_SOLVER, ...OWN_OPTIONS };

/**
 * Fits y = f(x): minimises ½ Σ weight · ρ((f(xᵢ) − yᵢ)²) by Levenberg-Marquardt, and estimates the uncertainty of the parameters.
 *
 * The model computes numbers, `(parameters) => (x) => y`, and runs at every evaluation, on the CPU; or it is an expression of Values, `(parameters, x) => y`,
 * which is recorded once and has exact derivatives. Which it is, is what it returns: it is called for the first sample with the start values, and where that
 * gives no number, with Values. Both take both forms of call. A plain model may be evaluated again from the start: its results depend on its arguments alone.
 *
 * Rejects with 'invalid-argument' for data of different lengths, a model that gives neither, and wrong options, with 'non-finite' where the model is
 * not finite at the start or throws, and with the errors of compiling and of the solver.
 */
export async function fit<S extends FitStart, X extends number | ArrayLike<number> = number>(model: FitModel<S, X>, data: FitData<X>, options: FitOptions<S, X>): Promise<FitResult<S>> {
  const { problem, run } = prepareFit(here, model, data, options);
  return inCore(isForCore(problem, options), run);
}

/** fit() on a host. */
export async function fitOn<S extends FitStart, X extends number | ArrayLike<number>>(host: Host, model: FitModel<S, X>, data: FitData<X>, options: FitOptions<S, X>): Promise<FitResult<S>> {
  return prepareFit(host, model, data, options).run(host);
}

/** Checks the arguments of a fit, of which `host` owns the context, and makes its problem. */
function prepareFit<S extends FitStart, X extends number | ArrayLike<number>>(
  host: Host,
  model: FitModel<S, X>,
  data: FitData<X>,
  options: FitOptions<S, X>,
): { problem: Problem; run: (host: Host) => Promise<FitResult<S>> } {
  checkOptions('fit: options', options, FIT_OPTIONS);
  const names = namesOf(options.initialValues);
  const { x, width, y } = checkData(data);
  const { loss, jacobianFunction, differences, absoluteSigma = false } = options;
  if (jacobianFunction !== undefined && typeof jacobianFunction !== 'function') throw invalidArgument('fit: jacobianFunction', describe(jacobianFunction), 'a function');
  if (differences !== undefined && !['central', 'forward', 'ridders'].includes(differences)) throw invalidArgument('fit: differences', describe(differences), "'central', 'forward' or 'ridders'");
  checkFlag('fit: absoluteSigma', absoluteSigma);
  const weights = weightsOf(options.weights, y.length);
  const solverOptions = pickOptions<LevenbergMarquardtOptions>(options, LEVENBERG_MARQUARDT_OPTIONS);
  const compileOptions = pickOptions<CompileOptions>(options, COMPILE_OPTIONS);
  checkCompileOptions(host, 'fit', compileOptions);
  const solver = levenbergMarquardtSolver('fit', solverOptions);
  if (compileOptions.backend === 'gpu') checkGpuOptions('fit', solverOptions, true);

  const problem = new Problem();
  const lower = boundsOf('minValues', options.minValues, names, -Infinity);
  const upper = boundsOf('maxValues', options.maxValues, names, Infinity);
  const fixed = Array.from(names.start.keys()).filter((k) => lower !== null && lower[k] === upper?.[k]);
  for (const k of fixed) names.start[k] = lower?.[k] as number;
  const array = problem.parameters('parameters', { dim: names.start.length, values: names.start });
  if (fixed.length > 0) array.setConstant([0], true, fixed);
  if (lower !== null || upper !== null) array.setBounds({ ...(lower === null ? {} : { lower }), ...(upper === null ? {} : { upper }) });
  const settings = { ...(loss === undefined ? {} : { loss }), ...(weights === null ? {} : { weights }) };
  const found = modelOf(model, names, x, width);
  if (found.kind === 'expression') {
    if (jacobianFunction !== undefined) throw invalidArgument('fit: jacobianFunction', 'one for an expression', 'none: derivatives of expressions are exact');
    const samples = problem.data(x, Math.max(width, 1));
    const measured = problem.data(y);
    problem.residuals('samples', {
      inputs: { parameters: array.shared(), x: samples, y: measured },
      residual: ({ parameters, x, y }) => V.sub(found.record(parameters, x), y),
      ...settings,
    });
  } else {
    const plain: PlainFunction = { ...found.plain(y, jacobianFunction as never), differences: differences ?? 'central', perResidual: true };
    problem.addPlainRows('samples', { inputs: { parameters: array.shared() }, ...settings }, plain);
  }

  const run = async (host: Host): Promise<FitResult<S>> => {
    // A try before this one may have moved them.
    array.set(names.start);
    const forCpu = compileOptions.backend !== 'gpu' && needsCpu(solverOptions) ? { backend: 'cpu' as const } : {};
    const functions = await GpuCompiledFunctions.compileOnce(host, problem, { ...compileOptions, ...forCpu });
    try {
      const solved = await solver(functions);
      const residuals = Float64Array.from(await functions.evaluate());
      const uncertainty = await covarianceOf(functions, absoluteSigma, names.start.length);
      return resultOf(solved, names, residuals, uncertainty, y, weights) as FitResult<S>;
    } finally {
      functions.dispose();
    }
  };
  return { problem, run };
}

/** Returns the start values with their names. Throws 'invalid-argument'. */
function namesOf(initialValues: unknown): Names {
  const argument = 'fit: initialValues';
  if (typeof initialValues !== 'object' || initialValues === null) throw invalidArgument(argument, describe(initialValues), 'an array of numbers, or an object of them');
  const isList = Array.isArray(initialValues) || ArrayBuffer.isView(initialValues);
  const keys = isList ? null : Object.keys(initialValues);
  const start = copyNumbers(argument, isList ? initialValues : Object.values(initialValues));
  if (start.length === 0) throw invalidArgument(argument, isList ? 'an empty array' : 'an object without numbers', 'at least one number');
  return { keys, start };
}

/** Returns copies of the data: x sample after sample, and how many numbers a sample's list has, 0 for a single number. Throws 'invalid-argument'. */
function checkData(data: unknown): { x: Float64Array; width: number; y: Float64Array } {
  checkOptions('fit: data', data, { x: true, y: true });
  const { x, y } = data as Partial<FitData<number | ArrayLike<number>>>;
  const measured = copyNumbers('fit: data.y', y);
  if (measured.length === 0) throw invalidArgument('fit: data.y', 'no sample', 'at least one');
  const isList = (value: unknown): value is ArrayLike<unknown> => Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView));
  if (!isList(x)) throw invalidArgument('fit: data.x', describe(x), 'an array with a number or a list of numbers for each sample');
  if (x.length !== measured.length) throw invalidArgument('fit: data.x', `${x.length} samples`, `one for each of the ${measured.length} numbers of y`);
  if (!isList(x[0])) return { x: copyNumbers('fit: data.x', x), width: 0, y: measured };
  const width = x[0].length;
  if (width === 0) throw invalidArgument('fit: data.x[0]', 'an empty list', 'at least one number');
  const flat = new Float64Array(width * x.length);
  for (let i = 0; i < x.length; i++) flat.set(copyNumbersOfLength(`fit: data.x[${i}]`, x[i], width, 'as many as that of the first sample'), i * width);
  return { x: flat, width, y: measured };
}

function weightsOf(weights: unknown, count: number): Float64Array | null {
  if (weights === undefined) return null;
  if (typeof weights === 'number') return copyNumbers('fit: weights', new Float64Array(count).fill(weights));
  return copyNumbersOfLength('fit: weights', weights, count, 'one for each sample');
}

function boundsOf(name: string, bounds: unknown, { keys, start }: Names, none: number): Float64Array | null {
  if (bounds === undefined) return null;
  const argument = `fit: ${name}`;
  if (keys === null || typeof bounds !== 'object' || bounds === null || Array.isArray(bounds) || ArrayBuffer.isView(bounds)) return copyBounds(argument, bounds, start.length, none);
  checkOptions(argument, bounds, Object.fromEntries(keys.map((key) => [key, true])));
  return copyBounds(argument, keys.map((key) => (bounds as Record<string, number | undefined>)[key] ?? none), start.length, none);
}

/** Returns the covariance, or why there is none. */
async function covarianceOf(functions: GpuCompiledFunctions, absoluteSigma: boolean, size: number): Promise<{ values: Float64Array; errors: Float64Array; reason: string }> {
  try {
    const { values, standardDeviations } = await covariance(functions, { absoluteSigma });
    return { values, errors: standardDeviations, reason: '' };
  } catch (error) {
    if (!(error instanceof ResiduaError) || (error.code !== 'invalid-argument' && error.code !== 'non-finite' && error.code !== 'limit-exceeded')) throw error;
    return { values: new Float64Array(size * size).fill(NaN), errors: new Float64Array(size).fill(NaN), reason: error.message };
  }
}

function resultOf(
  solve: SolveResult,
  names: Names,
  residuals: Float64Array,
  uncertainty: { values: Float64Array; errors: Float64Array; reason: string },
  y: Float64Array,
  weights: Float64Array | null,
): FitResult<FitStart> {
  const weight = (i: number): number => (weights === null ? 1 : (weights[i] as number));
  let [sum, weighted, squares] = [0, 0, 0];
  for (let i = 0; i < y.length; i++) {
    sum += weight(i);
    weighted += weight(i) * (y[i] as number);
    if (weight(i) !== 0) squares += weight(i) * (residuals[i] as number) ** 2;
  }
  const mean = weighted / sum;
  // The mean of equal numbers may be another one, by its rounding.
  const counted = y.filter((_, i) => weight(i) !== 0);
  const isConstant = counted.every((number) => number === counted[0]);
  const deviations = y.reduce((total, number, i) => total + weight(i) * (number - mean) ** 2, 0);
  const rSquared = isConstant ? NaN : 1 - squares / deviations;
  const { x, success, termination, promise, iterations } = solve;
  const named = (numbers: ArrayLike<number>) => {
    const list = Array.from(numbers);
    return names.keys === null ? list : Object.fromEntries(names.keys.map((key, k) => [key, list[k] as number]));
  };
  const titles = names.keys ?? Array.from(x, (_, k) => String(k));
  const message = uncertainty.reason === '' ? solve.message : `${solve.message} There are no standard errors: ${uncertainty.reason}`;
  const fitted: FitResult<FitStart> = {
    parameters: named(x),
    parameterValues: Array.from(x),
    standardErrors: named(uncertainty.errors),
    covariance: uncertainty.values,
    parameterError: squares,
    rSquared,
    residuals,
    success, termination, message, ...(promise === undefined ? {} : { promise }), iterations,
    solve,
    table: () => titles.map((parameter, k) => ({ parameter, value: x[k] as number, standardError: uncertainty.errors[k] as number })),
    report: () => fitReport(titles, x, uncertainty.errors, { samples: y.length, squares, rSquared, reason: uncertainty.reason }, solve.report()),
  };
  return showInNotebooks(fitted, () => ({ 'text/plain': fitted.report(), 'text/html': fitHtml(fitted.table(), message) }));
}
