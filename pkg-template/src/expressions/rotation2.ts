/** Rotations of the plane. */

import { describe, invalidArgument } from '../arguments/errors.js';
import { Op } from './op-codes.js';
import { entryAt } from './positions.js';
import { textOnly } from './primitive.js';
import { binary, literal, toValue, type Scalar, type Value } from './value.js';
import { checkVec2, Vec2 } from './vec2.js';

/** A rotation of the plane, SO(2), by an angle in radians, counter-clockwise. Operators never mutate. */
export class Rotation2 {
  /** The angle, not reduced to one turn. */
  readonly angle: Value;

  /** Takes an angle in radians; a number becomes a constant. */
  constructor(angle: Scalar) {
    this.angle = toValue('Rotation2: angle', angle);
  }

  /** The rotation by 0. */
  static identity(): Rotation2 {
    return new Rotation2(literal(0));
  }
  /** The rotation by an angle: the same as the constructor. */
  static exp(angle: Scalar): Rotation2 {
    return new Rotation2(toValue('Rotation2.exp: angle', angle));
  }
  /** The rotation of a matrix with these rows; of a matrix that is not a rotation, the nearest one. */
  static fromMatrix(first: Vec2, second: Vec2): Rotation2 {
    checkVec2('Rotation2.fromMatrix: first', first);
    checkVec2('Rotation2.fromMatrix: second', second);
    return new Rotation2(binary(Op.atan2, second.x.sub(first.y), first.x.add(second.y)));
  }

  /** The product: the rotation of b followed by this one. */
  compose(b: Rotation2): Rotation2 {
    checkRotation2('Rotation2.compose: b', b);
    return new Rotation2(this.angle.add(b.angle));
  }
  /** The rotation by −angle. */
  inverse(): Rotation2 {
    return new Rotation2(this.angle.neg());
  }
  /** The rotation that takes this one to b: this⁻¹ · b. */
  between(b: Rotation2): Rotation2 {
    checkRotation2('Rotation2.between: b', b);
    return new Rotation2(b.angle.sub(this.angle));
  }
  /** On the way to b at the share t: this one at 0, b at 1, the shorter way. */
  interpolate(b: Rotation2, t: Scalar): Rotation2 {
    checkRotation2('Rotation2.interpolate: b', b);
    return new Rotation2(this.angle.add(this.between(b).log().mul(toValue('Rotation2.interpolate: t', t))));
  }
  /** v rotated. */
  act(v: Vec2): Vec2 {
    checkVec2('Rotation2.act: v', v);
    const [cosine, sine] = [this.angle.cos(), this.angle.sin()];
    return new Vec2(cosine.mul(v.x).sub(sine.mul(v.y)), sine.mul(v.x).add(cosine.mul(v.y)));
  }
  /** The angle in [−π, π]. */
  log(): Value {
    const turn = 2 * Math.PI;
    return this.angle.sub(this.angle.mul(literal(1 / turn)).round().mul(literal(turn)));
  }
  /** The rows of the rotation matrix. */
  toMatrix(): [Vec2, Vec2] {
    const [cosine, sine] = [this.angle.cos(), this.angle.sin()];
    return [new Vec2(cosine, sine.neg()), new Vec2(sine, cosine)];
  }
  /** The number of a block's numbers, 1. */
  get length(): 1 {
    return 1;
  }
  /** The number of the block at a position: the angle at 0. Throws 'invalid-argument' outside. */
  at(index: number): Value {
    return entryAt('a Rotation2', [this.angle], index);
  }
  /** The angle alone, as in a block. */
  *[Symbol.iterator](): IterableIterator<Value> {
    yield this.angle;
  }
  /**
   * Conversion by JavaScript: text in a template literal. As a number, in JavaScript's operators and comparisons, it throws
   * 'invalid-graph'.
   */
  [Symbol.toPrimitive](hint: string): string {
    return textOnly(hint, 'a Rotation2');
  }
}

/** Throws unless `value` is a Rotation2. */
export function checkRotation2(argument: string, value: unknown): asserts value is Rotation2 {
  if (!(value instanceof Rotation2)) throw invalidArgument(argument, describe(value), 'a Rotation2');
}
