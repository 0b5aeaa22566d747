// Many starts of one problem on the CPU: which minima are found, with functions whose minima are known.
import assert from 'node:assert/strict';
import { test } from 'node:test';


await import('../www/residua.mjs');
const { multistart, Problem, Rotation3, Vec3 } = await import('residua');

const near = (found, expected, tolerance, what) => {
  assert.equal(found.length, expected.length, what);
  expected.forEach((number, k) => assert.ok(Math.abs(found[k] - number) <= tolerance, `${what}: ${found} is not ${expected}`));
};

/** Himmelblau's function as a sum of two squares: (x² + y − 11)² + (x + y² − 7)², which is 0 at four points. */
function himmelblau() {
  const problem = new Problem();
  const point = problem.parameters('point', { dim: 2, values: [0, 0] });
  problem.residuals('curves', {
    inputs: { p: point.shared() },
    residual: ({ p }) => [p.x.square().add(p.y).sub(11), p.x.add(p.y.square()).sub(7)],
  });
  return { problem, point };
}

test("all four minima of Himmelblau's function are found, and counted", async () => {
  const { problem, point } = himmelblau();
  const result = await multistart(problem, { point: [-6, 6] }, { starts: 60, seed: 3, backend: 'cpu' });
  // The published places, to six digits.
  const zeros = [[3, 2], [-2.805118, 3.131313], [-3.77931, -3.283186], [3.584428, -1.848127]];
  const found = result.minima.filter(({ cost }) => cost < 1e-12);
  assert.equal(found.length, 4);
  for (const zero of zeros) assert.ok(found.some(({ x }) => Math.hypot(x[0] - zero[0], x[1] - zero[1]) < 1e-5), `${zero} is found`);
  assert.equal(result.minima.reduce((sum, { count }) => sum + count, 0) + result.failed, 60);
  assert.equal(result.best, result.minima[0]);
  for (const { starts, count, x } of result.minima) {
    assert.equal(starts.length, count);
    for (const start of starts) near(result.many.x.slice(2 * start, 2 * start + 2), [...x], 0.012, 'an end of the minimum');
  }
  assert.deepEqual([...point.values()], [0, 0], 'the template keeps its values');
});

test('starts are a Latin hypercube that the seed decides', async () => {
  const starts = async (seed) => (await multistart(himmelblau().problem, { point: [[-6, 1], [6, 2]] }, { starts: 20, seed, backend: 'cpu', maxIterations: 0 })).starts;
  const [first, again, other] = [await starts(5), await starts(5), await starts(2 ** 32 - 1)];
  assert.deepEqual(first, again);
  assert.notDeepEqual(first, other);
  for (const [coordinate, [low, high]] of [[0, [-6, 6]], [1, [1, 2]]]) {
    const parts = Array.from({ length: 20 }, (_, start) => Math.floor((20 * (first[2 * start + coordinate] - low)) / (high - low)));
    assert.deepEqual(parts.sort((a, b) => a - b), Array.from({ length: 20 }, (_, k) => k), 'one start in each part');
  }
});

test('a sine whose frequency has many minima is found with its standard errors', async () => {
  const problem = new Problem();
  const t = Array.from({ length: 80 }, (_, k) => k / 20);
  const y = t.map((time, k) => 1.5 * Math.sin(7.3 * time + 0.4) + 0.01 * Math.sin(91 * k));
  const wave = problem.parameters('wave', { dim: 3, values: [1, 1, 0] });
  const offset = problem.parameters('offset', { dim: 1, values: [0.25] });
  offset.setConstant([0]);
  problem.residuals('samples', {
    inputs: { w: wave.shared(), o: offset.shared(), t: problem.data(t), y: problem.data(y) },
    residual: ({ w, o, t: time, y: measured }) => w.x.mul(w.y.mul(time).add(w.z).sin()).add(o).sub(0.25).sub(measured),
  });
  const { best, minima, many } = await multistart(problem, { wave: [[0.5, 0.5, -3], [2, 15, 3]] }, { starts: 100, standardErrors: true, backend: 'cpu' });
  // The wave with the opposite sign, half a period later, is the same.
  near([Math.abs(best.x[0]), best.x[1]], [1.5, 7.3], 0.01, 'amplitude and frequency');
  assert.equal(best.x[3], 0.25, 'a constant stays');
  assert.ok(minima.length > 3, 'frequencies have minima of their own');
  assert.ok(minima.every(({ cost }, k) => k === 0 || cost >= minima[k - 1].cost));
  near(best.standardErrors, many.standardErrors.slice(4 * best.starts[0], 4 * best.starts[0] + 4), 0, 'standard errors');
  assert.equal(best.standardErrors[3], 0);
});

test('quaternions of both signs, and angles a turn apart, are one minimum', async () => {
  const problem = new Problem();
  const turn = problem.rotations('turn', { dim: 3, values: [1, 0, 0, 0] });
  const angle = problem.parameters('angle', { dim: 1, values: [0] });
  angle.setManifold('angle');
  const from = [[1, 0, 0], [0, 1, 0], [0, 0, 1]];
  const truth = Rotation3.exp(new Vec3(0.3, -0.5, 0.8));
  const to = from.map((v) => [...truth.act(new Vec3(...v))].map((value) => value.data));
  problem.residuals('vectors', {
    inputs: { q: turn.shared(), v: problem.data(from.flat(), 3), w: problem.data(to.flat(), 3) },
    residual: ({ q, v, w }) => q.act(v).sub(w),
  });
  problem.residuals('angle', { inputs: { a: angle.shared() }, residual: ({ a }) => [a.sin().sub(Math.sin(3)), a.cos().sub(Math.cos(3))] });
  const { best, minima } = await multistart(problem, { turn: [-1, 1], angle: [-9, 9] }, { starts: 40, backend: 'cpu' });
  const converged = minima.filter(({ cost }) => cost < 1e-12);
  assert.equal(converged.length, 1, JSON.stringify(minima));
  assert.ok(best.count > 20);
});

test('wrong arguments are refused by name', async () => {
  const { problem } = himmelblau();
  const cases = [
    [{}, {}, { start: 3 }, /multistart: options: got the unknown option "start"; did you mean 'starts'/],
    [problem, { point: [-6, 6] }, { starts: 0 }, /multistart: starts: got 0/],
    [problem, { point: [-6, 6] }, { seed: -1 }, /multistart: seed: got -1/],
    [problem, { point: [-6, 6] }, { distance: NaN }, /multistart: distance/],
    [problem, { dot: [-6, 6] }, {}, /multistart: bounds\.dot: got no parameter array of that name; takes one of "point"/],
    [problem, { point: 6 }, {}, /multistart: bounds\.point: got 6; takes a pair/],
    [problem, { point: [6, -6] }, {}, /multistart: bounds\.point: got the range from 6 to -6 of number 0/],
    [problem, { point: [[1, 2, 3], 6] }, {}, /multistart: bounds\.point\[0\]: got 3 numbers/],
    [problem, { point: [-Infinity, 6] }, {}, /multistart: bounds\.point\[0\]\[0\]: got -Infinity/],
    ['no', {}, {}, /multistart: template: got "no"; takes a Problem/],
  ];
  for (const [template, bounds, options, message] of cases) {
    const given = template === 'no' || template === problem ? template : problem;
    await assert.rejects(multistart(given, bounds, options), (error) => error.code === 'invalid-argument' && message.test(error.message) || assert.fail(`${message}: ${error.message}`));
  }
});

test('where no start has a finite cost the rejection says so', async () => {
  const problem = new Problem();
  const x = problem.parameters('x', { dim: 1, values: [-1] });
  problem.residuals('roots', { inputs: { x: x.shared() }, residual: ({ x: value }) => value.sqrt() });
  await assert.rejects(multistart(problem, { x: [-3, -2] }, { starts: 4, backend: 'cpu' }), (error) => error.code === 'non-finite' && /block 'roots'.* is NaN at the start/.test(error.message));
});

/** (u² − 4)² + v², with minima at u = ±2 and v = 0, of which only u has a range. */
function pair(options) {
  const problem = new Problem();
  const u = problem.parameters('u', { dim: 1, values: [0] }), v = problem.parameters('v', { dim: 1, values: [1] });
  problem.residuals('r', { inputs: { u: u.shared(), v: v.shared() }, residual: ({ u, v }) => [u.square().sub(4), v.mul(u.square().add(1))] });
  return multistart(problem, { u: [-5, 5] }, { starts: 20, backend: 'cpu', ...options });
}

test('a number without a range that ends at 0 parts no minimum, and distance decides what is one', async () => {
  const counts = async (options) => (await pair(options)).minima.map(({ count }) => count);
  const both = await counts({});
  assert.equal(both.length, 2);
  assert.equal(both[0] + both[1], 20);
  // Roundings part ends at distance 0; both minima are within the width of the range.
  assert.ok((await counts({ distance: 0 })).length > 2);
  assert.deepEqual(await counts({ distance: 1 }), [20]);
});

test('starts that do not converge count as failed, and are minima where no other is', async () => {
  const { failed, minima } = await pair({ maxIterations: 0 });
  assert.deepEqual([failed, minima.length], [20, 20]);
});

test('more starts than fit are out of memory', async () => {
  await assert.rejects(pair({ starts: 2 ** 32 - 1 }), { code: 'out-of-memory', message: `multistart: ${2 ** 32 - 1} starts of 2 numbers could not be allocated` });
});
