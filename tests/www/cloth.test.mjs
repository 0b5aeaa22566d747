// The cloth: one step is a minimisation, so its motion and its rest are compared with known solutions. In metres, kilograms and seconds.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { residua } from './residua.mjs';
const { clothGrid, clothProblem, energies, grips, PINNINGS, setStuff, springResidual, spreadOut, stepOptions, STUFF, suited, vertexMass } = await import('../../www/demos/cloth/model.js');
const { CALM, FREE, PIN_HERE, PINNED, predict } = await import('../../www/demos/cloth/prediction.js');
const { nearestVertex } = await import('../../www/demos/cloth/prediction-on-device.js');

/** A cloth on the CPU engine. `take(count)` runs steps; `x` and `previous` are the current and the previous positions. */
async function hang({ grid, positions = spreadOut(grid), pins = [], stuff = STUFF, step = 1 / 60, conditions = {}, options = {} }) {
  const cloth = clothProblem(grid, positions);
  setStuff(cloth, grid, stuff, step);
  const functions = await residua.GpuCompiledFunctions.compile(cloth.problem, { backend: 'cpu' });
  const previous = positions.slice(), target = positions.slice(), grip = new Float64Array(grid.count), asked = new Uint32Array(grid.count);
  for (const vertex of pins) asked[vertex] = PIN_HERE;
  let time = 0;
  return {
    ...cloth, functions, previous, asked,
    get x() { return cloth.vertices.values(); },
    async take(count = 1) {
      let result;
      for (let k = 0; k < count; k++) {
        const now = { ...CALM, step, lastStep: step, density: stuff.density, time: time += step, ...grips(grid, stuff, step), ...conditions };
        predict(grid, { x: cloth.vertices.values(), previous, target, grip, pins: asked }, now);
        cloth.inertia.setData('target', target);
        cloth.inertia.setData('grip', grip);
        result = await residua.levenbergMarquardt(functions, { ...stepOptions(grid, stuff, step, { iterations: 3, linearIterations: 400 }), ...options });
      }
      return result;
    },
  };
}

/** To the limit of double precision, for steps whose result is compared with a formula. */
const EXACT = { maxIterations: 60, costTolerance: 1e-15, linearSolver: 'sparse-cholesky' };
const VACUUM = { air: 0, damping: 0 };

test('a cloth that is not pinned is in free fall', async () => {
  const grid = clothGrid(5);
  const cloth = await hang({ grid, conditions: VACUUM, options: EXACT });
  await cloth.take(20);
  // Backward Euler: after n steps −g h² n (n + 1) / 2.
  const fallen = (-9.81 / 3600) * (20 * 21) / 2;
  const start = spreadOut(grid);
  // Rounding of positions of size 2, and of the minimum, where the cost determines the position to its square root: 1e-16 of the cost is
  // 1e-8 of a step.
  cloth.x.forEach((value, k) => assert.ok(Math.abs(value - start[k] - (k % 3 === 1 ? fallen : 0)) < 1e-8, `${k}: ${value}`));
  cloth.functions.dispose();
});

test('a hanging strip is stretched by the weight below each spring', async () => {
  const grid = clothGrid(21, 1, 2), stuff = { ...STUFF, bending: 0 };
  // Nearly hanging at the start, and strong damping: it comes to rest within seconds.
  const positions = spreadOut(grid).map((_, k) => (k % 3 === 1 ? -0.1 * Math.floor(k / 3) : 0));
  const cloth = await hang({ grid, positions, pins: [0], stuff, step: 0.1, conditions: { air: 0, damping: 20 }, options: EXACT });
  await cloth.take(400);
  const tug = (vertexMass(grid, stuff) * stuff.gravity) / stuff.stretch;
  // The pin is a stiff spring, too.
  const { pinGrip } = grips(grid, stuff, 0.1), mass = vertexMass(grid, stuff);
  let expected = (-20 * mass * stuff.gravity) / (pinGrip ** 2 * (mass / 0.1 ** 2));
  const x = cloth.x;
  for (let vertex = 1; vertex < 21; vertex++) {
    expected -= grid.spacing + tug * (21 - vertex);
    // 400 steps leave 1e-9 of the swing, which began with 2 cm.
    assert.ok(Math.abs(x[3 * vertex + 1] - expected) < 1e-7, `vertex ${vertex}: ${x[3 * vertex + 1]}, ${expected}`);
  }
  cloth.functions.dispose();
});

test('a chain between two pins hangs as a catenary', async () => {
  const count = 81, grid = clothGrid(1, count, 2), stuff = { ...STUFF, bending: 0, stretch: 1e5 };
  // 2 m long between pins that are 1.2 m apart, with a V as the start.
  const span = 1.2, depth = Math.sqrt(1 - 0.6 ** 2);
  const positions = spreadOut(grid).map((_, k) => {
    const along = Math.floor(k / 3) / (count - 1);
    return [span * (along - 0.5), -2 * depth * Math.min(along, 1 - along), 0][k % 3];
  });
  const cloth = await hang({ grid, positions, pins: [0, count - 1], stuff, step: 0.1, conditions: { air: 0, damping: 5 }, options: EXACT });
  await cloth.take(300);
  // 2 a sinh(span / 2a) = length; the sag is a (cosh(span / 2a) − 1).
  let [low, high] = [0.05, 10];
  for (let k = 0; k < 100; k++) {
    const a = (low + high) / 2;
    if (2 * a * Math.sinh(span / (2 * a)) > 2) low = a;
    else high = a;
  }
  const sag = low * (Math.cosh(span / (2 * low)) - 1);
  const lowest = -Math.min(...cloth.x.filter((_, k) => k % 3 === 1));
  // A chain of 80 links differs from a smooth curve by about 1/80² of its size; the links' stretch is 1e-5.
  assert.ok(Math.abs(lowest / sag - 1) < 3e-4, `${lowest}, ${sag}`);
  cloth.functions.dispose();
});

test('without wind the energy decreases', async () => {
  const grid = clothGrid(14), pins = PINNINGS['two corners'](grid);
  const cloth = await hang({ grid, pins, conditions: VACUUM });
  let last = 0;
  for (let k = 0; k < 90; k++) {
    await cloth.take();
    const { kinetic, potential } = energies(grid, STUFF, cloth.x, cloth.previous, 1 / 60);
    // A step that is solved to 2 % may end slightly above its minimum; the energies are of the order of joules.
    assert.ok(kinetic + potential < last + 1e-4, `step ${k}: ${last} to ${kinetic + potential}`);
    last = kinetic + potential;
  }
  assert.ok(last < -1, 'it has fallen');
  cloth.functions.dispose();
});

test('a cloth on two corners stays symmetric, and the corners stay at their places', async () => {
  const grid = clothGrid(12), pins = PINNINGS['two corners'](grid);
  const cloth = await hang({ grid, pins });
  await cloth.take(60);
  const x = cloth.x, start = spreadOut(grid);
  // 7.8 N on pins of 20 kN/m, and a margin for the swing.
  for (const vertex of pins) for (let k = 3 * vertex; k < 3 * vertex + 3; k++) assert.ok(Math.abs(x[k] - start[k]) < 1e-3, `${vertex}`);
  for (let row = 0; row < 12; row++) {
    for (let column = 0; column < 6; column++) {
      const [a, b] = [3 * (12 * row + column), 3 * (12 * row + 11 - column)];
      // Conjugate gradients with a symmetric start stay symmetric except for rounding, which the fall amplifies.
      for (const [axis, sign] of [[0, -1], [1, 1], [2, 1]]) assert.ok(Math.abs(x[a + axis] - sign * x[b + axis]) < 1e-6, `${row}, ${column}, ${axis}`);
    }
  }
  cloth.functions.dispose();
});

test("steps of 0.1 s in a storm decrease the cost, and springs are stretched by no more than the wind's force allows", async () => {
  const grid = clothGrid(12), step = 0.1;
  const cloth = await hang({ grid, pins: PINNINGS['upper edge'](grid), step, conditions: { wind: [0, 0, 25], gusts: 0 }, options: { maxIterations: 2, maxLinearIterations: 60 } });
  for (let k = 0; k < 60; k++) {
    const { initialCost, finalCost } = await cloth.take();
    assert.ok(finalCost <= initialCost);
  }
  const x = cloth.x;
  for (let row = 0; row < 12; row++) {
    for (let column = 0; column + 1 < 12; column++) {
      const a = 3 * (12 * row + column);
      const stretched = Math.hypot(x[a + 3] - x[a], x[a + 4] - x[a + 1], x[a + 5] - x[a + 2]) / grid.spacing;
      // The force of the storm is at most 488 N/m², 1.95 kN in total: 163 N for each of 12 springs of 200 N/m at the pins, 0.8 m.
      assert.ok(stretched < 1 + 0.9 / grid.spacing, `${row}, ${column}: ${stretched}`);
    }
  }
  cloth.functions.dispose();
});

test('a dragged vertex follows the pointer, and the others follow it', async () => {
  const grid = clothGrid(8), held = 63, heldAt = [1.2, -0.3, -2.1];
  const cloth = await hang({ grid, pins: PINNINGS['two corners'](grid), conditions: { held, heldAt } });
  await cloth.take(60);
  const x = cloth.x;
  // 0.8 kg on an attachment of 1000 N/m: 8 mm at most.
  assert.ok(Math.hypot(...[0, 1, 2].map((axis) => x[3 * held + axis] - heldAt[axis])) < 0.02);
  assert.ok(Math.hypot(...[0, 1, 2].map((axis) => x[3 * held - 3 + axis] - heldAt[axis])) < 1.2 * grid.spacing);
  cloth.functions.dispose();
});

test("a spring’s Jacobian gives Newton’s matrix where it is taut, and Newton's matrix without its negative part where it is slack", async () => {
  const problem = new residua.Problem();
  const points = problem.parameters('points', { dim: 3, values: [0, 0, 0, 2, 1, 2] });
  problem.residuals('spring', { inputs: { ends: points.at([0, 1], 2), rest: problem.data([2]) }, residual: ({ ends: [a, b], rest }) => springResidual(a, b, rest) });
  const functions = await residua.GpuCompiledFunctions.compile(problem, { backend: 'cpu' });
  const normal = async (x) => {
    const { values, jacobian } = await functions.evaluateJacobian(x);
    const dense = jacobian.toDense();
    const product = (of) => Array.from({ length: 6 }, (_, i) => [0, 1, 2].reduce((sum, row) => sum + dense[6 * row + i] * of(row), 0));
    return { gradient: product((row) => values[row]), matrix: Array.from({ length: 6 }, (_, j) => product((row) => dense[6 * row + j])) };
  };
  for (const [name, scale] of [['taut', 1], ['slack', 0.5]]) {
    const d = [2, 1, 2].map((value) => value * scale), length = 3 * scale;
    const { gradient, matrix } = await normal([0, 0, 0, ...d]);
    for (let i = 0; i < 3; i++) {
      // The gradient of ½(|d| − 2)², and the second derivative n nᵀ + max(0, 1 − 2/|d|)(I − n nᵀ), in closed form.
      const pull = ((length - 2) * d[i]) / length;
      assert.ok(Math.abs(gradient[3 + i] - pull) < 1e-14 && Math.abs(gradient[i] + pull) < 1e-14, name);
      for (let j = 0; j < 3; j++) {
        const along = (d[i] * d[j]) / length ** 2;
        const expected = along + Math.max(0, 1 - 2 / length) * (Number(i === j) - along);
        assert.ok(Math.abs(matrix[3 + i][3 + j] - expected) < 1e-14, `${name} ${i} ${j}: ${matrix[3 + i][3 + j]}, ${expected}`);
      }
    }
  }
  functions.dispose();
});

test('the vertex nearest to a ray is found, the front one of two', () => {
  const x = Float64Array.of(0, 0, 0, 1, 0, 0, 1, 0, -5, 0, 0, 9);
  assert.equal(nearestVertex(x, { origin: [1.01, 0, 5], direction: [0, 0, -1] }), 1);
  assert.equal(nearestVertex(x, { origin: [0, 0, 20], direction: [0, 0, 1] }), -1);
});

test('a pin holds a vertex at its current position, and the vertex falls when the pin is removed', async () => {
  const grid = clothGrid(6), vertex = 35;
  const cloth = await hang({ grid, pins: PINNINGS['two corners'](grid) });
  await cloth.take(10);
  cloth.asked[vertex] = PIN_HERE;
  const place = cloth.x.slice(3 * vertex, 3 * vertex + 3);
  await cloth.take(30);
  assert.equal(cloth.asked[vertex], PINNED);
  const far = () => Math.hypot(...[0, 1, 2].map((axis) => cloth.x[3 * vertex + axis] - place[axis]));
  assert.ok(far() < 2e-3, `${far()}`);
  cloth.asked[vertex] = FREE;
  await cloth.take(10);
  assert.ok(far() > 0.05, `${far()}`);
  cloth.functions.dispose();
});

test('the springs of a cloth of any size are within the limits of single precision', () => {
  for (const side of [24, 100, 316, 320, 321, 500, 1000]) {
    const { stretch } = suited(side), weight = vertexMass(clothGrid(side), STUFF) * STUFF.gravity;
    // Half a unit in the last place of positions from 1 to 2 m, of 24 bits.
    assert.ok(stretch * 2 ** -24 < 0.5 * weight, `${side}: ${(stretch * 2 ** -24) / weight}`);
  }
});
