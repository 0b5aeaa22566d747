/**
 * Detects the end of the worker, for which the page gets no event. The worker holds a Web Lock for its whole life, and the page requests
 * the same lock: it is granted when the worker has ended. Without Web Locks (outside a secure context) the end is not detected.
 */

interface Locks {
  request(name: string, granted: () => unknown): Promise<unknown>;
}

function locks(): Locks | undefined {
  return (globalThis as { navigator?: { locks?: Locks } }).navigator?.locks;
}

/** In the worker: acquires a lock and keeps it. Resolves with its name, or null where there are no locks. */
export async function holdLivenessLock(): Promise<string | null> {
  const name = `residua worker ${Math.random()} ${performance.timeOrigin}`;
  return new Promise((resolve) => {
    const held = locks()?.request(name, () => {
      resolve(name);
      return new Promise(() => {});
    });
    // A sandboxed frame has `locks` and rejects the request.
    if (held === undefined) resolve(null);
    else held.catch(() => resolve(null));
  });
}

/** On the page: calls `onEnd` when the worker that holds the lock has ended. */
export function watchLivenessLock(name: string | null, onEnd: () => void): void {
  if (name !== null) locks()?.request(name, onEnd).catch(() => {});
}
