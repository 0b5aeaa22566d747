// Where the package runs: with and without WebGPU, under a strict policy, in a worker, on an application's device.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { launch, openBlankPage, url } from '../browser.mjs';

let browser;
before(async () => void (browser = await launch()));
after(() => browser.close());

/** What a test hands in, in a page of its own. */
async function inPage(options, work) {
  const blank = await openBlankPage(browser, options);
  try {
    return await work(blank);
  } finally {
    await blank.close();
  }
}

/** Compiles x² over one param and evaluates it at 3: the smallest use of everything. */
const square = async ({ GpuCompiledFunctions, V }, options) => {
  const functions = await GpuCompiledFunctions.compile([V.W(3)], ([x]) => x.square(), options);
  const [value] = await functions.evaluate();
  const { backend, fallbackReason } = functions;
  functions.dispose();
  return { backend, fallbackReason, value };
};
// With a threshold of 0 'auto' takes the GPU for however little work.
const squareOn = (backend) => `(${square})(window.residua, { backend: '${backend}', fallbackThreshold: 0 })`;

test('the device is described and its use counted', () =>
  inPage({}, async ({ page }) => {
    const [available, adapter, stats] = await page.evaluate(`(async () => {
      const { GpuContext } = window.residua;
      const available = await GpuContext.isAvailable();
      const context = await GpuContext.default();
      const before = context.stats();
      await ${squareOn('gpu')};
      const after = context.stats();
      return [available, context.adapter, [after.dispatches - before.dispatches, after.readbacks - before.readbacks]];
    })()`);
    assert.equal(available, true);
    assert.equal(typeof adapter.vendor, 'string');
    assert.equal(typeof adapter.isSoftware, 'boolean');
    for (const count of stats) assert.ok(count > 0);
  }));

test('auto takes the GPU when there is one, and gives no reason', () =>
  inPage({}, async ({ page }) => {
    assert.deepEqual(await page.evaluate(squareOn('auto')), { backend: 'gpu', fallbackReason: null, value: 9 });
  }));

test('without WebGPU the CPU takes over and says why; asking for the GPU is refused', () =>
  inPage({ webgpu: false }, async ({ page }) => {
    const [available, auto, gpu] = await page.evaluate(`(async () => [
      await window.residua.GpuContext.isAvailable(),
      await ${squareOn('auto')},
      await ${squareOn('gpu')}.catch((error) => error.code),
    ])()`);
    assert.equal(available, false);
    assert.equal(auto.backend, 'cpu');
    assert.equal(auto.value, 9);
    assert.match(auto.fallbackReason, /gpu/i);
    assert.equal(gpu, 'gpu-unavailable');
  }));

test('both backends run under a Content-Security-Policy without unsafe-eval', () =>
  inPage({ policy: "default-src 'self'; img-src data:; script-src 'self' 'nonce-map' 'wasm-unsafe-eval'" }, async ({ page, complaints }) => {
    const [gpu, cpu] = await page.evaluate(`Promise.all([${squareOn('gpu')}, ${squareOn('cpu')}])`);
    assert.deepEqual([gpu.value, cpu.value], [9, 9]);
    assert.deepEqual(complaints, []);
  }));

test('importing fetches no .wasm; init() fetches it once', () =>
  inPage({ load: false }, async ({ page }) => {
    let fetched = 0;
    page.on('request', (request) => (fetched += Number(new URL(request.url()).pathname.endsWith('.wasm'))));
    await page.evaluate(async () => void (window.residua = await import('residua')));
    assert.equal(fetched, 0);
    await page.evaluate(() => Promise.all([window.residua.init(), window.residua.init()]));
    assert.equal(fetched, 1);
  }));

test('both backends run in a module worker', () =>
  inPage({ load: false }, async ({ page }) => {
    const script = `import * as residua from '${new URL('residua/dist/index.js', url)}';
      const square = ${square};
      Promise.all([square(residua, { backend: 'gpu' }), square(residua, { backend: 'cpu' })])
        .then(postMessage, (error) => postMessage(String(error)));`;
    const answer = await page.evaluate(
      (script) =>
        new Promise((resolve) => {
          const worker = new Worker(URL.createObjectURL(new Blob([script], { type: 'text/javascript' })), { type: 'module' });
          worker.addEventListener('message', ({ data }) => resolve(data));
          worker.addEventListener('error', (event) => resolve(event.message));
        }),
      script,
    );
    assert.deepEqual(answer.map?.(({ backend, value }) => [backend, value]), [['gpu', 9], ['cpu', 9]], String(answer));
  }));

test('an application can bring its own device', () =>
  inPage({}, async ({ page }) => {
    const [same, value, alive] = await page.evaluate(`(async () => {
      const adapter = await navigator.gpu.requestAdapter();
      const device = await adapter.requestDevice();
      const context = await window.residua.GpuContext.create({ device });
      const { value } = await (${square})(window.residua, { backend: 'gpu', context });
      context.dispose();
      // The application keeps owning it: a buffer can still be made.
      device.pushErrorScope('validation');
      device.createBuffer({ size: 16, usage: GPUBufferUsage.STORAGE }).destroy();
      return [context.device === device, value, (await device.popErrorScope()) === null];
    })()`);
    assert.deepEqual([same, value, alive], [true, 9, true]);
  }));

test('a lost device is reported, refuses what stands on it, and the next default context is a new one', () =>
  inPage({}, async ({ page }) => {
    const [reason, code, value] = await page.evaluate(`(async () => {
      const { GpuContext, GpuCompiledFunctions, V } = window.residua;
      const context = await GpuContext.default();
      const functions = await GpuCompiledFunctions.compile([V.W(3)], ([x]) => x.square(), { backend: 'gpu' });
      context.device.destroy();
      const { reason } = await context.lost;
      const code = await functions.evaluate().catch((error) => error.code);
      functions.dispose();
      const { value } = await ${squareOn('gpu')};
      return [reason, code, value];
    })()`);
    assert.equal(reason, 'destroyed');
    assert.equal(code, 'device-lost');
    assert.equal(value, 9);
  }));
