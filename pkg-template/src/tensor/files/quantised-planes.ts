/** Quantised blocks of a file as the words and the side of a QuantizedTensor. */

import { invalidArgument } from '../../arguments/errors.js';
import { splitBlocks } from '../memory/ggml.js';
import { toHalf } from '../memory/half.js';
import { BLOCK, QUANTIZED_TYPES, type QuantizedType } from '../recipe/quantised.js';
import { bytesOf } from './elements.js';
import type { Dequantise, GgmlType } from './ggml-types.js';

/** The bytes of both planes for some blocks. */
export interface Planes {
  readonly words: Uint8Array<ArrayBuffer>;
  readonly side: Uint8Array<ArrayBuffer>;
}

/** Makes planes of whole blocks of a file, of whole rows where these have an odd number of blocks. */
export type Repack = (piece: Uint8Array<ArrayBuffer>) => Planes;

/** Returns how rows of a type are stored, and what makes them so. `place` is the tensor in messages. */
export function repackOf(place: string, type: GgmlType, columns: number): { readonly as: QuantizedType; readonly repack: Repack } {
  const kept = QUANTIZED_TYPES.find((name) => name.toUpperCase() === type.name.toUpperCase());
  if (kept === undefined) return { as: 'q8_0', repack: requantising(place, type) };
  return {
    as: kept,
    repack(piece) {
      const { words, side } = splitBlocks(kept, piece, columns / type.numbers);
      return { words: bytesOf(words), side: bytesOf(side) };
    },
  };
}

/** The numbers of whole blocks. */
export function dequantised(piece: Uint8Array, { numbers, bytes }: GgmlType, dequantise: Dequantise): Float32Array<ArrayBuffer> {
  const count = piece.length / bytes;
  const found = new Float32Array(count * numbers);
  for (let block = 0; block < count; block++) dequantise(piece, block * bytes, found, block * numbers);
  return found;
}

function requantising(place: string, type: GgmlType): Repack {
  let first = 0;
  return (piece) => {
    const numbers = dequantised(piece, type, type.dequantise as Dequantise);
    const planes = quantise(numbers, (block) => `${place}: numbers ${first + block * BLOCK} to ${first + block * BLOCK + BLOCK - 1}`);
    first += numbers.length;
    return planes;
  };
}

/** Quantises blocks of numbers to q8_0, as GGML does: the largest is 127 or -127, and halves are rounded away from zero. */
function quantise(numbers: Float32Array, placeOf: (block: number) => string): Planes {
  const { fround } = Math;
  const count = numbers.length / BLOCK;
  const words = new Int8Array(numbers.length);
  const scales = new Uint16Array(count);
  for (let block = 0; block < count; block++) {
    const from = block * BLOCK;
    let most = 0;
    // 0 but for infinities and NaNs.
    let excess = 0;
    for (let i = from; i < from + BLOCK; i++) {
      const size = Math.abs(numbers[i] as number);
      if (size > most) most = size;
      excess += size - size;
    }
    const scale = fround(most / 127);
    const half = toHalf(scale);
    if (half >= 0x7c00 || excess !== 0) throw invalidArgument(placeOf(block), excess === 0 ? `a number of size ${most}` : 'an infinity or a NaN', 'numbers of at most 8e6 in size, which q8_0 can have');
    scales[block] = half;
    const inverse = scale === 0 ? 0 : fround(1 / scale);
    for (let i = from; i < from + BLOCK; i++) {
      const scaled = fround((numbers[i] as number) * inverse);
      words[i] = scaled < 0 ? -Math.trunc(0.5 - scaled) : Math.trunc(scaled + 0.5);
    }
  }
  return { words: bytesOf(words), side: bytesOf(scales) };
}
