/** Arrays whose blocks reach residual functions as rotations, poses and similarities. */

import { invalidArgument, describe } from '../arguments/errors.js';
import { Pose2 } from '../expressions/pose2.js';
import { Pose3 } from '../expressions/pose3.js';
import { Rotation2 } from '../expressions/rotation2.js';
import { Rotation3 } from '../expressions/rotation3.js';
import { Sim2 } from '../expressions/sim2.js';
import { Sim3 } from '../expressions/sim3.js';
import type { Value } from '../expressions/value.js';
import { Vec4 } from '../expressions/vec4.js';
import { manifold, type Manifold, type ProductManifold } from './manifold.js';

/** The blocks of an array of one kind. */
export interface BlockKind {
  /** Numbers per block. */
  readonly dim: number;
  readonly manifold: Manifold | ProductManifold;
  /** Returns what residual functions get for a block. */
  make(next: () => Value): unknown;
}

const take = (count: number, next: () => Value): Value[] => Array.from({ length: count }, next);

const ROTATIONS: Readonly<Record<2 | 3, BlockKind>> = {
  2: { dim: 1, manifold: 'angle', make: (next) => new Rotation2(next()) },
  3: { dim: 4, manifold: 'unit-quaternion', make: (next) => new Rotation3(new Vec4(next(), next(), next(), next())) },
};

const POSES: Readonly<Record<2 | 3, BlockKind>> = {
  2: { dim: 3, manifold: manifold.product('angle', 'euclidean 2'), make: (next) => Pose2.fromBlock(take(3, next)) },
  3: { dim: 7, manifold: manifold.product('unit-quaternion', 'euclidean 3'), make: (next) => Pose3.fromBlock(take(7, next)) },
};

const SIMILARITIES: Readonly<Record<2 | 3, BlockKind>> = {
  2: { dim: 4, manifold: manifold.product('angle', 'euclidean 3'), make: (next) => Sim2.fromBlock(take(4, next)) },
  3: { dim: 8, manifold: manifold.product('unit-quaternion', 'euclidean 4'), make: (next) => Sim3.fromBlock(take(8, next)) },
};

const KINDS: Readonly<Record<'rotations' | 'poses' | 'similarities', typeof POSES>> = { rotations: ROTATIONS, poses: POSES, similarities: SIMILARITIES };

/** Returns the blocks of rotations, poses or similarities in a space of `dim` dimensions. Throws 'invalid-argument' unless that is 2 or 3. */
export function blockKind(argument: string, what: keyof typeof KINDS, dim: unknown): BlockKind {
  if (dim !== 2 && dim !== 3) throw invalidArgument(`${argument}: dim`, describe(dim), '2 for the plane or 3 for space');
  return KINDS[what][dim];
}
