/**
 * The boundary to the WebAssembly module: the interfaces of the exports of src/js, and the call that imports the glue.
 *
 * The proxy of a module in a worker (remote/) has the same interfaces; members that it alone has are marked.
 *
 * The interfaces are written by hand, because the generated declarations have `any` for most results. The compiler checks that every name
 * here is exported there. The glue is imported when it is first needed, so importing the package does no work.
 */

import type { ErrorCode } from '../arguments/errors.js';
import type { CancellationToken } from './cancellation.js';
import type { RawSolveResult } from './solve-record.js';

/** A tape: one entry per position, operands before the operations that use them. All arrays are trimmed. */
export interface Tape {
  /** Codes of expressions/op-codes.ts. */
  readonly ops: Uint8Array;
  /** First operand: a tape position; for a leaf its position in `constants`, or its number. */
  readonly a: Uint32Array;
  /** Second operand. */
  readonly b: Uint32Array;
  /** Third operand. */
  readonly c: Uint32Array;
  /** The numbers of literals and constants. */
  readonly constants: Float64Array;
  /** The tape positions of the outputs. */
  readonly outputs: Uint32Array;
}

/** A long tape in consecutive pieces. Positions are those of the whole tape. */
export interface TapePieces {
  /** Codes, first, second and third operands of some entries; null where no entry has a third. */
  readonly entries: readonly (readonly [ops: Uint8Array, a: Uint32Array, b: Uint32Array, c: Uint32Array | null])[];
  /** The numbers of literals and constants. */
  readonly constants: readonly Float64Array[];
  /** The tape positions of the outputs. */
  readonly outputs: Uint32Array;
}

/** A problem for a compile, which consumes it. */
export interface RawProblem {
  addArray(name: string, dim: number, count: number, manifold: string): number;
  setElimination(array: number, group: number): void;
  addBlock(name: string, instances: number, firstRow: number, rows: number): number;
  /**
   * `instances` are those of the block, undefined for 0, 1, 2, …. `rows` are the instances' first residuals, counted from the block's
   * first; undefined if they are consecutive. The tables are read during the compile, a piece of a column at a time; each result is copied
   * before the next read.
   */
  addTemplate(
    block: number,
    count: number,
    instances: Uint32Array | undefined,
    rows: Uint32Array | undefined,
    slotArrays: Uint32Array,
    readIndices: (slot: number, first: number, count: number) => Uint32Array,
    dataColumns: number,
    readData: (column: number, first: number, count: number) => Float64Array,
    ops: Uint8Array,
    a: Uint32Array,
    b: Uint32Array,
    c: Uint32Array,
    constants: Float64Array,
    outputs: Uint32Array,
  ): number;
  /** Sets the numbers of all tables, one table after another. */
  setTables(numbers: Float64Array): void;
  /** Says which data column of a template is the weight of its instances. */
  setInstanceWeights(template: number, column: number): void;
  /**
   * Says that `evaluate` computes the data of a template, but for a first column of weights, column after column: at least the residuals for 0, derivatives
   * too for 1, and those by differences for 2. The result is copied at once.
   */
  setPlain(template: number, evaluate: (x: Float64Array, wanted: 0 | 1 | 2 | 3) => Float64Array): void;
  free(): void;
}

/** The counters of a device. */
export interface RawStats {
  buffers: number;
  bufferBytes: number;
  peakBufferBytes: number;
  pipelines: number;
  pipelineCacheHits: number;
  dispatches: number;
  submits: number;
  readbacks: number;
  profile?: RawProfile;
}

/** The times of a device. */
export interface RawProfile {
  compile: { count: number; ms: number };
  encode: { count: number; ms: number };
  readBack: { count: number; ms: number };
  hasGpuTimes: boolean;
  kernels: Record<string, { dispatches: number; timed?: number; gpuMs?: number }>;
}

/** A GPU device. */
export interface RawContext {
  /** Returns another handle of the same device for a compile, which consumes it. */
  share(): RawContext;
  /** Null in a worker. */
  device(): GPUDevice | null;
  adapter(): { vendor: string; architecture: string; description: string; isSoftware: boolean };
  lost(): Promise<{ reason: string; message: string }>;
  isLost(): boolean;
  stats(): RawStats;
  trim(): void;
  dispose(): void;
}

/** The engine that a compile or a solve asks for. The module chooses the engine. */
export interface RawEngineRequest {
  readonly backend: 'auto' | 'gpu' | 'cpu';
  /** Arithmetic on the GPU. */
  readonly precision: 'f32' | 'f32x2';
  /** Number of residuals, where a residual that is a long sum counts about as often as it has terms. */
  readonly workload: number;
  /** The default of `fallbackThreshold`. */
  readonly fewest: number;
  /** Under this many residuals 'auto' takes the CPU. */
  readonly fallbackThreshold: number | undefined;
  /** Resolves with a context, which the module consumes. Called at most once, if a device is needed. */
  requestContext(): Promise<RawContext>;
}

/** One iteration of a solver. */
export interface IterationSummary {
  /** From 0, which is the start. */
  iteration: number;
  /** The objective at the current point. */
  cost: number;
  /** The decrease of the objective. */
  costChange: number;
  /** The largest magnitude of the gradient's entries. */
  gradientMaxNorm: number;
  /** The norm of the step. */
  stepNorm: number;
  /** Whether the step was accepted. */
  accepted: boolean;
  /** λ, with Levenberg-Marquardt. */
  damping?: number;
  /** Actual over predicted reduction, with Levenberg-Marquardt. */
  gainRatio?: number;
  /** Iterations of the linear solver: 1 of one that factorises, 0 of a shorter step along the last path of 'dogleg'. Absent at the start and where the system had no solution. */
  linearIterations?: number;
  /** Factor of the search direction, with a line search: 1 is a whole step of Newton's method. */
  stepSize?: number;
  /** Milliseconds since the solve began. */
  elapsedMs: number;
}

/** Options of Levenberg-Marquardt, all present but a limit of iterations and a damping. */
export interface RawLevenbergMarquardtOptions {
  maxIterations?: number;
  maxTimeMs: number;
  costTolerance: number;
  gradientTolerance: number;
  parameterTolerance: number;
  linearSolver: string;
  trustRegion: string;
  initialDamping?: number;
  /** On the CPU the first radius, in place of initialDamping. */
  initialRadius?: number;
  maxLinearIterations: number;
  linearTolerance: number;
  /** 0 or 1: whether the parameters are read back from the device. */
  readBack: number;
  /** 0 or 1: whether the CPU may continue at the limit of the device's precision. */
  takeOver: number;
}

/** Options of L-BFGS, all present but a limit of iterations. Flags are 0 or 1; no time limit is Infinity. */
export interface RawLbfgsOptions {
  maxIterations?: number;
  maxTimeMs: number;
  costTolerance: number;
  gradientTolerance: number;
  parameterTolerance: number;
  historySize: number;
  maxLineSearchSteps: number;
  c1: number;
  c2: number;
  leastSquares: number;
  readBack: number;
  /** Whether pairs on the device may continue at the limit of single precision. */
  takeOver: number;
}

/** Options of Newton's method, all present but a limit of iterations. Flags are 0 or 1. */
export interface RawNewtonOptions {
  maxIterations?: number;
  maxTimeMs: number;
  costTolerance: number;
  maxLineSearchSteps: number;
  c1: number;
  leastSquares: number;
  /** Whether negative eigenvalues become their magnitudes. */
  absolute: number;
}

/** The point of an evaluation: undefined for the current parameters, null for the numbers in `pointPlace`, or an array. */
export type RawPoint = Float64Array | Float32Array | null | undefined;

/** Called after each iteration. A result of true ends the solve. */
export interface RawListener {
  (summary: IterationSummary): boolean;
  /** Whether a call has no effect, so that it can be omitted. */
  readonly isDeaf?: boolean;
}

/** Compiled functions. One call at a time; setters between calls. On the CPU a call may return its result instead of a promise. */
export interface RawFunctions {
  /** In a worker alone: results are new arrays, so `into` is not needed. */
  readonly returnsArrays?: boolean;
  /** In a worker alone: the buffers of points are transferred. Returns the buffer of an earlier point, for the next one. */
  memory?(): ArrayBuffer | undefined;
  isOnGpu(): boolean;
  areGradientsOnCpu(): boolean;
  /** Why 'auto' took the CPU. */
  fallbackReason(): string | undefined;
  /** What evaluations are computed in. */
  precision(): 'f32' | 'f32x2' | 'f64';
  numParams(): number;
  numResiduals(): number;
  kernelCount(): number;
  kernels(): { name: string; instances: number; wgsl: string }[];
  compileTimes(): Record<string, number>;
  /**
   * Takes a problem in which arrays and blocks have grown, with the numbers of all parameters: those that were there keep their own, and nothing is constant or
   * bounded. Where it rejects nothing has changed.
   */
  grow(problem: RawProblem, values: Float64Array): Promise<void>;
  setValuesAt(starts: Uint32Array, lengths: Uint32Array, numbers: Float64Array): void;
  setConstant(mask: Uint8Array): void;
  setBounds(lower: Float64Array, upper: Float64Array): void;
  setData(template: number, firstColumn: number, columns: Float64Array): void;
  /** Sets numbers of the tables, from `first` on. */
  setTables(first: number, numbers: Float64Array): void;
  setWeight(block: number, weight: number): void;
  setLoss(block: number, kind: string, a: number, b: number, factor: number): void;
  setEnabled(block: number, enabled: boolean): void;
  evaluate(x?: Float64Array): Promise<Float64Array>;
  /** Not in a worker: memory of the module for the point of the next call. It must be filled at once; the call's point is then null. */
  pointPlace?(): Float64Array;
  /** Whether all numbers in that memory are finite. */
  isPointFinite?(): boolean;
  /** Points of gradients are f32 on the GPU and f64 on the CPU. The gradient is `into`, filled. */
  evaluateSumWithGradient(x: RawPoint, into: Float64Array | undefined): Promise<{ value: number; gradient: Float64Array }>;
  evaluateCostWithGradient(x: RawPoint, into: Float64Array | undefined): Promise<{ value: number; gradient: Float64Array }>;
  evaluateSumWithGradientOnDevice(x: RawPoint): Promise<{ value: number; gradient: GPUBuffer | null }>;
  evaluateCostWithGradientOnDevice(x: RawPoint): Promise<{ value: number; gradient: GPUBuffer | null }>;
  /**
   * With `pattern` the result has the pattern, which is the same at every call. Numbers are written to `values` and `entries`, or to new
   * arrays.
   */
  evaluateJacobian(
    x: RawPoint,
    pattern: boolean,
    values?: Float64Array,
    entries?: Float64Array,
  ): Promise<{
    values: Float64Array;
    entries: Float64Array;
    rowOffsets?: Uint32Array;
    colIndices?: Uint32Array;
  }>;
  /** With `pattern` the result has the pattern, which is the same at every call for an objective. */
  evaluateHessian(
    x: Float64Array | undefined,
    leastSquares: boolean,
    pattern: boolean,
  ): Promise<{ entries: Float64Array; rowOffsets?: Uint32Array; colIndices?: Uint32Array }>;
  evaluateHessianProduct(x: Float64Array | undefined, vector: Float64Array, leastSquares: boolean): Promise<Float64Array>;
  checkGradients(x?: Float64Array): Promise<{ maxRelativeError: number; residual: number; parameter: number }>;
  /** The covariance of the blocks that begin at these parameters, row after row. */
  covariance(blocks: Uint32Array | undefined, absoluteSigma: boolean, robust: boolean | undefined): Promise<Float64Array>;
  /** Free direction k has the entries offsets[k] .. offsets[k + 1] of parameters and values. */
  rank(tolerance: number): Promise<{
    rank: number;
    columns: number;
    offsets: Uint32Array;
    parameters: Uint32Array;
    values: Float64Array;
  }>;
  levenbergMarquardt(
    options: RawLevenbergMarquardtOptions,
    onIteration: RawListener,
    aborted: CancellationToken,
  ): Promise<RawSolveResult>;
  lbfgs(
    options: RawLbfgsOptions,
    onIteration: RawListener,
    aborted: CancellationToken,
  ): Promise<RawSolveResult>;
  newton(
    options: RawNewtonOptions,
    onIteration: RawListener,
    aborted: CancellationToken,
  ): Promise<RawSolveResult>;
  /** Estimates what rounding does to the last solution. The result of a later solve has the finding. */
  checkDigits(): Promise<void>;
  parameterBuffer(): GPUBuffer | null | undefined;
  /**
   * Returns a buffer that holds `numbers` and from which later calls read data; null on the CPU. Template `templates[k]` reads its columns
   * from `firstColumns[k]` on: `lengths[k]` numbers, column after column, at the positions in the buffer given by `sources`. Template 2³² − 1 stands for the
   * tables of grids, and its column for a number there.
   */
  dataBuffer(
    numbers: Float64Array,
    templates: Uint32Array,
    firstColumns: Uint32Array,
    lengths: Uint32Array,
    sources: Uint32Array,
  ): GPUBuffer | null;
  download(): Promise<Float64Array>;
  dispose(): void;
}

/** The result of a solve of many problems, problem after problem. */
export interface RawManyResult {
  x: Float64Array;
  cost: Float64Array;
  standardErrors: Float64Array | null;
  iterations: Uint32Array;
  /** Positions in `terminations`. */
  termination: Uint8Array;
  terminations: string[];
  converged: number;
  computationTime: number;
  backend: 'gpu' | 'cpu';
  arithmetic: 'f32' | 'f32x2' | 'f64';
  precisionLoss: number;
  message: string;
  /** For readFindings. */
  findings: string;
  /** Why 'auto' took the CPU. */
  fallbackReason: string | null;
}

/** A template problem and its batch for a solve, which consumes them. */
export interface RawMany {
  setBlock(block: number, weight: number, kind: string, a: number, b: number, factor: number, enabled: boolean): void;
  addParameters(first: number, length: number, values: Float64Array): void;
  addData(template: number, firstColumn: number, sources: Uint32Array, length: number, values: Float64Array): void;
  solve(
    engine: RawEngineRequest,
    options: RawManyOptions,
    onProgress: ((done: number) => void) | undefined,
    aborted: CancellationToken,
  ): Promise<RawManyResult>;
}

/** Options of a solve of many problems, all present but a limit of iterations and a damping. */
export interface RawManyOptions {
  maxIterations?: number;
  costTolerance: number;
  gradientTolerance: number;
  parameterTolerance: number;
  initialDamping?: number;
  /** 1 or 0, as the next; `robust` is -1 where it is not given. */
  standardErrors: number;
  absoluteSigma: number;
  robust: number;
}

/** The state of an incremental solve. Blocks have numbers in the order in which they were added, instances those of their templates. */
export interface RawSmoother {
  addBlocks(array: number, numbers: Float64Array, constant: Uint8Array): number;
  addInstances(template: number, numbers: Uint32Array, blocks: Uint32Array, data: Float64Array): void;
  setData(template: number, data: Float64Array): void;
  setTables(first: number, numbers: Float64Array): void;
  setBlock(block: number, weight: number, kind: string, a: number, b: number, factor: number, enabled: boolean): void;
  remove(templates: Uint32Array, instances: Uint32Array): void;
  marginalise(blocks: Uint32Array): void;
  update(): { relinearised: number; eliminated: number; solved: number };
  estimate(blocks: Uint32Array): Float64Array;
  covariance(blocks: Uint32Array): Float64Array;
  free(): void;
}

/** The exports of the glue. */
export interface RawModule {
  /** Fetches and starts the WebAssembly module; without a source, the file beside the glue. */
  default(options?: { module_or_path?: unknown }): Promise<unknown>;
  /** Starts a compiled module. */
  initSync?(options: { module: WebAssembly.Module }): unknown;
  RawProblem: {
    new (): RawProblem;
    /** The tape is read during the compile. */
    fromTape(paramCount: number, entries: TapePieces['entries'], constants: TapePieces['constants'], outputs: Uint32Array): RawProblem;
  };
  RawContext: {
    create(powerPreference: string | undefined, device: GPUDevice | undefined, profile: boolean): Promise<RawContext>;
    isAvailable(): Promise<boolean>;
  };
  RawFunctions: {
    /** Calls `fillValues(first, count)` before it reads that range of `values`. */
    compile(
      problem: RawProblem,
      values: Float64Array,
      fillValues: (first: number, count: number) => void,
      engine: RawEngineRequest,
      batchSize: number | undefined,
      onProgress: ((done: number, total: number, stage: string) => void) | undefined,
      aborted: CancellationToken | undefined,
    ): Promise<RawFunctions>;
  };
  RawMany: {
    new (
      problem: RawProblem,
      values: Float64Array,
      constant: Uint8Array,
      lower: Float64Array,
      upper: Float64Array,
      count: number,
    ): RawMany;
  };
  /** Not in a worker. */
  RawSmoother?: {
    /** `problem` has two blocks in each array and a stage of instances in each template, which are never read. */
    create(problem: RawProblem, threshold: number, interval: number): Promise<RawSmoother>;
  };
  /** Returns the value of a tape position in double precision. */
  evaluateExpression(
    ops: Uint8Array,
    a: Uint32Array,
    b: Uint32Array,
    c: Uint32Array,
    constants: Float64Array,
    parameters: Float64Array,
    output: number,
  ): number;
  /**
   * Calls `listener` from the panic hook. The panic traps afterwards, and the module never settles its pending promises. `code` is that of the
   * failure in a worker.
   */
  onPanic(listener: (message: string, code?: ErrorCode) => void): void;
  /** Not in a worker: calls `listener` with an error in a callback of the page, which has no caller. True says that it is a trap. */
  onTrap?(listener: (error: unknown) => boolean): void;
  /** Not in a worker: bytes of the latest request for memory, if it was refused; else 0. Safe after a trap. */
  refusedBytes?(): number;
  /** Not in a worker: bytes of the module's memory. Safe after a trap. */
  memoryBytes?(): number;
  /** After a trap: the next call runs on a new instance of the same module. Objects of the old instance are invalid. */
  restart(): void;
}

/** Imports the glue. Its default export fetches the WebAssembly module. */
export async function loadGlue(): Promise<RawModule> {
  const glue: ExportedNames = await import('../../wasm/residua.js');
  return glue as unknown as RawModule;
}

/** Imports the glue of the core, which has the names of the other. */
export async function loadCoreGlue(): Promise<RawModule> {
  const glue: ExportedNames = await import('../../wasm-core/residua_core.js');
  return glue as unknown as RawModule;
}

/** A class that has the methods of T, except optional ones. */
interface ClassOf<T> {
  readonly prototype: { readonly [Name in keyof T as undefined extends T[Name] ? never : Name]: unknown };
}

/** The names of the boundary, without the types that the generated declarations do not have. */
interface ExportedNames extends Record<Exclude<keyof RawModule, 'RawProblem' | 'RawContext' | 'RawFunctions' | 'RawMany'>, unknown> {
  readonly RawProblem: ClassOf<RawProblem> & Record<keyof RawModule['RawProblem'], unknown>;
  readonly RawContext: ClassOf<RawContext> & Record<keyof RawModule['RawContext'], unknown>;
  readonly RawFunctions: ClassOf<RawFunctions> & Record<keyof RawModule['RawFunctions'], unknown>;
  readonly RawMany: ClassOf<RawMany>;
}
