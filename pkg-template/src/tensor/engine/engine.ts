/** What a device needs of a place to compute: memory, transfers, and runs of plans. There are two: gpu-engine.ts and cpu-engine.ts. */

import type { ResiduaError } from '../../arguments/errors.js';
import type { RawPlanOptions } from '../module/raw.js';
import type { Purpose } from './accounts.js';
import type { Picture } from '../../arguments/picture.js';
import type { Canvas } from './picture.js';
import type { Pending } from './pending.js';
import type { LocalPlan, Plan } from './plan.js';

/** A piece of memory. Its size is a multiple of 16 bytes. */
export interface Memory {
  readonly bytes: number;
  /** On the GPU, the buffer that it lies in; else null. */
  readonly buffer: GPUBuffer | null;
  /** Where it begins, in bytes: in the buffer, or on the CPU in the module's memory. */
  readonly offset: number;
  /** Whether the engine frees it; not so for memory of the application. */
  readonly isOwned: boolean;
  /** What it is counted as. */
  purpose: Purpose;
  /** That it could not be allocated, which a GPU says later; null if it could. */
  failure: ResiduaError | null;
}

/** Whether two pieces of memory have bytes in common: several stored tensors may lie in one buffer of the application. */
export function haveCommonBytes(a: Memory, b: Memory): boolean {
  return a === b || (a.buffer !== null && a.buffer === b.buffer && a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes);
}

/** What memory is to be. */
export interface MemoryRequest {
  /** What it is for, in messages. */
  readonly what: string;
  readonly bytes: number;
  readonly purpose: Purpose;
  /** Whether it must be zero. */
  readonly isZeroed?: boolean;
  /** Whether the application may bind it as vertices. */
  readonly isVertex?: boolean;
}

/** The compiled kernels of a plan. */
export interface Kernels {
  /** For which engine: pipelines, or functions of a WebAssembly module. */
  readonly list: readonly unknown[];
}

/** A plan with its memory, ready to run. */
export interface Runner {
  /** Takes the numbers of a run, as the plan's `words` gives them for some dims. Later runs use them. */
  setWords(words: Uint32Array<ArrayBuffer>, dims: Uint32Array<ArrayBuffer>): void;
  /** Prepares runs with memory for each slot, so that they allocate nothing. */
  bind(slots: readonly Memory[]): void;
  /** Lets each of the runs to come, so many, have the next dims of a list, as far as no size depends on them; the other numbers are those of `setWords`. 0 runs: those of `setWords` alone. */
  follow(dims: Uint32Array<ArrayBuffer>, runs: number): void;
  /** Begins with the first dims of that list. */
  rewind(): void;
  /**
   * Runs with memory for each slot. On the CPU the call does a part of the first step, and a generator one of what is left at each `next()`.
   *
   * @param caller the waits of the call that the run is for, where it can be aborted: a worker then leaves out what is left; others are left to the caller
   */
  run(slots: readonly Memory[], caller?: Pending): Generator<void, void, void> | void;
  /** Frees what the runner owns. Regions are their owner's. */
  dispose(): void;
}

/** Runs of several plans, in one go as far as the engine can. */
export interface Batch {
  /** Runs, as the runner's `run` does. */
  run(runner: Runner, slots: readonly Memory[], caller?: Pending): Generator<void, void, void> | void;
  /** Copies from the start of one piece of memory to another. */
  copy(from: Memory, to: Memory, bytes: number): void;
  /** Submits what is not submitted yet. */
  end(): void;
}

/** Progress of a compile: how many kernels are ready. */
export type KernelProgress = (done: number, total: number) => void;

/** A place that computes. All calls but `read` and `idle` act at once, in the order of the calls. */
export interface Engine {
  readonly backend: 'gpu' | 'cpu';
  /** Throws 'limit-exceeded', and on the CPU 'out-of-memory'. */
  allocate(request: MemoryRequest): Memory;
  /** Keeps memory for later allocations, or frees it if it must not be reused. */
  free(memory: Memory, isReusable: boolean): void;
  /** Waits until it is known whether all memory so far could be allocated. */
  allocated(): Promise<void>;
  /** Copies bytes to memory. `offset` is in bytes and a multiple of the size of an element. */
  write(memory: Memory, offset: number, bytes: Uint8Array<ArrayBuffer>): void;
  /** Copies from the start of one piece of memory to another. */
  copy(from: Memory, to: Memory, bytes: number): void;
  /** Reads the first bytes of pieces of memory into fresh memory, in one round trip. */
  read(parts: readonly { readonly memory: Memory; readonly bytes: number }[]): Promise<Uint8Array<ArrayBuffer>[]>;
  /** Takes a picture as it is now. Returns what writes its pixels to memory, once. Throws 'invalid-argument', 'limit-exceeded', and for a picture of a run 'out-of-memory' where there was none for the one before. */
  capture(argument: string, picture: Picture, isOfRun: boolean): (memory: Memory) => void;
  /** Returns what draws pixels on a canvas, whose size becomes theirs. Throws 'invalid-argument' for a canvas with a context of another kind. */
  target(argument: string, canvas: Canvas, width: number, height: number): (memory: Memory) => void | Promise<void>;
  /** Makes a runner. `places` has the memory of each place but slots, `first` the numbers of a run for the largest dims. */
  runner(plan: Plan, kernels: Kernels, places: readonly (Memory | null)[], first: Uint32Array): Runner;
  /** Returns what begins runs of several plans that belong together. */
  batches(): () => Batch;
  /** Waits until all submitted work is done. */
  idle(): Promise<void>;
  /** Frees memory that is kept for later allocations. */
  trim(): void;
  /** Frees everything. */
  dispose(): void;
}

/** An engine on this thread. */
export interface LocalEngine extends Engine {
  /** What plans for this engine may use. */
  readonly planOptions: RawPlanOptions;
  /** The most bytes that an allocation has. */
  readonly largestBytes: number;
  /** Compiles the kernels of a plan. */
  compile(plan: LocalPlan, onProgress: KernelProgress): Promise<Kernels>;
}
