/** Times passes of dispatches: by timestamps where the device has them, else by the clock until the queue is done. */

/** Bytes of a timestamp. */
const STAMP_BYTES = 8;

/** Queries and the buffers that their results go through. */
interface Stamps {
  readonly queries: GPUQuerySet;
  readonly resolved: GPUBuffer;
  readonly readable: GPUBuffer;
}

/** A timer of one device, for one pass at a time. */
export class PassTimer {
  private readonly stamps: Stamps | null;

  /** @param wait waits for a promise of the device, and rejects when the device fails */
  constructor(
    private readonly gpu: GPUDevice,
    private readonly wait: <T>(promise: Promise<T>) => Promise<T>,
  ) {
    this.stamps = gpu.features.has('timestamp-query') ? makeStamps(gpu) : null;
  }

  /** Runs a pass, and gives its milliseconds: Infinity where timestamps have no difference, or run backwards as those of a device that was reset may. */
  async time(encode: (pass: GPUComputePassEncoder) => void): Promise<number> {
    const { gpu, stamps } = this;
    const encoder = gpu.createCommandEncoder();
    const pass = encoder.beginComputePass(stamps === null ? {} : { timestampWrites: { querySet: stamps.queries, beginningOfPassWriteIndex: 0, endOfPassWriteIndex: 1 } });
    encode(pass);
    pass.end();
    if (stamps !== null) {
      encoder.resolveQuerySet(stamps.queries, 0, 2, stamps.resolved, 0);
      encoder.copyBufferToBuffer(stamps.resolved, 0, stamps.readable, 0, 2 * STAMP_BYTES);
    }
    const start = performance.now();
    gpu.queue.submit([encoder.finish()]);
    if (stamps === null) {
      await this.wait(gpu.queue.onSubmittedWorkDone());
      return performance.now() - start;
    }
    await this.wait(stamps.readable.mapAsync(GPUMapMode.READ));
    const [begin, end] = new BigUint64Array(stamps.readable.getMappedRange()) as unknown as [bigint, bigint];
    stamps.readable.unmap();
    return end > begin ? Number(end - begin) / 1e6 : Infinity;
  }

  /** Frees its queries. */
  dispose(): void {
    this.stamps?.queries.destroy();
    this.stamps?.resolved.destroy();
    this.stamps?.readable.destroy();
  }
}

function makeStamps(gpu: GPUDevice): Stamps {
  const buffer = (usage: number) => gpu.createBuffer({ label: 'times of a pass', size: 2 * STAMP_BYTES, usage });
  return {
    queries: gpu.createQuerySet({ label: 'times of a pass', type: 'timestamp', count: 2 }),
    resolved: buffer(GPUBufferUsage.QUERY_RESOLVE | GPUBufferUsage.COPY_SRC),
    readable: buffer(GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST),
  };
}
