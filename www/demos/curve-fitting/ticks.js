/** Ticks and range of an axis. */

/**
 * Round numbers in an interval: steps of 1, 2 or 5 times a power of ten.
 * @param {number} least
 * @param {number} most above `least`
 * @param {number} wanted the approximate count
 */
export function ticks(least, most, wanted) {
  const rough = (most - least) / Math.max(1, wanted);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5].find((factor) => factor * power >= rough * 0.999) ?? 10);
  const first = Math.ceil(least / step - 1e-9), last = Math.floor(most / step + 1e-9);
  // Products of whole numbers, so that errors do not accumulate; + 0 turns −0 into 0.
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, k) => Number(((first + k) * step).toPrecision(12)) + 0);
}

/** The interval of some numbers, widened by a fraction of itself, and never empty. */
export function extentOf(numbers, margin = 0.08) {
  const finite = numbers.filter(Number.isFinite);
  if (finite.length === 0) return [0, 1];
  const least = Math.min(...finite), most = Math.max(...finite);
  const width = most - least || Math.abs(most) || 1;
  return [least - margin * width, most + margin * width];
}
