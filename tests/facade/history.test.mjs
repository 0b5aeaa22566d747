// The iterations of a result, which the module gives as rows of numbers.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { levenbergMarquardt } from '../../pkg-template/dist/index.js';
import { compiled } from './compiled.mjs';

test('a row of numbers becomes an iteration with the entries that its flags name', async () => {
  const { functions, raw } = await compiled();
  const { levenbergMarquardt: solve } = raw;
  raw.levenbergMarquardt = async (...args) => ({
    ...await solve.apply(raw, args),
    history: Float64Array.of(0, 8, 0, 3, 0, 1 | 2, 1e-4, 7, 7, 7, 0.5, 1, 8, NaN, 3, 0.25, 2 | 4 | 8, 2e-4, NaN, 5, 7, 0.75, 2, 6, 2, 1, 1, 1 | 16, 7, 7, 7, 0.5, 1.5),
  });
  const { history, report } = await levenbergMarquardt(functions);
  assert.deepEqual(history, [
    { iteration: 0, cost: 8, costChange: 0, gradientMaxNorm: 3, stepNorm: 0, accepted: true, damping: 1e-4, elapsedMs: 0.5 },
    { iteration: 1, cost: 8, costChange: NaN, gradientMaxNorm: 3, stepNorm: 0.25, accepted: false, damping: 2e-4, gainRatio: NaN, linearIterations: 5, elapsedMs: 0.75 },
    { iteration: 2, cost: 6, costChange: 2, gradientMaxNorm: 1, stepNorm: 1, accepted: true, stepSize: 0.5, elapsedMs: 1.5 },
  ]);
  // A figure that no iteration has gets no column.
  assert.equal(report(), `\
a  iter           cost      change  |gradient|      |step|   step size     damping  gain ratio  linear its         ms
    0     8.000000e0      0.00e0      3.00e0      0.00e0                 1.00e-4                               0.50
    1     8.000000e0         NaN      3.00e0     2.50e-1                 2.00e-4         NaN           5       0.75  rejected
    2     6.000000e0      2.00e0      1.00e0      1.00e0     5.00e-1                                           1.50

table`);
  history.length = 0;
  assert.match(report(), /8\.000000e0/, 'what the caller does to the history does not change the report');
  raw.levenbergMarquardt = async (...args) => ({ ...await solve.apply(raw, args), history: Float64Array.of(0, 8, 0, 3, 0, 1, 0, 0, 0, 0, 0.5) });
  assert.match((await levenbergMarquardt(functions)).report(), /\|step\| {9}ms\n/);
});
