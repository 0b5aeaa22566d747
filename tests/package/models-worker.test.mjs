// residua/tensor/models/worker at the two ends of a channel, by the module that is packed: files are read, graphs recorded and run at the other end; errors
// keep their codes.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { after, before, describe, test } from 'node:test';
import * as T from '../../pkg-template/dist/tensor.js';
import { loadOnnx } from '../../pkg-template/dist/tensor-onnx.js';
import { RemoteFiles } from '../../pkg-template/dist/tensor/remote/remote-files.js';
import { loadInWorker } from '../../pkg-template/dist/tensor/remote/remote-model.js';
import { ServedModels } from '../../pkg-template/dist/tensor/remote/served-models.js';
import { serveTensors } from '../../pkg-template/dist/tensor/remote/server.js';
import { TensorThread } from '../../pkg-template/dist/tensor/remote/thread.js';
import { GGUF, gguf, joined as joinedBytes } from '../facade/tensor-files/made.mjs';
import { bytes, concatenated, int, model, text } from '../onnx/writer.mjs';
import { cases, fileOf } from '../tfjs/loaded.mjs';

/** A thread whose worker, with models unless told otherwise, is at the other end of a channel. */
function joined(models = ServedModels) {
  const sent = [];
  const thread = new TensorThread(() => {
    const { port1, port2 } = new MessageChannel();
    serveTensors(port2, models);
    const port = {
      set onmessage(listener) {
        port1.onmessage = listener;
      },
      postMessage: (batch, transfer) => (sent.push(...batch), port1.postMessage(batch, transfer)),
    };
    return { port, end: () => [port1, port2].forEach((each) => each.close()), listen: () => () => {} };
  }, models === null ? null : RemoteFiles);
  return { sent, thread, Device: T.Device.on(thread.open) };
}

const code = (expected, message = /./) => (error) => error instanceof T.ResiduaError && error.code === expected && message.test(error.message);

/** Fields of a tensor whose numbers are in another file. */
const outside = (entries) => [...Object.entries(entries).map(([key, value]) => bytes(13, concatenated([text(1, key), text(2, String(value))]))), int(14, 1)];

/** relu(x · w), for any number of rows; w of so many columns. */
const dense = (columns = 2, external) => model({
  nodes: [{ op: 'MatMul', inputs: ['x', 'w'], outputs: ['p'] }, { op: 'Relu', inputs: ['p'], outputs: ['y'] }],
  initializers: [{ name: 'w', type: 'float', sizes: [2, columns], ...(external === undefined ? { data: Array.from({ length: 2 * columns }, (_, k) => k - 1) } : { fields: outside(external) }) }],
  inputs: [{ name: 'x', type: 'float', shape: ['batch', 2] }], outputs: [{ name: 'y', type: 'float', shape: ['batch', columns] }],
});

let sides, device, here;
const load = (source, options = {}, files) => loadInWorker('loadOnnx', 'onnx', source, { device, ...options }, sides.Device, files);
before(async () => {
  await T.init(await readFile(new URL('../../pkg-template/wasm-tensor/residua_tensor_bg.wasm', import.meta.url)));
  sides = joined();
  [device, here] = await Promise.all([sides.Device.create({ backend: 'cpu' }), T.Device.create({ backend: 'cpu' })]);
});
after(() => {
  sides.thread.terminate();
  here.dispose();
});

test('a model computes what it computes on the page, from each kind of source', async () => {
  const file = dense();
  const server = createServer((_, response) => response.end(file)).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const address = `http://127.0.0.1:${server.address().port}/model.onnx`;
  try {
    const local = await loadOnnx(file, { device: here });
    const x = { data: [1, 2, 3, -4], shape: [2, 2] };
    const expected = await (await local.run({ x })).y.data();
    // w is [[-1, 0], [1, 2]].
    assert.deepEqual([...expected], [1, 4, 0, 0]);
    const pieces = () => new ReadableStream({
      start(controller) {
        for (let at = 0; at < file.length; at += 50) controller.enqueue(file.slice(at, at + 50));
        controller.close();
      },
    });
    for (const source of [file, file.slice().buffer, new Blob([file]), address, new URL(address), fetch(address), pieces()]) {
      const seen = [];
      const loaded = await load(source, { onProgress: (done) => seen.push(done) });
      assert.deepEqual([JSON.stringify(loaded), seen.at(-1)], [JSON.stringify(local), file.length]);
      const { y } = await loaded.run({ x });
      assert.deepEqual([y.shape, await y.data()], [[2, 2], expected]);
      loaded.dispose();
    }
    assert.ok(file.length > 0, 'bytes are copied');
    local.dispose();
  } finally {
    server.close();
  }
});

test('bytes are transferred on request', async () => {
  const file = dense();
  const loaded = await load(file, { transfer: true });
  assert.equal(file.length, 0);
  assert.deepEqual([...(await (await loaded.run({ x: [1, 2] })).y.data())], [1, 4]);
  loaded.dispose();
});

test('further files are asked for on the page, and their errors keep their codes', async () => {
  const columns = 4096;
  const file = dense(columns, { location: 'weights.bin', offset: 0, length: 8 * columns });
  const asked = [];
  const numbers = new Uint8Array(Float32Array.from({ length: 2 * columns }, (_, k) => k % 7).buffer);
  const loaded = await load(file, {}, async (name) => (asked.push(name), new Blob([numbers])));
  assert.deepEqual(asked, ['weights.bin']);
  const { y } = await loaded.run({ x: [1, 0] });
  assert.deepEqual([...(await y.data()).subarray(0, 9)], [0, 1, 2, 3, 4, 5, 6, 0, 1]);
  loaded.dispose();
  await assert.rejects(load(file), code('invalid-argument', /external/));
  await assert.rejects(load(file, {}, () => 5), code('invalid-argument', /weights\.bin.*: got 5/));
  await assert.rejects(load(file, {}, () => { throw new T.ResiduaError('limit-exceeded', 'too much'); }), code('limit-exceeded', /too much/));
  const broken = new ReadableStream({ pull: (controller) => controller.error(new Error('gone')) });
  await assert.rejects(load(broken), code('invalid-argument', /a failure of the stream at byte 0: Error: gone/));
});

test('a model of TensorFlow.js has layers and weights in the worker', async () => {
  const given = cases('layers').find(({ name }) => name === 'dense layers, one after another');
  const made = fileOf(given);
  const loaded = await loadInWorker('loadTfjs', 'tfjs', made.json, { device }, sides.Device, () => made.bytes);
  assert.equal(loaded.inputs.length, given.inputs.length);
  const [y] = Object.values(await loaded.run(Object.fromEntries(given.inputs.map(({ name, shape, data }) => [name, { shape, data }]))));
  // The bound of the same cases on the page.
  (await y.data()).forEach((value, k) => assert.ok(Math.abs(value - given.outputs[0].data[k]) < 1e-5, `${k}: ${value}`));
  loaded.dispose();
});

test('Dims are those of the caller, and one program serves their sizes', async () => {
  const batch = T.dim('rows', 16);
  const loaded = await load(dense(), { dims: { batch } });
  assert.equal(loaded.inputs[0].shape[0], batch);
  for (const rows of [1, 3]) {
    const { y } = await loaded.run({ x: new Float32Array(2 * rows).fill(1) });
    assert.deepEqual([y.shape, (await y.data()).length], [[rows, 2], 2 * rows]);
  }
  loaded.dispose();
});

test('stored tensors go in as they are at the call, and outputs are computed with further', async () => {
  const loaded = await load(dense());
  const x = device.tensor([[1, 2]]);
  const running = loaded.run({ x });
  // The run has yet to compile.
  x.set([7, 7]);
  x.dispose();
  const { y } = await running;
  assert.deepEqual(await device.read(y.add(1)), [Float32Array.of(2, 5)]);
  const next = await loaded.run({ x: y });
  assert.deepEqual([...(await next.y.data())], [3, 8]);
  await assert.rejects(loaded.run({ x: here.tensor([[1, 2]]) }), code('invalid-argument', /feeds\.x: got a stored tensor of another device/));
  await assert.rejects(loaded.run({ x: [1, 2, 3] }), code('invalid-argument', /feeds\.x/));
  await assert.rejects(loaded.run({ z: [1, 2] }), code('invalid-argument', /feeds\.z/));
  loaded.dispose();
  await assert.rejects(next.y.data(), code('disposed'));
  await assert.rejects(loaded.run({ x: [1, 2] }), code('disposed'));
});

test('outputs of a program that was freed for others are refused', async () => {
  const loaded = await load(dense());
  const { y } = await loaded.run({ x: [1, 2] });
  for (let rows = 2; rows < 11; rows++) await loaded.run({ x: new Float32Array(2 * rows) });
  await assert.rejects(y.data(), code('disposed', /freed/));
  loaded.dispose();
});

test('a signal ends a load, before and while it is under way, and nothing is left', async () => {
  await assert.rejects(load(dense(), { signal: AbortSignal.abort() }), code('aborted', /^loadOnnx/));
  const controller = new AbortController();
  let isCancelled = false;
  const endless = new ReadableStream({ pull: () => new Promise(() => {}), cancel: () => void (isCancelled = true) }, { highWaterMark: 0 });
  const loading = load(endless, { signal: controller.signal });
  setTimeout(() => controller.abort(), 20);
  await assert.rejects(loading, code('aborted', /^loadOnnx was aborted/));
  assert.ok(isCancelled);
  // What is sent at the abort is freed, should the worker have finished.
  const late = new AbortController();
  const other = load(dense(), { signal: late.signal, onProgress: (done, total) => done === total && late.abort() });
  await assert.rejects(other, code('aborted'));
  await device.synchronize();
  assert.ok(sides.sent.some((message) => message.do === 'freeModel'));
});

test('other devices, wrong options and files are refused by name', async () => {
  await assert.rejects(load(dense(), { device: here }), code('invalid-argument', /loadOnnx: device: got a Device of 'residua\/tensor'/));
  const plain = joined(null);
  const without = await plain.Device.create({ backend: 'cpu' });
  await assert.rejects(load(dense(), { device: without }), code('invalid-argument', /device: got a Device of 'residua\/tensor\/worker'/));
  plain.thread.terminate();
  await assert.rejects(load(Uint8Array.of(1, 2, 3)), code('invalid-argument', /loadOnnx/));
  await assert.rejects(load(7), code('invalid-argument', /loadOnnx: source: got 7/));
  await assert.rejects(load(dense(), { transfer: 1 }), code('invalid-argument', /transfer/));
});

test('the end of the worker rejects loads and runs', async () => {
  const other = joined();
  const on = await other.Device.create({ backend: 'cpu' });
  const loaded = await load(dense(), { device: on });
  const loading = load(dense(), { device: on });
  loading.catch(() => {});
  await new Promise((resolve) => setImmediate(resolve));
  other.thread.terminate();
  await assert.rejects(loading, code('disposed'));
  await assert.rejects(loaded.run({ x: [1, 2] }), code('disposed'));
});

describe('files are read in the worker', () => {
  const bytesOf = async (blob) => new Uint8Array(await blob.arrayBuffer());

  test('tensors of each format are those of the page, with progress and a selection', async () => {
    const weights = { a: here.tensor([[1, 2], [3, 4]]), b: here.tensor([5, 6, 7], [3], 'i32'), c: here.tensor([0.5], [1], 'f16') };
    const file = await bytesOf(await T.saveSafetensors(weights, { author: 'x' }));
    const sides = joined();
    const device = await sides.Device.create({ backend: 'cpu' });
    const seen = [];
    const all = await T.loadSafetensors(file, { device, onProgress: (...counts) => seen.push(counts) });
    assert.deepEqual([Object.keys(all.tensors).sort(), all.metadata, seen.at(-1)], [['a', 'b', 'c'], { author: 'x' }, [file.length, file.length]]);
    // The page sends the file, and no numbers of tensors.
    assert.deepEqual([...new Set(sides.sent.map((message) => message.do))], ['load', 'open', 'loadFile']);
    assert.equal(file.length > 0, true);
    for (const name of 'abc') assert.deepEqual([all.tensors[name].dtype, all.tensors[name].shape, await all.tensors[name].data()], [weights[name].dtype, weights[name].shape, await weights[name].data()]);
    const { tensors } = await T.loadSafetensors(new Blob([file]), { device, select: (name) => name !== 'b', dtype: 'f16' });
    assert.deepEqual(Object.keys(tensors).sort(), ['a', 'c']);
    assert.equal(tensors.a.dtype, 'f16');
    assert.deepEqual([...(await tensors.a.matmul(tensors.a).data())], [7, 10, 15, 22]);
    const npy = await T.loadNpy(await T.saveNpy(weights.a), { device });
    assert.deepEqual(await npy.data(), Float32Array.of(1, 2, 3, 4));
    const before = device.stats();
    T.dispose(all.tensors, tensors, npy);
    await device.synchronize();
    assert.deepEqual([before.tensors, device.stats().tensors, device.stats().tensorBytes], [6, 0, 0]);
    await assert.rejects(npy.data(), code('disposed'));
    sides.thread.terminate();
    Object.values(weights).forEach((tensor) => tensor.dispose());
  });

  test('quantised weights of a GGUF file stay quantised', async () => {
    // Two rows of a block of 32: a scale in half precision, and bytes.
    const row = (scale) => joinedBytes(Uint8Array.of(0, scale), Int8Array.from({ length: 32 }, (_, k) => 5 * k - 70));
    const file = gguf({ n: GGUF.u64(2n ** 60n) }, [['w', [32, 2], 8, joinedBytes(row(0x3c), row(0x40))], ['b', [2], 0, Float32Array.of(7, 8)]]);
    const found = [];
    for (const on of [device, here]) {
      const { tensors, metadata } = await T.loadGguf(file, { device: on });
      const shown = await Promise.all(Object.entries(tensors).map(async ([name, tensor]) => [name, tensor.shape, tensor.type, await (tensor.dequantize?.('f32') ?? tensor).data()]));
      found.push([metadata, shown]);
      assert.deepEqual([tensors.w.type, found.at(-1)[1].find(([name]) => name === 'w')[3].slice(31, 34)], ['q8_0', Float32Array.of(85, -140, -130)]);
      T.dispose(tensors);
    }
    assert.deepEqual(found[0], found[1]);
  });

  test('errors and aborts are those of the page, and what a callback throws ends the load', async () => {
    const file = await bytesOf(await T.saveSafetensors({ a: here.tensor(new Float32Array(1000)) }));
    await assert.rejects(T.loadSafetensors(file.subarray(0, 100), { device }), code('invalid-argument', /^loadSafetensors/));
    await assert.rejects(T.loadGguf(file, { device }), code('invalid-argument', /^loadGguf: byte 0/));
    await assert.rejects(T.loadSafetensors(file, { device, signal: AbortSignal.abort() }), code('aborted', /^loadSafetensors/));
    for (const name of ['select', 'onProgress']) {
      const options = { device, [name]() { throw new RangeError(`of ${name}`); } };
      await assert.rejects(T.loadSafetensors(file, options), (error) => error instanceof RangeError && error.message === `of ${name}`);
    }
    await device.synchronize();
  });
});
