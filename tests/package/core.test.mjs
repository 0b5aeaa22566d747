// The core of the module in the built package: what small problems load, and what is done where it does not suffice.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { statSync } from 'node:fs';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

const built = fileURLToPath(new URL('../../target/npm/residua', import.meta.url));

/** The modules by their sizes, by which programs know what was compiled. */
const MODULES = Object.fromEntries(['wasm-core/residua_core_bg.wasm', 'wasm/residua_bg.wasm'].map((file) => [statSync(join(built, file)).size, file.startsWith('wasm-core') ? 'core' : 'whole']));

/** Functions of programs: which modules were compiled, fits, and a problem with a loop, which the core has not. */
const COMMON = `
  const compiled = [];
  const { compile } = WebAssembly;
  WebAssembly.compile = (bytes) => {
    // Generated kernels are neither.
    compiled.push(...[MODULES[bytes.byteLength] ?? []].flat());
    return compile(bytes);
  };
  const modules = () => [...compiled];
  const { fit, init, Problem, solve, V } = await import(new URL('dist/index.js', PACKAGE));
  const x = Array.from({ length: 40 }, (_, i) => i / 8);
  const y = x.map((t, i) => 3 * Math.exp(-0.7 * t) + 0.01 * Math.sin(11 * i));
  const bits = ({ parameterValues, standardErrors, parameterError, iterations, message }) => [parameterValues, standardErrors, parameterError, iterations, message];
  const fits = async () => [
    bits(await fit(([a, k]) => (t) => a * Math.exp(-k * t), { x, y }, { initialValues: [1, 1] })),
    bits(await fit(([a, k], t) => a.mul(k.mul(t).neg().exp()), { x, y }, { initialValues: [1, 1] })),
  ];
  const looped = () => {
    const problem = new Problem();
    const place = problem.parameters('place', { dim: 1, values: [1.2] });
    problem.residuals('half', { inputs: { p: place.shared() }, residual: ({ p }) => V.loop(4, [p], ([s]) => [s.mul(0.5).add(1)])[0].sub(2.03125) });
    return { problem, place };
  };
`;

async function outcomeOf(program, folder = built) {
  const source = `const PACKAGE = ${JSON.stringify(`${pathToFileURL(folder).href}/`)}, MODULES = ${JSON.stringify(MODULES)};${COMMON}${program}`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', source]);
  return JSON.parse(stdout);
}

test('fits load the core alone, and have the bits of the whole module', async () => {
  const { core, loaded, whole, after } = await outcomeOf(`
    const core = await fits(), loaded = modules();
    await init();
    console.log(JSON.stringify({ core, loaded, whole: await fits(), after: modules() }));
  `);
  assert.deepEqual(loaded, ['core']);
  assert.deepEqual(after, ['core', 'whole']);
  assert.deepEqual(core, whole);
});

test('the core has what work calls that gives the page turns at each place', async () => {
  const { found, expected, loaded } = await outcomeOf(`
    const expected = await fits();
    let time = 0;
    performance.now = () => (time += 20);
    console.log(JSON.stringify({ found: await fits(), expected, loaded: modules() }));
  `);
  assert.deepEqual(found, expected);
  assert.deepEqual(loaded, ['core']);
});

test('usual calls stay in the core', async () => {
  const loaded = await outcomeOf(`
    const { loss } = await import(new URL('dist/index.js', PACKAGE));
    const decay = ([a, k]) => (t) => a * Math.exp(-k * t), asValues = ([a, k], t) => a.mul(k.mul(t).neg().exp());
    const dataOf = (count) => { const x = Array.from({ length: count }, (_, i) => (5 * i) / count); return { x, y: x.map((t, i) => 2 * Math.exp(-t) + 0.01 * Math.cos(9 * i)) }; };
    for (const count of [3, 100, 512, 1000, 3000]) for (const model of [decay, asValues]) await fit(model, dataOf(count), { initialValues: [1, 0.5] });
    for (const options of [{ loss: loss.cauchy(0.1) }, { minValues: [0, 0], maxValues: [1.5, 9] }, { weights: 4 }, { backend: 'cpu' }, { maxIterations: 3 }]) {
      for (const model of [decay, asValues]) await fit(model, dataOf(50), { initialValues: [1, 0.5], ...options });
    }
    const problem = new Problem();
    const [centre, radius] = [problem.parameters('centre', { dim: 2, values: [0, 0] }), problem.parameters('radius', { dim: 1, values: [1] })];
    problem.residuals('points', { inputs: { c: centre.shared(), r: radius.shared(), p: problem.data([5, 1, 4, 2, 3, 1, 4, 0], 2) }, residual: ({ c, r, p }) => p.distance(c).sub(r) });
    await solve(problem);
    console.log(JSON.stringify(modules()));
  `);
  assert.deepEqual(loaded, ['core']);
});

test('a second try begins where the first did', async () => {
  // What follows the solve fails for once, as where the core lacks it.
  const { first, second, loaded } = await outcomeOf(`
    const { GpuCompiledFunctions } = await import(new URL('dist/index.js', PACKAGE));
    const { evaluate } = GpuCompiledFunctions.prototype;
    let isFirst = true;
    const run = async () => {
      const { solve, ...result } = await fit(([a, k]) => (t) => a * Math.exp(-k * t), { x, y }, { initialValues: [1, 1] });
      return [...bits(result), solve.initialCost];
    };
    GpuCompiledFunctions.prototype.evaluate = function (...of) {
      if (!isFirst) return evaluate.apply(this, of);
      isFirst = false;
      // A trap of the instance.
      return this.calls.read(() => { throw new WebAssembly.RuntimeError('unreachable'); });
    };
    const first = await run();
    console.log(JSON.stringify({ first, second: await run(), loaded: modules() }));
  `);
  assert.deepEqual(loaded, ['core', 'whole']);
  assert.deepEqual(first, second);
});

test('what is set while a call is tried a second time takes no part in it, and stays', async () => {
  const { value, initialCost, x, loaded } = await outcomeOf(`
    const { problem, place } = looped();
    // The values are read when the call is made, and when it is made again.
    const { values } = place;
    let reads = 0;
    place.values = () => {
      if (++reads === 2) place.set([3.5]);
      return values.call(place);
    };
    const result = await solve(problem, { backend: 'cpu' });
    console.log(JSON.stringify({ value: place.values()[0], initialCost: result.initialCost, x: [...result.x], loaded: modules() }));
  `);
  assert.deepEqual(loaded, ['core', 'whole']);
  assert.equal(value, 3.5);
  // From 1.2: 1.2/16 + 15/8 − 2.03125 = −0.08125.
  assert.ok(Math.abs(initialCost - 0.5 * 0.08125 ** 2) < 1e-15 && Math.abs(x[0] - 2.5) < 1e-9, JSON.stringify([initialCost, x]));
});

test('what the core lacks is done by the whole module, which later calls use', async () => {
  const { value, solved, later } = await outcomeOf(`
    const { problem, place } = looped();
    const { success } = await solve(problem, { backend: 'cpu' });
    const solved = modules();
    await fits();
    console.log(JSON.stringify({ value: place.values()[0], success, solved, later: modules() }));
  `);
  // Four steps s/2 + 1 give s/16 + 15/8.
  assert.ok(Math.abs(value - 2.5) < 1e-9, String(value));
  assert.deepEqual(solved, ['core', 'whole']);
  assert.deepEqual(later, solved);
});

test('calls at the same time end, whichever of them the core lacks', async () => {
  const { values, expected } = await outcomeOf(`
    const [first, grid, second] = await Promise.all([fits(), (async () => { const { problem, place } = looped(); await solve(problem, { backend: 'cpu' }); return place.values()[0]; })(), fits()]);
    console.log(JSON.stringify({ values: [first, second, grid], expected: await fits() }));
  `);
  assert.deepEqual(values.slice(0, 2), [expected, expected]);
  assert.ok(Math.abs(values[2] - 2.5) < 1e-9, String(values[2]));
});

test('an error of the application is none of the core', async () => {
  const { codes, loaded } = await outcomeOf(`
    const codes = [];
    for (const call of [() => fit(() => () => NaN, { x, y }, { initialValues: [1] }), () => fit(() => 1, { x, y: [] }, { initialValues: [1] }), () => solve(1)]) {
      await call().catch(({ code }) => codes.push(code));
    }
    console.log(JSON.stringify({ codes, loaded: modules() }));
  `);
  assert.deepEqual(codes, ['non-finite', 'invalid-argument', 'invalid-argument']);
  assert.deepEqual(loaded, ['core']);
});

test('functions that the application compiles, and callbacks, are of the whole module', async () => {
  const loaded = await outcomeOf(`
    await fit(([a, k], t) => a.mul(k.mul(t).neg().exp()), { x, y }, { initialValues: [1, 1], onIteration: () => true });
    console.log(JSON.stringify(modules()));
  `);
  assert.deepEqual(loaded, ['whole']);
});

test('without the file of the core all is done by the whole module', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'residua-core-'));
  try {
    await cp(built, folder, { recursive: true });
    await rm(join(folder, 'wasm-core/residua_core_bg.wasm'));
    const { found, loaded } = await outcomeOf('const found = await fits(); console.log(JSON.stringify({ found, loaded: modules() }));', folder);
    assert.equal(found.length, 2);
    assert.deepEqual(loaded, ['whole']);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
