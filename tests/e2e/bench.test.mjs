// The page of benchmarks, as it runs by itself.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { launch, url } from '../chromium.mjs';

let browser, page;
before(async () => {
  browser = await launch();
  page = await browser.newPage();
});
after(() => browser.close());

test('with ?auto the benchmarks run and report: as many steps as asked for, in at most five read-backs, and fits of many peaks', { timeout: 240_000 }, async () => {
  const reported = new Promise((resolve) => {
    // Answered here, so that the server does not take it for the end of its own run.
    page.route('**/result', (route) => {
      resolve(route.request().postDataJSON());
      return route.fulfill({ status: 204 });
    });
  });
  await page.goto(new URL('bench/?auto&only=springs-lm,many&sides=6&reps=1&steps=20&cg=4&count=50', url).href);
  const { results } = await reported;
  const [row] = results['springs-lm'].rows;
  assert.deepEqual([results['springs-lm'].error, results.many.error], [undefined, undefined]);
  assert.deepEqual([row.backend, row.vertices, row.residuals, row.steps, row.termination], ['gpu', 36, 85, 20, 'max-iterations']);
  assert.ok(row['read-backs'] <= 5, `${row['read-backs']} read-backs`);
  assert.ok(row['final cost'] < row['initial cost']);
  assert.ok(results.many.rows.length > 0);
});
