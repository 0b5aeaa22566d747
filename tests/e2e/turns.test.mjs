// The page that compares two builds in turns: a build against itself gives equal values, and a build that is absent gives an error.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { hearPosts, launch, url } from '../browser.mjs';

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser.close());

/** What the page POSTs to /result. */
async function report(query) {
  const page = await browser.newPage();
  let resolve;
  const reported = new Promise((settle) => void (resolve = settle));
  await hearPosts(page, (path, text) => void (path === '/result' && resolve(JSON.parse(text))));
  await page.goto(new URL(`bench/turns/?auto&${query}`, url).href);
  const figures = await reported;
  await page.close();
  return figures;
}

const BUILD = encodeURIComponent('../../residua/dist/index.js');

test('a build against itself computes the same value in both frames', { timeout: 240_000 }, async () => {
  const { rows } = await report(`a=${BUILD}&b=${BUILD}&reps=3&only=${encodeURIComponent('CPU springs sum 10000,springs gradient 5041')}`);
  assert.ok(rows.some(({ workload }) => workload === 'springs gradient 5041'));
  assert.ok(rows.some(({ workload }) => workload === 'CPU springs sum 10000'));
  for (const row of rows) {
    assert.equal(row.error, undefined, row.workload);
    assert.equal(row['values differ by'], 0, row.workload);
    assert.ok(row['A, least, ms'] > 0 && row['B, least, ms'] > 0 && row['B / A'] > 0, row.workload);
  }
});

test('a build that does not load is an error that names it', { timeout: 120_000 }, async () => {
  const { error, rows } = await report(`a=${BUILD}&b=${encodeURIComponent('../../absent/index.js')}&reps=3`);
  assert.equal(rows, undefined);
  assert.match(error, /absent\/index\.js did not load within 60 s/);
});
