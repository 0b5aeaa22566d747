// What ends a call while it runs, at several moments of compiles and solves on the GPU: signals, dispose(), a lost device. Every promise settles.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { browserName, launch, openBlankPage } from '../browser.mjs';

/** Milliseconds after the call; null is within the same turn. */
const MOMENTS = [null, 5, 30];
/** How a solve with tolerances of 0 ends by itself, which it may before the later moments. */
const BY_ITSELF = ['trust-region-collapsed', 'precision-limit'];

/** Asserts that each solve ended as expected; only after some milliseconds it may have ended by itself. */
function solvesEnded(ends, expected) {
  for (const [k, end] of ends.entries()) assert.ok(end === expected || (MOMENTS[k] !== null && BY_ITSELF.includes(end)), `${ends}`);
}

let browser, page, complaints;
before(async () => {
  browser = await launch();
  ({ page, complaints } = await openBlankPage(browser, { load: false }));
  await page.evaluate(async () => {
    window.entries = { residua: await import('residua'), 'residua/worker': await import('residua/worker') };
    window.unhandled = [];
    addEventListener('unhandledrejection', ({ reason }) => window.unhandled.push(String(reason?.message ?? reason)));
    /** Springs, and options with which a solve of them does not end by itself. */
    window.springs = ({ Problem }) => {
      const problem = new Problem();
      const points = problem.parameters('points', { dim: 3, values: Float64Array.from({ length: 180 }, (_, i) => 3 * Math.sin(1.3 * i)) });
      const ends = Array.from({ length: 60 }, (_, i) => [1, 4, 9].flatMap((k) => [i, (i + k) % 60])).flat();
      problem.residuals('springs', { inputs: { ends: points.at(ends, 2) }, residual: ({ ends: [a, b] }) => a.distance(b).sub(1) });
      return { problem, points };
    };
    window.endless = { maxIterations: 1e6, onIteration: () => {}, costTolerance: 0, gradientTolerance: 0, parameterTolerance: 0 };
    /** How a promise has ended: the termination of a result, the code of an error. */
    window.end = (promise) => {
      const settled = promise.then((result) => result?.termination ?? 'fulfilled', (error) => error.code ?? `${error}`);
      return Promise.race([settled, new Promise((resolve) => setTimeout(resolve, 30_000, 'pending'))]);
    };
    window.until = (moment) => (moment === null ? undefined : new Promise((resolve) => setTimeout(resolve, moment)));
  });
});
after(() => browser.close());

for (const entry of ['residua', 'residua/worker']) {
  test(`${entry}: a signal ends a compile with a rejection and a solve with its best point`, async () => {
    const ends = await page.evaluate(async (entry, moments) => {
      const { solve, lbfgs, GpuCompiledFunctions } = window.entries[entry];
      const { problem, points } = window.springs(window.entries[entry]);
      const functions = await GpuCompiledFunctions.compile(problem, { backend: 'gpu' });
      const found = [];
      for (const moment of moments) {
        const controller = new AbortController();
        const { signal } = controller;
        const all = [solve(window.springs(window.entries[entry]).problem, { backend: 'gpu', ...window.endless, signal }), lbfgs(functions, { ...window.endless, signal })];
        await window.until(moment);
        controller.abort();
        found.push([...(await Promise.all(all.map(window.end))), points.values().every(Number.isFinite)]);
      }
      functions.dispose();
      return found;
    }, entry, MOMENTS);
    solvesEnded(ends.map(([solved]) => solved), 'aborted');
    // A sum of springs has a minimum, at which L-BFGS may come to rest before the later moments.
    for (const [, lbfgs, isFinite] of ends) assert.deepEqual([['pending', 'internal'].includes(lbfgs), isFinite], [false, true], JSON.stringify(ends));
  });

  test(`${entry}: dispose() of functions or of their context rejects what runs and what waits`, async () => {
    const codes = await page.evaluate(async (entry, moments) => {
      const { GpuCompiledFunctions, GpuContext, levenbergMarquardt } = window.entries[entry];
      const found = [];
      for (const moment of moments) {
        for (const whose of ['functions', 'context']) {
          const context = await GpuContext.create();
          const { problem } = window.springs(window.entries[entry]);
          const functions = await GpuCompiledFunctions.compile(problem, { backend: 'gpu', context });
          const pending = [levenbergMarquardt(functions, window.endless), functions.evaluate()];
          if (whose === 'context') pending.push(GpuCompiledFunctions.compile(window.springs(window.entries[entry]).problem, { backend: 'gpu', context }));
          const ends = pending.map(window.end);
          await window.until(moment);
          (whose === 'functions' ? functions : context).dispose();
          ends.push(window.end(functions.evaluate()));
          const [solved, evaluated, ...others] = await Promise.all(ends);
          // A compile of so little may have ended before the last moments.
          found.push([whose, solved, evaluated, others.at(-1), others.length === 1 || ['disposed', 'fulfilled'].includes(others[0])]);
          functions.dispose();
          context.dispose();
        }
      }
      return found;
    }, entry, MOMENTS);
    for (const whose of ['functions', 'context']) {
      const found = codes.filter(([of]) => of === whose);
      solvesEnded(found.map(([, solved]) => solved), 'disposed');
      for (const [, , evaluated, later, isCompiled] of found) {
        assert.deepEqual([['disposed', 'fulfilled'].includes(evaluated), later, isCompiled], [true, 'disposed', true], JSON.stringify(codes));
      }
    }
  });
}

test('a device that is destroyed rejects what runs, what waits and what comes, and leaves finite parameters', async () => {
  const found = await page.evaluate(async (moments) => {
    const { GpuCompiledFunctions, GpuContext, levenbergMarquardt } = window.entries.residua;
    const found = [];
    for (const moment of moments) {
      const context = await GpuContext.create();
      const { problem, points } = window.springs(window.entries.residua);
      const functions = await GpuCompiledFunctions.compile(problem, { backend: 'gpu', context });
      const ends = [levenbergMarquardt(functions, window.endless), functions.evaluate()].map(window.end);
      await window.until(moment);
      context.device.destroy();
      const { reason } = await context.lost;
      ends.push(window.end(functions.evaluate()), window.end(GpuCompiledFunctions.compile(problem, { backend: 'gpu', context })));
      found.push([...(await Promise.all(ends)), reason, points.values().every(Number.isFinite)]);
      functions.dispose();
      context.dispose();
    }
    return found;
  }, MOMENTS);
  solvesEnded(found.map(([solved]) => solved), 'device-lost');
  for (const [, evaluated, ...others] of found) {
    assert.ok(['device-lost', 'fulfilled'].includes(evaluated), JSON.stringify(found));
    assert.deepEqual(others, ['device-lost', 'device-lost', 'destroyed', true], JSON.stringify(found));
  }
});

test('no rejection was unhandled, and nothing was complained of', async () => {
  assert.deepEqual(await page.evaluate(() => window.unhandled), []);
  // Firefox writes to the console what is asked of a device that is lost.
  const others = browserName === 'firefox' ? complaints.filter((text) => !/Parent device is lost|Encountered one or more errors|is invalid/.test(text)) : complaints;
  assert.deepEqual(others, []);
});
