/** Compiled functions: residuals, sums, costs and their derivatives, on the GPU or the CPU. */

import { makeInspectable } from '../arguments/inspection.js';
import { describe, invalidArgument } from '../arguments/errors.js';
import { checkOptions, type OptionNames } from '../arguments/options.js';
import { copyNumbersOfLength, type Numbers } from '../arguments/numeric-arguments.js';
import type { Scalar, Value } from '../expressions/value.js';
import { noteOwner } from '../module/buffer-owners.js';
import { here, type Host, type Instance } from '../module/loading.js';
import type { RawFunctions, RawPoint } from '../module/raw.js';
import { copyIfSameLength, ResultArrays } from '../module/result-arrays.js';
import type { SolveRecord } from '../module/solve-record.js';
import type { ConstraintInstances } from '../problem/constraint-block.js';
import type { ParameterBlocks } from '../problem/parameter-array.js';
import { Problem } from '../problem/problem.js';
import { compileFunctions, type Compiled, type CompileOptions } from './compile.js';
import type { ArrayPlace, CompileInput, Domain, GraduatedBlock, WriteBack } from './compile-input.js';
import { ConstraintLayout } from './constraint-layout.js';
import { CompressedRows, type CsrMatrix, type Pattern } from './csr-matrix.js';
import { makeDisposable } from './dispose.js';
import { FunctionCalls } from './function-calls.js';
import { recordParams } from './params-compile-input.js';
import { PointMemory } from './point-memory.js';
import { ProblemCompileInput } from './problem-compile-input.js';
import { reasonOfCpu } from './small.js';

/** What a solver with constraints has of compiled functions while no other call runs. */
export interface ConstrainedSession {
  readonly layout: ConstraintLayout;
  /** Bounds, constants and enabled blocks, as of the call. */
  readonly domain: Domain;
  readonly arrays: readonly ArrayPlace[];
  readonly numParams: number;
  readonly numResiduals: number;
  readonly backend: 'gpu' | 'cpu';
  readonly precision: 'f32' | 'f32x2' | 'f64';
  readonly gradientsOnCpu: boolean;
  /** The multipliers of the last solve, of each constraint; the next solve begins with them. */
  readonly multipliers: Float64Array;
  /** Calls the module. Rejects when it fails, and with 'disposed'. */
  call<R>(work: (handle: RawFunctions) => R | Promise<R>): Promise<R>;
}

const NO_CONSTRAINTS = /* @__PURE__ */ new ConstraintLayout([], 0);

type RawJacobian = Awaited<ReturnType<RawFunctions['evaluateJacobian']>>;

/** The value of an objective, with its gradient on the device. */
export interface GradientOnDevice {
  /** The objective's value, read back. */
  readonly value: number;
  /** numParams f32 numbers on the GPU; null on the CPU. */
  readonly gradient: GPUBuffer | null;
}

/** Of which objective a Hessian is. */
export interface HessianOptions {
  /** 'sum' (default): Σ weight·f; 'least-squares': the cost ½ Σ weight·ρ(‖r‖²). */
  objective?: 'sum' | 'least-squares';
}

const HESSIAN_OPTIONS: OptionNames<HessianOptions> = { objective: true };

/**
 * Compiled residual functions.
 *
 * `x` holds numParams numbers: all parameters, constant ones included, arrays in order of creation. By default it is the parameters'
 * current numbers; a call with `x` does not change them. Residuals are ordered by block, then by instance, then by output; in the params
 * form they have the order in which `fn` returned them, and squared loss. Residuals and Jacobian are without loss and weight. The sum is Σ
 * weight·f; the cost is ½ Σ weight·ρ(‖r‖²) over instances, with r an instance's outputs, as in Ceres; a weight is that of the block times that of the
 * instance. Residuals of an instance of weight 0, and their derivatives, are 0. Gradients and columns of the Jacobian
 * are with respect to the numbers themselves, not to the tangent of a manifold. Those of constant blocks are explicit zeros. Bounds have no
 * effect, nor have constraints. NaN and infinities are returned unchanged.
 *
 * Calls on one object queue in order. A change before a call applies to it, a later change to the next call. Returned arrays are fresh. All
 * calls reject with 'disposed' after `dispose()`, with 'device-lost' when the device is lost, and with 'invalid-argument' when `x` has
 * another length or a number that is not finite.
 */
export class GpuCompiledFunctions {
  /** The engine that computes. */
  readonly backend: 'gpu' | 'cpu';
  /** What evaluations are computed in: on the GPU 'f32' or 'f32x2', as the compile requested, on the CPU 'f64'. */
  readonly precision: 'f32' | 'f32x2' | 'f64';
  /** @internal Whether the work may move to the CPU at a limit of the GPU, which is so with backend 'auto'. */
  readonly canMoveToCpu: boolean;
  /** Why 'auto' took the CPU; null on the GPU and where the CPU was requested. */
  readonly fallbackReason: string | null;
  /**
   * What the compile warns of, in sentences: in f32 the inputs of a problem whose numbers lose digits, time stamps in Unix seconds, say, with
   * the residual block, the name of the input, and the share of its range that rounding takes. Empty in f32x2 and on the CPU.
   */
  readonly warnings: readonly string[];
  /**
   * Wall times of the compile's stages in milliseconds: `record` (params form), `group`, `tables`, `pipelines`; where 'auto' measures, also
   * `choice` (the CPU and the device) and `trial` (the problem's kernels on them).
   */
  readonly compileTimes: Readonly<Record<string, number>>;

  /** The same as dispose(), for `using`. */
  declare readonly [Symbol.dispose]: () => void;

  private readonly calls: FunctionCalls;
  private readonly instance: Instance;
  private readonly handle: RawFunctions;
  /** The device of its buffers; null on the CPU and in a worker. */
  private readonly device: GPUDevice | null;
  /** Whether gradients that are read back are computed in double precision, on the CPU. */
  private readonly gradientsOnCpu: boolean;
  private kernelTotal: number;
  /** The pattern of the Jacobian, after the first call. */
  private pattern: Pattern | null = null;
  /** The patterns of the Hessians of the sum and of the cost, after the first calls. */
  private hessianPatterns: [Pattern | null, Pattern | null] = [null, null];
  private readonly points: PointMemory;
  /** See ConstrainedSession. */
  private readonly multipliers: Float64Array;

  private constructor(
    private readonly input: CompileInput,
    compiled: Compiled,
  ) {
    const { instance, raw } = compiled;
    this.instance = instance;
    this.handle = raw;
    this.points = new PointMemory(instance, raw);
    this.calls = new FunctionCalls(input, instance, raw, () => {
      this.kernelTotal = instance.call(() => raw.kernelCount());
      [this.pattern, this.hessianPatterns] = [null, [null, null]];
      this.points.clear();
    });
    this.backend = compiled.backend;
    this.precision = instance.call(() => raw.precision());
    this.gradientsOnCpu = instance.call(() => raw.areGradientsOnCpu());
    this.canMoveToCpu = compiled.isAuto;
    this.fallbackReason = compiled.fallbackReason;
    this.warnings = Object.freeze([...compiled.warnings]);
    this.kernelTotal = instance.call(() => raw.kernelCount());
    const times = instance.call(() => raw.compileTimes());
    this.compileTimes = Object.freeze(input.recordingTime === null ? { ...times } : { record: input.recordingTime, ...times });
    this.device = compiled.device;
    this.multipliers = new Float64Array(input.constraints?.count ?? 0);
    input.attach((work) => noteOwner(this.calls.read(work), this.device));
  }

  /**
   * Records `fn` once over `params`, groups its outputs by topology and compiles one kernel per group. Later changes of a param's `data`
   * apply to the next call, and a solve writes its result to the params. A parameter that is not among them is a constant.
   */
  static compile(
    params: readonly Value[],
    fn: (params: Value[]) => Scalar | readonly Scalar[],
    options?: CompileOptions,
  ): Promise<GpuCompiledFunctions>;
  /**
   * Compiles a problem in its current state. What is appended later to its arrays and residual blocks is part of the next call, without a new compile; arrays
   * and blocks that are added later are not.
   */
  static compile(problem: Problem, options?: CompileOptions): Promise<GpuCompiledFunctions>;
  static compile(what: readonly Value[] | Problem, fnOrOptions?: unknown, options?: CompileOptions): Promise<GpuCompiledFunctions> {
    return GpuCompiledFunctions.compileOn(here, what, fnOrOptions, options);
  }

  /** @internal Returns this class for functions on a host. */
  static on(host: Host): typeof GpuCompiledFunctions {
    let subclass = host === here ? GpuCompiledFunctions : subclasses.get(host);
    if (subclass === undefined) {
      subclass = class extends GpuCompiledFunctions {
        static override compile(what: readonly Value[] | Problem, fnOrOptions?: unknown, options?: CompileOptions): Promise<GpuCompiledFunctions> {
          return GpuCompiledFunctions.compileOn(host, what, fnOrOptions, options);
        }
      };
      Object.defineProperty(subclass, 'name', { value: GpuCompiledFunctions.name });
      subclasses.set(host, subclass);
    }
    return subclass;
  }

  private static async compileOn(
    host: Host,
    what: readonly Value[] | Problem,
    fnOrOptions: unknown,
    options: CompileOptions | undefined,
  ): Promise<GpuCompiledFunctions> {
    const isProblem = what instanceof Problem;
    const input = isProblem ? new ProblemCompileInput(what) : recordParams(what, fnOrOptions);
    const compiled = await compileFunctions(host, input, (isProblem ? (fnOrOptions as CompileOptions | undefined) : options) ?? {});
    return new (GpuCompiledFunctions.on(host))(input, compiled);
  }

  /** @internal Compiles a problem on a host for one solve. */
  static async compileOnce(host: Host, problem: Problem, options: CompileOptions): Promise<GpuCompiledFunctions> {
    const input = new ProblemCompileInput(problem);
    return new (GpuCompiledFunctions.on(host))(input, await compileFunctions(host, input, options, reasonOfCpu(problem, options)));
  }

  /** Whether dispose() was called. @internal */
  get isDisposed(): boolean {
    return this.calls.queue.isDisposed;
  }

  /** Calls `listener` when dispose() is called. Returns a function that removes the listener. @internal */
  whenDisposed(listener: () => void): () => void {
    return this.calls.queue.whenDisposed(listener);
  }

  /** The problem; null for the params form. @internal */
  get problem(): Problem | null {
    return this.input.problem;
  }

  /** The problem's arrays, in order; null for the params form. @internal */
  get parameterArrays(): readonly ParameterBlocks[] | null {
    return this.input.arrays;
  }

  /** The problem's arrays as they are now, in order; null for the params form. @internal */
  get places(): readonly ArrayPlace[] | null {
    return this.input.places;
  }

  /** Number of parameters, constant ones included; `append` raises it. */
  get numParams(): number {
    return this.input.numParams;
  }

  /** Number of residuals, without constraints; `append` raises it. */
  get numResiduals(): number {
    return this.input.numResiduals;
  }

  /** Number of compiled kernels: one for each topology. A block without instances has none until a call after its first `append`. */
  get kernelCount(): number {
    return this.kernelTotal;
  }

  /** Residuals per kernel. */
  get kernelReuseFactor(): number {
    return this.numResiduals / this.kernelCount;
  }

  /** Returns the generated shaders, one for each kernel and entry point, with the instances that the last call had. */
  kernels(): { name: string; instances: number; wgsl: string }[] {
    return this.calls.read((handle) => handle.kernels());
  }

  /** Returns the residuals (numResiduals). */
  async evaluate(x?: Numbers): Promise<Float64Array> {
    const point = this.point('evaluate', x);
    const { numResiduals } = this;
    const values = await this.calls.run((handle) => handle.evaluate(point));
    return this.input.constraints === null ? values : values.slice(0, numResiduals);
  }

  /**
   * Returns the constraints c at a point, block after block in order of creation, each by instance, then by output; those of disabled blocks, too. Empty
   * for functions without any.
   */
  async evaluateConstraints(x?: Numbers): Promise<Float64Array> {
    const point = this.point('evaluateConstraints', x);
    const { numResiduals } = this;
    const values = await this.calls.run((handle) => handle.evaluate(point));
    return values.slice(numResiduals);
  }

  /**
   * Σ weight·f and its gradient (numParams), for energies that are minimised directly.
   *
   * `into`, a Float64Array of numParams numbers, is filled with the gradient and returned in place of a fresh array; for millions of
   * numbers this saves the allocation, which takes longer than the rest of the call. It is written when the call ends, and must not be used
   * before. Rejects with 'invalid-argument' for anything but a Float64Array of that length, and if its buffer is transferred or resized
   * during the call.
   */
  evaluateSumWithGradient(x?: Numbers, into?: Float64Array): Promise<{ value: number; gradient: Float64Array }> {
    return this.withGradient('evaluateSumWithGradient', x, into);
  }

  /** The least-squares cost ½ Σ weight·ρ(‖r‖²) and its gradient (numParams). `into` is as in evaluateSumWithGradient. */
  evaluateCostWithGradient(x?: Numbers, into?: Float64Array): Promise<{ value: number; gradient: Float64Array }> {
    return this.withGradient('evaluateCostWithGradient', x, into);
  }

  /**
   * As evaluateSumWithGradient, with the gradient left on the GPU. Only the value is read back. Without `x` nothing is uploaded; the
   * parameters of `parameterBuffer` are used.
   *
   * `gradient` is the same buffer for every call until an `append`, with the layout of `parameterBuffer`: f32, tightly packed (a Vec3 takes 12 bytes), a
   * ParameterArray's entries from byte 4 × offset on; usage STORAGE | VERTEX | COPY_SRC. The functions own it and destroy it with
   * themselves, or at the call after an `append`. Its size is rounded up to 16 bytes. It may be copied from or bound, and must not be written or destroyed.
   * Only the next ...OnDevice call of the same functions overwrites it. On the CPU it is null; `value` is computed all the same.
   */
  async evaluateSumWithGradientOnDevice(x?: Numbers): Promise<GradientOnDevice> {
    return this.onDevice('evaluateSumWithGradientOnDevice', x);
  }

  /**
   * As evaluateCostWithGradient, with the gradient left on the GPU, in the same buffer as that of evaluateSumWithGradientOnDevice; see
   * there.
   */
  async evaluateCostWithGradientOnDevice(x?: Numbers): Promise<GradientOnDevice> {
    return this.onDevice('evaluateCostWithGradientOnDevice', x);
  }

  /**
   * Residuals and ∂r/∂x, numResiduals × numParams. The pattern is the same for every x, with each (row, column) once.
   *
   * `into`, an earlier result of the same functions, is filled and returned in place of fresh arrays. It is written when the call ends, and
   * must not be used before. Rejects with 'invalid-argument' for anything else, and if its buffers are transferred or resized during the
   * call.
   */
  async evaluateJacobian(x?: Numbers, into?: { values: Float64Array; jacobian: CsrMatrix }): Promise<{ values: Float64Array; jacobian: CsrMatrix }> {
    if (into !== undefined) this.checkResult(into);
    const arrays = into === undefined ? ([] as const) : ([into.values, into.jacobian.values] as const);
    const results = new ResultArrays('evaluateJacobian: into', arrays);
    // The module fills arrays that have the rows of constraints, too.
    const hasConstraints = this.input.constraints !== null;
    const filled = hasConstraints ? [] : arrays;
    const { numParams, numResiduals } = this;
    const { values, entries, pattern } = await this.callAt('evaluateJacobian', x, true, async (handle, point) => {
      results.check();
      const result = await handle.evaluateJacobian(point, this.pattern === null, ...filled);
      const { values, entries, rowOffsets, colIndices } = hasConstraints ? this.withoutConstraints(result, numResiduals) : result;
      // A later call may have another pattern.
      if (rowOffsets !== undefined && colIndices !== undefined) this.pattern ??= { rowOffsets, colIndices };
      return { values, entries, pattern: this.pattern as Pattern };
    });
    results.check();
    if (into !== undefined && filled.length === 0) {
      into.values.set(values);
      into.jacobian.values.set(entries);
    }
    return into ?? { values, jacobian: new CompressedRows(numResiduals, numParams, pattern, entries) };
  }

  /**
   * The exact second derivatives of an objective, numParams × numParams: symmetric, with both halves. The pattern is the same for every x, with each (row,
   * column) once; it has the pairs of parameters that an instance has in one term. Rows and columns of constant blocks are explicit zeros; derivatives are
   * with respect to the numbers themselves, not to the tangent of a manifold. It is computed in f64 on the CPU, also for functions on the GPU.
   *
   * Rejects with 'limit-exceeded' where an instance of an enabled block depends on more than 64 numbers, and where there are more than 2³² − 1 entries; `evaluateHessianProduct`
   * has no such limit. Rejects with 'invalid-argument' for plain functions, which have no second derivatives.
   */
  async evaluateHessian(x?: Numbers, options: HessianOptions = {}): Promise<CsrMatrix> {
    const leastSquares = isLeastSquares('evaluateHessian', options);
    this.refusePlain('evaluateHessian');
    if (leastSquares) this.refuseGraduated('evaluateHessian');
    const point = this.point('evaluateHessian', x);
    const which = leastSquares ? 1 : 0;
    const { numParams } = this;
    return this.calls.run(async (handle) => {
      const patterns = this.hessianPatterns;
      const { entries, rowOffsets, colIndices } = await handle.evaluateHessian(point, leastSquares, patterns[which] === null);
      if (rowOffsets !== undefined && colIndices !== undefined) patterns[which] ??= { rowOffsets, colIndices };
      return new CompressedRows(numParams, numParams, patterns[which] as Pattern, entries);
    });
  }

  /**
   * The Hessian of evaluateHessian times the vector `v` (numParams), without the matrix, for any number of parameters an instance. `into`, a Float64Array of
   * numParams numbers, is filled and returned in place of a fresh array when the call ends, as in evaluateSumWithGradient. Without `x` (undefined) at the
   * current parameters. What a 0 of `v`, or a constant, multiplies counts as 0, also where that derivative is infinite (up to 64 numbers an instance). Rejects with
   * 'invalid-argument' for a `v` or `into` of another length.
   */
  async evaluateHessianProduct(x: Numbers | undefined, v: Numbers, into?: Float64Array, options: HessianOptions = {}): Promise<Float64Array> {
    const leastSquares = isLeastSquares('evaluateHessianProduct', options);
    this.refusePlain('evaluateHessianProduct');
    if (leastSquares) this.refuseGraduated('evaluateHessianProduct');
    const point = this.point('evaluateHessianProduct', x);
    const vector = copyNumbersOfLength('evaluateHessianProduct: v', v, this.numParams, 'one for each parameter');
    this.checkInto('evaluateHessianProduct', into);
    const results = new ResultArrays('evaluateHessianProduct: into', into === undefined ? [] : [into]);
    const product = await this.calls.run((handle) => handle.evaluateHessianProduct(point, vector, leastSquares));
    results.check();
    if (into === undefined) return product;
    copyIfSameLength(into, product);
    return into;
  }

  /**
   * The largest relative difference between the derivatives and central differences in double precision, with its residual and parameter.
   * Infinity where a derivative is NaN, or infinite where the difference is not. Constraints are checked, too, also disabled ones: a `residual` of numResiduals or more
   * is the constraint residual − numResiduals, in the order of `evaluateConstraints`.
   */
  async checkGradients(x?: Numbers): Promise<{ maxRelativeError: number; residual: number; parameter: number }> {
    const point = this.point('checkGradients', x);
    return this.calls.run((handle) => handle.checkGradients(point));
  }

  /**
   * The current parameters on the GPU; null on the CPU. It is the same buffer until the call after an `append`, which replaces it: f32, tightly packed (a Vec3
   * takes 12 bytes), a ParameterArray from byte 4 × offset on; usage STORAGE | VERTEX | COPY_SRC. During a solve it holds the last accepted point. In 'f32x2'
   * these are the numbers rounded to f32, and the buffer is longer at its end. Its size is rounded up to 16 bytes. It may be copied from or bound, and must not
   * be written or destroyed.
   */
  get parameterBuffer(): GPUBuffer | null {
    return noteOwner(
      this.calls.read((handle) => handle.parameterBuffer() ?? null),
      this.device,
    );
  }

  /**
   * Reads the parameters back after a solve with readBack: false. Writes them to the arrays or params and returns all of them (numParams).
   */
  async download(): Promise<Float64Array> {
    return this.calls.begin()(async (writeBack) => {
      const x = await this.instance.wait(() => this.handle.download());
      writeBack(x);
      return x;
    });
  }

  /** Frees all memory. Pending calls reject with 'disposed'. A second call does nothing. */
  dispose(): void {
    this.calls.queue.dispose(() => {
      this.input.detach();
      if (this.instance.failure === null) this.instance.call(() => this.handle.dispose());
    });
  }

  /**
   * @internal Runs a solver, which may solve several times with `wait`. With `readBack` its result is written to the arrays or params. `additions` are
   * sentences for the end of its message.
   */
  async solveWith<R extends SolveRecord>(
    solver: (handle: RawFunctions, wait: <T>(work: () => Promise<T>) => Promise<T>, graduated: readonly GraduatedBlock[]) => Promise<R>,
    readBack: boolean,
  ): Promise<{ result: R; additions: string }> {
    const run = this.calls.begin();
    const additions = this.input.additions();
    const graduated = this.input.graduatedBlocks();
    const result = await run(async (writeBack) => {
      const result = await solver(this.handle, (work) => this.instance.wait(work), graduated);
      if (readBack) writeBack(result.x);
      return result;
    });
    // The caller has the result before the check ends. A failure of the check is that of the next call, or concerns nobody.
    const { queue } = this.calls;
    if (result.checkIsDue && !queue.isDisposed) queue.run(() => this.instance.wait(() => this.handle.checkDigits())).catch(() => {});
    return { result, additions };
  }

  /** @internal Where the constraints are; null without any. */
  get constraints(): ConstraintLayout | null {
    return this.input.constraints;
  }

  /** @internal The first constraint block that takes part; null without any. */
  get enabledConstraint(): ConstraintInstances | null {
    return this.input.constraints?.parts.find(({ block }) => block.enabled)?.block ?? null;
  }

  /**
   * @internal Runs a solver with constraints, which makes several calls. Its result is written to the arrays; no other call runs before it has ended.
   */
  async solveConstrained<T extends { readonly x: Float64Array }>(solver: (session: ConstrainedSession) => Promise<T>, readBack: boolean): Promise<{ result: T; additions: string }> {
    const additions = this.input.additions();
    const result = await this.exclusively(async (session, writeBack) => {
      const result = await solver(session);
      if (readBack) writeBack(result.x);
      return result;
    });
    return { result, additions };
  }

  /** @internal Runs several calls between which no other one runs. What they change of constraints is undone. */
  exclusively<T>(work: (session: ConstrainedSession, writeBack: WriteBack) => Promise<T>): Promise<T> {
    const domain = this.input.domain();
    const run = this.calls.begin();
    const { queue } = this.calls;
    const { gradientsOnCpu, numParams, numResiduals, backend, precision, multipliers } = this;
    const { constraints, places } = this.input;
    const layout = constraints ?? NO_CONSTRAINTS;
    const call = async <R>(work: (handle: RawFunctions) => R | Promise<R>): Promise<R> => {
      queue.check();
      return this.instance.wait(async () => work(this.handle));
    };
    return run(async (writeBack) => {
      try {
        return await work({ call, layout, domain, arrays: places ?? [], numParams, numResiduals, backend, precision, gradientsOnCpu, multipliers }, writeBack);
      } finally {
        if (this.instance.failure === null && !queue.isDisposed) this.instance.call(() => layout.reset(this.handle));
      }
    });
  }

  /** @internal Throws 'invalid-argument' where a block is a plain function: it has no second derivatives. */
  refusePlain(call: string): void {
    const block = this.input.plainBlock;
    if (block !== null) throw invalidArgument(call, `residual block "${block}", a plain function without second derivatives`, 'recorded functions');
  }

  /** @internal Whether a call may have bounds to heed: those of the parameters are not all infinite. */
  get hasBounds(): boolean {
    return this.input.arrays?.some(({ bounds }) => bounds !== null) === true;
  }

  /** @internal Throws 'invalid-argument' where a block has a graduated loss: `call` would take it for the squared one. */
  refuseGraduated(call: string, takes = 'other losses; after a solve, loss.squared() with the weights in result.lossWeights'): void {
    const [block] = this.input.graduatedBlocks();
    if (block === undefined) return;
    throw invalidArgument(call, `a graduated loss of the residual block "${block.name}"`, takes);
  }

  /** @internal Runs a call that changes no parameters. */
  callWith<T>(work: (handle: RawFunctions) => Promise<T>): Promise<T> {
    return this.calls.run(work);
  }

  private withoutConstraints({ values, entries, rowOffsets, colIndices }: RawJacobian, rows: number): RawJacobian {
    const end = rowOffsets?.[rows] ?? (this.pattern as Pattern).colIndices.length;
    const pattern = rowOffsets === undefined || colIndices === undefined ? {} : { rowOffsets: rowOffsets.slice(0, rows + 1), colIndices: colIndices.slice(0, end) };
    return { values: values.slice(0, rows), entries: entries.slice(0, end), ...pattern };
  }

  private point(method: string, x: Numbers | undefined): Float64Array | undefined {
    this.calls.queue.check();
    return x === undefined ? undefined : copyNumbersOfLength(`${method}: x`, x, this.numParams, 'one for each parameter');
  }

  /** Computes a gradient into `into`, or into an array that is allocated when the call runs. */
  private async withGradient(
    method: 'evaluateSumWithGradient' | 'evaluateCostWithGradient',
    x: Numbers | undefined,
    into: Float64Array | undefined,
  ): Promise<{ value: number; gradient: Float64Array }> {
    if (method === 'evaluateCostWithGradient') this.refuseGraduated(method);
    this.checkInto(method, into);
    const results = new ResultArrays(`${method}: into`, into === undefined ? [] : [into]);
    const { numParams } = this;
    const result = await this.callAt(method, x, this.gradientsOnCpu, (handle, point) => {
      results.check();
      const fresh = into === undefined && handle.returnsArrays !== true;
      return handle[method](point, fresh ? new Float64Array(numParams) : into);
    });
    results.check();
    return result;
  }

  /** Throws 'invalid-argument' unless `into`, if it is given, has a number for each parameter. */
  private checkInto(method: string, into: Float64Array | undefined): void {
    if (into === undefined || (into instanceof Float64Array && into.length === this.numParams)) return;
    const got = (into as unknown) instanceof Float64Array ? `${into.length} numbers` : describe(into);
    throw invalidArgument(`${method}: into`, got, `a Float64Array of ${this.numParams} numbers, one for each parameter`);
  }

  private async onDevice(method: 'evaluateSumWithGradientOnDevice' | 'evaluateCostWithGradientOnDevice', x: Numbers | undefined): Promise<GradientOnDevice> {
    if (method === 'evaluateCostWithGradientOnDevice') this.refuseGraduated(method);
    const result = await this.callAt(method, x, this.backend === 'cpu', (handle, point) => handle[method](point));
    noteOwner(result.gradient, this.device);
    return result;
  }

  /** Throws 'invalid-argument' unless `into` can be a result of evaluateJacobian. */
  private checkResult(into: { values: Float64Array; jacobian: CsrMatrix }): void {
    const [values, entries]: unknown[] = [into?.values, into?.jacobian?.values];
    const fits = (array: unknown, length: number | undefined) => array instanceof Float64Array && array.length === length;
    if (!fits(values, this.numResiduals) || !fits(entries, this.pattern?.colIndices.length) || into.jacobian.cols !== this.numParams) {
      throw invalidArgument('evaluateJacobian: into', describe(into), 'an earlier result of evaluateJacobian of the same functions');
    }
  }

  /** Runs a call at a point, which is passed in the engine's precision. */
  private async callAt<T>(
    method: string,
    x: Numbers | undefined,
    onCpu: boolean,
    work: (handle: RawFunctions, point: RawPoint) => Promise<T>,
  ): Promise<T> {
    this.calls.queue.check();
    if (x === undefined) return this.calls.run((handle) => work(handle, undefined));
    return this.points.with(`${method}: x`, x, this.numParams, this.precision, onCpu, (point) => this.calls.run((handle) => work(handle, point)));
  }

  /** What JSON.stringify writes and consoles show: the engine, and the sizes. */
  toJSON(): Pick<GpuCompiledFunctions, 'backend' | 'precision' | 'fallbackReason' | 'numParams' | 'numResiduals' | 'kernelCount' | 'warnings'> {
    const { backend, precision, fallbackReason, numParams, numResiduals, kernelCount, warnings } = this;
    return { backend, precision, fallbackReason, numParams, numResiduals, kernelCount, warnings };
  }
}

makeDisposable(GpuCompiledFunctions);
makeInspectable(GpuCompiledFunctions, 'GpuCompiledFunctions');

/** Whether the options name the least-squares cost. Throws 'invalid-argument'. */
function isLeastSquares(method: string, options: HessianOptions): boolean {
  checkOptions(`${method}: options`, options, HESSIAN_OPTIONS);
  const { objective = 'sum' } = options;
  if (objective !== 'sum' && objective !== 'least-squares') throw invalidArgument(`${method}: objective`, describe(objective), "'sum' or 'least-squares'");
  return objective === 'least-squares';
}

const subclasses = /* @__PURE__ */ new WeakMap<Host, typeof GpuCompiledFunctions>();

