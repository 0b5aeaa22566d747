/**
 * Fixed pseudo-random displacements. In a perfectly regular mesh rounding decides between equal directions, and it differs from engine to
 * engine. A displacement far above rounding makes that decision the same everywhere.
 */

/**
 * Numbers uniform in [−1, 1) from Marsaglia's 32-bit xorshift ("Xorshift RNGs", 2003; triple 13, 17, 5). It uses integers only, so the
 * numbers are the same everywhere.
 */
function uniformNumbers(seed) {
  let state = seed | 0;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 31 - 1;
  };
}

/**
 * A copy of `positions`, each coordinate displaced by up to `amplitude`; the same seed always gives the same displacements. With the
 * default seed, 100 to 250 iterations on the icosphere give one set of creases in single and in double precision, with costs within 0.1 %.
 * Most other seeds do too; with some the costs differ by up to 2 %.
 * @param {Float64Array} positions
 * @param {number} amplitude in the units of the positions
 * @param {number} seed any whole number but 0, for which the generator is constant
 */
export function perturb(positions, amplitude = 1e-3, seed = 1) {
  if (!Number.isInteger(seed) || (seed | 0) === 0) throw new RangeError(`perturb: seed is ${seed}; it takes a whole number whose low 32 bits are not all 0`);
  const next = uniformNumbers(seed);
  return positions.map((coordinate) => coordinate + amplitude * next());
}
