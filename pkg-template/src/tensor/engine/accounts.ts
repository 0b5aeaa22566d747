/** Counters of a device. */

/** What a device has allocated and done. Sizes are in bytes. */
export interface DeviceStats {
  /** Stored tensors that are not disposed, quantised ones among them. */
  tensors: number;
  /** Their memory. */
  tensorBytes: number;
  /** Programs that are not disposed. */
  programs: number;
  /** Their memory, outputs included. */
  programBytes: number;
  /** Memory kept for later allocations and reads. */
  pooledBytes: number;
  /** The largest sum of all memory so far. */
  peakBytes: number;
  /** Stored tensors and programs that were garbage-collected before they were disposed. */
  leaked: number;
  /** Compiled pipelines; on the CPU compiled modules. */
  pipelines: number;
  /** Requests of pipelines that were already compiled. */
  pipelineCacheHits: number;
  /** Dispatched kernels. */
  dispatches: number;
  /** Submitted command buffers; on the CPU runs. */
  submits: number;
  /** Reads, each of one or more tensors. */
  readbacks: number;
  /**
   * With the option `profile`, dispatches and GPU time of kernels by name. Times arrive some turns of the event loop after the run. A run that is submitted while times of an
   * earlier one are on their way is not timed: its dispatches count with the mean of the timed ones.
   */
  kernels?: Record<string, { dispatches: number; gpuMs: number }>;
}

/** What memory is for. */
export type Purpose = 'tensor' | 'program' | 'pool';

/** The counters behind `stats()`. */
export class Accounts {
  tensors = 0;
  programs = 0;
  leaked = 0;
  pipelines = 0;
  pipelineCacheHits = 0;
  dispatches = 0;
  submits = 0;
  readbacks = 0;
  /** Times by kernel; null where nothing is timed. */
  kernels: Map<string, { dispatches: number; timed: number; timedMs: number }> | null = null;
  private readonly bytes: Record<Purpose, number> = { tensor: 0, program: 0, pool: 0 };
  private peakBytes = 0;

  /** Counts memory that is allocated for a purpose, or no longer has it if `bytes` is negative. */
  count(purpose: Purpose, bytes: number): void {
    this.bytes[purpose] += bytes;
    const { tensor, program, pool } = this.bytes;
    this.peakBytes = Math.max(this.peakBytes, tensor + program + pool);
  }

  /** A copy of the counters. */
  snapshot(): DeviceStats {
    const { tensors, programs, leaked, pipelines, pipelineCacheHits, dispatches, submits, readbacks, peakBytes } = this;
    const { tensor: tensorBytes, program: programBytes, pool: pooledBytes } = this.bytes;
    const counters = { tensors, tensorBytes, programs, programBytes, pooledBytes, peakBytes, leaked, pipelines, pipelineCacheHits, dispatches, submits, readbacks };
    if (this.kernels === null) return counters;
    const kernels = Array.from(this.kernels, ([name, { dispatches, timed, timedMs }]) => [name, { dispatches, gpuMs: timed === 0 ? 0 : (timedMs / timed) * dispatches }]);
    return { ...counters, kernels: Object.fromEntries(kernels) };
  }
}
