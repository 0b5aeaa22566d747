/**
 * Discrete Fourier transforms of rows, as compositions. A length is a product of radices: of each there is one product of matrices with the DFT of that
 * length, then factors e^(±2πi jk/n), then the next on the transposed rest (Cooley and Tukey 1965; Bailey's four steps for two radices). Lengths
 * with a large prime factor are convolutions of a longer power of two (Bluestein 1970).
 *
 * Tensors have the shape [transforms, length]. Spectra of real numbers are Hermitian, X[n − k] = conj X[k], and stand for their first ⌊n/2⌋ + 1 frequencies: about half the work.
 */

import { times, type Size } from '../size.js';
import { pad } from './borders.js';
import { conj, fromReal } from './complex.js';
import { apply, where } from './elementwise.js';
import { ComplexNode, type Node } from './node.js';
import { matmul } from './products.js';
import { radicesOf } from './radices.js';
import { iota, rootsOfUnity, squaresModulo } from './roots-of-unity.js';
import { concat, flip, pick, slice } from './slices.js';
import { permute, reshaped } from './views.js';

/** The sign of the exponent: −1 forward, 1 backward. */
export type Sign = 1 | -1;

/** How many frequencies stand for the spectrum of real numbers. */
export function halfOf(length: number): number {
  return Math.floor(length / 2) + 1;
}

/** Rows of numbers as rows of parts: real numbers as they are, of complex ones real parts and then imaginary ones. */
function partsOf(x: Node): Node {
  return x instanceof ComplexNode ? concat([x.re, x.im], 1) : x;
}

/** Rows of parts as complex numbers. */
function complexOf(parts: Node): ComplexNode {
  const [rows, columns] = parts.shape as [Size, number];
  const both = reshaped(parts, [rows, 2, columns / 2]);
  return new ComplexNode(pick(both, 1, 0), pick(both, 1, 1));
}

/** e^(sign·2πi jk/length) along two axes of a shape. */
function roots(shape: readonly number[], j: number, k: number, length: number, sign: Sign): ComplexNode {
  const most = ((shape[j] as number) - 1) * ((shape[k] as number) - 1);
  const turn = apply('mul', [iota(shape, j), iota(shape, k)]);
  return rootsOfUnity(most < length ? turn : apply('mod', [turn, length]), length, sign);
}

/** The first `count` frequencies of rows, by one product. */
function byMatrix(x: Node, sign: Sign, count: number): ComplexNode {
  const length = x.shape[1] as number;
  const inputs = x instanceof ComplexNode ? 2 : 1;
  const shape = [inputs, length, 2, count];
  const { re, im } = roots(shape, 1, 3, length, sign);
  const [from, to] = [iota(shape, 0), iota(shape, 2)];
  const across = where(apply('lt', [from, to]), im, apply('neg', [im]));
  const matrix = reshaped(where(apply('eq', [from, to]), re, across), [inputs * length, 2 * count]);
  return complexOf(matmul(partsOf(x), matrix));
}

/** Rows of real numbers from the frequencies that stand for their spectrum, by one product: those that have a conjugate count twice. */
function realByMatrix(x: ComplexNode, length: number): Node {
  const count = halfOf(length);
  const shape = [2, count, length];
  const { re, im } = roots(shape, 1, 2, length, 1);
  const frequency = iota(shape, 1);
  const isAlone = apply('eq', [apply('mod', [apply('mul', [frequency, 2]), length]), 0]);
  const part = where(apply('eq', [iota(shape, 0), 0]), re, apply('neg', [im]));
  const matrix = where(isAlone, part, apply('mul', [part, 2]));
  return matmul(partsOf(x), reshaped(matrix, [2 * count, length]));
}

/** Rows [transforms, radix · rest] as rows [transforms · count, radix] of the places that have the remainders below `count` modulo `rest`. */
function columnsOf(x: Node, radix: number, rest: number, count: number): Node {
  const batch = x.shape[0] as Size;
  const columns = slice(permute(reshaped(x, [batch, radix, rest]), [0, 2, 1]), [null, [0, count]]);
  return reshaped(columns, [times(batch, count), radix]);
}

/** Transforms of columns, times e^(sign·2πi jk/length), as rows [transforms · frequencies, columns] of the next stage. */
function turned(found: ComplexNode, batch: Size, columns: number, length: number, sign: Sign): Node {
  const frequencies = found.shape[1] as number;
  const product = apply('mul', [reshaped(found, [batch, columns, frequencies]), roots([columns, frequencies], 0, 1, length, sign)]);
  return reshaped(permute(product, [0, 2, 1]), [times(batch, frequencies), columns]);
}

/** Of [transforms, radix, rest], with frequency k₁ + radix·k₂ at k₁, k₂, the frequencies in order. */
function inOrder(x: Node): Node {
  const [batch, radix, rest] = x.shape as [Size, number, number];
  return reshaped(permute(x, [0, 2, 1]), [batch, radix * rest]);
}

/** The transform of complex rows whose length is the product of radices. */
function byRadices(x: Node, radices: readonly number[], sign: Sign): Node {
  const [batch, length] = x.shape as [Size, number];
  const [radix, ...others] = radices as [number, ...number[]];
  if (others.length === 0) return byMatrix(x, sign, length);
  const rest = length / radix;
  const first = byMatrix(columnsOf(x, radix, rest, rest), sign, radix);
  return inOrder(reshaped(byRadices(turned(first, batch, rest, length, sign), others, sign), [batch, radix, rest]));
}

/** Half the spectrum of real rows. At k₁, k₂ stands the conjugate of radix − k₁, rest − 1 − k₂, so the first transforms have half their frequencies. */
function halfByRadices(x: Node, radices: readonly number[]): Node {
  const [batch, length] = x.shape as [Size, number];
  const [radix, ...others] = radices as [number, ...number[]];
  if (others.length === 0) return byMatrix(x, -1, halfOf(length));
  const rest = length / radix;
  const count = halfOf(radix);
  const first = byMatrix(columnsOf(x, radix, rest, rest), -1, count);
  const found = reshaped(byRadices(turned(first, batch, rest, length, -1), others, -1), [batch, count, rest]);
  const mirrored = flip(slice(found, [null, [1, radix - count + 1]]), [1, 2]) as ComplexNode;
  const whole = radix === count ? found : concat([found, conj(mirrored)], 1);
  return slice(inOrder(whole), [null, [0, halfOf(length)]]);
}

/** Real rows from half their spectrum. The first transforms of columns j and rest − j are conjugates after their factors, so half of them stand for all. */
function realByRadices(x: ComplexNode, length: number, radices: readonly number[]): Node {
  const batch = x.shape[0] as Size;
  const [radix, ...others] = radices as [number, ...number[]];
  if (others.length === 0) return realByMatrix(x, length);
  const rest = length / radix;
  const count = halfOf(rest);
  const first = byMatrix(columnsOf(wholeSpectrum(x, 1, length), radix, rest, count), 1, radix);
  const next = turned(first, batch, count, length, 1) as ComplexNode;
  return inOrder(reshaped(realByRadices(next, rest, others), [batch, radix, rest]));
}

/** All frequencies along an axis, from those that stand for the spectrum of real numbers. */
export function wholeSpectrum(half: Node, axis: number, length: number): Node {
  const count = halfOf(length);
  if (length === count) return half;
  const others = slice(half, half.shape.map((_, each) => (each === axis ? [1, length - count + 1] : null)));
  return concat([half, conj(flip(others, [axis]) as ComplexNode)], axis);
}

/** The transform of any length: with jk = (j² + k² − (k − j)²)/2 it is a convolution with e^(−sign·πi j²/length), here of a power of two. */
function byConvolution(x: Node, sign: Sign): Node {
  const length = x.shape[1] as number;
  const padded = 2 ** Math.ceil(Math.log2(2 * length - 1));
  const radices = radicesOf(padded) as readonly number[];
  const chirp = (place: Node, direction: Sign) => rootsOfUnity(squaresModulo(place, length), 2 * length, direction);
  const own = chirp(iota([length], 0), sign);
  const long = pad(apply('mul', [x, own]), [[0, 0], [0, padded - length]]);
  // The kernel is even: place `padded` − j has what j has.
  const place = iota([padded], 0);
  const distance = apply('minimum', [place, apply('sub', [padded, place])]);
  const isNear = apply('lt', [distance, length]);
  const kernel = where(isNear, chirp(where(isNear, distance, 0), sign === 1 ? -1 : 1), 0);
  const spectrum = byRadices(reshaped(kernel, [1, padded]), radices, -1);
  const product = apply('mul', [byRadices(long, radices, -1), spectrum]);
  const found = slice(byRadices(product, radices, 1), [null, [0, length]]);
  return apply('mul', [apply('mul', [found, 1 / padded]), own]);
}

/** The transform of complex rows. */
export function transform(x: Node, sign: Sign): Node {
  const radices = radicesOf(x.shape[1] as number);
  return radices === null ? byConvolution(x, sign) : byRadices(x, radices, sign);
}

/** The frequencies that stand for the spectrum of real rows. */
export function halfSpectrum(x: Node): Node {
  const length = x.shape[1] as number;
  const radices = radicesOf(length);
  return radices === null ? slice(byConvolution(fromReal(x), -1), [null, [0, halfOf(length)]]) : halfByRadices(x, radices);
}

/** Real rows of a length, times the length, from the frequencies that stand for their spectrum. */
export function fromHalfSpectrum(x: ComplexNode, length: number): Node {
  const radices = radicesOf(length);
  return radices === null ? (byConvolution(wholeSpectrum(x, 1, length), 1) as ComplexNode).re : realByRadices(x, length, radices);
}
