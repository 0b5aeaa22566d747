/**
 * Discrete Fourier transforms along an axis. Of lengths whose prime factors are at most 13 each is one operation. Others are convolutions of a longer
 * length without larger prime factors (Bluestein 1970).
 */

import type { Size } from '../size.js';
import { pad } from './borders.js';
import { fromReal } from './complex.js';
import { apply, where } from './elementwise.js';
import { ComplexNode, Node, byParts, complexOfPairs } from './node.js';
import { iota, rootsOfUnity, squaresModulo } from './roots-of-unity.js';
import { concat, flip, slice } from './slices.js';

/** The sign of the exponent: −1 forward, 1 backward. */
export type Sign = 1 | -1;

/** Codes of the tape. */
const FORWARD = 0;
const INVERSE = 1;
const HALF = 2;
const REAL = 3;

/** How many frequencies stand for the spectrum of real numbers. */
export function halfOf(length: number): number {
  return Math.floor(length / 2) + 1;
}

/** Whether a length has no prime factor above 13. */
export function isSmooth(length: number): boolean {
  for (const prime of [2, 3, 5, 7, 11, 13]) while (length % prime === 0) length /= prime;
  return length === 1;
}

/** One operation, of a length without large prime factors, whose results are multiplied by a scale. */
function operation(parts: readonly Node[], axis: number, length: number, kind: number, scale: number): Node {
  const given = kind === HALF ? halfOf(length) : length;
  const shape = (parts[0] as Node).shape.map((size, each) => (each === axis ? given : size));
  return new Node('fourier', 'f32', kind === REAL ? shape : [...shape, 2], parts, [axis, axis, length, kind, scale]);
}

const sizeOf = (x: Node, axis: number) => x.shape[axis] as number;

/** The part of an axis from one place to another. */
function range(x: Node, axis: number, from: number, to: number): Node {
  return slice(x, x.shape.map((_, each) => (each === axis ? [from, to] : null)));
}

/** The transforms of complex numbers, or of real ones, times a scale. */
export function transform(x: Node, axis: number, sign: Sign, scale: number): Node {
  const length = sizeOf(x, axis);
  if (!isSmooth(length)) return byConvolution(x instanceof ComplexNode ? x : fromReal(x), axis, sign, scale);
  const parts = x instanceof ComplexNode ? [x.re, x.im] : [x];
  return complexOfPairs(operation(parts, axis, length, sign === 1 ? INVERSE : FORWARD, scale));
}

/** The frequencies that are not negative of real numbers, times a scale. */
export function halfSpectrum(x: Node, axis: number, scale: number): Node {
  const length = sizeOf(x, axis);
  if (isSmooth(length)) return complexOfPairs(operation([x], axis, length, HALF, scale));
  return range(byConvolution(fromReal(x), axis, -1, scale), axis, 0, halfOf(length));
}

/** So many real numbers from their frequencies that are not negative, times a scale. */
export function fromHalfSpectrum(half: ComplexNode, axis: number, length: number, scale: number): Node {
  if (isSmooth(length)) return operation([half.re, half.im], axis, length, REAL, scale);
  const others = byParts(range(half, axis, 1, length - halfOf(length) + 1), (part) => flip(part, [axis])) as ComplexNode;
  const whole = new ComplexNode(concat([half.re, others.re], axis), concat([half.im, apply('neg', [others.im])], axis));
  return byConvolution(whole, axis, 1, scale).re;
}

/** The shortest length from a number on that powers of two have with a few small factors. */
function smoothLength(least: number): number {
  return Math.min(...[1, 3, 5, 9, 15].map((factor) => factor * 2 ** Math.max(0, Math.ceil(Math.log2(least / factor)))));
}

/** Transforms of any length n: with jk = (j² + k² − (k − j)²)/2 each is a convolution with e^(−sign·πi j²/n). */
function byConvolution(x: ComplexNode, axis: number, sign: Sign, scale: number): ComplexNode {
  const length = sizeOf(x, axis);
  const padded = smoothLength(2 * length - 1);
  const rank = x.shape.length;
  const along = (count: number): Size[] => Array.from({ length: rank }, (_, each) => (each === axis ? count : 1));
  const chirp = (place: Node, direction: Sign) => rootsOfUnity(squaresModulo(place, length), 2 * length, direction);
  const own = chirp(iota(along(length), axis), sign);
  const widths = x.shape.map((_, each) => [0, each === axis ? padded - length : 0]);
  const long = byParts(apply('mul', [x, own]), (part) => pad(part, widths));
  // The kernel is even: place `padded` − j has what j has.
  const place = iota(along(padded), axis);
  const distance = apply('minimum', [place, apply('sub', [padded, place])]);
  const isNear = apply('lt', [distance, length]);
  const kernel = where(isNear, chirp(where(isNear, distance, 0), sign === 1 ? -1 : 1), 0);
  const filtered = apply('mul', [transform(long, axis, -1, 1), transform(kernel, axis, -1, 1)]);
  const found = range(transform(filtered, axis, 1, scale / padded), axis, 0, length);
  return apply('mul', [found, own]) as ComplexNode;
}
