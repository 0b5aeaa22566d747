// Graduated non-convexity: with a third of false loops, samples or matches the solution is that of the right ones alone.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededNoise } from '../../www/problems/seeded-noise.js';
import { onCpu, residua } from '../www/residua.mjs';
const { cityGraph, edgeGroups, sphereGraph } = await import('../../www/demos/pose-graph/graphs.js');
const { poseGraphProblem } = await import('../../www/problems/pose-graph.js');

const { covariance, fit, lbfgs, levenbergMarquardt, loss, Pose3, Problem, solve, solveMany, Vec3 } = residua;

const KINDS = ['geman-mcclure', 'truncated'];
const SEEDS = [1, 2, 3];

/** The graph with false loops, `share` of its own: random pairs with random measurements. */
function withFalseLoops(graph, share, seed) {
  const random = seededNoise(seed);
  const { dimension, positions, squareRoots } = graph;
  const poses = positions.length / dimension;
  const { closures } = edgeGroups(graph);
  const roots = squareRoots.length / (graph.edges.length / 2);
  const model = squareRoots.subarray(roots * closures[0], roots * (closures[0] + 1));
  const more = { edges: [], measuredPositions: [], measuredRotations: [], squareRoots: [] };
  for (let count = Math.round(share * closures.length); count > 0; ) {
    const [a, b] = [random.below(poses), random.below(poses)];
    if (Math.abs(a - b) < 2) continue;
    count--;
    more.edges.push(a, b);
    for (let d = 0; d < dimension; d++) more.measuredPositions.push(10 * random.normal());
    const turn = Array.from({ length: dimension === 2 ? 1 : 4 }, random.normal);
    more.measuredRotations.push(...(dimension === 2 ? [3 * turn[0]] : turn.map((x) => x / Math.hypot(...turn))));
    more.squareRoots.push(...model);
  }
  const joined = (name) => graph[name].constructor.from([...graph[name], ...more[name]]);
  return { ...graph, edges: joined('edges'), measuredPositions: joined('measuredPositions'), measuredRotations: joined('measuredRotations'), squareRoots: joined('squareRoots') };
}

/** Solves with a loss for the loops; the error is the root of the mean squared distance from the truth. */
async function trajectory(graph, of) {
  const { odometry, closures } = edgeGroups(graph);
  const { problem, positions } = poseGraphProblem(graph, { odometry: { edges: odometry }, loops: { edges: closures, loss: of } });
  const result = await solve(problem, { backend: 'cpu' });
  const { dimension, truth } = graph;
  const values = positions.values();
  const error = Math.sqrt(truth.positions.reduce((sum, x, i) => sum + (x - values[i]) ** 2, 0) / (values.length / dimension));
  return { error, result };
}

/** By dimension: no residual of a right loop is this long in units of its standard deviation: a χ² of 3 or 6 freedoms is above it once in a million. */
const SCALE = { 2: 5.5, 3: 6.2 };

for (const [name, graph] of Object.entries({ sphere: sphereGraph({ poses: 200, lap: 20, radius: 8 }), city: cityGraph({ poses: 300, blocks: 3 }) })) {
  for (const kind of KINDS) {
    test(`${kind}: a ${name} with 30 % false loops has the trajectory error of the clean one`, async () => {
      const clean = await trajectory(graph, loss.graduated(kind, SCALE[graph.dimension]));
      const right = edgeGroups(graph).closures.length;
      for (const seed of SEEDS) {
        const { error, result } = await trajectory(withFalseLoops(graph, 0.3, seed), loss.graduated(kind, SCALE[graph.dimension]));
        assert.ok(result.success, result.message);
        assert.ok(Math.abs(error / clean.error - 1) < 0.01, `seed ${seed}: ${error}, clean ${clean.error}`);
        result.lossWeights.loops.forEach((weight, i) => assert.equal(weight > 0.25, i < right, `loop ${i} of ${right} right ones: ${weight}`));
      }
    });
  }
}

/** A line through 60 samples, of which the last 18 are of another curve; with the right answer of the others alone. With `isPlain` residuals are plain functions. */
function lineProblem(of, seed, isPlain = false) {
  const random = seededNoise(seed);
  const x = Array.from({ length: 60 }, (_, i) => i / 6);
  const y = x.map((value, i) => (i < 42 ? 2 * value + 1 + 0.05 * random.normal() : 30 * random.uniform()));
  const problem = new Problem();
  const line = problem.parameters('line', { dim: 2, values: [0, 0] });
  const inputs = { l: line.shared(), x: problem.data(x), y: problem.data(y) };
  const evaluate = ({ l, x, y }, out) => void (out[0] = l[0] * x[0] + l[1] - y[0]);
  const functions = isPlain ? { outputs: 1, evaluate } : { residual: ({ l, x, y }) => l.x.mul(x).add(l.y).sub(y) };
  const block = problem.residuals('samples', { inputs, ...functions, loss: of });
  return { problem, line, block, x, y };
}

const LOSS = { 'geman-mcclure': (s, c) => (c * c * s) / (c * c + s), truncated: (s, c) => Math.min(s, c * c) };

for (const kind of KINDS) {
  test(`${kind}: a line among 30 % outliers, its cost, weights and history`, async () => {
    for (const seed of SEEDS) {
      const { problem, line, block, x, y } = lineProblem(loss.scaled(loss.graduated(kind, 0.3), 3), seed);
      const seen = [];
      const result = await solve(problem, { backend: 'cpu', onIteration: ({ iteration }) => void seen.push(iteration) });
      assert.ok(result.success, result.message);
      const [a, b] = line.values();
      assert.ok(Math.abs(a - 2) < 0.05 && Math.abs(b - 1) < 0.1, `${a}, ${b}`);
      const squares = (p, q) => x.map((value, i) => (p * value + q - y[i]) ** 2);
      const cost = (p, q) => squares(p, q).reduce((sum, s) => sum + 1.5 * LOSS[kind](s, 0.3), 0);
      assert.ok(Math.abs(result.finalCost / cost(a, b) - 1) < 1e-12 && Math.abs(result.initialCost / cost(0, 0) - 1) < 1e-12, `${result.finalCost}, ${result.initialCost}`);
      // A minimum of the loss itself: it is above in a neighbourhood, whose rise is far above rounding and below the step to another set of inliers.
      for (const [p, q] of [[1e-4, 0], [-1e-4, 0], [0, 1e-3], [0, -1e-3]]) assert.ok(cost(a + p, b + q) > cost(a, b));
      const { samples } = result.lossWeights;
      squares(a, b).forEach((s, i) => {
        const expected = kind === 'truncated' ? Number(s <= 0.09) : (1 + s / 0.09) ** -2;
        assert.ok(Math.abs(samples[i] - expected) < 1e-9, `${i}: ${samples[i]}, ${expected}`);
      });
      const numbers = result.history.map(({ iteration }) => iteration);
      assert.deepEqual(numbers, numbers.map((_, i) => i), 'iterations are counted through all stages');
      assert.deepEqual(seen, numbers);
      assert.equal(numbers.at(-1), result.iterations);
      assert.ok(result.history.every(({ elapsedMs }, i) => i === 0 || elapsedMs >= result.history[i - 1].elapsedMs));
      // The caller's weights are there again: the squared cost counts all samples.
      block.setLoss(loss.squared());
      const { value } = await onCpu(problem, (functions) => functions.evaluateCostWithGradient());
      const sum = squares(a, b).reduce((total, s) => total + s / 2, 0);
      assert.ok(Math.abs(value / sum - 1) < 1e-12, `${value}, ${sum}`);
    }
  });

  test(`${kind}: L-BFGS finds the line too`, async () => {
    const { problem, line } = lineProblem(loss.graduated(kind, 0.3), 1);
    const result = await onCpu(problem, (functions) => lbfgs(functions, { objective: 'least-squares' }));
    assert.ok(Math.abs(line.values()[0] - 2) < 0.05 && result.lossWeights.samples.length === 60, result.message);
  });

  test(`${kind}: plain functions, Newton's method and fit find the minimum of expressions`, async () => {
    for (const seed of SEEDS) {
      const expected = lineProblem(loss.graduated(kind, 0.3), seed);
      const { finalCost, lossWeights } = await solve(expected.problem, { backend: 'cpu' });
      const plain = lineProblem(loss.graduated(kind, 0.3), seed, true);
      const second = lineProblem(loss.graduated(kind, 0.3), seed);
      const { x, y } = expected;
      const fitted = await fit(([a, b]) => (x) => a * x + b, { x, y }, { initialValues: [0, 0], loss: loss.graduated(kind, 0.3) });
      const results = {
        plain: [await solve(plain.problem, { backend: 'cpu' }), plain.line.values()],
        newton: [await solve(second.problem, { method: 'newton', objective: 'least-squares' }), second.line.values()],
        fit: [fitted.solve, fitted.parameterValues],
      };
      for (const [name, [result, values]] of Object.entries(results)) {
        assert.ok(result.success, `${name}: ${result.message}`);
        // Solves end where the cost has settled to 1e-8 of itself, so that parameters have about the root of that.
        assert.ok(Math.abs(result.finalCost / finalCost - 1) < 1e-7, `${name}: ${result.finalCost}, ${finalCost}`);
        values.forEach((value, i) => assert.ok(Math.abs(value - expected.line.values()[i]) < 1e-4, `${name}: ${value}, ${expected.line.values()[i]}`));
        result.lossWeights.samples.forEach((weight, i) => assert.ok(Math.abs(weight - lossWeights.samples[i]) < 1e-3, `${name}, ${i}: ${weight}`));
      }
    }
  });

  test(`${kind}: a rigid motion between points of which half are matched wrongly`, async () => {
    for (const seed of SEEDS) {
      const random = seededNoise(seed);
      const truth = Pose3.exp([0.8, -0.5, 1.1, 2, -1, 3]);
      const numbers = (value) => [...value].map((entry) => entry.data);
      const points = Array.from({ length: 80 }, () => [0, 1, 2].map(() => 5 * random.normal()));
      const seen = points.map((point, i) => (i < 40 ? numbers(truth.act(new Vec3(...point))).map((entry) => entry + 0.02 * random.normal()) : point.map(() => 10 * random.normal())));
      const problem = new Problem();
      const pose = problem.poses('pose', { dim: 3, values: [1, 0, 0, 0, 0, 0, 0] });
      problem.residuals('pairs', {
        inputs: { pose: pose.shared(), p: problem.data(points.flat(), 3), q: problem.data(seen.flat(), 3) }, residual: ({ pose, p, q }) => pose.act(p).sub(q), loss: loss.graduated(kind, 0.15),
      });
      const { lossWeights } = await solve(problem, { backend: 'cpu' });
      const error = numbers(truth.between(Pose3.fromBlock([...pose.values()])).log());
      // Some standard errors: 0.02 over the root of 40, for rotations over the size of the cloud too.
      assert.ok(Math.hypot(...error) < 0.03, `seed ${seed}: ${error}`);
      lossWeights.pairs.forEach((weight, i) => assert.equal(weight > 0.25, i < 40, `seed ${seed}, pair ${i}`));
    }
  });
}

test('without outliers the result is that of least squares, with weights of 1, and an instance of weight 0 is no outlier', async () => {
  const problem = new Problem();
  const p = problem.parameters('p', { dim: 1, values: [7] });
  const data = [1, 1.1, 0.9, NaN, 1e9];
  problem.residuals('r', { inputs: { p: p.shared(), y: problem.data(data.map((x) => (Number.isNaN(x) ? 0 : x))) }, residual: ({ p, y }) => p.sub(y), loss: loss.graduated('truncated', 5), weights: [1, 2, 1, 0, 0] });
  const { lossWeights, finalCost } = await solve(problem, { backend: 'cpu' });
  assert.ok(Math.abs(p.values()[0] - 4.1 / 4) < 1e-9, `${p.values()}`);
  assert.deepEqual([...lossWeights.r], [1, 1, 1, 1, 1]);
  assert.ok(Math.abs(finalCost - 0.5 * (0.025 ** 2 + 2 * 0.075 ** 2 + 0.125 ** 2)) < 1e-12, `${finalCost}`);
});

test('limits are those of the whole solve, and a listener ends it', async () => {
  const { problem } = lineProblem(loss.graduated('truncated', 0.3), 1);
  const limited = await solve(problem, { backend: 'cpu', maxIterations: 7 });
  assert.deepEqual([limited.termination, limited.success, limited.iterations], ['max-iterations', false, 7]);
  const stopped = await solve(lineProblem(loss.graduated('truncated', 0.3), 1).problem, { backend: 'cpu', onIteration: ({ iteration }) => iteration === 5 });
  assert.deepEqual([stopped.termination, stopped.success, stopped.iterations], ['aborted', false, 5]);
  assert.ok(Number.isFinite(stopped.finalCost));
});

test('what cannot be had with a graduated loss is refused, and says what to do', async () => {
  assert.throws(() => loss.graduated('tukey', 1), { code: 'invalid-argument', message: "loss.graduated: kind: got \"tukey\"; takes 'geman-mcclure' or 'truncated'" });
  assert.throws(() => loss.graduated('truncated', 0), { code: 'invalid-argument', message: 'loss.graduated: scale: got 0; takes a finite number above 0' });
  const problem = new Problem();
  const p = problem.parameters('p', { dim: 1, values: [1] });
  const plain = problem.residuals('plain', { inputs: { p: p.shared() }, residual: ({ p }) => p });
  assert.throws(() => plain.setLoss(loss.graduated('truncated', 1)), { code: 'invalid-argument', message: 'plain.setLoss: loss: got a graduated loss for a block without weights; takes it for blocks that are made with weights, or with such a loss' });
  const block = problem.residuals('r', { inputs: { p: p.shared() }, residual: ({ p }) => p, loss: loss.graduated('truncated', 1) });
  const refused = (call) => ({ code: 'invalid-argument', message: new RegExp(`^${call}: got a graduated loss of the residual block "r"; takes other losses`) });
  await onCpu(problem, async (functions) => {
    await assert.rejects(() => covariance(functions), refused('covariance'));
    await assert.rejects(() => functions.evaluateCostWithGradient(), refused('evaluateCostWithGradient'));
    await assert.rejects(() => functions.evaluateCostWithGradientOnDevice(), refused('evaluateCostWithGradientOnDevice'));
    await assert.rejects(() => functions.evaluateHessian(undefined, { objective: 'least-squares' }), refused('evaluateHessian'));
    await assert.rejects(() => functions.evaluateHessianProduct(undefined, [1], undefined, { objective: 'least-squares' }), refused('evaluateHessianProduct'));
    assert.deepEqual((await functions.evaluateHessian()).toDense(), Float64Array.of(0), 'a sum has no losses');
    const { lossWeights } = await levenbergMarquardt(functions);
    block.setLoss(loss.squared());
    block.setData('weights', lossWeights.r);
    await covariance(functions, { absoluteSigma: true });
  });
  block.setLoss(loss.graduated('truncated', 1));
  await assert.rejects(async () => solveMany(problem, { count: 1 }), refused('solveMany: template'));
});

test('with constraints a graduated loss is refused where the objective has losses', async () => {
  const problem = new Problem();
  const p = problem.parameters('p', { dim: 1, values: [3] });
  const block = problem.residuals('r', { inputs: { p: p.shared() }, residual: ({ p }) => p.square(), loss: loss.graduated('truncated', 1) });
  problem.equalities('c', { inputs: { p: p.shared() }, constraint: ({ p }) => p.sub(2) });
  const refused = (call) => ({ code: 'invalid-argument', message: `${call}: got a graduated loss of the residual block "r"; takes other losses in a problem with constraints` });
  await assert.rejects(() => solve(problem, { backend: 'cpu' }), refused('solve'));
  await assert.rejects(() => solve(problem, { backend: 'cpu', method: 'lbfgs' }), refused('solve'));
  await onCpu(problem, async (functions) => {
    await assert.rejects(() => levenbergMarquardt(functions), refused('levenbergMarquardt'));
    await assert.rejects(() => lbfgs(functions, { objective: 'least-squares' }), refused('lbfgs'));
    assert.equal(p.values()[0], 3);
    const { success, lossWeights } = await lbfgs(functions);
    assert.deepEqual([success, lossWeights], [true, undefined]);
    assert.ok(Math.abs(p.values()[0] - 2) < 1e-9);
    block.setEnabled(false);
    p.set([5]);
    assert.ok((await levenbergMarquardt(functions)).success);
    assert.ok(Math.abs(p.values()[0] - 2) < 1e-9);
  });
});
