/** What solveMany takes and gives. */

import type { Numbers } from '../arguments/numeric-arguments.js';
import type { GpuContext } from '../compile/context.js';
import type { Finding } from '../module/solve-record.js';
import type { ConstraintKind } from '../problem/constraint-function.js';
import type { Termination } from './stopping.js';

/** The differences between the problems. Everything that is not named here is the template's. */
export interface ManyBatch {
  /** Number of problems. */
  count: number;
  /** Start values by the name of a parameter array: problem after problem, each like the array's values (count × their number). */
  parameters?: Readonly<Record<string, Numbers>>;
  /**
   * Data by the names of a residual block and of its input. One array: problem after problem, each with the numbers of the input in their original
   * order (count × their number). Or a list with an array for each problem, whose lengths may differ: a problem has as many instances of the block as its
   * arrays have, the same in all lists of the block. Each problem is solved as if it were alone. With a list a block may have any number of
   * instances, if all its inputs but those shared are lists, else at most those of the template.
   *
   * 'weights' of a block are such an input, where it has them. Numbers may be NaN or infinite where an instance has the weight 0.
   */
  data?: Readonly<Record<string, Readonly<Record<string, Numbers | readonly Numbers[]>>>>;
}

/** Options of solveMany(). The stopping tests are those of `levenbergMarquardt`, for each problem separately; 0 disables a test. */
export interface ManyOptions {
  /** 'auto' (default) takes the GPU when there is one, the work is large enough and a problem is small enough, else the CPU. */
  backend?: 'auto' | 'gpu' | 'cpu';
  /** The device; by default the shared one. */
  context?: GpuContext;
  /**
   * The arithmetic on the GPU: 'f32' (default but for templates with constraints), or 'f32x2' with some 14 digits; 100,000 fits of five parameters take 1.3 to 1.4 times as long on an NVIDIA
   * H200. With backend 'auto' and 'f32' the GPU goes on in 'f32x2' where 'f32' does not suffice. On the CPU everything is f64.
   */
  precision?: 'f32' | 'f32x2';
  /**
   * Maximum number of iterations of a problem, rejected steps included, and on the CPU those of a single solve too that begins anew. By default on the CPU as many as
   * `levenbergMarquardt` makes, and on the GPU 100. With constraints of the template it counts for each of the up to 25 rounds, in each of which all problems are solved
   * once.
   */
  maxIterations?: number;
  /** Share of the cost by which a step lowers it, and was predicted to lower it; 1e-8 by default. */
  costTolerance?: number;
  /** Largest cosine between the residuals and a column of the Jacobian; 1e-8 by default. */
  gradientTolerance?: number;
  /** Relative length of a step, in units of the Jacobian's columns; 1e-8 by default. */
  parameterTolerance?: number;
  /** What the length of the first step is given by, as on the CPU in `levenbergMarquardt`. */
  initialDamping?: number;
  /**
   * Whether the result has standard errors; false by default. They are computed in f64 on the CPU whichever engine solved the problems, and take
   * as long as some iterations of each there.
   */
  standardErrors?: boolean;
  /** What is known of the residuals for standard errors, as in `covariance`: whether they have variance 1. false by default. */
  absoluteSigma?: boolean;
  /** Whether standard errors are those of the sandwich estimate, as in `covariance`. By default where a loss is robust. */
  robust?: boolean;
  /** Called from time to time with the number of finished problems. */
  onProgress?: (done: number, total: number) => void;
  /** Ends the solve. Unfinished problems end with 'aborted', at their best point so far. */
  signal?: AbortSignal;
}

/** The constraints of a block in all problems. Arrays have a number for each constraint: problem after problem, by instance, then by output. */
export interface ManyConstraintResult {
  /** The name of the block. */
  readonly name: string;
  /** Whether its constraints are = 0 or ≤ 0. */
  readonly kind: ConstraintKind;
  /** The constraints c (count × those of the block). */
  readonly values: Float64Array;
  /** The multipliers λ, as in `ConstraintResult` (count × those of the block). */
  readonly multipliers: Float64Array;
  /** The largest |c| of equalities, or c of inequalities, of each problem. */
  readonly violation: Float64Array;
}

/** The results, in the order of the problems. */
export interface ManyResult {
  /** All parameters: problem after problem, each array after array (count × numParameters). The template's numbers do not change. */
  x: Float64Array;
  /** ½ Σ weight·ρ(‖r‖²) of each problem; NaN or infinite where the start is not finite, NaN where the problem was not started. */
  cost: Float64Array;
  /**
   * With the option `standardErrors` the standard error of each parameter, in the order of `x`: the `standardDeviations` that `covariance`
   * has for each problem where it ended. 0 for constant numbers; NaN for the others of a problem whose residuals do not determine all of them, or
   * are too few to estimate a variance. Otherwise null.
   */
  standardErrors: Float64Array | null;
  /** What became of the constraints, block after block in order of creation. There alone where the template has constraints. */
  constraints?: ManyConstraintResult[];
  /** Number of iterations of each problem. One that the CPU solves again after the GPU has those of both, which may be more than `maxIterations`. */
  iterations: Uint32Array;
  /** Why each problem ended. Data or a start that are not finite, or give residuals that are not, end that problem alone, with 'non-finite'. */
  termination: Termination[];
  /** Number of problems that converged. */
  converged: number;
  /**
   * How many problems converged, and what rounding does to them. How many ended with 'non-finite' and which, with the first number of their data or starts
   * that is not finite. Also how many converged where the residuals do not determine all parameters, and the positions of the first of them, as with a weight of 0,
   * or where an exponential has vanished: then another start may lead to a lower cost. On the GPU that is told of the problems that were checked alone.
   */
  message: string;
  /** The same as data, but for problems that ended with 'non-finite'. */
  findings: readonly Finding[];
  /** The arithmetic of the solutions; of some of them a higher one, if `message` says so. */
  arithmetic: 'f32' | 'f32x2' | 'f64';
  /** The largest share of a problem's cost that rounding explains, by a sample of the problems; 0 in f64. */
  precisionLoss: number;
  /** The engine of the solutions. */
  backend: 'gpu' | 'cpu';
  /** Why 'auto' took the CPU, or solved the problems again on it; else null. */
  fallbackReason: string | null;
  /** Milliseconds. */
  computationTime: number;
}
