/** What was asked of a device before something ended. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tensorModule } from '../../pkg-template/dist/tensor/module/loading.js';
import { Node } from '../../pkg-template/dist/tensor/recipe/node.js';
import { ELEMENTWISE } from '../../pkg-template/dist/tensor/recipe/elementwise-codes.js';
import { Device, init, Tensor } from '../../pkg-template/dist/tensor.js';
import { fakeGpu } from './fake-gpu.mjs';
import { deferred, residuaError, settle } from './fake-module.mjs';
import { installTensors } from './fake-tensor-module.mjs';

const op = (name, ...operands) => Tensor.make(new Node('elementwise', operands[0].dtype, operands[0].shape, operands.map(({ node }) => node), [ELEMENTWISE[name].code]));

async function open(backend) {
  installTensors();
  const gpu = backend === 'gpu' ? fakeGpu() : null;
  const device = await Device.create(gpu === null ? { backend: 'cpu' } : { share: gpu });
  return { gpu, device };
}

for (const backend of ['gpu', 'cpu']) {
  test(`${backend}: a trap ends the devices of the module: calls that wait reject, and lost tells it`, async () => {
    const { gpu, device } = await open(backend);
    const a = device.tensor([1, 2]);
    const gate = deferred();
    if (gpu !== null) gpu.holdPipelines = gate.promise;
    const asked = op('neg', a).data();
    tensorModule.running().fail('a test trapped');
    await assert.rejects(asked, residuaError('internal', /a test trapped/));
    assert.equal((await device.lost).reason, 'failed');
    await assert.rejects(a.data(), residuaError('internal', /init\(\) starts a new instance/));
    assert.throws(() => device.tensor([1]), residuaError('internal'));
    gate.resolve();
    await settle();
  });
}

test('the default device is another after a trap and init()', async () => {
  installTensors();
  const first = await Device.default();
  const ended = first.tensor([1]);
  tensorModule.running().fail('a test trapped');
  await assert.rejects(Device.default(), residuaError('internal', /a test trapped/));
  await init();
  const second = await Device.default();
  assert.notEqual(second, first);
  assert.equal(await Device.default(), second);
  assert.deepEqual([...(await op('neg', second.tensor([3])).data())], [-3]);
  await assert.rejects(ended.data(), residuaError('internal'));
  first.dispose();
  assert.deepEqual([...(await op('neg', second.tensor([4])).data())], [-4]);
});
