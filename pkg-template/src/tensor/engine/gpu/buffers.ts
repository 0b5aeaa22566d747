/** Buffers of a device: allocation with checks, and those that are kept for later allocations. */

import { ResiduaError } from '../../../arguments/errors.js';
import type { Accounts } from '../accounts.js';
import type { Memory, MemoryRequest } from '../engine.js';

/** Bytes that are kept for later allocations at most. */
const KEPT_BYTES = 256 * 2 ** 20;

/** Returns an 'out-of-memory' error. */
function outOfMemory(what: string, bytes: number): ResiduaError {
  return new ResiduaError('out-of-memory', `${what}: the GPU has no ${bytes} bytes left; dispose of tensors and programs, or call trim()`);
}

/** Allocates buffers of a device. */
export class Buffers {
  private readonly kept = new Map<number, GPUBuffer[]>();
  private keptBytes = 0;
  /** The buffers in use, with the memory that each is now. */
  private readonly live = new Map<GPUBuffer, Memory>();
  private readonly checks = new Set<Promise<unknown>>();

  constructor(
    private readonly device: GPUDevice,
    private readonly accounts: Accounts,
  ) {}

  /** Allocates memory. Its content is undefined if the buffer served before. Throws 'limit-exceeded'. */
  allocate({ what, bytes, purpose, isVertex = false }: MemoryRequest): Memory & { isFresh: boolean } {
    this.checkSize(what, bytes);
    const reused = isVertex ? undefined : this.kept.get(bytes)?.pop();
    const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST | (isVertex ? GPUBufferUsage.VERTEX : 0);
    const buffer = reused ?? this.create({ label: what, size: bytes, usage }, (error) => this.refuse(memory, error));
    const memory: Memory & { isFresh: boolean } = { bytes, buffer, offset: 0, isOwned: true, purpose, failure: null, isFresh: reused === undefined };
    this.accounts.count(purpose, bytes);
    if (reused !== undefined) this.countKept(-bytes);
    this.live.set(buffer, memory);
    return memory;
  }

  /** Creates a buffer. `fail` is called later if there is no memory for it. */
  create(descriptor: GPUBufferDescriptor, fail: (error: ResiduaError) => void): GPUBuffer {
    const made = () => this.device.createBuffer(descriptor);
    return this.watch(descriptor.label ?? 'a buffer', descriptor.size, made, (error) => void (error !== null && fail(error)));
  }

  /** Makes something that takes so many bytes. `settle` is called later: with an error if there is no memory for it, else with null. */
  watch<T>(what: string, bytes: number, make: () => T, settle: (error: ResiduaError | null) => void): T {
    this.device.pushErrorScope('out-of-memory');
    const made = make();
    const check = this.device.popErrorScope().then(
      (error) => settle(error === null ? null : outOfMemory(what, bytes)),
      // The device is lost, which is reported otherwise.
      () => {},
    );
    this.checks.add(check);
    void check.then(() => this.checks.delete(check));
    return made;
  }

  /** Waits until it is known whether there was memory for all buffers. */
  async checked(): Promise<void> {
    await Promise.all(this.checks);
  }

  /** Keeps a buffer for later allocations, or destroys it. Work that was submitted before is not affected. */
  free(memory: Memory, isReusable: boolean): void {
    const { buffer, bytes } = memory;
    if (buffer === null || !memory.isOwned || !this.live.delete(buffer)) return;
    this.accounts.count(memory.purpose, -bytes);
    const isVertex = (buffer.usage & GPUBufferUsage.VERTEX) !== 0;
    if (!isReusable || isVertex || memory.failure !== null || this.keptBytes + bytes > KEPT_BYTES) {
      buffer.destroy();
      return;
    }
    this.countKept(bytes);
    const same = this.kept.get(bytes);
    if (same === undefined) this.kept.set(bytes, [buffer]);
    else same.push(buffer);
  }

  /** Destroys what is kept. */
  trim(): void {
    for (const buffers of this.kept.values()) for (const buffer of buffers) buffer.destroy();
    this.kept.clear();
    this.countKept(-this.keptBytes);
  }

  /** Destroys all buffers. */
  dispose(): void {
    this.trim();
    for (const buffer of this.live.keys()) buffer.destroy();
    this.live.clear();
  }

  /** Notes that there was no memory for a buffer, which may have been freed meanwhile, or may serve again. */
  private refuse(memory: Memory, error: ResiduaError): void {
    const buffer = memory.buffer as GPUBuffer;
    memory.failure = error;
    const present = this.live.get(buffer);
    if (present !== undefined) present.failure = error;
    const same = this.kept.get(memory.bytes);
    const place = same?.indexOf(buffer) ?? -1;
    if (place < 0) return;
    same?.splice(place, 1);
    this.countKept(-memory.bytes);
    buffer.destroy();
  }

  private countKept(bytes: number): void {
    this.keptBytes += bytes;
    this.accounts.count('pool', bytes);
  }

  private checkSize(what: string, bytes: number): void {
    const { maxBufferSize } = this.device.limits;
    if (bytes > maxBufferSize) throw new ResiduaError('limit-exceeded', `${what}: ${bytes} bytes are needed, and the device's maxBufferSize is ${maxBufferSize}`);
  }
}
