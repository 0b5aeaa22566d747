/** Promises that wait for a device, and reject when it fails or is disposed; or that a call waits for, and reject when it is aborted. */

import { ResiduaError } from '../../arguments/errors.js';

/** Milliseconds in which a browser tells the loss of a device after it has rejected a promise for it. Firefox takes some turns of the event loop. */
const LOSS_DELAY_MS = 100;

/** The waits of one device, or of one call. */
export class Pending {
  /** Why nothing can be done any more; null while it can. */
  failure: ResiduaError | null = null;
  private readonly waiting = new Set<(failure: ResiduaError) => void>();

  /** Throws the failure, if there is one. */
  check(): void {
    if (this.failure !== null) throw this.failure;
  }

  /** Waits for a promise, and rejects with the failure if it comes first. */
  async wait<T>(promise: Promise<T>): Promise<T> {
    // A promise that nobody waits for may reject: the caller gets the failure.
    promise.catch(() => {});
    this.check();
    let listener: ((failure: ResiduaError) => void) | undefined;
    const failing = new Promise<never>((_, reject) => {
      listener = reject;
      this.waiting.add(reject);
    });
    try {
      return await Promise.race([promise, failing]);
    } catch (error) {
      // A promise of WebGPU may reject for the loss before the loss is known.
      if (this.failure === null && !(error instanceof ResiduaError)) {
        await Promise.race([failing.catch(() => {}), new Promise((resolve) => setTimeout(resolve, LOSS_DELAY_MS))]);
      }
      throw this.failure ?? error;
    } finally {
      if (listener !== undefined) this.waiting.delete(listener);
    }
  }

  /** Calls `listener` with the failure, at once if there is one. */
  whenFailed(listener: () => void): void {
    if (this.failure === null) this.waiting.add(listener);
    else listener();
  }

  /** Rejects all waits, and all later ones. The first failure stays. */
  fail(failure: ResiduaError): void {
    if (this.failure !== null) return;
    this.failure = failure;
    for (const reject of this.waiting) reject(failure);
    this.waiting.clear();
  }
}

/** The waits of one call: they reject with 'aborted' when the caller's signal fires. */
export class Abortion extends Pending {
  private readonly abort: () => void;

  constructor(
    call: string,
    private readonly signal: AbortSignal | undefined,
  ) {
    super();
    this.abort = () => this.fail(new ResiduaError('aborted', `${call} was aborted by its signal`));
    if (signal?.aborted === true) this.abort();
    signal?.addEventListener('abort', this.abort);
  }

  /** Removes the listener of the signal. To be called when the call has ended. */
  end(): void {
    this.signal?.removeEventListener('abort', this.abort);
  }
}

const bySignal = /* @__PURE__ */ new WeakMap<AbortSignal, Pending>();

/** The waits of all runs with a signal: one listener, whatever their number is. */
export function runsWith(signal: AbortSignal): Pending {
  let runs = bySignal.get(signal);
  if (runs === undefined) bySignal.set(signal, (runs = new Abortion('run', signal)));
  return runs;
}
