/** Integrators of ordinary differential equations in residual functions: Runge-Kutta methods whose steps are the steps of a loop. */

import { describe, invalidArgument } from '../arguments/errors.js';
import { checkFinite } from '../arguments/numeric-arguments.js';
import { checkOptions } from '../arguments/options.js';
import { recordSteps, Shape, type LoopNext, type LoopState, type LoopValues } from './loop.js';
import { Op } from './op-codes.js';
import { sum } from './sums.js';
import { asValue, binary, checkScalar, literal, select, unary, Value, type Scalar } from './value.js';

/** The derivative of a state by time: a function of the state and of the time that returns a state of the same shape. */
export type Derivative<S extends LoopState> = (state: LoopValues<S>, t: Value) => LoopNext<S>;

/** Options of {@link rungeKutta4}. */
export interface RungeKutta4Options<T extends Scalar | Iterable<Scalar> = Scalar | Iterable<Scalar>> {
  /** The time of the initial state; 0 by default. */
  from?: Scalar;
  /** The time at which the state is wanted; or a list of times, each reached from the one before. */
  to: T;
  /** Steps to `to`, and from each time of a list to the next: a whole number from 1 to 1,000,000, or a data input; 0 of them reach no other time. */
  steps: Scalar;
}

/** Options of {@link dormandPrince}. */
export interface DormandPrinceOptions<T extends Scalar | Iterable<Scalar> = Scalar | Iterable<Scalar>> {
  /** The time of the initial state; 0 by default. */
  from?: Scalar;
  /** The time at which the state is wanted; or a list of times, each reached from the one before. */
  to: T;
  /** The error that a step may have relative to the state, above 0; 1e-6 by default. */
  relativeTolerance?: number;
  /** The error that a step may have where the state is near 0, above 0; 1e-9 by default. */
  absoluteTolerance?: number;
  /** Steps, with those that are repeated, to `to` and from each time of a list to the next: a whole number or a data input; 1,000 by default. */
  maxSteps?: Scalar;
}

/** A state for one time, a list of states for a list of times. */
export type AtTimes<S extends LoopState, T> = T extends Scalar ? LoopValues<S> : LoopValues<S>[];

/**
 * The state that a differential equation leads to, by the classical Runge-Kutta method of order 4 in steps of equal length, in a residual function: `derivative(state, t)`
 * is the derivative of the state by time. Its error falls with the fourth power of the length. Derivatives are those of the method itself. Throws as `V.loop` does.
 */
export function rungeKutta4<const S extends LoopState, const T extends Scalar | Iterable<Scalar>>(
  derivative: Derivative<S>,
  state: S,
  options: RungeKutta4Options<T>,
): AtTimes<S, T> {
  const call = 'rungeKutta4';
  checkOptions(`${call}: options`, options, { from: true, to: true, steps: true });
  const slope = slopes(call, derivative, state);
  const { from, times } = timesOf(call, options.from, options.to);
  const { steps } = options;
  if (steps === 0) throw invalidArgument(`${call}: steps`, '0', 'a whole number from 1 on, or a data input');
  const n = slope.shape.scalars.length;
  // The time at the start and the length of a step are the same in all steps.
  const run = recordSteps(call, [...slope.shape.scalars, from, from], 'steps', steps, (numbers, k) => {
    const [y, start, h] = [numbers.slice(0, n), numbers[n] as Value, numbers[n + 1] as Value];
    const [t, half] = [start.add(k.mul(h)), h.mul(literal(0.5))];
    const middle = t.add(half);
    const k1 = slope.at(y, t);
    const k2 = slope.at(moved(y, half, k1), middle);
    const k3 = slope.at(moved(y, half, k2), middle);
    const k4 = slope.at(moved(y, h, k3), t.add(h));
    const sixth = h.mul(literal(1 / 6));
    const next = y.map((number, i) => {
      const [a, b, c, d] = [k1, k2, k3, k4].map((slopes) => asValue(slopes[i] as Scalar)) as [Value, Value, Value, Value];
      return number.add(sixth.mul(a.add(literal(2).mul(b.add(c))).add(d)));
    });
    return [...next, start, h];
  });
  let [current, time]: [readonly Scalar[], Scalar] = [slope.shape.scalars, from];
  const states = times.map((to) => {
    const span = asValue(to).sub(time);
    const next = run([...current, time, span.div(steps)]).slice(0, n);
    const isReached = asValue(steps).max(span.eq(literal(0))).gt(literal(0));
    current = typeof steps === 'number' ? next : next.map((number) => select(isReached, number, literal(Number.NaN)));
    time = to;
    return slope.shape.build(current as Value[]);
  });
  return (isList(options.to) ? states : states[0]) as AtTimes<S, T>;
}

/** The method of J. R. Dormand and P. J. Prince, "A family of embedded Runge-Kutta formulae", 1980: times, coefficients, and the error of order 4. */
const TIMES = [0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1, 1];
const STAGES = [
  [],
  [1 / 5],
  [3 / 40, 9 / 40],
  [44 / 45, -56 / 15, 32 / 9],
  [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729],
  [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656],
  [35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84],
];
const ERRORS = [71 / 57600, 0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40];

/** The first step is this share of the interval. */
const FIRST_STEP = 1 / 100;

/**
 * The same as {@link rungeKutta4} by the method of Dormand and Prince of order 5, whose steps are as long as their estimated error allows. Steps that are too long
 * are repeated; all of them count towards `maxSteps`. Where these do not reach the time the state is NaN. The lengths of steps count as constants in derivatives.
 */
export function dormandPrince<const S extends LoopState, const T extends Scalar | Iterable<Scalar>>(
  derivative: Derivative<S>,
  state: S,
  options: DormandPrinceOptions<T>,
): AtTimes<S, T> {
  const call = 'dormandPrince';
  checkOptions(`${call}: options`, options, { from: true, to: true, relativeTolerance: true, absoluteTolerance: true, maxSteps: true });
  const slope = slopes(call, derivative, state);
  const { from, times } = timesOf(call, options.from, options.to);
  const { relativeTolerance = 1e-6, absoluteTolerance = 1e-9, maxSteps = 1000 } = options;
  checkFinite(`${call}: relativeTolerance`, relativeTolerance, Number.MIN_VALUE);
  checkFinite(`${call}: absoluteTolerance`, absoluteTolerance, Number.MIN_VALUE);
  const n = slope.shape.scalars.length;
  // Times of an interval count from its start, so that dates in seconds keep the digits of steps.
  const run = recordSteps(call, [...slope.shape.scalars, from, from, from, from], 'maxSteps', maxSteps, (numbers) => {
    const [y, elapsed, length, span, start] = [numbers.slice(0, n), ...(numbers.slice(n) as [Value, Value, Value, Value])];
    const rest = span.sub(elapsed);
    const isLast = length.gte(rest.abs());
    const h = select(isLast, rest, select(rest.lt(literal(0)), length.neg(), length));
    const t = start.add(elapsed);
    const stages: Scalar[][] = [];
    let last = y;
    for (const [stage, coefficients] of STAGES.entries()) {
      last = y.map((number, i) => number.add(h.mul(combined(coefficients, stages, i))));
      stages.push(slope.at(stage === 0 ? y : last, t.add(h.mul(literal(TIMES[stage] as number)))));
    }
    const errors = y.map((number, i) => {
      const scale = number.abs().max((last[i] as Value).abs()).mul(literal(relativeTolerance)).add(literal(absoluteTolerance));
      return h.mul(combined(ERRORS, stages, i)).div(scale).square();
    });
    const error = unary(Op.stopGradient, sum(errors).mul(literal(1 / n)).sqrt());
    const isAccepted = error.lte(literal(1));
    // 0.9 error^(−1/5), within bounds. An error that is no number is a large one.
    const factor = binary(Op.pow, error.max(literal(1e-9)), literal(-0.2)).mul(literal(0.9)).max(literal(0.2)).min(literal(5));
    const next = h.abs().mul(select(error.gte(literal(0)), factor, literal(0.2)));
    return [
      ...y.map((number, i) => select(isAccepted, last[i] as Value, number)),
      select(isAccepted, select(isLast, span, elapsed.add(h)), elapsed),
      // The last step may be short; the interval after it begins with the length before.
      unary(Op.stopGradient, select(isLast.mul(isAccepted), length, next)),
      span,
      start,
    ];
  });
  let [current, time, length]: [readonly Scalar[], Scalar, Scalar] = [slope.shape.scalars, from, 0];
  const states = times.map((to) => {
    const span = asValue(to).sub(time);
    // Of an interval without length nothing is known of steps.
    const first = select(asValue(length).gt(literal(0)), length, span.abs().mul(literal(FIRST_STEP)));
    const numbers = run([...current, 0, unary(Op.stopGradient, first), span, time]);
    const isReached = (numbers[n] as Value).eq(span);
    current = numbers.slice(0, n).map((number) => select(isReached, number, literal(Number.NaN)));
    [time, length] = [to, numbers[n + 1] as Value];
    return slope.shape.build(current as Value[]);
  });
  return (isList(options.to) ? states : states[0]) as AtTimes<S, T>;
}

interface Slopes {
  readonly shape: Shape;
  /** The derivatives of a state's numbers. */
  at(numbers: readonly Value[], t: Value): Scalar[];
}

/** Checks a derivative and an initial state. */
function slopes(call: string, derivative: unknown, state: unknown): Slopes {
  if (typeof derivative !== 'function') throw invalidArgument(`${call}: derivative`, describe(derivative), "a function of the state and the time that returns the state's derivative");
  const shape = Shape.of(`${call}: state`, state);
  const at = (numbers: readonly Value[], t: Value) => shape.read(`${call}: what derivative returned`, derivative(shape.build(numbers), t));
  return { shape, at };
}

/** Checks the times of an integration. */
function timesOf(call: string, from: Scalar = 0, to: unknown): { from: Scalar; times: readonly Scalar[] } {
  checkScalar(`${call}: from`, from);
  if (!isList(to)) {
    checkScalar(`${call}: to`, to);
    return { from, times: [to] };
  }
  const times = [...to];
  if (times.length === 0) throw invalidArgument(`${call}: to`, 'an empty list', 'a time, or a list of one or more');
  times.forEach((time, k) => checkScalar(`${call}: to[${k}]`, time));
  return { from, times: times as Scalar[] };
}

function isList(to: unknown): to is Iterable<unknown> {
  return typeof to === 'object' && to !== null && !(to instanceof Value) && Symbol.iterator in to;
}

/** y + h·k */
function moved(y: readonly Value[], h: Value, k: readonly Scalar[]): Value[] {
  return y.map((number, i) => number.add(h.mul(k[i] as Scalar)));
}

/** Σ cₛ kₛ of one number of the state. */
function combined(coefficients: readonly number[], stages: readonly Scalar[][], i: number): Value {
  const terms = coefficients.map((c, stage) => [c, stages[stage]?.[i] as Scalar] as const).filter(([c]) => c !== 0);
  return terms.reduce((total, [c, k]) => total.add(literal(c).mul(k)), literal(0));
}
