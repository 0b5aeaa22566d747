/** Lists of lists of numbers, one level an axis. */

/** Numbers, or lists of lists of equal lengths. */
export type Nested = number | readonly Nested[];

/** Returns elements in C order as lists of lists. */
export function nested(data: ArrayLike<number>, sizes: readonly number[]): Nested {
  const inside = sizes.map((_, axis) => sizes.slice(axis + 1).reduce((product, size) => product * size, 1));
  const list = (axis: number, from: number): Nested => {
    if (axis === sizes.length) return data[from] as number;
    return Array.from({ length: sizes[axis] as number }, (_, i) => list(axis + 1, from + i * (inside[axis] as number)));
  };
  return list(0, 0);
}
