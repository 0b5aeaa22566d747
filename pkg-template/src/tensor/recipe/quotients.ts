/** Whole quotients of positions: exact, where products would not fit 32 bits too. */

import { apply } from './elementwise.js';
import type { Node } from './node.js';

/** What i32 holds. */
const LARGEST = 2 ** 31 - 1;

/** The greatest common divisor of two whole numbers from 0. */
export function commonDivisor(a: number, b: number): number {
  return b === 0 ? a : commonDivisor(b, a % b);
}

/** A quotient that is rounded down, and what it leaves, both of i32: the remainder is from 0 below the divisor. */
export interface Quotient {
  readonly quotient: Node;
  readonly remainder: Node;
  readonly divisor: number;
}

/**
 * (factor · i + term) / divisor for positions i of i32, from 0 below `count`; the factor is not negative. Null where a number on the way may not fit
 * i32.
 */
export function quotientOf(positions: Node, count: number, { factor, term, divisor }: { factor: number; term: number; divisor: number }): Quotient | null {
  const common = commonDivisor(commonDivisor(factor, divisor), Math.abs(term));
  const [over, rest, by] = [Math.floor(factor / divisor), (factor % divisor) / common, divisor / common];
  // So many divisors more, which the quotient is less, make the dividend positive.
  const added = Math.max(0, Math.ceil(-(term / common) / by));
  const constant = term / common + added * by;
  // Positions that a period is apart have the same remainder.
  const shared = commonDivisor(rest, by);
  const period = by / shared;
  const isLong = rest * (count - 1) + constant > LARGEST;
  const most = rest * ((isLong ? Math.min(period, count) : count) - 1) + constant;
  if (most > LARGEST || by > LARGEST || over * (count - 1) > LARGEST) return null;
  const within = isLong ? apply('mod', [positions, period]) : positions;
  const dividend = apply('add', [apply('mul', [within, rest]), constant]);
  const terms = [apply('sub', [apply('div', [dividend, by]), added])];
  if (isLong) terms.push(apply('mul', [apply('div', [positions, period]), rest / shared]));
  if (over > 0) terms.push(apply('mul', [positions, over]));
  return { quotient: terms.reduce((sum, each) => apply('add', [sum, each])), remainder: apply('mod', [dividend, by]), divisor: by };
}
