// residua/worker: the page gets a turn at least every three frames while the worker compiles and solves.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { launch, openBlankPage } from '../browser.mjs';
import { FRAME, assertLive } from '../page-turns.mjs';

let browser, page, other;
before(async () => {
  browser = await launch();
  ({ page } = await openBlankPage(browser, { load: false }));
  ({ page: other } = await openBlankPage(browser, { load: false }));
  await page.evaluate(async () => {
    const { GpuCompiledFunctions, levenbergMarquardt, Problem } = await import('residua/worker');
    /** Springs on a grid of 110 by 110 points: three steps take a core far longer than a frame. */
    const grid = () => {
      const n = 110;
      const problem = new Problem();
      const points = problem.parameters('points', { dim: 3, values: Float64Array.from({ length: 3 * n * n }, (_, i) => Math.sin(i)) });
      const edges = [];
      for (let i = 0; i < n * n; i++) {
        if (i % n < n - 1) edges.push(i, i + 1);
        if (i < n * (n - 1)) edges.push(i, i + n);
      }
      problem.residuals('springs', {
        inputs: { ends: points.at(edges, 2), length: problem.data(new Float64Array(edges.length / 2).fill(1)) },
        residual: ({ ends: [a, b], length }) => a.distance(b).sub(length),
      });
      return problem;
    };
    /** Notes the page's turns until it is stopped; gives the longest wait for one. */
    window.watchTurns = () => {
      const { port1, port2 } = new MessageChannel();
      let [last, longest, began] = [performance.now(), 0, performance.now()];
      const note = () => {
        const now = performance.now();
        [longest, last] = [Math.max(longest, now - last), now];
      };
      port1.onmessage = () => (note(), port2.postMessage(0));
      port2.postMessage(0);
      return () => (note(), port1.close(), { longest, total: last - began });
    };
    /** Compiles and solves in the worker: the page's longest wait, the time of all, the time of the solve. */
    window.solveInWorker = async () => {
      const problem = grid();
      const stop = window.watchTurns();
      const functions = await GpuCompiledFunctions.compile(problem, { backend: 'cpu' });
      const { computationTime } = await levenbergMarquardt(functions, { linearSolver: 'sparse-cholesky', maxIterations: 3 });
      functions.dispose();
      return { ...stop(), computationTime };
    };
  });
});
after(() => browser.close());

test('the page gets its turns while the worker compiles and solves', async () => {
  const runs = await assertLive(other, () => page.evaluate(() => window.solveInWorker()));
  // Otherwise nothing is shown.
  for (const { computationTime } of runs) assert.ok(computationTime > 4 * FRAME, `the solve takes ${computationTime} ms`);
});
