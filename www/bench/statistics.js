/** Statistics of repeated measurements, and predictions from them. */

export const least = (numbers) => numbers.reduce((a, b) => Math.min(a, b), Infinity);

/** For an even number, the mean of the middle two. */
export function median(numbers) {
  const sorted = Float64Array.from(numbers).sort();
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/**
 * Milliseconds of one of `count` runs in a row, from samples of `count + 1` of them with one wait and of one with its wait: the difference of their medians. Undefined where that is not
 * positive, since the runs then take less than the wait varies.
 */
export function oneOfMany(many, one, count) {
  const ms = (median(many) - median(one)) / count;
  return ms > 0 ? ms : undefined;
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
 * The predicted time of a run of size `to` from that of another size: it grows with the size's power `growth`, and never decreases. A time
 * that overhead dominates is overestimated, by at most the ratio of the sizes; so predictions go from one size to the next.
 */
export const extrapolated = (ms, from, to, growth = 1) => ms * Math.max(1, to / from) ** growth;

/** The excess of 'auto' over the better engine in milliseconds, and whether it is within a tenth or 0.2 ms; NaN where one is missing. */
export function excess(gpu, cpu, auto) {
  const better = Math.min(gpu ?? Infinity, cpu ?? Infinity);
  const ms = auto - better;
  return { ms, share: ms / better, within: ms <= Math.max(0.2, 0.1 * better) };
}

/** Milliseconds as text. */
export function inWords(ms) {
  if (!Number.isFinite(ms)) return 'for ever';
  if (ms < 950) return `${Number(ms.toPrecision(2))} ms`;
  const seconds = ms / 1e3;
  return seconds < 120 ? `${Number(seconds.toPrecision(2))} s` : `${Math.round(seconds / 60)} min`;
}
