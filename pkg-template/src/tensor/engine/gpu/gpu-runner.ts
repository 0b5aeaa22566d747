/**
 * A plan with its memory on a GPU. A run makes one command buffer of dispatches and copies whose bind groups exist; those of other memory for
 * the slots are made when it is first bound, and a few sets of them are kept.
 */

import type { Memory, Runner } from '../engine.js';
import { isDispatch, STEP_WORDS, type Kernel, type Plan, type Step } from '../plan.js';
import { isSameMemory, memoryOf } from '../places.js';
import { KernelTimes } from './kernel-times.js';
import type { Pipeline } from './pipelines.js';
import { Recording, Slices, type RecordingDevice } from './recording.js';
import { Uniforms, type UniformPipeline } from './uniforms.js';

/** Sets of bind groups that are kept: in nested loops states have three pieces of memory each. */
const KEPT_SETS = 32;

/** Bind groups of all steps, null for copies, for some memory of the slots. */
interface BoundSet {
  readonly slots: readonly Memory[];
  readonly groups: readonly (GPUBindGroup | null)[];
}

/** The parts of a GPU that a runner uses. */
export interface RunnerDevice extends RecordingDevice {
  /** Whether kernels are timed. */
  readonly isTimed: boolean;
  /** Computes uniforms that depend on dims. */
  readonly uniformPipeline: UniformPipeline;
}

/** Runs a plan on a GPU. */
export class GpuRunner implements Runner {
  private readonly uniforms: Uniforms | null;
  private readonly times: KernelTimes | null;
  private sets: BoundSet[] = [];
  private words: Uint32Array<ArrayBuffer> = new Uint32Array(0);
  private readonly uniformStart: number;
  private readonly slices: Slices;

  /**
   * @param pipelines by kernel
   * @param places memory of each place, null for slots
   * @param first the numbers of a run for the largest dims; where uniforms begin is the same for all
   * @param onDispose called when it is disposed of
   */
  constructor(
    private readonly on: RunnerDevice,
    private readonly plan: Plan,
    private readonly pipelines: readonly Pipeline[],
    private readonly places: readonly (Memory | null)[],
    private readonly first: Uint32Array,
    private readonly onDispose: () => void,
  ) {
    this.uniformStart = plan.steps.length * STEP_WORDS;
    const bytes = 4 * (first.length - this.uniformStart);
    this.uniforms = bytes === 0 ? null : new Uniforms(on.gpu, on.uniformPipeline, bytes, plan.varying);
    this.slices = new Slices(on);
    this.times = on.isTimed ? new KernelTimes(on.gpu, on.accounts, plan.steps.length) : null;
  }

  setWords(words: Uint32Array<ArrayBuffer>, dims: Uint32Array<ArrayBuffer>): void {
    this.words = words;
    this.uniforms?.set(words, this.uniformStart, dims);
  }

  /** Makes the bind groups for memory of the slots, unless they exist. */
  bind(slots: readonly Memory[]): void {
    this.setOf(slots);
  }

  run(slots: readonly Memory[]): void {
    const recording = new Recording(this.on, this.slices);
    this.encode(recording, slots);
    recording.end();
  }

  follow(dims: Uint32Array<ArrayBuffer>, runs: number): void {
    this.uniforms?.follow(dims, runs);
  }

  rewind(): void {
    this.uniforms?.rewind();
  }

  /** Records a run. */
  encode(recording: Recording, slots: readonly Memory[]): void {
    const { groups } = this.setOf(slots);
    const { words, times, uniforms, pipelines } = this;
    const { steps, kernels } = this.plan;
    if (uniforms?.needsUpdate === true) {
      uniforms.encode(recording.passFor(null, ''));
      recording.use(null);
    }
    for (let k = 0; k < steps.length; k++) {
      const step = steps[k] as Step;
      const at = k * STEP_WORDS;
      if (!isDispatch(step)) {
        recording.copy(this.memoryOf(step.from, slots), this.memoryOf(step.to, slots), words[at] as number);
        continue;
      }
      const x = words[at] as number;
      const y = words[at + 1] as number;
      const z = words[at + 2] as number;
      if (x * y * z === 0) continue;
      const pass = recording.passFor(times, times === null ? '' : (kernels[step.kernel] as Kernel).name);
      recording.use((pipelines[step.kernel] as Pipeline).pipeline);
      pass.setBindGroup(0, groups[k] as GPUBindGroup);
      pass.dispatchWorkgroups(x, y, z);
      recording.dispatched();
    }
    if (times !== null) recording.timed(times);
  }

  /** Dispatches the first step so many times in a pass, for timing. */
  repeat(pass: GPUComputePassEncoder, slots: readonly Memory[], count: number): void {
    const { words, plan, pipelines } = this;
    const [step] = plan.steps;
    if (step === undefined || !isDispatch(step)) return;
    pass.setPipeline((pipelines[step.kernel] as Pipeline).pipeline);
    pass.setBindGroup(0, this.setOf(slots).groups[0] as GPUBindGroup);
    for (let k = 0; k < count; k++) pass.dispatchWorkgroups(words[0] as number, words[1], words[2]);
  }

  dispose(): void {
    this.onDispose();
    this.uniforms?.dispose();
    this.times?.dispose();
    this.sets = [];
  }

  private memoryOf(place: number, slots: readonly Memory[]): Memory {
    return memoryOf(this.plan, this.places, slots, place);
  }

  /** The set for some memory, the latest used last. */
  private setOf(slots: readonly Memory[]): BoundSet {
    const { sets } = this;
    for (let k = sets.length - 1; k >= 0; k--) {
      const set = sets[k] as BoundSet;
      if (!isSameMemory(set.slots, slots)) continue;
      if (k < sets.length - 1) {
        sets.splice(k, 1);
        sets.push(set);
      }
      return set;
    }
    const near = sets.at(-1);
    const known = new Map<Step, GPUBindGroup | null>();
    const groups = this.plan.steps.map((step, k) => {
      if (!isDispatch(step)) return null;
      const same = known.get(step);
      if (same !== undefined) return same;
      const isUnchanged = near !== undefined && step.places.every((place) => this.memoryOf(place, near.slots) === this.memoryOf(place, slots));
      const group = isUnchanged ? (near.groups[k] ?? null) : this.group(k, step.kernel, step.places, slots);
      known.set(step, group);
      return group;
    });
    const set = { slots: [...slots], groups };
    sets.push(set);
    if (sets.length > KEPT_SETS) sets.shift();
    return set;
  }

  private group(step: number, kernel: number, places: readonly number[], slots: readonly Memory[]): GPUBindGroup {
    const most = this.on.gpu.limits.maxStorageBufferBindingSize;
    const { windows = null, bindings } = this.plan.kernels[kernel] ?? {};
    const resources: GPUBufferBinding[] = places.flatMap((place, position) => {
      const count = windows?.counts[position] ?? 1;
      return windowsOf(this.memoryOf(place, slots), count > 1 && windows !== null ? windows.bytes : most, count);
    });
    if (this.uniforms !== null && bindings?.at(-1) === 2) {
      const at = step * STEP_WORDS;
      const [start, count] = [this.first[at + 3] as number, this.first[at + 4] as number];
      resources.push({ buffer: this.uniforms.buffer, offset: 4 * start, size: Math.max(1, Math.ceil(count / 4)) * 16 });
    }
    const { layout } = this.pipelines[kernel] as Pipeline;
    return this.on.gpu.createBindGroup({ layout, entries: resources.map((resource, binding) => ({ binding, resource })) });
  }
}

/**
 * The bindings of memory in so many windows of so many bytes. What lies beyond them serves others that have the memory at other times. Memory of
 * sizes below the largest may have fewer windows: no index is in the others, which bind the first one again.
 */
function windowsOf({ buffer, offset, bytes }: Memory, length: number, count: number): GPUBufferBinding[] {
  return Array.from({ length: count }, (_, k) => {
    const start = k * length < bytes ? k * length : 0;
    return { buffer: buffer as GPUBuffer, offset: offset + start, size: Math.min(length, bytes - start) };
  });
}
