/** Arrays that grow at their ends. */

type Growing = Float64Array | Uint32Array | Uint8Array;

/**
 * Returns the entries of an array with room for `length` of them; new ones are 0. Where its memory suffices it is used on, and shorter arrays over it keep their
 * entries; else twice as much is taken. Nothing but the array may use the memory behind its end.
 */
export function grown<A extends Growing>(array: A, length: number): A {
  type Kind = new (source: ArrayBuffer | number, offset?: number, length?: number) => A;
  const Kind = array.constructor as unknown as Kind;
  if (array.byteOffset === 0 && length * array.BYTES_PER_ELEMENT <= array.buffer.byteLength) return new Kind(array.buffer as ArrayBuffer, 0, length);
  const memory = new Kind(Math.max(length, 2 * array.length));
  memory.set(array as never);
  return new Kind(memory.buffer as ArrayBuffer, 0, length);
}

/** Returns an array with other entries after its own, as `grown` does. */
export function extended<A extends Growing>(array: A, entries: A): A {
  const longer = grown(array, array.length + entries.length);
  longer.set(entries as never, array.length);
  return longer;
}
