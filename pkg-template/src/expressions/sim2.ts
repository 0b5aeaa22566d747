/** Similarities of the plane: rotations, translations and scales. */

import { describe, invalidArgument } from '../arguments/errors.js';
import { entryAt } from './positions.js';
import { textOnly } from './primitive.js';
import { checkRotation2, Rotation2 } from './rotation2.js';
import { similarityFactors } from './similarity-series.js';
import { checkScalarList, literal, toValue, type Scalar, type Value } from './value.js';
import { checkVec2, Vec2 } from './vec2.js';

type Four = [Scalar, Scalar, Scalar, Scalar];

/**
 * A similarity of the plane, Sim(2): it takes a point p to scale · rotation · p + translation. A block has four numbers: angle, x, y, and the natural
 * logarithm of the scale, so that no step makes a scale that is not positive. Operators never mutate.
 */
export class Sim2 {
  /** The rotation. */
  readonly rotation: Rotation2;
  /** The translation. */
  readonly translation: Vec2;
  /** The natural logarithm of the scale. */
  readonly logScale: Value;

  /** Takes a rotation, a translation, and the logarithm of the scale, of which a number becomes a constant. */
  constructor(rotation: Rotation2, translation: Vec2, logScale: Scalar) {
    checkRotation2('Sim2: rotation', rotation);
    checkVec2('Sim2: translation', translation);
    this.rotation = rotation;
    this.translation = translation;
    this.logScale = toValue('Sim2: logScale', logScale);
  }

  /** The similarity that moves nothing. */
  static identity(): Sim2 {
    return new Sim2(Rotation2.identity(), new Vec2(literal(0), literal(0)), literal(0));
  }
  /** The similarity of a block's four numbers: angle, x, y, then the logarithm of the scale. */
  static fromBlock(block: Iterable<Scalar>): Sim2 {
    const [angle, x, y, logScale] = checkScalarList('Sim2.fromBlock: block', block, 4) as Four;
    return new Sim2(new Rotation2(angle), new Vec2(x, y), logScale);
  }
  /**
   * The similarity at the end of a constant motion for unit time: the angular velocity, two numbers of the velocity in the moving frame, and the growth of
   * the logarithm of the scale. Smooth at 0.
   */
  static exp(tangent: Iterable<Scalar>): Sim2 {
    const [angle, x, y, growth] = checkScalarList('Sim2.exp: tangent', tangent, 4) as Four;
    const [rotation, velocity, sigma] = [new Rotation2(angle), new Vec2(x, y), toValue('Sim2.exp: tangent', growth)];
    const { b, p } = similarityFactors(rotation.angle.square(), sigma);
    return new Sim2(rotation, velocity.mul(p).add(velocity.perpendicular().mul(rotation.angle.mul(b))), sigma);
  }

  /** The scale, which is positive. */
  get scale(): Value {
    return this.logScale.exp();
  }
  /** The product: the motion of b followed by this one. */
  compose(b: Sim2): Sim2 {
    checkSim2('Sim2.compose: b', b);
    return new Sim2(this.rotation.compose(b.rotation), this.act(b.translation), this.logScale.add(b.logScale));
  }
  /** The inverse. */
  inverse(): Sim2 {
    const [rotation, logScale] = [this.rotation.inverse(), this.logScale.neg()];
    return new Sim2(rotation, rotation.act(this.translation).mul(logScale.exp()).neg(), logScale);
  }
  /** b as seen from this one: this⁻¹ · b. */
  between(b: Sim2): Sim2 {
    checkSim2('Sim2.between: b', b);
    const translation = this.rotation.inverse().act(b.translation.sub(this.translation)).mul(this.logScale.neg().exp());
    return new Sim2(this.rotation.between(b.rotation), translation, b.logScale.sub(this.logScale));
  }
  /** On the way to b at the share t: this one at 0, b at 1, with a constant motion between. Smooth where both are equal. */
  interpolate(b: Sim2, t: Scalar): Sim2 {
    checkSim2('Sim2.interpolate: b', b);
    const share = toValue('Sim2.interpolate: t', t);
    return this.compose(Sim2.exp(this.between(b).log().map((entry) => entry.mul(share))));
  }
  /** The point v moved: scale · rotation · v + translation. */
  act(v: Vec2): Vec2 {
    checkVec2('Sim2.act: v', v);
    return this.rotation.act(v).mul(this.scale).add(this.translation);
  }
  /** The inverse of exp: the angle in [−π, π], the velocity in the moving frame, then the logarithm of the scale. Smooth at the identity. */
  log(): [angle: Value, x: Value, y: Value, logScale: Value] {
    const angle = this.rotation.log();
    const { b, p } = similarityFactors(angle.square(), this.logScale);
    const turned = angle.mul(b);
    const { x, y } = this.translation.mul(p).sub(this.translation.perpendicular().mul(turned)).div(p.square().add(turned.square()));
    return [angle, x, y, this.logScale];
  }
  /** The number of a block's numbers, 4. */
  get length(): 4 {
    return 4;
  }
  /** The number of the block at a position: angle, x, y, then the logarithm of the scale. Throws 'invalid-argument' outside. */
  at(index: number): Value {
    return entryAt('a Sim2', [...this], index);
  }
  /** Angle, x, y, then the logarithm of the scale, as in a block. */
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
    return textOnly(hint, 'a Sim2');
  }
}

function checkSim2(argument: string, value: unknown): asserts value is Sim2 {
  if (!(value instanceof Sim2)) throw invalidArgument(argument, describe(value), 'a Sim2');
}
