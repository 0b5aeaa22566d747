/** The page's half of compiled functions in the worker. GPU objects stay there: where one would be given, null is. */

import { ResiduaError } from '../errors.js';
import { fillIfRoom } from '../lent.js';
import type { RawContext, RawFunctions, RawLbfgsOptions, RawLevenbergMarquardtOptions, RawListener, RawProblem, RawSolveResult } from '../raw.js';
import type { Stopped } from '../stop.js';
import { buffersOf } from './buffers.js';
import type { Connection } from './connection.js';
import type { RemoteContext } from './context.js';
import type { RemoteProblem } from './problem.js';
import type { FunctionsCall, FunctionsChange, FunctionsFacts } from './protocol.js';

/** Functions that nobody has disposed of or can reach any more are freed there, as the module does it on the page. */
const dropped = /* @__PURE__ */ new FinalizationRegistry<() => void>((free) => free());

type Point = Float64Array | Float32Array | undefined;
type Gradient = { value: number; gradient: Float64Array };

/** Functions that are compiled in the worker. */
export class RemoteFunctions implements RawFunctions {
  readonly givesArrays = true;
  /** What a point was sent in, when it has come back. */
  private spare: ArrayBuffer | undefined;
  /** What a gradient came in, when its numbers have been taken. */
  private used: ArrayBuffer | undefined;

  private constructor(
    private readonly connection: Connection,
    private readonly number: number,
    private readonly facts: FunctionsFacts,
  ) {
    dropped.register(this, () => connection.tell({ do: 'dispose', what: 'functions', number }));
  }

  static async compile(
    connection: Connection,
    problem: RawProblem,
    values: Float64Array,
    fillValues: (first: number, count: number) => void,
    context: RawContext | undefined,
    choose: boolean,
    batchSize: number | undefined,
    onProgress: ((done: number, total: number, stage: string) => void) | undefined,
    stopped: Stopped = () => false,
  ): Promise<RawFunctions> {
    const remote = problem as RemoteProblem;
    await remote.send(values, fillValues, null, stopped);
    if (stopped()) throw new ResiduaError('aborted', 'compiling was called off');
    const number = connection.newObject();
    const facts = await connection.request(
      { do: 'compile', functions: number, problem: remote.number, context: (context as RemoteContext | undefined)?.number ?? null, choose, batchSize },
      { hear: onProgress, stopped },
    );
    return new RemoteFunctions(connection, number, facts as FunctionsFacts);
  }

  isOnGpu(): boolean {
    return this.facts.isOnGpu;
  }

  areGradientsOnCpu(): boolean {
    return this.facts.areGradientsOnCpu;
  }

  choice(): string {
    return this.facts.choice;
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

  setValuesAt(starts: Uint32Array, lengths: Uint32Array, numbers: Float64Array): void {
    this.change('setValuesAt', starts, lengths, numbers);
  }

  setConstant(mask: Uint8Array): void {
    this.change('setConstant', mask);
  }

  setBounds(lower: Float64Array, upper: Float64Array): void {
    this.change('setBounds', lower, upper);
  }

  setData(recipe: number, firstColumn: number, columns: Float64Array): void {
    this.change('setData', recipe, firstColumn, columns);
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
    const { spare } = this;
    this.spare = undefined;
    return spare;
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
    return { ...result, values: filled(values, result.values), entries: filled(entries, result.entries) };
  }

  checkGradients(x?: Float64Array): ReturnType<RawFunctions['checkGradients']> {
    return this.call('checkGradients', x);
  }

  covariance(blocks?: Uint32Array): Promise<Float64Array> {
    return this.call('covariance', blocks);
  }

  rank(tolerance: number): ReturnType<RawFunctions['rank']> {
    return this.call('rank', tolerance);
  }

  levenbergMarquardt(options: RawLevenbergMarquardtOptions, onIteration: RawListener, aborted: Stopped): Promise<RawSolveResult> {
    return this.solve('levenbergMarquardt', options, onIteration, aborted);
  }

  lbfgs(options: RawLbfgsOptions, onIteration: RawListener, aborted: Stopped): Promise<RawSolveResult> {
    return this.solve('lbfgs', options, onIteration, aborted);
  }

  parameterBuffer(): null {
    return null;
  }

  dataBuffer(): null {
    return null;
  }

  download(): Promise<Float64Array> {
    return this.call('download');
  }

  dispose(): void {
    this.connection.tell({ do: 'dispose', what: 'functions', number: this.number });
  }

  private change(method: FunctionsChange, ...args: unknown[]): void {
    this.connection.tell({ do: 'change', functions: this.number, method, args }, buffersOf(args));
  }

  private call<T>(method: FunctionsCall, ...args: unknown[]): Promise<T> {
    const transfer = buffersOf(args);
    const memory = method.includes('Gradient') ? this.used : undefined;
    this.used = undefined;
    if (memory !== undefined) transfer.push(memory);
    const takeBack = (spare: ArrayBuffer): void => {
      this.spare = spare;
    };
    const request = { do: 'call', functions: this.number, method, args } as const;
    return this.connection.request(memory === undefined ? request : { ...request, memory }, { transfer, takeBack }) as Promise<T>;
  }

  private async gradient(method: FunctionsCall, x: Point, into: Float64Array | undefined): Promise<Gradient> {
    const result = await this.call<Gradient>(method, x);
    if (into === undefined) return result;
    fillIfRoom(into, result.gradient);
    this.used = result.gradient.buffer as ArrayBuffer;
    return { value: result.value, gradient: into };
  }

  private solve(method: FunctionsCall, options: object, onIteration: RawListener, stopped: Stopped): Promise<RawSolveResult> {
    const hear = onIteration.isDeaf === true ? undefined : onIteration;
    return this.connection.request({ do: 'call', functions: this.number, method, args: [options] }, { hear, stopped }) as Promise<RawSolveResult>;
  }
}

/** The numbers in an array that was given, or as they are. */
function filled(into: Float64Array | undefined, numbers: Float64Array): Float64Array {
  if (into !== undefined) fillIfRoom(into, numbers);
  return into ?? numbers;
}
