/** Element types of ONNX: their numbers in files, what they are on a device, and their bytes as numbers. */

import { describe, invalidArgument } from '../../arguments/errors.js';
import type { DType } from '../dtype.js';
import type { FileType } from '../files/elements.js';
import { fromHalf, toHalf } from '../memory/half.js';

/** An element type of ONNX. */
export interface ElementType {
  /** Its number in files. */
  readonly code: number;
  /** Its name in ONNX. */
  readonly name: string;
  /** What its elements are on a device. */
  readonly dtype: DType;
  /** Bits of an element in a file. */
  readonly bits: number;
  /** How files have it, where the loaders of tensors know it; null of what is unpacked here. */
  readonly file: FileType | null;
  /** The smallest and the largest number of integers. */
  readonly range: readonly [low: number, high: number] | null;
}

const signed = (bits: number) => [-(2 ** (bits - 1)), 2 ** (bits - 1) - 1] as const;
const unsigned = (bits: number) => [0, 2 ** bits - 1] as const;

const TYPES: readonly ElementType[] = [
  { code: 1, name: 'float', dtype: 'f32', bits: 32, file: 'f32', range: null },
  { code: 2, name: 'uint8', dtype: 'u8', bits: 8, file: 'u8', range: unsigned(8) },
  { code: 3, name: 'int8', dtype: 'i32', bits: 8, file: 'i8', range: signed(8) },
  { code: 4, name: 'uint16', dtype: 'u32', bits: 16, file: 'u16', range: unsigned(16) },
  { code: 5, name: 'int16', dtype: 'i32', bits: 16, file: 'i16', range: signed(16) },
  { code: 6, name: 'int32', dtype: 'i32', bits: 32, file: 'i32', range: signed(32) },
  { code: 7, name: 'int64', dtype: 'i32', bits: 64, file: 'i64', range: signed(64) },
  { code: 9, name: 'bool', dtype: 'bool', bits: 8, file: 'bool', range: [0, 1] },
  { code: 10, name: 'float16', dtype: 'f16', bits: 16, file: 'f16', range: null },
  { code: 11, name: 'double', dtype: 'f32', bits: 64, file: 'f64', range: null },
  { code: 12, name: 'uint32', dtype: 'u32', bits: 32, file: 'u32', range: unsigned(32) },
  { code: 13, name: 'uint64', dtype: 'u32', bits: 64, file: 'u64', range: unsigned(64) },
  { code: 16, name: 'bfloat16', dtype: 'f32', bits: 16, file: 'bf16', range: null },
  { code: 17, name: 'float8e4m3fn', dtype: 'f32', bits: 8, file: null, range: null },
  { code: 18, name: 'float8e4m3fnuz', dtype: 'f32', bits: 8, file: null, range: null },
  { code: 19, name: 'float8e5m2', dtype: 'f32', bits: 8, file: null, range: null },
  { code: 20, name: 'float8e5m2fnuz', dtype: 'f32', bits: 8, file: null, range: null },
  { code: 21, name: 'uint4', dtype: 'u8', bits: 4, file: null, range: unsigned(4) },
  { code: 22, name: 'int4', dtype: 'i32', bits: 4, file: null, range: signed(4) },
  { code: 23, name: 'float4e2m1', dtype: 'f32', bits: 4, file: null, range: null },
  { code: 24, name: 'float8e8m0', dtype: 'f32', bits: 8, file: null, range: null },
  { code: 25, name: 'uint2', dtype: 'u8', bits: 2, file: null, range: unsigned(2) },
  { code: 26, name: 'int2', dtype: 'i32', bits: 2, file: null, range: signed(2) },
];

const BY_CODE: ReadonlyMap<number, ElementType> = /* @__PURE__ */ new Map(TYPES.map((type) => [type.code, type]));
const BY_NAME: ReadonlyMap<string, ElementType> = /* @__PURE__ */ new Map(TYPES.map((type) => [type.name, type]));

/** Returns the element type with a number. Throws 'invalid-argument' for others, such as texts and complex numbers. */
export function typeOfCode(place: string, code: number): ElementType {
  const type = BY_CODE.get(code);
  if (type === undefined) throw invalidArgument(`${place}: element type`, describe(code), TYPES.map((each) => `${each.code} (${each.name})`).join(', '));
  return type;
}

/** Returns the element type with a name. */
export function typeNamed(name: string): ElementType {
  return BY_NAME.get(name) as ElementType;
}

const OF_DTYPE: Readonly<Record<DType, string>> = { f32: 'float', f16: 'float16', i32: 'int64', u32: 'uint32', u8: 'uint8', bool: 'bool', c64: 'float' };

/** Returns the element type of ONNX for elements of a device. */
export function typeOfDType(dtype: DType): ElementType {
  return typeNamed(OF_DTYPE[dtype]);
}

/** Bytes of so many elements in a file. */
export function fileBytes({ bits }: ElementType, count: number): number {
  return Math.ceil((count * bits) / 8);
}

/** The number of each byte of an 8-bit floating-point type, or of each code of a shorter one. */
function floatOf(name: string, code: number): number {
  const format = (exponentBits: number, fractionBits: number, bias: number) => {
    const sign = (code >> (exponentBits + fractionBits)) & 1 ? -1 : 1;
    const exponent = (code >> fractionBits) & (2 ** exponentBits - 1);
    const fraction = (code & (2 ** fractionBits - 1)) / 2 ** fractionBits;
    return sign * (exponent === 0 ? fraction * 2 ** (1 - bias) : (1 + fraction) * 2 ** (exponent - bias));
  };
  switch (name) {
    case 'float8e4m3fn':
      return (code & 0x7f) === 0x7f ? NaN : format(4, 3, 7);
    case 'float8e4m3fnuz':
      return code === 0x80 ? NaN : format(4, 3, 8);
    case 'float8e5m2':
      // The upper half of a half-precision number.
      return fromHalf(code << 8);
    case 'float8e5m2fnuz':
      return code === 0x80 ? NaN : format(5, 2, 16);
    case 'float8e8m0':
      return code === 0xff ? NaN : 2 ** (code - 127);
    default:
      return format(2, 1, 1);
  }
}

/** Elements of a type without a loader of tensors, one number each: of f32, or integers of the range of a byte. */
export function unpacked({ name, bits, range, dtype }: ElementType, bytes: Uint8Array, count: number): Float32Array<ArrayBuffer> | Uint8Array<ArrayBuffer> | Int32Array<ArrayBuffer> {
  const found = dtype === 'f32' ? new Float32Array(count) : dtype === 'u8' ? new Uint8Array(count) : new Int32Array(count);
  const mask = 2 ** bits - 1;
  const perByte = 8 / bits;
  const low = range === null ? 0 : range[0];
  for (let i = 0; i < count; i++) {
    const code = ((bytes[Math.floor(i / perByte)] as number) >> ((i % perByte) * bits)) & mask;
    found[i] = range === null ? floatOf(name, code) : low < 0 && code > (range[1] as number) ? code - 2 ** bits : code;
  }
  return found;
}

/** The numbers of elements as JavaScript has them; integers of 64 bits beyond 2⁵³ as the nearest. */
export function numbersOfBytes(type: ElementType, bytes: Uint8Array, count: number): number[] {
  if (type.file === null) return Array.from(unpacked(type, bytes, count));
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const read = READERS[type.file];
  return Array.from({ length: count }, (_, i) => read(view, i));
}

const bf16 = new DataView(/* @__PURE__ */ new ArrayBuffer(4));

const READERS: Readonly<Record<FileType, (view: DataView, i: number) => number>> = {
  f64: (view, i) => view.getFloat64(8 * i, true),
  f32: (view, i) => view.getFloat32(4 * i, true),
  f16: (view, i) => fromHalf(view.getUint16(2 * i, true)),
  bf16: (view, i) => (bf16.setUint16(0, view.getUint16(2 * i, true)), bf16.getFloat32(0)),
  i64: (view, i) => view.getInt32(8 * i + 4, true) * 2 ** 32 + view.getUint32(8 * i, true),
  i32: (view, i) => view.getInt32(4 * i, true),
  i16: (view, i) => view.getInt16(2 * i, true),
  i8: (view, i) => view.getInt8(i),
  u64: (view, i) => view.getUint32(8 * i + 4, true) * 2 ** 32 + view.getUint32(8 * i, true),
  u32: (view, i) => view.getUint32(4 * i, true),
  u16: (view, i) => view.getUint16(2 * i, true),
  u8: (view, i) => view.getUint8(i),
  bool: (view, i) => Number(view.getUint8(i) !== 0),
};

/** The nearest bfloat16 of a number, of two the even one. */
function toBrain(value: number): number {
  if (Number.isNaN(value)) return value;
  bf16.setFloat32(0, value);
  const bits = bf16.getUint32(0);
  bf16.setUint32(0, (bits + 0x7fff + ((bits >>> 16) & 1)) & 0xffff0000);
  return bf16.getFloat32(0);
}

/** A number as an element of a type: floats rounded, integers cut to their low bits. */
export function asElement(type: ElementType, value: number): number {
  if (type.name === 'bool') return Number(value !== 0);
  if (type.name === 'float16') return fromHalf(toHalf(value));
  if (type.name === 'bfloat16') return toBrain(value);
  if (type.range === null) return type.name === 'double' ? value : Math.fround(value);
  const whole = Math.trunc(value);
  if (Number.isNaN(whole)) return 0;
  if (type.bits >= 64) return Math.min(Math.max(whole, type.range[0]), type.range[1]) + 0;
  const low = whole - Math.floor(whole / 2 ** type.bits) * 2 ** type.bits;
  return low > type.range[1] ? low - 2 ** type.bits : low;
}
