// Data without noise: what is left of the cost at the solution is rounding, and the solution counts as converged, also as a start.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededNoise } from '../../www/problems/seeded-noise.js';
import { residua } from '../www/residua.mjs';

const { GpuCompiledFunctions, levenbergMarquardt, Problem, solve, solveMany } = residua;

/** v rotated by the unit quaternion (w, x, y, z). */
function rotated([w, x, y, z], [a, b, c]) {
  const [u, v, t] = [2 * (y * c - z * b), 2 * (z * a - x * c), 2 * (x * b - y * a)];
  return [a + w * u + y * t - z * v, b + w * v + z * u - x * t, c + w * t + x * v - y * u];
}

const KINDS = {
  points: { residual: ({ pose, p, q }) => pose.act(p).sub(q) },
  planes: { residual: ({ pose, p, q, n }) => pose.act(p).sub(q).dot(n) },
};

for (const [kind, { residual }] of Object.entries(KINDS)) {
  for (const [count, offset] of [[10, 0], [10, 1e6], [2000, 1e6], [20_000, 0], [20_000, 1e3], [20_000, 1e6]]) {
    test(`${count} ${kind} at ${offset}, moved without noise`, async () => {
      const random = seededNoise(count + offset + 1);
      const between = () => 2 * random.uniform() - 1;
      for (let seed = 0; seed < 3; seed++) {
        const turn = [1, 0.2 * between(), 0.2 * between(), 0.2 * between()];
        const length = Math.hypot(...turn);
        const quaternion = turn.map((each) => each / length);
        const shift = [between(), between(), between()];
        const [p, q, n] = [[], [], []];
        for (let i = 0; i < count; i++) {
          const at = [offset + between(), offset + between(), between()];
          p.push(...at);
          q.push(...rotated(quaternion, at).map((each, k) => each + shift[k]));
          const normal = [between(), between(), between()];
          n.push(...normal.map((each) => each / Math.hypot(...normal)));
        }
        const problem = new Problem();
        const poses = problem.poses('pose', { dim: 3, values: [1, 0, 0, 0, 0, 0, 0] });
        problem.residuals(kind, { inputs: { pose: poses.shared(), p: problem.data(p, 3), q: problem.data(q, 3), n: problem.data(n, 3) }, residual });
        const functions = await GpuCompiledFunctions.compile(problem, { backend: 'cpu' });
        for (let times = 0; times < 4; times++) {
          const { success, termination, message } = await levenbergMarquardt(functions);
          assert.ok(success, `seed ${seed}, solved ${times} times before: ${termination}: ${message}`);
        }
        functions.dispose();
        // Residuals are uncertain by some roundings of their largest terms, and the shift by as much as an error of the turn, a rounding, moves the points.
        const tolerance = 8 * 2.2e-16 * (1 + offset) * (1 + offset / 2);
        const found = poses.values();
        const sign = Math.sign(found[0]);
        quaternion.forEach((each, k) => assert.ok(Math.abs(sign * found[k] - each) < 8 * 2.2e-16 * (1 + offset), `seed ${seed}: ${found.subarray(0, 4)} for ${quaternion}`));
        shift.forEach((each, k) => assert.ok(Math.abs(found[4 + k] - each) < tolerance, `seed ${seed}: ${found.subarray(4)} for ${shift}`));
      }
    });
  }
}

test('a prior that agrees with exact data slows no solve down: what is left is the rounding of numbers that residuals are differences of', async () => {
  const times = [0.1, 0.4, 0.5, 0.9, 1.3];
  for (const weight of [0.01, 0.1, 0.5]) {
    for (const start of [[-0.5, 1], [0.7, -0.3], [1e-9, 1e-9]]) {
      const template = () => {
        const problem = new Problem();
        const p = problem.parameters('p', { dim: 2, values: start });
        const y = problem.data(times.map(() => 1));
        problem.residuals('samples', { inputs: { p: p.shared(), t: problem.data(times), y }, residual: ({ p: [a, b], t, y }) => a.add(1).mul(b.mul(t).exp()).sub(y) });
        problem.residuals('prior', { inputs: { p: p.shared() }, residual: ({ p: [a, b] }) => [a.mul(weight), b.mul(weight)] });
        return problem;
      };
      const { success, iterations, termination, x } = await solve(template(), { backend: 'cpu' });
      assert.ok(success && iterations <= 128, `${weight}, ${start}: ${termination} after ${iterations}`);
      const many = await solveMany(template(), { count: 1 }, { backend: 'cpu' });
      assert.equal(many.converged, 1, `${weight}, ${start}: ${many.termination[0]} after ${many.iterations[0]}`);
      // Samples are off by some roundings of 1.
      for (const found of [...x, ...many.x]) assert.ok(Math.abs(found) < 8 * 2.2e-16, `${weight}, ${start}: ${found}`);
    }
  }
});

test('the operations of plain functions are not known, and a solve of them ends', async () => {
  const problem = new Problem();
  const p = problem.parameters('p', { dim: 1, values: [1] });
  const evaluate = ({ p }, out) => out.set([Math.expm1(p[0]) + 1 - 1, 0.5 * p[0]]);
  problem.residuals('plain', { inputs: { p: p.shared() }, outputs: 2, evaluate });
  const { x } = await solve(problem, { backend: 'cpu', maxIterations: 300 });
  assert.ok(Math.abs(x[0]) < 2.2e-16, String(x[0]));
});
