/** Access to the numbers of a block by position: every block is a tuple of its numbers, whatever class it has. */

import { describe, invalidArgument } from '../arguments/errors.js';

/** Positions up to this one throw when they are read past the end of a block. Later ones are undefined, as in any array. */
const MOST_POSITIONS = 64;

/** A block, of which the first number alone is declared. */
interface Sequence<T> {
  readonly 0?: T;
  readonly length: number;
}

/** The entry of `block` at `index`; a negative index counts from the end. Throws 'invalid-argument' outside. */
export function entryAt<T>(what: string, block: Sequence<T>, index: number): T {
  const position = index < 0 ? index + block.length : index;
  if (!Number.isInteger(index) || position < 0 || position >= block.length) throw outside(what, describe(index), block.length);
  return (block as ArrayLike<T>)[position] as T;
}

/**
 * Makes reading `prototype[i]` throw 'invalid-argument' for positions from `from` on: without it they are undefined, and the error is that
 * of the next method call. An object's own entries are found first.
 */
export function refusePositions(prototype: Sequence<unknown>, what: string, from: number): void {
  for (let position = from; position < MOST_POSITIONS; position++) {
    Object.defineProperty(prototype, position, {
      configurable: true,
      get(this: Sequence<unknown>): never {
        throw outside(what, String(position), this.length);
      },
      // An assignment makes an entry of the object's own, as it would without the accessor.
      set(this: object, value: unknown) {
        Object.defineProperty(this, position, { value, configurable: true, enumerable: true, writable: true });
      },
    });
  }
}

function outside(what: string, got: string, length: number): Error {
  const positions = length === 1 ? 'position 0: it has one number' : `a position from 0 to ${length - 1}: it has ${length} numbers`;
  return invalidArgument(`position in ${what}`, got, positions);
}
