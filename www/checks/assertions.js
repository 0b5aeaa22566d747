/**
 * The assertions of checks. A failed assertion throws a `Disagreement` with its numbers: the claim, the expected and the actual value; for
 * numbers with a tolerance also the error, the allowed error and the reason of the tolerance.
 */

/** A failed assertion. */
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

/** Values that JSON cannot represent. */
function legible(_, value) {
  if (typeof value === 'number' && (!Number.isFinite(value) || Object.is(value, -0))) return Object.is(value, -0) ? '-0' : String(value);
  if (value instanceof RegExp || value instanceof Error || typeof value === 'bigint') return String(value);
  return ArrayBuffer.isView(value) ? [...value] : value;
}

/** A value as one short line of text. */
export function inWords(value, longest = 400) {
  const shown = legible('', value);
  const text = typeof shown === 'object' && shown !== null ? JSON.stringify(shown, legible) : String(shown);
  return text.length > longest ? `${text.slice(0, longest)}… (${text.length} characters)` : text;
}

const isList = (value) => Array.isArray(value) || ArrayBuffer.isView(value);

/**
 * The path of the first difference of two plain values, with both sides; null where they are equal to the last bit. Lists of any type are
 * compared by their entries.
 */
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

/**
 * The largest difference of two lists relative to the largest magnitude of the second. Entries that are not finite must be equal in both,
 * or the result is infinite.
 */
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
  /** Asserts that a condition is true. */
  ok(condition, claim) {
    if (!condition) disagree({ claim, expected: true, got: condition });
  },
  /** Asserts that two values are equal to the last bit. */
  equal(got, expected, claim = 'the same value') {
    if (!Object.is(got, expected)) disagree({ claim, expected, got, ...(typeof got === 'number' && typeof expected === 'number' ? { error: Math.abs(got - expected), allowed: 0 } : {}) });
  },
  notEqual(got, other, claim = 'another value') {
    if (Object.is(got, other)) disagree({ claim, expected: `not ${inWords(other)}`, got });
  },
  /** Asserts that lists and plain objects are equal to the last bit. */
  same(got, expected, claim = 'the same values') {
    const found = firstDifference(got, expected);
    if (found !== null) disagree({ claim: found.path === '' ? claim : `${claim}, at ${found.path.replace(/^\./, '')}`, expected: found.expected, got: found.got });
  },
  /** Asserts that a text matches a pattern. */
  match(text, pattern, claim = 'a text that fits') {
    if (typeof text !== 'string' || !pattern.test(text)) disagree({ claim, expected: pattern, got: text });
  },
  /** Asserts that a number differs by no more than `allowed`. `because` is the reason of the tolerance. */
  close(got, expected, { within, because }, claim = 'a number') {
    const error = Math.abs(got - expected);
    if (!(error <= within)) disagree({ claim, expected, got, error, allowed: within, because });
  },
  /** Asserts that an error, or another number that should be small, is below its bound. */
  below(error, allowed, because, claim = 'a small error') {
    if (!(error < allowed)) disagree({ claim, expected: `less than ${allowed}`, got: error, error, allowed, because });
  },
};
