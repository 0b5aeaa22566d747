/** The page's side of compiled functions in the worker. GPU objects stay in the worker: a method that would return one returns null. */

import { ResiduaError } from '../arguments/errors.js';
import type { CancellationToken } from '../module/cancellation.js';
import type { RawEngineRequest, RawFunctions, RawLbfgsOptions, RawLevenbergMarquardtOptions, RawListener, RawNewtonOptions, RawProblem } from '../module/raw.js';
import { copyIfSameLength } from '../module/result-arrays.js';
import type { RawSolveResult } from '../module/solve-record.js';
import { buffersOf } from './buffers.js';
import type { Connection } from './connection.js';
import { contextNumber, engineData } from './context.js';
import type { RemoteProblem } from './problem.js';
import type { FunctionsCall, FunctionsChange, FunctionsFacts } from './protocol.js';

/** Frees functions in the worker that were garbage-collected without dispose(), as the module does on the page. */
const collected = /* @__PURE__ */ new FinalizationRegistry<() => void>((free) => free());

type Point = Float64Array | Float32Array | undefined;
type Gradient = { value: number; gradient: Float64Array };

/** Functions that were compiled in the worker. */
export class RemoteFunctions implements RawFunctions {
  readonly returnsArrays = true;
  /** The memory of a point that the worker has returned. */
  private pointMemory: ArrayBuffer | undefined;
  /** The memory of a gradient whose numbers have been copied. */
  private gradientMemory: ArrayBuffer | undefined;

  private constructor(
    private readonly connection: Connection,
    private readonly number: number,
    private facts: FunctionsFacts,
  ) {
    collected.register(this, () => connection.notify({ do: 'dispose', what: 'functions', number }));
  }

  static async compile(
    connection: Connection,
    problem: RawProblem,
    values: Float64Array,
    fillValues: (first: number, count: number) => void,
    engine: RawEngineRequest,
    batchSize: number | undefined,
    onProgress: ((done: number, total: number, stage: string) => void) | undefined,
    token: CancellationToken = () => false,
  ): Promise<RawFunctions> {
    const remote = problem as RemoteProblem;
    try {
      await remote.send(values, fillValues, null, token);
      if (token()) throw new ResiduaError('aborted', 'compiling was aborted by its signal');
      const number = connection.newObject();
      const facts = await connection.request(
        { do: 'compile', functions: number, problem: remote.number, engine: engineData(engine), batchSize },
        { onReport: onProgress, token, requestContext: () => contextNumber(engine) },
      );
      return new RemoteFunctions(connection, number, facts as FunctionsFacts);
    } finally {
      remote.free();
    }
  }

  isOnGpu(): boolean {
    return this.facts.isOnGpu;
  }

  areGradientsOnCpu(): boolean {
    return this.facts.areGradientsOnCpu;
  }

  fallbackReason(): string | undefined {
    return this.facts.fallbackReason;
  }

  precision(): 'f32' | 'f32x2' | 'f64' {
    return this.facts.precision;
  }

  numParams(): number {
    return this.facts.numParams;
  }

  numResiduals(): number {
    return this.facts.numResiduals;
  }

  kernelCount(): number {
    return this.facts.kernelCount;
  }

  kernels(): FunctionsFacts['kernels'] {
    return structuredClone(this.facts.kernels);
  }

  compileTimes(): Record<string, number> {
    return this.facts.compileTimes;
  }

  async grow(problem: RawProblem, values: Float64Array): Promise<void> {
    const remote = problem as RemoteProblem;
    try {
      await remote.send(values, () => {}, null, () => false);
      this.facts = (await this.connection.request({ do: 'grow', functions: this.number, problem: remote.number })) as FunctionsFacts;
    } finally {
      remote.free();
    }
  }

  setValuesAt(starts: Uint32Array, lengths: Uint32Array, numbers: Float64Array): void {
    this.change('setValuesAt', starts, lengths, numbers);
  }

  setConstant(mask: Uint8Array): void {
    this.change('setConstant', mask);
  }

  setBounds(lower: Float64Array, upper: Float64Array): void {
    this.change('setBounds', lower, upper);
  }

  setData(template: number, firstColumn: number, columns: Float64Array): void {
    this.change('setData', template, firstColumn, columns);
  }

  setTables(first: number, numbers: Float64Array): void {
    this.change('setTables', first, numbers);
  }

  setWeight(block: number, weight: number): void {
    this.change('setWeight', block, weight);
  }

  setLoss(block: number, kind: string, a: number, b: number, factor: number): void {
    this.change('setLoss', block, kind, a, b, factor);
  }

  setEnabled(block: number, enabled: boolean): void {
    this.change('setEnabled', block, enabled);
  }

  memory(): ArrayBuffer | undefined {
    const { pointMemory } = this;
    this.pointMemory = undefined;
    return pointMemory;
  }

  evaluate(x?: Float64Array): Promise<Float64Array> {
    return this.call('evaluate', x);
  }

  evaluateSumWithGradient(x: Point, into: Float64Array | undefined): Promise<Gradient> {
    return this.gradient('evaluateSumWithGradient', x, into);
  }

  evaluateCostWithGradient(x: Point, into: Float64Array | undefined): Promise<Gradient> {
    return this.gradient('evaluateCostWithGradient', x, into);
  }

  evaluateSumWithGradientOnDevice(x?: Point): Promise<{ value: number; gradient: null }> {
    return this.call('evaluateSumWithGradientOnDevice', x);
  }

  evaluateCostWithGradientOnDevice(x?: Point): Promise<{ value: number; gradient: null }> {
    return this.call('evaluateCostWithGradientOnDevice', x);
  }

  async evaluateJacobian(x: Float64Array | undefined, pattern: boolean, values?: Float64Array, entries?: Float64Array): ReturnType<RawFunctions['evaluateJacobian']> {
    const result = await this.call<Awaited<ReturnType<RawFunctions['evaluateJacobian']>>>('evaluateJacobian', x, pattern);
    return { ...result, values: copiedTo(values, result.values), entries: copiedTo(entries, result.entries) };
  }

  evaluateHessian(...args: Parameters<RawFunctions['evaluateHessian']>): ReturnType<RawFunctions['evaluateHessian']> {
    return this.call('evaluateHessian', ...args);
  }

  evaluateHessianProduct(...args: Parameters<RawFunctions['evaluateHessianProduct']>): Promise<Float64Array> {
    return this.call('evaluateHessianProduct', ...args);
  }

  checkGradients(x?: Float64Array): ReturnType<RawFunctions['checkGradients']> {
    return this.call('checkGradients', x);
  }

  covariance(...scope: Parameters<RawFunctions['covariance']>): Promise<Float64Array> {
    return this.call('covariance', scope);
  }

  rank(tolerance: number): ReturnType<RawFunctions['rank']> {
    return this.call('rank', tolerance);
  }

  levenbergMarquardt(options: RawLevenbergMarquardtOptions, onIteration: RawListener, aborted: CancellationToken): Promise<RawSolveResult> {
    return this.solve('levenbergMarquardt', options, onIteration, aborted);
  }

  lbfgs(options: RawLbfgsOptions, onIteration: RawListener, aborted: CancellationToken): Promise<RawSolveResult> {
    return this.solve('lbfgs', options, onIteration, aborted);
  }

  newton(options: RawNewtonOptions, onIteration: RawListener, aborted: CancellationToken): Promise<RawSolveResult> {
    return this.solve('newton', options, onIteration, aborted);
  }

  parameterBuffer(): null {
    return null;
  }

  dataBuffer(): null {
    return null;
  }

  checkDigits(): Promise<void> {
    return this.call('checkDigits');
  }

  download(): Promise<Float64Array> {
    return this.call('download');
  }

  dispose(): void {
    this.connection.notify({ do: 'dispose', what: 'functions', number: this.number });
  }

  private change(method: FunctionsChange, ...args: unknown[]): void {
    this.connection.notify({ do: 'change', functions: this.number, method, args }, buffersOf(args));
  }

  private call<T>(method: FunctionsCall, ...args: unknown[]): Promise<T> {
    const transfer = buffersOf(args);
    const memory = method.includes('Gradient') ? this.gradientMemory : undefined;
    this.gradientMemory = undefined;
    if (memory !== undefined) transfer.push(memory);
    const onMemory = (returned: ArrayBuffer): void => {
      this.pointMemory = returned;
    };
    const request = { do: 'call', functions: this.number, method, args } as const;
    return this.connection.request(memory === undefined ? request : { ...request, memory }, { transfer, onMemory }) as Promise<T>;
  }

  private async gradient(method: FunctionsCall, x: Point, into: Float64Array | undefined): Promise<Gradient> {
    const result = await this.call<Gradient>(method, x);
    if (into === undefined) return result;
    copyIfSameLength(into, result.gradient);
    this.gradientMemory = result.gradient.buffer as ArrayBuffer;
    return { value: result.value, gradient: into };
  }

  private solve(method: FunctionsCall, options: object, onIteration: RawListener, token: CancellationToken): Promise<RawSolveResult> {
    const onReport = onIteration.isDeaf === true ? undefined : onIteration;
    return this.connection.request({ do: 'call', functions: this.number, method, args: [options] }, { onReport, token }) as Promise<RawSolveResult>;
  }
}

/** Copies numbers to `into`, and returns that array; without one returns `numbers`. */
function copiedTo(into: Float64Array | undefined, numbers: Float64Array): Float64Array {
  if (into !== undefined) copyIfSameLength(into, numbers);
  return into ?? numbers;
}
