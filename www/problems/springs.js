/**
 * Springs: one residual each, its length minus its rest length. Takes positions and pairs of ends; returns the Problem. Also the grid of
 * springs of the benchmarks.
 */
import { Problem } from 'residua';

/** The residual of a spring between a and b. */
export const springResidual = (a, b, restLength) => a.distance(b).sub(restLength);

/**
 * @param {Float64Array | Float32Array} positions three numbers per vertex
 * @param {Uint32Array} edges two vertices per spring
 * @param {Float64Array | number} restLengths one per spring, or one for all
 */
export function springsProblem(positions, edges, restLengths) {
  const problem = new Problem();
  const vertices = problem.parameters('vertices', { dim: 3, values: positions });
  const ends = vertices.at(edges, 2);
  if (typeof restLengths === 'number') {
    problem.residuals('springs', { inputs: { ends }, residual: ({ ends: [a, b] }) => springResidual(a, b, restLengths) });
  } else {
    problem.residuals('springs', {
      inputs: { ends, restLength: problem.data(restLengths) },
      residual: ({ ends: [a, b], restLength }) => springResidual(a, b, restLength),
    });
  }
  return { problem, vertices };
}

/**
 * A grid: each vertex is connected to its right, its lower and its lower right neighbour, (rows − 1)(3 columns − 1) + columns − rows
 * springs in total.
 * @param {number} rows
 * @param {number} columns vertices per row; by default the grid is square
 */
export function gridEdges(rows, columns = rows) {
  const edges = new Uint32Array(2 * ((rows - 1) * (3 * columns - 1) + columns - rows));
  let filled = 0;
  const join = (row, column, down, right) => {
    if (row + down >= rows || column + right >= columns) return;
    edges[filled++] = row * columns + column;
    edges[filled++] = (row + down) * columns + column + right;
  };
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      join(row, column, 0, 1);
      join(row, column, 1, 0);
      join(row, column, 1, 1);
    }
  }
  return edges;
}

/**
 * Positions uniform in [0, size)³, exact in single precision, from D. H. Lehmer's generator with the multiplier of Park and Miller (1988).
 */
export function scatteredPositions(count, size = 10, seed = 1) {
  let state = seed;
  return Float32Array.from({ length: 3 * count }, () => {
    state = (state * 48271) % 2147483647;
    return size * (state / 2147483647);
  });
}

/** The grid of springs of rest length 1 from scattered positions: side² vertices. */
export const springGrid = (side, seed = 1) => springsProblem(scatteredPositions(side * side, 10, seed), gridEdges(side), 1);
