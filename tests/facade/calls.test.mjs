/**
 * The queue of calls on compiled functions: which changes apply to which call, and the effects of dispose, abort and checks. With a fake module.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runInNewContext } from 'node:vm';
import { GpuCompiledFunctions, lbfgs, levenbergMarquardt, V } from '../../pkg-template/dist/index.js';
import { compiled } from './compiled.mjs';
import { deferred, install, residuaError, settle } from './fake-module.mjs';

test('calls run one after another, in order', async () => {
  const { functions, raw } = await compiled();
  const gate = deferred();
  raw.hold = () => gate.promise;
  const first = functions.evaluate();
  const second = functions.evaluateSumWithGradient();
  const third = functions.evaluate([9, 9, 9, 9]);
  await settle();
  assert.deepEqual(raw.log, [['evaluate']]);
  gate.resolve();
  assert.deepEqual([...(await first)], [1, 2, 3, 4]);
  await second;
  assert.deepEqual([...(await third)], [9, 9, 9, 9]);
  assert.deepEqual(raw.log, [['evaluate'], ['sum'], ['evaluate']]);
});

test('x is read when the call is made, and the call does not change the parameters', async () => {
  const { functions, p } = await compiled();
  const x = Float64Array.of(5, 6, 7, 8);
  const result = functions.evaluate(x);
  x.fill(0);
  assert.deepEqual([...(await result)], [5, 6, 7, 8]);
  assert.deepEqual([...p.values()], [1, 2, 3, 4]);
  assert.deepEqual([...(await functions.evaluate())], [1, 2, 3, 4]);
});

test('a call from a getter of x uses its own memory for the point', async () => {
  const { functions, raw } = await compiled({ backend: 'cpu' });
  raw.evaluateSumWithGradient = (x) => raw.run('sum', () => ({ value: raw.at(x)[0], gradient: new Float64Array(4) }));
  let inner;
  const x = [5, 6, 7, 8];
  Object.defineProperty(x, 1, { get: () => ((inner ??= functions.evaluateSumWithGradient([9, 9, 9, 9])), 6) });
  const outer = await functions.evaluateSumWithGradient(x);
  assert.deepEqual([outer.value, (await inner).value], [5, 9]);
});

test('a change during a call applies to the next call', async () => {
  const { functions, raw, p, block } = await compiled();
  const gate = deferred();
  raw.hold = () => gate.promise;
  const before = functions.evaluate();
  p.setAt(1, [30, 40]);
  block.setData('d', [50, 60]);
  block.setWeight(2);
  block.setEnabled(false);
  p.setConstant([0]);
  const after = functions.evaluate();
  p.set([0, 0, 0, 0]);
  gate.resolve();
  assert.deepEqual([...(await before)], [1, 2, 3, 4]);
  assert.deepEqual([...(await after)], [1, 2, 30, 40]);
  assert.deepEqual([...(await functions.evaluate())], [0, 0, 0, 0]);
  assert.deepEqual(raw.log, [
    ['evaluate'],
    ['setConstant', [1, 1, 0, 0]],
    ['setData', 0, 0, [50, 60]],
    ['setWeight', 0, 2],
    ['setLoss', 0, 'squared', 0, 0, 1],
    ['setEnabled', 0, false],
    ['setValuesAt', { 2: [30, 40] }],
    ['evaluate'],
    ['setValuesAt', { 0: [0, 0, 0, 0] }],
    ['evaluate'],
  ]);
});

test('a change between two queued calls applies to the second alone', async () => {
  const { functions, p } = await compiled();
  const early = functions.evaluate();
  p.set([9, 9, 9, 9]);
  assert.deepEqual([...(await early)], [1, 2, 3, 4]);
});

test('dispose rejects pending calls at once, the running one included, and frees when that one has ended', async () => {
  const { functions, raw } = await compiled();
  const gate = deferred();
  raw.hold = () => gate.promise;
  const calls = [functions.evaluate(), functions.evaluate()];
  await settle();
  functions.dispose();
  for (const call of calls) await assert.rejects(call, residuaError('disposed'));
  assert.equal(raw.disposed, false, 'the running call still has it');
  gate.resolve();
  await settle();
  assert.equal(raw.disposed, true);
  assert.deepEqual(raw.log, [['evaluate']], 'the second never began');
});

test('dispose of idle functions frees at once; a second dispose does nothing', async () => {
  const { functions, raw } = await compiled();
  functions.dispose();
  functions.dispose();
  assert.equal(raw.disposed, true);
});

test("every call after dispose rejects with 'disposed'", async () => {
  const { functions } = await compiled();
  functions.dispose();
  const calls = [
    'evaluate', 'evaluateSumWithGradient', 'evaluateCostWithGradient', 'evaluateSumWithGradientOnDevice', 'evaluateCostWithGradientOnDevice',
    'evaluateJacobian', 'checkGradients', 'download',
  ];
  for (const call of calls) {
    await assert.rejects(functions[call](), residuaError('disposed', /after dispose\(\)/), call);
  }
  await assert.rejects(lbfgs(functions), residuaError('disposed'));
  assert.throws(() => functions.kernels(), residuaError('disposed'));
  assert.throws(() => functions.parameterBuffer, residuaError('disposed'));
});

test('a solve that dispose has rejected writes nothing back', async () => {
  const { functions, raw, p } = await compiled();
  const gate = deferred();
  raw.hold = () => gate.promise;
  const solve = lbfgs(functions);
  await settle();
  functions.dispose();
  await assert.rejects(solve, residuaError('disposed'));
  gate.resolve();
  await settle();
  assert.deepEqual([...p.values()], [1, 2, 3, 4]);
});

test('a failed call does not block the next one', async () => {
  const { functions, raw } = await compiled();
  raw.hold = async (name) => {
    if (name === 'sum') throw Object.assign(new Error('the device went away'), { code: 'device-lost' });
  };
  await assert.rejects(functions.evaluateSumWithGradient(), residuaError('device-lost', /went away/));
  assert.equal((await functions.evaluate()).length, 4);
});

test('true from onIteration and a fired signal stop a solve; an exception of onIteration rejects it', async () => {
  const { functions } = await compiled();
  let count = 0;
  const stopped = await lbfgs(functions, { onIteration: () => (count += 1) === 2 });
  assert.equal(count, 2);
  assert.equal(stopped.termination, 'aborted');
  assert.match(stopped.report(), /NO CONVERGENCE \(aborted\)/);
  assert.equal((await lbfgs(functions, { signal: AbortSignal.abort() })).termination, 'aborted');
  await assert.rejects(lbfgs(functions, { onIteration: () => { throw new RangeError('mine'); } }), /mine/);
});

test("a promise from onIteration ends the solve with 'invalid-argument', and its rejection is handled", async (t) => {
  const unhandled = [];
  const note = (reason) => unhandled.push(reason);
  process.on('unhandledRejection', note);
  t.after(() => process.off('unhandledRejection', note));
  const { functions } = await compiled();
  for (const answer of [async () => true, () => Promise.reject(new Error('mine')), () => runInNewContext('Promise.reject(1)')]) {
    let calls = 0;
    const solving = lbfgs(functions, { onIteration: () => ((calls += 1), answer()) });
    await assert.rejects(solving, residuaError('invalid-argument', /^what onIteration returned: got a Promise; takes true or nothing, at once/));
    assert.equal(calls, 1);
  }
  await settle();
  assert.deepEqual(unhandled, []);
});

test('a solve whose check is due settles before the check, which precedes the next call', async () => {
  let finish;
  const fake = Object.assign(install(), { checkIsDue: true, digits: new Promise((resolve) => (finish = resolve)) });
  const functions = await GpuCompiledFunctions.compile([V.W(1)], ([x]) => [x], { backend: 'gpu' });
  // The check never ends here, and the solve does.
  const result = await levenbergMarquardt(functions, { readBack: false });
  assert.equal(result.termination, 'cost-tolerance');
  assert.equal('checkIsDue' in result, false);
  fake.checkIsDue = false;
  let settled = false;
  const next = levenbergMarquardt(functions, { readBack: false }).finally(() => (settled = true));
  await new Promise((resolve) => setTimeout(resolve, 20));
  assert.equal(settled, false, 'the next solve waits for the check, whose finding it may carry');
  finish();
  await next;
  assert.deepEqual(fake.compiled[0].log.flat().filter((name) => name === 'digits').length, 1);
});

test('a check of digits that fails is no unhandled rejection, and dispose during one frees the functions', async () => {
  const fake = Object.assign(install(), { checkIsDue: true, digits: Promise.reject(new Error('lost')) });
  const functions = await GpuCompiledFunctions.compile([V.W(1)], ([x]) => [x], { backend: 'gpu' });
  await levenbergMarquardt(functions, { readBack: false });
  await new Promise((resolve) => setTimeout(resolve, 5));
  let finish;
  fake.digits = new Promise((resolve) => (finish = resolve));
  await levenbergMarquardt(functions, { readBack: false });
  await new Promise((resolve) => setTimeout(resolve, 5));
  functions.dispose();
  assert.equal(fake.compiled[0].disposed, false, 'the check is running');
  finish();
  await new Promise((resolve) => setTimeout(resolve, 5));
  assert.equal(fake.compiled[0].disposed, true);
});
