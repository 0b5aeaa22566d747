/** Fourier transforms along axes of tensors. */

import { describe, invalidArgument } from '../../arguments/errors.js';
import { checkWholeNumber } from '../../arguments/numeric-arguments.js';
import { product, shapeText, sizeText, type Size } from '../size.js';
import { pad } from './borders.js';
import { fromHalfSpectrum, halfOf, halfSpectrum, isSmooth, transform, type Sign } from './dft.js';
import type { ComplexNode, Node } from './node.js';
import { checkAxes, checkAxis, checkType, nodeText } from './operands.js';
import { slice } from './slices.js';

/** Most elements of an axis: the places of their roots of unity are whole numbers of 32 bits. */
const MOST = 2 ** 24;
const MOST_WITH_LARGE_PRIMES = 2 ** 23;

/** Which way a scale goes with a transform. */
export type Norm = 'backward' | 'ortho' | 'forward';

/** What a transform is told, not checked yet. */
export interface Told {
  readonly axes?: unknown;
  readonly norm?: unknown;
}

/** The size of an axis to transform. */
function lengthOf(operation: string, x: Node, axis: number): number {
  const size = x.shape[axis] as Size;
  if (typeof size !== 'number') throw invalidArgument(operation, `the Dim ${sizeText(size)} as the size of axis ${axis}`, 'an axis whose size is a number');
  if (size === 0) throw invalidArgument(operation, `axis ${axis} without elements in ${nodeText(x)}`, 'an axis with at least one element');
  return checkLength(operation, size);
}

function checkLength(operation: string, length: number): number {
  const most = isSmooth(length) ? MOST : MOST_WITH_LARGE_PRIMES;
  if (length > most) throw invalidArgument(operation, `a transform of ${length} elements`, `at most ${MOST}, or ${MOST_WITH_LARGE_PRIMES} where the length has prime factors above 13`);
  return length;
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

/** The scale of transforms of so many elements in all. */
function scaleOf(count: number, sign: Sign, norm: Norm): number {
  const isScaled = norm === (sign === 1 ? 'backward' : 'forward');
  return norm === 'ortho' ? 1 / Math.sqrt(count) : isScaled ? 1 / count : 1;
}

/** Transforms along axes, one after another, of which the first has the scale. */
function alongAll(x: Node, axes: readonly number[], sign: Sign, scale: number): Node {
  return axes.reduce((z, axis, place) => transform(z, axis, sign, place === 0 ? scale : 1), x);
}

/** The transform, or its inverse, of complex numbers; the transform of real ones too. */
export function fft(operation: 'fft' | 'ifft', x: Node, { axes, norm = 'backward' }: Told): Node {
  checkType(operation, x, operation === 'fft' ? ['f32', 'c64'] : ['c64']);
  checkNorm(operation, norm);
  const sign = operation === 'fft' ? -1 : 1;
  const over = axesOf(operation, x, axes);
  const lengths = over.map((axis) => lengthOf(operation, x, axis));
  return alongAll(x, over, sign, scaleOf(product(lengths) as number, sign, norm));
}

/** The frequencies of real numbers that are not negative. */
export function rfft(x: Node, { axes, norm = 'backward' }: Told): Node {
  checkType('rfft', x, ['f32']);
  checkNorm('rfft', norm);
  const over = axesOf('rfft', x, axes);
  const lengths = over.map((axis) => lengthOf('rfft', x, axis));
  const half = halfSpectrum(x, over.at(-1) as number, scaleOf(product(lengths) as number, -1, norm));
  return alongAll(half, over.slice(0, -1), -1, 1);
}

/** Real numbers from their frequencies that are not negative. */
export function irfft(x: Node, { axes, norm = 'backward', length: told }: Told & { readonly length?: unknown }): Node {
  checkType('irfft', x, ['c64']);
  checkNorm('irfft', norm);
  const over = axesOf('irfft', x, axes);
  const last = over.at(-1) as number;
  const lengths = over.map((axis) => lengthOf('irfft', x, axis));
  if (told !== undefined) checkWholeNumber('irfft: length', told, 1);
  const length = told === undefined ? 2 * ((lengths.at(-1) as number) - 1) : told;
  if (length === 0) throw invalidArgument('irfft', `one frequency along axis ${last}, of shape ${shapeText(x.shape)}`, 'the option `length`, 1 here, as without it the length is 0');
  checkLength('irfft', length);
  const inner = alongAll(x, over.slice(0, -1), 1, 1);
  const half = fitted(inner, last, halfOf(length)) as ComplexNode;
  return fromHalfSpectrum(half, last, length, scaleOf((product(lengths.slice(0, -1)) as number) * length, 1, norm));
}

/** The first `count` elements of an axis, with zeros behind them where there are fewer. */
function fitted(x: Node, axis: number, count: number): Node {
  const present = x.shape[axis] as number;
  if (present >= count) return slice(x, x.shape.map((_, each) => (each === axis ? [0, count] : null)));
  return pad(x, x.shape.map((_, each) => [0, each === axis ? count - present : 0]));
}
