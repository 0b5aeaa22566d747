// The pages that compare in turns: two builds, of which one against itself gives equal values and an absent one an error, and f32 with f32x2.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { hearPosts, launch, url } from '../browser.mjs';
import { longTest } from '../tier.mjs';

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser.close());

/** What a page POSTs to /result. */
async function report(query, directory = 'turns') {
  const page = await browser.newPage();
  let resolve;
  const reported = new Promise((settle) => void (resolve = settle));
  await hearPosts(page, (path, text) => void (path === '/result' && resolve(JSON.parse(text))));
  await page.goto(new URL(`bench/${directory}/?auto&${query}`, url).href);
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
  assert.match(error, /absent\/index\.js did not load: a module is not there/);
});

longTest('the page of f32 and f32x2 measures calls of both', { timeout: 280_000 }, async () => {
  const { error, calls, fits } = await report('size=small&reps=1', 'precision');
  assert.equal(error, undefined);
  const ratios = calls.filter(({ ratio }) => ratio !== undefined);
  assert.ok(ratios.length === 5 && ratios.every(({ ratio }) => ratio > 0), JSON.stringify(calls));
  const [single, pairs] = ['f32', 'f32x2'].map((precision) => fits.find(({ asked }) => asked === precision));
  assert.deepEqual([single.arithmetic, pairs.arithmetic], ['f32', 'f32x2']);
  assert.ok(pairs.converged >= single.converged && pairs.converged > 190, JSON.stringify(fits));
});
