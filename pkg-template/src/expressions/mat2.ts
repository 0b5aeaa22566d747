/** 2×2 matrices of expressions. */

import { describe, invalidArgument } from '../arguments/errors.js';
import { textOnly } from './primitive.js';
import { inverseNorm, squaredNorm, sum } from './sums.js';
import { Op } from './op-codes.js';
import { literal, toValue, unary, type Scalar, type Value } from './value.js';
import { checkVec2, Vec2 } from './vec2.js';

/** A 2×2 matrix. Operators never mutate. */
export class Mat2 {
  /** The rows. */
  readonly rows: readonly [Vec2, Vec2];

  private constructor(a: Vec2, b: Vec2) {
    this.rows = [a, b];
  }

  /** The matrix with these rows. */
  static fromRows(a: Vec2, b: Vec2): Mat2 {
    checkVec2('Mat2.fromRows: a', a);
    checkVec2('Mat2.fromRows: b', b);
    return new Mat2(a, b);
  }
  /** The matrix with these columns, such as two edges of a triangle. */
  static fromColumns(a: Vec2, b: Vec2): Mat2 {
    checkVec2('Mat2.fromColumns: a', a);
    checkVec2('Mat2.fromColumns: b', b);
    return new Mat2(new Vec2(a.x, b.x), new Vec2(a.y, b.y));
  }
  /** a bᵀ */
  static outer(a: Vec2, b: Vec2): Mat2 {
    checkVec2('Mat2.outer: a', a);
    checkVec2('Mat2.outer: b', b);
    return new Mat2(b.mul(a.x), b.mul(a.y));
  }

  /** this + b */
  add(b: Mat2): Mat2 {
    checkMat2('Mat2.add: b', b);
    const [x, y] = this.rows;
    return new Mat2(x.add(b.rows[0]), y.add(b.rows[1]));
  }
  /** this − b */
  sub(b: Mat2): Mat2 {
    checkMat2('Mat2.sub: b', b);
    const [x, y] = this.rows;
    return new Mat2(x.sub(b.rows[0]), y.sub(b.rows[1]));
  }
  /** Scaled by s. */
  mul(s: Scalar): Mat2 {
    const factor = toValue('Mat2.mul: s', s);
    const [x, y] = this.rows;
    return new Mat2(x.mul(factor), y.mul(factor));
  }
  /** The product with a column vector. */
  mulVec(v: Vec2): Vec2 {
    checkVec2('Mat2.mulVec: v', v);
    const [x, y] = this.rows;
    return new Vec2(x.dot(v), y.dot(v));
  }
  /** The matrix product this · b. */
  matmul(b: Mat2): Mat2 {
    checkMat2('Mat2.matmul: b', b);
    const [x, y] = b.transpose().rows;
    const [p, q] = this.rows;
    return new Mat2(new Vec2(p.dot(x), p.dot(y)), new Vec2(q.dot(x), q.dot(y)));
  }
  /** The transpose. */
  transpose(): Mat2 {
    const [a, b] = this.rows;
    return new Mat2(new Vec2(a.x, b.x), new Vec2(a.y, b.y));
  }
  /** The determinant. */
  get determinant(): Value {
    const [a, b] = this.rows;
    return a.cross(b);
  }
  /** The sum of the diagonal. */
  get trace(): Value {
    const [a, b] = this.rows;
    return a.x.add(b.y);
  }
  /** The sum of the squares of all entries: the squared Frobenius norm, and the sum of the squared singular values. */
  get squaredNorm(): Value {
    const [a, b] = this.rows;
    return squaredNorm([a.x, a.y, b.x, b.y]);
  }
  /** The inverse; not finite where the determinant is 0. */
  get inverse(): Mat2 {
    const [a, b] = this.rows;
    const factor = this.determinant.reciprocal();
    return new Mat2(new Vec2(b.y, a.y.neg()).mul(factor), new Vec2(b.x.neg(), a.x).mul(factor));
  }
  /**
   * The singular values, the larger first, none negative. Functions that treat both alike, as energies of deformation do, have their first and second
   * derivatives where both are equal, too, to about 1e-6 of their size in f64: the values are kept 2e-9 of their size apart for it.
   */
  get singularValues(): [Value, Value] {
    const { rotation, reflection, size } = parts(this);
    const apart = size.mul(literal(APART));
    const length = ([x, y]: readonly [Value, Value]): Value => unary(Op.norm, sum([x.square(), y.square(), apart]));
    const [of, against] = [length(rotation), length(reflection)];
    return [of.add(against), of.sub(against).abs()];
  }
  /**
   * The polar decomposition this = rotation · stretch: the nearest rotation, and a symmetric matrix, which has a negative eigenvalue where the determinant is
   * negative. Where no rotation is nearest, as for a reflection, both are 0.
   */
  get polar(): { rotation: Mat2; stretch: Mat2 } {
    const [cosine, sine] = parts(this).rotation;
    const turn = new Vec2(cosine, sine).mul(inverseNorm(squaredNorm([cosine, sine])));
    const rotation = new Mat2(new Vec2(turn.x, turn.y.neg()), new Vec2(turn.y, turn.x));
    return { rotation, stretch: rotation.transpose().matmul(this) };
  }
  /**
   * Conversion by JavaScript: text in a template literal. As a number, in JavaScript's operators and comparisons, it throws
   * 'invalid-graph'.
   */
  [Symbol.toPrimitive](hint: string): string {
    return textOnly(hint, 'a Mat2');
  }
}

/** The square of the distance of equal singular values, relative to the squared norm: the root of it is lost of values, and ε by the root of second derivatives. */
const APART = 1e-18;

/**
 * A matrix as the sum of a rotation and a reflection, each scaled: [p, −q; q, p] + [r, s; s, −r] with the singular values |(p, q)| ± |(r, s)|. `size` is the
 * squared norm of both, a constant for differentiation.
 */
function parts({ rows: [a, b] }: Mat2): { rotation: readonly [Value, Value]; reflection: readonly [Value, Value]; size: Value } {
  const half = literal(0.5);
  const rotation = [a.x.add(b.y).mul(half), b.x.sub(a.y).mul(half)] as const;
  const reflection = [a.x.sub(b.y).mul(half), b.x.add(a.y).mul(half)] as const;
  const size = unary(Op.stopGradient, squaredNorm([...rotation, ...reflection]));
  return { rotation, reflection, size };
}

/** Throws unless `value` is a Mat2. */
export function checkMat2(argument: string, value: unknown): asserts value is Mat2 {
  if (!(value instanceof Mat2)) throw invalidArgument(argument, describe(value), 'a Mat2');
}
