// Newton's method and Hessians on the CPU through the package: energies of deformation, contact, likelihoods, and what is refused.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { onCpu } from '../www/residua.mjs';

const { lbfgs, loss, Mat2, newton, Problem, solve, V, Vec2 } = await import('residua');
const { hillyMesh, symmetricDirichlet, tutte } = await import('../../www/problems/parametrisation.js');

const near = (found, expected, tolerance, what) => {
  assert.equal(found.length, expected.length, what);
  expected.forEach((number, k) => assert.ok(Math.abs(found[k] - number) <= tolerance, `${what} [${k}]: ${found[k]} is not ${number}`));
};
const refused = (code, message) => (error) => (error.code === code && message.test(error.message)) || assert.fail(`${error.code}: ${error.message}`);

test('a mesh is parametrised in at most 20 steps, to the minimum that L-BFGS finds in hundreds', async () => {
  const mesh = hillyMesh(20);
  const { start, result: springs } = await tutte(mesh);
  assert.ok(springs.success && springs.iterations <= 2, springs.message);
  const { problem, places, areas } = symmetricDirichlet(mesh, start);
  await onCpu(problem, async (functions) => {
    const found = {};
    for (const projection of ['clamp', 'absolute']) {
      places.set(start);
      found[projection] = await newton(functions, { projection, costTolerance: 1e-6 });
      assert.equal(found[projection].termination, 'cost-tolerance', found[projection].message);
      assert.ok(found[projection].iterations <= 20, `${projection}: ${found[projection].iterations} iterations`);
      assert.ok(found[projection].newtonDecrement <= 1e-6 * found[projection].finalCost);
      assert.equal(found[projection].promise, undefined, 'a sum has no variance');
    }
    places.set(start);
    const slow = await lbfgs(functions, { maxIterations: 5000, costTolerance: 1e-12, gradientTolerance: 0 });
    assert.ok(slow.iterations > 100);
    near([found.clamp.finalCost, found.absolute.finalCost], [slow.finalCost, slow.finalCost], 2e-6 * slow.finalCost, 'energy');
    // An isometry would have 4 of each unit of area.
    assert.ok(found.clamp.finalCost > 4 * areas.reduce((sum, area) => sum + area));
    assert.ok(found.clamp.history.every(({ cost }, k, all) => k === 0 || cost < all[k - 1].cost));
    assert.match(found.clamp.report(), /Solver +projected Newton[^]*sparse-cholesky of the projected Hessian/);
  });
});

test('a flat mesh returns to its shape from a state with equal singular values', async () => {
  const [corners, side] = [[], 4];
  for (let row = 0; row < side; row++) for (let column = 0; column < side; column++) {
    const at = row * (side + 1) + column;
    corners.push([at, at + 1, at + side + 2], [at, at + side + 2, at + side + 1]);
  }
  const rest = Array.from({ length: (side + 1) ** 2 }, (_, k) => [k % (side + 1), Math.floor(k / (side + 1))]);
  const problem = new Problem();
  // Twice as large everywhere: both singular values are 2.
  const places = problem.parameters('places', { dim: 2, values: rest.flat().map((x) => 2 * x) });
  const corner = (k) => places.at(corners.map((triangle) => triangle[k]));
  problem.residuals('triangles', {
    inputs: { a: corner(0), b: corner(1), c: corner(2), shape: problem.data(corners.flatMap((triangle) => triangle.flatMap((vertex) => rest[vertex])), 6) },
    residual: ({ a, b, c, shape: s }) => {
      const atRest = Mat2.fromColumns(new Vec2(s[2].sub(s[0]), s[3].sub(s[1])), new Vec2(s[4].sub(s[0]), s[5].sub(s[1])));
      const deformation = Mat2.fromColumns(b.sub(a), c.sub(a)).matmul(atRest.inverse);
      const energy = V.sum(deformation.singularValues.map((stretch) => stretch.square().add(stretch.square().reciprocal())));
      return V.ifThenElse(deformation.determinant.gt(0), energy, Infinity);
    },
  });
  const result = await solve(problem, { method: 'newton', backend: 'cpu' });
  assert.ok(result.success && result.iterations < 12, `${result.iterations}: ${result.message}`);
  near([result.finalCost], [4 * corners.length], 1e-6, 'the energy of an isometry');
});

test('two bodies that a barrier keeps apart do not touch', async () => {
  const problem = new Problem();
  const heights = problem.parameters('heights', { dim: 1, values: [0.3, 1] });
  // Each has its weight; the floor is at 0.
  problem.residuals('weight', { inputs: { h: heights.at([0, 1]) }, residual: ({ h }) => h.mul(1) });
  problem.residuals('contact', {
    inputs: { below: heights.at([0]), above: heights.at([1]) },
    residual: ({ below, above }) => V.barrier(below, 0.1).add(V.barrier(above.sub(below), 0.1)).mul(1e3),
  });
  const { success, x, message } = await solve(problem, { method: 'newton', backend: 'cpu' });
  assert.ok(success, message);
  // Forces of the barrier, of range 0.1 and stiffness 1000, against the weights of 2 and 1.
  const force = (d) => 1e3 * (2 * (d - 0.1) * Math.log(d / 0.1) + (d - 0.1) ** 2 / d);
  near([force(x[0]), force(x[1] - x[0])], [2, 1], 1e-4, 'forces');
  assert.ok(x[0] > 0 && x[1] > x[0]);
});

test('a Poisson likelihood has the minimum and the standard errors of its formulas', async () => {
  const counts = [3, 5, 2, 8, 4, 4, 6, 1];
  const problem = new Problem();
  const rate = problem.parameters('rate', { dim: 1, values: [1] });
  rate.setBounds({ lower: 1e-6 });
  problem.residuals('counts', { inputs: { rate: rate.shared(), n: problem.data(counts) }, residual: ({ rate: r, n }) => r.sub(n.mul(r.log())) });
  await onCpu(problem, async (functions) => {
    const { success, x } = await newton(functions);
    assert.ok(success);
    // The mean of n counts, whose standard error is √(mean/n).
    const mean = counts.reduce((sum, n) => sum + n) / counts.length;
    near(x, [mean], 1e-8, 'rate');
    const hessian = await functions.evaluateHessian();
    near([1 / Math.sqrt(hessian.values[0])], [Math.sqrt(mean / counts.length)], 1e-8, 'standard error');
  });
});

test('constraints are met, by small matrices and by large ones', async () => {
  const limited = new Problem();
  const place = limited.parameters('place', { dim: 1, values: [3] });
  limited.residuals('square', { inputs: { p: place.shared() }, residual: ({ p }) => p.square() });
  const above = limited.inequalities('above', { inputs: { p: place.shared() }, constraint: ({ p }) => p.neg().add(1) });
  const { success, constraints } = await solve(limited, { method: 'newton' });
  assert.equal(success, true);
  near(place.values(), [1], 1e-9, 'with the constraint');
  near(constraints[0].multipliers, [2], 1e-7, 'its multiplier');
  above.setEnabled(false);
  await solve(limited, { method: 'newton' });
  near(place.values(), [0], 1e-9, 'without the constraint');

  // A chain of bars of length 1 between two hooks. Each bar's slope is that of the tensions: (k − (links − 1) / 2) / h for bar k of weight 1, where h is the horizontal one.
  const links = 120;
  const [span, middle] = [0.8 * links, (links - 1) / 2];
  const width = (h) => Array.from({ length: links }, (_, k) => 1 / Math.hypot(1, (k - middle) / h)).reduce((sum, x) => sum + x);
  let [low, high] = [1e-3, 1e6];
  for (let k = 0; k < 200; k++) [low, high] = width((low + high) / 2) < span ? [(low + high) / 2, high] : [low, (low + high) / 2];
  const expected = [0, 0];
  for (let k = 0; k < links; k++) {
    const slope = (k - middle) / low;
    expected.push(expected[2 * k] + 1 / Math.hypot(1, slope), expected[2 * k + 1] + slope / Math.hypot(1, slope));
  }
  const chain = new Problem();
  const joints = chain.parameters('joints', { dim: 2, values: Float64Array.from({ length: 2 * links + 2 }, (_, k) => (k % 2 === 0 ? 0.4 * k : -0.3 * Math.min(k - 1, 2 * links + 1 - k))) });
  joints.setConstant([0, links]);
  const ends = Array.from({ length: links }, (_, k) => [k, k + 1]).flat();
  chain.residuals('weights', { inputs: { ends: joints.at(ends, 2) }, residual: ({ ends: [a, b] }) => a.y.add(b.y).div(2) });
  chain.equalities('bars', { inputs: { ends: joints.at(ends, 2) }, constraint: ({ ends: [a, b] }) => a.sub(b).sqrMagnitude.sub(1) });
  const hung = await solve(chain, { method: 'newton' });
  assert.equal(hung.success, true, hung.message);
  // 1e-10 of the terms: a bar's derivatives of 2 times numbers of up to 96, of four of them.
  assert.ok(hung.constraints[0].violation < 1e-7, `${hung.constraints[0].violation}`);
  // Stationarity of 1e-5 of the terms, over 120 joints.
  near(joints.values(), expected, 1e-3, 'joints');
});

test('wrong arguments are refused by name', async () => {
  const problem = new Problem();
  const x = problem.parameters('x', { dim: 2, values: [1, 2] });
  problem.residuals('r', { inputs: { x: x.shared() }, residual: ({ x: v }) => v.sqrMagnitude });
  await onCpu(problem, async (functions) => {
    const cases = [
      [() => newton(functions, { gradientTolerance: 1 }), /newton: options: got the unknown option "gradientTolerance"/],
      [() => newton(functions, { projection: 'none' }), /newton: projection: got "none"; takes 'clamp' or 'absolute'/],
      [() => newton(functions, { c1: 0.5 }), /newton: c1: got 0\.5/],
      [() => newton(functions, { maxLineSearchSteps: 0 }), /newton: maxLineSearchSteps: got 0/],
      [() => newton({}), /newton: functions: /],
      [() => solve(problem, { method: 'newton', readBack: false }), /solve: readBack: got false/],
      [() => solve(problem, { method: 'gauss' }), /solve: method: got "gauss"; takes 'lm', 'lbfgs' or 'newton'/],
    ];
    for (const [call, message] of cases) await assert.rejects(call, refused('invalid-argument', message));
  });
  const many = new Problem();
  const all = many.parameters('all', { dim: 65, values: new Float64Array(65).fill(1) });
  many.residuals('whole', { inputs: { all: all.shared() }, residual: ({ all: v }) => [...v].reduce((product, number) => product.mul(number)) });
  await assert.rejects(solve(many, { method: 'newton', backend: 'cpu' }), refused('limit-exceeded', /block 'whole' depends on 65 numbers/));
  const negative = new Problem();
  const start = negative.parameters('start', { dim: 1, values: [-1] });
  negative.residuals('logs', { inputs: { s: start.shared() }, residual: ({ s }) => s.log() });
  await assert.rejects(solve(negative, { method: 'newton', backend: 'cpu' }), refused('non-finite', /'logs'.*is NaN at the start/));
});

test('a listener and a signal end a run at its best point', async () => {
  const mesh = hillyMesh(6);
  const { start } = await tutte(mesh);
  const { problem, places } = symmetricDirichlet(mesh, start);
  await onCpu(problem, async (functions) => {
    const seen = [];
    const stopped = await newton(functions, { onIteration: (summary) => seen.push(summary.cost) > 2 });
    assert.deepEqual([stopped.termination, stopped.iterations, stopped.history.length], ['aborted', 2, 3]);
    assert.deepEqual(seen, stopped.history.map(({ cost }) => cost));
    assert.deepEqual(places.values(), stopped.x);
    places.set(start);
    const aborted = await newton(functions, { signal: AbortSignal.abort() });
    assert.deepEqual([aborted.termination, aborted.iterations], ['aborted', 0]);
    assert.equal((await newton(functions, { maxIterations: 1 })).termination, 'max-iterations');
    await assert.rejects(newton(functions, { onIteration: () => { throw new RangeError('enough'); } }), RangeError);
  });
});

test('plain functions are refused, which Hessians and Newton would leave out', async () => {
  const problem = new Problem();
  const x = problem.parameters('x', { dim: 1, values: [2] });
  problem.residuals('square', { inputs: { x: x.shared() }, outputs: 1, evaluate: ({ x }, out) => (out[0] = x[0] ** 2) });
  await onCpu(problem, async (functions) => {
    await assert.rejects(functions.evaluateHessian(), refused('invalid-argument', /block "square", a plain function/));
    await assert.rejects(functions.evaluateHessianProduct(undefined, [1]), refused('invalid-argument', /block "square", a plain function/));
    await assert.rejects(newton(functions), refused('invalid-argument', /block "square", a plain function/));
  });
});

test('robust losses on unit quaternions end where Levenberg-Marquardt does', async () => {
  const from = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0.6, 0.8, 0], [0, 0.6, 0.8]];
  // A turn of 0.7 about z; the last vector is wrong.
  const to = from.map(([x, y, z]) => [x * Math.cos(0.7) - y * Math.sin(0.7), x * Math.sin(0.7) + y * Math.cos(0.7), z]);
  to[4] = [0.9, -0.3, 0.3];
  const ends = [];
  for (const method of ['newton', 'lm']) {
    const problem = new Problem();
    const q = problem.parameters('q', { dim: 4, values: [0.98, 0.1, 0.1, Math.sqrt(1 - 0.98 ** 2 - 0.02)] });
    q.setManifold('unit-quaternion');
    problem.residuals('vectors', {
      inputs: { q: q.shared(), a: problem.data(from.flat(), 3), b: problem.data(to.flat(), 3) },
      residual: ({ q, a, b }) => q.rotate(a).sub(b), loss: loss.cauchy(0.3),
    });
    const result = await solve(problem, { method, backend: 'cpu', costTolerance: 1e-14, ...(method === 'newton' ? { objective: 'least-squares' } : {}) });
    assert.ok(result.success, result.message);
    ends.push(result);
  }
  const [newtons, lms] = ends;
  // Both stop where less than 1e-14 of the cost is left to gain: the digits of a step are half of that.
  near([...newtons.x], [...lms.x], 1e-6, 'quaternion');
  near([newtons.finalCost], [lms.finalCost], 1e-12, 'cost');
});

/** A Poisson likelihood of a decay with a background, of which instances have negative curvature, with times in another unit. */
function decayOfCounts(unit, constant = 0) {
  const times = Array.from({ length: 40 }, (_, k) => k / 4);
  const counts = times.map((t, k) => Math.floor(30 * Math.exp(-0.4 * t) + 2 + 1.5 * Math.sin(7 * k)));
  const problem = new Problem();
  const decay = problem.parameters('decay', { dim: 3, values: [20, 1 / unit, 1] });
  decay.setBounds({ lower: [0, 0, 1e-3] });
  const residual = ({ p, t, n }) => {
    const expected = p.x.mul(p.y.mul(t).neg().exp()).add(p.z);
    return expected.sub(n.mul(expected.log())).add(constant);
  };
  problem.residuals('counts', { inputs: { p: decay.shared(), t: problem.data(times.map((t) => unit * t)), n: problem.data(counts) }, residual });
  return { problem, scaled: () => [...decay.values()].map((value, k) => (k === 1 ? unit * value : value)) };
}

test('a minimum depends neither on units of parameters nor on a constant that is added', async () => {
  // By SciPy's `root` of the gradient.
  const expected = [30.8930034, 0.43389771, 1.98501968];
  for (const [unit, constant] of [[1, 0], [1e6, 0], [1e-6, 0], [1e12, 0], [1e-12, 0], [1, 1e7], [1, 1e13]]) {
    const { problem, scaled } = decayOfCounts(unit, constant);
    const { success, message, iterations } = await solve(problem, { method: 'newton', backend: 'cpu' });
    assert.ok(success && iterations < 60, `unit ${unit}, constant ${constant}: ${iterations} iterations, ${message}`);
    // Standard errors are 2.9, 0.06 and 0.7. Slopes show what the rounding of 40 constants hides.
    scaled().forEach((value, k) => assert.ok(Math.abs(value / expected[k] - 1) < 1e-6, `unit ${unit}, constant ${constant}: ${scaled()}`));
  }
});

test('L-BFGS converges in least squares where the Jacobian promises next to nothing', async () => {
  // A parabola around x = offset. Gradients of its numbers differ by the square of the offset, and all are small beside those of the start in a narrow valley.
  const fitted = (offset, noise) => {
    const problem = new Problem();
    const x = Array.from({ length: 30 }, (_, k) => offset - 1 + k / 14.5);
    const y = x.map((t, k) => 3 - 2 * (t - offset) + 0.5 * (t - offset) ** 2 + noise * Math.sin(7 * k));
    const p = problem.parameters('p', { dim: 3, values: [1, 1, 1] });
    problem.residuals('curve', { inputs: { p: p.shared(), x: problem.data(x), y: problem.data(y) }, residual: ({ p, x, y }) => p.z.mul(x).add(p.y).mul(x).add(p.x).sub(y) });
    return solve(problem, { method: 'lbfgs', backend: 'cpu' });
  };
  for (const offset of [100, 1e4]) {
    const { success, termination, findings } = await fitted(offset, 0.1);
    assert.equal(success, false);
    assert.equal(termination, 'precision-limit');
    assert.ok(findings.some(({ kind, figures }) => kind === 'promise' && figures.promise > 1e-2), JSON.stringify(findings));
  }
  // Residuals that vanish leave no variance: the step that is left is short beside the parameters.
  for (const noise of [0.1, 0]) {
    const { success, message } = await fitted(0, noise);
    assert.ok(success, message);
  }
});
