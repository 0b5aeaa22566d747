/** The worker's end: holds the module's objects by their numbers, and does what the page asks. */

import { ResiduaError } from '../errors.js';
import { here, type Host, type Instance, type WasmSource } from '../loading.js';
import type { RawContext, RawFunctions, RawListener } from '../raw.js';
import { buffersIn } from './buffers.js';
import type { Port } from './connection.js';
import type { Answer, ContextFacts, Counts, Failure, FunctionsFacts, Introduction, Manner, Message, Notice, Request } from './protocol.js';
import { holdLifeline } from './lifeline.js';
import { Received } from './received.js';

/** Compiled functions. */
interface Held {
  readonly raw: RawFunctions;
  /** The number of the context that they are on; null on the CPU. */
  readonly context: number | null;
  /** What went wrong with a change, for the next call to tell. */
  failure: unknown;
}

/** A request that is being carried out. */
interface Job {
  /** Tells what happens on the way. */
  readonly hear: ((...told: unknown[]) => boolean) | undefined;
  readonly isStopped: () => boolean;
}

/** What comes of a request. */
interface Outcome {
  readonly value: unknown;
  readonly memory?: ArrayBuffer;
}

/** Serves the page at the other end of `port` with the module of a host. */
export function serve(port: Port, host: Host = here): void {
  const server = new Server(port, host);
  port.onmessage = ({ data }: MessageEvent<Message>) => server.hear(data);
}

class Server {
  private readonly contexts = new Map<number, RawContext>();
  private readonly problems = new Map<number, Received>();
  private readonly functions = new Map<number, Held>();
  /** The requests that are being carried out; true for those that shall stop. */
  private readonly running = new Map<number, boolean>();
  private instance!: Instance;

  constructor(
    private readonly port: Port,
    private readonly host: Host,
  ) {}

  hear(message: Message): void {
    if ('call' in message && message.do !== 'stop') void this.answer(message);
    else this.take(message as Notice);
  }

  private post(answer: Answer, transfer: Transferable[] = []): void {
    this.port.postMessage(answer, transfer);
  }

  private async answer(request: Request & Manner & { call: number }): Promise<void> {
    const { call } = request;
    const told = new Told((words) => this.post({ call, told: words }));
    this.running.set(call, request.stopped);
    const isStopped = (): boolean => this.running.get(call) === true;
    const hear = request.heard ? (...words: unknown[]) => (told.add(words), isStopped()) : undefined;
    let answer: Answer;
    try {
      answer = { call, ...(await this.carryOut(request, { hear, isStopped })) };
    } catch (error) {
      answer = { call, error: failureOf(error) };
    }
    told.flush();
    this.running.delete(call);
    const counts = this.countsFor(request);
    if (counts !== undefined) answer = { ...answer, counts };
    const { value, memory } = answer as Partial<Outcome>;
    this.post(answer, memory === undefined ? buffersIn(value) : [...buffersIn(value), memory]);
  }

  private async carryOut(request: Request, job: Job): Promise<Outcome> {
    switch (request.do) {
      case 'load':
        await this.host.init((request.source as WasmSource | null) ?? undefined);
        this.instance = this.host.running();
        this.watch();
        return { value: await this.introduction() };
      case 'isAvailable':
        return { value: await this.instance.wait((module) => module.RawContext.isAvailable()) };
      case 'createContext':
        return { value: await this.createContext(request) };
      case 'compile':
        return { value: await this.compile(request, job) };
      case 'solveMany': {
        const many = this.instance.call((module) => this.problem(request.problem).buildMany(module));
        const options = request.options as Parameters<typeof many.solve>[1];
        const solving = () => many.solve(this.share(request.context), options, job.hear, job.isStopped);
        return { value: await this.instance.wait(solving) };
      }
      case 'call':
        return this.call(request, job);
    }
  }

  private async introduction(): Promise<Introduction> {
    const hasWebGpu = (globalThis as { navigator?: { gpu?: unknown } }).navigator?.gpu != null;
    return { hasWebGpu, lifeline: await holdLifeline() };
  }

  private async createContext({ context, powerPreference, profile }: Extract<Request, { do: 'createContext' }>): Promise<ContextFacts> {
    const { instance } = this;
    const raw = await instance.wait((module) => module.RawContext.create(powerPreference, undefined, profile));
    this.contexts.set(context, raw);
    void raw.lost().then(({ reason, message }) => this.post({ lost: context, reason, message }));
    return { adapter: raw.adapter(), stats: raw.stats() };
  }

  private async compile(request: Extract<Request, { do: 'compile' }>, { hear, isStopped }: Job): Promise<FunctionsFacts> {
    const { instance } = this;
    const received = this.problem(request.problem);
    const problem = instance.call((module) => received.build(module));
    const { choose, batchSize } = request;
    // The numbers are all there already.
    const fill = (): void => {};
    const raw = await instance.wait((module) =>
      module.RawFunctions.compile(problem, received.values, fill, this.share(request.context), choose, batchSize, hear, isStopped),
    );
    return instance.call(() => {
      const isOnGpu = raw.isOnGpu();
      this.functions.set(request.functions, { raw, context: isOnGpu ? request.context : null, failure: null });
      return {
        isOnGpu,
        areGradientsOnCpu: raw.areGradientsOnCpu(),
        choice: raw.choice(),
        numParams: raw.numParams(),
        numResiduals: raw.numResiduals(),
        kernelCount: raw.kernelCount(),
        kernels: raw.kernels(),
        compileTimes: raw.compileTimes(),
      };
    });
  }

  private async call({ functions, method, args, memory }: Extract<Request, { do: 'call' }>, job: Job): Promise<Outcome> {
    const held = this.functions.get(functions);
    if (held === undefined) throw new ResiduaError('disposed', 'the GpuCompiledFunctions was used after dispose()');
    const { raw, failure } = held;
    held.failure = null;
    if (failure !== null) throw failure;
    const wait = <T>(work: () => Promise<T>): Promise<T> => this.instance.wait(work);
    const [first, second] = args;
    const point = first as Float64Array | undefined;
    switch (method) {
      case 'evaluateSumWithGradient':
      case 'evaluateCostWithGradient': {
        const length = raw.numParams();
        const into = memory?.byteLength === 8 * length ? new Float64Array(memory) : new Float64Array(length);
        return { value: await wait(() => raw[method](point, into)), ...givenBack(point) };
      }
      case 'evaluateSumWithGradientOnDevice':
      case 'evaluateCostWithGradientOnDevice': {
        const { value } = await wait(() => raw[method](point));
        return { value: { value, gradient: null }, ...givenBack(point) };
      }
      case 'evaluateJacobian':
        return { value: await wait(() => raw.evaluateJacobian(point, second === true)), ...givenBack(point) };
      case 'evaluate':
      case 'checkGradients':
        return { value: await wait<unknown>(() => raw[method](point)) };
      case 'covariance':
        return { value: await wait(() => raw.covariance(first as Uint32Array | undefined)) };
      case 'rank':
        return { value: await wait(() => raw.rank(first as number)) };
      case 'download':
        return { value: await wait(() => raw.download()) };
      case 'levenbergMarquardt':
      case 'lbfgs': {
        const hear: RawListener = job.hear ?? (() => job.isStopped());
        return { value: await wait(() => raw[method](first as never, hear, job.isStopped)) };
      }
    }
  }

  private take(notice: Notice): void {
    switch (notice.do) {
      case 'stop':
        // A call that is over does not come back.
        if (this.running.has(notice.call)) this.running.set(notice.call, true);
        return;
      case 'problem':
        this.problems.set(notice.problem, new Received(notice.steps, notice.numParams, notice.many));
        return;
      case 'parts':
        this.problems.get(notice.problem)?.add(notice.parts);
        return;
      case 'change':
        return this.change(notice);
      case 'trim':
        this.instance.call(() => this.contexts.get(notice.context)?.trim());
        return this.tellCounts(notice.context);
      case 'dispose':
        return this.dispose(notice.what, notice.number);
    }
  }

  private change({ functions, method, args }: Extract<Notice, { do: 'change' }>): void {
    const held = this.functions.get(functions);
    if (held === undefined) return;
    try {
      this.instance.call(() => (held.raw[method] as (...args: readonly unknown[]) => void)(...args));
    } catch (error) {
      held.failure ??= error;
    }
  }

  private dispose(what: 'context' | 'functions' | 'problem', number: number): void {
    if (what === 'problem') {
      this.problems.delete(number);
      return;
    }
    const held = what === 'functions' ? this.functions.get(number) : undefined;
    const raw = held?.raw ?? this.contexts.get(number);
    this.functions.delete(number);
    this.instance.call(() => raw?.dispose());
    if (what === 'context') this.contexts.delete(number);
    else this.tellCounts(held?.context ?? null);
  }

  private problem(number: number): Received {
    const received = this.problems.get(number);
    if (received === undefined) throw new ResiduaError('internal', `problem ${number} has not come`);
    return received;
  }

  /** A handle of a context, for a compile or a solve, which takes it. */
  private share(number: number | null): RawContext | undefined {
    if (number === null) return undefined;
    const context = this.contexts.get(number);
    if (context === undefined) throw new ResiduaError('disposed', 'the GpuContext was used after dispose()');
    return context.share();
  }

  private countsFor(request: Request): Counts | undefined {
    if (request.do === 'call') return this.counts(this.functions.get(request.functions)?.context ?? null);
    return request.do === 'compile' || request.do === 'solveMany' ? this.counts(request.context) : undefined;
  }

  private counts(number: number | null): Counts | undefined {
    const context = number === null ? undefined : this.contexts.get(number);
    if (number === null || context === undefined || this.instance.failure !== null) return undefined;
    return this.instance.call(() => [number, context.stats(), context.isLost()]);
  }

  private tellCounts(context: number | null): void {
    const counts = this.counts(context);
    if (counts !== undefined) this.post({ counts });
  }

  /** Tells of the module's death, whether or not a call waits. */
  private watch(): void {
    const { instance } = this;
    void instance.wait(() => new Promise<never>(() => {})).catch(() => this.post({ failed: instance.lastWords }));
  }
}

/** What a call tells in one turn goes in one message. */
class Told {
  private words: unknown[][] = [];
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly post: (words: readonly unknown[][]) => void) {}

  add(words: unknown[]): void {
    this.words.push(words);
    this.timer ??= setTimeout(() => this.flush());
  }

  flush(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (this.words.length > 0) this.post(this.words);
    this.words = [];
  }
}

/** The memory of a point that has been used. */
function givenBack(point: Float64Array | Float32Array | undefined): { memory?: ArrayBuffer } {
  return point === undefined ? {} : { memory: point.buffer as ArrayBuffer };
}

function failureOf(error: unknown): Failure {
  if (!(error instanceof ResiduaError)) return { code: 'internal', message: error instanceof Error ? error.message : String(error) };
  const { code, message, wgsl } = error;
  return wgsl === undefined ? { code, message } : { code, message, wgsl };
}
