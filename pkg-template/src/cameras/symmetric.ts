/** Small symmetric matrices, row after row. */

import { diagonalize } from '../problem/triangular-root.js';
import { dot } from '../problem/vectors.js';

/** Eigenvalues in ascending order, and the unit eigenvector of each. */
export interface Eigen {
  readonly values: readonly number[];
  readonly vectors: readonly Float64Array[];
}

/** The eigenvalues and eigenvectors of a symmetric matrix of finite numbers. */
export function eigen(matrix: ArrayLike<number>, size: number): Eigen {
  const largest = Array.from(matrix).reduce((most, entry) => Math.max(most, Math.abs(entry)), 0);
  const scale = largest > 0 ? largest : 1;
  const diagonal = Float64Array.from(matrix, (entry) => entry / scale);
  const rows = diagonalize(diagonal, size);
  const order = Array.from({ length: size }, (_, k) => k).sort((a, b) => (diagonal[a * (size + 1)] as number) - (diagonal[b * (size + 1)] as number));
  return {
    values: order.map((k) => scale * (diagonal[k * (size + 1)] as number)),
    vectors: order.map((k) => rows.slice(k * size, (k + 1) * size)),
  };
}

/** The solution of a definite system of which the eigenvalues are known. */
export function solveBy({ values, vectors }: Eigen, right: ArrayLike<number>): number[] {
  const solution = Array.from(right, () => 0);
  vectors.forEach((vector, k) => {
    const share = dot(vector, right) / (values[k] as number);
    for (let i = 0; i < solution.length; i++) (solution[i] as number) += share * (vector[i] as number);
  });
  return solution;
}
