// Arrays and residual blocks that grow: a compile after append, and functions that were compiled before it, are those of a problem which was made whole.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { onCpu, residua } from '../www/residua.mjs';

const { grow } = await import('../../www/checks/growing-problems.js');

const { levenbergMarquardt, loss, Pose2, Problem } = residua;

const refused = (...parts) => (error) => error instanceof residua.ResiduaError && error.code === 'invalid-argument' && (parts.every((part) => error.message.includes(part)) || assert.fail(error.message));

/** The upper triangle of a root, and poses along a line, as angle, x, y. */
const ROOT = [2, 0.5, 0, 3, -1, 4];
const START = Array.from({ length: 5 }, (_, k) => [0.1 * k, k, 0.2 * k]);
const ENDS = [[0, 1], [1, 2], [2, 3], [3, 4], [0, 4]];
const measured = ([a, b]) => [0.09 * (b - a), b - a, 0.1];

/** A graph of poses with its first edges, and a scale that comes after the poses. */
function graph(poses, edges, settings = {}) {
  const problem = new Problem();
  const at = problem.poses('poses', { dim: 2, values: START.slice(0, poses).flat() });
  const scale = problem.parameters('scale', { dim: 1, values: [1.5] });
  at.setConstant([0]);
  const own = ENDS.slice(0, edges);
  const block = problem.residuals('edges', {
    inputs: { a: at.at(own.map(([a]) => a)), b: at.at(own.map(([, b]) => b)), s: scale.shared(), z: problem.data(own.flatMap(measured), 3) },
    residual: ({ a, b, s, z }) => Pose2.fromBlock(z).between(a.between(b)).log().map((x) => x.mul(s)),
    ...settings(own),
  });
  const known = problem.residuals('scales', { inputs: { s: scale.at([0, 0]), z: problem.data([1, 1.2]) }, residual: ({ s, z }) => s.sub(z).mul(10) });
  return { problem, at, scale, block, known };
}

/** Counts WebAssembly modules that are compiled until `stop`. */
function countModules() {
  const { Module, compile } = WebAssembly;
  let made = 0;
  WebAssembly.Module = new Proxy(Module, { construct: (target, args) => (made++, new target(...args)) });
  WebAssembly.compile = (...args) => (made++, compile(...args));
  return { stop: () => (Object.assign(WebAssembly, { Module, compile }), made) };
}

const TIGHT = { costTolerance: 1e-15, gradientTolerance: 1e-12, parameterTolerance: 1e-14 };

const KINDS = {
  'a root for each edge': [(own) => ({ sqrtInformation: own.flatMap(() => ROOT) }), { sqrtInformation: ROOT }],
  'one root for all': [() => ({ sqrtInformation: ROOT }), {}],
  weights: [(own) => ({ weights: own.map((_, k) => (k === 3 ? 2 : 1)), loss: loss.huber(0.01) }), {}],
};

for (const [name, [settings, more]] of Object.entries(KINDS)) {
  for (const [poses, edges] of [[1, 0], [3, 2], [5, 4]]) {
    test(`${name}: a graph that began with ${poses} poses is that which was made whole`, async () => {
      const whole = graph(5, 5, settings);
      const grown = graph(poses, edges, settings);
      if (poses < 5) assert.equal(grown.at.append(START.slice(poses).flat()), poses);
      for (let k = edges; k < 5; k++) {
        const weight = name === 'weights' && k === 3 ? { weights: [2] } : {};
        assert.equal(grown.block.append({ a: [ENDS[k][0]], b: [ENDS[k][1]], z: measured(ENDS[k]), ...more, ...weight }), k);
      }
      assert.deepEqual([grown.at.count, grown.at.offset, grown.scale.offset, grown.block.count, grown.block.offset, grown.known.offset], [5, 0, 15, 5, 0, 15]);
      const solved = [];
      for (const { problem, at, scale } of [whole, grown]) {
        const before = await onCpu(problem, async (functions) => {
          const { values, jacobian } = await functions.evaluateJacobian();
          await levenbergMarquardt(functions, TIGHT);
          return [...values, ...jacobian.toDense()];
        });
        solved.push([...before, ...at.values(), ...scale.values()]);
      }
      assert.deepEqual(solved[1], solved[0]);
    });
  }
}

test('functions that were compiled before random appends have the bits of those that are compiled after', async () => {
  let calls = 0;
  for (let seed = 0; seed < (process.env.RESIDUA_CASES ?? 12); seed++) {
    for (const isConstrained of [false, true]) {
      const compile = (problem) => residua.GpuCompiledFunctions.compile(problem, { backend: 'cpu' });
      for await (const { name, got, expected } of grow(seed, 5, isConstrained, compile)) {
        assert.deepEqual(got, expected, `seed ${seed}: ${name}`);
        calls++;
      }
    }
  }
  assert.ok(calls > 0);
});

test('functions take in what is appended, and compile nothing for it', async () => {
  const { problem, at, block } = graph(3, 2, () => ({}));
  await onCpu(problem, async (functions) => {
    const x = at.values();
    const all = async () => [await functions.evaluate(), await levenbergMarquardt(functions, TIGHT)];
    await all();
    for (const instances of [3, 4]) {
      const modules = countModules();
      at.append(START[instances]);
      block.append({ a: [instances - 1], b: [instances], z: measured(ENDS[instances - 1]) });
      assert.deepEqual([functions.numParams, functions.numResiduals], [3 * instances + 4, 3 * instances + 2]);
      const [values, { x: found }] = await all();
      assert.deepEqual([values.length, found.length, modules.stop()], [3 * instances + 2, 3 * instances + 4, 0]);
    }
    await assert.rejects(functions.evaluate(x), refused('evaluate: x', '9 numbers', '16'));
    const { values, jacobian } = await functions.evaluateJacobian();
    at.append(START[4]);
    await assert.rejects(functions.evaluateJacobian(undefined, { values, jacobian }), refused('evaluateJacobian: into', 'an earlier result'));
  });
});

test('calls that were queued before an append have the problem before it', async () => {
  const { problem, at, block } = graph(3, 2, () => ({}));
  await onCpu(problem, async (functions) => {
    const before = [functions.evaluate(), functions.evaluateJacobian(), levenbergMarquardt(functions)];
    at.append(START[3]);
    block.append({ a: [2], b: [3], z: measured(ENDS[2]) });
    const after = [functions.evaluate(), functions.evaluateJacobian(), levenbergMarquardt(functions)];
    const sizes = ([values, { jacobian }, { x }]) => [values.length, jacobian.rows, jacobian.cols, x.length];
    assert.deepEqual(sizes(await Promise.all(before)), [8, 8, 10, 10]);
    assert.deepEqual(sizes(await Promise.all(after)), [11, 11, 13, 13]);
  });
});

test('a solve that an append overtakes writes its result where it belongs', async () => {
  const { problem, at, scale } = graph(5, 5, () => ({}));
  const functions = await residua.GpuCompiledFunctions.compile(problem, { backend: 'cpu' });
  const solving = levenbergMarquardt(functions, TIGHT);
  at.append([9, 9, 9]);
  await solving;
  functions.dispose();
  assert.deepEqual([...at.values().subarray(15)], [9, 9, 9]);
  assert.ok(Math.abs(scale.values()[0] - 1.1) < 0.2, `${scale.values()}`);
});

test('bounds, constants and later arrays keep their places when an array grows', async () => {
  const problem = new Problem();
  const a = problem.parameters('a', { dim: 1, values: [5] });
  const b = problem.parameters('b', { dim: 1, values: [7, 8] });
  a.setBounds({ upper: 3 });
  b.setConstant([1]);
  const own = problem.residuals('own', { inputs: { a: a.at([0]), z: problem.data([9]) }, residual: ({ a, z }) => a.sub(z) });
  problem.residuals('other', { inputs: { b: b.at([0, 1]) }, residual: ({ b }) => b.sub(1) });
  a.append([6]);
  b.append([4]);
  own.append({ a: [1], z: [9] });
  b.setAt(2, [3]);
  assert.deepEqual([a.offset, b.offset, problem.numParameters, problem.numResiduals], [0, 2, 5, 4]);
  await onCpu(problem, (functions) => levenbergMarquardt(functions, TIGHT));
  assert.deepEqual([...a.values(), ...b.values()].map((x) => Math.round(1e6 * x) / 1e6), [3, 9, 1, 8, 3]);
});

test('inputs that two blocks share, and data that was set, stay those of each', async () => {
  const problem = new Problem();
  const x = problem.parameters('x', { dim: 1, values: [1, 2] });
  const [at, z] = [x.at([0, 1]), problem.data([3, 4])];
  const residual = ({ x, z }) => x.sub(z);
  const first = problem.residuals('first', { inputs: { x: at, z }, residual });
  const second = problem.residuals('second', { inputs: { x: at, z }, residual });
  first.append({ x: [0, 0], z: [5, 6] });
  second.setData('z', [7, 8]);
  second.append({ x: [1], z: [9] });
  first.append({ x: [1], z: [10] });
  await onCpu(problem, async (functions) => assert.deepEqual([...(await functions.evaluate())], [-2, -2, -4, -5, -8, -6, -6, -7]));
});

test('a thousand appends take memory and time for what they add', () => {
  const problem = new Problem();
  const x = problem.parameters('x', { dim: 2, values: [0, 0] });
  const block = problem.residuals('r', { inputs: { x: x.at([], 2), d: problem.data([], 2) }, residual: ({ x: [a, b], d }) => [b.x.sub(a.x).sub(d.x), b.y.sub(a.y).sub(d.y)] });
  for (let k = 1; k <= 1000; k++) {
    x.append([k, -k]);
    block.append({ x: [k - 1, k], d: [1, -1] });
  }
  assert.deepEqual([...x.values().subarray(1998)], [999, -999, 1000, -1000]);
  assert.deepEqual([block.count, block.numResiduals, problem.numResiduals], [1000, 2000, 2000]);
});

test('what does not fit is refused with its argument, what it got and what it takes, and nothing is added', () => {
  const { problem, at, block } = graph(2, 0, () => ({ sqrtInformation: [], weights: [] }));
  const one = { a: [0], b: [1], z: [0, 1, 0], sqrtInformation: ROOT };
  for (const [change, ...parts] of [
    [{ b: undefined }, 'edges.append: instances.b', 'nothing', 'blocks of "poses"'],
    [{ b: [2] }, 'edges.append: instances.b[0]', '2'],
    [{ z: [1, 2] }, 'edges.append: instances.z', '2 numbers', 'multiple of 3'],
    [{ z: [0, NaN, 0] }, 'edges.append: instances.z[1]', 'NaN'],
    [{ z: [0, 1, 0, 0, 1, 0] }, 'edges.append: instances.z', '2 instances', 'as many as a has, 1'],
    [{ sqrtInformation: [1, 2] }, 'edges.append: instances.sqrtInformation', 'multiple of 6'],
    [{ weights: [-1] }, 'edges.append: instances.weights[0]', '-1', 'at least 0'],
    [{ s: [0] }, 'edges.append: instances.s', 'a shared input'],
    [{ other: [1] }, 'edges.append: instances.other', '"a", "b", "z"'],
  ]) {
    assert.throws(() => block.append({ ...one, ...change }), refused(...parts));
  }
  assert.throws(() => block.append(null), refused('edges.append: instances', 'null'));
  assert.deepEqual([block.count, block.numResiduals], [0, 0]);
  assert.throws(() => at.append([1, 2]), refused('poses.append: values', '2 numbers', 'multiple of 3'));
  assert.throws(() => at.append([1, 2, Infinity]), refused('poses.append: values[2]', 'Infinity'));
  assert.equal(at.count, 2);
  const star = problem.residuals('star', { inputs: { s: at.star([0, 2], [0, 1]) }, residual: ({ s }) => [s[0].translation.x.sub(s[1].translation.x)] });
  assert.throws(() => star.append({ s: [0, 1] }), refused('star.append: instances', 'the star "s"'));
  const plain = problem.residuals('plain', { inputs: { a: at.at([0]) }, outputs: 1, evaluate: () => {} });
  assert.throws(() => plain.append({ a: [1] }), refused('plain.append: instances', 'a plain function'));
  const shared = problem.residuals('shared', { inputs: { a: at.shared() }, residual: ({ a }) => a.translation.x });
  assert.throws(() => shared.append({}), refused('shared.append: instances', 'shared inputs alone'));
});
