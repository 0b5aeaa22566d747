/**
 * Whether a call shall stop. The module asks, again and again; a worker's other end cannot be asked, so whoever sends calls there is told.
 */

/** Gives the answer; whoever cannot ask is told once when it turns to true, if it has not already. Returns how not to be told. */
export interface Stopped {
  (): boolean;
  tell?(listener: () => void): () => void;
}

/** One call's reasons to stop. */
export class Stop {
  private fired = false;
  private readonly listeners = new Set<() => void>();

  /** @param signal the caller's, which is one reason. */
  constructor(private readonly signal?: AbortSignal) {
    if (signal?.aborted === true) this.fired = true;
    signal?.addEventListener('abort', this.fire);
  }

  /** For the module. */
  readonly isStopped: Stopped = Object.assign(() => this.fired, {
    tell: (listener: () => void) => {
      this.listeners.add(listener);
      return () => void this.listeners.delete(listener);
    },
  });

  /** There is a reason now. */
  readonly fire = (): void => {
    if (this.fired) return;
    this.fired = true;
    for (const listener of this.listeners) listener();
  };

  /** The call is over: the signal is let go. */
  end(): void {
    this.signal?.removeEventListener('abort', this.fire);
    this.listeners.clear();
  }
}
