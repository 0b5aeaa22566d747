/** Where an axis is marked, and how far it should reach. */

/**
 * Round numbers between two ends: steps of 1, 2 or 5 times a power of ten.
 * @param {number} least
 * @param {number} most above it
 * @param {number} wanted about so many
 */
export function ticks(least, most, wanted) {
  const rough = (most - least) / Math.max(1, wanted);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5].find((factor) => factor * power >= rough * 0.999) ?? 10);
  const first = Math.ceil(least / step - 1e-9), last = Math.floor(most / step + 1e-9);
  // Products of whole numbers, so that errors don't pile up; + 0 turns −0 into 0.
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, k) => Number(((first + k) * step).toPrecision(12)) + 0);
}

/** The least interval around numbers, widened by a part of itself, and never empty. */
export function extentOf(numbers, margin = 0.08) {
  const finite = numbers.filter(Number.isFinite);
  if (finite.length === 0) return [0, 1];
  const least = Math.min(...finite), most = Math.max(...finite);
  const width = most - least || Math.abs(most) || 1;
  return [least - margin * width, most + margin * width];
}
