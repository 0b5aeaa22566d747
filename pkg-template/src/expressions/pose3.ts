/** Poses in space: rotations and translations. */

import { describe, invalidArgument } from '../arguments/errors.js';
import { entryAt } from './positions.js';
import { textOnly } from './primitive.js';
import { checkRotation3, Rotation3 } from './rotation3.js';
import { cotangentDefect, halfSineRatio, sineDefect } from './series.js';
import { checkScalarList, literal, toValue, type Scalar, type Value } from './value.js';
import { checkVec3, Vec3 } from './vec3.js';
import { Vec4 } from './vec4.js';

type Six = [Scalar, Scalar, Scalar, Scalar, Scalar, Scalar];

/**
 * A pose in space, SE(3): it takes a point p to rotation · p + translation. A block has seven numbers: the quaternion w, x, y, z, then the
 * translation x, y, z. Operators never mutate.
 */
export class Pose3 {
  /** The rotation. */
  readonly rotation: Rotation3;
  /** The translation. */
  readonly translation: Vec3;

  /** Takes a rotation and a translation. */
  constructor(rotation: Rotation3, translation: Vec3) {
    checkRotation3('Pose3: rotation', rotation);
    checkVec3('Pose3: translation', translation);
    this.rotation = rotation;
    this.translation = translation;
  }

  /** The pose that moves nothing. */
  static identity(): Pose3 {
    return new Pose3(Rotation3.identity(), new Vec3(literal(0), literal(0), literal(0)));
  }
  /** The pose of a block's seven numbers: the unit quaternion w, x, y, z, then x, y, z. */
  static fromBlock(block: Iterable<Scalar>): Pose3 {
    const [w, i, j, k, x, y, z] = checkScalarList('Pose3.fromBlock: block', block, 7) as [Scalar, ...Six];
    return new Pose3(new Rotation3(new Vec4(w, i, j, k)), new Vec3(x, y, z));
  }
  /**
   * The pose at the end of a motion with constant velocity for unit time: three numbers of the angular velocity, then three of the velocity,
   * both in the moving frame. Smooth at 0.
   */
  static exp(tangent: Iterable<Scalar>): Pose3 {
    const [a, b, c, x, y, z] = checkScalarList('Pose3.exp: tangent', tangent, 6) as Six;
    const [turn, velocity] = [new Vec3(a, b, c), new Vec3(x, y, z)];
    const squared = turn.sqrMagnitude;
    // v + (1 − cos θ)/θ² φ × v + (θ − sin θ)/θ³ φ × (φ × v), where (1 − cos θ)/θ² = 2 (sin(θ/2)/θ)².
    const ratio = halfSineRatio(squared);
    const once = turn.cross(velocity);
    const translation = velocity.add(once.mul(ratio.square().mul(literal(2)))).add(turn.cross(once).mul(sineDefect(squared)));
    return new Pose3(Rotation3.exp(turn), translation);
  }

  /** The product: the motion of b followed by this one. */
  compose(b: Pose3): Pose3 {
    checkPose3('Pose3.compose: b', b);
    return new Pose3(this.rotation.compose(b.rotation), this.act(b.translation));
  }
  /** The inverse motion. */
  inverse(): Pose3 {
    const rotation = this.rotation.inverse();
    return new Pose3(rotation, rotation.act(this.translation).neg());
  }
  /** The pose of b as seen from this one: this⁻¹ · b. */
  between(b: Pose3): Pose3 {
    checkPose3('Pose3.between: b', b);
    const back = this.rotation.inverse();
    return new Pose3(back.compose(b.rotation), back.act(b.translation.sub(this.translation)));
  }
  /** On the way to b at the share t: this one at 0, b at 1, with a constant motion between, along a screw. Smooth where both are equal. */
  interpolate(b: Pose3, t: Scalar): Pose3 {
    checkPose3('Pose3.interpolate: b', b);
    const share = toValue('Pose3.interpolate: t', t);
    return this.compose(Pose3.exp(this.between(b).log().map((entry) => entry.mul(share))));
  }
  /** The point v moved: rotation · v + translation. */
  act(v: Vec3): Vec3 {
    checkVec3('Pose3.act: v', v);
    return this.rotation.act(v).add(this.translation);
  }
  /**
   * The inverse of exp: three numbers of the angle-axis vector, of length at most π, then three of the velocity. Smooth at the identity.
   */
  log(): [Value, Value, Value, Value, Value, Value] {
    const turn = this.rotation.log();
    const { translation } = this;
    // t − ½ φ × t + (1 − (θ/2) cot(θ/2))/θ² φ × (φ × t)
    const once = turn.cross(translation);
    const { x, y, z } = translation.sub(once.mul(literal(0.5))).add(turn.cross(once).mul(cotangentDefect(turn.sqrMagnitude)));
    return [turn.x, turn.y, turn.z, x, y, z];
  }
  /** The number of a block's numbers, 7. */
  get length(): 7 {
    return 7;
  }
  /** The number of the block at a position: w, x, y, z of the quaternion, then x, y, z. Throws 'invalid-argument' outside. */
  at(index: number): Value {
    return entryAt('a Pose3', [...this], index);
  }
  /** The quaternion w, x, y, z, then the translation x, y, z, as in a block. */
  *[Symbol.iterator](): IterableIterator<Value> {
    yield* this.rotation;
    yield* this.translation;
  }
  /**
   * Conversion by JavaScript: text in a template literal. As a number, in JavaScript's operators and comparisons, it throws
   * 'invalid-graph'.
   */
  [Symbol.toPrimitive](hint: string): string {
    return textOnly(hint, 'a Pose3');
  }
}

function checkPose3(argument: string, value: unknown): asserts value is Pose3 {
  if (!(value instanceof Pose3)) throw invalidArgument(argument, describe(value), 'a Pose3');
}
