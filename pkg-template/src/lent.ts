/**
 * Arrays that the caller lends a call for its results. While the call waits their memory may be transferred to another thread, or a resizable
 * buffer under them be resized: then writing would throw where nobody can catch it. So writers ask whether there is room, and who called hears of it.
 */

import { invalidArgument } from './errors.js';

/** Arrays that one call is lent. */
export class Lent {
  private readonly lengths: readonly number[];

  /** @param argument names them in messages. */
  constructor(
    private readonly argument: string,
    private readonly arrays: readonly Float64Array[],
  ) {
    this.lengths = arrays.map(({ length }) => length);
  }

  /** Throws 'invalid-argument' if they are not what they were. For a call's turn, and for its very end. */
  check(): void {
    this.arrays.forEach(({ length }, i) => {
      if (length === this.lengths[i]) return;
      const got = `an array whose memory went away during the call, transferred or resized: it has ${length} numbers, and had ${this.lengths[i]}`;
      throw invalidArgument(this.argument, got, 'arrays that are left alone until the call is through');
    });
  }
}

/** Copies numbers into an array that has as many, and else nothing. */
export function fillIfRoom(array: Float64Array, numbers: Float64Array): void {
  // Without its memory even an array of no length can't be written to.
  if (numbers.length > 0 && array.length === numbers.length) array.set(numbers);
}
