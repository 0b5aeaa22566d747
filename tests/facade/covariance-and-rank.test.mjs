/** covariance() and rank(): arguments that reach the module, results, refused arguments. With a fake module. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { covariance, GpuCompiledFunctions, Problem, rank, V } from '../../pkg-template/dist/index.js';
import { install, residuaError } from './fake-module.mjs';

async function ofProblem() {
  const fake = install();
  const problem = new Problem();
  const scale = problem.parameters('scale', { dim: 1, values: [1] });
  const points = problem.parameters('points', { dim: 2, values: [1, 2, 3, 4] });
  problem.residuals('r', { inputs: { s: scale.shared(), p: points.at([0, 1]) }, residual: ({ s, p }) => p.x.mul(s) });
  const functions = await GpuCompiledFunctions.compile(problem, { backend: 'cpu' });
  return { fake, scale, points, functions, raw: fake.compiled.at(-1) };
}

async function ofParams() {
  const fake = install();
  const functions = await GpuCompiledFunctions.compile([V.W(1), V.W(2)], ([a, b]) => [a.sub(b)], { backend: 'cpu' });
  return { fake, functions, raw: fake.compiled.at(-1) };
}

test('blocks are given by array and index, and between() returns their parts', async () => {
  const { fake, scale, points, functions, raw } = await ofProblem();
  fake.covariance = [4, 1, 2, 1, 9, 3, 2, 3, -1e-20];
  const result = await covariance(functions, { blocks: [{ array: points, index: 1 }, { array: scale, index: 0 }] });
  assert.deepEqual(raw.covarianceOf, [3, 0]);
  assert.equal(result.size, 3);
  assert.deepEqual([...result.values], fake.covariance);
  assert.deepEqual([...result.standardDeviations], [2, 3, 0]);
  assert.deepEqual([...result.between(0, 0)], [4, 1, 1, 9]);
  assert.deepEqual([...result.between(0, 1)], [2, 3]);
  assert.deepEqual([...result.between(1, 0)], [2, 3]);
  assert.throws(() => result.between(0, 2), residuaError('invalid-argument', /between: b: got 2/));
});

test('without `blocks` the covariance has all blocks in order', async () => {
  const { fake, functions, raw } = await ofProblem();
  fake.covariance = Array.from({ length: 25 }, (_, k) => k);
  const result = await covariance(functions);
  assert.equal(raw.covarianceOf, undefined);
  assert.deepEqual([result.size, ...result.between(2, 0)], [5, 15, 20]);
});

test('params are blocks of one number', async () => {
  const { fake, functions, raw } = await ofParams();
  fake.covariance = [5];
  assert.deepEqual([...(await covariance(functions, { blocks: [1] })).between(0, 0)], [5]);
  assert.deepEqual(raw.covarianceOf, [1]);
});

test('the estimate of the covariance is chosen by two options', async () => {
  const { fake, functions, raw } = await ofParams();
  fake.covariance = [5];
  const table = [
    [{}, [false, undefined]],
    [{ absoluteSigma: true }, [true, undefined]],
    [{ absoluteSigma: false, robust: true }, [false, true]],
    [{ robust: false }, [false, false]],
  ];
  for (const [options, expected] of table) {
    await covariance(functions, { blocks: [1], ...options });
    assert.deepEqual(raw.covarianceEstimate, expected);
  }
  await assert.rejects(covariance(functions, { absoluteSigma: 1 }), residuaError('invalid-argument', /covariance: absoluteSigma: got 1; takes true or false/));
  await assert.rejects(covariance(functions, { robust: 'HC1' }), residuaError('invalid-argument', /covariance: robust: got "HC1"; takes true or false/));
});

test('blocks of other functions are refused', async () => {
  const { points, functions } = await ofProblem();
  const other = new Problem().parameters('points', { dim: 2, values: [1, 2] });
  const table = [
    [{ blocks: 3 }, /covariance: blocks: got 3; takes an array/],
    [{ blocks: [0] }, /blocks\[0\]: got 0; takes \{ array, index \}/],
    [{ blocks: [{ array: points, index: 0 }, { array: other, index: 0 }] }, /blocks\[1\]\.array: .* takes a parameter array of the problem/],
    [{ blocks: [{ array: points, index: 2 }] }, /blocks\[0\]\.index: got 2; takes a whole number from 0 to 1/],
    [7, /covariance: options: got 7/],
  ];
  for (const [options, message] of table) await assert.rejects(covariance(functions, options), residuaError('invalid-argument', message));
  const { functions: params } = await ofParams();
  await assert.rejects(covariance(params, { blocks: [2] }), residuaError('invalid-argument', /blocks\[0\]: got 2; takes a whole number from 0 to 1/));
  await assert.rejects(covariance({}), residuaError('invalid-argument', /covariance: functions/));
});

test('free directions have array, block and coordinate', async () => {
  const { fake, functions } = await ofProblem();
  fake.rank = { rank: 3, columns: 5, offsets: Uint32Array.of(0, 2, 3), parameters: Uint32Array.of(0, 4, 1), values: Float64Array.of(0.5, 1, 1) };
  assert.deepEqual(await rank(functions), {
    rank: 3,
    degreesOfFreedom: 5,
    tolerance: 1e-10,
    free: [
      [{ array: 'scale', block: 0, coordinate: 0, value: 0.5 }, { array: 'points', block: 1, coordinate: 1, value: 1 }],
      [{ array: 'points', block: 0, coordinate: 0, value: 1 }],
    ],
  });
  const params = await ofParams();
  params.fake.rank = { rank: 1, columns: 2, offsets: Uint32Array.of(0, 1), parameters: Uint32Array.of(1), values: Float64Array.of(1) };
  const found = await rank(params.functions, { tolerance: 1e-6 });
  assert.deepEqual([found.tolerance, found.free], [1e-6, [[{ array: '', block: 1, coordinate: 0, value: 1 }]]]);
  await assert.rejects(rank(params.functions, { tolerance: 0 }), residuaError('invalid-argument', /rank: tolerance: got 0; takes a finite number of at least 1e-14/));
});

test('a gap among the blocks is refused as what it reads as', async () => {
  const { functions } = await ofProblem();
  await assert.rejects(covariance(functions, { blocks: Object.assign([], { length: 2 }) }), residuaError('invalid-argument', /^covariance: blocks\[0\]: got undefined; takes \{ array, index \}$/));
});
