/** Unknown keys of options are refused, with the nearest name; solve() hands each call its own. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { covariance, GpuCompiledFunctions, GpuContext, lbfgs, levenbergMarquardt, Problem, rank, solve, solveMany } from '../../pkg-template/dist/index.js';
import { compiled } from './compiled.mjs';
import { install } from './fake-module.mjs';

/** A problem of one parameter and one residual. */
function problem() {
  const made = new Problem();
  const p = made.parameters('p', { dim: 1, values: [1] });
  made.residuals('r', { inputs: { p: p.shared() }, residual: ({ p }) => p });
  return { made, p };
}

const refused = (message) => (error) => error.code === 'invalid-argument' && (error.message === message || assert.fail(error.message));

for (const [name, call, message] of [
  ['compile', () => GpuCompiledFunctions.compile(problem().made, { backnd: 'cpu' }), "compile: options: got the unknown option \"backnd\"; did you mean 'backend'?"],
  ['GpuContext.create', () => GpuContext.create({ powerpreference: 'low-power' }), "GpuContext.create: options: got the unknown option \"powerpreference\"; did you mean 'powerPreference'?"],
  ['solve', () => solve(problem().made, { maxIter: 5 }), "solve: options: got the unknown option \"maxIter\"; did you mean 'maxIterations'?"],
  ['solve with L-BFGS', () => solve(problem().made, { method: 'lbfgs', linearSolver: 'pcg' }), /^solve: options: got the unknown option "linearSolver"; takes '.*'historySize'/],
  ['solveMany', () => solveMany(problem().made, { count: 1 }, { max_iterations: 5 }), "solveMany: options: got the unknown option \"max_iterations\"; did you mean 'maxIterations'?"],
  ["solveMany's batch", () => solveMany(problem().made, { count: 1, params: {} }), "solveMany: batch: got the unknown option \"params\"; takes 'count', 'parameters', 'data'"],
]) {
  test(`${name} refuses an unknown option`, () => {
    install();
    return assert.rejects(call, typeof message === 'string' ? refused(message) : { code: 'invalid-argument', message });
  });
}

test('a Map is refused where names are properties: its entries would have no effect', async () => {
  install();
  const entries = new Map([['p', [5]]]);
  for (const [call, argument] of [
    [solveMany(problem().made, entries), 'solveMany: batch'],
    [solveMany(problem().made, { count: 1, parameters: entries }), 'solveMany: batch\\.parameters'],
    [solveMany(problem().made, { count: 1, data: entries }), 'solveMany: batch\\.data'],
    [solveMany(problem().made, { count: 1, data: { r: entries } }), 'solveMany: batch\\.data\\.r'],
    [solve(problem().made, entries), 'solve: options'],
    [GpuCompiledFunctions.compile(problem().made, entries), 'compile: options'],
  ]) {
    await assert.rejects(call, { code: 'invalid-argument', message: new RegExp(`^${argument}: got a Map; takes an object$`) });
  }
});

test('calls on compiled functions refuse an unknown option', async () => {
  const { functions } = await compiled();
  for (const [call, message] of [
    [levenbergMarquardt(functions, { maxIterations: 1, tolerance: 1 }), /^levenbergMarquardt: options: got the unknown option "tolerance"; did you mean 'costTolerance'\?$/],
    [levenbergMarquardt(functions, { historySize: 1 }), /^levenbergMarquardt: options: got the unknown option "historySize"; takes '/],
    [lbfgs(functions, { history: 1 }), /^lbfgs: options: got the unknown option "history"; did you mean 'historySize'\?$/],
    [lbfgs(functions, { C1: 1e-3 }), /^lbfgs: options: got the unknown option "C1"; did you mean 'c1'\?$/],
    [covariance(functions, { block: [] }), /^covariance: options: got the unknown option "block"; did you mean 'blocks'\?$/],
    [rank(functions, { tol: 1e-8 }), /^rank: options: got the unknown option "tol"; did you mean 'tolerance'\?$/],
  ]) {
    await assert.rejects(call, { code: 'invalid-argument', message });
  }
});

test('specifications of arrays, blocks and bounds refuse unknown names', () => {
  const { made, p } = problem();
  assert.throws(() => made.parameters('q', { dims: 1, dim: 1, values: [1] }), refused('parameters "q": spec: got the unknown option "dims"; did you mean \'dim\'?'));
  assert.throws(
    () => made.residuals('s', { inputs: { p: p.shared() }, residual: ({ p }) => p, wieght: 2 }),
    refused('residuals "s": spec: got the unknown option "wieght"; did you mean \'weight\'?'),
  );
  assert.throws(() => p.setBounds({ lower: 0, uper: 1 }), refused('p.setBounds: bounds: got the unknown option "uper"; did you mean \'upper\'?'));
});

test('solve takes the options of compiling and of its solver, and hands each its own', async () => {
  for (const [method, name] of [['lm', 'levenbergMarquardt'], ['lbfgs', 'lbfgs']]) {
    const fake = install();
    const stages = [];
    await solve(problem().made, { method, backend: 'gpu', batchSize: 4, maxIterations: 7, onProgress: (...args) => stages.push(args), onIteration: () => {} });
    assert.ok(fake.compiled[0].log.some(([called]) => called === name), name);
  }
});

test("solve checks all options under its own name before it compiles", async () => {
  for (const [options, message] of [
    [{ backend: 'webgl' }, 'solve: backend: got "webgl"; takes \'auto\', \'gpu\' or \'cpu\''],
    [{ batchSize: 0 }, 'solve: batchSize: got 0; takes a whole number of at least 1'],
    [{ signal: 5 }, 'solve: signal: got 5; takes an AbortSignal'],
    [{ maxIterations: -1 }, 'solve: maxIterations: got -1; takes a whole number of at least 0'],
    [{ onIteration: 5 }, 'solve: onIteration: got 5; takes a function'],
    [{ linearSolver: 'lu' }, /^solve: linearSolver: got "lu"; takes one of 'auto'/],
    [{ linearTolerance: 1 }, 'solve: linearTolerance: got 1; takes a number of at least 0 and below 1'],
    [{ trustRegion: 'dogleg', linearSolver: 'pcg' }, /^solve: trustRegion: got "dogleg"; takes 'levenberg-marquardt' with linearSolver 'pcg'/],
    [{ backend: 'gpu', linearSolver: 'dense-qr' }, /^solve: linearSolver: got "dense-qr"; takes one of .* with functions on the GPU$/],
    [{ backend: 'gpu', trustRegion: 'dogleg' }, "solve: trustRegion: got \"dogleg\"; takes 'levenberg-marquardt' with backend 'gpu'"],
    [{ method: 'lbfgs', costTolerance: NaN }, 'solve: costTolerance: got NaN; takes a finite number of at least 0'],
    [{ method: 'lbfgs', c1: 0.7 }, 'solve: c1: got 0.7; takes a number above 0 and below 0.5'],
    [{ method: 'lbfgs', objective: 'mean' }, "solve: objective: got \"mean\"; takes 'sum' or 'least-squares'"],
  ]) {
    const fake = install();
    await assert.rejects(() => solve(problem().made, options), typeof message === 'string' ? refused(message) : { code: 'invalid-argument', message });
    assert.equal(fake.compiled.length, 0, JSON.stringify(options));
  }
});

test("with backend 'auto' one solve is compiled for the CPU if its linear solver is there alone or it is small, and no threshold is named", async () => {
  for (const [options, backend] of [
    [{ linearSolver: 'dense-qr', fallbackThreshold: 0 }, 'cpu'],
    [{ linearSolver: 'sparse-cholesky', backend: 'auto', fallbackThreshold: 0 }, 'cpu'],
    [{ linearSolver: 'pcg', fallbackThreshold: 0 }, 'auto'],
    [{ method: 'lbfgs', fallbackThreshold: 0 }, 'auto'],
    [{ fallbackThreshold: 0 }, 'auto'],
    [{}, 'cpu'],
    [{ method: 'lbfgs' }, 'cpu'],
    [{ backend: 'gpu' }, 'gpu'],
  ]) {
    const fake = install();
    await solve(problem().made, options).catch(() => {});
    assert.deepEqual(fake.compiled.map(({ engine }) => engine.backend), [backend], JSON.stringify(options));
  }
});

test('a signal that has fired ends a solve at its start, and rejects where a compile comes first', async () => {
  const { functions } = await compiled();
  const signal = AbortSignal.abort();
  for (const solver of [levenbergMarquardt, lbfgs]) {
    const { termination } = await solver(functions, { signal });
    assert.equal(termination, 'aborted');
  }
  await assert.rejects(() => solve(problem().made, { signal }), { code: 'aborted' });
});
