/**
 * What a check may claim. Each claim holds or throws a `Disagreement` that has the numbers: what was claimed, what was expected, what was got, and where numbers may
 * differ, by how much they do, by how much they may, and why they may.
 */

/** A claim that does not hold. */
export class Disagreement extends Error {
  /**
   * @param {{ claim: string, expected?: unknown, got?: unknown, error?: number, allowed?: number, because?: string }} facts
   */
  constructor(facts) {
    super(facts.claim);
    this.name = 'Disagreement';
    this.facts = facts;
  }
}

const disagree = (facts) => {
  throw new Disagreement(facts);
};

/** What JSON would lose. */
function legible(_, value) {
  if (typeof value === 'number' && (!Number.isFinite(value) || Object.is(value, -0))) return Object.is(value, -0) ? '-0' : String(value);
  if (value instanceof RegExp || value instanceof Error || typeof value === 'bigint') return String(value);
  return ArrayBuffer.isView(value) ? [...value] : value;
}

/** A value as a line of text, short enough to be read. */
export function inWords(value, longest = 400) {
  const shown = legible('', value);
  const text = typeof shown === 'object' && shown !== null ? JSON.stringify(shown, legible) : String(shown);
  return text.length > longest ? `${text.slice(0, longest)}… (${text.length} characters)` : text;
}

const isList = (value) => Array.isArray(value) || ArrayBuffer.isView(value);

/** Where two plain values differ first, as a path with both sides; null where they are the same to the last bit. Lists of any kind are compared by their entries. */
export function firstDifference(got, expected, path = '') {
  if (Object.is(got, expected)) return null;
  const objects = typeof got === 'object' && typeof expected === 'object' && got !== null && expected !== null;
  if (!objects || isList(got) !== isList(expected)) return { path, got, expected };
  if (isList(got)) {
    if (got.length !== expected.length) return { path: `${path}.length`, got: got.length, expected: expected.length };
    for (let i = 0; i < got.length; i++) {
      const found = firstDifference(got[i], expected[i], `${path}[${i}]`);
      if (found !== null) return found;
    }
    return null;
  }
  for (const key of new Set([...Object.keys(got), ...Object.keys(expected)])) {
    if (!(key in got) || !(key in expected)) return { path: `${path}.${key}`, got: key in got ? got[key] : 'nothing', expected: key in expected ? expected[key] : 'nothing' };
    const found = firstDifference(got[key], expected[key], `${path}.${key}`);
    if (found !== null) return found;
  }
  return null;
}

/** The largest difference of two lists over the largest magnitude of the second; what is not finite must be the same in both, or it is infinite. */
export function relativeDifference(got, expected) {
  if (got.length !== expected.length) return Infinity;
  let [largest, worst] = [0, 0];
  for (let i = 0; i < expected.length; i++) {
    if (Number.isFinite(got[i]) && Number.isFinite(expected[i])) {
      largest = Math.max(largest, Math.abs(expected[i]));
      worst = Math.max(worst, Math.abs(got[i] - expected[i]));
    } else if (!Object.is(got[i], expected[i])) return Infinity;
  }
  return worst === 0 ? 0 : worst / largest;
}

export const claims = {
  /** Something is true. */
  ok(condition, claim) {
    if (!condition) disagree({ claim, expected: true, got: condition });
  },
  /** The same value, to the last bit. */
  equal(got, expected, claim = 'the same value') {
    if (!Object.is(got, expected)) disagree({ claim, expected, got, ...(typeof got === 'number' && typeof expected === 'number' ? { error: Math.abs(got - expected), allowed: 0 } : {}) });
  },
  notEqual(got, other, claim = 'another value') {
    if (Object.is(got, other)) disagree({ claim, expected: `not ${inWords(other)}`, got });
  },
  /** The same lists and plain objects, to the last bit. */
  same(got, expected, claim = 'the same values') {
    const found = firstDifference(got, expected);
    if (found !== null) disagree({ claim: found.path === '' ? claim : `${claim}, at ${found.path.replace(/^\./, '')}`, expected: found.expected, got: found.got });
  },
  /** A text that fits a pattern. */
  match(text, pattern, claim = 'a text that fits') {
    if (typeof text !== 'string' || !pattern.test(text)) disagree({ claim, expected: pattern, got: text });
  },
  /** A number that differs by no more than it may. `because` is the reason of the tolerance. */
  close(got, expected, { within, because }, claim = 'a number') {
    const error = Math.abs(got - expected);
    if (!(error <= within)) disagree({ claim, expected, got, error, allowed: within, because });
  },
  /** An error, or another figure that is to be small, below its bound. */
  below(error, allowed, because, claim = 'a small error') {
    if (!(error < allowed)) disagree({ claim, expected: `less than ${allowed}`, got: error, error, allowed, because });
  },
};
