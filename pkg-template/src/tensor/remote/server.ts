/** The worker's end: opens devices and handles the page's messages, those about one device in their order. */

import { invalidArgument, ResiduaError } from '../../arguments/errors.js';
import type { Port } from '../../remote/connection.js';
import { errorData, errorOf } from '../../remote/error-data.js';
import { holdLivenessLock } from '../../remote/liveness-lock.js';
import type { Cell } from '../device/cell.js';
import { CompiledTape } from '../device/compiled.js';
import type { Compiled } from '../device/compiler.js';
import type { DeviceCore } from '../device/core.js';
import { openHere } from '../device/opening.js';
import { compareKernels } from '../device/verify.js';
import type { LocalEngine, Memory, Runner } from '../engine/engine.js';
import { Pending } from '../engine/pending.js';
import { NOTHING_VARIES, wordsAt, type Plan } from '../engine/plan.js';
import { tensorModule } from '../module/loading.js';
import type { Answer, CompiledFacts, DeviceFacts, Given, MemoryPart, Message, Notice, Question, Request } from './protocol.js';
import type { LoadHost, ModelHost, ServedModels } from './served-models.js';

/** What reads files, and loads and runs models, on a device. */
export type ModelsOf = new (host: ModelHost) => Pick<ServedModels, 'loadFile' | 'load' | 'run' | 'free'>;

/**
 * Handles the batches of messages that come from `port`.
 *
 * @param models what serves models; without it the worker has none
 */
export function serveTensors(port: Port, models: ModelsOf | null = null): void {
  const server = new Server(port, models);
  port.onmessage = ({ data }: MessageEvent<readonly Message[]>) => {
    for (const message of data) server.receive(message);
  };
}

/** Returns the buffers of a result that are transferred. */
function buffersOf(value: unknown): ArrayBuffer[] {
  return Array.isArray(value) ? value.flatMap((part: unknown) => (part instanceof Uint8Array ? [part.buffer as ArrayBuffer] : [])) : [];
}

class Server {
  private readonly devices = new Map<number, ServedDevice>();
  private lock: Promise<string | null> | undefined;
  /** The waits of calls that can be aborted and are not done, and how much of each is under way. */
  private readonly calls = new Map<number, { readonly caller: Pending; count: number }>();

  /** What the page was asked, by the numbers of questions. */
  private readonly asked = new Map<number, { resolve(given: Given): void; reject(error: unknown): void }>();
  private questions = 0;

  constructor(
    private readonly port: Port,
    private readonly models: ModelsOf | null,
  ) {}

  receive(message: Message): void {
    switch (message.do) {
      case 'load':
      case 'open':
      case 'compile':
      case 'read':
      case 'allocated':
      case 'idle':
      case 'verify':
      case 'loadFile':
      case 'loadModel':
      case 'runModel':
        return void this.answer(message);
      case 'give':
        return this.give(message.question, message.given);
      case 'cancel':
        this.calls.get(message.call)?.caller.fail(new ResiduaError('aborted', 'the call was aborted by its signal'));
        return;
      case 'dispose':
        this.devices.get(message.device)?.core.dispose();
        this.devices.delete(message.device);
        return;
      case 'run':
        return this.devices.get(message.device)?.run(message.runner, this.begin(message.call), () => this.end(message.call));
      default:
        this.devices.get(message.device)?.handle(message);
    }
  }

  /** The waits of a call, of which more begins. */
  private begin(call: number): Pending {
    const known = this.calls.get(call) ?? { caller: new Pending(), count: 0 };
    known.count += 1;
    if (call !== 0) this.calls.set(call, known);
    return known.caller;
  }

  private end(call: number): void {
    const known = this.calls.get(call);
    if (known !== undefined && --known.count === 0) this.calls.delete(call);
  }

  private async answer(request: Request & { readonly call: number; readonly device: number }): Promise<void> {
    const { call, device } = request;
    try {
      const value = await this.result(request, this.begin(call));
      const stats = this.devices.get(device)?.core.stats();
      this.port.postMessage({ call, value, device, ...(stats === undefined ? {} : { stats }) } satisfies Answer, buffersOf(value));
    } catch (error) {
      this.port.postMessage({ call, error: errorData(error instanceof Refused ? error.reason : error), device } satisfies Answer, []);
    } finally {
      this.end(call);
    }
  }

  private async result(request: Request & { readonly call: number; readonly device: number }, caller: Pending): Promise<unknown> {
    if (request.do === 'load') {
      await tensorModule.init(request.source);
      return (this.lock ??= holdLivenessLock());
    }
    if (request.do === 'open') {
      const { core, fallbackReason } = await openHere({ ...request.options, share: undefined, checks: false });
      const device = new ServedDevice(core, this.models, (answer) => this.port.postMessage({ ...answer, device: request.device }, []));
      this.devices.set(request.device, device);
      return device.facts(fallbackReason);
    }
    const device = this.devices.get(request.device);
    if (device === undefined) throw new ResiduaError('disposed', 'the Device was used after dispose()');
    const onProgress = (done: number, total: number) => this.port.postMessage({ call: request.call, done, total } satisfies Answer, []);
    if (request.do === 'loadFile' || request.do === 'loadModel' || request.do === 'runModel') {
      const { models } = device;
      if (models === null) throw invalidArgument('device', "a Device of 'residua/tensor/worker'", "one of 'residua/tensor/models/worker', whose worker has what models need");
      if (request.do === 'runModel') return models.run(request);
      const host: LoadHost = { caller, onProgress, ask: (asks) => caller.wait(this.ask(request.call, asks)) };
      return request.do === 'loadFile' ? models.loadFile(request, host) : models.load(request, host);
    }
    return device.result(request, caller, onProgress);
  }

  /** Asks the page. Rejects with the error that it answers. */
  private ask(call: number, asks: Question): Promise<Given> {
    const question = ++this.questions;
    return new Promise<Given>((resolve, reject) => {
      this.asked.set(question, { resolve, reject });
      this.port.postMessage({ call, question, asks } satisfies Answer, []);
    });
  }

  private give(question: number, given: Given): void {
    const asked = this.asked.get(question);
    this.asked.delete(question);
    if ('error' in given) asked?.reject(errorOf(given.error));
    else asked?.resolve(given);
  }
}

/** A compiled tape. Once its plan is free, the numbers of runs follow from those of the first dims alone. */
interface Entry {
  readonly compiled: Compiled;
  isFree: boolean;
}

interface ServedRunner {
  readonly runner: Runner;
  readonly entry: Entry;
  /** Null where memory of one was refused. */
  slots: readonly Memory[] | null;
}

/** Memory that was made here, and what frees it when the page does. */
interface Lent {
  readonly cell: Cell;
  free(): void;
}

type Report = { readonly refused: number; readonly error: ReturnType<typeof errorData> } | { readonly ended: ReturnType<typeof errorData>; readonly loss: Awaited<DeviceCore['lost']> | null };

/** A device with the objects of the page, by their numbers. */
class ServedDevice {
  private readonly engine: LocalEngine;
  private readonly memories = new Map<number, Memory>();
  /** Why there is no memory, by number. */
  private readonly refused = new Map<number, unknown>();
  /** Parts of memory, by the whole: a runner knows memory by its identity. */
  private readonly parts = new WeakMap<Memory, Map<string, Memory>>();
  private readonly compiled = new Map<number, Entry>();
  private readonly runners = new Map<number, ServedRunner>();
  /** Memory of which it is not known whether there was any. */
  private readonly unchecked = new Map<number, Memory>();
  /** Memory of tensors that were made here and that the page refers to, by numbers below 0. */
  private readonly lent = new Map<number, Lent>();
  private readonly numbers = new WeakMap<Cell, number>();
  private lastLent = 0;
  readonly models: InstanceType<ModelsOf> | null;
  /** An error of what has no answer, with which the next 'allocated' rejects. */
  private failure: unknown = null;

  constructor(
    readonly core: DeviceCore,
    models: ModelsOf | null,
    private readonly report: (report: Report) => void,
  ) {
    this.engine = core.engine as LocalEngine;
    this.models = models === null ? null : new models({ core, part: (part) => this.part(part), lend: (cell, free) => this.lend(cell, free) });
    const { pending } = core;
    pending.whenFailed(() => this.report({ ended: errorData(pending.failure), loss: null }));
    void core.lost.then((loss) => this.report({ ended: errorData(pending.failure), loss }));
  }

  facts(fallbackReason: string | null): DeviceFacts {
    const { backend, largestBytes } = this.engine;
    return { backend, fallbackReason, features: this.core.features, largestBytes };
  }

  async result(request: Exclude<Request, { do: 'load' | 'open' | 'loadFile' | 'loadModel' | 'runModel' }>, caller: Pending, onProgress: (done: number, total: number) => void): Promise<unknown> {
    const { core, engine } = this;
    switch (request.do) {
      case 'compile':
        return this.compile(request, caller, onProgress);
      case 'read':
        return core.afterEarlier(() => engine.read(request.parts.map((part) => ({ memory: this.whole(part.memory, part.offset), bytes: part.bytes }))));
      case 'allocated': {
        await core.afterEarlier(() => engine.allocated());
        for (const [number, { failure }] of this.unchecked) if (failure !== null) this.report({ refused: number, error: errorData(failure) });
        this.unchecked.clear();
        const { failure } = this;
        this.failure = null;
        if (failure !== null) throw failure;
        return undefined;
      }
      case 'idle':
        return core.afterEarlier(() => engine.idle());
      case 'verify': {
        const { name, dims, written } = request;
        const { compiled } = this.entry(request.compiled);
        const slots = await core.afterEarlier(() => request.slots.map((slot) => this.part(slot)));
        return compareKernels(core, name, new CompiledTape(core, compiled), { words: core.compiler.words(compiled, dims), dims, slots, isWritten: (slot) => written[slot] === true, transfer: () => {} });
      }
    }
  }

  handle(notice: Exclude<Notice, { do: 'cancel' | 'dispose' | 'run' | 'give' }>): void {
    const { core, engine } = this;
    switch (notice.do) {
      case 'allocate':
        return this.inOrder(() => this.allocate(notice));
      case 'free':
        return this.inOrder(() => {
          this.lent.get(notice.memory)?.free();
          this.lent.delete(notice.memory);
          const memory = this.memories.get(notice.memory);
          this.memories.delete(notice.memory);
          this.unchecked.delete(notice.memory);
          this.refused.delete(notice.memory);
          if (memory !== undefined) engine.free(memory, notice.isReusable);
        });
      case 'write':
        return this.inOrder(() => engine.write(this.part(notice.to), notice.offset, notice.data));
      case 'copy':
        return this.inOrder(() => engine.copy(this.part(notice.from), this.part(notice.to), notice.bytes));
      case 'makeRunner':
        return this.inOrder(() => this.makeRunner(notice));
      case 'setDims':
        return this.inOrder(() => {
          const { runner, entry } = this.runner(notice.runner);
          const { plan, words } = entry.compiled;
          runner.setWords(entry.isFree ? wordsAt(plan, words, notice.dims) : core.compiler.words(entry.compiled, notice.dims), notice.dims as Uint32Array<ArrayBuffer>);
        });
      case 'follow':
        return this.inOrder(() => this.runner(notice.runner).runner.follow(notice.dims, notice.runs));
      case 'rewind':
        return this.inOrder(() => this.runner(notice.runner).runner.rewind());
      case 'bind':
        return this.inOrder(() => {
          const served = this.runner(notice.runner);
          served.slots = null;
          served.slots = notice.slots.map((slot) => this.part(slot));
          served.runner.bind(served.slots);
        });
      case 'endRunner':
        return this.inOrder(() => {
          this.runners.get(notice.runner)?.runner.dispose();
          this.runners.delete(notice.runner);
        });
      case 'freePlan': {
        const entry = this.compiled.get(notice.compiled);
        if (entry === undefined || entry.isFree) return;
        // Runs that are under way may have other dims still.
        return this.inOrder(() => {
          entry.isFree = true;
          core.compiler.free(entry.compiled);
        });
      }
      case 'forget':
        // Runners that are made of it may wait still.
        return this.inOrder(() => void this.compiled.delete(notice.compiled));
      case 'trim':
        return this.inOrder(() => engine.trim());
      case 'freeModel':
        return this.models?.free(notice.model);
    }
  }

  /** Runs a runner. What is left when `caller` fails is left out. */
  run(number: number, caller: Pending, end: () => void): void {
    this.inOrder(() => {
      const { runner, slots } = this.runner(number);
      return caller.failure === null && slots !== null ? this.steps(runner, slots, caller) : undefined;
    });
    this.inOrder(end);
  }

  private *steps(runner: Runner, slots: readonly Memory[], caller: Pending): Generator<void, void, void> {
    try {
      for (const _ of runner.run(slots) ?? []) {
        yield;
        if (caller.failure !== null) return;
      }
    } catch (error) {
      this.failure ??= error;
    }
  }

  /** Does work after all earlier work. The page is told of what it throws by the next call that waits. */
  private inOrder(work: () => Iterator<void> | void): void {
    if (!this.core.isUsable) return;
    this.core.queue.push(() => {
      try {
        return work();
      } catch (error) {
        // Memory that was not allocated has told so.
        if (!(error instanceof Refused)) this.failure ??= error;
      }
    });
  }

  private allocate({ memory: number, request }: Extract<Notice, { do: 'allocate' }>): void {
    try {
      const memory = this.engine.allocate(request);
      this.memories.set(number, memory);
      this.unchecked.set(number, memory);
    } catch (error) {
      this.refused.set(number, error);
      this.report({ refused: number, error: errorData(error) });
    }
  }

  private async compile({ compiled: number, tape, most }: Extract<Request, { do: 'compile' }>, caller: Pending, onProgress: (done: number, total: number) => void): Promise<CompiledFacts> {
    const { compiler } = this.core;
    const compiled = await compiler.compile(tape, most, onProgress, caller);
    this.compiled.set(number, { compiled, isFree: false });
    const { kernels, results, steps, places } = compiled.plan;
    const plan: Plan = { kernels, results, steps, places: places.map((place) => ({ ...place, content: null })), varying: NOTHING_VARIES };
    return { plan, words: compiled.words, text: compiler.text(compiled), found: compiler.found };
  }

  private makeRunner({ runner: number, compiled, isOnce, places }: Extract<Notice, { do: 'makeRunner' }>): void {
    const { engine } = this;
    const entry = this.entry(compiled);
    const { plan, kernels, words } = entry.compiled;
    const owned = places.map((place, k) => {
      if (place === null) return null;
      const memory = this.part(place);
      const content = plan.places[k]?.content ?? null;
      if (content !== null) engine.write(memory, 0, content);
      return memory;
    });
    const runner = engine.runner(isOnce ? { ...plan, varying: NOTHING_VARIES } : plan, kernels, owned, words);
    this.runners.set(number, { runner, entry, slots: null });
  }

  private entry(number: number): Entry {
    const entry = this.compiled.get(number);
    if (entry === undefined) throw new ResiduaError('internal', `compiled tape ${number} is not in the worker`);
    return entry;
  }

  private runner(number: number): ServedRunner {
    const served = this.runners.get(number);
    // Memory that it needs was refused, or it was not made for another reason that was noted.
    if (served === undefined) throw new Refused(this.failure);
    return served;
  }

  private part({ memory, offset, bytes }: MemoryPart): Memory {
    const whole = this.whole(memory, 0);
    return offset === 0 && bytes === whole.bytes ? whole : this.partOf(whole, offset, bytes);
  }

  /** The number of memory that was made here. `free` frees it when the page does. What is gone by now is forgotten. */
  private lend(cell: Cell, free: () => void): number {
    for (const [number, { cell: { isDisposed } }] of this.lent) if (isDisposed) this.lent.delete(number);
    const number = this.numbers.get(cell) ?? -++this.lastLent;
    this.numbers.set(cell, number);
    this.lent.set(number, { cell, free });
    return number;
  }

  private whole(number: number, offset: number): Memory {
    if (number < 0) return this.wholeLent(number, offset);
    const memory = this.memories.get(number);
    if (memory === undefined) throw new Refused(this.refused.get(number));
    return offset === 0 ? memory : this.partOf(memory, offset, memory.bytes - offset);
  }

  private wholeLent(number: number, offset: number): Memory {
    const cell = this.lent.get(number)?.cell;
    if (cell === undefined || cell.isDisposed) throw new ResiduaError('disposed', 'an output of a model was used after its program was freed: those of the last 8 sets of sizes are kept');
    const { memory } = cell;
    return offset === 0 ? memory : this.partOf(memory, offset, memory.bytes - offset);
  }

  private partOf(whole: Memory, offset: number, bytes: number): Memory {
    let parts = this.parts.get(whole);
    if (parts === undefined) this.parts.set(whole, (parts = new Map()));
    const key = `${offset} ${bytes}`;
    let part = parts.get(key);
    if (part === undefined) parts.set(key, (part = { ...whole, offset: whole.offset + offset, bytes, isOwned: false }));
    return part;
  }
}

/** Something is not there because memory was refused, of which the page was told. */
class Refused extends Error {
  constructor(readonly reason: unknown) {
    super('no memory');
  }
}

