/** Reads of buffers through buffers that can be mapped, which are kept for later reads. */

import type { ResiduaError } from '../../../arguments/errors.js';
import type { Accounts } from '../accounts.js';
import type { Memory } from '../engine.js';
import type { Buffers } from './buffers.js';

/** A part of memory to read. */
export interface Part {
  readonly memory: Memory;
  readonly bytes: number;
}

/** The least size of a staging buffer. Sizes are powers of two, so that a read finds one of an earlier read. */
const LEAST_BYTES = 4096;

/** Bytes of the buffers that are kept at most. A larger buffer has the size of its read, and is not kept. */
const KEPT_BYTES = 64 * 2 ** 20;

/** Where a mapped range may begin. */
const GRAIN = 8;

/** The staging buffers of a device. */
export class Staging {
  /** Buffers for later reads, the latest used last. */
  private idle: GPUBuffer[] = [];
  private readonly live = new Set<GPUBuffer>();

  constructor(
    private readonly device: GPUDevice,
    private readonly buffers: Buffers,
    private readonly accounts: Accounts,
  ) {}

  /** Submits the copies of parts, and resolves with their bytes in fresh memory. */
  async read(parts: readonly Part[], wait: (mapped: Promise<undefined>) => Promise<undefined>): Promise<Uint8Array<ArrayBuffer>[]> {
    const starts: number[] = [];
    let end = 0;
    for (const { bytes } of parts) {
      const start = Math.ceil(end / GRAIN) * GRAIN;
      starts.push(start);
      end = start + Math.max(4, Math.ceil(bytes / 4) * 4);
    }
    let failure: ResiduaError | null = null;
    const staging = this.take(end, (error) => (failure = error));
    const encoder = this.device.createCommandEncoder();
    parts.forEach(({ memory, bytes }, k) => {
      encoder.copyBufferToBuffer(memory.buffer as GPUBuffer, memory.offset, staging, starts[k] as number, Math.ceil(bytes / 4) * 4);
    });
    this.device.queue.submit([encoder.finish()]);
    try {
      await wait(staging.mapAsync(GPUMapMode.READ, 0, end));
    } catch (error) {
      this.drop(staging);
      throw failure ?? error;
    }
    const found = parts.map(({ bytes }, k) => {
      const start = starts[k] as number;
      return new Uint8Array(staging.getMappedRange(start, Math.ceil(bytes / 4) * 4).slice(0, bytes));
    });
    staging.unmap();
    this.keep(staging);
    return found;
  }

  /** Destroys what is kept. */
  trim(): void {
    this.dropIdle(0);
  }

  /** Destroys all buffers, of pending reads too. */
  dispose(): void {
    this.trim();
    for (const buffer of this.live) buffer.destroy();
    this.live.clear();
  }

  private take(bytes: number, fail: (error: ResiduaError) => void): GPUBuffer {
    const size = bytes > KEPT_BYTES ? bytes : Math.max(LEAST_BYTES, 2 ** Math.ceil(Math.log2(bytes)));
    const place = this.idle.findIndex((buffer) => buffer.size === size);
    if (place >= 0) {
      this.accounts.count('pool', -size);
      return this.idle.splice(place, 1)[0] as GPUBuffer;
    }
    const buffer = this.buffers.create({ label: 'read', size, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST }, fail);
    this.live.add(buffer);
    return buffer;
  }

  private keep(buffer: GPUBuffer): void {
    if (!this.live.has(buffer)) return;
    if (buffer.size > KEPT_BYTES) {
      this.drop(buffer);
      return;
    }
    this.idle.push(buffer);
    this.accounts.count('pool', buffer.size);
    this.dropIdle(KEPT_BYTES);
  }

  /** Destroys kept buffers, the earliest used first, until so many bytes are left. */
  private dropIdle(most: number): void {
    let bytes = this.idle.reduce((sum, { size }) => sum + size, 0);
    while (bytes > most) {
      const buffer = this.idle.shift() as GPUBuffer;
      bytes -= buffer.size;
      this.accounts.count('pool', -buffer.size);
      this.drop(buffer);
    }
  }

  private drop(buffer: GPUBuffer): void {
    if (this.live.delete(buffer)) buffer.destroy();
  }
}
