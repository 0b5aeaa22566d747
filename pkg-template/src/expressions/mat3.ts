/** 3×3 matrices of expressions. */

import { describe, invalidArgument } from '../arguments/errors.js';
import { textOnly } from './primitive.js';
import { nearestRotation } from './nearest-rotation.js';
import { squaredNorm } from './sums.js';
import { smallestEigenvalue } from './symmetric-eigenvalue.js';
import { toValue, type Scalar, type Value } from './value.js';
import { checkVec3, Vec3 } from './vec3.js';

/** A 3×3 matrix. Operators never mutate. */
export class Mat3 {
  /** The rows. */
  readonly rows: readonly [Vec3, Vec3, Vec3];

  private constructor(a: Vec3, b: Vec3, c: Vec3) {
    this.rows = [a, b, c];
  }

  /** The matrix with these rows. */
  static fromRows(a: Vec3, b: Vec3, c: Vec3): Mat3 {
    checkVec3('Mat3.fromRows: a', a);
    checkVec3('Mat3.fromRows: b', b);
    checkVec3('Mat3.fromRows: c', c);
    return new Mat3(a, b, c);
  }
  /** The matrix with these columns, such as three edges of a tetrahedron. */
  static fromColumns(a: Vec3, b: Vec3, c: Vec3): Mat3 {
    checkVec3('Mat3.fromColumns: a', a);
    checkVec3('Mat3.fromColumns: b', b);
    checkVec3('Mat3.fromColumns: c', c);
    return new Mat3(a, b, c).transpose();
  }
  /** a bᵀ */
  static outer(a: Vec3, b: Vec3): Mat3 {
    checkVec3('Mat3.outer: a', a);
    checkVec3('Mat3.outer: b', b);
    return new Mat3(b.mul(a.x), b.mul(a.y), b.mul(a.z));
  }

  /** this + b */
  add(b: Mat3): Mat3 {
    checkMat3('Mat3.add: b', b);
    const [x, y, z] = this.rows;
    return new Mat3(x.add(b.rows[0]), y.add(b.rows[1]), z.add(b.rows[2]));
  }
  /** this − b */
  sub(b: Mat3): Mat3 {
    checkMat3('Mat3.sub: b', b);
    const [x, y, z] = this.rows;
    return new Mat3(x.sub(b.rows[0]), y.sub(b.rows[1]), z.sub(b.rows[2]));
  }
  /** Scaled by s. */
  mul(s: Scalar): Mat3 {
    const factor = toValue('Mat3.mul: s', s);
    const [x, y, z] = this.rows;
    return new Mat3(x.mul(factor), y.mul(factor), z.mul(factor));
  }
  /** The product with a column vector. */
  mulVec(v: Vec3): Vec3 {
    checkVec3('Mat3.mulVec: v', v);
    const [x, y, z] = this.rows;
    return new Vec3(x.dot(v), y.dot(v), z.dot(v));
  }
  /** The matrix product this · b. */
  matmul(b: Mat3): Mat3 {
    checkMat3('Mat3.matmul: b', b);
    const [x, y, z] = b.transpose().rows;
    const [p, q, r] = this.rows;
    const row = (a: Vec3) => new Vec3(a.dot(x), a.dot(y), a.dot(z));
    return new Mat3(row(p), row(q), row(r));
  }
  /** The transpose. */
  transpose(): Mat3 {
    const [a, b, c] = this.rows;
    return new Mat3(new Vec3(a.x, b.x, c.x), new Vec3(a.y, b.y, c.y), new Vec3(a.z, b.z, c.z));
  }
  /** The determinant. */
  get determinant(): Value {
    const [a, b, c] = this.rows;
    return a.dot(b.cross(c));
  }
  /** The inverse; not finite where the determinant is 0. */
  get inverse(): Mat3 {
    const [a, b, c] = this.rows;
    const [x, y, z] = [b.cross(c), c.cross(a), a.cross(b)];
    const factor = a.dot(x).reciprocal();
    return new Mat3(x.mul(factor), y.mul(factor), z.mul(factor)).transpose();
  }
  /** The sum of the squares of all entries: the squared Frobenius norm. */
  get squaredNorm(): Value {
    return squaredNorm(this.rows.flatMap((row) => [...row]));
  }
  /** The sum of the diagonal. */
  get trace(): Value {
    const [a, b, c] = this.rows;
    return a.x.add(b.y).add(c.z);
  }
  /**
   * The polar decomposition this = rotation · stretch: the nearest rotation, and a symmetric matrix, whose eigenvalues are the singular values, the least with
   * the sign of the determinant. Its trace, squared norm and determinant are their sum, sum of squares and product; derivatives are right where singular values
   * are equal, too. Where no rotation is nearest, since the two smallest cancel, as of diag(1, 1, −1), both are 0; near there digits are lost as they cancel.
   */
  get polar(): { rotation: Mat3; stretch: Mat3 } {
    const rotation = new Mat3(...nearestRotation(this.rows));
    return { rotation, stretch: rotation.transpose().matmul(this) };
  }
  /**
   * The smallest eigenvalue of a symmetric matrix, in closed form. Its derivative is v vᵀ of the unit eigenvector v, and 0 where the
   * eigenvalue is repeated. For a matrix that is not symmetric the result has no meaning.
   */
  get smallestEigenvalue(): Value {
    return smallestEigenvalue(this.rows);
  }
  /**
   * Conversion by JavaScript: text in a template literal. As a number, in JavaScript's operators and comparisons, it throws
   * 'invalid-graph'.
   */
  [Symbol.toPrimitive](hint: string): string {
    return textOnly(hint, 'a Mat3');
  }
}

/** Throws unless `value` is a Mat3. */
export function checkMat3(argument: string, value: unknown): asserts value is Mat3 {
  if (!(value instanceof Mat3)) throw invalidArgument(argument, describe(value), 'a Mat3');
}
