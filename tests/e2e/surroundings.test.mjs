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
