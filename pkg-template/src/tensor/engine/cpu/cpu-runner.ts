/**
 * A plan with its memory on the CPU. Each step has a frame: the addresses of the kernel's buffers in binding order, then the words of its
 * uniform.
 */

import { paddedBytes } from '../../memory/numbers.js';
import type { Accounts } from '../accounts.js';
import type { Memory, MemoryRequest, Runner } from '../engine.js';
import { isDispatch, STEP_WORDS, wordsAt, type Plan, type Step } from '../plan.js';
import { isSameMemory, memoryOf } from '../places.js';

/**
 * A generated function, or a product of the module. It takes the address of its frame and which part is to be done, and gives the next part;
 * 0 or nothing after the last.
 */
export type HostKernel = (frame: number, part: number) => number | void;

/** The parts of the engine that a runner uses. */
export interface RunnerHost {
  readonly accounts: Accounts;
  allocate(request: MemoryRequest): Memory;
  free(memory: Memory): void;
  view(memory: Memory): Uint8Array<ArrayBuffer>;
  callKernel(kernel: HostKernel, frame: number, part: number): number;
}

/** Runs a plan on the CPU. Runs of it do not overlap. */
export class CpuRunner implements Runner {
  private readonly frames: Memory | null;
  /** Where each step's frame begins, in words. */
  private readonly starts: number[] = [];
  private words: Uint32Array<ArrayBuffer> = new Uint32Array(0);
  /** The dims of the runs to come, how many each has, and where those of the next one begin. */
  private following: { readonly dims: Uint32Array; readonly count: number; next: number } | null = null;
  /** The memory whose addresses the frames have; null where the frames do not have `words`. */
  private bound: readonly Memory[] | null = null;

  constructor(
    private readonly on: RunnerHost,
    private readonly plan: Plan,
    private readonly kernels: readonly HostKernel[],
    private readonly places: readonly (Memory | null)[],
    first: Uint32Array,
  ) {
    let end = 0;
    plan.steps.forEach((step, k) => {
      this.starts.push(end);
      // A frame begins at a multiple of 16 bytes.
      if (isDispatch(step)) end += Math.ceil((step.places.length + (first[k * STEP_WORDS + 4] as number)) / 4) * 4;
    });
    this.frames = end === 0 ? null : on.allocate({ what: 'frames', bytes: paddedBytes(4 * end), purpose: 'program' });
  }

  setWords(words: Uint32Array<ArrayBuffer>): void {
    this.words = words;
    this.bound = null;
  }

  follow(dims: Uint32Array, runs: number): void {
    this.following = runs === 0 || (this.plan.varying[0] ?? 0) === 0 ? null : { dims, count: dims.length / runs, next: 0 };
  }

  rewind(): void {
    if (this.following !== null) this.following.next = 0;
  }

  bind(): void {
    // Addresses are written by runs.
  }

  /** The first part of the first step is done by the call: a run of one short kernel then allocates nothing. */
  run(slots: readonly Memory[]): Generator<void, void, void> | void {
    const { following } = this;
    if (following !== null) {
      const { dims, count, next } = following;
      this.setWords(wordsAt(this.plan, this.words, dims.subarray(next, next + count)));
      following.next += count;
    }
    const bound = this.writeFrames(slots);
    this.on.accounts.submits += 1;
    if (this.plan.steps.length === 0) return undefined;
    const part = this.advance(bound, 0, 0);
    return part === 0 && this.plan.steps.length === 1 ? undefined : this.rest(bound, part);
  }

  /** Does what is left after a part of the first step. */
  private *rest(bound: readonly Memory[], part: number): Generator<void, void, void> {
    for (let k = part === 0 ? 1 : 0; k < this.plan.steps.length; ) {
      yield;
      part = this.advance(bound, k, part);
      if (part === 0) k++;
    }
  }

  /** Does a part of a step. Returns the next part, 0 after the last. */
  private advance(bound: readonly Memory[], k: number, part: number): number {
    const { on } = this;
    const step = this.plan.steps[k] as Step;
    if (isDispatch(step)) {
      const frame = (this.frames?.offset ?? 0) + 4 * (this.starts[k] as number);
      const next = on.callKernel(this.kernels[step.kernel] as HostKernel, frame, part);
      if (next === 0) on.accounts.dispatches += 1;
      return next;
    }
    const [from, to] = [step.from, step.to].map((place) => on.view(memoryOf(this.plan, this.places, bound, place))) as [Uint8Array, Uint8Array];
    to.set(from.subarray(0, this.words[k * STEP_WORDS] as number));
    return 0;
  }

  dispose(): void {
    if (this.frames !== null) this.on.free(this.frames);
  }

  /** Writes the frames unless they are those of this memory. Returns the memory in a list that does not change. */
  private writeFrames(slots: readonly Memory[]): readonly Memory[] {
    if (this.bound !== null && isSameMemory(this.bound, slots)) return this.bound;
    const { plan, places, words, starts, frames } = this;
    const uniforms = plan.steps.length * STEP_WORDS;
    if (frames !== null) {
      const { buffer, byteOffset, byteLength } = this.on.view(frames);
      const content = new Uint32Array(buffer, byteOffset, byteLength / 4);
      plan.steps.forEach((step, k) => {
        if (!isDispatch(step)) return;
        let at = starts[k] as number;
        for (const place of step.places) content[at++] = memoryOf(plan, places, slots, place).offset;
        const first = uniforms + (words[k * STEP_WORDS + 3] as number);
        content.set(words.subarray(first, first + (words[k * STEP_WORDS + 4] as number)), at);
      });
    }
    this.bound = [...slots];
    return this.bound;
  }
}
