// fit() in the built package on the CPU: NIST's certified fits, other forms of models, and what is refused.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hasData, listData, readData } from '../shared-data.mjs';
import { onCpu } from '../www/residua.mjs';

const { covariance, fit, levenbergMarquardt, loss, Problem, V } = await import('residua');
const { matchingDigits, models, parseNist } = await import('../../www/problems/nist.js');

const rise = ([b1, b2]) => (x) => b1 * (1 - Math.exp(-b2 * x));
const overLine = ([b1, b2, b3]) => (x) => Math.exp(-b1 * x) / (b2 + b3 * x);
const peaks = (b) => (x) => b[0] * Math.exp(-b[1] * x) + b[2] * Math.exp(-((x - b[3]) ** 2) / b[4] ** 2) + b[5] * Math.exp(-((x - b[6]) ** 2) / b[7] ** 2);

/** The models of NIST's files as people write them. */
const PLAIN = {
  BoxBOD: rise,
  Chwirut1: overLine,
  Chwirut2: overLine,
  DanWood: ([b1, b2]) => (x) => b1 * x ** b2,
  Gauss1: peaks,
  Gauss2: peaks,
  Hahn1: (b) => (x) => (b[0] + x * (b[1] + x * (b[2] + x * b[3]))) / (1 + x * (b[4] + x * (b[5] + x * b[6]))),
  Kirby2: (b) => (x) => (b[0] + x * (b[1] + x * b[2])) / (1 + x * (b[3] + x * b[4])),
  Lanczos3: (b) => (x) => b[0] * Math.exp(-b[1] * x) + b[2] * Math.exp(-b[3] * x) + b[4] * Math.exp(-b[5] * x),
  MGH09: (b) => (x) => (b[0] * (x * x + x * b[1])) / (x * x + x * b[2] + b[3]),
  Misra1a: rise,
  Misra1b: ([b1, b2]) => (x) => b1 * (1 - (1 + (b2 * x) / 2) ** -2),
  Misra1c: ([b1, b2]) => (x) => b1 * (1 - (1 + 2 * b2 * x) ** -0.5),
  Misra1d: ([b1, b2]) => (x) => (b1 * b2 * x) / (1 + b2 * x),
  Nelson: (b) => ([x1, x2]) => b[0] - b[1] * x1 * Math.exp(-b[2] * x2),
  Rat42: ([b1, b2, b3]) => (x) => b1 / (1 + Math.exp(b2 - b3 * x)),
  Roszman1: (b) => (x) => b[0] - b[1] * x - Math.atan(b[2] / (x - b[3])) / Math.PI,
};

/** Every file with its samples. */
const datasets = () =>
  listData('nist', '.dat').map((file) => {
    const dataset = parseNist(readData(`nist/${file}`));
    const { predictors, y } = dataset;
    return { ...dataset, x: predictors.length === 1 ? predictors[0] : Array.from(y, (_, i) => predictors.map((column) => column[i])) };
  });

test("NIST's certified values and standard errors to 4 digits from both starts, with numeric differences", async (t) => {
  if (!hasData(t, 'nist')) return;
  let runs = 0;
  for (const { name, x, y, starts, certified, deviations, sumOfSquares } of datasets()) {
    for (const start of starts) {
      const found = await fit(PLAIN[name], { x, y }, { initialValues: start });
      const what = `${name} from ${start}`;
      assert.ok(found.success, `${what}: ${found.message}`);
      assert.ok(matchingDigits(found.parameterValues, certified) >= 4, `${what}: ${found.parameterValues}`);
      assert.ok(matchingDigits(found.standardErrors, deviations) >= 4, `${what}: ${found.standardErrors}`);
      // Lanczos3's sum, 1.6e-8, is of residuals that are 1e-5 of the responses.
      assert.ok(Math.abs(found.parameterError / sumOfSquares - 1) < 1e-4, `${what}: ${found.parameterError}`);
      assert.ok(found.promise <= 1e-4, what);
      runs += 1;
    }
  }
  assert.equal(runs, 34);
});

test('the same models as expressions end at the same parameters', async (t) => {
  if (!hasData(t, 'nist')) return;
  for (const { name, x, y, starts, certified, deviations } of datasets()) {
    const model = (b, of) => models[name](b, Array.isArray(of) ? of : [of]);
    const found = await fit(model, { x, y }, { initialValues: starts[1], backend: 'cpu' });
    assert.ok(found.success && matchingDigits(found.parameterValues, certified) >= 4, `${name}: ${found.parameterValues}`);
    assert.ok(matchingDigits(found.standardErrors, deviations) >= 4, name);
  }
});

const x = Array.from({ length: 30 }, (_, i) => i / 10);
const y = x.map((t, i) => 2 * Math.sin(3 * t) + 0.01 * Math.cos(17 * i));

test('a model is what it returns, whichever form it has', async () => {
  const forms = {
    'numbers, curried': [([a, b]) => (t) => a * Math.sin(b * t), [1.5, 2.8]],
    'numbers, in one call': [([a, b], t) => a * Math.sin(b * t), [1.5, 2.8]],
    'numbers, with a default': [([a, b], offset = 0) => (t) => a * Math.sin(b * t) + offset, [1.5, 2.8]],
    'numbers by name': [({ a, b }) => (t) => a * Math.sin(b * t), { a: 1.5, b: 2.8 }],
    'numbers from typed arrays': [(p) => (t) => p[0] * Math.sin(p[1] * t), Float64Array.of(1.5, 2.8)],
    Values: [([a, b], t) => a.mul(b.mul(t).sin()), [1.5, 2.8]],
    'Values, curried': [([a, b]) => (t) => a.mul(b.mul(t).sin()), [1.5, 2.8]],
    'Values by name': [({ a, b }, t) => a.mul(b.mul(t).sin()), { a: 1.5, b: 2.8 }],
    'functions of V, which take numbers too': [([a, b]) => (t) => V.mul(a, V.sin(V.mul(b, t))), [1.5, 2.8]],
  };
  const expected = (await fit(forms.Values[0], { x, y }, { initialValues: [1.5, 2.8] })).parameterValues;
  for (const [form, [model, initialValues]] of Object.entries(forms)) {
    const found = await fit(model, { x, y }, { initialValues });
    assert.ok(found.success, form);
    found.parameterValues.forEach((value, k) => assert.ok(Math.abs(value - expected[k]) < 1e-7, `${form}: ${found.parameterValues}`));
    const isPlain = form.startsWith('numbers');
    assert.equal(found.report().includes('Kernels                        0'), isPlain, form);
    if (!Array.isArray(initialValues) && !ArrayBuffer.isView(initialValues)) {
      assert.deepEqual(found.parameters, { a: found.parameterValues[0], b: found.parameterValues[1] });
      assert.deepEqual(Object.keys(found.standardErrors), ['a', 'b']);
    } else assert.deepEqual(found.parameters, found.parameterValues);
  }
});

test('a line has the closed form, its errors, covariance and R²', async () => {
  const [u, v, w] = [[0, 1, 2, 3, 5], [1.1, 2.9, 5.2, 6.8, 11.3], [1, 2, 0.5, 1, 0]];
  const found = await fit(([a, b]) => (t) => a + b * t, { x: u, y: v }, { initialValues: [0, 0], weights: w });
  const sum = (of) => u.reduce((total, _, i) => total + w[i] * of(i), 0);
  const [s, sx, sxx, sy, sxy] = [sum(() => 1), sum((i) => u[i]), sum((i) => u[i] ** 2), sum((i) => v[i]), sum((i) => u[i] * v[i])];
  const determinant = s * sxx - sx * sx;
  const exact = [(sxx * sy - sx * sxy) / determinant, (s * sxy - sx * sy) / determinant];
  const squares = sum((i) => (exact[0] + exact[1] * u[i] - v[i]) ** 2);
  // Four samples count.
  const variance = squares / (4 - 2);
  const close = (a, b) => assert.ok(Math.abs(a - b) < 1e-9 * Math.max(1, Math.abs(b)), `${a}, not ${b}`);
  found.parameterValues.forEach((value, k) => close(value, exact[k]));
  [[sxx, -sx], [-sx, s]].flat().forEach((entry, k) => close(found.covariance[k], (variance * entry) / determinant));
  close(found.standardErrors[0], Math.sqrt((variance * sxx) / determinant));
  close(found.parameterError, squares);
  close(found.rSquared, 1 - squares / sum((i) => (v[i] - sy / s) ** 2));
  close(found.residuals[3], exact[0] + 3 * exact[1] - 6.8);
  assert.equal(found.residuals[4], 0, 'a sample of weight 0 is left out');
  const known = await fit(([a, b]) => (t) => a + b * t, { x: u, y: v }, { initialValues: [0, 0], weights: w, absoluteSigma: true });
  close(known.covariance[3], s / determinant);
});

test('a Jacobian, weights for all, bounds and losses reach the solver', async () => {
  const model = ([a, b]) => (t) => a * Math.sin(b * t);
  const jacobianFunction = ([a, b]) => (t) => [Math.sin(b * t), a * t * Math.cos(b * t)];
  const expected = await fit(([a, b], t) => a.mul(b.mul(t).sin()), { x, y }, { initialValues: [1.5, 2.8] });
  const exact = await fit(model, { x, y }, { initialValues: [1.5, 2.8], jacobianFunction, weights: 4 });
  exact.parameterValues.forEach((value, k) => assert.ok(Math.abs(value - expected.parameterValues[k]) < 1e-7));
  assert.ok(Math.abs(exact.parameterError / expected.parameterError - 4) < 1e-6);
  for (const limits of [{ maxValues: [1.9, Infinity] }, { maxValues: { a: 1.9 } }]) {
    const named = 'a' in limits.maxValues;
    const bounded = await fit(named ? ({ a, b }) => model([a, b]) : model, { x, y }, { initialValues: named ? { a: 1.5, b: 2.8 } : [1.5, 2.8], ...limits });
    assert.ok(bounded.success && bounded.parameterValues[0] === 1.9, String(bounded.parameterValues));
  }
  for (const form of [model, ([a, b], t) => a.mul(b.mul(t).sin())]) {
    const fixed = await fit(form, { x, y }, { initialValues: [1.5, 2.8], minValues: [1.9, -Infinity], maxValues: [1.9, Infinity] });
    assert.deepEqual([fixed.success, fixed.parameterValues[0], fixed.standardErrors[0]], [true, 1.9, 0]);
    assert.ok(fixed.standardErrors[1] > 0 && Math.abs(fixed.parameterValues[1] - 3) < 0.01);
  }
  const outlier = y.map((value, i) => (i === 7 ? value + 10 : value));
  const robust = await fit(model, { x, y: outlier }, { initialValues: [1.5, 2.8], loss: loss.tukey(0.5) });
  assert.ok(robust.parameterValues.every((value, k) => Math.abs(value - [2, 3][k]) < 0.01), String(robust.parameterValues));
});

test('a fit is what a problem of the same model and samples is', async () => {
  const problem = new Problem();
  const p = problem.parameters('p', { dim: 2, values: [1.5, 2.8] });
  problem.residuals('samples', { inputs: { p: p.shared(), t: problem.data(x), y: problem.data(y) }, residual: ({ p, t, y }) => p.x.mul(p.y.mul(t).sin()).sub(y), loss: loss.cauchy(0.01) });
  const found = await fit(([a, b]) => (t) => a * Math.sin(b * t), { x, y }, { initialValues: [1.5, 2.8], loss: loss.cauchy(0.01) });
  const expected = await onCpu(problem, async (functions) => {
    const { x } = await levenbergMarquardt(functions);
    return [...x, ...(await covariance(functions)).values];
  });
  [...found.parameterValues, ...found.covariance].forEach((value, k) => assert.ok(Math.abs(value - expected[k]) < 1e-8, `${k}: ${value}, not ${expected[k]}`));
});

test('where a covariance does not exist the parameters are there, and the message says why', async () => {
  const twice = await fit(([a, b]) => (t) => (a + b) * t, { x: [1, 2, 3], y: [2, 4, 7] }, { initialValues: [1, 0] });
  assert.ok(Math.abs(twice.parameterValues[0] + twice.parameterValues[1] - 31 / 14) < 1e-6);
  assert.ok(twice.standardErrors.every(Number.isNaN) && twice.covariance.length === 4 && twice.covariance.every(Number.isNaN));
  assert.match(twice.message, /There are no standard errors: /);
  assert.match(twice.report(), /No standard errors: /);
  const through = await fit(([a, b]) => (t) => a + b * t, { x: [1, 2], y: [1, 3] }, { initialValues: [0, 0] });
  assert.ok(through.standardErrors.every(Number.isNaN) && Math.abs(through.parameterValues[1] - 2) < 1e-9);
});

/** Models of which a sum, a product or an amplitude with a shift is determined and no more, as plain functions and as expressions; starts; and what is determined. */
const UNDETERMINED = {
  'a sum': [({ a, b, c }) => (x) => (a + b) * x + c, ({ a, b, c }, x) => a.add(b).mul(x).add(c), { a: 1, b: 2, c: 1 }, ({ a, b }) => a + b],
  'a sum of numbers that are far apart': [({ a, b, c }) => (x) => (a + b) * x + c, ({ a, b, c }, x) => a.add(b).mul(x).add(c), { a: 1e4, b: 2, c: 1 }, ({ a, b }) => a + b],
  'a product': [({ a, b }) => (x) => a * b * x, ({ a, b }, x) => a.mul(b).mul(x), { a: 1, b: 2 }, ({ a, b }) => a * b],
  'a sum of amplitudes': [({ a, b, k }) => (x) => (a + b) * Math.exp(-k * x), ({ a, b, k }, x) => a.add(b).mul(V.exp(k.mul(x).neg())), { a: 1, b: 2, k: 0.5 }, ({ a, b }) => a + b],
  'an amplitude and a shift': [({ a, b, k }) => (x) => a * Math.exp(-k * (x - b)), ({ a, b, k }, x) => a.mul(V.exp(k.mul(b.sub(x)))), { a: 1, b: 0.5, k: 0.5 }, ({ a, b, k }) => a * Math.exp(k * b)],
  'a factor in a logarithm': [({ a, b, c }) => (x) => Math.log(a * (x + 1)) + b + c * x, ({ a, b, c }, x) => V.log(a.mul(V.add(x, 1))).add(b).add(c.mul(x)), { a: 1, b: 2, c: 1 }, ({ a, b }) => Math.log(a) + b],
};

for (const [name, [plain, expression, initialValues, determined]] of Object.entries(UNDETERMINED)) {
  test(`${name}: differences leave the same directions free as exact derivatives, and parameters near their start`, async () => {
    const truth = Object.fromEntries(Object.entries(initialValues).map(([key, value]) => [key, key === 'a' ? 2 : value]));
    const at = Array.from({ length: 20 }, (_, i) => 0.1 + 0.2 * i);
    const of = plain(truth);
    for (const noise of [0, 1e-2]) {
      const data = { x: at, y: at.map((x, i) => of(x) + noise * Math.cos(17 * i)) };
      const exact = await fit(expression, data, { initialValues, backend: 'cpu' });
      const rankOf = ({ solve }) => solve.findings.find(({ kind }) => kind === 'rank');
      assert.ok(exact.success && rankOf(exact) !== undefined, exact.message);
      for (const differences of ['central', 'forward', 'ridders']) {
        const found = await fit(plain, data, { initialValues, differences });
        const what = `${differences}, noise ${noise}: ${found.message}`;
        assert.ok(found.success, what);
        assert.deepEqual(rankOf(found), rankOf(exact), what);
        assert.ok(found.standardErrors.a !== found.standardErrors.a && found.covariance.every(Number.isNaN), what);
        // Rounding leaves a minimum some 1e-8 of its parameters, and forward differences one without noise not much more.
        assert.ok(Math.abs(determined(found.parameters) / determined(exact.parameters) - 1) < 1e-6, what);
        assert.ok(Math.abs(found.parameterError - exact.parameterError) <= 1e-9 * (1 + exact.parameterError), what);
        // The way along a curve depends on steps, which second derivatives change; its length does not by much.
        const away = (result) => Math.hypot(...Object.entries(initialValues).map(([key, start]) => result.parameters[key] - start));
        assert.ok(away(found) <= 1.2 * away(exact) + 1e-6, `${what}: ${away(found)}, ${away(exact)}`);
      }
    }
  });
}

test('a report has the parameters by name above that of the solver', async () => {
  const found = await fit(({ amplitude, rate }) => (t) => amplitude * Math.sin(rate * t), { x, y }, { initialValues: { amplitude: 1.5, rate: 2.8 } });
  const lines = found.report().split('\n');
  assert.equal(lines[0], 'residua fit');
  assert.ok(lines[3].startsWith('  amplitude') && lines[4].startsWith('  rate'));
  assert.ok(lines.includes('residua solver report'));
});

test('a table has a row for each parameter, of a list by its place', async () => {
  const found = await fit(({ amplitude, rate }) => (t) => amplitude * Math.sin(rate * t), { x, y }, { initialValues: { amplitude: 1.5, rate: 2.8 } });
  assert.deepEqual(found.table(), ['amplitude', 'rate'].map((parameter) => ({ parameter, value: found.parameters[parameter], standardError: found.standardErrors[parameter] })));
  assert.deepEqual(found.solve.table().at(-1), { title: 'Termination', value: found.termination });
  const listed = await fit(([a, b]) => (t) => (a + b) * t, { x: [1, 2, 3], y: [2, 4, 7] }, { initialValues: [1, 0] });
  assert.deepEqual(listed.table().map(({ parameter, standardError }) => [parameter, standardError]), [['0', NaN], ['1', NaN]]);
});

test('an aborted fit, and one without iterations left, are no success', async () => {
  const model = ([a, b]) => (t) => a * Math.sin(b * t);
  const stopped = await fit(model, { x, y }, { initialValues: [1.5, 2.8], maxIterations: 1 });
  assert.deepEqual([stopped.success, stopped.termination], [false, 'max-iterations']);
  const aborted = await fit(model, { x, y }, { initialValues: [1.5, 2.8], onIteration: () => true });
  assert.deepEqual([aborted.success, aborted.termination], [false, 'aborted']);
});

test('wrong arguments are refused by name', async () => {
  const model = ([a, b]) => (t) => a * Math.sin(b * t);
  const good = { initialValues: [1.5, 2.8] };
  const cases = [
    [[3, { x, y }, good], 'fit: model: got 3; takes a function of the parameters'],
    [[() => 'word', { x, y }, good], 'fit: model: got one that returns "word" for the first sample; takes (parameters) => (x) => a number, or (parameters, x) => a Value'],
    [[() => () => undefined, { x, y }, good], 'fit: model: got one that returns undefined for the first sample; takes (parameters) => (x) => a number, or (parameters, x) => a Value'],
    [[() => { throw new Error('mine'); }, { x, y }, good], 'fit: model: it threw for the first sample: Error: mine'],
    [[([a], t) => a.mul(t).negate(), { x, y }, good], 'fit: model: it threw for the first sample: TypeError: a.mul is not a function; with Values: TypeError: a.mul(...).negate is not a function'],
    [[model, { x, y: y.slice(1) }, good], 'fit: data.x: got 30 samples; takes one for each of the 29 numbers of y'],
    [[model, { x: [], y: [] }, good], 'fit: data.y: got no sample; takes at least one'],
    [[model, { x: 3, y: [1] }, good], 'fit: data.x: got 3; takes an array with a number or a list of numbers for each sample'],
    [[model, { x: [[1, 2], [3]], y: [1, 2] }, good], 'fit: data.x[1]: got 1 numbers; takes 2: as many as that of the first sample'],
    [[model, { x: [[]], y: [1] }, good], 'fit: data.x[0]: got an empty list; takes at least one number'],
    [[model, { x, y }, { initialValues: [] }], 'fit: initialValues: got an empty array; takes at least one number'],
    [[model, { x, y }, {}], 'fit: initialValues: got undefined; takes an array of numbers, or an object of them'],
    [[model, { x, y }, { ...good, jacobianFunction: 1 }], 'fit: jacobianFunction: got 1; takes a function'],
    [[([a, b], t) => a.mul(b.mul(t).sin()), { x, y }, { ...good, jacobianFunction: () => () => [1, 1] }], 'fit: jacobianFunction: got one for an expression; takes none: derivatives of expressions are exact'],
    [[model, { x, y }, { ...good, differences: 'none' }], `fit: differences: got "none"; takes 'central', 'forward' or 'ridders'`],
    [[model, { x, y }, { ...good, backend: 'gpu' }], "compile: backend: got 'gpu' for residual block 'samples', a plain function; takes 'cpu' or 'auto': plain functions run on the CPU"],
    [[model, { x, y }, { ...good, readBack: false }], null],
    [[model, { x, y }, { ...good, weights: [1] }], null],
    [[model, { x, y }, { ...good, minValues: [1] }], null],
    [[({ a }) => (t) => a * t, { x, y }, { initialValues: { a: 1 }, minValues: { b: 1 } }], null],
    [[model, { x, y: y.map(() => NaN) }, good], null],
  ];
  for (const [args, message] of cases) {
    await assert.rejects(fit(...args), (error) => error.code === 'invalid-argument' && (message === null || error.message === message || assert.fail(`${error.message}\nnot\n${message}`)));
  }
});

test('a model that is not finite, or throws, is told with its sample', async () => {
  const nan = fit(([a]) => (t) => (t === 0.4 ? NaN : a * t), { x, y }, { initialValues: [1] });
  await assert.rejects(nan, (error) => error.code === 'non-finite' && error.message.startsWith("residual 4 (block 'samples', instance 4, residual 0 of 1) is NaN at the start"));
  const throws = fit(([a]) => (t) => { if (t > 1) throw new Error('beyond'); return a * t; }, { x, y }, { initialValues: [1] });
  await assert.rejects(throws, (error) => error.code === 'non-finite' && error.message === "residual block 'samples': evaluate threw Error: beyond");
});

test('differences are those that are asked for', async () => {
  const calls = [];
  for (const differences of ['forward', 'central', 'ridders']) {
    let count = 0;
    await fit(([a, b]) => (count++, (t) => a * Math.sin(b * t)), { x: [0, 0.5, 1, 1.5], y: [0, 1.4, 0.3, -1.3] }, { initialValues: [1.5, 2.8], differences });
    calls.push(count);
  }
  // One call, two, and up to 36 for each parameter and Jacobian.
  assert.ok(calls[0] < calls[1] && calls[1] < calls[2], String(calls));
});

const RESULTS = {
  'six decimals': (v) => Number(v.toFixed(6)),
  'four decimals': (v) => Number(v.toFixed(4)),
  'six digits': (v) => Number(v.toPrecision(6)),
  'single precision': Math.fround,
  // A phase that no step keeps.
  'noise of a millionth': (v, a, b) => v * (1 + 1e-6 * Math.sin(1e9 * v + 1e7 * (a + b))),
};

for (const [name, of] of Object.entries(RESULTS)) {
  test(`a function with results of ${name} has the fit of the exact one, and says how uncertain its results are`, async () => {
    const x = Array.from({ length: 30 }, (_, i) => i / 6);
    const y = x.map((t, i) => 3 * Math.exp(-0.7 * t) + 0.02 * Math.cos(17 * i * i));
    const exact = await fit(({ a, b }, t) => a.mul(V.exp(b.mul(t).neg())), { x, y }, { initialValues: { a: 1, b: 1 }, backend: 'cpu' });
    for (const differences of ['central', 'forward', 'ridders']) {
      const found = await fit(({ a, b }) => (t) => of(a * Math.exp(-b * t), a, b), { x, y }, { initialValues: { a: 1, b: 1 }, differences });
      const what = `${differences}: ${found.message}`;
      assert.ok(found.success, what);
      for (const key of ['a', 'b']) {
        // Noise of at most a fiftieth of the residuals' deviation moves parameters by as much of their errors, some times.
        assert.ok(Math.abs(found.parameters[key] - exact.parameters[key]) < 0.05 * exact.standardErrors[key], `${key}, ${what}`);
        assert.ok(Math.abs(found.standardErrors[key] / exact.standardErrors[key] - 1) < 0.03, `${key}, ${what}`);
      }
      const { size } = found.solve.findings.find(({ kind }) => kind === 'noise').figures;
      // The errors of the function itself.
      const { a, b } = found.parameters;
      const error = Math.sqrt(x.reduce((sum, t) => sum + (of(a * Math.exp(-b * t), a, b) - a * Math.exp(-b * t)) ** 2 / 30, 0));
      assert.ok(size > error / 4 && size < 4 * error, `${size} of ${error}, ${what}`);
    }
  });
}

/** Models with a kink, as plain functions and as expressions; the truth; starts. */
const KINKS = {
  'a hinge': [([a, b, c]) => (t) => a + b * Math.max(0, t - c), ([a, b, c], t) => a.add(b.mul(V.max(0, V.sub(t, c)))), [1, 2, 2.03], [0.5, 1, 1.5]],
  'a distance': [([a, b, c]) => (t) => a * Math.abs(t - b) + c, ([a, b, c], t) => a.mul(V.abs(V.sub(t, b))).add(c), [2, 2.33, 0.5], [1, 2, 0]],
  'a saturation': [([a, b]) => (t) => Math.min(a * t, b), ([a, b], t) => V.min(a.mul(t), b), [2, 5.1], [1.5, 4]],
  'a delay': [([a, b, c]) => (t) => a * (1 - Math.exp(-b * Math.max(0, t - c))), ([a, b, c], t) => a.mul(V.sub(1, V.exp(b.neg().mul(V.max(0, V.sub(t, c)))))), [3, 1.2, 0.83], [2, 1, 0.5]],
};
const NOISY = { 'four decimals': RESULTS['four decimals'], 'noise of 1e-4': (v, p) => v + 1e-4 * Math.sin(1e9 * v + 1e7 * p.reduce((sum, value, i) => sum + value * (i + 1))) };

test('a success of a model with a kink, whose results are rounded or noisy, is the fit of the exact one', async () => {
  let successes = 0;
  for (const [name, [plain, expression, truth, start]] of Object.entries(KINKS)) {
    const x = Array.from({ length: 40 }, (_, i) => i / 7.8);
    const y = x.map((t, i) => plain(truth)(t) + 0.02 * Math.cos(17 * i * i + name.length));
    const exact = await fit(expression, { x, y }, { initialValues: start, backend: 'cpu' });
    for (const [kind, of] of Object.entries(NOISY)) {
      for (const differences of ['central', 'forward', 'ridders']) {
        const found = await fit((p) => (t) => of(plain(p)(t), p), { x, y }, { initialValues: start, differences });
        if (!found.success) continue;
        successes++;
        found.parameterValues.forEach((value, i) => {
          // As of smooth models.
          const away = Math.abs(value - exact.parameterValues[i]) / exact.standardErrors[i];
          assert.ok(away < 0.05, `${name}, ${kind}, ${differences}: parameter ${i} is ${away} standard errors away`);
        });
      }
    }
  }
  // A kink beside a sample may be no success.
  assert.ok(successes >= 18, `${successes} of 24`);
});

test('rounded results of a line are no flat function, from a start at 0 where they are 0', async () => {
  const x = Array.from({ length: 40 }, (_, i) => i / 8);
  const y = x.map((t, i) => 1 + 2 * t + 0.3 * Math.cos(17 * i * i));
  const exact = await fit(([a, b], t) => a.add(b.mul(t)), { x, y }, { initialValues: [0, 0], backend: 'cpu' });
  for (const differences of ['central', 'forward', 'ridders']) {
    const found = await fit(([a, b]) => (t) => Number((a + b * t).toFixed(2)), { x, y }, { initialValues: [0, 0], differences });
    assert.ok(found.success, found.message);
    found.parameterValues.forEach((value, i) => assert.ok(Math.abs(value - exact.parameterValues[i]) < 0.05 * exact.standardErrors[i], `${differences}: ${value}`));
  }
});

test('forward differences find the minimum of a model whose columns nearly depend on each other', async () => {
  // NIST, MGH17 (Osborne 1972), from its first start.
  const y = [
    0.844, 0.908, 0.932, 0.936, 0.925, 0.908, 0.881, 0.85, 0.818, 0.784, 0.751, 0.718, 0.685, 0.658, 0.628, 0.603, 0.58,
    0.558, 0.538, 0.522, 0.506, 0.49, 0.478, 0.467, 0.457, 0.448, 0.438, 0.431, 0.424, 0.42, 0.414, 0.411, 0.406,
  ];
  const model = ([a, b, c, d, e]) => (t) => a + b * Math.exp(-t * d) + c * Math.exp(-t * e);
  const found = await fit(model, { x: y.map((_, i) => 10 * i), y }, { initialValues: [50, 150, -100, 1, 2], differences: 'forward', maxIterations: 500 });
  assert.ok(found.success, found.message);
  const certified = [3.7541005211e-1, 1.9358469127, -1.4646871366, 1.2867534640e-2, 2.2122699662e-2];
  // Central differences at the end have 10 digits, times a condition of some thousands.
  certified.forEach((value, i) => assert.ok(Math.abs(found.parameterValues[i] / value - 1) < 1e-6, `${i}: ${found.parameterValues[i]}`));
});

test('where rounding or steps of a function hide the minimum a fit has no success', async () => {
  const x = Array.from({ length: 30 }, (_, i) => i / 6);
  const y = x.map((t, i) => 3 * Math.exp(-0.7 * t) + 0.02 * Math.cos(17 * i * i));
  for (const differences of ['central', 'forward', 'ridders']) {
    const models = [({ a, b }) => (t) => Number((a * Math.exp(-b * t)).toFixed(0)), ({ a, b }) => (t) => Number(a > 2) + Number(b * t > 1)];
    for (const model of models) {
      const found = await fit(model, { x, y }, { initialValues: { a: 1, b: 1 }, differences });
      // Of results that differ nowhere near the point no noise is known.
      const isTold = found.solve.findings.some(({ kind }) => kind === 'noise') || Number.isNaN(found.standardErrors.a);
      assert.ok(!found.success && isTold, `${differences}: ${found.message}`);
    }
  }
});

test('a parameter without effect on an exact function is found at a bounded cost, and is no noise', async () => {
  let calls = 0;
  const x = Array.from({ length: 10 }, (_, i) => i / 5);
  for (const model of [({ a }) => (t) => (calls++, a * t), ({ a, b }) => (t) => (calls++, a * t + Math.max(0, b - 1e9))]) {
    calls = 0;
    const { success, solve, parameters } = await fit(model, { x, y: x.map((t) => 2 * t + 0.1 * Math.cos(9 * t)) }, { initialValues: { a: 1, b: 0.5 } });
    assert.ok(success && parameters.b === 0.5 && !solve.findings.some(({ kind }) => kind === 'noise'), solve.message);
    // A few points, of 7 calls each, and some ten longer steps at the first.
    assert.ok(calls < 100 * x.length, `${calls} calls`);
  }
});

test('a plain function of dates has the fit of the same function of the time since', async () => {
  const x = Array.from({ length: 30 }, (_, i) => i / 6);
  const error = (i) => 0.02 * Math.cos(17 * i * i);
  const cases = [
    // In seconds: far from 0 a first step leaves the peak.
    [1.7e9, ([a, b, c]) => (t) => a * Math.exp(-(((t - b) / c) ** 2)), [2, 2.4, 0.8], [1.5, 2, 1], 1, 1e-3],
    // In milliseconds: columns differ by a part in 10¹², and a residual is rounded to 5e-4, a fortieth of its error.
    [1.7e12, ([a, b]) => (t) => a + b * t, [1, 2], [0, 0], null, 0.05],
  ];
  for (const [date, model, truth, start, shifted, tolerance] of cases) {
    const y = x.map((t, i) => model(truth)(t) + error(i));
    const near = await fit(model, { x, y }, { initialValues: start });
    const from = start.map((value, i) => value + (i === shifted ? date : 0));
    const found = await fit(model, { x: x.map((t) => t + date), y }, { initialValues: from });
    assert.ok(near.success && found.success, `${date}: ${found.message}`);
    // The cost tells it in any parameters.
    assert.ok(found.parameterError < near.parameterError * (1 + tolerance), `${date}: ${found.parameterError}, not ${near.parameterError}`);
  }
});

test('a first step of many periods is followed by one that fits a wave', async () => {
  // The frequency of a wave whose times are dates in seconds: the first step is thousands of periods long.
  for (const date of [1e8, 1e9, 1.7e9]) {
    const times = Array.from({ length: 40 }, (_, i) => date + 0.1 + i / 8);
    const phase = (-1.5 * date) % (2 * Math.PI);
    const model = ([a, b, c]) => (t) => a * Math.sin(b * t + c);
    const y = times.map((t, i) => model([2, 1.5, phase])(t) + 0.02 * Math.cos(17 * i * i));
    const found = await fit(model, { x: times, y }, { initialValues: [1.8, 1.5, phase + 0.1] });
    // With the frequency left alone, which differs from the phase by less than its differences are exact, the cost is that of the phase alone.
    assert.ok(found.parameterError < 0.01, `${date}: ${found.parameterError}, ${found.message}`);
  }
});

test('no kind of differences has a success with a parabola of far times beside its minimum', async () => {
  const times = Array.from({ length: 40 }, (_, i) => 1e6 + 0.1 + i / 8);
  const model = ([a, b, c]) => (t) => a + b * t + c * t * t;
  const y = times.map((t, i) => model([1, 2, 0.3])(t) + 0.02 * Math.cos(17 * i * i));
  const exact = await fit(([a, b, c], t) => a.add(b.mul(t)).add(c.mul(t).mul(t)), { x: times, y }, { initialValues: [0, 0, 0], backend: 'cpu' });
  for (const differences of ['central', 'forward', 'ridders']) {
    const found = await fit(model, { x: times, y }, { initialValues: [0, 0, 0], differences, maxIterations: 500 });
    // Numbers near 3e11 are rounded to 6e-5, a third of a hundredth of the error.
    assert.ok(!found.success || found.parameterError < 1.01 * exact.parameterError, `${differences}: ${found.parameterError}, not ${exact.parameterError}: ${found.message}`);
  }
});

test('weights of a wide range are no noise of a plain function', async () => {
  const weights = x.map((_, i) => 10 ** ((i % 20) - 10));
  const found = await fit(({ a, b }) => (t) => a * Math.exp(-b * t), { x, y: x.map((t, i) => 3 * Math.exp(-0.7 * t) + 0.02 * Math.cos(17 * i * i)) }, { initialValues: { a: 1, b: 1 }, weights });
  assert.ok(found.success && !found.solve.findings.some(({ kind }) => kind === 'noise'), found.message);
});

test('equal measurements have no coefficient of determination', async () => {
  for (const y of [[0.1, 0.1, 0.1, 0.1], [2, 2, 5, 2]]) {
    const weights = y.map((number) => (number === 5 ? 0 : 1));
    const found = await fit(([a, b]) => (t) => a + b * t, { x: [0, 1, 2, 3], y }, { initialValues: [1, 1], weights, backend: 'cpu' });
    assert.ok(Number.isNaN(found.rSquared), `${found.rSquared}`);
    assert.ok(Math.abs(found.parameterValues[0] - y[0]) < 1e-12 && found.parameterError < 1e-20);
  }
});

test('frequency and phase of a wave are determined by a plain function although its times are dates', async () => {
  const noise = (k) => 0.2 * Math.sin(12.9898 * k * k + 78.233 * k);
  const t = Array.from({ length: 80 }, (_, k) => k / 5);
  const y = t.map((time, k) => 2 * Math.sin(1.7 * time + 0.6) + 3 + noise(k));
  const wave = ({ a, w, p, c }) => (time) => a * Math.sin(w * time + p) + c;
  const near = await fit(wave, { x: t, y }, { initialValues: { a: 1.8, w: 1.69, p: 0.8, c: 2.8 }, backend: 'cpu' });
  for (const origin of [1e5, 2459000, 1e8]) {
    // The nearest frequencies with another phase there are minima, too.
    const p = (0.6 - 1.7 * origin) % (2 * Math.PI);
    const far = await fit(wave, { x: t.map((time) => origin + time), y }, { initialValues: { a: 1.8, w: 1.7, p, c: 2.8 }, backend: 'cpu' });
    // Rounding of the phase may hide the last digits that the tolerance asks for: such a fit has no success.
    assert.ok((far.success && far.solve.findings.length === 0) || far.termination === 'precision-limit', `${origin}: ${far.message}`);
    // Rounding of the phase is 1e-16 of 2e8.
    assert.ok(far.parameterError - near.parameterError < 1e-4 * near.parameterError / 76, `${origin}: ${far.parameterError}, not ${near.parameterError}`);
    for (const name of ['a', 'w', 'c']) {
      const ratio = far.standardErrors[name] / near.standardErrors[name];
      assert.ok(Math.abs(ratio - 1) < 0.02, `${origin}: the standard error of ${name} is ${ratio} times as large`);
    }
  }
});

test('parameters that are redundant remain undetermined by differences', async () => {
  const x = Array.from({ length: 30 }, (_, k) => k / 6);
  const y = x.map((t, k) => 2 * Math.exp(-0.4 * t) + 0.05 * Math.sin(91 * k * k));
  const found = await fit(({ a, b, k }) => (t) => a * b * Math.exp(-k * t), { x, y }, { initialValues: { a: 1, b: 1, k: 1 }, backend: 'cpu' });
  const [finding] = found.solve.findings;
  assert.ok(found.success && finding?.kind === 'rank' && finding.figures.rank === 2, found.message);
  assert.ok(Number.isNaN(found.standardErrors.a));
});
