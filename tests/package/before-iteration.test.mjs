// Solves in which the caller changes the problem between iterations.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededNoise } from '../../www/problems/seeded-noise.js';
import { residua } from '../www/residua.mjs';

const { GpuCompiledFunctions, levenbergMarquardt, loss, newton, Problem, solve, V } = residua;
const CPU = { backend: 'cpu' };

/** A surface with its normals, at `count` places in the square from −1 to 1. */
function surface(count) {
  const random = seededNoise(5);
  const points = new Float64Array(3 * count);
  const normals = new Float64Array(3 * count);
  for (let i = 0; i < count; i++) {
    const [x, y] = [2 * random.uniform() - 1, 2 * random.uniform() - 1];
    const [dx, dy] = [0.9 * Math.cos(3 * x), -0.8 * Math.sin(4 * y) + 0.2 * y];
    points.set([x, y, 0.3 * Math.sin(3 * x) + 0.2 * Math.cos(4 * y) + 0.1 * y * y], 3 * i);
    const norm = Math.hypot(dx, dy, 1);
    normals.set([-dx / norm, -dy / norm, 1 / norm], 3 * i);
  }
  return { points, normals };
}

/** Finds the nearest of points by cells of a grid in x and y. */
function nearestOf(points, cell) {
  const key = (i, j) => (i + 512) * 1024 + j + 512;
  const cells = new Map();
  for (let i = 0; i < points.length / 3; i++) {
    const at = key(Math.floor(points[3 * i] / cell), Math.floor(points[3 * i + 1] / cell));
    if (!cells.has(at)) cells.set(at, []);
    cells.get(at).push(i);
  }
  return (x, y, z) => {
    const [i, j] = [Math.floor(x / cell), Math.floor(y / cell)];
    let [best, least] = [-1, Infinity];
    // A point in a ring of cells is at least so many cells less one away.
    for (let ring = 0; ring < 100 && (ring - 1) * cell < Math.sqrt(least); ring++) {
      for (let a = i - ring; a <= i + ring; a++) {
        for (let b = j - ring; b <= j + ring; b++) {
          if (Math.max(Math.abs(a - i), Math.abs(b - j)) !== ring) continue;
          for (const p of cells.get(key(a, b)) ?? []) {
            const square = (points[3 * p] - x) ** 2 + (points[3 * p + 1] - y) ** 2 + (points[3 * p + 2] - z) ** 2;
            if (square < least) [best, least] = [p, square];
          }
        }
      }
    }
    return best;
  };
}

/** R p + t by the unit quaternion (w, x, y, z). */
function moved([tx, ty, tz], [w, x, y, z], [px, py, pz]) {
  const [cx, cy, cz] = [2 * (y * pz - z * py), 2 * (z * px - x * pz), 2 * (x * py - y * px)];
  return [px + w * cx + y * cz - z * cy + tx, py + w * cy + z * cx - x * cz + ty, pz + w * cz + x * cy - y * cx + tz];
}

test('ICP of 20,000 points to planes recovers the motion, with correspondences that change at each iteration', async () => {
  const count = 20_000;
  const { points, normals } = surface(count);
  const half = [0.06, -0.04, 0.05];
  const turn = [Math.sqrt(1 - half.reduce((sum, x) => sum + x * x, 0)), ...half];
  const shift = [0.03, -0.02, 0.04];
  const inverse = [turn[0], -turn[1], -turn[2], -turn[3]];
  const source = new Float64Array(3 * count);
  for (let i = 0; i < count; i++) source.set(moved([0, 0, 0], inverse, [0, 1, 2].map((k) => points[3 * i + k] - shift[k])), 3 * i);

  const problem = new Problem();
  const poses = problem.poses('poses', { dim: 3, values: [1, 0, 0, 0, 0, 0, 0] });
  const planes = problem.residuals('planes', {
    inputs: { pose: poses.at(new Uint32Array(count)), p: problem.data(source, 3), q: problem.data(points, 3), n: problem.data(normals, 3) },
    residual: ({ pose, p, q, n }) => pose.act(p).sub(q).dot(n),
  });
  const functions = await GpuCompiledFunctions.compile(problem, CPU);
  const nearest = nearestOf(points, 0.02);
  let calls = 0;
  const result = await levenbergMarquardt(functions, {
    beforeIteration: async ({ x, iteration }) => {
      assert.equal(iteration, calls++);
      const pose = await x;
      const [q, n] = [new Float64Array(3 * count), new Float64Array(3 * count)];
      for (let i = 0; i < count; i++) {
        const best = nearest(...moved(pose.subarray(4, 7), pose.subarray(0, 4), source.subarray(3 * i, 3 * i + 3)));
        q.set(points.subarray(3 * best, 3 * best + 3), 3 * i);
        n.set(normals.subarray(3 * best, 3 * best + 3), 3 * i);
      }
      planes.setData('q', q);
      planes.setData('n', n);
    },
  });
  functions.dispose();
  assert.ok(result.success, result.message);
  assert.ok(result.iterations < 40, `${result.iterations} iterations`);
  const found = poses.values();
  const sign = Math.sign(found[0]);
  const error = [...turn, ...shift].map((right, k) => Math.abs((k < 4 ? sign : 1) * found[k] - right));
  // Without noise the right correspondences fit exactly: what is left is rounding.
  assert.ok(Math.max(...error) < 1e-9, `${error}`);
});

/** A line with outliers. */
function line() {
  const random = seededNoise(11);
  const xs = Array.from({ length: 60 }, (_, i) => i / 10);
  const ys = xs.map((x, i) => 2 * x - 1 + 0.1 * random.normal() + (i % 7 === 0 ? 5 : 0));
  const problem = new Problem();
  const parameters = problem.parameters('line', { dim: 2, values: [0, 0] });
  const index = new Uint32Array(xs.length);
  const samples = problem.residuals('samples', {
    inputs: { line: parameters.at(index), x: problem.data(xs, 1), y: problem.data(ys, 1) },
    residual: ({ line, x, y }) => line.x.mul(x).add(line.y).sub(y),
    weights: new Float64Array(xs.length).fill(1),
  });
  return { problem, parameters, samples };
}

test('weights that are set before each iteration lead to the minimum of the robust loss that they are of', async () => {
  const robust = line();
  robust.samples.setLoss(loss.huber(0.3));
  const right = await solve(robust.problem, { ...CPU, costTolerance: 1e-15 });
  assert.ok(right.success);
  const { problem, parameters, samples } = line();
  const functions = await GpuCompiledFunctions.compile(problem, CPU);
  const result = await levenbergMarquardt(functions, {
    maxIterations: 500,
    costTolerance: 1e-15,
    parameterTolerance: 1e-13,
    // The functions are free meanwhile.
    beforeIteration: async () => samples.setData('weights', (await functions.evaluate()).map((r) => Math.min(1, 0.3 / Math.abs(r)))),
  });
  functions.dispose();
  assert.ok(result.success, result.message);
  // Reweighting converges linearly: steps of 1e-13 leave some times that.
  parameters.values().forEach((value, k) => assert.ok(Math.abs(value - robust.parameters.values()[k]) < 1e-9, `${parameters.values()} ${robust.parameters.values()}`));
});

/** Rosenbrock's valley. */
function valley() {
  const problem = new Problem();
  const at = problem.parameters('at', { dim: 2, values: [-1.2, 1] });
  const valley = problem.residuals('valley', { inputs: { at: at.at([0]), bend: problem.data([10], 1) }, residual: ({ at: p, bend }) => [p.y.sub(p.x.square()).mul(bend), V.sub(1, p.x)] });
  return { problem, at, valley };
}

test('without changes the minimum is the same, and iterations are numbered on', async () => {
  for (const method of [levenbergMarquardt, newton]) {
    const { problem, at } = valley();
    const functions = await GpuCompiledFunctions.compile(problem, CPU);
    const [before, heard] = [[], []];
    const options = {
      ...(method === newton ? { objective: 'least-squares' } : {}),
      beforeIteration: ({ iteration }) => void before.push(iteration),
      onIteration: ({ iteration, elapsedMs }) => void heard.push([iteration, elapsedMs]),
    };
    const result = await method(functions, options);
    functions.dispose();
    assert.ok(result.success, result.message);
    at.values().forEach((value) => assert.ok(Math.abs(value - 1) < 1e-6, `${at.values()}`));
    assert.deepEqual(before.slice(0, 3), [0, 1, 2]);
    assert.deepEqual(heard.map(([iteration]) => iteration), Array.from({ length: result.iterations + 1 }, (_, k) => k));
    assert.deepEqual(result.history.map(({ iteration }) => iteration), heard.map(([iteration]) => iteration));
    assert.ok(heard.every(([, ms], k) => k === 0 || ms >= heard[k - 1][1]), `${heard}`);
    assert.ok(result.initialCost > 10 && result.finalCost < 1e-12, `${result.initialCost} ${result.finalCost}`);
  }
});

test('the radius of steps is kept from iteration to iteration', async () => {
  // Numbers of iterations of this solver: with a radius that begins anew in each of them they are 8, 6 and 6.
  for (const [residual, start, iterations] of [
    [(p) => p.exp().sub(1), -2, 5],
    [(p) => p.tanh(), 2, 5],
    [(p) => V.atan2(p, 1), 3, 5],
  ]) {
    const problem = new Problem();
    const p = problem.parameters('p', { dim: 1, values: [start] });
    problem.residuals('r', { inputs: { p: p.shared() }, residual: ({ p }) => residual(p) });
    const result = await solve(problem, { ...CPU, beforeIteration: () => {} });
    assert.ok(result.success, result.message);
    assert.equal(result.iterations, iterations, String(residual));
    assert.ok(Math.abs(p.values()[0]) < 1e-9, `${residual}: ${p.values()}`);
  }
});

test('true lets the solve go on where it has converged, until a schedule has ended', async () => {
  const { problem, valley: block, at } = valley();
  const functions = await GpuCompiledFunctions.compile(problem, CPU);
  const bends = [];
  const result = await levenbergMarquardt(functions, {
    beforeIteration: ({ iteration }) => {
      const bend = Math.min(2 ** iteration, 64);
      bends.push(bend);
      block.setData('bend', [bend]);
      return bend < 64;
    },
  });
  assert.ok(result.success, result.message);
  assert.deepEqual(bends.slice(0, 7), [1, 2, 4, 8, 16, 32, 64]);
  const endless = await levenbergMarquardt(functions, { beforeIteration: () => true, maxIterations: 20 });
  assert.deepEqual([endless.success, endless.termination, endless.finalCost < 1e-12], [false, 'max-iterations', true], 'a solve that converges again and again ends');
  functions.dispose();
  at.values().forEach((value) => assert.ok(Math.abs(value - 1) < 1e-6, `${at.values()}`));
});

test('values, constants and bounds that are set before an iteration hold from then on', async () => {
  const { problem, at } = valley();
  const functions = await GpuCompiledFunctions.compile(problem, CPU);
  const result = await levenbergMarquardt(functions, {
    beforeIteration: ({ iteration }) => {
      if (iteration === 2) at.set([0.5, 0.2]);
      if (iteration === 2) at.setBounds({ upper: [0.5, 10] });
    },
  });
  functions.dispose();
  assert.ok(result.success, result.message);
  // With x at most 0.5 the minimum is at x = 0.5, y = x².
  assert.ok(Math.abs(at.values()[0] - 0.5) < 1e-9 && Math.abs(at.values()[1] - 0.25) < 1e-6, `${at.values()}`);
});

test('limits, signals and listeners end the whole solve', async () => {
  const run = async (options) => {
    const { problem } = valley();
    const functions = await GpuCompiledFunctions.compile(problem, CPU);
    return levenbergMarquardt(functions, { beforeIteration: () => {}, ...options }).finally(() => functions.dispose());
  };
  const limited = await run({ maxIterations: 3 });
  assert.deepEqual([limited.success, limited.termination, limited.iterations], [false, 'max-iterations', 3]);
  assert.match(limited.message, /limit of iterations\. beforeIteration was called 3 times/);
  const none = await run({ maxIterations: 0 });
  assert.deepEqual([none.termination, none.iterations], ['max-iterations', 0]);
  const controller = new AbortController();
  const aborted = await run({ signal: controller.signal, beforeIteration: ({ iteration }) => iteration === 2 && controller.abort() });
  assert.deepEqual([aborted.success, aborted.termination, aborted.iterations], [false, 'aborted', 2]);
  const stopped = await run({ onIteration: ({ iteration }) => iteration === 2 });
  assert.deepEqual([stopped.success, stopped.termination, stopped.iterations], [false, 'aborted', 2]);
  const late = await run({ maxTimeMs: 30, beforeIteration: () => new Promise((resolve) => setTimeout(resolve, 20, true)) });
  assert.deepEqual([late.success, late.termination], [false, 'max-time']);
});

test('what beforeIteration throws is what the solve rejects with, and hostile arguments are refused', async () => {
  const { problem } = valley();
  const functions = await GpuCompiledFunctions.compile(problem, CPU);
  const thrown = new Error('of the caller');
  await assert.rejects(levenbergMarquardt(functions, { beforeIteration: () => { throw thrown; } }), thrown);
  await assert.rejects(levenbergMarquardt(functions, { beforeIteration: async () => { throw thrown; } }), thrown);
  for (const beforeIteration of [5, 'x', {}, null]) {
    await assert.rejects(levenbergMarquardt(functions, { beforeIteration }), { code: 'invalid-argument', message: /^levenbergMarquardt: beforeIteration: got .*; takes a function/ });
    await assert.rejects(newton(functions, { beforeIteration }), { code: 'invalid-argument', message: /^newton: beforeIteration: got .*; takes a function/ });
  }
  const ended = levenbergMarquardt(functions, { beforeIteration: () => functions.dispose() });
  await assert.rejects(ended, { code: 'disposed' });
  const constrained = valley();
  constrained.problem.equalities('c', { inputs: { at: constrained.at.at([0]) }, constraint: ({ at: p }) => p.x.sub(p.y) });
  await assert.rejects(solve(constrained.problem, { ...CPU, beforeIteration: () => {} }), { code: 'invalid-argument', message: /beforeIteration: got the constraint block "c"; takes problems without/ });
  const graduated = line();
  graduated.samples.setLoss(loss.graduated('truncated', 1));
  await assert.rejects(solve(graduated.problem, { ...CPU, beforeIteration: () => {} }), { code: 'invalid-argument', message: /beforeIteration: got a graduated loss/ });
});

test('graduated losses and constraints that beforeIteration sets are refused too', async () => {
  const { problem, samples } = line();
  for (const at of [0, 2]) {
    samples.setLoss(loss.squared());
    const beforeIteration = ({ iteration }) => {
      if (iteration === at) samples.setLoss(loss.graduated('truncated', 1));
      return true;
    };
    await assert.rejects(solve(problem, { ...CPU, beforeIteration }), { code: 'invalid-argument', message: /beforeIteration: got a graduated loss of the residual block "samples"/ });
  }
  const constrained = valley();
  const block = constrained.problem.equalities('c', { inputs: { at: constrained.at.at([0]) }, constraint: ({ at: p }) => p.x.sub(p.y) });
  block.setEnabled(false);
  const enable = () => block.setEnabled(true);
  await assert.rejects(solve(constrained.problem, { ...CPU, beforeIteration: enable }), { code: 'invalid-argument', message: /beforeIteration: got the constraint block "c"/ });
  // What the first call leaves is what counts.
  samples.setLoss(loss.graduated('truncated', 1));
  const { success, message } = await solve(problem, { ...CPU, beforeIteration: () => void samples.setLoss(loss.huber(0.3)) });
  assert.ok(success, message);
});
