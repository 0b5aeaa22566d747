/**
 * Numeric derivatives of an instance's residuals with respect to one of its numbers. Steps are as the numbers are: of x + h the difference to x is
 * divided by, not h. A side is not used where it is beyond a bound, or where the function is not finite.
 */

import type { Steps } from './plain-steps.js';

/** Bounds of a number. */
export interface Bounds {
  readonly lower: number;
  readonly upper: number;
}

/** A number to differentiate by, and its position among all. */
export interface Variable {
  readonly x: number;
  readonly position: number;
  readonly bounds: Bounds;
}

/** Writes the residuals where the number has another value. */
type Along = (value: number, out: Float64Array) => void;

/**
 * About ∛ε and √ε: steps that balance truncation and rounding of central and of one-sided differences, for a number of size 1. The first is a decimal number,
 * since engines and bundlers do not agree on the last bit of a power that is not whole.
 */
export const CENTRAL: number = 5.394796609394436e-6;
export const FORWARD: number = 2 ** -26;

/**
 * Central differences; where one side cannot be used the derivative of the parabola through x and two points on the other side. Second differences go to
 * `seconds`. `power`: two to this power corrects the step.
 */
export function centralDifferences(
  { x, position, bounds }: Variable,
  along: Along,
  at: Float64Array,
  [a, b]: [Float64Array, Float64Array],
  steps: Steps,
  power: number,
  result: Float64Array,
  seconds: Float64Array,
): void {
  const step = steps.step(position, CENTRAL, power);
  let side = sideOf(x, step, bounds);
  if (side === 0) {
    const [above, below] = [x + step, x - step];
    along(above, a);
    along(below, b);
    const isAbove = isFiniteWhere(at, a);
    if (isAbove === isFiniteWhere(at, b)) {
      for (let i = 0; i < result.length; i++) result[i] = ((a[i] as number) - (b[i] as number)) / (above - below);
      note(steps, position, b, at, a, seconds);
      return;
    }
    side = isAbove ? 1 : -1;
  }
  const room = side > 0 ? bounds.upper - x : x - bounds.lower;
  const near = within(x + side * Math.min(step, 0.5 * room), bounds);
  const far = within(near + (near - x), bounds);
  along(near, a);
  along(far, b);
  const [h, k] = [near - x, far - x];
  for (let i = 0; i < result.length; i++) {
    const [first, second] = [(a[i] as number) - (at[i] as number), (b[i] as number) - (at[i] as number)];
    result[i] = (first * (k / h) - second * (h / k)) / (k - h);
  }
  note(steps, position, at, a, b, seconds);
}

/** One-sided differences, upwards unless that side cannot be used. */
export function forwardDifferences({ x, position, bounds }: Variable, along: Along, at: Float64Array, a: Float64Array, steps: Steps, result: Float64Array): void {
  const step = steps.step(position, FORWARD);
  const isDown = bounds.upper - x < step && x - bounds.lower > bounds.upper - x;
  for (const side of isDown ? [-1, 1] : [1, -1]) {
    const value = within(x + side * step, bounds);
    if (value === x) continue;
    along(value, a);
    for (let i = 0; i < result.length; i++) result[i] = ((a[i] as number) - (at[i] as number)) / (value - x);
    if (!isFiniteWhere(at, a)) continue;
    for (let i = 0; i < result.length; i++) if (Number.isFinite(a[i])) steps.note(position, (a[i] as number) - (at[i] as number), 0, Math.abs(at[i] as number));
    return;
  }
}

/** The first step of Ridders' method, and by how much each of the following is shorter. */
const [LONGEST, SHORTER, MOST_STEPS] = [2 ** -5, 2, 14];

/** The first one is at least so many of central differences, which are long where residuals are noisy. */
const OF_CENTRAL = 4;

/**
 * Ridders' method: differences with shorter and shorter steps, extrapolated to 0 by Neville's scheme; for each residual the extrapolation that differs
 * least from those it is made of, and that difference in `errors`. `noise`: squares of the residuals' noise, which hides smaller
 * ones (C. J. F. Ridders, "Accurate computation of F′(x) and F′(x)F″(x)", Advances in Engineering Software 4, 1982).
 */
export function riddersDifferences(
  { x, position, bounds }: Variable,
  along: Along,
  at: Float64Array,
  [a, b]: [Float64Array, Float64Array],
  steps: Steps,
  result: Float64Array,
  errors: Float64Array,
  noise: Float64Array,
): void {
  const [above, below] = [bounds.upper - x, x - bounds.lower];
  const longest = Math.max(steps.step(position, LONGEST, Math.min(steps.powers[position] as number, 0)), OF_CENTRAL * steps.step(position, CENTRAL));
  const nearest = Math.min(below, above);
  // A number nearly at a bound has steps away from it.
  let side = nearest < 2 ** -10 * longest ? (above > below ? 1 : -1) : 0;
  let step = Math.min(longest, side === 0 ? nearest : Math.max(below, above));
  errors.fill(Infinity);
  const isDone = new Uint8Array(result.length);
  let rows: Float64Array[] = [];
  result.fill(NaN);
  for (let shorter = 0; shorter < MOST_STEPS; shorter++, step /= SHORTER) {
    const [high, low] = [side < 0 ? x : within(x + step, bounds), side > 0 ? x : within(x - step, bounds)];
    if (side < 0) a.set(at);
    else along(high, a);
    if (side > 0) b.set(at);
    else along(low, b);
    const [isAbove, isBelow] = [isFiniteWhere(at, a), isFiniteWhere(at, b)];
    if (!isAbove || !isBelow) {
      // On the last steps one side alone may do.
      if (side === 0 && isAbove !== isBelow && shorter >= MOST_STEPS / 2) [side, shorter, step] = [isAbove ? 1 : -1, -1, longest];
      rows = [];
      continue;
    }
    const order = side === 0 ? SHORTER * SHORTER : SHORTER;
    let current = new Float64Array(result.length);
    for (let i = 0; i < current.length; i++) current[i] = ((a[i] as number) - (b[i] as number)) / (high - low);
    const next = [current];
    if (rows.length === 0) for (let i = 0; i < result.length; i++) if (errors[i] === Infinity) result[i] = current[i] as number;
    let factor = order;
    for (const before of rows) {
      const extrapolated = new Float64Array(result.length);
      for (let i = 0; i < result.length; i++) {
        const [coarse, fine] = [before[i] as number, current[i] as number];
        const better = fine + (fine - coarse) / (factor - 1);
        extrapolated[i] = better;
        // Where nothing changes the steps may be too long.
        if (coarse === 0 && fine === 0) continue;
        const least = Math.sqrt(noise[i] as number) / (high - low);
        const error = Math.max(Math.abs(better - fine), Math.abs(better - coarse), least);
        if (isDone[i] === 0 && error <= (errors[i] as number)) [errors[i], result[i]] = [error, better];
        // Noise is larger by shorter steps.
        if (least >= (errors[i] as number)) isDone[i] = 1;
      }
      next.push(extrapolated);
      current = extrapolated;
      factor *= order;
    }
    // Shorter steps bring no more where the last extrapolations differ by more than the error: rounding.
    if (rows.length > 2) {
      const last = rows[rows.length - 1] as Float64Array;
      for (let i = 0; i < result.length; i++) if (Math.abs((current[i] as number) - (last[i] as number)) >= 2 * (errors[i] as number)) isDone[i] = 1;
    }
    rows = next;
    if (errors.every((error, i) => error <= 2 ** -46 * Math.abs(result[i] as number) || isDone[i] === 1)) return;
  }
}

/** 0 where both sides have room for a step, else the side with more. */
function sideOf(x: number, step: number, { lower, upper }: Bounds): -1 | 0 | 1 {
  if (x - step >= lower && x + step <= upper) return 0;
  return upper - x >= x - lower ? 1 : -1;
}

function within(value: number, { lower, upper }: Bounds): number {
  return Math.min(Math.max(value, lower), upper);
}

/** Whether residuals are finite where those at x are. */
function isFiniteWhere(at: Float64Array, there: Float64Array): boolean {
  for (let i = 0; i < at.length; i++) if (!Number.isFinite(there[i]) && Number.isFinite(at[i])) return false;
  return true;
}

/** Notes what residuals at three points, one step apart, say of the step. */
function note(steps: Steps, position: number, a: Float64Array, b: Float64Array, c: Float64Array, seconds: Float64Array): void {
  for (let i = 0; i < a.length; i++) {
    const [first, second, third] = [a[i] as number, b[i] as number, c[i] as number];
    const difference = third - first;
    const bend = (seconds[i] = third - second - (second - first));
    if (Number.isFinite(difference)) steps.note(position, difference, bend, Math.abs(first) + Math.abs(third));
  }
}
