// The iterations of a result, which the module gives as rows of numbers.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { levenbergMarquardt } from '../../pkg-template/dist/index.js';
import { compiled } from './compiled.mjs';
import { rawSolve } from './raw-solve.mjs';

test('a row of numbers becomes an iteration with the entries that its flags name', async () => {
  const { functions, raw } = await compiled();
  raw.levenbergMarquardt = async () => rawSolve({
    history: Float64Array.of(0, 8, 0, 3, 0, 1 | 2, 1e-4, 7, 7, 7, 0.5, 1, 8, NaN, 3, 0.25, 2 | 4 | 8, 2e-4, NaN, 5, 7, 0.75, 2, 6, 2, 1, 1, 1 | 16, 7, 7, 7, 0.5, 1.5),
  });
  const { history, report } = await levenbergMarquardt(functions);
  assert.deepEqual(history, [
    { iteration: 0, cost: 8, costChange: 0, gradientMaxNorm: 3, stepNorm: 0, accepted: true, damping: 1e-4, elapsedMs: 0.5 },
    { iteration: 1, cost: 8, costChange: NaN, gradientMaxNorm: 3, stepNorm: 0.25, accepted: false, damping: 2e-4, gainRatio: NaN, linearIterations: 5, elapsedMs: 0.75 },
    { iteration: 2, cost: 6, costChange: 2, gradientMaxNorm: 1, stepNorm: 1, accepted: true, stepSize: 0.5, elapsedMs: 1.5 },
  ]);
  // A figure that no iteration has gets no column.
  assert.equal(report().split('\n\n').find((part) => part.includes('cost      change')), `\
 iter           cost      change  |gradient|      |step|   step size     damping  gain ratio  linear its         ms
    0     8.000000e0      0.00e0      3.00e0      0.00e0                 1.00e-4                               0.50
    1     8.000000e0         NaN      3.00e0     2.50e-1                 2.00e-4         NaN           5       0.75  rejected
    2     6.000000e0      2.00e0      1.00e0      1.00e0     5.00e-1                                           1.50`);
  history.length = 0;
  assert.match(report(), /8\.000000e0/, 'what the caller does to the history does not change the report');
  raw.levenbergMarquardt = async () => rawSolve({ history: Float64Array.of(0, 8, 0, 3, 0, 1, 0, 0, 0, 0, 0.5) });
  assert.match((await levenbergMarquardt(functions)).report(), /\|step\| {9}ms\n/);
});

test('what the tests of the module expect it to write is read as it was meant', async () => {
  const [texts, ...lines] = readFileSync(new URL('solve-record.txt', import.meta.url), 'utf8').trimEnd().split('\n');
  const { functions, raw } = await compiled();
  raw.levenbergMarquardt = async () => [Float64Array.from(lines.join(' ').split(' '), Number), texts];
  const { report, table, ...result } = await levenbergMarquardt(functions);
  const touched = 'p[4] is touched by no residual.';
  const rank = 'The Jacobian has rank 8 of 9: the residuals do not determine p[1], p[2] separately; rank() returns the free directions.';
  assert.deepEqual(result, {
    success: false, termination: 'max-iterations', arithmetic: 'f64', precisionLoss: 0, promise: 0.125, newtonDecrement: 0.0625, message: `Stopped: ½. ${touched} ${rank}`, iterations: 1, functionEvaluations: 2, initialCost: 3, finalCost: 2, computationTime: 5,
    findings: [
      { kind: 'untouched', message: touched, parameters: ['p[4]'], figures: { blocks: 1 } },
      { kind: 'rank', message: rank, parameters: ['p[1]', 'p[2]'], figures: { rank: 8, columns: 9 } },
    ],
    x: Float64Array.of(8, 9), history: [{ iteration: 1, cost: 2, costChange: 1, gradientMaxNorm: 0.5, stepNorm: 0.25, accepted: true, damping: 1e-4, linearIterations: 7, elapsedMs: 4 }],
  });
  const rows = Object.fromEntries(table().map(({ title, value }) => [title, value]));
  assert.deepEqual([rows.Solver, rows.Parameters, rows.Promise, rows['Initial cost'], rows['Final cost'], rows['Time of setup'], rows['Time of trials'], rows['Time of solve'], rows.Termination], ['L-BFGS', 9, 0.125, 3, 2, 0.5, 1.5, 5, 'max-iterations']);
  const text = report();
  for (const part of [/L-BFGS$/m, /dense QR$/m, /p\[4\] is touched by no residual\.$/m, /Rank-deficient: The Jacobian has rank 8 of 9: .*directions\.$/m, /^ *Parameters +9 +9$/m, /^ *setup +0\.5/m, /^ *trials +1\.5/m]) assert.match(text, part);
});

test('a table has the figures of the report as rows, without those that there are none of', async () => {
  const { functions, raw } = await compiled();
  raw.levenbergMarquardt = async () => rawSolve({
    termination: 'gradient-tolerance', solver: 'Levenberg-Marquardt', engine: 'cpu', iterations: 1, functionEvaluations: 2, initialCost: 3, finalCost: 2, computationTime: 5, whole: [4, 9, 9, 6, 12], times: { trials: 1.5 },
  });
  const rows = (await levenbergMarquardt(functions)).table();
  assert.deepEqual(rows, [
    { title: 'Solver', value: 'Levenberg-Marquardt' }, { title: 'Backend', value: 'cpu' }, { title: 'Parameter blocks', value: 4 }, { title: 'Parameters', value: 9 },
    { title: 'Residual blocks', value: 6 }, { title: 'Residuals', value: 12 }, { title: 'Kernels', value: functions.kernelCount }, { title: 'Initial cost', value: 3 },
    { title: 'Final cost', value: 2 }, { title: 'Iterations', value: 1 }, { title: 'Evaluations', value: 2 },
    ...Object.entries(functions.compileTimes).map(([stage, value]) => ({ title: `Time of ${stage}`, value })), { title: 'Time of trials', value: 1.5 }, { title: 'Time of solve', value: 5 },
    { title: 'Termination', value: 'gradient-tolerance' },
  ]);
});

test('a report has solver, sizes, times and termination', async () => {
  const { functions, raw } = await compiled();
  raw.levenbergMarquardt = async () => rawSolve({
    success: false, termination: 'max-iterations', message: 'Stopped after maxIterations, 1.', solver: 'L-BFGS, history 10', engine: 'cpu', linearSolver: 'dense QR: it is small',
    findings: 'untouched\x1fp[4] is touched by no residual.\x1f1\x1fp[4]\x1eloss\x1fHalf.\x1f0\x1fshare=inf\x1erank\x1fThe Jacobian has rank 5 of 6.\x1f0', iterations: 1, functionEvaluations: 2, initialCost: 3, finalCost: 2, computationTime: 5,
    tolerances: [0, 1e-8, 1e-8], whole: [4, 9, 8, 6, 12], reduced: [3, 7, 6, 6, 12], times: { trials: 1.5 },
  });
  const text = (await levenbergMarquardt(functions)).report();
  const compiling = Object.entries(functions.compileTimes).map(([stage, ms]) => `  ${stage.padEnd(16)} ${ms.toFixed(3)}\n`).join('');
  assert.equal(text, `\
residua solver report

  Solver           L-BFGS, history 10
  Backend          cpu
  Linear solver    dense QR: it is small
  Tolerances       cost off, gradient 1e-8, parameter 1e-8

                          Original     Reduced
  Parameter blocks               4           3
  Parameters                     9           7
  Effective parameters           8           6
  Residual blocks                6           6
  Residuals                     12          12
  Under-determined: p[4] is touched by no residual.
  Rank-deficient: The Jacobian has rank 5 of 6.

  Kernels              ${String(functions.kernelCount).padStart(11)}
  Blocks a kernel      ${(6 / functions.kernelCount).toFixed(1).padStart(11)}

  Initial cost     3.000000e0
  Final cost       2.000000e0
  Change           1.000000e0
  Iterations       1
  Evaluations      2

Time in milliseconds
${compiling}  trials           1.500
  solve            5.000
  per evaluation   2.500

  Termination      NO CONVERGENCE (max-iterations)
Stopped after maxIterations, 1.
`);
});
