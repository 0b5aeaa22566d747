/** The worker's end of the connection: keeps the module's objects by their numbers, and handles the page's messages. */

import { ResiduaError } from '../arguments/errors.js';
import { here, type Host, type Instance, type WasmSource } from '../module/loading.js';
import type { RawContext, RawEngineRequest, RawFunctions, RawListener } from '../module/raw.js';
import { buffersIn } from './buffers.js';
import type { Port } from './connection.js';
import { holdLivenessLock } from './liveness-lock.js';
import { errorData, errorOf } from './error-data.js';
import type { Answer, ContextCounts, ContextFacts, EngineData, FunctionsFacts, Message, Notice, Request, RequestOptions, WorkerFacts } from './protocol.js';
import { ReceivedProblem } from './received-problem.js';

/** Compiled functions and their state. */
interface FunctionsEntry {
  readonly raw: RawFunctions;
  /** The number of their context; null on the CPU. */
  readonly context: number | null;
  /** The error of a change, with which the next call rejects. */
  failure: unknown;
}

/** The reports, the cancellation and the context of a running request. */
interface RunningRequest {
  readonly call: number;
  /** The number of the context that the page has given; null before, and on the CPU. */
  context: number | null;
  /** Sends a report; returns whether the call is cancelled. Undefined where the page takes no reports. */
  readonly report: ((...report: unknown[]) => boolean) | undefined;
  readonly isCancelled: () => boolean;
}

/** The result of a request. */
interface RequestResult {
  readonly value: unknown;
  readonly memory?: ArrayBuffer;
}

/** Handles the messages of `port` with the module of a host. */
export function serve(port: Port, host: Host = here): void {
  const server = new Server(port, host);
  port.onmessage = ({ data }: MessageEvent<Message>) => server.receive(data);
}

class Server {
  private readonly contexts = new Map<number, RawContext>();
  private readonly problems = new Map<number, ReceivedProblem>();
  private readonly functions = new Map<number, FunctionsEntry>();
  /** The running requests that wait for a context of the page. */
  private readonly asking = new Map<number, (answer: Extract<Notice, { do: 'context' }>) => void>();
  /** The running requests; true for those that are cancelled. */
  private readonly running = new Map<number, boolean>();
  private instance!: Instance;

  constructor(
    private readonly port: Port,
    private readonly host: Host,
  ) {}

  receive(message: Message): void {
    if ('wantsReports' in message) void this.answer(message);
    else this.handle(message);
  }

  private post(answer: Answer, transfer: Transferable[] = []): void {
    this.port.postMessage(answer, transfer);
  }

  private async answer(request: Request & RequestOptions & { call: number }): Promise<void> {
    const { call } = request;
    const batch = new ReportBatch((reports) => this.post({ call, reports }));
    this.running.set(call, request.isCancelled);
    const isCancelled = (): boolean => this.running.get(call) === true;
    const report = request.wantsReports ? (...values: unknown[]) => (batch.add(values), isCancelled()) : undefined;
    const running: RunningRequest = { call, context: null, report, isCancelled };
    let answer: Answer;
    try {
      answer = { call, ...(await this.run(request, running)) };
    } catch (error) {
      answer = { call, error: errorData(error) };
    }
    batch.flush();
    this.running.delete(call);
    const counts = this.countsFor(request, running);
    if (counts !== undefined) answer = { ...answer, counts };
    const { value, memory } = answer as Partial<RequestResult>;
    try {
      this.post(answer, memory === undefined ? buffersIn(value) : [...buffersIn(value), memory]);
    } catch (error) {
      // An answer that cannot be cloned must still settle the page's call.
      this.post({ call, error: errorData(error) });
    }
  }

  private async run(request: Request, running: RunningRequest): Promise<RequestResult> {
    switch (request.do) {
      case 'load':
        await this.host.init((request.source as WasmSource | null) ?? undefined);
        this.instance = this.host.running();
        this.watch();
        return { value: await this.workerFacts() };
      case 'isAvailable':
        return { value: await this.instance.wait((module) => module.RawContext.isAvailable()) };
      case 'createContext':
        return { value: await this.createContext(request) };
      case 'compile':
        return { value: await this.compile(request, running) };
      case 'solveMany': {
        const many = this.instance.call((module) => this.problem(request.problem).buildMany(module));
        const solve = () => many.solve(this.engine(request.engine, running), request.options, running.report, running.isCancelled);
        return { value: await this.instance.wait(solve) };
      }
      case 'grow':
        return { value: await this.grow(request) };
      case 'call':
        return this.call(request, running);
    }
  }

  private async workerFacts(): Promise<WorkerFacts> {
    return { livenessLock: await holdLivenessLock() };
  }

  private async createContext({ context, powerPreference, profile }: Extract<Request, { do: 'createContext' }>): Promise<ContextFacts> {
    const { instance } = this;
    const raw = await instance.wait((module) => module.RawContext.create(powerPreference, undefined, profile));
    this.contexts.set(context, raw);
    void raw.lost().then(({ reason, message }) => this.post({ lost: context, reason, message }));
    return { adapter: raw.adapter(), stats: raw.stats() };
  }

  private async compile(request: Extract<Request, { do: 'compile' }>, running: RunningRequest): Promise<FunctionsFacts> {
    const { instance } = this;
    const received = this.problem(request.problem);
    const problem = instance.call((module) => received.build(module));
    const engine = this.engine(request.engine, running);
    // The page has sent all start values before this request.
    const fill = (): void => {};
    const raw = await instance.wait((module) =>
      module.RawFunctions.compile(problem, received.values, fill, engine, request.batchSize, running.report, running.isCancelled),
    );
    return instance.call(() => {
      this.functions.set(request.functions, { raw, context: raw.isOnGpu() ? running.context : null, failure: null });
      return factsOf(raw);
    });
  }

  private async grow(request: Extract<Request, { do: 'grow' }>): Promise<FunctionsFacts> {
    const { raw } = this.entry(request.functions);
    const received = this.problem(request.problem);
    await this.instance.wait((module) => raw.grow(received.build(module), received.values));
    return this.instance.call(() => factsOf(raw));
  }

  private entry(functions: number): FunctionsEntry {
    const entry = this.functions.get(functions);
    if (entry === undefined) throw new ResiduaError('disposed', 'the GpuCompiledFunctions was used after dispose()');
    return entry;
  }

  private async call({ functions, method, args, memory }: Extract<Request, { do: 'call' }>, running: RunningRequest): Promise<RequestResult> {
    const entry = this.entry(functions);
    const { raw, failure } = entry;
    entry.failure = null;
    if (failure !== null) throw failure;
    const wait = <T>(work: () => Promise<T>): Promise<T> => this.instance.wait(work);
    const [first, second] = args;
    const point = first as Float64Array | undefined;
    switch (method) {
      case 'evaluateSumWithGradient':
      case 'evaluateCostWithGradient': {
        const length = raw.numParams();
        const into = memory?.byteLength === 8 * length ? new Float64Array(memory) : new Float64Array(length);
        return { value: await wait(() => raw[method](point, into)), ...memoryOf(point) };
      }
      case 'evaluateSumWithGradientOnDevice':
      case 'evaluateCostWithGradientOnDevice': {
        const { value } = await wait(() => raw[method](point));
        return { value: { value, gradient: null }, ...memoryOf(point) };
      }
      case 'evaluateJacobian':
        return { value: await wait(() => raw.evaluateJacobian(point, second === true)), ...memoryOf(point) };
      case 'evaluate':
      case 'checkGradients':
        return { value: await wait<unknown>(() => raw[method](point)) };
      case 'evaluateHessian':
      case 'evaluateHessianProduct':
        return { value: await wait<unknown>(() => raw[method](...(args as [never, never, never]))) };
      case 'covariance':
        return { value: await wait(() => raw.covariance(...(first as Parameters<typeof raw.covariance>))) };
      case 'rank':
        return { value: await wait(() => raw.rank(first as number)) };
      case 'download':
      case 'checkDigits':
        return { value: await wait<unknown>(() => raw[method]()) };
      case 'levenbergMarquardt':
      case 'lbfgs':
      case 'newton': {
        const listener: RawListener = running.report ?? (() => running.isCancelled());
        return { value: await wait(() => raw[method](first as never, listener, running.isCancelled)) };
      }
    }
  }

  private handle(notice: Notice): void {
    switch (notice.do) {
      case 'cancel':
        // The call may have ended before the notice arrived.
        if (this.running.has(notice.call)) this.running.set(notice.call, true);
        return;
      case 'context':
        return this.asking.get(notice.call)?.(notice);
      case 'problem':
        this.problems.set(notice.problem, new ReceivedProblem(notice.steps, notice.numParams, notice.many));
        return;
      case 'pieces':
        this.problems.get(notice.problem)?.add(notice.pieces);
        return;
      case 'change':
        return this.change(notice);
      case 'trim':
        this.instance.call(() => this.contexts.get(notice.context)?.trim());
        return this.postCounts(notice.context);
      case 'dispose':
        return this.dispose(notice.what, notice.number);
    }
  }

  private change({ functions, method, args }: Extract<Notice, { do: 'change' }>): void {
    const entry = this.functions.get(functions);
    if (entry === undefined) return;
    try {
      this.instance.call(() => (entry.raw[method] as (...args: readonly unknown[]) => void)(...args));
    } catch (error) {
      entry.failure ??= error;
    }
  }

  private dispose(what: 'context' | 'functions' | 'problem', number: number): void {
    if (what === 'problem') {
      this.problems.delete(number);
      return;
    }
    const entry = what === 'functions' ? this.functions.get(number) : undefined;
    const raw = entry?.raw ?? this.contexts.get(number);
    if (raw === undefined) return;
    this.functions.delete(number);
    this.instance.call(() => raw.dispose());
    if (what === 'context') this.contexts.delete(number);
    else this.postCounts(entry?.context ?? null);
  }

  private problem(number: number): ReceivedProblem {
    const received = this.problems.get(number);
    if (received === undefined) throw new ResiduaError('internal', `problem ${number} was not received`);
    return received;
  }

  /** Returns the engine that a running request asks for. The page gives the context. */
  private engine(data: EngineData, running: RunningRequest): RawEngineRequest {
    const requestContext = async (): Promise<RawContext> => {
      const { call } = running;
      const { context } = await new Promise<Extract<Notice, { do: 'context' }>>((resolve) => {
        this.asking.set(call, resolve);
        this.post({ call, asks: 'context' });
      }).finally(() => this.asking.delete(call));
      if (typeof context !== 'number') throw errorOf(context);
      const raw = this.contexts.get(context);
      if (raw === undefined) throw new ResiduaError('disposed', 'the GpuContext was used after dispose()');
      running.context = context;
      return this.instance.call(() => raw.share());
    };
    return { ...data, requestContext };
  }

  private countsFor(request: Request, { context }: RunningRequest): ContextCounts | undefined {
    if (request.do === 'call' || request.do === 'grow') return this.counts(this.functions.get(request.functions)?.context ?? null);
    return this.counts(context);
  }

  private counts(number: number | null): ContextCounts | undefined {
    const context = number === null ? undefined : this.contexts.get(number);
    if (number === null || context === undefined || this.instance.failure !== null) return undefined;
    return this.instance.call(() => [number, context.stats(), context.isLost()]);
  }

  private postCounts(context: number | null): void {
    const counts = this.counts(context);
    if (counts !== undefined) this.post({ counts });
  }

  /** Posts a message when the module fails, whether or not a request is running. */
  private watch(): void {
    const { instance } = this;
    void instance.wait(() => new Promise<never>(() => {})).catch(() => this.post({ failed: instance.failureMessage, code: instance.failureCode }));
  }
}

/** The pending reports of a call. Reports of one turn of the event loop are sent in one message. */
class ReportBatch {
  private reports: unknown[][] = [];
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly post: (reports: readonly unknown[][]) => void) {}

  add(report: unknown[]): void {
    this.reports.push(report);
    this.timer ??= setTimeout(() => this.flush());
  }

  flush(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (this.reports.length > 0) this.post(this.reports);
    this.reports = [];
  }
}

function factsOf(raw: RawFunctions): FunctionsFacts {
  return {
    isOnGpu: raw.isOnGpu(),
    areGradientsOnCpu: raw.areGradientsOnCpu(),
    fallbackReason: raw.fallbackReason(),
    precision: raw.precision(),
    numParams: raw.numParams(),
    numResiduals: raw.numResiduals(),
    kernelCount: raw.kernelCount(),
    kernels: raw.kernels(),
    compileTimes: raw.compileTimes(),
  };
}

/** Returns the memory of a point, which the page may use again. */
function memoryOf(point: Float64Array | Float32Array | undefined): { memory?: ArrayBuffer } {
  return point === undefined ? {} : { memory: point.buffer as ArrayBuffer };
}
