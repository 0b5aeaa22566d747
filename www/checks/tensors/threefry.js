/** Threefry 2×32 of 20 rounds (J. Salmon et al., Parallel random numbers: as easy as 1, 2, 3, SC 2011), as the definition of the bits of `Random`. */

const ROTATIONS = [13, 15, 26, 6, 17, 29, 16, 24];

/** Two words from a key and a counter of two words each. */
export function threefry([k0, k1], [c0, c1]) {
  const keys = [k0, k1, (0x1bd11bda ^ k0 ^ k1) >>> 0];
  let [x0, x1] = [(c0 + k0) >>> 0, (c1 + k1) >>> 0];
  for (let round = 0; round < 20; round++) {
    const by = ROTATIONS[round % 8];
    x0 = (x0 + x1) >>> 0;
    x1 = (((x1 << by) | (x1 >>> (32 - by))) ^ x0) >>> 0;
    if (round % 4 === 3) {
      const injection = (round + 1) / 4;
      x0 = (x0 + keys[injection % 3]) >>> 0;
      x1 = (x1 + keys[(injection + 1) % 3] + injection) >>> 0;
    }
  }
  return [x0, x1];
}
