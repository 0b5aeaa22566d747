/**
 * Fixed pseudo-random displacements. A perfectly regular mesh leaves the choice between equal ways down to rounding, which differs from
 * engine to engine; a displacement far above rounding makes that choice the same everywhere.
 */

/** Numbers uniform in [−1, 1) from Marsaglia's 32-bit xorshift ("Xorshift RNGs", 2003; triple 13, 17, 5): integers only, so equal everywhere. */
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
 * A copy of `positions`, each coordinate moved by up to `amplitude` either way; the same seed always moves it the same. With the seed given here, 100
 * to 250 iterations on the icosphere keep to one set of creases in single and in double precision: their costs end within 0.1 %, most other seeds' too,
 * some up to 2 % apart.
 * @param {Float64Array} positions
 * @param {number} amplitude in the units of the positions
 * @param {number} seed any whole number but 0, at which the generator would stand still
 */
export function perturb(positions, amplitude = 1e-3, seed = 1) {
  if (!Number.isInteger(seed) || (seed | 0) === 0) throw new RangeError(`perturb: seed is ${seed}; it takes a whole number whose low 32 bits are not all 0`);
  const next = uniformNumbers(seed);
  return positions.map((coordinate) => coordinate + amplitude * next());
}
