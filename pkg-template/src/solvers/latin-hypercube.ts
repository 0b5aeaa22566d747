/** Points of a Latin hypercube, from seeded random numbers. */

/** Numbers that are dropped at first: until then they depend on the seed's size. */
const DROPPED = 64;

/** A sequence of random numbers from 0 to 1, 1 excluded: xorshift with 128 bits of state (G. Marsaglia, "Xorshift RNGs", 2003, section 4). */
export function randomNumbers(seed: number): () => number {
  let [x, y, z, w] = [seed, 1, 2, 3];
  const next = (): number => {
    const t = x ^ (x << 11);
    [x, y, z] = [y, z, w];
    w = (w ^ (w >>> 19) ^ t ^ (t >>> 8)) >>> 0;
    return w / 2 ** 32;
  };
  for (let i = 0; i < DROPPED; i++) next();
  return next;
}

/** `count` points of `dimension` coordinates from 0 to 1, coordinate after coordinate: each has one point in each of `count` equal parts, in random order. */
export function latinHypercube(count: number, dimension: number, seed: number): Float64Array {
  const random = randomNumbers(seed);
  const points = new Float64Array(count * dimension);
  for (let first = 0; first < points.length; first += count) {
    const column = points.subarray(first, first + count);
    for (let i = 0; i < count; i++) column[i] = (i + random()) / count;
    for (let i = count - 1; i > 0; i--) {
      const j = Math.floor(random() * (i + 1));
      [column[i], column[j]] = [column[j] as number, column[i] as number];
    }
  }
  return points;
}
