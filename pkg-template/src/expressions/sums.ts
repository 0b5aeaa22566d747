/** Expressions of sums and of vector norms. Arguments have been checked by the callers. */

import { Op } from './op-codes.js';
import { asValue, binary, literal, unary, type Scalar, type Value } from './value.js';

/** The sum of all terms, added in pairs, so that rounding grows with the logarithm of their number. The empty sum is 0. */
export function sum(terms: readonly Scalar[]): Value {
  let level: readonly Scalar[] = terms;
  while (level.length > 1) {
    const above: Value[] = [];
    for (let i = 0; i + 1 < level.length; i += 2) above.push(binary(Op.add, level[i] as Scalar, level[i + 1] as Scalar));
    if (level.length % 2 === 1) above.push(asValue(level[level.length - 1] as Scalar));
    level = above;
  }
  return level.length === 0 ? literal(0) : asValue(level[0] as Scalar);
}

/** The mean of at least one term. */
export function mean(terms: readonly Scalar[]): Value {
  return terms.length === 1 ? asValue(terms[0] as Scalar) : sum(terms).mul(literal(1 / terms.length));
}

/** The norm of a vector; its derivative at 0 is 0. */
export function norm(coordinates: readonly Scalar[]): Value {
  const [first] = coordinates;
  if (first === undefined) return literal(0);
  if (coordinates.length === 1) return unary(Op.abs, first);
  return unary(Op.norm, squaredNorm(coordinates));
}

/** The squared norm of a vector. */
export function squaredNorm(coordinates: readonly Scalar[]): Value {
  return sum(coordinates.map((coordinate) => asValue(coordinate).square()));
}

/** 1 / |v| from |v|², and 0 at 0. */
export function inverseNorm(squared: Value): Value {
  return unary(Op.inverseNorm, squared);
}
