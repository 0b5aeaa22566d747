/** Derivatives by differences, corrected in directions that their errors leave in doubt. */

import { SAFETY } from './plain-accuracy.js';
import type { PlainColumns } from './plain-columns.js';
import { CENTRAL } from './plain-differences.js';
import { doubtfulDirections, type Direction } from './plain-directions.js';
import { StepSearch } from './plain-search.js';
import type { Steps } from './plain-steps.js';

/** Rounds: each squares the errors. */
const MOST_ROUNDS = 3;

/** Parameters at most. */
const MOST_PARAMETERS = 32;

/** A derivative along a direction is none of noise if one by a step that is longer by two to this power is the same but for this share. */
const [LONGER, CONFIRMED] = [2, 0.3];

/** Errors below are rounding. */
const LEAST_ERROR = 2 ** -49;

/**
 * Corrects derivatives at x with respect to the parameters that have steps. `accuracy`: the errors of all parameters' derivatives, relative to their lengths.
 * Returns what is left of these, or null where a direction in doubt has no effect that is seen, so that nothing is to be corrected.
 */
export function correctDerivatives(of: PlainColumns, steps: Steps, x: Float64Array, accuracy: Float64Array, isNoisy: boolean): Float64Array | null {
  const { positions } = steps;
  // Fewer residuals than parameters leave directions without an effect.
  if (positions.length > MOST_PARAMETERS || of.count * of.outputs < positions.length) return accuracy;
  const places = new Map([...positions].map((position, k) => [position, k]));
  const corrected = accuracy.slice();
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const errors = [...positions].map((at) => corrected[at] as number);
    const worst = Math.max(...errors);
    if (!(worst > LEAST_ERROR)) break;
    const directions = doubtfulDirections(columnsOf(of, places), errors);
    if (directions.length === 0) break;
    let error = Math.max(worst ** 2, LEAST_ERROR);
    for (const direction of directions) {
      const left = correctAlong(of, steps, x, places, direction, isNoisy);
      if (Number.isNaN(left)) return null;
      error = Math.max(error, left);
    }
    if (!(error < worst)) break;
    for (const at of positions) corrected[at] = Math.min(corrected[at] as number, error);
  }
  return corrected;
}

/** The weighted derivatives of all residuals by each parameter. */
function columnsOf(of: PlainColumns, places: ReadonlyMap<number, number>): Float64Array[] {
  const { count, outputs, parameters } = of;
  const columns = Array.from(places, () => new Float64Array(count * outputs));
  const part = new Float64Array(outputs);
  for (let instance = 0; instance < count; instance++) {
    if (of.isLeftOut(instance)) continue;
    for (let parameter = 0; parameter < parameters; parameter++) {
      of.load(instance, 1 + parameter, part);
      const column = columns[places.get(of.positionOf(instance, parameter)) as number] as Float64Array;
      part.forEach((entry, i) => (column[instance * outputs + i]! += entry * Math.sqrt(of.weightOf(instance, i))));
    }
  }
  return columns;
}

/**
 * Takes differences along a direction in the place of what the derivatives make of it. Returns their error, as a share of the columns' lengths; NaN where there
 * is nothing but noise.
 */
function correctAlong(
  of: PlainColumns,
  steps: Steps,
  x: Float64Array,
  places: ReadonlyMap<number, number>,
  { along, dual }: Direction,
  isNoisy: boolean,
): number {
  const { count, outputs, parameters } = of;
  const positions = [...places.keys()];
  const share = (k: number): number => Math.abs(along[k] as number);
  // The first step is that of the parameter which moves by most.
  const first = Math.min(...positions.map((at, k) => steps.step(at, CENTRAL) / share(k)));
  const room = Math.min(...positions.map((at, k) => {
    const { lower, upper } = of.boundsAt(at, x[at] as number);
    return Math.min(upper - (x[at] as number), (x[at] as number) - lower) / share(k);
  }));
  if (!(room >= first) || !(first > 0)) return NaN;
  const most = Math.floor(Math.log2(room / first));
  const [at, above, below, derivatives, seconds, column] = Array.from({ length: 6 }, () => new Float64Array(outputs)) as [Float64Array, Float64Array, Float64Array, Float64Array, Float64Array, Float64Array];
  const addAlong = (instance: number, direction: Float64Array, factor: number, sums: Float64Array): void => {
    for (let parameter = 0; parameter < parameters; parameter++) {
      of.load(instance, 1 + parameter, column);
      const entry = factor * (direction[places.get(of.positionOf(instance, parameter)) as number] as number);
      column.forEach((derivative, i) => (sums[i]! += entry * derivative));
    }
  };
  const differ = (power: number, take: (instance: number) => void): void => {
    const step = first * 2 ** power;
    const [there, back] = [x.slice(), x.slice()];
    const beside = along.map((entry, k) => {
      const position = positions[k] as number;
      there[position]! += step * entry;
      back[position]! -= step * entry;
      // The points are as numbers are, not quite in the direction.
      return entry - ((there[position] as number) - (back[position] as number)) / (2 * step);
    });
    for (let instance = 0; instance < count; instance++) {
      if (of.isLeftOut(instance)) continue;
      of.load(instance, 0, at);
      of.look(there, instance, above);
      of.look(back, instance, below);
      for (let i = 0; i < outputs; i++) {
        const [here, up, down] = [at[i] as number, above[i] as number, below[i] as number];
        [derivatives[i], seconds[i]] = [(up - down) / (2 * step), up - here - (here - down)];
      }
      addAlong(instance, beside, 1, derivatives);
      take(instance);
    }
  };
  const search = new StepSearch(1, count * outputs);
  search.begin(0, 0, isNoisy);
  const only = Uint32Array.of(0);
  do differ(search.powers[0] as number, (instance) => search.take(0, instance * outputs, at, derivatives, seconds));
  while (search.advance(only, () => most, (_, power) => first * 2 ** power));
  const best = search.best[0] as number;
  const longer = new Float64Array(count * outputs);
  differ(best + LONGER, (instance) => longer.set(derivatives, instance * outputs));
  let [square, apart] = [0, 0];
  differ(best, (instance) => {
    const locals = Array.from({ length: parameters }, (_, parameter) => places.get(of.positionOf(instance, parameter)) as number);
    derivatives.forEach((derivative, i) => {
      const weight = of.weightOf(instance, i);
      square += weight * derivative ** 2 || 0;
      apart += weight * (derivative - (longer[instance * outputs + i] as number)) ** 2 || 0;
    });
    const change = derivatives.slice();
    addAlong(instance, along, -1, change);
    // An instance that has some of the parameters has its share.
    const whole = locals.reduce((sum, k) => sum + (along[k] as number) * (dual[k] as number), 0);
    if (!(whole > 0) || !change.every(Number.isFinite)) return;
    locals.forEach((k, parameter) => {
      of.load(instance, 1 + parameter, column);
      column.forEach((entry, i) => (column[i] = entry + ((change[i] as number) * (dual[k] as number)) / whole));
      of.store(instance, column, 0, 1, 1 + parameter);
    });
  });
  // What a longer step does not confirm may be noise.
  const isSeen = search.isSeen(0) && apart < CONFIRMED ** 2 * square;
  return isSeen ? SAFETY * Math.sqrt(square) * (search.errors[0] as number) : NaN;
}
