/** Keys of random numbers: what a recipe that draws reads as an input. */

/** A generator of random numbers, as recipes refer to it. */
export interface RandomSource {
  /** Its seed. */
  readonly seed: bigint;
  /** How often it was started over. */
  readonly epoch: number;
  /** Gives it another seed, with which it goes on. */
  reseed(seed: bigint): void;
}

/** What a program has drawn from a generator: its seed, and how many runs there were since it was set. */
export interface Drawn {
  readonly seed: bigint;
  readonly runs: number;
}

/** Whether the source of an input is a generator. */
export function isRandomSource(source: object | null): source is RandomSource {
  return source !== null && 'seed' in source && typeof source.seed === 'bigint';
}

/** Words of a key. */
export const KEY_WORDS = 3;

/** The key of a run: the low and the high word of the seed, and the run's number. */
export function writeKey(words: Uint32Array, { seed }: RandomSource, run: number): void {
  words[0] = Number(BigInt.asUintN(32, seed));
  words[1] = Number(BigInt.asUintN(32, seed >> 32n));
  words[2] = run;
}
