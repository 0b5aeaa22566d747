/** What the caller's memory may be, and what objects of the package are as JSON. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Node } from '../../pkg-template/dist/tensor/recipe/node.js';
import { ELEMENTWISE } from '../../pkg-template/dist/tensor/recipe/elementwise-codes.js';
import { Device, dim, dispose, ones, Random, spec, Tensor } from '../../pkg-template/dist/tensor.js';
import { fakeGpu } from './fake-gpu.mjs';
import { residuaError } from './fake-module.mjs';
import { installTensors } from './fake-tensor-module.mjs';

const op = (name, ...operands) => Tensor.make(new Node('elementwise', operands[0].dtype, operands[0].shape, operands.map(({ node }) => node), [ELEMENTWISE[name].code]));

async function open(backend) {
  installTensors();
  return { device: await Device.create(backend === 'cpu' ? { backend: 'cpu' } : { share: fakeGpu() }) };
}

for (const backend of ['gpu', 'cpu']) {
  test(`${backend}: lists of typed arrays are rows, and numbers of 64 bits are taken in the range of the type`, async () => {
    const { device } = await open(backend);
    const rows = device.tensor([Float32Array.of(1, 2.5, 3), Int32Array.of(4, 5, 6)]);
    assert.deepEqual([rows.shape, await rows.toArray()], [[2, 3], [[1, 2.5, 3], [4, 5, 6]]]);
    const deep = device.tensor([[Uint8Array.of(1), [2]], [BigUint64Array.of(3n), Float64Array.of(4)]], undefined, 'i32');
    assert.deepEqual([deep.shape, await deep.toArray()], [[2, 2, 1], [[[1], [2]], [[3], [4]]]]);
    assert.deepEqual(device.tensor([new Float32Array(0), new Float32Array(0)]).shape, [2, 0]);
    assert.deepEqual(device.tensor([Float32Array.of(1, 2), Float32Array.of(3, 4)], undefined, 'c64').shape, [2]);
    const refused = [
      [[Float32Array.of(1, 2), Float32Array.of(3)], 'f32', /data\[1\]: got a Float32Array of 1; takes an array of 2, as the first at this depth/],
      [[[[1], [2]], Float32Array.of(3, 4)], 'f32', /data\[1\]: got a Float32Array; takes an array of arrays/],
      [[Float32Array.of(1), 2], 'f32', /data\[1\]: got 2; takes an array of 1/],
      [[Float32Array.of(0.5)], 'u8', /data\[0\]: got 0.5; takes a whole number from 0 to 255/],
      [BigInt64Array.of(5n, 2n ** 31n), 'i32', /data\[1\]: got 2147483648; takes a whole number from -2147483648 to 2147483647, as the type is i32/],
      [BigInt64Array.of(-1n), 'u32', /data\[0\]: got -1; takes a whole number from 0 to 4294967295/],
      [[1n], 'i32', /data\[0\]: got the bigint 1n; takes a number of type i32/],
      [new DataView(new ArrayBuffer(8)), 'f32', /data: got a DataView; takes an array of numbers or a typed array/],
    ];
    for (const [data, dtype, message] of refused) assert.throws(() => device.tensor(data, undefined, dtype), residuaError('invalid-argument', message));
    const whole = device.tensor(BigInt64Array.of(-(2n ** 31n), 7n), [2], 'i32');
    whole.set(BigUint64Array.of(9n), 1);
    assert.deepEqual([...(await whole.data())], [-(2 ** 31), 9]);
    assert.throws(() => whole.set(BigInt64Array.of(2n ** 40n)), residuaError('invalid-argument', /set: data\[0\]/));
    assert.deepEqual([...(await device.tensor(BigInt64Array.of(2n ** 40n, -3n)).data())], [2 ** 40, -3], 'of f32 as other integers');
    const program = await device.compile({ x: spec('i32', [2]) }, ({ x }) => op('neg', x));
    assert.deepEqual([...(await program.run({ x: BigInt64Array.of(1n, 2n) }).data())], [-1, -2]);
    assert.throws(() => program.run({ x: BigInt64Array.of(1n, 2n ** 31n) }), residuaError('invalid-argument', /x\[1\]/));
  });

  test(`${backend}: JSON has types and shapes, for which nothing is read`, async () => {
    const { device } = await open(backend);
    const x = device.tensor([1, 2]);
    const n = dim('n', 4);
    const program = await device.compile({ x: spec('f32', [n]) }, ({ x }) => op('neg', x), { name: 'step' });
    const written = { x, recipe: op('neg', x), open: ones([n.plus(1), 2]), n, program, device, random: new Random(2n ** 60n), weights: device.quantized(new Uint8Array(34), [1, 32], 'q8_0'), cache: device.kvCache({ layers: 2, heads: 1, size: 3, capacity: 4 }) };
    assert.deepEqual(JSON.parse(JSON.stringify(written)), {
      x: { dtype: 'f32', shape: [2] }, recipe: { dtype: 'f32', shape: [2] }, open: { dtype: 'f32', shape: ['n + 1', 2] }, n: 'n', program: { name: 'step', inputs: { x: { dtype: 'f32', shape: ['n'] } } },
      device: { backend, fallbackReason: null }, random: { seed: '1152921504606846976' }, weights: { type: 'q8_0', shape: [1, 32] }, cache: { layers: 2, dtype: 'f16', shape: [1, 4, 3] },
    });
    assert.equal(device.stats().readbacks, 0);
    dispose(x);
    assert.equal(JSON.stringify(x), '{"dtype":"f32","shape":[2]}');
  });
}
