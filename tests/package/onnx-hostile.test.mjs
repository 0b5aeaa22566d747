// Damaged models: each is refused with a message or runs, at once and without memory that nothing asks for. Seeds are fixed; RESIDUA_CASES asks for more.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { before, test } from 'node:test';
import * as T from '../../pkg-template/dist/tensor.js';
import { loadOnnx } from '../../pkg-template/dist/tensor-onnx.js';
import { MADE } from '../onnx/made.mjs';

const CASES = Number(process.env.RESIDUA_CASES ?? 3000);
/** A load, a recording and a run of these models take milliseconds. This is far more, on a busy machine too. */
const MOST_MS = 10_000;
/** The models have a few kilobytes, and a few more numbers in between. */
const MOST_BYTES = 2 ** 26;

let device;
before(async () => {
  await T.init(await readFile(new URL('../../pkg-template/wasm-tensor/residua_tensor_bg.wasm', import.meta.url)));
  device = await T.Device.create({ backend: 'cpu' });
});

/** Numbers from 0 to 1, by a seed: mulberry32. */
function random(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let x = Math.imul(state ^ (state >>> 15), 1 | state);
    x = (x + Math.imul(x ^ (x >>> 7), 61 | x)) ^ x;
    return ((x ^ (x >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Loads and, where that goes, records a file; of some it runs the program too. Returns the error, or null. */
async function attempt(file, feeds, runs) {
  let model;
  try {
    model = await loadOnnx(file, { device });
    const given = Object.fromEntries(model.inputs.map(({ name }) => [name, feeds[name] ?? { data: [0], shape: [1] }]));
    if (runs) await model.run(given);
    else model.recipe(given);
    return null;
  } catch (error) {
    return error;
  } finally {
    model?.dispose();
  }
}

async function check(file, feeds, words, runs = false) {
  const start = performance.now();
  const error = await attempt(file, feeds, runs);
  assert.ok(error === null || (error instanceof T.ResiduaError && error.code !== 'internal'), `${words}: ${error?.stack}`);
  assert.ok(performance.now() - start < MOST_MS, `${words} took ${performance.now() - start} ms`);
  assert.ok(device.stats().tensorBytes < MOST_BYTES, `${words} has ${device.stats().tensorBytes} bytes`);
  return error;
}

for (const [name, make] of Object.entries(MADE)) {
  test(`${name}: the model itself runs, and what is cut off is refused or of no account`, async () => {
    const { file, feeds } = make();
    assert.equal(await check(file, feeds, name, true), null);
    const step = Math.max(1, Math.floor(file.length / 200));
    for (let end = 0; end < file.length; end += step) await check(file.subarray(0, end), feeds, `${name} of ${end} bytes`);
    assert.equal(device.stats().tensorBytes, 0);
  });

  test(`${name}: bytes that are changed, doubled, left out`, { timeout: 3_600_000 }, async () => {
    const { file, feeds } = make();
    const next = random(name.length * 7919);
    const below = (count) => Math.floor(next() * count);
    const special = [0, 1, 2, 127, 128, 255];
    let refused = 0;
    for (let k = 0; k < CASES / Object.keys(MADE).length; k++) {
      let bytes = file.slice();
      const kind = below(4);
      if (kind < 2) for (let i = 0; i <= below(4); i++) bytes[below(bytes.length)] = kind === 0 ? below(256) : special[below(special.length)];
      else {
        const [at, count] = [below(bytes.length), 1 + below(16)];
        const again = kind === 2 ? bytes.subarray(at, at + count) : new Uint8Array(0);
        bytes = Uint8Array.from([...bytes.subarray(0, at + (kind === 2 ? again.length : 0)), ...again, ...bytes.subarray(at + count)]);
      }
      if ((await check(bytes, feeds, `${name}, mutation ${k}`, k % 8 === 0)) !== null) refused += 1;
    }
    assert.ok(refused > 0);
    await device.synchronize();
    assert.equal(device.stats().tensorBytes, 0);
  });
}
