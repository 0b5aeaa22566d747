/** The memory of typed arrays, which is handed over instead of copied. */

/** The memory of all typed arrays among some values, each once. */
export function buffersOf(values: readonly unknown[]): ArrayBuffer[] {
  const buffers = new Set<ArrayBuffer>();
  for (const value of values) if (ArrayBuffer.isView(value)) buffers.add(value.buffer as ArrayBuffer);
  return [...buffers];
}

/** That of a typed array, or of those that an object has. */
export function buffersIn(value: unknown): ArrayBuffer[] {
  return buffersOf(ArrayBuffer.isView(value) ? [value] : Object.values(Object(value) as object));
}
