/** The expression of a number between those of a grid: a place in the table, and polynomials in how far the point lies behind it. */

import { Op } from '../expressions/op-codes.js';
import { activeRecording } from '../expressions/tape.js';
import { literal, select, Value, type Scalar } from '../expressions/value.js';

/** How a grid is read between its numbers. */
export type GridInterpolation =
  /** The number of the nearest place, halves upward. Its derivative is 0. */
  | 'nearest'
  /** Linear along each axis. */
  | 'linear'
  /** Cubic along each axis: Catmull-Rom, or with `prefilter` the cubic B-spline through the numbers. */
  | 'cubic'
  /** The cubic B-spline along each axis whose coefficients the numbers are. It is smooth, and does not go through them. */
  | 'b-spline';

/** All of them. */
export const INTERPOLATIONS: readonly string[] = ['nearest', 'linear', 'cubic', 'b-spline'];

/** What stands around a grid: its nearest number, its mirror image about the outermost numbers, the grid again, or a number. */
export type GridBorder = 'clamp' | 'mirror' | 'repeat' | number;

/** An axis of a grid. */
export interface Axis {
  /** How many numbers stand along it. */
  readonly size: number;
  /** Places along it, with those of the border. */
  readonly padded: number;
  /** Places before the first number. */
  readonly before: number;
  /** The least and the largest place that a coordinate is rounded down to. */
  readonly least: number;
  readonly most: number;
  /** How a coordinate is brought between them. */
  readonly fold: 'clamp' | 'mirror' | 'repeat';
  /** Between which coordinates it is kept; for 'clamp' alone. */
  readonly low: number;
  readonly high: number;
}

/** Which places around a coordinate's own are read. */
export const TAPS: Record<GridInterpolation, readonly [first: number, last: number]> = { nearest: [0, 0], linear: [0, 1], cubic: [-1, 2], 'b-spline': [-1, 2] };

/** Returns an axis of `size` numbers. */
export function makeAxis(size: number, interpolation: GridInterpolation, border: GridBorder, prefilter: boolean): Axis {
  const [first, last] = TAPS[interpolation];
  const at = (fold: Axis['fold'], low: number, high: number, least = low, most = high): Axis => {
    return { size, fold, low, high, least, most, before: -(least + first), padded: most + last - (least + first) + 1 };
  };
  // One number is its own mirror image.
  if (border === 'mirror' && size > 1) return at('mirror', 0, size - 1);
  // A coordinate that rounding has left below 0, or at the size, is the next place's.
  if (border === 'repeat') return at('repeat', 0, size, -1, size);
  // A spline goes on as the mirror image of its coefficients, so its coordinate stays at the outermost numbers.
  if (prefilter && typeof border !== 'number') return at('clamp', 0, size - 1);
  // As far outside as taps reach numbers of the grid.
  const reach = Math.max(1, last);
  return at('clamp', -reach, size - 1 + reach);
}

/** Returns the coordinate, brought between the least and the largest place of its axis. */
function folded(u: Value, { fold, size, low, high }: Axis): Value {
  if (fold === 'clamp') return u.max(literal(low)).min(literal(high));
  const period = fold === 'repeat' ? size : 2 * (size - 1);
  const periods = u.mul(literal(1 / period));
  if (fold === 'repeat') return u.sub(periods.floor().mul(literal(period)));
  const rest = u.sub(periods.round().mul(literal(period)));
  // Not the absolute value: its derivative at 0 is 0, where a second derivative is not.
  return select(rest.lt(literal(0)), rest.neg(), rest);
}

/**
 * A sum of numbers along an axis as one of them and multiples of the differences from it, whose factors are polynomials in how far the point lies behind its
 * place: slopes keep the digits that neighbours have in common.
 */
interface Kernel {
  /** Which of the numbers that is, from the first that is read. */
  readonly base: number;
  /** The others with the coefficients of their factors, the constant first. */
  readonly others: readonly (readonly [tap: number, factor: readonly number[]])[];
}

const KERNELS: Record<GridInterpolation, Kernel> = {
  nearest: { base: 0, others: [] },
  linear: { base: 0, others: [[1, [0, 1]]] },
  // Catmull-Rom: through the numbers, with the differences of neighbours as slopes (R. Keys, "Cubic Convolution Interpolation", 1981).
  cubic: { base: 1, others: [[0, [0, -1 / 2, 1, -1 / 2]], [2, [0, 1 / 2, 2, -3 / 2]], [3, [0, 0, -1 / 2, 1 / 2]]] },
  // M. Unser, "Splines: A Perfect Fit for Signal and Image Processing", 1999.
  'b-spline': { base: 1, others: [[0, [1 / 6, -1 / 2, 1 / 2, -1 / 6]], [2, [1 / 6, 1 / 2, 1 / 2, -1 / 2]], [3, [0, 0, 0, 1 / 6]]] },
};

/** Returns the kernel of a derivative along an axis. Its factors add up to 0 from the first derivative on, and to 1 before. */
export function kernelOf(interpolation: GridInterpolation, derivative = 0): Kernel {
  let { base, others } = KERNELS[interpolation];
  for (let order = 0; order < derivative; order++) others = others.map(([tap, factor]) => [tap, factor.slice(1).map((coefficient, k) => (k + 1) * coefficient)]);
  return { base, others: others.filter(([, factor]) => factor.some((coefficient) => coefficient !== 0)) };
}

/** The weights of an axis at a point. */
interface Weights {
  readonly base: number;
  /** Whether the factors add up to 1, else to 0. */
  readonly whole: boolean;
  readonly others: readonly (readonly [tap: number, factor: Value])[];
}

/** Returns the weights of a derivative along an axis, so far behind a place. */
export function weightsAt(behind: Value, interpolation: GridInterpolation, derivative = 0): Weights {
  const { base, others } = kernelOf(interpolation, derivative);
  return { base, whole: derivative === 0, others: others.map(([tap, factor]) => [tap, polynomial(behind, factor)]) };
}

/** Returns the polynomial by Horner's rule. */
function polynomial(t: Value, coefficients: readonly number[]): Value {
  let value: Value | null = null;
  for (const coefficient of coefficients.slice().reverse()) {
    if (value !== null) value = value.mul(t);
    if (coefficient !== 0) value = value === null ? literal(coefficient) : value.add(literal(coefficient));
  }
  return value ?? literal(0);
}

/** A table as its expressions read it. */
export interface TableShape {
  /** Where it begins among all tables. */
  readonly first: number;
  readonly axes: readonly Axis[];
  readonly channels: number;
  readonly interpolation: GridInterpolation;
  readonly prefilter: boolean;
}

/** Returns the channels at a point, one coordinate an axis, in the active recording. */
export function interpolate({ first, axes, channels, interpolation, prefilter }: TableShape, coordinates: readonly Scalar[]): Value[] {
  const recording = activeRecording();
  if (recording === null) throw new Error('a grid is read outside a recording');
  let stride = channels;
  let [begin, length] = [0, 1];
  const strides: number[] = [];
  const behind: Value[] = [];
  let place: Value | null = null;
  for (const [number, axis] of axes.entries()) {
    // A number becomes a constant of the recording.
    const coordinate = coordinates[number] as Scalar;
    const u = folded(coordinate instanceof Value ? coordinate : Value.at(recording, recording.position(coordinate)), axis);
    const whole = (interpolation === 'nearest' ? u.add(literal(0.5)) : u).floor();
    behind.push(u.sub(whole));
    const along = stride === 1 ? whole : whole.mul(literal(stride));
    place = place === null ? along : place.add(along);
    begin -= axis.least * stride;
    length += (axis.most - axis.least) * stride;
    strides.push(stride);
    stride *= axis.padded;
  }
  // Places are counted from the least.
  const from = begin === 0 ? (place as Value) : (place as Value).add(literal(begin));
  const operands = [from.index, literal(length).index] as const;
  const number = (at: number) => Value.at(recording, recording.push(Op.lookup, operands[0], literal(first + at).index, operands[1]));
  if (interpolation === 'nearest') {
    // A table has a number for every place; a NaN is seen here alone, where no factor is.
    return Array.from({ length: channels }, (_, channel) => select(from.eq(from), number(channel), literal(Number.NaN)));
  }
  const weights = behind.map((t) => weightsAt(t, prefilter ? 'b-spline' : interpolation));
  return Array.from({ length: channels }, (_, channel) => weighted(number, channel, strides, weights));
}

/** The sum along the last axis of sums along those before it. `number` gives the number at a place, and strides are of places along the axes. */
export function weighted(number: (at: number) => Value, at: number, strides: readonly number[], weights: readonly Weights[]): Value {
  const axis = weights.length - 1;
  if (axis < 0) return number(at);
  const { base, whole, others } = weights[axis] as Weights;
  const of = (tap: number) => weighted(number, at + tap * (strides[axis] as number), strides.slice(0, axis), weights.slice(0, axis));
  const first = of(base);
  const parts = others.map(([tap, factor]) => factor.mul(of(tap).sub(first)));
  if (whole) parts.unshift(first);
  return parts.length === 0 ? literal(0) : parts.reduce((sum, part) => sum.add(part));
}
