/**
 * Cancellation of one call. The WebAssembly module polls a token. A module in a worker cannot poll an object of the page, so the
 * connection to the worker registers a listener and sends a message.
 */

import { describe, invalidArgument } from '../arguments/errors.js';

/** Returns whether the call is cancelled. */
export interface CancellationToken {
  (): boolean;
  /** Calls `listener` once when the call is cancelled from now on. Returns a function that removes the listener. */
  onCancel?(listener: () => void): () => void;
}

/** Cancels one call: when the caller's AbortSignal fires, or by `cancel()`. */
export class Cancellation {
  private isCancelled = false;
  private readonly listeners = new Set<() => void>();

  /** @param signal the caller's signal, if there is one. */
  constructor(private readonly signal?: AbortSignal | undefined) {
    if (signal?.aborted === true) this.isCancelled = true;
    signal?.addEventListener('abort', this.cancel);
  }

  /** The token that is passed to the module. */
  readonly token: CancellationToken = Object.assign(() => this.isCancelled, {
    onCancel: (listener: () => void) => {
      this.listeners.add(listener);
      return () => void this.listeners.delete(listener);
    },
  });

  /** Cancels the call. A second call does nothing. */
  readonly cancel = (): void => {
    if (this.isCancelled) return;
    this.isCancelled = true;
    for (const listener of this.listeners) listener();
  };

  /** Removes all listeners, the one of the caller's signal included. To be called when the call has ended. */
  end(): void {
    this.signal?.removeEventListener('abort', this.cancel);
    this.listeners.clear();
  }
}

/** Throws unless `signal` is an AbortSignal or absent. */
export function checkSignal(argument: string, signal: unknown): void {
  if (signal !== undefined && !(signal instanceof AbortSignal)) throw invalidArgument(argument, describe(signal), 'an AbortSignal');
}
