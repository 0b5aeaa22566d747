// The covariance under active constraints and bounds: that of the same fit with what constraints determine eliminated by hand.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { onCpu } from '../www/residua.mjs';

const { covariance, GpuCompiledFunctions, levenbergMarquardt, loss, Problem, solveMany } = await import('residua');
const built = (path) => import(new URL(`../../target/npm/residua/${path}`, import.meta.url));

const X = [0, 1, 2, 3, 4, 5, 6];
const Y = [1.1, 2.9, 4.2, 5.8, 7.5, 8.6, 15];
const FORMS = [{ absoluteSigma: true, robust: false }, { robust: false }, { robust: true }, {}];

/** y = a·x² + b·x + c, with constraints or bounds. */
function parabola(add, settings) {
  const problem = new Problem();
  const p = problem.parameters('p', { dim: 3, values: [0.1, 1, 1] });
  const inputs = { p: p.shared(), x: problem.data(X), y: problem.data(Y) };
  problem.residuals('r', { inputs, residual: ({ p, x, y }) => x.square().mul(p.x).add(x.mul(p.y)).add(p.z).sub(y), ...settings });
  add(problem, p);
  return problem;
}

/** The same with p = offset + Σ directions[k]·t[k]. */
function reduced(offset, directions, settings) {
  const problem = new Problem();
  const t = problem.parameters('t', { dim: 1, values: directions.map(() => 0.1) });
  const all = t.at(X.flatMap(() => directions.map((_, j) => j)), directions.length);
  const at = (t, row) => directions.reduce((sum, direction, k) => sum.add(t[k].mul(direction[row])), t[0].mul(0).add(offset[row]));
  problem.residuals('r', { inputs: { t: all, x: problem.data(X), y: problem.data(Y) }, residual: ({ t, x, y }) => x.square().mul(at(t, 0)).add(x.mul(at(t, 1))).add(at(t, 2)).sub(y), ...settings });
  return problem;
}

const solved = (problem, options) =>
  onCpu(problem, async (functions) => {
    const { success, message } = await levenbergMarquardt(functions, { costTolerance: 1e-15, gradientTolerance: 1e-12 });
    assert.ok(success, message);
    return covariance(functions, options);
  });

/** D C Dᵀ */
const lifted = ({ values, size }, directions) =>
  Array.from({ length: 9 }, (_, at) => {
    const [row, column] = [Math.floor(at / 3), at % 3];
    return directions.reduce((sum, a, k) => sum + directions.reduce((inner, b, l) => inner + a[row] * values[k * size + l] * b[column], 0), 0);
  });

for (const [name, add, offset, directions] of [
  ['an equality', (problem, p) => problem.equalities('sum', { inputs: { p: p.shared() }, constraint: ({ p }) => p.x.add(p.y).add(p.z.mul(2)).sub(3) }), [3, 0, 0], [[-1, 1, 0], [-2, 0, 1]]],
  ['an active inequality, and one that is not', (problem, p) => problem.inequalities('most', { inputs: { p: p.shared() }, constraint: ({ p }) => [p.x.add(p.y).sub(0.5), p.z.sub(100)] }), [0.5, 0, 0], [[-1, 1, 0], [0, 0, 1]]],
  ['an active bound', (problem, p) => p.setBounds({ lower: [-Infinity, 2, -100] }), [0, 2, 0], [[1, 0, 0], [0, 0, 1]]],
  ['an equality twice', (problem, p) => problem.equalities('sum', { inputs: { p: p.shared(), k: problem.data([1, 2]) }, constraint: ({ p, k }) => p.x.add(p.y).sub(1).mul(k) }), [1, 0, 0], [[-1, 1, 0], [0, 0, 1]]],
  ['an equality and an active bound', (problem, p) => {
    problem.equalities('sum', { inputs: { p: p.shared() }, constraint: ({ p }) => p.x.add(p.y).sub(1) });
    p.setBounds({ upper: [Infinity, Infinity, 0.2] });
  }, [1, 0, 0.2], [[-1, 1, 0]]],
]) {
  test(`under ${name} the covariance is that of the directions that are left`, async () => {
    for (const settings of [{}, { loss: loss.huber(1), weights: [1, 2, 1, 0, 1, 3, 1] }]) {
      for (const options of FORMS) {
        const { values } = await solved(parabola(add, settings), options);
        const expected = lifted(await solved(reduced(offset, directions, settings), options), directions);
        const largest = Math.max(...expected.map(Math.abs));
        // 1e-9 of the largest entry: the error of 1/K² and of K roundings, and that of two solves.
        values.forEach((value, k) => assert.ok(Math.abs(value - expected[k]) <= 2e-9 * largest, `${JSON.stringify(options)} entry ${k}: ${value}, not ${expected[k]}`));
      }
    }
  });
}

test('constraints determine what residuals do not', async () => {
  const problem = new Problem();
  const p = problem.parameters('p', { dim: 2, values: [1, 1] });
  problem.residuals('r', { inputs: { p: p.shared(), y: problem.data([2, 3, 4]) }, residual: ({ p, y }) => p.x.sub(y) });
  problem.equalities('tie', { inputs: { p: p.shared() }, constraint: ({ p }) => p.y.sub(p.x.mul(2)) });
  const { values } = await solved(problem, {});
  [1, 2, 2, 4].forEach((share, k) => assert.ok(Math.abs(values[k] - share / 3) <= 1e-9, `entry ${k}: ${values[k]}`));
  const determined = new Problem();
  const q = determined.parameters('q', { dim: 1, values: [1] });
  determined.residuals('r', { inputs: { q: q.shared(), y: determined.data([2, 3]) }, residual: ({ q, y }) => q.sub(y) });
  determined.equalities('at', { inputs: { q: q.shared() }, constraint: ({ q }) => q.sub(7) });
  const { values: none } = await solved(determined, {});
  assert.ok(Math.abs(none[0]) <= 1e-9, String(none[0]));
});

test('a covariance on a manifold heeds constraints, and constraints come out of it as they were', async () => {
  const problem = new Problem();
  const v = problem.parameters('v', { dim: 3, values: [0.6, 0.8, 0] });
  v.setManifold('unit-vector');
  problem.residuals('r', { inputs: { v: v.shared(), y: problem.data([0.5, 0.8, 0.3, 0.7, 0.8, 0.1], 3) }, residual: ({ v, y }) => v.sub(y) });
  const block = problem.equalities('level', { inputs: { v: v.shared() }, constraint: ({ v }) => v.z });
  await onCpu(problem, async (functions) => {
    assert.ok((await levenbergMarquardt(functions)).success);
    const [x, y] = v.values();
    const { values } = await covariance(functions, { absoluteSigma: true, robust: false });
    // On the circle z = 0 one direction is left, of which two residuals of variance 1 tell twice: ½ttᵀ.
    const t = [-y, x, 0];
    values.forEach((value, k) => assert.ok(Math.abs(value - 0.5 * t[Math.floor(k / 3)] * t[k % 3]) <= 1e-9, `entry ${k}: ${value}`));
    assert.deepEqual([...(await functions.evaluateConstraints([0, 0, 5]))], [5]);
    block.setEnabled(false);
    const free = await covariance(functions, { absoluteSigma: true, robust: false });
    assert.ok(Math.abs(free.values[8] - 0.5) < 1e-3, String(free.values[8]));
  });
});

test('a violation that is left of constraints is no residual', async () => {
  const [xs, add] = [Array.from({ length: 100 }, (_, k) => k / 100), (a, ...terms) => terms.reduce((sum, term) => sum.add(term), a)];
  const ys = xs.map((x, k) => 2 + 3 * x + x * x + 1e-3 * Math.sin(7 * k));
  const problem = new Problem();
  const p = problem.parameters('p', { dim: 3, values: [1, 1, 1] });
  problem.residuals('r', { inputs: { p: p.shared(), x: problem.data(xs), y: problem.data(ys) }, residual: ({ p, x, y }) => add(p.x, p.y.mul(x), p.z.mul(x.square())).sub(y) });
  problem.equalities('sum', { inputs: { p: p.shared() }, constraint: ({ p }) => add(p.x, p.y, p.z).sub(6) });
  const eliminated = new Problem();
  const q = eliminated.parameters('q', { dim: 2, values: [1, 1] });
  const residual = ({ q, x, y }) => add(q.x, q.y.mul(x), x.square().mul(q.x.add(q.y).mul(-1).add(6))).sub(y);
  eliminated.residuals('r', { inputs: { q: q.shared(), x: eliminated.data(xs), y: eliminated.data(ys) }, residual });
  await onCpu(problem, async (functions) => {
    const { x } = await levenbergMarquardt(functions);
    for (const options of FORMS) {
      const expected = (await solved(eliminated, options)).standardDeviations;
      for (const change of [2e-8, -2e-7, 1e-6]) {
        p.set([x[0] + change, x[1], x[2]]);
        const { standardDeviations } = await covariance(functions, options);
        // Residuals of 1e-3 change by these shares of themselves, with a factor of 1e3.
        for (const k of [0, 1]) assert.ok(Math.abs(standardDeviations[k] / expected[k] - 1) < 2e3 * Math.abs(change) + 1e-8, `${change}: ${standardDeviations[k]}, not ${expected[k]}`);
      }
    }
  });
});

test('a covariance in a worker is the same', async () => {
  const [{ Host }, { RemoteModule }, { serve }, glue] = await Promise.all(['modules/module/loading.js', 'modules/remote/module.js', 'modules/remote/server.js', 'wasm/residua.js'].map(built));
  const { port1, port2 } = new MessageChannel();
  serve(port2, new Host(async () => glue));
  const page = {
    set onmessage(listener) {
      port1.onmessage = listener;
    },
    postMessage: (message, transfer) => port1.postMessage(message, transfer),
  };
  const host = new Host(async () => {
    const module = new RemoteModule(page);
    await module.default();
    return module;
  });
  const add = (problem, p) => {
    problem.equalities('sum', { inputs: { p: p.shared(), k: problem.data([1, 2]) }, constraint: ({ p, k }) => p.x.add(p.y).sub(1).mul(k) });
    p.setBounds({ upper: [Infinity, Infinity, 0.2] });
  };
  const problem = parabola(add, {});
  try {
    const functions = await GpuCompiledFunctions.on(host).compile(problem, { backend: 'cpu' });
    assert.ok((await levenbergMarquardt(functions, { costTolerance: 1e-15, gradientTolerance: 1e-12 })).success);
    for (const options of FORMS) {
      const { values } = await covariance(functions, options);
      assert.deepEqual([...values], [...(await solved(parabola(add, {}), options)).values]);
    }
    functions.dispose();
  } finally {
    port1.close();
    port2.close();
  }
});

test('standard errors of many problems are those of each, of which bounds hold some numbers', async () => {
  const times = [0, 1, 2, 3];
  const sizes = [[2, 1, 0.5, 0.3], [1, 0.6, 0.4, 0.2], [1.5, 0.8, 0.4, 0.3]];
  const template = new Problem();
  const p = template.parameters('p', { dim: 2, values: [1, 1] });
  p.setBounds({ lower: [0, 0], upper: [1.5, 9] });
  const block = template.residuals('decay', { inputs: { p: p.shared(), t: template.data(times), y: template.data(sizes[0]) }, residual: ({ p, t, y }) => p.x.mul(p.y.mul(t).neg().exp()).sub(y) });
  const { standardErrors } = await solveMany(template, { count: 3, data: { decay: { y: sizes.flat() } } }, { backend: 'cpu', standardErrors: true });
  assert.equal(standardErrors[0], 0);
  assert.ok(standardErrors[2] > 0 && standardErrors.every((error) => error >= 0));
  await onCpu(template, async (functions) => {
    for (const [k, y] of sizes.entries()) {
      p.set([1, 1]);
      block.setData('y', y);
      await levenbergMarquardt(functions);
      const { standardDeviations } = await covariance(functions);
      // Solutions agree to what a tolerance of 1e-8 leaves.
      standardDeviations.forEach((error, i) => assert.ok(Math.abs(standardErrors[2 * k + i] - error) <= 1e-6 * error, `problem ${k}, ${i}: ${standardErrors[2 * k + i]}, not ${error}`));
    }
  });
});
