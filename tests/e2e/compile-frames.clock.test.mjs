// While a large problem compiles, the page gets a turn at least every three frames.
import { after, before, test } from 'node:test';
import { launch, openBlankPage } from '../browser.mjs';
import { SIZES, defineCompiles } from '../large-compiles.mjs';
import { assertLive } from '../page-turns.mjs';

let browser, page, other;
before(async () => {
  browser = await launch();
  ({ page } = await openBlankPage(browser));
  ({ page: other } = await openBlankPage(browser, { load: false }));
  await page.evaluate(`(${defineCompiles})()`);
});
after(() => browser.close());

for (const [form, residuals] of Object.entries(SIZES)) {
  for (const backend of ['cpu', 'gpu']) {
    test(`no step of a compile holds the page up: ${form} form, ${residuals} residuals, ${backend}`, () =>
      assertLive(other, () => page.evaluate((args) => window.compileOnce(...args), [form, residuals, { backend }])));
  }
}
