/** Quantised weights: GGML's blocks, and products and rows of them. */
import { dim, embedding, grad, linear, spec, zeros } from 'residua/tensor';
import { onEach } from '../define.js';
import { compare, tensorDevice } from '../tensors/compare.js';
import { fill, unitOf } from '../tensors/numbers.js';
import { GOLDEN } from '../tensors/quantised-golden.js';

const TYPES = ['q8_0', 'q4_0'];
const BLOCK = 32;

/** The number whose half-precision bits these are. */
function ofHalf(bits) {
  const [sign, exponent, fraction] = [bits & 0x8000 ? -1 : 1, (bits >> 10) & 31, bits & 1023];
  if (exponent === 0) return sign * fraction * 2 ** -24;
  return exponent === 31 ? sign * (fraction === 0 ? Infinity : NaN) : sign * (1024 + fraction) * 2 ** (exponent - 25);
}

/** The numbers of GGML's blocks, each an f16 and 32 signed bytes, or 16 bytes with numbers k and k + 16 from 0 to 15. */
function numbersOf(bytes, type) {
  const [size, view, numbers] = [type === 'q8_0' ? 34 : 18, new DataView(bytes.buffer), []];
  for (let at = 0; at < bytes.length; at += size) {
    const scale = ofHalf(view.getUint16(at, true));
    for (let k = 0; k < BLOCK; k++) {
      const byte = view.getUint8(at + 2 + (type === 'q8_0' ? k : k % 16));
      numbers.push(scale * (type === 'q8_0' ? (byte << 24) >> 24 : ((k < 16 ? byte : byte >> 4) & 15) - 8));
    }
  }
  return numbers;
}

/** Bytes of blocks that repeat nothing, with scales of about 1/64. */
function blocksOf(count, type) {
  const size = type === 'q8_0' ? 34 : 18;
  const bytes = new Uint8Array(count * size).map((_, i) => Math.floor(((i * 0.618033988749895) % 1) * 256));
  for (let block = 0; block < count; block++) new DataView(bytes.buffer).setUint16(block * size, 0x2400 + ((block * 389) % 512), true);
  return bytes;
}

/** Sums of products of rows, and the sums of their magnitudes. */
function product(x, w, [m, n, k], bias) {
  const [values, magnitudes] = [[], []];
  for (let i = 0; i < m; i++) {
    for (let j = 0; j < n; j++) {
      let [sum, magnitude] = [bias?.[j] ?? 0, Math.abs(bias?.[j] ?? 0)];
      for (let l = 0; l < k; l++) {
        const term = x[i * k + l] * w[j * k + l];
        sum += term;
        magnitude += Math.abs(term);
      }
      values.push(sum);
      magnitudes.push(magnitude);
    }
  }
  return { array: { shape: [m, n], values }, magnitudes };
}

const BECAUSE = 'a rounding for each term and the bias, of at most the sum of magnitudes';

/** `x · weightᵀ` of a shape [rows, out, in], and what becomes of it. */
async function checkLinear(check, device, type, [m, n, k], { dtype = 'f32', bias = false } = {}) {
  const bytes = blocksOf((n * k) / BLOCK, type);
  const weight = device.quantized(bytes, [n, k], type);
  const x = fill([-1, 1], m * k, dtype);
  const added = bias ? fill([-1, 1], n, 'f32', 1) : undefined;
  const { array, magnitudes } = product(x, numbersOf(bytes, type), [m, n, k], added);
  const tensor = linear(device.tensor(x, [m, k], dtype), weight, bias ? device.tensor(added) : undefined);
  const allowed = (i) => Math.max(1, ((k + 1) * magnitudes[i] * 2 ** -24) / unitOf('f32', array.values[i]));
  await compare(check, device, 'f32', [{ name: `${type} ${m} × ${n} × ${k}`, tensor, array, allowed, because: BECAUSE }]);
  weight.dispose();
}

/** Rows about those of the kernels, with columns that are multiples of no tile, and in whole tiles. */
const SIZES = [[1, 70, 96], [3, 33, 64], [8, 40, 160], [9, 70, 96], [64, 64, 64], [200, 130, 96], [1, 128, 2048], [2, 12, 8192], [129, 64, 2080], [1, 1, 32]];
/** Those of the quick checks: each is a kernel, which software devices compile slowly. */
const FEW_SIZES = [[1, 70, 96], [9, 70, 96]];

export const group = {
  id: 'tensor-quantised',
  title: 'Tensors: quantised weights',
  about: 'Weights in blocks of 32 with a scale: GGML’s bytes, rounding as the package gguf has it, and products with the numbers in double precision.',
  checks: [
    ...onEach('blocks of GGML have its numbers, and quantize() gives its bits', async (check) => {
      const device = await tensorDevice(check);
      const { shape, weights } = GOLDEN;
      for (const type of TYPES) {
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

    ...onEach('linear with quantised weights agrees with its definition', async (check) => {
      const device = await tensorDevice(check);
      for (const type of TYPES) for (const size of FEW_SIZES) await checkLinear(check, device, type, size);
    }),
    ...onEach('linear with quantised weights of all sizes', async (check) => {
      const device = await tensorDevice(check);
      for (const type of TYPES) for (const size of SIZES) await checkLinear(check, device, type, size, { bias: size[0] % 2 === 1 });
      for (const type of TYPES) await checkLinear(check, device, type, [12, 36, 64], { dtype: 'f16', bias: true });
    }, { long: true }),
    ...onEach('linear with quantised weights takes halves and a bias', async (check) => {
      const device = await tensorDevice(check);
      for (const type of TYPES) await checkLinear(check, device, type, [1, 36, 64], { dtype: 'f16', bias: true });
    }),

    ...onEach('an activation, batches and a number of rows told at each run follow a quantised product', async (check) => {
      const device = await tensorDevice(check);
      const [n, k, most] = [20, 64, 12];
      const bytes = blocksOf((n * k) / BLOCK, 'q4_0');
      const weight = device.quantized(bytes, [n, k], 'q4_0');
      const rows = dim('rows', most);
      const program = await device.compile({ x: spec('f32', [rows, k]) }, ({ x }) => linear(x.reshape([1, rows, k]), weight).relu().squeeze(0));
      for (const m of [1, 5, 12]) {
        const x = fill([-1, 1], m * k, 'f32', m % 3);
        const { array, magnitudes } = product(x, numbersOf(bytes, 'q4_0'), [m, n, k]);
        const values = array.values.map((value) => Math.max(value, 0));
        const floor = Math.max(...magnitudes);
        await compare(check, device, 'f32', [{ name: `${m} rows`, tensor: program.run({ x }, { rows: m }), array: { shape: [m, n], values }, allowed: k, floor, because: 'a rounding for each term, of at most the sum of magnitudes' }]);
      }
    }),

    ...onEach('embedding reads rows of a quantised table, and a derivative passes quantised weights', async (check) => {
      const device = await tensorDevice(check);
      const [rows, columns] = [7, 64];
      for (const type of TYPES) {
        const bytes = blocksOf((rows * columns) / BLOCK, type);
        const numbers = numbersOf(bytes, type);
        const table = device.quantized(bytes, [rows, columns], type);
        const ids = [3, 0, -1, 9];
        const row = (id) => (id < rows && id >= -rows ? numbers.slice(((id + rows) % rows) * columns, ((id + rows) % rows) * columns + columns) : Array.from({ length: columns }, () => 0));
        const x = device.tensor(fill([-1, 1], columns, 'f32'), [1, columns]);
        const [derivative] = grad(linear(x, table).sum(), [x]);
        const sums = Array.from({ length: columns }, (_, l) => Array.from({ length: rows }, (_, j) => numbers[j * columns + l]).reduce((sum, number) => sum + number, 0));
        await compare(check, device, 'f32', [
          { name: `rows of ${type}`, tensor: embedding(device.tensor(ids, [2, 2], 'i32'), table), array: { shape: [2, 2, columns], values: ids.flatMap(row) } },
          { name: `the derivative through ${type}`, tensor: derivative, array: { shape: [1, columns], values: sums }, allowed: rows, floor: 28, because: 'a rounding for each of 7 terms, whose magnitudes sum to less than 28' },
        ]);
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
        'quantized: type': () => device.quantized(bytes, [1, 32], 'q5_0'),
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
