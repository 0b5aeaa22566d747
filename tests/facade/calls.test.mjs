/**
 * The queue of calls on compiled functions: which changes apply to which call, and the effects of dispose, abort and traps. With a fake
 * module.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runInNewContext } from 'node:vm';
import { GpuCompiledFunctions, GpuContext, init, lbfgs, levenbergMarquardt, NonlinearLeastSquares, Problem, solve, solveMany, V } from '../../pkg-template/dist/index.js';
import { compiled } from './compiled.mjs';
import { deferred, install, residuaError, settle } from './fake-module.mjs';

test('calls run one after another, in order', async () => {
  const { functions, raw } = await compiled();
  const gate = deferred();
  raw.hold = () => gate.promise;
  const first = functions.evaluate();
  const second = functions.evaluateSumWithGradient();
  const third = functions.evaluate([9, 9, 9, 9]);
  await settle();
  assert.deepEqual(raw.log, [['evaluate']]);
  gate.resolve();
  assert.deepEqual([...(await first)], [1, 2, 3, 4]);
  await second;
  assert.deepEqual([...(await third)], [9, 9, 9, 9]);
  assert.deepEqual(raw.log, [['evaluate'], ['sum'], ['evaluate']]);
});

test('x is read when the call is made, and the call does not change the parameters', async () => {
  const { functions, p } = await compiled();
  const x = Float64Array.of(5, 6, 7, 8);
  const result = functions.evaluate(x);
  x.fill(0);
  assert.deepEqual([...(await result)], [5, 6, 7, 8]);
  assert.deepEqual([...p.values()], [1, 2, 3, 4]);
  assert.deepEqual([...(await functions.evaluate())], [1, 2, 3, 4]);
});

test('a call from a getter of x uses its own memory for the point', async () => {
  const { functions, raw } = await compiled({ backend: 'cpu' });
  raw.evaluateSumWithGradient = (x) => raw.run('sum', () => ({ value: raw.at(x)[0], gradient: new Float64Array(4) }));
  let inner;
  const x = [5, 6, 7, 8];
  Object.defineProperty(x, 1, { get: () => ((inner ??= functions.evaluateSumWithGradient([9, 9, 9, 9])), 6) });
  const outer = await functions.evaluateSumWithGradient(x);
  assert.deepEqual([outer.value, (await inner).value], [5, 9]);
});

test('a change during a call applies to the next call', async () => {
  const { functions, raw, p, block } = await compiled();
  const gate = deferred();
  raw.hold = () => gate.promise;
  const before = functions.evaluate();
  p.setAt(1, [30, 40]);
  block.setData('d', [50, 60]);
  block.setWeight(2);
  block.setEnabled(false);
  p.setConstant([0]);
  const after = functions.evaluate();
  p.set([0, 0, 0, 0]);
  gate.resolve();
  assert.deepEqual([...(await before)], [1, 2, 3, 4]);
  assert.deepEqual([...(await after)], [1, 2, 30, 40]);
  assert.deepEqual([...(await functions.evaluate())], [0, 0, 0, 0]);
  assert.deepEqual(raw.log, [
    ['evaluate'],
    ['setConstant', [1, 1, 0, 0]],
    ['setData', 0, 0, [50, 60]],
    ['setWeight', 0, 2],
    ['setLoss', 0, 'squared', 0, 0, 1],
    ['setEnabled', 0, false],
    ['setValuesAt', { 2: [30, 40] }],
    ['evaluate'],
    ['setValuesAt', { 0: [0, 0, 0, 0] }],
    ['evaluate'],
  ]);
});

test('a change between two queued calls applies to the second alone', async () => {
  const { functions, p } = await compiled();
  const early = functions.evaluate();
  p.set([9, 9, 9, 9]);
  assert.deepEqual([...(await early)], [1, 2, 3, 4]);
});

test('a solve writes its result back, except to numbers that were set during it', async () => {
  const { functions, raw, p } = await compiled();
  const gate = deferred();
  raw.hold = () => gate.promise;
  const solve = lbfgs(functions);
  await settle();
  p.setAt(0, [-1, -2]);
  gate.resolve();
  const { x } = await solve;
  assert.deepEqual([...x], [101, 102, 103, 104]);
  assert.deepEqual([...p.values()], [-1, -2, 103, 104]);
  assert.deepEqual([...(await functions.evaluate())], [-1, -2, 103, 104]);
});

test('two solves that were queued together both write back', async () => {
  const { functions, p } = await compiled();
  await Promise.all([lbfgs(functions), lbfgs(functions)]);
  assert.deepEqual([...p.values()], [201, 202, 203, 204]);
});

test('the result of a solve reaches other functions of the same problem', async () => {
  const { functions, problem } = await compiled();
  const other = await GpuCompiledFunctions.compile(problem);
  await lbfgs(functions);
  assert.deepEqual([...(await other.evaluate())], [101, 102, 103, 104]);
});

test('with readBack: false x is empty and values stay until download', async () => {
  const { functions, raw, p } = await compiled();
  const { x } = await lbfgs(functions, { readBack: false });
  assert.equal(x.length, 0);
  assert.equal(raw.options.readBack, 0);
  assert.deepEqual([...p.values()], [1, 2, 3, 4]);
  assert.deepEqual([...(await functions.download())], [101, 102, 103, 104]);
  assert.deepEqual([...p.values()], [101, 102, 103, 104]);
});

test('setting a block after a solve without read-back keeps the solved values of the other blocks', async () => {
  const { functions, p } = await compiled();
  await lbfgs(functions, { readBack: false });
  p.setAt(0, [7, 8]);
  assert.deepEqual([...(await functions.evaluate())], [7, 8, 103, 104]);
  await functions.download();
  assert.deepEqual([...p.values()], [7, 8, 103, 104]);
});

test('a solve writes to params, except to one that was set during it', async () => {
  const fake = install();
  const params = [V.W(1), V.W(2)];
  const functions = await GpuCompiledFunctions.compile(params, ([a, b]) => a.mul(b));
  assert.deepEqual(params.map((param) => param.data), [1, 2], 'compiling changes nothing');
  const gate = deferred();
  fake.compiled[0].hold = () => gate.promise;
  const solves = [lbfgs(functions), lbfgs(functions)];
  await settle();
  params[0].data = -5;
  gate.resolve();
  await Promise.all(solves);
  assert.deepEqual(params.map((param) => param.data), [-5, 202]);
  assert.deepEqual([...(await functions.evaluate())], [-5, 202]);
});

/** Functions of two params, 1 and 2. */
async function compiledParams() {
  const fake = install();
  const params = [V.W(1), V.W(2)];
  const functions = await GpuCompiledFunctions.compile(params, ([a, b]) => a.mul(b));
  return { fake, params, functions, raw: fake.compiled[0] };
}
const data = (params) => params.map((param) => param.data);

test('a param that is set during a solve to its previous number keeps that number', async () => {
  const { functions, params, raw } = await compiledParams();
  const gate = deferred();
  raw.hold = () => gate.promise;
  const solve = lbfgs(functions);
  await settle();
  params[0].data = 1;
  gate.resolve();
  assert.deepEqual([...(await solve).x], [101, 102]);
  assert.deepEqual(data(params), [1, 102]);
  assert.deepEqual([...(await functions.evaluate())], [1, 102]);
});

test('a param that is set to its previous number after a solve without read-back applies to the next call', async () => {
  const { functions, params } = await compiledParams();
  await lbfgs(functions, { readBack: false });
  params[0].data = 1;
  assert.deepEqual([...(await functions.evaluate())], [1, 102]);
  await functions.download();
  assert.deepEqual(data(params), [1, 102]);
});

test('a param that is set to its previous number between compiling and the first call is sent; a number that a solve wrote back is not', async () => {
  const { functions, params, raw } = await compiledParams();
  params[1].data = 2;
  await lbfgs(functions);
  await functions.evaluate();
  assert.deepEqual(raw.log, [['setValuesAt', { 1: [2] }], ['lbfgs'], ['evaluate']]);
});

test('the result of a solve reaches other functions of the same params, even where a number did not change', async () => {
  const { fake, functions, params } = await compiledParams();
  const other = await GpuCompiledFunctions.compile(params, ([a, b]) => a.add(b));
  await lbfgs(other, { readBack: false });
  // The first functions start from the result of the others, and do not see the later change.
  fake.compiled[0].x = Float64Array.of(-99, -98);
  await lbfgs(functions);
  assert.deepEqual(data(params), [1, 2]);
  assert.deepEqual([...(await other.evaluate())], [1, 2]);
});

test('of two solves of the same params by two functions, the later one to end is written back', async () => {
  const { fake, functions, params, raw } = await compiledParams();
  const other = await GpuCompiledFunctions.compile(params, ([a, b]) => a.add(b));
  const gate = deferred();
  raw.hold = () => gate.promise;
  const first = lbfgs(functions);
  await settle();
  fake.compiled[1].x = Float64Array.of(7, 8);
  await lbfgs(other);
  assert.deepEqual(data(params), [107, 108]);
  gate.resolve();
  await first;
  assert.deepEqual(data(params), [101, 102]);
  assert.deepEqual([...(await other.evaluate())], [101, 102]);
});

test('dispose rejects pending calls at once, the running one included, and frees when that one has ended', async () => {
  const { functions, raw } = await compiled();
  const gate = deferred();
  raw.hold = () => gate.promise;
  const calls = [functions.evaluate(), functions.evaluate()];
  await settle();
  functions.dispose();
  for (const call of calls) await assert.rejects(call, residuaError('disposed'));
  assert.equal(raw.disposed, false, 'the running call still has it');
  gate.resolve();
  await settle();
  assert.equal(raw.disposed, true);
  assert.deepEqual(raw.log, [['evaluate']], 'the second never began');
});

test('dispose of idle functions frees at once; a second dispose does nothing', async () => {
  const { functions, raw } = await compiled();
  functions.dispose();
  functions.dispose();
  assert.equal(raw.disposed, true);
});

test("every call after dispose rejects with 'disposed'", async () => {
  const { functions } = await compiled();
  functions.dispose();
  const calls = [
    'evaluate', 'evaluateSumWithGradient', 'evaluateCostWithGradient', 'evaluateSumWithGradientOnDevice', 'evaluateCostWithGradientOnDevice',
    'evaluateJacobian', 'checkGradients', 'download',
  ];
  for (const call of calls) {
    await assert.rejects(functions[call](), residuaError('disposed', /after dispose\(\)/), call);
  }
  await assert.rejects(lbfgs(functions), residuaError('disposed'));
  assert.throws(() => functions.kernels(), residuaError('disposed'));
  assert.throws(() => functions.parameterBuffer, residuaError('disposed'));
});

test('a solve that dispose has rejected writes nothing back', async () => {
  const { functions, raw, p } = await compiled();
  const gate = deferred();
  raw.hold = () => gate.promise;
  const solve = lbfgs(functions);
  await settle();
  functions.dispose();
  await assert.rejects(solve, residuaError('disposed'));
  gate.resolve();
  await settle();
  assert.deepEqual([...p.values()], [1, 2, 3, 4]);
});

test('a failed call does not block the next one', async () => {
  const { functions, raw } = await compiled();
  raw.hold = async (name) => {
    if (name === 'sum') throw Object.assign(new Error('the device went away'), { code: 'device-lost' });
  };
  await assert.rejects(functions.evaluateSumWithGradient(), residuaError('device-lost', /went away/));
  assert.equal((await functions.evaluate()).length, 4);
});

test('true from onIteration and a fired signal stop a solve; an exception of onIteration rejects it', async () => {
  const { functions } = await compiled();
  let count = 0;
  const stopped = await lbfgs(functions, { onIteration: () => (count += 1) === 2 });
  assert.equal(count, 2);
  assert.equal(stopped.termination, 'aborted');
  assert.equal(stopped.report(), 'a table');
  assert.equal((await lbfgs(functions, { signal: AbortSignal.abort() })).termination, 'aborted');
  await assert.rejects(lbfgs(functions, { onIteration: () => { throw new RangeError('mine'); } }), /mine/);
});

test("a promise from onIteration ends the solve with 'invalid-argument', and its rejection is handled", async (t) => {
  const unhandled = [];
  const note = (reason) => unhandled.push(reason);
  process.on('unhandledRejection', note);
  t.after(() => process.off('unhandledRejection', note));
  const { functions } = await compiled();
  for (const answer of [async () => true, () => Promise.reject(new Error('mine')), () => runInNewContext('Promise.reject(1)')]) {
    let calls = 0;
    const solving = lbfgs(functions, { onIteration: () => ((calls += 1), answer()) });
    await assert.rejects(solving, residuaError('invalid-argument', /^what onIteration returned: got a Promise; takes true or nothing, at once/));
    assert.equal(calls, 1);
  }
  await settle();
  assert.deepEqual(unhandled, []);
});

test('levenbergMarquardt passes all options to the module, and whether the solve may move to the CPU', async () => {
  const complete = {
    maxIterations: 100, maxTimeMs: Infinity, costTolerance: 1e-8, gradientTolerance: 1e-8, parameterTolerance: 1e-8, linearSolver: 'auto',
    trustRegion: 'levenberg-marquardt', initialDamping: 1e-4, maxLinearIterations: 500, linearTolerance: 0.1, readBack: 1,
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
    historySize: 10, maxLineSearchSteps: 20, c1: 1e-4, c2: 0.5, leastSquares: 1, readBack: 1,
  });
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
    const asked = { backend: options.backend ?? 'auto', fallbackThreshold: undefined };
    assert.deepEqual(plain(compiling), { ...asked, workload: 100, fewest: 100 }, words);
    assert.deepEqual(plain(solving), { ...asked, workload: 300, fewest: 20_000 }, words);
    assert.equal(fake.contexts.length, expected.backend === 'gpu' ? 1 : 0, 'the shared context, requested when it is needed');
  }
});

test('a solve whose check is due settles before the check, which precedes the next call', async () => {
  let finish;
  const fake = Object.assign(install(), { checkIsDue: true, digits: new Promise((resolve) => (finish = resolve)) });
  const functions = await GpuCompiledFunctions.compile([V.W(1)], ([x]) => [x], { backend: 'gpu' });
  // The check never ends here, and the solve does.
  const result = await levenbergMarquardt(functions, { readBack: false });
  assert.equal(result.termination, 'cost-tolerance');
  assert.equal('checkIsDue' in result, false);
  fake.checkIsDue = false;
  let settled = false;
  const next = levenbergMarquardt(functions, { readBack: false }).finally(() => (settled = true));
  await new Promise((resolve) => setTimeout(resolve, 20));
  assert.equal(settled, false, 'the next solve waits for the check, whose finding it may carry');
  finish();
  await next;
  assert.deepEqual(fake.compiled[0].log.flat().filter((name) => name === 'digits').length, 1);
});

test('a check of digits that fails is no unhandled rejection, and dispose during one frees the functions', async () => {
  const fake = Object.assign(install(), { checkIsDue: true, digits: Promise.reject(new Error('lost')) });
  const functions = await GpuCompiledFunctions.compile([V.W(1)], ([x]) => [x], { backend: 'gpu' });
  await levenbergMarquardt(functions, { readBack: false });
  await new Promise((resolve) => setTimeout(resolve, 5));
  let finish;
  fake.digits = new Promise((resolve) => (finish = resolve));
  await levenbergMarquardt(functions, { readBack: false });
  await new Promise((resolve) => setTimeout(resolve, 5));
  functions.dispose();
  assert.equal(fake.compiled[0].disposed, false, 'the check is running');
  finish();
  await new Promise((resolve) => setTimeout(resolve, 5));
  assert.equal(fake.compiled[0].disposed, true);
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

test('the context of the caller is the one that is used, and its errors are those of the call', async () => {
  const fake = install();
  const context = await GpuContext.create();
  const functions = await GpuCompiledFunctions.compile([V.W(1)], ([x]) => x, { context });
  assert.equal(functions.backend, 'gpu');
  assert.equal(fake.compiled[0].context, fake.contexts[0]);
  context.dispose();
  for (const backend of ['auto', 'gpu']) {
    await assert.rejects(GpuCompiledFunctions.compile([V.W(1)], ([x]) => x, { context, backend }), residuaError('disposed'));
  }
});

test('auto without a GPU takes the CPU with the reason, gpu rejects', async () => {
  install({ gpu: false });
  const onCpu = await GpuCompiledFunctions.compile([V.W(1)], ([x]) => x);
  assert.equal(onCpu.backend, 'cpu');
  assert.match(onCpu.fallbackReason, /navigator\.gpu/);
  await assert.rejects(GpuCompiledFunctions.compile([V.W(1)], ([x]) => x, { backend: 'gpu' }), residuaError('gpu-unavailable', /navigator\.gpu/));
});

test('the default context is shared, and a new one after a loss or dispose', async () => {
  const fake = install();
  const first = await GpuContext.default();
  assert.equal(await GpuContext.default(), first);
  fake.contexts.at(-1).isGone = true;
  const second = await GpuContext.default();
  assert.notEqual(second, first);
  second.dispose();
  assert.equal(fake.contexts.at(-1).disposed, true);
  const third = await GpuContext.default();
  assert.notEqual(third, second);
  assert.throws(() => second.stats(), residuaError('disposed'));
  const own = await GpuContext.create();
  assert.notEqual(own, third);
  await assert.rejects(GpuCompiledFunctions.compile([V.W(1)], ([x]) => x, { backend: 'gpu', context: second }), residuaError('disposed'));
});

test('a failed request for the default context is repeated by the next call', async () => {
  const fake = install({ gpu: false });
  assert.equal(await GpuContext.isAvailable(), false);
  await assert.rejects(GpuContext.default(), residuaError('gpu-unavailable'));
  fake.gpu = true;
  assert.ok(await GpuContext.default());
});

test('a signal that has fired, or fires while compiling, rejects at once, and functions that are compiled all the same are freed', async () => {
  const fake = install();
  await assert.rejects(GpuCompiledFunctions.compile([V.W(1)], ([x]) => x, { signal: AbortSignal.abort() }), residuaError('aborted'));
  assert.equal(fake.problems.length, 0);
  const gate = deferred();
  fake.compileHold = () => gate.promise;
  const controller = new AbortController();
  const compiling = GpuCompiledFunctions.compile([V.W(1)], ([x]) => x, { signal: controller.signal });
  await settle();
  controller.abort();
  await assert.rejects(compiling, residuaError('aborted'));
  gate.resolve();
  await settle();
  assert.equal(fake.compiled[0].disposed, true);
});

test('progress is reported at most ten times a second, and an exception of the listener ends the compile', async () => {
  const fake = install();
  let calls = 0;
  fake.compileHold = async (onProgress) => {
    for (let i = 0; i < 1000; i++) onProgress(i, 1000, 'pipelines');
  };
  await GpuCompiledFunctions.compile([V.W(1)], ([x]) => x, { onProgress: () => (calls += 1) });
  assert.equal(calls, 1, 'a thousand reports within far less than a tenth of a second');
  await assert.rejects(GpuCompiledFunctions.compile([V.W(1)], ([x]) => x, { onProgress: () => { throw new RangeError('mine'); } }), /mine/);
  assert.equal(fake.compiled.at(-1).disposed, true);
});

test('a problem is freed when its construction fails', async () => {
  const fake = install();
  fake.module.RawProblem.prototype.addBlock = () => {
    throw Object.assign(new Error('too many'), { code: 'limit-exceeded' });
  };
  const problem = new Problem();
  const p = problem.parameters('p', { dim: 1, values: [1] });
  problem.residuals('r', { inputs: { p: p.shared() }, residual: ({ p }) => p });
  await assert.rejects(GpuCompiledFunctions.compile(problem), residuaError('limit-exceeded', /too many/));
  assert.equal(fake.problems[0].freed, true);
});

test("a trap rejects running calls with 'internal' and refuses further calls, and init starts a new instance", async () => {
  const { functions, raw, fake } = await compiled();
  raw.hold = () => {
    throw new WebAssembly.RuntimeError('unreachable');
  };
  await assert.rejects(functions.evaluate(), residuaError('internal', /unreachable.*init\(\)/));
  raw.hold = null;
  await assert.rejects(functions.evaluate(), residuaError('internal'));
  await assert.rejects(GpuCompiledFunctions.compile([V.W(1)], ([x]) => x), residuaError('internal'));
  assert.throws(() => V.W(1).sin().data, residuaError('internal'));
  functions.dispose();
  assert.equal(raw.disposed, false, 'nothing of the failed instance is touched');
  await init();
  assert.equal(fake.restarts, 1);
  assert.ok(await GpuCompiledFunctions.compile([V.W(1)], ([x]) => x));
  await assert.rejects(functions.evaluate(), residuaError('disposed'));
});

test('a trap in a callback of the page rejects calls that would never settle, and init starts a new instance', async () => {
  const { functions, raw, fake } = await compiled();
  raw.hold = () => new Promise(() => {});
  const calls = [functions.evaluate(), functions.evaluate(), lbfgs(functions)];
  await settle();
  assert.equal(fake.trap(new Error('of a listener of the page')), false, 'thrown on');
  assert.equal(fake.trap(new WebAssembly.RuntimeError('unreachable')), true);
  for (const call of calls) await assert.rejects(call, residuaError('internal', /unreachable.*init\(\)/));
  await assert.rejects(functions.evaluate(), residuaError('internal', /init\(\) starts a new instance/));
  await init();
  assert.equal(fake.restarts, 1);
  assert.ok(await GpuCompiledFunctions.compile([V.W(1)], ([x]) => x));
});

test("a refused request for memory rejects with 'out-of-memory' and both figures", async () => {
  for (const fail of [
    (fake) => fake.trap(new WebAssembly.RuntimeError('unreachable')),
    (fake) => fake.panic('memory allocation failed'),
  ]) {
    const { functions, raw, fake } = await compiled();
    raw.hold = () => new Promise(() => {});
    const call = functions.evaluate();
    await settle();
    fake.refusedBytes = 1_500_000_000;
    fail(fake);
    await assert.rejects(call, residuaError('out-of-memory', /1500000000 bytes were refused with 3000000000 of 4294967296 in use.*init\(\)/));
    await assert.rejects(functions.evaluate(), residuaError('out-of-memory', /init\(\)/));
  }
  const { functions, raw, fake } = await compiled();
  raw.hold = () => new Promise(() => {});
  const call = functions.evaluate();
  await settle();
  fake.panic('capacity overflow');
  await assert.rejects(call, residuaError('out-of-memory', /2147483648 bytes or more was requested with 3000000000 of 4294967296/));
});

test('a panic inside the module rejects calls that would never settle', async () => {
  const { functions, raw, fake } = await compiled();
  raw.hold = () => new Promise(() => {});
  const call = functions.evaluate();
  const next = functions.evaluate();
  await settle();
  fake.panic('index out of bounds');
  await assert.rejects(call, residuaError('internal', /index out of bounds/));
  await assert.rejects(next, residuaError('internal'));
});

test('init returns the same promise', async () => {
  install();
  assert.equal(init(), init());
  await init();
});
