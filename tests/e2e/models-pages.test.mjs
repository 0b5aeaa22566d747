// The pages of models for everyone: axe-core's audit in both themes, wide and at a phone's width, where nothing sticks out.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { browserName, launch, listen, url } from '../browser.mjs';

const AXE = readFileSync(new URL('../../node_modules/axe-core/axe.min.js', import.meta.url), 'utf8');
const THEMES = browserName === 'chromium' ? ['light', 'dark'] : ['light'];

let browser;
before(async () => void (browser = await launch()));
after(() => browser.close());

for (const address of ['text/?backend=cpu', 'search/', 'models/?engines=cpu', 'soak/']) {
  test(`axe finds nothing in ${address}`, { timeout: 240_000 }, async () => {
    const page = await browser.newPage();
    const complaints = [];
    listen(page, complaints);
    await page.goto(new URL(address, url).href, { waitUntil: 'networkidle0' });
    await page.evaluate((source) => document.head.append(Object.assign(document.createElement('script'), { textContent: source })), AXE);
    for (const width of [1280, 360]) {
      await page.setViewport({ width, height: 800 });
      for (const theme of THEMES) {
        if (browserName === 'chromium') await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: theme }]);
        const { violations, passes } = await page.evaluate(async () => {
          const { violations, passes } = await window.axe.run();
          return { violations: violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target).join(', ')}`), passes: passes.map(({ id }) => id) };
        });
        assert.deepEqual(violations, [], `${width} pixels, ${theme}`);
        for (const rule of ['color-contrast', 'button-name', 'label', 'html-has-lang']) assert.ok(passes.includes(rule), `axe has checked ${rule}`);
      }
      const [content, window] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
      assert.ok(content <= window, `${content} pixels wide in ${window}`);
    }
    assert.deepEqual(complaints, []);
    await page.close();
  });
}
