/** Vectors of three expressions. */

import { describe, invalidArgument } from '../arguments/errors.js';
import { angleOf } from './angle.js';
import { entryAt, refusePositions } from './positions.js';
import { textOnly } from './primitive.js';
import { inverseNorm, norm, squaredNorm } from './sums.js';
import { checkNumber, checkScalar, constant, parameter, toValue, type Scalar, type Value } from './value.js';

/** A vector in space. Operators never mutate. */
export class Vec3 {
  /** First coordinate. */
  readonly x: Value;
  /** Second coordinate. */
  readonly y: Value;
  /** Third coordinate. */
  readonly z: Value;

  /** Takes expressions; a number becomes a constant. */
  constructor(x: Scalar, y: Scalar, z: Scalar) {
    this.x = toValue('Vec3: x', x);
    this.y = toValue('Vec3: y', y);
    this.z = toValue('Vec3: z', z);
  }

  /** A vector of three parameters. */
  static W(x: number, y: number, z: number): Vec3 {
    return vec3Of(parameter, x, y, z);
  }
  /** A vector of three constants. */
  static C(x: number, y: number, z: number): Vec3 {
    return vec3Of(constant, x, y, z);
  }

  /** this + b */
  add(b: Vec3): Vec3 {
    checkVec3('Vec3.add: b', b);
    return new Vec3(this.x.add(b.x), this.y.add(b.y), this.z.add(b.z));
  }
  /** this − b */
  sub(b: Vec3): Vec3 {
    checkVec3('Vec3.sub: b', b);
    return new Vec3(this.x.sub(b.x), this.y.sub(b.y), this.z.sub(b.z));
  }
  /** Scaled by s. */
  mul(s: Scalar): Vec3 {
    const factor = toValue('Vec3.mul: s', s);
    return new Vec3(this.x.mul(factor), this.y.mul(factor), this.z.mul(factor));
  }
  /** Each coordinate divided by s. */
  div(s: Scalar): Vec3 {
    const divisor = toValue('Vec3.div: s', s);
    return new Vec3(this.x.div(divisor), this.y.div(divisor), this.z.div(divisor));
  }
  /** −this */
  neg(): Vec3 {
    return new Vec3(this.x.neg(), this.y.neg(), this.z.neg());
  }
  /** x bx + y by + z bz */
  dot(b: Vec3): Value {
    checkVec3('Vec3.dot: b', b);
    return this.x.mul(b.x).add(this.y.mul(b.y)).add(this.z.mul(b.z));
  }
  /** The cross product. */
  cross(b: Vec3): Vec3 {
    checkVec3('Vec3.cross: b', b);
    return new Vec3(
      this.y.mul(b.z).sub(this.z.mul(b.y)),
      this.z.mul(b.x).sub(this.x.mul(b.z)),
      this.x.mul(b.y).sub(this.y.mul(b.x)),
    );
  }
  /** |this − b|; its gradient where both are equal is 0. */
  distance(b: Vec3): Value {
    checkVec3('Vec3.distance: b', b);
    return this.sub(b).magnitude;
  }
  /** The angle between both, in [0, π] radians; accurate for small angles. Where either vector is 0, value and gradient are 0. */
  angleBetween(b: Vec3): Value {
    checkVec3('Vec3.angleBetween: b', b);
    return angleOf(this.cross(b).magnitude, this.dot(b));
  }
  /** this + t (b − this) */
  lerp(b: Vec3, t: Scalar): Vec3 {
    checkVec3('Vec3.lerp: b', b);
    checkScalar('Vec3.lerp: t', t);
    return this.add(b.sub(this).mul(t));
  }
  /** The projection on `onto`; 0 where `onto` is 0. */
  project(onto: Vec3): Vec3 {
    checkVec3('Vec3.project: onto', onto);
    const direction = onto.normalized;
    return direction.mul(this.dot(direction));
  }
  /** The component orthogonal to `from`; this vector where `from` is 0. */
  reject(from: Vec3): Vec3 {
    checkVec3('Vec3.reject: from', from);
    return this.sub(this.project(from));
  }
  /** |v|; its gradient at v = 0 is 0, never NaN. */
  get magnitude(): Value {
    return norm([this.x, this.y, this.z]);
  }
  /** |v|² */
  get sqrMagnitude(): Value {
    return squaredNorm([this.x, this.y, this.z]);
  }
  /** v / |v|; at v = 0 the value and the gradient are 0. */
  get normalized(): Vec3 {
    return this.mul(inverseNorm(this.sqrMagnitude));
  }
  /** x, by position. */
  get 0(): Value {
    return this.x;
  }
  /** y, by position. */
  get 1(): Value {
    return this.y;
  }
  /** z, by position. */
  get 2(): Value {
    return this.z;
  }
  /** The number of coordinates, 3. */
  get length(): 3 {
    return 3;
  }
  /** The coordinate at a position, from 0; a negative one counts from the end. Throws 'invalid-argument' outside. */
  at(index: number): Value {
    return entryAt('a Vec3', this, index);
  }
  /** x, y, then z. */
  *[Symbol.iterator](): IterableIterator<Value> {
    yield this.x;
    yield this.y;
    yield this.z;
  }
  /**
   * Conversion by JavaScript: text in a template literal. As a number, in JavaScript's operators and comparisons, it throws
   * 'invalid-graph'.
   */
  [Symbol.toPrimitive](hint: string): string {
    return textOnly(hint, 'a Vec3');
  }
}

refusePositions(Vec3.prototype, 'a Vec3', 3);

function vec3Of(make: (value: number, label: undefined) => Value, x: number, y: number, z: number): Vec3 {
  checkNumber('Vec3: x', x);
  checkNumber('Vec3: y', y);
  checkNumber('Vec3: z', z);
  return new Vec3(make(x, undefined), make(y, undefined), make(z, undefined));
}

/** Throws unless `value` is a Vec3. */
export function checkVec3(argument: string, value: unknown): asserts value is Vec3 {
  if (!(value instanceof Vec3)) throw invalidArgument(argument, describe(value), 'a Vec3');
}
