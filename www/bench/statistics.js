/** Figures of repeated measurements, and what they say of the next. */

export const least = (numbers) => numbers.reduce((a, b) => Math.min(a, b), Infinity);

/** Of an even number, the mean of the two in the middle. */
export function median(numbers) {
  const sorted = Float64Array.from(numbers).sort();
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** |a − b| over |b|: 0 where both are 0 or the same infinity, NaN where one is NaN. */
export function relativeDifference(a, b) {
  if (Object.is(a, b) || a === b) return 0;
  return Math.abs(a - b) / Math.max(Math.abs(b), Number.MIN_VALUE);
}

/** The largest difference of two vectors over the largest entry of the second. */
export function vectorDifference(a, b) {
  if (a.length !== b.length) return NaN;
  let [difference, largest] = [0, 0];
  for (let i = 0; i < b.length; i++) {
    const apart = Math.abs(a[i] - b[i]);
    if (Number.isNaN(apart)) return NaN;
    difference = Math.max(difference, apart);
    largest = Math.max(largest, Math.abs(b[i]));
  }
  return difference === 0 ? 0 : difference / Math.max(largest, Number.MIN_VALUE);
}

/**
 * The time of a run of size `to`, from one of another size: growing with the size's power `growth`, never falling. A time that overhead dominates is
 * overestimated, by the ratio of the sizes at most; so it is asked from one size to the next.
 */
export const extrapolated = (ms, from, to, growth = 1) => ms * Math.max(1, to / from) ** growth;

/** Milliseconds in words, for people. */
export function inWords(ms) {
  if (!Number.isFinite(ms)) return 'for ever';
  if (ms < 950) return `${Number(ms.toPrecision(2))} ms`;
  const seconds = ms / 1e3;
  return seconds < 120 ? `${Number(seconds.toPrecision(2))} s` : `${Math.round(seconds / 60)} min`;
}
