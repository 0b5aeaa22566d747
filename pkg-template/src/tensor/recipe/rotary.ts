/** Rotary embeddings: pairs of numbers of a token turn by angles that grow with its position. Compositions, which fuse with what stands beside them. */

import { describe, invalidArgument } from '../../arguments/errors.js';
import { checkWholeNumber } from '../../arguments/numeric-arguments.js';
import { isSize, sameSize, sizeText, type Size } from '../size.js';
import { apply, cast, inSingle, where } from './elementwise.js';
import { Node } from './node.js';
import { checkType, nodeOf, nodeText, REALS } from './operands.js';
import { sizeNode } from './reductions.js';
import { concat, flip, slice } from './slices.js';
import { reshaped } from './views.js';

/** Which numbers of a token are a pair: i and i + size/2, or neighbours. */
export type RotaryLayout = 'halves' | 'pairs';

/** What the rotation of a tensor depends on, unchecked. */
export interface Rotation {
  readonly position: unknown;
  readonly base: unknown;
  readonly layout: unknown;
  readonly size: unknown;
  readonly frequencies: unknown;
}

/** Turns the first `size` numbers of each token of [..., tokens, numbers]; the others stay. */
export function rope(x: Node, { position, base, layout, size, frequencies }: Rotation): Node {
  checkType('rope', x, REALS);
  const numbers = x.shape.at(-1);
  if (x.shape.length < 2 || typeof numbers !== 'number') throw invalidArgument('rope', nodeText(x), 'a tensor [..., tokens, size] whose last size is a number');
  checkWholeNumber('rope: size', size ?? numbers, 0);
  const turned = (size ?? numbers) as number;
  if (turned % 2 !== 0 || turned > numbers) throw invalidArgument('rope: size', String(turned), `an even number of at most ${numbers}, the last size of x`);
  if (layout !== 'halves' && layout !== 'pairs') throw invalidArgument('rope: layout', describe(layout), "'halves' or 'pairs'");
  const frequency = frequencies === undefined ? powers(base ?? 10000, turned, layout) : checkFrequencies(frequencies, base, turned, layout);
  const places = placesOf(position, x);
  if (turned === 0) return x;
  return inSingle(x, (y) => {
    const rest = x.shape.slice(0, -1).map(() => null);
    const first = turned === numbers ? y : slice(y, [...rest, [0, turned]]);
    const rotated = rotate(first, apply('mul', [places, frequency]), layout);
    return turned === numbers ? rotated : concat([rotated, slice(y, [...rest, [turned]])], -1);
  });
}

/** Turns pairs of numbers along the last axis by angles, which broadcast to it and are equal for both numbers of a pair. */
function rotate(x: Node, angle: Node, layout: RotaryLayout): Node {
  const size = x.shape.at(-1) as number;
  const outer = x.shape.slice(0, -1);
  const [paired, pair] = layout === 'halves' ? [[...outer, 2, size / 2], -2] : [[...outer, size / 2, 2], -1];
  const partner = reshaped(flip(reshaped(x, paired), [pair]), x.shape);
  // The first number of a pair (a, b) becomes a cos − b sin, the second b cos + a sin.
  const sine = apply('sin', [angle]);
  const signed = where(isFirst(size, layout), apply('neg', [sine]), sine);
  return apply('add', [apply('mul', [x, apply('cos', [angle])]), apply('mul', [partner, signed])]);
}

/** Whether a number is the first of its pair. */
function isFirst(size: number, layout: RotaryLayout): Node {
  const place = new Node('iota', 'i32', [size], [], [0]);
  return layout === 'halves' ? apply('lt', [place, size / 2]) : apply('eq', [apply('and', [place, 1]), 0]);
}

/** base^(−2i/size) for both numbers of pair i. */
function powers(base: unknown, size: number, layout: RotaryLayout): Node {
  if (typeof base !== 'number' || !(base > 0 && base < Infinity)) throw invalidArgument('rope: base', describe(base), 'a finite number above 0');
  const place = new Node('iota', 'i32', [size], [], [0]);
  const pair = layout === 'halves' ? where(apply('lt', [place, size / 2]), place, apply('sub', [place, size / 2])) : apply('shr', [place, 1]);
  return apply('exp', [apply('mul', [cast(pair, 'f32'), (-2 * Math.log(base)) / Math.max(size, 1)])]);
}

/** Frequencies of the caller, one a pair, for both numbers of each. */
function checkFrequencies(given: unknown, base: unknown, size: number, layout: RotaryLayout): Node {
  const node = nodeOf('rope: frequencies', given);
  if (base !== undefined) throw invalidArgument('rope: base', describe(base), 'no base where frequencies are given');
  if (node.dtype !== 'f32' || node.shape.length !== 1 || node.shape[0] !== size / 2) {
    throw invalidArgument('rope: frequencies', nodeText(node), `a vector of f32 of ${size / 2} numbers, one a pair`);
  }
  if (layout === 'halves') return concat([node, node], 0);
  const column = reshaped(node, [size / 2, 1]);
  return reshaped(concat([column, column], 1), [size]);
}

/** The positions of tokens as numbers, with an axis of size 1 at the end. */
function placesOf(position: unknown, x: Node): Node {
  const tokens = x.shape.at(-2) as Size;
  if (isSize(position)) {
    const column = new Node('iota', 'i32', [tokens, 1], [], [0]);
    return cast(apply('add', [column, sizeNode(position, 'i32')]), 'f32');
  }
  const node = nodeOf('rope: position', position, 'a whole number from 0, a Dim or a Tensor of i32');
  const outer = x.shape.slice(0, -1);
  // The last axis counts tokens; the others broadcast to those of x.
  const added = outer.length - node.shape.length;
  const fits = node.shape.every((size, axis) => sameSize(size, outer[axis + added] ?? 0) || (size === 1 && axis < node.shape.length - 1));
  if (node.dtype !== 'i32' || node.shape.length === 0 || added < 0 || !fits) {
    throw invalidArgument('rope: position', nodeText(node), `a tensor of i32 that broadcasts to the shape of x without its last axis, with ${sizeText(tokens)} positions, one a token`);
  }
  return cast(reshaped(node, [...node.shape, 1]), 'f32');
}
