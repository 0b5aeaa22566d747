// Constraints on the CPU: against closed forms, KKT systems, and what is refused.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { randomNumbers } from '../facade/reference.mjs';
import { onCpu } from '../www/residua.mjs';

const { lbfgs, levenbergMarquardt, loss, Problem, rank, Rotation3, solve, solveMany, V, Vec2 } = await import('residua');

const near = (actual, expected, tolerance, what = '') =>
  assert.ok(actual.length === expected.length && actual.every((value, k) => Math.abs(value - expected[k]) <= tolerance), `${what} ${[...actual]} is not ${[...expected]} to ${tolerance}`);
const refused = (message) => (error) => error.code === 'invalid-argument' && (error.message === message || assert.fail(error.message));
const violationOf = ({ constraints }) => Math.max(...constraints.map(({ violation }) => violation));

/** The solution of a dense linear system, by elimination with pivots. */
function solveDense(matrix, right) {
  const rows = matrix.map((row, i) => [...row, right[i]]);
  const n = rows.length;
  for (let k = 0; k < n; k++) {
    const pivot = rows.findIndex((row, i) => i >= k && Math.abs(row[k]) === Math.max(...rows.slice(k).map((r) => Math.abs(r[k]))));
    [rows[k], rows[pivot]] = [rows[pivot], rows[k]];
    for (let i = k + 1; i < n; i++) {
      const factor = rows[i][k] / rows[k][k];
      for (let j = k; j <= n; j++) rows[i][j] -= factor * rows[k][j];
    }
  }
  const x = Array(n).fill(0);
  for (let k = n - 1; k >= 0; k--) x[k] = (rows[k][n] - rows[k].slice(k + 1, n).reduce((sum, entry, j) => sum + entry * x[k + 1 + j], 0)) / rows[k][k];
  return x;
}

/** The nearest point to a place with a constraint. */
function nearest(start, place, add) {
  const problem = new Problem();
  const points = problem.parameters('points', { dim: 2, values: start });
  problem.residuals('near', { inputs: { p: points.shared() }, residual: ({ p }) => new Vec2(p.x.sub(place[0]), p.y.sub(place[1])) });
  add(problem, points);
  return { problem, points };
}

const circle = (problem, points) => problem.equalities('circle', { inputs: { p: points.shared() }, constraint: ({ p }) => p.x.square().add(p.y.square()).sub(1) });

test('the point of a circle that is nearest to a place, with its multiplier', async () => {
  const { problem, points } = nearest([2, 0], [3, 4], circle);
  const result = await solve(problem, { backend: 'cpu' });
  assert.ok(result.success, result.message);
  near(result.x, [0.6, 0.8], 1e-14);
  near(points.values(), result.x, 0);
  // ∇f + λ∇c = (0.6 − 3) + λ·1.2 = 0.
  const [{ name, kind, values, multipliers, active, violation }] = result.constraints;
  assert.deepEqual([name, kind, [...active]], ['circle', 'equality', [1]]);
  near(multipliers, [2], 1e-12);
  near(values, [violation], 1e-15);
  assert.ok(Math.abs(result.finalCost - 8) < 1e-13);
  assert.match(result.report(), /circle/);
});

test('inequalities bind or do not, and have multipliers of at least 0', async () => {
  const half = (problem, points) => {
    circle(problem, points);
    problem.inequalities('low', { inputs: { p: points.shared(), most: problem.data([0.5]) }, constraint: ({ p, most }) => p.y.sub(most) });
    problem.inequalities('left', { inputs: { p: points.shared() }, constraint: ({ p }) => p.x.sub(10) });
  };
  const { problem } = nearest([2, 0], [3, 4], half);
  const result = await solve(problem, { backend: 'cpu' });
  near(result.x, [Math.sqrt(0.75), 0.5], 1e-14);
  const [ofCircle, low, left] = result.constraints;
  assert.deepEqual([[...low.active], [...left.active]], [[1], [0]]);
  assert.equal(left.multipliers[0], 0);
  const lambda = (3 - Math.sqrt(0.75)) / (2 * Math.sqrt(0.75));
  near([ofCircle.multipliers[0], low.multipliers[0]], [lambda, 4 - 0.5 - lambda], 1e-12);
});

test('random equality-constrained quadratic programs have the solution of their KKT system', async () => {
  const random = randomNumbers(7);
  const number = () => 2 * random() - 1;
  for (const [n, m] of [[3, 1], [6, 4], [12, 5], [30, 12]]) {
    const [J, A] = [Array.from({ length: n + 2 }, () => Array.from({ length: n }, number)), Array.from({ length: m }, () => Array.from({ length: n }, number))];
    const [y, b] = [J.map(number), A.map(number)];
    const problem = new Problem();
    const x = problem.parameters('x', { dim: 1, values: Array.from({ length: n }, number) });
    const all = x.at([...Array(n).keys()], n);
    const times = (rows, x) => rows.map((row) => V.sum(row.map((a, j) => x[j].mul(a))));
    problem.residuals('fit', { inputs: { x: all }, residual: ({ x }) => times(J, x).map((r, k) => r.sub(y[k])) });
    problem.equalities('rows', { inputs: { x: all }, constraint: ({ x }) => times(A, x).map((c, k) => c.sub(b[k])) });
    const kkt = Array.from({ length: n + m }, (_, i) =>
      Array.from({ length: n + m }, (_, j) => (i < n && j < n ? J.reduce((sum, row) => sum + row[i] * row[j], 0) : i < n ? A[j - n][i] : j < n ? A[i - n][j] : 0)));
    const right = [...Array.from({ length: n }, (_, i) => J.reduce((sum, row, k) => sum + row[i] * y[k], 0)), ...b];
    const solution = solveDense(kkt, right);
    const result = await solve(problem, { backend: 'cpu' });
    assert.ok(result.success, result.message);
    // The condition of the system times rounding.
    near(result.x, solution.slice(0, n), 1e-9, `${n}, ${m}`);
    near(result.constraints[0].multipliers, solution.slice(n), 1e-8, `${n}, ${m}`);
    assert.ok(violationOf(result) <= 1e-12);
    const sum = await solve(problem, { backend: 'cpu', method: 'lbfgs' });
    near(sum.x, solution.slice(0, n), 1e-8, 'L-BFGS');
  }
});

test('a linkage of two bars meets its lengths to rounding, with a limit of its angle', async () => {
  const problem = new Problem();
  const joints = problem.parameters('joints', { dim: 2, values: [0, 0, 0.9, 0.2, 1.5, 0.9] });
  joints.setConstant([0]);
  problem.residuals('target', { inputs: { end: joints.shared(2), at: problem.data([1.2, 1.4], 2) }, residual: ({ end, at }) => end.sub(at) });
  problem.equalities('bars', { inputs: { ends: joints.at([0, 1, 1, 2], 2), length: problem.data([1, 1]) }, constraint: ({ ends: [a, b], length }) => a.distance(b).sub(length) });
  problem.inequalities('limit', { inputs: { elbow: joints.shared(1) }, constraint: ({ elbow }) => elbow.y.sub(0.5) });
  const result = await solve(problem, { backend: 'cpu' });
  assert.ok(result.success, result.message);
  // The elbow is at the limit (√0.75, 0.5), and the end lies from there towards the target.
  const elbow = [Math.sqrt(0.75), 0.5];
  const [dx, dy] = [1.2 - elbow[0], 1.4 - elbow[1]];
  const reach = Math.hypot(dx, dy);
  if (reach < 1) near(result.x.slice(4), [1.2, 1.4], 1e-12);
  assert.ok(violationOf(result) <= 1e-14, String(violationOf(result)));
});

test('a chain of rotations closes exactly', async () => {
  const [n, random] = [7, randomNumbers(3)];
  const quaternions = Array.from({ length: n }, () => {
    const q = [2, random() - 0.5, random() - 0.5, random() - 0.5];
    return q.map((entry) => entry / Math.hypot(...q));
  });
  const problem = new Problem();
  const chain = problem.rotations('chain', { dim: 3, values: quaternions.flat() });
  const measured = problem.data(quaternions.flat(), 4);
  problem.residuals('measured', { inputs: { r: chain.at([...Array(n).keys()]), q: measured }, residual: ({ r, q }) => r.between(new Rotation3(q)).log() });
  problem.equalities('loop', { inputs: { all: chain.at([...Array(n).keys()], n) }, constraint: ({ all }) => all.reduce((a, b) => a.compose(b)).log() });
  const result = await solve(problem, { backend: 'cpu' });
  assert.ok(result.success, result.message);
  assert.ok(violationOf(result) <= 1e-14);
  for (let k = 0; k < n; k++) assert.ok(Math.abs(Math.hypot(...result.x.slice(4 * k, 4 * k + 4)) - 1) <= 1e-14, 'unit length');
  // What closes the loop is spread over all rotations; a penalty of 1e8 in its place comes near it.
  const soft = new Problem();
  const other = soft.rotations('chain', { dim: 3, values: quaternions.flat() });
  soft.residuals('measured', { inputs: { r: other.at([...Array(n).keys()]), q: soft.data(quaternions.flat(), 4) }, residual: ({ r, q }) => r.between(new Rotation3(q)).log() });
  soft.residuals('loop', { inputs: { all: other.at([...Array(n).keys()], n) }, residual: ({ all }) => all.reduce((a, b) => a.compose(b)).log(), weight: 1e8 });
  const penalised = await solve(soft, { backend: 'cpu' });
  near(result.x, penalised.x, 1e-6);
});

test('losses, weights, bounds and constants hold together with constraints', async () => {
  const problem = new Problem();
  const x = problem.parameters('x', { dim: 3, values: [0.5, 0.5, 7] });
  x.setConstant([0], true, [2]);
  x.setBounds({ lower: [-Infinity, 0.7, -Infinity], upper: Infinity });
  problem.residuals('near', { inputs: { x: x.shared(), t: problem.data([2, 1, 3, 0], 2) }, residual: ({ x, t }) => new Vec2(x.x.sub(t.x), x.y.sub(t.y)), loss: loss.huber(0.5), weights: [1, 4] });
  problem.equalities('sum', { inputs: { x: x.shared() }, constraint: ({ x }) => x.x.add(x.y).add(x.z).sub(9) });
  const result = await solve(problem, { backend: 'cpu' });
  assert.ok(result.success, result.message);
  // On the line x + y = 2 the cost falls with y down to its bound.
  near(result.x, [1.3, 0.7, 7], 1e-13);
});

test('a robust loss couples the outputs of an instance: a saddle of its cost is left', async () => {
  const problem = new Problem();
  const p = problem.parameters('p', { dim: 3, values: [0.5, -0.5, 0.5] });
  const inputs = { p: p.shared(), t: problem.data([3, -3]) };
  problem.residuals('r', { inputs, residual: ({ p, t }) => [p.x.sub(t), p.y.sub(t)], loss: loss.cauchy(1) });
  problem.equalities('height', { inputs: { p: p.shared() }, constraint: ({ p }) => p.z.square().sub(1) });
  const { success, message, x, finalCost } = await solve(problem, { backend: 'cpu' });
  assert.ok(success, message);
  // The slope of ½Σ ln(1 + 2(u ± 3)²) along x = y = u is 0 where 2u(1 + 2(u² − 9)) is.
  const u = Math.sqrt(8.5);
  near(Array.from(x, Math.abs), [u, u, 1], 1e-6);
  const cost = 0.5 * (Math.log1p(2 * (u - 3) ** 2) + Math.log1p(2 * (u + 3) ** 2));
  assert.ok(x[0] * x[1] > 0 && Math.abs(finalCost - cost) < 1e-12, String(finalCost));
});

test('an objective that falls without a bound where constraints hold ends so, and one that they bound does not', async () => {
  const minimum = (objective, kind, constraint) => {
    const problem = new Problem();
    const p = problem.parameters('p', { dim: 2, values: [1, 2] });
    problem.residuals('f', { inputs: { p: p.shared() }, residual: ({ p }) => objective(p) });
    problem[kind]('c', { inputs: { p: p.shared() }, constraint: ({ p }) => constraint(p) });
    return onCpu(problem, lbfgs);
  };
  for (const objective of [(p) => p.x, (p) => p.x.sub(p.y.log())]) {
    const { success, termination, message, iterations } = await minimum(objective, 'inequalities', (p) => p.x.sub(p.y));
    assert.deepEqual([success, termination], [false, 'non-finite'], message);
    assert.match(message, /falls without a bound/);
    assert.ok(iterations < 200, String(iterations));
  }
  const bounded = await minimum((p) => p.x.square().mul(p.x), 'equalities', (p) => p.x.add(1));
  assert.ok(bounded.success, bounded.message);
  near(bounded.constraints[0].multipliers, [-3], 1e-9);
});

test('contradictory constraints end without success, and are named', async () => {
  const { problem } = nearest([0.3, 0.2], [3, 4], (problem, points) => {
    problem.equalities('fixed', { inputs: { p: points.shared(), at: problem.data([0, 1, 5]) }, constraint: ({ p, at }) => p.x.sub(at) });
    problem.inequalities('free', { inputs: { p: points.shared() }, constraint: ({ p }) => p.y.sub(100) });
  });
  const result = await solve(problem, { backend: 'cpu' });
  assert.equal(result.success, false);
  assert.equal(result.termination, 'infeasible');
  assert.match(result.message, /contradict each other.*equality "fixed"\[2\]/);
  assert.doesNotMatch(result.message, /"free"/);
  for (const [add, named] of [
    [(problem, points) => {
      circle(problem, points);
      problem.inequalities('far', { inputs: { p: points.shared() }, constraint: ({ p }) => p.x.add(p.y).neg().add(3) });
    }, /"circle"\[0\].*"far"\[0\]|"far"\[0\].*"circle"\[0\]/],
    [(problem, points) => {
      points.setBounds({ upper: [0.5, 0.5] });
      circle(problem, points);
    }, /"circle"\[0\]/],
    [(problem, points) => {
      points.setConstant([0]);
      circle(problem, points);
    }, /"circle"\[0\]/],
  ]) {
    const { problem } = nearest([0.3, 0.2], [3, 4], add);
    const result = await solve(problem, { backend: 'cpu' });
    assert.deepEqual([result.success, result.termination], [false, 'infeasible'], result.message);
    assert.match(result.message, named);
  }
});

test('dependent constraints are met and named', async () => {
  const { problem } = nearest([0.3, 0.2], [3, 4], (problem, points) => {
    problem.equalities('lines', { inputs: { p: points.shared(), row: problem.data([1, 1, 2, 2, 2, 4], 3) }, constraint: ({ p, row }) => p.x.mul(row.x).add(p.y.mul(row.y)).sub(row.z) });
  });
  const result = await solve(problem, { backend: 'cpu' });
  assert.ok(result.success, result.message);
  near(result.x, [0.5, 1.5], 1e-13);
  assert.deepEqual([...result.constraints[0].dependent], [0, 1]);
  assert.match(result.message, /depends on others: equality "lines"\[1\]/);
});

test('a problem of constraints alone is solved for a point that meets them', async () => {
  const problem = new Problem();
  const points = problem.parameters('points', { dim: 2, values: [0.5, 0.4] });
  circle(problem, points);
  problem.equalities('diagonal', { inputs: { p: points.shared() }, constraint: ({ p }) => p.x.sub(p.y) });
  const result = await solve(problem, { backend: 'cpu' });
  assert.ok(result.success, result.message);
  near(result.x, [Math.SQRT1_2, Math.SQRT1_2], 1e-14);
});

test('a second solve begins with the multipliers of the first, and data, settings and bounds change without compiling', async () => {
  let block;
  const { problem, points } = nearest([2, 0], [3, 4], (problem, points) => {
    block = problem.equalities('circle', { inputs: { p: points.shared(), r: problem.data([1]) }, constraint: ({ p, r }) => p.x.square().add(p.y.square()).sub(r.square()) });
  });
  await onCpu(problem, async (functions) => {
    const first = await levenbergMarquardt(functions);
    const again = await levenbergMarquardt(functions);
    assert.ok(first.success && again.success && again.iterations <= 1 && again.iterations < first.iterations, `${first.iterations} and ${again.iterations}`);
    block.setData('r', [2]);
    near((await levenbergMarquardt(functions)).x, [1.2, 1.6], 1e-13);
    block.setEnabled(false);
    const free = await levenbergMarquardt(functions);
    near(free.x, [3, 4], 1e-10);
    assert.equal(free.constraints, undefined);
    block.setEnabled(true);
    points.setBounds({ upper: [1, Infinity] });
    near((await levenbergMarquardt(functions)).x, [1, Math.sqrt(3)], 1e-13);
  });
});

test('compiled functions have residuals without constraints, and the constraints by themselves', async () => {
  const { problem } = nearest([2, 1], [3, 4], circle);
  await onCpu(problem, async (functions) => {
    assert.equal(functions.numResiduals, 2);
    for (let round = 0; round < 2; round++) {
      near(await functions.evaluate(), [-1, -3], 0);
      near(await functions.evaluateConstraints(), [4], 0);
      near(await functions.evaluateConstraints([0, 0]), [-1], 0);
      const { values, jacobian } = await functions.evaluateJacobian();
      near(values, [-1, -3], 0);
      assert.deepEqual([jacobian.rows, jacobian.cols, [...jacobian.rowOffsets], [...jacobian.toDense()]], [2, 2, [0, 1, 2], [1, 0, 0, 1]]);
      const into = await functions.evaluateJacobian([0, 0], { values, jacobian });
      assert.equal(into.values, values);
      near(values, [-3, -4], 0);
      near((await functions.evaluateCostWithGradient([2, 1])).gradient, [-1, -3], 0);
      await levenbergMarquardt(functions, { maxIterations: 0 });
    }
  });
});

test('rank counts what equalities determine', async () => {
  const problem = new Problem();
  const p = problem.parameters('p', { dim: 3, values: [1, 2, 3] });
  problem.residuals('x', { inputs: { p: p.shared() }, residual: ({ p }) => p.x });
  const block = problem.equalities('level', { inputs: { p: p.shared() }, constraint: ({ p }) => p.y.sub(p.x) });
  problem.inequalities('low', { inputs: { p: p.shared() }, constraint: ({ p }) => p.z });
  await onCpu(problem, async (functions) => {
    assert.deepEqual((({ rank, free }) => [rank, free.flat().map(({ coordinate }) => coordinate)])(await rank(functions)), [2, [2]]);
    block.setEnabled(false);
    assert.equal((await rank(functions)).rank, 1);
    near(await functions.evaluate(), [1], 0);
  });
});

for (const [n, how, violation] of [[25, 'to rounding by dense steps', 1e-13], [300, 'by multipliers alone, with more numbers than dense matrices take', 1e-7]]) {
  test(`a chain of ${n} bars meets its lengths ${how}`, () => chainMeetsLengths(n, violation));
}

/** Noisy places of a chain of bars along an arc. `violation`: 1e-10 of the terms of a bar, whose ends are at up to 200, or rounding. */
async function chainMeetsLengths(n, violation) {
  const random = randomNumbers(11);
  const problem = new Problem();
  const radius = 0.5 / Math.sin(Math.PI / 2 / n / 2);
  const places = Array.from({ length: n + 1 }, (_, k) => [radius * Math.cos((Math.PI * k) / 2 / n), radius * Math.sin((Math.PI * k) / 2 / n)]).flat();
  const seen = places.map((place) => place + 0.05 * (random() - 0.5));
  const nodes = problem.parameters('nodes', { dim: 2, values: seen });
  problem.residuals('seen', { inputs: { p: nodes.at([...Array(n + 1).keys()]), at: problem.data(seen, 2) }, residual: ({ p, at }) => p.sub(at) });
  problem.equalities('bars', { inputs: { ends: nodes.at(Array.from({ length: n }, (_, k) => [k, k + 1]).flat(), 2) }, constraint: ({ ends: [a, b] }) => a.distance(b).sub(1) });
  const result = await solve(problem, { backend: 'cpu' });
  assert.ok(result.success, result.message);
  assert.ok(violationOf(result) <= violation, String(violationOf(result)));
  // The moves have no share but along the constraints' gradients: x − seen + Aᵀλ = 0.
  const gradient = result.x.map((value, k) => value - seen[k]);
  result.constraints[0].multipliers.forEach((multiplier, k) => {
    const [dx, dy] = [result.x[2 * k + 2] - result.x[2 * k], result.x[2 * k + 3] - result.x[2 * k + 1]];
    for (const [j, share] of [[0, -dx], [1, -dy], [2, dx], [3, dy]]) gradient[2 * k + j] += (multiplier * share) / Math.hypot(dx, dy);
  });
  assert.ok(Math.max(...gradient.map(Math.abs)) <= 1e-6, String(Math.max(...gradient.map(Math.abs))));
}

test('limits and signals end a solve with the best point so far', async () => {
  const { problem } = nearest([20, 30], [3, 4], circle);
  await onCpu(problem, async (functions) => {
    const stopped = await levenbergMarquardt(functions, { maxIterations: 1 });
    assert.deepEqual([stopped.success, stopped.termination], [false, 'max-iterations']);
    const seen = [];
    const aborted = await levenbergMarquardt(functions, { onIteration: ({ iteration }) => seen.push(iteration) > 1 });
    assert.deepEqual([aborted.success, aborted.termination, seen], [false, 'aborted', [0, 1]]);
    const controller = new AbortController();
    controller.abort();
    assert.equal((await levenbergMarquardt(functions, { signal: controller.signal })).termination, 'aborted');
    const { history, success } = await levenbergMarquardt(functions);
    assert.ok(success);
    history.forEach(({ iteration }, k) => assert.equal(iteration, k));
  });
});

test('what is no constraint is refused', async () => {
  const problem = new Problem();
  const points = problem.parameters('points', { dim: 2, values: [1, 2] });
  const p = points.shared();
  const d = problem.data([1, 2]);
  const constraint = ({ p }) => p.x;
  assert.throws(() => problem.equalities('c', { inputs: { d }, constraint: ({ d }) => d }), refused('equalities "c": inputs: got data alone; takes at least one block of parameters, which at, shared or star return'));
  assert.throws(() => problem.inequalities('c', { inputs: { p, d }, constraint: ({ p, d }) => [p.x, d] }), refused('inequalities "c": what constraint returned: got output 1, an expression without parameters; takes expressions of the parameters of its inputs'));
  assert.throws(() => problem.equalities('c', { inputs: { p }, constraint: () => 3 }), /got an expression without parameters/);
  assert.throws(() => problem.equalities('c', { inputs: { p }, constraint: () => [] }), { code: 'invalid-graph' });
  assert.throws(() => problem.equalities('c', { inputs: { p }, constraint: () => NaN }), /equalities "c": what constraint returned: got NaN/);
  assert.throws(() => problem.equalities('c', { inputs: { p }, residual: constraint }), /unknown option "residual"/);
  assert.throws(() => problem.equalities('c', { inputs: { p } }), /equalities "c": constraint: got undefined; takes a function/);
  assert.throws(() => problem.equalities('c', { inputs: { p: points.at([0, 0, 0]), d }, constraint }), /equalities "c": inputs.d: got 2 instances; takes as many as p has, 3/);
  problem.residuals('r', { inputs: { p }, residual: constraint });
  assert.throws(() => problem.equalities('r', { inputs: { p }, constraint }), /equalities: name: got "r" a second time/);
  const block = problem.equalities('c', { inputs: { p, d: problem.data([1]) }, constraint: ({ p, d }) => p.x.sub(d).log() });
  assert.throws(() => block.setData('d', [NaN]), /c.setData: values\[0\]: got NaN/);
  assert.throws(() => block.setData('e', [1]), /c.setData: input/);
  assert.throws(() => block.setEnabled(1), /c.setEnabled: enabled: got 1; takes true or false/);
  await assert.rejects(solve(problem, { backend: 'cpu' }), (error) => error.code === 'non-finite' && error.message.startsWith('equality "c"[0] is not finite at the start'));
  await assert.rejects(solve(problem, { backend: 'cpu', constraintTolerance: -1 }), /solve: constraintTolerance: got -1/);
});

test('many problems with constraints have the solutions of single ones, and those whose constraints contradict each other end so', async () => {
  const problem = new Problem();
  const p = problem.parameters('p', { dim: 2, values: [1, 0.2] });
  const r = problem.parameters('r', { dim: 1, values: [1] });
  r.setConstant([0]);
  problem.residuals('near', { inputs: { p: p.shared(), at: problem.data([3, 4], 2) }, residual: ({ p, at }) => p.sub(at) });
  problem.equalities('circle', { inputs: { p: p.shared(), r: r.shared() }, constraint: ({ p, r }) => p.x.square().add(p.y.square()).sub(r.square()) });
  problem.inequalities('low', { inputs: { p: p.at([0, 0]), most: problem.data([0.5, 90]) }, constraint: ({ p, most }) => [p.y.sub(most), p.x.sub(100)] });
  const count = 20;
  const radius = Float64Array.from({ length: count }, (_, k) => 0.3 + 0.1 * k);
  const most = Float64Array.from({ length: 2 * count }, (_, k) => (k % 2 === 1 ? 90 : k === 14 ? -5 : 0.5));
  const many = await solveMany(problem, { count, parameters: { r: radius }, data: { low: { most } } }, { backend: 'cpu' });
  const low = many.constraints[1];
  assert.deepEqual([many.constraints.length, low.name, low.values.length], [2, 'low', 4 * count]);
  for (let k = 0; k < count; k++) {
    if (k === 7) {
      assert.equal(many.termination[k], 'infeasible');
      assert.ok(Math.max(low.violation[k], many.constraints[0].violation[k]) > 0.1);
      continue;
    }
    const y = Math.min(0.8 * radius[k], 0.5);
    // 1e-10 of the terms of constraints.
    near(many.x.slice(3 * k, 3 * k + 3), [Math.sqrt(radius[k] ** 2 - y * y), y, radius[k]], 2e-9, `problem ${k}`);
    assert.notEqual(many.termination[k], 'infeasible');
    assert.ok(Math.abs(many.cost[k] - 0.5 * ((many.x[3 * k] - 3) ** 2 + (y - 4) ** 2)) <= 1e-7);
    assert.ok(many.constraints[0].violation[k] <= 1e-8 && low.violation[k] <= 1e-8);
  }
  assert.equal(many.converged, count - 1);
  assert.match(many.message, /Constraints hold to 1\.?0?e-10 of their terms in 19 of 20 problems\. They do not hold in 7\./);
  near(p.values(), [1, 0.2], 0);
  await assert.rejects(solveMany(problem, { count: 1 }, { standardErrors: true }), /solveMany: standardErrors: got true for a template with constraints/);
  await assert.rejects(solveMany(problem, { count: 1, data: { low: { most: [[1]] } } }), /solveMany: batch.data.low.most: got a list of arrays/);
  problem.equalities('star', { inputs: { s: p.star([0, 1], [0]) }, constraint: ({ s }) => s[0].x });
  await assert.rejects(solveMany(problem, { count: 1 }), /solveMany: template: got a star in the constraint block "star"/);
});

test('what changes after a call of solveMany does not change it', async () => {
  const many = (change) => {
    const problem = new Problem();
    const line = problem.parameters('line', { dim: 2, values: [1, 1] });
    const other = problem.parameters('other', { dim: 1, values: [0.5] });
    const inputs = { p: line.shared(), q: other.shared(), x: problem.data([0, 1, 2]), y: problem.data([1, 3, 6]) };
    const block = problem.residuals('r', { inputs, residual: ({ p, q, x, y }) => p.x.add(p.y.mul(x)).sub(y).add(q.mul(0.1)) });
    const circle = problem.equalities('circle', { inputs: { p: line.shared(), s: problem.data([4]) }, constraint: ({ p, s }) => p.x.square().add(p.y.square()).sub(s) });
    other.setBounds({ lower: -1, upper: 1 });
    const batch = { count: 2, parameters: { line: Float64Array.of(1, 1, 1, 2) }, data: { r: { y: Float64Array.of(1, 3, 6, 2, 4, 7) }, circle: { s: [4, 9] } } };
    const options = { backend: 'cpu', maxIterations: 200 };
    const result = solveMany(problem, batch, options);
    change({ problem, line, other, block, circle, batch, options });
    return result;
  };
  const expected = await many(() => {});
  for (const change of [
    ({ batch }) => batch.data.r.y.fill(0),
    ({ batch }) => batch.data.circle.s.fill(1),
    ({ batch }) => batch.parameters.line.fill(-1),
    ({ options }) => (options.maxIterations = 0),
    ({ block }) => block.setWeight(100),
    ({ block }) => block.setLoss(loss.cauchy(0.1)),
    ({ block }) => block.setData('x', [5, 6, 8]),
    ({ circle }) => circle.setEnabled(false),
    ({ circle }) => circle.setData('s', [7]),
    ({ line }) => line.setConstant([0]),
    ({ other }) => other.setBounds({ upper: 0 }),
    ({ other }) => other.set([0.9]),
    ({ problem }) => problem.residuals('late', { inputs: { q: problem.parameters('late', { dim: 1, values: [1] }).shared() }, residual: ({ q }) => q }),
  ]) {
    const { x, termination } = await many(change);
    assert.deepEqual([[...x], termination], [[...expected.x], expected.termination], String(change));
  }
});

test('a problem of many that is not finite ends alone', async () => {
  const problem = new Problem();
  const p = problem.parameters('p', { dim: 2, values: [3, 1] });
  problem.residuals('near', { inputs: { p: p.shared(), y: problem.data([3, 4], 2) }, residual: ({ p, y }) => [p.x.sub(y.x), p.y.sub(y.y)] });
  circle(problem, p);
  problem.inequalities('log', { inputs: { p: p.shared() }, constraint: ({ p }) => [p.x.add(2).log().sub(5), p.y.sub(9)] });
  const starts = [NaN, 1, 3, 1, 3, Infinity, -3, 1, 2, 2, 1, 1];
  const y = [3, 4, 3, 4, 3, 4, 3, 4, NaN, 4, 3, 4];
  const { x, termination, constraints, message, converged } = await solveMany(problem, { count: 6, parameters: { p: starts }, data: { near: { y } } }, { backend: 'cpu' });
  const isWell = (k) => k === 1 || k === 5;
  for (const k of [1, 5]) near(x.subarray(2 * k, 2 * k + 2), [0.6, 0.8], 1e-8);
  assert.deepEqual(termination.map((reason) => reason === 'non-finite'), termination.map((_, k) => !isWell(k)));
  assert.equal(converged, 2);
  for (const k of [1, 5]) assert.ok(constraints[0].violation[k] < 1e-9);
  assert.match(message, /not finite/);
});

test('with all constraints disabled a solve is that of the problem without them', async () => {
  const rosenbrock = (add) => {
    const problem = new Problem();
    const p = problem.parameters('p', { dim: 2, values: [-1.2, 1] });
    problem.residuals('r', { inputs: { p: p.shared() }, residual: ({ p }) => [p.y.sub(p.x.square()).mul(10), p.x.mul(-1).add(1)] });
    problem.residuals('g', { inputs: { p: p.shared() }, residual: ({ p }) => p.x.sub(9), loss: loss.graduated('truncated', 0.1), weights: [1] });
    add(problem, p);
    return problem;
  };
  const disabled = (problem, p) => problem.equalities('c', { inputs: { p: p.shared() }, constraint: ({ p }) => p.x }).setEnabled(false);
  const loose = { costTolerance: 1e-3, gradientTolerance: 1e-2, parameterTolerance: 1e-2 };
  for (const solver of [levenbergMarquardt, (functions, options) => lbfgs(functions, { ...options, objective: 'least-squares' })]) {
    for (const options of [{}, loose, { ...loose, readBack: false }]) {
      const [plain, other] = await Promise.all([() => {}, disabled].map((add) => onCpu(rosenbrock(add), (functions) => solver(functions, options))));
      assert.ok(!('constraints' in other));
      for (const key of ['success', 'termination', 'message', 'iterations', 'finalCost', 'promise', 'x', 'lossWeights']) assert.deepEqual(other[key], plain[key], key);
    }
  }
});

test('a limit of iterations is no contradiction of constraints', async () => {
  const problem = new Problem();
  const p = problem.parameters('p', { dim: 2, values: [-1.2, 1] });
  problem.residuals('r', { inputs: { p: p.shared() }, residual: ({ p }) => [p.y.sub(p.x.square()).mul(10), p.x.mul(-1).add(1)] });
  problem.inequalities('disc', { inputs: { p: p.shared() }, constraint: ({ p }) => p.x.square().add(p.y.square()).sub(1) });
  for (const maxIterations of [0, 2]) {
    const { termination, iterations, converged } = await solveMany(problem, { count: 2 }, { backend: 'cpu', maxIterations });
    assert.deepEqual([termination, converged], [['max-iterations', 'max-iterations'], 0]);
    // 25 rounds, each with so many.
    assert.ok(iterations.every((count) => count <= 25 * maxIterations), String(iterations));
  }
  const { converged, x } = await solveMany(problem, { count: 2 }, { backend: 'cpu' });
  assert.equal(converged, 2);
  near([Math.hypot(x[0], x[1])], [1], 1e-9);
});

test('a check of gradients numbers constraints after the residuals', async () => {
  const problem = new Problem();
  const p = problem.parameters('p', { dim: 2, values: [1e-3, 1] });
  problem.residuals('r', { inputs: { p: p.shared() }, residual: ({ p }) => [p.x.sub(3), p.y] });
  // The third derivative of the second constraint makes differences of it the least exact.
  const block = problem.equalities('c', { inputs: { p: p.shared() }, constraint: ({ p }) => [p.y.sub(1), p.x.mul(1000).sin().mul(p.y).exp()] });
  await onCpu(problem, async (functions) => {
    for (const enabled of [true, false]) {
      block.setEnabled(enabled);
      const { residual, maxRelativeError } = await functions.checkGradients();
      assert.equal(residual, functions.numResiduals + 1);
      assert.ok(maxRelativeError < 1e-3);
    }
  });
});

test('the report has the times of all solves within', async () => {
  const n = 300;
  const problem = new Problem();
  const p = problem.parameters('p', { dim: 1, values: Array.from({ length: n }, () => 1) });
  const all = Array.from({ length: n }, (_, i) => i);
  problem.residuals('r', { inputs: { p: p.at(all), y: problem.data(all.map((i) => 2 + Math.sin(i))) }, residual: ({ p, y }) => p.sub(y) });
  problem.equalities('c', { inputs: { p: p.at(all.slice(1).flatMap((i) => [i - 1, i]), 2) }, constraint: ({ p }) => p[0].square().add(p[1].square()).sub(5) });
  const { success, message, iterations, precisionLoss, report } = await solve(problem, { backend: 'cpu' });
  assert.ok(success && iterations > 3, message);
  assert.equal(precisionLoss, 0);
  // The solve without iterations that checks the start has neither.
  for (const stage of ['linear solver', 'trials']) assert.ok(Number(new RegExp(`\n +${stage} +([\\d.]+)`).exec(report())[1]) > 0, report());
});
