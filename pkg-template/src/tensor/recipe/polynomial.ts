/** Polynomials of tensors. */

import { apply } from './elementwise.js';
import type { Node } from './node.js';

/** Σ coefficient · xᵏ, the highest power first. */
export function polynomial(x: Node, coefficients: readonly number[]): Node {
  const [first, second, ...rest] = coefficients as [number, number, ...number[]];
  const start = apply('add', [apply('mul', [x, first]), second]);
  return rest.reduce((sum, coefficient) => apply('add', [apply('mul', [sum, x]), coefficient]), start);
}
