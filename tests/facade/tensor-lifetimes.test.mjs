/** What was asked of a device before something ended: a stored tensor by dispose(), a call by its signal, the module by a trap. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tensorModule } from '../../pkg-template/dist/tensor/module/loading.js';
import { Node } from '../../pkg-template/dist/tensor/recipe/node.js';
import { ELEMENTWISE } from '../../pkg-template/dist/tensor/recipe/elementwise-codes.js';
import { Device, init, loadNpy, loadSafetensors, saveNpy, saveSafetensors, spec, Tensor } from '../../pkg-template/dist/tensor.js';
import { fakeGpu } from './fake-gpu.mjs';
import { deferred, residuaError, settle } from './fake-module.mjs';
import { installTensors } from './fake-tensor-module.mjs';

const op = (name, ...operands) => Tensor.make(new Node('elementwise', operands[0].dtype, operands[0].shape, operands.map(({ node }) => node), [ELEMENTWISE[name].code]));
const sum = (...list) => list.reduce((a, b) => op('add', a, b));
const bytesOf = async (blob) => new Uint8Array(await (await blob).arrayBuffer());

async function open(backend) {
  installTensors();
  const gpu = backend === 'gpu' ? fakeGpu() : null;
  const device = await Device.create(gpu === null ? { backend: 'cpu' } : { share: gpu });
  return { gpu, device };
}

/** What reads and writes, each with a recipe of its own, which is compiled for it; and what it gives of [1, 2] and [10, 20]. */
const CALLS = {
  data: [async (device, a, b) => [...(await sum(a, b).data())], [11, 22]],
  item: [
    (device) => {
      const own = device.tensor([3]);
      const asked = sum(own, own, own).item();
      own.dispose();
      return asked;
    },
    9,
  ],
  toArray: [(device, a, b) => sum(a, b, b).toArray(), [21, 42]],
  read: [async (device, a, b) => (await device.read(op('mul', a, b), a)).map((data) => [...data]), [[10, 40], [1, 2]]],
  store: [async (device, a, b) => [...(await (await device.store({ y: sum(b, b, a) })).y.data())], [21, 42]],
  set: [
    async (device, a, b) => {
      const target = device.zeros([2]);
      await target.set(op('neg', sum(a, b)));
      return [...(await target.data())];
    },
    [-11, -22],
  ],
  saveNpy: [async (device, a, b) => [...(await (await loadNpy(await bytesOf(saveNpy(op('mul', sum(a, b), b))), { device })).data())], [110, 440]],
  saveSafetensors: [
    async (device, a, b) => {
      const { tensors } = await loadSafetensors(await bytesOf(saveSafetensors({ x: op('neg', a), y: op('mul', b, b), z: a })), { device });
      return Promise.all([tensors.x, tensors.y, tensors.z].map(async (tensor) => [...(await tensor.data())]));
    },
    [[-1, -2], [100, 400], [1, 2]],
  ],
};

for (const backend of ['gpu', 'cpu']) {
  for (const [name, [call, expected]] of Object.entries(CALLS)) {
    test(`${backend}: ${name}() that was asked for before dispose() of what it reads completes, the first time too`, async () => {
      const { device } = await open(backend);
      for (const round of ['first', 'second']) {
        const [a, b] = [device.tensor([1, 2]), device.tensor([10, 20])];
        const asked = call(device, a, b);
        a.dispose();
        b.dispose();
        assert.deepEqual(await asked, expected, round);
        await assert.rejects(op('add', a, b).data(), residuaError('disposed'));
      }
    });
  }

  test(`${backend}: a read of a program's output that was asked for before its dispose() completes`, async () => {
    const { device } = await open(backend);
    const program = await device.compile({ x: spec('f32', [2]) }, ({ x }) => op('neg', x));
    const y = program.run({ x: [1, 2] });
    const asked = op('mul', y, y).data();
    program.dispose();
    assert.deepEqual([...(await asked)], [1, 4]);
  });

  test(`${backend}: a signal ends a read or a store with 'aborted', and nothing is left of it`, async () => {
    const { gpu, device } = await open(backend);
    const a = device.tensor([1, 2]);
    const recipe = op('neg', a);
    const calls = [(options) => recipe.data(options), (options) => recipe.item(options), (options) => recipe.toArray(options), (options) => device.store([recipe, a], options), (options) => a.data(options)];
    for (const call of calls) await assert.rejects(call({ signal: AbortSignal.abort() }), residuaError('aborted'));
    assert.equal(device.stats().submits + device.stats().readbacks, 0, 'nothing was computed');
    // Before its turn: the compile that it waits for has not ended.
    const gate = deferred();
    if (gpu !== null) gpu.holdPipelines = gate.promise;
    for (const call of calls.slice(0, 4)) {
      const controller = new AbortController();
      const asked = call({ signal: controller.signal });
      controller.abort();
      await assert.rejects(asked, residuaError('aborted', /was aborted by its signal/));
    }
    gate.resolve();
    await settle();
    await device.synchronize();
    assert.equal(device.stats().submits, 0, 'work that nobody waits for is left out');
    assert.deepEqual([device.stats().tensors, device.stats().programBytes], [1, 0]);
    const unused = new AbortController();
    assert.deepEqual([...(await recipe.data({ signal: unused.signal }))], [-1, -2]);
    unused.abort();
    assert.deepEqual(await recipe.toArray({}), [-1, -2]);
    for (const call of calls.slice(0, 4)) {
      await assert.rejects(call({ signal: 1 }), residuaError('invalid-argument', /^(data|item|toArray|store): signal: got 1; takes an AbortSignal/));
      await assert.rejects(call({ signl: unused.signal }), residuaError('invalid-argument', /^(data|item|toArray|store): options: got the unknown option "signl"/));
    }
    assert.throws(() => a.set(recipe, 1), residuaError('invalid-argument', /^set: offset: got 1; takes none with a Tensor/));
  });

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
