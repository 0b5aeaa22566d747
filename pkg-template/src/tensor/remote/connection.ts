/** The page's end of the connection to a worker that computes tensors. */

import type { ResiduaError } from '../../arguments/errors.js';
import { errorOf } from '../../remote/error-data.js';
import type { Port } from '../../remote/connection.js';
import type { Loss } from '../device/core.js';
import type { DeviceStats } from '../engine/accounts.js';
import type { KernelProgress } from '../engine/engine.js';
import type { Pending } from '../engine/pending.js';
import type { Answer, Message, Notice, Question, Request, Results } from './protocol.js';

/** What a device takes from the worker beside answers. */
export interface DeviceListener {
  /** Memory was not allocated. */
  refuse(memory: number, error: ResiduaError): void;
  /** The counters in the worker. */
  count(stats: DeviceStats): void;
  /** Everything on the device is gone. */
  end(failure: ResiduaError, loss: Loss | null): void;
}

/** What a request has beside its message. */
export interface RequestOptions {
  readonly onProgress?: KernelProgress | undefined;
  /** The waits of the call that asks, where it can be aborted: the worker then leaves out what is left. */
  readonly caller?: Pending | undefined;
  readonly transfer?: readonly Transferable[];
  /** Answers what the worker asks. */
  readonly onQuestion?: (asks: Question, question: number) => void;
}

interface Waiting {
  readonly options: RequestOptions;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/** A connection to a worker. */
export class Connection {
  /** Called when the connection is closed. */
  onClose: () => void = () => {};
  private readonly devices = new Map<number, DeviceListener>();
  private readonly waiting = new Map<number, Waiting>();
  /** The numbers of calls whose runs can be aborted, by device. */
  private readonly calls = new WeakMap<Pending, Map<number, number>>();
  private batch: Message[] = [];
  private transfer: Transferable[] = [];
  private numbers = 0;
  private end: ResiduaError | null = null;

  constructor(private readonly port: Port) {
    port.onmessage = ({ data }: MessageEvent<Answer>) => this.receive(data);
  }

  /** Whether it was closed. */
  get isClosed(): boolean {
    return this.end !== null;
  }

  /** A number for an object or a call. */
  number(): number {
    return ++this.numbers;
  }

  /** The number of a call for its runs on a device, which are cancelled when it is aborted. */
  callOf(device: number, caller: Pending): number {
    let numbers = this.calls.get(caller);
    if (numbers === undefined) this.calls.set(caller, (numbers = new Map()));
    let call = numbers.get(device);
    if (call === undefined) {
      const made = (call = this.number());
      numbers.set(device, made);
      caller.whenFailed(() => this.notify(device, { do: 'cancel', call: made }));
    }
    return call;
  }

  /** Adds what takes reports about a device. */
  listen(device: number, listener: DeviceListener): void {
    this.devices.set(device, listener);
  }

  /** Sends a notice. Does nothing after the connection is closed. */
  notify(device: number, notice: Notice, transfer: readonly Transferable[] = []): void {
    if (notice.do === 'dispose') this.devices.delete(device);
    this.post({ ...notice, device }, transfer);
  }

  /** Sends a request. Resolves with what its answer has. */
  request<R extends Request>(device: number, request: R, options: RequestOptions = {}): Promise<Results[R['do']]> {
    const call = this.number();
    return new Promise((resolve, reject) => {
      if (this.end !== null) return reject(this.end);
      this.waiting.set(call, { options, resolve: resolve as (value: unknown) => void, reject });
      this.post({ ...request, device, call }, options.transfer ?? []);
      options.caller?.whenFailed(() => this.notify(device, { do: 'cancel', call }));
    });
  }

  /** Ends all communication. Rejects requests with `reason`, and ends devices. */
  close(reason: ResiduaError): void {
    if (this.end !== null) return;
    this.end = reason;
    this.port.onmessage = null;
    this.onClose();
    for (const { reject } of this.waiting.values()) reject(reason);
    this.waiting.clear();
    for (const device of this.devices.values()) device.end(reason, { reason: 'failed', message: reason.message });
    this.devices.clear();
  }

  /** Messages of one turn are sent together. */
  private post(message: Message, transfer: readonly Transferable[]): void {
    if (this.end !== null) return;
    this.batch.push(message);
    this.transfer.push(...transfer);
    if (this.batch.length === 1) queueMicrotask(() => this.flush());
  }

  private flush(): void {
    const { batch, transfer } = this;
    [this.batch, this.transfer] = [[], []];
    if (this.end === null) this.port.postMessage(batch, transfer);
  }

  private receive(answer: Answer): void {
    if ('refused' in answer) return this.devices.get(answer.device)?.refuse(answer.refused, errorOf(answer.error));
    if ('ended' in answer) return this.devices.get(answer.device)?.end(errorOf(answer.ended), answer.loss);
    const waiting = this.waiting.get(answer.call);
    if ('done' in answer) return waiting?.options.onProgress?.(answer.done, answer.total);
    if ('question' in answer) return waiting?.options.onQuestion?.(answer.asks, answer.question);
    this.waiting.delete(answer.call);
    if ('error' in answer) return waiting?.reject(errorOf(answer.error));
    if (answer.stats !== undefined) this.devices.get(answer.device)?.count(answer.stats);
    waiting?.resolve(answer.value);
  }
}
