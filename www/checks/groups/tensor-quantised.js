/** Quantised weights: GGML's blocks, and products and rows of them. */
import { dim, embedding, grad, linear, spec, zeros } from 'residua/tensor';
import { onEach } from '../define.js';
import { compare, tensorDevice } from '../tensors/compare.js';
import { fill, unitOf } from '../tensors/numbers.js';
import { BLOCKS, blocksOf, inBytes, numbersOf, partsOf } from '../tensors/ggml-numbers.js';
import { GOLDEN } from '../tensors/quantised-golden.js';

/** Formats that devices compute. */
const COMPUTED = ['q8_0', 'q4_0'];
const TYPES = Object.keys(BLOCKS);
/** Those of the quick checks: each kernel is compiled slowly on software devices. */
const FEW_TYPES = ['q8_0', 'q4_0', 'q4_K', 'q6_K', 'q5_0', 'q3_K'];

/** Columns of whole blocks, at least so many. */
const columnsOf = (type, k) => Math.ceil(k / BLOCKS[type].numbers) * BLOCKS[type].numbers;

/** Sums of products of rows, and the sums of their magnitudes. Numbers of the weights are in two parts, of which the second is taken away. */
function product(x, parts, [m, n, k], bias) {
  const [values, magnitudes] = [[], []];
  for (let i = 0; i < m; i++) {
    for (let j = 0; j < n; j++) {
      let [sum, magnitude] = [bias?.[j] ?? 0, Math.abs(bias?.[j] ?? 0)];
      for (let l = 0; l < k; l++) {
        const [number, less] = parts[j * k + l];
        sum += x[i * k + l] * (number - less);
        magnitude += Math.abs(x[i * k + l]) * (Math.abs(number) + Math.abs(less));
      }
      values.push(sum);
      magnitudes.push(magnitude);
    }
  }
  return { array: { shape: [m, n], values }, magnitudes };
}

const BECAUSE = 'a rounding for each part of a term and the bias, of at most the sum of magnitudes';
/** Units of the last place by which the sum of a product may differ. */
const unitsOf = ({ array, magnitudes }, k) => (i) => Math.max(1, ((2 * k + 1) * magnitudes[i] * 2 ** -24) / unitOf('f32', array.values[i]));

/** `x · weightᵀ` of a shape [rows, out, in], where `in` is rounded up to whole blocks, and what becomes of it. */
async function checkLinear(check, device, type, [m, n, least], { dtype = 'f32', bias = false, accumulate = 'f32' } = {}) {
  const k = columnsOf(type, least);
  const bytes = blocksOf((n * k) / BLOCKS[type].numbers, type);
  const weight = device.quantized(bytes, [n, k], type);
  const x = fill([-1, 1], m * k, dtype);
  const added = bias ? fill([-1, 1], n, 'f32', 1) : undefined;
  const expected = product(accumulate === 'int8' ? inBytes(x) : x, partsOf(bytes, type), [m, n, k], added);
  const tensor = linear(device.tensor(x, [m, k], dtype), weight, { accumulate, ...(bias ? { bias: device.tensor(added) } : {}) });
  await compare(check, device, 'f32', [{ name: `${type} ${m} × ${n} × ${k}`, tensor, array: expected.array, allowed: unitsOf(expected, k), because: BECAUSE }]);
  weight.dispose();
}

/** The numbers of blocks, and rows of a table. */
async function checkNumbers(check, device, type) {
  const [rows, columns] = [7, columnsOf(type, 96)];
  const bytes = blocksOf((rows * columns) / BLOCKS[type].numbers, type);
  const numbers = numbersOf(bytes, type);
  const table = device.quantized(bytes, [rows, columns], type);
  const ids = [3, 0, -1, 9];
  const row = (id) => (id < rows && id >= -rows ? numbers.slice(((id + rows) % rows) * columns, ((id + rows) % rows) * columns + columns) : Array.from({ length: columns }, () => 0));
  await compare(check, device, 'f32', [
    { name: `the blocks of ${type}`, tensor: table.dequantize(), array: { shape: [rows, columns], values: numbers } },
    { name: `rows of ${type}`, tensor: embedding(device.tensor(ids, [2, 2], 'i32'), table), array: { shape: [2, 2, columns], values: ids.flatMap(row) } },
  ]);
  table.dispose();
}

/** Products with several matrices, all of them and those that ids choose. */
async function checkMatrices(check, device, type, m) {
  const [count, n, k] = [3, 12, columnsOf(type, 64)];
  const bytes = blocksOf((count * n * k) / BLOCKS[type].numbers, type);
  const experts = device.quantized(bytes, [count, n, k], type);
  const parts = partsOf(bytes, type);
  const x = fill([-1, 1], count * m * k, 'f32');
  const tensor = device.tensor(x, [count, m, k]);
  const ids = [2, 0, 2];
  const expected = (matrices) => {
    const all = matrices.map((matrix, at) => product(x.slice(at * m * k, (at + 1) * m * k), parts.slice(matrix * n * k, (matrix + 1) * n * k), [m, n, k]));
    const array = { shape: [count, m, n], values: all.flatMap(({ array }) => array.values) };
    return { array, allowed: unitsOf({ array, magnitudes: all.flatMap(({ magnitudes }) => magnitudes) }, k), because: BECAUSE };
  };
  await compare(check, device, 'f32', [
    { name: `all matrices of ${type}, ${m} rows each`, tensor: linear(tensor, experts), ...expected([0, 1, 2]) },
    { name: `chosen matrices of ${type}, ${m} rows each`, tensor: linear(tensor, embedding(device.tensor(ids, [count], 'i32'), experts)), ...expected(ids) },
  ]);
  experts.dispose();
}

/** Rows about those of the kernels, with columns that are multiples of no tile, and in whole tiles. */
const SIZES = [[1, 70, 96], [3, 33, 64], [8, 40, 160], [9, 70, 96], [64, 64, 64], [200, 130, 96], [1, 128, 2048], [2, 12, 8192], [129, 64, 2080], [1, 1, 32]];
/** Those of the quick checks: each is a kernel, which software devices compile slowly. */
const FEW_SIZES = [[1, 70, 96], [9, 70, 96]];

export const group = {
  id: 'tensor-quantised',
  title: 'Tensors: quantised weights',
  about: 'Weights in blocks: the formats of GGML, rounding as the package gguf has it, and products with the numbers in double precision.',
  checks: [
    ...onEach('blocks of GGML have its numbers, and quantize() gives its bits', async (check) => {
      const device = await tensorDevice(check);
      const { shape, weights } = GOLDEN;
      for (const type of COMPUTED) {
        const array = { shape, values: numbersOf(GOLDEN[type], type) };
        const [stored, computed] = [device.quantized(GOLDEN[type], shape, type), await device.quantize(device.tensor(weights, shape), type)];
        check.same([computed.type, ...computed.shape], [type, ...shape], 'its type and shape');
        await compare(check, device, 'f32', [
          { name: `the blocks of ${type}`, tensor: stored.dequantize(), array },
          { name: `quantize to ${type}`, tensor: computed.dequantize(), array },
        ]);
      }
    }),

    ...onEach('quantize() takes half precision, and numbers of the application’s view', async (check) => {
      const device = await tensorDevice(check);
      const halves = fill([-2, 2], 64, 'f16');
      const weights = device.tensor(halves, [2, 32], 'f16');
      const [wide, narrow] = [await device.quantize(weights.cast('f32'), 'q8_0'), await device.quantize(weights, 'q8_0')];
      const [a, b] = await device.read(wide.dequantize(), narrow.dequantize());
      check.same([...b], [...a], 'the numbers of halves');
      check.close(Math.max(...halves.map((half, k) => Math.abs(half - a[k]))), 0, { within: 2 / 127 / 2 + 2 ** -9, because: 'half a step of the largest scale, and the rounding of the scale' }, 'the largest error');
      const shifted = new Uint8Array([7, ...GOLDEN.q4_0]).subarray(1);
      const array = { shape: GOLDEN.shape, values: numbersOf(GOLDEN.q4_0, 'q4_0') };
      await compare(check, device, 'f32', [{ name: 'bytes from 1 on', tensor: device.quantized(shifted, GOLDEN.shape, 'q4_0').dequantize(), array }]);
    }),

    ...onEach('formats of GGML have the numbers of their definition, also by rows', async (check) => {
      const device = await tensorDevice(check);
      for (const type of FEW_TYPES) await checkNumbers(check, device, type);
    }),
    ...onEach('all formats of GGML have the numbers of their definition, also by rows', async (check) => {
      const device = await tensorDevice(check);
      for (const type of TYPES) await checkNumbers(check, device, type);
    }, { long: true }),
    ...onEach('linear with quantised weights agrees with its definition', async (check) => {
      const device = await tensorDevice(check);
      for (const type of FEW_TYPES) for (const size of FEW_SIZES) await checkLinear(check, device, type, size);
    }),
    ...onEach('linear with quantised weights of all formats and sizes', async (check) => {
      const device = await tensorDevice(check);
      for (const type of TYPES) for (const size of SIZES) await checkLinear(check, device, type, size, { bias: size[0] % 2 === 1 });
      for (const type of TYPES) await checkLinear(check, device, type, [12, 36, 64], { dtype: 'f16', bias: true });
    }, { long: true }),
    ...onEach('linear in integers is that of rows that are rounded to bytes', async (check) => {
      const device = await tensorDevice(check);
      for (const type of FEW_TYPES) for (const size of FEW_SIZES) await checkLinear(check, device, type, size, { accumulate: 'int8' });
    }),
    ...onEach('linear in integers is that of rows that are rounded to bytes, of all formats and sizes', async (check) => {
      const device = await tensorDevice(check);
      for (const type of TYPES) for (const size of SIZES) await checkLinear(check, device, type, size, { accumulate: 'int8', bias: size[0] % 2 === 1 });
    }, { long: true }),
    ...onEach('linear with quantised weights takes halves and a bias', async (check) => {
      const device = await tensorDevice(check);
      for (const type of COMPUTED) await checkLinear(check, device, type, [1, 36, 64], { dtype: 'f16', bias: true });
    }),
    ...onEach('several matrices of quantised weights are multiplied as they are, and those that ids choose', async (check) => {
      const device = await tensorDevice(check);
      for (const type of ['q4_K', 'q6_K']) await checkMatrices(check, device, type, 1);
    }),
    ...onEach('several matrices of quantised weights of all formats', async (check) => {
      const device = await tensorDevice(check);
      for (const type of TYPES) for (const m of [1, 9]) await checkMatrices(check, device, type, m);
    }, { long: true }),
    ...onEach('weights of two formats are multiplied side by side', async (check) => {
      const device = await tensorDevice(check);
      const [n, k] = [24, 256];
      const x = fill([-1, 1], k, 'f32');
      const row = device.tensor(x, [1, k]);
      const outputs = [];
      for (const type of ['q4_K', 'q6_K', 'q4_0']) {
        const bytes = blocksOf((n * k) / BLOCKS[type].numbers, type);
        const expected = product(x, partsOf(bytes, type), [1, n, k]);
        outputs.push({ type, weight: device.quantized(bytes, [n, k], type), expected });
      }
      const program = await device.compile({ x: spec('f32', [1, k]) }, ({ x }) => outputs.map(({ weight }) => linear(x, weight)));
      const found = program.run({ x: row });
      await compare(check, device, 'f32', outputs.map(({ type, expected }, at) => ({ name: type, tensor: found[at], array: expected.array, allowed: unitsOf(expected, k), because: BECAUSE })));
    }),

    ...onEach('an activation, batches and a number of rows told at each run follow a quantised product', async (check) => {
      const device = await tensorDevice(check);
      const [n, k, most] = [20, 64, 12];
      const bytes = blocksOf((n * k) / 32, 'q4_0');
      const weight = device.quantized(bytes, [n, k], 'q4_0');
      const rows = dim('rows', most);
      const program = await device.compile({ x: spec('f32', [rows, k]) }, ({ x }) => linear(x.reshape([1, rows, k]), weight).relu().squeeze(0));
      for (const m of [1, 5, 12]) {
        const x = fill([-1, 1], m * k, 'f32', m % 3);
        const { array, magnitudes } = product(x, partsOf(bytes, 'q4_0'), [m, n, k]);
        const values = array.values.map((value) => Math.max(value, 0));
        const floor = Math.max(...magnitudes);
        await compare(check, device, 'f32', [{ name: `${m} rows`, tensor: program.run({ x }, { rows: m }), array: { shape: [m, n], values }, allowed: k, floor, because: 'a rounding for each term, of at most the sum of magnitudes' }]);
      }
    }),

    ...onEach('a derivative passes quantised weights', async (check) => {
      const device = await tensorDevice(check);
      for (const type of ['q8_0', 'q4_K']) {
        const [rows, columns] = [7, columnsOf(type, 64)];
        const bytes = blocksOf((rows * columns) / BLOCKS[type].numbers, type);
        const numbers = numbersOf(bytes, type);
        const x = device.tensor(fill([-1, 1], columns, 'f32'), [1, columns]);
        const [derivative] = grad(linear(x, device.quantized(bytes, [rows, columns], type)).sum(), [x]);
        const sums = Array.from({ length: columns }, (_, l) => Array.from({ length: rows }, (_, j) => numbers[j * columns + l]).reduce((sum, number) => sum + number, 0));
        await compare(check, device, 'f32', [{ name: type, tensor: derivative, array: { shape: [1, columns], values: sums }, allowed: rows, floor: 28, because: 'a rounding for each of 7 terms, whose magnitudes sum to less than 28' }]);
      }
    }),

    ...onEach('quantised weights refuse other shapes, bytes and uses after dispose()', async (check) => {
      const device = await tensorDevice(check);
      const bytes = new Uint8Array(34);
      const calls = {
        'quantized: bytes': () => device.quantized(new Uint8Array(33), [1, 32], 'q8_0'),
        'quantized: bytes:': () => device.quantized([1, 2], [1, 32], 'q8_0'),
        'quantized: shape': () => device.quantized(bytes, [1, 31], 'q8_0'),
        'quantized: shape:': () => device.quantized(bytes, [32], 'q8_0'),
        'quantized: shape: got rows of 128': () => device.quantized(bytes, [1, 128], 'q4_K'),
        'quantized: type': () => device.quantized(bytes, [1, 32], 'iq2_xs'),
      };
      for (const [argument, call] of Object.entries(calls)) {
        const error = await check.failure(call);
        check.ok(error.code === 'invalid-argument' && error.message.startsWith(argument), `${argument}: ${error.message}`);
      }
      const wrong = { 'a vector': device.zeros([32]), 'no whole blocks': device.zeros([2, 33]), integers: device.zeros([2, 32], 'i32') };
      for (const [name, weights] of Object.entries(wrong)) check.equal((await check.failure(device.quantize(weights, 'q4_0'))).code, 'invalid-argument', name);
      const before = device.stats();
      const weight = device.quantized(bytes, [1, 32], 'q8_0');
      check.equal(device.stats().tensors, before.tensors + 1, 'tensors with quantised weights');
      const refused = await check.failure(() => linear(zeros([1, 33]), weight));
      check.equal(refused.code, 'invalid-argument', 'the code of a wrong depth');
      const recipe = linear(device.tensor([...bytes.subarray(2)], [1, 32]), weight);
      weight.dispose();
      weight.dispose();
      check.ok(weight.isDisposed, 'it is disposed of');
      check.equal((await check.failure(recipe.data())).code, 'disposed', 'a recipe over it');
      await device.synchronize();
      check.equal(device.stats().tensorBytes, before.tensorBytes + 128, 'the bytes of the plain tensor since then');
    }),
  ],
};
