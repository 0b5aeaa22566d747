/**
 * What solves write back to parameters and params, and when. With a fake module.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GpuCompiledFunctions, lbfgs, V } from '../../pkg-template/dist/index.js';
import { compiled } from './compiled.mjs';
import { deferred, install, settle } from './fake-module.mjs';

test('a solve writes its result back, except to numbers that were set during it', async () => {
  const { functions, raw, p } = await compiled();
  const gate = deferred();
  raw.hold = () => gate.promise;
  const solve = lbfgs(functions);
  await settle();
  p.setAt(0, [-1, -2]);
  gate.resolve();
  const { x } = await solve;
  assert.deepEqual([...x], [101, 102, 103, 104]);
  assert.deepEqual([...p.values()], [-1, -2, 103, 104]);
  assert.deepEqual([...(await functions.evaluate())], [-1, -2, 103, 104]);
});

test('two solves that were queued together both write back', async () => {
  const { functions, p } = await compiled();
  await Promise.all([lbfgs(functions), lbfgs(functions)]);
  assert.deepEqual([...p.values()], [201, 202, 203, 204]);
});

test('the result of a solve reaches other functions of the same problem', async () => {
  const { functions, problem } = await compiled();
  const other = await GpuCompiledFunctions.compile(problem);
  await lbfgs(functions);
  assert.deepEqual([...(await other.evaluate())], [101, 102, 103, 104]);
});

test('with readBack: false x is empty and values stay until download', async () => {
  const { functions, raw, p } = await compiled();
  const { x } = await lbfgs(functions, { readBack: false });
  assert.equal(x.length, 0);
  assert.equal(raw.options.readBack, 0);
  assert.deepEqual([...p.values()], [1, 2, 3, 4]);
  assert.deepEqual([...(await functions.download())], [101, 102, 103, 104]);
  assert.deepEqual([...p.values()], [101, 102, 103, 104]);
});

test('setting a block after a solve without read-back keeps the solved values of the other blocks', async () => {
  const { functions, p } = await compiled();
  await lbfgs(functions, { readBack: false });
  p.setAt(0, [7, 8]);
  assert.deepEqual([...(await functions.evaluate())], [7, 8, 103, 104]);
  await functions.download();
  assert.deepEqual([...p.values()], [7, 8, 103, 104]);
});

test('a solve writes to params, except to one that was set during it', async () => {
  const fake = install();
  const params = [V.W(1), V.W(2)];
  const functions = await GpuCompiledFunctions.compile(params, ([a, b]) => a.mul(b));
  assert.deepEqual(params.map((param) => param.data), [1, 2], 'compiling changes nothing');
  const gate = deferred();
  fake.compiled[0].hold = () => gate.promise;
  const solves = [lbfgs(functions), lbfgs(functions)];
  await settle();
  params[0].data = -5;
  gate.resolve();
  await Promise.all(solves);
  assert.deepEqual(params.map((param) => param.data), [-5, 202]);
  assert.deepEqual([...(await functions.evaluate())], [-5, 202]);
});

/** Functions of two params, 1 and 2. */
async function compiledParams() {
  const fake = install();
  const params = [V.W(1), V.W(2)];
  const functions = await GpuCompiledFunctions.compile(params, ([a, b]) => a.mul(b));
  return { fake, params, functions, raw: fake.compiled[0] };
}
const data = (params) => params.map((param) => param.data);

test('a param that is set during a solve to its previous number keeps that number', async () => {
  const { functions, params, raw } = await compiledParams();
  const gate = deferred();
  raw.hold = () => gate.promise;
  const solve = lbfgs(functions);
  await settle();
  params[0].data = 1;
  gate.resolve();
  assert.deepEqual([...(await solve).x], [101, 102]);
  assert.deepEqual(data(params), [1, 102]);
  assert.deepEqual([...(await functions.evaluate())], [1, 102]);
});

test('a param that is set to its previous number after a solve without read-back applies to the next call', async () => {
  const { functions, params } = await compiledParams();
  await lbfgs(functions, { readBack: false });
  params[0].data = 1;
  assert.deepEqual([...(await functions.evaluate())], [1, 102]);
  await functions.download();
  assert.deepEqual(data(params), [1, 102]);
});

test('a param that is set to its previous number between compiling and the first call is sent; a number that a solve wrote back is not', async () => {
  const { functions, params, raw } = await compiledParams();
  params[1].data = 2;
  await lbfgs(functions);
  await functions.evaluate();
  assert.deepEqual(raw.log, [['setValuesAt', { 1: [2] }], ['lbfgs'], ['evaluate']]);
});

test('the result of a solve reaches other functions of the same params, even where a number did not change', async () => {
  const { fake, functions, params } = await compiledParams();
  const other = await GpuCompiledFunctions.compile(params, ([a, b]) => a.add(b));
  await lbfgs(other, { readBack: false });
  // The first functions start from the result of the others, and do not see the later change.
  fake.compiled[0].x = Float64Array.of(-99, -98);
  await lbfgs(functions);
  assert.deepEqual(data(params), [1, 2]);
  assert.deepEqual([...(await other.evaluate())], [1, 2]);
});

test('of two solves of the same params by two functions, the later one to end is written back', async () => {
  const { fake, functions, params, raw } = await compiledParams();
  const other = await GpuCompiledFunctions.compile(params, ([a, b]) => a.add(b));
  const gate = deferred();
  raw.hold = () => gate.promise;
  const first = lbfgs(functions);
  await settle();
  fake.compiled[1].x = Float64Array.of(7, 8);
  await lbfgs(other);
  assert.deepEqual(data(params), [107, 108]);
  gate.resolve();
  await first;
  assert.deepEqual(data(params), [101, 102]);
  assert.deepEqual([...(await other.evaluate())], [101, 102]);
});
