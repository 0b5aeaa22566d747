/** Weights of instances: what the module gets, and what is refused. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GpuCompiledFunctions, Problem } from '../../pkg-template/dist/index.js';
import { install } from './fake-module.mjs';

const refused = (message) => (error) => error.code === 'invalid-argument' && (error.message === message || assert.fail(error.message));

/** a·x − y for three samples, and the settings of the block. */
function line(settings = {}) {
  const problem = new Problem();
  const a = problem.parameters('a', { dim: 1, values: [1] });
  const inputs = { a: a.shared(), x: problem.data([1, 2, 3]), y: problem.data([4, 5, 6]) };
  const block = problem.residuals('samples', { inputs, residual: ({ a, x, y }) => a.mul(x).sub(y), ...(typeof settings === 'function' ? settings(problem) : settings) });
  return { problem, a, block };
}

test('weights are the last data column of a template, which the residual function does not read', async () => {
  const fake = install();
  for (const settings of [{ weights: [1, 0, 2] }, (problem) => ({ weights: problem.data([1, 0, 2]) })]) {
    const { problem, block } = line(settings);
    const functions = await GpuCompiledFunctions.compile(problem);
    const made = fake.problems.at(-1);
    assert.deepEqual(made.weightColumns, [[0, 2]]);
    assert.deepEqual(made.templates[0][7], [1, 2, 3, 4, 5, 6, 1, 0, 2]);
    block.setData('weights', [0, 1, 0.5]);
    await functions.evaluate();
    assert.deepEqual(fake.compiled.at(-1).log.find(([name]) => name === 'setData'), ['setData', 0, 2, [0, 1, 0.5]]);
    functions.dispose();
  }
  const { problem } = line();
  await GpuCompiledFunctions.compile(problem);
  assert.deepEqual(fake.problems.at(-1).weightColumns, [], 'nothing is told of blocks without');
});

test('stars have the weights of their instances', async () => {
  const fake = install();
  const problem = new Problem();
  const p = problem.parameters('p', { dim: 1, values: [1, 2, 3] });
  problem.residuals('r', { inputs: { star: p.star([0, 1, 3, 4], [0, 1, 2, 0]) }, residual: ({ star }) => star[0], weights: [7, 8, 9] });
  await GpuCompiledFunctions.compile(problem);
  const [{ templates, weightColumns }] = fake.problems;
  assert.deepEqual(weightColumns, [[0, 0], [1, 0]]);
  assert.deepEqual(templates.map((template) => template[7]), [[7, 9], [8]]);
});

test('weights that are no weights are refused', async () => {
  install();
  assert.throws(() => line({ weights: [1, 2] }), refused('residuals "samples": weights: got 2 numbers; takes one for each of the 3 instances'));
  assert.throws(() => line({ weights: [1, -2, 1] }), refused('residuals "samples": weights[1]: got -2; takes a finite number, at least 0'));
  assert.throws(() => line({ weights: [1, NaN, 1] }), /residuals "samples": weights\[1\]: got NaN; takes a finite number/);
  assert.throws(() => line((problem) => ({ weights: problem.data([1, 2, 3, 4, 5, 6], 2) })), /weights: got .*; takes numbers, or what data returns for them/);
  assert.throws(() => line({ weights: new Problem().data([1, 2, 3]) }), refused('residuals "samples": weights: got an input of another problem; takes an input of this one'));
  assert.throws(() => line((problem) => ({ inputs: { weights: problem.data([1]) }, weights: [1] })), /weights: got an input of the same name/);
  const { block } = line({ weights: [1, 2, 3] });
  assert.throws(() => block.setData('weights', [1, 2, -1]), refused('samples.setData: values[2]: got -1; takes a finite number, at least 0'));
  const named = line((problem) => ({ inputs: { weights: problem.data([1, 2, 3]) }, residual: ({ weights }) => weights }));
  named.block.setData('weights', [1, 2, -1]);
});
