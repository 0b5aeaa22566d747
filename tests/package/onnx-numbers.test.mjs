// Numbers that a model computes: in memory as on the device, scores of attention, and weights of few bits.
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import * as T from '../../pkg-template/dist/tensor.js';
import { assertClose, device, outputsOf, single, start, TOLERANCE, withModel, y } from '../onnx/loaded.mjs';
import { noise } from '../onnx/made.mjs';
import { model } from '../onnx/writer.mjs';

before(start);

/** Masked scores of attention, by sums in f64: [softcap and mask, softmax, result] of one head, where `sees` tells the keys of a query. */
function attentionBy(q, k, v, scale, softcap, sees) {
  const raw = q.map((row) => k.map((column) => scale * row.reduce((sum, x, i) => sum + x * column[i], 0)));
  const capped = raw.map((row) => row.map((x) => softcap * Math.tanh(x / softcap)));
  const masked = capped.map((row, i) => row.map((x, j) => (sees(i, j) ? x : -Infinity)));
  const weights = masked.map((row) => row.map((x) => Math.exp(x) / row.reduce((sum, each) => sum + Math.exp(each), 0)));
  return { scores: [raw, capped, masked, weights].map((rows) => rows.flat()), y: weights.flatMap((row) => v[0].map((_, c) => row.reduce((sum, x, j) => sum + x * v[j][c], 0))) };
}

test('attention gives its scores at four places, with the mask of all limits, and takes a past of any size', async () => {
  const [past, tokens, size] = [2, 3, 4];
  const rows = (count, seed) => Array.from({ length: count }, (_, i) => noise(count * size, seed).slice(i * size, (i + 1) * size));
  const [q, k, v] = [rows(tokens, 1), rows(past + tokens, 2), rows(past + tokens, 3)];
  const input = (name, count) => ({ name, type: 'float', shape: [1, 1, count, size] });
  const head = (list) => list.flat();
  for (const [limits, sees] of [
    [{}, () => true], [{ is_causal: 1 }, (i, j) => j <= past + i], [{ is_causal: 1, left_window_size: 1 }, (i, j) => j <= past + i && j >= past + i - 1],
    [{ left_window_size: 1 }, (i, j) => j >= past + i - 1], [{ left_window_size: 2, right_window_size: 1 }, (i, j) => j >= past + i - 2 && j <= past + i + 1],
  ]) {
    const { scores, y: expected } = attentionBy(q, k, v, 0.5, 3, sees);
    for (const [mode, right] of scores.entries()) for (const dims of [{}, { past: T.dim('past', 8) }]) {
      const inputs = [input('q', tokens), input('k', tokens), input('v', tokens), input('pk', 'past'), input('pv', 'past')];
      const file = model({ opset: 25, nodes: [{ op: 'Attention', inputs: ['q', 'k', 'v', '', 'pk', 'pv'], outputs: ['y', '', '', 's'], attributes: { scale: { float: 0.5 }, softcap: { float: 3 }, qk_matmul_output_mode: mode, ...limits } }], inputs, outputs: [y, { name: 's', type: 'float' }] });
      await withModel(file, async (loaded) => {
        const feeds = { q: head(q), k: head(k.slice(past)), v: head(v.slice(past)), pk: { data: head(k.slice(0, past)), shape: [1, 1, past, size] }, pv: { data: head(v.slice(0, past)), shape: [1, 1, past, size] } };
        const found = await outputsOf(loaded, feeds);
        assertClose(found.y.data, expected);
        found.s.data.forEach((x, i) => assert.ok(x === right[i] || Math.abs(x - right[i]) <= TOLERANCE, `mode ${mode} of ${JSON.stringify(limits)}: element ${i} is ${x}, not ${right[i]}`));
      }, { dims });
    }
  }
});

describe('numbers in memory', () => {
  /** The same nodes over a constant and over an input: all that they give. */
  const both = (nodes, type, data, outType = 'float', sizes = [data.length], others = []) => model({
    nodes: ['c', 'x'].flatMap((name) => nodes.map((node) => ({ ...node, inputs: node.inputs.map((each) => (each.startsWith('$') ? each.replace('$', name) : each)), outputs: node.outputs.map((each) => each.replace('$', name)) }))),
    initializers: [{ name: 'c0', type, sizes, data }, ...others], inputs: [{ name: 'x0', type, shape: sizes }], outputs: ['c', 'x'].map((name) => ({ name: `${name}y`, type: outType })),
  });
  const assertBoth = (file, x0, expected) => withModel(file, async (loaded) => {
    const { cy, xy } = await outputsOf(loaded, { x0 });
    assert.deepEqual([cy.data, xy.data], [expected, expected]);
  });

  test('casts to floats of 16 bits round, of two to the even one', async () => {
    const numbers = [0.1, 70000, -65519, 1.00390625, 1.01171875, 1e-8, -Infinity, NaN].map(Math.fround);
    // Of 8 bits 1 + 2⁻⁸ and 1 + 3·2⁻⁸ are halves; half precision has 11 bits, and ends at 65504.
    for (const [code, expected] of [[16, [0.10009765625, 70144, -65536, 1, 1.015625, 1.0011717677116394e-8, -Infinity, NaN]], [10, [0.0999755859375, Infinity, -65504, 1.00390625, 1.01171875, 0, -Infinity, NaN]]]) {
      await assertBoth(both([{ op: 'Cast', inputs: ['$0'], outputs: ['$1'], attributes: { to: code } }, { op: 'Cast', inputs: ['$1'], outputs: ['$y'], attributes: { to: 1 } }], 'float', numbers), numbers, expected);
    }
  });

  test('products and sums of integers keep their low bits, in whatever many steps', async () => {
    const product = BigInt(123456789) * BigInt(987654321);
    const low = Number(BigInt.asIntN(32, product));
    await assertBoth(both([{ op: 'Mul', inputs: ['$0', 'k'], outputs: ['$y'] }], 'int32', [123456789, -3, 65536], 'int32', [3], [{ name: 'k', type: 'int32', sizes: [3], data: [987654321, 5, 65536] }]), [123456789, -3, 65536], [low, -15, 0]);
    assert.equal(low, -67153019);
    const reduced = (op, data, expected, type = 'int32') => assertBoth(both([{ op, inputs: ['$0'], outputs: ['$y'], attributes: { keepdims: 0 } }], type, data, type), data, [expected]);
    await reduced('ReduceProd', [123456789, 100], Number(BigInt.asIntN(32, 12345678900n)));
    await reduced('ReduceProd', [123456789, 987654321, 3], Number(BigInt.asIntN(32, 3n * product)));
    await reduced('ReduceProd', [4000000000, 4000000001], Number(BigInt.asUintN(32, 4000000000n * 4000000001n)), 'uint32');
    await reduced('ReduceSum', [2147483647, 2, -5], 2147483644);
    await reduced('ReduceSum', [2147483647, 2147483647, 7], 5);
    // A sum of half precision is rounded once: 2048 and 1 would stay 2048.
    await reduced('ReduceSum', [2048, 1, 1, 1, 1], 2052, 'float16');
    // Of a product of 73 bits the low 64 are left.
    const wide = model({ nodes: [{ op: 'Mul', inputs: ['a', 'b'], outputs: ['p'] }, { op: 'Div', inputs: ['p', 'd'], outputs: ['y'] }], initializers: [['a', 6364136223846793], ['b', 1048576], ['d', 2 ** 32]].map(([name, data]) => ({ name, type: 'int64', sizes: [], data: [data] })), inputs: [{ name: 'x', type: 'float', shape: [] }], outputs: [{ ...y, type: 'int64' }] });
    await withModel(wide, async (loaded) => assert.deepEqual((await outputsOf(loaded, { x: 0 })).y.data, [Number(BigInt.asIntN(64, 6364136223846793n << 20n) / 2n ** 32n)]));
  });
});

test('weights of products of integers stay as bytes, and those of DequantizeLinear are f32', async () => {
  const [x, b] = [{ name: 'x', type: 'float', shape: [1, 128] }, { name: 'b', type: 'int8', sizes: [128, 128], data: Array.from({ length: 128 * 128 }, (_, i) => (i % 200) - 100) }];
  const scale = { name: 's', type: 'float', sizes: [], data: [0.5] };
  const dequantised = model({ nodes: [{ op: 'DequantizeLinear', inputs: ['b', 's'], outputs: ['w'] }, { op: 'MatMul', inputs: ['x', 'w'], outputs: ['y'] }], initializers: [b, scale], inputs: [x], outputs: [y] });
  for (const [file, bytesEach] of [[single('MatMulInteger', [{ ...x, type: 'uint8' }], [{ ...y, type: 'int32' }], { initializers: [b] }), 1], [dequantised, 4]]) {
    await withModel(file, async () => (await device.synchronize(), assert.equal(device.stats().tensorBytes, bytesEach * 128 * 128)));
  }
});

describe('sizes of pictures', () => {
  const row = (width) => ({ name: 'x', type: 'float', shape: [1, 1, 1, width] });
  const resized = (data, input, attributes) => {
    const file = single('Resize', [row(data.length)], [y], { initializers: [{ name: 'r', type: 'float', sizes: [0], data: [] }, ...input], attributes });
    return withModel(file, async (loaded) => (await outputsOf(loaded, { x: data })).y);
  };
  const scales = (scale) => [{ name: 'by', type: 'float', sizes: [4], data: [1, 1, 1, scale] }];

  test('a scale is of single precision, and so is the number of places that it leads to', async () => {
    // 2.6 in single precision is below 2.6, and 5 times that rounds to 13 there. So do 10 times 0.7, to 7, and 3 times 1.4 stays below 4.2.
    for (const [extent, scale, places] of [[5, 2.6, 13], [10, 0.7, 7], [3, 1.4, 4]]) {
      const { shape } = await resized(noise(extent), scales(scale), { mode: 'nearest' });
      assert.deepEqual(shape, [1, 1, 1, places], `${extent} by ${scale}`);
    }
  });

  test('the one place that pytorch_half_pixel leaves is the first pixel, also where more than one is read', async () => {
    const sizes = [{ name: 'by', type: 'float', sizes: [0], data: [] }, { name: 's', type: 'int64', sizes: [4], data: [1, 1, 1, 1] }];
    const data = noise(4);
    const place = async (mode) => (await resized(data, sizes, { mode, coordinate_transformation_mode: 'pytorch_half_pixel' })).data;
    assertClose(await place('cubic'), [data[0]]);
    assertClose(await place('linear'), [data[0]]);
  });
});

test('a recurrent layer with weights of 8 bits quantises all inputs at once, and the states of each step', async () => {
  const [steps, batch, width, size] = [4, 2, 3, 2];
  const [x, bias] = [noise(steps * batch * width, 3).map((each) => 2 * each), noise(16 * size, 4)];
  const bytesOf = (count, seed) => noise(count, seed).map((each) => Math.round(each * 100));
  const [w, r] = [bytesOf(2 * width * 4 * size, 5), bytesOf(2 * size * 4 * size, 6)];
  const scales = { w: [0.01, 0.02], r: [0.015, 0.03] };
  const initializers = [
    { name: 'w', type: 'int8', sizes: [2, width, 4 * size], data: w }, { name: 'r', type: 'int8', sizes: [2, size, 4 * size], data: r }, { name: 'b', type: 'float', sizes: [2, 8 * size], data: bias },
    { name: 'ws', type: 'float', sizes: [2], data: scales.w }, { name: 'rs', type: 'float', sizes: [2], data: scales.r },
    ...['wz', 'rz'].map((name) => ({ name, type: 'int8', sizes: [2], data: [0, 0] })), { name: 'n', type: 'int32', sizes: [batch], data: [4, 2] },
  ];
  const file = (lengths) => model({
    opset: 14, opsets: { 'com.microsoft': 1 }, initializers, inputs: [{ name: 'x', type: 'float', shape: [steps, batch, width] }], outputs: [y],
    nodes: [{ op: 'DynamicQuantizeLSTM', domain: 'com.microsoft', inputs: ['x', 'w', 'r', 'b', lengths, '', '', '', 'ws', 'wz', 'rs', 'rz'], outputs: ['y'], attributes: { hidden_size: size, direction: 'bidirectional' } }],
  });

  /** Numbers as 8 bits keep them, from the smallest to the largest and 0 among them. */
  const kept = (numbers) => {
    const [low, high] = [Math.min(0, ...numbers), Math.max(0, ...numbers)];
    const step = (high - low) / 255;
    const zero = Math.round(-low / step);
    return numbers.map((each) => (step === 0 ? 0 : (Math.min(Math.max(Math.round(each / step) + zero, 0), 255) - zero) * step));
  };
  const sigmoid = (each) => 1 / (1 + Math.exp(-each));
  const expected = [];
  const inputs = kept(x);
  for (const d of [0, 1]) {
    let [hidden, cell] = [0, 1].map(() => Array.from({ length: batch * size }, () => 0));
    for (let i = 0; i < steps; i++) {
      const t = d === 0 ? i : steps - 1 - i;
      const state = kept(hidden);
      const gate = (n, k, j) => {
        const column = k * size + j;
        const at = (weights, rows, row) => weights[(d * rows + row) * 4 * size + column];
        let sum = bias[d * 8 * size + column] + bias[d * 8 * size + 4 * size + column];
        for (let c = 0; c < width; c++) sum += inputs[(t * batch + n) * width + c] * at(w, width, c) * scales.w[d];
        for (let c = 0; c < size; c++) sum += state[n * size + c] * at(r, size, c) * scales.r[d];
        return sum;
      };
      cell = cell.map((before, p) => {
        const [n, j] = [Math.floor(p / size), p % size];
        return sigmoid(gate(n, 2, j)) * before + sigmoid(gate(n, 0, j)) * Math.tanh(gate(n, 3, j));
      });
      hidden = cell.map((now, p) => sigmoid(gate(Math.floor(p / size), 1, p % size)) * Math.tanh(now));
      hidden.forEach((each, p) => (expected[(t * 2 + d) * batch * size + p] = each));
    }
  }
  await withModel(file(''), async (loaded) => {
    const found = (await outputsOf(loaded, { x })).y;
    assert.deepEqual(found.shape, [steps, 2, batch, size]);
    assertClose(found.data, expected);
  });
  await withModel(file('n'), (loaded) => assert.rejects(loaded.run({ x }), { code: 'invalid-argument', message: /DynamicQuantizeLSTM.*input 4: got lengths of sequences; takes none/ }));
});
