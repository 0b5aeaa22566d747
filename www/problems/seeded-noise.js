/** Pseudo-random numbers that are the same everywhere: for measurements with seeded noise, for the choice of outliers, and for operands of benchmarks and checks. */

/**
 * A linear congruential generator modulo 2³² with the constants of Numerical Recipes: a function whose calls give whole numbers of 32 bits. Its low bits repeat early.
 * @param {number} seed a whole number, of which 32 bits count
 */
export function congruential(seed) {
  let state = seed >>> 0;
  return () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0);
}

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
