/** The queue of calls on one object. */

import { ResiduaError } from '../arguments/errors.js';

/** Runs jobs one after another, in the order of the calls. `dispose` rejects all pending jobs at once. */
export class CallQueue {
  private tail: Promise<void> = Promise.resolve();
  private readonly pending = new Set<(error: ResiduaError) => void>();
  private disposed = false;
  private release: (() => void) | null = null;
  private readonly listeners = new Set<() => void>();

  /** @param what the name of the object in messages */
  constructor(private readonly what: string) {}

  /** Throws 'disposed' after dispose(). */
  check(): void {
    if (this.disposed) throw this.disposedError();
  }

  /** Whether dispose() was called. */
  get isDisposed(): boolean {
    return this.disposed;
  }

  /** Calls `listener` when dispose() is called. Returns a function that removes the listener. */
  whenDisposed(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  /** Runs `job` after all earlier jobs have ended; never two at once. */
  run<T>(job: () => Promise<T>): Promise<T> {
    if (this.disposed) return Promise.reject(this.disposedError());
    return new Promise<T>((resolve, reject) => {
      this.pending.add(reject);
      this.tail = this.tail.then(async () => {
        try {
          if (!this.disposed) resolve(await job());
        } catch (error) {
          reject(error);
        } finally {
          this.pending.delete(reject);
          if (this.pending.size === 0) this.releaseNow();
        }
      });
    });
  }

  /** Rejects pending jobs with 'disposed' and calls `release` when no job is running. */
  dispose(release: () => void): void {
    if (this.disposed) return;
    this.disposed = true;
    this.release = release;
    const error = this.disposedError();
    for (const reject of this.pending) reject(error);
    for (const listener of this.listeners) listener();
    if (this.pending.size === 0) this.releaseNow();
  }

  private releaseNow(): void {
    const { release } = this;
    this.release = null;
    release?.();
  }

  private disposedError(): ResiduaError {
    return new ResiduaError('disposed', `${this.what} was used after dispose()`);
  }
}
