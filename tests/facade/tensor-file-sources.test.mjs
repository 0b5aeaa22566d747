/** Where files of tensors come from, how much of them is in memory at once, and what is left after a failure: nothing. */

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import * as T from '../../pkg-template/dist/tensor.js';
import { fakeGpu } from './fake-gpu.mjs';
import { residuaError } from './fake-module.mjs';
import { installTensors } from './fake-tensor-module.mjs';
import { gguf, npy, safetensors, safetensorsOf, streamOf, zip } from './tensor-files/made.mjs';

async function open(backend = 'cpu', options) {
  const fake = installTensors();
  const gpu = backend === 'gpu' ? fakeGpu(options) : null;
  return { fake, gpu, device: await T.Device.create(gpu === null ? { backend } : { share: gpu }) };
}

const COUNT = 1000;
const numbers = Float32Array.from({ length: COUNT }, (_, i) => i / 4);
const file = safetensors([['u', 'U8', [5], Uint8Array.of(9, 8, 7, 6, 5)], ['x', 'F32', [COUNT], numbers], ['y', 'F16', [3], Uint16Array.of(0x3c00, 0x4000, 0x4200)], ['z', 'I64', [3], BigInt64Array.of(1n, 2n, -3n)]]);

async function check(tensors) {
  assert.deepEqual([...(await tensors.u.data())], [9, 8, 7, 6, 5]);
  assert.deepEqual([...(await tensors.x.data())], [...numbers]);
  assert.deepEqual([...(await tensors.y.data())], [1, 2, 3]);
  assert.deepEqual([...(await tensors.z.data())], [1, 2, -3]);
  T.dispose(tensors);
}

/** A server of one answer. Returns its address; `t` ends it. */
async function served(t, answer) {
  const server = createServer(answer);
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${server.address().port}/model.safetensors`;
}

for (const backend of ['gpu', 'cpu']) {
  test(`${backend}: a file comes from memory, from a Blob, from a stream in chunks of any size, from a response`, async (t) => {
    const { device } = await open(backend);
    const address = await served(t, (_, response) => response.end(file));
    const behind = Buffer.concat([Buffer.from('...'), file]);
    const sources = {
      'a typed array': file, 'a part of a buffer': behind.subarray(3), 'an ArrayBuffer': file.buffer.slice(0), 'a DataView': new DataView(file.buffer), 'a Blob': new Blob([file]), 'a File': new File([file], 'x'),
      'shared memory': new Uint8Array(new SharedArrayBuffer(file.length)), 'a stream': streamOf(file), 'a stream of bytes': streamOf(file, [1]), 'a stream of odd chunks': streamOf(file, [3, 7, 1, 0, 61, 5]),
      'a stream of ArrayBuffers': new ReadableStream({ start: (to) => (to.enqueue(file.buffer.slice(0)), to.close()) }),
      'a Response': new Response(file), 'a promise of a Response': Promise.resolve(new Response(streamOf(file))), 'an address': address, 'a URL': new URL(address), 'a promise of fetch': fetch(address),
    };
    sources['shared memory'].set(file);
    for (const [name, source] of Object.entries(sources)) {
      const { tensors } = await T.loadSafetensors(source, { device }).catch((error) => assert.fail(`${name}: ${error.stack}`));
      await check(tensors);
    }
    assert.equal(device.stats().tensorBytes, 0);
  });

  test(`${backend}: other formats come in chunks of any size`, async () => {
    const { device } = await open(backend);
    const array = npy('<i2', [777], Int16Array.from({ length: 777 }, (_, i) => 3 * i));
    const quantised = new Uint8Array(34 * 24).fill(1);
    const model = gguf({}, [['a', [256, 3], 8, quantised], ['b', [3], 30, Uint16Array.of(0x3f80, 0x4000, 0x4040)]]);
    for (const sizes of [[1], [5, 1, 2], [33], [100000]]) {
      const tensor = await T.loadNpy(streamOf(array, sizes), { device });
      assert.deepEqual([...(await tensor.data())].slice(-2), [2325, 2328]);
      const { a, b } = await T.loadNpz(streamOf(zip([{ name: 'a.npy', bytes: array, method: 8 }, { name: 'b.npy', bytes: array }]), sizes), { device });
      assert.deepEqual(await a.data(), await b.data());
      const { tensors } = await T.loadGguf(streamOf(model, sizes), { device });
      assert.deepEqual([...(await tensors.b.data())], [1, 2, 3]);
      assert.deepEqual([tensors.a.type, tensors.a.shape], ['q8_0', [3, 256]]);
    }
  });
}

test('progress goes to the size of the file', async (t) => {
  const { device } = await open();
  const calls = [];
  const onProgress = (loaded, total) => calls.push([loaded, total]);
  for (const source of [file, new Blob([file]), streamOf(file, [700]), new Response(streamOf(file, [700]), { headers: { 'content-length': String(file.length) } }), await served(t, (_, response) => response.end(file))]) {
    calls.length = 0;
    await T.loadSafetensors(source, { device, onProgress });
    assert.deepEqual(calls.at(-1), [file.length, file.length]);
    assert.ok(calls.every(([loaded, total], k) => loaded <= file.length && (total === file.length || total === 0) && (k === 0 || loaded >= calls[k - 1][0])), JSON.stringify(calls));
  }
  calls.length = 0;
  await T.loadSafetensors(file, { device, onProgress, select: (name) => name === 'u' });
  assert.deepEqual(calls.at(-1), [file.length, file.length], 'what is not needed counts as done');
  // The length of a body that is encoded says nothing of its bytes.
  calls.length = 0;
  await T.loadNpz(new Response(zip([{ name: 'x.npy', bytes: npy('|u1', [1], Uint8Array.of(1)) }]), { headers: { 'content-length': '7', 'content-encoding': 'gzip' } }), { device, onProgress });
  assert.ok(calls.length > 0 && calls.every(([, total]) => total === 0));
});

test('what follows the last selected tensor is not transferred', async () => {
  const { device } = await open();
  let [pulled, cancelled] = [0, false];
  const source = new ReadableStream({
    pull(to) {
      to.enqueue(file.slice(pulled, pulled + 100));
      pulled += 100;
    },
    cancel: () => void (cancelled = true),
  });
  const { tensors } = await T.loadSafetensors(source, { device, select: (name) => name === 'u' });
  assert.deepEqual([...(await tensors.u.data())], [9, 8, 7, 6, 5]);
  assert.ok(cancelled && pulled < 700, `${pulled} bytes`);
});

test('sources that have no file are refused', async (t) => {
  const { device } = await open();
  const answer = (status, headers, body) => served(t, (_, response) => response.writeHead(status, headers).end(body));
  const used = new Response('x');
  await used.text();
  const locked = streamOf(file);
  locked.getReader();
  const cases = [
    [await answer(404, {}, 'nothing'), /source: got HTTP status 404 Not Found from http.*; takes a response with a status/],
    [await answer(200, { 'content-type': 'text/html; charset=utf-8' }, '<!DOCTYPE html>'), /got a page of type "text\/html; charset=utf-8" from http/],
    ['http://127.0.0.1:1/', /got no response from http:\/\/127.0.0.1:1\/: TypeError/],
    ['no address', /got no response from no address/],
    [used, /a response that was read before/],
    [new Response(null), /a response without a body/],
    [locked, /a stream that is locked/],
    [new ReadableStream({ start: (to) => to.enqueue('text') }), /got "text" in a stream, at byte 0; takes a Uint8Array/],
    [new ReadableStream({ pull: (to) => to.error(new Error('broken wire')) }), /a failure of the stream at byte 0: Error: broken wire/],
    [() => Promise.reject(new TypeError('offline')), /a promise that rejected: TypeError: offline/],
    [Promise.resolve(7), /got a promise of 7; takes one of a Response/],
    [{}, /got an object; takes an address/], [null, /got null/], [7, /got 7/], [[1, 2], /got an array of 2/],
    [streamOf(Buffer.from('<!DOCTYPE html><html>')), /byte 0: got "<!DOCTYP", a header of \d+ bytes; takes a safetensors file/],
    [new ArrayBuffer(0), /the length of the header: got a file that ends at byte 0; takes 8 bytes from byte 0 on/],
  ];
  for (const [source, message] of cases) await assert.rejects(T.loadSafetensors(typeof source === 'function' ? source() : source, { device }), residuaError('invalid-argument', message));
  for (const [options, message] of [
    [{ selcet: () => true }, /did you mean 'select'/], [{ device: {} }, /device: got an object; takes a Device/], [{ select: 'x' }, /select: got "x"/], [{ dtype: 'i32' }, /dtype: got "i32"; takes 'f32' or 'f16'/],
    [{ onProgress: 1 }, /onProgress: got 1/], [{ signal: {} }, /signal: got an object; takes an AbortSignal/],
  ]) await assert.rejects(T.loadNpy(file, options), residuaError('invalid-argument', message));
  assert.equal(device.stats().tensors, 0);
});

/** The counters that a failure must leave as they were. */
const kept = ({ tensors, tensorBytes, programs, programBytes }) => ({ tensors, tensorBytes, programs, programBytes });

for (const backend of ['gpu', 'cpu']) {
  test(`${backend}: a load that is aborted, or whose callbacks or source fail, leaves nothing`, async () => {
    const { device, gpu } = await open(backend);
    const start = kept(device.stats());
    const failing = (at) => {
      const reader = streamOf(file, [100]).getReader();
      let read = 0;
      return new ReadableStream({
        async pull(to) {
          const { value } = await reader.read();
          if ((read += 100) > at) to.error(new Error('broken wire'));
          else to.enqueue(value);
        },
      });
    };
    for (const at of [50, 300, 1000, file.length - 150]) {
      await assert.rejects(T.loadSafetensors(failing(at), { device }), residuaError('invalid-argument', /a failure of the stream at byte \d+: Error: broken wire/));
      const controller = new AbortController();
      const signal = controller.signal;
      const onProgress = (loaded) => {
        if (loaded > at) controller.abort();
      };
      let cancelled = false;
      const own = streamOf(file, [100]).getReader();
      const wrapped = new ReadableStream({ pull: async (to) => to.enqueue((await own.read()).value), cancel: () => void (cancelled = true) });
      await assert.rejects(T.loadSafetensors(wrapped, { device, signal, onProgress }), residuaError('aborted', /loadSafetensors was aborted by its signal/));
      assert.ok(cancelled);
      await assert.rejects(T.loadSafetensors(streamOf(file, [100]), { device, onProgress: (loaded) => { if (loaded > at) throw new RangeError('mine'); } }), new RangeError('mine'));
    }
    await assert.rejects(T.loadSafetensors(file, { device, select: (name) => { if (name === 'y') throw new RangeError('mine'); return true; } }), new RangeError('mine'));
    await assert.rejects(T.loadSafetensors(file, { device, signal: AbortSignal.abort() }), residuaError('aborted'));
    // Sources that never answer.
    for (const source of [new Promise(() => {}), new ReadableStream({ pull: () => new Promise(() => {}) }), new ReadableStream({ pull: async (to) => { await new Promise((resolve) => setTimeout(resolve, 1)); to.enqueue(new Uint8Array(0)); } })]) {
      const controller = new AbortController();
      setTimeout(() => controller.abort(), 30);
      await assert.rejects(T.loadSafetensors(source, { device, signal: controller.signal }), residuaError('aborted'));
    }
    assert.deepEqual(kept(device.stats()), start);
    if (gpu !== null) {
      device.trim();
      assert.equal(gpu.live.size, 0, 'buffers');
    }
  });

  test(`${backend}: a load ends with its device`, async () => {
    for (const end of ['dispose', ...(backend === 'gpu' ? ['lose'] : [])]) {
      const { device, gpu } = await open(backend);
      const onProgress = (loaded) => {
        if (loaded < 1000) return;
        if (end === 'dispose') device.dispose();
        else gpu.lose();
      };
      await assert.rejects(T.loadSafetensors(streamOf(file, [300]), { device, onProgress }), residuaError(end === 'dispose' ? 'disposed' : 'device-lost'));
      await assert.rejects(T.loadSafetensors(file, { device }), residuaError(end === 'dispose' ? 'disposed' : 'device-lost'));
      const source = new ReadableStream({ pull: () => new Promise(() => {}) });
      const { device: other } = await open(backend);
      const waiting = T.loadNpy(source, { device: other });
      setTimeout(() => other.dispose(), 5);
      await assert.rejects(waiting, residuaError('disposed'));
    }
  });
}

test('a device without memory for a tensor gets none', async () => {
  const { device, gpu } = await open('gpu', { limits: { maxBufferSize: 2 ** 24 } });
  gpu.memoryLimit = 3000;
  await assert.rejects(T.loadSafetensors(file, { device }), residuaError('out-of-memory', /loadSafetensors: tensor "x", f32 \[1000\]/));
  const large = (count) => safetensorsOf({ a: { dtype: 'F32', shape: [100], data_offsets: [0, 400] }, b: { dtype: 'F32', shape: [count], data_offsets: [400, 400 + 4 * count] } }, new Uint8Array(2000));
  await assert.rejects(T.loadSafetensors(streamOf(large(2 ** 21)), { device }), residuaError('out-of-memory', /tensor "b"/));
  await assert.rejects(T.loadSafetensors(streamOf(large(2 ** 40)), { device }), residuaError('limit-exceeded', /tensor "b".*maxBufferSize is 16777216/));
  assert.equal(device.stats().tensorBytes, 0);
  const { device: host } = await open('cpu');
  await assert.rejects(T.loadSafetensors(streamOf(large(2 ** 25)), { device: host }), residuaError('out-of-memory', /tensor "b"/));
  await assert.rejects(T.loadSafetensors(streamOf(large(2 ** 30)), { device: host }), residuaError('limit-exceeded', /tensor "b"/));
  assert.equal(host.stats().tensorBytes, 0);
});

test('a file of 200 MB is never in memory as a whole', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc');
  const { device, gpu, fake } = await open('gpu');
  // Buffers without bytes: those of a GPU are not in the memory of the page.
  let written = 0;
  gpu.createBuffer = ({ size, usage, label }) => ({ size, usage, label, destroy() {} });
  gpu.queue.writeBuffer = (_, __, bytes) => void (written += bytes.byteLength);

  const parts = [['a', 'F32', 4, 60], ['b', 'BF16', 2, 40], ['c', 'F64', 8, 40], ['d', 'I64', 8, 20], ['e', 'F16', 2, 40]].map(([name, dtype, width, megabytes]) => ({ name, dtype, count: (megabytes * 1e6) / width, bytes: megabytes * 1e6 }));
  let end = 0;
  const header = Object.fromEntries(parts.map(({ name, dtype, count, bytes }) => [name, { dtype, shape: [1000, count / 1000], data_offsets: [end, (end += bytes)] }]));
  const head = safetensorsOf(header);
  const wasm = fake.memory.buffer.byteLength;
  /** What is collected is counted until a later turn of the event loop. */
  const inArrays = async () => {
    for (let turn = 0; turn < 3; turn++) {
      collect();
      await new Promise((resolve) => setImmediate(resolve));
    }
    return process.memoryUsage().arrayBuffers;
  };
  const before = await inArrays();
  let [sent, largest] = [-1, 0];
  const source = new ReadableStream(
    {
      async pull(to) {
        if (sent < 0) {
          sent = 0;
          return to.enqueue(head);
        }
        if (sent >= end) return to.close();
        to.enqueue(new Uint8Array(Math.min(100_000, end - sent)));
        sent += 100_000;
        if (sent % 5_000_000 === 0) largest = Math.max(largest, (await inArrays()) - before);
      },
    },
    { highWaterMark: 0 },
  );
  const { tensors } = await T.loadSafetensors(source, { device });
  assert.equal(Object.keys(tensors).length, 5);
  assert.equal(end, 200e6);
  assert.equal(written, 60e6 + 80e6 + 20e6 + 10e6 + 40e6);
  assert.equal(device.stats().tensorBytes, written);
  assert.ok(largest <= 8e6, `${largest} bytes in typed arrays`);
  assert.equal(fake.memory.buffer.byteLength, wasm, 'memory of the module');
});
