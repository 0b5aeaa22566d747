/** The angle of a direction. */

import { Op } from './op-codes.js';
import { binary, literal, select, type Value } from './value.js';

/** atan2(y, x) in (−π, π]. At the origin, where the angle has no derivative, value and gradient are 0. */
export function angleOf(y: Value, x: Value): Value {
  return select(y.abs().add(x.abs()), binary(Op.atan2, y, x), literal(0));
}
