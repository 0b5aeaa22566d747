/** Circles and ellipses through points, in closed form up to the root of a polynomial. */

import { invalidArgument } from '../arguments/errors.js';
import { cross, dot } from '../problem/vectors.js';

/** The points at `radius` from (x, y). */
export type CircleValues = {
  x: number;
  y: number;
  radius: number;
};

/** The ellipse around (x, y) whose major half axis has this angle to the x axis, in radians from −π/2 to π/2. */
export type EllipseValues = {
  x: number;
  y: number;
  semiMajor: number;
  semiMinor: number;
  angle: number;
};

/** Points about their mean, in units of their distance from it. */
interface Centred {
  readonly u: Float64Array;
  readonly v: Float64Array;
  readonly x: number;
  readonly y: number;
  readonly scale: number;
}

/** A determinant, relative to what it is of, that rounding does not tell from 0. */
const ROUNDING = 1e-12;
/** Steps of Newton's method, which converges quadratically from 0. */
const MOST_STEPS = 100;

/** Taubin's circle: of those with A(u² + v²) + Bu + Cv + D = 0 the one with the least mean square over the mean squared gradient. */
export function circleThrough(xs: Float64Array, ys: Float64Array, call: string): CircleValues {
  const { u, v, x, y, scale } = centred(xs, ys, call);
  const count = u.length;
  let [uu, uv, vv, uz, vz, zz] = [0, 0, 0, 0, 0, 0];
  for (let i = 0; i < count; i++) {
    const [a, b] = [u[i] as number, v[i] as number];
    const z = a * a + b * b;
    uu += (a * a) / count;
    uv += (a * b) / count;
    vv += (b * b) / count;
    uz += (a * z) / count;
    vz += (b * z) / count;
    zz += (z * z) / count;
  }
  const z = uu + vv;
  const spread = uu * vv - uv * uv;
  if (!(spread > ROUNDING * z * z)) throw invalidArgument(`${call}: x`, 'points on a line', 'points on an arc');
  // The characteristic polynomial of the problem, of which the least root is sought from below (N. Chernov, "Circular and Linear Regression", 2010, section 5.10).
  const variance = zz - z * z;
  const [c3, c2] = [4 * z, -3 * z * z - zz];
  const c1 = variance * z + 4 * spread * z - uz * uz - vz * vz;
  const c0 = uz * (uz * vv - vz * uv) + vz * (vz * uu - uz * uv) - spread * variance;
  let root = 0;
  for (let step = 0; step < MOST_STEPS; step++) {
    const next = root - (((c3 * root + c2) * root + c1) * root + c0) / ((3 * c3 * root + 2 * c2) * root + c1);
    if (!Number.isFinite(next) || next < 0 || Math.abs(next - root) <= 1e-15 * z) break;
    root = next;
  }
  const determinant = root * root - root * z + spread;
  if (!(Math.abs(determinant) > ROUNDING * z * z)) throw invalidArgument(`${call}: x`, 'points on a line', 'points on an arc');
  const [a, b] = [(uz * (vv - root) - vz * uv) / (2 * determinant), (vz * (uu - root) - uz * uv) / (2 * determinant)];
  return { x: x + scale * a, y: y + scale * b, radius: scale * Math.sqrt(a * a + b * b + z) };
}

/**
 * The ellipse Au² + Buv + Cv² + Du + Ev + F = 0 with the least sum of squares for 4AC − B² = 1, by the reduced eigenvalue problem of R. Halíř and J. Flusser,
 * "Numerically Stable Direct Least Squares Fitting of Ellipses" (1998).
 */
export function ellipseThrough(xs: Float64Array, ys: Float64Array, call: string): EllipseValues {
  const { u, v, x, y, scale } = centred(xs, ys, call);
  const refuse = () => invalidArgument(`${call}: x`, 'points on no ellipse', 'points on an arc of an ellipse');
  const sums = Array.from({ length: 6 }, () => new Float64Array(6));
  for (let i = 0; i < u.length; i++) {
    const [a, b] = [u[i] as number, v[i] as number];
    const terms = [a * a, a * b, b * b, a, b, 1];
    terms.forEach((p, j) => terms.forEach((q, k) => ((sums[j] as Float64Array)[k] = ((sums[j] as Float64Array)[k] as number) + (p * q) / u.length)));
  }
  const at = (j: number, k: number): number => (sums[j] as Float64Array)[k] as number;
  // The linear terms of given quadratic ones: t = −S3⁻¹ S2ᵀ a.
  const linear = inverse3(vectors((j, k) => at(3 + j, 3 + k)));
  if (linear === null) throw refuse();
  const follow = vectors((j, k) => -[0, 1, 2].reduce((sum, l) => sum + (linear[j] as Vector)[l as 0] * at(k, 3 + l), 0));
  const reduced = vectors((j, k) => at(j, k) + [0, 1, 2].reduce((sum, l) => sum + at(j, 3 + l) * (follow[l] as Vector)[k as 0], 0));
  // det(M − λC) = 0 with 4AC − B² = aᵀCa: the rows of C⁻¹M.
  const matrix = [reduced[2].map((e) => e / 2), reduced[1].map((e) => -e), reduced[0].map((e) => e / 2)] as unknown as Matrix;
  const quadratic = eigenvectors(matrix).find(([a, b, c]) => 4 * a * c - b * b > ROUNDING);
  if (quadratic === undefined) throw refuse();
  const [d, e, f] = follow.map((row) => dot(row, quadratic)) as unknown as Vector;
  const [a, b, c] = quadratic;
  const discriminant = 4 * a * c - b * b;
  const [centerU, centerV] = [(b * e - 2 * c * d) / discriminant, (b * d - 2 * a * e) / discriminant];
  const level = -(f + (d * centerU + e * centerV) / 2);
  const middle = (a + c) / 2;
  const half = Math.hypot((a - c) / 2, b / 2);
  // Eigenvalues of the quadratic part, with the sign of the level.
  const [flat, steep] = middle > 0 ? [middle - half, middle + half] : [middle + half, middle - half];
  const [semiMajor, semiMinor] = [Math.sqrt(level / flat), Math.sqrt(level / steep)];
  if (!(semiMajor < Infinity) || !(semiMinor > 0)) throw refuse();
  const twice = Math.atan2(-b, c - a);
  const angle = middle > 0 ? twice / 2 : Math.atan2(b, a - c) / 2;
  return { x: x + scale * centerU, y: y + scale * centerV, semiMajor: scale * semiMajor, semiMinor: scale * semiMinor, angle };
}

type Vector = readonly [number, number, number];
type Matrix = readonly [Vector, Vector, Vector];

function vectors(entry: (row: number, column: number) => number): Matrix {
  return [0, 1, 2].map((row) => [0, 1, 2].map((column) => entry(row, column))) as unknown as Matrix;
}

/** The inverse of a symmetric matrix; null of a singular one. */
function inverse3([a, b, c]: Matrix): Matrix | null {
  const columns = [cross(b, c), cross(c, a), cross(a, b)] as const;
  const determinant = dot(a, columns[0]);
  const size = Math.hypot(...a) * Math.hypot(...b) * Math.hypot(...c);
  if (!(Math.abs(determinant) > ROUNDING * size)) return null;
  return vectors((row, column) => (columns[column] as Vector)[row as 0] / determinant);
}

/** The eigenvectors of length 1 of a matrix with three real eigenvalues. */
function eigenvectors(matrix: Matrix): Vector[] {
  const [a, b, c] = matrix;
  const trace = a[0] + b[1] + c[2];
  const minors = a[0] * b[1] - a[1] * b[0] + (a[0] * c[2] - a[2] * c[0]) + (b[1] * c[2] - b[2] * c[1]);
  const determinant = dot(a, cross(b, c));
  // λ³ − tλ² + mλ − d = 0 by its trigonometric solution.
  const shift = trace / 3;
  const radius = Math.sqrt(Math.max(shift * shift - minors / 3, 0));
  const cosine = (shift ** 3 - (shift * minors) / 2 + determinant / 2) / radius ** 3;
  const angle = radius === 0 ? 0 : Math.acos(Math.min(1, Math.max(-1, cosine))) / 3;
  return [0, 1, 2].map((k) => {
    const value = shift + 2 * radius * Math.cos(angle - (2 * Math.PI * k) / 3);
    const rows = vectors((row, column) => (matrix[row] as Vector)[column as 0] - (row === column ? value : 0));
    const normals = [cross(rows[0], rows[1]), cross(rows[1], rows[2]), cross(rows[2], rows[0])];
    const longest = normals.reduce((best, each) => (dot(each, each) > dot(best, best) ? each : best));
    const length = Math.hypot(...longest);
    return longest.map((entry) => (length > 0 ? entry / length : 0)) as unknown as Vector;
  });
}

function centred(xs: Float64Array, ys: Float64Array, call: string): Centred {
  const mean = (values: Float64Array): number => {
    const first = values[0] as number;
    return first + values.reduce((sum, value) => sum + (value - first) / values.length, 0);
  };
  const [x, y] = [mean(xs), mean(ys)];
  const scale = Math.sqrt(xs.reduce((sum, at, i) => sum + ((at - x) ** 2 + ((ys[i] as number) - y) ** 2) / xs.length, 0));
  if (!(scale > 0 && scale < Infinity)) throw invalidArgument(`${call}: x`, scale === 0 ? 'points at one place' : 'points beyond the range of numbers', 'points at several places');
  return { u: xs.map((at) => (at - x) / scale), v: ys.map((at) => (at - y) / scale), x, y, scale };
}
