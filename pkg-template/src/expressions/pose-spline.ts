/**
 * Uniform cubic B-splines of poses in cumulative form (M.-J. Kim, M.-S. Kim, S. Y. Shin, "A General Construction Scheme for Unit Quaternion Curves with
 * Simple High Order Derivatives", 1995), and their velocities (C. Sommer et al., "Efficient Derivative Computation for Cumulative B-Splines on Lie Groups",
 * CVPR 2020).
 */

import { describe, invalidArgument } from '../arguments/errors.js';
import { Pose2 } from './pose2.js';
import { Pose3 } from './pose3.js';
import { literal, toValue, type Scalar, type Value } from './value.js';
import { Vec2 } from './vec2.js';
import { Vec3 } from './vec3.js';

/** The cumulative basis functions by ascending powers of u, of the second to the fourth control pose. */
const BASIS = [
  [5 / 6, 1 / 2, -1 / 2, 1 / 6],
  [1 / 6, 1 / 2, 1 / 2, -1 / 3],
  [0, 0, 0, 1 / 6],
] as const;

/** Σ coefficients[k] uᵏ */
function polynomial(coefficients: readonly number[], u: Value): Value {
  return coefficients.slice(0, -1).reduceRight((sum, coefficient) => sum.mul(u).add(literal(coefficient)), literal(coefficients.at(-1) as number));
}

const derivative = (coefficients: readonly number[]): number[] => coefficients.slice(1).map((coefficient, k) => (k + 1) * coefficient);

/** Cubic B-splines of poses: trajectories with continuous accelerations, in which each pose depends on four control poses. */
export const poseSpline = {
  /**
   * The pose at the share u of an interval, from 0 to 1, between the second and the third of four consecutive control poses, to which it is near. The next
   * interval begins with the second of them. Control poses are at equal distances in time. Smooth where they are equal.
   */
  pose: <T extends Pose2 | Pose3>(controls: readonly T[], u: Scalar): T => {
    const poses = checkControls('poseSpline.pose: controls', controls);
    const share = toValue('poseSpline.pose: u', u);
    let pose = poses[0] as Pose3;
    stepsOf(poses).forEach((step, k) => (pose = pose.compose(scaledExp(pose, step, polynomial(BASIS[k] as readonly number[], share)))));
    return pose as T;
  },

  /**
   * The velocity at the share u of an interval, in the frame of the moving pose: three numbers of the angular velocity in radians, then three of the
   * velocity; in the plane the angular velocity, then two. `spacing` is the time between control poses, whose unit is that of the result.
   */
  velocity: (controls: readonly (Pose2 | Pose3)[], u: Scalar, spacing: Scalar): Value[] => {
    const poses = checkControls('poseSpline.velocity: controls', controls);
    const share = toValue('poseSpline.velocity: u', u);
    const time = toValue('poseSpline.velocity: spacing', spacing);
    let velocity: Value[] | null = null;
    stepsOf(poses).forEach((step, k) => {
      const basis = BASIS[k] as readonly number[];
      const rate = polynomial(derivative(basis), share);
      const own = step.map((entry) => entry.mul(rate));
      const before = velocity === null ? null : seenFrom(scaledExp(poses[0] as Pose3, step, polynomial(basis, share)), velocity);
      velocity = before === null ? own : own.map((entry, i) => entry.add(before[i] as Value));
    });
    return (velocity as unknown as Value[]).map((entry) => entry.div(time));
  },
} as const;

/** The logarithms of the motions from each control pose to the next. */
function stepsOf(poses: readonly (Pose2 | Pose3)[]): Value[][] {
  return poses.slice(1).map((pose, k) => [...(poses[k] as Pose3).between(pose as Pose3).log()]);
}

/** exp(share · step), of the class of `like`. Poses of both dimensions have the same methods. */
function scaledExp(like: Pose2 | Pose3, step: readonly Value[], share: Value): Pose3 {
  const scaled = step.map((entry) => entry.mul(share));
  return (like instanceof Pose2 ? Pose2.exp(scaled) : Pose3.exp(scaled)) as Pose3;
}

/** The velocity of a frame as that of another frame on the same body, whose pose in the first is `pose`. */
function seenFrom(pose: Pose2 | Pose3, velocity: readonly Value[]): Value[] {
  if (pose instanceof Pose2) {
    const [turn, x, y] = velocity as [Value, Value, Value];
    return [turn, ...pose.rotation.inverse().act(new Vec2(x, y).add(pose.translation.perpendicular().mul(turn)))];
  }
  const [a, b, c, x, y, z] = velocity as [Value, Value, Value, Value, Value, Value];
  const turn = new Vec3(a, b, c);
  const back = pose.rotation.inverse();
  return [...back.act(turn), ...back.act(new Vec3(x, y, z).add(turn.cross(pose.translation)))];
}

function checkControls(argument: string, controls: unknown): readonly (Pose2 | Pose3)[] {
  if (!Array.isArray(controls) || controls.length !== 4) throw invalidArgument(argument, describe(controls), 'an array of 4 poses');
  const kind = controls[0] instanceof Pose2 ? Pose2 : Pose3;
  controls.forEach((pose: unknown, k) => {
    if (!(pose instanceof kind)) throw invalidArgument(`${argument}[${k}]`, describe(pose), k === 0 ? 'a Pose2 or a Pose3' : `a ${kind.name}, as the first`);
  });
  return controls as (Pose2 | Pose3)[];
}
