/**
 * Discrete Fourier transforms of rows, as compositions. A length is a product of radices: of each there is one product of matrices with the DFT of that
 * length, then factors e^(±2πi jk/n), then the next on the transposed rest (Cooley and Tukey 1965; Bailey's four steps for two radices). Lengths
 * with a large prime factor are convolutions of a longer power of two (Bluestein 1970).
 *
 * Inside, tensors are f32 of shape [transforms, parts, length]: real and imaginary parts, or real parts alone. Both parts are computed by one formula, so that a stage is a product
 * and one map. Spectra of real numbers are Hermitian, X[n − k] = conj X[k], and stand for their first ⌊n/2⌋ + 1 frequencies: about half the work.
 */

import { times, type Size } from '../size.js';
import { pad } from './borders.js';
import { apply, where } from './elementwise.js';
import { indexSelect } from './indexing.js';
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

/** Rows [transforms, length] with their parts. */
function partsOf(rows: Node): Node {
  const [batch, length] = rows.shape as [Size, number];
  const parts = rows instanceof ComplexNode ? [rows.re, rows.im] : [rows];
  return concat(parts.map((part) => reshaped(part, [batch, 1, length])), 1);
}

/** Parts as rows of complex numbers. */
function complexOf(x: Node): Node {
  return new ComplexNode(pick(x, 1, 0), pick(x, 1, 1));
}

/** Whether a part is the real one, with so many axes behind that of the parts. */
function isReal(axesBehind: number): Node {
  return apply('eq', [iota([2, ...Array.from({ length: axesBehind }, () => 1)], 0), 0]);
}

/** Complex numbers with parts along an axis times a + bi; real numbers too, of which the axis has one. */
function product(x: Node, axis: number, { re, im }: ComplexNode): Node {
  const ofReal = isReal(x.shape.length - 1 - axis);
  if (x.shape[axis] === 1) return apply('mul', [x, where(ofReal, re, im)]);
  return apply('add', [apply('mul', [x, re]), apply('mul', [flip(x, [axis]), where(ofReal, apply('neg', [im]), im)])]);
}

/** The conjugates of complex numbers with parts along an axis. */
function conjugates(x: Node, axis: number): Node {
  return where(isReal(x.shape.length - 1 - axis), x, apply('neg', [x]));
}

/** e^(sign·2πi jk/length) along two axes of a shape, from a table of the roots: on the CPU a matrix of sines takes longer than its product. */
function powers(shape: readonly number[], j: number, k: number, length: number, sign: Sign): ComplexNode {
  const turn = apply('mod', [apply('mul', [iota(shape, j), iota(shape, k)]), length]);
  return indexSelect(rootsOfUnity(iota([length], 0), length, sign), turn, 0) as ComplexNode;
}

/** The first `count` frequencies, by one product. */
function byMatrix(x: Node, sign: Sign, count: number): Node {
  const [batch, inputs, length] = x.shape as [Size, number, number];
  const shape = [inputs, length, 2, count];
  const { re, im } = powers(shape, 1, 3, length, sign);
  const [from, to] = [iota(shape, 0), iota(shape, 2)];
  const across = where(apply('lt', [from, to]), im, apply('neg', [im]));
  const matrix = reshaped(where(apply('eq', [from, to]), re, across), [inputs * length, 2 * count]);
  return reshaped(matmul(reshaped(x, [batch, inputs * length]), matrix), [batch, 2, count]);
}

/** Real numbers from the frequencies that stand for their spectrum, by one product: those that have a conjugate count twice. */
function realByMatrix(x: Node, length: number): Node {
  const [batch, , count] = x.shape as [Size, number, number];
  const shape = [2, count, length];
  const { re, im } = powers(shape, 1, 2, length, 1);
  const isAlone = apply('eq', [apply('mod', [apply('mul', [iota(shape, 1), 2]), length]), 0]);
  const part = where(isReal(2), re, apply('neg', [im]));
  const matrix = where(isAlone, part, apply('mul', [part, 2]));
  return reshaped(matmul(reshaped(x, [batch, 2 * count]), reshaped(matrix, [2 * count, length])), [batch, 1, length]);
}

/** Elements of radix · rest as transforms of `radix` elements, of the places that have the remainders below `count` modulo `rest`. */
function columnsOf(x: Node, radix: number, rest: number, count: number): Node {
  const [batch, parts] = x.shape as [Size, number];
  const columns = slice(permute(reshaped(x, [batch, parts, radix, rest]), [0, 3, 1, 2]), [null, [0, count]]);
  return reshaped(columns, [times(batch, count), parts, radix]);
}

/** Transforms of columns, times e^(sign·2πi jk/length), as the elements of the next stage: a transform for each frequency. */
function turned(found: Node, batch: Size, columns: number, length: number, sign: Sign): Node {
  const frequencies = found.shape[2] as number;
  const turn = apply('mul', [iota([columns, 1, frequencies], 0), iota([columns, 1, frequencies], 2)]);
  const next = product(reshaped(found, [batch, columns, 2, frequencies]), 2, rootsOfUnity(turn, length, sign));
  return reshaped(permute(next, [0, 3, 2, 1]), [times(batch, frequencies), 2, columns]);
}

/** Of [transforms, radix, parts, rest], with frequency k₁ + radix·k₂ at k₁, k₂, the frequencies in order. */
function inOrder(x: Node): Node {
  const [batch, radix, parts, rest] = x.shape as [Size, number, number, number];
  return reshaped(permute(x, [0, 2, 3, 1]), [batch, parts, radix * rest]);
}

/** Transforms whose length is the product of radices. */
function byRadices(x: Node, radices: readonly number[], sign: Sign): Node {
  const [batch, , length] = x.shape as [Size, number, number];
  const [radix, ...others] = radices as [number, ...number[]];
  if (others.length === 0) return byMatrix(x, sign, length);
  const rest = length / radix;
  const first = byMatrix(columnsOf(x, radix, rest, rest), sign, radix);
  return inOrder(reshaped(byRadices(turned(first, batch, rest, length, sign), others, sign), [batch, radix, 2, rest]));
}

/** Half the spectra of real numbers. At k₁, k₂ stands the conjugate of radix − k₁, rest − 1 − k₂, so the first transforms have half their frequencies. */
function halfByRadices(x: Node, radices: readonly number[]): Node {
  const [batch, , length] = x.shape as [Size, number, number];
  const [radix, ...others] = radices as [number, ...number[]];
  if (others.length === 0) return byMatrix(x, -1, halfOf(length));
  const rest = length / radix;
  const count = halfOf(radix);
  const first = byMatrix(columnsOf(x, radix, rest, rest), -1, count);
  const found = reshaped(byRadices(turned(first, batch, rest, length, -1), others, -1), [batch, count, 2, rest]);
  const whole = radix === count ? found : concat([found, conjugates(flip(slice(found, [null, [1, radix - count + 1]]), [1, 3]), 2)], 1);
  return slice(inOrder(whole), [null, null, [0, halfOf(length)]]);
}

/** Real numbers from half their spectra. The first transforms of columns j and rest − j are conjugates after their factors, so half of them stand for all. */
function realByRadices(x: Node, length: number, radices: readonly number[]): Node {
  const batch = x.shape[0] as Size;
  const [radix, ...others] = radices as [number, ...number[]];
  if (others.length === 0) return realByMatrix(x, length);
  const rest = length / radix;
  const count = halfOf(rest);
  const first = byMatrix(columnsOf(wholeSpectrum(x, length), radix, rest, count), 1, radix);
  return inOrder(reshaped(realByRadices(turned(first, batch, count, length, 1), rest, others), [batch, radix, 1, rest]));
}

/** All frequencies, from those that stand for the spectra of real numbers. */
function wholeSpectrum(half: Node, length: number): Node {
  const count = halfOf(length);
  if (length === count) return half;
  return concat([half, conjugates(flip(slice(half, [null, null, [1, length - count + 1]]), [2]), 1)], 2);
}

/** Transforms of any length: with jk = (j² + k² − (k − j)²)/2 each is a convolution with e^(−sign·πi j²/length), here of a power of two. */
function byConvolution(x: Node, sign: Sign): Node {
  const length = x.shape[2] as number;
  const padded = 2 ** Math.ceil(Math.log2(2 * length - 1));
  const radices = radicesOf(padded) as readonly number[];
  const chirp = (place: Node, direction: Sign) => rootsOfUnity(squaresModulo(place, length), 2 * length, direction);
  const own = chirp(iota([length], 0), sign);
  const long = pad(product(x, 1, own), [[0, 0], [0, 0], [0, padded - length]]);
  // The kernel is even: place `padded` − j has what j has.
  const place = iota([1, padded], 1);
  const distance = apply('minimum', [place, apply('sub', [padded, place])]);
  const isNear = apply('lt', [distance, length]);
  const kernel = where(isNear, chirp(where(isNear, distance, 0), sign === 1 ? -1 : 1), 0);
  const spectrum = complexOf(byRadices(partsOf(kernel), radices, -1)) as ComplexNode;
  const filtered = product(byRadices(long, radices, -1), 1, spectrum);
  const found = slice(byRadices(filtered, radices, 1), [null, null, [0, length]]);
  return product(apply('mul', [found, 1 / padded]), 1, own);
}

/** The transforms of complex rows [transforms, length]. */
export function transform(rows: Node, sign: Sign): Node {
  const x = partsOf(rows);
  const radices = radicesOf(x.shape[2] as number);
  return complexOf(radices === null ? byConvolution(x, sign) : byRadices(x, radices, sign));
}

/** The frequencies that stand for the spectra of real rows. */
function halfOfReal(rows: Node): Node {
  const x = partsOf(rows);
  const length = x.shape[2] as number;
  const radices = radicesOf(length);
  return radices === null ? slice(byConvolution(x, -1), [null, null, [0, halfOf(length)]]) : halfByRadices(x, radices);
}

/** The spectra of real rows. */
export function spectrumOfReal(rows: Node): Node {
  return complexOf(wholeSpectrum(halfOfReal(rows), rows.shape[1] as number));
}

/** The frequencies that are not negative of real rows. */
export function halfSpectrum(rows: Node): Node {
  return complexOf(halfOfReal(rows));
}

/** Real rows of a length, times the length, from their frequencies that are not negative. */
export function fromHalfSpectrum(rows: Node, length: number): Node {
  const x = partsOf(rows);
  const radices = radicesOf(length);
  return pick(radices === null ? byConvolution(wholeSpectrum(x, length), 1) : realByRadices(x, length, radices), 1, 0);
}
