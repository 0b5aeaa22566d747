/**
 * The pose of one camera relative to another from what both see: the essential matrix by linear equations (H. C. Longuet-Higgins, "A Computer Algorithm for
 * Reconstructing a Scene from Two Projections", 1981), of directions that are scaled as R. Hartley, "In Defense of the Eight-Point Algorithm", 1997, scales
 * pixels.
 */

import { invalidArgument } from '../arguments/errors.js';
import type { Numbers } from '../arguments/numeric-arguments.js';
import { nearestRotation, product, rotationOf, transpose } from '../graphs/pose-numbers.js';
import { cross, dot } from '../problem/vectors.js';
import { checkCount, copyDirections } from './checks.js';
import { eigen } from './symmetric.js';

/** Where a second camera is. */
export interface RelativePose {
  /**
   * The pose that takes points of the first camera's frame into the second's, as a block of `problem.poses`: the unit quaternion w, x, y, z, then x, y, z,
   * of length 1: directions do not tell how far the cameras are apart.
   */
  readonly pose: Float64Array;
  /** Root mean square of the angles between the second camera's directions and the epipolar planes, in radians. */
  readonly error: number;
  /** How many points are in front of both cameras. */
  readonly ahead: number;
}

/** Eigenvalues below this share of the largest are 0 but for rounding. */
const SINGULAR = 1e-12;

/**
 * Returns the pose of a second camera from the directions in which both see eight or more points: 3 numbers for each point, in the frame of the camera and
 * of any length, as `lens.undistort` gives them. All points count, so that there must be no outliers. The result is a start.
 *
 * Throws 'invalid-argument' for numbers and lengths that do not fit, for fewer than eight points, and for directions that leave the pose undetermined: of
 * points on a plane, or seen from one place, where noise does not hide it.
 */
export function relativePose(first: Numbers, second: Numbers): RelativePose {
  const sets = [copyDirections('relativePose: first', first), copyDirections('relativePose: second', second)] as const;
  const count = sets[0].length / 3;
  checkCount('relativePose: second', sets[1], 3, count, 'directions in first');
  if (count < 8) throw invalidArgument('relativePose: first', `${count} directions`, 'at least 8');
  const [a, b] = sets.map((rays) => Array.from({ length: count }, (_, k) => rays.slice(3 * k, 3 * k + 3))) as [Float64Array[], Float64Array[]];
  const [scaleA, scaleB] = [whitening(a), whitening(b)];
  // (b')ᵀ E' a' = 0
  const matrix = new Float64Array(81);
  for (let k = 0; k < count; k++) {
    const [p, q] = [product(3, scaleA, a[k] as Float64Array), product(3, scaleB, b[k] as Float64Array)];
    const row = q.flatMap((entry) => p.map((other) => entry * other));
    for (let i = 0; i < 9; i++) for (let j = 0; j < 9; j++) (matrix[9 * i + j] as number) += (row[i] as number) * (row[j] as number);
  }
  const { values, vectors } = eigen(matrix, 9);
  if (!((values[1] as number) > Math.max(SINGULAR * (values[8] as number), 4 * (values[0] as number)))) throw undetermined();
  const essential = product(3, product(3, scaleB, [...(vectors[0] as Float64Array)]), scaleA);
  const candidates = decompose(essential).map((candidate) => ({ ...candidate, ahead: aheadOf(candidate, a, b) }));
  const best = candidates.reduce((most, candidate) => (candidate.ahead > most.ahead ? candidate : most));
  let [epipolar, turned] = [0, 0];
  for (let k = 0; k < count; k++) {
    const [seen, there] = [product(3, best.rotation, a[k] as Float64Array), b[k] as Float64Array];
    const normal = cross(best.translation, seen);
    const length = Math.hypot(...normal);
    epipolar += length > 0 ? Math.asin(Math.min(1, Math.abs(dot(normal, there)) / length)) ** 2 : 0;
    turned += Math.hypot(...cross(seen, there)) ** 2;
  }
  // Without a distance the rotation alone explains the directions as well.
  if (!(turned > 9 * epipolar + 1e-20 * count)) throw undetermined();
  const quaternion = nearestRotation(3, best.rotation) as Float64Array;
  return { pose: Float64Array.from([...quaternion, ...best.translation]), error: Math.sqrt(epipolar / count), ahead: best.ahead };
}

const undetermined = (): Error =>
  invalidArgument('relativePose: first', 'directions of points on a plane, or seen from one place', 'directions that determine a pose');

/** The symmetric matrix that makes the second moments of directions those of a ball. */
function whitening(directions: readonly Float64Array[]): number[] {
  const moments = new Float64Array(9);
  for (const d of directions) {
    for (let i = 0; i < 9; i++) (moments[i] as number) += ((d[Math.floor(i / 3)] as number) * (d[i % 3] as number)) / directions.length;
  }
  const { values, vectors } = eigen(moments, 3);
  if (!((values[0] as number) > SINGULAR * (values[2] as number))) throw undetermined();
  const result = Array.from({ length: 9 }, () => 0);
  vectors.forEach((vector, k) => {
    for (let i = 0; i < 9; i++) (result[i] as number) += ((vector[Math.floor(i / 3)] as number) * (vector[i % 3] as number)) / Math.sqrt(values[k] as number);
  });
  return result;
}

/** The four motions of an essential matrix, or of the nearest one. */
function decompose(essential: readonly number[]): { rotation: number[]; translation: number[] }[] {
  const [, v2, v1] = eigen(product(3, transpose(3, essential), essential), 3).vectors.map((vector) => [...vector]) as [number[], number[], number[]];
  const unit = (v: readonly number[]): number[] => v.map((entry) => entry / Math.hypot(...v));
  const u1 = unit(product(3, essential, v1));
  // Orthogonal to u1 but for rounding, and for noise in what is not quite an essential matrix.
  const rough = product(3, essential, v2);
  const u2 = unit(rough.map((entry, k) => entry - dot(rough, u1) * (u1[k] as number)));
  const [u3, v3] = [cross(u1, u2), cross(v1, v2)];
  // E = U diag(1, 1, 0) Vᵀ is [t]× R with t = ±u₃ and R = U W Vᵀ, W a quarter turn about the third axis, forward or back.
  return [1, -1].flatMap((sign) => {
    const rotation = Array.from({ length: 9 }, (_, k) => {
      const [i, j] = [Math.floor(k / 3), k % 3];
      return sign * ((u2[i] as number) * (v1[j] as number) - (u1[i] as number) * (v2[j] as number)) + (u3[i] as number) * (v3[j] as number);
    });
    const proper = rotationOf(3, nearestRotation(3, rotation) as Float64Array, 0);
    return [u3, u3.map((entry) => -entry)].map((translation) => ({ rotation: proper, translation }));
  });
}

/** The number of points with positive distances along both rays, where these are nearest to each other. */
function aheadOf({ rotation, translation }: { rotation: number[]; translation: number[] }, a: readonly Float64Array[], b: readonly Float64Array[]): number {
  return a.filter((direction, k) => {
    const [seen, there] = [product(3, rotation, direction), b[k] as Float64Array];
    const cosine = dot(seen, there);
    const [along, alongThere] = [dot(seen, translation), dot(there, translation)];
    return cosine * alongThere - along > 0 && alongThere - cosine * along > 0;
  }).length;
}
