/**
 * Where the entries of a product of sparse matrices are, and of which entries of the factors each is the sum: found in the memory of the page, row by row
 * (Gustavson 1978).
 */

import { ResiduaError } from '../../arguments/errors.js';

/** Where the entries of a matrix are. Offsets do not fall; they are cut at the number of entries, and columns out of range are left out. */
export interface Pattern {
  readonly rows: number;
  readonly columns: number;
  /** rows + 1. */
  readonly offsets: Uint32Array;
  /** The column of each entry. */
  readonly indices: Uint32Array;
}

/** A product: entry k is the sum over the pairs from `pairOffsets[k]` to `pairOffsets[k + 1]` of an entry of the left factor times one of the right. */
export interface ProductPattern {
  readonly offsets: Uint32Array<ArrayBuffer>;
  readonly indices: Uint32Array<ArrayBuffer>;
  readonly pairOffsets: Uint32Array<ArrayBuffer>;
  readonly left: Uint32Array<ArrayBuffer>;
  readonly right: Uint32Array<ArrayBuffer>;
}

const array = /* @__PURE__ */ arrayFor('sparseProduct');

/** Places are i32. */
const MOST_PAIRS = 2 ** 31 - 2;

/**
 * The product of two matrices. Yields after some work, so that the page may have a turn. The columns of a row ascend, and the pairs of an entry are in the
 * order of the left factor's. Throws 'limit-exceeded', and 'out-of-memory' where the page has no memory for the pairs.
 */
export function* productPattern(a: Pattern, b: Pattern): Generator<void, ProductPattern, void> {
  const [rangeA, rangeB] = [rangesOf(a), rangesOf(b)];
  let pairs = 0;
  for (let row = 0; row < a.rows; row++) {
    const [begin, end] = rangeA(row);
    for (let p = begin; p < end; p++) {
      const inner = a.indices[p] as number;
      if (inner >= b.rows) continue;
      const [from, to] = rangeB(inner);
      pairs += to - from;
    }
    yield;
  }
  if (pairs > MOST_PAIRS) throw new ResiduaError('limit-exceeded', `sparseProduct: the product is a sum of ${pairs} pairs of entries, and the most is ${MOST_PAIRS}`);
  // For each column one more than the row that had an entry there, and which entry it is.
  const [seen, entryOf] = [array(b.columns), array(b.columns)];
  const offsets = array(a.rows + 1);
  const [entryOfPair, lefts, rights] = [array(pairs), array(pairs), array(pairs)];
  const [indices, sizes] = [array(pairs), array(pairs + 1)];
  let [entries, known] = [0, 0];
  for (let row = 0; row < a.rows; row++) {
    const first = entries;
    const firstPair = known;
    const [begin, end] = rangeA(row);
    for (let p = begin; p < end; p++) {
      const inner = a.indices[p] as number;
      if (inner >= b.rows) continue;
      const [from, to] = rangeB(inner);
      for (let q = from; q < to; q++) {
        const column = b.indices[q] as number;
        if (column >= b.columns) continue;
        if (seen[column] !== row + 1) {
          seen[column] = row + 1;
          indices[entries++] = column;
        }
        [lefts[known], rights[known], entryOfPair[known]] = [p, q, column];
        known += 1;
      }
      if ((p & 1023) === 0) yield;
    }
    indices.subarray(first, entries).sort();
    for (let k = first; k < entries; k++) entryOf[indices[k] as number] = k;
    for (let k = firstPair; k < known; k++) {
      const entry = entryOf[entryOfPair[k] as number] as number;
      entryOfPair[k] = entry;
      (sizes[entry + 1] as number) += 1;
    }
    offsets[row + 1] = entries;
    yield;
  }
  const pairOffsets = sizes.slice(0, entries + 1);
  for (let k = 0; k < entries; k++) (pairOffsets[k + 1] as number) += pairOffsets[k] as number;
  const next = pairOffsets.slice();
  const [left, right] = [array(known), array(known)];
  for (let k = 0; k < known; k++) {
    const entry = entryOfPair[k] as number;
    const place = next[entry] as number;
    next[entry] = place + 1;
    [left[place], right[place]] = [lefts[k] as number, rights[k] as number];
    if ((k & 65535) === 0) yield;
  }
  return { offsets, indices: indices.slice(0, entries), pairOffsets, left, right };
}

/** The entries of a row, from the first to before the last. */
export function rangesOf({ offsets, indices }: Pattern): (row: number) => readonly [begin: number, end: number] {
  return (row) => [Math.min(offsets[row] as number, indices.length), Math.min(offsets[row + 1] as number, indices.length)];
}

/** Makes arrays for a call: zeros. They throw 'out-of-memory' where the page has no memory for one. */
export function arrayFor(call: string): (length: number) => Uint32Array<ArrayBuffer> {
  return (length) => {
    try {
      return new Uint32Array(length);
    } catch (error) {
      if (error instanceof RangeError) throw new ResiduaError('out-of-memory', `${call}: the page has no memory for ${length} numbers of the pattern`);
      throw error;
    }
  };
}
