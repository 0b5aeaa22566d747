/** One problem solved from many starts, for costs with several minima. */

import { describe, invalidArgument, ResiduaError } from '../arguments/errors.js';
import { checkFinite, checkObject, checkWholeNumber, copyNumbers, type Numbers } from '../arguments/numeric-arguments.js';
import { checkOptions, pickOptions, type OptionNames } from '../arguments/options.js';
import { here, type Host } from '../module/loading.js';
import type { ParameterBlocks } from '../problem/parameter-array.js';
import { Problem } from '../problem/problem.js';
import { find } from './problem-data.js';
import { latinHypercube } from './latin-hypercube.js';
import { MANY_OPTIONS, solveManyOn, type ManyOptions, type ManyResult } from './solve-many.js';

/** The lower and the upper end of a range: a number for all coordinates, one for each coordinate of a block, or one for each number of the array. */
export type StartRange = readonly [lower: number | Numbers, upper: number | Numbers];

/** Options of multistart(), with those of solveMany(). */
export interface MultistartOptions extends ManyOptions {
  /** Number of starts; 64 by default. */
  starts?: number;
  /** Seed of the random numbers, a whole number from 0 to 2³² − 1; 0 by default. The same seed gives the same starts everywhere. */
  seed?: number;
  /** Ends within this share of the ranges' widths of each other, in each coordinate, are one minimum; 1e-3 by default. Of a number without a range: of its size, or of that of its start. */
  distance?: number;
}

const OWN_OPTIONS = { starts: true, seed: true, distance: true } as const;
const MULTISTART_OPTIONS: OptionNames<MultistartOptions> = { ...MANY_OPTIONS, ...OWN_OPTIONS };

/** A minimum, and which starts ended there. */
export interface Minimum {
  /** All parameters, array after array in order of creation, of the start that ended with the lowest cost. */
  x: Float64Array;
  /** Its ½ Σ weight·ρ(‖r‖²). */
  cost: number;
  /** Its standard errors, with the option `standardErrors`; else null. */
  standardErrors: Float64Array | null;
  /** How many starts ended there. */
  count: number;
  /** Which starts: positions in `many`. */
  starts: number[];
}

/** The minima that were found. */
export interface MultistartResult {
  /** The minimum with the lowest cost. */
  best: Minimum;
  /** All minima, by ascending cost: `best` is the first. */
  minima: Minimum[];
  /** Number of starts that did not converge. They count as minima only where none has converged. */
  failed: number;
  /** The starts, each as `x` of a Minimum (starts × numParams). */
  starts: Float64Array;
  /** What solveMany() gave for all starts. */
  many: ManyResult;
}

/**
 * Solves a problem by Levenberg-Marquardt from many starts in a box, and sorts the ends into minima. `bounds` names parameter arrays with the ranges that starts are
 * taken from, such as `{ peak: [[0, 0], [10, 5]] }`; other arrays start at their own values. The starts are a Latin hypercube (M. D. McKay, R. J. Beckman and
 * W. J. Conover, 1979): each coordinate has one start in each of as many equal parts of its range as there are starts. All are solved by one call of
 * solveMany(), which documents engines, options and errors. Ranges do not bound the solution; `setBounds` does. Constant numbers stay as they are.
 *
 * The template's values do not change: `array.set(best.x.subarray(array.offset, array.offset + array.values().length))` takes a solution.
 * Quaternions that differ in sign, and angles that differ by whole turns, are the same end.
 *
 * Rejects with 'invalid-argument' for a name that the template does not have, for ranges that are not finite, reversed or of a wrong length, and for options out
 * of range; with 'non-finite' where the cost of no start is finite; with 'out-of-memory' for more starts than fit.
 */
export function multistart(template: Problem, bounds: Readonly<Record<string, StartRange>>, options: MultistartOptions = {}): Promise<MultistartResult> {
  return multistartOn(here, template, bounds, options);
}

/** multistart() on a host. */
export async function multistartOn(
  host: Host,
  template: Problem,
  bounds: Readonly<Record<string, StartRange>>,
  options: MultistartOptions,
): Promise<MultistartResult> {
  if (!(template instanceof Problem)) throw invalidArgument('multistart: template', describe(template), 'a Problem');
  checkOptions('multistart: options', options, MULTISTART_OPTIONS);
  const { starts: count = 64, seed = 0, distance = 1e-3 } = options;
  checkWholeNumber('multistart: starts', count, 1);
  checkWholeNumber('multistart: seed', seed, 0);
  checkFinite('multistart: distance', distance, 0);
  const ranges = takeRanges(template, bounds);
  const { starts, parameters } = allStarts(template, ranges, count, seed);
  const arrays = [...template.arrays];
  const values = Float64Array.from(arrays.flatMap((array) => [...array.values()]));
  const many = await solveManyOn(host, template, { count, parameters }, pickOptions(options, MANY_OPTIONS));
  return { ...sort(many, count, isSame(arrays, ranges, values, distance)), starts, many };
}

/** All starts, and those of the arrays with ranges as solveMany() takes them. */
function allStarts(template: Problem, ranges: readonly Range[], count: number, seed: number): { starts: Float64Array; parameters: Record<string, Float64Array> } {
  try {
    const starts = startsIn(template, ranges, count, seed);
    const { numParameters: numParams } = template;
    const parameters = ranges.map(({ array: { name, offset, count: blocks, dim } }) => {
      const length = blocks * dim;
      const values = new Float64Array(count * length);
      for (let start = 0; start < count; start++) {
        values.set(starts.subarray(start * numParams + offset, start * numParams + offset + length), start * length);
      }
      return [name, values] as const;
    });
    return { starts, parameters: Object.fromEntries(parameters) };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new ResiduaError('out-of-memory', `multistart: ${count} starts of ${template.numParameters} numbers could not be allocated`, { cause: error });
  }
}

/** The range of a parameter array: for each of its numbers. */
interface Range {
  readonly array: ParameterBlocks;
  readonly lower: Float64Array;
  readonly upper: Float64Array;
}

function takeRanges(template: Problem, bounds: Readonly<Record<string, StartRange>>): Range[] {
  checkObject('multistart: bounds', bounds);
  return Object.entries(bounds).map(([name, range]) => {
    const argument = `multistart: bounds.${name}`;
    const array = find(argument, 'parameter array', template.arrays, name);
    if (!Array.isArray(range) || range.length !== 2) throw invalidArgument(argument, describe(range), 'a pair of the lower and the upper end');
    const [lower, upper] = range.map((end: number | Numbers, k: number) => perNumber(`${argument}[${k}]`, end, array)) as [Float64Array, Float64Array];
    const reversed = lower.findIndex((low, i) => low > (upper[i] as number));
    if (reversed >= 0) {
      throw invalidArgument(argument, `the range from ${lower[reversed]} to ${upper[reversed]} of number ${reversed}`, 'a lower end that is not above the upper one');
    }
    return { array, lower, upper };
  });
}

/** An end of a range for each number of an array. */
function perNumber(argument: string, end: number | Numbers, { dim, count }: ParameterBlocks): Float64Array {
  const length = dim * count;
  const given = copyNumbers(argument, typeof end === 'number' ? [end] : end);
  const isOne = typeof end === 'number';
  if (!isOne && given.length !== dim && given.length !== length) {
    throw invalidArgument(argument, `${given.length} numbers`, `a number, ${dim} for the coordinates of a block, or ${length} for all blocks`);
  }
  return Float64Array.from({ length }, (_, i) => given[isOne ? 0 : i % given.length] as number);
}

/** All starts: the template's values, with numbers of the ranges' arrays from a Latin hypercube. */
function startsIn(template: Problem, ranges: readonly Range[], count: number, seed: number): Float64Array {
  const { numParameters: numParams } = template;
  const starts = new Float64Array(count * numParams);
  for (const array of template.arrays) {
    for (let start = 0; start < count; start++) array.copyValues(starts.subarray(start * numParams), 0, numParams, array.offset, array.count);
  }
  const shares = latinHypercube(count, ranges.reduce((sum, { lower }) => sum + lower.length, 0), seed);
  let coordinate = 0;
  for (const { array, lower, upper } of ranges) {
    lower.forEach((low, i) => {
      const shift = count * coordinate++;
      if (array.constant?.[i]) return;
      const width = (upper[i] as number) - low;
      for (let start = 0; start < count; start++) starts[start * numParams + array.offset + i] = low + (shares[shift + start] as number) * width;
    });
  }
  return starts;
}

/** Whether two ends are one minimum. */
type IsSame = (a: Float64Array, b: Float64Array) => boolean;

/** `values` are the template's. */
function isSame(arrays: readonly ParameterBlocks[], ranges: readonly Range[], values: Float64Array, distance: number): IsSame {
  const known = arrays.map((array) => ({ array, parts: partsOf(array), range: ranges.find(({ array: { offset } }) => offset === array.offset) }));
  const scaleOf = ({ offset }: ParameterBlocks, range: Range | undefined, i: number, a: number, b: number): number => {
    const width = range === undefined ? 0 : (range.upper[i] as number) - (range.lower[i] as number);
    // Both may be roundings of 0. Where the template's value has no size either, it is 1.
    return width > 0 ? width : Math.max(Math.abs(a), Math.abs(b), Math.abs(values[offset + i] as number) || 1);
  };
  return (a, b) =>
    known.every(({ array, parts, range }) => {
      for (let block = 0; block < array.count; block++) {
        for (const { manifold, first, dim } of parts) {
          const at = block * array.dim + first;
          const pairs = Array.from({ length: dim }, (_, k) => [a[array.offset + at + k] as number, b[array.offset + at + k] as number] as const);
          const near = (difference: (p: number, q: number) => number): boolean =>
            pairs.every(([p, q], k) => Math.abs(difference(p, q)) <= distance * (manifold === 'euclidean' ? scaleOf(array, range, at + k, p, q) : 1));
          const isNear = near((p, q) => (manifold === 'angle' ? Math.atan2(Math.sin(p - q), Math.cos(p - q)) : p - q));
          if (!isNear && !(manifold === 'unit-quaternion' && near((p, q) => p + q))) return false;
        }
      }
      return true;
    });
}

/** The manifolds of an array's blocks, part by part. */
function partsOf({ manifold, dim }: ParameterBlocks): { manifold: string; first: number; dim: number }[] {
  if (!manifold.includes(' ')) return [{ manifold, first: 0, dim }];
  let first = 0;
  return manifold.split(' × ').map((part) => {
    const [name, size] = part.split(' ') as [string, string];
    first += Number(size);
    return { manifold: name, first: first - Number(size), dim: Number(size) };
  });
}

/** Sorts ends into minima by ascending cost. */
function sort(many: ManyResult, count: number, same: IsSame): Omit<MultistartResult, 'starts' | 'many'> {
  const numParams = many.x.length / count;
  const costOf = (start: number): number => many.cost[start] as number;
  const finite = Array.from({ length: count }, (_, start) => start).filter((start) => Number.isFinite(costOf(start)));
  const converged = finite.filter((start) => (many.termination[start] as string).endsWith('-tolerance'));
  const taken = (converged.length > 0 ? converged : finite).sort((a, b) => costOf(a) - costOf(b));
  const minima: Minimum[] = [];
  const part = (numbers: Float64Array, start: number): Float64Array => numbers.slice(start * numParams, (start + 1) * numParams);
  for (const start of taken) {
    const x = many.x.subarray(start * numParams, (start + 1) * numParams);
    const known = minima.find((minimum) => same(minimum.x, x));
    if (known !== undefined) {
      known.count += 1;
      known.starts.push(start);
      continue;
    }
    const standardErrors = many.standardErrors === null ? null : part(many.standardErrors, start);
    minima.push({ x: part(many.x, start), cost: costOf(start), standardErrors, count: 1, starts: [start] });
  }
  const [best] = minima;
  if (best === undefined) throw new ResiduaError('non-finite', `multistart: the cost of none of ${count} starts is finite. ${many.message}`);
  return { best, minima, failed: count - converged.length };
}
