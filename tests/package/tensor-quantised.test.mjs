// Quantised weights of GGML on the CPU, by the module that is packed: the numbers of the package `gguf`, products, rows, several matrices, and what is refused.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { before, test } from 'node:test';
import * as T from '../../pkg-template/dist/tensor.js';
import { BLOCKS, blocksOf, inBytes, numbersOf, partsOf } from '../../www/checks/tensors/ggml-numbers.js';

const { default: golden } = await import('../facade/tensor-files/ggml-blocks.json', { with: { type: 'json' } });
const unpacked = (base64) => new Uint8Array(Buffer.from(base64, 'base64'));

let device;
before(async () => {
  await T.init(await readFile(new URL('../../pkg-template/wasm-tensor/residua_tensor_bg.wasm', import.meta.url)));
  device = await T.Device.create({ backend: 'cpu' });
});

const numbers = (seed, count) => Array.from({ length: count }, (_, k) => Math.fround(Math.sin(12.9898 * (k + 1) + seed) * 0.9));

/** x · wᵀ in double precision, and how far rounding may move each sum: by a rounding for each part of a term. */
function product(x, parts, [m, n, k]) {
  const cells = Array.from({ length: m * n }, (_, at) => {
    const [i, j] = [Math.floor(at / n), at % n];
    let [sum, size] = [0, 0];
    for (let l = 0; l < k; l++) {
      const [number, less] = parts[j * k + l];
      sum += x[i * k + l] * (number - less);
      size += Math.abs(x[i * k + l]) * (Math.abs(number) + Math.abs(less));
    }
    return { sum, allowed: (2 * k + 12) * 2 ** -24 * size };
  });
  return cells;
}

function assertClose(found, cells, message) {
  assert.equal(found.length, cells.length, message);
  cells.forEach(({ sum, allowed }, at) => assert.ok(Math.abs(found[at] - sum) <= allowed, `${message}, ${at}: ${found[at]} for ${sum}, within ${allowed}`));
}

for (const [type, { numbers: block, bytes: size, halves }] of Object.entries(BLOCKS)) {
  test(`${type}: a device has the numbers that the package gguf makes of blocks, bit for bit`, async () => {
    const { blocks, values } = golden[type.toUpperCase()];
    const expected = [...new Float32Array(unpacked(values).buffer)];
    assert.deepEqual(numbersOf(unpacked(blocks), type), expected, 'the definition of the tests');
    const count = expected.length;
    for (const shape of [[1, count], [count / block, block], [2, count / 2 / block, block]]) {
      const before = device.stats().tensorBytes;
      const weights = device.quantized(unpacked(blocks), shape, type);
      assert.deepEqual([weights.type, weights.shape], [type, shape]);
      assert.deepEqual([...(await weights.dequantize().data())], expected, `${shape}`);
      // A row of an odd number of blocks of q5_0 has half a record too many, as has a matrix of one block.
      const bytes = device.stats().tensorBytes - before;
      if (!(type === 'q5_0' && (shape.at(-1) / block) % 2 === 1)) assert.ok(bytes <= 1.05 * unpacked(blocks).length + 8, `${bytes} for ${unpacked(blocks).length}`);
      weights.dispose();
    }
  });

  test(`${type}: products with one row, a few and many, also where weights are on the left`, async () => {
    for (const [m, n, k] of [[1, 7, block], [1, 37, 3 * block], [4, 9, 2 * block], [9, 5, 3 * block], [70, 3, block], [3, 1, 5 * block]]) {
      const bytes = blocksOf((n * k) / block, type);
      const weights = device.quantized(bytes, [n, k], type);
      const x = numbers(m, m * k);
      const parts = partsOf(bytes, type);
      assertClose(await T.linear(device.tensor(x, [m, k]), weights).data(), product(x, parts, [m, n, k]), `${m} × ${n} × ${k}`);
      const turned = weights.dequantize().matmul(device.tensor(x, [m, k]).transpose());
      assertClose(await turned.transpose().data(), product(x, parts, [m, n, k]), `${m} × ${n} × ${k}, on the left`);
      weights.dispose();
    }
  });

  test(`${type}: products in integers are those of the rounded rows, within their bound of those in f32, and have the derivatives of the rows as they are`, async () => {
    for (const [m, n, k] of [[1, 7, block], [5, 9, 2 * block], [70, 13, 3 * block]]) {
      const bytes = blocksOf((n * k) / block, type);
      const weights = device.quantized(bytes, [n, k], type);
      // Magnitudes of blocks differ, and one block is 0.
      const x = numbers(m, m * k).map((number, at) => (at < 32 ? 0 : Math.fround(number * 2 ** ((Math.floor(at / 32) % 5) - 2))));
      const parts = partsOf(bytes, type);
      const offsets = numbers(3, n);
      const [rows, bias] = [device.tensor(x, [m, k]), device.tensor(offsets)];
      const found = await T.linear(rows, weights, { accumulate: 'int8' }).data();
      const rounded = inBytes(x);
      assertClose(found, product(rounded, parts, [m, n, k]), `${m} × ${n} × ${k}`);
      const exact = product(x, parts, [m, n, k]);
      found.forEach((sum, at) => {
        const [i, j] = [Math.floor(at / n), at % n];
        let bound = exact[at].allowed;
        for (let first = 0; first < k; first += 32) {
          const largest = Math.max(...x.slice(i * k + first, i * k + first + 32).map(Math.abs));
          for (let l = first; l < first + 32; l++) bound += (largest / 254) * (1 + 2 ** -22) * Math.abs(parts[j * k + l][0] - parts[j * k + l][1]);
        }
        assert.ok(Math.abs(sum - exact[at].sum) <= bound, `${m} × ${n} × ${k}, ${at}: ${sum} for ${exact[at].sum}, within ${bound}`);
      });
      const added = await T.linear(rows, weights, { accumulate: 'int8', bias }).data();
      added.forEach((sum, at) => assert.ok(Math.abs(sum - found[at] - offsets[at % n]) <= 2 ** -22 * (Math.abs(found[at]) + 1), `the bias at ${at}`));
      const [derivative, plain] = ['int8', 'f32'].map((accumulate) => T.grad(T.linear(rows, weights, { accumulate }).sum(), [rows])[0]);
      assert.deepEqual([...(await derivative.data())], [...(await plain.data())], 'the derivative');
      weights.dispose();
    }
  });

  test(`${type}: rows of a table, and a derivative`, async () => {
    const [rows, columns] = [5, 3 * block];
    const bytes = blocksOf((rows * columns) / block, type);
    const table = device.quantized(bytes, [rows, columns], type);
    const expected = numbersOf(bytes, type);
    const row = (id) => expected.slice(id * columns, (id + 1) * columns);
    const found = await T.embedding(device.tensor([4, 0, -2, 7], [2, 2], 'i32'), table).data();
    [row(4), row(0), row(3), Array.from({ length: columns }, () => 0)].flat().forEach((number, k) => assert.ok(found[k] === number, `${k}: ${found[k]} for ${number}`));
    const x = device.tensor(numbers(1, columns), [1, columns]);
    const [derivative] = T.grad(T.linear(x, table).sum(), [x]);
    const sums = await derivative.data();
    for (let l = 0; l < columns; l++) {
      const of = expected.filter((_, at) => at % columns === l);
      const [sum, most] = [of.reduce((a, b) => a + b, 0), of.reduce((a, b) => a + Math.abs(b), 0)];
      assert.ok(Math.abs(sums[l] - sum) <= rows * 2 ** -23 * most, `${l}: ${sums[l]} for ${sum}`);
    }
    table.dispose();
  });

  test(`${type}: several matrices, all of them and those that ids choose`, async () => {
    const [count, n, k] = [3, 5, 2 * block];
    const bytes = blocksOf((count * n * k) / block, type);
    const experts = device.quantized(bytes, [count, n, k], type);
    assert.deepEqual(experts.shape, [count, n, k]);
    const parts = partsOf(bytes, type);
    const of = (expert) => parts.slice(expert * n * k, (expert + 1) * n * k);
    for (const m of [1, 6]) {
      const x = numbers(2, count * m * k);
      const rows = (at) => x.slice(at * m * k, (at + 1) * m * k);
      const all = Array.from({ length: count }, (_, at) => product(rows(at), of(at), [m, n, k])).flat();
      assertClose(await T.linear(device.tensor(x, [count, m, k]), experts).data(), all, `${m} rows of each`);
      const ids = [2, 0, 2];
      const chosen = T.embedding(device.tensor(ids, [count], 'i32'), experts);
      assert.deepEqual(chosen.shape, [count, n, k]);
      const expected = ids.flatMap((id, at) => product(rows(at), of(id), [m, n, k]));
      assertClose(await T.linear(device.tensor(x, [count, m, k]), chosen).data(), expected, `${m} rows of those chosen`);
    }
    experts.dispose();
  });

  test(`${type}: a NaN or an infinity as a scale reaches the numbers of its block alone`, async () => {
    for (const half of [0x7e00, 0x7c00, 0xfc00]) {
      const [n, k] = [6, 2 * block];
      const bytes = blocksOf((n * k) / block, type);
      // The second block of row 1.
      new DataView(bytes.buffer).setUint16(3 * size + halves[0], half, true);
      const weights = device.quantized(bytes, [n, k], type);
      const expected = numbersOf(bytes, type);
      assert.ok(expected.slice(3 * block, 4 * block).every((number) => !Number.isFinite(number)));
      assert.deepEqual([...(await weights.dequantize().data())], expected);
      for (const m of [1, 7]) {
        const found = await T.linear(T.ones([m, k]), weights).data();
        found.forEach((sum, at) => assert.equal(Number.isFinite(sum), at % n !== 1, `${m} rows, ${at}: ${sum}`));
      }
      weights.dispose();
    }
  });

  test(`${type}: rows that are no blocks, other bytes and other numbers of axes are refused`, () => {
    const refused = (call, message) => assert.throws(call, (error) => error.code === 'invalid-argument' && message.test(error.message));
    const bytes = new Uint8Array(size);
    refused(() => device.quantized(bytes, [1, block / 2], type), new RegExp(`^quantized: shape: got rows of ${block / 2} numbers; takes rows of a multiple of ${block} numbers, as ${type} has blocks of ${block}$`));
    refused(() => device.quantized(bytes.subarray(1), [1, block], type), new RegExp(`^quantized: bytes: got ${size - 1} bytes; takes ${size}`));
    refused(() => device.quantized(bytes, [block], type), /^quantized: shape: .*two or three sizes/);
    refused(() => device.quantized(bytes, [1, 1, 1, block], type), /^quantized: shape: .*two or three sizes/);
    const weights = device.quantized(bytes, [1, block], type);
    refused(() => T.linear(T.zeros([1, block + 1]), weights), /^linear: weight/);
    weights.dispose();
  });
}

test('formats that no device computes are refused by quantize(), and others by quantized()', async () => {
  await assert.rejects(device.quantize(device.zeros([1, 256]), 'q4_K'), (error) => error.code === 'invalid-argument' && /quantize: type: got "q4_K"; takes 'q8_0' or 'q4_0'/.test(error.message));
  assert.throws(() => device.quantized(new Uint8Array(66), [1, 256], 'iq2_xxs'), (error) => error.code === 'invalid-argument' && /quantized: type/.test(error.message));
});

test('products in integers take a derivative of a batch, and keep NaN and infinities to their rows', async () => {
  const bytes = blocksOf(3 * 2 * 2, 'q4_0');
  const experts = device.quantized(bytes, [3, 2, 64], 'q4_0');
  const x = device.tensor(numbers(5, 4 * 64), [4, 64]);
  const [derivative, plain] = ['int8', 'f32'].map((accumulate) => T.grad(T.linear(x, experts, { accumulate }).sum(), [x])[0]);
  const [a, b] = [await derivative.data(), await plain.data()];
  a.forEach((number, at) => assert.ok(Math.abs(number - b[at]) <= 1e-5, `${at}: ${number} for ${b[at]}`));
  const weights = device.quantized(blocksOf(3 * 2, 'q4_0'), [3, 64], 'q4_0');
  const special = device.tensor(numbers(5, 6 * 64).map((number, at) => ({ 70: NaN, 140: Infinity, 200: 3e36, 300: 1e-42 })[at] ?? (at >= 256 && at < 320 ? 0 : number)), [6, 64]);
  const found = await T.linear(special, weights, { accumulate: 'int8' }).data();
  found.forEach((sum, at) => assert.equal(Number.isFinite(sum), ![1, 2].includes(Math.floor(at / 3)), `${at}: ${sum}`));
  assert.deepEqual(Array.from(found.subarray(12, 15)), [0, 0, 0], 'numbers whose scale is not normal');
});

test('products in integers are refused by name where they have no meaning', () => {
  const refused = (call, message) => assert.throws(call, (error) => error.code === 'invalid-argument' && message.test(error.message));
  const weights = device.quantized(new Uint8Array(18), [1, 32], 'q4_0');
  refused(() => T.linear(T.zeros([1, 32]), T.zeros([1, 32]), { accumulate: 'int8' }), /^linear: weight: got .*f32.*takes a QuantizedTensor, as accumulate is 'int8'/);
  refused(() => T.linear(T.zeros([1, 32]), weights, { accumulate: 'int4' }), /^linear: accumulate: got "int4"; takes 'f32' or 'int8'$/);
  refused(() => T.linear(T.zeros([1, 32]), weights, { acumulate: 'int8' }), /^linear: options: .*did you mean 'accumulate'/);
  refused(() => T.linear(T.zeros([1, 33]), weights, { accumulate: 'int8' }), /^linear: weight/);
  weights.dispose();
});
