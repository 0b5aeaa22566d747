/**
 * The input of a compile, as the compiled functions use it: the parameters' current numbers, the changes since the previous call, and
 * the place to which a solve writes its result. There are two kinds: a problem (problem-compile-input.ts) and a list of params
 * (params-compile-input.ts).
 */

import type { RawFunctions, RawModule, RawProblem } from '../module/raw.js';
import type { GraduatedKind } from '../problem/loss.js';
import type { ParameterBlocks, ValueEdit } from '../problem/parameter-array.js';
import type { Problem } from '../problem/problem.js';
import type { ConstraintLayout } from './constraint-layout.js';

/** A parameter array as of a call. */
export interface ArrayPlace {
  readonly name: string;
  readonly dim: number;
  readonly manifold: string;
  /** Where its first number stands among all parameters. */
  readonly offset: number;
  readonly count: number;
}

/** What the module is to be given of a problem that has grown. */
export interface Growth {
  /** The numbers of all parameters. */
  readonly values: Float64Array;
  /** Builds the problem as of the call. */
  readonly build: (module: RawModule) => RawProblem;
  /** To be called when the module has it: buffers on the device are others then. */
  readonly finish: () => void;
}

/** Changes since the previous call: what was appended, then numbers, and all other changes as commands in their order. */
export interface Edits {
  /** Null where nothing was appended. */
  readonly growth: Growth | null;
  readonly values: readonly ValueEdit[];
  readonly commands: readonly ((raw: RawFunctions) => void)[];
}

/** Where parameters may lie, and which blocks take part, at the time of a call. */
export interface Domain {
  /** Bounds of each number, infinite without. */
  readonly lower: Float64Array;
  readonly upper: Float64Array;
  /** 1 for a number that is constant. */
  readonly constant: Uint8Array;
  /** Of each constraint block. */
  readonly enabled: readonly boolean[];
  /** Of each residual block. */
  readonly residuals: readonly boolean[];
  /** Whether the loss of a residual block that takes part is robust. */
  readonly isRobust: boolean;
  /**
   * Of each residual block whose loss couples the outputs of an instance: where the residuals of each instance begin among all residuals, and the end of the
   * last.
   */
  readonly joint: readonly Uint32Array[];
}

/** A residual block with a graduated loss, as of a call. */
export interface GraduatedBlock {
  readonly name: string;
  readonly kind: GraduatedKind;
  readonly scale: number;
  /** Factor of the loss times the weight of the block. */
  readonly factor: number;
  /** The caller's weights of its instances. */
  readonly weights: Float64Array;
  /** Where the residuals of each instance begin among all residuals, and the end of the last. */
  readonly ends: Uint32Array;
  /** Sets other weights in the module. */
  readonly setWeights: (raw: RawFunctions, weights: Float64Array) => void;
}

/** Writes a solve's result to the arrays or params, except to numbers that were set after the call. */
export type WriteBack = (x: Float64Array) => void;

/** The input of a compile. */
export interface CompileInput {
  /** Number of parameters, with those that were appended. */
  readonly numParams: number;
  /** Number of residuals, without constraints, with those that were appended. */
  readonly numResiduals: number;
  /** Where the constraints are; null without any. Others after an append. */
  readonly constraints: ConstraintLayout | null;
  /** The parameter arrays in order, as they are now; null for params. */
  readonly places: readonly ArrayPlace[] | null;
  /** Number of residuals, where a residual that is a long sum counts about as often as it has terms. The engine is chosen by it. */
  readonly workload: number;
  /** The name of a residual block that is a plain function, for the CPU alone; null without. */
  readonly plainBlock: string | null;
  /** The problem; null for params. */
  readonly problem: Problem | null;
  /** The parameter arrays, in order; null for params. */
  readonly arrays: readonly ParameterBlocks[] | null;
  /**
   * The parameters' numbers at the start of the compile, as far as `takeStart` has read them. A number that has changed since then may
   * be the new one; `takeEdits` reports the change in any case.
   */
  readonly startValues: Float64Array;
  /** Milliseconds that recording took, if it was part of the compile; else null. */
  readonly recordingTime: number | null;
  /** Reads `count` numbers into `startValues`, from `first` on. */
  takeStart(first: number, count: number): void;
  /** Builds the problem. */
  build(module: RawModule): RawProblem;
  /** Says which inputs lose digits in f32, a sentence each. To be called before `release`. */
  lostDigits(): string[];
  /** Frees the recording. To be called when the compile has ended. */
  release(): void;
  /** Returns the changes since its previous call, or since the compile began. */
  takeEdits(): Edits;
  /** Returns a sentence that names what was added after the compile and so takes no part; empty if nothing was. */
  additions(): string;
  /** Returns the parameters' bounds and constants and the blocks that are enabled, as of the call. */
  domain(): Domain;
  /** Returns the blocks that take part and have a graduated loss. To be called at the time of the call. */
  graduatedBlocks(): readonly GraduatedBlock[];
  /** Returns the write-back of a call. To be called at the time of the call, after `takeEdits`. */
  writeBack(): WriteBack;
  /** Enables `dataBuffer()` of the residual blocks; `read` calls into the module. */
  attach(read: (work: (raw: RawFunctions) => GPUBuffer | null) => GPUBuffer | null): void;
  /** Reverts `attach`. */
  detach(): void;
}
