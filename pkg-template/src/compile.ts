/**
 * Compiling: records what params and functions make, chooses the engine, and hands the recording to the module.
 */

import { scalarsOf } from './block.js';
import { GpuContext } from './context.js';
import { describe, invalidArgument, ResiduaError } from './errors.js';
import type { Host, Instance } from './loading.js';
import { checkOptions, checkWholeNumber } from './numeric-arguments.js';
import { Op } from './op-codes.js';
import type { RawFunctions, RawProblem } from './raw.js';
import { Stop } from './stop.js';
import { ParamsSubject, type Subject } from './subject.js';
import { record, Recording } from './tape.js';
import { Value, type Scalar } from './value.js';

/** How to compile. */
export interface CompileOptions {
  /** 'auto' (default) takes the GPU when there is one and the work is large enough, else the CPU. 'gpu' rejects without a GPU. */
  backend?: 'auto' | 'gpu' | 'cpu';
  /** The device; by default the shared one. */
  context?: GpuContext;
  /** The most instances in one dispatch; by default what the device's limits allow. */
  batchSize?: number;
  /**
   * Under this many residuals 'auto' takes the CPU, and from it on the GPU for every call; of a residual that is a long sum its terms count.
   * By default decided from a measurement of this device and of the problem's kernels: what is faster on the CPU runs there, call by call, and
   * only where that is every call `backend` is 'cpu'.
   */
  fallbackThreshold?: number;
  /** Called while compiling, about ten times a second at most. */
  onProgress?: (done: number, total: number, stage: string) => void;
  /** Ends compiling with 'aborted'. */
  signal?: AbortSignal;
}

/** A finished compile. */
export interface Compiled {
  readonly instance: Instance;
  readonly raw: RawFunctions;
  readonly backend: 'gpu' | 'cpu';
  /** The choice of the backend was left to us. */
  readonly chosen: boolean;
  readonly fallbackReason: string | null;
}

/** However long so few residuals are, a core is done with them before a GPU has answered; so none is asked for. */
const FEW_RESIDUALS = 100;

/** Least time between two calls of onProgress. */
const PROGRESS_INTERVAL_MS = 100;

/** Records `fn` over `params`. */
export function recordParams(params: unknown, fn: unknown): ParamsSubject {
  if (!Array.isArray(params)) throw invalidArgument('compile: params', describe(params), 'an array of parameters');
  if (typeof fn !== 'function') throw invalidArgument('compile: fn', describe(fn), 'a function');
  if (params.length === 0) throw invalidArgument('compile: params', 'an empty array', 'at least one parameter');
  for (let i = 0; i < params.length; i++) {
    const param: unknown = params[i];
    if (param instanceof Value && param.node !== null && param.node.op === Op.parameter) continue;
    const got = !(param instanceof Value) ? describe(param) : param.node !== null && param.node.a === null ? 'a constant' : 'an expression';
    throw invalidArgument(`compile: params[${i}]`, got, 'a parameter made by V.W or V.Param');
  }
  const began = performance.now();
  const list = (params as readonly Value[]).slice();
  const recording = new Recording('params', list);
  const { repeated } = recording;
  if (repeated >= 0) {
    recording.discard();
    const first = list.indexOf(list[repeated] as Value);
    throw invalidArgument(`compile: params[${repeated}]`, `the same parameter as params[${first}]`, 'each parameter once');
  }
  const outputs = record(recording, () => {
    const result = (fn as (params: Value[]) => Scalar | readonly Scalar[])(list.slice());
    return recording.positions(scalarsOf('compile: what fn returned', result));
  });
  const tape = recording.finishInPieces(outputs);
  return new ParamsSubject(list, tape, recording.length, performance.now() - began);
}

/** Compiles what was recorded, on a host. */
export async function compileSubject(host: Host, subject: Subject, options: CompileOptions): Promise<Compiled> {
  checkCompileOptions(host, options);
  const { signal } = options;
  const aborted = () => new ResiduaError('aborted', 'compiling was aborted by its signal');
  if (signal?.aborted === true) throw aborted();
  const work = compileNow(host, subject, options);
  if (signal === undefined) return work;
  return new Promise<Compiled>((resolve, reject) => {
    const onAbort = () => reject(aborted());
    signal.addEventListener('abort', onAbort, { once: true });
    work
      .then((compiled) => {
        // The promise is rejected already; what was made after all is freed.
        if (signal.aborted) compiled.instance.call(() => compiled.raw.dispose());
        else resolve(compiled);
      })
      .catch(reject)
      .finally(() => signal.removeEventListener('abort', onAbort));
  });
}

async function compileNow(host: Host, subject: Subject, options: CompileOptions): Promise<Compiled> {
  const instance = await host.ready();
  const { context, fallbackReason } = await chooseContext(instance, subject.workload, options, FEW_RESIDUALS);
  const isChosen = (options.backend ?? 'auto') === 'auto' && options.fallbackThreshold === undefined;
  const software = context !== null && isChosen && context.adapter.isSoftware;
  const recording = new Recorded(instance, subject);
  try {
    if (software) return await compileOn(instance, null, 'the GPU is one in software, which computes on the CPU and more slowly', recording, options);
    return await compileOn(instance, context, fallbackReason, recording, options, isChosen);
  } catch (error) {
    // What cannot be split to fit the device runs on the CPU, unless the GPU was asked for.
    const tooLarge = error instanceof ResiduaError && error.code === 'limit-exceeded';
    if (!tooLarge || context === null || (options.backend ?? 'auto') !== 'auto') throw error;
    return await compileOn(instance, null, error.message, recording, options);
  } finally {
    recording.release();
  }
}

/** What was recorded, as often as an engine asks for it. */
class Recorded {
  private lasting: RawProblem | null = null;

  constructor(
    private readonly instance: Instance,
    readonly subject: Subject,
  ) {}

  problem(): RawProblem {
    const problem = this.lasting ?? this.instance.call((module) => this.subject.build(module));
    if (problem.lasts === true) this.lasting = problem;
    return problem;
  }

  release(): void {
    this.lasting?.free();
    this.subject.release();
  }
}

async function compileOn(
  instance: Instance,
  context: GpuContext | null,
  fallbackReason: string | null,
  recorded: Recorded,
  options: CompileOptions,
  choose = false,
): Promise<Compiled> {
  const handle = context?.raw();
  if (handle !== undefined && handle.instance !== instance) {
    throw new ResiduaError('disposed', 'the GpuContext belongs to an instance of residua that has failed; create a new one');
  }
  const stop = new Stop(options.signal);
  const progress = new Progress(options.onProgress, stop);
  const problem = recorded.problem();
  const { subject } = recorded;
  let raw: RawFunctions;
  try {
    raw = await instance.wait((module) =>
      module.RawFunctions.compile(
        problem,
        subject.startValues,
        (first, count) => subject.takeStart(first, count),
        handle?.handle.share(),
        choose,
        options.batchSize,
        options.onProgress === undefined ? undefined : progress.report,
        stop.isStopped,
      ),
    );
  } catch (error) {
    if (progress.error !== null) throw progress.error.thrown;
    throw error;
  } finally {
    stop.end();
  }
  if (progress.error !== null) {
    instance.call(() => raw.dispose());
    throw progress.error.thrown;
  }
  const chosen = (options.backend ?? 'auto') === 'auto';
  const backend = instance.call(() => raw.isOnGpu()) ? 'gpu' : 'cpu';
  const reason = context !== null && backend === 'cpu' ? `the CPU is faster for every call; ${instance.call(() => raw.choice())}` : fallbackReason;
  return { instance, raw, backend, chosen, fallbackReason: reason };
}

/** The device to use, or why it is the CPU: among others that the work is below the threshold, by default `fewest`. */
export async function chooseContext(
  { host, module }: Instance,
  workload: number,
  options: Pick<CompileOptions, 'backend' | 'context' | 'fallbackThreshold'>,
  fewest: number,
): Promise<{ context: GpuContext | null; fallbackReason: string | null }> {
  const backend = options.backend ?? 'auto';
  if (backend === 'cpu') return { context: null, fallbackReason: null };
  if (backend === 'gpu') return { context: options.context ?? (await GpuContext.on(host).default()), fallbackReason: null };
  // Where WebGPU does not exist at all, that is the reason to tell, however small the work; finding out costs nothing.
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

/** Passes progress on at a bearable rate; what the listener throws ends the compile. */
class Progress {
  error: { thrown: unknown } | null = null;
  private last = -Infinity;

  constructor(
    private readonly listener: CompileOptions['onProgress'],
    private readonly stop: Stop,
  ) {}

  readonly report = (done: number, total: number, stage: string): void => {
    const now = performance.now();
    if (this.error !== null || now - this.last < PROGRESS_INTERVAL_MS) return;
    this.last = now;
    try {
      this.listener?.(done, total, stage);
    } catch (thrown) {
      this.error = { thrown };
      this.stop.fire();
    }
  };
}

/** Checks which engine is asked for, on a host. `call` names the function in messages. */
export function checkBackend(host: Host, call: string, { backend, context }: Pick<CompileOptions, 'backend' | 'context'>): void {
  if (backend !== undefined && backend !== 'auto' && backend !== 'gpu' && backend !== 'cpu') {
    throw invalidArgument(`${call}: backend`, describe(backend), "'auto', 'gpu' or 'cpu'");
  }
  if (context === undefined) return;
  if (!(context instanceof GpuContext)) throw invalidArgument(`${call}: context`, describe(context), 'a GpuContext');
  if (context.host !== host) {
    throw invalidArgument(`${call}: context`, 'a GpuContext of the other side of the worker', "one that came from the same entry, 'residua' or 'residua/worker'");
  }
}

function checkCompileOptions(host: Host, options: CompileOptions): void {
  checkOptions('compile: options', options);
  checkBackend(host, 'compile', options);
  const { batchSize, fallbackThreshold, onProgress, signal } = options;
  if (batchSize !== undefined) checkWholeNumber('compile: batchSize', batchSize, 1);
  if (fallbackThreshold !== undefined && !(typeof fallbackThreshold === 'number' && fallbackThreshold >= 0)) {
    throw invalidArgument('compile: fallbackThreshold', describe(fallbackThreshold), 'a number of residuals, at least 0');
  }
  if (onProgress !== undefined && typeof onProgress !== 'function') throw invalidArgument('compile: onProgress', describe(onProgress), 'a function');
  checkSignal('compile: signal', signal);
}

/** Throws unless `signal` is an AbortSignal or absent. */
export function checkSignal(argument: string, signal: unknown): void {
  if (signal !== undefined && !(signal instanceof AbortSignal)) throw invalidArgument(argument, describe(signal), 'an AbortSignal');
}
