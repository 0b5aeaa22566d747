/**
 * Directions in which parameters nearly make up for each other, as the frequency and the phase of a wave whose times are dates. Differences by one parameter at
 * a time err by a share of the length of their column, which may be more than all that is left of such a direction. Along it residuals change slowly:
 * differences by long steps of both parameters together have as many digits of what is left as those of a column have of the column.
 */

/** A direction is in doubt where so many times the errors of the columns explain its effect. */
const DOUBTFUL = 16;

/** Rotations of columns that are as good as orthogonal change nothing. */
const [ORTHOGONAL, MOST_SWEEPS] = [1e-15, 30];

/** A direction, by parameters, and what is added to the derivatives by each where the derivative along it grows by 1, and other directions keep theirs. */
export interface Direction {
  readonly along: Float64Array;
  readonly dual: Float64Array;
}

/** Returns the directions of columns that their errors leave in doubt, where `errors` are relative to the lengths of the columns, which are overwritten. */
export function doubtfulDirections(columns: readonly Float64Array[], errors: readonly number[]): Direction[] {
  const count = columns.length;
  if (count < 2) return [];
  const lengths = columns.map((column) => Math.sqrt(dot(column, column)));
  if (!lengths.every((length) => length > 0 && length < Infinity)) return [];
  columns.forEach((column, k) => column.forEach((entry, i) => (column[i] = entry / (lengths[k] as number))));
  const axes = columns.map((_, k) => Float64Array.from({ length: count }, (_, j) => Number(j === k)));
  const triangle = triangleOf(columns);
  makeOrthogonal(triangle, axes);
  const directions: Direction[] = [];
  axes.forEach((axis, k) => {
    const length = Math.sqrt(dot(triangle[k] as Float64Array, triangle[k] as Float64Array));
    const explained = Math.hypot(...axis.map((share, j) => share * (errors[j] as number)));
    if (length > DOUBTFUL * explained) return;
    directions.push({ along: axis.map((share, j) => share / (lengths[j] as number)), dual: axis.map((share, j) => share * (lengths[j] as number)) });
  });
  return directions;
}

/** Columns of R in columns = Q R, by modified Gram-Schmidt: rotations of few numbers are those of all residuals. The columns become those of Q. */
function triangleOf(columns: readonly Float64Array[]): Float64Array[] {
  const triangle = columns.map(() => new Float64Array(columns.length));
  columns.forEach((column, k) => {
    const length = Math.sqrt(dot(column, column));
    (triangle[k] as Float64Array)[k] = length;
    if (!(length > 0)) return;
    column.forEach((entry, i) => (column[i] = entry / length));
    for (let j = k + 1; j < columns.length; j++) {
      const other = columns[j] as Float64Array;
      const share = dot(column, other);
      (triangle[j] as Float64Array)[k] = share;
      for (let i = 0; i < other.length; i++) other[i]! -= share * (column[i] as number);
    }
  });
  return triangle;
}

/** Rotates columns until they are orthogonal, and axes with them: J. Demmel and K. Veselić, "Jacobi's method is more accurate than QR" (1992). */
function makeOrthogonal(columns: readonly Float64Array[], axes: readonly Float64Array[]): void {
  let isDone = false;
  for (let sweep = 0; sweep < MOST_SWEEPS && !isDone; sweep++) {
    isDone = true;
    for (let q = 1; q < columns.length; q++) {
      for (let p = 0; p < q; p++) {
        const [a, b] = [columns[p] as Float64Array, columns[q] as Float64Array];
        const [aa, bb, ab] = [dot(a, a), dot(b, b), dot(a, b)];
        if (Math.abs(ab) <= ORTHOGONAL * Math.sqrt(aa * bb)) continue;
        isDone = false;
        const zeta = (bb - aa) / (2 * ab);
        const tangent = (zeta < 0 ? -1 : 1) / (Math.abs(zeta) + Math.hypot(1, zeta));
        const cosine = 1 / Math.hypot(1, tangent);
        for (const [first, second] of [[a, b], [axes[p] as Float64Array, axes[q] as Float64Array]] as const) {
          for (let i = 0; i < first.length; i++) {
            const [u, v] = [first[i] as number, second[i] as number];
            first[i] = cosine * (u - tangent * v);
            second[i] = cosine * (v + tangent * u);
          }
        }
      }
    }
  }
}

function dot(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += (a[i] as number) * (b[i] as number);
  return sum;
}
