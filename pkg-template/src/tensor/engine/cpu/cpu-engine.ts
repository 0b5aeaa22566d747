/**
 * Tensors on the CPU: memory lies in the WebAssembly module of tensors, and kernels are functions of a generated module that imports that
 * memory.
 */

import { ResiduaError } from '../../../arguments/errors.js';
import type { Kernel } from '../../../threads/job.js';
import { poolOf } from '../../../threads/threaded.js';
import type { TensorInstance } from '../../module/loading.js';
import type { RawPlanOptions } from '../../module/raw.js';
import type { Accounts } from '../accounts.js';
import type { Batch, KernelProgress, Kernels, LocalEngine, Memory, MemoryRequest } from '../engine.js';
import type { Pending } from '../pending.js';
import { pixelsOf, type Picture } from '../../../arguments/picture.js';
import { contextOf, paint, type Canvas } from '../picture.js';
import type { LocalPlan, Plan } from '../plan.js';
import { CpuRunner, type HostKernel } from './cpu-runner.js';

/** Bytes that an allocation of the module can have. */
const LARGEST_BYTES = 2 ** 31 - 2 ** 16;

/** Parts of a generated kernel that a call does: at most some milliseconds of work. */
const PARTS = 32;

/** Returns what does several parts of a kernel a call. */
function inTurns(kernel: HostKernel): HostKernel {
  return (frame, part) => {
    for (let done = 0; done < PARTS; done++) {
      part = kernel(frame, part) ?? 0;
      if (part === 0) return 0;
    }
    return part;
  };
}

/** Frees the code of kernels that nobody refers to any more. */
const collected = /* @__PURE__ */ new FinalizationRegistry<() => void>((free) => free());

/** Computes in the WebAssembly module of tensors. */
export class CpuEngine implements LocalEngine {
  readonly backend = 'cpu';
  readonly largestBytes: number = LARGEST_BYTES;
  readonly planOptions: RawPlanOptions = { host: true, maxStorageBuffers: 64, maxBindingBytes: 0, maxWorkgroupBytes: 0 };
  private readonly live = new Set<Memory>();

  constructor(
    private readonly instance: TensorInstance,
    /** Its counters. */
    readonly accounts: Accounts,
    private readonly pending: Pending,
  ) {}

  allocate({ what, bytes, purpose, isZeroed = false }: MemoryRequest): Memory {
    if (bytes > LARGEST_BYTES) throw new ResiduaError('limit-exceeded', `${what}: ${bytes} bytes are needed, and an allocation of the CPU engine has at most ${LARGEST_BYTES}`);
    const offset = this.instance.call((module) => module.alloc(bytes));
    if (offset === 0) throw new ResiduaError('out-of-memory', `${what}: the module's memory has no ${bytes} bytes left; dispose of tensors and programs`);
    const memory: Memory = { bytes, buffer: null, offset, isOwned: true, purpose, failure: null };
    this.live.add(memory);
    this.accounts.count(purpose, bytes);
    if (isZeroed) this.view(memory).fill(0);
    return memory;
  }

  free(memory: Memory): void {
    if (!this.live.delete(memory)) return;
    this.accounts.count(memory.purpose, -memory.bytes);
    if (this.instance.failure === null) this.instance.call((module) => module.dealloc(memory.offset, memory.bytes));
  }

  async allocated(): Promise<void> {
    // Allocations throw where there is no memory.
  }

  write(memory: Memory, offset: number, bytes: Uint8Array): void {
    this.view(memory).set(bytes, offset);
  }

  copy(from: Memory, to: Memory, bytes: number): void {
    this.view(to).set(this.view(from).subarray(0, bytes));
  }

  async read(parts: readonly { readonly memory: Memory; readonly bytes: number }[]): Promise<Uint8Array<ArrayBuffer>[]> {
    this.pending.check();
    this.accounts.readbacks += 1;
    return parts.map(({ memory, bytes }) => this.view(memory).slice(0, bytes));
  }

  capture(argument: string, picture: Picture): (memory: Memory) => void {
    const bytes = pixelsOf(argument, picture);
    return (memory) => this.write(memory, 0, bytes);
  }

  target(argument: string, canvas: Canvas, width: number, height: number): (memory: Memory) => void {
    const context = contextOf<CanvasRenderingContext2D>(argument, canvas, '2d');
    return (memory) => paint(canvas, context, width, height, this.view(memory));
  }

  async compile(plan: LocalPlan, onProgress: KernelProgress): Promise<Kernels> {
    if (plan.kernels.length === 0) return { list: [] };
    const bytes = this.instance.call(() => plan.raw.hostModule()) as Uint8Array<ArrayBuffer>;
    const memory = this.instance.call((module) => module.wasmMemory());
    const { instance } = await this.pending.wait(WebAssembly.instantiate(bytes, { env: { memory } }));
    this.accounts.pipelines += 1;
    onProgress(plan.kernels.length, plan.kernels.length);
    const share = this.sharing(bytes);
    const kernel = (position: number): HostKernel => {
      const generated = instance.exports[String(position)] as HostKernel | undefined;
      if (generated !== undefined) return share(generated, position);
      // Matrix products and sorts are loops of the module itself.
      const product = plan.raw.product(position);
      if (product === undefined) throw new ResiduaError('internal', `kernel ${position} of a plan has no code`);
      return (frame, part) => product.run(frame, part);
    };
    return { list: plan.kernels.map((_, position) => kernel(position)) };
  }

  /** Returns what makes kernels of some code be shared by the threads of the module, if there are several. */
  private sharing(bytes: Uint8Array): (kernel: HostKernel, position: number) => HostKernel {
    const pool = poolOf(this.instance.module);
    if (pool === null) return inTurns;
    const memory = this.allocate({ what: 'code', bytes: bytes.length, purpose: 'program' });
    this.write(memory, 0, bytes);
    const code = pool.code(memory.offset, bytes.length);
    collected.register(code, () => this.free(memory));
    // Most kernels have one part, which is done by the call.
    return (kernel, position) => (frame, part) => (part === 0 ? kernel(frame, 0) : pool.parts(kernel as Kernel, code, position, frame, part));
  }

  runner(plan: Plan, kernels: Kernels, places: readonly (Memory | null)[], first: Uint32Array): CpuRunner {
    return new CpuRunner(this, plan, kernels.list as readonly HostKernel[], places, first);
  }

  batches(): () => Batch {
    const batch: Batch = { run: (runner, slots) => runner.run(slots), copy: (from, to, bytes) => this.copy(from, to, bytes), end: () => {} };
    return () => batch;
  }

  async idle(): Promise<void> {
    this.pending.check();
  }

  trim(): void {
    // Freed memory goes back to the module at once.
  }

  dispose(): void {
    for (const memory of this.live) this.free(memory);
  }

  /** Calls a kernel. A trap is a failure of the module. */
  callKernel(kernel: HostKernel, frame: number, part: number): number {
    return this.instance.invoke(kernel, frame, part) ?? 0;
  }

  /** The bytes of memory. The view is not kept: the module's memory may grow. */
  view({ offset, bytes }: Memory): Uint8Array<ArrayBuffer> {
    const memory = this.instance.call((module) => module.wasmMemory());
    return new Uint8Array(memory.buffer as ArrayBuffer, offset, bytes);
  }
}
