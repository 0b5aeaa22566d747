// The smallest test of everything in a browser: each page opens without an error, and both engines compute a value, on the page's thread and in the package's worker.
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { launch, listen, openBlankPage, url } from '../browser.mjs';

const pages = readdirSync(fileURLToPath(new URL('../../www', import.meta.url)), { recursive: true }).filter((name) => name.endsWith('.html'));

let browser;
before(async () => void (browser = await launch()));
after(() => browser.close());

for (const name of pages) {
  test(`the page ${name} opens without an error`, async () => {
    const page = await browser.newPage();
    const complaints = [];
    listen(page, complaints);
    try {
      // Some pages compile kernels before they are idle.
      await page.goto(new URL(name, url).href, { waitUntil: 'networkidle0', timeout: 90_000 });
      assert.deepEqual(complaints, []);
    } finally {
      await page.close();
    }
  });
}

for (const entry of ['residua', 'residua/worker']) {
  test(`a line is fitted through three points on both engines of ${entry}`, async () => {
    const { page, complaints, close } = await openBlankPage(browser, { load: false });
    try {
      const fits = await page.evaluate(async (entry) => {
        const { GpuCompiledFunctions, levenbergMarquardt, Problem } = await import(entry);
        const fits = [];
        for (const backend of ['gpu', 'cpu']) {
          const problem = new Problem();
          const line = problem.parameters('line', { dim: 2, values: [0, 0] });
          problem.residuals('fit', { inputs: { line: line.shared(), t: problem.data([0, 1, 2]), y: problem.data([1, 3, 5]) }, residual: ({ line, t, y }) => line.x.mul(t).add(line.y).sub(y) });
          const functions = await GpuCompiledFunctions.compile(problem, { backend });
          const { x } = await levenbergMarquardt(functions);
          fits.push({ backend: functions.backend, x });
          functions.dispose();
        }
        return fits;
      }, entry);
      assert.deepEqual(fits.map(({ backend }) => backend), ['gpu', 'cpu']);
      for (const { backend, x } of fits) for (const [i, exact] of [2, 1].entries()) assert.ok(Math.abs(x[i] - exact) < 1e-4, `${backend}: ${x}`);
      assert.deepEqual(complaints, []);
    } finally {
      await close();
    }
  });
}
