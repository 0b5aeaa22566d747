// Sparse matrices on the CPU, by the module that is packed: products and derivatives beside sums in double precision.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { before, test } from 'node:test';
import * as T from '../../pkg-template/dist/tensor.js';

let device;
before(async () => {
  await T.init(await readFile(new URL('../../pkg-template/wasm-tensor/residua_tensor_bg.wasm', import.meta.url)));
  device = await T.Device.create({ backend: 'cpu' });
});

/** Numbers from 0 to 1 that repeat. */
function random(seed) {
  let state = seed;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}

/** A matrix with rows of these lengths, entries at one place among them, as arrays and stored. */
function matrixOf(lengths, columns, seed) {
  const next = random(seed);
  const offsets = [0];
  for (const length of lengths) offsets.push(offsets.at(-1) + length);
  const count = offsets.at(-1);
  const indices = Array.from({ length: count }, () => Math.floor(next() * columns));
  const values = Float32Array.from({ length: count }, () => next() - 0.5);
  const rows = lengths.flatMap((length, row) => Array.from({ length }, () => row));
  const parts = [device.tensor(offsets, [offsets.length], 'u32'), device.tensor(indices, [count], 'u32'), device.tensor(values)];
  return { rows, indices, values, height: lengths.length, columns, matrix: T.SparseMatrix.fromCsr(lengths.length, columns, ...parts) };
}

/** Sums in double precision, and those of magnitudes, by the place in the product. */
function product({ rows, indices, values, height }, x, width) {
  const [sums, magnitudes] = [0, 1].map(() => new Float64Array(height * width));
  rows.forEach((row, entry) => {
    for (let k = 0; k < width; k++) {
      const term = values[entry] * x[indices[entry] * width + k];
      sums[row * width + k] += term;
      magnitudes[row * width + k] += Math.abs(term);
    }
  });
  return { sums, magnitudes };
}

/** Each element within some roundings of its terms. */
function near(found, { sums, magnitudes }, terms) {
  assert.equal(found.length, sums.length);
  for (let k = 0; k < sums.length; k++) assert.ok(Math.abs(found[k] - sums[k]) <= (2 + terms) * 2 ** -24 * magnitudes[k] + 1e-37, `${k}: ${found[k]}, not ${sums[k]}`);
}

const SHAPES = [
  ['empty rows', [0, 3, 0, 0, 17, 1, 0], 9],
  ['no entries', [0, 0, 0], 4],
  ['no rows', [], 4],
  ['one entry', [1], 1],
  ['one row', [40], 7],
  ['a long row among short ones', Array.from({ length: 300 }, (_, row) => (row === 150 ? 20_000 : row % 5)), 500],
  ['a power law', Array.from({ length: 2000 }, (_, row) => Math.floor(2000 / (row + 1))), 700],
];

for (const [name, lengths, columns] of SHAPES) {
  for (const width of [1, 3, 64]) {
    test(`products and derivatives: ${name}, ${width} columns`, async () => {
      const of = matrixOf(lengths, columns, 7 + width);
      const next = random(3);
      const [x, y] = [columns, of.height].map((count) => Float32Array.from({ length: count * width }, () => next() - 0.5));
      const shape = (count) => (width === 1 ? [count] : [count, width]);
      const [tx, ty] = [device.tensor(x, shape(columns)), device.tensor(y, shape(of.height))];
      const stored = await device.storeSparse(of.matrix);
      const longest = Math.max(0, ...lengths);
      const transposed = { rows: of.indices, indices: of.rows, values: of.values, height: columns };
      const entries = { sums: new Float64Array(of.rows.length), magnitudes: new Float64Array(of.rows.length) };
      of.rows.forEach((row, entry) => {
        for (let k = 0; k < width; k++) {
          const term = y[row * width + k] * x[of.indices[entry] * width + k];
          entries.sums[entry] += term;
          entries.magnitudes[entry] += Math.abs(term);
        }
      });
      for (const matrix of [of.matrix, stored]) {
        const [values, dense] = T.grad(matrix.matmul(tx).mul(ty).sum(), [matrix.values, tx]);
        const [found, turned, byValues, byDense] = await device.read(matrix.matmul(tx), matrix.transpose().matmul(ty), values, dense);
        near(found, product(of, x, width), longest);
        near(turned, product(transposed, y, width), longest * 4);
        near(byDense, product(transposed, y, width), longest * 4);
        near(byValues, entries, width);
      }
    });
  }
}

test('the bits of products do not change from run to run, nor in a program', async () => {
  const { matrix, columns } = matrixOf(Array.from({ length: 900 }, (_, row) => (row * 37) % 60), 300, 5);
  const next = random(9);
  const x = device.tensor(Float32Array.from({ length: columns }, () => next() - 0.5));
  const program = await device.compile({}, () => ({ y: matrix.matmul(x), shifted: matrix.matmul(x).add(1).relu() }));
  const [first] = await device.read(matrix.matmul(x));
  const { y, shifted } = await program.run({});
  const [second, third] = await device.read(y, shifted);
  assert.deepEqual(second, first);
  assert.deepEqual(third, first.map((each) => Math.max(0, Math.fround(each + 1))));
});

test('second derivatives are those of x Aᵀ A x', async () => {
  const of = matrixOf([2, 0, 3, 5], 4, 11);
  const x = device.tensor([0.5, -1, 2, 0.25]);
  const norm = of.matrix.matmul(x).square().sum();
  const [slope] = T.grad(norm, [x]);
  const [curvature] = T.grad(slope.mul(device.tensor([1, 0, 0, 0])).sum(), [x]);
  const [found, dense] = await device.read(curvature, of.matrix.toDense());
  for (let k = 0; k < 4; k++) {
    let expected = 0;
    for (let row = 0; row < 4; row++) expected += 2 * dense[row * 4] * dense[row * 4 + k];
    assert.ok(Math.abs(found[k] - expected) < 1e-5, `${k}: ${found[k]}, not ${expected}`);
  }
});

test('examples of values and of dense operands have products of their own', async () => {
  const of = matrixOf([2, 0, 3, 5], 4, 13);
  const next = random(2);
  const [values, x] = [30, 24].map((count) => Float32Array.from({ length: count }, () => next() - 0.5));
  const [tv, tx] = [device.tensor(values, [3, 10]), device.tensor(x, [3, 4, 2])];
  const byBoth = T.vmap((v, one) => of.matrix.withValues(v).matmul(one))(tv, tx);
  const byDense = T.vmap((one) => of.matrix.matmul(one))(tx);
  const found = await device.read(byBoth, byDense);
  for (let k = 0; k < 3; k++) {
    const dense = x.subarray(8 * k, 8 * k + 8);
    near(found[0].subarray(8 * k, 8 * k + 8), product({ ...of, values: values.subarray(10 * k, 10 * k + 10) }, dense, 2), 5);
    near(found[1].subarray(8 * k, 8 * k + 8), product(of, dense, 2), 5);
  }
});

test('columns out of range are left out', async () => {
  const matrix = T.SparseMatrix.fromCsr(2, 2, device.tensor([0, 2, 3], [3], 'u32'), device.tensor([0, 2 ** 32 - 1, 1], [3], 'u32'), device.tensor([2, 3, 4]));
  const x = device.tensor([1, 10]);
  const [found, slope, turned] = await device.read(matrix.matmul(x), T.grad(matrix.matmul(x).sum(), [x])[0], matrix.transpose().matmul(x));
  assert.deepEqual([[...found], [...slope], [...turned]], [[2, 40], [2, 4], [2, 40]]);
});

test('SciPy gives the same products', async () => {
  // scipy.sparse.csr_matrix(([1, 2, 5, 3, 4, 5], [2, 0, 2, 1, 2, 2], [0, 3, 3, 4, 6]), shape=(4, 3)), of SciPy 1.17.1: its products with [3, −1, 2] and, transposed, with [1, 2, 3, 4].
  const matrix = T.SparseMatrix.fromCsr(4, 3, device.tensor([0, 3, 3, 4, 6], [5], 'u32'), device.tensor([2, 0, 2, 1, 2, 2], [6], 'u32'), device.tensor([1, 2, 5, 3, 4, 5]));
  const [found, turned] = await device.read(matrix.matmul(device.tensor([3, -1, 2])), matrix.transpose().matmul(device.tensor([1, 2, 3, 4])));
  assert.deepEqual([[...found], [...turned]], [[18, 0, -3, 18], [2, 9, 42]]);
});
