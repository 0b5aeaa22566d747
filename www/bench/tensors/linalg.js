/** Factorisations as works: a large Cholesky factor and many small ones, eigenvalues, singular values. See `works.js`. */
import { means } from './works.js';

/** x xᵀ + 1 in double precision, of the matrix at a place of a batch. */
function positive(x, place, n) {
  const a = new Float64Array(n * n);
  const row = (i) => x.subarray((place * n + i) * n, (place * n + i + 1) * n);
  for (let i = 0; i < n; i++) {
    for (let j = 0; j <= i; j++) {
      const [p, q] = [row(i), row(j)];
      let sum = Number(i === j);
      for (let k = 0; k < n; k++) sum += p[k] * q[k];
      a[i * n + j] = sum;
    }
  }
  return a;
}

/** L of A = L Lᵀ in the place of the lower triangle of A. */
function factored(a, n) {
  for (let i = 0; i < n; i++) {
    for (let j = 0; j <= i; j++) {
      let sum = a[i * n + j];
      for (let k = 0; k < j; k++) sum -= a[i * n + k] * a[j * n + k];
      a[i * n + j] = i === j ? Math.sqrt(sum) : sum / a[j * n + j];
    }
  }
  return a;
}

function cholesky(batch, n) {
  const factors = ([x]) => {
    const all = new Float64Array(batch * n * n);
    for (let place = 0; place < batch; place++) all.set(factored(positive(x, place, n), n), place * n * n);
    return all;
  };
  const shape = batch === 1 ? [n, n] : [batch, n * n];
  return {
    name: 'Cholesky factors', size: `${batch.toLocaleString('en-US')} of ${n} × ${n}`, inputs: [[batch, n, n]], operations: batch * (2 * n ** 3 + n ** 3 / 3),
    residua: (t, [x]) => t.linalg.cholesky(x.matmul(x.transpose(1, 2)).add(t.eye(n))).reshape(shape),
    expected(inputs) {
      const all = factors(inputs);
      const [sum, squares] = all.reduce(([sum, squares], x) => [sum + Math.abs(x), squares + x * x], [0, 0]);
      return means(shape, sum / all.length, Math.sqrt(squares / all.length), (row) => all.subarray(row * shape[1], (row + 1) * shape[1]));
    },
  };
}

/** Values whose squares add up to those of the elements. */
const values = (name, shape, operations, matrix, of) => ({
  name, size: shape.join(' × '), inputs: [shape], operations,
  residua: (t, [x]) => of(t, matrix(x)).square().sum(),
  expected: ([x]) => {
    const [rows, columns] = shape;
    const isSquare = rows === columns;
    let sum = 0;
    for (let i = 0; i < rows; i++) for (let j = 0; j < columns; j++) sum += (isSquare ? x[i * columns + j] + x[j * columns + i] : x[i * columns + j]) ** 2;
    return { value: sum, scale: sum };
  },
});

/** Sizes whose times jax.numpy.linalg has on the same device. */
export function factorisations(divisor = 1) {
  const size = (n) => Math.max(2, Math.round(n / divisor));
  const [square, rows, columns] = [size(512), size(1024), size(256)];
  return [
    cholesky(1, size(1024)), cholesky(Math.max(1, Math.round(100_000 / divisor ** 2)), 6),
    values('eigenvalues', [square, square], (4 / 3) * square ** 3, (x) => x.add(x.transpose(0, 1)), (t, a) => t.linalg.eigh(a).eigenvalues),
    values('singular values', [rows, columns], 4 * rows * columns ** 2, (x) => x, (t, a) => t.linalg.svd(a, { fullMatrices: false }).s),
  ];
}
