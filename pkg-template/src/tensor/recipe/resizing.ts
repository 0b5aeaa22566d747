/** Other numbers of places along the last axes: each place of a result reads a few places of x, along one axis after another. */

import { describe, invalidArgument } from '../../arguments/errors.js';
import { checkFlag, checkOptions } from '../../arguments/options.js';
import { isReal } from '../dtype.js';
import { expandTo } from './broadcast.js';
import { apply, cast, inSingle } from './elementwise.js';
import { indexSelect } from './indexing.js';
import { Node } from './node.js';
import { nodeText, type NodeOrNumber } from './operands.js';
import { quotientOf, type Quotient } from './quotients.js';
import { perAxis } from './sliding.js';
import { slice } from './slices.js';
import { reshaped } from './views.js';

/** How a place between others gets its number. */
export type Interpolation = 'nearest' | 'linear' | 'cubic';

/** Resizes the last axes, one after another. */
export function resize(x: Node, size: unknown, options: { mode?: unknown; alignCorners?: unknown }): Node {
  checkOptions('resize: options', options, { mode: true, alignCorners: true });
  const { mode = 'nearest', alignCorners } = options;
  if (mode !== 'nearest' && mode !== 'linear' && mode !== 'cubic') throw invalidArgument('resize: mode', describe(mode), "'nearest', 'linear' or 'cubic'");
  checkFlag('resize: alignCorners', alignCorners);
  const rank = x.shape.length;
  if (!Array.isArray(size) || size.length === 0 || size.length > rank) {
    throw invalidArgument('resize: size', describe(size), `an array of 1 to ${rank} whole numbers, for the last axes of ${nodeText(x)}`);
  }
  const counts = perAxis('resize: size', size, size.length, 1, []);
  counts.forEach((_, k) => {
    const extent = x.shape[rank - counts.length + k];
    if (typeof extent !== 'number' || extent === 0) throw invalidArgument('resize', nodeText(x), 'a tensor whose last axes have sizes that are numbers of at least 1');
  });
  if (mode !== 'nearest' && !isReal(x.dtype)) throw invalidArgument('resize', nodeText(x), `a tensor of f32 or f16 with the mode '${mode}': cast() makes one`);
  const along = (node: Node) => counts.reduce((found, count, k) => axisResized(found, rank - counts.length + k, count, mode, alignCorners === true), node);
  return mode === 'nearest' ? along(x) : inSingle(x, along);
}

function axisResized(x: Node, axis: number, count: number, mode: Interpolation, alignCorners: boolean): Node {
  const extent = x.shape[axis] as number;
  if (extent === count) return x;
  if (mode === 'nearest') return nearest(x, axis, count, alignCorners);
  // The place that lies before place i of the result, and the part of the way to the next.
  const { quotient, remainder, divisor } = placesOf(extent, count, alignCorners ? alignedOf(extent, count) : { factor: 2 * extent, term: extent - count, divisor: 2 * count });
  const spread = (weight: Node) => reshaped(weight, [count, ...x.shape.slice(axis + 1).map(() => 1)]);
  const t = spread(apply('div', [cast(remainder, 'f32'), divisor]));
  const read = (offset: number) => indexSelect(x, within(apply('add', [quotient, offset]), extent), axis, 'resize');
  if (mode === 'linear') {
    const first = read(0);
    return apply('add', [first, apply('mul', [apply('sub', [read(1), first]), t])]);
  }
  const terms = cubicWeights(t).map((weight, k) => apply('mul', [read(k - 1), weight]));
  return terms.reduce((sum, term) => apply('add', [sum, term]));
}

/** The factor of a position where the outer places stay the outer ones. One place is the first. */
function alignedOf(extent: number, count: number): { factor: number; term: number; divisor: number } {
  return count === 1 ? { factor: 0, term: 0, divisor: 1 } : { factor: extent - 1, term: 0, divisor: count - 1 };
}

/** The place whose centre is nearest, of two the lower: ⌈s − 1/2⌉ of the place s. */
function nearest(x: Node, axis: number, count: number, alignCorners: boolean): Node {
  const { shape } = x;
  const extent = shape[axis] as number;
  const along = (...sizes: number[]) => [...shape.slice(0, axis), ...sizes, ...shape.slice(axis + 1)];
  if (!alignCorners && count % extent === 0) {
    const repeated = expandTo('resize', reshaped(x, along(extent, 1)), along(extent, count / extent));
    return reshaped(repeated, along(count));
  }
  if (!alignCorners && extent % count === 0) {
    const step = extent / count;
    return slice(x, shape.map((_, other) => (other === axis ? [Math.ceil(step / 2) - 1, null, step] : null)));
  }
  const { factor, term, divisor } = alignedOf(extent, count);
  const affine = alignCorners ? { factor: 2 * factor, term: divisor - 1 + term, divisor: 2 * divisor } : { factor: 2 * extent, term: extent - 1, divisor: 2 * count };
  return indexSelect(x, within(placesOf(extent, count, affine).quotient, extent), axis, 'resize');
}

function placesOf(extent: number, count: number, affine: { factor: number; term: number; divisor: number }): Quotient {
  const found = quotientOf(new Node('iota', 'i32', [count], [], [0]), count, affine);
  if (found === null) throw invalidArgument('resize: size', `${count} for an axis of ${extent}`, 'sizes whose ratio has smaller terms: places are counted in 31 bits');
  return found;
}

/** The nearest place of an axis. */
function within(place: Node, extent: number): Node {
  return apply('minimum', [apply('maximum', [place, 0]), extent - 1]);
}

/** The weights of the places before, at, after and two after a part t of the way between two places: Keys' kernel with a = −0.75. */
function cubicWeights(t: Node): Node[] {
  const a = -0.75;
  const polynomial = (x: NodeOrNumber, coefficients: readonly number[]): Node =>
    coefficients.reduce<NodeOrNumber>((value, coefficient, k) => (k === 0 ? coefficient : apply('add', [apply('mul', [value, x]), coefficient])), 0) as Node;
  const near = (x: Node) => polynomial(x, [a + 2, -(a + 3), 0, 1]);
  const far = (x: Node) => polynomial(x, [a, -5 * a, 8 * a, -4 * a]);
  const from = (end: number) => apply('sub', [end, t]);
  return [far(apply('add', [t, 1])), near(t), near(from(1)), far(from(2))];
}
