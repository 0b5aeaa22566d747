/** Elements that masks select, segments and counts, against plain loops. */
import { bincount, dispose, grad, histogram, SparseMatrix, segmentMax, segmentMean, segmentMin, segmentSum } from 'residua/tensor';
import { build, get } from '../tensors/arrays.js';
import { compare, tensorDevice } from '../tensors/compare.js';
import { fill } from '../tensors/numbers.js';
import { onEach } from '../define.js';

/** Values with zeros behind them, up to a number. */
const padded = (values, count) => [...values, ...Array.from({ length: count - values.length }, () => 0)];

/** Selects of a vector of whole numbers those that are not 0: some nine of ten. */
async function select(check, device, count, dtype) {
  const values = fill([0, 9, 1], count, dtype);
  const x = device.tensor(values, [count], dtype);
  const expected = [...values].filter((value) => value !== 0);
  const selection = x.maskedSelect(x.neq(0));
  const { values: places, count: number } = x.nonzero();
  const [found, many, rows, also] = await device.read(selection.values, selection.count, places, number);
  check.same([...found], padded(expected, count), `${count} numbers of ${dtype}`);
  check.same([many[0], also[0]], [expected.length, expected.length], `how many of ${count} numbers of ${dtype}`);
  check.same([...rows], padded([...values.keys()].filter((place) => values[place] !== 0), count), `places of ${count} numbers of ${dtype}`);
  x.dispose();
}

/** The slices of each segment of a matrix. */
const members = (x, ids, segment, column) => ids.flatMap((id, row) => (id === segment ? [get(x, [row, column])] : []));

/** Combines the rows of a matrix of whole numbers by segment, of which one is empty. */
async function combine(check, device, dtype) {
  const [rows, columns, count] = [300, 3, 7];
  const ids = fill([0, count, 1], rows, 'i32', 1).map((id) => (id === 4 ? 9 : id));
  const x = { shape: [rows, columns], values: fill([-9, 9, 1], rows * columns, dtype) };
  const [t, i] = [device.tensor(x.values, x.shape, dtype), device.tensor(ids, [rows], 'i32')];
  const each = (f) => build([count, columns], ([segment, column]) => f(members(x, ids, segment, column)));
  const sum = (list) => list.reduce((a, b) => a + b, 0);
  const mean = (list) => (list.length === 0 ? 0 : sum(list) / list.length);
  const isInteger = dtype === 'i32';
  const [smallest, largest] = isInteger ? [-(2 ** 31), 2 ** 31 - 1] : [-Infinity, Infinity];
  await compare(check, device, dtype, [
    { name: 'segmentSum', tensor: segmentSum(t, i, count), array: each(sum) },
    {
      name: 'segmentMean', tensor: segmentMean(t, i, count), array: each(isInteger ? (list) => Math.trunc(mean(list)) : mean),
      allowed: isInteger ? 0 : 3, because: 'WGSL allows a division 2.5 units, and the result is rounded',
    },
    { name: 'segmentMax', tensor: segmentMax(t, i, count), array: each((list) => Math.max(smallest, ...list)) },
    { name: 'segmentMin', tensor: segmentMin(t, i, count), array: each((list) => Math.min(largest, ...list)) },
  ]);
}

export const group = {
  id: 'tensor-selection',
  title: 'Tensors: selections, segments, sparse matrices',
  about: 'What a mask selects stands in order at the front; slices are combined by segments, whatever the order of their ids.',
  checks: [
    ...onEach('elements that a mask selects stand in order at the front, and so do their places', async (check) => {
      const device = await tensorDevice(check);
      for (const dtype of ['f32', 'u8']) await select(check, device, 60, dtype);
    }),

    ...onEach('elements of other types, and a hundred thousand of them, are selected in order', async (check) => {
      const device = await tensorDevice(check);
      for (const dtype of ['f16', 'i32', 'u32']) await select(check, device, 60, dtype);
      for (const count of [5003, 100_003]) await select(check, device, count, 'f32');
    }, { long: true }),

    ...onEach('a selection of a matrix has coordinates, and compact takes what was selected alone', async (check) => {
      const device = await tensorDevice(check);
      const x = device.tensor([[0, 1.5, NaN], [0, 0, -2]]);
      const [places, values] = [await device.compact(x.nonzero()), await device.compact(x.maskedSelect(x.isNaN().not().and(x.neq(0))))];
      check.same([places.sizes, values.sizes], [[3, 2], [2]], 'the shapes');
      check.same([...(await places.data())], [0, 1, 0, 2, 1, 2], 'coordinates');
      check.same([...(await values.data())], [1.5, -2], 'values');
      const none = await device.compact(x.maskedSelect(x.gt(9)));
      check.same([none.sizes, [...(await none.data())]], [[0], []], 'of nothing');
      const bytes = await device.compact(x.cast('u8').maskedSelect(x.gt(0)));
      check.same([bytes.dtype, ...(await bytes.data())], ['u8', 1], 'bytes');
      // A run's outputs are compacted as the run left them.
      const program = await device.compile({}, () => x.add(1).maskedSelect(x.gte(0)));
      const stored = await device.compact(program.run());
      check.same([...(await stored.data())], [1, 2.5, 1, 1], 'outputs of a program');
      for (const tensor of [places, values, none, bytes, stored, x]) tensor.dispose();
      program.dispose();
      const { tensors, tensorBytes } = device.stats();
      check.same([tensors, tensorBytes], [0, 0], 'memory that stays');
    }),

    ...onEach('compact refuses what is no selection', async (check) => {
      const device = await tensorDevice(check);
      const x = device.tensor([1, 2]);
      check.match(await check.failureInWords(device.compact({ values: x, count: x.sum() })), /^invalid-argument: compact/);
      check.match(await check.failureInWords(device.compact({ values: x, count: x.sum().cast('u32') })), /^invalid-argument: compact/);
      check.match(await check.failureInWords(device.compact(x)), /^invalid-argument: compact/);
      check.equal(device.stats().tensors, 1);
    }),

    ...onEach('segments are combined, those without slices too', async (check) => {
      await combine(check, await tensorDevice(check), 'f32');
    }),

    ...onEach('segments of integers and of half precision are combined', async (check) => {
      const device = await tensorDevice(check);
      for (const dtype of ['i32', 'f16']) await combine(check, device, dtype);
    }, { long: true }),

    ...onEach('integers and numbers in intervals are counted', async (check) => {
      const device = await tensorDevice(check);
      // The bounds of the intervals, multiples of 1/8, are exact; some numbers are on them.
      const [size, bins] = [5000, 8];
      const numbers = [...fill([-0.25, 1.25], size, 'f32'), 0, 0.125, 0.5, 1, NaN];
      const ids = fill([-2, 10, 1], size, 'i32');
      const x = device.tensor(numbers);
      const within = numbers.filter((value) => value >= 0 && value <= 1).map((value) => Math.min(Math.floor(value * bins), bins - 1));
      const counts = Array.from({ length: bins }, (_, bin) => within.filter((each) => each === bin).length);
      const occurrences = Array.from({ length: bins }, (_, id) => ids.filter((each) => (each < 0 ? each + bins : each) === id).length);
      await compare(check, device, 'u32', [
        { name: 'bincount', tensor: bincount(device.tensor(ids, [size], 'i32'), bins), array: { shape: [bins], values: occurrences } },
        { name: 'histogram', tensor: histogram(x, bins, 0, 1), array: { shape: [bins], values: counts } },
      ]);
    }),

    ...onEach('sparse matrices of entries in any order have products, a transpose and gradients', async (check) => {
      const device = await tensorDevice(check);
      const [rows, columns, count] = [40, 30, 200];
      // Whole numbers, whose sums are exact; some entries are at one place.
      const [at, to, values] = [fill([0, rows - 2, 1], count, 'u32', 1), fill([0, columns - 1, 1], count, 'u32', 2), fill([-9, 9, 1], count, 'f32', 3)];
      const dense = { shape: [rows, columns], values: Array.from({ length: rows * columns }, () => 0) };
      at.forEach((row, k) => (dense.values[row * columns + to[k]] += values[k]));
      const vector = device.tensor(values);
      const matrix = SparseMatrix.fromCoo(rows, columns, device.tensor(at, [count], 'u32'), device.tensor(to, [count], 'u32'), vector);
      const x = { shape: [columns, 3], values: fill([-4, 4, 1], columns * 3, 'f32') };
      const y = { shape: [rows], values: fill([-4, 4, 1], rows, 'f32') };
      const [tx, ty] = [x, y].map((array) => device.tensor(array.values, array.shape));
      const product = build([rows, 3], ([i, j]) => Array.from({ length: columns }, (_, k) => get(dense, [i, k]) * get(x, [k, j])).reduce((a, b) => a + b, 0));
      const column = tx.pick(1, 0);
      const [byValues, byVector] = grad(matrix.matmul(column).mul(ty).sum(), [vector, tx]);
      await compare(check, device, 'f32', [
        { name: 'the dense matrix', tensor: matrix.toDense(), array: dense },
        { name: 'the product with a matrix', tensor: matrix.matmul(tx), array: product },
        { name: 'the product with a vector', tensor: matrix.matmul(column), array: { shape: [rows], values: product.values.filter((_, i) => i % 3 === 0) } },
        { name: 'the transposed matrix', tensor: matrix.transpose().toDense(), array: build([columns, rows], ([i, j]) => get(dense, [j, i])) },
        { name: 'the gradient by values', tensor: byValues, array: { shape: [count], values: at.map((row, k) => y.values[row] * get(x, [to[k], 0])) } },
        { name: 'the gradient by the matrix', tensor: byVector, array: build([columns, 3], ([k, j]) => (j > 0 ? 0 : y.values.reduce((sum, each, i) => sum + each * get(dense, [i, k]), 0))) },
      ]);
    }, { long: true }),

    ...onEach('a long row among short ones of a sparse matrix', async (check) => {
      const device = await tensorDevice(check);
      const lengths = [3, 0, 1500, 1, 700, 2];
      const offsets = lengths.reduce((ends, length) => [...ends, ends.at(-1) + length], [0]);
      const [count, columns] = [offsets.at(-1), 9];
      // Whole numbers, whose sums are exact.
      const [to, values, x, y] = [fill([0, columns - 1, 1], count, 'u32', 1), fill([-9, 9, 1], count, 'f32', 2), fill([-4, 4, 1], columns * 4, 'f32'), fill([-4, 4, 1], 24, 'f32', 3)];
      const matrix = await device.storeSparse(SparseMatrix.fromCsr(6, columns, device.tensor(offsets, [7], 'u32'), device.tensor(to, [count], 'u32'), device.tensor(values)));
      const [product, turned] = [6, columns].map((rows) => ({ shape: [rows, 4], values: Array.from({ length: rows * 4 }, () => 0) }));
      lengths.forEach((_, row) => {
        for (let entry = offsets[row]; entry < offsets[row + 1]; entry++) {
          for (let k = 0; k < 4; k++) {
            product.values[row * 4 + k] += values[entry] * x[to[entry] * 4 + k];
            turned.values[to[entry] * 4 + k] += values[entry] * y[row * 4 + k];
          }
        }
      });
      const [tx, ty] = [device.tensor(x, [columns, 4]), device.tensor(y, [6, 4])];
      await compare(check, device, 'f32', [
        { name: 'the product with a matrix', tensor: matrix.matmul(tx), array: product },
        { name: 'the product with a vector', tensor: matrix.matmul(tx.pick(1, 2)), array: { shape: [6], values: product.values.filter((_, k) => k % 4 === 2) } },
        { name: 'the derivative by the matrix', tensor: grad(matrix.matmul(tx).mul(ty).sum(), [tx])[0], array: turned },
      ]);
    }),

    ...onEach('a product of sparse matrices is that of dense ones, and has gradients', async (check) => {
      const device = await tensorDevice(check);
      const [rows, inner, columns, count] = [12, 9, 7, 60];
      // Whole numbers, whose sums are exact; some entries are at one place.
      const made = (height, width, seed) => {
        const [at, to, values] = [fill([0, height - 1, 1], count, 'u32', seed), fill([0, width - 1, 1], count, 'u32', seed + 1), fill([-9, 9, 1], count, 'f32', seed + 2)];
        const [tat, tto] = [at, to].map((each) => device.tensor(each, [count], 'u32'));
        const dense = { shape: [height, width], values: Array.from({ length: height * width }, () => 0) };
        at.forEach((row, k) => (dense.values[row * width + to[k]] += values[k]));
        return { dense, matrix: SparseMatrix.fromCoo(height, width, tat, tto, device.tensor(values)) };
      };
      const [a, b] = [made(rows, inner, 1), made(inner, columns, 5)];
      const [left, right] = [await device.storeSparse(a.matrix), await device.storeSparse(b.matrix)];
      const { matrix } = await device.sparseProduct(left, right);
      const expected = build([rows, columns], ([i, j]) => Array.from({ length: inner }, (_, k) => get(a.dense, [i, k]) * get(b.dense, [k, j])).reduce((p, q) => p + q, 0));
      const x = { shape: [columns], values: fill([-4, 4, 1], columns, 'f32') };
      const slopes = grad(matrix.matmul(device.tensor(x.values)).sum(), [left.values, right.values]);
      // Of Σ A B x the derivative by an entry of A is one of B x, that by an entry of B a sum of a column of A times one of x.
      const bx = build([inner], ([k]) => x.values.reduce((sum, each, j) => sum + each * get(b.dense, [k, j]), 0));
      const ones = build([inner], ([k]) => Array.from({ length: rows }, (_, i) => get(a.dense, [i, k])).reduce((p, q) => p + q, 0));
      const [coo, other] = [left, right].map((each) => each.toCoo());
      const [byA, byB, to, at, by] = await device.read(...slopes, coo.colIndices, other.rowIndices, other.colIndices);
      check.same([...byA], [...to].map((k) => bx.values[k] + 0), 'the gradient by the left factor');
      check.same([...byB], [...at].map((k, entry) => ones.values[k] * x.values[by[entry]] + 0), 'the gradient by the right factor');
      await compare(check, device, 'f32', [{ name: 'the product', tensor: matrix.toDense(), array: expected }]);
    }, { long: true }),

    ...onEach('a sparse matrix of a solver has products', async (check) => {
      const device = await tensorDevice(check);
      const matrix = device.sparse({ rows: 3, cols: 3, rowOffsets: Uint32Array.of(0, 1, 1, 3), colIndices: Uint32Array.of(2, 0, 1), values: Float64Array.of(1, 2, 3) });
      const [dense, product] = await device.read(matrix.toDense(), matrix.matmul(device.tensor([1, 10, 100])));
      check.same([[...dense], [...product]], [[0, 0, 1, 0, 0, 0, 2, 3, 0], [100, 0, 32]]);
      dispose(matrix.rowOffsets, matrix.colIndices, matrix.values);
    }),

    ...onEach('gradients of selections and segments go back to where the numbers stood', async (check) => {
      const device = await tensorDevice(check);
      const x = device.tensor([3, 1, -4, 2, 5]);
      const weights = device.tensor([1, 10, 100, 1000, 10_000]);
      const ids = device.tensor([1, 0, 1, 1, 5], [5], 'i32');
      const two = device.tensor([1, 10]);
      const gradients = [
        grad(x.maskedSelect(x.gt(1.5)).values.mul(weights).sum(), [x]),
        grad(segmentSum(x, ids, 2).mul(two).sum(), [x]),
        grad(segmentMean(x, ids, 2).mul(two).sum(), [x]),
        grad(segmentMax(x, ids, 2).mul(two).sum(), [x]),
      ].map(([tensor]) => tensor);
      const expected = [[1, 0, 0, 10, 100], [10, 1, 10, 10, 0], [10 / 3, 1, 10 / 3, 10 / 3, 0], [10, 1, 0, 0, 0]];
      const names = ['maskedSelect', 'segmentSum', 'segmentMean', 'segmentMax'];
      await compare(check, device, 'f32', gradients.map((tensor, k) => ({
        name: names[k], tensor, array: { shape: [5], values: expected[k] }, ...(k === 2 ? { allowed: 3, because: 'WGSL allows a division 2.5 units' } : {}),
      })));
    }),
  ],
};
