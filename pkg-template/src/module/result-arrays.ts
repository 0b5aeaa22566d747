/**
 * Arrays that the caller passes for the results of a call. During an asynchronous call their buffer may be transferred to another thread or
 * resized. A write would then throw inside the module, so the lengths are compared before each write and at the end of the call.
 */

import { invalidArgument } from '../arguments/errors.js';

/** The result arrays of one call. */
export class ResultArrays {
  private readonly lengths: readonly number[];

  /** @param argument the name of the arrays in messages. */
  constructor(
    private readonly argument: string,
    private readonly arrays: readonly Float64Array[],
  ) {
    this.lengths = arrays.map(({ length }) => length);
  }

  /** Throws 'invalid-argument' if a length has changed since the call was made. */
  check(): void {
    this.arrays.forEach(({ length }, i) => {
      if (length === this.lengths[i]) return;
      const got = `an array that was transferred or resized during the call: it has ${length} numbers, and had ${this.lengths[i]}`;
      throw invalidArgument(this.argument, got, 'arrays that are not transferred or resized before the call ends');
    });
  }
}

/** Copies numbers into an array of the same length. Does nothing where the lengths differ. */
export function copyIfSameLength(array: Float64Array, numbers: Float64Array): void {
  // `set` throws for an array without a buffer, even if there is nothing to copy.
  if (numbers.length > 0 && array.length === numbers.length) array.set(numbers);
}
