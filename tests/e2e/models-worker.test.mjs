// residua/tensor/models/worker in a browser: the package's own worker reads a model and runs it on both engines; the page's thread does neither.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { launch, openBlankPage } from '../browser.mjs';
import { model } from '../onnx/writer.mjs';

/** relu(x · w + b) of 128 columns: more numbers than a load keeps in memory. */
const SIZE = 128;
const file = model({
  nodes: [{ op: 'Gemm', inputs: ['x', 'w', 'b'], outputs: ['p'] }, { op: 'Relu', inputs: ['p'], outputs: ['y'] }],
  initializers: [
    { name: 'w', type: 'float', sizes: [SIZE, SIZE], data: Array.from({ length: SIZE * SIZE }, (_, k) => (k % 7) - 3) },
    { name: 'b', type: 'float', sizes: [SIZE], data: Array.from({ length: SIZE }, (_, k) => k) },
  ],
  inputs: [{ name: 'x', type: 'float', shape: ['batch', SIZE] }], outputs: [{ name: 'y', type: 'float', shape: ['batch', SIZE] }],
});

let browser, page, complaints;
before(async () => {
  browser = await launch();
  ({ page, complaints } = await openBlankPage(browser, { load: false }));
  await page.evaluate(async (bytes) => {
    window.workers = [];
    window.Worker = class extends Worker {
      constructor(...args) {
        super(...args);
        window.workers.push(this);
      }
    };
    window.there = await import('residua/tensor/models/worker');
    window.here = await import('residua/tensor');
    window.onnx = await import('residua/tensor/onnx');
    window.file = new File([Uint8Array.from(bytes)], 'model.onnx');
    window.feeds = { x: { data: Float32Array.from({ length: 256 }, (_, k) => (k % 5) - 2), shape: [2, 128] } };
  }, [...file]);
});
after(() => browser.close());

test('importing starts no worker, and its names are those of residua/tensor with the loaders', async () => {
  assert.deepEqual(await page.evaluate(() => {
    const { here, there } = window;
    return [window.workers.length, Object.keys(here).filter((name) => !(name in there)), Object.keys(there).filter((name) => !(name in here)).sort(), there.Tensor === here.Tensor];
  }), [0, [], ['WorkerModel', 'loadOnnx', 'loadTfjs', 'terminate'], true]);
});

for (const backend of ['cpu', 'gpu']) {
  test(`a dropped file runs in the worker on the ${backend} as on the page, and its address is fetched there`, async () => {
    const found = await page.evaluate(async (backend) => {
      const { there, here, onnx, file, feeds } = window;
      const address = URL.createObjectURL(file);
      const [device, local] = [await there.Device.create({ backend }), await here.Device.create({ backend })];
      const loaded = await onnx.loadOnnx(file, { device: local });
      const expected = await (await loaded.run(feeds)).y.data();
      performance.clearResourceTimings();
      const results = [];
      for (const source of [file, address, await file.arrayBuffer()]) {
        let progress = 0;
        const model = await there.loadOnnx(source, { device, onProgress: (done) => (progress = done) });
        const { y } = await model.run(feeds);
        results.push({ progress: progress === file.size, backend: y.device.backend, shape: y.shape, same: (await y.data()).every((value, k) => value === expected[k]) });
        model.dispose();
      }
      const fetched = performance.getEntriesByType('resource').filter(({ name }) => name === address).length;
      URL.revokeObjectURL(address);
      device.dispose();
      local.dispose();
      return { results, fetched };
    }, backend);
    assert.deepEqual(found, { results: Array.from({ length: 3 }, () => ({ progress: true, backend, shape: [2, SIZE], same: true })), fetched: 0 });
  });
}

test('without a device the worker has one of its own, and its end rejects runs', async () => {
  const found = await page.evaluate(async () => {
    const { there, file, feeds } = window;
    const model = await there.loadOnnx(file);
    const running = model.run(feeds).then(() => 'fulfilled', (error) => error.code);
    there.terminate();
    return [window.workers.length, await running, await there.loadOnnx(file).then(({ inputs }) => inputs[0].name)];
  });
  assert.deepEqual(found, [1, 'disposed', 'x']);
  await page.evaluate(() => window.there.terminate());
});

test('nothing was complained of', () => assert.deepEqual(complaints, []));
