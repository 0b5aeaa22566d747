/**
 * What crosses between the page and the worker: the calls of raw.ts as plain data.
 *
 * Objects (contexts, problems, functions) live in the worker under numbers that the page gives out, so that the page can speak of one
 * before the worker has answered. Messages are handled in their order. A request is answered once, by its number; a notice never: what
 * goes wrong with one is the answer to the object's next request.
 */

import type { RawFunctions, RawStats } from '../raw.js';

/** Entries of a column piece; a slice of the page's time fills several. */
export const PIECE = 1 << 16;

/** A piece of a column, or the number that all its entries are. */
export type Piece<A> = A | number;

/** A step of making a problem again. */
export type Step =
  | readonly ['array', name: string, dim: number, count: number, manifold: string]
  | readonly ['block', name: string, instances: number, firstRow: number, rows: number]
  | readonly [
      'recipe',
      block: number,
      count: number,
      instances: Uint32Array | undefined,
      rows: Uint32Array | undefined,
      slotArrays: Uint32Array,
      dataColumns: number,
      tape: readonly [ops: Uint8Array, a: Uint32Array, b: Uint32Array, c: Uint32Array, constants: Float64Array, outputs: Uint32Array],
    ]
  | readonly ['tape', paramCount: number, outputs: Uint32Array];

/** A part of what a problem is made of, in the order in which parts are read. */
export type Part =
  | { readonly recipe: number; readonly slot: number; readonly piece: Piece<Uint32Array> }
  | { readonly recipe: number; readonly column: number; readonly piece: Piece<Float64Array> }
  | { readonly entries: readonly [Uint8Array, Uint32Array, Uint32Array, Uint32Array | null] }
  | { readonly constants: Float64Array }
  | { readonly values: Float64Array; readonly first: number };

/** What RawMany was told. */
export interface ManySetup {
  readonly constant: Uint8Array;
  readonly lower: Float64Array;
  readonly upper: Float64Array;
  readonly count: number;
  readonly settings: readonly (
    | readonly ['setBlock', block: number, weight: number, kind: string, a: number, b: number, factor: number, enabled: boolean]
    | readonly ['addParameters', first: number, length: number, values: Float64Array]
    | readonly ['addData', recipe: number, firstColumn: number, sources: Uint32Array, length: number, values: Float64Array]
  )[];
}

/** Calls on functions that are answered. */
export type FunctionsCall = Extract<
  keyof RawFunctions,
  | 'evaluate'
  | 'evaluateSumWithGradient'
  | 'evaluateCostWithGradient'
  | 'evaluateSumWithGradientOnDevice'
  | 'evaluateCostWithGradientOnDevice'
  | 'evaluateJacobian'
  | 'checkGradients'
  | 'covariance'
  | 'rank'
  | 'levenbergMarquardt'
  | 'lbfgs'
  | 'download'
>;

/** Changes of functions. */
export type FunctionsChange = Extract<
  keyof RawFunctions,
  'setValuesAt' | 'setConstant' | 'setBounds' | 'setData' | 'setWeight' | 'setLoss' | 'setEnabled'
>;

/** What is answered. */
export type Request =
  | { readonly do: 'load'; readonly source: unknown }
  | { readonly do: 'isAvailable' }
  | { readonly do: 'createContext'; readonly context: number; readonly powerPreference: string | undefined; readonly profile: boolean }
  | {
      readonly do: 'compile';
      readonly functions: number;
      readonly problem: number;
      readonly context: number | null;
      readonly choose: boolean;
      readonly batchSize: number | undefined;
    }
  | { readonly do: 'call'; readonly functions: number; readonly method: FunctionsCall; readonly args: readonly unknown[]; readonly memory?: ArrayBuffer }
  | { readonly do: 'solveMany'; readonly problem: number; readonly context: number | null; readonly options: Record<string, number> };

/** How a request is to be carried out. */
export interface Manner {
  /** Whether what it tells on the way is wanted. */
  readonly heard: boolean;
  /** There was a reason to stop before it was sent. */
  readonly stopped: boolean;
}

/** What is not answered. */
export type Notice =
  | { readonly do: 'stop'; readonly call: number }
  | { readonly do: 'problem'; readonly problem: number; readonly steps: readonly Step[]; readonly numParams: number; readonly many: ManySetup | null }
  | { readonly do: 'parts'; readonly problem: number; readonly parts: readonly Part[] }
  | { readonly do: 'change'; readonly functions: number; readonly method: FunctionsChange; readonly args: readonly unknown[] }
  | { readonly do: 'trim'; readonly context: number }
  | { readonly do: 'dispose'; readonly what: 'context' | 'functions' | 'problem'; readonly number: number };

/** From the page. */
export type Message = (Request & Manner & { readonly call: number }) | Notice;

/** What the worker says of itself when it has loaded the module. */
export interface Introduction {
  readonly hasWebGpu: boolean;
  /** See lifeline.ts. */
  readonly lifeline: string | null;
}

/** What is known of a context when it is made. */
export interface ContextFacts {
  readonly adapter: { vendor: string; architecture: string; description: string; isSoftware: boolean };
  readonly stats: RawStats;
}

/** What is known of functions when they are compiled. */
export interface FunctionsFacts {
  readonly isOnGpu: boolean;
  readonly areGradientsOnCpu: boolean;
  readonly choice: string;
  readonly numParams: number;
  readonly numResiduals: number;
  readonly kernelCount: number;
  readonly kernels: { name: string; instances: number; wgsl: string }[];
  readonly compileTimes: Record<string, number>;
}

/** An error as data. */
export interface Failure {
  readonly code: string;
  readonly message: string;
  readonly wgsl?: string;
}

/** What a context has counted, and whether its device is lost. */
export type Counts = readonly [context: number, stats: RawStats, isLost: boolean];

/** From the worker. */
export type Answer =
  | { readonly call: number; readonly value: unknown; readonly memory?: ArrayBuffer; readonly counts?: Counts }
  | { readonly call: number; readonly error: Failure; readonly counts?: Counts }
  /** What a call told on the way: progress or iterations, each as the arguments of who listens. */
  | { readonly call: number; readonly told: readonly (readonly unknown[])[] }
  | { readonly counts: Counts }
  | { readonly lost: number; readonly reason: string; readonly message: string }
  /** The module is dead. */
  | { readonly failed: string };
