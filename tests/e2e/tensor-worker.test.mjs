// residua/tensor/worker in a browser: the package's own worker computes what the page computes, draws, and its end rejects what is pending.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { launch, openBlankPage } from '../browser.mjs';

let browser, page, complaints;
before(async () => {
  browser = await launch();
  ({ page, complaints } = await openBlankPage(browser, { load: false }));
  await page.evaluate(async () => {
    // Workers that the package starts.
    window.workers = [];
    window.Worker = class extends Worker {
      constructor(...args) {
        super(...args);
        window.workers.push(this);
      }
    };
    window.here = await import('residua/tensor');
    window.there = await import('residua/tensor/worker');
    /** The error's code, or `fulfilled`. */
    window.outcome = (promise) => promise.then(() => 'fulfilled', (error) => error.code ?? String(error));
    /** A picture of four pixels. */
    window.picture = () => new ImageData(Uint8ClampedArray.of(255, 0, 0, 255, 0, 255, 0, 255, 0, 0, 255, 255, 9, 8, 7, 255), 2, 2);
    /** What the package computes, through one of its entries. */
    window.everything = async (entry, backend) => {
      const { Device, Random, dim, linspace, spec } = window[entry];
      const device = await Device.create({ backend });
      const x = device.tensor(Float32Array.from({ length: 60 }, (_, i) => Math.sin(i)), [6, 10]);
      const total = device.zeros([]);
      const found = { backend: device.backend };
      found.read = await device.read(x.matmul(x.T), x.sort(), linspace(0, 1, 5).exp());
      const program = await device.compile({ y: spec('f32', [dim('n', 40)]) }, ({ y }) => {
        total.assign(total.add(y.sum()));
        return { scaled: y.mul(x.max()), noise: new Random(3).uniform([4]) };
      });
      found.runs = [];
      for (const n of [40, 3]) {
        const { scaled, noise } = program.run({ y: Float32Array.from({ length: n }, (_, i) => i) }, { n });
        found.runs.push(await device.read(scaled, noise, total));
      }
      found.plan = [program.plan.dispatches, String(program.plan)];
      const chosen = await device.compact(x.maskedSelect(x.gt(0.5)));
      found.chosen = [chosen.shape, await chosen.data()];
      const picture = device.image(window.picture());
      found.picture = await picture.data();
      const canvas = new OffscreenCanvas(1, 1);
      picture.draw(canvas);
      await device.synchronize();
      found.drawn = [canvas.width, canvas.height];
      const { tensors, programs } = device.stats();
      found.counts = [tensors, programs];
      device.dispose();
      return found;
    };
  });
});
after(() => browser.close());

test('importing starts no worker, and devices share one', async () => {
  const counts = await page.evaluate(async () => {
    const before = window.workers.length;
    const { Device } = window.there;
    const devices = await Promise.all([1, 2].map(() => Device.create({ backend: 'cpu' })));
    for (const device of devices) device.dispose();
    return [before, window.workers.length];
  });
  assert.deepEqual(counts, [0, 1]);
});

test("the names and classes are the page's own", async () => {
  assert.deepEqual(await page.evaluate(() => {
    const { here, there } = window;
    const missing = Object.keys(here).filter((name) => !(name in there));
    const more = Object.keys(there).filter((name) => !(name in here));
    return [missing, more, there.Tensor === here.Tensor, there.StoredTensor === here.StoredTensor, there.Device === here.Device];
  }), [[], ['terminate'], true, true, false]);
});

for (const backend of ['gpu', 'cpu']) {
  describe(`on the ${backend}`, () => {
    test('everything computed in the worker is what the page computes, bit for bit', async () => {
      const [there, here] = [await page.evaluate((backend) => window.everything('there', backend), backend), await page.evaluate((backend) => window.everything('here', backend), backend)];
      assert.equal(there.backend, backend);
      assert.deepEqual(there, here);
    });

    test('what is drawn are the pixels of the tensor', async () => {
      const pixels = await page.evaluate(async (backend) => {
        const device = await window.there.Device.create({ backend });
        const canvas = document.createElement('canvas');
        device.image(window.picture()).draw(canvas);
        await device.synchronize();
        device.dispose();
        return canvas.getContext('2d').getImageData(0, 0, 2, 2).data;
      }, backend);
      assert.deepEqual(pixels, [255, 0, 0, 255, 0, 255, 0, 255, 0, 0, 255, 255, 9, 8, 7, 255]);
    });
  });
}

test('kernels of the GPU in the worker agree with the CPU there', async () => {
  const compared = await page.evaluate(async () => {
    const { Device, spec } = window.there;
    const device = await Device.create({ backend: 'gpu' });
    const program = await device.compile({ x: spec('f32', [50]) }, ({ x }) => x.mul(2).add(1).sum());
    const compared = await program.verify({ x: Float32Array.from({ length: 50 }, (_, i) => i / 7) });
    device.dispose();
    return compared;
  });
  assert.ok(compared.length > 0);
  // Sums of 50 numbers are added in another order.
  for (const { kernel, maxUlps } of compared) assert.ok(maxUlps <= 8, `${kernel}: ${maxUlps}`);
});

test('the end of the worker rejects what is pending, and the next device starts another one', async () => {
  const found = await page.evaluate(async () => {
    const { Device, terminate } = window.there;
    const device = await Device.create({ backend: 'cpu' });
    const x = device.tensor(new Float32Array(100));
    await x.data();
    // As when the browser ends it for its memory: the page gets no event.
    window.workers.at(-1).terminate();
    const ended = await Promise.all([window.outcome(x.sum().data()), window.outcome(device.compile({}, () => x.add(1)))]);
    const lost = (await device.lost).reason;
    const next = await Device.create({ backend: 'cpu' });
    const sum = await next.tensor([1, 2]).sum().item();
    const pending = window.outcome(next.tensor([1, 2]).exp().data());
    terminate();
    return { ended, lost, sum, terminated: await pending, started: window.workers.length };
  });
  assert.deepEqual(found, { ended: ['internal', 'internal'], lost: 'failed', sum: 3, terminated: 'disposed', started: 2 });
});

test('nothing was complained of', () => assert.deepEqual(complaints, []));
