/**
 * The smallest eigenvalue of a symmetric 3×3 matrix as an expression, accurate in f32 and without NaN for any finite matrix.
 *
 * One of the three eigenvalues, the largest or the smallest, is the farthest from the other two. The trigonometric formula gives it and its
 * eigenvector to full accuracy (D. Eberly, A Robust Eigensolver for 3×3 Symmetric Matrices, 2014). When it is the largest, the smallest
 * eigenvalue is that of the 2×2 matrix in the plane orthogonal to its eigenvector. In both cases these expressions are constants for
 * differentiation and give the unit eigenvector v alone. The value is vᵀAv: an error of v enters it squared, and its derivative is v vᵀ.
 */

import { Op } from './op-codes.js';
import { inverseNorm, norm, squaredNorm } from './sums.js';
import { literal, select, unary, type Value } from './value.js';
import { Vec3 } from './vec3.js';

/** The upper triangle of a symmetric matrix, diagonal first. */
interface Symmetric {
  readonly xx: Value;
  readonly yy: Value;
  readonly zz: Value;
  readonly xy: Value;
  readonly xz: Value;
  readonly yz: Value;
}

/** The smallest eigenvalue of the symmetric matrix with the given rows. */
export function smallestEigenvalue(rows: readonly [Vec3, Vec3, Vec3]): Value {
  const a = scaled(rows);
  const { direction: w, largest } = isolatedEigenvector(a);
  const { direction: u, repeated } = smallestAcross(a, w);
  const v = constantVector(pick(largest, u, w));
  const [x, y, z] = rows;
  const value = new Vec3(x.dot(v), y.dot(v), z.dot(v)).dot(v);
  return select(largest.mul(repeated), unary(Op.stopGradient, value), value);
}

/** Returns the matrix divided by its largest entry, so that no product below overflows or underflows in f32. */
function scaled([p, q, r]: readonly [Vec3, Vec3, Vec3]): Symmetric {
  const entries = [p.x, q.y, r.z, p.y, p.z, q.z] as const;
  const size = entries.map((entry) => entry.abs()).reduce((a, b) => a.max(b));
  const factor = literal(1).div(select(size, size, literal(1)));
  const [xx, yy, zz, xy, xz, yz] = entries.map((entry) => entry.mul(factor)) as [Value, Value, Value, Value, Value, Value];
  return { xx, yy, zz, xy, xz, yz };
}

/** Returns the unit eigenvector of the most isolated eigenvalue, and whether (1 or 0) that is the largest. */
function isolatedEigenvector(a: Symmetric): { direction: Vec3; largest: Value } {
  // C = (A − qI)/p with q the mean of the diagonal has the eigenvalues 2 cos(φ + 2πk/3), cos 3φ = det(C)/2. The diagonal of A − qI is
  // computed from differences, so that it is exactly 0 for a multiple of the identity.
  const third = literal(1 / 3);
  const xy = a.xx.sub(a.yy);
  const yz = a.yy.sub(a.zz);
  const zx = a.zz.sub(a.xx);
  const dx = xy.sub(zx).mul(third);
  const dy = yz.sub(xy).mul(third);
  const dz = zx.sub(yz).mul(third);
  const offDiagonal = squaredNorm([a.xy, a.xz, a.yz]);
  const p = unary(Op.norm, squaredNorm([dx, dy, dz]).add(offDiagonal.add(offDiagonal)).mul(literal(1 / 6)));
  const factor = literal(1).div(select(p, p, literal(1)));
  const c: Symmetric = {
    xx: dx.mul(factor),
    yy: dy.mul(factor),
    zz: dz.mul(factor),
    xy: a.xy.mul(factor),
    xz: a.xz.mul(factor),
    yz: a.yz.mul(factor),
  };
  const cosine = determinant(c).mul(literal(0.5)).clamp(literal(-1), literal(1));
  const largest = cosine.gte(literal(0));
  const phi = cosine.abs().acos().mul(third);
  const magnitude = phi.cos().mul(literal(2));
  const eigenvalue = select(largest, magnitude, magnitude.neg());
  return { direction: kernel(minusDiagonal(c, eigenvalue)), largest };
}

/**
 * Returns the unit vector in the kernel of a symmetric matrix of rank 2: its adjugate is a multiple of v vᵀ, whose longest row is taken.
 */
function kernel(m: Symmetric): Vec3 {
  const xx = m.yy.mul(m.zz).sub(m.yz.square());
  const yy = m.xx.mul(m.zz).sub(m.xz.square());
  const zz = m.xx.mul(m.yy).sub(m.xy.square());
  const xy = m.xz.mul(m.yz).sub(m.xy.mul(m.zz));
  const xz = m.xy.mul(m.yz).sub(m.xz.mul(m.yy));
  const yz = m.xy.mul(m.xz).sub(m.yz.mul(m.xx));
  const sizeX = xx.abs();
  const sizeY = yy.abs();
  const sizeZ = zz.abs();
  const xOrY = pick(sizeX.gte(sizeY), new Vec3(xx, xy, xz), new Vec3(xy, yy, yz));
  return pick(sizeX.max(sizeY).gte(sizeZ), xOrY, new Vec3(xz, yz, zz)).normalized;
}

/** The least distance of two eigenvalues that counts as distinct, as a multiple of the rounding error. */
const REPEATED_WITHIN = 2;
/** The same bound where the estimated rounding error is 0: a few units in the last place of a double. */
const REPEATED_BELOW = 2 ** -50;

/**
 * In the plane orthogonal to the unit eigenvector w: returns the unit eigenvector of the smaller eigenvalue, and whether (1 or 0) both
 * eigenvalues are equal.
 */
function smallestAcross(a: Symmetric, w: Vec3): { direction: Vec3; repeated: Value } {
  const { u, v } = plane(w);
  const au = times(a, u);
  const av = times(a, v);
  // The matrix [α β; β γ], half its diagonal's difference, and the distance of its eigenvalues from their mean.
  const beta = u.dot(av);
  const halfDifference = u.dot(au).sub(v.dot(av)).mul(literal(0.5));
  const radius = norm([halfDifference, beta]);
  // The vector orthogonal to the longer row of [α β; β γ] minus the smaller eigenvalue. No difference in it cancels.
  const long = halfDifference.abs().add(radius);
  const first = halfDifference.gte(literal(0));
  const x = select(first, beta.neg(), long);
  const y = select(first, long, beta.neg());
  const length = inverseNorm(squaredNorm([x, y]));
  // The residual of w as an eigenvector estimates the relative rounding error. It is relative to the sum of magnitudes, which is small for
  // a graded matrix, whose small entries are as precise as its large ones.
  const aw = times(a, w);
  const relative = aw.sub(w.mul(w.dot(aw))).magnitude;
  const extent = magnitudes(u).add(magnitudes(v));
  const rounding = relative.mul(extent.dot(times(symmetricMagnitudes(a), extent)));
  const repeated = radius.lte(rounding.mul(literal(REPEATED_WITHIN)).add(literal(REPEATED_BELOW)));
  const direction = u.mul(x.mul(length)).add(v.mul(y.mul(length)));
  // Every direction is an eigenvector of a multiple of the identity.
  return { direction: pick(radius, direction, u), repeated };
}

/**
 * Returns two unit vectors orthogonal to the unit vector w and to each other (Duff et al., Building an Orthonormal Basis, Revisited, JCGT
 * 2017).
 */
function plane(w: Vec3): { u: Vec3; v: Vec3 } {
  const one = literal(1);
  const sign = select(w.z.gte(literal(0)), one, literal(-1));
  const a = sign.add(w.z).reciprocal().neg();
  const b = w.x.mul(w.y).mul(a);
  return {
    u: new Vec3(sign.mul(w.x.square()).mul(a).add(one), sign.mul(b), sign.mul(w.x).neg()),
    v: new Vec3(b, sign.add(w.y.square().mul(a)), w.y.neg()),
  };
}

function determinant(m: Symmetric): Value {
  return m.xx
    .mul(m.yy.mul(m.zz).sub(m.yz.square()))
    .sub(m.xy.mul(m.xy.mul(m.zz).sub(m.yz.mul(m.xz))))
    .add(m.xz.mul(m.xy.mul(m.yz).sub(m.yy.mul(m.xz))));
}

function minusDiagonal(m: Symmetric, value: Value): Symmetric {
  return { ...m, xx: m.xx.sub(value), yy: m.yy.sub(value), zz: m.zz.sub(value) };
}

function times(m: Symmetric, v: Vec3): Vec3 {
  return new Vec3(new Vec3(m.xx, m.xy, m.xz).dot(v), new Vec3(m.xy, m.yy, m.yz).dot(v), new Vec3(m.xz, m.yz, m.zz).dot(v));
}

function magnitudes(v: Vec3): Vec3 {
  return new Vec3(v.x.abs(), v.y.abs(), v.z.abs());
}

function symmetricMagnitudes(m: Symmetric): Symmetric {
  return { xx: m.xx.abs(), yy: m.yy.abs(), zz: m.zz.abs(), xy: m.xy.abs(), xz: m.xz.abs(), yz: m.yz.abs() };
}

function pick(condition: Value, a: Vec3, b: Vec3): Vec3 {
  return new Vec3(select(condition, a.x, b.x), select(condition, a.y, b.y), select(condition, a.z, b.z));
}

function constantVector(v: Vec3): Vec3 {
  const stop = (x: Value) => unary(Op.stopGradient, x);
  return new Vec3(stop(v.x), stop(v.y), stop(v.z));
}
