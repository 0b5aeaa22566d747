/** Plain functions: what the module gets of them, the columns that they fill, and their numeric derivatives. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GpuCompiledFunctions, loss, Problem, solveMany } from '../../pkg-template/dist/index.js';
import { fitOn } from '../../pkg-template/dist/solvers/fit.js';
import { Op } from '../../pkg-template/dist/expressions/op-codes.js';
import { install } from './fake-module.mjs';
import { joined } from './through-a-worker.mjs';

const refused = (code, message) => (error) => error.code === code && (error.message === message || assert.fail(error.message));
const invalid = (message) => refused('invalid-argument', message);

/** Compiles, and returns what the module got, with the functions that fill columns. */
async function compiled(problem) {
  const fake = install();
  const functions = await GpuCompiledFunctions.compile(problem);
  const [raw] = fake.problems;
  return { fake, functions, raw, log: fake.compiled[0].log, evaluate: raw.plain.map(([, evaluate]) => (x, wanted) => [...evaluate(Float64Array.from(x), wanted)]) };
}

/** p₀·t − y and p₁² for three instances. */
function pairs(settings = {}) {
  const problem = new Problem();
  const p = problem.parameters('p', { dim: 2, values: [2, 3] });
  const calls = [];
  const evaluate = ({ p, t, y }, out) => {
    calls.push(t[0]);
    out[0] = p[0] * t[0] - y[0];
    out[1] = p[1] ** 2;
  };
  const block = problem.residuals('f', { inputs: { t: problem.data([1, 2, 4]), p: p.shared(), y: problem.data([5, 6, 7]) }, outputs: 2, evaluate, ...settings });
  return { problem, p, block, calls };
}

test('a template is affine in its parameters, with a column for each residual and each derivative', async () => {
  const { raw } = await compiled(pairs().problem);
  const [[block, count, instances, rows, slots, indices, dataColumns, , ops, , , , constants, outputs]] = raw.templates;
  assert.deepEqual([block, count, instances, rows, [...slots], indices, dataColumns], [0, 3, undefined, undefined, [0], [0, 0, 0], 2 + 2 * 2]);
  assert.deepEqual([[...constants], outputs.length, raw.weightColumns], [[], 2, []]);
  const counts = Object.fromEntries([Op.data, Op.parameter, Op.stopGradient, Op.sub, Op.guardedMul, Op.add].map((op) => [op, ops.filter((other) => other === op).length]));
  assert.deepEqual(counts, { [Op.data]: 6, [Op.parameter]: 2, [Op.stopGradient]: 2, [Op.sub]: 2, [Op.guardedMul]: 4, [Op.add]: 4 });
});

test('columns have residuals, then derivatives by parameters, instance after instance', async () => {
  const jacobian = ({ p, t }, out) => out.set([t[0], 0, 0, 2 * p[1]]);
  const { evaluate: [evaluate] } = await compiled(pairs({ jacobian }).problem);
  const residuals = [2 * 1 - 5, 2 * 2 - 6, 2 * 4 - 7, 9, 9, 9];
  assert.deepEqual(evaluate([2, 3], 0).slice(0, 6), residuals);
  assert.deepEqual(evaluate([2, 3], 1), [...residuals, 1, 2, 4, 0, 0, 0, 0, 0, 0, 6, 6, 6]);
});

test('an instance with many derivatives has a place for each residual, in its rows', async () => {
  const problem = new Problem();
  const p = problem.parameters('p', { dim: 1, values: Array(600).fill(1) });
  const indices = [0, 1, 2].flatMap((first) => Array.from({ length: 200 }, (_, i) => first * 200 + i));
  const evaluate = ({ p, d }, out) => out.forEach((_, i) => (out[i] = p[i] * d[0]));
  const weights = problem.data([1, 2, 3]);
  problem.residuals('f', { inputs: { p: p.at(indices, 200), d: problem.data([1, 10, 100]) }, outputs: 6, evaluate, weights });
  const { raw, evaluate: [columns] } = await compiled(problem);
  const [[, count, instances, rows, slots, addresses, dataColumns, data]] = raw.templates;
  assert.deepEqual([count, rows, slots.length, dataColumns], [18, undefined, 200, 1 + 1 + 200]);
  assert.deepEqual([...instances], [0, 1, 2].flatMap((i) => Array(6).fill(i)));
  assert.deepEqual(addresses.slice(0, 18), [0, 200, 400].flatMap((i) => Array(6).fill(i)));
  assert.deepEqual([data.slice(0, 18), raw.weightColumns], [[1, 2, 3].flatMap((w) => Array(6).fill(w)), [[0, 0]]]);
  const x = Array.from({ length: 600 }, (_, i) => i + 1);
  const all = columns(x, 1);
  assert.deepEqual(all.slice(0, 18), [1, 2, 3, 4, 5, 6, 2010, 2020, 2030, 2040, 2050, 2060, 40100, 40200, 40300, 40400, 40500, 40600]);
  // The derivative by the second number of the instances.
  assert.deepEqual(all.slice(18 * 2, 18 * 3).map(Math.round), [0, 1, 0, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0, 100, 0, 0, 0, 0]);
});

test('stars of different lengths have templates of their own, and data of theirs', async () => {
  const problem = new Problem();
  const p = problem.parameters('p', { dim: 2, values: [1, 2, 3, 4, 5, 6] });
  const offsets = [0, 2, 3, 5];
  const inputs = { s: p.star(offsets, [0, 1, 2, 1, 2]), d: problem.dataStar(offsets, [1, 10, 100, 1000, 10000]) };
  problem.residuals('f', { inputs, outputs: 1, evaluate: ({ s, d }, out) => (out[0] = d.reduce((sum, weight, i) => sum + weight * s[2 * i], 0)) });
  const { raw, evaluate } = await compiled(problem);
  assert.deepEqual(raw.templates.map(([, count, instances, rows]) => [count, [...instances], [...rows]]), [[2, [0, 2], [0, 2]], [1, [1], [1]]]);
  const x = [1, 2, 3, 4, 5, 6];
  assert.deepEqual(evaluate.map((columns) => columns(x, 0).slice(0, columns === evaluate[0] ? 2 : 1)), [[1 + 30, 3000 + 50000], [500]]);
});

test('values of a call do not depend on what another call has written to them', async () => {
  const problem = new Problem();
  const p = problem.parameters('p', { dim: 2, values: [2, 3] });
  const evaluate = (values, out) => {
    out[0] = values.p[0] * values.d[0];
    values.p.fill(7);
    values.d.fill(7);
    assert.throws(() => (values.p = [1, 2]), TypeError);
  };
  problem.residuals('f', { inputs: { p: p.at([0, 0]), d: problem.data([3, 5]) }, outputs: 1, evaluate });
  const { evaluate: [columns] } = await compiled(problem);
  for (let time = 0; time < 2; time++) assert.deepEqual(columns([2, 3], 1).slice(0, 4).map((number) => Math.round(number * 1e6) / 1e6), [6, 10, 3, 5]);
});

test('instances of weight 0 are not evaluated', async () => {
  const { problem, block, calls } = pairs({ weights: [1, 0, 2] });
  const { functions, log, evaluate: [columns] } = await compiled(problem);
  assert.deepEqual(columns([2, 3], 1).slice(0, 6), [-3, 0, 1, 9, 0, 9]);
  assert.ok(!calls.includes(2));
  block.setData('weights', [0, 1, 1]);
  await functions.evaluate();
  assert.deepEqual(log.filter(([name]) => name === 'setData').slice(-2).map(([, id, column, data]) => [id, column, [...data]]), [[0, 0, [0, 1, 1]], [0, 0, []]]);
  calls.length = 0;
  assert.deepEqual(columns([2, 3], 0).slice(0, 6), [0, -2, 1, 0, 9, 9]);
});

test('data that are set reach the function at the next call, and each call begins anew', async () => {
  const { problem, block } = pairs();
  const { functions, log, evaluate: [columns] } = await compiled(problem);
  block.setData('y', [0, 0, 0]);
  assert.deepEqual(columns([2, 3], 0).slice(0, 3), [-3, -2, 1]);
  await functions.evaluate();
  assert.deepEqual(columns([2, 3], 0).slice(0, 3), [2, 4, 8]);
  assert.deepEqual(log.filter(([name]) => name === 'setData').map(([, ...args]) => args.map((arg) => (ArrayBuffer.isView(arg) ? [...arg] : arg))), [[0, 0, []]]);
  await functions.evaluate();
  assert.equal(log.filter(([name]) => name === 'setData').length, 2);
});

/** Derivatives of f at x, by differences of a kind, from a problem with one number. */
async function derivative(f, x, differences, { scale = 0, bounds } = {}) {
  const problem = new Problem();
  // Blocks beside it give the magnitude of a number that is 0.
  const p = problem.parameters('p', { dim: 1, values: scale === 0 ? [x] : [x, scale, -scale] });
  if (bounds !== undefined) p.setBounds(bounds);
  const [least, most] = [bounds?.lower ?? -Infinity, bounds?.upper ?? Infinity];
  const evaluate = ({ p }, out) => {
    assert.ok(p[0] >= least && p[0] <= most, `${p[0]} is beyond the bounds`);
    out[0] = f(p[0]);
  };
  problem.residuals('f', { inputs: { p: p.shared() }, outputs: 1, evaluate, differences });
  const { functions, evaluate: [columns] } = await compiled(problem);
  await functions.evaluate();
  return columns(scale === 0 ? [x] : [x, scale, -scale], 1)[1];
}

const CASES = [
  ['exp', Math.exp, Math.exp, [-3, 0, 1, 20]],
  ['a peak far from 0', (x) => 3 * Math.exp(-((x - 1e4) ** 2)), (x) => -6 * (x - 1e4) * Math.exp(-((x - 1e4) ** 2)), [1e4 + 0.4, 1e4 - 0.2]],
  ['a fast wave', (x) => Math.sin(1e4 * x), (x) => 1e4 * Math.cos(1e4 * x), [0, 0.3, 2]],
  ['a large offset', (x) => 1e8 + Math.sin(x), Math.cos, [0, 1]],
  ['a weak parameter', (x) => 1e3 + 1e-4 * x, () => 1e-4, [0, 1, 5]],
  ['a small number', (x) => Math.exp(1e9 * x), (x) => 1e9 * Math.exp(1e9 * x), [1e-9, 3e-9]],
  ['a square', (x) => x ** 2, (x) => 2 * x, [0, 1e-30, 4, 1e200 ** 0.5]],
  ['a constant', () => 4, () => 0, [0, 3]],
];

// Of a peak or a wave the truncation, of an offset the rounding; a forward difference takes neither into account but by √ε.
for (const [differences, tolerance] of [['central', 3e-6], ['ridders', 1e-7]]) {
  test(`${differences} differences fit the scale of a function`, async () => {
    for (const [name, f, exact, points] of CASES) {
      for (const x of points) {
        const found = await derivative(f, x, differences);
        const size = Math.max(Math.abs(exact(x)), name === 'a fast wave' ? 1e4 : 0, name === 'a square' && x === 0 ? 1e-5 : 0);
        // Of 1e8 a rounding is 1.5e-8, which the best step, 3e-3, makes 5e-6.
        const least = name === 'a large offset' ? 1e-5 : tolerance;
        assert.ok(Math.abs(found - exact(x)) <= least * size || found === exact(x), `${name} at ${x}: ${found}, not ${exact(x)}`);
      }
    }
  });
}

test('smooth functions have as many digits as each kind promises', async () => {
  for (const [differences, digits] of [['forward', 6.5], ['central', 9], ['ridders', 12]]) {
    for (const x of [0.3, 1, -2]) {
      const error = Math.abs((await derivative(Math.exp, x, differences)) / Math.exp(x) - 1);
      assert.ok(error < 10 ** -digits, `${differences} at ${x}: ${error}`);
    }
  }
});

test('the step of a number that is 0 follows the other blocks of its array', async () => {
  for (const scale of [1e-8, 1, 1e8]) {
    for (const differences of ['forward', 'central', 'ridders']) {
      const found = await derivative((x) => Math.sin(x / scale + 0.5), 0, differences, { scale });
      assert.ok(Math.abs(found * scale - Math.cos(0.5)) < 1e-6, `${differences} at scale ${scale}: ${found * scale}`);
    }
  }
});

test('differences stay within bounds, and where the function is finite', async () => {
  for (const [differences, tolerance] of [['forward', 1e-6], ['central', 1e-8], ['ridders', 1e-9]]) {
    for (const bounds of [{ lower: 1, upper: 3 }, { lower: -1, upper: 1 }, { lower: 1, upper: 1 + 1e-7 }, { lower: 1 - 1e-12, upper: 5 }]) {
      const found = await derivative(Math.exp, 1, differences, { bounds });
      // A width of 1e-7 leaves 2⁻⁵²/1e-7 = 2e-9 of rounding, times a few for three points.
      const least = bounds.upper === 1 + 1e-7 ? 5e-8 : tolerance;
      assert.ok(Math.abs(found / Math.E - 1) < least, `${differences} in ${JSON.stringify(bounds)}: ${found / Math.E - 1}`);
    }
    const root = await derivative((x) => (x < 4 ? NaN : (x - 3) ** 1.5), 4, differences);
    assert.ok(Math.abs(root / 1.5 - 1) < tolerance, `${differences} at the edge: ${root / 1.5 - 1}`);
    assert.equal(await derivative(() => NaN, 1, differences), NaN);
  }
});

test('a function that throws, takes out, or returns its residuals is told with block and instance', async () => {
  const cases = [
    [() => { throw new TypeError('no such thing'); }, 'evaluate threw TypeError: no such thing'],
    [() => { throw 'words'; }, 'evaluate threw "words"'],
    [() => [1, 2], 'evaluate returned an array of 2 and left out as it was; it is to write its 2 numbers to out'],
    [async () => {}, 'evaluate returned a Promise and left out as it was; it is to write its 2 numbers to out'],
    [(_, out) => structuredClone(out, { transfer: [out.buffer] }), 'evaluate took the memory of out'],
  ];
  for (const [bad, words] of cases) {
    const { problem } = pairs({ evaluate: (values, out) => (values.t[0] === 2 ? bad(values, out) : out.fill(1)) });
    const { evaluate: [columns] } = await compiled(problem);
    assert.throws(() => columns([2, 3], 0), refused('non-finite', `residual block 'f', instance 1: ${words}`));
  }
  const { problem } = pairs({ jacobian: () => { throw new Error('later'); } });
  const { evaluate: [columns] } = await compiled(problem);
  columns([2, 3], 0);
  assert.throws(() => columns([2, 3], 1), refused('non-finite', "residual block 'f', instance 0: jacobian threw Error: later"));
});

test('what is not written is NaN, and what the first call does not write is told', async () => {
  const { problem } = pairs({ evaluate: ({ t }, out) => { if (t[0] !== 2) out.set([3, 4]); } });
  const { evaluate: [columns] } = await compiled(problem);
  assert.deepEqual(columns([2, 3], 0).slice(0, 6), [3, NaN, 3, 4, NaN, 4]);
  const { evaluate: [short] } = await compiled(pairs({ evaluate: (_, out) => { out[1] = 4; } }).problem);
  assert.throws(() => short([2, 3], 0), { code: 'non-finite', message: "residual block 'f', instance 0: evaluate left out[0] as it was; it is to write its 2 numbers to out" });
});

test('wrong arguments are refused by name', () => {
  const problem = new Problem();
  const p = problem.parameters('p', { dim: 1, values: [1] });
  const add = (spec) => () => problem.residuals('f', { inputs: { p: p.shared() }, outputs: 1, evaluate: () => {}, ...spec });
  assert.throws(add({ outputs: 0 }), invalid('residuals "f": outputs: got 0; takes a whole number of at least 1'));
  assert.throws(add({ outputs: undefined }), invalid('residuals "f": outputs: got undefined; takes a whole number of at least 1'));
  assert.throws(add({ evaluate: 3 }), invalid('residuals "f": evaluate: got 3; takes a function'));
  assert.throws(add({ jacobian: 'x' }), invalid('residuals "f": jacobian: got "x"; takes a function'));
  assert.throws(add({ differences: 'backward' }), invalid(`residuals "f": differences: got "backward"; takes 'central', 'forward' or 'ridders'`));
  assert.throws(add({ residual: () => 1 }), (error) => error.code === 'invalid-argument' && error.message.includes('unknown option "residual"'));
  assert.throws(add({ sqrtInformation: [1] }), (error) => error.code === 'invalid-argument' && error.message.includes('unknown option "sqrtInformation"'));
  assert.throws(add({ inputs: { d: problem.data([1]) } }), invalid('residuals "f": inputs: got data alone; takes at least one block of parameters'));
  assert.throws(add({ weights: [1, 2] }), invalid('residuals "f": weights: got 2 numbers; takes one for each of the 1 instances'));
  add({})();
  assert.throws(add({}), invalid('residuals: name: got "f" a second time; takes a different name for each block'));
  assert.equal(problem.numResiduals, 1);
});

test('a robust loss is refused for instances with too many derivatives, and for others not', () => {
  const problem = new Problem();
  const p = problem.parameters('p', { dim: 40, values: Array(40).fill(1) });
  const spec = { inputs: { p: p.shared() }, evaluate: () => {} };
  const limit = (error) => error.code === 'limit-exceeded' && error.message.startsWith("the instances of residual block 'f' have more than 256 derivatives each;");
  assert.throws(() => problem.residuals('f', { ...spec, outputs: 7, loss: loss.huber(1) }), limit);
  const block = problem.residuals('f', { ...spec, outputs: 7, loss: loss.squared() });
  assert.throws(() => block.setLoss(loss.cauchy(1)), limit);
  problem.residuals('g', { ...spec, outputs: 6, loss: loss.huber(1) });
});

test('plain functions are for the CPU: the engine, and the reason', async () => {
  const fake = install();
  const functions = await GpuCompiledFunctions.compile(pairs().problem, { fallbackThreshold: 0 });
  assert.deepEqual([functions.backend, functions.fallbackReason, fake.contexts.length], ['cpu', "residual block 'f' is a plain function, which runs on the CPU", 0]);
  const cpu = await GpuCompiledFunctions.compile(pairs().problem, { backend: 'cpu' });
  assert.equal(cpu.fallbackReason, null);
  await assert.rejects(
    GpuCompiledFunctions.compile(pairs().problem, { backend: 'gpu' }),
    invalid("compile: backend: got 'gpu' for residual block 'f', a plain function; takes 'cpu' or 'auto': plain functions run on the CPU"),
  );
  await assert.rejects(
    solveMany(pairs().problem, { count: 2 }),
    invalid("solveMany: template: got residual block 'f', a plain function; takes recorded residual functions; solve() and fit() take plain functions"),
  );
});

test('a worker refuses plain functions', async () => {
  install();
  const { GpuCompiledFunctions: there, host, close } = joined();
  await assert.rejects(there.compile(pairs().problem), (error) => error.code === 'invalid-argument' && error.message.includes('a plain function, which a worker does not get'));
  await assert.rejects(fitOn(host, ([a]) => (t) => a * t, { x: [1, 2], y: [1, 2] }, { initialValues: [1] }), (error) => error.code === 'invalid-argument' && error.message.includes('a plain function, which a worker does not get'));
  close();
});

/** How far derivatives of a·exp(b·x) at ten samples are from exact, relative to their length, and what is said of it. */
async function accuracyOf(differences, [a, b], noise = () => 0) {
  const problem = new Problem();
  const p = problem.parameters('p', { dim: 2, values: [a, b] });
  const x = Array.from({ length: 10 }, (_, i) => i / 5);
  const evaluate = ({ p, x }, out) => (out[0] = p[0] * Math.exp(p[1] * x[0]) - 3 + noise());
  problem.residuals('f', { inputs: { p: p.shared(), x: problem.data(x) }, outputs: 1, evaluate, differences });
  const { evaluate: [columns] } = await compiled(problem);
  const table = columns([a, b], 1);
  const said = columns([], 3);
  // The last one is the noise.
  const told = said.pop();
  const exact = [x.map((x) => Math.exp(b * x)), x.map((x) => a * x * Math.exp(b * x))];
  const error = exact.map((column, by) => Math.hypot(...column.map((value, i) => table[10 * (1 + by) + i] - value)) / Math.hypot(...column));
  // The residuals' size beside what each parameter makes of them.
  const ratio = exact.map((column, by) => (3 + Math.abs(a)) / (Math.abs([a, b][by]) * Math.hypot(...column)));
  return { said, told, error, ratio };
}

test('each kind of differences says how exact it is, within some powers of ten and never too little', async () => {
  const random = (size) => {
    let state = 7;
    return () => size * ((state = (state * 48271) % 2147483647) / 2147483647 - 0.5);
  };
  for (const point of [[1, -1], [1e6, -1], [1e-6, 0.3], [5, -0.01]]) {
    for (const [differences, most] of [['central', 1e-8], ['forward', 1e-6], ['ridders', 1e-10]]) {
      const { said, error, ratio } = await accuracyOf(differences, point);
      said.forEach((said, by) => assert.ok(said >= error[by] && said <= most * (1 + ratio[by]), `${differences} ${point}: ${said} of ${error[by]}`));
    }
    // A function that is computed to six digits, as an integrator with a tolerance is.
    for (const differences of ['central', 'forward', 'ridders']) {
      const { said, error } = await accuracyOf(differences, point, random(1e-6 * Math.max(3, point[0])));
      said.forEach((said, by) => assert.ok(said >= Math.min(error[by], 1), `noise, ${differences} ${point}: ${said} of ${error[by]}`));
    }
  }
});

test('derivatives that the function has are exact, and nothing is evaluated to know that', async () => {
  const { problem, calls } = pairs({ jacobian: ({ p, t }, out) => out.set([t[0], 0, 0, 2 * p[1]]) });
  const { evaluate: [columns] } = await compiled(problem);
  columns([2, 3], 1);
  assert.deepEqual([columns([], 3), calls], [[], [1, 2, 4]]);
});

test('tangent coordinates are as exact as the worst number of their block', async () => {
  for (const manifold of ['unit-vector', null]) {
    const problem = new Problem();
    const p = problem.parameters('p', { dim: 3, values: [0.6, 0.8, 1e-9, 0.36, 0.48, 0.8] });
    if (manifold !== null) p.setManifold(manifold);
    const evaluate = ({ p }, out) => out.set([1e3 + p[0], p[1] ** 2, Math.sin(p[2])]);
    problem.residuals('f', { inputs: { p: p.at([0, 1]) }, outputs: 3, evaluate });
    const { evaluate: [columns] } = await compiled(problem);
    columns([0.6, 0.8, 1e-9, 0.36, 0.48, 0.8], 1);
    const said = columns([], 3).slice(0, -1);
    assert.equal(new Set(said).size, manifold === null ? 6 : 2, `${said}`);
    // The first number alone has an effect on the first residual, which is uncertain by 1e-13.
    assert.ok(said.every((error) => error > 0 && error < 1e-5), `${said}`);
  }
});
