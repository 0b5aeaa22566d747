/** Compiling: builds the recorded problem in the module and compiles it there, on the engine that the module chooses. */

import { describe, invalidArgument, ResiduaError } from '../arguments/errors.js';
import { checkOptions, type OptionNames } from '../arguments/options.js';
import { checkWholeNumber } from '../arguments/numeric-arguments.js';
import { Cancellation, checkSignal } from '../module/cancellation.js';
import type { Host, Instance } from '../module/loading.js';
import type { RawFunctions } from '../module/raw.js';
import type { CompileInput } from './compile-input.js';
import type { GpuContext } from './context.js';
import { checkEngineOptions, engineRequest } from './engine-choice.js';

/** Options of a compile. */
export interface CompileOptions {
  /** 'auto' (default) takes the GPU when there is one and the work is large enough, else the CPU. 'gpu' rejects without a GPU. */
  backend?: 'auto' | 'gpu' | 'cpu';
  /** The device; by default the shared one. */
  context?: GpuContext;
  /**
   * Arithmetic on the GPU: 'f32' (default), or 'f32x2': each number is a pair of f32 with some 14 digits, which takes 1.5 to 3 times as long. The
   * CPU computes in f64 whichever is requested. A device on which pairs do not hold is refused: 'auto' takes the CPU, 'gpu' rejects with
   * 'gpu-unavailable'.
   */
  precision?: 'f32' | 'f32x2';
  /** The most instances in one dispatch; by default what the device's limits allow. */
  batchSize?: number;
  /**
   * Under this many residuals 'auto' takes the CPU, and from it on the GPU for every call. A residual that is a long sum counts as often as
   * it has terms. By default the choice follows from a measurement of this device and of the problem's kernels: calls that are faster on the
   * CPU run there, and `backend` is 'cpu' only where that is every call. One `solve` or `fit` of few operations takes the CPU without a measurement.
   */
  fallbackThreshold?: number;
  /** Called while compiling, about ten times a second at most. */
  onProgress?: (done: number, total: number, stage: string) => void;
  /** Ends compiling with 'aborted'. */
  signal?: AbortSignal;
}

/** Their names. */
export const COMPILE_OPTIONS: OptionNames<CompileOptions> = {
  backend: true,
  context: true,
  precision: true,
  batchSize: true,
  fallbackThreshold: true,
  onProgress: true,
  signal: true,
};

/** The result of a compile. */
export interface Compiled {
  readonly instance: Instance;
  readonly raw: RawFunctions;
  readonly backend: 'gpu' | 'cpu';
  /** The device of its buffers; null on the CPU and in a worker. */
  readonly device: GPUDevice | null;
  /** Whether `backend` was 'auto'. */
  readonly isAuto: boolean;
  readonly fallbackReason: string | null;
  /** See `GpuCompiledFunctions.warnings`. */
  readonly warnings: readonly string[];
}

/** One CPU core evaluates fewer residuals than this before a GPU responds, so no GPU is requested. */
const FEW_RESIDUALS = 100;

/** Least time between two calls of onProgress. */
const PROGRESS_INTERVAL_MS = 100;

/**
 * Compiles an input on a host. `reasonOfCpu` is why 'auto' takes the CPU whatever it would measure. Rejects with 'invalid-argument' for wrong options and with
 * 'aborted' when the signal fires.
 */
export async function compileFunctions(host: Host, input: CompileInput, options: CompileOptions, reasonOfCpu: string | null = null): Promise<Compiled> {
  checkCompileOptions(host, 'compile', options);
  const { signal } = options;
  const aborted = () => new ResiduaError('aborted', 'compiling was aborted by its signal');
  if (signal?.aborted === true) throw aborted();
  const work = compileNow(host, input, options, reasonOfCpu);
  if (signal === undefined) return work;
  return new Promise<Compiled>((resolve, reject) => {
    const onAbort = () => reject(aborted());
    signal.addEventListener('abort', onAbort, { once: true });
    work
      .then((compiled) => {
        // After an abort the promise is already rejected, so functions that were compiled all the same are freed.
        if (signal.aborted) compiled.instance.call(() => compiled.raw.dispose());
        else resolve(compiled);
      })
      .catch(reject)
      .finally(() => signal.removeEventListener('abort', onAbort));
  });
}

async function compileNow(host: Host, input: CompileInput, options: CompileOptions, reasonOfCpu: string | null): Promise<Compiled> {
  if (input.plainBlock !== null && options.backend === 'gpu') {
    throw invalidArgument('compile: backend', `'gpu' for residual block '${input.plainBlock}', a plain function`, "'cpu' or 'auto': plain functions run on the CPU");
  }
  const isAuto = (options.backend ?? 'auto') === 'auto';
  const ofInput = input.plainBlock === null ? reasonOfCpu : `residual block '${input.plainBlock}' is a plain function, which runs on the CPU`;
  const reason = isAuto ? ofInput : null;
  const instance = await host.ready();
  const cancellation = new Cancellation(options.signal);
  const progress = new Progress(options.onProgress, cancellation);
  let raw: RawFunctions;
  let warnings: readonly string[] = [];
  let device: GPUDevice | null = null;
  try {
    const engine = engineRequest(instance, input.workload, reason === null ? options : { ...options, backend: 'cpu' }, FEW_RESIDUALS, (context) => (device = context.deviceOnPage));
    const problem = instance.call((module) => input.build(module));
    raw = await instance.wait((module) =>
      module.RawFunctions.compile(
        problem,
        input.startValues,
        (first, count) => input.takeStart(first, count),
        engine,
        options.batchSize,
        options.onProgress === undefined ? undefined : progress.report,
        cancellation.token,
      ),
    );
    if (instance.call(() => raw.precision()) === 'f32') warnings = input.lostDigits();
  } catch (error) {
    if (progress.error !== null) throw progress.error.thrown;
    throw error;
  } finally {
    cancellation.end();
    input.release();
  }
  if (progress.error !== null) {
    instance.call(() => raw.dispose());
    throw progress.error.thrown;
  }
  return instance.call(() => ({ instance, raw, backend: raw.isOnGpu() ? 'gpu' : 'cpu', device, isAuto, fallbackReason: reason ?? raw.fallbackReason() ?? null, warnings }));
}

/** Limits the rate of progress reports. An exception of the listener cancels the compile. */
class Progress {
  /** The exception of the listener. */
  error: { thrown: unknown } | null = null;
  private last = -Infinity;

  constructor(
    private readonly listener: CompileOptions['onProgress'],
    private readonly cancellation: Cancellation,
  ) {}

  readonly report = (done: number, total: number, stage: string): void => {
    const now = performance.now();
    if (this.error !== null || now - this.last < PROGRESS_INTERVAL_MS) return;
    this.last = now;
    try {
      this.listener?.(done, total, stage);
    } catch (thrown) {
      this.error = { thrown };
      this.cancellation.cancel();
    }
  };
}

/** Checks the options of a compile on a host. `call` names the function in messages. Throws 'invalid-argument'. */
export function checkCompileOptions(host: Host, call: string, options: CompileOptions): void {
  checkOptions(`${call}: options`, options, COMPILE_OPTIONS);
  checkEngineOptions(host, call, options);
  const { batchSize, fallbackThreshold, onProgress, signal } = options;
  if (batchSize !== undefined) checkWholeNumber(`${call}: batchSize`, batchSize, 1);
  if (fallbackThreshold !== undefined && !(typeof fallbackThreshold === 'number' && fallbackThreshold >= 0)) {
    throw invalidArgument(`${call}: fallbackThreshold`, describe(fallbackThreshold), 'a number of residuals, at least 0');
  }
  if (onProgress !== undefined && typeof onProgress !== 'function') throw invalidArgument(`${call}: onProgress`, describe(onProgress), 'a function');
  checkSignal(`${call}: signal`, signal);
}
