/** Newton's method on the GPU, by conjugate gradients in f32, against the CPU, which factorises in f64. */
import { loss, Mat2, Mat3, newton, Problem, V, Vec2, Vec3 } from 'residua';
import { gpuAgainstCpu, onEach, onGpu } from '../define.js';
import { hillyMesh, symmetricDirichlet, tutte } from '../../problems/parametrisation.js';

/** A square of triangles, its right side pulled away, of which both sides are constant. */
function pulledSquare(side, change) {
  const rest = [], corners = [], held = [];
  const at = (column, row) => row * (side + 1) + column;
  for (let row = 0; row <= side; row++) {
    for (let column = 0; column <= side; column++) {
      rest.push(column / side, row / side);
      if (column === 0 || column === side) held.push(at(column, row));
      if (column === side || row === side) continue;
      const [a, b, c, d] = [at(column, row), at(column + 1, row), at(column + 1, row + 1), at(column, row + 1)];
      corners.push(a, b, c, a, c, d);
    }
  }
  const problem = new Problem();
  const places = problem.parameters('places', { dim: 2, values: rest.map((x, k) => (k % 2 === 0 ? 1.5 * x : x)) });
  places.setConstant(held);
  change?.(places);
  problem.residuals('triangles', {
    inputs: { now: places.at(corners, 3), shape: problem.data(corners.flatMap((vertex) => rest.slice(2 * vertex, 2 * vertex + 2)), 6) },
    residual: ({ now: [a, b, c], shape: t }) => {
      const atRest = Mat2.fromColumns(new Vec2(t[2].sub(t[0]), t[3].sub(t[1])), new Vec2(t[4].sub(t[0]), t[5].sub(t[1])));
      const deformation = Mat2.fromColumns(b.sub(a), c.sub(a)).matmul(atRest.inverse);
      const area = deformation.determinant;
      const energy = deformation.squaredNorm.sub(2).sub(V.log(area).mul(2)).add(V.log(area).square());
      return V.ifThenElse(area.gt(0), energy, Infinity);
    },
  });
  return { problem, places, held };
}

/** A row of cubes of six tetrahedra each, of which one end is held and the other sinks towards a floor with a barrier. */
function fallingBar(length) {
  const at = ([i, j, k]) => 4 * i + 2 * j + k;
  const places = [], corners = [];
  for (let i = 0; i <= length; i++) for (const j of [0, 1]) for (const k of [0, 1]) places.push(i, j, k + 0.15);
  for (let i = 0; i < length; i++) {
    for (const [first, second, third] of [[0, 1, 2], [1, 2, 0], [2, 0, 1], [1, 0, 2], [0, 2, 1], [2, 1, 0]]) {
      const walk = [[i, 0, 0]];
      for (const axis of [first, second, third]) walk.push(walk.at(-1).map((number, k) => number + (k === axis ? 1 : 0)));
      const vertices = walk.map(at);
      const isEven = (second - first + 3) % 3 === 1;
      corners.push(isEven ? vertices : [vertices[0], vertices[2], vertices[1], vertices[3]]);
    }
  }
  const problem = new Problem();
  const vertices = problem.parameters('vertices', { dim: 3, values: places });
  vertices.setConstant([0, 1, 2, 3]);
  const edges = (points) => Mat3.fromColumns(...[1, 2, 3].map((k) => points[k].sub(points[0])));
  problem.residuals('elasticity', {
    inputs: { p: vertices.at(corners.flat(), 4), rest: problem.data(corners.flatMap((tetrahedron) => tetrahedron.flatMap((vertex) => places.slice(3 * vertex, 3 * vertex + 3))), 12) },
    residual: ({ p, rest }) => {
      const then = [0, 1, 2, 3].map((k) => new Vec3(rest[3 * k], rest[3 * k + 1], rest[3 * k + 2]));
      const f = edges(p).matmul(edges(then).inverse);
      const volume = f.determinant;
      const energy = f.squaredNorm.sub(3).sub(V.log(volume).mul(2)).add(V.log(volume).square().mul(2)).mul(20);
      return V.ifThenElse(volume.gt(0), energy, Infinity);
    },
  });
  const each = vertices.at(places.slice(0, places.length / 3).map((_, k) => k));
  problem.residuals('weight', { inputs: { p: each }, residual: ({ p }) => p.z.mul(2) });
  problem.residuals('floor', { inputs: { p: each }, residual: ({ p }) => V.barrier(p.z, 0.1).mul(50) });
  return { problem, vertices };
}

/** Minimises on both engines from the same start. */
async function onBoth(check, { problem, array }, options = {}) {
  const start = array.values();
  const found = {};
  for (const backend of ['cpu', 'gpu']) {
    array.set(start);
    found[backend] = await newton(await check.compile(problem, { backend }), options);
  }
  check.equal(found.gpu.success, true, found.gpu.message);
  check.equal([found.cpu.arithmetic, found.gpu.arithmetic].join(), 'f64,f32', 'what each computes in');
  const allowed = (options.costTolerance ?? 1e-8) + 2e-7;
  const size = Math.abs(found.cpu.finalCost);
  check.below(Math.abs(found.gpu.finalCost - found.cpu.finalCost) / size, 2 * allowed, 'what the tolerance leaves, and rounding of a sum in single precision', 'relative difference of the minima');
  check.below(found.gpu.newtonDecrement / size, allowed, 'the promise of a run that has converged', 'promise');
  return found;
}

const distance = (a, b) => a.reduce((most, value, k) => Math.max(most, Math.abs(value - b[k])), 0);

export const group = {
  id: 'newton',
  title: "Newton's method",
  about: 'Conjugate gradients with the Hessians of instances on the GPU find the minimum that the CPU finds with a factorisation in double precision.',
  checks: [
    ...gpuAgainstCpu('a mesh is parametrised in at most 20 steps', async (check) => {
      const mesh = hillyMesh(8);
      const { start } = await tutte(mesh);
      const { problem, places } = symmetricDirichlet(mesh, start);
      for (const projection of ['clamp', 'absolute']) {
        places.set(start);
        const { gpu } = await onBoth(check, { problem, array: places }, { projection, costTolerance: 1e-6 });
        check.below(gpu.iterations, 21, 'steps of projected Newton', 'steps');
        // Near the minimum rounding in single precision hides what a step brings.
        check.ok(gpu.history.every(({ cost }, k, all) => k === 0 || cost <= all[k - 1].cost * (1 + 1e-6)), 'each step lowers the energy');
        check.match(gpu.report(), /pcg: on the device[^\n]*negative curvature/);
      }
    }),
    ...gpuAgainstCpu('constants stay, and triangles do not turn over', async (check) => {
      const { problem, places, held } = pulledSquare(6);
      const start = places.values();
      const { cpu, gpu } = await onBoth(check, { problem, array: places });
      check.below(distance(gpu.x, cpu.x), 1e-4, 'a cost within 1e-7 of a minimum of curvature 1', 'places');
      const constants = (x) => held.flatMap((v) => [x[2 * v], x[2 * v + 1]]);
      check.same(constants(gpu.x), constants(start).map(Math.fround), 'constants');
    }),
    ...gpuAgainstCpu('bounds hold', async (check) => {
      // Vertices of the middle would sink below 0.06.
      const { problem, places } = pulledSquare(6, (array) => array.setBounds({ lower: [-10, 0], upper: [10, 0.9] }));
      const { cpu, gpu } = await onBoth(check, { problem, array: places });
      check.below(distance(gpu.x, cpu.x), 1e-4, 'a cost within 1e-7 of a minimum of curvature 1', 'places');
      check.ok(gpu.x.every((x, k) => k % 2 === 0 || (x >= 0 && x <= Math.fround(0.9)) || places.values()[k] === 1), 'all are within');
      check.ok(gpu.x.some((x, k) => k % 2 === 1 && x === Math.fround(0.9)), 'some are at the bound');
    }),
    ...gpuAgainstCpu('tetrahedra rest on a barrier', async (check) => {
      const { problem, vertices } = fallingBar(3);
      const { cpu, gpu } = await onBoth(check, { problem, array: vertices });
      check.below(distance(gpu.x, cpu.x), 1e-3, 'a cost within 1e-7 of a minimum of curvature 1', 'places');
      check.ok(gpu.x.every((x, k) => k % 3 !== 2 || x > 0), 'none is below the floor');
      check.ok(gpu.x.some((x, k) => k % 3 === 2 && x < 0.1), 'some are within its range');
    }),
    ...gpuAgainstCpu('what moves far takes fewer iterations than instances in between', async (check) => {
      const count = 512;
      const problem = new Problem();
      const places = problem.parameters('places', { dim: 1, values: Array.from({ length: count }, () => 0) });
      places.setConstant([0]);
      const all = Array.from({ length: count }, (_, k) => k);
      problem.residuals('links', { inputs: { a: places.at(all.slice(1)), b: places.at(all.slice(0, -1)) }, residual: ({ a, b }) => a.sub(b).sub(1).square() });
      problem.residuals('weight', { inputs: { x: places.at(all) }, residual: ({ x }) => x.mul(-1e-3) });
      const { gpu } = await onBoth(check, { problem, array: places }, { costTolerance: 1e-5 });
      // The block diagonal alone passes on what a link has by a link in each iteration.
      const most = Math.max(...gpu.history.slice(1).map(({ linearIterations }) => linearIterations));
      check.below(most, count / 2, 'a system, or two near the minimum, of less than a quarter each', 'iterations');
    }),
    ...gpuAgainstCpu('robust least squares in chunks, of blocks that an instance has twice', async (check) => {
      const problem = new Problem();
      const points = problem.parameters('points', { dim: 3, values: Array.from({ length: 36 }, (_, k) => Math.sin(7 * k)) });
      const ends = Array.from({ length: 40 }, (_, k) => [k % 12, (k * 7) % 12]).flat();
      problem.residuals('springs', {
        inputs: { ends: points.at(ends, 2), rest: problem.data(Array.from({ length: 40 }, (_, k) => 0.5 + (k % 3) / 4)) },
        residual: ({ ends: [a, b], rest }) => a.sub(b).sqrMagnitude.sub(rest),
        loss: loss.cauchy(0.5),
      });
      problem.residuals('pull', { inputs: { p: points.at(ends.slice(0, 24)) }, residual: ({ p }) => p.mul(0.3) });
      const found = {};
      for (const [name, options] of Object.entries({ cpu: { backend: 'cpu' }, gpu: { backend: 'gpu' }, chunks: { backend: 'gpu', batchSize: 15 } })) {
        points.set(Array.from({ length: 36 }, (_, k) => Math.sin(7 * k)));
        found[name] = await newton(await check.compile(problem, options), { objective: 'least-squares' });
      }
      check.equal(found.gpu.arithmetic, 'f32');
      for (const name of ['gpu', 'chunks']) {
        check.below(Math.abs(found[name].finalCost / found.cpu.finalCost - 1), 1e-6, 'rounding in single precision', `${name}: the cost`);
      }
    }),
    ...onEach('a slope without curvature is no minimum', async (check) => {
      for (const energy of [({ p }) => p.x.add(p.y.square()), ({ p }) => p.x.add(p.y).square().add(p.x.sub(p.y))]) {
        const problem = new Problem();
        const point = problem.parameters('point', { dim: 2, values: [1, 2] });
        problem.residuals('slope', { inputs: { p: point.shared() }, residual: energy });
        const result = await newton(await check.compile(problem), { maxIterations: 30 });
        check.equal(result.success, false, result.message);
      }
    }),
    ...onGpu('numbers beside one another are blocks of their own', async (check) => {
      const functions = await check.compile([V.W(1), V.W(2)], ([a, b]) => [V.sub(1, a).square(), b.sub(a.square()).square().mul(100)]);
      const result = await newton(functions);
      check.equal([result.success, result.arithmetic].join(), 'true,f32', result.message);
      check.below(distance(result.x, [1, 1]), 2e-3, 'the root of the rounding of a fall of 100, along a valley of curvature 0.4', 'Rosenbrock’s minimum');
    }),
    ...onGpu('runs repeat bit for bit', async (check) => {
      const { problem, places } = pulledSquare(6);
      const start = places.values();
      const functions = await check.compile(problem);
      const first = await newton(functions);
      places.set(start);
      check.same([...(await newton(functions)).x], [...first.x], 'places');
    }),
    ...onGpu('what the GPU does not take is minimised on the CPU, in double precision', async (check) => {
      const sphere = new Problem();
      const direction = sphere.parameters('direction', { dim: 3, values: [1, 0, 0] });
      direction.setManifold('unit-vector');
      sphere.residuals('height', { inputs: { d: direction.shared() }, residual: ({ d }) => d.z.add(d.y.mul(0.5)) });
      const long = new Problem();
      const all = long.parameters('all', { dim: 1, values: Array.from({ length: 20 }, (_, k) => k / 20) });
      long.residuals('valley', { inputs: { x: all.at(Array.from({ length: 20 }, (_, k) => k), 20) }, residual: ({ x }) => V.sum(x.map((entry, k) => entry.sub(k).square())).square().add(1) });
      for (const problem of [sphere, long]) {
        const result = await newton(await check.compile(problem));
        check.equal(result.success, true, result.message);
        check.equal(result.arithmetic, 'f64');
      }
      const pairs = await check.compile(pulledSquare(3).problem, { precision: 'f32x2' });
      check.equal((await newton(pairs)).arithmetic, 'f64');
    }),
    ...onGpu('a run is stopped, and begins only at a finite energy', async (check) => {
      const { problem, places } = pulledSquare(4);
      const start = places.values();
      const functions = await check.compile(problem);
      const stopped = await newton(functions, { onIteration: ({ iteration }) => iteration >= 1 });
      check.equal(stopped.termination, 'aborted');
      check.equal(stopped.iterations, 1);
      places.set(start);
      const late = await newton(functions, { maxTimeMs: 1e-3 });
      check.equal(late.termination, 'max-time');
      places.set(start.map((x, k) => (k % 2 === 0 ? -x : x)));
      check.match(await check.failureInWords(() => newton(functions)), /^non-finite: /);
    }),
  ],
};
