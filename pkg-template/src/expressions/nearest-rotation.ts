/**
 * The rotation nearest to a 3×3 matrix A in closed form up to a root. The largest root λ of the characteristic polynomial of P. Davenport's matrix is the
 * maximum of tr(RᵀA) over rotations R, σ₁ + σ₂ + sσ₃ with the sign s of the determinant, so that R is its derivative by A:
 *
 *     λ⁴ − 2nλ² − 8dλ + 2m − n² = 0,   n = ‖A‖², d = det A, m = ‖AᵀA‖²
 *     R = (λ²A + 2λ cof A − 2AAᵀA + nA) / (λ³ − nλ − 2d)
 *
 * Newton's method comes to λ from √(3n), which is no smaller, monotonically. Its first steps are constants for differentiation, and the last two are not: each
 * doubles the order of derivatives that are right, so that R has its first three. No eigenvalue is divided by, and equal singular values are no exception.
 */

import { inverseNorm, squaredNorm, sum } from './sums.js';
import { Op } from './op-codes.js';
import { literal, select, unary, type Value } from './value.js';
import { Vec3 } from './vec3.js';

/** Rows of a matrix. */
export type Rows = readonly [Vec3, Vec3, Vec3];

/** Steps to a root, before those that are differentiated: each at least halves the distance, and squares it in the end. */
const STEPS = 16;
const DIFFERENTIATED_STEPS = 2;
/**
 * The divisor 2(σ₂ + sσ₃)(σ₁ + sσ₃)(σ₁ + σ₂)/‖A‖³ up to which no rotation counts as nearest. Steps come to a repeated root more slowly, and rounding is divided by
 * the square of the gap.
 */
const LEAST_DIVISOR = 1e-4;
/** Where a slope is 0 there is no step. */
const LEAST_SLOPE = 1e-12;

/** The rows of the nearest rotation; 0 where none is nearest, at σ₂ + sσ₃ = 0. */
export function nearestRotation(rows: Rows): Rows {
  const scale = inverseNorm(squaredNorm(rows.flatMap((row) => [...row])));
  // n = 1
  const [a, b, c] = rows.map((row) => row.mul(scale)) as unknown as Rows;
  const cofactors: Rows = [b.cross(c), c.cross(a), a.cross(b)];
  const d = a.dot(cofactors[0]);
  const [aa, ab, ac, bb, bc, cc] = [a.dot(a), a.dot(b), a.dot(c), b.dot(b), b.dot(c), c.dot(c)];
  const two = literal(2);
  const m = sum([aa.square(), bb.square(), cc.square(), ab.square().mul(two), ac.square().mul(two), bc.square().mul(two)]);
  const constant = m.mul(two).sub(literal(1));
  const step = (root: Value, d: Value, constant: Value): Value => {
    const slope = root.square().sub(literal(1)).mul(root).sub(d.mul(two)).mul(literal(4));
    const value = root.square().sub(two).mul(root).sub(d.mul(literal(8))).mul(root).add(constant);
    return root.sub(value.div(select(slope.gt(literal(LEAST_SLOPE)), slope, literal(Infinity))));
  };
  const [fixedD, fixedConstant] = [unary(Op.stopGradient, d), unary(Op.stopGradient, constant)];
  let root = literal(Math.sqrt(3));
  for (let k = 0; k < STEPS; k++) root = step(root, fixedD, fixedConstant);
  for (let k = 0; k < DIFFERENTIATED_STEPS; k++) root = step(root, d, constant);
  const divisor = root.square().sub(literal(1)).mul(root).sub(d.mul(two));
  const factor = select(divisor.gt(literal(LEAST_DIVISOR)), divisor.reciprocal(), literal(0));
  const ofRow = root.square().add(literal(1));
  // Rows of AAᵀA are those of AAᵀ times A.
  const products: Rows = [
    a.mul(aa).add(b.mul(ab)).add(c.mul(ac)),
    a.mul(ab).add(b.mul(bb)).add(c.mul(bc)),
    a.mul(ac).add(b.mul(bc)).add(c.mul(cc)),
  ];
  const rotated = [a, b, c].map((row, k) => {
    const numerator = row.mul(ofRow).add((cofactors[k] as Vec3).mul(root.mul(two))).sub((products[k] as Vec3).mul(two));
    return numerator.mul(factor);
  });
  return rotated as unknown as Rows;
}
