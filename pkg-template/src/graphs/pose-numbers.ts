/** Poses as rotation matrices and translations, in numbers: blocks of 3 numbers in the plane and of 7 in space. Matrices are row after row. */

import { diagonalize } from '../problem/triangular-root.js';

/** Numbers of a pose. */
export const poseSize = (dim: 2 | 3): 3 | 7 => (dim === 2 ? 3 : 7);

/** The translation of the pose that begins at a position. */
export function translationOf(dim: 2 | 3, poses: Float64Array, first: number): Float64Array {
  const end = first + poseSize(dim);
  return poses.subarray(end - dim, end);
}

/** The rotation matrix of the pose that begins at a position. */
export function rotationOf(dim: 2 | 3, poses: Float64Array, first: number): number[] {
  if (dim === 2) {
    const [c, s] = [Math.cos(poses[first] as number), Math.sin(poses[first] as number)];
    return [c, -s, s, c];
  }
  const [w, x, y, z] = [0, 1, 2, 3].map((k) => poses[first + k]) as [number, number, number, number];
  return [
    1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y),
    2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
    2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y),
  ];
}

/** A B, of n × n matrices; with vectors of n numbers as B, the vector A B. */
export function product(n: number, a: ArrayLike<number>, b: ArrayLike<number>): number[] {
  const width = b.length / n;
  const result: number[] = [];
  for (let row = 0; row < n; row++) {
    for (let column = 0; column < width; column++) {
      let sum = 0;
      for (let k = 0; k < n; k++) sum += (a[row * n + k] as number) * (b[k * width + column] as number);
      result.push(sum);
    }
  }
  return result;
}

/** Aᵀ of an n × n matrix. */
export function transpose(n: number, a: ArrayLike<number>): number[] {
  const result: number[] = [];
  for (let row = 0; row < n; row++) for (let column = 0; column < n; column++) result.push(a[column * n + row] as number);
  return result;
}

/** a + b, or with the sign −1 a − b. */
export function sum(a: ArrayLike<number>, b: ArrayLike<number>, sign = 1): number[] {
  const result: number[] = [];
  for (let k = 0; k < a.length; k++) result.push((a[k] as number) + sign * (b[k] as number));
  return result;
}

/** The rotation vector of a rotation matrix; in the plane its angle. Of half a turn in space, which has two, it is 0. */
export function logarithm(dim: 2 | 3, r: ArrayLike<number>): number[] {
  const at = (k: number): number => r[k] as number;
  if (dim === 2) return [Math.atan2(at(2), at(0))];
  const axis = [at(7) - at(5), at(2) - at(6), at(3) - at(1)].map((entry) => entry / 2);
  const sine = Math.hypot(...axis);
  const angle = Math.atan2(sine, (at(0) + at(4) + at(8) - 1) / 2);
  return axis.map((entry) => (sine === 0 ? 0 : (entry * angle) / sine));
}

/**
 * The numbers of the rotation that is nearest to a matrix, an angle or a quaternion; null for the matrix 0. In space it is the eigenvector of
 * the largest eigenvalue of Davenport's matrix (P. Davenport, "A Vector Approach to the Algebra of Rotations", NASA TN D-4696, 1968).
 */
export function nearestRotation(dim: 2 | 3, matrix: readonly number[]): Float64Array | null {
  const length = Math.hypot(...matrix);
  if (!(length > 1e-12)) return null;
  const at = (k: number): number => (matrix[k] as number) / length;
  if (dim === 2) return Float64Array.of(Math.atan2(at(2) - at(1), at(0) + at(3)));
  const davenport = davenportMatrix(matrix.map((entry) => entry / length));
  const vectors = diagonalize(davenport, 4);
  let best = 0;
  for (let k = 1; k < 4; k++) if ((davenport[5 * k] as number) > (davenport[5 * best] as number)) best = k;
  return vectors.slice(4 * best, 4 * best + 4);
}

/** Davenport's matrix: qᵀ D q = tr(Rᵀ M) for the rotation R of a unit quaternion q. */
export function davenportMatrix(matrix: readonly number[]): Float64Array {
  const at = (k: number): number => matrix[k] as number;
  const [x, y, z] = [at(7) - at(5), at(2) - at(6), at(3) - at(1)];
  const [xy, xz, yz] = [at(1) + at(3), at(2) + at(6), at(5) + at(7)];
  return Float64Array.of(
    at(0) + at(4) + at(8), x, y, z,
    x, at(0) - at(4) - at(8), xy, xz,
    y, xy, at(4) - at(0) - at(8), yz,
    z, xz, yz, at(8) - at(0) - at(4),
  );
}
