/** Turns of the event loop: work that continues in a later one, so that the page can handle events in between. */

/** Node's function. There a port handles up to a thousand messages before other events have a turn. */
const { setImmediate } = globalThis as { setImmediate?: (work: () => void) => void };

/**
 * Calls functions in later turns of the event loop, without the delay that browsers give to nested timers. The port has a listener only while
 * a call is due: where there is no setImmediate, an environment may not end while a port has one.
 */
export class Turns {
  private readonly channel = setImmediate === undefined && typeof MessageChannel === 'function' ? new MessageChannel() : null;
  private due: (() => void)[] = [];

  /** Calls `work` in a later turn. */
  next(work: () => void): void {
    if (this.channel === null) {
      if (setImmediate !== undefined) setImmediate(work);
      else setTimeout(work, 0);
      return;
    }
    this.due.push(work);
    if (this.due.length > 1) return;
    this.channel.port1.onmessage = () => this.call();
    this.channel.port2.postMessage(0);
  }

  private call(): void {
    const { due } = this;
    this.due = [];
    if (this.channel !== null) this.channel.port1.onmessage = null;
    for (const work of due) work();
  }
}
