/** The choice of the engine of a compile or a solve: the CPU, or the GPU of a context. */

import { describe, invalidArgument, ResiduaError } from '../arguments/errors.js';
import type { Host, Instance } from '../module/loading.js';
import type { RawContext } from '../module/raw.js';
import { GpuContext } from './context.js';

/** The options that choose an engine. */
export interface EngineOptions {
  readonly backend?: 'auto' | 'gpu' | 'cpu';
  readonly context?: GpuContext;
  /** Under this many residuals 'auto' takes the CPU. */
  readonly fallbackThreshold?: number;
}

/** A chosen engine: the GPU of `context`, or the CPU where that is null. */
export interface EngineChoice {
  readonly context: GpuContext | null;
  /** Why 'auto' takes the CPU; null on the GPU and where the CPU was requested. */
  readonly fallbackReason: string | null;
}

/** Chooses the engine for `workload` residuals. `fewest` is the default of `fallbackThreshold`. Rejects with 'gpu-unavailable' for 'gpu' alone. */
export async function chooseEngine({ host, module }: Instance, workload: number, options: EngineOptions, fewest: number): Promise<EngineChoice> {
  const backend = options.backend ?? 'auto';
  if (backend === 'cpu') return { context: null, fallbackReason: null };
  if (backend === 'gpu') return { context: options.context ?? (await GpuContext.on(host).default()), fallbackReason: null };
  // Where WebGPU is absent, that is the reported reason for any workload; the check costs nothing.
  const hasWebGpu = module.hasWebGpu ?? (globalThis as { navigator?: { gpu?: unknown } }).navigator?.gpu != null;
  const threshold = options.fallbackThreshold ?? fewest;
  const small = workload < threshold;
  try {
    const context = small && hasWebGpu ? null : (options.context ?? (await GpuContext.on(host).default()));
    if (!small) return { context, fallbackReason: null };
  } catch (error) {
    if (!(error instanceof ResiduaError) || error.code !== 'gpu-unavailable') throw error;
    return { context: null, fallbackReason: error.message };
  }
  return {
    context: null,
    fallbackReason: `residuals: ${workload}, fewer than the fallback threshold of ${threshold} below which the CPU is faster than the GPU`,
  };
}

/** Runs `work` on the chosen engine. With 'auto', work that exceeds a limit of the GPU is run again on the CPU. */
export async function runOnEngine<T>(
  choice: EngineChoice,
  backend: 'auto' | 'gpu' | 'cpu' | undefined,
  work: (choice: EngineChoice) => Promise<T>,
): Promise<T> {
  try {
    return await work(choice);
  } catch (error) {
    const isTooLarge = error instanceof ResiduaError && error.code === 'limit-exceeded';
    if (!isTooLarge || choice.context === null || (backend ?? 'auto') !== 'auto') throw error;
    return await work({ context: null, fallbackReason: error.message });
  }
}

/** Returns the handle of a context; undefined for the CPU. Throws 'disposed' for a context of another instance of the module. */
export function handleOf(context: GpuContext | null, instance: Instance): RawContext | undefined {
  const handle = context?.raw();
  if (handle !== undefined && handle.instance !== instance) {
    throw new ResiduaError('disposed', 'the GpuContext belongs to an instance of residua that has failed; create a new one');
  }
  return handle?.handle;
}

/** Checks `backend` and `context` of a call on a host. `call` names the function in messages. Throws 'invalid-argument'. */
export function checkEngineOptions(host: Host, call: string, { backend, context }: EngineOptions): void {
  if (backend !== undefined && backend !== 'auto' && backend !== 'gpu' && backend !== 'cpu') {
    throw invalidArgument(`${call}: backend`, describe(backend), "'auto', 'gpu' or 'cpu'");
  }
  if (context === undefined) return;
  if (!(context instanceof GpuContext)) throw invalidArgument(`${call}: context`, describe(context), 'a GpuContext');
  if (context.host !== host) {
    throw invalidArgument(`${call}: context`, 'a GpuContext of the other side of the worker', "one that came from the same entry, 'residua' or 'residua/worker'");
  }
}
