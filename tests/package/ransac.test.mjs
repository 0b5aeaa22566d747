// Random sample consensus on the CPU: lines, homographies and camera poses among outliers; and options that are wrong.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededNoise } from '../../www/problems/seeded-noise.js';
import { residua } from '../www/residua.mjs';

const { loss, Pose3, Problem, ransac, V, Vec3 } = residua;
const { solvePnp } = await import('../../target/npm/residua/dist/cameras.js');

const { uniform } = seededNoise(41);
/** Numbers in (−1, 1), the same in every run. */
const random = () => 2 * uniform() - 1;
const CPU = { backend: 'cpu' };

/** Points on the line y = 2 x − 1 with noise of up to 0.01; every third or so is anywhere. */
function points(count, outlier) {
  return Array.from({ length: count }, (_, k) => {
    const x = 10 * random();
    return outlier(k) ? [x, 40 * random()] : [x, 2 * x - 1 + 0.01 * random()];
  });
}
function lineThrough(list, more = {}) {
  const problem = new Problem();
  const line = problem.parameters('line', { dim: 2, values: [0, 0] });
  const block = problem.residuals('points', {
    inputs: { line: line.shared(), x: problem.data(list.map(([x]) => x)), y: problem.data(list.map(([, y]) => y)) },
    residual: ({ line, x, y }) => line.x.mul(x).add(line.y).sub(y),
    ...more,
  });
  return { problem, line, block };
}
/** The line of least squares through some of the points, in closed form. */
function leastSquares(list, chosen) {
  const of = (f) => [...chosen].reduce((sum, k) => sum + f(...list[k]), 0) / chosen.length;
  const [mx, my] = [of((x) => x), of((_, y) => y)];
  const slope = of((x, y) => (x - mx) * (y - my)) / of((x) => (x - mx) ** 2);
  return [slope, my - slope * mx];
}
const near = (found, expected, tolerance, what) => found.forEach((x, k) => assert.ok(Math.abs(x - expected[k]) <= tolerance, `${what}: ${[...found]}, not ${expected}`));

test('a line is found among 60 % outliers, with its inliers, and refined to their least squares', async () => {
  const isOutlier = (k) => k % 5 < 3;
  const list = points(200, isOutlier);
  const { problem, line } = lineThrough(list);
  const { x, inliers, score, samples, confidence } = await ransac(problem, { ...CPU, sampleSize: 2, threshold: 0.02 });
  const onLine = list.map((_, k) => k).filter((k) => !isOutlier(k));
  assert.ok(onLine.every((k) => inliers.includes(k)), 'all points of the line');
  assert.ok(inliers.length <= onLine.length + 3, `${inliers.length}`);
  near(x, leastSquares(list, inliers), 1e-9, 'least squares');
  const norms = list.map(([px, py]) => Math.abs(x[0] * px + x[1] - py));
  assert.ok(Math.abs(norms.reduce((sum, norm) => sum + Math.min(norm ** 2, 0.02 ** 2), 0) - score) < 1e-12);
  assert.deepEqual([...inliers], norms.map((_, k) => k).filter((k) => norms[k] <= 0.02));
  assert.ok(confidence >= 0.99 && confidence < 1 && samples >= 32 && samples < 200, `${confidence} after ${samples}`);
  assert.deepEqual([...line.values()], [0, 0], 'the values of the template');
});

test('the same seed gives the same result, another seed the same line', async () => {
  const { problem } = lineThrough(points(60, (k) => k % 2 === 0));
  const options = { ...CPU, sampleSize: 2, threshold: 0.02 };
  const [a, b, c] = [await ransac(problem, { ...options, seed: 5 }), await ransac(problem, { ...options, seed: 5 }), await ransac(problem, { ...options, seed: 6 })];
  assert.deepEqual(a, b);
  near(c.x, a.x, 1e-3, 'another seed');
});

test('the samples that are needed grow with the share of outliers, up to the most', async () => {
  const { problem } = lineThrough(points(100, () => true));
  const none = await ransac(problem, { ...CPU, sampleSize: 2, threshold: 1e-9, maxSamples: 100 });
  assert.deepEqual([none.samples, none.confidence], [100, 0]);
  const first = await ransac(problem, { ...CPU, sampleSize: 2, threshold: 1, confidence: 0 });
  assert.equal(first.samples, 32, 'one batch');
  const all = lineThrough(points(50, () => false));
  const { samples, inliers, confidence } = await ransac(all.problem, { ...CPU, sampleSize: 2, threshold: 0.05 });
  assert.deepEqual([samples, inliers.length, confidence], [32, 50, 1]);
});

test('measurements of weight 0 are no candidates, losses and weights take part', async () => {
  const list = [...points(30, () => false), ...Array.from({ length: 40 }, () => [3, 17])];
  const weights = list.map((_, k) => (k < 30 ? 1 + (k % 2) : 0));
  const { problem } = lineThrough(list, { weights, loss: loss.huber(0.005) });
  const { x, inliers } = await ransac(problem, { ...CPU, sampleSize: 2, threshold: 0.05 });
  assert.deepEqual([...inliers], Array.from({ length: 30 }, (_, k) => k));
  near(x, [2, -1], 0.01, 'the line');
});

test('a homography is found from pairs of points', async () => {
  const h = [1.1, 0.05, 3, -0.04, 0.95, -2, 1e-3, -5e-4];
  const pairs = Array.from({ length: 80 }, (_, k) => {
    const [x, y] = [50 * random(), 50 * random()];
    const w = h[6] * x + h[7] * y + 1;
    const to = [(h[0] * x + h[1] * y + h[2]) / w, (h[3] * x + h[4] * y + h[5]) / w];
    return k % 10 < 4 ? [x, y, 50 * random(), 50 * random()] : [x, y, to[0] + 0.1 * random(), to[1] + 0.1 * random()];
  });
  const problem = new Problem();
  const matrix = problem.parameters('matrix', { dim: 8, values: [1, 0, 0, 0, 1, 0, 0, 0] });
  problem.residuals('pairs', {
    inputs: { h: matrix.shared(), pair: problem.data(pairs.flat(), 4) },
    residual: ({ h: [a, b, c, d, e, f, g, i], pair: [x, y, u, v] }) => {
      const w = V.add(V.add(g.mul(x), i.mul(y)), 1);
      return [a.mul(x).add(b.mul(y)).add(c).div(w).sub(u), d.mul(x).add(e.mul(y)).add(f).div(w).sub(v)];
    },
  });
  const { x, inliers } = await ransac(problem, { ...CPU, sampleSize: 4, threshold: 0.3 });
  assert.deepEqual([...inliers].filter((k) => k % 10 >= 4).length, 48);
  assert.ok(inliers.length <= 50, `${inliers.length}`);
  // Noise of 0.1 in 48 pairs over 100 units.
  near(x, h, 0.1, 'the homography');
});

test('a closed form gives samples their start, and says which are degenerate', async () => {
  const pose = Pose3.exp([0.4, -0.8, 0.3, 0.2, -0.1, 5]);
  const world = Array.from({ length: 60 }, () => [random(), random(), random()]);
  const seen = world.map((point, k) => {
    const [x, y, z] = [...pose.act(new Vec3(...point))].map((entry) => entry.data);
    return k % 2 === 0 ? [x / z + 1e-4 * random(), y / z + 1e-4 * random()] : [random(), random()];
  });
  const problem = new Problem();
  const poses = problem.poses('pose', { dim: 3, values: [1, 0, 0, 0, 0, 0, 3] });
  problem.residuals('seen', {
    inputs: { pose: poses.shared(), point: problem.data(world.flat(), 3), at: problem.data(seen.flat(), 2) },
    residual: ({ pose, point, at }) => {
      const { x, y, z } = pose.act(point);
      return [x.div(z).sub(at.x), y.div(z).sub(at.y)];
    },
  });
  let degenerate = 0;
  const start = (sample) => {
    assert.equal(new Set(sample).size, 4);
    if (sample.includes(7)) {
      degenerate++;
      return null;
    }
    return { pose: solvePnp([...sample].flatMap((k) => world[k]), [...sample].flatMap((k) => [...seen[k], 1])).pose };
  };
  const { x, inliers } = await ransac(problem, { ...CPU, sampleSize: 4, threshold: 1e-3, start });
  assert.ok(degenerate > 0);
  assert.deepEqual([...inliers], Array.from({ length: 30 }, (_, k) => 2 * k));
  const off = pose.between(Pose3.fromBlock([...x])).log().map((entry) => entry.data);
  // Noise of 1e-4 in 30 directions, at a distance of 5.
  assert.ok(Math.hypot(...off) < 2e-3, `${off}`);
});

test('an aborted search rejects, or refines what it has', async () => {
  const { problem } = lineThrough(points(60, (k) => k % 2 === 0));
  const controller = new AbortController();
  controller.abort();
  await assert.rejects(ransac(problem, { ...CPU, sampleSize: 2, threshold: 0.02, signal: controller.signal }), { code: 'aborted' });

  const abortedAt = (call, template, more) => {
    const controller = new AbortController();
    let calls = 0;
    const start = () => {
      if (++calls === call) controller.abort();
      return { line: [0, 0] };
    };
    return ransac(template, { ...CPU, sampleSize: 2, threshold: 0.02, ...more, start, signal: controller.signal });
  };
  await assert.rejects(abortedAt(1, problem), { code: 'aborted' }, 'no problem of the batch was solved');
  // Samples of two points of this noise are off by more than the refinement leaves.
  const list = points(200, (k) => k % 5 < 2);
  const found = await abortedAt(40, lineThrough(list).problem, { confidence: 0.999999999 });
  assert.equal(found.samples, 32, 'samples of the aborted batch are not counted');
  near(found.x, leastSquares(list, found.inliers), 1e-9, 'refined');
  assert.ok(found.inliers.length >= 120 && found.confidence < 0.999999999, `${found.inliers.length}, ${found.confidence}`);
});

test('wrong options and templates are named', async () => {
  const { problem, line } = lineThrough(points(10, () => false));
  const good = { ...CPU, sampleSize: 2, threshold: 1 };
  const two = new Problem();
  const p = two.parameters('p', { dim: 1, values: [1, 2] });
  two.residuals('a', { inputs: { p: p.at([0, 1]) }, residual: ({ p }) => p });
  two.residuals('b', { inputs: { p: p.at([0, 1]) }, residual: ({ p }) => p });
  for (const [template, options, message] of [
    [line, good, 'ransac: template: got a ParameterBlocks; takes a Problem'],
    [problem, { ...good, sampleSize: 0 }, 'ransac: sampleSize: got 0; takes a whole number of at least 1'],
    [problem, { ...CPU, threshold: 1 }, 'ransac: sampleSize: got undefined; takes a whole number of at least 1'],
    [problem, { ...good, threshold: -1 }, 'ransac: threshold: got -1; takes a finite number of at least 0'],
    [problem, { ...good, confidence: 1 }, 'ransac: confidence: got 1; takes a number of at least 0 and below 1'],
    [problem, { ...good, sampleSize: 11 }, 'ransac: template: got 10 measurements; takes at least 11, the size of a sample'],
    [problem, { ...good, treshold: 1 }, "ransac: options: got the unknown option \"treshold\"; did you mean 'threshold'?"],
    [problem, { ...good, block: 'lines' }, 'ransac: block: got no residual block of that name; takes one of "points"'],
    [problem, { ...good, start: 7 }, 'ransac: start: got 7; takes a function'],
    [problem, { ...good, start: () => 7 }, 'ransac: result of start: got 7; takes an object'],
    [problem, { ...good, start: () => ({ curve: [1] }) }, 'ransac: result of start.curve: got no parameter array of that name; takes one of "line"'],
    [problem, { ...good, start: () => ({ line: [1] }) }, 'ransac: result of start.line: got 1 numbers; takes 2: as many as "line" has'],
    [two, good, "ransac: block: got none; takes the name of one of the template's 2 residual blocks"],
    [two, { ...good, block: 'b' }, 'ransac: template: got the input "p" of the block "b"; takes blocks whose inputs are data and shared parameters'],
  ]) {
    await assert.rejects(async () => ransac(template, options), (error) => error.code === 'invalid-argument' && (error.message === message || assert.fail(error.message)));
  }
  for (const [set, what] of [[(block) => block.setEnabled(false), 'is disabled'], [(block) => block.setWeight(0), 'has the weight 0']]) {
    const { problem: without, block } = lineThrough(points(10, () => false));
    set(block);
    for (const more of [{}, { block: 'points' }]) {
      const message = `ransac: block: got "points", which ${what}; takes a residual block that takes part in solves`;
      await assert.rejects(async () => ransac(without, { ...good, ...more }), { code: 'invalid-argument', message });
    }
  }
  const { problem: hopeless } = lineThrough(Array.from({ length: 5 }, (_, k) => [k, 1]), { residual: ({ line }) => line.x.add(V.log(line.y.mul(0).sub(1))) });
  await assert.rejects(ransac(hopeless, { ...good, maxSamples: 10 }), { code: 'non-finite' });
});
