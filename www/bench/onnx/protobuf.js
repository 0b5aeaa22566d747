/** A writer of Protocol Buffers (https://protobuf.dev/programming-guides/encoding/), as much as ONNX graphs need. A message is a list of parts, joined by `message`. */

const text = new TextEncoder();

function varint(value) {
  const bytes = [];
  for (let rest = BigInt.asUintN(64, BigInt(value)); ; rest >>= 7n) {
    if (rest < 128n) return [...bytes, Number(rest)];
    bytes.push(Number(rest & 127n) | 128);
  }
}

/** Parts as they are written, without a copy of large ones. @typedef {{ length: number, chunks: Uint8Array[] }} Part */

const part = (...chunks) => ({ length: chunks.reduce((sum, { length }) => sum + length, 0), chunks });

/** A field with a whole number. */
export const whole = (field, value) => part(Uint8Array.from([...varint(field << 3), ...varint(value)]));

/** A field with bytes: a text, a typed array, or a message. */
export function bytes(field, value) {
  const { length, chunks } = typeof value === 'string' ? part(text.encode(value)) : ArrayBuffer.isView(value) ? part(new Uint8Array(value.buffer, value.byteOffset, value.byteLength)) : value;
  return part(Uint8Array.from([...varint((field << 3) | 2), ...varint(length)]), ...chunks);
}

/** A field with a number of single precision. */
export const single = (field, value) => part(Uint8Array.from([...varint((field << 3) | 5), ...new Uint8Array(Float32Array.of(value).buffer)]));

export const message = (...parts) => part(...parts.flatMap(({ chunks }) => chunks));

/** All of a message in one array. */
export function joined({ length, chunks }) {
  const all = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    all.set(chunk, at);
    at += chunk.length;
  }
  return all;
}
