/**
 * Quantised numbers as files of GGML hold them: blocks of a scale and 32 numbers. In memory of a device the numbers and the scales lie apart, and
 * the numbers of a block follow one another.
 */

import { BLOCK, type QuantizedType } from '../recipe/quantised.js';

/** Bytes of a block: an f16, and 32 bytes or 32 halves of bytes. */
export const BLOCK_BYTES: Readonly<Record<QuantizedType, number>> = { q8_0: 2 + BLOCK, q4_0: 2 + BLOCK / 2 };

/**
 * Splits whole blocks into words of numbers and scales, which begin at block `first` of both.
 *
 * @param scales bits of f16
 */
export function splitBlocks(type: QuantizedType, bytes: Uint8Array, words: Uint32Array, scales: Uint16Array, first = 0): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const size = BLOCK_BYTES[type];
  const count = bytes.byteLength / size;
  const split = type === 'q4_0' ? splitHalves : splitBytes;
  const wordsOfBlock = (size - 2) / 4;
  for (let block = 0; block < count; block++) {
    scales[first + block] = view.getUint16(block * size, true);
    split(view, block * size + 2, words, (first + block) * wordsOfBlock);
  }
}

function splitBytes(view: DataView, from: number, words: Uint32Array, to: number): void {
  for (let k = 0; k < 8; k++) words[to + k] = view.getUint32(from + 4 * k, true);
}

/** Byte k of a block has number k in its low half and number k + 16 in its high one. */
function splitHalves(view: DataView, from: number, words: Uint32Array, to: number): void {
  for (let k = 0; k < 2; k++) {
    const [low, high] = [view.getUint32(from + 8 * k, true), view.getUint32(from + 8 * k + 4, true)];
    words[to + k] = gathered(low) | (gathered(high) << 16);
    words[to + k + 2] = gathered(low >>> 4) | (gathered(high >>> 4) << 16);
  }
}

/** The low halves of four bytes beside one another, in 16 bits. */
function gathered(bytes: number): number {
  const halves = bytes & 0x0f0f0f0f;
  const pairs = (halves | (halves >>> 4)) & 0x00ff00ff;
  return (pairs | (pairs >>> 8)) & 0xffff;
}
