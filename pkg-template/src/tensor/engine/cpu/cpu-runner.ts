/**
 * A plan with its memory on the CPU. Each step has a frame: the addresses of the kernel's buffers in binding order, then the words of its
 * uniform.
 */

import { paddedBytes } from '../../memory/numbers.js';
import type { Accounts } from '../accounts.js';
import type { Memory, MemoryRequest, Runner } from '../engine.js';
import { isDispatch, STEP_WORDS, type Plan, type Step } from '../plan.js';
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
  private words: Uint32Array = new Uint32Array(0);
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

  setWords(words: Uint32Array): void {
    this.words = words;
    this.bound = null;
  }

  bind(): void {
    // Addresses are written by runs.
  }

  *run(slots: readonly Memory[]): Generator<void, void, void> {
    const { steps } = this.plan;
    const { on, words, starts } = this;
    const bound = this.writeFrames(slots);
    const address = this.frames?.offset ?? 0;
    on.accounts.submits += 1;
    for (let k = 0; k < steps.length; k++) {
      const step = steps[k] as Step;
      if (isDispatch(step)) {
        const kernel = this.kernels[step.kernel] as HostKernel;
        const frame = address + 4 * (starts[k] as number);
        for (let part = on.callKernel(kernel, frame, 0); part !== 0; part = on.callKernel(kernel, frame, part)) yield;
        on.accounts.dispatches += 1;
      } else {
        const [from, to] = [step.from, step.to].map((place) => on.view(memoryOf(this.plan, this.places, bound, place))) as [Uint8Array, Uint8Array];
        to.set(from.subarray(0, words[k * STEP_WORDS] as number));
      }
      yield;
    }
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
