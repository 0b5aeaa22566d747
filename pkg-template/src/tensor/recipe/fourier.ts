/** Fourier transforms along axes of tensors. */

import { describe, invalidArgument } from '../../arguments/errors.js';
import { checkWholeNumber } from '../../arguments/numeric-arguments.js';
import { product, shapeText, sizeText, type Size } from '../size.js';
import { pad } from './borders.js';
import { fromHalfSpectrum, halfOf, halfSpectrum, spectrumOfReal, transform, type Sign } from './dft.js';
import { apply } from './elementwise.js';
import { ComplexNode, type Node } from './node.js';
import { checkAxes, checkAxis, checkType, nodeText } from './operands.js';
import { radicesOf } from './radices.js';
import { slice } from './slices.js';
import { permute, reshaped } from './views.js';

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

/** Applies a transform of rows along an axis. */
function along(x: Node, axis: number, transformed: (rows: Node) => Node): Node {
  const rank = x.shape.length;
  const moved = permute(x, [...[...x.shape.keys()].filter((each) => each !== axis), axis]);
  const leading = moved.shape.slice(0, -1);
  const rows = transformed(reshaped(moved, [product(leading), moved.shape.at(-1) as Size]));
  const back = Array.from({ length: rank }, (_, k) => (k < axis ? k : k === axis ? rank - 1 : k - 1));
  return permute(reshaped(rows, [...leading, rows.shape[1] as Size]), back);
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
  const transformed = (z: Node, axis: number) => along(z, axis, (rows) => (rows instanceof ComplexNode ? transform(rows, sign) : spectrumOfReal(rows)));
  return scaled(over.reduce(transformed, x), product(lengths) as number, sign, norm);
}

/** The frequencies of real numbers that are not negative. */
export function rfft(x: Node, { axes, norm = 'backward' }: Told): Node {
  checkType('rfft', x, ['f32']);
  checkNorm('rfft', norm);
  const over = axesOf('rfft', x, axes);
  const lengths = over.map((axis) => lengthOf('rfft', x, axis));
  const half = along(x, over.at(-1) as number, halfSpectrum);
  const found = over.slice(0, -1).reduce((z, axis) => along(z, axis, (rows) => transform(rows, -1)), half);
  return scaled(found, product(lengths) as number, -1, norm);
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
  const inner = over.slice(0, -1).reduce((z, axis) => along(z, axis, (rows) => transform(rows, 1)), x);
  const found = along(fitted(inner, last, halfOf(length)), last, (rows) => fromHalfSpectrum(rows, length));
  return scaled(found, (product(lengths.slice(0, -1)) as number) * length, 1, norm);
}

/** The first `count` elements of an axis, with zeros behind them where there are fewer. */
function fitted(x: Node, axis: number, count: number): Node {
  const present = x.shape[axis] as number;
  if (present >= count) return slice(x, x.shape.map((_, each) => (each === axis ? [0, count] : null)));
  return pad(x, x.shape.map((_, each) => [0, each === axis ? count - present : 0]));
}
