/** The options that choose the engine of a compile or a solve: the CPU, or the GPU of a context. The module chooses. */

import { describe, invalidArgument, ResiduaError } from '../arguments/errors.js';
import type { Host, Instance } from '../module/loading.js';
import type { RawContext, RawEngineRequest } from '../module/raw.js';
import { GpuContext } from './context.js';

/** The options that choose an engine. */
export interface EngineOptions {
  readonly backend?: 'auto' | 'gpu' | 'cpu';
  readonly context?: GpuContext;
  /** Arithmetic on the GPU. */
  readonly precision?: 'f32' | 'f32x2';
  /** Under this many residuals 'auto' takes the CPU. */
  readonly fallbackThreshold?: number;
}

/**
 * Returns the request of an engine for `workload` residuals. `fewest` is the default of `fallbackThreshold`. `use` is called with the context
 * if one is requested.
 */
export function engineRequest(instance: Instance, workload: number, options: EngineOptions, fewest: number, use?: (context: GpuContext) => void): RawEngineRequest {
  const { backend = 'auto', precision = 'f32', fallbackThreshold, context } = options;
  const requestContext = async (): Promise<RawContext> => {
    const used = context ?? (await GpuContext.on(instance.host).default());
    const handle = handleOf(used, instance);
    use?.(used);
    return instance.call(() => handle.share());
  };
  return { backend, precision, workload, fewest, fallbackThreshold, requestContext };
}

/** Returns the handle of a context. Throws 'disposed' for a context of another instance of the module. */
function handleOf(context: GpuContext, instance: Instance): RawContext {
  const raw = context.raw();
  if (raw.instance === instance) return raw.handle;
  throw new ResiduaError('disposed', 'the GpuContext belongs to an instance of residua that has failed; create a new one');
}

/** Checks `backend`, `precision` and `context` of a call on a host. `call` names the function in messages. Throws 'invalid-argument'. */
export function checkEngineOptions(host: Host, call: string, { backend, precision, context }: EngineOptions): void {
  if (backend !== undefined && backend !== 'auto' && backend !== 'gpu' && backend !== 'cpu') {
    throw invalidArgument(`${call}: backend`, describe(backend), "'auto', 'gpu' or 'cpu'");
  }
  if (precision !== undefined && precision !== 'f32' && precision !== 'f32x2') {
    throw invalidArgument(`${call}: precision`, describe(precision), "'f32' or 'f32x2'; 'f64' is what backend: 'cpu' computes in");
  }
  if (context === undefined) return;
  if (!(context instanceof GpuContext)) throw invalidArgument(`${call}: context`, describe(context), 'a GpuContext');
  if (context.host !== host) {
    throw invalidArgument(`${call}: context`, 'a GpuContext of the other side of the worker', "one that came from the same entry, 'residua' or 'residua/worker'");
  }
}
