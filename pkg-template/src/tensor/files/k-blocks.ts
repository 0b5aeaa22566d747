/**
 * Numbers of GGML's blocks of 256 with scales of parts of 16 or 32. Arithmetic is rounded to f32 after each operation, as GGML's.
 * Source: ggml-common.h and ggml-quants.c in the repository ggml-org/ggml.
 */

import { halfAt } from './blocks.js';

const { fround } = Math;

/** The parts of 16 numbers: two-bit numbers stand four a byte, 32 apart, in two halves of 32 bytes. Where the bytes of a part begin, and its shift. */
const PARTS_OF_16 = /* @__PURE__ */ Array.from({ length: 16 }, (_, part) => ({ start: 32 * (part >> 3) + 16 * (part & 1), shift: part & 6 }));

/** Scales and minima of 4 bits (16 bytes), 64 bytes of two-bit numbers, scale of the scales and of the minima (f16). */
export function dequantiseQ2K(bytes: Uint8Array, from: number, to: Float32Array, at: number): void {
  const scale = halfAt(bytes, from + 80);
  const least = halfAt(bytes, from + 82);
  for (let part = 0; part < 16; part++) {
    const byte = bytes[from + part] as number;
    const own = fround(scale * (byte & 15));
    const off = fround(least * (byte >> 4));
    const { start, shift } = PARTS_OF_16[part] as (typeof PARTS_OF_16)[number];
    for (let i = 0; i < 16; i++) to[at + 16 * part + i] = fround(own * (((bytes[from + 16 + start + i] as number) >> shift) & 3)) - off;
  }
}

/** 32 bytes of third bits, 64 bytes of two-bit numbers, 12 bytes of 6-bit scales, scale (f16). Without its third bit a number is 4 less. */
export function dequantiseQ3K(bytes: Uint8Array, from: number, to: Float32Array, at: number): void {
  const scale = halfAt(bytes, from + 108);
  const scales = from + 96;
  for (let part = 0; part < 16; part++) {
    const low = part < 8 ? (bytes[scales + part] as number) & 15 : (bytes[scales + part - 8] as number) >> 4;
    const high = ((bytes[scales + 8 + (part & 3)] as number) >> (2 * (part >> 2))) & 3;
    const own = fround(scale * ((low | (high << 4)) - 32));
    const { start, shift } = PARTS_OF_16[part] as (typeof PARTS_OF_16)[number];
    for (let i = 0; i < 16; i++) {
      const third = ((bytes[from + 16 * (part & 1) + i] as number) >> (part >> 1)) & 1;
      to[at + 16 * part + i] = own * ((((bytes[from + 32 + start + i] as number) >> shift) & 3) - 4 + 4 * third);
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

/** Parts of 32 with scales and minima. Two parts share 32 bytes of nibbles; bit k of 32 bytes from `fifth` on is the fifth bit of part k, where `mask` is 1. */
function partsOf32(bytes: Uint8Array, from: number, fifth: number, mask: 0 | 1, low: number, to: Float32Array, at: number): void {
  const scale = halfAt(bytes, from);
  const least = halfAt(bytes, from + 2);
  for (let part = 0; part < 8; part++) {
    const [scales, minima] = sixBits(bytes, from + 4, part);
    const own = fround(scale * scales);
    const off = fround(least * minima);
    const start = low + 32 * (part >> 1);
    const shift = 4 * (part & 1);
    for (let i = 0; i < 32; i++) {
      const high = ((bytes[fifth + i] as number) >> part) & mask;
      to[at + 32 * part + i] = fround(own * ((((bytes[start + i] as number) >> shift) & 15) | (high << 4))) - off;
    }
  }
}

/** Scale of the scales and of the minima (f16), 12 bytes of these, 128 bytes of nibbles. */
export function dequantiseQ4K(bytes: Uint8Array, from: number, to: Float32Array, at: number): void {
  partsOf32(bytes, from, from + 16, 0, from + 16, to, at);
}

/** As Q4_K, with 32 bytes of fifth bits before the nibbles. */
export function dequantiseQ5K(bytes: Uint8Array, from: number, to: Float32Array, at: number): void {
  partsOf32(bytes, from, from + 16, 1, from + 48, to, at);
}

/** 128 bytes of nibbles, 64 bytes of upper two bits, 16 signed scales, scale (f16); off by 32. */
export function dequantiseQ6K(bytes: Uint8Array, from: number, to: Float32Array, at: number): void {
  const scale = halfAt(bytes, from + 208);
  for (let part = 0; part < 16; part++) {
    const own = fround(scale * (((bytes[from + 192 + part] as number) << 24) >> 24));
    // Of 128 numbers the first 64 have the lower nibbles of 64 bytes.
    const start = from + 64 * (part >> 3) + 16 * (part & 3);
    const half = part & 4;
    const upper = PARTS_OF_16[part] as (typeof PARTS_OF_16)[number];
    for (let i = 0; i < 16; i++) {
      const high = ((bytes[from + 128 + upper.start + i] as number) >> upper.shift) & 3;
      to[at + 16 * part + i] = own * (((((bytes[start + i] as number) >> half) & 15) | (high << 4)) - 32);
    }
  }
}
