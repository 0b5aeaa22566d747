/** The tables that a problem passes to the module. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GpuCompiledFunctions, loss, Problem, V, Vec2, Vec3, Vec4 } from '../../pkg-template/dist/index.js';
import { Op } from '../../pkg-template/dist/expressions/op-codes.js';
import { install } from './fake-module.mjs';

const KEYS = ['block', 'count', 'instances', 'rows', 'slotArrays', 'indices', 'dataColumns', 'data', 'ops', 'a', 'b', 'c', 'constants', 'results'];

/** Compiles, and returns the module's arguments with plain arrays. */
async function tablesOf(problem) {
  const fake = install();
  const functions = await GpuCompiledFunctions.compile(problem);
  const [{ arrays, blocks, templates }] = fake.problems;
  const plain = (value) => (ArrayBuffer.isView(value) ? [...value] : value);
  return { functions, fake, arrays, blocks, templates: templates.map((args) => Object.fromEntries(args.map((arg, i) => [KEYS[i], plain(arg)]))) };
}

test('elimination groups are passed with the arrays', async () => {
  const problem = new Problem();
  const [cameras, points, others] = ['cameras', 'points', 'others'].map((name) => problem.parameters(name, { dim: 1, values: [1, 2] }));
  problem.residuals('r', { inputs: { camera: cameras.at([0, 1]), point: points.at([1, 0]) }, residual: ({ camera, point }) => camera.sub(point) });
  points.setElimination(0);
  cameras.setElimination(4);
  others.setElimination(2);
  others.setElimination(null);
  const { fake } = await tablesOf(problem);
  assert.deepEqual(fake.problems[0].groups, [[0, 4], [1, 0]]);
});

test('at, shared and data become slots and columns, each slot for all instances', async () => {
  const problem = new Problem();
  const points = problem.parameters('points', { dim: 3, values: new Float64Array(12) });
  const scale = problem.parameters('scale', { dim: 1, values: [1, 2] });
  problem.residuals('springs', {
    inputs: { ends: points.at([0, 1, 1, 2, 2, 3], 2), s: scale.shared(1), length: problem.data([7, 8, 9]), uv: problem.data([1, 2, 3, 4, 5, 6], 2) },
    residual: ({ ends: [a, b], s, length, uv }) => {
      assert.ok(a instanceof Vec3 && b instanceof Vec3 && uv instanceof Vec2);
      return a.distance(b).mul(s).sub(length).add(uv.x);
    },
  });
  const { arrays, blocks, templates } = await tablesOf(problem);
  assert.deepEqual(arrays, [['points', 3, 4, 'euclidean'], ['scale', 1, 2, 'euclidean']]);
  assert.deepEqual(blocks, [['springs', 3, 0, 3]]);
  const [template] = templates;
  assert.deepEqual(template.slotArrays, [0, 0, 1]);
  assert.deepEqual(template.indices, [0, 1, 2, /**/ 1, 2, 3, /**/ 1, 1, 1]);
  assert.equal(template.dataColumns, 3);
  assert.deepEqual(template.data, [7, 8, 9, /**/ 1, 3, 5, /**/ 2, 4, 6]);
  assert.deepEqual([template.count, template.instances, template.rows], [3, undefined, undefined], 'all of the block, one after another');
  const leaves = template.ops.map((op, i) => [op, template.a[i]]);
  assert.deepEqual(leaves.filter(([op]) => op === Op.parameter).map(([, number]) => number), [0, 1, 2, 3, 4, 5, 6]);
  assert.deepEqual(leaves.filter(([op]) => op === Op.data).map(([, number]) => number), [0, 1, 2]);
});

test('blocks are a Value, Vec2, Vec3, Vec4 or an array, and several blocks are an array of these', () => {
  const problem = new Problem();
  const shapes = [1, 2, 3, 4, 5].map((dim) => problem.parameters(`a${dim}`, { dim, values: new Float64Array(2 * dim) }));
  problem.residuals('r', {
    inputs: Object.fromEntries(shapes.map((array) => [array.name, array.at([0, 1], 1)])),
    residual: (inputs) => {
      assert.deepEqual(Object.values(inputs).map((tuple) => tuple[0].constructor.name), ['Value', 'Vec2', 'Vec3', 'Vec4', 'Array']);
      assert.equal(inputs.a5[0].length, 5);
      return inputs.a1[0];
    },
  });
  problem.residuals('q', {
    inputs: { q: shapes[3].shared() },
    residual: ({ q }) => {
      assert.ok(q instanceof Vec4);
      return [q, q.w, 3];
    },
  });
  assert.equal(problem.blocks[1].numResiduals, 6, 'vectors and lists count their numbers one after another');
});

test('stars are grouped by combinations of lengths, each is recorded once, and rows stay in the order of instances', async () => {
  const problem = new Problem();
  const points = problem.parameters('p', { dim: 1, values: new Float64Array(9) });
  problem.residuals('before', { inputs: { p: points.at([0, 1]) }, residual: ({ p }) => p });
  const offsets = [0, 2, 3, 5, 5, 7];
  const other = [0, 1, 2, 3, 4, 6];
  const seen = [];
  const block = problem.residuals('stars', {
    inputs: {
      ring: points.star(offsets, [0, 1, 2, 3, 4, 5, 6]),
      weights: problem.dataStar(offsets, [10, 11, 12, 13, 14, 15, 16]),
      more: points.star(other, [8, 7, 6, 5, 4, 3]),
    },
    // As many residuals as neighbours, and one more.
    residual: ({ ring, weights, more }) => {
      seen.push([ring.length, weights.length, more.length]);
      return [V.sum(more), ...ring.map((p, i) => p.mul(weights[i]))];
    },
  });
  assert.deepEqual(seen, [[2, 2, 1], [1, 1, 1], [0, 0, 1], [2, 2, 2]]);
  assert.equal(block.count, 5);
  assert.equal(block.offset, 2);
  assert.equal(block.numResiduals, 3 + 2 + 3 + 1 + 3);
  const { templates, blocks } = await tablesOf(problem);
  assert.deepEqual(blocks[1], ['stars', 5, 2, 12]);
  const [, first, second, third, fourth] = templates;
  assert.deepEqual(first.instances, [0, 2]);
  assert.deepEqual(first.rows, [0, 5], 'counted from the first of the block');
  assert.deepEqual(first.indices, [0, 3, /**/ 1, 4, /**/ 8, 6]);
  assert.deepEqual(first.data, [10, 13, /**/ 11, 14]);
  assert.deepEqual([second.instances, second.rows, second.indices, second.data], [[1], [3], [2, 7], [12]]);
  assert.deepEqual([third.instances, third.rows, third.indices, third.data], [[3], [8], [5], []]);
  assert.deepEqual([fourth.instances, fourth.rows, fourth.indices, fourth.data], [[4], [9], [5, 6, 4, 3], [15, 16]]);
});

test('new data reach the columns of each template', async () => {
  const problem = new Problem();
  const points = problem.parameters('p', { dim: 1, values: [0, 0, 0] });
  const offsets = [0, 1, 3, 4];
  const block = problem.residuals('r', {
    inputs: { p: points.star(offsets, [0, 1, 2, 0]), w: problem.dataStar(offsets, [1, 2, 3, 4]), d: problem.data([5, 6, 7]) },
    residual: ({ p, w, d }) => V.sum(p.map((x, i) => x.mul(w[i]))).sub(d),
  });
  const { functions, fake } = await tablesOf(problem);
  block.setData('w', [10, 20, 30, 40]);
  block.setData('d', [50, 60, 70]);
  await functions.evaluate();
  assert.deepEqual(fake.compiled[0].log, [
    ['setData', 0, 0, [10, 40]],
    ['setData', 1, 0, [20, 30]],
    ['setData', 0, 1, [50, 70]],
    ['setData', 1, 2, [60]],
    ['evaluate'],
  ]);
});

test('with shared inputs alone there is one instance; without instances there are no residuals and the function is not called', () => {
  const problem = new Problem();
  const p = problem.parameters('p', { dim: 2, values: [1, 2] });
  assert.equal(problem.residuals('prior', { inputs: { p: p.shared() }, residual: ({ p }) => p }).numResiduals, 2);
  const none = problem.residuals('none', { inputs: { p: p.at([]) }, residual: () => assert.fail('called') });
  assert.deepEqual([none.count, none.numResiduals, none.offset], [0, 0, 2]);
  assert.equal(problem.numResiduals, 2);
  assert.equal(problem.numParameters, 2);
});

test('typed arrays that are passed in are copied; those that are returned are fresh', async () => {
  const problem = new Problem();
  const values = Float64Array.of(1, 2, 3);
  const indices = Uint32Array.of(0, 1, 2);
  const data = Float32Array.of(4, 5, 6);
  const p = problem.parameters('p', { dim: 1, values });
  const inputs = { p: p.at(indices), d: problem.data(data) };
  values.fill(0);
  indices.fill(0);
  data.fill(0);
  problem.residuals('r', { inputs, residual: ({ p, d }) => p.sub(d) });
  p.values().fill(9);
  assert.deepEqual([...p.values()], [1, 2, 3]);
  const { templates } = await tablesOf(problem);
  assert.deepEqual(templates[0].indices, [0, 1, 2]);
  assert.deepEqual(templates[0].data, [4, 5, 6]);
});

test('weight, loss, constant blocks and bounds that were set before compiling reach the module before the first call', async () => {
  const problem = new Problem();
  const p = problem.parameters('p', { dim: 2, values: [1, 2, 3, 4] });
  const q = problem.parameters('q', { dim: 1, values: [5] });
  problem.residuals('r', { inputs: { p: p.at([0, 1]), q: q.shared() }, residual: ({ p, q }) => p.mul(q), loss: loss.scaled(loss.huber(2), 3), weight: 4 });
  p.setConstant([1]);
  p.setConstant([0], true, [1]);
  p.setConstant([1], false, [0]);
  q.setBounds({ lower: 0, upper: [9] });
  const { functions, fake } = await tablesOf(problem);
  await functions.evaluate();
  await functions.evaluate();
  assert.deepEqual(fake.compiled[0].log, [
    ['setConstant', [0, 1, 0, 1, 0]],
    ['setBounds', [-Infinity, -Infinity, -Infinity, -Infinity, 0], [Infinity, Infinity, Infinity, Infinity, 9]],
    ['setWeight', 0, 4],
    ['setLoss', 0, 'huber', 2, 0, 3],
    ['setEnabled', 0, true],
    ['evaluate'],
    ['evaluate'],
  ]);
});

test('a problem can grow after compiling and be compiled again', async () => {
  const problem = new Problem();
  const p = problem.parameters('p', { dim: 1, values: [1] });
  problem.residuals('r', { inputs: { p: p.shared() }, residual: ({ p }) => p });
  const { functions } = await tablesOf(problem);
  const q = problem.parameters('q', { dim: 1, values: [2] });
  problem.residuals('s', { inputs: { q: q.shared() }, residual: ({ q }) => q });
  assert.deepEqual([functions.numParams, functions.numResiduals], [1, 1]);
  const again = await tablesOf(problem);
  assert.deepEqual([again.functions.numParams, again.functions.numResiduals], [2, 2]);
});

test("a data buffer holds the numbers in their original order, with the positions of each template's numbers", async () => {
  const problem = new Problem();
  const points = problem.parameters('p', { dim: 1, values: [0, 0, 0] });
  const offsets = [0, 1, 3, 4];
  const block = problem.residuals('r', {
    inputs: { p: points.star(offsets, [0, 1, 2, 0]), d: problem.data([5, 6, 7]), w: problem.dataStar(offsets, [1, 2, 3, 4, 5, 6, 7, 8], 2) },
    residual: ({ p, d, w }) => V.sum(p.map((x, i) => x.mul(w[i].x).add(w[i].y))).sub(d),
  });
  assert.equal(block.dataBuffer('w'), null, 'before compiling');
  const { functions, fake } = await tablesOf(problem);
  const requests = [];
  fake.compiled[0].dataBuffer = (...args) => requests.push(args.map((arg) => [...arg])) && { a: 'buffer' };
  const buffer = block.dataBuffer('w');
  assert.deepEqual(buffer, { a: 'buffer' });
  assert.equal(block.dataBuffer('w'), buffer, 'the same one each time');
  // Instances 0 and 2 have one entry, instance 1 has two; w follows d, which has column 0.
  assert.deepEqual(requests, [[[1, 2, 3, 4, 5, 6, 7, 8], [0, 1], [1, 1], [4, 4], [0, 6, 1, 7, /**/ 2, 3, 4, 5]]]);
  functions.dispose();
  assert.equal(block.dataBuffer('w'), null, 'after dispose');
});
