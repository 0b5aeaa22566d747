/** Numbers that lose digits on the GPU: the rounding of an input to f32, in comparison with the range of its numbers. */

/** Rounding errors above this share of a range are told: the limit that a solve's parameters have, see the page "How sure is the answer". */
const MOST_LOSS = 1e-4;

/** Ranges below this share of the numbers are f64's own rounding, of lengths that were computed, say. */
const LEAST_RANGE = 1e-11;

/** As many numbers of an input are looked at, at equal distances. */
const SAMPLE = 1 << 16;

/**
 * Returns the largest share of a coordinate's range by which rounding to f32 moves its numbers; 0 where that is nothing to tell. `values` has
 * `dim` coordinates, number after number.
 */
export function lossInF32(values: ArrayLike<number>, dim: number): number {
  const count = Math.floor(values.length / dim);
  const step = Math.max(1, count / SAMPLE);
  let worst = 0;
  for (let coordinate = 0; coordinate < dim; coordinate++) {
    let [least, most, moved] = [Infinity, -Infinity, 0];
    for (let position = 0; position < count; position += step) {
      const value = values[Math.floor(position) * dim + coordinate] as number;
      if (value < least) least = value;
      if (value > most) most = value;
      const error = Math.abs(value - Math.fround(value));
      if (error > moved) moved = error;
    }
    const range = most - least;
    if (range > LEAST_RANGE * Math.max(Math.abs(least), Math.abs(most))) worst = Math.max(worst, moved / range);
  }
  return worst > MOST_LOSS ? worst : 0;
}

/** Returns the sentence for an input that loses digits, if it does. `what` names it. */
export function lostDigits(what: string, values: ArrayLike<number>, dim: number): string[] {
  const loss = lossInF32(values, dim);
  if (loss === 0) return [];
  const share = loss >= 1 ? 'all' : `${Number(loss.toPrecision(1))}`;
  return [`${what} loses digits in f32: rounding moves its numbers by ${share} of their range. Subtract an offset that they share.`];
}
