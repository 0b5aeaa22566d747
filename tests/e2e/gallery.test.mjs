// The gallery: each link opens its example in the editor, which runs it; axe-core's audit in both themes, wide and at a phone's width, where nothing sticks
// out.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { browserName, launch, listen, url } from '../browser.mjs';

const AXE = readFileSync(new URL('../../node_modules/axe-core/axe.min.js', import.meta.url), 'utf8');
const shots = fileURLToPath(new URL('../../target/test-screenshots/', import.meta.url));
/** Firefox can't be told of a scheme; there pages are as its system has it. */
const schemes = browserName === 'chromium' ? ['light', 'dark'] : [null];

let browser;
before(async () => void ([browser] = [await launch(), await mkdir(shots, { recursive: true })]));
after(() => browser.close());

async function open(address, dress = async () => {}) {
  const page = await browser.newPage();
  const complaints = [];
  listen(page, complaints);
  await dress(page);
  await page.goto(new URL(address, url).href);
  return { page, complaints };
}

for (const scheme of schemes) {
  for (const width of [1280, 390]) {
    test(`axe finds nothing, ${scheme ?? 'as the system has it'}, ${width} pixels wide`, async () => {
      const { page, complaints } = await open('gallery/', async (page) => {
        await page.setViewport({ width, height: 900 });
        if (scheme !== null) await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
      });
      await page.waitForSelector('#examples li');
      await page.evaluate((source) => document.head.append(Object.assign(document.createElement('script'), { textContent: source })), AXE);
      const found = await page.evaluate(async () => {
        const { violations, passes } = await window.axe.run();
        return { violations: violations.map(({ id, nodes }) => `${id}: ${nodes[0].html}`), passes: passes.length, wide: document.documentElement.scrollWidth - innerWidth };
      });
      assert.deepEqual([found.violations, found.passes > 10, found.wide <= 0], [[], true, true]);
      await page.screenshot({ path: `${shots}gallery-${scheme}-${width}.png` });
      assert.deepEqual(complaints, []);
      await page.close();
    });
  }
}

test('a link, by the keyboard, opens its example, which runs', async () => {
  const { page, complaints } = await open('gallery/');
  await page.waitForSelector('#examples li');
  const links = await page.$$eval('#examples a', (all) => all.map(({ textContent, href }) => [textContent.length > 30, new URL(href).searchParams.get('example')]));
  assert.ok(links.length >= 12 && links.every(([hasWords, name]) => hasWords && name));
  await page.focus('#examples a[href$="linkage"]');
  await Promise.all([page.waitForNavigation(), page.keyboard.press('Enter')]);
  await page.waitForFunction(() => window.residuaEditor?.state().ends === 1, { timeout: 60_000 });
  const { failure, plot, text } = await page.evaluate(() => window.residuaEditor.state());
  assert.deepEqual([failure, plot.points.length, await page.$eval('#example', ({ value }) => value)], [null, 36, 'linkage']);
  assert.match(text, /^Bars 0\.3500, 0\.9500, 0\.8000\n/);
  await page.screenshot({ path: `${shots}gallery-linkage.png` });
  // In the worker of the editor the entry for models is there too.
  await page.select('#example', 'onnx');
  await page.waitForFunction(() => window.residuaEditor.state().ends === 2, { timeout: 60_000 });
  assert.match((await page.evaluate(() => window.residuaEditor.state())).text, /^Takes x: float \[batch,2\]/);
  assert.deepEqual(complaints, []);
  await page.close();
});
