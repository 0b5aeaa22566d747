/** Random numbers from 32 random bits an element, as elementwise nodes. */

import { invalidArgument } from '../../arguments/errors.js';
import { checkFinite } from '../../arguments/numeric-arguments.js';
import type { Shape } from '../size.js';
import { apply, bitcast, cast, where } from './elementwise.js';
import { Node } from './node.js';
import { checkAxis, checkType, nodeText, REALS } from './operands.js';
import { reduce } from './reductions.js';
import { inverseErf } from './special.js';

/** erf(√2): the share of a normal distribution within two deviations. */
const TWO_DEVIATIONS = 0.9544997361036416;

/** 32 random bits an element. */
export function randomBits(key: Node, stream: number, shape: Shape): Node {
  return new Node('randomBits', 'u32', shape, [key], [stream]);
}

/** In [0, 1): the top 24 bits · 2⁻²⁴. */
export function unit(bits: Node): Node {
  return apply('mul', [cast(apply('shr', [bits, 8]), 'f32'), 2 ** -24]);
}

/** In (0, 1): odd multiples of 2⁻²⁴, all of which are exact. */
function openUnit(bits: Node): Node {
  return apply('mul', [apply('add', [cast(apply('shr', [bits, 9]), 'f32'), 0.5]), 2 ** -23]);
}

/** In [low, high), as f32 has these bounds; `low` where both are one number. */
export function uniform(bits: Node, low: unknown, high: unknown): Node {
  checkFinite('uniform: low', low);
  checkFinite('uniform: high', high, low);
  const range = Math.fround(high - low);
  if (!Number.isFinite(range)) throw invalidArgument('uniform', `low ${low} and high ${high}`, 'bounds whose difference is a number of f32');
  const share = unit(bits);
  const scaled = range === 1 ? share : apply('mul', [share, range]);
  const sum = low === 0 ? scaled : apply('add', [scaled, low]);
  return reaches(Math.fround(low), range, Math.fround(high)) ? apply('minimum', [sum, Math.max(below(Math.fround(high)), Math.fround(low))]) : sum;
}

/** Whether the largest share of a range and its lower bound round to the upper one, with one rounding or with two. */
function reaches(low: number, range: number, high: number): boolean {
  const largest = (1 - 2 ** -24) * range;
  return Math.fround(largest + low) >= high || Math.fround(Math.fround(largest) + low) >= high;
}

/** The f32 below another; below 0 the nearest that devices do not take as 0. */
function below(x: number): number {
  if (x === 0) return -(2 ** -126);
  const bits = new DataView(new ArrayBuffer(4));
  bits.setFloat32(0, x);
  bits.setInt32(0, bits.getInt32(0) + (x > 0 ? -1 : 1));
  return bits.getFloat32(0);
}

/** Whole numbers in [low, high): the high half of the product of the bits and the range, so that a number's chance is off by at most 2⁻³². */
export function integers(bits: Node, low: unknown, high: unknown): Node {
  const isBound = (value: unknown, most: number): value is number => typeof value === 'number' && Number.isInteger(value) && value >= -(2 ** 31) && value <= most;
  if (!isBound(low, 2 ** 31 - 1) || !isBound(high, 2 ** 31) || high <= low) {
    throw invalidArgument('integers', `low ${String(low)} and high ${String(high)}`, 'whole numbers of 32 bits, the second larger');
  }
  const range = high - low;
  const number = range === 2 ** 32 ? bits : highProduct(bits, range);
  return apply('add', [bitcast(number, 'i32'), low]);
}

/** ⌊bits · range / 2³²⌋ from products of 16-bit halves, none of which exceeds 32 bits. */
export function highProduct(bits: Node, range: number): Node {
  const [upper, lower] = [apply('shr', [bits, 16]), apply('and', [bits, 0xffff])];
  const [rangeUpper, rangeLower] = [Math.floor(range / 65536), range % 65536];
  const carry = apply('shr', [apply('mul', [lower, rangeLower]), 16]);
  const middle = apply('add', [apply('mul', [upper, rangeLower]), carry]);
  if (rangeUpper === 0) return apply('shr', [middle, 16]);
  const other = apply('add', [apply('mul', [lower, rangeUpper]), apply('and', [middle, 0xffff])]);
  return apply('add', [apply('add', [apply('mul', [upper, rangeUpper]), apply('shr', [middle, 16])]), apply('shr', [other, 16])]);
}

/** In (−1, 1): odd multiples of 2⁻²³. */
function symmetric(bits: Node): Node {
  return apply('sub', [apply('mul', [apply('add', [cast(apply('shr', [bits, 9]), 'f32'), 0.5]), 2 ** -22]), 1]);
}

/** Normal numbers by the inverse of their distribution, within 5.3 deviations; or cut to two deviations. */
export function normal(operation: string, bits: Node, mean: unknown, deviation: unknown, isTruncated: boolean): Node {
  checkFinite(`${operation}: mean`, mean);
  checkFinite(`${operation}: deviation`, deviation, 0);
  const place = symmetric(bits);
  const standard = inverseErf(isTruncated ? apply('mul', [place, TWO_DEVIATIONS]) : place);
  const scaled = apply('mul', [standard, Math.SQRT2 * deviation]);
  return mean === 0 ? scaled : apply('add', [scaled, mean]);
}

/** The places of the elements of a vector of u32 in ascending order; equal ones keep their order. */
export function ascending(bits: Node): Node {
  return new Node('argsort', 'i32', bits.shape, [bits], [32]);
}

/** True with a probability. */
export function bernoulli(bits: Node, probability: Node): Node {
  checkType('bernoulli: probability', probability, ['f32']);
  return apply('lt', [unit(bits), probability], 'bernoulli');
}

/** The place of the largest of logits and Gumbel numbers along an axis, which is distributed as their softmax. */
export function categorical(bits: Node, logits: Node, axis: unknown): Node {
  checkType('categorical: logits', logits, ['f32']);
  const at = checkAxis('categorical: axis', axis, logits.shape.length);
  const gumbel = apply('neg', [apply('log', [apply('neg', [apply('log', [openUnit(bits)])])])]);
  return reduce('argMax', apply('add', [logits, gumbel]), [at]);
}

/** x with a share of its elements zeroed and the others divided by the remaining share. */
export function dropout(bits: Node, x: Node, probability: unknown): Node {
  checkType('dropout', x, REALS);
  if (typeof probability !== 'number' || !(probability >= 0 && probability <= 1)) throw invalidArgument('dropout: probability', String(probability), `a number from 0 to 1 for ${nodeText(x)}`);
  const kept = apply('gte', [unit(bits), probability]);
  return where(kept, apply('mul', [x, probability === 1 ? 0 : 1 / (1 - probability)]), 0);
}
