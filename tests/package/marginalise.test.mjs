// Marginalisation in a batch: a problem without some blocks, and with the prior that they leave, has the solution and the covariances of the whole.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededNoise } from '../../www/problems/seeded-noise.js';
import { onCpu, residua } from '../www/residua.mjs';

const { covariance, GpuCompiledFunctions, incremental, levenbergMarquardt, loss, marginalise, manifold, Pose2, Pose3, Problem, solve, V } = residua;

const TIGHT = { costTolerance: 0, gradientTolerance: 0, parameterTolerance: 1e-15 };
const refused = (...parts) => (error) => error instanceof residua.ResiduaError && error.code === 'invalid-argument' && (parts.every((part) => error.message.includes(part)) || assert.fail(error.message));

/** The largest difference of numbers. */
const apart = (a, b) => a.reduce((most, x, k) => Math.max(most, Math.abs(x - b[k])), a.length === b.length ? 0 : Infinity);

const between = (Pose) => ({ a, b, z }) => [...Pose.fromBlock(z).between(a.between(b)).log()];
const blocksOf = (array, indices) => indices.map((index) => ({ array, index }));

/** A chain of poses with loops, at a distance from its minimum, the first one constant, in space or in the plane. */
function graph(dim, count, { seed = 3, edges: chosen = () => true, blocks = Array.from({ length: count }, (_, k) => k), start, fixed = [0] } = {}) {
  const { normal: noise } = seededNoise(seed);
  const all = [];
  for (let k = 1; k < count; k++) all.push([k - 1, k], ...(k > 3 && k % 2 === 0 ? [[k - 4, k]] : []));
  const random = () => noise() * 0.2;
  const measured = all.map(([a, b]) => (dim === 2 ? [0.6 * (b - a) + random(), b - a + random(), random()] : [1, random(), random(), 0.3 * (b - a) + random(), b - a + random(), random(), random()]));
  const numbers = start ?? Array.from({ length: count }, (_, k) => (dim === 2 ? [0.6 * k, k, 0.2 * k] : [Math.cos(0.15 * k), 0, 0, Math.sin(0.15 * k), k, 0, 0])).flat();
  const problem = new Problem();
  const poses = problem.poses('poses', { dim, values: numbers });
  poses.setConstant(fixed);
  const own = all.flatMap((edge, k) => (chosen(edge) ? [k] : []));
  const place = (block) => blocks.indexOf(block);
  problem.residuals('edges', {
    inputs: { a: poses.at(own.map((k) => place(all[k][0]))), b: poses.at(own.map((k) => place(all[k][1]))), z: problem.data(own.flatMap((k) => unit(measured[k], dim)), dim === 2 ? 3 : 7) },
    residual: between(dim === 2 ? Pose2 : Pose3),
  });
  return { problem, poses };
}

function unit(pose, dim) {
  if (dim === 2) return pose;
  const length = Math.hypot(...pose.slice(0, 4));
  return pose.map((x, k) => (k < 4 ? x / length : x));
}

for (const dim of [2, 3]) {
  test(`a window over the last poses has the minimum and the covariances of the whole graph: dim ${dim}`, async () => {
    const size = dim === 2 ? 3 : 7;
    const whole = graph(dim, 14);
    const gone = [1, 2, 3, 4, 5, 6];
    const kept = [0, 7, 8, 9, 10, 11, 12, 13];
    const { minimum, joint, prior } = await onCpu(whole.problem, async (functions) => {
      await levenbergMarquardt(functions, TIGHT);
      const { values } = await covariance(functions, { blocks: blocksOf(whole.poses, kept.slice(1)), absoluteSigma: true });
      return { minimum: whole.poses.values(), joint: values, prior: await marginalise(functions, blocksOf(whole.poses, gone)) };
    });
    // Those that share an edge with the ones that are gone: 4 → 8, 6 → 10, 6 → 7 (and 2, 4 → 6, 8).
    assert.deepEqual(prior.blocks.map(({ index }) => index), [7, 8, 10]);
    assert.ok(prior.numResiduals <= 3 * (dim === 2 ? 3 : 6));
    const numbers = kept.flatMap((k) => [...minimum.subarray(k * size, (k + 1) * size)]);
    const isLeft = (edge) => edge.every((k) => kept.includes(k));
    const rest = graph(dim, 14, { edges: isLeft, blocks: kept, start: numbers });
    prior.addTo(rest.problem, 'prior', prior.blocks.map(({ index }) => ({ array: rest.poses, index: kept.indexOf(index) })));
    await onCpu(rest.problem, async (functions) => {
      const { gradient } = await functions.evaluateCostWithGradient();
      // Nothing falls along tangent directions at the minimum of the whole.
      const along = gradient.slice(size);
      if (dim === 3) for (let at = 0; at < along.length; at += 7) removeRadial(along.subarray(at, at + 4), numbers.slice(at + 7, at + 11));
      assert.ok(along.every((x) => Math.abs(x) < 1e-8), String(Math.max(...along.map(Math.abs))));
      const { values } = await covariance(functions, { blocks: blocksOf(rest.poses, [1, 2, 3, 4, 5, 6, 7]), absoluteSigma: true });
      // Relative to variances of some 0.1 to 10: squares of ten digits.
      assert.ok(apart(values, joint) < 1e-8 * Math.max(...joint), String(apart(values, joint)));
      // From elsewhere the minimum is found again, where the negative quaternion of a pose counts as the same.
      rest.poses.setAt(2, [...rest.poses.values().subarray(2 * size, 3 * size)].map((x, k) => (dim === 3 && k < 4 ? -x : x + (k === 0 ? 2 * Math.PI : 0))));
      await levenbergMarquardt(functions, TIGHT);
      const again = rest.poses.values();
      const same = again.map((x, k) => (Math.floor(k / size) !== 2 ? x : dim === 3 && k % size < 4 ? -x : x - (dim === 2 && k % size === 0 ? 2 * Math.PI : 0)));
      assert.ok(apart(same, numbers) < 1e-6, String(apart(same, numbers)));
    });
  });
}

function removeRadial(gradient, point) {
  const along = gradient.reduce((sum, x, k) => sum + x * point[k], 0);
  gradient.forEach((x, k) => (gradient[k] = x - along * point[k]));
}

test('the smoother’s marginals are the same', async () => {
  const { problem, poses } = graph(2, 12);
  await onCpu(problem, (functions) => levenbergMarquardt(functions, TIGHT));
  const prior = await onCpu(problem, (functions) => marginalise(functions, blocksOf(poses, [1, 2, 3, 4, 5])));
  const smoother = await incremental(problem);
  await smoother.update();
  await smoother.marginalise(blocksOf(poses, [1, 2, 3, 4, 5]));
  const expected = await smoother.marginalCovariance(blocksOf(poses, [6, 7, 8, 9, 10, 11]), { joint: true });
  smoother.dispose();
  const kept = [0, 6, 7, 8, 9, 10, 11];
  const rest = graph(2, 12, { blocks: kept, edges: (edge) => edge.every((k) => kept.includes(k)), start: kept.flatMap((k) => [...poses.values().subarray(3 * k, 3 * k + 3)]) });
  prior.addTo(rest.problem, 'prior', prior.blocks.map(({ index }) => ({ array: rest.poses, index: kept.indexOf(index) })));
  const { values } = await onCpu(rest.problem, (functions) => covariance(functions, { blocks: blocksOf(rest.poses, [1, 2, 3, 4, 5, 6]), absoluteSigma: true }));
  // The smoother forms squares.
  assert.ok(apart(values, expected.values) < 1e-7 * Math.max(...expected.values), String(apart(values, expected.values)));
});

test('linear residuals keep the solution to the last digits, with weights, masks, constants and sets of points', async () => {
  const { normal: noise } = seededNoise(11);
  const points = 40, cameras = 6;
  const problem = new Problem();
  const camera = problem.parameters('camera', { dim: 3, values: Array.from({ length: 3 * cameras }, () => noise()) });
  const point = problem.parameters('point', { dim: 2, values: new Float64Array(2 * points) });
  camera.setConstant([1], true, [2]);
  point.setConstant([7]);
  const pairs = Array.from({ length: points * 3 }, (_, k) => [(k * 7 + Math.floor(k / points)) % cameras, k % points]);
  const weights = pairs.map((_, k) => (k % 11 === 0 ? 0 : 1 + (k % 5) * 1e3));
  const matrix = pairs.flatMap(() => Array.from({ length: 10 }, () => noise()));
  const targets = pairs.flatMap(() => [noise(), noise()]);
  const spec = (problem, camera, point, pairs, own) => ({
    inputs: { c: camera.at(pairs.map(([c]) => c)), p: point.at(pairs.map(([, p]) => p)), m: problem.data(own.flatMap((k) => matrix.slice(10 * k, 10 * k + 10)), 10), t: problem.data(own.flatMap((k) => targets.slice(2 * k, 2 * k + 2)), 2) },
    residual: ({ c, p, m, t }) => [0, 1].map((row) => V.sum([c.x.mul(m[5 * row]), c.y.mul(m[5 * row + 1]), c.z.mul(m[5 * row + 2]), p.x.mul(m[5 * row + 3]), p.y.mul(m[5 * row + 4]), t.at(row).neg()])),
    weights: own.map((k) => weights[k]),
    weight: 0.25,
  });
  problem.residuals('views', spec(problem, camera, point, pairs, pairs.map((_, k) => k)));
  problem.residuals('hold', { inputs: { c: camera.at([0, 1, 2, 3, 4, 5]) }, residual: ({ c }) => c });
  const off = problem.residuals('off', { inputs: { p: point.at([3]) }, residual: ({ p }) => p.mul(1e6) });
  off.setEnabled(false);
  const gone = Array.from({ length: points }, (_, k) => k).filter((k) => k !== 7 && k !== 20);
  const { whole, prior } = await onCpu(problem, async (functions) => {
    const prior = await marginalise(functions, blocksOf(point, gone));
    await levenbergMarquardt(functions, TIGHT);
    return { whole: [...camera.values(), ...point.values().subarray(40, 42)], prior };
  });
  assert.deepEqual(prior.blocks.map(({ array, index }) => `${array.name} ${index}`), [0, 1, 2, 3, 4, 5].map((k) => `camera ${k}`));
  const second = new Problem();
  const [camera2, point2] = [second.parameters('camera', { dim: 3, values: camera.values() }), second.parameters('point', { dim: 2, values: [0, 0, 0, 0] })];
  camera2.setConstant([1], true, [2]);
  point2.setConstant([0]);
  const left = pairs.flatMap(([, p], k) => (p === 7 || p === 20 ? [k] : []));
  second.residuals('views', spec(second, camera2, point2, left.map((k) => [pairs[k][0], pairs[k][1] === 7 ? 0 : 1]), left));
  second.residuals('hold', { inputs: { c: camera2.at([0, 1, 2, 3, 4, 5]) }, residual: ({ c }) => c });
  prior.addTo(second, 'prior', prior.blocks.map(({ index }) => ({ array: camera2, index })));
  await onCpu(second, (functions) => levenbergMarquardt(functions, TIGHT));
  // Numbers of some 1, from a system of a condition of some 1e6.
  assert.ok(apart([...camera2.values(), ...point2.values().subarray(2)], whole) < 1e-9);
});

test('the weight of a robust loss is its slope', async () => {
  const losses = [loss.squared(), loss.huber(0.5), loss.softL1(0.7), loss.cauchy(0.4), loss.arctan(0.9), loss.tukey(3), loss.tolerant(0.5, 0.2), loss.scaled(loss.huber(0.3), 3)];
  for (const chosen of losses) {
    for (const at of [0.1, 1.3]) {
      const problem = new Problem();
      const x = problem.parameters('x', { dim: 1, values: [at, 0] });
      problem.residuals('pair', { inputs: { a: x.at([0]), b: x.at([1]) }, residual: ({ a, b }) => a.add(b), loss: chosen, weight: 2 });
      const { gradient } = await onCpu(problem, (functions) => functions.evaluateCostWithGradient());
      // A stiff residual of the block that goes, so that the row of the other one stays.
      problem.residuals('stiff', { inputs: { a: x.at([0]) }, residual: ({ a }) => a.sub(at).mul(1e9) });
      const prior = await onCpu(problem, (functions) => marginalise(functions, [{ array: x, index: 0 }]));
      const second = new Problem();
      const y = second.parameters('y', { dim: 1, values: [0] });
      prior.addTo(second, 'prior', [{ array: y, index: 0 }]);
      const of = await onCpu(second, (functions) => functions.evaluateCostWithGradient());
      assert.ok(Math.abs(of.gradient[0] - gradient[1]) < 1e-9 * Math.abs(gradient[1]), `${chosen.kind} ${at}: ${of.gradient[0]} for ${gradient[1]}`);
    }
  }
});

test('a direction that nothing determines says nothing, and unit vectors and products are taken', async () => {
  const problem = new Problem();
  const direction = problem.parameters('direction', { dim: 3, values: [2, 0, 0, 0, 1, 0] });
  direction.setManifold('unit-vector');
  const mixed = problem.parameters('mixed', { dim: 5, values: [1, 0, 0, 0, 4] });
  mixed.setManifold(manifold.product('unit-quaternion', 'euclidean 1'));
  // One number of the point is seen, two are not.
  const seen = problem.parameters('seen', { dim: 3, values: [1, 2, 3] });
  problem.residuals('first', { inputs: { a: direction.shared(0), b: direction.shared(1), s: seen.shared() }, residual: ({ a, b, s }) => [s.x.sub(a.dot(b)), s.x.sub(2).add(a.y)] });
  problem.residuals('second', { inputs: { m: mixed.shared(), s: seen.shared() }, residual: ({ m, s }) => [m[1].add(m[4]).sub(s.x), m[2].add(0.1)] });
  const prior = await onCpu(problem, (functions) => marginalise(functions, [{ array: seen, index: 0 }]));
  assert.deepEqual(prior.blocks.map(({ array, index }) => `${array.name}[${index}]`), ['direction[0]', 'direction[1]', 'mixed[0]']);
  // Four residuals, of which one determines the number that is seen.
  assert.equal(prior.numResiduals, 3);
  assert.equal(JSON.stringify(prior), '{"blocks":["direction[0]","direction[1]","mixed[0]"],"residuals":3}');
  prior.addTo(problem, 'prior');
  // The prior's cost is the least cost over the number: its gradient is that of the residuals at their best number.
  const costs = await onCpu(problem, async (functions) => {
    const x = [1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 4, 0, 2, 3];
    const residuals = await functions.evaluate(x);
    const least = (r) => {
      // Over s of (s − 0), (s − 2), (4 − s), of which the mean is best.
      const mean = (0 + 2 + 4) / 3;
      return (0 - mean) ** 2 + (2 - mean) ** 2 + (4 - mean) ** 2 + r[3] ** 2;
    };
    return [residuals.subarray(4).reduce((sum, r) => sum + r * r, 0), least(residuals)];
  });
  assert.ok(Math.abs(costs[0] - costs[1]) < 1e-12, String(costs));
});

test('a prior of ten poses in space compiles and solves, and one of many points is refused', async () => {
  const { problem, poses } = graph(3, 11);
  const hub = problem.parameters('hub', { dim: 1, values: [1] });
  problem.residuals('scale', { inputs: { p: poses.at([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]), h: hub.shared() }, residual: ({ p, h }) => p.translation.sqrMagnitude.sqrt().sub(h.mul(3)) });
  const prior = await onCpu(problem, (functions) => marginalise(functions, [{ array: hub, index: 0 }]));
  assert.deepEqual([prior.blocks.length, prior.numResiduals], [10, 9]);
  const rest = graph(3, 11);
  prior.addTo(rest.problem, 'prior', prior.blocks.map(({ index }) => ({ array: rest.poses, index })));
  assert.equal((await solve(rest.problem, { backend: 'cpu' })).success, true);

  const wide = new Problem();
  const points = wide.parameters('points', { dim: 3, values: new Float64Array(3 * 1400) });
  const shared = wide.parameters('shared', { dim: 1, values: [1] });
  wide.residuals('all', { inputs: { p: points.at(Uint32Array.from({ length: 1400 }, (_, k) => k)), s: shared.shared() }, residual: ({ p, s }) => p.mul(s) });
  await assert.rejects(onCpu(wide, (functions) => marginalise(functions, [{ array: shared, index: 0 }])), (error) => error.code === 'limit-exceeded' && /4201/.test(error.message));
});

test('what cannot be marginalised is refused with its name', async () => {
  const { problem, poses } = graph(2, 5);
  const lonely = problem.parameters('lonely', { dim: 1, values: [1] });
  const tied = problem.parameters('tied', { dim: 1, values: [1] });
  problem.residuals('own', { inputs: { l: lonely.shared() }, residual: ({ l }) => l });
  problem.residuals('bad', { inputs: { t: tied.shared(), p: poses.shared(4) }, residual: ({ t, p }) => t.sub(1).sqrt().add(p.translation.x) });
  problem.equalities('tie', { inputs: { t: tied.shared(), p: poses.shared(4) }, constraint: ({ t, p }) => t.sub(p.translation.x) });
  const other = new Problem().poses('other', { dim: 2, values: [0, 0, 0] });
  await onCpu(problem, async (functions) => {
    const refusal = (blocks, ...parts) => assert.rejects(marginalise(functions, blocks), refused('marginalise: blocks', ...parts));
    await refusal([], 'at least one');
    await refusal('poses');
    await refusal([{ array: other, index: 0 }], 'blocks[0].array');
    await refusal([{ array: poses, index: 9 }], 'blocks[0].index');
    await refusal(blocksOf(poses, [1, 0]), 'poses[0]', 'constant');
    await refusal(blocksOf(poses, [1, 1]), 'a second time');
    await refusal([{ array: lonely, index: 0 }], 'links');
    await refusal([{ array: tied, index: 0 }], '"tie"');
    const prior = await marginalise(functions, blocksOf(poses, [1]));
    const target = new Problem();
    const [planar, space] = [target.poses('planar', { dim: 2, values: new Float64Array(15) }), target.parameters('plain', { dim: 3, values: new Float64Array(15) })];
    const wrong = (blocks, ...parts) => assert.throws(() => prior.addTo(target, 'prior', blocks), refused('addTo: blocks', ...parts));
    assert.equal(prior.blocks.length, 1);
    wrong([], 'one for each');
    wrong(undefined, 'parameter array of the problem');
    wrong(blocksOf(space, [0]), "'euclidean'");
    wrong(blocksOf(planar, [7]), 'index');
    assert.throws(() => prior.addTo({}, 'prior'), refused('addTo: problem'));
    assert.equal(target.numResiduals, 0);
  });
  const byParams = await GpuCompiledFunctions.compile([V.W(1)], ([x]) => x, { backend: 'cpu' });
  await assert.rejects(marginalise(byParams, blocksOf(poses, [1])), refused('marginalise: functions'));
  byParams.dispose();
  await assert.rejects(marginalise({}, []), refused('marginalise: functions'));
});

test('derivatives that are not finite are told with their instance', async () => {
  const problem = new Problem();
  const x = problem.parameters('x', { dim: 1, values: [1, 0, 2] });
  problem.residuals('roots', { inputs: { a: x.at([0, 1]), b: x.at([1, 2]) }, residual: ({ a, b }) => a.sqrt().sub(b) });
  await onCpu(problem, (functions) => assert.rejects(marginalise(functions, [{ array: x, index: 1 }]), (error) => error.code === 'non-finite' && /instance 1 of 'roots'/.test(error.message)));
});
