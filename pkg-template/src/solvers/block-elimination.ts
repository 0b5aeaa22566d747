/**
 * Elimination of blocks of variables from linear least squares by orthogonal transformations: what rows say of the other variables.
 *
 * A block is eliminated by a QR factorisation with column pivoting of the rows that have it. Its pivotal rows determine it, and go; the others have no part in
 * it, and stay. A direction of the block that no row determines takes no row with it. Squares are never formed, so that no digits are lost to them.
 */

import { ResiduaError } from '../arguments/errors.js';
import { minimumDegree } from '../graphs/minimum-degree.js';

/** Rows are dense: so many columns at most. */
const MOST_COLUMNS = 4000;

/** Rows of a linear least-squares problem, ‖A x + b‖². */
export interface LinearRows {
  /** The blocks that have columns, each once. */
  readonly blocks: readonly number[];
  readonly rows: number;
  /** Row after row: the numbers of A for the blocks one after another, then that of b. */
  readonly numbers: Float64Array;
}

/**
 * Eliminates blocks. Returns what is left for the others, as one set of rows with no more rows than columns, or null where nothing is left. Throws
 * 'limit-exceeded' where rows get too long.
 *
 * @param dims the number of columns of each block
 * @param undetermined the part of a column below which what is left of it is rounding
 */
export function eliminate(factors: readonly LinearRows[], blocks: readonly number[], dims: (block: number) => number, undetermined: number): LinearRows | null {
  const left = new Set(factors);
  const byBlock = new Map<number, Set<LinearRows>>(blocks.map((block) => [block, new Set()]));
  const note = (factor: LinearRows): void => factor.blocks.forEach((block) => byBlock.get(block)?.add(factor));
  factors.forEach(note);
  for (const block of inOrder(factors, blocks)) {
    const own = [...(byBlock.get(block) as Set<LinearRows>)];
    if (own.length === 0) continue;
    for (const factor of own) {
      left.delete(factor);
      factor.blocks.forEach((other) => byBlock.get(other)?.delete(factor));
    }
    const rest = withoutFirst(assembled(own, dims, block), dims, undetermined);
    if (rest.rows === 0 || rest.blocks.length === 0) continue;
    left.add(rest);
    note(rest);
  }
  const all = [...left].filter((factor) => factor.blocks.length > 0);
  return all.length === 0 ? null : compressed(assembled(all, dims), dims);
}

/** The blocks in an order that makes few rows long. */
function inOrder(factors: readonly LinearRows[], blocks: readonly number[]): number[] {
  const places = new Map(blocks.map((block, place) => [block, place]));
  const adjacent: Set<number>[] = blocks.map(() => new Set());
  for (const factor of factors) {
    const own = factor.blocks.flatMap((block) => places.get(block) ?? []);
    for (const a of own) for (const b of own) if (a !== b) (adjacent[a] as Set<number>).add(b);
  }
  return [...minimumDegree(adjacent.map((of) => [...of])).pivots].map((place) => blocks[place] as number);
}

/** Puts rows one below another, with the columns of `first` first. */
function assembled(factors: readonly LinearRows[], dims: (block: number) => number, first?: number): LinearRows {
  const blocks = [...new Set([...(first === undefined ? [] : [first]), ...factors.flatMap((factor) => factor.blocks)])];
  const starts = new Map<number, number>();
  let width = 0;
  for (const block of blocks) {
    starts.set(block, width);
    width += dims(block);
  }
  if (width > MOST_COLUMNS) throw new ResiduaError('limit-exceeded', `marginalise: residuals that link ${width} numbers of other blocks; a prior has at most ${MOST_COLUMNS}`);
  const rows = factors.reduce((sum, factor) => sum + factor.rows, 0);
  const numbers = new Float64Array(rows * (width + 1));
  let row = 0;
  for (const factor of factors) {
    const own = factor.numbers.length / factor.rows;
    for (let k = 0; k < factor.rows; k++, row++) {
      let from = k * own;
      for (const block of factor.blocks) {
        numbers.set(factor.numbers.subarray(from, from + dims(block)), row * (width + 1) + (starts.get(block) as number));
        from += dims(block);
      }
      numbers[row * (width + 1) + width] = factor.numbers[from] as number;
    }
  }
  return { blocks, rows, numbers };
}

/** The rows that are left of others without their first block. */
function withoutFirst({ blocks: [first, ...blocks], rows, numbers }: LinearRows, dims: (block: number) => number, undetermined: number): LinearRows {
  const [width, dim] = [numbers.length / rows, dims(first as number)];
  const lengths = Float64Array.from({ length: dim }, (_, column) => columnLength(numbers, width, rows, 0, column));
  let rank = 0;
  while (rank < Math.min(dim, rows)) {
    // Of the columns that are left the one of which most is left.
    let [pivot, most] = [-1, undetermined];
    for (let column = rank; column < dim; column++) {
      const part = columnLength(numbers, width, rows, rank, column) / (lengths[column] as number);
      if (part > most) [pivot, most] = [column, part];
    }
    if (pivot < 0) break;
    exchange(numbers, width, rows, rank, pivot);
    [lengths[rank], lengths[pivot]] = [lengths[pivot] as number, lengths[rank] as number];
    reflect(numbers, width, rows, rank, rank);
    rank++;
  }
  const rest = new Float64Array((rows - rank) * (width - dim));
  for (let row = rank; row < rows; row++) rest.set(numbers.subarray(row * width + dim, (row + 1) * width), (row - rank) * (width - dim));
  return compressed({ blocks, rows: rows - rank, numbers: rest }, dims);
}

/** At most as many rows as there are columns of A, with the same squares but for a constant. */
function compressed({ blocks, rows, numbers }: LinearRows, dims: (block: number) => number): LinearRows {
  const columns = blocks.reduce((sum, block) => sum + dims(block), 0);
  if (rows <= columns) return { blocks, rows, numbers };
  for (let column = 0; column < columns; column++) reflect(numbers, columns + 1, rows, column, column);
  return { blocks, rows: columns, numbers: numbers.slice(0, columns * (columns + 1)) };
}

function columnLength(numbers: Float64Array, width: number, rows: number, firstRow: number, column: number): number {
  let [largest, squares] = [0, 0];
  for (let row = firstRow; row < rows; row++) largest = Math.max(largest, Math.abs(numbers[row * width + column] as number));
  if (!(largest > 0)) return largest;
  for (let row = firstRow; row < rows; row++) squares += ((numbers[row * width + column] as number) / largest) ** 2;
  return largest * Math.sqrt(squares);
}

function exchange(numbers: Float64Array, width: number, rows: number, a: number, b: number): void {
  if (a === b) return;
  for (let at = 0; at < rows * width; at += width) [numbers[at + a], numbers[at + b]] = [numbers[at + b] as number, numbers[at + a] as number];
}

/** Makes the numbers of a column below a row 0, by a Householder reflection of the rows from that one on. */
function reflect(numbers: Float64Array, width: number, rows: number, firstRow: number, column: number): void {
  const length = columnLength(numbers, width, rows, firstRow, column);
  if (!(length > 0)) return;
  const at = firstRow * width + column;
  const head = numbers[at] as number;
  const pivot = head > 0 ? -length : length;
  // The vector of the reflection, scaled so that it begins with 1.
  const vector = Float64Array.from({ length: rows - firstRow }, (_, k) => (k === 0 ? 1 : (numbers[at + k * width] as number) / (head - pivot)));
  const factor = (pivot - head) / pivot;
  const products = new Float64Array(width - column - 1);
  vector.forEach((share, k) => {
    for (let j = 0, from = at + k * width + 1; j < products.length; j++, from++) products[j]! += share * (numbers[from] as number);
  });
  vector.forEach((share, k) => {
    numbers[at + k * width] = k === 0 ? pivot : 0;
    for (let j = 0, to = at + k * width + 1; j < products.length; j++, to++) numbers[to]! -= factor * share * (products[j] as number);
  });
}
