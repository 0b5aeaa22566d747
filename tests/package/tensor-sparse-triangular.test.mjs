// Sparse triangular systems on the CPU, by the module that is packed: beside dense substitution in double precision, with derivatives, and what is refused.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { before, test } from 'node:test';
import * as T from '../../pkg-template/dist/tensor.js';
import { denseOf, solved, triangularOf } from '../../www/checks/tensors/sparse-triangular.js';

let device;
before(async () => {
  await T.init(await readFile(new URL('../../pkg-template/wasm-tensor/residua_tensor_bg.wasm', import.meta.url)));
  device = await T.Device.create({ backend: 'cpu' });
});

const numbers = (seed, count) => Float32Array.from({ length: count }, (_, k) => Math.sin(12.9898 * (k + 1) + seed));
const matrixOf = ({ size, offsets, indices, values }) => T.SparseMatrix.fromCsr(size, size, device.tensor(offsets, undefined, 'u32'), device.tensor(indices, undefined, 'u32'), device.tensor(values));
/** Solutions that come from the host's double precision are rounded once. */
const assertNear = (found, expected, what, within = 2 ** -22) => found.forEach((number, k) => assert.ok(Math.abs(number - expected[k]) <= within * (1 + Math.abs(expected[k])), `${what} ${k}: ${number}, not ${expected[k]}`));

for (const triangle of ['lower', 'upper']) {
  for (const [unitDiagonal, transpose] of [[false, false], [true, false], [false, true], [true, true]]) {
    test(`systems of the ${triangle} triangle${unitDiagonal ? ', diagonal 1' : ''}${transpose ? ', transposed' : ''}: solutions and derivatives`, async () => {
      for (const size of [1, 7, 60]) {
        const entries = triangularOf(size, 3);
        const matrix = matrixOf(entries);
        const system = await device.sparseTriangular(matrix, { triangle, unitDiagonal, transpose });
        assert.ok(system.levels >= 1 && system.levels <= size && system.size === size);
        for (const width of [null, 1, 5]) {
          const b = device.tensor(numbers(1, size * (width ?? 1)), width === null ? [size] : [size, width]);
          const x = system.solve(b);
          assert.deepEqual(x.shape, b.shape);
          const options = { triangle, unitDiagonal, transpose };
          const at = (values, sides) => solved(denseOf({ ...entries, values }, options), sides, size, width ?? 1);
          const [sides, values] = [[...(await b.data())], [...entries.values]];
          assertNear(await x.data(), at(values, sides), `${size}, ${width}`);
          if (size !== 7) continue;
          const weights = numbers(2, sides.length);
          const cost = (...of) => at(...of).reduce((sum, number, k) => sum + weights[k] * number, 0);
          const [byB, byValues] = T.grad(x.mul(device.tensor(weights, b.shape)).sum(), [b, matrix.values]);
          const slope = (of, k) => {
            const moved = (step) => [values, sides].map((each) => (each === of ? each.with(k, each[k] + step) : each));
            return (cost(...moved(1e-5)) - cost(...moved(-1e-5))) / 2e-5;
          };
          // Differences of double precision keep half of its digits; adjoints are sums in f32.
          assertNear(await byB.data(), sides.map((_, k) => slope(sides, k)), 'by a right side', 1e-5);
          assertNear(await byValues.data(), values.map((_, k) => slope(values, k)), 'by a value', 1e-5);
        }
        const other = Float32Array.from(entries.values, (value) => 2 * value);
        const b = device.tensor(numbers(4, size));
        assertNear(await system.solve(b, device.tensor(other)).data(), solved(denseOf({ ...entries, values: other }, { triangle, unitDiagonal, transpose }), numbers(4, size), size, 1), 'other values');
        system.dispose();
        await assert.rejects(system.solve(b).data(), { code: 'disposed' });
      }
    });
  }
}

test('a system is solved for examples at once, and twice differentiated', async () => {
  const entries = triangularOf(9, 5);
  const matrix = matrixOf(entries);
  const system = await device.sparseTriangular(matrix);
  const all = device.tensor(numbers(1, 4 * 9), [4, 9]);
  const found = await T.vmap((b) => system.solve(b))(all).data();
  const each = await Promise.all([0, 1, 2, 3].map(async (k) => [...(await system.solve(all.slice([k, k + 1]).squeeze(0)).data())]));
  assert.deepEqual([...found], each.flat());
  const b = device.tensor(numbers(1, 9));
  const norm = (values) => T.grad(system.solve(b, values).square().sum(), [values])[0].square().sum();
  const [second] = T.grad(norm(matrix.values), [matrix.values]);
  const [slopes, at] = [await second.data(), async (k, step) => norm(device.tensor(entries.values.with(k, entries.values[k] + step))).item()];
  for (const k of [0, 5, slopes.length - 1]) {
    const difference = ((await at(k, 1e-2)) - (await at(k, -1e-2))) / 2e-2;
    assert.ok(Math.abs(slopes[k] - difference) <= 0.02 * (1 + Math.abs(difference)), `${k}: ${slopes[k]}, not ${difference}`);
  }
});

test('diagonals that are missing or 0, and what is no system, are refused by name', async () => {
  const u = (...of) => device.tensor(of, [of.length], 'u32');
  const of = (offsets, indices, values, [rows, columns] = [2, 2]) => T.SparseMatrix.fromCsr(rows, columns, u(...offsets), u(...indices), device.tensor(values));
  const refused = (call, message) => assert.rejects(call, { code: 'invalid-argument', message });
  const good = of([0, 1, 3], [0, 0, 1], [2, 1, 4]);
  await refused(device.sparseTriangular(of([0, 1, 2], [0, 0], [2, 1])), /^sparseTriangular: matrix: got no entry on the diagonal in row 1; takes an entry on the diagonal in each row, or unitDiagonal$/);
  await refused(device.sparseTriangular(of([0, 1, 3], [0, 0, 1], [2, 1, 0])), /^sparseTriangular: matrix: got 0 on the diagonal in row 1; takes a diagonal without 0, or unitDiagonal$/);
  await refused(device.sparseTriangular(of([0, 2, 4], [0, 0, 0, 1], [2, -2, 1, 3])), /0 on the diagonal in row 0/);
  await refused(device.sparseTriangular(of([0, 1, 2], [0, 1], [1, 1], [2, 3])), /^sparseTriangular: matrix: got 2 rows and 3 columns; takes as many rows as columns$/);
  await refused(device.sparseTriangular(T.eye(2)), /^sparseTriangular: matrix: got a Tensor.*; takes a SparseMatrix$/);
  await refused(device.sparseTriangular(good, { triangle: 'left' }), /^sparseTriangular: triangle: got "left"; takes 'lower' or 'upper'$/);
  await refused(device.sparseTriangular(good, { unitDiagonal: 1 }), /^sparseTriangular: unitDiagonal: got 1; takes true or false$/);
  await refused(device.sparseTriangular(good, { unit: true }), /^sparseTriangular: options: got the unknown option "unit"/);
  await refused(device.sparseTriangular(of([0, 2, 1], [0, 1], [1, 1])), /^sparseTriangular: matrix: got rowOffsets that fall/);
  await assert.rejects(device.sparseTriangular(good, { signal: AbortSignal.abort() }), { code: 'aborted' });
  const system = await device.sparseTriangular(good);
  assert.throws(() => system.solve(T.zeros([3])), { code: 'invalid-argument', message: /^solve: b: got .*\[3\]; takes a vector or a matrix whose first size is 2, the rows of the matrix$/ });
  assert.throws(() => system.solve(T.zeros([2]), T.zeros([2])), { code: 'invalid-argument', message: /^solve: values: got .*\[2\]; takes .*\[3\], as the matrix has$/ });
  // Rows without an entry on the diagonal have 1 there, and entries beyond the triangle are not read.
  const unit = await device.sparseTriangular(of([0, 1, 2], [1, 0], [9, 3]), { unitDiagonal: true });
  assert.deepEqual([...(await unit.solve(device.tensor([1, 5])).data())], [1, 2]);
});

test('SciPy gives the same solution', async () => {
  // scipy.sparse.linalg.spsolve_triangular(csr_matrix([[3, 0, 0], [1, -1, 0], [2, 0, 1]], dtype=float), [[8, 4], [5, 2], [2, 9]]) of its documentation's
  // matrix.
  const matrix = T.SparseMatrix.fromCsr(3, 3, device.tensor([0, 1, 3, 5], [4], 'u32'), device.tensor([0, 0, 1, 0, 2], [5], 'u32'), device.tensor([3, 1, -1, 2, 1]));
  const system = await device.sparseTriangular(matrix);
  assert.equal(system.levels, 2);
  assertNear(await system.solve(device.tensor([[8, 4], [5, 2], [2, 9]])).data(), [8 / 3, 4 / 3, -7 / 3, -2 / 3, -10 / 3, 19 / 3], 'element');
});
