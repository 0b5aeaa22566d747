// Schur complements on the CPU: all forms find one minimum, and groups name what is eliminated.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { onCpu } from '../www/residua.mjs';

const { levenbergMarquardt, Problem, Vec2 } = await import('residua');

const [CAMERAS, POINTS] = [12, 60];

/** Cameras in the plane, each a place and a heading, that see points in their own frames. */
function observations(change = () => {}) {
  const problem = new Problem();
  const poses = Array.from({ length: CAMERAS }, (_, k) => [Math.cos(k), Math.sin(k), 0.1 * k]);
  const places = Array.from({ length: POINTS }, (_, k) => [4 * Math.sin(3 * k), 4 * Math.cos(5 * k)]);
  const cameras = problem.parameters('cameras', { dim: 3, values: poses.flat().map((value, k) => value + (k < 3 ? 0 : 0.1 * Math.sin(7 * k))) });
  const points = problem.parameters('points', { dim: 2, values: places.flat().map((value, k) => value + 0.2 * Math.cos(11 * k)) });
  cameras.setConstant([0]);
  const pairs = places.flatMap((_, point) => [0, 1, 2, 3].map((k) => [(point + 3 * k) % CAMERAS, point]));
  const seen = pairs.flatMap(([camera, point]) => {
    const [x, y, heading] = poses[camera];
    const [dx, dy] = [places[point][0] - x, places[point][1] - y];
    const [c, s] = [Math.cos(heading), Math.sin(heading)];
    return [c * dx + s * dy + 0.01 * Math.sin(13 * point), c * dy - s * dx + 0.01 * Math.cos(17 * camera)];
  });
  problem.residuals('observations', {
    inputs: { camera: cameras.at(pairs.map(([camera]) => camera)), point: points.at(pairs.map(([, point]) => point)), seen: problem.data(seen, 2) },
    residual: ({ camera: { x, y, z: heading }, point, seen: measured }) => {
      const [c, s, dx, dy] = [heading.cos(), heading.sin(), point.x.sub(x), point.y.sub(y)];
      return new Vec2(c.mul(dx).add(s.mul(dy)), c.mul(dy).sub(s.mul(dx))).sub(measured);
    },
  });
  change({ cameras, points, problem });
  return problem;
}

test('all linear solvers find one minimum', async () => {
  const costs = [];
  for (const linearSolver of ['sparse-cholesky', 'sparse-schur', 'dense-schur', 'iterative-schur', 'pcg', 'auto']) {
    await onCpu(observations(), async (functions) => {
      const result = await levenbergMarquardt(functions, { linearSolver });
      assert.ok(result.success, `${linearSolver}: ${result.message}`);
      costs.push(result.finalCost);
    });
  }
  // costTolerance is 1e-8.
  for (const cost of costs) assert.ok(Math.abs(cost - costs[0]) < 1e-7 * costs[0], costs.join(' '));
});

test('a group names the blocks that are eliminated, cameras too', async () => {
  const costs = await Promise.all([{ cameras: 0 }, { points: 0 }, { cameras: 1, points: 0 }].map((groups) => {
    const problem = observations((arrays) => {
      for (const [name, group] of Object.entries(groups)) arrays[name].setElimination(group);
    });
    return onCpu(problem, async (functions) => (await levenbergMarquardt(functions, { linearSolver: 'dense-schur' })).finalCost);
  }));
  for (const cost of costs) assert.ok(Math.abs(cost - costs[0]) < 1e-7 * costs[0], costs.join(' '));
});

test('a lowest group whose blocks share a residual is refused by name', async () => {
  const problem = observations(({ cameras, points }) => {
    cameras.setElimination(0);
    points.setElimination(0);
  });
  await assert.rejects(onCpu(problem, () => {}), ({ code, message }) => {
    assert.equal(code, 'invalid-argument');
    assert.match(message, /setElimination: got cameras\[0\] and points\[0\] in one group and in one residual, instance 0 of block 'observations'; takes a lowest group/);
    return true;
  });
});
