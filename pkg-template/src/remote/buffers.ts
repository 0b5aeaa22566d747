/** The buffers of typed arrays, which are transferred instead of copied. */

/** Returns the buffers of all typed arrays among `values`, each once. */
export function buffersOf(values: readonly unknown[]): ArrayBuffer[] {
  const buffers = new Set<ArrayBuffer>();
  for (const value of values) if (ArrayBuffer.isView(value)) buffers.add(value.buffer as ArrayBuffer);
  return [...buffers];
}

/** Returns the buffer of a typed array, or the buffers of all typed arrays among an object's properties. */
export function buffersIn(value: unknown): ArrayBuffer[] {
  return buffersOf(ArrayBuffer.isView(value) ? [value] : Object.values(Object(value) as object));
}
