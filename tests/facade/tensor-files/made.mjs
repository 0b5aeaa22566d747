/** Files that tests make: bytes in, bytes out, without the code under test. */

import { deflateRawSync } from 'node:zlib';

/** Parts one after the other. */
export const joined = (...parts) => new Uint8Array(Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.from(part.buffer, part.byteOffset, part.byteLength)))));
export const u16 = (value) => Uint8Array.of(value & 255, value >> 8);
export const u32 = (value) => new Uint8Array(Uint32Array.of(value).buffer);
export const u64 = (value) => new Uint8Array(BigUint64Array.of(BigInt(value)).buffer);
const bytesOf = (array) => new Uint8Array(array.buffer, array.byteOffset, array.byteLength);

/** A safetensors file with a header as it is given. */
export function safetensorsOf(header, ...bodies) {
  const text = Buffer.from(typeof header === 'string' ? header : JSON.stringify(header));
  return joined(u64(text.length), text, ...bodies.map(bytesOf));
}

/** A safetensors file of `[name, type, shape, numbers]`. */
export function safetensors(entries, metadata) {
  let end = 0;
  const members = entries.map(([name, dtype, shape, numbers]) => [name, { dtype, shape, data_offsets: [end, (end += numbers.byteLength)] }]);
  return safetensorsOf({ ...(metadata && { __metadata__: metadata }), ...Object.fromEntries(members) }, ...entries.map(([, , , numbers]) => numbers));
}

/** A .npy file with a header as it is given. */
export function npyOf(header, numbers, version = 1) {
  const text = Buffer.from(`${header}\n`);
  return joined(Uint8Array.of(0x93, ...Buffer.from('NUMPY'), version, 0), version === 1 ? u16(text.length) : u32(text.length), text, bytesOf(numbers));
}

export const npy = (descr, shape, numbers) => npyOf(`{'descr': '${descr}', 'fortran_order': False, 'shape': (${shape.map((size) => `${size},`).join('')}), }`, numbers);

/** A zip archive of `{ name, bytes, method, flags, size, packed, checksum, extra }`; what is not told is right. */
export function zip(entries, end = joined(u32(0x06054b50), new Uint8Array(18))) {
  const parts = entries.map(({ name, bytes, method = 0, flags = 0, ...told }) => {
    const body = method === 8 ? deflateRawSync(bytes) : bytes;
    const { size = bytes.length, packed = body.length, checksum = crc32(bytes), extra = new Uint8Array(0) } = told;
    return joined(u32(0x04034b50), u16(20), u16(flags), u16(method), u32(0), u32(checksum), u32(packed), u32(size), u16(Buffer.from(name).length), u16(extra.length), name, extra, body);
  });
  return joined(...parts, end);
}

/** CRC-32 bit by bit. */
export function crc32(bytes) {
  let rest = ~0;
  for (const byte of bytes) {
    rest ^= byte;
    for (let bit = 0; bit < 8; bit++) rest = rest & 1 ? (rest >>> 1) ^ 0xedb88320 : rest >>> 1;
  }
  return ~rest >>> 0;
}

export const ggufText = (text) => joined(u64(Buffer.from(text).length), text);

/** A value of metadata with its type: `[code, bytes]`. */
export const GGUF = {
  u8: (value) => [0, Uint8Array.of(value)],
  i8: (value) => [1, Int8Array.of(value)],
  u16: (value) => [2, Uint16Array.of(value)],
  i16: (value) => [3, Int16Array.of(value)],
  u32: (value) => [4, Uint32Array.of(value)],
  i32: (value) => [5, Int32Array.of(value)],
  f32: (value) => [6, Float32Array.of(value)],
  bool: (value) => [7, Uint8Array.of(value)],
  text: (value) => [8, ggufText(value)],
  list: (code, values) => [9, joined(u32(code), u64(values.length), ...values.map(([, bytes]) => bytesOf(bytes)))],
  u64: (value) => [10, BigUint64Array.of(value)],
  i64: (value) => [11, BigInt64Array.of(value)],
  f64: (value) => [12, Float64Array.of(value)],
};

/** The description of a tensor: sizes with the innermost axis first. */
export const ggufTensor = (name, sizes, code, offset) => joined(ggufText(name), u32(sizes.length), ...sizes.map(u64), u32(code), u64(offset));

/** A GGUF file of metadata `{ key: [code, bytes] }` and tensors `[name, sizes, code, numbers]`. */
export function gguf(metadata, tensors, { version = 3, alignment = 32 } = {}) {
  const padded = (bytes) => joined(bytes, new Uint8Array((alignment - (bytes.length % alignment)) % alignment));
  let offset = 0;
  const places = tensors.map(([, , , numbers]) => {
    const at = offset;
    offset += Math.ceil(numbers.byteLength / alignment) * alignment;
    return at;
  });
  const pairs = Object.entries(metadata).map(([key, [code, bytes]]) => joined(ggufText(key), u32(code), bytesOf(bytes)));
  const header = joined('GGUF', u32(version), u64(tensors.length), u64(pairs.length), ...pairs, ...tensors.map(([name, sizes, code], k) => ggufTensor(name, sizes, code, places[k])));
  return joined(padded(header), ...tensors.map(([, , , numbers]) => padded(bytesOf(numbers))));
}

/** A stream of bytes in chunks of the given sizes, over and over. */
export function streamOf(bytes, sizes = [bytes.length]) {
  let [at, k] = [0, 0];
  return new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) return controller.close();
      const size = sizes[k++ % sizes.length];
      controller.enqueue(bytes.slice(at, at + size));
      at += size;
    },
  });
}
