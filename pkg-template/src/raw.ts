/**
 * The only door to the WebAssembly module: the shape of what src/js exports, and the call that fetches its glue.
 *
 * What talks to a module in a worker (remote/) has the same shape, and a little more, which is marked.
 *
 * The interfaces are written out here, because the generated declarations say `any` for most results; the compiler sees to it that
 * everything named here is exported there. The glue is imported when it is first needed, so importing the package does no work.
 */

import type { Stopped } from './stop.js';

/** A tape: one operation a position, operands standing before their users. All arrays are trimmed to their length. */
export interface Tape {
  /** Codes of op-codes.ts. */
  readonly ops: Uint8Array;
  /** First operand: a tape position; of a leaf its position in `constants` or its number. */
  readonly a: Uint32Array;
  /** Second operand. */
  readonly b: Uint32Array;
  /** Third operand. */
  readonly c: Uint32Array;
  /** The numbers of literals and constants. */
  readonly constants: Float64Array;
  /** The tape positions that are the result. */
  readonly outputs: Uint32Array;
}

/** A long tape in pieces that follow one another; positions are those of the whole. */
export interface TapePieces {
  /** Codes, first, second and third operands of some entries; null where none has a third. */
  readonly entries: readonly (readonly [ops: Uint8Array, a: Uint32Array, b: Uint32Array, c: Uint32Array | null])[];
  /** The numbers of literals and constants. */
  readonly constants: readonly Float64Array[];
  /** The tape positions that are the result. */
  readonly outputs: Uint32Array;
}

/** A problem on its way into a compile, which consumes it. */
export interface RawProblem {
  /** In a worker alone: a compile leaves it as it is, and `free` ends it. What was handed over is gone, so it can't be made again. */
  readonly lasts?: boolean;
  addArray(name: string, dim: number, count: number, manifold: string): number;
  addBlock(name: string, instances: number, firstRow: number, rows: number): number;
  /**
   * `rows` says where the instances' residuals begin, counted from the block's first; undefined if they follow one another.
   * `instances` which of the block's they are; undefined for 0, 1, 2, … . The tables are read when the problem is compiled, a piece
   * of a column at a time; what is returned is copied before the next call.
   */
  addRecipe(
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
  free(): void;
}

/** What the device counts. */
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

/** Where the time of a device went. */
export interface RawProfile {
  compile: { count: number; ms: number };
  encode: { count: number; ms: number };
  readBack: { count: number; ms: number };
  hasGpuTimes: boolean;
  kernels: Record<string, { dispatches: number; timed?: number; gpuMs?: number }>;
}

/** A GPU device. */
export interface RawContext {
  /** Another handle on the same device, for a compile, which takes it. */
  share(): RawContext;
  /** null where it is out of reach, in a worker. */
  device(): GPUDevice | null;
  adapter(): { vendor: string; architecture: string; description: string; isSoftware: boolean };
  lost(): Promise<{ reason: string; message: string }>;
  isLost(): boolean;
  stats(): RawStats;
  trim(): void;
  dispose(): void;
}

/** One iteration, as both sides call it. */
export interface RawIteration {
  iteration: number;
  cost: number;
  costChange: number;
  gradientMaxNorm: number;
  stepNorm: number;
  accepted: boolean;
  damping?: number;
  gainRatio?: number;
  linearIterations?: number;
  stepSize?: number;
  elapsedMs: number;
}

/** What a solver gives back. */
export interface RawSolveResult {
  success: boolean;
  termination: string;
  message: string;
  iterations: number;
  functionEvaluations: number;
  initialCost: number;
  finalCost: number;
  computationTime: number;
  x: Float64Array;
  history: RawIteration[];
  reportText: string;
}

/** Options of Levenberg-Marquardt, all filled in. */
export interface RawLevenbergMarquardtOptions {
  maxIterations: number;
  maxTimeMs: number;
  costTolerance: number;
  gradientTolerance: number;
  parameterTolerance: number;
  linearSolver: string;
  initialDamping: number;
  maxLinearIterations: number;
  linearTolerance: number;
  /** 0 or 1: whether the parameters are brought back from the device. */
  readBack: number;
  /** 0 or 1: whether the CPU may go on where the device comes to the limit of its precision. */
  takeOver: number;
}

/** The options of L-BFGS, every one filled in; flags are 0 or 1, no time limit is Infinity. */
export interface RawLbfgsOptions {
  maxIterations: number;
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
}

/** Where to evaluate: at the current parameters, at the numbers in `pointPlace`, or at these. */
export type RawPoint = Float64Array | Float32Array | null | undefined;

/** What hears of iterations; true ends the solve. */
export interface RawListener {
  (summary: RawIteration): boolean;
  /** Nobody listens: it may as well not be called. */
  readonly isDeaf?: boolean;
}

/** Compiled functions. One call at a time; setters between calls. On the CPU what need not wait may give its result in place of a promise. */
export interface RawFunctions {
  /** In a worker alone: results come in arrays of their own, so that `into` need not be given. */
  readonly givesArrays?: boolean;
  /** In a worker alone: points are taken over; memory for another one, that an earlier call has given back. */
  memory?(): ArrayBuffer | undefined;
  isOnGpu(): boolean;
  areGradientsOnCpu(): boolean;
  choice(): string;
  numParams(): number;
  numResiduals(): number;
  kernelCount(): number;
  kernels(): { name: string; instances: number; wgsl: string }[];
  compileTimes(): Record<string, number>;
  setValuesAt(starts: Uint32Array, lengths: Uint32Array, numbers: Float64Array): void;
  setConstant(mask: Uint8Array): void;
  setBounds(lower: Float64Array, upper: Float64Array): void;
  setData(recipe: number, firstColumn: number, columns: Float64Array): void;
  setWeight(block: number, weight: number): void;
  setLoss(block: number, kind: string, a: number, b: number, factor: number): void;
  setEnabled(block: number, enabled: boolean): void;
  evaluate(x?: Float64Array): Promise<Float64Array>;
  /** Not in a worker: memory of the module's own for the point of the next call, to be filled at once; that call's point is null then. */
  pointPlace?(): Float64Array;
  /** Whether all numbers there are finite. */
  isPointFinite?(): boolean;
  /** Points of gradients are in single precision for the GPU, in double for the CPU. The gradient is `into`, filled. */
  evaluateSumWithGradient(x: RawPoint, into: Float64Array | undefined): Promise<{ value: number; gradient: Float64Array }>;
  evaluateCostWithGradient(x: RawPoint, into: Float64Array | undefined): Promise<{ value: number; gradient: Float64Array }>;
  evaluateSumWithGradientOnDevice(x: RawPoint): Promise<{ value: number; gradient: GPUBuffer | null }>;
  evaluateCostWithGradientOnDevice(x: RawPoint): Promise<{ value: number; gradient: GPUBuffer | null }>;
  /** The pattern is the same at every call, and given where it is asked for; numbers go into `values` and `entries`, or into fresh arrays. */
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
  checkGradients(x?: Float64Array): Promise<{ maxRelativeError: number; residual: number; parameter: number }>;
  /** Of the blocks that begin at these parameters, row after row. */
  covariance(blocks?: Uint32Array): Promise<Float64Array>;
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
    aborted: Stopped,
  ): Promise<RawSolveResult>;
  lbfgs(
    options: RawLbfgsOptions,
    onIteration: RawListener,
    aborted: Stopped,
  ): Promise<RawSolveResult>;
  parameterBuffer(): GPUBuffer | null | undefined;
  /**
   * A buffer that holds `numbers`, from which later calls take data: of recipe `recipes[k]` the columns from `firstColumns[k]` on,
   * `lengths[k]` numbers, column after column, each at its place in the buffer that `sources` says. Null on the CPU.
   */
  dataBuffer(
    numbers: Float64Array,
    recipes: Uint32Array,
    firstColumns: Uint32Array,
    lengths: Uint32Array,
    sources: Uint32Array,
  ): GPUBuffer | null;
  download(): Promise<Float64Array>;
  dispose(): void;
}

/** What a solver of many problems gives back: problem after problem. */
export interface RawManyResult {
  x: Float64Array;
  cost: Float64Array;
  iterations: Uint32Array;
  /** Positions in `terminations`. */
  termination: Uint8Array;
  terminations: string[];
  converged: number;
  computationTime: number;
}

/** A template and its batch on their way into a solve, which consumes them. */
export interface RawMany {
  /** As of a problem. */
  readonly lasts?: boolean;
  setBlock(block: number, weight: number, kind: string, a: number, b: number, factor: number, enabled: boolean): void;
  addParameters(first: number, length: number, values: Float64Array): void;
  addData(recipe: number, firstColumn: number, sources: Uint32Array, length: number, values: Float64Array): void;
  solve(
    context: RawContext | undefined,
    options: {
      maxIterations: number;
      costTolerance: number;
      gradientTolerance: number;
      parameterTolerance: number;
      initialDamping: number;
    },
    onProgress: ((done: number) => void) | undefined,
    aborted: Stopped,
  ): Promise<RawManyResult>;
  free(): void;
}

/** The exports of the glue. */
export interface RawModule {
  /** In a worker alone: whether there is a `navigator.gpu`. */
  readonly hasWebGpu?: boolean;
  /** Fetches and starts the WebAssembly module; without a source, from beside the glue. */
  default(options?: { module_or_path?: unknown }): Promise<unknown>;
  RawProblem: {
    new (): RawProblem;
    /** Reads the tape when the problem is compiled. */
    fromTape(paramCount: number, entries: TapePieces['entries'], constants: TapePieces['constants'], outputs: Uint32Array): RawProblem;
  };
  RawContext: {
    create(powerPreference: string | undefined, device: GPUDevice | undefined, profile: boolean): Promise<RawContext>;
    isAvailable(): Promise<boolean>;
  };
  RawFunctions: {
    /** Before it reads some of `values`, it calls `fillValues(first, count)`. */
    compile(
      problem: RawProblem,
      values: Float64Array,
      fillValues: (first: number, count: number) => void,
      context: RawContext | undefined,
      choose: boolean,
      batchSize: number | undefined,
      onProgress: ((done: number, total: number, stage: string) => void) | undefined,
      aborted: Stopped | undefined,
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
  /** The value of a tape's position in double precision. */
  evaluateExpression(
    ops: Uint8Array,
    a: Uint32Array,
    b: Uint32Array,
    c: Uint32Array,
    constants: Float64Array,
    parameters: Float64Array,
    output: number,
  ): number;
  /** Calls `listener` from the panic hook; the panic traps right after, and what waited on it is never settled by the module itself. */
  onPanic(listener: (message: string) => void): void;
  /** After a trap: the next call runs on a fresh instance of the same module; objects of the old one are dead. */
  restart(): void;
}

/** Fetches the glue; the WebAssembly itself is fetched by its default export. */
export async function loadGlue(): Promise<RawModule> {
  const glue: ExportedNames = await import('../wasm/residua.js');
  return glue as unknown as RawModule;
}

/** A class that has the methods of T, but for those that are optional. */
interface ClassOf<T> {
  readonly prototype: { readonly [Name in keyof T as undefined extends T[Name] ? never : Name]: unknown };
}

/** Every name of the boundary, without the types that the generated declarations don't have. */
interface ExportedNames extends Record<Exclude<keyof RawModule, 'hasWebGpu' | 'RawProblem' | 'RawContext' | 'RawFunctions' | 'RawMany'>, unknown> {
  readonly RawProblem: ClassOf<RawProblem> & Record<keyof RawModule['RawProblem'], unknown>;
  readonly RawContext: ClassOf<RawContext> & Record<keyof RawModule['RawContext'], unknown>;
  readonly RawFunctions: ClassOf<RawFunctions> & Record<keyof RawModule['RawFunctions'], unknown>;
  readonly RawMany: ClassOf<RawMany>;
}
