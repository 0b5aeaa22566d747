/**
 * Elements that a mask selects. How many there are is known when they are computed, so that they stand at the front of a tensor with room for all,
 * and zeros follow.
 */

import { product, type Size } from '../size.js';
import { broadcastShapes, expandTo } from './broadcast.js';
import { apply, cast, where } from './elementwise.js';
import { indexAdd, indexSelect } from './indexing.js';
import { constantNode, Node } from './node.js';
import { checkType, NOT_COMPLEX } from './operands.js';
import { countNonzero, sizeNode } from './reductions.js';
import { accumulate } from './rows.js';
import { concat } from './slices.js';
import { argsort, inOrder } from './sorting.js';
import { reshaped } from './views.js';

/** What was selected, and how many there are. */
export interface Selected {
  readonly values: Node;
  readonly count: Node;
}

/** The places of what a mask selects, in order at the front of a vector. */
interface Front {
  readonly places: Node;
  readonly count: Node;
  /** Whether an element of the vector is one of them. */
  readonly isMeant: Node;
}

function front(mask: Node): Front {
  const vector = reshaped(mask, [product(mask.shape)]);
  const count = countNonzero(vector, undefined);
  const own = new Node('iota', 'u32', vector.shape, [], [0]);
  // A stable sort of the truth values leaves the order within those that hold.
  return { places: argsort(vector, 0, { descending: true }), count, isMeant: apply('lt', [own, count]) };
}

/** The elements where a mask holds, in C order. */
export function maskedSelect(x: Node, mask: Node): Selected {
  checkType('maskedSelect: mask', mask, ['bool']);
  const shape = broadcastShapes('maskedSelect', [x.shape, mask.shape]);
  const { places, count, isMeant } = front(expandTo('maskedSelect: mask', mask, shape));
  const vector = reshaped(expandTo('maskedSelect', x, shape), [product(shape)]);
  return { values: where(isMeant, indexSelect(vector, places, 0), 0), count };
}

/** The coordinates of the elements that are not 0, in C order, a row each. */
export function nonzero(x: Node): Selected {
  const { places, count, isMeant } = front(cast(x, 'bool'));
  const size = places.shape[0] as Size;
  const meant = where(isMeant, places, 0);
  const columns = x.shape.map((extent, axis) => {
    const stride = product(x.shape.slice(axis + 1));
    const row = stride === 1 ? meant : apply('div', [meant, sizeNode(stride, 'i32')]);
    return reshaped(axis === 0 ? row : apply('mod', [row, sizeNode(extent, 'i32')]), [size, 1]);
  });
  return { values: columns.length === 0 ? constantNode(0, 'i32', [1, 0]) : concat(columns, 1), count };
}

/** Different elements in order, each with the place of its first one and how many there are; and for each element which of them it is. */
export interface Distinct extends Selected {
  readonly indices: Node;
  readonly counts: Node;
  readonly inverse: Node;
}

/** The different elements in ascending order. All NaN are one, and 0 and −0. */
export function unique(x: Node): Distinct {
  checkType('unique', x, NOT_COMPLEX);
  const vector = reshaped(x, [product(x.shape)]);
  const size = sizeNode(vector.shape[0] as Size, 'i32');
  const { order, keys } = inOrder('unique', vector);
  const place = new Node('iota', 'i32', vector.shape, [], [0]);
  const before = indexSelect(keys, apply('sub', [place, 1]), 0);
  const isFirst = apply('or', [apply('eq', [place, 0]), apply('neq', [keys, before])]);
  const { places, count, isMeant } = front(isFirst);
  const indices = where(isMeant, indexSelect(order, places, 0), 0);
  const next = where(apply('lt', [apply('add', [place, 1]), cast(count, 'i32')]), indexSelect(places, apply('add', [place, 1]), 0), size);
  const number = apply('sub', [accumulate('cumsum', 'sum', cast(isFirst, 'i32'), 0), 1]);
  return {
    values: where(isMeant, indexSelect(vector, indices, 0), 0),
    count,
    indices,
    counts: cast(where(isMeant, apply('sub', [next, places]), 0), 'u32'),
    inverse: reshaped(indexAdd(number, order, number, { combine: 'set' }), x.shape),
  };
}
