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

/** Elements in double precision, by row and column. */
function denseOf({ rows, indices, values, height, columns }) {
  const dense = new Float64Array(height * columns);
  rows.forEach((row, entry) => void (dense[row * columns + indices[entry]] += values[entry]));
  return dense;
}

for (const [name, left, inner, right, columns] of [
  ['empty rows', [0, 3, 0, 17, 1, 0], 9, [2, 0, 1, 5, 0, 3, 1, 1, 2], 6],
  ['no entries', [0, 0], 3, [0, 0, 0], 2],
  ['no rows', [], 2, [1, 1], 3],
  ['long rows', [400, 1, 300], 50, Array.from({ length: 50 }, (_, row) => (row * 7) % 40), 30],
]) {
  test(`sparse products and their derivatives: ${name}`, async () => {
    const [a, b] = [matrixOf(left, inner, 3), matrixOf(right, columns, 4)];
    const product = await device.sparseProduct(a.matrix, b.matrix);
    const { matrix } = product;
    const next = random(8);
    const weights = Float32Array.from({ length: left.length * columns }, () => next() - 0.5);
    const sum = matrix.toDense().mul(device.tensor(weights, [left.length, columns])).sum();
    const [found, byA, byB, offsets, to] = await device.read(matrix.toDense(), ...T.grad(sum, [a.matrix.values, b.matrix.values]), matrix.rowOffsets, matrix.colIndices);
    const [x, y] = [denseOf(a), denseOf(b)];
    const expected = left.flatMap((_, i) => Array.from({ length: columns }, (__, j) => right.reduce((total, ___, k) => total + x[i * inner + k] * y[k * columns + j], 0)));
    // Products of numbers below 0.5, of at most 400 of which an element is the sum.
    const near400 = (numbers, wanted, what) => numbers.forEach((number, k) => assert.ok(Math.abs(number - wanted[k]) <= 400 * 2 ** -26, `${what} ${k}: ${number}, not ${wanted[k]}`));
    near400(found, expected, 'element');
    near400(byA, a.rows.map((row, entry) => weights.subarray(row * columns, (row + 1) * columns).reduce((total, weight, j) => total + weight * y[a.indices[entry] * columns + j], 0)), 'slope by a');
    near400(byB, b.rows.map((row, entry) => left.reduce((total, _, i) => total + weights[i * columns + b.indices[entry]] * x[i * inner + row], 0)), 'slope by b');
    left.forEach((_, row) => { for (let k = offsets[row] + 1; k < offsets[row + 1]; k++) assert.ok(to[k] > to[k - 1], 'each place has one entry'); });
    const twice = product.withValues(a.matrix.values.mul(2), b.matrix.values);
    const [values, doubled] = await device.read(matrix.values, twice.values);
    assert.deepEqual(doubled, values.map((value) => 2 * value));
    product.dispose();
    await assert.rejects(matrix.values.data(), { code: 'disposed' });
  });
}

test('SciPy gives the same product of sparse matrices', async () => {
  // a @ b of the matrix above and scipy.sparse.csr_matrix(([2, -1, 4, 1], [1, 0, 1, 0], [0, 1, 2, 4]), shape=(3, 2)), of SciPy 1.17.1.
  const a = T.SparseMatrix.fromCsr(4, 3, device.tensor([0, 3, 3, 4, 6], [5], 'u32'), device.tensor([2, 0, 2, 1, 2, 2], [6], 'u32'), device.tensor([1, 2, 5, 3, 4, 5]));
  const b = T.SparseMatrix.fromCsr(3, 2, device.tensor([0, 1, 2, 4], [4], 'u32'), device.tensor([1, 0, 1, 0], [4], 'u32'), device.tensor([2, -1, 4, 1]));
  const { matrix } = await device.sparseProduct(a, b);
  const found = await device.read(matrix.rowOffsets, matrix.colIndices, matrix.values);
  assert.deepEqual(found.map((each) => [...each]), [[0, 2, 2, 3, 5], [0, 1, 0, 0, 1], [6, 28, -3, 9, 36]]);
});

test('of sparse products, columns and offsets out of range are left out, and what is no factor is refused', async () => {
  const u = (...numbers) => device.tensor(numbers, [numbers.length], 'u32');
  const a = T.SparseMatrix.fromCsr(2, 2, u(0, 2, 2 ** 32 - 1), u(0, 2 ** 32 - 1, 1), device.tensor([2, 3, 4]));
  const b = T.SparseMatrix.fromCsr(2, 2, u(0, 1, 2), u(1, 7), device.tensor([5, 6]));
  assert.deepEqual(await (await device.sparseProduct(a, b)).matrix.toDense().toArray(), [[0, 10], [0, 0]]);
  const wide = T.SparseMatrix.fromCsr(2, 3, u(0, 1, 2), u(1, 2), device.tensor([5, 6]));
  const refused = (call, message) => assert.rejects(call, { code: 'invalid-argument', message });
  await refused(device.sparseProduct(wide, b), /^sparseProduct: b: got 2 rows; takes 3, the columns of a/);
  await refused(device.sparseProduct(a, a.toDense()), /^sparseProduct: b: got a Tensor.*; takes a SparseMatrix/);
  await assert.rejects(device.sparseProduct(a, b, { signal: AbortSignal.abort() }), { code: 'aborted' });
  const falling = T.SparseMatrix.fromCsr(2, 2, u(0, 2, 1), u(0, 1), device.tensor([2, 3]));
  await refused(device.sparseProduct(falling, b), /^sparseProduct: a: got rowOffsets that fall from 2 to 1; takes offsets that do not fall/);
  // A column times a row, whose product is full.
  const count = 2 ** 17;
  const [places, ones] = [device.tensor(Uint32Array.from({ length: count + 1 }, (_, k) => k), undefined, 'u32'), T.ones([count])];
  const column = T.SparseMatrix.fromCsr(count, 1, places, T.zeros([count], 'u32'), ones);
  const row = T.SparseMatrix.fromCsr(1, count, u(0, count), places.slice([0, count]), ones);
  await assert.rejects(device.sparseProduct(column, row), { code: 'limit-exceeded', message: /^sparseProduct: the product is a sum of 17179869184 pairs/ });
  const product = await device.sparseProduct(a, b);
  assert.throws(() => product.withValues(T.ones([2]), b.values), { code: 'invalid-argument', message: /^withValues: a: got a tensor of f32 of shape \[2\]; takes a tensor of f32 of shape \[3\], as the factor has/ });
});
