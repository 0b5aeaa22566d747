// Models on the CPU for tests, by the module that is packed.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import * as T from '../../pkg-template/dist/tensor.js';
import { loadOnnx } from '../../pkg-template/dist/tensor-onnx.js';
import { model } from './writer.mjs';

/** The device of all tests, once `start` has made it. */
export let device;
export async function start() {
  await T.init(await readFile(new URL('../../pkg-template/wasm-tensor/residua_tensor_bg.wasm', import.meta.url)));
  device = await T.Device.create({ backend: 'cpu' });
}

/** Loads a model, calls a function with it, and checks that nothing is left of it. */
export async function withModel(file, use, options = {}) {
  const loaded = await loadOnnx(file, { device, ...options });
  try {
    return await use(loaded);
  } finally {
    loaded.dispose();
    await device.synchronize();
    const { tensorBytes, programs } = device.stats();
    assert.deepEqual({ tensorBytes, programs }, { tensorBytes: 0, programs: 0 });
  }
}

/** The numbers of the outputs of a run, by name. */
export async function outputsOf(loaded, feeds) {
  const outputs = await loaded.run(feeds);
  return Object.fromEntries(await Promise.all(Object.entries(outputs).map(async ([name, tensor]) => [name, { shape: [...tensor.shape], data: [...(await tensor.data())] }])));
}

/** Rounding of single precision in sums of some ten numbers of magnitude 1. */
export const TOLERANCE = 2e-6;
export function assertClose(got, expected, tolerance = TOLERANCE) {
  assert.equal(got.length, expected.length);
  got.forEach((x, i) => assert.ok(Math.abs(x - expected[i]) <= tolerance, `element ${i} is ${x}, not ${expected[i]}`));
}

/** A model of one node. */
export const single = (op, inputs, outputs, { attributes = {}, initializers = [], domain = '', opset = 17 } = {}) =>
  model({ opset, opsets: domain === '' ? {} : { [domain]: 1 }, nodes: [{ op, name: 'the node', domain, inputs: [...inputs, ...initializers].map(({ name }) => name), outputs: outputs.map(({ name }) => name), attributes }], initializers, inputs, outputs });

export const y = { name: 'y', type: 'float' };
