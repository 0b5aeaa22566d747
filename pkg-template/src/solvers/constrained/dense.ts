/** Dense linear algebra of small systems: matrices row after row. */

import { dot } from '../../problem/vectors.js';

/**
 * Replaces the lower triangle of a symmetric matrix by its Cholesky factor, column after column. Returns null at the end, and before it the first column whose
 * pivot is not positive beyond rounding, with that pivot: the rows above it are those of the factor.
 */
function factorize(matrix: Float64Array, size: number): { column: number; pivot: number } | null {
  for (let j = 0; j < size; j++) {
    const diagonal = matrix[j * size + j] as number;
    let pivot = diagonal;
    for (let k = 0; k < j; k++) pivot -= (matrix[j * size + k] as number) ** 2;
    // A pivot within rounding of its sum is not known to be positive.
    if (!(pivot > 1e-13 * Math.abs(diagonal))) return { column: j, pivot };
    const root = Math.sqrt(pivot);
    matrix[j * size + j] = root;
    for (let i = j + 1; i < size; i++) {
      let sum = matrix[i * size + j] as number;
      for (let k = 0; k < j; k++) sum -= (matrix[i * size + k] as number) * (matrix[j * size + k] as number);
      matrix[i * size + j] = sum / root;
    }
  }
  return null;
}

/** Replaces a symmetric matrix by its lower triangular Cholesky factor. Returns false where it is not positive definite beyond rounding. */
export function cholesky(matrix: Float64Array, size: number): boolean {
  return factorize(matrix, size) === null;
}

/** Solves LLᵀx = b for a factor of `cholesky`. */
export function solveCholesky(factor: Float64Array, size: number, b: Float64Array): Float64Array {
  const x = b.slice();
  for (let i = 0; i < size; i++) {
    let sum = x[i] as number;
    for (let j = 0; j < i; j++) sum -= (factor[i * size + j] as number) * (x[j] as number);
    x[i] = sum / (factor[i * size + i] as number);
  }
  for (let i = size - 1; i >= 0; i--) {
    let sum = x[i] as number;
    for (let j = i + 1; j < size; j++) sum -= (factor[j * size + i] as number) * (x[j] as number);
    x[i] = sum / (factor[i * size + i] as number);
  }
  return x;
}

/** Returns a direction d with dᵀMd < 0 and 1 as its largest entry; null where a symmetric matrix is positive definite beyond rounding. */
export function negativeCurvature(matrix: Float64Array, size: number): Float64Array | null {
  const factor = matrix.slice();
  const stop = factorize(factor, size);
  if (stop === null || !(stop.pivot < 0)) return null;
  // Lᵀd = eⱼ of the rows before makes dᵀMd the pivot.
  const { column: j } = stop;
  const direction = new Float64Array(size);
  direction[j] = 1;
  for (let i = j - 1; i >= 0; i--) {
    let sum = -(factor[j * size + i] as number);
    for (let k = i + 1; k < j; k++) sum -= (factor[k * size + i] as number) * (direction[k] as number);
    direction[i] = sum / (factor[i * size + i] as number);
  }
  const most = largest(direction);
  return direction.map((entry) => entry / most);
}

/** The largest magnitude; 0 of no numbers, NaN where there is one. */
export function largest(numbers: Float64Array): number {
  let most = 0;
  for (const number of numbers) most = Math.abs(number) <= most ? most : Math.abs(number);
  return most;
}

/**
 * Finds rows that are combinations of others, by Gram-Schmidt orthogonalisation, twice for each row, in the order of the rows. A row counts as dependent
 * if no more than `tolerance` of its norm is left.
 */
export function dependentRows(matrix: Float64Array, size: number, tolerance: number): number[] {
  const basis: Float64Array[] = [];
  const dependent: number[] = [];
  for (let row = 0; row * size < matrix.length; row++) {
    const rest = matrix.slice(row * size, (row + 1) * size);
    const norm = Math.sqrt(dot(rest, rest));
    for (let pass = 0; pass < 2; pass++) {
      for (const unit of basis) {
        const share = dot(unit, rest);
        for (let j = 0; j < size; j++) rest[j] = (rest[j] as number) - share * (unit[j] as number);
      }
    }
    const left = Math.sqrt(dot(rest, rest));
    if (!(left > tolerance * norm)) dependent.push(row);
    else basis.push(rest.map((entry) => entry / left));
  }
  return dependent;
}
