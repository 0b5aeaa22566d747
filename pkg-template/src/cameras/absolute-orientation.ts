/**
 * The motion between two sets of corresponding points (S. Umeyama, "Least-Squares Estimation of Transformation Parameters Between Two Point Patterns",
 * 1991).
 */

import { invalidArgument } from '../arguments/errors.js';
import { checkFlag, checkOptions, type OptionNames } from '../arguments/options.js';
import { copyNumbers, type Numbers } from '../arguments/numeric-arguments.js';
import { davenportMatrix, nearestRotation, product, rotationOf } from '../graphs/pose-numbers.js';
import { dot } from '../problem/vectors.js';
import { checkChoice, checkCount, copyTuples } from './checks.js';
import { eigen } from './symmetric.js';

/** Options of absoluteOrientation(). */
export interface AbsoluteOrientationOptions {
  /** The dimension of the space, 3 (default) or 2. */
  dim?: 2 | 3;
  /** Whether the scale is free; false by default, which makes it 1. */
  scale?: boolean;
  /** Weights of the points, 1 by default: finite, not negative, and positive for enough points. */
  weights?: Numbers;
}

const OPTIONS: OptionNames<AbsoluteOrientationOptions> = { dim: true, scale: true, weights: true };

/** The motion x ↦ scale · R x + t. */
export interface AbsoluteOrientation {
  /** R and t as a block of `problem.poses`: the unit quaternion w, x, y, z, then x, y, z; in the plane the angle, then x, y. */
  readonly pose: Float64Array;
  /** The factor of distances. */
  readonly scale: number;
  /** Root of the weighted mean of the squared distances that are left. */
  readonly error: number;
}

/** Gaps of eigenvalues below this share of the largest are 0 but for rounding. */
const SINGULAR = 1e-13;

/**
 * Returns the motion that takes points `from` to points `to` with the least sum of squared distances. Both have `dim` numbers for each point. It is never a
 * reflection.
 *
 * Throws 'invalid-argument' for numbers and lengths that do not fit, and for points that leave the rotation undetermined: fewer than three in space, or two
 * in the plane, points at one place, and in space points on one line.
 */
export function absoluteOrientation(from: Numbers, to: Numbers, options: AbsoluteOrientationOptions = {}): AbsoluteOrientation {
  checkOptions('absoluteOrientation: options', options, OPTIONS);
  checkChoice('absoluteOrientation: dim', options.dim, [2, 3] as const);
  checkFlag('absoluteOrientation: scale', options.scale);
  const { dim = 3 } = options;
  const sets = [copyTuples('absoluteOrientation: from', from, dim), copyTuples('absoluteOrientation: to', to, dim)] as const;
  const count = sets[0].length / dim;
  checkCount('absoluteOrientation: to', sets[1], dim, count, 'points in from');
  const weights = options.weights === undefined ? new Float64Array(count).fill(1) : copyNumbers('absoluteOrientation: weights', options.weights);
  checkCount('absoluteOrientation: weights', weights, 1, count, 'points');
  const negative = weights.findIndex((weight) => weight < 0);
  if (negative >= 0) throw invalidArgument(`absoluteOrientation: weights[${negative}]`, String(weights[negative]), 'a number of at least 0');
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  if (!(total > 0)) throw invalidArgument('absoluteOrientation: weights', 'weights of 0 alone', 'positive weights of enough points');
  const [source, target] = sets.map((points) => centred(points, dim, weights, total)) as [Centred, Centred];
  if (!(source.size > 0) || !(target.size > 0)) throw undetermined('points at one place');
  // In units of the sizes of both sets.
  const moments = Array.from({ length: dim * dim }, () => 0);
  for (let k = 0; k < count; k++) {
    for (let i = 0; i < dim; i++) {
      const a = ((weights[k] as number) / total) * (target.offsets[dim * k + i] as number);
      for (let j = 0; j < dim; j++) (moments[dim * i + j] as number) += a * (source.offsets[dim * k + j] as number);
    }
  }
  if (!isDetermined(dim, moments)) throw undetermined(dim === 3 ? 'points on one line' : 'points without a common rotation');
  const numbers = nearestRotation(dim, moments) as Float64Array;
  const rotation = rotationOf(dim, numbers, 0);
  const scale = options.scale === true ? (dot(rotation, moments) * target.size) / source.size : 1;
  if (!(scale > 0)) throw undetermined('points without a common scale');
  const turned = product(dim, rotation, source.centre);
  const translation = target.centre.map((entry, k) => entry - scale * (turned[k] as number));
  let sum = 0;
  for (let k = 0; k < count; k++) {
    const moved = product(dim, rotation, source.offsets.subarray(dim * k, dim * (k + 1)));
    const left = moved.map((entry, i) => scale * source.size * entry - target.size * (target.offsets[dim * k + i] as number));
    sum += ((weights[k] as number) / total) * dot(left, left);
  }
  return { pose: Float64Array.from([...numbers, ...translation]), scale, error: Math.sqrt(sum) };
}

const undetermined = (got: string): Error => invalidArgument('absoluteOrientation: points', got, 'points that determine a rotation');

interface Centred {
  readonly centre: readonly number[];
  /** Root of the mean squared distance from the centre. */
  readonly size: number;
  /** From the centre, in units of the size. */
  readonly offsets: Float64Array;
}

function centred(points: Float64Array, dim: number, weights: Float64Array, total: number): Centred {
  const centre = Array.from({ length: dim }, () => 0);
  points.forEach((entry, k) => ((centre[k % dim] as number) += ((weights[Math.floor(k / dim)] as number) / total) * entry));
  const offsets = points.map((entry, k) => entry - (centre[k % dim] as number));
  const size = Math.sqrt(offsets.reduce((sum, entry, k) => sum + ((weights[Math.floor(k / dim)] as number) / total) * entry * entry, 0));
  return { centre, size, offsets: offsets.map((entry) => entry / size) };
}

/** Whether one rotation R has the largest tr(Rᵀ M). */
function isDetermined(dim: 2 | 3, moments: readonly number[]): boolean {
  if (dim === 2) return Math.hypot((moments[0] as number) + (moments[3] as number), (moments[2] as number) - (moments[1] as number)) > SINGULAR;
  const { values } = eigen(davenportMatrix(moments), 4);
  return (values[3] as number) - (values[2] as number) > SINGULAR;
}
