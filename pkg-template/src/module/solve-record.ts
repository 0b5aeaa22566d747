/**
 * What the module gives of a solve: numbers in one array and texts in one string. Each value that crosses by itself takes longer than many numbers,
 * and all of them together took a fifth of a solve of seven parameters.
 */

/** Numbers and texts in the order that src/solve/record.rs writes. */
export type RawSolveResult = readonly [numbers: Float64Array, texts: string];

/** Counts of a problem. */
export interface ProblemSizes {
  parameterBlocks: number;
  parameters: number;
  effectiveParameters: number;
  residualBlocks: number;
  residuals: number;
}

/** Numbers of a row of the history, of which the first is the iteration and the last the time. */
export const ROW = 11;
/** Place of λ in a row, the first of the entries that may be absent. */
export const DAMPING = 6;

/** One thing that was found of a solve or of its solution, beside why it ended. */
export interface Finding {
  /**
   * What was found. Of the start: 'moved-start' (values out of bounds), 'normalised-start' (blocks off their manifold). Of the run: 'stages' (it went on in
   * another arithmetic or place), 'refused' (the first one could not run), 'unsolved-systems', 'lost-trials' (trial points that are not finite),
   * 'device-fault'. Of the solution: 'untouched' (blocks that no residual takes), 'rank' (directions that residuals do not determine), 'rounding' (of the
   * arithmetic), 'underflow', 'immovable', 'without-effect' and 'vanished' (parameters without effect), 'promise' (the cost falls further in f64),
   * 'noise' (plain functions round results or are noisy: `size` of the residuals' errors, and their `share` of the standard deviation). Of the problem:
   * 'all-constant', 'no-residuals'. Of many problems: 'converged', 'rounding', 'solved-again', 'no-minima', 'precision-limit', 'undetermined'.
   */
  readonly kind: string;
  /** It as a sentence, which is a part of the result's `message`. */
  readonly message: string;
  /** The names of the parameters, blocks or arrays that it is about, of blocks that no residual takes the first ones. */
  readonly parameters: readonly string[];
  /** Its numbers by name, as `rank` and `columns` of 'rank', `loss` and `shift` of 'rounding', `values` of 'moved-start'. */
  readonly figures: Readonly<Record<string, number>>;
}

/** Reads findings as src/solve/findings.rs packs them. */
export function readFindings(packed: string): Finding[] {
  if (packed === '') return [];
  return packed.split('\x1e').map((one) => {
    const [kind = '', message = '', count, ...rest] = one.split('\x1f');
    const figures = rest.splice(Number(count)).map((figure) => figure.split('=') as [string, string]);
    return { kind, message, parameters: rest, figures: Object.fromEntries(figures.map(([name, number]) => [name, Number(number.replace('inf', 'Infinity'))])) };
  });
}

/** The result of a solve, with what its report needs. */
export interface SolveRecord {
  success: boolean;
  termination: string;
  message: string;
  arithmetic: 'f32' | 'f32x2' | 'f64';
  precisionLoss: number;
  iterations: number;
  functionEvaluations: number;
  initialCost: number;
  finalCost: number;
  computationTime: number;
  x: Float64Array;
  /**
   * Rows of ROW numbers, one for each iteration: the entries of IterationSummary in their order, where `accepted` is a number whose bits say
   * whether the step was accepted and which of the optional entries are there.
   */
  rows: Float64Array;
  /** Whether `checkDigits` is to be called when the result has been given. */
  checkIsDue: boolean;
  solver: string;
  engine: string;
  /** Empty for none. */
  linearSolver: string;
  findings: readonly Finding[];
  /** Of cost, gradient and parameters. */
  tolerances: readonly number[];
  /** What the model still promises, in units of σ²; NaN where it is not known. */
  promise: number;
  /** Of Newton's method, what the quadratic model still promised; else NaN. */
  newtonDecrement: number;
  /** The radius with which a run of Levenberg-Marquardt in one ended, in units of the Jacobian's columns; else NaN. */
  radius: number;
  /** Of the whole problem. */
  whole: ProblemSizes;
  /** Of free parameters and enabled residuals. */
  reduced: ProblemSizes;
  /** Milliseconds of the solve by stage. */
  times: readonly (readonly [stage: string, ms: number])[];
}

/** Numbers before the lengths of the texts, and texts before the names of stages. */
const HEAD = 26;
const TEXTS = 7;

/** Reads what the module gives. `x` and `rows` have memory of their own. */
export function readSolve([numbers, all]: RawSolveResult): SolveRecord {
  const number = (place: number): number => numbers[place] as number;
  const [length, count] = [number(22), number(23)];
  let [place, end] = [HEAD, 0];
  const next = (): string => all.slice(end, (end += number(place++)));
  const sizes = (first: number): ProblemSizes => ({
    parameterBlocks: number(first), parameters: number(first + 1), effectiveParameters: number(first + 2), residualBlocks: number(first + 3), residuals: number(first + 4),
  });
  const [termination, arithmetic, message, solver, engine, linearSolver, findings] = [next(), next(), next(), next(), next(), next(), next()];
  const times: (readonly [string, number])[] = [];
  for (let stage = 0; stage < count - TEXTS; stage++) times.push([next(), number(HEAD + count + stage)]);
  const first = HEAD + count + times.length;
  return {
    success: number(0) !== 0,
    termination, message,
    arithmetic: arithmetic as SolveRecord['arithmetic'],
    precisionLoss: number(3), iterations: number(1), functionEvaluations: number(2), initialCost: number(4), finalCost: number(5), computationTime: number(6),
    x: numbers.slice(first, first + length),
    rows: numbers.slice(first + length),
    checkIsDue: number(7) !== 0,
    solver, engine, linearSolver,
    findings: readFindings(findings),
    tolerances: [number(8), number(9), number(10)],
    promise: number(11),
    newtonDecrement: number(24),
    radius: number(25),
    whole: sizes(12), reduced: sizes(17),
    times,
  };
}
