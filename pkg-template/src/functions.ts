/** Compiled functions: residuals, sums, costs and their derivatives, on the GPU or the CPU. */

import { compileSubject, recordParams, type Compiled, type CompileOptions } from './compile.js';
import { CompressedRows, type CsrMatrix, type Pattern } from './csr-matrix.js';
import { makeDisposable } from './dispose.js';
import { describe, invalidArgument } from './errors.js';
import { Lent } from './lent.js';
import { here, type Host, type Instance } from './loading.js';
import { copyNumbersInto, copyNumbersOfLength, type Numbers } from './numeric-arguments.js';
import type { ParameterBlocks } from './parameter-array.js';
import { Problem } from './problem.js';
import { CallQueue } from './queue.js';
import type { RawFunctions, RawPoint, RawSolveResult } from './raw.js';
import { ProblemSubject, type Edits, type Subject, type WriteBack } from './subject.js';
import type { Scalar, Value } from './value.js';

/** An objective's value, and its gradient where it was computed. */
export interface GradientOnDevice {
  /** The objective's value, read back. */
  readonly value: number;
  /** numParams f32 numbers on the GPU; null on the CPU. */
  readonly gradient: GPUBuffer | null;
}

/**
 * Residual functions, compiled.
 *
 * `x` has numParams numbers: all parameters, constant ones included, arrays in order of creation; by default the current ones.
 * Passing it does not change them. Residuals stand block after block, instance after instance, output after output; in the params
 * form in the order in which `fn` returned them, with squared loss. Residuals and Jacobian are raw: no loss, no weight. The sum is
 * Σ weight·f; the cost ½ Σ weight·ρ(‖r‖²) over instances, r an instance's outputs, as in Ceres. Gradients and Jacobian columns are
 * with respect to the numbers themselves, not to a manifold's tangent; those of constant blocks are explicit zeros; bounds play no
 * part. NaN and infinities are returned as they come.
 *
 * Calls queue in order; what is set before a call is made applies to it, what is set later to the next one. Arrays returned are
 * fresh. All calls reject with 'disposed' after `dispose()`, with 'device-lost' when the device is, and with 'invalid-argument'
 * when `x` has another length or holds something that is not a finite number.
 */
export class GpuCompiledFunctions {
  /** Which engine computes. */
  readonly backend: 'gpu' | 'cpu';
  /** @internal Whether the CPU may go on where the GPU comes to its limits: the backend was not asked for. */
  readonly mayTakeOver: boolean;
  /** Why 'auto' took the CPU; null on the GPU, and where the CPU was asked for. */
  readonly fallbackReason: string | null;
  /** All parameters, constant ones included. */
  readonly numParams: number;
  /** All residuals. */
  readonly numResiduals: number;
  /** Kernels compiled: one for each topology. */
  readonly kernelCount: number;
  /**
   * Wall times in milliseconds of compiling, by stage: `record` (params form), `group`, `tables`, `pipelines`, and where 'auto' measures,
   * `choice` (the CPU and the device) and `trial` (the problem's kernels there).
   */
  readonly compileTimes: Readonly<Record<string, number>>;

  /** The same as dispose(), for `using`. */
  declare readonly [Symbol.dispose]: () => void;

  private readonly queue = new CallQueue('the GpuCompiledFunctions');
  private readonly instance: Instance;
  private readonly handle: RawFunctions;
  /** Whether gradients that are read back are computed in double precision. */
  private readonly gradientsOnCpu: boolean;
  /** That of the Jacobian, once there is one. */
  private pattern: Pattern | null = null;
  /** Memory for a point on its way to the engine: a system takes longer to find new memory than to fill it. */
  private spare: Float32Array | Float64Array | null = null;
  /** Whether the module's own memory for a point is some call's. */
  private isPlaced = false;

  private constructor(
    private readonly subject: Subject,
    compiled: Compiled,
  ) {
    const { instance, raw } = compiled;
    this.instance = instance;
    this.handle = raw;
    this.backend = compiled.backend;
    this.gradientsOnCpu = instance.call(() => raw.areGradientsOnCpu());
    this.mayTakeOver = compiled.chosen;
    this.fallbackReason = compiled.fallbackReason;
    this.numParams = subject.numParams;
    this.numResiduals = subject.numResiduals;
    this.kernelCount = instance.call(() => raw.kernelCount());
    const times = instance.call(() => raw.compileTimes());
    this.compileTimes = Object.freeze(subject.recordingTime === null ? { ...times } : { record: subject.recordingTime, ...times });
    subject.attach((work) => this.read(work));
  }

  /**
   * Records `fn` once over `params`, groups its outputs by topology and compiles one kernel a group. `params` are not changed; what
   * is set in them later (`data`) applies to the next call, and a solve writes its result to them. A parameter that is not among
   * them is a constant.
   */
  static compile(
    params: readonly Value[],
    fn: (params: Value[]) => Scalar | readonly Scalar[],
    options?: CompileOptions,
  ): Promise<GpuCompiledFunctions>;
  /** Compiles a problem as it now stands; arrays and residuals that are added later are not part of it. */
  static compile(problem: Problem, options?: CompileOptions): Promise<GpuCompiledFunctions>;
  static compile(what: readonly Value[] | Problem, fnOrOptions?: unknown, options?: CompileOptions): Promise<GpuCompiledFunctions> {
    return GpuCompiledFunctions.compileOn(here, what, fnOrOptions, options);
  }

  /** @internal This class for functions on a host. */
  static on(host: Host): typeof GpuCompiledFunctions {
    let kind = host === here ? GpuCompiledFunctions : kinds.get(host);
    if (kind === undefined) {
      kind = class extends GpuCompiledFunctions {
        static override compile(what: readonly Value[] | Problem, fnOrOptions?: unknown, options?: CompileOptions): Promise<GpuCompiledFunctions> {
          return GpuCompiledFunctions.compileOn(host, what, fnOrOptions, options);
        }
      };
      Object.defineProperty(kind, 'name', { value: GpuCompiledFunctions.name });
      kinds.set(host, kind);
    }
    return kind;
  }

  private static async compileOn(
    host: Host,
    what: readonly Value[] | Problem,
    fnOrOptions: unknown,
    options: CompileOptions | undefined,
  ): Promise<GpuCompiledFunctions> {
    const isProblem = what instanceof Problem;
    const subject = isProblem ? new ProblemSubject(what) : recordParams(what, fnOrOptions);
    const compiled = await compileSubject(host, subject, (isProblem ? (fnOrOptions as CompileOptions | undefined) : options) ?? {});
    return new (GpuCompiledFunctions.on(host))(subject, compiled);
  }

  /** Whether dispose() was called. @internal */
  get isDisposed(): boolean {
    return this.queue.isDisposed;
  }

  /** Tells of a dispose() as it happens; returns how not to be told. @internal */
  whenDisposed(listener: () => void): () => void {
    return this.queue.whenDisposed(listener);
  }

  /** The problem's arrays, in order; null where params were compiled. @internal */
  get parameterArrays(): readonly ParameterBlocks[] | null {
    return this.subject.arrays;
  }

  /** Residuals per kernel. */
  get kernelReuseFactor(): number {
    return this.numResiduals / this.kernelCount;
  }

  /** The generated shaders, readable, one per kernel and entry point. */
  kernels(): { name: string; instances: number; wgsl: string }[] {
    return this.read((handle) => handle.kernels());
  }

  /** Residual values (numResiduals). */
  async evaluate(x?: Numbers): Promise<Float64Array> {
    const point = this.point('evaluate', x);
    return this.call((handle) => handle.evaluate(point));
  }

  /**
   * Σ weight·f and its gradient (numParams), for energies that are minimised as they are.
   *
   * `into`, an array of numParams numbers, takes the gradient in place of a fresh one, and is the one in the result: of millions of
   * numbers, finding new memory takes longer than anything else. It is written when the call is through; leave it alone until then.
   * Anything but a Float64Array of that length is 'invalid-argument', and so is one whose memory is transferred or resized meanwhile.
   */
  evaluateSumWithGradient(x?: Numbers, into?: Float64Array): Promise<{ value: number; gradient: Float64Array }> {
    return this.withGradient('evaluateSumWithGradient', x, into);
  }

  /** The least-squares cost ½ Σ weight·ρ(‖r‖²) and its gradient (numParams); `into` as of evaluateSumWithGradient. */
  evaluateCostWithGradient(x?: Numbers, into?: Float64Array): Promise<{ value: number; gradient: Float64Array }> {
    return this.withGradient('evaluateCostWithGradient', x, into);
  }

  /**
   * As evaluateSumWithGradient, with the gradient left on the GPU: only the value is read back, and without `x` nothing is uploaded
   * (the parameters of `parameterBuffer` are taken).
   *
   * `gradient` is one buffer for the object's life, laid out as `parameterBuffer`: f32, tightly packed (a Vec3 takes 12 bytes), a
   * ParameterArray's entries at byte 4 × offset; usage STORAGE | VERTEX | COPY_SRC. It belongs to these functions, and is destroyed
   * with them: copy from it or bind it, never write or destroy it. The next of their ...OnDevice calls overwrites it, and nothing
   * else does. On the CPU it is null, and `value` is there all the same.
   */
  async evaluateSumWithGradientOnDevice(x?: Numbers): Promise<GradientOnDevice> {
    return this.callAt('evaluateSumWithGradientOnDevice', x, this.backend === 'cpu', (handle, point) => handle.evaluateSumWithGradientOnDevice(point));
  }

  /** As evaluateCostWithGradient, with the gradient left on the GPU: see evaluateSumWithGradientOnDevice; both leave it in the same buffer. */
  async evaluateCostWithGradientOnDevice(x?: Numbers): Promise<GradientOnDevice> {
    return this.callAt('evaluateCostWithGradientOnDevice', x, this.backend === 'cpu', (handle, point) => handle.evaluateCostWithGradientOnDevice(point));
  }

  /**
   * Residuals and ∂r/∂x, numResiduals × numParams. The pattern is the same for every x, each (row, column) once.
   *
   * `into`, an earlier result of the same functions, takes the numbers in place of fresh arrays, and is the result; leave it alone until the
   * call is through: if its memory is transferred or resized meanwhile, the call rejects with 'invalid-argument'.
   */
  async evaluateJacobian(x?: Numbers, into?: { values: Float64Array; jacobian: CsrMatrix }): Promise<{ values: Float64Array; jacobian: CsrMatrix }> {
    if (into !== undefined) this.checkResult(into);
    const arrays = into === undefined ? ([] as const) : ([into.values, into.jacobian.values] as const);
    const lent = new Lent('evaluateJacobian: into', arrays);
    const { values, entries, rowOffsets, colIndices } = await this.callAt('evaluateJacobian', x, true, (handle, point) => {
      lent.check();
      return handle.evaluateJacobian(point, this.pattern === null, ...arrays);
    });
    lent.check();
    if (rowOffsets !== undefined && colIndices !== undefined) this.pattern ??= { rowOffsets, colIndices };
    return into ?? { values, jacobian: new CompressedRows(this.numResiduals, this.numParams, this.pattern as Pattern, entries) };
  }

  /** Largest relative difference between the derivatives and central differences in double precision, and where it stands. */
  async checkGradients(x?: Numbers): Promise<{ maxRelativeError: number; residual: number; parameter: number }> {
    const point = this.point('checkGradients', x);
    return this.call((handle) => handle.checkGradients(point));
  }

  /**
   * The current parameters on the GPU, null on the CPU: one buffer for the object's life, f32, tightly packed (a Vec3 takes 12
   * bytes), a ParameterArray at byte 4 × offset; usage STORAGE | VERTEX | COPY_SRC. During a solve it holds the last accepted
   * point. Copy from it or bind it; never write or destroy it.
   */
  get parameterBuffer(): GPUBuffer | null {
    return this.read((handle) => handle.parameterBuffer() ?? null);
  }

  /** Brings the parameters back after a solve with readBack: false, to the arrays or params too; resolves with all of them. */
  async download(): Promise<Float64Array> {
    const { edits, writeBack } = this.beginCall();
    return this.queue.run(async () => {
      this.apply(edits);
      const x = await this.instance.wait(() => this.handle.download());
      if (!this.queue.isDisposed) writeBack(x);
      return x;
    });
  }

  /** Frees what it holds; calls that are pending reject with 'disposed'. A second call does nothing. */
  dispose(): void {
    this.queue.dispose(() => {
      this.subject.detach();
      if (this.instance.failure === null) this.instance.call(() => this.handle.dispose());
    });
  }

  /** @internal Runs a solver and takes its result over, unless that stays on the device. */
  async solveWith(solver: (handle: RawFunctions) => Promise<RawSolveResult>, readBack: boolean): Promise<RawSolveResult> {
    const { edits, writeBack } = this.beginCall();
    return this.queue.run(async () => {
      this.apply(edits);
      const result = await this.instance.wait(() => solver(this.handle));
      if (readBack && !this.queue.isDisposed) writeBack(result.x);
      return result;
    });
  }

  /** @internal Runs a call that changes no numbers. */
  callWith<T>(work: (handle: RawFunctions) => Promise<T>): Promise<T> {
    return this.call(work);
  }

  private beginCall(): { edits: Edits; writeBack: WriteBack } {
    this.queue.check();
    const edits = this.subject.takeEdits();
    return { edits, writeBack: this.subject.writeBack() };
  }

  private call<T>(work: (handle: RawFunctions) => Promise<T>): Promise<T> {
    this.queue.check();
    const edits = this.subject.takeEdits();
    return this.queue.run(async () => {
      this.apply(edits);
      return this.instance.wait(() => work(this.handle));
    });
  }

  private apply({ values, commands }: Edits): void {
    for (const command of commands) this.instance.call(() => command(this.handle));
    if (values.length === 0) return;
    const numbers = new Float64Array(values.reduce((total, edit) => total + edit.numbers.length, 0));
    let end = 0;
    for (const edit of values) {
      numbers.set(edit.numbers, end);
      end += edit.numbers.length;
    }
    const starts = Uint32Array.from(values, ({ offset }) => offset);
    const lengths = Uint32Array.from(values, ({ numbers: { length } }) => length);
    this.instance.call(() => this.handle.setValuesAt(starts, lengths, numbers));
  }

  private point(method: string, x: Numbers | undefined): Float64Array | undefined {
    this.queue.check();
    return x === undefined ? undefined : copyNumbersOfLength(`${method}: x`, x, this.numParams, 'one for each parameter');
  }

  /** A gradient that goes into an array that was given, or into one that is made when the call's turn comes. */
  private async withGradient(
    method: 'evaluateSumWithGradient' | 'evaluateCostWithGradient',
    x: Numbers | undefined,
    into: Float64Array | undefined,
  ): Promise<{ value: number; gradient: Float64Array }> {
    if (into !== undefined && !(into instanceof Float64Array && into.length === this.numParams)) {
      const got = (into as unknown) instanceof Float64Array ? `${into.length} numbers` : describe(into);
      throw invalidArgument(`${method}: into`, got, `a Float64Array of ${this.numParams} numbers, one for each parameter`);
    }
    const lent = new Lent(`${method}: into`, into === undefined ? [] : [into]);
    const result = await this.callAt(method, x, this.gradientsOnCpu, (handle, point) => {
      lent.check();
      const fresh = into === undefined && handle.givesArrays !== true;
      return handle[method](point, fresh ? new Float64Array(this.numParams) : into);
    });
    lent.check();
    return result;
  }

  /** Throws unless it can be a result of evaluateJacobian. */
  private checkResult(into: { values: Float64Array; jacobian: CsrMatrix }): void {
    const [values, entries]: unknown[] = [into?.values, into?.jacobian?.values];
    const fits = (array: unknown, length: number | undefined) => array instanceof Float64Array && array.length === length;
    if (!fits(values, this.numResiduals) || !fits(entries, this.pattern?.colIndices.length)) {
      throw invalidArgument('evaluateJacobian: into', describe(into), 'an earlier result of evaluateJacobian of the same functions');
    }
  }

  /** A call at a point that goes to the engine in its own precision. */
  private async callAt<T>(
    method: string,
    x: Numbers | undefined,
    onCpu: boolean,
    work: (handle: RawFunctions, point: RawPoint) => Promise<T>,
  ): Promise<T> {
    this.queue.check();
    if (x === undefined) return this.call((handle) => work(handle, undefined));
    const meaning = 'one for each parameter';
    const place = onCpu && !this.isPlaced ? this.instance.call(() => this.handle.pointPlace?.()) : undefined;
    if (place !== undefined) {
      // Getters of x may call, too.
      this.isPlaced = true;
      try {
        copyNumbersInto(`${method}: x`, x, place, meaning, () => this.instance.call(() => this.handle.isPointFinite?.() === true));
        return await this.call((handle) => work(handle, null));
      } finally {
        this.isPlaced = false;
      }
    }
    const Kind = onCpu ? Float64Array : Float32Array;
    const given = this.handle.memory?.();
    if (given?.byteLength === this.numParams * Kind.BYTES_PER_ELEMENT) this.spare = new Kind(given);
    const into = this.spare instanceof Kind ? this.spare : new Kind(this.numParams);
    this.spare = null;
    const point = copyNumbersInto(`${method}: x`, x, into, meaning);
    try {
      return await this.call((handle) => work(handle, point));
    } finally {
      // One that went to a worker has left nothing behind.
      if (point.length > 0) this.spare = point;
    }
  }

  private read<T>(work: (handle: RawFunctions) => T): T {
    this.queue.check();
    return this.instance.call(() => work(this.handle));
  }
}

makeDisposable(GpuCompiledFunctions);

const kinds = /* @__PURE__ */ new WeakMap<Host, typeof GpuCompiledFunctions>();
