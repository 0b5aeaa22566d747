/** Shapes that broadcast as NumPy's do: axes are aligned at the innermost one, and an axis of size 1 repeats. */

import { invalidArgument } from '../../arguments/errors.js';
import { sameShape, sameSize, shapeText, type Shape, type Size } from '../size.js';
import { byParts, Node } from './node.js';

/** Returns the shape to which all broadcast. Throws 'invalid-argument' where two sizes differ and neither is 1; Dims are equal where their formulas are. */
export function broadcastShapes(operation: string, shapes: readonly Shape[]): Shape {
  const [first] = shapes;
  if (first !== undefined && shapes.every((shape) => shape === first || sameShape(shape, first))) return first;
  const rank = Math.max(0, ...shapes.map(({ length }) => length));
  const sizes: Size[] = [];
  for (let axis = 0; axis < rank; axis++) {
    let found: Size = 1;
    for (const shape of shapes) {
      const size = shape[axis - rank + shape.length] ?? 1;
      if (size === 1 || sameSize(size, found)) continue;
      if (found !== 1) throw cannotBroadcast(operation, shapes);
      found = size;
    }
    sizes.push(found);
  }
  return sizes;
}

function cannotBroadcast(operation: string, shapes: readonly Shape[]): Error {
  return invalidArgument(operation, `shapes ${shapes.map(shapeText).join(' and ')}`, 'shapes that broadcast: from the last axis on, equal sizes or 1');
}

/** Returns a tensor with the shape to which it broadcasts. Throws 'invalid-argument' where it does not. */
export function expandTo(operation: string, x: Node, shape: Shape): Node {
  if (sameShape(x.shape, shape)) return x;
  const offset = shape.length - x.shape.length;
  const fits = offset >= 0 && x.shape.every((size, axis) => size === 1 || sameSize(size, shape[axis + offset] as Size));
  if (!fits) throw invalidArgument(operation, `the shape ${shapeText(x.shape)}`, `one that broadcasts to ${shapeText(shape)}`);
  return byParts(x, (part) => new Node('expand', part.dtype, shape, [part]));
}
