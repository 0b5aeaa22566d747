/** The page's end of the way to a worker: requests by number with their answers, and what is told meanwhile. */

import { ResiduaError, type ErrorCode } from '../errors.js';
import type { Stopped } from '../stop.js';
import type { Answer, Counts, Message, Notice, Request } from './protocol.js';

/** What a worker or a MessagePort has. */
export interface Port {
  postMessage(message: unknown, transfer: Transferable[]): void;
  onmessage: ((event: MessageEvent) => void) | null;
}

/** What goes with a request. */
interface Companions {
  readonly transfer?: Transferable[];
  /** Hears what the call tells on its way; true stops it. */
  readonly hear?: ((...told: never[]) => unknown) | undefined;
  readonly stopped?: Stopped | undefined;
  /** Takes memory that the worker gives back. */
  readonly takeBack?: (memory: ArrayBuffer) => void;
}

interface Pending extends Companions {
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/** A way to a worker. */
export class Connection {
  /** Hears that the module there is dead. */
  onFailure: (message: string) => void = () => {};
  /** Hears that nothing goes this way any more. */
  onClose: () => void = () => {};
  /** Hears what a context has counted. */
  onCounts: (...counts: Counts) => void = () => {};
  /** Hears that a context has lost its device. */
  onLoss: (context: number, loss: { reason: string; message: string }) => void = () => {};
  private readonly pending = new Map<number, Pending>();
  private calls = 0;
  private objects = 0;
  private end: ResiduaError | null = null;

  constructor(private readonly port: Port) {
    port.onmessage = ({ data }: MessageEvent<Answer>) => this.hear(data);
  }

  /** A number for a new object. */
  newObject(): number {
    return ++this.objects;
  }

  /** Sends what is not answered. */
  tell(notice: Notice, transfer: Transferable[] = []): void {
    if (this.end === null) this.port.postMessage(notice, transfer);
  }

  /** Sends what is answered, and waits for it. */
  request(request: Request, companions: Companions = {}): Promise<unknown> {
    const { end } = this;
    if (end !== null) return Promise.reject(end);
    const call = ++this.calls;
    const { hear, stopped, transfer = [] } = companions;
    const message: Message = { ...request, call, heard: hear !== undefined, stopped: stopped?.() === true };
    const forget = stopped?.tell?.(() => this.tell({ do: 'stop', call }));
    return new Promise((resolve, reject) => {
      this.pending.set(call, { ...companions, resolve, reject });
      // What can't be sent is told like every other failure.
      try {
        this.port.postMessage(message, transfer);
      } catch (error) {
        this.pending.delete(call);
        reject(error);
      }
    }).finally(forget);
  }

  /** The module there is dead: whoever listens is told, then nothing goes this way any more. */
  fail(message: string): void {
    if (this.end !== null) return;
    this.onFailure(message);
    this.close(new ResiduaError('internal', message));
  }

  /** Nothing is sent or heard any more; what waits is rejected. */
  close(reason: ResiduaError): void {
    if (this.end !== null) return;
    this.end = reason;
    this.port.onmessage = null;
    this.onClose();
    for (const { reject } of this.pending.values()) reject(reason);
    this.pending.clear();
  }

  private hear(answer: Answer): void {
    if ('failed' in answer) return this.fail(answer.failed);
    if ('lost' in answer) return this.onLoss(answer.lost, answer);
    if ('told' in answer) return this.pass(answer.call, answer.told);
    if (answer.counts !== undefined) this.onCounts(...answer.counts);
    if (!('call' in answer)) return;
    const pending = this.pending.get(answer.call);
    this.pending.delete(answer.call);
    if ('error' in answer) {
      const { code, message, wgsl } = answer.error;
      pending?.reject(new ResiduaError(code as ErrorCode, message, wgsl === undefined ? {} : { wgsl }));
      return;
    }
    if (answer.memory !== undefined) pending?.takeBack?.(answer.memory);
    pending?.resolve(answer.value);
  }

  /** Passes on what a call told, until its listener wants no more. */
  private pass(call: number, told: readonly (readonly unknown[])[]): void {
    for (const words of told) {
      const pending = this.pending.get(call);
      if (pending?.hear === undefined) return;
      if (pending.hear(...(words as never[])) !== true) continue;
      this.pending.set(call, { ...pending, hear: undefined });
      this.tell({ do: 'stop', call });
    }
  }
}
