// Incremental smoothing: after any appends, removals and updates the estimates are those of a batch solve of what is left.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededNoise } from '../../www/problems/seeded-noise.js';
import { longTest } from '../tier.mjs';
import { onCpu, residua } from '../www/residua.mjs';
const { cityGraph } = await import('../../www/demos/pose-graph/graphs.js');

const { covariance, incremental, levenbergMarquardt, loss, Pose2, Problem, V } = residua;

const TIGHT = { costTolerance: 0, gradientTolerance: 0, parameterTolerance: 1e-15 };

const refused = (...parts) => (error) => error instanceof residua.ResiduaError && error.code === 'invalid-argument' && (parts.every((part) => error.message.includes(part)) || assert.fail(error.message));

const between = ({ a, b, z }) => [...Pose2.fromBlock(z).between(a.between(b)).log()];

/** A city as poses in the plane: start, edges, measurements, the root of their information. */
function city(poses) {
  const graph = cityGraph({ poses });
  const edges = Array.from({ length: graph.edges.length / 2 }, (_, k) => {
    const [x, y] = graph.measuredPositions.subarray(2 * k, 2 * k + 2);
    return { a: graph.edges[2 * k], b: graph.edges[2 * k + 1], z: [graph.measuredRotations[k], x, y] };
  });
  return { edges, start: [graph.rotations[0], ...graph.positions.subarray(0, 2)] };
}

const ROOT = [1 / 0.012, 0, 0, 1 / 0.03, 0, 1 / 0.03];

/** z₁ ∘ z₂ of poses as angle, x, y. */
function compose([angle, x, y], [turn, u, v]) {
  const [c, s] = [Math.cos(angle), Math.sin(angle)];
  return [Math.atan2(Math.sin(angle + turn), Math.cos(angle + turn)), x + c * u - s * v, y + s * u + c * v];
}

function poseProblem(start) {
  const problem = new Problem();
  const poses = problem.poses('poses', { dim: 2, values: start });
  poses.setConstant([0]);
  const inputs = { a: poses.at([]), b: poses.at([]), z: problem.data([], 3) };
  const edges = problem.residuals('edges', { inputs, residual: between, sqrtInformation: [] });
  return { problem, poses, edges };
}

/** The cost of all instances at some poses, and after a batch solve from there. */
const costs = ({ problem, poses }, values) => {
  poses.set(values);
  return onCpu(problem, async (functions) => {
    const { value } = await functions.evaluateCostWithGradient();
    return [value, (await levenbergMarquardt(functions, { ...TIGHT })).finalCost];
  });
};

test('a city that is driven pose by pose ends at the cost of the batch solve', async () => {
  const { edges, start } = city(400);
  const made = poseProblem(start);
  const smoother = await incremental(made.problem);
  for (let pose = 1; pose < 400; pose++) {
    const [before] = [smoother.estimate(made.poses, [pose - 1])];
    const own = edges.filter(({ b }) => b === pose);
    const odometry = own.find(({ a }) => a === pose - 1);
    assert.equal(made.poses.append(compose(before, odometry.z)), pose);
    for (const { a, b, z } of own) made.edges.append({ a: [a], b: [b], z, sqrtInformation: ROOT });
    await smoother.update();
  }
  const [cost, batch] = await costs(made, smoother.estimate(made.poses));
  assert.ok(cost <= 1.001 * batch, `${cost}, batch ${batch}`);
  smoother.dispose();
});

/** Makes random changes of a growing problem, and compares with a batch solve of what is left after each quarter of them. */
async function change(operations, seeds) {
  for (const seed of seeds) {
    const random = seededNoise(seed);
    const problem = new Problem();
    const poses = problem.poses('poses', { dim: 2, values: [0, 0, 0] });
    poses.setConstant([0]);
    const scale = problem.parameters('scale', { dim: 1, values: [1] });
    const edges = problem.residuals('edges', { inputs: { a: poses.at([]), b: poses.at([]), z: problem.data([], 3) }, residual: between, weights: [], loss: loss.huber(3) });
    const known = problem.residuals('known', {
      inputs: { p: poses.at([]), s: scale.shared(), at: problem.data([], 2) },
      residual: ({ p, s, at }) => [p.translation.x.mul(s).sub(at.x), p.translation.y.mul(s).sub(at.y)],
    });
    const prior = problem.residuals('prior', { inputs: { s: scale.at([0]) }, residual: ({ s }) => s.sub(1).mul(100) });
    const smoother = await incremental(problem, { relinearisationThreshold: 0 });
    const truth = [[0, 0, 0]];
    const removable = [];
    const gone = [];
    const noisy = (pose, size) => pose.map((x) => x + size * random.normal());
    const inverse = ([angle, x, y]) => [-angle, -Math.cos(angle) * x - Math.sin(angle) * y, Math.sin(angle) * x - Math.cos(angle) * y];
    for (let turn = 0; turn < operations; turn++) {
      const kind = random.uniform();
      if (kind < 0.5) {
        const step = [0.5 * random.normal(), 1, 0];
        const a = random.below(Math.min(10, truth.length)) + Math.max(0, truth.length - 10);
        const next = compose(truth[a], step);
        truth.push(next);
        const index = poses.append(noisy(next, 0.02));
        edges.append({ a: [a], b: [index], z: noisy(step, 0.01) });
      } else if (kind < 0.7 && truth.length > 3) {
        const [a, b] = [random.below(truth.length), random.below(truth.length)];
        if (a === b) continue;
        removable.push([edges, edges.append({ a: [a], b: [b], z: noisy(compose(inverse(truth[a]), truth[b]), 0.01), weights: [1 + random.uniform()] })]);
      } else if (kind < 0.8) {
        const p = random.below(truth.length);
        removable.push([known, known.append({ p: [p], at: noisy(truth[p].slice(1), 0.05) })]);
      } else if (kind < 0.9 && removable.length > 0) {
        const [[block, instance]] = removable.splice(random.below(removable.length), 1);
        smoother.remove(block, [instance]);
        gone.push([block, instance]);
      } else await smoother.update();
      if (turn % (operations / 4) !== operations / 4 - 1) continue;
      for (let more = 0; more < 12; more++) await smoother.update();
      await compare();
    }
    async function compare() {
      const found = smoother.estimate(poses);
      const batch = new Problem();
      const all = batch.poses('poses', { dim: 2, values: found });
      all.setConstant([0]);
      const own = batch.parameters('scale', { dim: 1, values: smoother.estimate(scale) });
      const weights = (block) => Float64Array.from({ length: block.count }, (_, k) => (gone.some(([of, instance]) => of === block && instance === k) ? 0 : (block.data.get('weights')?.values[k] ?? 1)));
      const [a, b] = ['a', 'b'].map((key) => all.at(edges.inputs.get(key).indices));
      batch.residuals('edges', { inputs: { a, b, z: batch.data(edges.data.get('z').values, 3) }, residual: between, weights: weights(edges), loss: loss.huber(3) });
      const inputs = { p: all.at(known.inputs.get('p').indices), s: own.shared(), at: batch.data(known.data.get('at').values, 2) };
      batch.residuals('known', { inputs, residual: ({ p, s, at }) => [p.translation.x.mul(s).sub(at.x), p.translation.y.mul(s).sub(at.y)], weights: weights(known) });
      batch.residuals('prior', { inputs: { s: own.at([0]) }, residual: ({ s }) => s.sub(1).mul(100) });
      await onCpu(batch, (functions) => levenbergMarquardt(functions, TIGHT));
      // Both are within their last step of the minimum, some 1e-9 of the drive's length.
      all.values().forEach((x, k) => assert.ok(Math.abs(x - found[k]) < 1e-6, `seed ${seed}: number ${k} is ${found[k]}, batch ${x}`));
      assert.ok(Math.abs(own.values()[0] - smoother.estimate(scale)[0]) < 1e-8);
    }
    assert.equal(prior.count, 1);
    smoother.dispose();
  }
}

test('random appends, removals and updates end where a batch solve does', () => change(200, [1, 2, 3]));

longTest('so do 10,000 of them', () => change(10000, [4]));

/** Poses in space, a line of them, with an edge to the next each. */
function line3(count) {
  const problem = new Problem();
  const poses = problem.poses('poses', { dim: 3, values: Array.from({ length: count }, (_, k) => [1, 0.01 * k, 0, 0, k, 0.1, 0]).flat() });
  const inputs = { a: poses.at(Array.from({ length: count - 1 }, (_, k) => k)), b: poses.at(Array.from({ length: count - 1 }, (_, k) => k + 1)) };
  const edges = problem.residuals('edges', { inputs, residual: ({ a, b }) => a.between(b).log().map((x, k) => x.sub(k === 3 ? 1 : 0.02).mul(1 + k)) });
  return { problem, poses, edges };
}

test('covariances of blocks are those of the batch, in their own numbers', async () => {
  const { problem, poses } = line3(5);
  poses.setConstant([0]);
  const smoother = await incremental(problem, { relinearisationThreshold: 0 });
  for (let k = 0; k < 8; k++) await smoother.update();
  poses.set(smoother.estimate(poses));
  const blocks = [4, 0, 2].map((index) => ({ array: poses, index }));
  const joint = await smoother.marginalCovariance(blocks, { joint: true });
  const expected = await onCpu(problem, (functions) => covariance(functions, { blocks, absoluteSigma: true }));
  joint.values.forEach((x, k) => assert.ok(Math.abs(x - expected.values[k]) < 1e-9, `${k}: ${x}, batch ${expected.values[k]}`));
  const each = await smoother.marginalCovariance(blocks);
  each.forEach((own, k) => assert.deepEqual([...own.values], [...joint.between(k, k)]));
});

test('a linear problem is solved exactly, whatever the threshold', async () => {
  const problem = new Problem();
  const x = problem.parameters('x', { dim: 2, values: [0, 0] });
  const steps = problem.residuals('steps', { inputs: { x: x.at([], 2), d: problem.data([], 2) }, residual: ({ x: [a, b], d }) => [b.x.sub(a.x).sub(d.x), b.y.sub(a.y).sub(d.y)] });
  problem.residuals('start', { inputs: { x: x.at([0]) }, residual: ({ x }) => [x.x.sub(3), x.y] });
  const smoother = await incremental(problem);
  for (let k = 1; k <= 100; k++) {
    x.append([0, 0]);
    steps.append({ x: [k - 1, k], d: [1, 0.5 * k] });
    await smoother.update();
  }
  const found = smoother.estimate(x);
  for (let k = 0; k <= 100; k++) {
    assert.ok(Math.abs(found[2 * k] - 3 - k) < 1e-9 && Math.abs(found[2 * k + 1] - 0.25 * k * (k + 1)) < 1e-9, `${k}: ${found.subarray(2 * k, 2 * k + 2)}`);
  }
});

test('a removal that leaves a block undetermined names it, and more residuals help', async () => {
  const problem = new Problem();
  const point = problem.parameters('point', { dim: 1, values: [1, 2, 3] });
  const seen = problem.residuals('seen', { inputs: { p: point.at([0, 1, 2]), z: problem.data([4, 5, 6]) }, residual: ({ p, z }) => p.sub(z) });
  const smoother = await incremental(problem);
  await smoother.update();
  assert.deepEqual([...smoother.estimate()], [4, 5, 6]);
  smoother.remove(seen, [1]);
  await assert.rejects(smoother.update(), refused('point[1]', 'do not determine'));
  assert.deepEqual([...smoother.estimate(point)], [4, 5, 6]);
  assert.throws(() => smoother.remove(seen, [1]), refused('remove: instances', 'instance 1', 'second time'));
  seen.append({ p: [1], z: [7] });
  await smoother.update();
  assert.deepEqual([...smoother.estimate(point, [2, 1])], [6, 7]);
});

test('data, weights, losses and enabled flags change between updates', async () => {
  const problem = new Problem();
  const x = problem.parameters('x', { dim: 1, values: [0] });
  const first = problem.residuals('first', { inputs: { x: x.at([0, 0]), z: problem.data([1, 3]) }, residual: ({ x, z }) => x.sub(z) });
  const second = problem.residuals('second', { inputs: { x: x.shared(), z: problem.data([8]) }, residual: ({ x, z }) => x.sub(z) });
  const smoother = await incremental(problem);
  const estimate = async (expected) => {
    await smoother.update();
    const [found] = smoother.estimate(x);
    // A mean by roots of weights, in some roundings.
    assert.ok(Math.abs(found - expected) < 8 * 2.2e-16 * expected, `${found}, not ${expected}`);
  };
  await estimate(4);
  second.setEnabled(false);
  await estimate(2);
  second.setEnabled(true);
  second.setWeight(2);
  await estimate(5);
  first.setData('z', [2, 2]);
  second.setWeight(1);
  await estimate(4);
});

test('what does not fit is refused with its argument, what it got and what it takes', async () => {
  const { problem, poses, edges } = poseProblem([0, 0, 0]);
  const one = { a: [0], b: [1], z: [0, 1, 0], sqrtInformation: ROOT };
  poses.append([0, 1, 0]);
  await assert.rejects(incremental({}), refused('incremental: problem'));
  await assert.rejects(incremental(problem, { relinearisationThreshold: -1 }), refused('incremental: relinearisationThreshold', '-1'));
  await assert.rejects(incremental(problem, { relinearisationInterval: 0 }), refused('incremental: relinearisationInterval', '0'));
  const smoother = await incremental(problem);
  await assert.rejects(smoother.update(), refused('poses[1]', 'do not determine'));
  edges.append(one);
  await smoother.update();
  assert.throws(() => smoother.estimate({}), refused('estimate: array'));
  assert.throws(() => smoother.estimate(poses, [2]), refused('estimate: indices[0]', '2'));
  assert.throws(() => smoother.remove(edges, [1]), refused('remove: instances[0]', '1'));
  assert.throws(() => smoother.remove({}, [0]), refused('remove: block'));
  await assert.rejects(smoother.marginalCovariance([]), refused('marginalCovariance: blocks'));
  await assert.rejects(smoother.marginalCovariance([{ array: poses, index: 2 }]), refused('marginalCovariance: blocks[0].index', '2'));
  poses.append([0, 2, 0]);
  await assert.rejects(smoother.marginalCovariance([{ array: poses, index: 2 }]), refused('marginalCovariance: blocks[0].index', 'poses[2]', 'no update'));
  edges.append({ ...one, a: [1], b: [2] });
  poses.setConstant([1]);
  await assert.rejects(smoother.update(), refused('setConstant', '"poses"', 'block 1'));
  poses.setConstant([1], false);
  await smoother.update();
  const late = problem.parameters('late', { dim: 1, values: [0] });
  await assert.rejects(smoother.update(), refused('"late"', 'append'));
  assert.throws(() => smoother.estimate(late), refused('estimate: array'));
});

test('a residual that is not finite is named, leaves the estimates, and can be removed', async () => {
  const problem = new Problem();
  const x = problem.parameters('x', { dim: 1, values: [2] });
  const roots = problem.residuals('roots', { inputs: { x: x.at([0]), z: problem.data([1]) }, residual: ({ x, z }) => V.sqrt(z).mul(x).sub(1) });
  const smoother = await incremental(problem);
  await smoother.update();
  roots.append({ x: [0], z: [-1] });
  await assert.rejects(smoother.update(), (error) => error.code === 'non-finite' && error.message.includes("instance 1 of 'roots'"));
  assert.equal(smoother.estimate(x)[0], 1);
  smoother.remove(roots, [1]);
  await smoother.update();
  assert.equal(smoother.estimate(x)[0], 1);
});

test('dispose during an update settles it, and later calls are refused', async () => {
  const { problem, poses } = line3(3);
  poses.setConstant([0]);
  const smoother = await incremental(problem);
  const running = smoother.update();
  smoother.dispose();
  smoother.dispose();
  await Promise.allSettled([running]);
  await assert.rejects(smoother.update(), ({ code }) => code === 'disposed');
  assert.throws(() => smoother.estimate(), ({ code }) => code === 'disposed');
});

test('poses in space with constant ones among those appended', async () => {
  const { problem, poses, edges } = line3(3);
  poses.setConstant([0]);
  const smoother = await incremental(problem, { relinearisationThreshold: 0 });
  for (let k = 0; k < 6; k++) await smoother.update();
  const index = poses.append([1, 0, 0, 0, 3, 0, 0]);
  poses.setConstant([index]);
  edges.append({ a: [2], b: [index] });
  for (let k = 0; k < 12; k++) await smoother.update();
  const found = smoother.estimate(poses);
  assert.deepEqual([...found.subarray(21)], [1, 0, 0, 0, 3, 0, 0]);
  await onCpu(problem, (functions) => levenbergMarquardt(functions, TIGHT));
  poses.values().forEach((x, k) => assert.ok(Math.abs(x - found[k]) < 1e-7, `${k}: ${found[k]}, batch ${x}`));
});

/** A line of poses with edges to the next two, each measured with noise. */
function noisyLine(count, seed = 3) {
  const random = seededNoise(seed);
  const measured = (a, b) => ({ a: [a], b: [b], z: [0.1 * (b - a) + 0.01 * random.normal(), b - a + 0.02 * random.normal(), 0.02 * random.normal()], sqrtInformation: ROOT });
  return Array.from({ length: count }, (_, k) => [measured(k, k + 1), ...(k > 0 ? [measured(k - 1, k + 1)] : [])]);
}

test('an update that fails leaves estimates, covariances and later updates as if it had not been', async () => {
  const drive = async (fails) => {
    const { problem, poses, edges } = poseProblem([0, 0, 0]);
    const smoother = await incremental(problem, { relinearisationThreshold: 1e-4 });
    const own = noisyLine(12);
    for (let k = 0; k < 12; k++) {
      poses.append([0.1 * k + 0.3, k + 1.4, 0.3]);
      if (fails && k === 8) {
        // Blocks are far from where they were linearised, and the new one hangs on nothing.
        const before = [smoother.estimate(), await smoother.marginalCovariance([{ array: poses, index: 3 }])];
        for (let again = 0; again < 2; again++) await assert.rejects(smoother.update(), refused('poses[9]', 'do not determine'));
        assert.deepEqual(smoother.estimate(), before[0]);
        assert.deepEqual((await smoother.marginalCovariance([{ array: poses, index: 3 }]))[0].values, before[1][0].values);
      }
      own[k].forEach((edge) => edges.append(edge));
      await smoother.update();
    }
    return [smoother.estimate(), (await smoother.marginalCovariance([{ array: poses, index: 12 }]))[0].values];
  };
  const [failed, smooth] = [await drive(true), await drive(false)];
  failed.forEach((numbers, which) => numbers.forEach((x, k) => assert.ok(Math.abs(x - smooth[which][k]) < 1e-12, `${which}, ${k}: ${x}, not ${smooth[which][k]}`)));
});

test('a step that is not finite is named, leaves the estimates, and its residual can be removed', async () => {
  const problem = new Problem();
  const x = problem.parameters('x', { dim: 1, values: [1] });
  problem.residuals('held', { inputs: { x: x.at([0]) }, residual: ({ x }) => x.sub(3) });
  const scaled = problem.residuals('scaled', { inputs: { x: x.at([]), s: problem.data([], 2) }, residual: ({ x, s }) => x.mul(s.x).sub(s.y) });
  const smoother = await incremental(problem, { relinearisationThreshold: 0 });
  await smoother.update();
  x.append([2]);
  const small = scaled.append({ x: [1], s: [1e-160, 1e160] });
  for (let again = 0; again < 2; again++) {
    await assert.rejects(smoother.update(), (error) => error.code === 'non-finite' && error.message.includes('x[1]'));
    assert.deepEqual([...smoother.estimate()], [3, 2]);
  }
  smoother.remove(scaled, [small]);
  scaled.append({ x: [1], s: [2, 8] });
  await smoother.update();
  assert.deepEqual([...smoother.estimate()], [3, 4]);
});

test('a hub loses all of its residuals at once', async () => {
  const problem = new Problem();
  const hub = problem.parameters('hub', { dim: 1, values: [0] });
  const count = 50_000;
  const all = problem.residuals('all', { inputs: { x: hub.shared(), z: problem.data(Float64Array.from({ length: count }, (_, k) => k)) }, residual: ({ x, z }) => x.sub(z) });
  const smoother = await incremental(problem);
  await smoother.update();
  assert.ok(Math.abs(smoother.estimate()[0] - (count - 1) / 2) < 1e-9);
  smoother.remove(all, Uint32Array.from({ length: count - 1 }, (_, k) => k));
  await smoother.update();
  assert.ok(Math.abs(smoother.estimate()[0] - (count - 1)) < 1e-9);
});

test('instances of stars are removed, whatever their number of blocks', async () => {
  const problem = new Problem();
  const x = problem.parameters('x', { dim: 1, values: [0, 0, 0] });
  // Instances of one, two and three blocks in turn: the sum of the blocks is the number of the instance.
  const count = 3000;
  const lengths = Array.from({ length: count }, (_, k) => (k % 3) + 1);
  const offsets = [0];
  for (const length of lengths) offsets.push(offsets.at(-1) + length);
  const star = x.star(offsets, lengths.flatMap((length) => Array.from({ length }, (_, k) => k)));
  const sums = problem.residuals('sums', { inputs: { star, z: problem.data(Array.from({ length: count }, (_, k) => k)) }, residual: ({ star, z }) => star.reduce((sum, x) => sum.add(x)).sub(z) });
  const smoother = await incremental(problem);
  await smoother.update();
  const kept = [300, 301, 2999];
  smoother.remove(sums, Array.from({ length: count }, (_, k) => k).filter((k) => !kept.includes(k)));
  await smoother.update();
  // x₀ = 300, x₀ + x₁ = 301, and the sum of all 2999.
  [300, 1, 2698].forEach((expected, k) => assert.ok(Math.abs(smoother.estimate(x)[k] - expected) < 1e-8));
});

test('of a linear problem the blocks that are left have the estimates and covariances of the batch', async () => {
  const grow = async (isWindow) => {
    const random = seededNoise(7);
    const problem = new Problem();
    const x = problem.parameters('x', { dim: 2, values: [0, 0] });
    const drift = problem.parameters('drift', { dim: 1, values: [0] });
    const steps = problem.residuals('steps', {
      inputs: { a: x.at([]), b: x.at([]), s: drift.shared(), d: problem.data([], 2) },
      residual: ({ a, b, s, d }) => [b.x.sub(a.x).sub(d.x).sub(s), b.y.sub(a.y).sub(d.y).mul(2)],
    });
    problem.residuals('start', { inputs: { x: x.at([0]), s: drift.shared() }, residual: ({ x, s }) => [x.x.sub(3), x.y, s.mul(10)] });
    const smoother = await incremental(problem);
    for (let k = 1; k <= 60; k++) {
      x.append([0, 0]);
      for (const a of [k - 1, Math.max(k - 3, 0)]) steps.append({ a: [a], b: [k], d: [k - a + 0.1 * random.normal(), 0.1 * random.normal()] });
      if (k % 3 > 0) await smoother.update();
      if (isWindow && k >= 10 && k % 2 === 0) await smoother.marginalise([k - 10, k - 9].map((index) => ({ array: x, index })));
    }
    const left = Array.from({ length: 6 }, (_, k) => 55 + k);
    await smoother.update();
    const blocks = [...left.map((index) => ({ array: x, index })), { array: drift, index: 0 }];
    return [smoother.estimate(x, left), smoother.estimate(drift), (await smoother.marginalCovariance(blocks, { joint: true })).values];
  };
  const [some, all] = [await grow(true), await grow(false)];
  some.forEach((numbers, which) => numbers.forEach((number, k) => assert.ok(Math.abs(number - all[which][k]) < 1e-9, `${which}, ${k}: ${number}, not ${all[which][k]}`)));
});

test('a window over 500 poses is as much work at its end as at its start', async () => {
  const { problem, poses, edges } = poseProblem([0, 0, 0]);
  const smoother = await incremental(problem);
  const own = noisyLine(500);
  const eliminated = [];
  for (let k = 1; k <= 500; k++) {
    const { 0: turn, 1: x, 2: y } = smoother.estimate(poses, [k - 1]);
    poses.append(compose([turn, x, y], own[k - 1][0].z));
    own[k - 1].forEach((edge) => edges.append(edge));
    const update = await smoother.update();
    eliminated.push(update.eliminated);
    assert.ok(update.solved <= 21 && update.relinearised <= 21, JSON.stringify(update));
    if (k > 20) await smoother.marginalise([{ array: poses, index: k - 20 }]);
  }
  assert.ok(Math.max(...eliminated) <= 21);
  poses.set(smoother.estimate(poses));
  const found = poses.values().slice(-3);
  const [end] = await smoother.marginalCovariance([{ array: poses, index: 500 }]);
  await onCpu(problem, (functions) => levenbergMarquardt(functions, TIGHT));
  // The points of the linearisation are those of the window: within a small part of what the measurements tell.
  poses.values().slice(-3).forEach((x, k) => assert.ok(Math.abs(x - found[k]) < 0.02 * end.standardDeviations[k], `${k}: ${found[k]}, batch ${x}, σ ${end.standardDeviations[k]}`));
});

test('marginalise refuses what it cannot take, and residuals of what is gone can be removed', async () => {
  const { problem, poses, edges } = poseProblem([0, 0, 0]);
  const smoother = await incremental(problem);
  const own = noisyLine(4);
  for (let k = 0; k < 4; k++) {
    poses.append([0.1 * k, k + 1, 0]);
    own[k].forEach((edge) => edges.append(edge));
  }
  const at = (index, array = poses) => ({ array, index });
  await assert.rejects(smoother.marginalise([]), refused('marginalise: blocks'));
  await assert.rejects(smoother.marginalise(3), refused('marginalise: blocks', '3'));
  await assert.rejects(smoother.marginalise([at(0)]), refused('poses[0]', 'constant'));
  await assert.rejects(smoother.marginalise([at(5)]), refused('marginalise: blocks[0].index', '5'));
  await assert.rejects(smoother.marginalise([at(1, {})]), refused('marginalise: blocks[0].array'));
  await assert.rejects(smoother.marginalise([1, 2, 3, 4].map((k) => at(k))), refused('all variable blocks'));
  await smoother.marginalise([at(1), at(1)]);
  const before = smoother.estimate();
  await assert.rejects(smoother.marginalise([at(2), at(1)]), refused('poses[1]', 'marginalised'));
  await assert.rejects(smoother.marginalCovariance([at(1)]), refused('poses[1]', 'marginalised'));
  assert.deepEqual(smoother.estimate(), before);
  const late = edges.append({ a: [1], b: [4], z: [0.3, 3, 0], sqrtInformation: ROOT });
  for (let again = 0; again < 2; again++) await assert.rejects(smoother.update(), refused("instance 7 of 'edges'", 'poses[1]', 'marginalised'));
  smoother.remove(edges, [late]);
  await smoother.update();
  assert.throws(() => smoother.remove(edges, [0]), refused("instance 0 of 'edges'"));
});
