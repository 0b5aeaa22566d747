// The demos' page for everyone, and from anywhere: axe-core's audit in both themes and at a phone's width, and the site as a plain static server serves it.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { existsSync, readFileSync } from 'node:fs';
import { extname } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { browserName, launch } from '../browser.mjs';
import { DEMOS } from '../../www/demos/registry.js';
import { openDemo, stateOf } from '../demo-page.mjs';
import { byTurns } from '../tier.mjs';

const root = fileURLToPath(new URL('../../', import.meta.url));
const AXE = readFileSync(`${root}node_modules/axe-core/axe.min.js`, 'utf8');
/** What makes a demo small, where it is not. */
const SMALL = { 'as-rigid-as-possible': '&mesh=bar, 74 vertices', developable: '&subdivisions=1' };
const SPHERE = `developable${SMALL.developable}`;
const VIEWS = [
  { name: 'wide', viewport: { width: 1280, height: 900 } },
  { name: "at a phone's width", viewport: { width: 360, height: 740 } },
];
// Over WebDriver BiDi a page's preferences can't be set: Firefox shows what it is set to, which is light.
const THEMES = browserName === 'chromium' ? ['light', 'dark'] : ['light'];

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser.close());

for (const [k, { id }] of DEMOS.entries()) {
  test(`axe finds nothing in ${id}, wide and narrow, and nothing sticks out`, async () => {
    for (const [j, { name, viewport }] of VIEWS.entries()) {
      const { page, complaints, close } = await openDemo(browser, `demo=${id}${SMALL[id] ?? ''}&backend=cpu`, { viewport, paused: true });
      try {
        await page.evaluate((source) => document.head.append(Object.assign(document.createElement('script'), { textContent: source })), AXE);
        for (const theme of byTurns(THEMES, j + k)) {
          if (browserName === 'chromium') await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: theme }]);
          const { violations, passes } = await page.evaluate(async () => {
            document.querySelector('details').open = true;
            document.getElementById('source').click();
            const open = await window.axe.run();
            document.getElementById('source-dialog').close();
            const closed = await window.axe.run();
            const told = ({ id, impact, nodes }) => `${id} (${impact}): ${nodes.map(({ target }) => target).join(', ')}`;
            return { violations: [...open.violations, ...closed.violations].map(told), passes: closed.passes.map(({ id }) => id) };
          });
          // It has looked: at contrast, names and labels among other things.
          for (const rule of ['color-contrast', 'button-name', 'label', 'html-has-lang']) assert.ok(passes.includes(rule), `axe has checked ${rule}`);
          assert.deepEqual(violations, [], `${name}, ${theme}`);
        }
        const [content, width] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
        assert.ok(content <= width, `${content} px of content in ${width} px ${name}`);
        assert.deepEqual(complaints, []);
      } finally {
        await close();
      }
    }
  });
}

test('the controls can be reached and used with the keyboard alone', async () => {
  const { page, close } = await openDemo(browser, `demo=${SPHERE}&backend=cpu`, {});
  try {
    await page.focus('#pause');
    await page.keyboard.press('Enter');
    await page.waitForFunction(() => document.getElementById('pause').textContent === 'Go on', { timeout: 20000 });
    assert.equal(await page.evaluate(() => window.residuaDemos.shell.paused), true);
    // From the top: a browser's own controls come after the page's last.
    await page.evaluate(() => document.activeElement.blur());
    const reached = new Set();
    for (let tab = 0; tab < 30; tab++) {
      await page.keyboard.press('Tab');
      reached.add(await page.evaluate(() => document.activeElement?.id || document.activeElement?.name || document.activeElement?.tagName));
    }
    for (const id of ['demo-developable', 'picture', 'engine', 'pause', 'reset', 'source']) assert.ok(reached.has(id), `${id} among ${[...reached].join(', ')}`);
  } finally {
    await close();
  }
});

test('the site of `cargo xtask site` works below a path of any static server', async () => {
  const site = `${root}target/site`;
  assert.ok(existsSync(`${site}/demos/index.html`), 'target/site is there: cargo xtask site');
  const types = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.wasm': 'application/wasm' };
  const missing = [];
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url, 'http://localhost');
    const file = `${site}/${pathname.replace(/^\/some\/where\//, '').replace(/(^|\/)$/, '$1index.html')}`;
    if (!pathname.startsWith('/some/where/') || !existsSync(file)) {
      missing.push(pathname);
      response.writeHead(404).end();
      return;
    }
    response.writeHead(200, { 'Content-Type': types[extname(file)] ?? 'application/octet-stream' }).end(readFileSync(file));
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    const base = `http://127.0.0.1:${server.address().port}/some/where/`;
    const { page, complaints, close } = await openDemo(browser, `demo=${SPHERE}&backend=cpu`, { base });
    try {
      await page.evaluate(() => window.residuaDemos.settled({ steps: 1 }));
      assert.ok((await stateOf(page)).engines.cpu.iterations > 0);
      for (const licence of ['three/LICENSE', 'lil-gui/LICENSE', 'uplot/LICENSE']) assert.match(readFileSync(`${site}/vendor/${licence}`, 'utf8'), /MIT/);
      assert.deepEqual([missing, complaints], [[], []]);
    } finally {
      await close();
    }
  } finally {
    server.close();
  }
});
