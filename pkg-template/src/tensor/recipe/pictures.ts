/** Tensors as pixels. */

import { invalidArgument } from '../../arguments/errors.js';
import { apply, cast } from './elementwise.js';
import { constantNode, type Node } from './node.js';
import { checkType, nodeText } from './operands.js';
import { concat } from './slices.js';

/** Red, green, blue and opacity as bytes, [height, width, 4], of three or four channels, of bytes or of numbers from 0 to 1. Throws 'invalid-argument' for others. */
export function pixels(operation: string, x: Node): Node {
  checkType(operation, x, ['u8', 'f32', 'f16']);
  const [height, width, channels] = x.shape;
  if (x.shape.length !== 3 || typeof height !== 'number' || typeof width !== 'number' || height * width === 0 || (channels !== 3 && channels !== 4)) {
    throw invalidArgument(operation, nodeText(x), 'a tensor [height, width, 3 or 4] that has pixels');
  }
  const bytes = x.dtype === 'u8' ? x : cast(apply('round', [apply('mul', [cast(x, 'f32'), 255])]), 'u8');
  return channels === 4 ? bytes : concat([bytes, constantNode(255, 'u8', [height, width, 1])], 2);
}
