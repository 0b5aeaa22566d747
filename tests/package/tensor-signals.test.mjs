// Signals of everything that computes or reads tensors, and reads into arrays of the caller, on the CPU by the module that is packed.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { before, describe, test } from 'node:test';
import * as T from '../../pkg-template/dist/tensor.js';

let device;
before(async () => {
  await T.init(await readFile(new URL('../../pkg-template/wasm-tensor/residua_tensor_bg.wasm', import.meta.url)));
  device = await T.Device.create({ backend: 'cpu' });
});

const code = (expected, message = /./) => (error) => error instanceof T.ResiduaError && error.code === expected && message.test(error.message);

/** Work of some hundred milliseconds, in many steps. */
const long = (x) => Array.from({ length: 300 }).reduce((product) => product.matmul(x).tanh(), x);
const matrix = () => device.tensor(Float32Array.from({ length: 128 * 128 }, (_, i) => Math.sin(i) / 12), [128, 128]);

describe('a signal', () => {
  /** Calls with options that take a signal. */
  const CALLS = {
    data: (x, options) => long(x).data(options),
    'data into an array': (x, options) => long(x).data(new Float32Array(128 * 128), options),
    item: (x, options) => long(x).sum().item(options),
    toArray: (x, options) => long(x).toArray(options),
    read: (x, options) => device.read(long(x), x, options),
    store: (x, options) => device.store({ y: long(x) }, options),
    set: (x, options) => x.set(long(x), options),
    compact: (x, options) => device.compact(long(x).maskedSelect(x.gt(0)), options),
    quantize: (x, options) => device.quantize(long(x), 'q8_0', options),
    synchronize: (x, options) => (void long(x).data().catch(() => {}), device.synchronize(options)),
  };
  for (const [name, call] of Object.entries(CALLS)) {
    test(`of ${name} rejects before and during the work, which leaves nothing`, async () => {
      const x = matrix();
      await device.synchronize();
      const start = device.stats();
      await assert.rejects(call(x, { signal: AbortSignal.abort() }), code('aborted', /was aborted by its signal/));
      await device.synchronize();
      const controller = new AbortController();
      const asked = call(x, { signal: controller.signal });
      setTimeout(() => controller.abort(), 20);
      await assert.rejects(asked, code('aborted', /was aborted by its signal/));
      await device.synchronize();
      const { tensors, tensorBytes, programBytes } = device.stats();
      assert.deepEqual([tensors, tensorBytes, programBytes], [start.tensors, start.tensorBytes, start.programBytes]);
      await assert.rejects(call(x, { signal: {} }), code('invalid-argument', /signal: got an object; takes an AbortSignal/));
      await assert.rejects(call(x, { signl: 1 }), code('invalid-argument', /unknown option "signl"/));
      await device.synchronize();
      x.dispose();
    });
  }

  test('of a run leaves out what is left of the run, and no other', async () => {
    const x = matrix();
    const program = await device.compile({}, () => long(x), { name: 'chain' });
    const expected = await program.run().data();
    const { dispatches: before } = device.stats();
    const controller = new AbortController();
    const options = { signal: controller.signal };
    for (let k = 0; k < 3; k++) program.run({}, undefined, options);
    setTimeout(() => controller.abort(), 20);
    await device.synchronize();
    assert.ok(device.stats().dispatches - before < 600);
    assert.throws(() => program.run({}, undefined, options), code('aborted', /^chain.run was aborted by its signal/));
    assert.throws(() => program.run({}, undefined, { signal: 1 }), code('invalid-argument', /^chain.run: signal/));
    assert.throws(() => program.run({}, undefined, { sign: 1 }), code('invalid-argument', /^chain.run: options/));
    assert.deepEqual(await program.run({}, undefined, { signal: new AbortController().signal }).data(), expected);
    program.dispose();
    x.dispose();
  });

  test('has one listener for all runs that it is given to', async () => {
    const { signal } = new AbortController();
    let listeners = 0;
    const add = signal.addEventListener.bind(signal);
    signal.addEventListener = (...args) => ((listeners += 1), add(...args));
    const program = await device.compile({ n: T.scalar }, ({ n }) => n.add(1));
    for (let n = 0; n < 100; n++) program.run({ n }, undefined, { signal });
    assert.equal(await program.outputs.item(), 100);
    assert.equal(listeners, 1);
    program.dispose();
  });
});

describe('data(into)', () => {
  const TENSORS = [['f32', Float32Array, 2], ['f16', Float32Array, 2], ['i32', Int32Array, 2], ['u32', Uint32Array, 2], ['u8', Uint8Array, 2], ['bool', Uint8Array, 2], ['c64', Float32Array, 4]];
  for (const [dtype, Type, length] of TENSORS) {
    test(`fills a ${Type.name} with what is ${dtype}, and returns it`, async () => {
      const x = device.tensor(Type.from({ length }, (_, i) => (i + 1) % 2), [2], dtype);
      const whole = new Type(length + 2).fill(7);
      const into = whole.subarray(1, length + 1);
      assert.equal(await x.data(into), into);
      assert.deepEqual([...whole], [7, ...(await x.data()), 7]);
      x.dispose();
    });
  }

  test('refuses arrays of another type or length, and leaves them', async () => {
    const x = device.tensor([1, 2, 3]);
    for (const [into, message] of [
      [new Float64Array(3), /^data: into: got a Float64Array|takes a Float32Array of 3/],
      [new Float32Array(2), /^data: into: got a Float32Array of 2; takes one of 3/],
      [new Float32Array(4), /got a Float32Array of 4/],
      [new DataView(new ArrayBuffer(12)), /takes a Float32Array of 3, as the type is f32/],
      [[0, 0, 0], /data: options/],
    ]) {
      await assert.rejects(x.data(into), code('invalid-argument', message));
      if (ArrayBuffer.isView(into)) assert.ok(new Uint8Array(into.buffer).every((byte) => byte === 0));
    }
    const moved = new Float32Array(3);
    const asked = x.data(moved);
    structuredClone(moved, { transfer: [moved.buffer] });
    await assert.rejects(asked, code('invalid-argument', /transferred/));
    const kept = Float32Array.of(4, 5, 6);
    await assert.rejects(x.add(1).data(kept, { signal: AbortSignal.abort() }), code('aborted'));
    assert.deepEqual([...kept], [4, 5, 6]);
    assert.equal((await T.zeros([0]).data(new Float32Array(0))).length, 0);
    x.dispose();
  });
});
