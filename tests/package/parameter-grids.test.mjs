// Grids of parameters on the CPU in the built package: values and derivatives of every interpolation, border and dimension against their definition, fits,
// instances that are added, other solvers, and what is refused.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { onCpu } from '../www/residua.mjs';
import { gridReference, gridSample, SIZES, spread } from '../../www/checks/grid-reference.js';

const { incremental, lbfgs, levenbergMarquardt, newton, Problem, solve, solveMany } = await import('residua');

const INTERPOLATIONS = ['nearest', 'linear', 'cubic', 'b-spline'];
const BORDERS = ['clamp', 'mirror', 'repeat'];

const near = (found, expected, tolerance, what) => assert.ok(Math.abs(found - expected) <= tolerance, `${what}: ${found}, not ${expected}`);
const refused = (message) => (error) => (error.code === 'invalid-argument' && error.message.includes(message)) || assert.fail(`${error.code}: ${error.message}`);
const channelsOf = (block) => (block[Symbol.iterator] === undefined ? [block] : [...block]);

/** The value, first and second derivatives of a point in the order in which they are compared. */
const ORDERS = { 1: [[0], [1], [2]], 2: [[0, 0], [1, 0], [0, 1], [1, 1], [0, 2]], 3: [[0, 0, 0], [0, 1, 0], [1, 0, 1], [0, 0, 2]] };
const known = ({ value, gradient, hessian }, orders) => {
  const by = orders.flatMap((order, axis) => Array(order).fill(axis));
  return by.length === 0 ? value : by.length === 1 ? gradient[by[0]] : hessian[by[0]][by[1]];
};

for (const size of SIZES) {
  for (const interpolation of INTERPOLATIONS) {
    test(`values and derivatives by coordinates and by numbers are those of the definition: ${size.length} dimensions, ${interpolation}`, async () => {
      const channels = size.length === 2 ? 3 : 1;
      const { values, points } = gridSample(size, channels);
      const others = values.map((_, k) => Math.cos(2.3 * k));
      const orders = ORDERS[size.length];
      for (const border of BORDERS) {
        const problem = new Problem();
        const heights = problem.parameters('heights', { dim: channels, values });
        const grid = problem.grid('g', { size, values: heights, interpolation, border });
        problem.residuals('values', {
          inputs: { g: grid.at(points.flat()) },
          residual: ({ g }) => [...channelsOf(g.value), ...orders.slice(1).flatMap((order) => channelsOf(g.derivative(...order)))],
        });
        const [expected, ofOthers] = [values, others].map((numbers) => {
          const at = gridReference({ size, values: numbers, channels, interpolation, border });
          return points.flatMap((point) => orders.flatMap((order) => at(point).map((of) => known(of, order))));
        });
        await onCpu(problem, async (functions) => {
          const { values: found, jacobian } = await functions.evaluateJacobian();
          const dense = jacobian.toDense();
          expected.forEach((value, row) => {
            // Sums of up to 64 products of numbers of 1, with factors of up to 30 in second derivatives.
            near(found[row], value, 1e-12, `${border}, residual ${row}`);
            // The grid is linear in its numbers: the Jacobian times other numbers is the grid of those.
            const slope = others.reduce((sum, other, k) => sum + other * dense[row * jacobian.cols + k], 0);
            near(slope, ofOthers[row], 1e-12, `${border}, derivatives by the numbers of residual ${row}`);
          });
        });
        for (const [place, order] of orders.entries()) {
          grid.evaluate(points.flat(), order).forEach((value, k) => {
            const row = Math.floor(k / channels) * orders.length * channels + place * channels + (k % channels);
            near(value, expected[row], 1e-12, `${border}, evaluated ${order} ${k}`);
          });
        }
      }
    });
  }
}

test('third derivatives are those of the polynomials, and higher ones are 0', async () => {
  const problem = new Problem();
  // The coefficients k³ − k of a B-spline are the cubic u³.
  const cubes = problem.parameters('cubes', { dim: 1, values: Array.from({ length: 9 }, (_, k) => (k - 4) ** 3 - (k - 4)) });
  const curve = problem.grid('curve', { size: [9], values: cubes, interpolation: 'b-spline' });
  const places = [1.5, 2, 3.25, 6.75];
  const at = (order) => [...curve.evaluate(places, [order])];
  places.forEach((u, k) => {
    [(u - 4) ** 3, 3 * (u - 4) ** 2, 6 * (u - 4), 6, 0, 0].forEach((value, order) => near(at(order)[k], value, 1e-12, `derivative ${order} at ${u}`));
  });
  problem.residuals('third', { inputs: { c: curve.at(places) }, residual: ({ c }) => [c.derivative(3).sub(6), c.derivative(7).add(c.value)] });
  await onCpu(problem, async (functions) => {
    (await functions.evaluate()).forEach((value, k) => near(value, k % 2 === 0 ? 0 : (places[(k - 1) / 2] - 4) ** 3, 1e-12, `residual ${k}`));
  });
});

test('places far outside, at whole numbers and in grids of one number are those of the definition', () => {
  for (const interpolation of INTERPOLATIONS) {
    for (const border of BORDERS) {
      for (const [size, values] of [[[1], [2.5]], [[2], [1, 3]], [[6], [3, 1, 4, 1, 5, 9]]]) {
        const problem = new Problem();
        const grid = problem.grid('g', { size, values: problem.parameters('v', { dim: 1, values }), interpolation, border });
        const at = gridReference({ size, values, interpolation, border });
        const points = [-13, -7.25, -1, 0, 0.2, 1, 3.8, 5, 6, 29.3];
        grid.evaluate(points).forEach((value, k) => near(value, at([points[k]])[0].value, 1e-12, `${interpolation}, ${border}, ${size} at ${points[k]}`));
        // Rounded to a few places, or to none.
        grid.evaluate([1e300, -1e300, 2 ** 60]).forEach((value) => assert.ok(value >= -9 && value <= 9.5, `${interpolation}, ${border}: ${value}`));
      }
    }
  }
});

/** The cubic B-spline and its second derivative of the distance. */
const spline = (s) => (s < 1 ? 2 / 3 - s * s + s ** 3 / 2 : s < 2 ? (2 - s) ** 3 / 6 : 0);
const bend = (s) => (s < 1 ? 3 * s - 2 : s < 2 ? 2 - s : 0);

/** Solves a dense symmetric system by Cholesky's factors. */
function solveDense(matrix, right) {
  const n = right.length;
  const l = matrix.map((row) => row.slice());
  for (let j = 0; j < n; j++) {
    for (let k = 0; k < j; k++) for (let i = j; i < n; i++) l[i][j] -= l[i][k] * l[j][k];
    const root = Math.sqrt(l[j][j]);
    for (let i = j; i < n; i++) l[i][j] /= root;
  }
  const x = right.slice();
  for (let i = 0; i < n; i++) x[i] = (x[i] - l[i].slice(0, i).reduce((sum, value, k) => sum + value * x[k], 0)) / l[i][i];
  for (let i = n - 1; i >= 0; i--) for (let k = i + 1; k <= n; k++) x[i] = k === n ? x[i] / l[i][i] : x[i] - l[k][i] * x[k];
  return x;
}

const [WIDTH, HEIGHT, BENDING] = [9, 8, 0.05];
const POINTS = Array.from({ length: 250 }, (_, k) => [1 + (WIDTH - 3) * spread(k), 1 + (HEIGHT - 3) * spread(3 * k + 11)]);
const HEIGHTS = POINTS.map(([u, v], k) => Math.sin(u) * Math.cos(0.7 * v) + 0.05 * Math.sin(37 * k));
/** Two places along each axis of a cell. */
const CELLS = Array.from({ length: 4 * (WIDTH - 3) * (HEIGHT - 3) }, (_, k) => [1.25 + (k % (2 * WIDTH - 6)) / 2, 1.25 + Math.floor(k / (2 * WIDTH - 6)) / 2]);

/** A spline surface through the first of the scattered points, that bends little. */
function surfaceProblem(count = POINTS.length) {
  const problem = new Problem();
  const coefficients = problem.parameters('coefficients', { dim: 1, values: new Float64Array(WIDTH * HEIGHT) });
  const surface = problem.grid('surface', { size: [WIDTH, HEIGHT], values: coefficients, interpolation: 'b-spline' });
  const points = problem.residuals('points', { inputs: { s: surface.at(POINTS.slice(0, count).flat()), z: problem.data(HEIGHTS.slice(0, count)) }, residual: ({ s, z }) => s.value.sub(z) });
  problem.residuals('bending', {
    inputs: { s: surface.at(CELLS.flat()) },
    residual: ({ s }) => [s.derivative(2, 0), s.derivative(1, 1).mul(Math.SQRT2), s.derivative(0, 2)],
    weight: BENDING,
  });
  return { problem, coefficients, surface, points };
}

/** The coefficients by normal equations, from the definition of the spline. */
function directCoefficients() {
  const slope = (s) => Math.sign(s) * (Math.abs(s) < 1 ? 1.5 * s * s - 2 * Math.abs(s) : Math.abs(s) < 2 ? -((2 - Math.abs(s)) ** 2) / 2 : 0);
  const row = ([u, v], along, across) => Array.from({ length: WIDTH * HEIGHT }, (_, k) => along(u - (k % WIDTH)) * across(v - Math.floor(k / WIDTH)));
  const [value, second] = [(s) => spline(Math.abs(s)), (s) => bend(Math.abs(s))];
  const rows = [
    ...POINTS.map((point, k) => [row(point, value, value), HEIGHTS[k], 1]),
    ...CELLS.flatMap((cell) => [[row(cell, second, value), 0, BENDING], [row(cell, slope, slope), 0, 2 * BENDING], [row(cell, value, second), 0, BENDING]]),
  ];
  const size = WIDTH * HEIGHT;
  const matrix = Array.from({ length: size }, () => Array.from({ length: size }, () => 0));
  const right = Array.from({ length: size }, () => 0);
  for (const [numbers, target, weight] of rows) {
    numbers.forEach((a, i) => {
      if (a === 0) return;
      right[i] += weight * a * target;
      numbers.forEach((b, j) => (matrix[i][j] += weight * a * b));
    });
  }
  return solveDense(matrix, right);
}

test('a spline surface through scattered points is that of the normal equations, by every method', async () => {
  const expected = directCoefficients();
  const minimisers = [
    [levenbergMarquardt, 1e-9],
    // The cost is 0.2, and where it is at rest by 1e-8 of itself values at points differ by √(2 · 1e-8 · 0.2).
    [(functions) => lbfgs(functions, { objective: 'least-squares', maxIterations: 2000 }), 7e-5],
  ];
  for (const [minimise, tolerance] of minimisers) {
    const { problem, coefficients, surface } = surfaceProblem();
    await onCpu(problem, async (functions) => {
      const { success, message } = await minimise(functions);
      assert.ok(success, message);
    });
    if (minimise === levenbergMarquardt) coefficients.values().forEach((value, k) => near(value, expected[k], tolerance, `coefficient ${k}`));
    const at = gridReference({ size: [WIDTH, HEIGHT], values: expected, interpolation: 'b-spline' });
    surface.evaluate(POINTS.flat()).forEach((value, k) => near(value, at(POINTS[k])[0].value, tolerance, `surface at point ${k}`));
  }
});

test('an energy of a grid of parameters is minimised by Newton, and a constraint holds at a place', async () => {
  const problem = new Problem();
  const heights = problem.parameters('heights', { dim: 1, values: new Float64Array(12).fill(0.1) });
  const curve = problem.grid('curve', { size: [12], values: heights, interpolation: 'b-spline' });
  const cells = Array.from({ length: 9 }, (_, k) => 1.5 + k);
  problem.residuals('energy', { inputs: { c: curve.at(cells) }, residual: ({ c }) => c.derivative(2).square().add(c.value.square().mul(0.01)) });
  problem.equalities('height', { inputs: { c: curve.at([3, 8]) }, constraint: ({ c }) => c.value.sub(2) });
  const { success, message } = await onCpu(problem, (functions) => newton(functions));
  assert.ok(success, message);
  curve.evaluate([3, 8]).forEach((value) => near(value, 2, 1e-6, 'height'));
});

test('instances are appended with their coordinates, and a smoother takes them', async () => {
  const expected = directCoefficients();
  const { problem, coefficients, points } = surfaceProblem(200);
  const smoother = await incremental(problem);
  await smoother.update();
  assert.equal(points.append({ s: POINTS.slice(200, 225).flat(), z: HEIGHTS.slice(200, 225) }), 200);
  points.append({ s: POINTS.slice(225).flat(), z: HEIGHTS.slice(225) });
  await smoother.update();
  smoother.estimate(coefficients).forEach((value, k) => near(value, expected[k], 1e-9, `coefficient ${k} of the smoother`));
  smoother.dispose();
  await solve(problem, { backend: 'cpu' });
  coefficients.values().forEach((value, k) => near(value, expected[k], 1e-9, `coefficient ${k}`));
  assert.throws(() => points.append({ s: [1, 2, 3], z: [1] }), refused('points.append: instances.s: got 3 numbers; takes a multiple of 2'));
  assert.throws(() => points.append({ z: [1] }), refused('points.append: instances.s: got nothing; takes the coordinates of each new instance'));
});

test('many problems have grids of their own at the same places, constraints too', async () => {
  const places = [0.5, 1.25, 2.75, 3.5, 4];
  const make = (isHeld) => {
    const problem = new Problem();
    const heights = problem.parameters('heights', { dim: 1, values: new Float64Array(6) });
    const curve = problem.grid('curve', { size: [6], values: heights, interpolation: 'linear' });
    problem.residuals('points', { inputs: { c: curve.at(places), y: problem.data(places) }, residual: ({ c, y }) => c.value.sub(y) });
    problem.residuals('flat', { inputs: { c: curve.at([0.5, 1.5, 2.5, 3.5, 4.5]) }, residual: ({ c }) => c.derivative(1).mul(0.1) });
    if (isHeld) problem.equalities('start', { inputs: { c: curve.at([0, 5]) }, constraint: ({ c }) => c.value.sub(1) });
    return { problem, curve };
  };
  const y = [places.map((u) => u * u), places.map((u) => Math.sin(u)), places.map(() => 3)];
  for (const isHeld of [false, true]) {
    const many = await solveMany(make(isHeld).problem, { count: 3, data: { points: { y: y.flat() } } }, { backend: 'cpu' });
    for (const [k, own] of y.entries()) {
      const { problem } = make(isHeld);
      problem.blocks[0].setData('y', own);
      const { x } = await solve(problem, { backend: 'cpu' });
      x.forEach((value, i) => near(many.x[k * 6 + i], value, 1e-6, `problem ${k}, number ${i}, held ${isHeld}`));
    }
  }
  const differing = await solveMany(make(false).problem, { count: 2, data: { points: { y: [y[0], y[1].slice(0, 3)] } } }, { backend: 'cpu' });
  assert.ok(differing.x.every(Number.isFinite));
  await assert.rejects(solveMany(make(false).problem, { count: 2, data: { points: { c: [1, 2] } } }), refused('got places in a grid of parameters, which all problems share; takes one of "y"'));
});

test('wrong arguments are refused by name', async () => {
  const problem = new Problem();
  const values = problem.parameters('v', { dim: 1, values: [1, 2, 3, 4] });
  const angles = problem.rotations('angles', { dim: 2, values: [1, 2, 3, 4] });
  const foreign = new Problem().parameters('v', { dim: 1, values: [1, 2, 3, 4] });
  const grid = (spec) => () => problem.grid('g', spec);
  const good = { size: [2, 2], values };
  for (const [make, message] of [
    [grid({ ...good, size: [2, 3] }), 'grid "g": values: got "v" with 4 blocks; takes 6: one for each of 2 × 3 places'],
    [grid({ ...good, size: 4 }), 'grid "g": size: got 4'],
    [grid({ ...good, values: foreign }), 'grid "g": values: got "v", an array of another problem'],
    [grid({ ...good, values: angles }), 'grid "g": values: got "angles", which has the manifold \'angle\'; takes an array without a manifold'],
    [grid({ ...good, border: 0 }), 'grid "g": border: got 0; takes \'clamp\', \'mirror\' or \'repeat\' in a grid of parameters'],
    [grid({ ...good, interpolation: 'spline' }), 'grid "g": interpolation: got "spline"'],
    [grid({ ...good, prefilter: true }), 'got the unknown option "prefilter"'],
  ]) {
    assert.throws(make, refused(message));
  }
  const field = problem.grid('g', good);
  assert.throws(grid(good), refused('grid: name: got "g" a second time'));
  assert.throws(() => values.setManifold('angle'), refused('whose numbers a grid interpolates'));
  for (const [coordinates, message] of [
    [[1], 'grid "g".at: coordinates: got 1 numbers; takes a multiple of 2: a coordinate for each axis'],
    [[1, NaN], 'grid "g".at: coordinates[1]: got NaN'],
    [[1, '2'], 'grid "g".at: coordinates[1]: got "2"'],
    [undefined, 'grid "g".at: coordinates: got undefined'],
  ]) {
    assert.throws(() => field.at(coordinates), refused(message));
  }
  assert.throws(() => field.evaluate([0, 0], [1]), refused('grid "g".evaluate: orders: got 1 orders; takes 2'));
  assert.throws(() => field.evaluate([0, 0], [1, -1]), refused('grid "g".evaluate: orders[1]: got -1'));
  const recorded = (residual) => () => problem.residuals('r', { inputs: { g: field.at([0.5, 0.5]), z: problem.data([1]) }, residual });
  assert.throws(recorded(({ g }) => g.derivative(1)), refused('grid "g": derivative: orders: got 1 orders; takes 2'));
  assert.throws(recorded(({ g }) => g.derivative(1, 0.5)), refused('grid "g": derivative: orders[1]: got 0.5'));
  // A coordinate that is an expression would need other blocks where it moves.
  assert.throws(recorded(({ z }) => field.at(z)), refused('grid "g".at: coordinates: got'));
  const block = recorded(({ g, z }) => g.value.sub(z))();
  assert.throws(() => block.setData('g', [0, 0]), refused('r.setData: input: got "g"; takes a data input: "z"'));
  assert.throws(() => block.dataBuffer('g'), refused('r.dataBuffer: input: got "g"; takes a data input: "z"'));
  const plain = () => problem.residuals('p', { inputs: { g: field.at([0, 0]) }, outputs: 1, evaluate: () => {} });
  assert.throws(plain, refused('residuals "p": inputs.g: got places in a grid of parameters; takes them in recorded functions alone'));
  values.setConstant([0, 1]);
  await solve(problem, { backend: 'cpu' });
  assert.deepEqual([...values.values()].slice(0, 2), [1, 2]);
});
