// residua/worker without a worker: what crosses, in which order, and what the page makes of the answers.
import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { GpuCompiledFunctions, levenbergMarquardt, lbfgs, Problem, ResiduaError, V } from '../../pkg-template/dist/index.js';
import { deferred, install, residuaError, settle } from './fake-module.mjs';
import { compiledThere, joined } from './through-a-worker.mjs';

let close = () => {};
afterEach(() => close());

/** What was joined is taken apart after the test. */
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

test('calls give what the module gives, and set numbers arrive before them', async () => {
  const { p, functions, raw } = await compiled();
  assert.deepEqual(Array.from(await functions.evaluate()), [1, 2, 3, 4]);
  p.setAt(1, [7, 8]);
  assert.deepEqual(Array.from(await functions.evaluate()), [1, 2, 7, 8]);
  assert.deepEqual(Array.from(await functions.evaluate([9, 9, 9, 9])), [9, 9, 9, 9]);
  assert.deepEqual(raw.log, [['evaluate'], ['setValuesAt', { 2: [7, 8] }], ['evaluate'], ['evaluate']]);
});

test('what is set during a call waits for the next one', async () => {
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

test('points go over without a copy, come back as memory for the next, and the caller keeps his own', async () => {
  const { functions, sent } = await compiled();
  const x = Float64Array.of(1, 2, 3, 4);
  for (let i = 0; i < 2; i++) await functions.evaluateSumWithGradient(x);
  assert.deepEqual(Array.from(x), [1, 2, 3, 4]);
  const points = sent.filter(({ method }) => method === 'evaluateSumWithGradient').map(({ args }) => args[0]);
  assert.deepEqual(points.map(({ length }) => length), [0, 0], 'detached');
  const before = functions.handle.memory();
  assert.equal(before.byteLength, 32);
});

test('a gradient comes in the array that was given, whose memory is not sent', async () => {
  const { functions, sent } = await compiled();
  const into = new Float64Array(4);
  for (let i = 0; i < 2; i++) assert.equal((await functions.evaluateSumWithGradient(undefined, into)).gradient, into);
  assert.deepEqual(Array.from(into), [1, 1, 1, 1]);
  assert.equal(sent.at(-1).memory.byteLength, 0, 'the memory of the answer before went back');
});

test('the pattern of a Jacobian comes once, its numbers into an earlier result', async () => {
  const { functions, raw } = await compiled();
  const first = await functions.evaluateJacobian();
  assert.equal(await functions.evaluateJacobian(undefined, first), first);
  assert.deepEqual(Array.from(first.jacobian.colIndices), [0, 1, 2, 3]);
  assert.deepEqual(raw.log.length, 2);
});

test('a solve writes back, and tells of its iterations until the listener wants no more', async () => {
  const { p, functions } = await compiled();
  const heard = [];
  const result = await levenbergMarquardt(functions, { onIteration: ({ iteration }) => (heard.push(iteration), iteration === 1) });
  assert.deepEqual(heard, [0, 1]);
  assert.equal(result.report(), 'a table');
  assert.deepEqual(Array.from(p.values()), [101, 102, 103, 104]);
});

test('true from onIteration is heard at the next iteration that follows a turn', async () => {
  const { functions, raw } = await compiled();
  const gate = deferred();
  // The solver of the test: one iteration, a turn of both ends, then whether it shall stop.
  raw.lbfgs = (options, onIteration, aborted) =>
    raw.run('lbfgs', () => {}).then(async () => {
      const answers = [onIteration({ iteration: 0 })];
      await turns();
      answers.push(aborted(), onIteration({ iteration: 1 }));
      gate.resolve(answers);
      return { success: false, termination: 'aborted', message: '', x: new Float64Array(4), history: [], reportText: '' };
    });
  const heard = [];
  await lbfgs(functions, { onIteration: ({ iteration }) => (heard.push(iteration), true) });
  assert.deepEqual(await gate.promise, [false, true, true]);
  assert.deepEqual(heard, [0]);
});

test('iterations that nobody listens to are not sent', async () => {
  const { functions, sent } = await compiled();
  await levenbergMarquardt(functions);
  assert.equal(sent.at(-1).heard, false);
});

test('what onIteration throws ends the solve and rejects it', async () => {
  const { functions } = await compiled();
  const thrown = new Error('mine');
  await assert.rejects(levenbergMarquardt(functions, { onIteration: () => { throw thrown; } }), (error) => error === thrown);
});

test('an abort is heard before and during a solve', async () => {
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

test('progress crosses', async () => {
  const { fake, GpuCompiledFunctions } = await watched(joined());
  fake.compileHold = async (onProgress) => onProgress(100, 300, 'tables');
  const heard = [];
  await GpuCompiledFunctions.compile([V.W(1)], ([x]) => x, { backend: 'cpu', onProgress: (...report) => heard.push(report) });
  assert.deepEqual(heard, [[100, 300, 'tables']]);
});

test('errors cross with code, message and wgsl', async () => {
  const { functions, raw } = await compiled();
  raw.hold = () => Promise.reject(Object.assign(new Error('no such call'), { code: 'shader-compilation', wgsl: 'fn f() {}' }));
  await assert.rejects(functions.evaluate(), (error) => {
    assert.equal(error.wgsl, 'fn f() {}');
    return residuaError('shader-compilation', /^no such call$/)(error);
  });
});

test("an answer that can't cross is an error, not a wait without end", async () => {
  const { functions, raw } = await compiled();
  raw.evaluate = async () => ({ not: () => 'cloneable' });
  await assert.rejects(functions.evaluate(), residuaError('internal', /clone/));
});

test('a change that fails is told by the next call, and by no other', async () => {
  const { block, functions, raw } = await compiled();
  raw.setWeight = () => { throw Object.assign(new Error('not that weight'), { code: 'invalid-argument' }); };
  block.setWeight(2);
  await assert.rejects(functions.evaluate(), residuaError('invalid-argument', /not that weight/));
  assert.equal((await functions.evaluate()).length, 4);
});

test('dispose rejects what is pending, stops it, and frees it when it has ended', async () => {
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

test('GPU objects stay there: buffers are null, the device is refused', async () => {
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

test('a lost device is told, and the next default context is another', async () => {
  const { fake, functions, raw, GpuContext } = await compiled({ backend: 'gpu' });
  const context = await GpuContext.default();
  fake.contexts[0].isGone = true;
  raw.hold = () => Promise.reject(Object.assign(new Error('gone'), { code: 'device-lost' }));
  await assert.rejects(functions.evaluate(), residuaError('device-lost'));
  assert.notEqual(await GpuContext.default(), context, 'known from the answer on');
  fake.contexts[0].loss.resolve({ reason: 'destroyed', message: 'by the test' });
  assert.deepEqual(await context.lost, { reason: 'destroyed', message: 'by the test' });
});

test('a context of the other side of the worker is refused', async () => {
  const { functions, GpuContext, GpuCompiledFunctions: There } = await compiled({ backend: 'gpu' });
  functions.dispose();
  const context = await GpuContext.default();
  const compile = (Kind, options) => Kind.compile([V.W(1)], ([x]) => x, { backend: 'gpu', ...options });
  await assert.rejects(compile(GpuCompiledFunctions, { context }), residuaError('invalid-argument', /context/));
  await compile(There, { context });
});

test("the module's death is told as 'internal' to what waits and to what comes, until init() starts afresh", async () => {
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

test('what waits for the module when its host is ended is rejected with the reason, also where a later call loads it again', async () => {
  const { host, GpuCompiledFunctions, GpuContext } = await compiled();
  const compile = () => GpuCompiledFunctions.compile([V.W(1)], ([x]) => x, { backend: 'cpu' });
  const end = () => host.end(new ResiduaError('disposed', 'ended by the test'));
  // Loaded; then not loaded.
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

test('a problem arrives as it would without a worker', async () => {
  const made = async (compile) => {
    const fake = await compile();
    const { arrays, blocks, recipes } = fake.problems[0];
    return JSON.parse(JSON.stringify({ arrays, blocks, recipes, x: Array.from(fake.compiled[0].x) }));
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

test('a tape is handed over, and is there for a second engine', async () => {
  const { fake, sent, GpuCompiledFunctions } = await watched(joined());
  let attempts = 0;
  fake.compileHold = async () => {
    attempts += 1;
    if (attempts === 1) throw Object.assign(new Error('too large'), { code: 'limit-exceeded' });
  };
  const params = [V.W(2), V.W(3)];
  const functions = await GpuCompiledFunctions.compile(params, ([a, b]) => [a.mul(b), a.sub(5)], { fallbackThreshold: 0 });
  assert.deepEqual([functions.backend, functions.fallbackReason, attempts], ['cpu', 'too large', 2]);
  assert.deepEqual(fake.problems[1].tape, fake.problems[0].tape);
  assert.equal(fake.problems[0].tape.ops.length, 5);
  const tapes = sent.flatMap(({ parts = [] }) => parts).filter(({ entries }) => entries !== undefined);
  assert.deepEqual(tapes.map(({ entries: [ops] }) => ops.length), [0], 'detached, and sent once');
  assert.deepEqual(sent.filter((message) => message.do === 'dispose').map(({ what }) => what), ['problem']);
});
