/**
 * The Hessian of the Lagrangian by differences of its gradients. Columns without a common row are found together (A. R. Curtis, M. J. D. Powell, J. K. Reid, "On the
 * estimation of sparse Jacobian matrices", 1974), so that sparse problems take few gradients.
 */

import type { Lagrangian, Point } from './lagrangian.js';

/** The columns of a symmetric matrix that are found together, and its pattern. */
export interface ColumnGroups {
  readonly pattern: Uint8Array;
  readonly groups: readonly (readonly number[])[];
}

/** A step of differences, relative to a parameter's scale: central differences of gradients then have some ten digits. */
const STEP = 6e-6;

/** Groups the columns of a pattern, each into the first group none of whose columns has a row with it. */
export function groupColumns(pattern: Uint8Array, size: number): ColumnGroups {
  const groups: { columns: number[]; rows: Uint8Array }[] = [];
  for (let column = 0; column < size; column++) {
    const rows = pattern.subarray(column * size, (column + 1) * size);
    let group = groups.find((candidate) => rows.every((has, row) => has === 0 || candidate.rows[row] === 0));
    if (group === undefined) groups.push((group = { columns: [], rows: new Uint8Array(size) }));
    group.columns.push(column);
    for (let row = 0; row < size; row++) if (rows[row] === 1) group.rows[row] = 1;
  }
  return { pattern, groups: groups.map(({ columns }) => columns) };
}

/** Returns the Hessian in units of scales, row after row. Differences are central but next to a bound or a point that is not finite. */
export async function hessianOf(problem: Lagrangian, point: Point, multipliers: Float64Array, scales: Float64Array, { pattern, groups }: ColumnGroups): Promise<Float64Array> {
  const { free, session } = problem;
  const { lower, upper } = session.domain;
  const size = free.length;
  const matrix = new Float64Array(size * size);
  const here = problem.gradient(point, multipliers);
  const gradientAt = async (x: Float64Array): Promise<Float64Array | null> => {
    const gradient = problem.gradient(await problem.at(x), multipliers);
    return free.every((k) => Number.isFinite(gradient[k] as number)) ? gradient : null;
  };
  const difference = async (columns: readonly number[]): Promise<void> => {
    const [high, low] = [point.x.slice(), point.x.slice()];
    for (const column of columns) {
      const j = free[column] as number;
      const [x, width] = [point.x[j] as number, STEP * (scales[j] as number)];
      if (x + width <= (upper[j] as number)) high[j] = x + width;
      if (x - width >= (lower[j] as number)) low[j] = x - width;
    }
    const [above, below] = [await gradientAt(high), await gradientAt(low)];
    if ((above === null || below === null) && columns.length > 1) {
      for (const column of columns) await difference([column]);
      return;
    }
    const [to, from] = [above === null ? point.x : high, below === null ? point.x : low];
    const [upperSlope, lowerSlope] = [above ?? here, below ?? here];
    for (const column of columns) {
      const j = free[column] as number;
      const distance = (to[j] as number) - (from[j] as number);
      if (distance === 0) continue;
      const factor = (scales[j] as number) / distance;
      for (let row = 0; row < size; row++) {
        if (pattern[column * size + row] === 0) continue;
        const k = free[row] as number;
        matrix[column * size + row] = ((upperSlope[k] as number) - (lowerSlope[k] as number)) * factor * (scales[k] as number);
      }
    }
  };
  for (const columns of groups) await difference(columns);
  for (let a = 0; a < size; a++) {
    for (let b = 0; b < a; b++) {
      const mean = 0.5 * ((matrix[a * size + b] as number) + (matrix[b * size + a] as number));
      matrix[a * size + b] = matrix[b * size + a] = mean;
    }
  }
  return matrix;
}
