/**
 * Contexts of the device, compiles that end early, and traps of the module, which is a fake.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GpuCompiledFunctions, GpuContext, init, lbfgs, Problem, V } from '../../pkg-template/dist/index.js';
import { compiled } from './compiled.mjs';
import { deferred, install, residuaError, settle } from './fake-module.mjs';

test('the context of the caller is the one that is used, and its errors are those of the call', async () => {
  const fake = install();
  const context = await GpuContext.create();
  const functions = await GpuCompiledFunctions.compile([V.W(1)], ([x]) => x, { context });
  assert.equal(functions.backend, 'gpu');
  assert.equal(fake.compiled[0].context, fake.contexts[0]);
  context.dispose();
  for (const backend of ['auto', 'gpu']) {
    await assert.rejects(GpuCompiledFunctions.compile([V.W(1)], ([x]) => x, { context, backend }), residuaError('disposed'));
  }
});

test('auto without a GPU takes the CPU with the reason, gpu rejects', async () => {
  install({ gpu: false });
  const onCpu = await GpuCompiledFunctions.compile([V.W(1)], ([x]) => x);
  assert.equal(onCpu.backend, 'cpu');
  assert.match(onCpu.fallbackReason, /navigator\.gpu/);
  await assert.rejects(GpuCompiledFunctions.compile([V.W(1)], ([x]) => x, { backend: 'gpu' }), residuaError('gpu-unavailable', /navigator\.gpu/));
});

test('the default context is shared, and a new one after a loss or dispose', async () => {
  const fake = install();
  const first = await GpuContext.default();
  assert.equal(await GpuContext.default(), first);
  fake.contexts.at(-1).isGone = true;
  const second = await GpuContext.default();
  assert.notEqual(second, first);
  second.dispose();
  assert.equal(fake.contexts.at(-1).disposed, true);
  const third = await GpuContext.default();
  assert.notEqual(third, second);
  assert.throws(() => second.stats(), residuaError('disposed'));
  const own = await GpuContext.create();
  assert.notEqual(own, third);
  await assert.rejects(GpuCompiledFunctions.compile([V.W(1)], ([x]) => x, { backend: 'gpu', context: second }), residuaError('disposed'));
});

test('a failed request for the default context is repeated by the next call', async () => {
  const fake = install({ gpu: false });
  assert.equal(await GpuContext.isAvailable(), false);
  await assert.rejects(GpuContext.default(), residuaError('gpu-unavailable'));
  fake.gpu = true;
  assert.ok(await GpuContext.default());
});

test('a signal that has fired, or fires while compiling, rejects at once, and functions that are compiled all the same are freed', async () => {
  const fake = install();
  await assert.rejects(GpuCompiledFunctions.compile([V.W(1)], ([x]) => x, { signal: AbortSignal.abort() }), residuaError('aborted'));
  assert.equal(fake.problems.length, 0);
  const gate = deferred();
  fake.compileHold = () => gate.promise;
  const controller = new AbortController();
  const compiling = GpuCompiledFunctions.compile([V.W(1)], ([x]) => x, { signal: controller.signal });
  await settle();
  controller.abort();
  await assert.rejects(compiling, residuaError('aborted'));
  gate.resolve();
  await settle();
  assert.equal(fake.compiled[0].disposed, true);
});

test('progress is reported at most ten times a second, and an exception of the listener ends the compile', async () => {
  const fake = install();
  let calls = 0;
  fake.compileHold = async (onProgress) => {
    for (let i = 0; i < 1000; i++) onProgress(i, 1000, 'pipelines');
  };
  await GpuCompiledFunctions.compile([V.W(1)], ([x]) => x, { onProgress: () => (calls += 1) });
  assert.equal(calls, 1, 'a thousand reports within far less than a tenth of a second');
  await assert.rejects(GpuCompiledFunctions.compile([V.W(1)], ([x]) => x, { onProgress: () => { throw new RangeError('mine'); } }), /mine/);
  assert.equal(fake.compiled.at(-1).disposed, true);
});

test('a problem is freed when its construction fails', async () => {
  const fake = install();
  fake.module.RawProblem.prototype.addBlock = () => {
    throw Object.assign(new Error('too many'), { code: 'limit-exceeded' });
  };
  const problem = new Problem();
  const p = problem.parameters('p', { dim: 1, values: [1] });
  problem.residuals('r', { inputs: { p: p.shared() }, residual: ({ p }) => p });
  await assert.rejects(GpuCompiledFunctions.compile(problem), residuaError('limit-exceeded', /too many/));
  assert.equal(fake.problems[0].freed, true);
});

test("a trap rejects running calls with 'internal' and refuses further calls, and init starts a new instance", async () => {
  const { functions, raw, fake } = await compiled();
  raw.hold = () => {
    throw new WebAssembly.RuntimeError('unreachable');
  };
  await assert.rejects(functions.evaluate(), residuaError('internal', /unreachable.*init\(\)/));
  raw.hold = null;
  await assert.rejects(functions.evaluate(), residuaError('internal'));
  await assert.rejects(GpuCompiledFunctions.compile([V.W(1)], ([x]) => x), residuaError('internal'));
  assert.throws(() => V.W(1).sin().data, residuaError('internal'));
  functions.dispose();
  assert.equal(raw.disposed, false, 'nothing of the failed instance is touched');
  await init();
  assert.equal(fake.restarts, 1);
  assert.ok(await GpuCompiledFunctions.compile([V.W(1)], ([x]) => x));
  await assert.rejects(functions.evaluate(), residuaError('disposed'));
});

test('a trap in a callback of the page rejects calls that would never settle, and init starts a new instance', async () => {
  const { functions, raw, fake } = await compiled();
  raw.hold = () => new Promise(() => {});
  const calls = [functions.evaluate(), functions.evaluate(), lbfgs(functions)];
  await settle();
  assert.equal(fake.trap(new Error('of a listener of the page')), false, 'thrown on');
  assert.equal(fake.trap(new WebAssembly.RuntimeError('unreachable')), true);
  for (const call of calls) await assert.rejects(call, residuaError('internal', /unreachable.*init\(\)/));
  await assert.rejects(functions.evaluate(), residuaError('internal', /init\(\) starts a new instance/));
  await init();
  assert.equal(fake.restarts, 1);
  assert.ok(await GpuCompiledFunctions.compile([V.W(1)], ([x]) => x));
});

test("a refused request for memory rejects with 'out-of-memory' and both figures", async () => {
  for (const fail of [
    (fake) => fake.trap(new WebAssembly.RuntimeError('unreachable')),
    (fake) => fake.panic('memory allocation failed'),
  ]) {
    const { functions, raw, fake } = await compiled();
    raw.hold = () => new Promise(() => {});
    const call = functions.evaluate();
    await settle();
    fake.refusedBytes = 1_500_000_000;
    fail(fake);
    await assert.rejects(call, residuaError('out-of-memory', /1500000000 bytes were refused with 3000000000 of 4294967296 in use.*init\(\)/));
    await assert.rejects(functions.evaluate(), residuaError('out-of-memory', /init\(\)/));
  }
  const { functions, raw, fake } = await compiled();
  raw.hold = () => new Promise(() => {});
  const call = functions.evaluate();
  await settle();
  fake.panic('capacity overflow');
  await assert.rejects(call, residuaError('out-of-memory', /2147483648 bytes or more was requested with 3000000000 of 4294967296/));
});

test('a panic inside the module rejects calls that would never settle', async () => {
  const { functions, raw, fake } = await compiled();
  raw.hold = () => new Promise(() => {});
  const call = functions.evaluate();
  const next = functions.evaluate();
  await settle();
  fake.panic('index out of bounds');
  await assert.rejects(call, residuaError('internal', /index out of bounds/));
  await assert.rejects(next, residuaError('internal'));
});

test('init returns the same promise', async () => {
  install();
  assert.equal(init(), init());
  await init();
});
