/** Rotations in space. */

import { describe, invalidArgument } from '../arguments/errors.js';
import { checkMat3, Mat3 } from './mat3.js';
import { entryAt } from './positions.js';
import { textOnly } from './primitive.js';
import { angleRatio, halfCosine, halfSineRatio } from './series.js';
import { literal, select, toValue, type Scalar, type Value } from './value.js';
import { checkVec3, Vec3 } from './vec3.js';
import { checkVec4, Vec4 } from './vec4.js';

/**
 * A rotation in space, SO(3), as a unit quaternion in the order w, x, y, z. Operators never mutate, and none normalises: a quaternion of
 * unit length is taken for granted, as of a block with the manifold 'unit-quaternion'.
 */
export class Rotation3 {
  /** The unit quaternion; its negative is the same rotation. */
  readonly quaternion: Vec4;

  /** Takes a unit quaternion; `q.normalized` makes one of any other. */
  constructor(quaternion: Vec4) {
    checkVec4('Rotation3: quaternion', quaternion);
    this.quaternion = quaternion;
  }

  /** The rotation by 0. */
  static identity(): Rotation3 {
    return new Rotation3(new Vec4(literal(1), literal(0), literal(0), literal(0)));
  }
  /** The rotation of an angle-axis vector: its direction is the axis, its length the angle in radians. Smooth at 0. */
  static exp(angleAxis: Vec3): Rotation3 {
    checkVec3('Rotation3.exp: angleAxis', angleAxis);
    const squared = angleAxis.sqrMagnitude;
    const { x, y, z } = angleAxis.mul(halfSineRatio(squared));
    return new Rotation3(new Vec4(halfCosine(squared), x, y, z));
  }
  /** The same as {@link Rotation3.exp}. */
  static fromAngleAxis(angleAxis: Vec3): Rotation3 {
    return Rotation3.exp(angleAxis);
  }
  /** The rotation by an angle in radians about an axis of length 1. */
  static fromAxis(axis: Vec3, angle: Scalar): Rotation3 {
    checkVec3('Rotation3.fromAxis: axis', axis);
    const half = toValue('Rotation3.fromAxis: angle', angle).mul(literal(0.5));
    const { x, y, z } = axis.mul(half.sin());
    return new Rotation3(new Vec4(half.cos(), x, y, z));
  }
  /** The rotation of a rotation matrix. */
  static fromMatrix(matrix: Mat3): Rotation3 {
    checkMat3('Rotation3.fromMatrix: matrix', matrix);
    const [[xx, xy, xz], [yx, yy, yz], [zx, zy, zz]] = matrix.rows;
    const [a, b, c] = [zy.sub(yz), xz.sub(zx), yx.sub(xy)];
    const [d, e, f] = [xy.add(yx), xz.add(zx), yz.add(zy)];
    const one = literal(1);
    // Four multiples of the quaternion, by 4w, 4x, 4y and 4z (S. W. Shepperd, 1978). The one whose factor is the largest is taken.
    const [w, x, y, z] = [
      one.add(xx).add(yy).add(zz),
      one.add(xx).sub(yy).sub(zz),
      one.sub(xx).add(yy).sub(zz),
      one.sub(xx).sub(yy).add(zz),
    ];
    const pick = (p: Vec4, q: Vec4, first: Value): Vec4 =>
      new Vec4(select(first, p.w, q.w), select(first, p.x, q.x), select(first, p.y, q.y), select(first, p.z, q.z));
    const early = pick(new Vec4(w, a, b, c), new Vec4(a, x, d, e), w.gte(x));
    const late = pick(new Vec4(b, d, y, f), new Vec4(c, e, f, z), y.gte(z));
    return new Rotation3(pick(early, late, w.max(x).gte(y.max(z))).normalized);
  }

  /** The product: the rotation of b followed by this one. */
  compose(b: Rotation3): Rotation3 {
    checkRotation3('Rotation3.compose: b', b);
    return new Rotation3(this.quaternion.quaternionMul(b.quaternion));
  }
  /** The inverse rotation. */
  inverse(): Rotation3 {
    return new Rotation3(this.quaternion.conjugate());
  }
  /** The rotation that takes this one to b: this⁻¹ · b. */
  between(b: Rotation3): Rotation3 {
    checkRotation3('Rotation3.between: b', b);
    return new Rotation3(this.quaternion.conjugate().quaternionMul(b.quaternion));
  }
  /** On the way to b at the share t: this one at 0, b at 1, about one axis and the shorter way. Smooth where both are equal. */
  interpolate(b: Rotation3, t: Scalar): Rotation3 {
    checkRotation3('Rotation3.interpolate: b', b);
    return this.compose(Rotation3.exp(this.between(b).log().mul(toValue('Rotation3.interpolate: t', t))));
  }
  /** v rotated. */
  act(v: Vec3): Vec3 {
    checkVec3('Rotation3.act: v', v);
    return this.quaternion.rotate(v);
  }
  /**
   * The angle-axis vector, of length at most π: the shorter of both ways, whatever the quaternion's sign is. Smooth at the identity; at π,
   * where both ways are equally long, it changes its sign.
   */
  log(): Vec3 {
    const { w, x, y, z } = this.quaternion;
    const sign = select(w.lt(literal(0)), literal(-1), literal(1));
    const imaginary = new Vec3(x, y, z);
    return imaginary.mul(sign.mul(angleRatio(w.mul(sign), imaginary.sqrMagnitude)));
  }
  /** The same as {@link Rotation3.log}. */
  toAngleAxis(): Vec3 {
    return this.log();
  }
  /** The rotation matrix. */
  toMatrix(): Mat3 {
    const { w, x, y, z } = this.quaternion;
    const [one, two] = [literal(1), literal(2)];
    const twice = (a: Value, b: Value) => a.mul(b).mul(two);
    const [xx, yy, zz] = [twice(x, x), twice(y, y), twice(z, z)];
    const [xy, xz, yz] = [twice(x, y), twice(x, z), twice(y, z)];
    const [wx, wy, wz] = [twice(w, x), twice(w, y), twice(w, z)];
    return Mat3.fromRows(
      new Vec3(one.sub(yy.add(zz)), xy.sub(wz), xz.add(wy)),
      new Vec3(xy.add(wz), one.sub(xx.add(zz)), yz.sub(wx)),
      new Vec3(xz.sub(wy), yz.add(wx), one.sub(xx.add(yy))),
    );
  }
  /** The number of a block's numbers, 4. */
  get length(): 4 {
    return 4;
  }
  /** The number of the block at a position: w, x, y, then z. Throws 'invalid-argument' outside. */
  at(index: number): Value {
    return entryAt('a Rotation3', [...this], index);
  }
  /** w, x, y, then z, as in a block. */
  *[Symbol.iterator](): IterableIterator<Value> {
    yield* this.quaternion;
  }
  /**
   * Conversion by JavaScript: text in a template literal. As a number, in JavaScript's operators and comparisons, it throws
   * 'invalid-graph'.
   */
  [Symbol.toPrimitive](hint: string): string {
    return textOnly(hint, 'a Rotation3');
  }
}

/** Throws unless `value` is a Rotation3. */
export function checkRotation3(argument: string, value: unknown): asserts value is Rotation3 {
  if (!(value instanceof Rotation3)) throw invalidArgument(argument, describe(value), 'a Rotation3');
}
