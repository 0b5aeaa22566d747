/** GPU times of kernels by timestamps, for the option `profile`. */

import type { Accounts } from '../accounts.js';

/** Queries of a set that WebGPU allows. */
const QUERIES = 4096;

/** Times the dispatches of one runner. A run is not timed while times of an earlier one are on their way. */
export class KernelTimes {
  private readonly queries: GPUQuerySet;
  private readonly resolved: GPUBuffer;
  private readonly readable: GPUBuffer;
  private isBusy = false;
  private names: string[] = [];

  constructor(
    device: GPUDevice,
    private readonly accounts: Accounts,
    steps: number,
  ) {
    const count = Math.max(2, Math.min(QUERIES, 2 * steps));
    this.queries = device.createQuerySet({ label: 'kernel times', type: 'timestamp', count });
    this.resolved = device.createBuffer({ label: 'kernel times', size: 8 * count, usage: GPUBufferUsage.QUERY_RESOLVE | GPUBufferUsage.COPY_SRC });
    this.readable = device.createBuffer({ label: 'kernel times', size: 8 * count, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
  }

  /** What a pass with one dispatch of a kernel writes. */
  next(name: string): GPUComputePassTimestampWrites | undefined {
    const times = this.accounts.kernels?.get(name);
    if (times === undefined) this.accounts.kernels?.set(name, { dispatches: 1, timed: 0, timedMs: 0 });
    else times.dispatches += 1;
    const at = 2 * this.names.length;
    if (this.isBusy || at + 2 > this.queries.count) return undefined;
    this.names.push(name);
    return { querySet: this.queries, beginningOfPassWriteIndex: at, endOfPassWriteIndex: at + 1 };
  }

  /** Records the copy of the times. */
  record(encoder: GPUCommandEncoder): void {
    const count = 2 * this.names.length;
    if (this.isBusy || count === 0) return;
    encoder.resolveQuerySet(this.queries, 0, count, this.resolved, 0);
    encoder.copyBufferToBuffer(this.resolved, 0, this.readable, 0, 8 * count);
  }

  /** Reads the times of a run that was submitted. */
  collect(): void {
    if (this.isBusy || this.names.length === 0) return;
    const { names } = this;
    this.names = [];
    this.isBusy = true;
    this.readable.mapAsync(GPUMapMode.READ, 0, 16 * names.length).then(
      () => {
        const stamps = new BigUint64Array(this.readable.getMappedRange(0, 16 * names.length));
        names.forEach((name, k) => {
          const times = this.accounts.kernels?.get(name);
          const [start, end] = [stamps[2 * k] as bigint, stamps[2 * k + 1] as bigint];
          // Timestamps of a device that was reset may run backwards.
          if (times === undefined || end <= start) return;
          times.timed += 1;
          times.timedMs += Number(end - start) / 1e6;
        });
        this.readable.unmap();
        this.isBusy = false;
      },
      // The device is lost or the runner was disposed.
      () => {},
    );
  }

  /** Frees the queries. */
  dispose(): void {
    this.queries.destroy();
    this.resolved.destroy();
    this.readable.destroy();
  }
}
