/**
 * Weights as quantised numbers, computed on a device: the same bits as the package `gguf` 0.19.0 gives (gguf/quants.py, Q4_0 and Q8_0).
 *
 * A GPU's quotients are not those of IEEE arithmetic, and its compilers may fuse products and sums. So quotients are computed in integers, and
 * what rounds a product adds in integers.
 */

import { where } from './functions.js';
import { BITS, BLOCK, numbersOfBytes, type ComputedType } from './recipe/quantised.js';
import { full, iota } from './sources.js';
import { Tensor } from './tensor.js';

/** The parts of normal f32 numbers: significands of 24 bits, and exponents e of 2^(e − 150). */
interface Parts {
  readonly sign: Tensor<'u32'>;
  readonly significand: Tensor<'u32'>;
  readonly exponent: Tensor<'u32'>;
}

function partsOf(x: Tensor<'f32'>): Parts {
  const bits = x.bitcast('u32');
  return { sign: bits.and(0x80000000), significand: bits.and(0x7fffff).or(0x800000), exponent: exponentOf(x) };
}

function exponentOf(x: Tensor<'f32'>): Tensor<'u32'> {
  return x.bitcast('u32').shr(23).and(0xff);
}

/**
 * The f32 nearest to n · 2^(exponent − 150), the even one of two. n has 25 or 26 bits; `rest` is not 0 where the exact number is a little
 * larger.
 */
function nearest(sign: Tensor<'u32'>, n: Tensor<'u32'>, rest: Tensor<'u32'>, exponent: Tensor<'u32'>): Tensor<'f32'> {
  const cut = n.gte(2 ** 25).cast('u32').add(1);
  const kept = n.shr(cut);
  const left = n.sub(kept.shl(cut));
  // A half of the last bit that is kept is 1 where one bit is cut, and 2 where two are.
  const isUp = left.gt(cut).or(left.eq(cut).and(rest.neq(0).or(kept.and(1).neq(0))));
  // The leading bit of the significand counts one in the exponent.
  const bits = exponent.add(cut).sub(1).shl(23).add(kept).add(isUp.cast('u32'));
  return bits.or(sign).bitcast('f32');
}

/** x / 127 of normal numbers. */
function overLargestByte(x: Tensor<'f32'>): Tensor<'f32'> {
  const { sign, significand, exponent } = partsOf(x);
  const n = significand.shl(8);
  return nearest(sign, n.div(127), n.mod(127), exponent.sub(8));
}

/** 1 / x of normal numbers. */
function reciprocal(x: Tensor<'f32'>): Tensor<'f32'> {
  const { sign, significand, exponent } = partsOf(x);
  // 2^48 / significand, by 8 bits at a time.
  const one = full([], 2 ** 24, 'u32');
  let quotient = one.div(significand);
  let rest = one.sub(quotient.mul(significand));
  for (let digit = 0; digit < 3; digit++) {
    const next = rest.shl(8);
    const found = next.div(significand);
    quotient = quotient.shl(8).add(found);
    rest = next.sub(found.mul(significand));
  }
  // 2^(150 − e) / significand is quotient · 2^(102 − e).
  return nearest(sign, quotient, rest, full([], 252, 'u32').sub(exponent));
}

/** Least exponent of a number whose quotient by 127 is normal. A smaller one is 0 in half precision. */
const LEAST_LARGEST = 16;
/** Exponents of scales whose reciprocals are normal. Smaller ones are 0 in half precision, larger ones infinite. */
const [LEAST_SCALE, MOST_SCALE] = [2, 250];

/** Words and scales of a matrix whose rows are whole blocks. */
export function quantised(weights: Tensor, type: ComputedType): [words: Tensor<'u32'>, scales: Tensor<'f16'>] {
  const [rows, columns] = weights.sizes as [number, number];
  const blocks: Tensor<'f32'> = weights.cast('f32').reshape([rows, columns / BLOCK, BLOCK]);
  const sizes = blocks.abs();
  let scale: Tensor<'f32'>;
  if (type === 'q8_0') {
    const largest = sizes.max(-1, { keep: true });
    scale = where(exponentOf(largest).gte(LEAST_LARGEST), overLargestByte(largest), 0);
  } else {
    // The number of the largest magnitude becomes −8.
    scale = blocks.gather(sizes.argmax(-1, { keep: true }), 2).mul(-0.125);
  }
  const exponent = exponentOf(scale);
  const isNormal = exponent.gte(LEAST_SCALE).and(exponent.lte(MOST_SCALE));
  const quotients = blocks.mul(where(isNormal, reciprocal(scale), 0));
  const numbers = type === 'q8_0' ? bytesOf(quotients) : halvesOf(quotients);
  return [packed(numbers, [rows, columns], BITS[type]), scale.cast<'f16'>('f16').reshape([rows, columns / BLOCK])];
}

/**
 * The left factor of a product of integers, [..., in] of whole blocks, as a recipe of its rounded numbers: n · s with s the largest magnitude of a block of 32
 * by 127, and n the nearest integers. Only products that are rounded to f32 and integers decide them, so that every engine has the same bits. Blocks of which s
 * is no normal number are 0, those with NaN or an infinity NaN.
 */
export function inBytes(x: Tensor): Tensor<'f32'> {
  const leading = x.shape.slice(0, -1);
  const size = x.shape.at(-1) as number;
  const blocks: Tensor<'f32'> = x.cast('f32').reshape([...leading, size / BLOCK, BLOCK]);
  const scale: Tensor<'f32'> = blocks.abs().max(-1, { keep: true }).mul(Math.fround(1 / 127));
  const exponent = exponentOf(scale);
  const isNormal = exponent.gte(LEAST_SCALE).and(exponent.lte(MOST_SCALE));
  const bytes = bytesOf(blocks.mul(where(isNormal, reciprocal(scale), 0)));
  // Four neighbours of a word are slices, which take one pass.
  const fours = bytes.reshape([...leading, size / 4, 4]);
  const words = [0, 1, 2, 3].map((k) => fours.slice(...leading.map(() => null), null, [k, k + 1]).squeeze(-1).shl(8 * k)).reduce((word, byte) => word.or(byte));
  const scales = where(isNormal, scale, where(exponent.eq(255), full([], NaN), 0)).squeeze(-1);
  return Tensor.make(numbersOfBytes(words.node, scales.node));
}

/** The nearest integers, halves away from 0, as bytes. */
function bytesOf(quotients: Tensor<'f32'>): Tensor<'u32'> {
  const size = quotients.abs().mul(2).floor().cast('i32').add(1).shr(1);
  return where(quotients.lt(0), size.neg(), size).bitcast('u32').and(0xff);
}

/** The integers of the sums with 8.5 in single precision, from 0 to 15. */
function halvesOf(quotients: Tensor<'f32'>): Tensor<'u32'> {
  // In units of 2^−25, which divide half of the last bit of every sum. A sum that is rounded up to an integer is at most so much below it.
  const exact = quotients.mul(2 ** 25).floor().cast('i32').add(8.5 * 2 ** 25);
  const half = [1, 2, 4, 8].reduce<Tensor<'i32'>>((sum, power) => sum.add(where(exact.gte(power * 2 ** 25), sum, 0)), full([], 1, 'i32'));
  return exact.add(half).shr(25).maximum(0).minimum(15).bitcast('u32');
}

/** Numbers of a few bits in words, the first in the low bits. */
function packed(numbers: Tensor<'u32'>, [rows, columns]: readonly [number, number], bits: number): Tensor<'u32'> {
  const count = 32 / bits;
  const shape = [rows, columns / count, count];
  const shifts = iota(shape, 2, 'u32').mul(bits);
  return numbers.reshape(shape).shl(shifts).sum(-1);
}
