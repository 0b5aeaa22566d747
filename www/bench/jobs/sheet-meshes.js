/**
 * The sheet of the mesh jobs: the grid nearest to a size, with spacing 1, a short wave so that adjacent normals differ, and noise so that
 * nothing is flat or symmetric. Positions are exact in single precision.
 */
import { meshTopology } from '../../mesh/topology.js';
import { gridNearest } from '../sizes.js';

/** Numbers uniform in [−1, 1): D. H. Lehmer's generator with the multiplier of Park and Miller (1988). */
function noise(seed) {
  let state = seed;
  return () => {
    state = (state * 48271) % 2147483647;
    return (2 * state) / 2147483647 - 1;
  };
}

/** Two triangles per cell, counterclockwise seen from above. */
export function gridTriangles(rows, columns) {
  const triangles = new Uint32Array(6 * (rows - 1) * (columns - 1));
  let filled = 0;
  for (let row = 0; row + 1 < rows; row++) {
    for (let column = 0; column + 1 < columns; column++) {
      const at = row * columns + column;
      triangles.set([at, at + columns + 1, at + 1, at, at + columns, at + columns + 1], filled);
      filled += 6;
    }
  }
  return triangles;
}

/** @returns {{ size: number, rows: number, columns: number, positions: Float64Array, triangles: Uint32Array }} */
export function waveSheet(vertices) {
  const { rows, columns } = gridNearest(vertices);
  const next = noise(3);
  const positions = new Float32Array(3 * rows * columns);
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      const height = 0.4 * Math.sin(0.7 * row) * Math.cos(0.9 * column);
      positions.set([column + 0.1 * next(), row + 0.1 * next(), height + 0.1 * next()], 3 * (row * columns + column));
    }
  }
  return { size: rows * columns, rows, columns, positions: Float64Array.from(positions), triangles: gridTriangles(rows, columns) };
}

/** The sheet with its topology. */
export function waveSheetWithTopology(vertices) {
  const sheet = waveSheet(vertices);
  return { ...sheet, topology: meshTopology(sheet.size, sheet.triangles) };
}
