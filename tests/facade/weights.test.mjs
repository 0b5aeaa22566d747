/** Weights of instances, and data of many problems whose lengths differ: what the module gets, and what is refused. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GpuCompiledFunctions, Problem, solveMany } from '../../pkg-template/dist/index.js';
import { solveManyOn } from '../../pkg-template/dist/solvers/solve-many.js';
import { install } from './fake-module.mjs';
import { joined } from './through-a-worker.mjs';

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

/** What the module gets of a batch: the problem, and the data by template and first column. */
async function taken(problem, batch, fake = install(), solve = solveMany) {
  const result = await solve(problem, batch, { backend: 'cpu' });
  const data = fake.many.at(-1).log.filter(([name]) => name === 'addData').map(([, ...args]) => args.map((arg) => (typeof arg === 'number' ? arg : [...arg])));
  return { made: fake.problems.at(-1), data, result };
}

test('lists of one length give the block as many instances', async () => {
  for (const length of [2, 5]) {
    const numbers = (first) => Float64Array.from({ length }, (_, i) => first + i);
    const { made, data } = await taken(line().problem, { count: 2, data: { samples: { x: [numbers(0), numbers(10)], y: [numbers(20), [...numbers(30)]] } } });
    assert.deepEqual(made.blocks, [['samples', length, 0, length]]);
    assert.deepEqual([made.templates[0][1], made.templates[0][6], made.weightColumns], [length, 2, []]);
    const places = [...numbers(0)];
    assert.deepEqual(data, [
      [0, 0, places, length, [...numbers(0), ...numbers(10)]],
      [0, 1, places, length, [...numbers(20), ...numbers(30)]],
    ]);
  }
});

test('lists of several lengths are filled up with instances of weight 0', async () => {
  for (const over of ['page', 'worker']) {
    const sides = over === 'worker' ? joined() : null;
    const solve = sides === null ? solveMany : (...args) => solveManyOn(sides.host, ...args);
    const { problem, a } = line();
    problem.residuals('prior', { inputs: { a: a.shared() }, residual: ({ a }) => a });
    const batch = { count: 3, data: { samples: { x: [[1, 2, 3, 4], [5], []], y: [[6, 7, 8, 9], [NaN], []] } } };
    const { made, data } = await taken(problem, batch, sides?.fake ?? install(), solve);
    assert.deepEqual(made.blocks, [['samples', 4, 0, 4], ['prior', 1, 4, 1]]);
    assert.deepEqual([made.templates[0][6], made.weightColumns], [3, [[0, 2]]]);
    assert.deepEqual(data, [
      [0, 0, [0, 1, 2, 3], 4, [1, 2, 3, 4, 5, 5, 5, 5, 0, 0, 0, 0]],
      [0, 1, [0, 1, 2, 3], 4, [6, 7, 8, 9, NaN, NaN, NaN, NaN, 0, 0, 0, 0]],
      [0, 2, [0, 1, 2, 3], 4, [1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0]],
    ]);
    sides?.close();
  }
});

test('weights of the template, of a list or of all problems are those of the instances that a problem has', async () => {
  const lists = { x: [[1, 2], [3]], y: [[4, 5], [6]] };
  for (const [weights, expected] of [
    [undefined, [7, 8, 7, 0]],
    [[[1, 2], [3]], [1, 2, 3, 0]],
    [[1, 2, 3, 4, 5, 6], [1, 2, 4, 0]],
  ]) {
    const { problem } = line({ weights: [7, 8, 9] });
    const { made, data } = await taken(problem, { count: 2, data: { samples: { ...lists, ...(weights && { weights }) } } });
    assert.deepEqual(made.weightColumns, [[0, 2]]);
    assert.deepEqual(data.find(([, column]) => column === 2), [0, 2, [0, 1], 2, expected]);
  }
  const { data } = await taken(line({ weights: [7, 8, 9] }).problem, { count: 1, data: { samples: { weights: [[0, 1, 2]] } } });
  assert.deepEqual(data, [[0, 2, [0, 1, 2], 3, [0, 1, 2]]]);
});

test('a block with inputs that are no lists has at most its instances, and one with stars all of them', async () => {
  const { data } = await taken(line().problem, { count: 2, data: { samples: { y: [[1, 2], [3, 4]] } } });
  assert.deepEqual(data, [[0, 1, [0, 1], 2, [1, 2, 3, 4]]]);
  const problem = new Problem();
  const p = problem.parameters('p', { dim: 1, values: [1, 2, 3] });
  const inputs = { star: p.star([0, 1, 3, 4], [0, 1, 2, 0]), y: problem.data([1, 2, 3]) };
  problem.residuals('r', { inputs, residual: ({ star, y }) => star[0].sub(y) });
  const stars = await taken(problem, { count: 2, data: { r: { y: [[1, 2], [3]] } } });
  assert.deepEqual(stars.made.weightColumns, [[0, 1], [1, 1]]);
  assert.deepEqual(stars.data, [
    [0, 0, [0, 2], 3, [1, 2, 1, 3, 3, 3]],
    [1, 0, [1], 3, [1, 2, 1, 3, 3, 3]],
    [0, 1, [0, 2], 3, [1, 1, 0, 1, 0, 0]],
    [1, 1, [1], 3, [1, 1, 0, 1, 0, 0]],
  ]);
});

test('lists that do not fit are refused with the problem and the input', async () => {
  install();
  const { problem } = line({ weights: [1, 1, 1] });
  const many = (samples, count = 2) => solveMany(problem, { count, data: { samples } });
  const at = 'solveMany: batch.data.samples';
  for (const [samples, message] of [
    [{ x: [[1, 2]] }, `${at}.x: got 1 arrays; takes 2: one for each problem`],
    [{ x: [[1, 2], 3] }, `${at}.x[1]: got 3; takes an array of numbers`],
    [{ x: [[1, 2], [3]], y: [[1, 2], [3, 4]] }, `${at}.y[1]: got 2 instances; takes as many as x has for problem 1, 1`],
    [{ x: [[1, 2], [1, 2, 3, 4]] }, `${at}.x[1]: got 4 instances; takes at most 3, as many as the input "y" has`],
    [{ x: [[1], [1, 2, 3, 4]], y: [[1], [1, 2, 3, 4]] }, `${at}.x[1]: got 4 instances; takes at most 3, as many as the input "weights" has`],
    [{ weights: [[1], [-1]] }, `${at}.weights[1][0]: got -1; takes a finite number, at least 0`],
    [{ weights: [1, 1, 1, 1, NaN, 1] }, `${at}.weights[4]: got NaN; takes a finite number, at least 0`],
    [{ x: [1, 2] }, `${at}.x: got 2 numbers; takes 6: 2 problems × 3 numbers of "x"`],
  ]) {
    await assert.rejects(many(samples), refused(message));
  }
  const wide = new Problem();
  wide.residuals('r', { inputs: { p: wide.parameters('p', { dim: 1, values: [1] }).shared(), v: wide.data([1, 2], 2) }, residual: ({ p, v }) => p.sub(v.x) });
  await assert.rejects(solveMany(wide, { count: 1, data: { r: { v: [[1, 2, 3]] } } }), refused('solveMany: batch.data.r.v[0]: got 3 numbers; takes a multiple of 2, the numbers of an instance'));
});

test('problems that end with what is not finite are counted and named with their inputs', async () => {
  for (const over of ['page', 'worker']) {
    const sides = over === 'worker' ? joined() : null;
    const fake = sides?.fake ?? install();
    const solve = sides === null ? solveMany : (...args) => solveManyOn(sides.host, ...args);
    fake.nonFinite = [1, 2, 3];
    const { problem } = line({ weights: [1, 1, 1] });
    const y = [1, 2, 3, 4, NaN, Infinity, 7, 8, NaN, 10, 11, 12, NaN, 14, 15];
    const weights = [1, 1, 1, 1, 0, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1];
    const batch = { count: 5, parameters: { a: [1, 2, 3, -Infinity, 5] }, data: { samples: { y, weights } } };
    const { termination, message } = await solve(problem, batch, { backend: 'cpu' });
    assert.deepEqual(termination, ['cost-tolerance', 'non-finite', 'non-finite', 'non-finite', 'cost-tolerance']);
    assert.equal(
      message,
      "All converged. 3 of 5 problems ended with 'non-finite': 1, 2, 3. batch.parameters.a is not finite in 1 of them: number 0 of problem 3 is -Infinity. " +
        'batch.data.samples.y is not finite in 1 of them: number 2 of problem 1 is Infinity.',
    );
    sides?.close();
  }
});
