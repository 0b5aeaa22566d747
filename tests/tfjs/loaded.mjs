// Models of tests/tfjs as files, and what they give on the CPU.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import * as T from '../../pkg-template/dist/tensor.js';
import { loadTfjs } from '../../pkg-template/dist/tensor-tfjs.js';

/** The device of all tests of a script; `start` makes it. */
export let device;
export async function start() {
  await T.init(await readFile(new URL('../../pkg-template/wasm-tensor/residua_tensor_bg.wasm', import.meta.url)));
  device = await T.Device.create({ backend: 'cpu' });
}

export const cases = (name) => JSON.parse(readFileSync(new URL(`${name}.json`, import.meta.url), 'utf8'));

/** A case as a file, with its weights in one file of another name. */
export function fileOf({ topology, weights, data, outputs }) {
  const ofGraph = Object.fromEntries((outputs ?? []).filter(({ name }) => name !== undefined).map(({ name }, k) => [`output_${k}`, { name }]));
  const signature = topology.node === undefined ? null : { outputs: ofGraph };
  const json = JSON.stringify({ format: 'made', modelTopology: topology, weightsManifest: [{ paths: ['group1-shard1of1.bin'], weights }], ...(signature && { signature }) });
  return { json: new TextEncoder().encode(json), bytes: new Uint8Array(Buffer.from(data, 'base64')) };
}

/** Loads a model, calls `use` with it, and frees it. */
export async function withModel({ json, bytes }, use, options = {}) {
  const model = await loadTfjs(json, { device, weights: () => bytes, ...options });
  try {
    return await use(model);
  } finally {
    model.dispose();
  }
}

/** Outputs by name as `{ shape, data }`. */
export async function outputsOf(model, feeds) {
  const outputs = await model.run(feeds);
  return Object.fromEntries(await Promise.all(Object.entries(outputs).map(async ([name, tensor]) => [name, { shape: tensor.shape, data: Array.from(await tensor.data()) }])));
}

/** Asserts that outputs are those of TensorFlow.js. Both sum in single precision in other orders: 1e-5 of the largest of the outputs is some 80 roundings. */
export function assertSame(found, expected, words, tolerance = 1e-5) {
  assert.deepEqual(found.shape, expected.shape, words);
  const largest = expected.data.reduce((most, x) => Math.max(most, Math.abs(x)), 1e-3);
  expected.data.forEach((right, i) => assert.ok(Math.abs(found.data[i] - right) <= tolerance * largest, `${words}: element ${i} is ${found.data[i]}, not ${right}`));
}
