/**
 * Numbers of GGML's blocks of 32, and of its ternary and non-linear blocks. Arithmetic is rounded to f32 after each operation, as GGML's.
 * Source: ggml-common.h and ggml-quants.c in the repository ggml-org/ggml.
 */

import { fromHalf } from '../memory/half.js';
import { u16At, u32At } from './byte-reader.js';

const { fround } = Math;

/** The half-precision number at a place. */
export function halfAt(bytes: Uint8Array, at: number): number {
  return fromHalf(u16At(bytes, at));
}

/** 16 bytes of two numbers each: the lower four bits are number i, the upper ones number i + 16. */
function nibbles(bytes: Uint8Array, from: number, write: (number: number, nibble: number) => void): void {
  for (let i = 0; i < 16; i++) {
    const byte = bytes[from + i] as number;
    write(i, byte & 15);
    write(i + 16, byte >> 4);
  }
}

/** Scale (f16), 16 bytes of nibbles, which are off by 8. */
export function dequantiseQ40(bytes: Uint8Array, from: number, to: Float32Array, at: number): void {
  const scale = halfAt(bytes, from);
  nibbles(bytes, from + 2, (i, nibble) => (to[at + i] = scale * (nibble - 8)));
}

/** Scale and minimum (f16), 16 bytes of nibbles. */
export function dequantiseQ41(bytes: Uint8Array, from: number, to: Float32Array, at: number): void {
  const [scale, least] = [halfAt(bytes, from), halfAt(bytes, from + 2)];
  nibbles(bytes, from + 4, (i, nibble) => (to[at + i] = fround(scale * nibble) + least));
}

/** Scale (f16), a word with the fifth bit of each number, 16 bytes of nibbles; off by 16. */
export function dequantiseQ50(bytes: Uint8Array, from: number, to: Float32Array, at: number): void {
  const [scale, high] = [halfAt(bytes, from), u32At(bytes, from + 2)];
  nibbles(bytes, from + 6, (i, nibble) => (to[at + i] = scale * ((nibble | (((high >>> i) & 1) << 4)) - 16)));
}

/** Scale and minimum (f16), a word with the fifth bit of each number, 16 bytes of nibbles. */
export function dequantiseQ51(bytes: Uint8Array, from: number, to: Float32Array, at: number): void {
  const [scale, least, high] = [halfAt(bytes, from), halfAt(bytes, from + 2), u32At(bytes, from + 4)];
  nibbles(bytes, from + 8, (i, nibble) => (to[at + i] = fround(scale * (nibble | (((high >>> i) & 1) << 4))) + least));
}

/** Scale (f16), 32 signed bytes. */
export function dequantiseQ80(bytes: Uint8Array, from: number, to: Float32Array, at: number): void {
  const scale = halfAt(bytes, from);
  for (let i = 0; i < 32; i++) to[at + i] = scale * (((bytes[from + 2 + i] as number) << 24) >> 24);
}

/** What a nibble of the non-linear types stands for. */
const NON_LINEAR = [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113] as const;

/** Scale (f16), 16 bytes of nibbles. */
export function dequantiseIq4Nl(bytes: Uint8Array, from: number, to: Float32Array, at: number): void {
  const scale = halfAt(bytes, from);
  nibbles(bytes, from + 2, (i, nibble) => (to[at + i] = scale * (NON_LINEAR[nibble] as number)));
}

/** Scale (f16), upper two bits of 8 scales, their lower four bits, 8 times 16 bytes of nibbles. */
export function dequantiseIq4Xs(bytes: Uint8Array, from: number, to: Float32Array, at: number): void {
  const [scale, upper] = [halfAt(bytes, from), u16At(bytes, from + 2)];
  for (let part = 0; part < 8; part++) {
    const low = ((bytes[from + 4 + (part >> 1)] as number) >> (4 * (part & 1))) & 15;
    const own = fround(scale * ((low | (((upper >> (2 * part)) & 3) << 4)) - 32));
    nibbles(bytes, from + 8 + 16 * part, (i, nibble) => (to[at + 32 * part + i] = own * (NON_LINEAR[nibble] as number)));
  }
}

/** 4-bit floats of two bits of exponent and one of fraction, doubled. */
const E2M1 = [0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12] as const;

/** Exponent of the scale (a byte), 16 bytes of nibbles. */
export function dequantiseMxfp4(bytes: Uint8Array, from: number, to: Float32Array, at: number): void {
  const scale = 2 ** ((bytes[from] as number) - 128);
  nibbles(bytes, from + 1, (i, nibble) => (to[at + i] = scale * (E2M1[nibble] as number)));
}

/** Digits of base 3 in bytes, the highest first: `runs` digits of `count` bytes each. */
function ternary(bytes: Uint8Array, from: number, count: number, runs: number, write: (number: number, digit: number) => void): void {
  for (let run = 0, power = 1; run < runs; run++, power *= 3) {
    for (let i = 0; i < count; i++) write(run * count + i, ((((bytes[from + i] as number) * power) & 255) * 3) >> 8);
  }
}

/** 48 bytes of five digits of base 3, 4 bytes of four, scale (f16); off by 1. */
export function dequantiseTq10(bytes: Uint8Array, from: number, to: Float32Array, at: number): void {
  const scale = halfAt(bytes, from + 52);
  ternary(bytes, from, 32, 5, (i, digit) => (to[at + i] = scale * (digit - 1)));
  ternary(bytes, from + 32, 16, 5, (i, digit) => (to[at + 160 + i] = scale * (digit - 1)));
  ternary(bytes, from + 48, 4, 4, (i, digit) => (to[at + 240 + i] = scale * (digit - 1)));
}

/** 64 bytes of four numbers of two bits, scale (f16); off by 1. */
export function dequantiseTq20(bytes: Uint8Array, from: number, to: Float32Array, at: number): void {
  const scale = halfAt(bytes, from + 64);
  for (let i = 0; i < 256; i++) to[at + i] = scale * ((((bytes[from + 32 * (i >> 7) + (i & 31)] as number) >> (2 * ((i >> 5) & 3))) & 3) - 1);
}
