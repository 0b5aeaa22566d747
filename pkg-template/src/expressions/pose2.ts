/** Poses in the plane: rotations and translations. */

import { describe, invalidArgument } from '../arguments/errors.js';
import { entryAt } from './positions.js';
import { textOnly } from './primitive.js';
import { checkRotation2, Rotation2 } from './rotation2.js';
import { cotangentDefect, halfSineRatio } from './series.js';
import { checkScalarList, literal, toValue, type Scalar, type Value } from './value.js';
import { checkVec2, Vec2 } from './vec2.js';

/**
 * A pose in the plane, SE(2): it takes a point p to rotation · p + translation. A block has three numbers: angle, x, y. Operators never
 * mutate.
 */
export class Pose2 {
  /** The rotation. */
  readonly rotation: Rotation2;
  /** The translation. */
  readonly translation: Vec2;

  /** Takes a rotation and a translation. */
  constructor(rotation: Rotation2, translation: Vec2) {
    checkRotation2('Pose2: rotation', rotation);
    checkVec2('Pose2: translation', translation);
    this.rotation = rotation;
    this.translation = translation;
  }

  /** The pose that moves nothing. */
  static identity(): Pose2 {
    return new Pose2(Rotation2.identity(), new Vec2(literal(0), literal(0)));
  }
  /** The pose of a block's three numbers: angle, x, y. */
  static fromBlock(block: Iterable<Scalar>): Pose2 {
    const [angle, x, y] = checkScalarList('Pose2.fromBlock: block', block, 3) as [Scalar, Scalar, Scalar];
    return new Pose2(new Rotation2(angle), new Vec2(x, y));
  }
  /** The pose at the end of a motion with constant velocity for unit time: angular velocity, then the velocity in the moving frame. */
  static exp(tangent: Iterable<Scalar>): Pose2 {
    const [angle, x, y] = checkScalarList('Pose2.exp: tangent', tangent, 3) as [Scalar, Scalar, Scalar];
    const rotation = new Rotation2(angle);
    const turned = rotation.angle;
    const half = turned.mul(literal(0.5));
    // sin θ/θ = 2 (sin(θ/2)/θ) cos(θ/2), (1 − cos θ)/θ = 2 (sin(θ/2)/θ) sin(θ/2).
    const ratio = halfSineRatio(turned.square()).mul(literal(2));
    const velocity = new Vec2(x, y);
    return new Pose2(rotation, velocity.mul(ratio.mul(half.cos())).add(velocity.perpendicular().mul(ratio.mul(half.sin()))));
  }

  /** The product: the motion of b followed by this one. */
  compose(b: Pose2): Pose2 {
    checkPose2('Pose2.compose: b', b);
    return new Pose2(this.rotation.compose(b.rotation), this.act(b.translation));
  }
  /** The inverse motion. */
  inverse(): Pose2 {
    const rotation = this.rotation.inverse();
    return new Pose2(rotation, rotation.act(this.translation).neg());
  }
  /** The pose of b as seen from this one: this⁻¹ · b. */
  between(b: Pose2): Pose2 {
    checkPose2('Pose2.between: b', b);
    const back = this.rotation.inverse();
    return new Pose2(this.rotation.between(b.rotation), back.act(b.translation.sub(this.translation)));
  }
  /** On the way to b at the share t: this one at 0, b at 1, with a constant motion between, along an arc. Smooth where both are equal. */
  interpolate(b: Pose2, t: Scalar): Pose2 {
    checkPose2('Pose2.interpolate: b', b);
    const share = toValue('Pose2.interpolate: t', t);
    return this.compose(Pose2.exp(this.between(b).log().map((entry) => entry.mul(share))));
  }
  /** The point v moved: rotation · v + translation. */
  act(v: Vec2): Vec2 {
    checkVec2('Pose2.act: v', v);
    return this.rotation.act(v).add(this.translation);
  }
  /** The inverse of exp: the angle in [−π, π], then the velocity in the moving frame. Smooth at the identity. */
  log(): [angle: Value, x: Value, y: Value] {
    const angle = this.rotation.log();
    const half = angle.mul(literal(0.5));
    // (θ/2) cot(θ/2) = 1 − θ² d(θ²).
    const squared = angle.square();
    const along = literal(1).sub(squared.mul(cotangentDefect(squared)));
    const { x, y } = this.translation.mul(along).sub(this.translation.perpendicular().mul(half));
    return [angle, x, y];
  }
  /** The number of a block's numbers, 3. */
  get length(): 3 {
    return 3;
  }
  /** The number of the block at a position: angle, x, then y. Throws 'invalid-argument' outside. */
  at(index: number): Value {
    return entryAt('a Pose2', [...this], index);
  }
  /** Angle, x, then y, as in a block. */
  *[Symbol.iterator](): IterableIterator<Value> {
    yield* this.rotation;
    yield* this.translation;
  }
  /**
   * Conversion by JavaScript: text in a template literal. As a number, in JavaScript's operators and comparisons, it throws
   * 'invalid-graph'.
   */
  [Symbol.toPrimitive](hint: string): string {
    return textOnly(hint, 'a Pose2');
  }
}

function checkPose2(argument: string, value: unknown): asserts value is Pose2 {
  if (!(value instanceof Pose2)) throw invalidArgument(argument, describe(value), 'a Pose2');
}
