// A writer of GGUF files, version 3 (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md): metadata and tensors in f32, f16 and q8_0.

const [U32, F32, BOOL, STRING, ARRAY, I32] = [4, 6, 7, 8, 9, 5];
const ALIGNMENT = 32;
export const TYPES = { f32: 0, f16: 1, q8_0: 8 };
/** Numbers of a block of q8_0. */
const BLOCK = 32;

const scratch = new DataView(new ArrayBuffer(4));
/** The 16 bits of the nearest f16, ties to even. */
export function halfBits(value) {
  scratch.setFloat32(0, value);
  const bits = scratch.getUint32(0);
  const [sign, magnitude] = [(bits >>> 16) & 0x8000, bits & 0x7fffffff];
  if (magnitude > 0x7f800000) return sign | 0x7e00;
  if (magnitude >= 0x477ff000) return sign | 0x7c00;
  // Below 2⁻¹⁴ an f16 is a multiple of 2⁻²⁴.
  if (magnitude < 0x38800000) return sign | roundToEven(Math.abs(value) * 2 ** 24);
  return sign | ((magnitude - 0x38000000 + 0xfff + ((magnitude >>> 13) & 1)) >>> 13);
}
function roundToEven(x) {
  const low = Math.floor(x);
  return low + Number(x - low > 0.5 || (x - low === 0.5 && low % 2 === 1));
}

function bytesOf(type, numbers) {
  if (type === 'f32') return new Uint8Array(Float32Array.from(numbers).buffer);
  if (type === 'f16') return new Uint8Array(Uint16Array.from(numbers, halfBits).buffer);
  const bytes = new Uint8Array((numbers.length / BLOCK) * (2 + BLOCK));
  const view = new DataView(bytes.buffer);
  for (let block = 0; block < numbers.length / BLOCK; block++) {
    const part = numbers.subarray(block * BLOCK, (block + 1) * BLOCK);
    const scale = part.reduce((most, x) => Math.max(most, Math.abs(x)), 0) / 127;
    view.setUint16(block * (2 + BLOCK), halfBits(scale), true);
    part.forEach((x, i) => view.setInt8(block * (2 + BLOCK) + 2 + i, scale === 0 ? 0 : Math.round(x / scale)));
  }
  return bytes;
}

/** Bytes that are appended to. */
class Writer {
  #parts = [];
  length = 0;
  bytes(bytes) {
    this.#parts.push(bytes);
    this.length += bytes.length;
  }
  #number(size, put) {
    const view = new DataView(new ArrayBuffer(size));
    put(view);
    this.bytes(new Uint8Array(view.buffer));
  }
  u32 = (value) => this.#number(4, (view) => view.setUint32(0, value, true));
  i32 = (value) => this.#number(4, (view) => view.setInt32(0, value, true));
  f32 = (value) => this.#number(4, (view) => view.setFloat32(0, value, true));
  u64 = (value) => this.#number(8, (view) => view.setBigUint64(0, BigInt(value), true));
  string(text) {
    const bytes = new TextEncoder().encode(text);
    this.u64(bytes.length);
    this.bytes(bytes);
  }
  pad = () => this.bytes(new Uint8Array((ALIGNMENT - (this.length % ALIGNMENT)) % ALIGNMENT));
  all = () => Buffer.concat(this.#parts);
}

function putValue(writer, value) {
  if (typeof value === 'string') return [() => writer.u32(STRING), () => writer.string(value)];
  if (typeof value === 'boolean') return [() => writer.u32(BOOL), () => writer.bytes(Uint8Array.of(Number(value)))];
  if (typeof value === 'number') return [() => writer.u32(U32), () => writer.u32(value)];
  if (value instanceof Float32Array) return [() => writer.u32(F32), () => writer.f32(value[0])];
  const put = value instanceof Int32Array ? [I32, writer.i32] : [STRING, (text) => writer.string(text)];
  return [() => writer.u32(ARRAY), () => {
    writer.u32(put[0]);
    writer.u64(value.length);
    for (const entry of value) put[1](entry);
  }];
}

/**
 * A file's bytes. A number of the metadata is a u32, a Float32Array of one number an f32; lists are of strings, or an Int32Array.
 * @param {Record<string, string | boolean | number | Float32Array | Int32Array | string[]>} metadata
 * @param {{ name: string, shape: number[], type: 'f32' | 'f16' | 'q8_0', numbers: Float32Array }[]} tensors
 */
export function writeGguf(metadata, tensors) {
  const writer = new Writer();
  writer.bytes(new TextEncoder().encode('GGUF'));
  writer.u32(3);
  writer.u64(tensors.length);
  writer.u64(Object.keys(metadata).length);
  for (const [name, value] of Object.entries(metadata)) {
    writer.string(name);
    for (const part of putValue(writer, value)) part();
  }
  const data = new Writer();
  for (const { name, shape, type, numbers } of tensors) {
    writer.string(name);
    writer.u32(shape.length);
    // The fastest axis comes first.
    for (const size of shape.toReversed()) writer.u64(size);
    writer.u32(TYPES[type]);
    writer.u64(data.length);
    data.bytes(bytesOf(type, numbers));
    data.pad();
  }
  writer.pad();
  writer.bytes(data.all());
  return writer.all();
}
