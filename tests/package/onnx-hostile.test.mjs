// Damaged models: each is refused with a message or runs, at once and without memory that nothing asks for. Seeds are fixed; RESIDUA_CASES asks for more.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { before, test } from 'node:test';
import * as T from '../../pkg-template/dist/tensor.js';
import { loadOnnx } from '../../pkg-template/dist/tensor-onnx.js';
import { randomNumbers } from '../facade/reference.mjs';
import { CASES, checkModel } from '../hostile-models.mjs';
import { MADE } from '../onnx/made.mjs';

let device;
before(async () => {
  await T.init(await readFile(new URL('../../pkg-template/wasm-tensor/residua_tensor_bg.wasm', import.meta.url)));
  device = await T.Device.create({ backend: 'cpu' });
});

const check = (file, feeds, words, runs) => checkModel({
  load: () => loadOnnx(file, { device }),
  feedsOf: (inputs) => Object.fromEntries(inputs.map(({ name }) => [name, feeds[name] ?? { data: [0], shape: [1] }])),
  device, words, runs,
});

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
    const next = randomNumbers(name.length * 7919);
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
