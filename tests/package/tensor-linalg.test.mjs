// Linear algebra on the CPU, by the module that is packed.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { before, test } from 'node:test';
import * as T from '../../pkg-template/dist/tensor.js';
import { LINALG } from '../../www/checks/tensors/linalg.js';

let device;
before(async () => {
  await T.init(await readFile(new URL('../../pkg-template/wasm-tensor/residua_tensor_bg.wasm', import.meta.url)));
  device = await T.Device.create({ backend: 'cpu' });
});

for (const [name, run] of LINALG) test(name, () => run(T, device, assert.ok));

test('sizes that a run tells', async () => {
  const n = T.dim('n', 9);
  const program = await device.compile({ a: T.spec('f32', [n, n]), b: T.spec('f32', [n]) }, ({ a, b }) => T.linalg.solve(a, b));
  for (const size of [1, 4, 9]) {
    const a = Float32Array.from({ length: size * size }, (_, k) => (k % (size + 1) === 0 ? 4 : Math.sin(k)));
    const x = Float32Array.from({ length: size }, (_, k) => k + 1);
    const b = Float32Array.from(x, (_, row) => x.reduce((sum, value, k) => sum + a[row * size + k] * value, 0));
    const result = program.run({ a, b }, { n: size });
    (await result.data()).forEach((value, k) => assert.ok(Math.abs(value - x[k]) < 1e-4, `${size}: ${value}, not ${x[k]}`));
  }
  program.dispose();
});

