/** Similarities of space: rotations, translations and scales. */

import { describe, invalidArgument } from '../arguments/errors.js';
import { entryAt } from './positions.js';
import { textOnly } from './primitive.js';
import { checkRotation3, Rotation3 } from './rotation3.js';
import { similarityFactors } from './similarity-series.js';
import { checkScalarList, literal, toValue, type Scalar, type Value } from './value.js';
import { checkVec3, Vec3 } from './vec3.js';
import { Vec4 } from './vec4.js';

type Seven = [Scalar, Scalar, Scalar, Scalar, Scalar, Scalar, Scalar];

/**
 * A similarity of space, Sim(3): it takes a point p to scale · rotation · p + translation. A block has eight numbers: the quaternion w, x, y, z, the
 * translation x, y, z, then the natural logarithm of the scale, so that no step makes a scale that is not positive. Operators never mutate.
 */
export class Sim3 {
  /** The rotation. */
  readonly rotation: Rotation3;
  /** The translation. */
  readonly translation: Vec3;
  /** The natural logarithm of the scale. */
  readonly logScale: Value;

  /** Takes a rotation, a translation, and the logarithm of the scale, of which a number becomes a constant. */
  constructor(rotation: Rotation3, translation: Vec3, logScale: Scalar) {
    checkRotation3('Sim3: rotation', rotation);
    checkVec3('Sim3: translation', translation);
    this.rotation = rotation;
    this.translation = translation;
    this.logScale = toValue('Sim3: logScale', logScale);
  }

  /** The similarity that moves nothing. */
  static identity(): Sim3 {
    return new Sim3(Rotation3.identity(), new Vec3(literal(0), literal(0), literal(0)), literal(0));
  }
  /** The similarity of a block's eight numbers: the unit quaternion w, x, y, z, then x, y, z, then the logarithm of the scale. */
  static fromBlock(block: Iterable<Scalar>): Sim3 {
    const [w, i, j, k, x, y, z, logScale] = checkScalarList('Sim3.fromBlock: block', block, 8) as [Scalar, ...Seven];
    return new Sim3(new Rotation3(new Vec4(w, i, j, k)), new Vec3(x, y, z), logScale);
  }
  /**
   * The similarity at the end of a constant motion for unit time: three numbers of the angular velocity, three of the velocity, both in the moving frame,
   * and the growth of the logarithm of the scale. Smooth at 0.
   */
  static exp(tangent: Iterable<Scalar>): Sim3 {
    const [a, b, c, x, y, z, growth] = checkScalarList('Sim3.exp: tangent', tangent, 7) as Seven;
    const [turn, velocity, sigma] = [new Vec3(a, b, c), new Vec3(x, y, z), toValue('Sim3.exp: tangent', growth)];
    const factors = similarityFactors(turn.sqrMagnitude, sigma);
    const once = turn.cross(velocity);
    const translation = velocity.mul(factors.a).add(once.mul(factors.b)).add(turn.cross(once).mul(factors.c));
    return new Sim3(Rotation3.exp(turn), translation, sigma);
  }

  /** The scale, which is positive. */
  get scale(): Value {
    return this.logScale.exp();
  }
  /** The product: the motion of b followed by this one. */
  compose(b: Sim3): Sim3 {
    checkSim3('Sim3.compose: b', b);
    return new Sim3(this.rotation.compose(b.rotation), this.act(b.translation), this.logScale.add(b.logScale));
  }
  /** The inverse. */
  inverse(): Sim3 {
    const [rotation, logScale] = [this.rotation.inverse(), this.logScale.neg()];
    return new Sim3(rotation, rotation.act(this.translation).mul(logScale.exp()).neg(), logScale);
  }
  /** b as seen from this one: this⁻¹ · b. */
  between(b: Sim3): Sim3 {
    checkSim3('Sim3.between: b', b);
    const back = this.rotation.inverse();
    const translation = back.act(b.translation.sub(this.translation)).mul(this.logScale.neg().exp());
    return new Sim3(back.compose(b.rotation), translation, b.logScale.sub(this.logScale));
  }
  /** On the way to b at the share t: this one at 0, b at 1, with a constant motion between. Smooth where both are equal. */
  interpolate(b: Sim3, t: Scalar): Sim3 {
    checkSim3('Sim3.interpolate: b', b);
    const share = toValue('Sim3.interpolate: t', t);
    return this.compose(Sim3.exp(this.between(b).log().map((entry) => entry.mul(share))));
  }
  /** The point v moved: scale · rotation · v + translation. */
  act(v: Vec3): Vec3 {
    checkVec3('Sim3.act: v', v);
    return this.rotation.act(v).mul(this.scale).add(this.translation);
  }
  /**
   * The inverse of exp: three numbers of the angle-axis vector, of length at most π, three of the velocity, then the logarithm of the scale. Smooth at the
   * identity.
   */
  log(): [Value, Value, Value, Value, Value, Value, Value] {
    const turn = this.rotation.log();
    const { translation, logScale } = this;
    const squared = turn.sqrMagnitude;
    // A along the axis, P + iθB across it: the inverse is 1/A and (P − iθB)/(P² + θ²B²).
    const { a, b, c, p } = similarityFactors(squared, logScale);
    const across = p.square().add(squared.mul(b.square()));
    const once = turn.cross(translation);
    const twice = turn.cross(once).mul(b.square().sub(c.mul(p)).div(a.mul(across)));
    const { x, y, z } = translation.div(a).sub(once.mul(b.div(across))).add(twice);
    return [turn.x, turn.y, turn.z, x, y, z, logScale];
  }
  /** The number of a block's numbers, 8. */
  get length(): 8 {
    return 8;
  }
  /** The number of the block at a position: w, x, y, z of the quaternion, x, y, z, then the logarithm of the scale. Throws 'invalid-argument' outside. */
  at(index: number): Value {
    return entryAt('a Sim3', [...this], index);
  }
  /** The quaternion w, x, y, z, the translation x, y, z, then the logarithm of the scale, as in a block. */
  *[Symbol.iterator](): IterableIterator<Value> {
    yield* this.rotation;
    yield* this.translation;
    yield this.logScale;
  }
  /**
   * Conversion by JavaScript: text in a template literal. As a number, in JavaScript's operators and comparisons, it throws
   * 'invalid-graph'.
   */
  [Symbol.toPrimitive](hint: string): string {
    return textOnly(hint, 'a Sim3');
  }
}

function checkSim3(argument: string, value: unknown): asserts value is Sim3 {
  if (!(value instanceof Sim3)) throw invalidArgument(argument, describe(value), 'a Sim3');
}
