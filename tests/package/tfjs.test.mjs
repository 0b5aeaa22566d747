// Models of TensorFlow.js on the CPU, by the module that is packed: their outputs are those that TensorFlow.js computes itself, which tests/tfjs/make.mjs
// keeps.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { before, describe, test } from 'node:test';
import { dim } from '../../pkg-template/dist/tensor.js';
import { loadTfjs } from '../../pkg-template/dist/tensor-tfjs.js';
import { assertSame, cases, device, fileOf, outputsOf, start, withModel } from '../tfjs/loaded.mjs';

before(start);

for (const kind of ['layers', 'graphs']) {
  test(`the made models of ${kind} give what they give in TensorFlow.js`, { timeout: 600_000 }, async () => {
    const wrong = [];
    const all = cases(kind);
    for (const given of all) {
      try {
        await withModel(fileOf(given), async (model) => {
          const found = await outputsOf(model, Object.fromEntries(given.inputs.map(({ name, shape, data }) => [name, { shape, data }])));
          const names = model.outputs.map(({ name }) => name);
          assert.equal(names.length, given.outputs.length);
          given.outputs.forEach((expected, k) => assertSame(found[expected.name ?? names[k]], expected, `output ${names[k]}`));
        });
      } catch (error) {
        wrong.push(`${given.name}: ${error.message}`);
      }
    }
    assert.ok(all.length > 60);
    assert.deepEqual(wrong, []);
  });
}

test('every weight that a manifest may have is read: types, scales, several files and groups', async () => {
  const nodes = (names) => [...names.map((name) => ({ name, op: 'Const', attr: {} })), ...names.map((name) => ({ name: `${name}_f`, op: 'Cast', input: [name], attr: { DstT: { type: 'DT_FLOAT' } } }))];
  const specs = [
    { name: 'single', shape: [2], dtype: 'float32' }, { name: 'whole', shape: [2], dtype: 'int32' }, { name: 'byte', shape: [3], dtype: 'uint8' }, { name: 'truth', shape: [2], dtype: 'bool' },
    { name: 'half', shape: [2], dtype: 'float32', quantization: { dtype: 'float16', original_dtype: 'float32' } },
    { name: 'scaled', shape: [2], dtype: 'float32', quantization: { dtype: 'uint8', scale: 0.5, min: -10, original_dtype: 'float32' } },
    { name: 'fine', shape: [2], dtype: 'float32', quantization: { dtype: 'uint16', scale: 0.25, min: 1 } },
    { name: 'rounded', shape: [2], dtype: 'int32', quantization: { dtype: 'uint8', scale: 0.4, min: -3 } },
    { name: 'large', shape: [5000], dtype: 'float32', quantization: { dtype: 'uint16', scale: 2, min: -1 } },
  ];
  const numbers = [new Float32Array([1.5, -2]), new Int32Array([7, -2147483648]), new Uint8Array([0, 128, 255]), new Uint8Array([0, 1]), new Uint16Array([0x3c00, 0xc100]), new Uint8Array([0, 201]), new Uint16Array([0, 65535]), new Uint8Array([0, 9]), new Uint16Array(5000).map((_, i) => 13 * i)];
  const expected = [[1.5, -2], [7, -2147483648], [0, 128, 255], [0, 1], [1, -2.5], [-10, 90.5], [1, 16384.75], [-3, 1], Array.from({ length: 5000 }, (_, i) => 26 * i - 1)];
  const bytes = numbers.map(({ buffer }) => Buffer.from(buffer));
  const [first, second] = [Buffer.concat(bytes.slice(0, 4)), Buffer.concat(bytes.slice(4))];
  // Files end within a weight, and one has nothing.
  const files = { a: first.subarray(0, 5), b: first.subarray(5), 'folder/c': second.subarray(0, 3), empty: Buffer.alloc(0), d: second.subarray(3) };
  const json = {
    modelTopology: { node: nodes(specs.map(({ name }) => name)) }, signature: { outputs: Object.fromEntries(specs.map(({ name }) => [name, { name: `${name}_f:0` }])) },
    weightsManifest: [{ paths: ['a', 'b'], weights: specs.slice(0, 4) }, { paths: ['folder/c', 'empty', 'd'], weights: specs.slice(4) }],
  };
  const asked = [];
  const [size, reports] = [new TextEncoder().encode(JSON.stringify(json)), []];
  await withModel({ json: size }, async (model) => {
    const found = await outputsOf(model, {});
    specs.forEach(({ name }, k) => assert.deepEqual(found[`${name}_f`].data, expected[k], name));
  }, { weights: async (path) => (asked.push(path), new Blob([files[path]])), onProgress: (...report) => reports.push(report) });
  assert.deepEqual(asked, ['a', 'b', 'folder/c', 'empty', 'd']);
  const all = size.length + first.length + second.length;
  assert.deepEqual(reports.at(-1), [all, all]);
  assert.equal(device.stats().tensorBytes, 0);
});

test('files lie beside the address of the model, with what stands after its question mark', async (t) => {
  const { json, bytes } = fileOf(cases('layers').find(({ name }) => name === 'dense of a sequence'));
  const asked = [];
  t.mock.method(globalThis, 'fetch', async (address) => {
    asked.push(String(address));
    return new Response(String(address).includes('model.json') ? json : bytes);
  });
  for (const source of ['https://host/models/a/model.json?key=1', new URL('https://host/models/a/model.json')]) (await loadTfjs(source, { device })).dispose();
  assert.deepEqual(asked, ['https://host/models/a/model.json?key=1', 'https://host/models/a/group1-shard1of1.bin?key=1', 'https://host/models/a/model.json', 'https://host/models/a/group1-shard1of1.bin']);
  asked.length = 0;
  const response = () => Object.defineProperty(new Response(json), 'url', { value: 'https://host/b/model.json' });
  for (const source of [response(), Promise.resolve(response())]) (await loadTfjs(source, { device })).dispose();
  assert.deepEqual(asked, Array.from({ length: 2 }, () => 'https://host/b/group1-shard1of1.bin'));
  await assert.rejects(loadTfjs(json, { device }), { code: 'invalid-argument', message: /group1-shard1of1\.bin": got no option weights/ });
});

test('an abort ends a load that waits for weights, and closes what comes after it', async () => {
  const { json, bytes } = fileOf(cases('layers').find(({ name }) => name === 'dense of a sequence'));
  const controller = new AbortController();
  let [give, isClosed] = [null, false];
  const asked = new Promise((resolve) => (give = resolve));
  const later = {};
  const loading = loadTfjs(json, { device, signal: controller.signal, weights: () => new Promise((resolve) => ((later.give = resolve), give())) });
  await asked;
  controller.abort();
  await assert.rejects(loading, { code: 'aborted' });
  later.give(new ReadableStream({ pull: (stream) => stream.enqueue(bytes), cancel: () => void (isClosed = true) }));
  await new Promise((resolve) => setTimeout(resolve, 20));
  assert.ok(isClosed);
  assert.equal(device.stats().tensorBytes, 0);
});

/** A Layers model of one layer after an input of so many sizes, with weights of single precision. */
function single(kind, config, shape, weights = {}) {
  const layers = [{ class_name: kind, config: { name: 'layer', batch_input_shape: [null, ...shape], ...config } }];
  const specs = Object.entries(weights).map(([name, { shape: sizes }]) => ({ name: `layer/${name}`, shape: sizes, dtype: 'float32' }));
  const data = Buffer.concat(Object.values(weights).map(({ data: numbers }) => Buffer.from(Float32Array.from(numbers).buffer)));
  return fileOf({ topology: { class_name: 'Sequential', config: { name: 'model', layers } }, weights: specs, data: data.toString('base64') });
}

const numbers = (count, scale = 0.3) => Array.from({ length: count }, (_, i) => Math.sin(1.3 * i + 0.2) * scale);
const run = (file, shape, data) => withModel(file, async (model) => (await outputsOf(model, { layer_input: { shape, data } })).layer);
/** Sums of few numbers in single precision. */
const assertClose = (found, expected) => {
  assert.equal(found.length, expected.length);
  expected.forEach((right, i) => assert.ok(Math.abs(found[i] - right) <= 1e-6 * Math.max(1, Math.abs(right)), `element ${i} is ${found[i]}, not ${right}`));
};

test('what Keras says and TensorFlow.js does not compute is as Keras says', async (t) => {
  await t.test('ReLU with a slope and a threshold', async () => {
    const x = [-2, -0.5, 0, 0.5, 1, 2, 9];
    const { data } = await run(single('ReLU', { negative_slope: 0.25, threshold: 1, max_value: 6 }, [7]), [1, 7], x);
    assertClose(data, x.map((v) => (v >= 6 ? 6 : v >= 1 ? v : 0.25 * (v - 1))));
  });
  await t.test('a causal convolution', async () => {
    const [steps, ins, outs, size, dilation] = [6, 2, 3, 3, 2];
    const [x, kernel, bias] = [numbers(steps * ins), numbers(size * ins * outs), numbers(outs)];
    const file = single('Conv1D', { padding: 'causal', kernel_size: [size], dilation_rate: [dilation] }, [steps, ins], { kernel: { shape: [size, ins, outs], data: kernel }, bias: { shape: [outs], data: bias } });
    const expected = [];
    for (let i = 0; i < steps; i++) {
      for (let o = 0; o < outs; o++) {
        let sum = bias[o];
        for (let k = 0; k < size; k++) {
          const at = i - (size - 1 - k) * dilation;
          if (at < 0) continue;
          for (let c = 0; c < ins; c++) sum += x[at * ins + c] * kernel[(k * ins + c) * outs + o];
        }
        expected.push(sum);
      }
    }
    assertClose((await run(file, [1, steps, ins], x)).data, expected);
  });
  await t.test('the dilation of a convolution of each channel', async () => {
    const [x, kernel] = [numbers(5 * 4 * 2), numbers(2 * 2 * 2)];
    const file = single('DepthwiseConv2D', { kernel_size: [2, 2], dilation_rate: 2, use_bias: false }, [5, 4, 2], { depthwise_kernel: { shape: [2, 2, 2, 1], data: kernel } });
    const expected = [0, 1, 2].flatMap((i) => [0, 1].flatMap((j) => [0, 1].map((c) => [0, 1].flatMap((u) => [0, 1].map((v) => x[((i + 2 * u) * 4 + j + 2 * v) * 2 + c] * kernel[(u * 2 + v) * 2 + c])).reduce((a, b) => a + b))));
    const { shape, data } = await run(file, [1, 5, 4, 2], x);
    assert.deepEqual(shape, [1, 3, 2, 2]);
    assertClose(data, expected);
  });
  await t.test('a GRU whose reset comes after the product', async () => {
    const [steps, ins, size] = [4, 2, 3];
    const [x, kernel, recurrent, bias] = [numbers(steps * ins, 1), numbers(ins * 3 * size), numbers(size * 3 * size, 0.7), numbers(6 * size, 0.4)];
    const weights = { kernel: { shape: [ins, 3 * size], data: kernel }, recurrent_kernel: { shape: [size, 3 * size], data: recurrent }, bias: { shape: [2, 3 * size], data: bias } };
    const file = single('GRU', { units: size, reset_after: true, activation: 'tanh', recurrent_activation: 'sigmoid' }, [steps, ins], weights);
    const sigmoid = (v) => 1 / (1 + Math.exp(-v));
    let state = Array.from({ length: size }, () => 0);
    for (let i = 0; i < steps; i++) {
      const product = (vector, matrix, column) => vector.reduce((sum, v, row) => sum + v * matrix[row * 3 * size + column], 0);
      const own = (column) => product(x.slice(i * ins, (i + 1) * ins), kernel, column) + bias[column];
      const before = (column) => product(state, recurrent, column) + bias[3 * size + column];
      state = state.map((old, k) => {
        const [update, reset] = [sigmoid(own(k) + before(k)), sigmoid(own(size + k) + before(size + k))];
        return update * old + (1 - update) * Math.tanh(own(2 * size + k) + reset * before(2 * size + k));
      });
    }
    assertClose((await run(file, [1, steps, ins], x)).data, state);
  });
  await t.test('normalisation of another axis than the last', async () => {
    const [x, gamma, mean, variance] = [numbers(12, 2), [1, 2, 0.5], [0.1, -0.2, 0.3], [0.5, 1, 2]];
    const file = single('BatchNormalization', { axis: [1], center: false, epsilon: 0.01 }, [3, 4], { gamma: { shape: [3], data: gamma }, moving_mean: { shape: [3], data: mean }, moving_variance: { shape: [3], data: variance } });
    assertClose((await run(file, [1, 3, 4], x)).data, x.map((v, i) => ((v - mean[Math.floor(i / 4)]) / Math.sqrt(variance[Math.floor(i / 4)] + 0.01)) * gamma[Math.floor(i / 4)]));
  });
  await t.test('numbers that a layer was adapted to', async () => {
    const file = single('Normalization', { axis: [-1] }, [2], { mean: { shape: [2], data: [1, 2] }, variance: { shape: [2], data: [4, 0.25] } });
    assertClose((await run(file, [2, 2], [1, 2, 3, 4])).data, [0, 0, 1, 4]);
  });
  await t.test('a picture of another size', async () => {
    const { data } = await run(single('Resizing', { height: 2, width: 1, interpolation: 'bilinear' }, [4, 1, 1]), [1, 4, 1, 1], [1, 2, 4, 8]);
    assertClose(data, [1.5, 6]);
    const nearest = await run(single('Resizing', { height: 2, width: 1, interpolation: 'nearest' }, [4, 1, 1]), [1, 4, 1, 1], [1, 2, 4, 8]);
    assertClose(nearest.data, [2, 8]);
  });
});

test('a model that is converted from Keras is read: lists of layers, names of cells and of models in weights, newer calls', async () => {
  const dense = (name, inputs) => ({ class_name: 'Dense', name, config: { name, units: 2, use_bias: false, activation: { module: 'builtins', class_name: 'function', config: 'linear', registered_name: 'function' } }, inbound_nodes: inputs });
  const tensor = (layer) => ({ class_name: '__keras_tensor__', config: { shape: [null, 2], dtype: 'float32', keras_history: [layer, 0, 0] } });
  const topology = {
    keras_version: '3.0.0',
    model_config: {
      class_name: 'Functional',
      config: {
        name: 'outer', layers: [{ class_name: 'InputLayer', name: 'x', config: { name: 'x', batch_shape: [null, 2], dtype: 'float32' }, inbound_nodes: [] }, dense('a', [{ args: [tensor('x')], kwargs: {} }]), dense('b', [{ args: [tensor('a')], kwargs: {} }])],
        input_layers: ['x', 0, 0], output_layers: [['b', 0, 0]],
      },
    },
  };
  const weights = ['outer/a/kernel', 'outer/b/kernel:0'].map((name) => ({ name, shape: [2, 2], dtype: 'float32' }));
  const file = fileOf({ topology, weights, data: Buffer.from(new Float32Array([1, 2, 3, 4, 0, 1, 1, 0]).buffer).toString('base64') });
  await withModel(file, async (model) => {
    assert.deepEqual(JSON.parse(JSON.stringify(model.inputs)), [{ name: 'x', type: 'float', dtype: 'f32', shape: ['batch', 2] }]);
    assert.deepEqual((await outputsOf(model, { x: [1, 10] })).b.data, [42, 31]);
  });
  const cell = single('LSTM', { units: 1, use_bias: false }, [2, 1]);
  const text = new TextDecoder().decode(cell.json).replace('"weights":[]', `"weights":${JSON.stringify(['kernel', 'recurrent_kernel'].map((name) => ({ name: `model/layer/lstm_cell_3/${name}`, shape: [1, 4], dtype: 'float32' })))}`);
  const { data } = await run({ json: new TextEncoder().encode(text), bytes: new Float32Array([1, 1, 1, 1, 0.5, 0.5, 0.5, 0.5]) }, [1, 2, 1], [0, 0]);
  assert.deepEqual(data, [0]);
});

/** What a node gives for inputs x0, x1 … `{ shape, data, dtype }` that are fed, and constants c0, c1 …; the node takes them in the order of `input`. */
async function node(op, input, feeds, constants = [], attr = {}) {
  const types = { float32: 'DT_FLOAT', int32: 'DT_INT32' };
  const nodes = [
    ...feeds.map(({ shape, dtype = 'float32' }, k) => ({ name: `x${k}`, op: 'Placeholder', attr: { dtype: { type: types[dtype] }, shape: { shape: { dim: shape.map((size) => ({ size: String(size) })) } } } })),
    ...constants.map((_, k) => ({ name: `c${k}`, op: 'Const', attr: {} })), { name: 'y', op, input, attr: { T: { type: 'DT_FLOAT' }, ...attr } },
  ];
  const weights = constants.map(({ shape, dtype = 'float32' }, k) => ({ name: `c${k}`, shape, dtype }));
  const data = Buffer.concat(constants.map(({ data: list, dtype = 'float32' }) => Buffer.from((dtype === 'int32' ? Int32Array : Float32Array).from(list).buffer)));
  return withModel(fileOf({ topology: { node: nodes }, weights, data: data.toString('base64'), outputs: [{ name: 'y' }] }), async (model) => (await outputsOf(model, Object.fromEntries(feeds.map(({ shape, data: list }, k) => [`x${k}`, { shape, data: list }])))).y);
}

test('what TensorFlow says and TensorFlow.js does not compute is as TensorFlow says', async (t) => {
  const text = (value) => ({ s: Buffer.from(value).toString('base64') });
  const ints = (list) => ({ list: { i: list.map(String) } });
  const i32 = (data, shape = [data.length]) => ({ dtype: 'int32', shape, data });
  await t.test('blocks of a picture as channels', async () => {
    const data = Array.from({ length: 16 }, (_, i) => i);
    const { shape, data: found } = await node('SpaceToDepth', ['x0'], [{ shape: [1, 4, 4, 1], data }], [], { block_size: { i: '2' } });
    assert.deepEqual([shape, found], [[1, 2, 2, 4], [0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15]]);
  });
  await t.test('diagonals of a matrix', async () => {
    const data = [1, 2, 3, 4, 5, 6, 7, 8, 9];
    const band = async (lower, upper) => (await node('MatrixBandPart', ['x0', 'c0', 'c1'], [{ shape: [3, 3], data }], [i32([lower], []), i32([upper], [])])).data;
    assert.deepEqual(await band(0, 1), [1, 2, 0, 0, 5, 6, 0, 0, 9]);
    assert.deepEqual(await band(1, -1), [1, 2, 3, 4, 5, 6, 0, 8, 9]);
  });
  await t.test('x · log y, and numbers rounded to even ones', async () => {
    assertClose((await node('Xlogy', ['x0', 'x1'], [{ shape: [3], data: [0, 2, 0] }, { shape: [3], data: [0, Math.E, 5] }])).data, [0, 2, 0]);
    assert.deepEqual((await node('Rint', ['x0'], [{ shape: [4], data: [0.5, 1.5, 2.5, -0.4] }])).data.map((x) => x + 0), [0, 2, 2, 0]);
  });
  await t.test('places along another axis than the last', async () => {
    const { shape, data } = await node('OneHot', ['x0', 'c0', 'c1', 'c2'], [{ shape: [2, 2], data: [2, 0, -1, 1], dtype: 'int32' }], [i32([3], []), { shape: [], data: [5] }, { shape: [], data: [1] }], { axis: { i: '1' } });
    assert.deepEqual([shape, data], [[2, 3, 2], [1, 5, 1, 1, 5, 1, 1, 1, 1, 5, 1, 1]]);
  });
  await t.test('slices between places that a run tells', async () => {
    const strided = (begin, end, attr) => node('StridedSlice', ['x0', 'x1', 'x2', 'c0'], [{ shape: [3, 2], data: [1, 2, 3, 4, 5, 6] }, { shape: [1], data: begin, dtype: 'int32' }, { shape: [1], data: end, dtype: 'int32' }], [i32([1])], attr);
    assert.deepEqual((await strided([1], [3], {})).data, [3, 4, 5, 6]);
    assert.deepEqual(await strided([-1], [0], { shrink_axis_mask: { i: '1' } }), { shape: [2], data: [5, 6] });
  });
  await t.test('products of batches that are broadcast', async () => {
    const [a, b] = [numbers(2 * 3), numbers(3 * 2 * 2)];
    const { shape, data } = await node('BatchMatMulV2', ['x0', 'x1'], [{ shape: [2, 1, 3], data: a }, { shape: [2, 3, 2], data: b }]);
    assert.deepEqual(shape, [2, 1, 2]);
    assertClose(data, [0, 1].flatMap((batch) => [0, 1].map((column) => [0, 1, 2].reduce((sum, k) => sum + a[3 * batch + k] * b[6 * batch + 2 * k + column], 0))));
    const wide = await node('BatchMatMulV2', ['x0', 'x1'], [{ shape: [1, 3], data: a.slice(0, 3) }, { shape: [2, 3, 2], data: b }]);
    assertClose(wide.data, [0, 1].flatMap((batch) => [0, 1].map((column) => [0, 1, 2].reduce((sum, k) => sum + a[k] * b[6 * batch + 2 * k + column], 0))));
  });
  await t.test('pictures with their channels first are those with channels last', async () => {
    const [x, kernel, bias] = [numbers(2 * 3 * 4 * 5), numbers(2 * 2 * 3 * 4), numbers(4)];
    const last = { shape: [2, 4, 5, 3], data: Array.from({ length: 120 }, (_, i) => x[Math.floor(i / 60) * 60 + (i % 3) * 20 + (Math.floor(i / 3) % 20)]) };
    const first = { shape: [2, 3, 4, 5], data: x };
    /** [2, 4, rows, columns] of [2, rows, columns, 4]. */
    const turned = ({ shape: [images, rows, columns, channels], data }) => Array.from({ length: data.length }, (_, i) => {
      const place = i % (rows * columns);
      const channel = Math.floor(i / (rows * columns)) % channels;
      return data[(Math.floor(i / (rows * columns * channels)) * rows * columns + place) * channels + channel] ?? images;
    });
    const constants = [{ shape: [2, 2, 3, 4], data: kernel }, { shape: [4], data: bias }];
    const fused = (format, strides) => ({ data_format: text(format), padding: text('SAME'), strides: ints(strides), fused_ops: { list: { s: ['BiasAdd', 'Relu'].map((name) => text(name).s) } } });
    const [a, b] = [await node('_FusedConv2D', ['x0', 'c0', 'c1'], [last], constants, fused('NHWC', [1, 2, 1, 1])), await node('_FusedConv2D', ['x0', 'c0', 'c1'], [first], constants, fused('NCHW', [1, 1, 2, 1]))];
    assert.deepEqual(b.shape, [2, 4, 2, 5]);
    assert.ok(a.data.some((value) => value > 0));
    assertClose(b.data, turned(a));
    const vectors = [[1, 2, 0.5], [0.1, 0.2, 0.3], [0, 1, -1], [1, 4, 0.25]].map((data) => ({ shape: [3], data }));
    const norm = (feed, format) => node('FusedBatchNormV3', ['x0', 'c0', 'c1', 'c2', 'c3'], [feed], vectors, { data_format: text(format), epsilon: { f: 0.01 } });
    assertClose((await norm(first, 'NCHW')).data, turned(await norm(last, 'NHWC')));
    const biased = (feed, format) => node('BiasAdd', ['x0', 'c0'], [feed], [vectors[0]], { data_format: text(format) });
    assertClose((await biased(first, 'NCHW')).data, turned(await biased(last, 'NHWC')));
  });
});

describe('masked steps', () => {
  /** A made model with one input of steps, to which steps of zeros are added that Masking leaves out; where the steps stand for each of the two sequences. */
  const PLACES = [[1, 2, 4, 6, 7], [0, 1, 3, 4, 5]], STEPS = 8;
  function masked(given) {
    const topology = structuredClone(given.topology);
    const [input, layer] = topology.config.layers;
    input.config.batch_input_shape[1] = STEPS;
    const masking = { name: 'masking', class_name: 'Masking', config: { name: 'masking', mask_value: 0 }, inbound_nodes: [[[input.name, 0, 0, {}]]] };
    layer.inbound_nodes[0][0][0] = 'masking';
    topology.config.layers = [input, masking, layer];
    const [{ name, shape: [, , width], data }] = given.inputs;
    const spread = new Float32Array(2 * STEPS * width);
    PLACES.forEach((places, k) => places.forEach((place, step) => spread.set(data.slice((5 * k + step) * width, (5 * k + step + 1) * width), (STEPS * k + place) * width)));
    return { file: fileOf({ ...given, topology }), feeds: { [name]: { shape: [2, STEPS, width], data: spread } } };
  }
  const made = cases('layers').filter(({ name, inputs, topology }) => /lstm|gru|rnn/i.test(name) && inputs.length === 1 && inputs[0].shape.join() === '2,5,2' && topology.config.layers.length === 2);

  test('recurrent layers give what TensorFlow.js gives for the steps that count, and keep their state at others', async () => {
    let [last, sequences] = [0, 0];
    for (const given of made) {
      const { file, feeds } = masked(given);
      if (/backwards sequences/.test(given.name)) {
        await assert.rejects(loadTfjs(file.json, { device, weights: () => file.bytes }), /go_backwards: got true; takes false with return_sequences and masked steps/);
        continue;
      }
      await withModel(file, async (model) => {
        const [found] = Object.values(await outputsOf(model, feeds)), [expected] = given.outputs;
        if (expected.shape.length === 2) {
          last++;
          return assertSame(found, expected, given.name);
        }
        sequences++;
        const size = expected.shape[2], row = ({ data }, k) => data.slice(k * size, (k + 1) * size);
        const counted = PLACES.flatMap((places, k) => places.flatMap((place) => row(found, STEPS * k + place)));
        assertSame({ shape: expected.shape, data: counted }, expected, given.name);
        // Before the first step that counts a forward layer has its first state, and after one what that one gave.
        if (/bidirectional/.test(given.name)) return undefined;
        assert.deepEqual([row(found, 0), row(found, 3), row(found, 5)], [Array(size).fill(0), row(found, 2), row(found, 4)], given.name);
        return assert.deepEqual([row(found, STEPS + 2), row(found, STEPS + 7)], [row(found, STEPS + 1), row(found, STEPS + 5)], given.name);
      });
    }
    assert.ok(last >= 8 && sequences >= 6, `${last} and ${sequences}`);
  });

  test('an embedding masks its zeros, layers give masks on, a sequence may have no step that counts, and other layers refuse them', async () => {
    const [given] = made.filter(({ name }) => name === 'gru last');
    const [input, layer] = structuredClone(given.topology.config.layers);
    input.config.batch_input_shape = [null, 4];
    const to = (name, from, class_name, config) => ({ name, class_name, config: { name, ...config }, inbound_nodes: [[[from, 0, 0, {}]]] });
    const bytes = new Uint8Array([...fileOf(given).bytes, ...new Uint8Array(Float32Array.of(9, 9, 1, -1, 0.5, 2).buffer)]);
    const weights = [...given.weights, { name: 'words/embeddings', shape: [3, 2], dtype: 'float32' }];
    const fileWith = (layers) => fileOf({ ...given, weights, data: Buffer.from(bytes).toString('base64'), topology: { ...given.topology, config: { ...given.topology.config, layers } } });
    const words = to('words', input.name, 'Embedding', { input_dim: 3, output_dim: 2, mask_zero: true });
    layer.inbound_nodes[0][0][0] = 'through';
    const file = fileWith([input, words, to('through', 'words', 'Activation', { activation: 'linear' }), layer]);
    await withModel(file, async (model) => {
      const [found] = Object.values(await outputsOf(model, { [input.name]: { shape: [3, 4], data: [0, 1, 0, 2, 1, 2, 0, 0, 0, 0, 0, 0] } }));
      const [a, b, none] = [0, 1, 2].map((k) => found.data.slice(3 * k, 3 * k + 3));
      assert.deepEqual([a, none], [b, [0, 0, 0]]);
      assert.ok(a.some((value) => Math.abs(value) > 0.01));
    });
    layer.inbound_nodes[0][0][0] = 'through';
    const flat = fileWith([input, words, to('through', 'words', 'UpSampling1D', { size: 2 }), layer]);
    await assert.rejects(loadTfjs(flat.json, { device, weights: () => flat.bytes }), { code: 'invalid-argument', message: /layer "through" \(UpSampling1D\): inputs: got a sequence with masked steps; takes them in the layers Masking, / });
  });
});

describe('what is not taken is named', () => {
  const refused = async (file, message) => assert.rejects(loadTfjs(file.json, { device, weights: () => file.bytes }), (error) => {
    assert.equal(error.code, 'invalid-argument', error.stack);
    assert.match(error.message, message);
    return true;
  });
  const graph = (nodes, more = {}) => fileOf({ topology: { node: nodes, ...more }, weights: [], data: '', outputs: [] });

  test('layers, settings and weights', async () => {
    await refused(single('Frob', {}, [3, 2]), /^loadTfjs: modelTopology: got layer "layer" \(Frob\); takes the layers Dense, /);
    await refused(single('LSTM', { units: 1, stateful: true }, [3, 2]), /layer "layer" \(LSTM\): stateful/);
    await refused(single('Dense', { units: 2 }, [3]), /layer "layer" \(Dense\): weight kernel: got none/);
    await refused(single('Dense', { activation: 'frob' }, [2], { kernel: { shape: [2, 1], data: [1, 1] }, bias: { shape: [1], data: [0] } }), /\(Dense\): activation: got "frob"; takes linear, softmax/);
    await refused(single('Conv2D', { padding: 'causal' }, [3, 3, 1], { kernel: { shape: [1, 1, 1, 1], data: [1] }, bias: { shape: [1], data: [0] } }), /padding: got "causal"; takes 'valid' or 'same'/);
  });

  test('operators, control flow of TensorFlow 1, and attributes', async () => {
    const x = { name: 'x', op: 'Placeholder', attr: { dtype: { type: 'DT_FLOAT' } } };
    await refused(graph([x, { name: 'y', op: 'NonMaxSuppressionV5', input: ['x'] }]), /node "y" \(NonMaxSuppressionV5\); takes the operators Add, /);
    await refused(graph([x, { name: 'enter', op: 'Enter', input: ['x'] }, { name: 'merge', op: 'Merge', input: ['enter', 'next'] }, { name: 'next', op: 'NextIteration', input: ['merge'] }, { name: 'y', op: 'Exit', input: ['merge'] }]), /\(Merge, control flow of TensorFlow 1\)/);
    await refused(graph([x, { name: 'a', op: 'Neg', input: ['b'] }, { name: 'b', op: 'Neg', input: ['a'] }, { name: 'y', op: 'Add', input: ['a', 'x'] }]), /got a node that depends on itself/);
    await refused(graph([x, { name: 'y', op: 'Cast', input: ['x'], attr: { DstT: { type: 'DT_STRING' } } }]), /node "y" \(Cast\): DstT: got "DT_STRING"; takes DT_FLOAT/);
    await refused(graph([x, { name: 'y', op: 'Neg', input: ['z'] }]), /node "y" \(Neg\): input: got "z"; takes the name of a node/);
    await refused(graph([x, { name: 'y', op: 'Transpose', input: ['x', 'x'] }]), /node "y" \(Transpose\): input 1: got a computed tensor; takes numbers of a constant/);
  });

  test('files', async () => {
    const bytes = (value) => ({ json: new TextEncoder().encode(typeof value === 'string' ? value : JSON.stringify(value)), bytes: new Uint8Array(0) });
    await refused(bytes('<html>'), /source: got a file that is no JSON/);
    await refused(bytes({ modelTopology: { class_name: 'Sequential', config: [] } }), /layers: got an array of 0; takes at least one layer/);
    await refused(bytes({ weightsManifest: [] }), /modelTopology: got null; takes an object/);
    const manifest = (weight) => bytes({ modelTopology: { node: [] }, weightsManifest: [{ paths: ['a'], weights: [weight] }] });
    await refused(manifest({ name: 'w', shape: [1], dtype: 'string' }), /"w": dtype: got "string"; takes float32/);
    await refused(manifest({ name: 'w', shape: [1], dtype: 'complex64' }), /"w": dtype: got "complex64"/);
    const made = fileOf(cases('layers').find(({ name }) => name === 'dense of a sequence'));
    await refused({ json: made.json, bytes: made.bytes.subarray(0, 11) }, /file "group1-shard1of1\.bin": weight "dense_Dense3\/kernel": got a file that ends at byte 11/);
    await assert.rejects(loadTfjs(made.json, { device, weigths: () => made.bytes }), { message: /did you mean 'weights'/ });
    assert.equal(device.stats().tensorBytes, 0);
  });
});

test('the documentation lists the layers and the operators that are taken', async () => {
  const page = await readFile(new URL('../../docs/site/tfjs.md', import.meta.url), 'utf8');
  const [layers, operators] = page.split('Operators of graph models:').map((part) => [...part.matchAll(/^- \*\*[^*]+\*\*(?:, which do nothing here)?(?<axes>, each over 1, 2 and 3 axes)?: (?<names>[A-Z_](?:.|\n {2})+)$/gm)].flatMap(({ groups: { axes, names } }) => {
    const [first, rest = ''] = axes === undefined ? ['', names] : names.split(';');
    const ofAxes = first.split(/\s+/).filter((name) => name !== '').flatMap((name) => ['1D', '2D', '3D'].map((axis) => (name.endsWith('Transpose') ? name.replace(/Transpose$/, `${axis}Transpose`) : `${name}${axis}`)));
    return [...ofAxes, ...rest.split(/\s+/).filter((name) => name !== '')];
  }));
  const listed = async (file, what) => {
    const { message } = await loadTfjs(file.json, { device, weights: () => file.bytes }).then(() => assert.fail(), (error) => error);
    return new RegExp(`takes the ${what} (.*)$`).exec(message)[1].split(', ').sort();
  };
  assert.deepEqual(await listed(single('Frobnicate', {}, [1]), 'layers'), layers.sort());
  assert.deepEqual(await listed(fileOf({ topology: { node: [{ name: 'y', op: 'Frobnicate' }] }, weights: [], data: '', outputs: [] }), 'operators'), operators.sort());
});

test('a batch is told by the option dims, and a Dim serves all of its sizes', async () => {
  const given = cases('layers').find(({ name }) => name === 'a small network of pictures');
  const [{ name, data }] = given.inputs;
  await withModel(fileOf(given), async (model) => {
    const before = device.stats().programs;
    const [one, two] = [await outputsOf(model, { [name]: data.slice(0, 432) }), await outputsOf(model, { [name]: data })];
    assert.equal(device.stats().programs - before, 1);
    const [first] = Object.keys(two);
    assert.deepEqual(one[first].data, two[first].data.slice(0, one[first].data.length));
  }, { dims: { batch: dim('batch', 4) } });
  await withModel(fileOf(given), (model) => assert.deepEqual(model.inputs[0].shape, [2, 12, 12, 3]), { dims: { batch: 2 } });
});
