/**
 * Numbers of GGML's blocks of 32, and of its ternary and non-linear blocks. Arithmetic is rounded to f32 after each operation, as GGML's.
 * Of 16 bytes of nibbles the lower four bits of byte i are number i, the upper ones number i + 16.
 * Source: ggml-common.h and ggml-quants.c in the repository ggml-org/ggml.
 */

import { fromHalf } from '../memory/half.js';
import { u16At, u32At } from './byte-reader.js';

const { fround } = Math;

/** The half-precision number at a place. */
export function halfAt(bytes: Uint8Array, at: number): number {
  return fromHalf(u16At(bytes, at));
}

/** Scale (f16), 16 bytes of nibbles, which are off by 8. */
export function dequantiseQ40(bytes: Uint8Array, from: number, to: Float32Array, at: number): void {
  const scale = halfAt(bytes, from);
  for (let i = 0; i < 16; i++) {
    const byte = bytes[from + 2 + i] as number;
    to[at + i] = scale * ((byte & 15) - 8);
    to[at + 16 + i] = scale * ((byte >> 4) - 8);
  }
}

/** Scale and minimum (f16), 16 bytes of nibbles. */
export function dequantiseQ41(bytes: Uint8Array, from: number, to: Float32Array, at: number): void {
  const scale = halfAt(bytes, from);
  const least = halfAt(bytes, from + 2);
  for (let i = 0; i < 16; i++) {
    const byte = bytes[from + 4 + i] as number;
    to[at + i] = fround(scale * (byte & 15)) + least;
    to[at + 16 + i] = fround(scale * (byte >> 4)) + least;
  }
}

/** Scale (f16), a word with the fifth bit of each number, 16 bytes of nibbles; off by 16. */
export function dequantiseQ50(bytes: Uint8Array, from: number, to: Float32Array, at: number): void {
  const scale = halfAt(bytes, from);
  const high = u32At(bytes, from + 2);
  for (let i = 0; i < 16; i++) {
    const byte = bytes[from + 6 + i] as number;
    to[at + i] = scale * (((byte & 15) | (((high >>> i) & 1) << 4)) - 16);
    to[at + 16 + i] = scale * (((byte >> 4) | (((high >>> (i + 16)) & 1) << 4)) - 16);
  }
}

/** Scale and minimum (f16), a word with the fifth bit of each number, 16 bytes of nibbles. */
export function dequantiseQ51(bytes: Uint8Array, from: number, to: Float32Array, at: number): void {
  const scale = halfAt(bytes, from);
  const least = halfAt(bytes, from + 2);
  const high = u32At(bytes, from + 4);
  for (let i = 0; i < 16; i++) {
    const byte = bytes[from + 8 + i] as number;
    to[at + i] = fround(scale * ((byte & 15) | (((high >>> i) & 1) << 4))) + least;
    to[at + 16 + i] = fround(scale * ((byte >> 4) | (((high >>> (i + 16)) & 1) << 4))) + least;
  }
}

/** Scale (f16), 32 signed bytes. */
export function dequantiseQ80(bytes: Uint8Array, from: number, to: Float32Array, at: number): void {
  const scale = halfAt(bytes, from);
  for (let i = 0; i < 32; i++) to[at + i] = scale * (((bytes[from + 2 + i] as number) << 24) >> 24);
}

/** 16 bytes of nibbles that stand for numbers of a table. */
function fromTable(table: Int8Array, scale: number, bytes: Uint8Array, from: number, to: Float32Array, at: number): void {
  for (let i = 0; i < 16; i++) {
    const byte = bytes[from + i] as number;
    to[at + i] = scale * (table[byte & 15] as number);
    to[at + 16 + i] = scale * (table[byte >> 4] as number);
  }
}

/** What a nibble of the non-linear types stands for. */
const NON_LINEAR = /* @__PURE__ */ Int8Array.of(-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113);

/** Scale (f16), 16 bytes of nibbles. */
export function dequantiseIq4Nl(bytes: Uint8Array, from: number, to: Float32Array, at: number): void {
  fromTable(NON_LINEAR, halfAt(bytes, from), bytes, from + 2, to, at);
}

/** Scale (f16), upper two bits of 8 scales, their lower four bits, 8 times 16 bytes of nibbles. */
export function dequantiseIq4Xs(bytes: Uint8Array, from: number, to: Float32Array, at: number): void {
  const scale = halfAt(bytes, from);
  const upper = u16At(bytes, from + 2);
  for (let part = 0; part < 8; part++) {
    const low = ((bytes[from + 4 + (part >> 1)] as number) >> (4 * (part & 1))) & 15;
    const own = fround(scale * ((low | (((upper >> (2 * part)) & 3) << 4)) - 32));
    fromTable(NON_LINEAR, own, bytes, from + 8 + 16 * part, to, at + 32 * part);
  }
}

/** 4-bit floats of two bits of exponent and one of fraction, doubled. */
const E2M1 = /* @__PURE__ */ Int8Array.of(0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12);

/** Exponent of the scale (a byte), 16 bytes of nibbles. */
export function dequantiseMxfp4(bytes: Uint8Array, from: number, to: Float32Array, at: number): void {
  fromTable(E2M1, 2 ** ((bytes[from] as number) - 128), bytes, from + 1, to, at);
}

/** Digits of base 3 in bytes, the highest first, off by 1: `runs` digits of `count` bytes each. */
function ternary(bytes: Uint8Array, from: number, count: number, runs: number, scale: number, to: Float32Array, at: number): void {
  for (let run = 0, power = 1; run < runs; run++, power *= 3) {
    for (let i = 0; i < count; i++) to[at + run * count + i] = scale * ((((((bytes[from + i] as number) * power) & 255) * 3) >> 8) - 1);
  }
}

/** 48 bytes of five digits of base 3, 4 bytes of four, scale (f16). */
export function dequantiseTq10(bytes: Uint8Array, from: number, to: Float32Array, at: number): void {
  const scale = halfAt(bytes, from + 52);
  ternary(bytes, from, 32, 5, scale, to, at);
  ternary(bytes, from + 32, 16, 5, scale, to, at + 160);
  ternary(bytes, from + 48, 4, 4, scale, to, at + 240);
}

/** 64 bytes of four numbers of two bits, scale (f16); off by 1. */
export function dequantiseTq20(bytes: Uint8Array, from: number, to: Float32Array, at: number): void {
  const scale = halfAt(bytes, from + 64);
  for (let i = 0; i < 256; i++) to[at + i] = scale * ((((bytes[from + 32 * (i >> 7) + (i & 31)] as number) >> (2 * ((i >> 5) & 3))) & 3) - 1);
}
