/** The page's end of the connection to a worker: sends requests and notices, and receives answers and reports. */

import { ResiduaError, type ErrorCode } from '../arguments/errors.js';
import type { CancellationToken } from '../module/cancellation.js';
import { errorData, errorOf } from './error-data.js';
import type { Answer, ContextCounts, Message, Notice, Request } from './protocol.js';

/** The part of a Worker or a MessagePort that is used. */
export interface Port {
  postMessage(message: unknown, transfer: Transferable[]): void;
  onmessage: ((event: MessageEvent) => void) | null;
}

/** What belongs to a request and is not part of its message. */
interface RequestHandlers {
  readonly transfer?: Transferable[];
  /** Called with each report of the call; a result of true cancels the call. */
  readonly onReport?: ((...report: never[]) => unknown) | undefined;
  readonly token?: CancellationToken | undefined;
  /** Resolves with the number of a context, if the call asks for one. */
  readonly requestContext?: () => Promise<number>;
  /** Called with memory that the worker returns. */
  readonly onMemory?: (memory: ArrayBuffer) => void;
}

interface Pending extends RequestHandlers {
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/** A connection to a worker. */
export class Connection {
  /** Called when the module in the worker has failed. */
  onFailure: (message: string, code: ErrorCode) => void = () => {};
  /** Called when the connection is closed. */
  onClose: () => void = () => {};
  /** Called with new statistics of a context. */
  onCounts: (...counts: ContextCounts) => void = () => {};
  /** Called when the device of a context is lost. */
  onLoss: (context: number, loss: { reason: string; message: string }) => void = () => {};
  private readonly pending = new Map<number, Pending>();
  private calls = 0;
  private objects = 0;
  private end: ResiduaError | null = null;

  constructor(private readonly port: Port) {
    port.onmessage = ({ data }: MessageEvent<Answer>) => this.receive(data);
  }

  /** Returns the number of a new object. */
  newObject(): number {
    return ++this.objects;
  }

  /** Sends a notice. Does nothing after the connection is closed. */
  notify(notice: Notice, transfer: Transferable[] = []): void {
    if (this.end === null) this.port.postMessage(notice, transfer);
  }

  /** Sends a request. Resolves with the value of its answer. */
  request(request: Request, handlers: RequestHandlers = {}): Promise<unknown> {
    const { end } = this;
    if (end !== null) return Promise.reject(end);
    const call = ++this.calls;
    const { onReport, token, transfer = [] } = handlers;
    const message: Message = { ...request, call, wantsReports: onReport !== undefined, isCancelled: token?.() === true };
    const removeListener = token?.onCancel?.(() => this.notify({ do: 'cancel', call }));
    return new Promise((resolve, reject) => {
      this.pending.set(call, { ...handlers, resolve, reject });
      // A message that cannot be cloned rejects like every other failure.
      try {
        this.port.postMessage(message, transfer);
      } catch (error) {
        this.pending.delete(call);
        reject(error);
      }
    }).finally(removeListener);
  }

  /** Reports a failure of the module in the worker and closes the connection. */
  fail(message: string, code: ErrorCode = 'internal'): void {
    if (this.end !== null) return;
    this.onFailure(message, code);
    this.close(new ResiduaError(code, message));
  }

  /** Ends all communication and rejects pending requests with `reason`. */
  close(reason: ResiduaError): void {
    if (this.end !== null) return;
    this.end = reason;
    this.port.onmessage = null;
    this.onClose();
    for (const { reject } of this.pending.values()) reject(reason);
    this.pending.clear();
  }

  private receive(answer: Answer): void {
    if ('failed' in answer) return this.fail(answer.failed, answer.code as ErrorCode);
    if ('lost' in answer) return this.onLoss(answer.lost, answer);
    if ('reports' in answer) return this.deliver(answer.call, answer.reports);
    if ('asks' in answer) return void this.giveContext(answer.call);
    if (answer.counts !== undefined) this.onCounts(...answer.counts);
    if (!('call' in answer)) return;
    const pending = this.pending.get(answer.call);
    this.pending.delete(answer.call);
    if ('error' in answer) {
      pending?.reject(errorOf(answer.error));
      return;
    }
    if (answer.memory !== undefined) pending?.onMemory?.(answer.memory);
    pending?.resolve(answer.value);
  }

  private async giveContext(call: number): Promise<void> {
    const request = this.pending.get(call)?.requestContext;
    try {
      if (request === undefined) throw new ResiduaError('internal', 'the call has no context to give');
      this.notify({ do: 'context', call, context: await request() });
    } catch (error) {
      this.notify({ do: 'context', call, context: errorData(error) });
    }
  }

  /** Passes reports to the call's listener until it returns true. */
  private deliver(call: number, reports: readonly (readonly unknown[])[]): void {
    for (const report of reports) {
      const pending = this.pending.get(call);
      if (pending?.onReport === undefined) return;
      if (pending.onReport(...(report as never[])) !== true) continue;
      this.pending.set(call, { ...pending, onReport: undefined });
      this.notify({ do: 'cancel', call });
    }
  }
}
