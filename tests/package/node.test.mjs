// The packed tarball in Node: imported on a server, where it does no work; used on the CPU; and on a GPU with the `webgpu` package as navigator.gpu.
import assert from 'node:assert/strict';
import { existsSync, realpathSync } from 'node:fs';
import { stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { EXPECTED } from '../consumers/bundled/use-tensors.js';
import { makeProject, root } from '../consumers/project.mjs';

let project;
before(async () => void (project = await makeProject('bundled')));
after(() => project?.remove());

/** Runs a module in the project; gives what it prints, parsed. */
async function node(name, text, env) {
  await writeFile(join(project.folder, name), text);
  return JSON.parse(await project.run(process.execPath, [name], env));
}

test('a server that renders pages can import the package: no work is done, nothing is fetched or left running', async () => {
  const found = await node('server.mjs', `
    const before = process.memoryUsage().external;
    globalThis.fetch = () => { throw new Error('fetched on import'); };
    const residua = await import('residua');
    // Values are made without the module, as a component does while it renders.
    const { V } = residua;
    const sum = V.add(V.W(1), 2);
    console.log(JSON.stringify({ init: typeof residua.init, grown: process.memoryUsage().external - before, requiresGrad: sum.requiresGrad }));
  `);
  assert.equal(found.init, 'function');
  assert.equal(found.requiresGrad, true);
  // The texts of the files count. The module alone has 1.6 MB, and its memory starts beyond that.
  assert.ok(found.grown < 1_000_000, `importing took ${found.grown} bytes`);
});

test('a server can import the tensors too: recipes and constants of a file are made without their module', async () => {
  const found = await node('server-tensors.mjs', `
    const before = process.memoryUsage().external;
    globalThis.fetch = () => { throw new Error('fetched on import'); };
    const { arange, eye, init } = await import('residua/tensor');
    await import('residua/tensor/train');
    const recipe = arange(6).reshape([2, 3]).matmul(eye(3)).softmax();
    console.log(JSON.stringify({ init: typeof init, grown: process.memoryUsage().external - before, shape: recipe.sizes, dtype: recipe.dtype }));
  `);
  assert.deepEqual({ ...found, grown: 0 }, { init: 'function', grown: 0, shape: [2, 3], dtype: 'f32' });
  // The texts of the package take half a megabyte; the module alone has more bytes than that, and its memory starts beyond them.
  const { size } = await stat(join(project.folder, 'node_modules/residua/wasm-tensor/residua_tensor_bg.wasm'));
  assert.ok(found.grown < size, `importing took ${found.grown} bytes, of which the module has ${size}`);
});

test('the modules start without the HTTP client of Node, which takes longer to load than both', async () => {
  const found = await node('no-client.mjs', `
    import { readFile } from 'node:fs/promises';
    import * as residua from 'residua';
    import * as tensor from 'residua/tensor';
    await residua.init();
    await tensor.init(await readFile(new URL(import.meta.resolve('residua/residua-tensor.wasm'))));
    const { data } = residua.V.W(3).square();
    console.log(JSON.stringify({ data, client: process.moduleLoadList.filter((name) => /undici/.test(name)) }));
  `);
  assert.deepEqual(found, { data: 9, client: [] });
});

test('without navigator.gpu tensors are computed on the CPU, which says why', async () => {
  const found = await node('cpu-tensors.mjs', `
    import { Device } from 'residua/tensor';
    const device = await Device.create();
    const x = device.tensor([[1, 2], [3, 4]]);
    const refused = await Device.create({ backend: 'gpu' }).catch((error) => error.code);
    console.log(JSON.stringify({ backend: device.backend, reason: device.fallbackReason, product: await x.matmul(x).toArray(), refused }));
  `);
  assert.match(found.reason, /navigator\.gpu/);
  assert.deepEqual({ ...found, reason: undefined }, { backend: 'cpu', reason: undefined, product: [[7, 10], [15, 22]], refused: 'gpu-unavailable' });
});

test('without navigator.gpu everything runs on the CPU, and says why', async () => {
  const found = await node('cpu.mjs', `
    import { GpuCompiledFunctions, GpuContext, Problem, V, solve } from 'residua';
    const functions = await GpuCompiledFunctions.compile([V.W(3)], ([x]) => x.square());
    const { value, gradient } = await functions.evaluateSumWithGradient();
    const problem = new Problem();
    const x = problem.parameters('x', { dim: 1, values: [1] });
    problem.residuals('root', { inputs: { x: x.at([0]) }, residual: ({ x }) => x.square().sub(2) });
    const { success } = await solve(problem);
    const refused = await GpuCompiledFunctions.compile([V.W(3)], ([x]) => x, { backend: 'gpu' }).catch((error) => error.code);
    console.log(JSON.stringify({
      available: await GpuContext.isAvailable(), backend: functions.backend, reason: functions.fallbackReason, value, gradient: gradient[0], success, root: x.values()[0], refused,
    }));
  `);
  assert.deepEqual({ ...found, reason: undefined, root: undefined }, {
    available: false, backend: 'cpu', reason: undefined, value: 9, gradient: 6, success: true, root: undefined, refused: 'gpu-unavailable',
  });
  assert.match(found.reason, /navigator\.gpu/);
  // The solve ends where the cost, the square of the distance to 0, changes by 1e-6 of itself: quadratic convergence is far beyond 1e-6 then.
  assert.ok(Math.abs(found.root - Math.SQRT2) < 1e-6, `root ${found.root}`);
});

test('a page in place of the .wasm, and a Node that is too old, are told as what they are', async () => {
  const found = await node('wrong.mjs', `
    import { init } from 'residua';
    const why = (source) => init(source).then(() => 'loaded', ({ code, message }) => code + ': ' + message);
    const page = await why(new TextEncoder().encode('<!doctype html><title>Not found</title>'));
    const versions = process.versions;
    Object.defineProperty(process, 'versions', { value: { ...versions, node: '18.20.4' } });
    const old = await why();
    Object.defineProperty(process, 'versions', { value: versions });
    console.log(JSON.stringify({ page, old, then: await why() }));
  `);
  assert.match(found.page, /^not-initialized: .*What was loaded is not WebAssembly: many servers answer a wrong address with an HTML page\./);
  assert.equal(found.old, 'not-initialized: the WebAssembly module could not be loaded in Node 18.20.4: residua needs Node 20 or newer');
  assert.equal(found.then, 'loaded');
});

/** Where Chromium keeps the description of SwiftShader for Vulkan; `webgpu` would find no adapter on a machine without a graphics card. */
function swiftShader() {
  const chromium = process.env.CHROMIUM ?? '/usr/bin/chromium';
  const folders = [dirname(existsSync(chromium) ? realpathSync(chromium) : chromium), '/usr/lib/chromium', '/usr/lib/chromium-browser', '/opt/google/chrome'];
  return folders.map((folder) => join(folder, 'vk_swiftshader_icd.json')).find(existsSync);
}

test('with the webgpu package as navigator.gpu it runs on the GPU', async () => {
  const software = process.env.RESIDUA_ADAPTER === 'hardware' ? undefined : swiftShader();
  const webgpu = pathToFileURL(join(root, 'node_modules/webgpu/index.js')).href;
  const found = await node('gpu.mjs', `
    import { create, globals } from ${JSON.stringify(webgpu)};
    Object.assign(globalThis, globals);
    Object.defineProperty(globalThis, 'navigator', { value: { gpu: create([]) }, configurable: true });
    const residua = await import('residua');
    const { use } = await import('./use.js');
    const { useTensors } = await import('./use-tensors.js');
    const used = await use(residua);
    const tensors = await useTensors({ ...(await import('residua/tensor')), ...(await import('residua/tensor/train')) });
    console.log(JSON.stringify({ available: await residua.GpuContext.isAvailable(), tensors, ...used }));
    // Dawn's threads would keep the process alive.
    process.exit(0);
  `, software === undefined ? {} : { VK_ICD_FILENAMES: software, VK_DRIVER_FILES: software });
  assert.equal(found.available, true);
  assert.deepEqual(found.costs, ['gpu', 'cpu'].map((backend) => ({ backend, value: 42, gradient: [-18, -16] })));
  assert.ok(found.fit.success);
  assert.deepEqual(found.tensors, EXPECTED);
});
