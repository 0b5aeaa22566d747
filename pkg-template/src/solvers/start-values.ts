/**
 * Start values of curves. A curve is linear in its height and offset: for a shape they have a closed form, and the shape is sought on a grid and then by
 * halved steps (variable projection: G. H. Golub and V. Pereyra, 1973). Circles and ellipses have closed forms.
 */

import { describe, invalidArgument } from '../arguments/errors.js';
import { copyNumbers, type Numbers } from '../arguments/numeric-arguments.js';
import { mean } from '../problem/vectors.js';
import { randomNumbers } from './latin-hypercube.js';
import { circleThrough, ellipseThrough, type CircleValues, type EllipseValues } from './conics.js';

/** y = height · exp(−½ ((x − center)/sigma)²) + offset. */
export type GaussianValues = {
  height: number;
  center: number;
  sigma: number;
  offset: number;
};

/** y = height / (1 + ((x − center)/gamma)²) + offset. */
export type LorentzianValues = {
  height: number;
  center: number;
  gamma: number;
  offset: number;
};

/** y = amplitude · exp(rate · x) + offset. */
export type ExponentialValues = {
  amplitude: number;
  rate: number;
  offset: number;
};

/** y = height / (1 + exp(−(x − center)/width)) + offset, with a width above 0. */
export type LogisticValues = {
  height: number;
  center: number;
  width: number;
  offset: number;
};

/** y = amplitude · sin(2π · frequency · x + phase) + offset, with an amplitude above 0. */
export type SineValues = {
  amplitude: number;
  frequency: number;
  phase: number;
  offset: number;
};

/** Samples that a search looks at, at most. */
const MOST_SAMPLES = 512;
/** Frequencies that are tried for a sine in the span of the samples, in steps of a quarter of a period, at most. */
const MOST_FREQUENCIES = 4096;
/** Points of the grid from which a search goes on. */
const MOST_CANDIDATES = 8;
/** Halvings of the steps after the grid: to some 1e-6 of a step. */
const HALVINGS = 20;
/** Moves of all numbers of a shape by one step, at most, before the step is halved. */
const MOVES = 8;
/** A basis that varies by less than this share of itself, or two that differ by as little, tell nothing of a shape. */
const LEAST_VARIATION = 1e-12;

/** Samples with x from 0 to 1: x = first + span · u. */
interface Samples {
  readonly u: Float64Array;
  readonly y: Float64Array;
  readonly first: number;
  readonly span: number;
}

/** Writes the bases of a curve for a shape at each u: what its heights multiply. One, or two. */
type Bases = (shape: readonly number[], u: Float64Array, bases: readonly [Float64Array, Float64Array]) => void;

/** Values of a number of the shape that are tried, and the value by a part of a step of theirs beside another. */
interface Axis {
  readonly values: readonly number[];
  readonly beside: (value: number, part: number) => number;
}

/** A shape, and the sum of squares that it leaves. */
interface Tried {
  readonly left: number;
  readonly shape: readonly number[];
}

/** What is found: the shape, the heights of the bases, and the offset. */
interface Found {
  readonly shape: readonly number[];
  readonly heights: readonly number[];
  readonly offset: number;
}

/**
 * Start values of the usual curves for `fit`, from samples in any order with noise. Each takes `x` and `y`, as many of both, throws 'invalid-argument' for
 * fewer samples than the curve has parameters, for numbers that are not finite, and for samples that are all at one place.
 */
export const startValues = {
  /** A peak, or with a negative height a dip, of Gauss. */
  gaussian: (x: Numbers, y: Numbers): GaussianValues => {
    const { shape: [center, sigma], heights: [height], offset, place, length } = peak('startValues.gaussian', x, y, (t) => Math.exp(-0.5 * t * t));
    return { height, center: place(center), sigma: length(sigma), offset };
  },
  /** A peak, or with a negative height a dip, of Lorentz. */
  lorentzian: (x: Numbers, y: Numbers): LorentzianValues => {
    const { shape: [center, gamma], heights: [height], offset, place, length } = peak('startValues.lorentzian', x, y, (t) => 1 / (1 + t * t));
    return { height, center: place(center), gamma: length(gamma), offset };
  },
  /** Growth or decay. Also throws where the amplitude at x = 0 is beyond the range of numbers: x may be shifted then. */
  exponential: (x: Numbers, y: Numbers): ExponentialValues => {
    const samples = readSamples('startValues.exponential', x, y, 3);
    // From the end at which it is 1, so that it never exceeds it.
    const end = (rate: number): number => (rate > 0 ? 1 : 0);
    const found = search(samples, 1, ([rate = 0], u, [a]) => u.forEach((at, i) => (a[i] = Math.exp(rate * (at - end(rate))))), [signed(geometric(0.01, 2 * samples.u.length, 80))]);
    const [scaled = 0] = found.shape;
    const rate = scaled / samples.span;
    const [height = 0] = found.heights;
    const amplitude = height * Math.exp(-rate * (samples.first + end(scaled) * samples.span));
    if (!Number.isFinite(amplitude) || (amplitude === 0 && height !== 0)) throw invalidArgument('startValues.exponential: x', `numbers for which the amplitude at x = 0 is ${amplitude}`, 'x nearer to 0');
    return { amplitude, rate, offset: found.offset };
  },
  /** A step from one level to another. */
  logistic: (x: Numbers, y: Numbers): LogisticValues => {
    const samples = readSamples('startValues.logistic', x, y, 4);
    const { shape: [center = 0, width = 0], heights: [height = 0], offset } = search(
      samples,
      1,
      ([center = 0, width = 1], u, [a]) => u.forEach((at, i) => (a[i] = 1 / (1 + Math.exp((center - at) / width)))),
      [linear(-0.5, 1.5, 97), geometric(0.25 / samples.u.length, 1, 24)],
    );
    return { height, center: samples.first + samples.span * center, width: samples.span * width, offset };
  },
  /** A wave of up to 1,024 periods within the samples. */
  sine: (x: Numbers, y: Numbers): SineValues => {
    const all = readSamples('startValues.sine', x, y, 4, 'drawn');
    const count = Math.min(MOST_FREQUENCIES, 2 * x.length);
    const found = search(
      all,
      2,
      ([periods = 0], u, [a, b]) => {
        for (const [i, at] of u.entries()) {
          a[i] = Math.sin(2 * Math.PI * periods * at);
          b[i] = Math.cos(2 * Math.PI * periods * at);
        }
      },
      [linear(0.25, count / 4, count)],
    );
    const [periods = 0] = found.shape;
    const [sine = 0, cosine = 0] = found.heights;
    const frequency = periods / all.span;
    const phase = Math.atan2(cosine, sine) - 2 * Math.PI * frequency * all.first;
    return { amplitude: Math.hypot(sine, cosine), frequency, phase: phase - 2 * Math.PI * Math.round(phase / (2 * Math.PI)), offset: found.offset };
  },
  /** A circle through points, by G. Taubin's algebraic fit (1991). Also throws for points on a line. */
  circle: (x: Numbers, y: Numbers): CircleValues => {
    return circleThrough(...readPoints('startValues.circle', x, y, 3));
  },
  /** An ellipse through points, by the direct fit of A. Fitzgibbon, M. Pilu and R. Fisher (1999). Also throws for points on no ellipse, such as a line. */
  ellipse: (x: Numbers, y: Numbers): EllipseValues => {
    return ellipseThrough(...readPoints('startValues.ellipse', x, y, 5));
  },
};
Object.freeze(startValues);

/** A peak of a form, which is 1 at 0. */
function peak(call: string, x: Numbers, y: Numbers, form: (t: number) => number) {
  const samples = readSamples(call, x, y, 4);
  const { shape: [center = 0, width = 0], heights: [height = 0], offset } = search(
    samples,
    1,
    ([center = 0, width = 1], u, [a]) => u.forEach((at, i) => (a[i] = form((at - center) / width))),
    [linear(-0.25, 1.25, 145, extremes(samples)), geometric(0.25 / samples.u.length, 1, 24)],
  );
  const place = (u: number): number => samples.first + samples.span * u;
  return { shape: [center, width] as const, heights: [height] as const, offset, place, length: (u: number): number => samples.span * u };
}

/** The shape with which the curve of one or two bases leaves least of the samples. */
function search({ u, y }: Samples, count: 1 | 2, bases: Bases, axes: readonly Axis[]): Found {
  const memory = [new Float64Array(u.length), new Float64Array(u.length)] as const;
  const fit = (shape: readonly number[]): ReturnType<typeof project> => {
    bases(shape, u, memory);
    return project(y, memory, count);
  };
  // Between points of the grid another one may be better.
  const nearest: Tried[] = [];
  const [first, second] = axes as [Axis, Axis?];
  for (const a of first.values) {
    for (const b of second?.values ?? [null]) {
      const shape = b === null ? [a] : [a, b];
      const { left } = fit(shape);
      if (nearest.length === MOST_CANDIDATES && !(left < (nearest.at(-1) as Tried).left)) continue;
      const place = nearest.findIndex((each) => left < each.left);
      nearest.splice(place < 0 ? nearest.length : place, 0, { left, shape });
      nearest.length = Math.min(nearest.length, MOST_CANDIDATES);
    }
  }
  let best = nearest[0] as Tried;
  for (const candidate of nearest) {
    const ended = descend(candidate, (shape) => fit(shape).left, axes);
    if (ended.left < best.left) best = ended;
  }
  const { heights, offset } = fit(best.shape);
  return { shape: best.shape, heights, offset };
}

/** Moves a shape by steps, which are halved, to where it leaves less. */
function descend({ left, shape }: Tried, leftOf: (shape: readonly number[]) => number, axes: readonly Axis[]): Tried {
  for (let halving = 0, part = 0.5; halving < HALVINGS; halving++, part /= 2) {
    for (let move = 0, isMoved = true; isMoved && move < MOVES; move++) {
      isMoved = false;
      for (const [k, { beside }] of axes.entries()) {
        for (const by of [part, -part]) {
          const trial = shape.map((value, j) => (j === k ? beside(value, by) : value));
          const now = leftOf(trial);
          if (now < left) [left, shape, isMoved] = [now, trial, true];
        }
      }
    }
  }
  return { left, shape };
}

/** Heights and offset of given bases, and the sum of squares that they leave of the samples. */
function project(y: Float64Array, [a, b]: readonly [Float64Array, Float64Array], bases: 1 | 2): { left: number; heights: number[]; offset: number } {
  const [meanA, meanB, meanY] = [mean(a), mean(b), mean(y)];
  let [aa, ab, bb, ay, by, yy, size] = [0, 0, 0, 0, 0, 0, 0];
  for (let i = 0; i < y.length; i++) {
    const [p, q, r] = [(a[i] as number) - meanA, (b[i] as number) - meanB, (y[i] as number) - meanY];
    aa += p * p;
    ab += p * q;
    bb += q * q;
    ay += p * r;
    by += q * r;
    yy += r * r;
    size += (a[i] as number) ** 2;
  }
  const isOne = bases === 1;
  const determinant = isOne ? aa : aa * bb - ab * ab;
  if (!(determinant > LEAST_VARIATION * (isOne ? size : aa * bb))) return { left: Infinity, heights: [0, 0], offset: meanY };
  const [first, second] = isOne ? [ay / aa, 0] : [(bb * ay - ab * by) / determinant, (aa * by - ab * ay) / determinant];
  return { left: yy - first * ay - second * by, heights: [first, second], offset: meanY - first * meanA - second * meanB };
}

/** Where the samples are largest and smallest. */
function extremes({ u, y }: Samples): number[] {
  const place = (is: (a: number, b: number) => boolean): number => u[y.reduce((best, value, i) => (is(value, y[best] as number) ? i : best), 0)] as number;
  return [place((a, b) => a > b), place((a, b) => a < b)];
}

/** Numbers from one to another in equal steps, and others. */
function linear(from: number, to: number, count: number, others: readonly number[] = []): Axis {
  const step = (to - from) / (count - 1);
  return { values: [...Array.from({ length: count }, (_, k) => from + step * k), ...others], beside: (value, part) => value + part * step };
}

/** Numbers from one to another in equal ratios. */
function geometric(from: number, to: number, count: number): Axis {
  const ratio = (to / from) ** (1 / (count - 1));
  return { values: Array.from({ length: count }, (_, k) => from * ratio ** k), beside: (value, part) => value * ratio ** part };
}

function signed({ values, beside }: Axis): Axis {
  return { values: [...values.map((value) => -value), ...values], beside };
}

function readPoints(call: string, x: Numbers, y: Numbers, least: number): [Float64Array, Float64Array, string] {
  const [xs, ys] = [copyNumbers(`${call}: x`, x), copyNumbers(`${call}: y`, y)];
  if (xs.length !== ys.length) throw invalidArgument(`${call}: y`, `${ys.length} numbers`, `${xs.length}, one for each of x`);
  if (xs.length < least) throw invalidArgument(`${call}: x`, `${xs.length} numbers`, `at least ${least}`);
  return [xs, ys, call];
}

/** Samples by ascending x, at most MOST_SAMPLES: means of neighbours, or drawn ones, whose distances are no multiples of one. */
function readSamples(call: string, x: Numbers, y: Numbers, least: number, thinned: 'means' | 'drawn' = 'means'): Samples {
  const [xs, ys] = readPoints(call, x, y, least);
  const order = Array.from(xs.keys()).sort((a, b) => (xs[a] as number) - (xs[b] as number));
  const [first, last] = [xs[order[0] as number] as number, xs[order.at(-1) as number] as number];
  const span = last - first;
  if (!(span > 0 && span < Infinity)) throw invalidArgument(`${call}: x`, span === 0 ? `${describe(first)} for each sample` : `numbers ${span} apart`, 'samples at several places');
  const count = Math.min(order.length, MOST_SAMPLES);
  const [u, values] = [new Float64Array(count), new Float64Array(count)];
  const random = randomNumbers(1);
  for (let k = 0; k < count; k++) {
    const from = Math.floor((k * order.length) / count);
    const to = Math.floor(((k + 1) * order.length) / count);
    const [start, end] = thinned === 'means' ? [from, to] : [from + Math.floor(random() * (to - from)), 0];
    const taken = order.slice(start, Math.max(end, start + 1));
    u[k] = taken.reduce((sum, i) => sum + ((xs[i] as number) - first) / span, 0) / taken.length;
    values[k] = taken.reduce((sum, i) => sum + (ys[i] as number), 0) / taken.length;
  }
  return { u, y: values, first, span };
}
