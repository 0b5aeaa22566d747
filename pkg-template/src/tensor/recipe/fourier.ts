/**
 * Discrete Fourier transforms as compositions. A length is a product of radices: of each there is one product of matrices with the DFT of that
 * length, then factors e^(±2πi jk/n), then the next on the transposed rest (Cooley and Tukey 1965; Bailey's four steps for two radices). Lengths
 * with a large prime factor are convolutions of a longer power of two (Bluestein 1970).
 *
 * Tensors of transforms are f32 of shape [transforms, parts, length]: real and imaginary parts, or real parts alone.
 */

import { describe, invalidArgument } from '../../arguments/errors.js';
import { checkWholeNumber } from '../../arguments/numeric-arguments.js';
import { product, shapeText, sizeText, times, type Size } from '../size.js';
import { apply, where } from './elementwise.js';
import { matmul } from './products.js';
import { ComplexNode, constantNode, type Node } from './node.js';
import { checkAxes, checkAxis, checkType, nodeText } from './operands.js';
import { radicesOf } from './radices.js';
import { iota, rootsOfUnity, squaresModulo } from './roots-of-unity.js';
import { concat, flip, pick, slice } from './slices.js';
import { pad } from './borders.js';
import { permute, reshaped } from './views.js';

/** The sign of the exponent: −1 forward, 1 backward. */
type Sign = 1 | -1;
/** Whether there are imaginary parts. */
type Parts = 1 | 2;

/** Most elements of an axis: their numbers are exact in f32, and as whole numbers of 32 bits where they are multiplied. */
const MOST = 2 ** 24;
const MOST_WITH_LARGE_PRIMES = 2 ** 23;

/** Which way a scale goes with a transform. */
export type Norm = 'backward' | 'ortho' | 'forward';

/** What a transform is told, not checked yet. */
export interface Told {
  readonly axes?: unknown;
  readonly norm?: unknown;
}

/** The parts of complex numbers in a tensor of transforms. */
function partsOf(x: Node): ComplexNode {
  return new ComplexNode(pick(x, 1, 0), pick(x, 1, 1));
}

/** Complex numbers [transforms, length] as a tensor of transforms, with both parts or the real ones. */
function fromParts(z: ComplexNode, parts: Parts): Node {
  const [batch, length] = z.shape as [Size, Size];
  const planes = [z.re, z.im].slice(0, parts).map((part) => reshaped(part, [batch, 1, length]));
  return concat(planes, 1);
}

/** The DFT of `length` as a matrix [inputs · length, outputs · length] that rows of parts are multiplied by. */
function dftMatrix(length: number, sign: Sign, inputs: Parts, outputs: Parts): Node {
  const shape = [inputs, length, outputs, length];
  const turn = apply('mod', [apply('mul', [iota(shape, 1), iota(shape, 3)]), length]);
  const { re, im } = rootsOfUnity(turn, length, sign);
  const [from, to] = [iota(shape, 0), iota(shape, 2)];
  const across = where(apply('lt', [from, to]), im, apply('neg', [im]));
  return reshaped(where(apply('eq', [from, to]), re, across), [inputs * length, outputs * length]);
}

/** Transforms of a length that is the product of radices. */
function byRadices(x: Node, radices: readonly number[], sign: Sign, outputs: Parts): Node {
  const [batch, inputs, length] = x.shape as [Size, Parts, number];
  const [radix, ...others] = radices as [number, ...number[]];
  if (others.length === 0) {
    return reshaped(matmul(reshaped(x, [batch, inputs * length]), dftMatrix(length, sign, inputs, outputs)), [batch, outputs, length]);
  }
  // Element j₁·rest + j₂ goes to k₁ + radix·k₂.
  const rest = length / radix;
  const columns = permute(reshaped(x, [batch, inputs, radix, rest]), [0, 3, 1, 2]);
  const first = matmul(reshaped(columns, [times(batch, rest), inputs * radix]), dftMatrix(radix, sign, inputs, 2));
  const parts = reshaped(first, [batch, rest, 2, radix]);
  const turn = apply('mul', [iota([rest, radix], 0), iota([rest, radix], 1)]);
  const turned = apply('mul', [new ComplexNode(pick(parts, 2, 0), pick(parts, 2, 1)), rootsOfUnity(turn, length, sign)]);
  const rows = reshaped(permute(turned, [0, 2, 1]), [times(batch, radix), rest]);
  const second = byRadices(fromParts(rows as ComplexNode, 2), others, sign, outputs);
  return reshaped(permute(reshaped(second, [batch, radix, outputs, rest]), [0, 2, 3, 1]), [batch, outputs, length]);
}

/** Transforms of any length: with jk = (j² + k² − (k − j)²)/2 each is a convolution with w^(−j²/2), here of a power of two. */
function byConvolution(x: Node, sign: Sign, outputs: Parts): Node {
  const [batch, inputs, length] = x.shape as [Size, Parts, number];
  const padded = 2 ** Math.ceil(Math.log2(2 * length - 1));
  const radices = radicesOf(padded) as readonly number[];
  const chirp = (place: Node, direction: Sign) => rootsOfUnity(squaresModulo(place, length), 2 * length, direction);
  const own = chirp(iota([length], 0), sign);
  const real = pick(x, 1, 0);
  const turned = apply('mul', [inputs === 1 ? new ComplexNode(real, constantNode(0, 'f32', real.shape)) : partsOf(x), own]) as ComplexNode;
  const long = pad(turned, [[0, 0], [0, padded - length]]) as ComplexNode;
  // The kernel is even: place `padded` − j has what j has.
  const place = iota([padded], 0);
  const distance = apply('minimum', [place, apply('sub', [padded, place])]);
  const isNear = apply('lt', [distance, length]);
  const kernel = where(isNear, chirp(where(isNear, distance, 0), sign === 1 ? -1 : 1), 0);
  const spectrum = partsOf(byRadices(fromParts(reshaped(kernel, [1, padded]) as ComplexNode, 2), radices, -1, 2));
  const filtered = apply('mul', [partsOf(byRadices(fromParts(long, 2), radices, -1, 2)), spectrum]) as ComplexNode;
  const back = partsOf(byRadices(fromParts(filtered, 2), radices, 1, 2));
  const scaled = apply('mul', [slice(back, [null, [0, length]]), 1 / padded]);
  return reshaped(fromParts(apply('mul', [scaled, own]) as ComplexNode, outputs), [batch, outputs, length]);
}

/** The size of an axis to transform. */
function lengthOf(operation: string, x: Node, axis: number): number {
  const size = x.shape[axis] as Size;
  if (typeof size !== 'number') throw invalidArgument(operation, `the Dim ${sizeText(size)} as the size of axis ${axis}`, 'an axis whose size is a number');
  if (size === 0) throw invalidArgument(operation, `axis ${axis} without elements in ${nodeText(x)}`, 'an axis with at least one element');
  return checkLength(operation, size);
}

function checkLength(operation: string, length: number): number {
  const most = radicesOf(Math.min(length, MOST)) === null ? MOST_WITH_LARGE_PRIMES : MOST;
  if (length > most) throw invalidArgument(operation, `a transform of ${length} elements`, `at most ${MOST}, or ${MOST_WITH_LARGE_PRIMES} where the length has prime factors above 127`);
  return length;
}

/** Transforms along an axis without a scale: of real or of complex numbers, to complex numbers or to their real parts. */
function along(x: Node, axis: number, length: number, sign: Sign, outputs: Parts): Node {
  const last = x.shape.length - 1;
  const order = [...x.shape.keys()].filter((each) => each !== axis);
  const moved = permute(x, [...order, axis]);
  const leading = moved.shape.slice(0, -1);
  const rows = reshaped(moved, [product(leading), length]);
  const planes = rows instanceof ComplexNode ? fromParts(rows, 2) : reshaped(rows, [rows.shape[0] as Size, 1, length]);
  const radices = radicesOf(length);
  const found = radices === null ? byConvolution(planes, sign, outputs) : byRadices(planes, radices, sign, outputs);
  const whole = outputs === 2 ? partsOf(found) : pick(found, 1, 0);
  const back = Array.from({ length: last + 1 }, (_, k) => (k < axis ? k : k === axis ? last : k - 1));
  return permute(reshaped(whole, [...leading, length]), back);
}

/** The axes of transforms in the order in which they are told, the last one of a tensor unless told. */
function axesOf(operation: string, x: Node, axes: unknown): number[] {
  const rank = x.shape.length;
  if (rank === 0) throw invalidArgument(operation, nodeText(x), 'a tensor with at least one axis');
  const list: readonly unknown[] = axes === undefined ? [-1] : Array.isArray(axes) ? axes : [axes];
  if (list.length === 0) throw invalidArgument(`${operation}: axes`, 'no axis', 'at least one');
  checkAxes(`${operation}: axes`, list, rank);
  return list.map((axis) => checkAxis(`${operation}: axes`, axis, rank));
}

function checkNorm(operation: string, norm: unknown): asserts norm is Norm {
  if (norm !== 'backward' && norm !== 'ortho' && norm !== 'forward') throw invalidArgument(`${operation}: norm`, describe(norm), "'backward', 'ortho' or 'forward'");
}

/** Applies the scale of transforms of so many elements in all. */
function scaled(x: Node, count: number, sign: Sign, norm: Norm): Node {
  const isScaled = norm === (sign === 1 ? 'backward' : 'forward');
  const factor = norm === 'ortho' ? 1 / Math.sqrt(count) : isScaled ? 1 / count : 1;
  return factor === 1 ? x : apply('mul', [x, factor]);
}

/** The transform, or its inverse, of complex numbers; the transform of real ones too. */
export function fft(operation: 'fft' | 'ifft', x: Node, { axes, norm = 'backward' }: Told): Node {
  checkType(operation, x, operation === 'fft' ? ['f32', 'c64'] : ['c64']);
  checkNorm(operation, norm);
  const sign = operation === 'fft' ? -1 : 1;
  const over = axesOf(operation, x, axes);
  const lengths = over.map((axis) => lengthOf(operation, x, axis));
  const found = over.reduce((z, axis, k) => along(z, axis, lengths[k] as number, sign, 2), x);
  return scaled(found, product(lengths) as number, sign, norm);
}

/** The frequencies of real numbers that are not negative. */
export function rfft(x: Node, { axes, norm = 'backward' }: Told): Node {
  checkType('rfft', x, ['f32']);
  checkNorm('rfft', norm);
  const over = axesOf('rfft', x, axes);
  const lengths = over.map((axis) => lengthOf('rfft', x, axis));
  const last = over.at(-1) as number;
  const length = lengths.at(-1) as number;
  const whole = along(x, last, length, -1, 2);
  const half = slice(whole, whole.shape.map((_, axis) => (axis === last ? [0, Math.floor(length / 2) + 1] : null)));
  const found = over.slice(0, -1).reduce((z, axis, k) => along(z, axis, lengths[k] as number, -1, 2), half);
  return scaled(found, product(lengths) as number, -1, norm);
}

/** Real numbers from their frequencies that are not negative. */
export function irfft(x: Node, { axes, norm = 'backward', length: told }: Told & { readonly length?: unknown }): Node {
  checkType('irfft', x, ['c64']);
  checkNorm('irfft', norm);
  const over = axesOf('irfft', x, axes);
  const last = over.at(-1) as number;
  const present = lengthOf('irfft', x, last);
  if (told !== undefined) checkWholeNumber('irfft: length', told, 1);
  const length = told === undefined ? 2 * (present - 1) : told;
  if (length === 0) throw invalidArgument('irfft', `one frequency along axis ${last}, of shape ${shapeText(x.shape)}`, 'the option `length`, 1 here, as without it the length is 0');
  checkLength('irfft', length);
  const others = over.slice(0, -1);
  const lengths = others.map((axis) => lengthOf('irfft', x, axis));
  const inner = others.reduce((z, axis, k) => along(z, axis, lengths[k] as number, 1, 2), x);
  const found = along(hermitian(inner, last, length), last, length, 1, 1);
  return scaled(found, (product(lengths) as number) * length, 1, norm);
}

/** All frequencies of real numbers from those that are not negative, cut off or with zeros behind them where there are others than the length has. */
function hermitian(x: Node, axis: number, length: number): Node {
  const count = Math.floor(length / 2) + 1;
  const present = x.shape[axis] as number;
  const range = (start: number, end: number) => x.shape.map((_, each) => (each === axis ? [start, end] : null));
  const half = present >= count ? slice(x, range(0, count)) : pad(x, x.shape.map((_, each) => [0, each === axis ? count - present : 0]));
  if (length === count) return half;
  const mirrored = flip(slice(half, range(1, length - count + 1)), [axis]) as ComplexNode;
  return concat([half, new ComplexNode(mirrored.re, apply('neg', [mirrored.im]))], axis);
}
