/** Vectors of four expressions, and quaternions. */

import { describe, invalidArgument } from '../arguments/errors.js';
import { entryAt, refusePositions } from './positions.js';
import { textOnly } from './primitive.js';
import { inverseNorm, norm, squaredNorm } from './sums.js';
import { checkNumber, constant, literal, parameter, toValue, type Scalar, type Value } from './value.js';
import { checkVec3, Vec3 } from './vec3.js';

/**
 * A vector of four, also a quaternion. The order is w, x, y, z everywhere, blocks of 4 included; three.js and .g2o files have x, y, z, w.
 * Operators never mutate.
 */
export class Vec4 {
  /** First coordinate; a quaternion's real part. */
  readonly w: Value;
  /** Second coordinate. */
  readonly x: Value;
  /** Third coordinate. */
  readonly y: Value;
  /** Fourth coordinate. */
  readonly z: Value;

  /** Takes expressions; a number becomes a constant. */
  constructor(w: Scalar, x: Scalar, y: Scalar, z: Scalar) {
    this.w = toValue('Vec4: w', w);
    this.x = toValue('Vec4: x', x);
    this.y = toValue('Vec4: y', y);
    this.z = toValue('Vec4: z', z);
  }

  /** A vector of four parameters. */
  static W(w: number, x: number, y: number, z: number): Vec4 {
    return vec4Of(parameter, w, x, y, z);
  }
  /** A vector of four constants. */
  static C(w: number, x: number, y: number, z: number): Vec4 {
    return vec4Of(constant, w, x, y, z);
  }

  /** this + b */
  add(b: Vec4): Vec4 {
    checkVec4('Vec4.add: b', b);
    return new Vec4(this.w.add(b.w), this.x.add(b.x), this.y.add(b.y), this.z.add(b.z));
  }
  /** this − b */
  sub(b: Vec4): Vec4 {
    checkVec4('Vec4.sub: b', b);
    return new Vec4(this.w.sub(b.w), this.x.sub(b.x), this.y.sub(b.y), this.z.sub(b.z));
  }
  /** Scaled by s. */
  mul(s: Scalar): Vec4 {
    const factor = toValue('Vec4.mul: s', s);
    return new Vec4(this.w.mul(factor), this.x.mul(factor), this.y.mul(factor), this.z.mul(factor));
  }
  /** Each coordinate divided by s. */
  div(s: Scalar): Vec4 {
    const divisor = toValue('Vec4.div: s', s);
    return new Vec4(this.w.div(divisor), this.x.div(divisor), this.y.div(divisor), this.z.div(divisor));
  }
  /** w bw + x bx + y by + z bz */
  dot(b: Vec4): Value {
    checkVec4('Vec4.dot: b', b);
    return this.w.mul(b.w).add(this.x.mul(b.x)).add(this.y.mul(b.y)).add(this.z.mul(b.z));
  }
  /** |v|; its gradient at v = 0 is 0, never NaN. */
  get magnitude(): Value {
    return norm([this.w, this.x, this.y, this.z]);
  }
  /** |v|² */
  get sqrMagnitude(): Value {
    return squaredNorm([this.w, this.x, this.y, this.z]);
  }
  /** v / |v|; at v = 0 the value and the gradient are 0. */
  get normalized(): Vec4 {
    return this.mul(inverseNorm(this.sqrMagnitude));
  }

  /** The Hamilton product: the rotation of b followed by that of this. */
  quaternionMul(b: Vec4): Vec4 {
    checkVec4('Vec4.quaternionMul: b', b);
    const { w, x, y, z } = this;
    return new Vec4(
      w.mul(b.w).sub(x.mul(b.x)).sub(y.mul(b.y)).sub(z.mul(b.z)),
      w.mul(b.x).add(x.mul(b.w)).add(y.mul(b.z)).sub(z.mul(b.y)),
      w.mul(b.y).sub(x.mul(b.z)).add(y.mul(b.w)).add(z.mul(b.x)),
      w.mul(b.z).add(x.mul(b.y)).sub(y.mul(b.x)).add(z.mul(b.w)),
    );
  }
  /** (w, −x, −y, −z): the inverse rotation of a unit quaternion. */
  conjugate(): Vec4 {
    return new Vec4(this.w, this.x.neg(), this.y.neg(), this.z.neg());
  }
  /** v rotated by this quaternion, which must have unit length; it is not normalised here. */
  rotate(v: Vec3): Vec3 {
    checkVec3('Vec4.rotate: v', v);
    // v + 2w (q × v) + 2 q × (q × v), with q the imaginary part.
    const q = new Vec3(this.x, this.y, this.z);
    const t = q.cross(v).mul(literal(2));
    return v.add(t.mul(this.w)).add(q.cross(t));
  }
  /** w, by position. */
  get 0(): Value {
    return this.w;
  }
  /** x, by position. */
  get 1(): Value {
    return this.x;
  }
  /** y, by position. */
  get 2(): Value {
    return this.y;
  }
  /** z, by position. */
  get 3(): Value {
    return this.z;
  }
  /** The number of coordinates, 4. */
  get length(): 4 {
    return 4;
  }
  /** The coordinate at a position, from 0; a negative one counts from the end. Throws 'invalid-argument' outside. */
  at(index: number): Value {
    return entryAt('a Vec4', this, index);
  }
  /** w, x, y, then z. */
  *[Symbol.iterator](): IterableIterator<Value> {
    yield this.w;
    yield this.x;
    yield this.y;
    yield this.z;
  }
  /**
   * Conversion by JavaScript: text in a template literal. As a number, in JavaScript's operators and comparisons, it throws
   * 'invalid-graph'.
   */
  [Symbol.toPrimitive](hint: string): string {
    return textOnly(hint, 'a Vec4');
  }
}

refusePositions(Vec4.prototype, 'a Vec4', 4);

function vec4Of(make: (value: number, label: undefined) => Value, w: number, x: number, y: number, z: number): Vec4 {
  checkNumber('Vec4: w', w);
  checkNumber('Vec4: x', x);
  checkNumber('Vec4: y', y);
  checkNumber('Vec4: z', z);
  return new Vec4(make(w, undefined), make(x, undefined), make(y, undefined), make(z, undefined));
}

/** Throws unless `value` is a Vec4. */
export function checkVec4(argument: string, value: unknown): asserts value is Vec4 {
  if (!(value instanceof Vec4)) throw invalidArgument(argument, describe(value), 'a Vec4');
}
