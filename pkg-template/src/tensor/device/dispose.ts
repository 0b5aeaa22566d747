/** Disposes of several objects. */

/** Calls dispose() of each object that has it, also in lists and records. Other values are left alone. */
export function dispose(...things: unknown[]): void {
  const seen = new Set<object>();
  const open: unknown[] = things.reverse();
  while (open.length > 0) {
    const thing = open.pop();
    if (typeof thing !== 'object' || thing === null || seen.has(thing)) continue;
    seen.add(thing);
    const method = (thing as { dispose?: unknown }).dispose;
    if (typeof method === 'function') method.call(thing);
    else if (!ArrayBuffer.isView(thing)) open.push(...Object.values(thing).reverse());
  }
}
