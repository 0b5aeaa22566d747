/** Roots of unity e^(2πi t/n), from whole numbers. Angles are reduced as whole numbers, so that sines and cosines have the digits of f32. */

import type { Shape } from '../size.js';
import { apply, cast, where } from './elementwise.js';
import { ComplexNode, Node } from './node.js';

/** The coordinate along an axis, as u32. */
export function iota(shape: Shape, axis: number): Node {
  return new Node('iota', 'u32', shape, [], [axis]);
}

/**
 * cos(2π t/n) + i sign·sin(2π t/n) of whole numbers t in [0, n), of u32, with n up to 2²⁴. The angle is that to the nearest multiple of a quarter turn, at most
 * an eighth of a turn, of which sine and cosine have no cancellation: each is within 2⁻²³ of its value, relatively.
 */
export function rootsOfUnity(t: Node, n: number, sign: 1 | -1): ComplexNode {
  const scaled = apply('mul', [t, 4]);
  const quarter = apply('div', [scaled, n]);
  const rest = apply('sub', [scaled, apply('mul', [quarter, n])]);
  const complement = apply('sub', [n, rest]);
  const isFar = apply('gt', [rest, complement]);
  const angle = apply('mul', [cast(where(isFar, complement, rest), 'f32'), Math.PI / 2 / n]);
  const [sine, cosine] = [apply('sin', [angle]), apply('cos', [angle])];
  // A rotation by an odd number of quarter turns exchanges sine and cosine, and so does the complement.
  const isExchanged = apply('neq', [apply('and', [quarter, 1]), cast(isFar, 'u32')]);
  const [across, up] = [where(isExchanged, sine, cosine), where(isExchanged, cosine, sine)];
  const isLeft = apply('or', [apply('eq', [quarter, 1]), apply('eq', [quarter, 2])]);
  const isLower = apply(sign === 1 ? 'gte' : 'lt', [quarter, 2]);
  const negative = (condition: Node, x: Node) => where(condition, apply('neg', [x]), x);
  return new ComplexNode(negative(isLeft, across), negative(isLower, up));
}

/** j² modulo 2n for whole numbers j < n, of u32, with n up to 2²³: products that are longer than 32 bits are reduced in steps. */
export function squaresModulo(j: Node, n: number): Node {
  const modulus = 2 * n;
  const reduced = (x: Node) => apply('mod', [x, modulus]);
  if (n <= 2 ** 16) return reduced(apply('mul', [j, j]));
  // j = high·2¹² + low, with high < 2¹¹, and a number below 2²⁴ times 2⁸ has 32 bits.
  const [high, low] = [apply('shr', [j, 12]), apply('and', [j, 4095])];
  const shifted = (x: Node, bytes: number): Node => (bytes === 0 ? x : shifted(reduced(apply('mul', [x, 256])), bytes - 1));
  const first = shifted(reduced(apply('mul', [high, high])), 3);
  const middle = reduced(apply('mul', [shifted(reduced(apply('mul', [high, low])), 1), 32]));
  return reduced(apply('add', [first, apply('add', [middle, reduced(apply('mul', [low, low]))])]));
}
