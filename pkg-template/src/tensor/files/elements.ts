/** Numbers of files as elements of tensors: which type they get, and how their bytes are converted, piece by piece. */

import { invalidArgument } from '../../arguments/errors.js';
import type { DType } from '../dtype.js';
import { fromHalf, toHalf } from '../memory/half.js';
import { u64At } from './byte-reader.js';

/** How numbers are stored in files, little-endian. */
export type FileType = 'f64' | 'f32' | 'f16' | 'bf16' | 'i64' | 'i32' | 'i16' | 'i8' | 'u64' | 'u32' | 'u16' | 'u8' | 'bool';

/** Bytes of an element in a file. */
export const FILE_BYTES: Readonly<Record<FileType, number>> = {
  f64: 8, f32: 4, f16: 2, bf16: 2, i64: 8, i32: 4, i16: 2, i8: 1, u64: 8, u32: 4, u16: 2, u8: 1, bool: 1,
};

/** The element type that numbers of a file get, before an option changes it. */
export const TYPE_OF: Readonly<Record<FileType, DType>> = {
  f64: 'f32', f32: 'f32', f16: 'f16', bf16: 'f32', i64: 'i32', i32: 'i32', i16: 'i32', i8: 'i32', u64: 'u32', u32: 'u32', u16: 'u32', u8: 'u8', bool: 'bool',
};

/** Converts pieces of whole elements. What it returns is valid until the next call. */
export type Converter = (piece: Uint8Array<ArrayBuffer>) => Uint8Array<ArrayBuffer>;

/**
 * Returns what converts numbers of a file to elements. Floating-point numbers are rounded to the nearest. Throws 'invalid-argument' for an
 * integer that the element type does not have, with its position.
 *
 * @param place the tensor, in messages
 * @param isSwapped whether the file has the highest byte first
 */
export function converterOf(place: string, from: FileType, to: DType, isSwapped = false): Converter {
  const width = FILE_BYTES[from];
  const convert = conversion(place, from, to);
  if (!isSwapped || width === 1) return convert;
  return (piece) => convert(swapped(piece, width));
}

/** The bytes of each element in the opposite order. */
function swapped(piece: Uint8Array, width: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(piece.length);
  for (let at = 0; at < piece.length; at += width) {
    for (let k = 0; k < width; k++) bytes[at + k] = piece[at + width - 1 - k] as number;
  }
  return bytes;
}

/** Memory whose address suits every typed array. */
function aligned(piece: Uint8Array): ArrayBuffer {
  return piece.slice().buffer as ArrayBuffer;
}

/** The bytes of an array. */
export const bytesOf = ({ buffer, byteOffset, byteLength }: ArrayBufferView<ArrayBuffer>): Uint8Array<ArrayBuffer> => new Uint8Array(buffer, byteOffset, byteLength);

function conversion(place: string, from: FileType, to: DType): Converter {
  switch (from) {
    case 'f64':
      return floats((piece) => new Float64Array(aligned(piece)), to);
    case 'f32':
      return to === 'f32' ? (piece) => piece : floats((piece) => new Float32Array(aligned(piece)), to);
    case 'f16':
      return to === 'f16' ? (piece) => piece : floats((piece) => widened(new Uint16Array(aligned(piece))), to);
    case 'bf16':
      return floats((piece) => fromBrain(new Uint16Array(aligned(piece))), to);
    case 'i64':
    case 'u64':
      return narrowing(place, from, to);
    case 'i16':
      return (piece) => bytesOf(new Int32Array(new Int16Array(aligned(piece))));
    case 'i8':
      return (piece) => bytesOf(new Int32Array(new Int8Array(aligned(piece))));
    case 'u16':
      return (piece) => bytesOf(new Uint32Array(new Uint16Array(aligned(piece))));
    case 'bool':
      // Whatever is not 0 is true.
      return truths;
    default:
      return (piece) => piece;
  }
}

function truths(piece: Uint8Array): Uint8Array<ArrayBuffer> {
  const found = new Uint8Array(piece.length);
  for (let i = 0; i < piece.length; i++) found[i] = Number(piece[i] !== 0);
  return found;
}

type Floats = Float32Array<ArrayBuffer> | Float64Array<ArrayBuffer>;

function floats(numbers: (piece: Uint8Array) => Floats, to: DType): Converter {
  if (to === 'f16') return (piece) => bytesOf(halvesOf(numbers(piece)));
  return (piece) => {
    const found = numbers(piece);
    return bytesOf(found instanceof Float32Array ? found : new Float32Array(found));
  };
}

/** Numbers in half precision, each the nearest one. */
export function halvesOf(numbers: Floats): Uint16Array<ArrayBuffer> {
  const halves = new Uint16Array(numbers.length);
  for (let i = 0; i < numbers.length; i++) halves[i] = toHalf(numbers[i] as number);
  return halves;
}

function widened(halves: Uint16Array): Float32Array<ArrayBuffer> {
  const numbers = new Float32Array(halves.length);
  for (let i = 0; i < halves.length; i++) numbers[i] = fromHalf(halves[i] as number);
  return numbers;
}

/** A bfloat16 is the upper half of an f32. */
function fromBrain(halves: Uint16Array): Float32Array<ArrayBuffer> {
  const bits = new Uint32Array(halves.length);
  for (let i = 0; i < halves.length; i++) bits[i] = (halves[i] as number) << 16;
  return new Float32Array(bits.buffer);
}

/** 64 bits to 32: the high word of an unsigned number is 0, that of a signed one has the sign of the low word. */
function narrowing(place: string, from: 'i64' | 'u64', to: DType): Converter {
  let first = 0;
  return (piece) => {
    const words = new Int32Array(aligned(piece));
    const count = words.length / 2;
    const narrow = new Int32Array(count);
    for (let i = 0; i < count; i++) {
      const low = words[2 * i] as number;
      const high = from === 'i64' ? low >> 31 : 0;
      if (words[2 * i + 1] !== high) {
        const value = u64At(piece, 8 * i);
        throw invalidArgument(`${place}: element ${first + i}`, `the ${from} number ${from === 'i64' ? BigInt.asIntN(64, value) : value}`, `numbers that fit ${to}`);
      }
      narrow[i] = low;
    }
    first += count;
    return bytesOf(narrow);
  };
}
