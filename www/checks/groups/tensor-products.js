/** Products of matrices: every size about a tile, batches that broadcast, transposed operands, element types. */
import { attention, einsum as einsumOf, eye, full, grad, iota, linear, ones, rmsNorm, zeros } from 'residua/tensor';
import { build, einsum, get } from '../tensors/arrays.js';
import { compare, tensorDevice } from '../tensors/compare.js';
import { fill, unitOf } from '../tensors/numbers.js';
import { onEach } from '../define.js';

const array = (shape, domain, dtype, seed) => ({ shape, values: fill(domain, shape.reduce((a, b) => a * b, 1), dtype, seed) });
const transposed = ({ shape, values }) => {
  const [rows, columns] = shape.slice(-2);
  return build([...shape.slice(0, -2), columns, rows], (at) => get({ shape, values }, [...at.slice(0, -2), at.at(-1), at.at(-2)]));
};

/** The product of two matrices and, for each element, the sum of the magnitudes that it is a sum of. */
function product(a, b) {
  const [m, k, n] = [a.shape[0], a.shape[1], b.shape[1]];
  const [values, magnitudes] = [new Float64Array(m * n), new Float64Array(m * n)];
  for (let i = 0; i < m; i++) {
    for (let l = 0; l < k; l++) {
      const left = a.values[i * k + l];
      for (let j = 0; j < n; j++) {
        const term = left * b.values[l * n + j];
        values[i * n + j] += term;
        magnitudes[i * n + j] += Math.abs(term);
      }
    }
  }
  return { shape: [m, n], values: [...values], magnitudes };
}

/** n roundings of partial sums, none of which is larger than the sum of magnitudes (N. J. Higham, Accuracy and Stability of Numerical Algorithms, §3.1). */
const BECAUSE = 'a rounding for each term, of at most the sum of magnitudes';
const bound = (terms, expected, magnitudes) => (i) => Math.max(1, (terms * magnitudes[i] * 2 ** -24) / unitOf('f32', expected[i]));

const SIZES = [[1, 1, 1], [3, 5, 7], [31, 33, 32], [32, 32, 32], [64, 64, 64], [65, 63, 66], [127, 128, 129], [1, 257, 130], [130, 257, 1], [8, 300, 40], [33, 2100, 5]];
/** Those of the quick checks: each is a kernel, which software devices compile slowly. */
const FEW_SIZES = [[31, 33, 32], [65, 63, 66], [1, 257, 130]];
const FORMS = { nn: 'both in order', tn: 'the left one transposed', nt: 'the right one transposed', tt: 'both transposed' };

async function checkForm(check, form, sizes) {
  const device = await tensorDevice(check);
  const cases = sizes.map((size) => caseOf(device, size, form));
  check.note(`${(await compare(check, device, 'f32', cases)).toFixed(1)} ulp`);
}

function caseOf(device, [m, k, n], form) {
  const [a, b] = [array([m, k], [-1, 1], 'f32'), array([k, n], [-1, 1], 'f32', 1)];
  const place = (x, isTransposed) => (isTransposed ? device.tensor(transposed(x).values, [...x.shape].reverse()).T : device.tensor(x.values, x.shape));
  const { magnitudes, ...exact } = product(a, b);
  return { name: `${m} × ${k} × ${n}, ${form}`, tensor: place(a, form[0] === 't').matmul(place(b, form[1] === 't')), array: exact, allowed: bound(k, exact.values, magnitudes), because: BECAUSE };
}

/** [formula, shapes] */
const FORMULAS = [
  ['ij,jk->ik', [[3, 4], [4, 5]]],
  ['bij,bjk->bik', [[2, 3, 4], [2, 4, 5]]],
  ['ij->ji', [[3, 4]]],
  ['ij->i', [[3, 4]]],
  ['i,j->ij', [[3], [4]]],
  ['ij,ij->', [[3, 4], [3, 4]]],
  ['bqhd,bkhd->bhqk', [[2, 3, 2, 4], [2, 5, 2, 4]]],
  ['ij,jk,kl->il', [[2, 3], [3, 4], [4, 2]]],
];

export const group = {
  id: 'tensor-products',
  title: 'Tensors: products',
  about: 'Products of matrices at sizes about a tile, transposed and in batches, against sums in double precision.',
  checks: [
    ...onEach('a norm of one row within the products after it has the bits of one that is stored', async (check) => {
      const device = await tensorDevice(check);
      for (const [width, type] of [[64, null], [1000, null], [2048, null], [2048, 'q4_0'], [2560, 'q8_0'], [4096, 'q4_0']]) {
        const [x, g] = [device.tensor(fill([-3, 3], width, 'f32'), [1, width]), device.tensor(fill([-1, 1], width, 'f32', 1), [width])];
        const matrices = [2, 3].map((seed) => device.tensor(fill([-1, 1], 12 * width, 'f32', seed), [12, width]));
        const [gate, up] = type === null ? matrices : [await device.quantize(matrices[0], type), await device.quantize(matrices[1], type)];
        const normed = (of) => [linear(of, gate).sigmoid().mul(linear(of, up))];
        const stored = await device.store(rmsNorm(x, { weight: g }));
        const [within, after] = [await device.compile({}, () => normed(rmsNorm(x, { weight: g }))), await device.compile({}, () => normed(stored))];
        check.same(within.plan.dispatches - after.plan.dispatches, device.backend === 'gpu' && width < 4096 && (width < 2048 || type !== null) ? 0 : 1, `kernels more, ${width}`);
        within.run();
        after.run();
        const [found, expected] = [await device.read(...within.outputs), await device.read(...after.outputs)];
        found.forEach((values, k) => check.same([...values], [...expected[k]], `the bits of ${type ?? 'f32'}, ${width}, product ${k}`));
        within.dispose();
        after.dispose();
      }
    }),
    ...Object.entries(FORMS).flatMap(([form, words]) => onEach(`matmul of matrices, ${words}`, (check) => checkForm(check, form, FEW_SIZES))),
    ...Object.entries(FORMS).flatMap(([form, words]) => onEach(`matmul of matrices of all sizes, ${words}`, (check) => checkForm(check, form, SIZES), { long: true })),

    ...onEach('factors of products may be computed of nothing', async (check) => {
      const device = await tensorDevice(check);
      const x = device.tensor([[1, 2, 3], [4, 5, 6]]);
      const [slope] = grad(x.matmul(ones([3, 1])).sum(), [x]);
      await compare(check, device, 'f32', [
        { name: 'ones', tensor: x.matmul(ones([3, 1])), array: { shape: [2, 1], values: [6, 15] } },
        { name: 'full on the left', tensor: full([1, 2], 2).matmul(x), array: { shape: [1, 3], values: [10, 14, 18] } },
        { name: 'zeros', tensor: x.matmul(zeros([3, 2])), array: { shape: [2, 2], values: [0, 0, 0, 0] } },
        { name: 'iota', tensor: x.matmul(iota([3, 2], 0)), array: { shape: [2, 2], values: [8, 8, 17, 17] } },
        { name: 'two sources', tensor: iota([2, 3], 1).matmul(eye(3)), array: { shape: [2, 3], values: [0, 1, 2, 0, 1, 2] } },
        { name: 'linear', tensor: linear(x, ones([2, 3]), ones([2])), array: { shape: [2, 2], values: [7, 7, 16, 16] } },
        { name: 'einsum', tensor: einsumOf('ij,kj->ik', x, iota([2, 3], 1)), array: { shape: [2, 2], values: [8, 8, 17, 17] } },
        { name: 'a derivative', tensor: slope, array: { shape: [2, 3], values: [1, 1, 1, 1, 1, 1] } },
        { name: 'attention', tensor: attention(ones([2, 4]), ones([3, 4]), iota([3, 2], 0)), array: { shape: [2, 2], values: [1, 1, 1, 1] }, allowed: 3, because: 'three weights of 1/3 are rounded, and the sum' },
      ]);
    }),

    ...onEach('matmul of nothing gives zeros', async (check) => {
      const device = await tensorDevice(check);
      const empty = (shape) => device.tensor([], shape);
      await compare(check, device, 'f32', [
        { name: '0 rows', tensor: empty([0, 3]).matmul(device.tensor([1, 2, 3], [3, 1])), array: { shape: [0, 1], values: [] } },
        { name: '0 terms', tensor: empty([2, 0]).matmul(empty([0, 3])), array: { shape: [2, 3], values: [0, 0, 0, 0, 0, 0] } },
      ]);
    }),

    ...onEach('matmul in batches that broadcast, of parts and of slices', async (check) => {
      const device = await tensorDevice(check);
      const [a, b] = [array([3, 1, 7, 9], [-4, 4, 1], 'f32'), array([2, 9, 6], [-4, 4, 1], 'f32', 1)];
      const [s, t] = [device.tensor(a.values, a.shape), device.tensor(b.values, b.shape)];
      const expected = build([3, 2, 7, 6], ([x, y, i, j]) => Array.from({ length: 9 }, (_, k) => get(a, [x, 0, i, k]) * get(b, [y, k, j])).reduce((p, q) => p + q));
      // Small whole numbers: every sum is exact.
      await compare(check, device, 'f32', [
        { name: 'batches', tensor: s.matmul(t), array: expected },
        { name: 'of slices', tensor: s.slice(null, null, [1, 5], [0, 9]).matmul(t.slice(null, null, [2, 6, 2])), array: build([3, 2, 4, 2], ([x, y, i, j]) => get(expected, [x, y, i + 1, 2 + 2 * j])) },
        { name: 'with what comes before and after', tensor: s.mul(2).matmul(t).add(1).relu(), array: { ...expected, values: expected.values.map((value) => Math.max(2 * value + 1, 0)) } },
      ]);
    }),

    ...onEach('matmul of integers wraps, and f16 with f32 is summed in f32', async (check) => {
      const device = await tensorDevice(check);
      for (const [dtype, domain] of [['i32', [-9, 9, 1]], ['u32', [0, 9, 1]]]) {
        const [a, b] = [array([17, 40], domain, dtype), array([40, 18], domain, dtype, 1)];
        await compare(check, device, dtype, [{ name: dtype, tensor: device.tensor(a.values, a.shape, dtype).matmul(device.tensor(b.values, b.shape, dtype)), array: product(a, b) }]);
      }
      const [a, b] = [array([17, 400], [-1, 1], 'f32'), array([400, 18], [-1, 1], 'f16', 1)];
      const { magnitudes, ...exact } = product(a, b);
      await compare(check, device, 'f32', [{ name: 'f32 by f16', tensor: device.tensor(a.values, a.shape).matmul(device.tensor(b.values, b.shape, 'f16')), array: exact, allowed: bound(400, exact.values, magnitudes), because: BECAUSE }]);
    }),

    ...onEach('dot, outer and linear agree with their definitions', async (check) => {
      const device = await tensorDevice(check);
      const [x, w, bias, v] = [array([5, 7], [-4, 4, 1], 'f32'), array([3, 7], [-4, 4, 1], 'f32', 1), array([3], [-4, 4, 1], 'f32', 2), array([7], [-4, 4, 1], 'f32', 3)];
      const [tx, tw, tb, tv] = [x, w, bias, v].map(({ values, shape }) => device.tensor(values, shape));
      const row = (a, i) => a.values.slice(7 * i, 7 * i + 7);
      const dot = (p, q) => p.reduce((sum, value, k) => sum + value * q[k], 0);
      await compare(check, device, 'f32', [
        { name: 'dot', tensor: tv.dot(tv), array: { shape: [], values: [dot(v.values, v.values)] } },
        { name: 'outer', tensor: tv.outer(tb), array: build([7, 3], ([i, j]) => v.values[i] * bias.values[j]) },
        { name: 'linear', tensor: linear(tx, tw, tb), array: build([5, 3], ([i, j]) => dot(row(x, i), row(w, j)) + bias.values[j]) },
      ]);
    }),

    ...onEach('einsum agrees with its definition', async (check) => {
      const device = await tensorDevice(check);
      const cases = FORMULAS.map(([formula, shapes]) => {
        const arrays = shapes.map((shape, k) => array(shape, [-3, 3, 1], 'f32', k));
        return { name: formula, tensor: einsumOf(formula, ...arrays.map(({ values, shape }) => device.tensor(values, shape))), array: einsum(formula, ...arrays) };
      });
      await compare(check, device, 'f32', cases);
    }),
  ],
};
