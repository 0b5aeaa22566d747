/**
 * The messages between the page and the worker: the calls of module/raw.ts as plain data.
 *
 * Contexts, problems and functions live in the worker. The page assigns their numbers, so it can refer to an object before the worker has
 * answered. Messages are handled in order. A request has one answer, with its number. A notice has none: an error that it causes is the
 * answer to the next request for the same object.
 */

import type { RawEngineRequest, RawFunctions, RawManyOptions, RawStats } from '../module/raw.js';

/** Entries of a column piece. The page computes several of them between two turns of its event loop. */
export const PIECE: number = 1 << 16;

/** A piece of a column; a number if all its entries are equal to it. */
export type Piece<A> = A | number;

/** One call that builds a problem, in order. */
export type BuildStep =
  | readonly ['array', name: string, dim: number, count: number, manifold: string]
  | readonly ['elimination', array: number, group: number]
  | readonly ['block', name: string, instances: number, firstRow: number, rows: number]
  | readonly [
      'template',
      block: number,
      count: number,
      instances: Uint32Array | undefined,
      rows: Uint32Array | undefined,
      slotArrays: Uint32Array,
      dataColumns: number,
      tape: readonly [ops: Uint8Array, a: Uint32Array, b: Uint32Array, c: Uint32Array, constants: Float64Array, outputs: Uint32Array],
    ]
  | readonly ['weights', template: number, column: number]
  | readonly ['tables', numbers: Float64Array]
  | readonly ['tape', paramCount: number, outputs: Uint32Array];

/** A piece of a problem's tables, tape or start values. Pieces of one table are in reading order. */
export type ProblemPiece =
  | { readonly template: number; readonly slot: number; readonly piece: Piece<Uint32Array> }
  | { readonly template: number; readonly column: number; readonly piece: Piece<Float64Array> }
  | { readonly entries: readonly [Uint8Array, Uint32Array, Uint32Array, Uint32Array | null] }
  | { readonly constants: Float64Array }
  | { readonly values: Float64Array; readonly first: number };

/** The calls that set up a RawMany. */
export interface ManySetup {
  readonly constant: Uint8Array;
  readonly lower: Float64Array;
  readonly upper: Float64Array;
  readonly count: number;
  readonly settings: readonly (
    | readonly ['setBlock', block: number, weight: number, kind: string, a: number, b: number, factor: number, enabled: boolean]
    | readonly ['addParameters', first: number, length: number, values: Float64Array]
    | readonly ['addData', template: number, firstColumn: number, sources: Uint32Array, length: number, values: Float64Array]
  )[];
}

/** Methods of functions that have an answer. */
export type FunctionsCall = Extract<
  keyof RawFunctions,
  | 'evaluate'
  | 'evaluateSumWithGradient'
  | 'evaluateCostWithGradient'
  | 'evaluateSumWithGradientOnDevice'
  | 'evaluateCostWithGradientOnDevice'
  | 'evaluateJacobian'
  | 'evaluateHessian'
  | 'evaluateHessianProduct'
  | 'checkGradients'
  | 'covariance'
  | 'rank'
  | 'levenbergMarquardt'
  | 'lbfgs'
  | 'newton'
  | 'download'
  | 'checkDigits'
>;

/** Methods of functions that change their settings or numbers. */
export type FunctionsChange = Extract<
  keyof RawFunctions,
  'setValuesAt' | 'setConstant' | 'setBounds' | 'setData' | 'setTables' | 'setWeight' | 'setLoss' | 'setEnabled'
>;

/** The engine that is asked for. The worker asks for a context if it needs one. */
export type EngineData = Omit<RawEngineRequest, 'requestContext'>;

/** A message that has an answer. */
export type Request =
  | { readonly do: 'load'; readonly source: unknown }
  | { readonly do: 'isAvailable' }
  | { readonly do: 'createContext'; readonly context: number; readonly powerPreference: string | undefined; readonly profile: boolean }
  | {
      readonly do: 'compile';
      readonly functions: number;
      readonly problem: number;
      readonly engine: EngineData;
      readonly batchSize: number | undefined;
    }
  | { readonly do: 'grow'; readonly functions: number; readonly problem: number }
  | { readonly do: 'call'; readonly functions: number; readonly method: FunctionsCall; readonly args: readonly unknown[]; readonly memory?: ArrayBuffer }
  | { readonly do: 'solveMany'; readonly problem: number; readonly engine: EngineData; readonly options: RawManyOptions };

/** Options of a request. */
export interface RequestOptions {
  /** Whether the page takes reports of progress or iterations. */
  readonly wantsReports: boolean;
  /** Whether the call was cancelled before it was sent. */
  readonly isCancelled: boolean;
}

/** A message that has no answer. */
export type Notice =
  | { readonly do: 'cancel'; readonly call: number }
  /** The context that a running call asked for, or why there is none. */
  | { readonly do: 'context'; readonly call: number; readonly context: number | ErrorData }
  | { readonly do: 'problem'; readonly problem: number; readonly steps: readonly BuildStep[]; readonly numParams: number; readonly many: ManySetup | null }
  | { readonly do: 'pieces'; readonly problem: number; readonly pieces: readonly ProblemPiece[] }
  | { readonly do: 'change'; readonly functions: number; readonly method: FunctionsChange; readonly args: readonly unknown[] }
  | { readonly do: 'trim'; readonly context: number }
  | { readonly do: 'dispose'; readonly what: 'context' | 'functions' | 'problem'; readonly number: number };

/** A message of the page. */
export type Message = (Request & RequestOptions & { readonly call: number }) | Notice;

/** The answer to 'load': facts of the worker. */
export interface WorkerFacts {
  /** The name of the worker's liveness lock; see liveness-lock.ts. */
  readonly livenessLock: string | null;
}

/** The answer to 'createContext'. */
export interface ContextFacts {
  readonly adapter: { vendor: string; architecture: string; description: string; isSoftware: boolean };
  readonly stats: RawStats;
}

/** The answer to 'compile' and 'grow'. */
export interface FunctionsFacts {
  readonly isOnGpu: boolean;
  readonly areGradientsOnCpu: boolean;
  readonly fallbackReason: string | undefined;
  readonly precision: 'f32' | 'f32x2' | 'f64';
  readonly numParams: number;
  readonly numResiduals: number;
  readonly kernelCount: number;
  readonly kernels: { name: string; instances: number; wgsl: string }[];
  readonly compileTimes: Record<string, number>;
}

/** A ResiduaError as data. */
export interface ErrorData {
  readonly code: string;
  readonly message: string;
  readonly wgsl?: string;
}

/** The statistics of a context, and whether its device is lost. */
export type ContextCounts = readonly [context: number, stats: RawStats, isLost: boolean];

/** A message of the worker. */
export type Answer =
  | { readonly call: number; readonly value: unknown; readonly memory?: ArrayBuffer; readonly counts?: ContextCounts }
  | { readonly call: number; readonly error: ErrorData; readonly counts?: ContextCounts }
  /** Reports of a running call: progress or iterations, each as the arguments of the listener. */
  | { readonly call: number; readonly reports: readonly (readonly unknown[])[] }
  /** A running call asks for a context. */
  | { readonly call: number; readonly asks: 'context' }
  | { readonly counts: ContextCounts }
  | { readonly lost: number; readonly reason: string; readonly message: string }
  /** The module has failed. */
  | { readonly failed: string; readonly code: string };
