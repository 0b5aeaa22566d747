/**
 * Numbers of GGML's blocks of 256 with scales of parts of 16 or 32. Arithmetic is rounded to f32 after each operation, as GGML's.
 * Source: ggml-common.h and ggml-quants.c in the repository ggml-org/ggml.
 */

import { halfAt } from './blocks.js';

const { fround } = Math;

const PARTS_OF_16 = 16;

/** Number i of two bits: four numbers a byte, 32 apart, in two halves of 32 bytes. */
function twoBits(bytes: Uint8Array, from: number, i: number): number {
  return ((bytes[from + 32 * (i >> 7) + (i & 31)] as number) >> (2 * ((i >> 5) & 3))) & 3;
}

/** Scales and minima of 4 bits (16 bytes), 64 bytes of two-bit numbers, scale of the scales and of the minima (f16). */
export function dequantiseQ2K(bytes: Uint8Array, from: number, to: Float32Array, at: number): void {
  const [scale, least] = [halfAt(bytes, from + 80), halfAt(bytes, from + 82)];
  for (let part = 0; part < PARTS_OF_16; part++) {
    const byte = bytes[from + part] as number;
    const [own, off] = [fround(scale * (byte & 15)), fround(least * (byte >> 4))];
    for (let i = 16 * part; i < 16 * part + 16; i++) to[at + i] = fround(own * twoBits(bytes, from + 16, i)) - off;
  }
}

/** 32 bytes of third bits, 64 bytes of two-bit numbers, 12 bytes of 6-bit scales, scale (f16). Without its third bit a number is 4 less. */
export function dequantiseQ3K(bytes: Uint8Array, from: number, to: Float32Array, at: number): void {
  const scale = halfAt(bytes, from + 108);
  const byteAt = (place: number) => bytes[from + 96 + place] as number;
  for (let part = 0; part < PARTS_OF_16; part++) {
    const low = part < 8 ? byteAt(part) & 15 : byteAt(part - 8) >> 4;
    const high = (byteAt(8 + (part & 3)) >> (2 * (part >> 2))) & 3;
    const own = fround(scale * ((low | (high << 4)) - 32));
    for (let i = 16 * part; i < 16 * part + 16; i++) {
      const third = ((bytes[from + (i & 31)] as number) >> (i >> 5)) & 1;
      to[at + i] = own * (twoBits(bytes, from + 32, i) - (third === 1 ? 0 : 4));
    }
  }
}

/** The scale and the minimum of part 0 to 7, of 6 bits each, in 12 bytes: of the last four parts the upper two bits stand with the first four. */
function sixBits(bytes: Uint8Array, from: number, part: number): [scale: number, least: number] {
  const byteAt = (place: number) => bytes[from + place] as number;
  if (part < 4) return [byteAt(part) & 63, byteAt(part + 4) & 63];
  const low = byteAt(part + 4);
  return [(low & 15) | ((byteAt(part - 4) >> 6) << 4), (low >> 4) | ((byteAt(part) >> 6) << 4)];
}

/** Parts of 32 with scales and minima. Two parts share 32 bytes of nibbles; `fifth` has the fifth bits of part k in bits k of 32 bytes. */
function partsOf32(bytes: Uint8Array, from: number, fifth: number | null, low: number, to: Float32Array, at: number): void {
  const [scale, least] = [halfAt(bytes, from), halfAt(bytes, from + 2)];
  for (let part = 0; part < 8; part++) {
    const [scales, minima] = sixBits(bytes, from + 4, part);
    const [own, off] = [fround(scale * scales), fround(least * minima)];
    for (let i = 0; i < 32; i++) {
      const nibble = ((bytes[low + 32 * (part >> 1) + i] as number) >> (4 * (part & 1))) & 15;
      const high = fifth === null ? 0 : ((bytes[fifth + i] as number) >> part) & 1;
      to[at + 32 * part + i] = fround(own * (nibble | (high << 4))) - off;
    }
  }
}

/** Scale of the scales and of the minima (f16), 12 bytes of these, 128 bytes of nibbles. */
export function dequantiseQ4K(bytes: Uint8Array, from: number, to: Float32Array, at: number): void {
  partsOf32(bytes, from, null, from + 16, to, at);
}

/** As Q4_K, with 32 bytes of fifth bits before the nibbles. */
export function dequantiseQ5K(bytes: Uint8Array, from: number, to: Float32Array, at: number): void {
  partsOf32(bytes, from, from + 16, from + 48, to, at);
}

/** 128 bytes of nibbles, 64 bytes of upper two bits, 16 signed scales, scale (f16); off by 32. */
export function dequantiseQ6K(bytes: Uint8Array, from: number, to: Float32Array, at: number): void {
  const scale = halfAt(bytes, from + 208);
  for (let part = 0; part < PARTS_OF_16; part++) {
    const own = fround(scale * (((bytes[from + 192 + part] as number) << 24) >> 24));
    for (let i = 16 * part; i < 16 * part + 16; i++) {
      // Of 128 numbers the first 64 have the lower nibbles of 64 bytes.
      const nibble = ((bytes[from + 64 * (i >> 7) + (i & 63)] as number) >> (4 * ((i >> 6) & 1))) & 15;
      to[at + i] = own * ((nibble | (twoBits(bytes, from + 128, i) << 4)) - 32);
    }
  }
}
