// residua/worker without a worker: the messages, their order, and how the page handles the answers.
import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { covariance, GpuCompiledFunctions, levenbergMarquardt, lbfgs, Problem, ResiduaError, V } from '../../pkg-template/dist/index.js';
import { deferred, install, residuaError, settle } from './fake-module.mjs';
import { compiledThere, joined } from './through-a-worker.mjs';
import { solveManyOn } from '../../pkg-template/dist/solvers/solve-many.js';
import { rawSolve } from './raw-solve.mjs';

let close = () => {};
afterEach(() => close());

/** Closes the channels after the test. */
const watched = async (sides) => {
  const all = await sides;
  ({ close } = all);
  return all;
};
const compiled = (options = { backend: 'cpu' }) => watched(compiledThere(options));

/** Some turns of both ends. */
const turns = async (count = 5) => {
  for (let i = 0; i < count; i++) await settle();
};

test("calls return the module's results, and numbers that were set before arrive first", async () => {
  const { p, functions, raw } = await compiled();
  assert.deepEqual(Array.from(await functions.evaluate()), [1, 2, 3, 4]);
  p.setAt(1, [7, 8]);
  assert.deepEqual(Array.from(await functions.evaluate()), [1, 2, 7, 8]);
  assert.deepEqual(Array.from(await functions.evaluate([9, 9, 9, 9])), [9, 9, 9, 9]);
  assert.deepEqual(raw.log, [['evaluate'], ['setValuesAt', { 2: [7, 8] }], ['evaluate'], ['evaluate']]);
});

test('grids are sent with their problem, and their numbers before the next call', async () => {
  const sides = await watched(joined());
  const problem = new Problem();
  const p = problem.parameters('p', { dim: 1, values: [1] });
  const grids = [[1, 2], [3, 4, 5]].map((values, k) => problem.grid(`g${k}`, { size: [values.length], values, interpolation: 'nearest', border: 'mirror' }));
  problem.residuals('r', { inputs: { p: p.shared() }, residual: ({ p }) => grids[1].at(p).add(grids[0].at(p)) });
  const functions = await sides.GpuCompiledFunctions.compile(problem, { backend: 'cpu' });
  // Nearest numbers of a mirror image need none outside.
  assert.deepEqual(sides.fake.problems[0].tables, [[1, 2, 3, 4, 5]]);
  grids[1].setValues([6, 7, 8]);
  await functions.evaluate();
  assert.deepEqual(sides.fake.compiled[0].log, [['setTables', 2, [6, 7, 8]], ['evaluate']]);
});

test('numbers of a grid reach all functions of its problem, and those that are compiled later', async () => {
  const sides = await watched(joined());
  const problem = new Problem();
  const p = problem.parameters('p', { dim: 1, values: [1] });
  const grid = problem.grid('g', { size: [3], values: [1, 2, 3], interpolation: 'nearest' });
  problem.residuals('r', { inputs: { p: p.shared() }, residual: ({ p }) => grid.at(p) });
  const compile = () => sides.GpuCompiledFunctions.compile(problem, { backend: 'cpu' });
  const both = [await compile(), await compile()];
  const { fake } = sides;
  const tables = (k) => fake.compiled[k].log.filter(([name]) => name === 'setTables');
  grid.setValues([4, 5, 6]);
  for (const functions of both) await functions.evaluate();
  assert.equal(tables(0)[0][2].length, fake.problems[0].tables[0].length);
  assert.deepEqual(tables(1), tables(0));
  const later = await compile();
  await later.evaluate();
  assert.deepEqual(fake.problems[2].tables, [tables(0)[0][2]]);
  assert.ok(fake.problems[2].tables[0].includes(6));
});

test('a change during a call applies to the next call', async () => {
  const { p, block, functions, raw } = await compiled();
  const gate = deferred();
  raw.hold = () => gate.promise;
  const first = functions.evaluate();
  p.set([0, 0, 0, 0]);
  block.setWeight(3);
  block.setData('d', [50, 60]);
  const second = functions.evaluate();
  await turns();
  gate.resolve();
  await Promise.all([first, second]);
  assert.deepEqual(raw.log.map(([name]) => name), ['evaluate', 'setData', 'setWeight', 'setLoss', 'setEnabled', 'setValuesAt', 'evaluate']);
  assert.deepEqual(raw.log[1], ['setData', 0, 0, [50, 60]]);
});

test('points are transferred, their memory returns for the next point, and the caller keeps the array', async () => {
  const { functions, sent } = await compiled();
  const x = Float64Array.of(1, 2, 3, 4);
  for (let i = 0; i < 2; i++) await functions.evaluateSumWithGradient(x);
  assert.deepEqual(Array.from(x), [1, 2, 3, 4]);
  const points = sent.filter(({ method }) => method === 'evaluateSumWithGradient').map(({ args }) => args[0]);
  assert.deepEqual(points.map(({ length }) => length), [0, 0], 'detached');
  const before = functions.handle.memory();
  assert.equal(before.byteLength, 32);
});

test('a gradient is written to the given array, whose memory is not sent', async () => {
  const { functions, sent } = await compiled();
  const into = new Float64Array(4);
  for (let i = 0; i < 2; i++) assert.equal((await functions.evaluateSumWithGradient(undefined, into)).gradient, into);
  assert.deepEqual(Array.from(into), [1, 1, 1, 1]);
  assert.equal(sent.at(-1).memory.byteLength, 0, 'the memory of the answer before went back');
});

test('the pattern of a Jacobian is sent once, and its numbers go into an earlier result', async () => {
  const { functions, raw } = await compiled();
  const first = await functions.evaluateJacobian();
  assert.equal(await functions.evaluateJacobian(undefined, first), first);
  assert.deepEqual(Array.from(first.jacobian.colIndices), [0, 1, 2, 3]);
  assert.deepEqual(raw.log.length, 2);
});

test('a solve writes back, and reports iterations until the listener returns true', async () => {
  const { p, functions } = await compiled();
  const heard = [];
  const result = await levenbergMarquardt(functions, { onIteration: ({ iteration }) => (heard.push(iteration), iteration === 1) });
  assert.deepEqual(heard, [0, 1]);
  assert.match(result.report(), /Solver {11}a solver\n/);
  assert.deepEqual(Array.from(p.values()), [101, 102, 103, 104]);
});

test('true from onIteration ends a solve at the next iteration that follows a turn of the event loop', async () => {
  const { functions, raw } = await compiled();
  const gate = deferred();
  // A fake solver: one iteration, a turn of both ends, then the check of the cancellation.
  raw.lbfgs = (options, onIteration, aborted) =>
    raw.run('lbfgs', () => {}).then(async () => {
      const answers = [onIteration({ iteration: 0 })];
      await turns();
      answers.push(aborted(), onIteration({ iteration: 1 }));
      gate.resolve(answers);
      return rawSolve({ success: false, termination: 'aborted', x: new Float64Array(4) });
    });
  const heard = [];
  await lbfgs(functions, { onIteration: ({ iteration }) => (heard.push(iteration), true) });
  assert.deepEqual(await gate.promise, [false, true, true]);
  assert.deepEqual(heard, [0]);
});

test('iterations without a listener are not sent', async () => {
  const { functions, sent } = await compiled();
  await levenbergMarquardt(functions);
  assert.equal(sent.at(-1).wantsReports, false);
});

test('an exception of onIteration ends the solve and rejects it', async () => {
  const { functions } = await compiled();
  const thrown = new Error('mine');
  await assert.rejects(levenbergMarquardt(functions, { onIteration: () => { throw thrown; } }), (error) => error === thrown);
});

test('an abort before and during a solve ends it', async () => {
  const { functions, raw } = await compiled();
  assert.equal((await lbfgs(functions, { signal: AbortSignal.abort() })).termination, 'aborted');
  const gate = deferred();
  raw.hold = () => gate.promise;
  const controller = new AbortController();
  const solving = lbfgs(functions, { signal: controller.signal });
  await turns();
  controller.abort();
  await turns();
  gate.resolve();
  assert.equal((await solving).termination, 'aborted');
});

test('an abort ends a compile at once', async () => {
  const { fake, GpuCompiledFunctions } = await watched(joined());
  const gate = deferred();
  let called = () => false;
  fake.compileHold = (_, aborted) => ((called = aborted), gate.promise);
  const controller = new AbortController();
  const compiling = GpuCompiledFunctions.compile([V.W(1)], ([x]) => x, { backend: 'cpu', signal: controller.signal });
  await turns();
  controller.abort();
  await assert.rejects(compiling, residuaError('aborted'));
  await turns();
  assert.equal(called(), true);
  gate.resolve();
  await turns();
  assert.equal(fake.compiled[0].disposed, true, 'what was compiled after all is freed');
});

test('progress is sent to the page', async () => {
  const { fake, GpuCompiledFunctions } = await watched(joined());
  fake.compileHold = async (onProgress) => onProgress(100, 300, 'tables');
  const heard = [];
  await GpuCompiledFunctions.compile([V.W(1)], ([x]) => x, { backend: 'cpu', onProgress: (...report) => heard.push(report) });
  assert.deepEqual(heard, [[100, 300, 'tables']]);
});

test('errors keep code, message and wgsl', async () => {
  const { functions, raw } = await compiled();
  raw.hold = () => Promise.reject(Object.assign(new Error('no such call'), { code: 'shader-compilation', wgsl: 'fn f() {}' }));
  await assert.rejects(functions.evaluate(), (error) => {
    assert.equal(error.wgsl, 'fn f() {}');
    return residuaError('shader-compilation', /^no such call$/)(error);
  });
});

test('an answer that cannot be cloned is an error', async () => {
  const { functions, raw } = await compiled();
  raw.evaluate = async () => ({ not: () => 'cloneable' });
  await assert.rejects(functions.evaluate(), residuaError('internal', /clone/));
});

test('the error of a change rejects the next call, and no other', async () => {
  const { block, functions, raw } = await compiled();
  raw.setWeight = () => { throw Object.assign(new Error('not that weight'), { code: 'invalid-argument' }); };
  block.setWeight(2);
  await assert.rejects(functions.evaluate(), residuaError('invalid-argument', /not that weight/));
  assert.equal((await functions.evaluate()).length, 4);
});

test('dispose rejects pending calls, stops the running one, and frees when it has ended', async () => {
  const { functions, raw } = await compiled();
  const gate = deferred();
  raw.hold = () => gate.promise;
  const solving = lbfgs(functions);
  await turns();
  functions.dispose();
  await assert.rejects(solving, residuaError('disposed'));
  await turns();
  assert.equal(raw.disposed, false);
  gate.resolve();
  await turns();
  assert.equal(raw.disposed, true);
  await assert.rejects(functions.evaluate(), residuaError('disposed'));
});

test('GPU objects are not available: buffers are null, the device is refused', async () => {
  const { functions, block, GpuContext } = await compiled({ backend: 'gpu' });
  assert.equal(functions.backend, 'gpu');
  assert.equal(functions.parameterBuffer, null);
  assert.equal(block.dataBuffer('d'), null);
  const context = await GpuContext.default();
  assert.equal(context.adapter.vendor, 'fake');
  assert.throws(() => context.device, residuaError('gpu-unavailable', /worker/));
  await assert.rejects(GpuContext.create({ device: {} }), residuaError('invalid-argument', /device.*worker/));
  assert.deepEqual(await functions.evaluateCostWithGradientOnDevice(), { value: 1, gradient: null });
});

test('stats are those of the latest answer', async () => {
  const { fake, functions, GpuContext } = await compiled({ backend: 'gpu' });
  const context = await GpuContext.default();
  fake.stats = { dispatches: 5 };
  assert.notEqual(context.stats().dispatches, 5);
  await functions.evaluate();
  assert.equal(context.stats().dispatches, 5);
  fake.stats = { dispatches: 6 };
  functions.dispose();
  await turns();
  assert.equal(context.stats().dispatches, 6);
});

test('the loss of a device is reported, and the next default context is another one', async () => {
  const { fake, functions, raw, GpuContext } = await compiled({ backend: 'gpu' });
  const context = await GpuContext.default();
  fake.contexts[0].isGone = true;
  raw.hold = () => Promise.reject(Object.assign(new Error('gone'), { code: 'device-lost' }));
  await assert.rejects(functions.evaluate(), residuaError('device-lost'));
  assert.notEqual(await GpuContext.default(), context, 'known from the answer on');
  fake.contexts[0].loss.resolve({ reason: 'destroyed', message: 'by the test' });
  assert.deepEqual(await context.lost, { reason: 'destroyed', message: 'by the test' });
});

test('a context of the worker is refused by functions on the page', async () => {
  const { functions, GpuContext, GpuCompiledFunctions: There } = await compiled({ backend: 'gpu' });
  functions.dispose();
  const context = await GpuContext.default();
  const compile = (Kind, options) => Kind.compile([V.W(1)], ([x]) => x, { backend: 'gpu', ...options });
  await assert.rejects(compile(GpuCompiledFunctions, { context }), residuaError('invalid-argument', /context/));
  await compile(There, { context });
});

test("a failure of the module rejects pending and later calls with 'internal', until init() starts a new instance", async () => {
  const { fake, host, functions, raw, GpuCompiledFunctions, starts } = await compiled();
  raw.hold = () => new Promise(() => {});
  const waiting = functions.evaluate();
  await turns();
  fake.panic('index out of bounds');
  await assert.rejects(waiting, residuaError('internal', /^residua failed: index out of bounds\. This is a bug/));
  await assert.rejects(functions.evaluate(), residuaError('internal'));
  const again = () => GpuCompiledFunctions.compile([V.W(1)], ([x]) => x, { backend: 'cpu' });
  await assert.rejects(again(), residuaError('internal'));
  await host.init();
  assert.equal(starts(), 2);
  assert.equal((await (await again()).evaluate())[0], 1);
});

test('calls that wait for the module when its host ends reject with the reason, also where a later call loads it again', async () => {
  const { host, GpuCompiledFunctions, GpuContext } = await compiled();
  const compile = () => GpuCompiledFunctions.compile([V.W(1)], ([x]) => x, { backend: 'cpu' });
  const end = () => host.end(new ResiduaError('disposed', 'ended by the test'));
  // Loaded, then not loaded.
  for (let round = 0; round < 2; round++) {
    const waiting = [compile(), GpuContext.create(), compile()].map((call) => assert.rejects(call, residuaError('disposed', /ended by the test/)));
    end();
    const later = compile();
    await Promise.all(waiting);
    assert.equal((await (await later).evaluate())[0], 1);
    if (round === 0) end();
  }
});

/** Stars of two lengths, a shared block, data, and more instances than one piece of a column has entries. */
function largeProblem(instances) {
  const problem = new Problem();
  const p = problem.parameters('p', { dim: 1, values: Float64Array.from({ length: 10 }, (_, i) => i) });
  const q = problem.parameters('q', { dim: 3, values: [1, 2, 3] });
  q.setManifold('unit-vector');
  const offsets = new Uint32Array(instances + 1);
  for (let i = 0; i < instances; i++) offsets[i + 1] = offsets[i] + 1 + Number(i % 3 === 0);
  const ring = Uint32Array.from({ length: offsets[instances] }, (_, i) => i % 10);
  problem.residuals('r', {
    inputs: { ring: p.star(offsets, ring), q: q.shared(), d: problem.data(Float64Array.from({ length: 2 * instances }, (_, i) => i), 2) },
    residual: ({ ring, q, d }) => V.sum(ring).mul(q.x).add(d.x).sub(d.y.mul(0.5)),
  });
  return problem;
}

test('a problem arrives in the worker as it would on the page', async () => {
  const made = async (compile) => {
    const fake = await compile();
    const { arrays, blocks, templates } = fake.problems[0];
    return JSON.parse(JSON.stringify({ arrays, blocks, templates, x: Array.from(fake.compiled[0].x) }));
  };
  const instances = 100_000; // the larger group is cut in two pieces
  const plain = await made(async () => {
    const fake = install();
    await GpuCompiledFunctions.compile(largeProblem(instances), { backend: 'cpu' });
    return fake;
  });
  const there = await made(async () => {
    const { fake, GpuCompiledFunctions } = await watched(joined());
    await GpuCompiledFunctions.compile(largeProblem(instances), { backend: 'cpu' });
    return fake;
  });
  assert.deepEqual(there, plain);
});

test("a worker that runs out of memory rejects pending and later calls with 'out-of-memory' and both figures", async () => {
  const { fake, host, functions, raw, GpuCompiledFunctions } = await compiled();
  raw.hold = () => new Promise(() => {});
  const waiting = functions.evaluate();
  await turns();
  fake.refusedBytes = 1_500_000_000;
  fake.trap(new WebAssembly.RuntimeError('unreachable'));
  await assert.rejects(waiting, residuaError('out-of-memory', /^residua ran out of memory: 1500000000 bytes were refused with 3000000000 of .*init\(\)/));
  await assert.rejects(functions.evaluate(), residuaError('out-of-memory'));
  fake.refusedBytes = 0;
  await host.init();
  assert.ok(await GpuCompiledFunctions.compile([V.W(1)], ([x]) => x, { backend: 'cpu' }));
});

test('the buffers of a tape are transferred, and the problem is freed when the compile has ended', async () => {
  const { fake, sent, GpuCompiledFunctions } = await watched(joined());
  const compile = (params) => GpuCompiledFunctions.compile(params, ([a, b]) => [a.mul(b), a.sub(5)], { fallbackThreshold: 0 });
  const functions = await compile([V.W(2), V.W(3)]);
  assert.equal(functions.backend, 'gpu');
  assert.equal(fake.problems[0].tape.ops.length, 5);
  const tapes = sent.flatMap(({ pieces = [] }) => pieces).filter(({ entries }) => entries !== undefined);
  assert.deepEqual(tapes.map(({ entries: [ops] }) => ops.length), [0], 'detached, and sent once');
  const freed = () => sent.filter((message) => message.do === 'dispose').map(({ what }) => what);
  assert.deepEqual(freed(), ['problem']);
  fake.compileHold = async () => {
    throw Object.assign(new Error('too large'), { code: 'limit-exceeded' });
  };
  await assert.rejects(compile([V.W(2), V.W(3)]), residuaError('limit-exceeded', /too large/));
  assert.deepEqual(freed(), ['problem', 'problem']);
});

test('the page gives the context that a compile or a solve in the worker asks for, and its refusal is theirs', async () => {
  const { fake, sent, host, GpuCompiledFunctions, GpuContext } = await watched(joined());
  const context = await GpuContext.create();
  const functions = await GpuCompiledFunctions.compile([V.W(1)], ([x]) => x, { context });
  assert.equal(functions.backend, 'gpu');
  assert.equal(fake.compiled[0].context, fake.contexts[0]);
  const problem = new Problem();
  const x = problem.parameters('x', { dim: 1, values: [1] });
  problem.residuals('r', { inputs: { x: x.at([0]) }, residual: ({ x }) => x });
  const { backend } = await solveManyOn(host, problem, { count: 2 }, { context });
  assert.equal(backend, 'gpu');
  assert.equal(fake.solvedMany[0].context, fake.contexts[0]);
  assert.equal(sent.filter((message) => message.do === 'context').length, 2);
  const onCpu = await GpuCompiledFunctions.compile([V.W(1)], ([x]) => x, { context, backend: 'cpu' });
  assert.equal(onCpu.backend, 'cpu');
  assert.equal(sent.filter((message) => message.do === 'context').length, 2, 'nothing is asked for the CPU');
  fake.gpu = false;
  const reason = (await GpuCompiledFunctions.compile([V.W(1)], ([x]) => x)).fallbackReason;
  assert.match(reason, /navigator\.gpu/);
  context.dispose();
  await assert.rejects(GpuCompiledFunctions.compile([V.W(1)], ([x]) => x, { context }), residuaError('disposed'));
});

test('the estimate of a covariance reaches the worker', async () => {
  const { functions, fake, raw } = await compiled();
  fake.covariance = Array.from({ length: 16 }, (_, k) => k);
  assert.equal((await covariance(functions, { absoluteSigma: true, robust: false })).size, 4);
  assert.deepEqual([raw.covarianceOf, ...raw.covarianceEstimate], [undefined, true, false]);
  await covariance(functions);
  assert.deepEqual(raw.covarianceEstimate, [false, undefined]);
});
