/**
 * Robust losses of least squares: ρ(s) of s = ‖r‖², r an instance's outputs, as in Ceres. The cost is ½ Σ weight·ρ(s). The formulas by which solvers
 * compute are in the crate; this module has their names and parameters, and their slopes.
 */

import { describe, invalidArgument } from '../arguments/errors.js';
import { checkFinite } from '../arguments/numeric-arguments.js';

/** The bounded losses of graduated non-convexity. */
export type GraduatedKind = 'geman-mcclure' | 'truncated';

/** A robust loss. Made by the functions of `loss`. */
export type Loss = { readonly kind: string };

/** A loss with its parameters. */
export class RobustLoss {
  constructor(
    readonly kind: 'squared' | 'huber' | 'softL1' | 'cauchy' | 'arctan' | 'tukey' | 'tolerant' | GraduatedKind,
    readonly a: number,
    readonly b: number,
    readonly factor: number,
  ) {
    Object.freeze(this);
  }

  /** The kind of a graduated loss, which solvers approach by weights of instances; null for others. */
  get graduated(): GraduatedKind | null {
    return this.kind === 'geman-mcclure' || this.kind === 'truncated' ? this.kind : null;
  }
}

/** The robust losses. A scale is the residual's norm at which a loss starts to deviate from s, in the residual's unit. */
export const loss = {
  /** ρ(s) = s: plain least squares, the default. */
  squared: (): Loss => new RobustLoss('squared', 0, 0, 1),
  /** s for ‖r‖ ≤ delta, linear in ‖r‖ beyond. */
  huber: (delta: number): Loss => new RobustLoss('huber', positive('loss.huber: delta', delta), 0, 1),
  /** 2 scale² (√(1 + s/scale²) − 1): a smooth Huber. */
  softL1: (scale: number): Loss => new RobustLoss('softL1', positive('loss.softL1: scale', scale), 0, 1),
  /** scale² log(1 + s/scale²) */
  cauchy: (scale: number): Loss => new RobustLoss('cauchy', positive('loss.cauchy: scale', scale), 0, 1),
  /** scale atan(s/scale); bounded. */
  arctan: (scale: number): Loss => new RobustLoss('arctan', positive('loss.arctan: scale', scale), 0, 1),
  /** Tukey's biweight: constant beyond ‖r‖ = scale. */
  tukey: (scale: number): Loss => new RobustLoss('tukey', positive('loss.tukey: scale', scale), 0, 1),
  /** Nearly 0 up to s = a, then linear in s, with a transition of width b. */
  tolerant: (a: number, b: number): Loss =>
    new RobustLoss('tolerant', nonNegative('loss.tolerant: a', a), positive('loss.tolerant: b', b), 1),
  /**
   * A bounded loss that ignores outliers and needs no good start: graduated non-convexity (H. Yang, P. Antonante, V. Tzoumas, L. Carlone, IEEE Robotics and
   * Automation Letters 5(2), 2020). A solve begins with nearly equal weights of the instances and makes the loss itself in some twenty to fifty stages, each a
   * least-squares solve with other weights. 'geman-mcclure' is scale² s/(scale² + s), smooth; 'truncated' is min(s, scale²), which either counts an
   * instance in full or leaves it out: scale is then the largest residual of an inlier.
   *
   * `solve`, `fit`, `levenbergMarquardt`, and `lbfgs` and `newton` with 'least-squares' take it, on both engines. Their result has `lossWeights`. Blocks take
   * it when they are made, or later if they have weights. Solves with constraints, costs with gradients or Hessians, `covariance` and `solveMany` reject
   * with 'invalid-argument' while a block has it.
   */
  graduated: (kind: GraduatedKind, scale: number): Loss => {
    if (kind !== 'geman-mcclure' && kind !== 'truncated') throw invalidArgument('loss.graduated: kind', describe(kind), "'geman-mcclure' or 'truncated'");
    return new RobustLoss(kind, positive('loss.graduated: scale', scale), 0, 1);
  },
  /** factor · ρ(s) of another loss. */
  scaled: (inner: Loss, factor: number): Loss => {
    const { kind, a, b, factor: before } = checkLoss('loss.scaled: inner', inner);
    return new RobustLoss(kind, a, b, before * nonNegative('loss.scaled: factor', factor));
  },
} as const;

/** Returns the loss with its parameters. Throws 'invalid-argument' for anything else. */
export function checkLoss(argument: string, value: unknown): RobustLoss {
  if (!(value instanceof RobustLoss)) throw invalidArgument(argument, describe(value), 'a loss made by the functions of `loss`');
  return value;
}

/** ρ′(s), the weight that an instance with ‖r‖² = s has in least squares. */
export function slope({ kind, a, b, factor }: RobustLoss, s: number): number {
  const part = s / (a * a);
  switch (kind) {
    case 'huber':
      return factor * Math.min(1, a / Math.sqrt(s));
    case 'softL1':
      return factor / Math.sqrt(1 + part);
    case 'cauchy':
      return factor / (1 + part);
    case 'arctan':
      return factor / (1 + (s / a) ** 2);
    case 'tukey':
      return factor * Math.max(0, 1 - part) ** 2;
    case 'tolerant':
      return factor / (1 + Math.exp((a - s) / b));
    default:
      return factor;
  }
}

function positive(argument: string, value: number): number {
  if (typeof value !== 'number' || !(value > 0 && value < Infinity)) throw invalidArgument(argument, describe(value), 'a finite number above 0');
  return value;
}

function nonNegative(argument: string, value: number): number {
  checkFinite(argument, value, 0);
  return value;
}
