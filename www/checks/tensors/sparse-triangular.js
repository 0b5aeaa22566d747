/** Sparse matrices with a diagonal, and dense substitution beside them. */

/** Entries of a matrix of both triangles in compressed rows, in no order of their columns; row 4 has two on the diagonal. */
export function triangularOf(size, seed) {
  const [offsets, indices, values] = [[0], [], []];
  const add = (column, value) => {
    indices.push(column);
    values.push(Math.fround(value));
  };
  for (let row = 0; row < size; row++) {
    for (let distance = 5; distance > 0; distance--) {
      if ((row * 7 + distance * seed) % 3 !== 0) continue;
      if (row + distance < size) add(row + distance, 0.4 * Math.sin(row - 3 * distance));
      if (row >= distance) add(row - distance, 0.5 * Math.cos(2 * row + distance));
    }
    add(row, 1.5 + Math.sin(row + seed));
    if (row === 4) add(row, 0.75);
    offsets.push(indices.length);
  }
  return { size, offsets, indices, values: Float32Array.from(values) };
}

/** The triangle as a dense matrix in double precision. */
export function denseOf({ size, offsets, indices, values }, { triangle = 'lower', unitDiagonal = false, transpose = false }) {
  const dense = new Float64Array(size * size);
  for (let row = 0; row < size; row++) {
    for (let entry = offsets[row]; entry < offsets[row + 1]; entry++) {
      const column = indices[entry];
      if (triangle === 'lower' ? column > row : column < row) continue;
      dense[transpose ? column * size + row : row * size + column] += values[entry];
    }
    if (unitDiagonal) dense[row * size + row] = 1;
  }
  return dense;
}

/** X of T X = B by elimination without exchanges, which suits both triangles. */
export function solved(dense, b, size, width) {
  const [left, x] = [Float64Array.from(dense), Float64Array.from(b)];
  for (let pivot = 0; pivot < size; pivot++) {
    for (let row = 0; row < size; row++) {
      if (row === pivot) continue;
      const factor = left[row * size + pivot] / left[pivot * size + pivot];
      if (factor === 0) continue;
      for (let k = 0; k < size; k++) left[row * size + k] -= factor * left[pivot * size + k];
      for (let k = 0; k < width; k++) x[row * width + k] -= factor * x[pivot * width + k];
    }
  }
  return Array.from(x, (number, at) => number / left[Math.floor(at / width) * (size + 1)]);
}
