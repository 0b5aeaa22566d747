/** Checks of poses, points and directions that closed forms take. */

import { describe, invalidArgument } from '../arguments/errors.js';
import { copyNumbers } from '../arguments/numeric-arguments.js';
import { quaternionLength } from '../formats/lines.js';
import { rotationOf } from '../graphs/pose-numbers.js';
import { dot } from '../problem/vectors.js';

/** A motion x ↦ R x + t, with the matrix R row after row. */
export interface Motion {
  readonly rotation: readonly number[];
  readonly translation: readonly number[];
}

/** Returns a copy of numbers in tuples of `size`. */
export function copyTuples(argument: string, values: unknown, size: number): Float64Array {
  const copy = copyNumbers(argument, values);
  if (copy.length === 0 || copy.length % size !== 0) throw invalidArgument(argument, `${copy.length} numbers`, `a positive multiple of ${size}`);
  return copy;
}

/** Returns a copy of directions of 3 numbers each, of length 1. Throws 'invalid-argument' for one of length 0. */
export function copyDirections(argument: string, values: unknown): Float64Array {
  const copy = copyTuples(argument, values, 3);
  for (let first = 0; first < copy.length; first += 3) {
    const vector = copy.subarray(first, first + 3);
    // Entries of any size have a length that is finite.
    const largest = Math.max(...vector.map(Math.abs));
    const length = largest * Math.hypot(...vector.map((entry) => entry / largest));
    if (!(largest > 0)) throw invalidArgument(argument, `a direction of length 0 at position ${first / 3}`, 'directions of any other length');
    vector.forEach((entry, k) => (vector[k] = entry / length));
  }
  return copy;
}

/** Returns poses in space as motions. Their quaternions are normalised. */
export function copyPoses(argument: string, values: unknown): Motion[] {
  const copy = copyTuples(argument, values, 7);
  return Array.from({ length: copy.length / 7 }, (_, k) => {
    const pose = copy.subarray(7 * k, 7 * k + 7);
    const length = quaternionLength(argument, copy, k);
    for (let i = 0; i < 4; i++) (pose[i] as number) /= length;
    return { rotation: rotationOf(3, pose, 0), translation: [...pose.subarray(4)] };
  });
}

/** Throws unless there are as many entries of `size` numbers as there are `count` others. */
export function checkCount(argument: string, values: Float64Array, size: number, count: number, others: string): void {
  if (values.length !== size * count) throw invalidArgument(argument, `${values.length / size} entries`, `${count}, as there are ${others}`);
}

/** Throws unless `value` is undefined or one of the choices. */
export function checkChoice<T>(argument: string, value: unknown, choices: readonly T[]): asserts value is T | undefined {
  if (value !== undefined && !choices.includes(value as T)) throw invalidArgument(argument, describe(value), choices.map(String).join(' or '));
}

/** The angle between a unit vector and v. */
export function angleBetween(unit: ArrayLike<number>, v: readonly number[]): number {
  const along = dot(unit, v);
  return Math.atan2(Math.hypot(...v.map((entry, k) => entry - along * (unit[k] as number))), along);
}
