/**
 * Upper triangular square roots Λ of symmetric positive semi-definite matrices Ω = ΛᵀΛ. Takes and gives upper triangles row after row.
 *
 * Cholesky's factorisation gives the roots of definite matrices, and of singular ones whose entries are exact. Texts round entries, which can
 * make a singular matrix indefinite. The root of such a one is that of the nearest semi-definite matrix in units in which its diagonal is 1.
 */

/** The rounding of one operation. */
const EPSILON = 2 ** -52;
/** C++ streams write six digits by default, which round a number by up to this part of it. */
const TEXT_ROUNDING = 5e-6;

/**
 * Replaces the matrix by its square root and returns null; returns the smallest eigenvalue of one that is indefinite by more than rounding.
 */
export function replaceByRoot(matrix: Float64Array, dim: number): number | null {
  const root = matrix.slice();
  if (!factorize(root, matrix, dim) && !nearestRoot(root, matrix, dim)) return smallestEigenvalue(matrix, dim);
  matrix.set(root);
  return null;
}

/** The position of an entry in an upper triangle. */
function at(dim: number, row: number, column: number): number {
  return row * dim - (row * (row + 1)) / 2 + column;
}

/**
 * Cholesky's factorisation. Rows of the Schur complement that are zero but for rounding become rows of zeros. Returns false where the
 * diagonal of such a row is zero, or negative, and the row is not zero.
 */
function factorize(root: Float64Array, matrix: Float64Array, dim: number): boolean {
  const rounding = 8 * dim * EPSILON;
  for (let row = 0; row < dim; row++) {
    const first = at(dim, row, row);
    const diagonal = matrix[first] as number;
    for (let column = row; column < dim; column++) {
      let sum = root[first + column - row] as number;
      for (let k = 0; k < row; k++) sum -= (root[at(dim, k, row)] as number) * (root[at(dim, k, column)] as number);
      root[first + column - row] = sum;
    }
    const pivot = root[first] as number;
    if (pivot > rounding * diagonal) {
      const scale = Math.sqrt(pivot);
      root[first] = scale;
      for (let column = row + 1; column < dim; column++) root[first + column - row] = (root[first + column - row] as number) / scale;
      continue;
    }
    for (let column = row; column < dim; column++) {
      const bound = rounding * Math.sqrt(diagonal) * Math.sqrt(matrix[at(dim, column, column)] as number);
      // A bound is NaN where the diagonal is negative.
      if (!(Math.abs(root[first + column - row] as number) <= bound)) return false;
      root[first + column - row] = 0;
    }
  }
  return true;
}

/** Sets the root of the nearest semi-definite matrix. Returns false where that is farther than rounding. */
function nearestRoot(root: Float64Array, matrix: Float64Array, dim: number): boolean {
  const full = expand(matrix, dim);
  const diagonal = Float64Array.from({ length: dim }, (_, i) => full[i * dim + i] as number);
  const zero = 8 * dim * EPSILON * Math.max(...diagonal);
  const kept: number[] = [];
  for (let i = 0; i < dim; i++) {
    if ((diagonal[i] as number) > 0) kept.push(i);
    else if (full.subarray(i * dim, (i + 1) * dim).some((entry) => !(Math.abs(entry) <= zero))) return false;
  }
  const size = kept.length;
  const scales = Float64Array.from(kept, (i) => Math.sqrt(diagonal[i] as number));
  const scaled = new Float64Array(size * size);
  for (let a = 0; a < size; a++) {
    for (let b = 0; b < size; b++) {
      const entry = full[(kept[a] as number) * dim + (kept[b] as number)] as number;
      scaled[a * size + b] = entry / (scales[a] as number) / (scales[b] as number);
    }
  }
  const vectors = diagonalize(scaled, size);
  // Rows √λ vᵀ in the matrix' own units: their products are the matrix.
  const rows = new Float64Array(size * size);
  for (let a = 0; a < size; a++) {
    const value = scaled[a * size + a] as number;
    if (!(value >= -dim * TEXT_ROUNDING)) return false;
    const length = Math.sqrt(Math.max(value, 0));
    for (let b = 0; b < size; b++) rows[a * size + b] = length * (vectors[a * size + b] as number) * (scales[b] as number);
  }
  triangulate(rows, size);
  root.fill(0);
  for (let a = 0; a < size; a++) {
    const sign = (rows[a * size + a] as number) < 0 ? -1 : 1;
    for (let b = a; b < size; b++) root[at(dim, kept[a] as number, kept[b] as number)] = sign * (rows[a * size + b] as number);
  }
  return true;
}

/** Makes a matrix upper triangular by Givens rotations of pairs of rows, which keep the products of its columns. */
function triangulate(rows: Float64Array, size: number): void {
  for (let column = 0; column < size; column++) {
    for (let row = size - 1; row > column; row--) {
      const [cosine, sine] = [rows[(row - 1) * size + column] as number, rows[row * size + column] as number];
      if (sine === 0) continue;
      const length = Math.hypot(cosine, sine);
      rotate(rows, (row - 1) * size, row * size, 1, size, cosine / length, -sine / length);
      rows[row * size + column] = 0;
    }
  }
}

/** Rotates pairs of numbers: (p, q) becomes (c p − s q, s p + c q). The pairs are `count` numbers from p and from q, `step` apart. */
function rotate(numbers: Float64Array, p: number, q: number, step: number, count: number, c: number, s: number): void {
  for (let k = 0; k < count; k++, p += step, q += step) {
    const upper = numbers[p] as number;
    const lower = numbers[q] as number;
    numbers[p] = c * upper - s * lower;
    numbers[q] = s * upper + c * lower;
  }
}

/** The smallest eigenvalue, of a matrix whose entries are scaled so that they cannot overflow. */
function smallestEigenvalue(matrix: Float64Array, dim: number): number {
  const largest = matrix.reduce((most, entry) => Math.max(most, Math.abs(entry)), 0);
  const full = expand(matrix.map((entry) => entry / largest), dim);
  diagonalize(full, dim);
  return largest * Array.from({ length: dim }, (_, i) => full[i * dim + i] as number).reduce((a, b) => Math.min(a, b));
}

/**
 * Replaces a symmetric matrix by a diagonal one of its eigenvalues, by cyclic Jacobi rotations (G. H. Golub, C. F. Van Loan, "Matrix
 * Computations", section 8.5). Returns the eigenvectors in rows. Entries are about 1 at most.
 */
export function diagonalize(matrix: Float64Array, size: number): Float64Array {
  const vectors = new Float64Array(size * size);
  for (let i = 0; i < size; i++) vectors[i * size + i] = 1;
  // Sweeps converge quadratically: about ten do for any size.
  for (let sweep = 0, isDiagonal = false; !isDiagonal && sweep < 40; sweep++) {
    isDiagonal = true;
    for (let p = 0; p < size; p++) {
      for (let q = p + 1; q < size; q++) {
        const off = matrix[p * size + q] as number;
        if (!(Math.abs(off) > EPSILON / 16)) continue;
        isDiagonal = false;
        const ratio = ((matrix[q * size + q] as number) - (matrix[p * size + p] as number)) / (2 * off);
        const tangent = (ratio < 0 ? -1 : 1) / (Math.abs(ratio) + Math.hypot(1, ratio));
        const c = 1 / Math.hypot(1, tangent);
        const s = tangent * c;
        rotate(matrix, p, q, size, size, c, s);
        rotate(matrix, p * size, q * size, 1, size, c, s);
        matrix[p * size + q] = matrix[q * size + p] = 0;
        rotate(vectors, p * size, q * size, 1, size, c, s);
      }
    }
  }
  return vectors;
}

/** The full matrix, row after row. */
function expand(matrix: Float64Array, dim: number): Float64Array {
  const full = new Float64Array(dim * dim);
  for (let row = 0; row < dim; row++) {
    for (let column = row; column < dim; column++) full[row * dim + column] = full[column * dim + row] = matrix[at(dim, row, column)] as number;
  }
  return full;
}
