/** Pseudo-random numbers that are the same everywhere: for measurements with seeded noise, and for the choice of outliers. */

/**
 * D. H. Lehmer's generator with the multiplier of Park and Miller ("Random Number Generators: Good Ones Are Hard to Find", 1988): products stay below 2⁵³.
 * @param {number} seed a whole number from 1 to 2³¹ − 2
 */
export function seededNoise(seed) {
  if (!Number.isInteger(seed) || seed < 1 || seed > 2147483646) throw new RangeError(`seededNoise: seed is ${seed}; it takes a whole number from 1 to 2147483646`);
  let state = seed;
  /** Uniform in (0, 1). */
  const uniform = () => {
    state = (state * 48271) % 2147483647;
    return state / 2147483647;
  };
  // With small seeds the first numbers are small.
  for (let k = 0; k < 8; k++) uniform();
  return {
    uniform,
    /** A whole number from 0 to count − 1. */
    below: (count) => Math.floor(uniform() * count),
    /** Normal with mean 0 and standard deviation 1, by the Box-Muller transform. */
    normal: () => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform()),
  };
}
