/** Vectors of two expressions. */

import { describe, invalidArgument } from '../arguments/errors.js';
import { angleOf } from './angle.js';
import { entryAt, refusePositions } from './positions.js';
import { textOnly } from './primitive.js';
import { inverseNorm, norm, squaredNorm } from './sums.js';
import { checkNumber, checkScalar, constant, parameter, toValue, type Scalar, type Value } from './value.js';

/** A vector in the plane. Operators never mutate. */
export class Vec2 {
  /** First coordinate. */
  readonly x: Value;
  /** Second coordinate. */
  readonly y: Value;

  /** Takes expressions; a number becomes a constant. */
  constructor(x: Scalar, y: Scalar) {
    this.x = toValue('Vec2: x', x);
    this.y = toValue('Vec2: y', y);
  }

  /** A vector of two parameters. */
  static W(x: number, y: number): Vec2 {
    return vec2Of(parameter, x, y);
  }
  /** A vector of two constants. */
  static C(x: number, y: number): Vec2 {
    return vec2Of(constant, x, y);
  }

  /** this + b */
  add(b: Vec2): Vec2 {
    checkVec2('Vec2.add: b', b);
    return new Vec2(this.x.add(b.x), this.y.add(b.y));
  }
  /** this − b */
  sub(b: Vec2): Vec2 {
    checkVec2('Vec2.sub: b', b);
    return new Vec2(this.x.sub(b.x), this.y.sub(b.y));
  }
  /** Scaled by s. */
  mul(s: Scalar): Vec2 {
    const factor = toValue('Vec2.mul: s', s);
    return new Vec2(this.x.mul(factor), this.y.mul(factor));
  }
  /** Each coordinate divided by s. */
  div(s: Scalar): Vec2 {
    const divisor = toValue('Vec2.div: s', s);
    return new Vec2(this.x.div(divisor), this.y.div(divisor));
  }
  /** −this */
  neg(): Vec2 {
    return new Vec2(this.x.neg(), this.y.neg());
  }
  /** x bx + y by */
  dot(b: Vec2): Value {
    checkVec2('Vec2.dot: b', b);
    return this.x.mul(b.x).add(this.y.mul(b.y));
  }
  /** x by − y bx: twice the signed area of the triangle with the sides this and b. */
  cross(b: Vec2): Value {
    checkVec2('Vec2.cross: b', b);
    return this.x.mul(b.y).sub(this.y.mul(b.x));
  }
  /** Rotated by 90° counterclockwise: (−y, x). */
  perpendicular(): Vec2 {
    return new Vec2(this.y.neg(), this.x);
  }
  /** |this − b|; its gradient where both are equal is 0. */
  distance(b: Vec2): Value {
    checkVec2('Vec2.distance: b', b);
    return this.sub(b).magnitude;
  }
  /** The angle between both, in [0, π] radians; accurate for small angles. Where either vector is 0, value and gradient are 0. */
  angleBetween(b: Vec2): Value {
    checkVec2('Vec2.angleBetween: b', b);
    return angleOf(this.cross(b).abs(), this.dot(b));
  }
  /** this + t (b − this) */
  lerp(b: Vec2, t: Scalar): Vec2 {
    checkVec2('Vec2.lerp: b', b);
    checkScalar('Vec2.lerp: t', t);
    return this.add(b.sub(this).mul(t));
  }
  /** |v|; its gradient at v = 0 is 0, never NaN. */
  get magnitude(): Value {
    return norm([this.x, this.y]);
  }
  /** |v|² */
  get sqrMagnitude(): Value {
    return squaredNorm([this.x, this.y]);
  }
  /** v / |v|; at v = 0 the value and the gradient are 0. */
  get normalized(): Vec2 {
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
  /** The number of coordinates, 2. */
  get length(): 2 {
    return 2;
  }
  /** The coordinate at a position, from 0; a negative one counts from the end. Throws 'invalid-argument' outside. */
  at(index: number): Value {
    return entryAt('a Vec2', this, index);
  }
  /** x, then y. */
  *[Symbol.iterator](): IterableIterator<Value> {
    yield this.x;
    yield this.y;
  }
  /**
   * Conversion by JavaScript: text in a template literal. As a number, in JavaScript's operators and comparisons, it throws
   * 'invalid-graph'.
   */
  [Symbol.toPrimitive](hint: string): string {
    return textOnly(hint, 'a Vec2');
  }
}

refusePositions(Vec2.prototype, 'a Vec2', 2);

function vec2Of(make: (value: number, label: undefined) => Value, x: number, y: number): Vec2 {
  checkNumber('Vec2: x', x);
  checkNumber('Vec2: y', y);
  return new Vec2(make(x, undefined), make(y, undefined));
}

/** Throws unless `value` is a Vec2. */
export function checkVec2(argument: string, value: unknown): asserts value is Vec2 {
  if (!(value instanceof Vec2)) throw invalidArgument(argument, describe(value), 'a Vec2');
}
