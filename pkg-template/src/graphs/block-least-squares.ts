/**
 * Linear least squares over vertices with blocks of 2 or 3 unknowns: Σ ‖Cᵢ xᵢ + Cⱼ xⱼ + e‖² by sparse Cholesky factorisation of its normal equations.
 * There may be several columns of unknowns, which share the matrix. Unknowns that no residual determines are 0 in the solution.
 * The solver module has a sparse Cholesky factorisation too; this one is there without loading anything, in one call.
 */

import { minimumDegree } from './minimum-degree.js';

/** Pivots below this part of their diagonal entry are rounding: the smallest of a chain of n vertices is 1/(2n) of it. */
const SMALLEST_PIVOT = 1e-11;

/** Adds sign · aᵀ b to `target` at `first`: a and b are `size` rows of `size` and of `width` numbers, row after row. */
function addProduct(target: Float64Array, first: number, a: ArrayLike<number>, b: ArrayLike<number>, size: number, width: number): void {
  for (let row = 0; row < size; row++) {
    for (let column = 0; column < width; column++) {
      let sum = 0;
      for (let k = 0; k < size; k++) sum += (a[k * size + row] as number) * (b[k * width + column] as number);
      (target[first + row * width + column] as number) += sum;
    }
  }
}

/** Residuals as they are added, and their normal equations. Matrices are arrays, row after row. */
export class BlockLeastSquares {
  private readonly diagonal: Float64Array;
  private readonly gradient: Float64Array;
  private readonly pairs = new Map<number, { readonly from: number; readonly to: number; readonly block: Float64Array }>();

  /** @param size number of unknowns of a vertex, 2 or 3 @param columns number of columns of unknowns */
  constructor(
    private readonly count: number,
    private readonly size: 2 | 3,
    private readonly columns: number,
  ) {
    this.diagonal = new Float64Array(count * size * size);
    this.gradient = new Float64Array(count * size * columns);
  }

  /** Adds ‖a xᵢ + b xⱼ + residual‖². An index of −1 stands for a vertex that is held, whose share the residual contains. */
  add(i: number, a: ArrayLike<number>, j: number, b: ArrayLike<number>, residual: ArrayLike<number>): void {
    this.addOne(i, a, residual);
    this.addOne(j, b, residual);
    if (i < 0 || j < 0) return;
    const [from, to] = i < j ? [i, j] : [j, i];
    const key = from * this.count + to;
    let pair = this.pairs.get(key);
    if (pair === undefined) this.pairs.set(key, (pair = { from, to, block: new Float64Array(this.size ** 2) }));
    // The block of row `to` and column `from`.
    if (i < j) addProduct(pair.block, 0, b, a, this.size, this.size);
    else addProduct(pair.block, 0, a, b, this.size, this.size);
  }

  /** Adds ‖a xᵢ + residual‖². */
  addOne(i: number, a: ArrayLike<number>, residual: ArrayLike<number>): void {
    if (i < 0) return;
    const { size, columns } = this;
    addProduct(this.diagonal, i * size * size, a, a, size, size);
    addProduct(this.gradient, i * size * columns, a, residual, size, columns);
  }

  /** Returns the block of a vertex on the diagonal of the normal equations. */
  blockOf(i: number): Float64Array {
    const area = this.size ** 2;
    return this.diagonal.subarray(i * area, (i + 1) * area);
  }

  /** Returns the unknowns, vertex after vertex: `size` rows of `columns` numbers each. */
  solve(): Float64Array {
    const { count, size, columns, diagonal, gradient } = this;
    const adjacent: number[][] = Array.from({ length: count }, () => []);
    for (const { from, to } of this.pairs.values()) {
      (adjacent[from] as number[]).push(to);
      (adjacent[to] as number[]).push(from);
    }
    const { pivots, below } = minimumDegree(adjacent);
    const place = new Int32Array(count);
    pivots.forEach((vertex, position) => (place[vertex] = position));
    const factor = new BlockFactor(size, below.map((rows) => Int32Array.from(rows, (vertex) => place[vertex] as number).sort()));
    pivots.forEach((vertex, position) => factor.diagonal.set(diagonal.subarray(vertex * size * size, (vertex + 1) * size * size), position * size * size));
    for (const { from, to, block } of this.pairs.values()) factor.set(place[from] as number, place[to] as number, block);
    factor.factorize();
    const width = size * columns;
    const ordered = new Float64Array(gradient.length);
    pivots.forEach((vertex, position) => ordered.set(gradient.subarray(vertex * width, (vertex + 1) * width), position * width));
    factor.solve(ordered, columns);
    const unknowns = new Float64Array(gradient.length);
    pivots.forEach((vertex, position) => {
      for (let k = 0; k < width; k++) unknowns[vertex * width + k] = -(ordered[position * width + k] as number);
    });
    return unknowns;
  }
}

/** A lower triangular factor L of blocks, A = L Lᵀ, column after column. Rows and columns are positions in the order of pivots. */
class BlockFactor {
  readonly diagonal: Float64Array;
  private readonly first: Int32Array;
  private readonly rows: Int32Array;
  private readonly lower: Float64Array;
  /** 1 over the pivots; 0 for those that are rounding. */
  private readonly inverse: Float64Array;

  /** @param below the rows below the diagonal of each column, ascending */
  constructor(
    private readonly size: 2 | 3,
    below: readonly Int32Array[],
  ) {
    const count = below.length;
    this.first = new Int32Array(count + 1);
    below.forEach((rows, column) => (this.first[column + 1] = (this.first[column] as number) + rows.length));
    this.rows = new Int32Array(this.first[count] as number);
    below.forEach((rows, column) => this.rows.set(rows, this.first[column] as number));
    this.diagonal = new Float64Array(count * size * size);
    this.lower = new Float64Array(this.rows.length * size * size);
    this.inverse = new Float64Array(count * size);
  }

  /** Sets the block in row q and column p of A, or its transpose in row p and column q where p is below q. */
  set(p: number, q: number, block: Float64Array): void {
    const { size, rows, first } = this;
    const [column, row] = p < q ? [p, q] : [q, p];
    const end = first[column + 1] as number;
    const at = rows.subarray(first[column], end).indexOf(row) + (first[column] as number);
    for (let k = 0; k < size; k++) {
      for (let l = 0; l < size; l++) this.lower[(at * size + k) * size + l] = block[p < q ? k * size + l : l * size + k] as number;
    }
  }

  /** Replaces A by L, each column by those to its left that reach its row. */
  factorize(): void {
    const { size, first, rows, diagonal } = this;
    const count = first.length - 1;
    const area = size * size;
    const place = new Int32Array(count);
    const head = new Int32Array(count).fill(-1);
    const next = new Int32Array(count).fill(-1);
    const cursor = first.slice();
    for (let column = 0; column < count; column++) {
      const [from, end] = [first[column] as number, first[column + 1] as number];
      for (let at = from; at < end; at++) place[rows[at] as number] = at;
      const original = diagonal.slice(column * area, (column + 1) * area);
      for (let left = head[column] as number, following: number; left >= 0; left = following) {
        following = next[left] as number;
        const start = cursor[left] as number;
        cursor[left] = start + 1;
        this.subtract(column, start, first[left + 1] as number, place);
        this.enqueue(left, cursor, head, next);
      }
      this.factorizeColumn(column, original);
      this.enqueue(column, cursor, head, next);
    }
  }

  /** Lists a column with the row that it reaches next. */
  private enqueue(column: number, cursor: Int32Array, head: Int32Array, next: Int32Array): void {
    if ((cursor[column] as number) >= (this.first[column + 1] as number)) return;
    const row = this.rows[cursor[column] as number] as number;
    next[column] = head[row] as number;
    head[row] = column;
  }

  /**
   * Subtracts B Cᵀ from the blocks of a column, with C the block of `lower` at `start` and B those from there to `last`, the first from the diagonal
   * block. Nearly all of the time is spent here, so that the inner loops are written out.
   */
  private subtract(column: number, start: number, last: number, place: Int32Array): void {
    const { size, rows, lower, diagonal } = this;
    const area = size * size;
    const c = start * area;
    const at = (k: number): number => lower[c + k] as number;
    let target = diagonal;
    let to = column * area;
    if (size === 2) {
      const [c0, c1, d0, d1] = [at(0), at(1), at(2), at(3)];
      for (let entry = start, b = c; ; target = lower) {
        for (let end = to + 4; to < end; to += 2, b += 2) {
          const b0 = lower[b] as number;
          const b1 = lower[b + 1] as number;
          (target[to] as number) -= b0 * c0 + b1 * c1;
          (target[to + 1] as number) -= b0 * d0 + b1 * d1;
        }
        if (++entry === last) return;
        to = (place[rows[entry] as number] as number) * area;
      }
    }
    const [c0, c1, c2, d0, d1, d2, e0, e1, e2] = [at(0), at(1), at(2), at(3), at(4), at(5), at(6), at(7), at(8)];
    for (let entry = start, b = c; ; target = lower) {
      for (let end = to + 9; to < end; to += 3, b += 3) {
        const b0 = lower[b] as number;
        const b1 = lower[b + 1] as number;
        const b2 = lower[b + 2] as number;
        (target[to] as number) -= b0 * c0 + b1 * c1 + b2 * c2;
        (target[to + 1] as number) -= b0 * d0 + b1 * d1 + b2 * d2;
        (target[to + 2] as number) -= b0 * e0 + b1 * e1 + b2 * e2;
      }
      if (++entry === last) return;
      to = (place[rows[entry] as number] as number) * area;
    }
  }

  /** Replaces the diagonal block of a column by its factor, and those below it by their quotients. */
  private factorizeColumn(column: number, original: Float64Array): void {
    const { size, first, lower, diagonal, inverse } = this;
    const base = column * size * size;
    const [from, end] = [(first[column] as number) * size, (first[column + 1] as number) * size];
    for (let k = 0; k < size; k++) {
      const divide = (numbers: Float64Array, at: number, before: number): number => {
        let rest = numbers[at + k] as number;
        for (let l = 0; l < k; l++) rest -= (numbers[at + l] as number) * (diagonal[before + l] as number);
        return rest;
      };
      const own = base + k * size;
      const pivot = divide(diagonal, own, own);
      const factor = pivot > SMALLEST_PIVOT * (original[k * size + k] as number) ? 1 / Math.sqrt(pivot) : 0;
      inverse[column * size + k] = factor;
      for (let row = k + 1; row < size; row++) diagonal[base + row * size + k] = divide(diagonal, base + row * size, own) * factor;
      for (let row = from; row < end; row++) lower[row * size + k] = divide(lower, row * size, own) * factor;
    }
  }

  /** Replaces `columns` right sides by the solutions of A x = b. */
  solve(numbers: Float64Array, columns: number): void {
    const { size, first, rows, lower, diagonal, inverse } = this;
    const count = first.length - 1;
    const width = size * columns;
    for (let side = 0; side < columns; side++) {
      const at = (position: number, k: number): number => position * width + k * columns + side;
      for (let column = 0; column < count; column++) {
        for (let k = 0; k < size; k++) {
          let rest = numbers[at(column, k)] as number;
          for (let l = 0; l < k; l++) rest -= (diagonal[(column * size + k) * size + l] as number) * (numbers[at(column, l)] as number);
          numbers[at(column, k)] = rest * (inverse[column * size + k] as number);
        }
        for (let entry = first[column] as number; entry < (first[column + 1] as number); entry++) {
          for (let k = 0; k < size; k++) {
            let sum = 0;
            for (let l = 0; l < size; l++) sum += (lower[(entry * size + k) * size + l] as number) * (numbers[at(column, l)] as number);
            (numbers[at(rows[entry] as number, k)] as number) -= sum;
          }
        }
      }
      for (let column = count - 1; column >= 0; column--) {
        for (let l = size - 1; l >= 0; l--) {
          let rest = numbers[at(column, l)] as number;
          for (let k = l + 1; k < size; k++) rest -= (diagonal[(column * size + k) * size + l] as number) * (numbers[at(column, k)] as number);
          for (let entry = first[column] as number; entry < (first[column + 1] as number); entry++) {
            const row = rows[entry] as number;
            for (let k = 0; k < size; k++) rest -= (lower[(entry * size + k) * size + l] as number) * (numbers[at(row, k)] as number);
          }
          numbers[at(column, l)] = rest * (inverse[column * size + l] as number);
        }
      }
    }
  }
}
