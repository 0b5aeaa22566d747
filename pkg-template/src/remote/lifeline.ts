/**
 * How a page learns that its worker is gone, of which no event tells: the worker holds a lock as long as it lives, and the page waits for it.
 * Where there are no locks (not in a secure context), nobody learns it.
 */

interface Locks {
  request(name: string, granted: () => unknown): Promise<unknown>;
}

function locks(): Locks | undefined {
  return (globalThis as { navigator?: { locks?: Locks } }).navigator?.locks;
}

/** In the worker: holds a lock from now on; its name, or null where there are none. */
export async function holdLifeline(): Promise<string | null> {
  const name = `residua worker ${Math.random()} ${performance.timeOrigin}`;
  return new Promise((resolve) => {
    const held = locks()?.request(name, () => {
      resolve(name);
      return new Promise(() => {});
    });
    // Where locks are forbidden, as in a sandboxed frame, the request is refused.
    if (held === undefined) resolve(null);
    else held.catch(() => resolve(null));
  });
}

/** On the page: calls `isGone` when the worker that holds the lock is no more. */
export function watchLifeline(name: string | null, isGone: () => void): void {
  if (name !== null) locks()?.request(name, isGone).catch(() => {});
}
