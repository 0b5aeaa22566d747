/**
 * The directions that some linear constraints leave, by Householder reflections (G. H. Golub, C. F. Van Loan, "Matrix Computations", section 5.2). Coordinates
 * at bounds are left out before, so that what constraints say of the others keeps its digits however long their entries at bounds are.
 */

import { dot } from '../../problem/vectors.js';
import { cholesky, solveCholesky } from './dense.js';

/** A row counts as one that follows from others if no more than this share of it is left. */
const DEPENDENT = 1e-13;
const EPSILON = 2 ** -52;

/** Rows A of constraints over some coordinates, as Aᵀ = QR: the first columns of Q span the rows, the others what they leave. */
export class TangentSpace {
  private constructor(
    /** The coordinates that bounds leave. */
    readonly free: readonly number[],
    private readonly reflections: readonly Float64Array[],
    /** Columns of R. */
    private readonly triangle: readonly Float64Array[],
  ) {}

  /** Makes the space of rows that are functions of `size` coordinates, without those that are `fixed`. Null where rows depend on each other. */
  static of(rows: readonly Float64Array[], fixed: ArrayLike<boolean>, size: number): TangentSpace | null {
    const free = Array.from({ length: size }, (_, j) => j).filter((j) => fixed[j] !== true);
    if (rows.length > free.length) return null;
    const reflections: Float64Array[] = [];
    const triangle: Float64Array[] = [];
    for (const row of rows) {
      const column = Float64Array.from(free, (j) => row[j] as number);
      const whole = Math.sqrt(dot(column, column));
      for (const normal of reflections) reflect(normal, column);
      const place = reflections.length;
      const rest = column.slice().fill(0, 0, place);
      const length = Math.sqrt(dot(rest, rest));
      // What is left of a row may be the rounding of its entries at fixed coordinates.
      if (!(length > DEPENDENT * whole && length > EPSILON * Math.sqrt(dot(row, row)))) return null;
      const head = (rest[place] as number) > 0 ? -length : length;
      rest[place] = (rest[place] as number) - head;
      const norm = Math.sqrt(dot(rest, rest));
      reflections.push(rest.map((entry) => entry / norm));
      column.fill(0, place);
      column[place] = head;
      triangle.push(column);
    }
    return new TangentSpace(free, reflections, triangle);
  }

  /** The number of directions. */
  get dimension(): number {
    return this.free.length - this.triangle.length;
  }

  /** The part of a symmetric matrix of all coordinates on the directions, ZᵀMZ. */
  reduced(matrix: Float64Array, size: number): Float64Array {
    const { free, triangle } = this;
    const [count, rank] = [free.length, triangle.length];
    const rows = free.map((j) => this.reflectAll(this.toLocal(matrix.subarray(j * size, (j + 1) * size))));
    const reduced = new Float64Array(this.dimension ** 2);
    for (let b = rank; b < count; b++) {
      const column = this.reflectAll(Float64Array.from(rows, (row) => row[b] as number));
      for (let a = rank; a < count; a++) reduced[(a - rank) * this.dimension + b - rank] = column[a] as number;
    }
    return reduced;
  }

  /** Z times coordinates along the directions: a vector of all coordinates. */
  along(direction: Float64Array, size: number): Float64Array {
    const local = new Float64Array(this.free.length);
    local.set(direction, this.triangle.length);
    return this.toAll(local, size);
  }

  /**
   * Minimises ½dᵀMd + gᵀd over d that is `at` at fixed coordinates and has Ad + values = 0. Returns d and the multipliers of the rows, which leave no gradient at
   * free coordinates; null where M is not positive definite along the directions.
   */
  minimize(matrix: Float64Array, gradient: Float64Array, rows: readonly Float64Array[], values: readonly number[], at: Float64Array): { step: Float64Array; multipliers: Float64Array } | null {
    const { triangle, dimension } = this;
    const size = at.length;
    const rank = triangle.length;
    // Rᵀy = −values of the rows at the fixed coordinates' step.
    const local = new Float64Array(this.free.length);
    triangle.forEach((column, k) => {
      let sum = -(values[k] as number) - dot(rows[k] as Float64Array, at);
      for (let i = 0; i < k; i++) sum -= (column[i] as number) * (local[i] as number);
      local[k] = sum / (column[k] as number);
    });
    const step = this.toAll(local, size);
    at.forEach((entry, j) => (step[j] = (step[j] as number) + entry));
    const slopes = () => gradient.map((entry, j) => entry + dot(matrix.subarray(j * size, (j + 1) * size), step));
    if (dimension > 0) {
      const factor = this.reduced(matrix, size);
      if (!cholesky(factor, dimension)) return null;
      const slope = this.reflectAll(this.toLocal(slopes())).subarray(rank);
      const direction = solveCholesky(factor, dimension, slope.map((entry) => -entry));
      this.along(direction, size).forEach((entry, j) => (step[j] = (step[j] as number) + entry));
    }
    return { step, multipliers: this.multipliersOf(slopes()) };
  }

  /** The multipliers λ of the rows that leave least of g + Aᵀλ at free coordinates. */
  multipliersOf(gradient: Float64Array): Float64Array {
    const { triangle } = this;
    const slope = this.reflectAll(this.toLocal(gradient));
    const multipliers = new Float64Array(triangle.length);
    for (let k = multipliers.length - 1; k >= 0; k--) {
      let sum = -(slope[k] as number);
      for (let i = k + 1; i < multipliers.length; i++) sum -= (triangle[i]?.[k] as number) * (multipliers[i] as number);
      multipliers[k] = sum / (triangle[k]?.[k] as number);
    }
    return multipliers;
  }

  private toLocal(all: Float64Array): Float64Array {
    return Float64Array.from(this.free, (j) => all[j] as number);
  }

  /** Q times a vector of free coordinates, in all. */
  private toAll(local: Float64Array, size: number): Float64Array {
    for (let k = this.reflections.length - 1; k >= 0; k--) reflect(this.reflections[k] as Float64Array, local);
    const all = new Float64Array(size);
    this.free.forEach((j, place) => (all[j] = local[place] as number));
    return all;
  }

  /** Qᵀ times a vector, in place. */
  private reflectAll(local: Float64Array): Float64Array {
    for (const normal of this.reflections) reflect(normal, local);
    return local;
  }
}

/** Reflects a vector in place, at the plane with a normal of unit length. */
function reflect(normal: Float64Array, vector: Float64Array): void {
  const twice = 2 * dot(normal, vector);
  if (twice === 0) return;
  for (let i = 0; i < vector.length; i++) vector[i] = (vector[i] as number) - twice * (normal[i] as number);
}
