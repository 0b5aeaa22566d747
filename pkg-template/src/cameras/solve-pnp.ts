/**
 * The pose of a camera that sees known points, from no start: the minima over all rotations of the squared distances of points from rays, with the
 * translation eliminated (G. Schweighofer, A. Pinz, "Globally Optimal O(n) Solution to the PnP Problem", 2008; the starts are those of G. Terzakis, M.
 * Lourakis, "A Consistently Fast and Globally Optimal Solution to the Perspective-n-Point Problem", ECCV 2020).
 */

import { invalidArgument } from '../arguments/errors.js';
import type { Numbers } from '../arguments/numeric-arguments.js';
import { nearestRotation, product, rotationOf, sum } from '../graphs/pose-numbers.js';
import { dot, mean } from '../problem/vectors.js';
import { angleBetween, checkCount, copyDirections, copyTuples } from './checks.js';
import { eigen, solveBy } from './symmetric.js';

/** A pose of a camera. */
export interface CameraPose {
  /** The pose that takes points of the world into the camera's frame, as a block of `problem.poses`: the unit quaternion w, x, y, z, then x, y, z. */
  readonly pose: Float64Array;
  /** Root mean square of the angles between the directions and those of the points, in radians. */
  readonly error: number;
}

/** The best pose, and others that explain the directions less well. */
export interface PnpResult extends CameraPose {
  /**
   * Other minima with errors of up to ten times that of the best, by ascending error. Four points, or those of a plane far away, can have two poses that
   * differ by less than noise.
   */
  readonly others: readonly CameraPose[];
}

/** Singular values below this share of the largest are 0 but for rounding: the squares of the matrices have 16 digits. */
const SINGULAR = 1e-12;

/**
 * Returns the pose from which a camera sees four or more points in given directions, in a plane or not. `points` have 3 numbers each, in the world;
 * `directions` 3 each, in the camera's frame and of any length, as `lens.undistort` gives them. All points count, so that there must be no outliers: see
 * `ransac`. The result is a start, nearly as good as a solve for the pixels.
 *
 * Throws 'invalid-argument' for numbers and lengths that do not fit, for fewer than four points, and for points that leave the pose undetermined: at one
 * place, on one line, or so far away that their directions are parallel.
 */
export function solvePnp(points: Numbers, directions: Numbers): PnpResult {
  const given = copyTuples('solvePnp: points', points, 3);
  const rays = copyDirections('solvePnp: directions', directions);
  const count = given.length / 3;
  checkCount('solvePnp: directions', rays, 3, count, 'points');
  if (count < 4) throw invalidArgument('solvePnp: points', `${count} points`, 'at least 4: three have up to four poses');
  // Coordinates about 1, from the centre.
  const centre = [0, 1, 2].map((k) => mean(given.filter((_, position) => position % 3 === k)));
  const local = given.map((entry, position) => entry - (centre[position % 3] as number));
  const scale = Math.sqrt(mean(local.map((entry) => entry * entry)));
  if (!(scale > 0) || !Number.isFinite(scale)) throw undetermined('points at one place');
  for (let k = 0; k < local.length; k++) (local[k] as number) /= scale;
  const distances = new Distances(local, rays, new Float64Array(count).fill(1));
  const ends = distances.starts().map((start) => distances.minimize(start, 1e-5)).sort((a, b) => a.cost - b.cost);
  const isSame = (a: readonly number[], b: readonly number[]): boolean => Math.hypot(...sum(a, b, -1)) < 1e-4;
  const minima = ends.filter(({ rotation }, k) => ends.findIndex((other) => isSame(other.rotation, rotation)) === k);
  const least = ends[0]?.cost as number;
  const found: (CameraPose & { readonly singular: number })[] = [];
  // What is ten times as far from the rays, but for rounding, is no other pose.
  const most = 100 * Math.max(0, least) + distances.rounding;
  for (const { rotation: coarse, cost } of minima) {
    if (cost > most) continue;
    const { rotation, translation, singular } = refined(local, rays, coarse);
    const quaternion = nearestRotation(3, rotation) as Float64Array;
    if (found.some(({ pose }) => Math.abs(dot(pose.subarray(0, 4), quaternion)) > 1 - 1e-7)) continue;
    const squares = Array.from({ length: count }, (_, k) => angleBetween(rays.subarray(3 * k, 3 * k + 3), moved(rotation, local, k, translation)) ** 2);
    const turned = product(3, rotationOf(3, quaternion, 0), centre);
    const shift = translation.map((entry, k) => scale * entry - (turned[k] as number));
    found.push({ pose: Float64Array.from([...quaternion, ...shift]), error: Math.sqrt(mean(squares)), singular });
  }
  found.sort((a, b) => a.error - b.error);
  const [{ singular, ...best }, ...rest] = found as [(typeof found)[number], ...typeof found];
  if (!(singular > SINGULAR)) throw undetermined('points on one line, or of parallel directions');
  // Angles tell what is behind the camera, distances do not.
  return { ...best, others: rest.filter(({ error }) => error <= 10 * best.error + 1e-7).map(({ pose, error }) => ({ pose, error })) };
}

const undetermined = (got: string): Error => invalidArgument('solvePnp: points', got, 'points that determine a pose');

/** A minimum with weights that make distances from rays angles, which a few solutions settle. */
function refined(
  points: Float64Array,
  rays: Float64Array,
  start: readonly number[],
): { rotation: readonly number[]; translation: readonly number[]; singular: number } {
  const count = points.length / 3;
  let rotation = start;
  let distances = new Distances(points, rays, new Float64Array(count).fill(1));
  for (let pass = 0; pass < 3; pass++) {
    const translation = distances.translation(rotation);
    const weights = Float64Array.from({ length: count }, (_, k) => 1 / Math.max(1e-12, dot(...twice(moved(rotation, points, k, translation)))));
    const most = Math.max(...weights);
    distances = new Distances(points, rays, weights.map((weight) => weight / most));
    ({ rotation } = distances.minimize(rotation, 1e-13));
  }
  return { rotation, translation: distances.translation(rotation), singular: distances.singular(rotation) };
}

const twice = <T>(value: T): [T, T] => [value, value];

/** R pₖ + t */
function moved(rotation: readonly number[], points: Float64Array, k: number, translation: readonly number[]): number[] {
  return product(3, rotation, points.subarray(3 * k, 3 * k + 3)).map((entry, i) => entry + (translation[i] as number));
}

/** Σ w ‖(I − d dᵀ)(R p + t)‖² as a quadratic form rᵀ Ω r of the nine entries r of R, with the best translation t = T r. */
class Distances {
  /** Ω, row after row. */
  private readonly form = Array.from({ length: 9 }, () => new Float64Array(9));
  /** T, three rows of nine. */
  private readonly shift: number[][];
  /** What rounding may add to the form's values. */
  readonly rounding: number;

  constructor(points: Float64Array, rays: Float64Array, weights: Float64Array) {
    const count = points.length / 3;
    const total = new Float64Array(9);
    const moments = Array.from({ length: 3 }, () => new Float64Array(9));
    const across: number[][] = [];
    for (let k = 0; k < count; k++) {
      const d = rays.subarray(3 * k, 3 * k + 3);
      const matrix: number[] = [];
      for (let i = 0; i < 9; i++) matrix.push((weights[k] as number) * ((i % 4 === 0 ? 1 : 0) - (d[Math.floor(i / 3)] as number) * (d[i % 3] as number)));
      across.push(matrix);
      for (let i = 0; i < 3; i++) {
        for (let j = 0; j < 3; j++) {
          (total[3 * i + j] as number) += matrix[3 * i + j] as number;
          for (let l = 0; l < 3; l++) ((moments[i] as Float64Array)[3 * j + l] as number) += (matrix[3 * i + j] as number) * (points[3 * k + l] as number);
        }
      }
    }
    const spread = eigen(total, 3);
    if (!((spread.values[0] as number) > SINGULAR * (spread.values[2] as number))) throw undetermined('points of parallel directions');
    const columns = Array.from({ length: 9 }, (_, j) => solveBy(spread, moments.map((row) => -(row[j] as number))));
    this.shift = [0, 1, 2].map((i) => columns.map((column) => column[i] as number));
    this.rounding = 1e-14 * count * (1 + this.shift.reduce((sum, row) => sum + dot(row, row), 0));
    // Ω = Σ Nᵀ Q N with N = P + T, where P r = R p.
    for (let k = 0; k < count; k++) {
      const matrix = across[k] as number[];
      const n = this.shift.map((row, i) => row.map((entry, j) => entry + (Math.floor(j / 3) === i ? (points[3 * k + (j % 3)] as number) : 0)));
      const weighted = product(3, matrix, n.flat());
      for (let a = 0; a < 9; a++) {
        const row = this.form[a] as Float64Array;
        for (let b = 0; b < 9; b++) for (let i = 0; i < 3; i++) (row[b] as number) += ((n[i] as number[])[a] as number) * (weighted[9 * i + b] as number);
      }
    }
  }

  translation(rotation: readonly number[]): number[] {
    return this.shift.map((row) => dot(row, rotation));
  }

  /** The rotations that are nearest to the eigenvectors of the form and to their negatives: one of them is near each minimum. */
  starts(): number[][] {
    return eigen(this.form.flatMap((row) => [...row]), 9).vectors.flatMap((vector) => [1, -1].flatMap((sign) => {
      const quaternion = nearestRotation(3, Array.from(vector, (entry) => sign * entry));
      return quaternion === null ? [] : [rotationOf(3, quaternion, 0)];
    }));
  }

  /** The minimum that Levenberg-Marquardt's method finds from a rotation, to `tolerance` radians. */
  minimize(start: readonly number[], tolerance: number): { rotation: readonly number[]; cost: number } {
    let rotation = start;
    let cost = this.cost(rotation);
    let damping = 1e-3;
    for (let iteration = 0; iteration < 50; iteration++) {
      const { matrix, gradient } = this.linear(rotation);
      const trace = (matrix[0] as number) + (matrix[4] as number) + (matrix[8] as number);
      for (let k = 0; k < 9; k += 4) (matrix[k] as number) += damping * trace;
      const step = definiteSolution(matrix, gradient).map((entry) => -entry);
      const length = Math.hypot(...step);
      if (!(length > tolerance)) break;
      const next = turned(step, rotation);
      const nextCost = this.cost(next);
      if (nextCost < cost) [rotation, cost, damping] = [next, nextCost, damping / 10];
      else damping *= 10;
      if (damping > 1e6) break;
    }
    return { rotation, cost };
  }

  /** The smallest eigenvalue of the form's second derivatives by rotations, as a share of the largest. */
  singular(rotation: readonly number[]): number {
    const { values } = eigen(this.linear(rotation).matrix, 3);
    return (values[0] as number) / (values[2] as number);
  }

  private cost(rotation: readonly number[]): number {
    let sum = 0;
    for (let a = 0; a < 9; a++) sum += (rotation[a] as number) * dot(this.form[a] as Float64Array, rotation);
    return sum;
  }

  /** Half of the second derivatives, without those of the rotation, and half of the first derivatives, by small turns before the camera. */
  private linear(rotation: readonly number[]): { matrix: number[]; gradient: number[] } {
    const { form } = this;
    const matrix = Array.from({ length: 9 }, () => 0);
    const gradient = [0, 0, 0];
    // Row `next` of [e]× R is minus the last row of R, and the last one is the next row of R.
    for (let i = 0; i < 3; i++) {
      const [next, last] = [3 * ((i + 1) % 3), 3 * ((i + 2) % 3)];
      for (let a = 0; a < 9; a++) {
        const row = form[a] as Float64Array;
        let image = 0;
        for (let k = 0; k < 3; k++) image += (row[last + k] as number) * (rotation[next + k] as number) - (row[next + k] as number) * (rotation[last + k] as number);
        (gradient[i] as number) += image * (rotation[a] as number);
        const line = 3 * Math.floor(a / 3);
        // Entry a of [e]× R is that of the row before for one axis, and minus that of the row after for another.
        const [after, before] = [((line + 3) % 9) + (a % 3), ((line + 6) % 9) + (a % 3)];
        (matrix[3 * i + (line / 3 + 1) % 3] as number) += image * (rotation[before] as number);
        (matrix[3 * i + (line / 3 + 2) % 3] as number) -= image * (rotation[after] as number);
      }
    }
    return { matrix, gradient };
  }
}

/** The solution of a definite system of three equations, by Cramer's rule. */
function definiteSolution(m: readonly number[], right: readonly number[]): number[] {
  const at = (k: number): number => m[k] as number;
  const [a, b, c] = [at(4) * at(8) - at(5) * at(7), at(5) * at(6) - at(3) * at(8), at(3) * at(7) - at(4) * at(6)];
  const [d, e, f] = [at(8) * at(0) - at(2) * at(6), at(1) * at(6) - at(0) * at(7), at(0) * at(4) - at(1) * at(3)];
  const determinant = at(0) * a + at(1) * b + at(2) * c;
  const [x, y, z] = right as [number, number, number];
  return [(a * x + b * y + c * z) / determinant, (b * x + d * y + e * z) / determinant, (c * x + e * y + f * z) / determinant];
}

/** exp([v]×) R, kept orthogonal. */
function turned(v: readonly number[], rotation: readonly number[]): number[] {
  const angle = Math.hypot(...v);
  const ratio = angle < 1e-8 ? 0.5 : Math.sin(angle / 2) / angle;
  const turn = rotationOf(3, Float64Array.from([Math.cos(angle / 2), ...v.map((entry) => ratio * entry)]), 0);
  return product(3, turn, rotation);
}
