/** The springs of several jobs: the grid nearest to a size, vertices at random positions in [0, 10)³, rest length 1. */
import { gridEdges, scatteredPositions } from '../../problems/springs.js';
import { gridNearest } from '../sizes.js';

/** @returns {{ size: number, residuals: number, positions: Float64Array, edges: Uint32Array, grid: { rows: number, columns: number } }} */
export function springMesh(vertices) {
  const grid = gridNearest(vertices);
  const size = grid.rows * grid.columns;
  const edges = gridEdges(grid.rows, grid.columns);
  return { size, residuals: edges.length / 2, positions: Float64Array.from(scatteredPositions(size)), edges, grid };
}

/**
 * The tolerances of the cost, and of the gradient by its largest entry, relative to the plain loop. Double precision: sums of 3 million
 * terms in another order. Single: a length of up to 17 rounds at 1e-6, r = l − 1 keeps that, and gradients add a few of them; twenty times
 * that.
 */
export const SPRING_TOLERANCE = { f64: { value: 1e-10, gradient: 1e-10 }, f32: { value: 2e-5, gradient: 2e-5 } };
