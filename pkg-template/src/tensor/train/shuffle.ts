/** Orders of samples: a permutation for each seed and epoch, which is computed anew wherever it is needed. */

/** Rotations of Threefry 2×32 (Salmon et al. 2011), table 2. */
const ROTATIONS = [13, 15, 26, 6, 17, 29, 16, 24] as const;
/** The parity constant of its key schedule. */
const PARITY = 0x1bd11bda;
const ROUNDS = 20;

/** 64 random bits of a key and a counter: Threefry 2×32 with 20 rounds. */
function threefry(key: readonly [number, number], counter: readonly [number, number]): [number, number] {
  const keys = [key[0], key[1], PARITY ^ key[0] ^ key[1]] as const;
  let [a, b] = [(counter[0] + keys[0]) | 0, (counter[1] + keys[1]) | 0];
  for (let round = 0; round < ROUNDS; round++) {
    const rotation = ROTATIONS[round % 8] as number;
    a = (a + b) | 0;
    b = ((b << rotation) | (b >>> (32 - rotation))) ^ a;
    if (round % 4 !== 3) continue;
    const injection = (round + 1) / 4;
    a = (a + (keys[injection % 3] as number)) | 0;
    b = (b + (keys[(injection + 1) % 3] as number) + injection) | 0;
  }
  return [a >>> 0, b >>> 0];
}

/** The numbers from 0 to `count` − 1 in an order that depends on the seed and the epoch alone (Fisher and Yates). The chance of each place is off by at most 2⁻²¹. */
export function permutation(seed: bigint, epoch: number, count: number): Int32Array {
  const key = [Number(BigInt.asIntN(32, seed)), Number(BigInt.asIntN(32, seed >> 32n))] as const;
  const order = Int32Array.from({ length: count }, (_, k) => k);
  for (let k = count - 1; k > 0; k--) {
    const [high, low] = threefry(key, [epoch, k]);
    // 53 random bits as a share in [0, 1).
    const place = Math.floor((((high >>> 5) * 2 ** 26 + (low >>> 6)) / 2 ** 53) * (k + 1));
    [order[k], order[place]] = [order[place] as number, order[k] as number];
  }
  return order;
}
