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
  /** Cubic along each axis: Catmull-Rom, or with `prefilter` a cubic B-spline. */
  | 'cubic';

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
const TAPS: Record<GridInterpolation, readonly [first: number, last: number]> = { nearest: [0, 0], linear: [0, 1], cubic: [-1, 2] };

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
 * A sum of numbers around a point whose factors add up to 1, as one of the numbers and multiples of the differences from it: slopes keep the digits that neighbours
 * have in common.
 */
interface Weights {
  /** Which of the numbers that is, from the first that is read. */
  readonly base: number;
  /** The others with their factors. */
  readonly others: readonly (readonly [tap: number, factor: Value])[];
}

/** Linear. */
const linear = (t: Value): Weights => ({ base: 0, others: [[1, t]] });

/** Catmull-Rom: through the numbers, with the differences of neighbours as slopes (R. Keys, "Cubic Convolution Interpolation", 1981). */
function catmullRom(t: Value): Weights {
  const square = t.mul(t);
  const last = square.mul(t).sub(square).mul(literal(0.5));
  const half = t.sub(square).mul(literal(0.5));
  return { base: 1, others: [[0, last.add(half).neg()], [2, half.add(square).sub(last.mul(literal(3)))], [3, last]] };
}

/** The cubic B-spline (M. Unser, "Splines: A Perfect Fit for Signal and Image Processing", 1999). */
function bSpline(t: Value): Weights {
  const rest = literal(1).sub(t);
  const outer = (x: Value) => x.mul(x).mul(x).mul(literal(1 / 6));
  const inner = literal(2 / 3).sub(rest.mul(rest).mul(literal(1).sub(rest.mul(literal(0.5)))));
  return { base: 1, others: [[0, outer(rest)], [2, inner], [3, outer(t)]] };
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
  const factors = interpolation === 'linear' ? linear : prefilter ? bSpline : catmullRom;
  const weights = behind.map(factors);
  return Array.from({ length: channels }, (_, channel) => weighted(number, channel, strides, weights));
}

/** The sum along the last axis of sums along those before it. */
function weighted(number: (at: number) => Value, at: number, strides: readonly number[], weights: readonly Weights[]): Value {
  const axis = weights.length - 1;
  if (axis < 0) return number(at);
  const { base, others } = weights[axis] as Weights;
  const of = (tap: number) => weighted(number, at + tap * (strides[axis] as number), strides.slice(0, axis), weights.slice(0, axis));
  const first = of(base);
  return others.reduce((sum, [tap, factor]) => sum.add(factor.mul(of(tap).sub(first))), first);
}
