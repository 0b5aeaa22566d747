// The compile of a large problem reports its progress and its times, and a signal aborts it.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { launch, openBlankPage } from '../browser.mjs';
import { SIZES, defineCompiles } from '../large-compiles.mjs';

let browser, page;
before(async () => {
  browser = await launch();
  ({ page } = await openBlankPage(browser));
  await page.evaluate(`(${defineCompiles})()`);
});
after(() => browser.close());

for (const [form, residuals] of Object.entries(SIZES)) {
  for (const backend of ['cpu', 'gpu']) {
    describe(`${form} form, ${residuals} residuals, ${backend}`, () => {
      let compile;
      before(async () => void (compile = await page.evaluate((args) => window.compileOnce(...args), [form, residuals, { backend }])));

      test('progress is reported at most ten times a second, never decreases, and goes stage by stage', () => {
        const stages = ['group', 'tables', 'pipelines'];
        const { heard, whole } = compile;
        assert.ok(heard.length >= 1 && heard.length <= 1 + whole / 100, `${heard.length} reports in ${whole} ms`);
        for (const [i, [done, total, stage]] of heard.entries()) {
          assert.ok(done >= 0 && done <= total, `${done} of ${total}`);
          assert.ok(stages.includes(stage), stage);
          if (i === 0) continue;
          const [before, totalBefore, stageBefore] = heard[i - 1];
          assert.equal(total, totalBefore);
          assert.ok(done >= before && stages.indexOf(stage) >= stages.indexOf(stageBefore), `${stage} ${done} after ${stageBefore} ${before}`);
        }
      });

      test('times are reported by stage, that of recording too', () => {
        const { compileTimes, numResiduals } = compile;
        assert.deepEqual(Object.keys(compileTimes), [...(form === 'params' ? ['record'] : []), 'group', 'tables', 'pipelines']);
        assert.ok(Math.abs(numResiduals / residuals - 1) < 0.01);
      });

      test('a signal that fires in the middle ends the compile', async () => {
        const { code, later } = await page.evaluate((args) => window.abortAfter(...args), [form, residuals, backend, 5]);
        assert.equal(code, 'aborted');
        assert.equal(later, 0, 'reports of progress after the end');
      });
    });
  }
}
