/** Calls on one object, one after another. */

import { ResiduaError } from './errors.js';

/** Runs jobs in the order in which they were called; disposing rejects all that are pending, at once. */
export class CallQueue {
  private tail: Promise<void> = Promise.resolve();
  private readonly pending = new Set<(error: ResiduaError) => void>();
  private disposed = false;
  private release: (() => void) | null = null;
  private readonly listeners = new Set<() => void>();

  /** @param what names the object in messages. */
  constructor(private readonly what: string) {}

  /** Throws 'disposed' after dispose(). */
  check(): void {
    if (this.disposed) throw this.disposedError();
  }

  /** Whether dispose() was called. */
  get isDisposed(): boolean {
    return this.disposed;
  }

  /** Tells `listener` of a dispose() as it happens; returns how not to be told. */
  whenDisposed(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  /** Runs `job` when all before it are through; never two at once. */
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

  /** Rejects what is pending with 'disposed' and calls `release` as soon as no job runs any more. */
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
