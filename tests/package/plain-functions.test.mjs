// Plain functions in the built package on the CPU: the same answers as the same residuals as expressions, mixed with them, and what hostile functions end with.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { onCpu } from '../www/residua.mjs';

const { covariance, GpuCompiledFunctions, lbfgs, levenbergMarquardt, loss, Problem, rank, solve, V } = await import('residua');

const TIMES = Array.from({ length: 12 }, (_, i) => i / 4);
// An outlier at the sixth.
const MEASURED = TIMES.map((t, i) => 2 * Math.exp(-0.6 * t) + 0.02 * Math.sin(9 * i) + (i === 5 ? 2 : 0));

/** A decay with offsets that four groups of samples share, twice two residuals an instance, beside a prior that is recorded. */
function decay(plain, settings = {}) {
  const problem = new Problem();
  const c = problem.parameters('c', { dim: 2, values: [1.4, 0.8] });
  const d = problem.parameters('d', { dim: 1, values: [0.1, -0.2, 0.3, 0.05] });
  const inputs = { c: c.shared(), d: d.at(TIMES.map((_, i) => i % 4)), t: problem.data(TIMES), y: problem.data(MEASURED) };
  const { jacobian, differences, ...common } = settings;
  if (plain) {
    const evaluate = ({ c, d, t, y }, out) => {
      out[0] = c[0] * Math.exp(-c[1] * t[0]) + 0.1 * d[0] - y[0];
      out[1] = 0.3 * d[0] * c[0] - 0.1;
    };
    problem.residuals('f', { inputs, outputs: 2, evaluate, ...(jacobian ? { jacobian } : {}), ...(differences ? { differences } : {}), ...common });
  } else {
    problem.residuals('f', { inputs, residual: ({ c, d, t, y }) => [c.x.mul(V.exp(c.y.mul(t).neg())).add(d.mul(0.1)).sub(y), d.mul(0.3).mul(c.x).sub(0.1)], ...common });
  }
  problem.residuals('prior', { inputs: { c: c.shared() }, residual: ({ c }) => c.x.sub(1.5).mul(0.2) });
  return { problem, c, d };
}

const jacobian = ({ c, d, t }, out) => {
  const e = Math.exp(-c[1] * t[0]);
  out.set([e, -c[0] * t[0] * e, 0.1, 0.3 * d[0], 0, 0.3 * c[0]]);
};

const TIGHT = { costTolerance: 1e-15, gradientTolerance: 1e-13, parameterTolerance: 1e-13, maxIterations: 500 };

/** Everything that compiled functions say. */
const all = (problem) =>
  onCpu(problem, async (functions) => {
    const residuals = await functions.evaluate();
    const { jacobian } = await functions.evaluateJacobian();
    const { value, gradient } = await functions.evaluateSumWithGradient();
    const { maxRelativeError } = await functions.checkGradients();
    const { x, finalCost } = await levenbergMarquardt(functions, TIGHT);
    const { values } = await covariance(functions);
    return { residuals, jacobian: jacobian.toDense(), sum: [value], gradient, x, cost: [finalCost], covariance: values, rank: [(await rank(functions)).rank], maxRelativeError };
  });

function assertClose(found, expected, tolerance, what) {
  assert.equal(found.length, expected.length, what);
  found.forEach((number, i) => assert.ok(Math.abs(number - expected[i]) <= tolerance * Math.max(1, Math.abs(expected[i])), `${what}[${i}]: ${number}, not ${expected[i]}`));
}

const weights = TIMES.map((_, i) => (i === 3 ? 0 : 1 + i / 5));
const CASES = {
  'plain least squares': {},
  'a weight': { weight: 3 },
  'weights of instances': { weights },
  'a Huber loss': { loss: loss.huber(0.3) },
  'a Cauchy loss': { loss: loss.cauchy(0.3) },
  'a Tukey loss': { loss: loss.tukey(2.5) },
  'a tolerant loss': { loss: loss.tolerant(0.3, 0.2) },
};
const CHANGES = {
  bounds: ({ c }) => c.setBounds({ lower: [0, 0.7], upper: [1.9, 5] }),
  'a start at a bound': ({ c }) => c.setBounds({ lower: [1.4, -5], upper: [9, 0.8] }),
  constants: ({ c, d }) => (d.setConstant([1]), c.setConstant([0], true, [1])),
};

// Central differences have some 10 digits, and what follows from them as many, times a condition that is below 100 here.
for (const [derivatives, settings, ofDerivatives, ofAnswers] of [
  ['a Jacobian', { jacobian }, 1e-14, 1e-8],
  ['central differences', {}, 1e-8, 1e-8],
  ["Ridders' method", { differences: 'ridders' }, 1e-10, 1e-8],
]) {
  test(`with ${derivatives} a plain function is what the same expression is`, async () => {
    const runs = [...Object.entries(CASES).map(([name, more]) => [name, more, () => {}]), ...Object.entries(CHANGES).map(([name, change]) => [name, {}, change])];
    for (const [name, more, change] of runs) {
      const [plain, expression] = [decay(true, { ...settings, ...more }), decay(false, more)];
      [plain, expression].forEach(change);
      const [found, expected] = [await all(plain.problem), await all(expression.problem)];
      assertClose(found.residuals, expected.residuals, 1e-15, `${name}: residuals`);
      for (const key of ['jacobian', 'gradient', 'sum']) assertClose(found[key], expected[key], ofDerivatives, `${name}: ${key}`);
      for (const key of ['x', 'cost', 'covariance']) assertClose(found[key], expected[key], ofAnswers, `${name}: ${key}`);
      assert.deepEqual(found.rank, expected.rank);
      // The check compares with Ridders' method.
      assert.ok(found.maxRelativeError < 1e-7, `${name}: ${found.maxRelativeError}`);
    }
  });
}

test('a wrong Jacobian is found', async () => {
  const wrong = (values, out) => (jacobian(values, out), (out[1] *= 1.01));
  const check = await onCpu(decay(true, { jacobian: wrong }).problem, (functions) => functions.checkGradients());
  assert.ok(Math.abs(check.maxRelativeError - 0.01 / 1.01) < 1e-3, String(check.maxRelativeError));
});

test('L-BFGS has the same minimum', async () => {
  const ends = [];
  for (const plain of [true, false]) {
    const { problem } = decay(plain, { jacobian });
    ends.push((await solve(problem, { method: 'lbfgs', backend: 'cpu', gradientTolerance: 1e-9 })).x);
  }
  assertClose(ends[0], ends[1], 1e-7, 'x');
});

/** Rotates by a quaternion of any length. */
const rotate = ([w, a, b, c], [x, y, z]) => [
  (w * w + a * a - b * b - c * c) * x + 2 * (a * b - w * c) * y + 2 * (a * c + w * b) * z,
  2 * (a * b + w * c) * x + (w * w - a * a + b * b - c * c) * y + 2 * (b * c - w * a) * z,
  2 * (a * c - w * b) * x + 2 * (b * c + w * a) * y + (w * w - a * a - b * b + c * c) * z,
];

test('blocks on manifolds have the same rotation, direction and uncertainty', async () => {
  const points = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1], [-1, 2, 0.5]];
  const truth = [0.5, 0.5, -0.5, 0.5];
  const targets = points.map((p, i) => rotate(truth, p).map((v, k) => v + 0.05 * Math.sin(7 * i + k)));
  const axis = [0.48, 0.6, 0.64];
  const ends = [];
  for (const plain of [true, false]) {
    const problem = new Problem();
    const q = problem.rotations('q', { dim: 3, values: [0.8, 0.4, -0.1, 0.2] });
    const v = problem.parameters('v', { dim: 3, values: [0.6, 0, 0.8] });
    v.setManifold('unit-vector');
    const inputs = { q: q.shared(), v: v.shared(), x: problem.data(points.flat(), 3), y: problem.data(targets.flat(), 3) };
    const along = points.map((p, i) => p.reduce((sum, x, k) => sum + x * axis[k], 0) + 0.03 * Math.cos(5 * i));
    const numbers = { ...inputs, s: problem.data(along) };
    if (plain) {
      const evaluate = ({ q, v, x, y, s }, out) => {
        rotate(q, x).forEach((r, k) => (out[k] = r - y[k]));
        out[3] = v[0] * x[0] + v[1] * x[1] + v[2] * x[2] - s[0];
      };
      problem.residuals('points', { inputs: numbers, outputs: 4, evaluate });
    } else {
      problem.residuals('points', { inputs: numbers, residual: ({ q, v, x, y, s }) => [...q.act(x).sub(y), v.dot(x).sub(s)] });
    }
    ends.push(await onCpu(problem, async (functions) => {
      const { x, success, finalCost } = await levenbergMarquardt(functions, TIGHT);
      return { x, success, cost: finalCost, covariance: (await covariance(functions)).values };
    }));
  }
  const [found, expected] = ends;
  assert.ok(found.success && expected.success);
  assertClose(found.x, expected.x, 1e-8, 'x');
  assertClose([found.cost], [expected.cost], 1e-12, 'cost');
  assertClose(found.covariance, expected.covariance, 1e-8, 'covariance');
});

test('one function with all residuals of a problem fits them, with any number of derivatives', async () => {
  const problem = new Problem();
  const x = Float64Array.from({ length: 400 }, (_, i) => i / 40);
  const y = x.map((t, i) => 2 * Math.exp(-0.7 * t) + 0.5 + 0.01 * Math.sin(i * i));
  const p = problem.parameters('p', { dim: 3, values: [1, 1, 0] });
  const evaluate = ({ p }, out) => x.forEach((t, i) => (out[i] = p[0] * Math.exp(-p[1] * t) + p[2] - y[i]));
  problem.residuals('curve', { inputs: { p: p.shared() }, outputs: 400, evaluate });
  const recorded = new Problem();
  const r = recorded.parameters('p', { dim: 3, values: [1, 1, 0] });
  recorded.residuals('curve', { inputs: { p: r.shared(), t: recorded.data(x), y: recorded.data(y) }, residual: ({ p, t, y }) => p.x.mul(V.exp(p.y.mul(t).neg())).add(p.z).sub(y) });
  const [found, expected] = [await all(problem), await all(recorded)];
  for (const key of ['residuals', 'jacobian', 'x', 'covariance', 'cost']) assertClose(found[key], expected[key], 1e-8, key);
});

test('a parameter of an instance that occurs twice has the sum of both derivatives', async () => {
  const problem = new Problem();
  const p = problem.parameters('p', { dim: 1, values: [3, 2] });
  problem.residuals('f', { inputs: { p: p.at([0, 0, 0, 1], 2) }, outputs: 1, evaluate: ({ p }, out) => (out[0] = p[0] * p[1] - 4) });
  const { jacobian } = await onCpu(problem, (functions) => functions.evaluateJacobian());
  assertClose(jacobian.toDense(), [6, 0, 2, 3], 1e-9, 'jacobian');
});

test('NaN at the start names block, instance and residual, and so does a derivative', async () => {
  const start = (evaluate, more = {}) => {
    const { problem } = decay(true);
    const q = problem.parameters('q', { dim: 1, values: [1, 2, 3] });
    problem.residuals('mine', { inputs: { q: q.at([0, 1, 2]) }, outputs: 2, evaluate, ...more });
    return solve(problem);
  };
  const named = (words) => (error) => error.code === 'non-finite' && (error.message.includes(words) || assert.fail(error.message));
  const short = ({ q }, out) => void ([out[0]] = [q[0]], q[0] === 2 || (out[1] = 1));
  await assert.rejects(start(short), named("(block 'mine', instance 1, residual 1 of 2) is NaN at the start"));
  await assert.rejects(start(({ q }, out) => out.fill(q[0] === 3 ? Infinity : 1)), named("(block 'mine', instance 2, residual 0 of 2) is Infinity at the start"));
  const bad = (_, out) => out.set([1, NaN]);
  await assert.rejects(start((_, out) => out.fill(1), { jacobian: bad }), named("(block 'mine', instance 0, residual 1 of 2) with respect to q[0] is NaN at the start"));
  await assert.rejects(start(() => { throw new RangeError('no'); }), named("residual block 'mine', instance 0: evaluate threw RangeError: no"));
});

test('a function that writes too little is told so with the place, and a NaN that it writes is a NaN', async () => {
  const start = (evaluate, jacobian) => {
    const problem = new Problem();
    const q = problem.parameters('q', { dim: 2, values: [1, 2] });
    problem.residuals('mine', { inputs: { q: q.shared() }, outputs: 2, evaluate, ...(jacobian && { jacobian }) });
    return solve(problem);
  };
  const named = (words) => (error) => error.code === 'non-finite' && (error.message.includes(words) || assert.fail(error.message));
  await assert.rejects(start((_, out) => void (out[0] = 1)), named("residual block 'mine', instance 0: evaluate left out[1] as it was; it is to write its 2 numbers to out"));
  await assert.rejects(start((_, out) => out.fill(1), (_, out) => out.set([1, 0, 0])), named('jacobian left out[3] as it was; it is to write its 4 numbers to out'));
  await assert.rejects(start((_, out) => out.set([1, NaN])), named('residual 1 of 2) is NaN at the start'));
});

test('of one function with many residuals a NaN is named by its place', async () => {
  const problem = new Problem();
  const p = problem.parameters('p', { dim: 2, values: [1, 2] });
  problem.residuals('all', { inputs: { p: p.shared() }, outputs: 900, evaluate: (_, out) => (out.fill(0), (out[321] = NaN)) });
  await assert.rejects(solve(problem), (error) => error.code === 'non-finite' && error.message.startsWith("residual 321 (block 'all', instance 0, residual 321 of 900) is NaN"));
});

test('a point where the function is NaN is no step, and one where it throws ends the solve', async () => {
  // The first step without a limit goes below 0.
  const root = (below) => {
    const problem = new Problem();
    const p = problem.parameters('p', { dim: 1, values: [4] });
    problem.residuals('root', { inputs: { p: p.shared() }, outputs: 1, evaluate: ({ p }, out) => (out[0] = p[0] < 0 ? below() : Math.sqrt(p[0]) - 0.1) });
    return solve(problem, { initialDamping: 0 });
  };
  const { success, x } = await root(() => NaN);
  assert.ok(success && Math.abs(x[0] - 0.01) < 1e-7, String(x[0]));
  await assert.rejects(root(() => { throw new Error('below 0'); }), (error) => error.code === 'non-finite' && error.message.includes('below 0'));
});

test('a function of a range alone is differentiated within it, where it throws or is NaN beyond', async () => {
  for (const beyond of [() => { throw new RangeError('beyond the range'); }, () => NaN]) {
    for (const of of [(v) => v, (v) => Number(v.toFixed(4))]) {
      for (const differences of ['central', 'forward', 'ridders']) {
        const problem = new Problem();
        const p = problem.parameters('p', { dim: 1, values: [1] });
        // Steps of differences may be as long as the number; those of the solver stay near 1.2.
        const evaluate = ({ p }, out) => out.forEach((_, i) => (out[i] = Math.abs(p[0] - 1.2) > 0.21 ? beyond() : of(p[0] * i) - 1.2 * i + 0.01 * Math.cos(i)));
        problem.residuals('f', { inputs: { p: p.shared() }, outputs: 5, evaluate, differences });
        const { success, message, x } = await solve(problem);
        const expected = 1.2 - (0.01 * [0, 1, 2, 3, 4].reduce((sum, i) => sum + i * Math.cos(i), 0)) / 30;
        assert.ok(success && Math.abs(x[0] - expected) < 2e-5, `${differences}: ${x[0]}, not ${expected}: ${message}`);
      }
    }
  }
});

test('a recursion without end is an error of the function, and the module goes on', async () => {
  const problem = new Problem();
  const p = problem.parameters('p', { dim: 1, values: [4] });
  let runs = true;
  const deeper = (n) => (runs ? deeper(n + 1) + 1 : 0);
  problem.residuals('f', { inputs: { p: p.shared() }, outputs: 1, evaluate: ({ p }, out) => (out[0] = p[0] + deeper(0)) });
  await onCpu(problem, async (functions) => {
    await assert.rejects(functions.evaluate(), (error) => error.code === 'non-finite' && error.message.startsWith("residual block 'f', instance 0: evaluate threw RangeError"));
    runs = false;
    assert.deepEqual([...(await functions.evaluate())], [4]);
  });
});

test('functions are usable after an error of a call', async () => {
  const problem = new Problem();
  const p = problem.parameters('p', { dim: 1, values: [4] });
  let fails = true;
  const evaluate = ({ p }, out) => {
    if (fails) throw new Error('not yet');
    out[0] = p[0] - 1;
  };
  problem.residuals('f', { inputs: { p: p.shared() }, outputs: 1, evaluate });
  await onCpu(problem, async (functions) => {
    await assert.rejects(levenbergMarquardt(functions), /not yet/);
    fails = false;
    assert.ok((await levenbergMarquardt(functions)).success);
    assert.ok(Math.abs(p.values()[0] - 1) < 1e-9);
  });
});

test('directions that fewer residuals than parameters leave free cost no calls', async () => {
  const problem = new Problem();
  const points = problem.parameters('points', { dim: 2, values: [0, 0, 3, 4] });
  let calls = 0;
  const evaluate = ({ a, b }, out) => {
    calls += 1;
    out[0] = Math.hypot(a[0] - b[0], a[1] - b[1]) - 1;
  };
  problem.residuals('distance', { inputs: { a: points.at([0]), b: points.at([1]) }, outputs: 1, evaluate });
  const { success, iterations, finalCost } = await solve(problem);
  assert.ok(success && finalCost < 1e-20, String(finalCost));
  // Central differences of four parameters take nine at a point; at the first steps are searched for.
  assert.ok(calls < 100 + 20 * iterations, `${calls} calls in ${iterations} iterations`);
});

test('what a function reads may change between calls at the same point', async () => {
  const problem = new Problem();
  const p = problem.parameters('p', { dim: 1, values: [4] });
  let target = 1;
  const block = problem.residuals('f', { inputs: { p: p.shared(), w: problem.data([2]) }, outputs: 1, evaluate: ({ p, w }, out) => (out[0] = w[0] * (p[0] - target)) });
  await onCpu(problem, async (functions) => {
    assert.deepEqual([...(await functions.evaluate())], [6]);
    target = 3;
    assert.deepEqual([...(await functions.evaluate())], [2]);
    block.setData('w', [5]);
    assert.deepEqual([...(await functions.evaluate())], [5]);
    await levenbergMarquardt(functions);
    assert.ok(Math.abs(p.values()[0] - 3) < 1e-12);
  });
});

test('an evaluation at a point calls the function once for each instance', async () => {
  const problem = new Problem();
  const p = problem.parameters('p', { dim: 1, values: [1, 2, 3] });
  let calls = 0;
  problem.residuals('f', { inputs: { p: p.at([0, 1, 2]) }, outputs: 1, evaluate: ({ p }, out) => (calls++, (out[0] = p[0])), jacobian: (_, out) => (out[0] = 1) });
  await onCpu(problem, async (functions) => {
    await functions.evaluate();
    assert.equal(calls, 3);
    calls = 0;
    await functions.evaluateJacobian();
    assert.equal(calls, 3);
  });
});

test('compiled functions of plain functions have no kernels, and no GPU', async () => {
  const functions = await GpuCompiledFunctions.compile(decay(true).problem);
  assert.deepEqual([functions.backend, functions.fallbackReason], ['cpu', "residual block 'f' is a plain function, which runs on the CPU"]);
  // The recorded prior has some.
  const names = functions.kernels().map(({ name }) => name);
  assert.ok(names.length > 0 && names.every((name) => name.includes('prior') && !name.includes("'f'")), names.join(', '));
  functions.dispose();
  await assert.rejects(solve(decay(true).problem, { backend: 'gpu' }), { code: 'invalid-argument' });
});

test('L-BFGS knows the noise of plain functions', async () => {
  const t = Array.from({ length: 40 }, (_, i) => i / 8);
  const y = t.map((x, i) => 3 * Math.exp(-0.7 * x) + 1 + 0.05 * Math.sin(91 * i * i));
  const model = (x, [a, k, c]) => a * Math.exp(-k * x) + c;
  const found = async (unit) => {
    const problem = new Problem();
    const curve = problem.parameters('curve', { dim: 3, values: [1, 0.2, 0] });
    const evaluate = ({ curve }, out) => t.forEach((x, i) => (out[i] = unit * Math.round((model(x, curve) - y[i]) / unit)));
    problem.residuals('samples', { inputs: { curve: curve.shared() }, outputs: t.length, evaluate });
    const result = await onCpu(problem, (functions) => lbfgs(functions, { objective: 'least-squares', maxIterations: 500 }));
    return { result, cost: t.reduce((sum, x, i) => sum + 0.5 * (model(x, result.x) - y[i]) ** 2, 0) };
  };
  const exact = await found(2 ** -50);
  const { result, cost } = await found(1e-5);
  assert.ok(exact.result.success && result.success, result.message);
  // Costs differ by their noise, some 1e-7 of them; what slopes tell is a hundred times as exact.
  assert.ok(cost - exact.cost < 1e-8 * exact.cost, `${cost}, not ${exact.cost}`);
  const noise = result.findings.find(({ kind }) => kind === 'noise');
  // A number that is rounded to a unit is off by its twelfth's root.
  assert.ok(Math.abs(noise.figures.size / (1e-5 / Math.sqrt(12)) - 1) < 0.5, result.message);
  const coarse = await found(1e-3);
  assert.ok(!coarse.result.success && coarse.result.findings.some(({ kind }) => kind === 'noise'), coarse.result.message);
});

test('a direction that coarse differences do not see is none that residuals leave free', async () => {
  // A wave at dates: its frequency and phase nearly make up for each other, and the phase is rounded to 1e-9.
  const [t, n] = [Array.from({ length: 120 }, (_, i) => (5 * i) / 119), 120];
  const y = t.map((x, i) => Math.sin(1.2 * x) + Math.cos(1.2 * x) + 1e-3 * Math.sin(91 * i * i));
  const fitted = async (date) => {
    const [c, s] = [Math.cos(1.2 * date), Math.sin(1.2 * date)];
    const problem = new Problem();
    const p = problem.parameters('p', { dim: 3, values: [0.8 * (c + s), 0.8 * (c - s), 1.2 * (1 + 0.1 / Math.max(date, 1))] });
    const evaluate = ({ p }, out) => t.forEach((x, i) => (out[i] = p[0] * Math.sin(p[2] * (date + x)) + p[1] * Math.cos(p[2] * (date + x)) - y[i]));
    problem.residuals('wave', { inputs: { p: p.shared() }, outputs: n, evaluate });
    return solve(problem, { backend: 'cpu' });
  };
  const origin = await fitted(0);
  assert.ok(origin.success, origin.message);
  for (const date of [1e2, 1e7]) {
    const { success, finalCost, message } = await fitted(date);
    // A hundredth of the variance is a seventh of a standard error.
    const excess = (finalCost / origin.finalCost - 1) * (n - 3) / 2;
    assert.ok(success ? excess < 1e-2 : date === 1e7, `${date}: ${excess} of the variance, ${message}`);
  }
});
