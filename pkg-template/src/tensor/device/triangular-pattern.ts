/**
 * In which order the rows of a sparse triangular matrix are solved: rows of a level depend on rows of earlier levels alone, so that a device solves them side
 * by side (Anderson and Saad 1989). It is found in the memory of the page.
 */

import { invalidArgument } from '../../arguments/errors.js';
import { arrayFor, rangesOf, type Pattern } from './product-pattern.js';

const array = /* @__PURE__ */ arrayFor('sparseTriangular');

/** Which elements of a matrix count, and how. */
export interface Triangle {
  readonly isLower: boolean;
  /** Whether the diagonal is 1, whatever entries say. */
  readonly hasUnit: boolean;
}

/** The entries of a triangle. */
interface Entries {
  readonly count: number;
  /** The row, the column and the place of each. */
  readonly rows: Uint32Array<ArrayBuffer>;
  readonly columns: Uint32Array<ArrayBuffer>;
  readonly places: Uint32Array<ArrayBuffer>;
}

/** The place of a 1 on the diagonal, beyond all values. */
const ONE = 2 ** 32 - 1;

/** What devices take of a triangular system. */
export interface TriangularPattern {
  /** How many levels there are: a longest chain of rows is as long in the transpose. */
  readonly levels: number;
  /** The patterns of the system and of its transpose, as crates/tensor-loops/src/sparse.rs has them. */
  readonly own: Uint32Array<ArrayBuffer>;
  readonly turned: Uint32Array<ArrayBuffer>;
  /** The row and the column of each value in the system; the number of rows where it is not in the triangle. */
  readonly rows: Uint32Array<ArrayBuffer>;
  readonly columns: Uint32Array<ArrayBuffer>;
}

/**
 * The pattern of a triangle, or of its transpose. Yields after some work, so that the page may have a turn. Throws 'invalid-argument' for a row without an
 * entry on the diagonal.
 */
export function* triangularPattern(argument: string, pattern: Pattern, triangle: Triangle, isTransposed: boolean): Generator<void, TriangularPattern, void> {
  const { rows: size, indices } = pattern;
  const [rows, columns] = [array(indices.length).fill(size), array(indices.length).fill(size)];
  const most = indices.length + (triangle.hasUnit ? size : 0);
  const all = { rows: array(most), columns: array(most), places: array(most) };
  const rangeOf = rangesOf(pattern);
  let count = 0;
  const add = (row: number, column: number, place: number) => {
    [all.rows[count], all.columns[count], all.places[count]] = isTransposed ? [column, row, place] : [row, column, place];
    count += 1;
  };
  for (let row = 0; row < size; row++) {
    let hasDiagonal = triangle.hasUnit;
    const [begin, end] = rangeOf(row);
    for (let place = begin; place < end; place++) {
      const column = indices[place] as number;
      if (column >= size || (triangle.isLower ? column > row : column < row) || (triangle.hasUnit && column === row)) continue;
      hasDiagonal ||= column === row;
      [rows[place], columns[place]] = isTransposed ? [column, row] : [row, column];
      add(row, column, place);
    }
    if (triangle.hasUnit) add(row, row, ONE);
    if (!hasDiagonal) throw invalidArgument(argument, `no entry on the diagonal in row ${row}`, 'an entry on the diagonal in each row, or unitDiagonal');
    if ((row & 1023) === 0) yield;
  }
  const isLower = triangle.isLower !== isTransposed;
  const own = yield* levelled(size, { ...all, count }, isLower);
  const turned = yield* levelled(size, { rows: all.columns, columns: all.rows, places: all.places, count }, !isLower);
  return { levels: own[0] as number, own, turned, rows, columns };
}

/** The pattern of entries in any order. */
function* levelled(size: number, { count, rows, columns, places }: Entries, isLower: boolean): Generator<void, Uint32Array<ArrayBuffer>, void> {
  // The entries of each row.
  const offsets = array(size + 1);
  for (let entry = 0; entry < count; entry++) (offsets[(rows[entry] as number) + 1] as number) += 1;
  for (let row = 0; row < size; row++) (offsets[row + 1] as number) += offsets[row] as number;
  const next = offsets.slice();
  const entryAt = array(count);
  for (let entry = 0; entry < count; entry++) entryAt[(next[rows[entry] as number] as number)++] = entry;
  yield;
  const level = array(size);
  let levels = 0;
  for (let step = 0; step < size; step++) {
    const row = isLower ? step : size - 1 - step;
    let own = 0;
    for (let at = offsets[row] as number; at < (offsets[row + 1] as number); at++) {
      const column = columns[entryAt[at] as number] as number;
      if (column !== row) own = Math.max(own, (level[column] as number) + 1);
    }
    level[row] = own;
    levels = Math.max(levels, own + 1);
    if ((step & 1023) === 0) yield;
  }
  const result = array(levels + 4 + 2 * size + 2 * count);
  [result[0], result[1]] = [levels, size];
  const positions = result.subarray(2, levels + 3);
  for (const of of level) (positions[of + 1] as number) += 1;
  for (let at = 0; at < levels; at++) (positions[at + 1] as number) += positions[at] as number;
  const order = result.subarray(levels + 3, levels + 3 + size);
  const first = positions.slice();
  for (let row = 0; row < size; row++) order[(first[level[row] as number] as number)++] = row;
  const ends = result.subarray(levels + 3 + size, levels + 4 + 2 * size);
  const pairs = result.subarray(levels + 4 + 2 * size);
  let filled = 0;
  for (let position = 0; position < size; position++) {
    const row = order[position] as number;
    for (let at = offsets[row] as number; at < (offsets[row + 1] as number); at++) {
      const entry = entryAt[at] as number;
      [pairs[2 * filled], pairs[2 * filled + 1]] = [places[entry] as number, columns[entry] as number];
      filled += 1;
    }
    ends[position + 1] = filled;
    if ((position & 1023) === 0) yield;
  }
  return result;
}
