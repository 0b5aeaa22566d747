// The demos' models, and the meshes that are generated for them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { meshTopology } from '../../www/mesh/topology.js';
import { capsule, trefoilTube } from '../../www/mesh/tube.js';
import { onCpu, residua } from './residua.mjs';

const { GOAL, PULL, rigidModel } = await import('../../www/demos/as-rigid-as-possible/model.js');
const { Handle } = await import('../../www/demos/as-rigid-as-possible/handle.js');
const { creasingSphere } = await import('../../www/demos/developable/model.js');

const { askedFor, DEMOS } = await import('../../www/demos/registry.js');
const { difference } = await import('../../www/demos/comparison.js');

test('an address that names an unknown demo or engine gives the default and an error', () => {
  const asked = (query) => askedFor(new URLSearchParams(query));
  assert.deepEqual(asked(''), { id: undefined, backend: undefined, wrong: null });
  for (const { id } of DEMOS) assert.deepEqual(asked(`demo=${id}&backend=cpu`), { id, backend: 'cpu', wrong: null });
  const { id, backend, wrong } = asked('demo=nonsense&backend=banana');
  assert.deepEqual([id, backend], [undefined, undefined]);
  assert.match(wrong, /the demo "nonsense", .* as-rigid-as-possible, .*\. The address asks for the engine "banana", and there is none; it may be gpu, cpu\.$/);
});

test('the ratio of the engines is stated with two digits', () => {
  assert.equal(difference(1, 893), 'Here the GPU takes an iteration 890 times as fast as the CPU.');
  assert.equal(difference(12345.6, 1), 'Here the CPU takes an iteration 12,000 times as fast as the GPU.');
  assert.equal(difference(2, 3), 'Here the GPU takes an iteration 1.5 times as fast as the CPU.');
  assert.equal(difference(0, 3), 'Here an iteration takes less than the clock shows.');
});

/** Six times the enclosed volume, positive where faces are counterclockwise from outside. */
function enclosed({ positions, triangles }) {
  const point = (v) => positions.subarray(3 * v, 3 * v + 3);
  let volume = 0;
  for (let t = 0; t < triangles.length; t += 3) {
    const [a, b, c] = [0, 1, 2].map((k) => point(triangles[t + k]));
    volume += a[0] * (b[1] * c[2] - b[2] * c[1]) + a[1] * (b[2] * c[0] - b[0] * c[2]) + a[2] * (b[0] * c[1] - b[1] * c[0]);
  }
  return volume / 6;
}

test('the bar and the knot are closed, face outwards and enclose the volume of their shapes', () => {
  // π r² (l − 2r) + 4/3 π r³ for the bar; for the knot π r² times its length by Pappus, measured along its middle line.
  const radius = 0.25, length = 2;
  const bar = capsule({ around: 64, along: 80, radius, length });
  const whole = Math.PI * radius ** 2 * (length - 2 * radius) + (4 / 3) * Math.PI * radius ** 3;
  const knot = trefoilTube({ around: 64, along: 600 });
  for (const mesh of [bar, knot, capsule({ around: 8, along: 6 })]) {
    const { interior, irregular, boundary } = meshTopology(mesh.positions.length / 3, mesh.triangles);
    assert.equal(interior.vertices.length, mesh.positions.length / 3);
    assert.equal(irregular.vertices.length + boundary.vertices.length, 0);
  }
  // A polygon of 64 corners misses 1 − sin(2π/64)/(2π/64) = 0.16 % of its circle, and the rings of the ends about as much again.
  assert.ok(Math.abs(enclosed(bar) / whole - 1) < 0.005);
  const point = (t) => [(0.55 + 0.25 * Math.cos(3 * t)) * Math.cos(2 * t), (0.55 + 0.25 * Math.cos(3 * t)) * Math.sin(2 * t), 0.32 * Math.sin(3 * t)];
  let line = 0;
  for (let k = 0; k < 1000; k++) line += Math.hypot(...point((2 * Math.PI * (k + 1)) / 1000).map((value, d) => value - point((2 * Math.PI * k) / 1000)[d]));
  // The same error, and that of 600 cross sections.
  assert.ok(Math.abs(enclosed(knot) / (Math.PI * 0.17 ** 2 * line) - 1) < 0.01);
});

/** Solves until a solve gains nothing. */
async function relax(functions) {
  let damping = 1e-4, cost = Infinity;
  for (let round = 0; round < 60; round++) {
    const result = await residua.levenbergMarquardt(functions, { maxIterations: 5, initialDamping: damping, costTolerance: 0, gradientTolerance: 0, parameterTolerance: 0 });
    damping = Math.max(1e-6, result.history.at(-1).damping ?? damping);
    if (result.finalCost > cost * (1 - 1e-6)) return result.finalCost;
    cost = result.finalCost;
  }
  return cost;
}

test('handles that are rotated together rotate the whole bar, at cost 0', async () => {
  const mesh = capsule({ around: 8, along: 6 });
  const model = rigidModel(mesh);
  const ends = [0, mesh.positions.length / 3 - 1].map((vertex) => new Handle(mesh.positions, mesh.positions, vertex, 0.3));
  // A rotation by 90° about x maps (0, y, 0) to (0, 0, y).
  for (const handle of ends) {
    handle.turn([1, 0, 0], Math.PI / 2);
    handle.moveTo([handle.center[0], -handle.center[2], handle.center[1]]);
    handle.vertices.forEach((vertex, k) => model.setGoal(vertex, handle.goal(k)));
  }
  model.handles.setData('goal', model.goals);
  await onCpu(model.problem, async (functions) => {
    // A rigid motion is the minimum, 0; the difference is the tolerance of the last solve.
    assert.ok((await relax(functions)) < 1e-9);
    const found = model.vertices.values();
    for (let v = 0; v < found.length / 3; v++) {
      const [x, y, z] = mesh.positions.subarray(3 * v, 3 * v + 3);
      [x, -z, y].forEach((value, d) => assert.ok(Math.abs(found[3 * v + d] - value) < 1e-4, `vertex ${v}`));
    }
  });
});

test('a handle pulls its vertices to within a hundredth of their way, and a removed one has no effect', async () => {
  const mesh = capsule({ around: 8, along: 6 }), top = mesh.positions.length / 3 - 1;
  const model = rigidModel(mesh);
  model.setGoal(0, mesh.positions.subarray(0, 3));
  model.setGoal(top, [0.6, 0.7, 0]);
  model.handles.setData('goal', model.goals);
  await onCpu(model.problem, async (functions) => {
    assert.ok((await relax(functions)) > 1e-4, 'bending costs');
    const [x, y] = model.vertices.values().subarray(3 * top);
    // The weight of the pull is PULL² = 900 against edges of stiffness about 1, and the distance is 0.67.
    assert.equal(PULL ** 2, 900);
    assert.ok(Math.hypot(x - 0.6, y - 0.7) < 0.01);
    model.setGoal(top, null);
    assert.deepEqual([...model.goals.subarray(GOAL * top, GOAL * (top + 1))], [0, 0, 0, 0]);
    model.handles.setData('goal', model.goals);
    assert.ok((await relax(functions)) < 1e-9, 'released, it goes back to its shape');
    model.reset();
    assert.deepEqual(model.vertices.values(), mesh.positions);
  });
});

test('the developable sphere has the vertices of its subdivisions and its cost decreases', async () => {
  for (const [subdivisions, count] of [[1, 42], [2, 162]]) {
    const { positions, problem, vertices } = creasingSphere(subdivisions);
    assert.equal(positions.length, 3 * count);
    assert.equal(vertices.offset, 0, 'so that the picture binds the buffer as it is');
    await onCpu(problem, async (functions) => {
      const { initialCost, finalCost } = await residua.lbfgs(functions, { maxIterations: 50 });
      assert.ok(finalCost < 0.8 * initialCost, `${initialCost} to ${finalCost}`);
    });
  }
});
