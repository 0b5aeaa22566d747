/** The commands of a run, in as few passes and submissions as they allow. */

import type { Accounts } from '../accounts.js';
import type { Memory } from '../engine.js';
import type { KernelTimes } from './kernel-times.js';

/** The run whose time is measured: the first one may wait for drivers. */
const MEASURED_RUN = 2;

/** The parts of a GPU that a recording uses. */
export interface RecordingDevice {
  readonly gpu: GPUDevice;
  readonly accounts: Accounts;
  /** Milliseconds of a submission at most, about; 0 for one submission a run. */
  readonly sliceMs: number;
}

/** How many dispatches a submission of a program has. */
export class Slices {
  /** Dispatches of a submission. */
  steps: number = Infinity;
  private runs = 0;

  constructor(private readonly on: RecordingDevice) {}

  /**
   * Counts a run that was submitted. Measures how long one takes; from then on each submission has so many dispatches that it takes about `sliceMs`. Earlier
   * work may lengthen the measurement, which makes submissions shorter. No result depends on it.
   */
  count(dispatches: number): void {
    this.runs += 1;
    if (this.runs !== MEASURED_RUN || this.on.sliceMs === 0) return;
    const start = performance.now();
    const set = () => {
      const slices = Math.ceil((performance.now() - start) / this.on.sliceMs);
      if (slices > 1) this.steps = Math.max(1, Math.ceil(dispatches / slices));
    };
    // The device is lost, which is reported otherwise.
    this.on.gpu.queue.onSubmittedWorkDone().then(set, () => {});
  }
}

/** Commands that are recorded and submitted. */
export class Recording {
  private encoder: GPUCommandEncoder;
  private pass: GPUComputePassEncoder | null = null;
  /** That of the pass. */
  private pipeline: GPUComputePipeline | null = null;
  private dispatches = 0;
  private times: Set<KernelTimes> | null = null;

  constructor(
    private readonly on: RecordingDevice,
    private readonly slices: Slices,
  ) {
    this.encoder = on.gpu.createCommandEncoder();
  }

  /** The pass of the next dispatch: one of its own where its kernel is timed. */
  passFor(times: KernelTimes | null, kernel: string): GPUComputePassEncoder {
    if (times !== null) {
      this.endPass();
      const timestampWrites = times.next(kernel);
      this.pass = this.encoder.beginComputePass(timestampWrites === undefined ? {} : { timestampWrites });
    }
    return (this.pass ??= this.encoder.beginComputePass());
  }

  /** Sets the pipeline of the pass; null where the caller has set one. */
  use(pipeline: GPUComputePipeline | null): void {
    if (pipeline !== null && pipeline !== this.pipeline) this.pass?.setPipeline(pipeline);
    this.pipeline = pipeline;
  }

  /** Counts a dispatch, and submits what is recorded where a submission is full. */
  dispatched(): void {
    this.dispatches += 1;
    if (this.dispatches % this.slices.steps !== 0) return;
    this.endPass();
    this.submit();
    this.encoder = this.on.gpu.createCommandEncoder();
  }

  copy(from: Memory, to: Memory, bytes: number): void {
    this.endPass();
    this.encoder.copyBufferToBuffer(from.buffer as GPUBuffer, from.offset, to.buffer as GPUBuffer, to.offset, Math.ceil(bytes / 4) * 4);
  }

  /** Takes the times of kernels with it. */
  timed(times: KernelTimes): void {
    (this.times ??= new Set()).add(times);
  }

  /** Submits what is left. */
  end(): void {
    this.endPass();
    if (this.times !== null) for (const times of this.times) times.record(this.encoder);
    this.submit();
    if (this.times !== null) for (const times of this.times) times.collect();
    this.on.accounts.dispatches += this.dispatches;
    this.slices.count(this.dispatches);
  }

  private endPass(): void {
    this.pass?.end();
    this.pass = this.pipeline = null;
  }

  private submit(): void {
    this.on.gpu.queue.submit([this.encoder.finish()]);
    this.on.accounts.submits += 1;
  }
}
