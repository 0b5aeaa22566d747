/**
 * What compiles and solves pass to the module: options, requests for an engine, thresholds. With a fake module.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GpuCompiledFunctions, lbfgs, levenbergMarquardt, NonlinearLeastSquares, Problem, solve, solveMany, V } from '../../pkg-template/dist/index.js';
import { compiled } from './compiled.mjs';
import { install, residuaError } from './fake-module.mjs';

test('levenbergMarquardt passes all options to the module, and whether the solve may move to the CPU', async () => {
  const complete = {
    maxTimeMs: Infinity, costTolerance: 1e-8, gradientTolerance: 1e-8, parameterTolerance: 1e-8, linearSolver: 'auto',
    trustRegion: 'levenberg-marquardt', maxLinearIterations: 500, linearTolerance: 0.1, readBack: 1,
  };
  const chosen = await compiled({ fallbackThreshold: 0 });
  await levenbergMarquardt(chosen.functions);
  assert.deepEqual(chosen.raw.options, { ...complete, takeOver: 1 });
  const asked = await compiled({ backend: 'gpu' });
  await NonlinearLeastSquares.solve(asked.functions, { linearSolver: 'pcg', linearTolerance: 0, readBack: false });
  assert.deepEqual(asked.raw.options, { ...complete, linearSolver: 'pcg', linearTolerance: 0, readBack: 0, takeOver: 0 });
  const onCpu = await compiled({ backend: 'cpu' });
  await levenbergMarquardt(onCpu.functions, { linearSolver: 'dense-qr' });
  assert.equal(onCpu.raw.options.parameterTolerance, 1e-8);
  await levenbergMarquardt(onCpu.functions, { trustRegion: 'dogleg', linearSolver: 'sparse-cholesky' });
  assert.equal(onCpu.raw.options.trustRegion, 'dogleg');
  await levenbergMarquardt(chosen.functions, { trustRegion: 'dogleg' });
  assert.deepEqual([chosen.raw.options.trustRegion, chosen.raw.options.takeOver], ['dogleg', 1]);
});

test('solve() uses Levenberg-Marquardt by default', async () => {
  const { fake, problem } = await compiled();
  await solve(problem);
  await solve(problem, { method: 'lm', maxIterations: 3 });
  await solve(problem, { method: 'lbfgs' });
  const names = fake.compiled.slice(-3).map((raw) => raw.log.map(([name]) => name).filter((name) => name !== 'setValuesAt'));
  assert.deepEqual(names, [['levenbergMarquardt'], ['levenbergMarquardt'], ['lbfgs']]);
  assert.equal(fake.compiled.at(-1).options.leastSquares, 1);
});

test('lbfgs passes all options to the module', async () => {
  const { functions, raw } = await compiled({ backend: 'cpu' });
  await lbfgs(functions, { maxIterations: 7, c2: 0.5, objective: 'least-squares' });
  assert.deepEqual(raw.options, {
    maxIterations: 7, maxTimeMs: Infinity, costTolerance: 1e-8, gradientTolerance: 1e-8, parameterTolerance: 1e-8,
    historySize: 10, maxLineSearchSteps: 20, c1: 1e-4, c2: 0.5, leastSquares: 1, readBack: 1, takeOver: 0,
  });
  const chosen = await compiled({ fallbackThreshold: 0 });
  await lbfgs(chosen.functions, { readBack: false });
  assert.deepEqual([chosen.raw.options.takeOver, chosen.raw.options.readBack], [1, 0]);
});

test('residual blocks that were added after the compile are named in the message and the report of a solve', async () => {
  const fake = install();
  const problem = new Problem();
  const p = problem.parameters('p', { dim: 1, values: [0] });
  const add = (name) => problem.residuals(name, { inputs: { p: p.shared() }, residual: ({ p }) => p });
  add('first');
  const functions = await GpuCompiledFunctions.compile(problem, { backend: 'cpu' });
  for (const solver of [levenbergMarquardt, lbfgs]) assert.equal((await solver(functions)).message, 'done');
  add('late');
  const one = "Residual block 'late' was added after the compile and took no part; compile again to include it.";
  assert.equal((await levenbergMarquardt(functions)).message, `done ${one}`);
  add('later');
  const { message, report } = await lbfgs(functions);
  assert.equal(message, "done Residual blocks 'late', 'later' were added after the compile and took no part; compile again to include them.");
  assert.ok(report().endsWith(`${message.slice(5)}\n`), report());
  assert.equal(fake.compiled.length, 1);
});

test('solveMany hands over which standard errors are asked for', async () => {
  const problem = new Problem();
  const p = problem.parameters('p', { dim: 2, values: [0, 0] });
  problem.residuals('r', { inputs: { p: p.shared() }, residual: ({ p }) => p });
  const table = [
    [{}, [0, 0, -1], null],
    [{ standardErrors: false, absoluteSigma: true }, [0, 1, -1], null],
    [{ standardErrors: true }, [1, 0, -1], 6],
    [{ standardErrors: true, absoluteSigma: true, robust: false }, [1, 1, 0], 6],
    [{ standardErrors: true, robust: true }, [1, 0, 1], 6],
  ];
  for (const [options, expected, length] of table) {
    const fake = install();
    const found = await solveMany(problem, { count: 3 }, { backend: 'cpu', ...options });
    const { standardErrors, absoluteSigma, robust } = fake.solvedMany[0].options;
    assert.deepEqual([standardErrors, absoluteSigma, robust], expected);
    assert.equal(found.standardErrors?.length ?? null, length);
  }
  for (const name of ['standardErrors', 'absoluteSigma', 'robust']) {
    await assert.rejects(solveMany(problem, { count: 3 }, { [name]: 1 }), residuaError('invalid-argument', new RegExp(`solveMany: ${name}: got 1; takes true or false`)));
  }
});

test('a solveMany that fails before it begins leaves no listener on its signal', async () => {
  const fake = install();
  const failure = Object.assign(new Error('no room'), { code: 'out-of-memory' });
  fake.module.RawMany = function refuse() {
    throw failure;
  };
  const problem = new Problem();
  const p = problem.parameters('p', { dim: 1, values: [0] });
  problem.residuals('r', { inputs: { p: p.shared() }, residual: ({ p }) => p });
  const { signal } = new AbortController();
  const listeners = new Set();
  signal.addEventListener = (_, listener) => listeners.add(listener);
  signal.removeEventListener = (_, listener) => listeners.delete(listener);
  await assert.rejects(solveMany(problem, { count: 3 }, { backend: 'cpu', signal }), residuaError('out-of-memory', /no room/));
  assert.equal(listeners.size, 0);
});

test('the module chooses the engine by what the caller asks for, and by the same request in compile and solveMany', async () => {
  const residuals = ([x]) => Array.from({ length: 100 }, (_, i) => x.mul(i));
  const template = () => {
    const problem = new Problem();
    const x = problem.parameters('x', { dim: 1, values: [1] });
    problem.residuals('r', { inputs: { x: x.at([0]), y: problem.data([1]) }, residual: ({ x, y }) => x.sub(y) });
    return problem;
  };
  for (const [options, reason, expected] of [
    [{}, null, { backend: 'gpu', fallbackReason: null }],
    [{}, 'a reason of the module', { backend: 'cpu', fallbackReason: 'a reason of the module' }],
    [{ backend: 'auto' }, null, { backend: 'gpu', fallbackReason: null }],
    [{ backend: 'gpu' }, 'a reason of the module', { backend: 'gpu', fallbackReason: null }],
    [{ backend: 'cpu' }, null, { backend: 'cpu', fallbackReason: null }],
  ]) {
    const fake = Object.assign(install(), { reason });
    const { backend, fallbackReason } = await GpuCompiledFunctions.compile([V.W(1)], residuals, options);
    const many = await solveMany(template(), { count: 300 }, options);
    const words = JSON.stringify(options);
    assert.deepEqual({ backend, fallbackReason }, expected, words);
    assert.deepEqual({ backend: many.backend, fallbackReason: many.fallbackReason }, expected, words);
    const [arithmetic, precisionLoss] = expected.backend === 'gpu' ? ['f32', 0.25] : ['f64', 0];
    assert.deepEqual([many.arithmetic, many.precisionLoss, many.message], [arithmetic, precisionLoss, 'All converged.'], words);
    assert.deepEqual(many.termination, Array(300).fill('cost-tolerance'), words);
    assert.equal('terminations' in many, false, 'the codes stay inside');
    const [compiling, solving] = [fake.compiled[0].engine, fake.solvedMany[0].engine];
    const plain = ({ requestContext, ...rest }) => (assert.equal(typeof requestContext, 'function'), rest);
    const asked = { backend: options.backend ?? 'auto', precision: 'f32', fallbackThreshold: undefined };
    assert.deepEqual(plain(compiling), { ...asked, workload: 100, fewest: 100 }, words);
    assert.deepEqual(plain(solving), { ...asked, workload: 300, fewest: 20_000 }, words);
    assert.equal(fake.contexts.length, expected.backend === 'gpu' ? 1 : 0, 'the shared context, requested when it is needed');
  }
});

test('the precision that is requested reaches the module, functions name theirs, and points keep their digits', async () => {
  for (const [options, requested, precision, expected] of [
    [{ backend: 'gpu' }, 'f32', 'f32', Math.fround(0.1)],
    [{ backend: 'gpu', precision: 'f32' }, 'f32', 'f32', Math.fround(0.1)],
    [{ backend: 'gpu', precision: 'f32x2' }, 'f32x2', 'f32x2', 0.1],
    [{ backend: 'cpu', precision: 'f32x2' }, 'f32x2', 'f64', 0.1],
  ]) {
    const fake = install();
    const functions = await GpuCompiledFunctions.compile([V.W(1)], ([x]) => x, options);
    assert.equal(fake.compiled[0].engine.precision, requested);
    assert.equal(functions.precision, precision);
    let point;
    fake.compiled[0].evaluateCostWithGradient = async (x, into) => ((point = x ?? fake.compiled[0].place), { value: 0, gradient: into });
    await functions.evaluateCostWithGradient([0.1]);
    assert.equal(point[0], expected, JSON.stringify(options));
  }
});

test('inputs that lose digits in f32 are named by a compile for the GPU, once, and not for the CPU', async () => {
  const make = (times, lengths, start) => {
    const problem = new Problem();
    const line = problem.parameters('line', { dim: 2, values: start });
    problem.residuals('fit', {
      inputs: { line: line.at(Array.from(times, (_, i) => i % (start.length / 2))), t: problem.data(times), point: problem.data(lengths, 2) },
      residual: ({ line, t, point }) => line.x.mul(t).add(line.y).sub(point.x).sub(point.y),
    });
    return problem;
  };
  const steps = Array.from({ length: 100 }, (_, i) => i);
  const ordinary = steps.flatMap((i) => [i * 0.1, 3]);
  const unix = steps.map((i) => 1.7e9 + 20 * i);
  const warn = async (problem, backend) => {
    install();
    const functions = await GpuCompiledFunctions.compile(problem, { backend });
    assert.ok(Object.isFrozen(functions.warnings));
    return functions.warnings;
  };
  // Numbers of 1.7e9 are 128 apart in f32: rounding moves some of them by 60, of a range of 1,980.
  const [message, ...others] = await warn(make(unix, ordinary, [0, 0]), 'gpu');
  assert.match(message, /^data input "t" of residual block "fit" loses digits in f32: rounding moves its numbers by 0\.03 of their range\./);
  assert.deepEqual(others, []);
  assert.deepEqual(await warn(make(unix, ordinary, [0, 0]), 'cpu'), []);
  assert.deepEqual(await warn(make(steps, ordinary, [0, 0]), 'gpu'), []);
  // Each coordinate has a range of its own. Numbers of 4e6 are 0.25 apart in f32: 0.3 is rounded to 0.25, of a range of 99.
  const far = steps.flatMap((i) => [i, 4e6 + i + 0.3]);
  assert.match((await warn(make(steps, far, [0, 0]), 'gpu')).join(), /data input "point" of residual block "fit".* by 0\.0005 of/);
  // Whole numbers that f32 holds lose nothing; nor do equal numbers, or those that differ by f64's own rounding.
  assert.deepEqual(await warn(make(steps.map((i) => 16_000_000 + i), steps.flatMap((i) => [0.1, 0.3 + (i % 2) * 1e-16]), [0, 0]), 'gpu'), []);
  assert.match((await warn(make(steps, ordinary, [1, 1e8 + 0.5, 2, 1e8 + 7]), 'gpu')).join(), /^parameter array "line" loses digits/);
  install();
  assert.deepEqual((await GpuCompiledFunctions.compile([V.W(1e9 + 1)], ([x]) => x, { backend: 'gpu' })).warnings, []);
});

test('the threshold of the caller reaches the module', async () => {
  const { raw } = await compiled({ fallbackThreshold: 1234 });
  assert.deepEqual([raw.engine.fallbackThreshold, raw.engine.workload], [1234, 2]);
});
