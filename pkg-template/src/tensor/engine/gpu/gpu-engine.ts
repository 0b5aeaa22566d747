/** Tensors on a GPU: memory is buffers, kernels are compute pipelines, and a run is one submission. */

import type { RawPlanOptions } from '../../module/raw.js';
import type { Turns } from '../../memory/turns.js';
import type { Accounts } from '../accounts.js';
import type { Batch, KernelProgress, Kernels, LocalEngine, Memory, MemoryRequest } from '../engine.js';
import type { Pending } from '../pending.js';
import type { Picture } from '../../../arguments/picture.js';
import type { Canvas } from '../picture.js';
import type { LocalPlan, Plan } from '../plan.js';
import { Buffers } from './buffers.js';
import { Completion } from './completion.js';
import { GpuRunner } from './gpu-runner.js';
import { PassTimer } from './pass-timer.js';
import { Patcher, splitWords } from './patch.js';
import { Pipelines, type Pipeline } from './pipelines.js';
import { Recording, Slices } from './recording.js';
import { Staging, type Part } from './staging.js';
import { Textures } from './textures.js';
import { UniformPipeline } from './uniforms.js';

/** Options of the engine. */
export interface GpuEngineOptions {
  /** Whether kernels are timed. */
  readonly isTimed: boolean;
  /** Milliseconds of a submission at most, about; 0 for one submission a run. */
  readonly sliceMs: number;
  /** Whether the GPU is emulated in software. */
  readonly isSoftware: boolean;
}

/** Computes on a GPUDevice, which it does not own. */
export class GpuEngine implements LocalEngine {
  readonly backend = 'gpu';
  readonly planOptions: RawPlanOptions;
  readonly largestBytes: number;
  /** Whether kernels are timed, which needs timestamps. */
  readonly isTimed: boolean;
  /** Milliseconds of a submission at most, about. */
  readonly sliceMs: number;
  /** Computes uniforms that depend on dims. */
  readonly uniformPipeline: UniformPipeline;
  private readonly buffers: Buffers;
  private readonly staging: Staging;
  private readonly textures: Textures;
  private readonly pipelines: Pipelines;
  private readonly completion: Completion;
  private readonly patcher: Patcher;
  /** Runners that are not disposed. */
  private readonly runners = new Set<GpuRunner>();

  constructor(
    /** The device. */
    readonly gpu: GPUDevice,
    /** Its counters. */
    readonly accounts: Accounts,
    private readonly pending: Pending,
    turns: Turns,
    options: GpuEngineOptions,
  ) {
    const { limits, features } = gpu;
    this.planOptions = {
      host: false,
      maxStorageBuffers: limits.maxStorageBuffersPerShaderStage,
      maxBindingBytes: limits.maxStorageBufferBindingSize,
      maxWorkgroupBytes: limits.maxComputeWorkgroupStorageSize,
      // Fake devices of applications have no navigator.gpu.
      hasPackedDot: globalThis.navigator?.gpu?.wgslLanguageFeatures?.has('packed_4x8_integer_dot_product') ?? false,
    };
    this.largestBytes = limits.maxBufferSize;
    this.isTimed = options.isTimed && features.has('timestamp-query');
    this.sliceMs = options.sliceMs;
    if (this.isTimed) accounts.kernels = new Map();
    this.uniformPipeline = new UniformPipeline(gpu);
    this.buffers = new Buffers(gpu, accounts);
    this.staging = new Staging(gpu, this.buffers, accounts);
    this.textures = new Textures(gpu, this.buffers);
    this.pipelines = new Pipelines(gpu, accounts);
    this.completion = new Completion(gpu.queue, turns, options.isSoftware);
    this.patcher = new Patcher(gpu);
  }

  allocate(request: MemoryRequest): Memory {
    const memory = this.buffers.allocate(request);
    if (request.isZeroed === true && !memory.isFresh) {
      const encoder = this.gpu.createCommandEncoder();
      encoder.clearBuffer(memory.buffer as GPUBuffer);
      this.gpu.queue.submit([encoder.finish()]);
    }
    return memory;
  }

  free(memory: Memory, isReusable: boolean): void {
    this.buffers.free(memory, isReusable);
  }

  allocated(): Promise<void> {
    return this.buffers.checked();
  }

  write(memory: Memory, offset: number, bytes: Uint8Array<ArrayBuffer>): void {
    const { queue } = this.gpu;
    const buffer = memory.buffer as GPUBuffer;
    const at = memory.offset + offset;
    if (offset % 4 === 0 && bytes.length % 4 === 0) {
      queue.writeBuffer(buffer, at, bytes);
      return;
    }
    const { head, middle, patches } = splitWords(offset, bytes);
    if (middle > 0) queue.writeBuffer(buffer, at + head, bytes, head, middle);
    this.patcher.apply(buffer, memory.offset, patches);
  }

  copy(from: Memory, to: Memory, bytes: number): void {
    const encoder = this.gpu.createCommandEncoder();
    encoder.copyBufferToBuffer(from.buffer as GPUBuffer, from.offset, to.buffer as GPUBuffer, to.offset, Math.ceil(bytes / 4) * 4);
    this.gpu.queue.submit([encoder.finish()]);
  }

  async read(parts: readonly Part[]): Promise<Uint8Array<ArrayBuffer>[]> {
    this.accounts.readbacks += 1;
    return this.staging.read(parts, (mapped) => this.pending.wait(this.completion.of(mapped)));
  }

  capture(argument: string, picture: Picture, isOfRun: boolean): (memory: Memory) => void {
    return this.textures.capture(argument, picture, isOfRun);
  }

  target(argument: string, canvas: Canvas, width: number, height: number): (memory: Memory) => void {
    return this.textures.target(argument, canvas, width, height);
  }

  async compile(plan: LocalPlan, onProgress: KernelProgress): Promise<Kernels> {
    let done = 0;
    const list = await Promise.all(
      plan.kernels.map(async (kernel) => {
        const pipeline = await this.pending.wait(this.pipelines.get(kernel));
        onProgress((done += 1), plan.kernels.length);
        return pipeline;
      }),
    );
    return { list };
  }

  runner(plan: Plan, kernels: Kernels, places: readonly (Memory | null)[], first: Uint32Array): GpuRunner {
    const runner = new GpuRunner(this, plan, kernels.list as readonly Pipeline[], places, first, () => this.runners.delete(runner));
    this.runners.add(runner);
    return runner;
  }

  batches(): () => Batch {
    const slices = new Slices(this);
    return () => {
      const recording = new Recording(this, slices);
      return {
        run: (runner, slots) => (runner as GpuRunner).encode(recording, slots),
        copy: (from, to, bytes) => recording.copy(from, to, bytes),
        end: () => recording.end(),
      };
    };
  }

  /** Makes a timer of passes. */
  timer(): PassTimer {
    return new PassTimer(this.gpu, (promise) => this.pending.wait(this.completion.of(promise)));
  }

  async idle(): Promise<void> {
    await this.pending.wait(this.completion.of(this.gpu.queue.onSubmittedWorkDone()));
  }

  trim(): void {
    this.buffers.trim();
    this.staging.trim();
    this.textures.trim();
  }

  dispose(): void {
    for (const runner of this.runners) runner.dispose();
    this.staging.dispose();
    this.textures.trim();
    this.buffers.dispose();
    this.pipelines.clear();
  }
}
