// Models of ONNX on the CPU, by the module that is packed: operators by ONNX's own cases, all else by numbers that are computed here in another way.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { before, describe, test } from 'node:test';
import * as T from '../../pkg-template/dist/tensor.js';
import { loadOnnx } from '../../pkg-template/dist/tensor-onnx.js';
import { modelOf, numbersOf } from '../onnx/cases.mjs';
import { assertClose, device, outputsOf, single, start, withModel, y } from '../onnx/loaded.mjs';
import { MADE, noise } from '../onnx/made.mjs';
import { bytes, concatenated, double, float, int, model, rawData, TYPES } from '../onnx/writer.mjs';
import { hasData, pathOf, readData } from '../shared-data.mjs';

before(start);

test("every case of ONNX's own tests of operators comes out of the loader", { timeout: 600_000 }, async (t) => {
  const folder = 'tensor/onnx';
  if (!hasData(t, `${folder}/cases.json`)) return;
  const cases = JSON.parse(readData(`${folder}/cases.json`));
  const file = readFileSync(pathOf(`${folder}/cases.bin`));
  const numbers = file.buffer.slice(file.byteOffset, file.byteOffset + file.byteLength);
  const wrong = [];
  for (const given of cases) {
    const words = await withModel(modelOf(given, numbers).file, async (loaded) => differenceOf(given, await outputsOf(loaded, modelOf(given, numbers).feeds), numbers)).catch((error) => error.message);
    if (words !== null) wrong.push(`${given.name}: ${words}`);
  }
  assert.ok(cases.length > 400);
  assert.deepEqual(wrong, []);
});

/** ONNX's own tolerance, 1e-3 of a number and 1e-7. Elements of a Fourier transform have the rounding of the largest one. */
function differenceOf({ op, outputs }, found, bytes) {
  for (const [k, output] of outputs.entries()) {
    if (output === null) continue;
    const { shape, data } = found[`y${k}`];
    if (shape.join() !== output.shape.join()) return `output ${k} is [${shape}], not [${output.shape}]`;
    const expected = numbersOf(output, bytes);
    const floor = op === 'DFT' || op === 'STFT' ? 1e-6 * expected.reduce((most, x) => Math.max(most, Math.abs(x)), 0) : 1e-7;
    for (const [i, right] of expected.entries()) {
      const isClose = Object.is(data[i], right) || data[i] === right || (output.dtype.startsWith('f') && Math.abs(data[i] - right) <= floor + 1e-3 * Math.abs(right));
      if (!isClose) return `element ${i} of output ${k} is ${data[i]}, not ${right}`;
    }
  }
  return null;
}

test('small constants that nodes of constants and nodes of runs take are there in each run', async () => {
  const file = (output) => model({
    nodes: [
      { op: 'Mul', inputs: ['a', 'a'], outputs: ['c'] }, { op: 'Sin', inputs: ['c'], outputs: ['d'] }, { op: 'Sin', inputs: ['a'], outputs: ['e'] },
      { op: 'Sum', inputs: ['x', 'a', 'c', 'd', 'e'], outputs: ['y'] },
    ],
    initializers: [{ name: 'a', type: 'float', sizes: [2], data: [2, 3] }], inputs: [{ name: 'x', type: 'float', shape: [2] }], outputs: output.map((name) => ({ name, type: 'float' })),
  });
  for (const outputs of [['y'], ['y', 'c'], ['c', 'y', 'a', 'd']]) {
    await withModel(file(outputs), async (loaded) => {
      for (const x of [1, 5]) {
        const found = await outputsOf(loaded, { x: { data: [x, x], shape: [2] } });
        // Sums of up to 20, whose unit in the last place is 1.9e-6.
        assertClose(found.y.data, [2, 3].map((a) => x + a + a * a + Math.sin(a * a) + Math.sin(a)), 1e-5);
        if (outputs.includes('c')) assert.deepEqual(found.c.data, [4, 9]);
      }
    });
  }
});

describe('files', () => {
  const sum = (initializer, type = 'float') => model({ nodes: [{ op: 'Cast', inputs: ['w'], outputs: ['c'], attributes: { to: 1 } }, { op: 'Add', inputs: ['c', 'x'], outputs: ['y'] }], initializers: [initializer], inputs: [{ name: 'x', type: 'float', shape: [] }], outputs: [{ ...y, type }] });

  test('numbers of every element type are read, as bytes and one by one', async () => {
    const values = [0, 1, 2, 5];
    const lists = { float: (x) => float(4, x), double: (x) => double(10, x), int64: (x) => int(7, x), uint32: (x) => int(11, x), uint64: (x) => int(11, x) };
    for (const type of Object.keys(TYPES)) {
      const data = type === 'bool' ? [0, 1, 1, 0] : type.startsWith('u') ? values : [0, -1, 2, 5];
      const raw = rawData(type, data);
      const bits = (k) => (type === 'float16' || type === 'bfloat16' ? new DataView(raw.buffer).getUint16(2 * k, true) : data[k]);
      for (const fields of [[bytes(9, raw)], data.map((x, k) => (lists[type] ?? ((value) => int(5, value)))(type in lists ? x : bits(k)))]) {
        await withModel(sum({ name: 'w', type, sizes: [4], fields }), async (loaded) => assert.deepEqual((await outputsOf(loaded, { x: 0 })).y.data, data, type));
      }
    }
  });

  test('numbers of 8 and fewer bits are what their formats say', async () => {
    // The largest numbers, the smallest ones and 1, by the tables of the formats.
    const cases = [[17, [0x7e, 0x01, 0x38, 0xb8], [448, 2 ** -9, 1, -1]], [18, [0x7f, 0x01, 0x40, 0xc0], [240, 2 ** -10, 1, -1]], [19, [0x7b, 0x01, 0x3c, 0xbc], [57344, 2 ** -16, 1, -1]], [20, [0x7f, 0x01, 0x40, 0xc0], [57344, 2 ** -17, 1, -1]],
      [21, [0x10, 0xfe], [0, 1, 14, 15]], [22, [0x10, 0x8f], [0, 1, -1, -8]], [23, [0x10, 0xf7], [0, 0.5, 6, -6]], [24, [0x7f, 0x80, 0x7e, 0x00], [1, 2, 0.5, 2 ** -127]], [25, [0xe4], [0, 1, 2, 3]], [26, [0xe4], [0, 1, -2, -1]]];
    for (const [type, raw, expected] of cases) {
      await withModel(sum({ name: 'w', type, sizes: [4], raw: Uint8Array.from(raw) }), async (loaded) => assert.deepEqual((await outputsOf(loaded, { x: 0 })).y.data, expected, `type ${type}`));
    }
  });

  test('bytes that arrive in small pieces, and large initializers, give the same', async () => {
    const data = noise(6000);
    const file = sum({ name: 'w', type: 'float', sizes: [60, 100], data });
    for (const size of [7, 4096]) {
      const stream = new ReadableStream({
        start(controller) {
          for (let at = 0; at < file.length; at += size) controller.enqueue(file.slice(at, at + size));
          controller.close();
        },
      });
      await withModel(stream, async (loaded) => assert.deepEqual(await outputsOf(loaded, { x: 0 }), { y: { shape: [60, 100], data } }));
    }
    const bytesOf8 = Array.from({ length: 6000 }, (_, i) => (i % 256) - 128);
    await withModel(sum({ name: 'w', type: 'int8', sizes: [6000], data: bytesOf8 }), async (loaded) => assert.deepEqual((await outputsOf(loaded, { x: 0 })).y.data, bytesOf8));
  });

  test('data in other files is read from its place, each file once', async () => {
    const outside = (name, offset, sizes) => ({ name, type: 'float', sizes, fields: [...[['location', 'weights'], ['offset', String(offset)], ['length', String(4 * sizes.reduce((a, b) => a * b, 1))]].map(([key, value]) => bytes(13, concatenated([bytes(1, new TextEncoder().encode(key)), bytes(2, new TextEncoder().encode(value))]))), int(14, 1)] });
    const nodes = [{ op: 'Add', inputs: ['a', 'b'], outputs: ['s'] }, { op: 'Add', inputs: ['s', 'x'], outputs: ['t'] }, { op: 'Sub', inputs: ['tied', 'a'], outputs: ['z'] }, { op: 'Add', inputs: ['t', 'z'], outputs: ['y'] }];
    const make = (b) => model({ nodes, initializers: [b, outside('a', 8, [5000]), outside('tied', 8, [5000])], inputs: [{ name: 'x', type: 'float', shape: [] }], outputs: [y] });
    const numbers = new Float32Array(6000).map((_, i) => i);
    const asked = [];
    const external = (location) => (asked.push(location), Promise.resolve(numbers));
    await withModel(make(outside('b', 20_008, [1])), async (loaded) => {
      const { data } = (await outputsOf(loaded, { x: 0.5 })).y;
      assert.deepEqual([data[0], data[4999]], [2 + 5002 + 0.5, 5001 + 5002 + 0.5]);
    }, { external });
    assert.deepEqual(asked, ['weights']);
    await assert.rejects(loadOnnx(make(outside('b', 20_008, [1])), { device }), { code: 'invalid-argument', message: /file "weights": got no option external/ });
    await assert.rejects(loadOnnx(make(outside('b', 100_000, [1])), { device, external }), { code: 'invalid-argument', message: /file "weights": initializer "b": got a file that ends at byte 24000/ });
    await assert.rejects(loadOnnx(make(outside('b', 1000, [1])), { device, external }), { code: 'invalid-argument', message: /bytes from 1000 on, which lie in those of another/ });
    assert.equal(device.stats().tensorBytes, 0);
  });

  test('what is wrong is named with node, operator, version, and what is taken', async () => {
    const x = { name: 'x', type: 'float', shape: [2, 3] };
    for (const [file, message] of [
      [single('Frobnicate', [x], [y]), /^loadOnnx: got node "the node" \(Frobnicate, opset 17\); takes the operators .*Conv.*com\.microsoft\.Attention/],
      [single('Relu', [x], [y], { domain: 'ai.other' }), /node "the node" \(ai\.other\.Relu, opset 1\)/],
      [single('Relu', [x], [y], { opset: 99 }), /^loadOnnx: opset: got 99; takes versions 7 to 28/],
      [new Uint8Array(0), /^loadOnnx: source: got a file without a graph/],
      [new TextEncoder().encode('<!DOCTYPE html><html>'), /^loadOnnx: /],
      [sum({ name: 'w', type: 8, sizes: [1], raw: new Uint8Array(1) }), /element type: got 8; takes 1 \(float\)/],
      [sum({ name: 'w', type: 'float', sizes: [3], raw: new Uint8Array(8) }), /initializer "w": got 8 bytes; takes 12 for float \[3\]/],
      [sum({ name: 'w', type: 'float', sizes: [-3], raw: new Uint8Array(8) }), /initializer "w": shape: got -3/],
    ]) await assert.rejects(loadOnnx(file, { device }), (error) => (error.code === 'invalid-argument' && message.test(error.message)) || assert.fail(error.message));
    for (const [file, message] of [
      [single('Transpose', [x], [y], { attributes: { perm: [0, 0] } }), /^loadOnnx: node "the node" \(Transpose, opset 17\): permute: axes: got axis 0 twice/],
      [single('Reshape', [x], [y], { initializers: [{ name: 's', type: 'int64', sizes: [1], data: [5] }] }), /node "the node" \(Reshape, opset 17\): shape: got \[5\]; takes a shape with the elements of \[2, 3\]/],
      [single('Gelu', [x], [y], { attributes: { approximate: 'most' } }), /attribute approximate: got "most"; takes 'none' or 'tanh'/],
      [single('ArgMax', [x], [y, { name: 'z', type: 'float' }]), /node "the node" \(ArgMax, opset 17\): output 1: got "z"; takes at most 1 outputs/],
    ]) await withModel(file, (loaded) => assert.rejects(loaded.run({ x: noise(6) }), (error) => (error.code === 'invalid-argument' && message.test(error.message)) || assert.fail(error.message)));
  });

  test('options that are none are refused, and a signal ends a load', async () => {
    const { file } = MADE.encoder();
    await assert.rejects(loadOnnx(file, { device, dim: {} }), { code: 'invalid-argument', message: /did you mean 'dims'/ });
    await assert.rejects(loadOnnx(file, { device, dims: { batch: -1 } }), { code: 'invalid-argument', message: /dims\.batch: got -1/ });
    await assert.rejects(loadOnnx(file, { device, dims: { batch: T.dim('n', 4).plus(1) } }), { code: 'invalid-argument', message: /dims\.batch: .* takes a whole number, or a Dim that dim\(\) made/ });
    await assert.rejects(loadOnnx(file, { device, signal: AbortSignal.abort() }), { code: 'aborted' });
    await assert.rejects(loadOnnx(file, { device, external: 'there' }), { code: 'invalid-argument', message: /external: got "there"; takes a function/ });
  });
});

/** One step after another, in f64: gates i, o, f, c. */
function lstm(x, W, R, B, h0, c0, size) {
  const sigmoid = (z) => 1 / (1 + Math.exp(-z));
  let [h, c] = [h0, c0];
  for (const step of x) {
    const sums = Array.from({ length: 4 * size }, (_, g) => B[g] + B[4 * size + g] + step.reduce((s, v, k) => s + W[g * step.length + k] * v, 0) + h.reduce((s, v, k) => s + R[g * size + k] * v, 0));
    c = c.map((v, k) => sigmoid(sums[2 * size + k]) * v + sigmoid(sums[k]) * Math.tanh(sums[3 * size + k]));
    h = c.map((v, k) => sigmoid(sums[size + k]) * Math.tanh(v));
  }
  return h;
}

describe('graphs', () => {
  test('a recurrent layer in a condition that an input decides', async () => {
    const { file, feeds } = MADE.speech();
    const steps = Array.from({ length: 4 }, (_, t) => noise(8).slice(2 * t, 2 * t + 2));
    const sigmoid = (z) => 1 / (1 + Math.exp(-z));
    const fast = lstm(steps, noise(24, 1), noise(36, 2), noise(24, 3), noise(3, 2), noise(3, 3), 3).map(sigmoid);
    await withModel(file, async (loaded) => {
      assertClose((await outputsOf(loaded, feeds)).y.data, fast);
      assertClose((await outputsOf(loaded, { ...feeds, rate: { data: 8000, shape: [] } })).y.data, noise(3, 2).map(sigmoid));
      assert.equal(device.stats().programs, 2, 'a program for each');
      assertClose((await outputsOf(loaded, { ...feeds, rate: BigInt64Array.of(16000n) })).y.data, fast);
      assert.equal(device.stats().programs, 2);
    });
  });

  test('a stored tensor that decides a condition computes both graphs', async () => {
    const branch = (by) => ({ graph: { nodes: [{ op: 'Mul', inputs: ['x', by], outputs: ['r'] }], outputs: [{ name: 'r', type: 'float' }] } });
    const file = model({
      nodes: [{ op: 'If', inputs: ['c'], outputs: ['y'], attributes: { then_branch: branch('two'), else_branch: branch('three') } }],
      initializers: [{ name: 'two', type: 'float', sizes: [], data: [2] }, { name: 'three', type: 'float', sizes: [], data: [3] }],
      inputs: [{ name: 'x', type: 'float', shape: [2] }, { name: 'c', type: 'bool', shape: [] }], outputs: [y],
    });
    await withModel(file, async (loaded) => {
      for (const [value, expected] of [[1, [2, 10]], [0, [3, 15]]]) {
        const c = device.tensor([value], [], 'bool');
        assert.deepEqual((await outputsOf(loaded, { x: [1, 5], c })).y.data, expected);
        c.dispose();
      }
      assert.equal(device.stats().programs, 1);
    });
  });

  test('a loop, a function with an attribute, and weights of four bits', async () => {
    const { file, feeds } = MADE.lists();
    const q = Array.from({ length: 32 }, (_, i) => (i * 37) % 256);
    await withModel(file, async (loaded) => {
      const { y: found, all } = await outputsOf(loaded, feeds);
      assert.deepEqual(all.shape, [3, 1, 32]);
      assertClose(all.data, [0, 1, 3].flatMap((added) => noise(32).map((x) => x + added)));
      const weight = (row, k) => (((q[row * 16 + (k >> 1)] >> (4 * (k % 2))) & 15) - 8) * [0.5, 0.25][row];
      // Sums of 32 products of some 40 each.
      assertClose(found.data, [0, 1].map((row) => noise(32).reduce((sum, x, k) => sum + 3 * (x + 3) * weight(row, k), 0)), 1e-3);
    });
  });

  const int64 = { name: 'i', type: 'int64', shape: [] };
  const go = { name: 'go', type: 'bool', shape: [] };
  const goes = { name: 'goes', type: 'bool' };
  const identity = { op: 'Identity', inputs: ['go'], outputs: ['goes'] };
  const scalarInput = [{ name: 'x', type: 'float', shape: [] }];
  const loopOf = (count, body, inputs = ['n', '', 'x'], initializers = []) => model({ nodes: [{ op: 'Loop', name: 'loop', inputs, outputs: ['y'], attributes: { body: { graph: body } } }], initializers: [{ name: 'n', type: 'int64', sizes: [], data: [count] }, ...initializers], inputs: scalarInput, outputs: [y] });

  test('a long loop, and one within it, are compiled once; one whose state grows is written out up to a limit', async () => {
    const body = (inner) => ({ nodes: [...inner, identity, { op: 'Neg', inputs: [inner.length > 0 ? 'deep' : 's'], outputs: ['next'] }], inputs: [int64, go, { name: 's', type: 'float' }], outputs: [goes, { name: 'next', type: 'float' }] });
    await withModel(loopOf(5001, body([])), async (loaded) => assert.deepEqual((await outputsOf(loaded, { x: 3 })).y.data, [-3]));
    const inner = [{ op: 'Loop', name: 'inner', inputs: ['n', '', 's'], outputs: ['deep'], attributes: { body: { graph: body([]) } } }];
    await withModel(loopOf(31, body(inner)), async (loaded) => assert.deepEqual((await outputsOf(loaded, { x: 3 })).y.data, [3]));
    const growing = { nodes: [identity, { op: 'Concat', inputs: ['s', 's'], outputs: ['next'], attributes: { axis: 0 } }], inputs: [int64, go, { name: 's', type: 'float' }], outputs: [goes, { name: 'next', type: 'float' }] };
    const file = (count) => model({ nodes: [{ op: 'Reshape', inputs: ['x', 'shape'], outputs: ['v'] }, { op: 'Loop', name: 'loop', inputs: ['n', '', 'v'], outputs: ['y'], attributes: { body: { graph: growing } } }], initializers: [{ name: 'n', type: 'int64', sizes: [], data: [count] }, { name: 'shape', type: 'int64', sizes: [1], data: [1] }], inputs: scalarInput, outputs: [y] });
    await withModel(file(3), async (loaded) => assert.deepEqual((await outputsOf(loaded, { x: 3 })).y.data, Array.from({ length: 8 }, () => 3)));
    await withModel(file(1025), (loaded) => assert.rejects(loaded.run({ x: 3 }), { code: 'limit-exceeded', message: /node "loop" \(Loop, opset 17\): got 1025 iterations; takes 1024 at most/ }));
  });

  test('a computed condition ends a loop', async () => {
    // Doubles x until it is at least 100, at most 40 times.
    const body = { nodes: [{ op: 'Add', inputs: ['s', 's'], outputs: ['next'] }, { op: 'Less', inputs: ['next', 'hundred'], outputs: ['goes'] }], inputs: [int64, go, { name: 's', type: 'float' }], outputs: [goes, { name: 'next', type: 'float' }] };
    const hundred = { name: 'hundred', type: 'float', sizes: [], data: [100] };
    await withModel(loopOf(40, body, ['n', '', 'x'], [hundred]), async (loaded) => {
      for (const [x, result] of [[3, 192], [60, 120], [200, 400], [-1, -(2 ** 40)]]) assert.deepEqual((await outputsOf(loaded, { x })).y.data, [result]);
    });
    const rows = { ...body, nodes: [...body.nodes, { op: 'Identity', inputs: ['s'], outputs: ['row'] }], outputs: [...body.outputs, { name: 'row', type: 'float' }] };
    // How many rows there are is known where the input is given as a number.
    await withModel(loopOf(40, rows, ['n', '', 'x'], [hundred]), async (loaded) => assert.deepEqual((await outputsOf(loaded, { x: 3 })).y.data, [192]));
  });

  test('a scan along an axis that a run tells, from its end', async () => {
    const body = { nodes: [{ op: 'Add', inputs: ['s', 'row'], outputs: ['next'] }, { op: 'Mul', inputs: ['next', 'row'], outputs: ['out'] }], inputs: [{ name: 's', type: 'float' }, { name: 'row', type: 'float' }], outputs: [{ name: 'next', type: 'float' }, { name: 'out', type: 'float' }] };
    const attributes = { body: { graph: body }, num_scan_inputs: 1, scan_input_axes: [1], scan_input_directions: [1], scan_output_axes: [1], scan_output_directions: [1] };
    const file = model({ nodes: [{ op: 'Scan', inputs: ['s0', 'x'], outputs: ['last', 'y'], attributes }], initializers: [{ name: 's0', type: 'float', sizes: [2], data: [1, 2] }], inputs: [{ name: 'x', type: 'float', shape: [2, 'n'] }], outputs: [{ name: 'last', type: 'float' }, y] });
    await withModel(file, async (loaded) => {
      for (const n of [3, 40]) {
        const x = noise(2 * n);
        const [last, rows] = [[1, 2], Array.from({ length: 2 * n }, () => 0)];
        for (let t = n - 1; t >= 0; t--) for (const k of [0, 1]) { last[k] = Math.fround(last[k] + x[k * n + t]); rows[k * n + t] = last[k] * x[k * n + t]; }
        const found = await outputsOf(loaded, { x: { data: x, shape: [2, n] } });
        assertClose(found.last.data, last);
        assert.deepEqual(found.y.shape, [2, n]);
        assertClose(found.y.data, rows);
      }
    });
  });

  test('a recurrent layer of 3,000 steps is what its equations say', async () => {
    const [steps, size] = [3000, 2];
    const [w, r] = [noise(3 * size, 1), noise(size * size, 2)];
    const file = model({ nodes: [{ op: 'RNN', inputs: ['x', 'W', 'R'], outputs: ['', 'y'], attributes: { hidden_size: size } }], initializers: [{ name: 'W', type: 'float', sizes: [1, size, 3], data: [...w] }, { name: 'R', type: 'float', sizes: [1, size, size], data: [...r] }], inputs: [{ name: 'x', type: 'float', shape: [steps, 1, 3] }], outputs: [y] });
    const x = noise(3 * steps, 3);
    let h = Array.from({ length: size }, () => 0);
    for (let t = 0; t < steps; t++) {
      const before = h;
      h = before.map((_, k) => Math.tanh([0, 1, 2].reduce((sum, j) => sum + w[3 * k + j] * x[3 * t + j], 0) + before.reduce((sum, value, j) => sum + r[size * k + j] * value, 0)));
    }
    await withModel(file, async (loaded) => assertClose((await outputsOf(loaded, { x: { data: x, shape: [steps, 1, 3] } })).y.data, h));
  });

  test('a loop without a condition and without values that are carried', async () => {
    const body = { graph: { nodes: [{ op: 'Identity', inputs: ['go'], outputs: ['goes'] }, { op: 'Add', inputs: ['x', 'x'], outputs: ['row'] }], inputs: [{ name: 'i', type: 'int64', shape: [] }, { name: 'go', type: 'bool', shape: [] }], outputs: [{ name: 'goes', type: 'bool' }, { name: 'row', type: 'float' }] } };
    const file = model({ nodes: [{ op: 'Loop', inputs: ['n', ''], outputs: ['y'], attributes: { body } }], initializers: [{ name: 'n', type: 'int64', sizes: [], data: [3] }], inputs: [{ name: 'x', type: 'float', shape: [] }], outputs: [y] });
    await withModel(file, async (loaded) => assert.deepEqual((await outputsOf(loaded, { x: 2 })).y, { shape: [3], data: [4, 4, 4] }));
  });

  test('numbers that a device computes from constants decide shapes', async () => {
    // TopK has no rule for numbers in memory.
    const file = model({
      nodes: [{ op: 'TopK', inputs: ['v', 'k'], outputs: ['top', ''] }, { op: 'Reshape', inputs: ['x', 'top'], outputs: ['y'] }],
      initializers: [{ name: 'v', type: 'int32', sizes: [3], data: [2, 1, 3] }, { name: 'k', type: 'int64', sizes: [1], data: [2] }], inputs: [{ name: 'x', type: 'float', shape: [6] }], outputs: [y],
    });
    await withModel(file, async (loaded) => assert.deepEqual((await outputsOf(loaded, { x: [1, 2, 3, 4, 5, 6] })).y, { shape: [3, 2], data: [1, 2, 3, 4, 5, 6] }));
  });

  test('different elements and slices, as NumPy finds them', async () => {
    const outputs = ['y', 'first', 'inverse', 'counts'].map((name) => ({ name, type: name === 'y' ? 'float' : 'int64' }));
    const file = (shape, attributes) => single('Unique', [{ name: 'x', type: 'float', shape }], outputs, { attributes });
    const data = [2, 1, NaN, 2, -0, 0, NaN, 3];
    // numpy.unique(data, return_index=True, return_inverse=True, return_counts=True) of NumPy 2.4.6.
    const sorted = [[-0, 1, 2, 3, NaN], [4, 1, 0, 7, 2], [2, 1, 4, 2, 0, 0, 4, 3], [2, 1, 2, 1, 2]];
    const inOrder = [[2, 1, NaN, -0, 3], [0, 1, 2, 4, 7], [0, 1, 2, 0, 3, 3, 2, 4], [2, 1, 2, 2, 1]];
    const rows = [1, 0, 0, 1, 0, 0, 2, 3, 4];
    const columns = [2, 1, 2, 0, 1, 0, 2, 1, 2];
    for (const [x, shape, attributes, expected, sizes] of [
      [data, [2, 4], {}, sorted, [5]],
      [data, [8], { sorted: 0 }, inOrder, [5]],
      [rows, [3, 3], { axis: 0 }, [[1, 0, 0, 2, 3, 4], [0, 2], [0, 0, 1], [2, 1]], [2, 3]],
      [columns, [3, 3], { axis: -1 }, [[1, 2, 1, 0, 1, 2], [1, 0], [1, 0, 1], [1, 2]], [3, 2]],
    ]) {
      await withModel(file(shape, attributes), async (loaded) => {
        const found = await outputsOf(loaded, { x: { data: x, shape } });
        assert.deepEqual(['y', 'first', 'inverse', 'counts'].map((name) => [...found[name].data]), expected);
        assert.deepEqual(found.y.shape, sizes);
      });
    }
    await withModel(file(['n'], { axis: 1 }), (loaded) => assert.rejects(loaded.run({ x: { data: [1, 2], shape: [2] } }), { code: 'invalid-argument', message: /Unique.*attribute axis: got 1; takes/ }));
  });

  test('numbers of an input that decide shapes make a program each; a stored tensor there is refused', async () => {
    const file = single('Reshape', [{ name: 'x', type: 'float', shape: [6] }, { name: 's', type: 'int64', shape: [2] }], [y]);
    await withModel(file, async (loaded) => {
      for (const shape of [[2, 3], [3, 2], [2, 3]]) assert.deepEqual((await outputsOf(loaded, { x: [1, 2, 3, 4, 5, 6], s: shape })).y.shape, shape);
      assert.equal(device.stats().programs, 2);
      const s = device.tensor([2, 3], [2], 'i32');
      await assert.rejects(loaded.run({ x: [1, 2, 3, 4, 5, 6], s }), { code: 'invalid-argument', message: /feeds\.s: got a stored tensor/ });
      s.dispose();
    });
  });

  test('a run that is refused does not make later ones compute both graphs of a condition', async () => {
    const branch = (node) => ({ graph: { nodes: [{ ...node, outputs: ['r'] }], outputs: [{ name: 'r', type: 'float' }] } });
    const attributes = { then_branch: branch({ op: 'Neg', inputs: ['p'] }), else_branch: branch({ op: 'Transpose', inputs: ['p'], attributes: { perm: [0, 0] } }) };
    const inputs = [{ name: 'x', type: 'float', shape: [6] }, { name: 's', type: 'int64', shape: [2] }, { name: 'c', type: 'bool', shape: [] }];
    const file = model({ nodes: [{ op: 'Reshape', inputs: ['x', 's'], outputs: ['p'] }, { op: 'If', inputs: ['c'], outputs: ['y'], attributes }], inputs, outputs: [y] });
    await withModel(file, async (loaded) => {
      const s = device.tensor([2, 3], [2], 'i32');
      await assert.rejects(loaded.run({ x: noise(6), s, c: 1 }), { code: 'invalid-argument', message: /input 1: got a tensor that depends on the numbers of "s"/ });
      s.dispose();
      assert.deepEqual((await outputsOf(loaded, { x: noise(6), s: [2, 3], c: 1 })).y, { shape: [2, 3], data: noise(6).map((x) => -x) });
    });
  });
});

describe('sizes', () => {
  /** The mean of rows of a picture, whose shape is computed as exporters do: [batch, 3, h, w] to [batch · 3, h · w]. */
  const file = () => model({
    nodes: [
      { op: 'Shape', inputs: ['x'], outputs: ['s'] },
      ...[['b', 0], ['h', 2], ['w', 3]].map(([name, at]) => ({ op: 'Gather', inputs: ['s', `at${at}`], outputs: [name] })),
      { op: 'Mul', inputs: ['b', 'three'], outputs: ['rows'] }, { op: 'Mul', inputs: ['h', 'w'], outputs: ['columns'] },
      { op: 'Concat', inputs: ['rows', 'columns'], outputs: ['t'], attributes: { axis: 0 } }, { op: 'Reshape', inputs: ['x', 't'], outputs: ['flat'] },
      { op: 'ReduceMean', inputs: ['flat'], outputs: ['y'], attributes: { axes: [1], keepdims: 0 } },
      { op: 'Cast', inputs: ['t'], outputs: ['sizes'], attributes: { to: 1 } },
    ],
    initializers: [...[0, 2, 3].map((at) => ({ name: `at${at}`, type: 'int64', sizes: [1], data: [at] })), { name: 'three', type: 'int64', sizes: [1], data: [3] }],
    inputs: [{ name: 'x', type: 'float', shape: ['batch', 3, 'height', 'width'] }], outputs: [y, { name: 'sizes', type: 'float' }],
  });
  const picture = (batch, height, width) => ({ x: { data: noise(batch * 3 * height * width), shape: [batch, 3, height, width] } });
  const means = (batch, height, width) => Array.from({ length: batch * 3 }, (_, row) => noise(batch * 3 * height * width).slice(row * height * width, (row + 1) * height * width).reduce((a, b) => a + b, 0) / (height * width));

  test('a name has the sizes of each run, with a program for each', async () => {
    await withModel(file(), async (loaded) => {
      assert.deepEqual(loaded.inputs, [{ name: 'x', type: 'float', dtype: 'f32', shape: ['batch', 3, 'height', 'width'] }]);
      assert.deepEqual(JSON.parse(JSON.stringify(loaded)).outputs[0], { name: 'y', type: 'float', dtype: 'f32', shape: null });
      for (let k = 1; k <= 12; k++) {
        const found = await outputsOf(loaded, picture(1, k, 2));
        assertClose(found.y.data, means(1, k, 2));
        assert.deepEqual(found.sizes.data, [3, 2 * k]);
      }
      assert.equal(device.stats().programs, 8, 'the latest eight are kept');
    });
  });

  test('programs that are not kept leave nothing of what they stored', async () => {
    const row = { name: 'x', type: 'float', shape: [1, 1, 1, 'w'] };
    const roi = [{ name: 'r', type: 'float', sizes: [0], data: [] }, { name: 'by', type: 'float', sizes: [4], data: [1, 1, 1, 1.7] }];
    const file = single('Resize', [row], [y], { initializers: roi, attributes: { mode: 'linear' } });
    const run = (loaded, width) => outputsOf(loaded, { x: { data: noise(width), shape: [1, 1, 1, width] } });
    const held = async () => (await device.synchronize(), device.stats().tensorBytes);
    await withModel(file, async (loaded) => {
      for (let width = 10; width < 18; width++) await run(loaded, width);
      // The largest of later rows is that much longer than the smallest of these.
      const most = ((await held()) * 37) / 10;
      for (let width = 18; width < 38; width++) await run(loaded, width);
      const before = await held();
      for (let width = 18; width < 38; width++) await run(loaded, width);
      assert.equal(await held(), before, 'the same sizes again add nothing');
      assert.ok(before < most, `${before} bytes, of ${most} at most`);
      // What was evicted is compiled again, and is right: between the two neighbours of the place.
      const at = (i) => noise(30)[Math.min(Math.max(i, 0), 29)];
      const between = (x) => at(Math.floor(x)) + (x - Math.floor(x)) * (at(Math.floor(x) + 1) - at(Math.floor(x)));
      assertClose((await run(loaded, 30)).y.data, Array.from({ length: 51 }, (_, i) => between((i + 0.5) / 1.7 - 0.5)));
    });
  });

  test('a graph that cannot be recorded leaves nothing of what it stored', async () => {
    const initializers = [{ name: 'r', type: 'float', sizes: [0], data: [] }, { name: 'by', type: 'float', sizes: [1], data: [1.7] }, { name: 's', type: 'int64', sizes: [1], data: [5] }];
    const file = model({ nodes: [{ op: 'Resize', inputs: ['x', 'r', 'by'], outputs: ['p'], attributes: { mode: 'linear' } }, { op: 'Reshape', inputs: ['p', 's'], outputs: ['y'] }], initializers, inputs: [{ name: 'x', type: 'float', shape: ['w'] }], outputs: [y] });
    await withModel(file, async (loaded) => {
      await assert.rejects(loaded.run({ x: { data: noise(20), shape: [20] } }), { code: 'invalid-argument', message: /Reshape, opset 17\): shape: got \[5\]/ });
      await device.synchronize();
      assert.equal(device.stats().tensorBytes, 0);
    });
  });

  test('with Dims one program serves all sizes', async () => {
    const dims = { batch: T.dim('n', 4), height: T.dim('h', 8), width: 5 };
    await withModel(file(), async (loaded) => {
      for (const [batch, height] of [[1, 8], [4, 3], [2, 1]]) {
        const found = await outputsOf(loaded, picture(batch, height, 5));
        assertClose(found.y.data, means(batch, height, 5));
        assert.deepEqual(found.sizes.data, [3 * batch, 5 * height]);
      }
      assert.equal(device.stats().programs, 1);
      await assert.rejects(loaded.run(picture(1, 8, 6)), { code: 'invalid-argument', message: /takes the shape \[n, 3, h, 5\]/ });
    }, { dims });
  });

  test('numbers alone have the shape that follows; feeds that do not fit are refused', async () => {
    const two = model({ nodes: [{ op: 'MatMul', inputs: ['a', 'b'], outputs: ['y'] }], inputs: [{ name: 'a', type: 'float', shape: ['m', 'k'] }, { name: 'b', type: 'float', shape: ['k', 2] }], outputs: [y] });
    await withModel(two, async (loaded) => {
      assert.deepEqual((await outputsOf(loaded, { a: { data: [1, 2, 3], shape: [1, 3] }, b: [1, 2, 3, 4, 5, 6] })).y, { shape: [1, 2], data: [22, 28] });
      const refused = (feeds, message) => assert.rejects(loaded.run(feeds), (error) => (error.code === 'invalid-argument' && message.test(error.message)) || assert.fail(error.message));
      await refused({ a: [1, 2, 3], b: { data: [1, 2], shape: [1, 2] } , c: 1 }, /feeds\.c: got 1; takes the inputs 'a', 'b'/);
      await refused({ a: [1, 2, 3] }, /feeds\.b: got undefined/);
      await refused({ a: [1, 2, 3], b: [1, 2] }, /leaves more than one of its sizes open/);
      await refused({ a: { data: [1, 2, 3], shape: [1, 3] }, b: { data: [1, 2], shape: [1, 2] } }, /feeds\.b: got the shape \[1, 2\]; takes the shape \[k, 2\] where k is 3/);
      await refused({ a: { data: [1, 2, 3], shape: [1, 3] }, b: [1, 2, 3, 4] }, /feeds\.b: got 4 numbers; takes 6/);
      await refused({ a: { data: [1, 2, 3], shape: [2, 2] }, b: [1, 2] }, /feeds\.a\.data: got 3 numbers; takes 4/);
      const whole = device.tensor([1, 2], [1, 2], 'i32');
      await refused({ a: whole, b: [1, 2, 3, 4] }, /feeds\.a: got a tensor of i32; takes one of f32/);
      whole.dispose();
    });
  });
});

describe('recipes', () => {
  test('outputs are recipes over tensors, with derivatives', async () => {
    const file = model({ nodes: [{ op: 'MatMul', inputs: ['x', 'w'], outputs: ['p'] }, { op: 'Tanh', inputs: ['p'], outputs: ['y'] }], initializers: [{ name: 'w', type: 'float', sizes: [2, 2], data: [1, -2, 0.5, 3] }], inputs: [{ name: 'x', type: 'float', shape: ['n', 2] }], outputs: [y] });
    await withModel(file, async (loaded) => {
      const x = device.tensor([[0.1, 0.2]]);
      const { y: found } = loaded.recipe({ x });
      assert.deepEqual(found.shape, [1, 2]);
      const [slope] = T.grad(found.sum(), [x]);
      const p = [0.1 * 1 + 0.2 * 0.5, 0.1 * -2 + 0.2 * 3];
      assertClose([...(await found.data())], p.map(Math.tanh));
      const d = p.map((v) => 1 - Math.tanh(v) ** 2);
      assertClose([...(await slope.data())], [d[0] * 1 + d[1] * -2, d[0] * 0.5 + d[1] * 3]);
      assert.throws(() => loaded.recipe({ x: x.cast('i32') }), { code: 'invalid-argument', message: /recipe: feeds\.x: got Tensor i32 \[1, 2\]; takes a tensor of f32 \[n, 2\]/ });
      assert.throws(() => loaded.recipe({ x: x.flatten() }), { code: 'invalid-argument' });
      x.dispose();
    });
  });

  test('what depends on constants alone is computed once, and what it needs no more is freed', async () => {
    const count = 100 * 100;
    const file = model({ nodes: [{ op: 'Transpose', inputs: ['w'], outputs: ['t'] }, { op: 'Neg', inputs: ['t'], outputs: ['n'] }, { op: 'Exp', inputs: ['n'], outputs: ['e'] }, { op: 'MatMul', inputs: ['x', 'e'], outputs: ['y'] }], initializers: [{ name: 'w', type: 'float', sizes: [100, 100], data: noise(count) }], inputs: [{ name: 'x', type: 'float', shape: [1, 100] }], outputs: [y] });
    await withModel(file, async (loaded) => {
      await device.synchronize();
      assert.equal(device.stats().tensorBytes, 4 * count);
      const w = noise(count);
      // Sums of 100 products of some 2.
      assertClose((await outputsOf(loaded, { x: Array(100).fill(1) })).y.data, Array.from({ length: 100 }, (_, column) => Array.from({ length: 100 }, (_, row) => Math.exp(-w[column * 100 + row])).reduce((a, b) => a + b, 0)), 1e-4);
    });
  });

  test('after dispose() calls are refused', async () => {
    const { file, feeds } = MADE.encoder();
    const loaded = await loadOnnx(file, { device });
    loaded.dispose();
    loaded.dispose();
    await assert.rejects(loaded.run(feeds), { code: 'disposed' });
    assert.throws(() => loaded.recipe(feeds), { code: 'disposed' });
  });
});

test('quantised products are exact, and results are rounded half to even', async () => {
  const a = Array.from({ length: 600 }, (_, i) => (i * 91) % 256);
  const b = Array.from({ length: 600 }, (_, i) => ((i * 57) % 256) - 128);
  const integers = single('MatMulInteger', [{ name: 'a', type: 'uint8', shape: [2, 300] }, { name: 'b', type: 'int8', shape: [300, 2] }, { name: 'za', type: 'uint8', shape: [] }], [{ name: 'y', type: 'int32' }]);
  await withModel(integers, async (loaded) => {
    const expected = [0, 1].flatMap((row) => [0, 1].map((column) => Array.from({ length: 300 }, (_, k) => (a[row * 300 + k] - 7) * b[2 * k + column]).reduce((x, z) => x + z, 0)));
    assert.deepEqual((await outputsOf(loaded, { a, b, za: 7 })).y.data, expected);
    assert.ok(expected.some((x) => Math.abs(x) > 255 * 127));
  });
  const scale = { name: 's', type: 'float', sizes: [], data: [0.5] };
  await withModel(single('QuantizeLinear', [{ name: 'x', type: 'float', shape: [8] }], [{ name: 'y', type: 'int8' }], { initializers: [scale, { name: 'z', type: 'int8', sizes: [], data: [3] }] }), async (loaded) => {
    assert.deepEqual((await outputsOf(loaded, { x: [0.25, 0.75, 1.25, -0.25, -0.75, 1000, -1000, 0] })).y.data, [3, 5, 5, 3, 1, 127, -128, 3]);
  });
});

test('the documentation lists the operators that are taken', async () => {
  const page = await readFile(new URL('../../docs/site/onnx.md', import.meta.url), 'utf8');
  const listed = [...page.matchAll(/^- \*\*([^*]+)\*\*: ([A-Z](?:.|\n {2})+)$/gm)].flatMap(([, family, names]) => names.replace(", and functions of the file's own", '').split(/\s+/).map((name) => (family === 'com.microsoft' ? `${family}.${name}` : name)));
  const unknown = single('Frobnicate', [], [y]);
  const { message } = await loadOnnx(unknown, { device }).then(() => assert.fail(), (error) => error);
  assert.deepEqual(/takes the operators (.*)$/.exec(message)[1].split(', ').sort(), listed.sort());
});
