// The packed tarball in Node on several threads: the same bits for every number, reasons where there is one thread, and a start after a trap.
import assert from 'node:assert/strict';
import { copyFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { makeProject } from '../consumers/project.mjs';

let project;
before(async () => void (project = await makeProject('bundled')));
after(() => project?.remove());

const run = async (name, text) => {
  await writeFile(join(project.folder, name), text);
  return JSON.parse(await project.run(process.execPath, [name]));
};

test('results have the same bits on one, two and three threads', async () => {
  const script = 'thread-results.mjs';
  await copyFile(fileURLToPath(new URL(script, import.meta.url)), join(project.folder, script));
  const of = async (threads) => JSON.parse(await project.run(process.execPath, [script, String(threads)]));
  const alone = await of(1);
  assert.ok(alone.results.solve.iterations > 1 && alone.results.many.converged > 0, JSON.stringify(alone.results));
  for (const threads of [2, 3]) {
    const { reports, results } = await of(threads);
    assert.deepEqual(reports, [{ threads, fallbackReason: null }, { threads, fallbackReason: null }]);
    assert.deepEqual(results, alone.results);
  }
});

test('init() says why there is one thread, and refuses what is no number of threads', async () => {
  const found = await run('reasons.mjs', `
    import { readFile } from 'node:fs/promises';
    import { init } from 'residua';
    import * as tensor from 'residua/tensor';
    const bytes = await readFile(new URL('./node_modules/residua/wasm/residua_bg.wasm', import.meta.url));
    const refused = [];
    for (const options of [{ threads: 0 }, { threads: 1.5 }, { threads: 'all' }, { thread: 2 }]) await init(options).catch(({ code }) => refused.push(code));
    const compiled = await init({ source: await WebAssembly.compile(bytes), threads: 2 });
    const first = await tensor.init();
    console.log(JSON.stringify({ refused, compiled, first, later: await tensor.init({ threads: 2 }) }));
  `);
  assert.deepEqual(found.refused, Array(4).fill('invalid-argument'));
  assert.equal(found.compiled.threads, 1);
  assert.match(found.compiled.fallbackReason, /WebAssembly\.Module cannot be changed/);
  assert.deepEqual(found.first, { threads: 1, fallbackReason: null });
  assert.match(found.later.fallbackReason, /loaded on 1 before/);
});

test('a page that is not cross-origin isolated has one thread, and the reason names the headers', async () => {
  const { report, value } = await run('isolation.mjs', `
    globalThis.crossOriginIsolated = false;
    const { GpuCompiledFunctions, init, V } = await import('residua');
    const report = await init({ threads: 'auto' });
    const functions = await GpuCompiledFunctions.compile([V.W(3)], ([x]) => x.square(), { backend: 'cpu' });
    console.log(JSON.stringify({ report, value: (await functions.evaluate())[0] }));
  `);
  assert.equal(report.threads, 1);
  assert.match(report.fallbackReason, /Cross-Origin-Opener-Policy: same-origin and Cross-Origin-Embedder-Policy: require-corp/);
  assert.equal(value, 9);
});

test('other threads take pieces', async () => {
  const { message } = await run('pieces.mjs', `
    import { readFile } from 'node:fs/promises';
    import { threadStarter } from './node_modules/residua/modules/start-thread.js';
    import { Pool } from './node_modules/residua/modules/threads/pool.js';
    import { sharedModule } from './node_modules/residua/modules/threads/shared-module.js';
    const PAGES = 4;
    const { module, pages, mostPages } = await sharedModule(await readFile(new URL('./node_modules/residua/wasm/residua_bg.wasm', import.meta.url)), 2 ** 14);
    const memory = new WebAssembly.Memory({ initial: pages + PAGES, maximum: mostPages, shared: true });
    const word = new Int32Array(new SharedArrayBuffer(4));
    // Here a piece is a pause, and there the call of a function that is none: only another thread can fail.
    const pool = new Pool(memory, () => void Atomics.wait(word, 0, 0, 5));
    await pool.start(await threadStarter(), module, {}, [2 ** 16 * (pages + PAGES)]);
    let message = null;
    try {
      pool.tasks(0xfffffff, 0, 200);
    } catch (error) {
      ({ message } = error);
    }
    console.log(JSON.stringify({ message }));
  `);
  assert.match(String(message), /^a thread failed: .*table index is out of bounds/);
});

test('a trap of a piece on another thread fails the module, and init() starts it on as many threads again', async () => {
  const { trapped, again, sums } = await run('trap.mjs', `
    import * as tensor from './node_modules/residua/modules/tensor.js';
    import { tensorModule } from './node_modules/residua/modules/tensor/module/loading.js';
    import { poolOf } from './node_modules/residua/modules/threads/threaded.js';
    const compute = async () => {
      const device = await tensor.Device.create({ backend: 'cpu' });
      return device.tensor(new Float32Array(1 << 20).fill(2), [1 << 20]).square().sum().item();
    };
    await tensor.init({ threads: 2 });
    const sums = [await compute()];
    const instance = tensorModule.running();
    // A task that is none. The pieces are many, so that the other thread takes some; both trap.
    let trapped;
    try {
      instance.call(({ module = instance.module }) => poolOf(instance.module).tasks(0xfffffff, 0, 1000));
    } catch ({ code, message }) {
      trapped = { code, message };
    }
    const again = await tensor.init();
    sums.push(await compute());
    console.log(JSON.stringify({ trapped, again, sums }));
  `);
  assert.equal(trapped.code, 'internal');
  assert.match(trapped.message, /table index is out of bounds|failed/);
  assert.deepEqual(again, { threads: 2, fallbackReason: null });
  assert.deepEqual(sums, [2 ** 22, 2 ** 22]);
});
