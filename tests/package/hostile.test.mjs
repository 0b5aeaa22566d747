// The packed tarball in Node, on the CPU: random and hostile calls, and traps of the module. Every promise settles, with a result or a ResiduaError.
import assert from 'node:assert/strict';
import { copyFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { makeProject } from '../consumers/project.mjs';

let project;
before(async () => void (project = await makeProject('bundled')));
after(() => project?.remove());

test('random and hostile calls end with a result or a ResiduaError that is not internal', async () => {
  const script = 'hostile-calls.mjs';
  await copyFile(fileURLToPath(new URL(script, import.meta.url)), join(project.folder, script));
  const { counts, failures } = JSON.parse(await project.run(process.execPath, [script, '20261', '400']));
  assert.deepEqual(failures, []);
  // The seed is fixed: enough calls of either kind are made.
  assert.ok(counts.result > 100 && counts['invalid-argument'] > 50 && counts.disposed > 10, JSON.stringify(counts));
});

test('a block of 6,500 numbers is solved, or refused with both figures, and no promise is left pending', async () => {
  await writeFile(join(project.folder, 'wide.mjs'), `
    import { Problem, solve } from 'residua';
    const dim = 6_500;
    const wide = () => {
      const problem = new Problem();
      const x = problem.parameters('x', { dim, values: new Float64Array(dim).fill(1) });
      problem.residuals('r', { inputs: { x: x.shared() }, residual: ({ x }) => x.map((number, i) => number.sub(i)) });
      return problem;
    };
    const { success, x } = await solve(wide());
    const refused = await solve(wide(), { linearSolver: 'dense-qr' }).catch(({ code, message }) => code + ': ' + message);
    console.log(JSON.stringify({ success, error: Math.max(...x.map((number, i) => Math.abs(number - i))), refused }));
  `);
  const { success, error, refused } = JSON.parse(await project.run(process.execPath, ['wide.mjs']));
  assert.equal(success, true);
  // The last step was 1e-8 of a point of length 3e5 in f64, and the step before it of a linear problem leaves 1e-4 of λ.
  assert.ok(error < 1e-6, String(error));
  assert.match(refused, /^limit-exceeded: dense QR would store [\d,]+ numbers, and at most 50,000,000 are stored$/);
});

test('a trap in a microtask rejects what is pending with both figures, leaves the process alive, and init() starts a new instance', async () => {
  await writeFile(join(project.folder, 'trap.mjs'), `
    // The package in its modules, of which one has the running instance.
    import { GpuCompiledFunctions, init, V } from './node_modules/residua/modules/index.js';
    import { here } from './node_modules/residua/modules/module/loading.js';
    await init();
    const ends = (promise) => promise.then(() => 'result', ({ name, code, message }) => ({ name, code, message }));
    const compile = () => GpuCompiledFunctions.compile([V.W(3)], ([x]) => x.square(), { backend: 'cpu' });
    const functions = await compile();
    // A problem with more instances than a table can hold, which the facade cannot build.
    const instance = here.running();
    const { RawProblem, RawFunctions } = instance.module;
    const count = 600_000_000;
    const problem = new RawProblem();
    problem.addArray('x', 1, 1, 'euclidean');
    problem.addBlock('r', count, 0, count);
    const zero = Uint32Array.of(0);
    problem.addTemplate(0, count, undefined, undefined, zero, () => {}, 0, () => {}, Uint8Array.of(2), zero, zero, zero, new Float64Array(), zero);
    const engine = { backend: 'cpu', workload: 1, fewest: 1, requestContext() {} };
    const trapping = ends(instance.wait(() => RawFunctions.compile(problem, new Float64Array(1), () => {}, engine)));
    const pending = ends(instance.wait(() => new Promise(() => {})));
    const found = [await trapping, await pending, await ends(functions.evaluate()), await ends(compile())];
    await init();
    const again = await compile();
    const [value] = await again.evaluate();
    console.log(JSON.stringify({ found, value, old: await ends(functions.evaluate()) }));
  `);
  const { found, value, old } = JSON.parse(await project.run(process.execPath, ['trap.mjs']));
  for (const { name, code, message } of [...found, old]) {
    assert.deepEqual([name, code], ['ResiduaError', 'out-of-memory']);
    assert.match(message, /2147483648 bytes or more was requested with \d+ of 4294967296 in use; .*init\(\) starts a new instance/);
  }
  assert.equal(value, 9);
});
