/** How a length of a Fourier transform is cut into radices. */

/** The longest DFT by one matrix: primes up to 127 are radices. */
const MOST_RADIX = 128;

/** What a stage costs besides the product, which is in proportion to the radix: as much as a product of this radix for its roots of unity and its way through memory. */
const STAGE = 64;

interface Cut {
  readonly cost: number;
  readonly radices: readonly number[];
}

/** Radices whose product is a length, with the smallest sum of costs; null where a prime factor is above 127. */
export function radicesOf(length: number): readonly number[] | null {
  const known = new Map<number, Cut | null>([[1, { cost: 0, radices: [] }]]);
  const best = (rest: number): Cut | null => {
    const before = known.get(rest);
    if (before !== undefined) return before;
    let found: Cut | null = null;
    for (let radix = 2; radix <= Math.min(rest, MOST_RADIX); radix++) {
      if (rest % radix !== 0) continue;
      const others = best(rest / radix);
      if (others === null) continue;
      const cost = radix + STAGE + others.cost;
      if (found === null || cost < found.cost) found = { cost, radices: [radix, ...others.radices] };
    }
    known.set(rest, found);
    return found;
  };
  if (length === 1) return [1];
  return best(length)?.radices ?? null;
}
