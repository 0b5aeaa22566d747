/**
 * A plan with its memory on the CPU. Each step has a frame: the addresses of the kernel's buffers in binding order, then the words of its
 * uniform.
 */

import { ResiduaError } from '../../../arguments/errors.js';
import { paddedBytes } from '../../memory/numbers.js';
import type { Accounts } from '../accounts.js';
import type { Memory, MemoryRequest, Runner } from '../engine.js';
import { isDispatch, STEP_WORDS, type Plan } from '../plan.js';

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

/** Runs a plan on the CPU. */
export class CpuRunner implements Runner {
  private readonly frames: Memory | null;
  /** Where each step's frame begins, in words. */
  private readonly starts: number[] = [];
  private words: Uint32Array = new Uint32Array(0);

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
  }

  bind(): void {
    // Addresses are written at each run.
  }

  *run(slots: readonly Memory[]): Generator<void, void, void> {
    const { steps } = this.plan;
    const { accounts } = this.on;
    // The numbers and the memory of this run: those of later ones may be set before it ends.
    const { words } = this;
    const bound = [...slots];
    const uniformStart = steps.length * STEP_WORDS;
    accounts.submits += 1;
    for (const [k, step] of steps.entries()) {
      const at = k * STEP_WORDS;
      if (isDispatch(step)) {
        const [first, count] = [words[at + 3] as number, words[at + 4] as number];
        const frame = this.frame(k);
        step.places.forEach((place, binding) => (frame.words[binding] = this.memoryOf(place, bound).offset));
        frame.words.set(words.subarray(uniformStart + first, uniformStart + first + count), step.places.length);
        const kernel = this.kernels[step.kernel] as HostKernel;
        for (let part = this.on.callKernel(kernel, frame.address, 0); part !== 0; ) {
          yield;
          part = this.on.callKernel(kernel, frame.address, part);
        }
        accounts.dispatches += 1;
      } else {
        const bytes = words[at] as number;
        this.on.view(this.memoryOf(step.to, bound)).set(this.on.view(this.memoryOf(step.from, bound)).subarray(0, bytes));
      }
      yield;
    }
  }

  dispose(): void {
    if (this.frames !== null) this.on.free(this.frames);
  }

  private frame(step: number): { words: Uint32Array; address: number } {
    const view = this.on.view(this.frames as Memory);
    const start = 4 * (this.starts[step] as number);
    const address = view.byteOffset + start;
    return { words: new Uint32Array(view.buffer, address, (view.length - start) / 4), address };
  }

  private memoryOf(place: number, slots: readonly Memory[]): Memory {
    const memory = this.places[place] ?? slots[this.plan.places[place]?.slot ?? 0];
    if (memory === undefined) throw new ResiduaError('internal', `place ${place} of a plan has no memory`);
    return memory;
  }
}
