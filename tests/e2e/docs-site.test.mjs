// The built documentation: links lead somewhere, every error code and every way for a solve to end has its entry, the shaders shown are those
// that the package generates, commands exist, pages are accessible, and nothing comes from another host.
import assert from 'node:assert/strict';
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { after, before, test } from 'node:test';
import { readDeclarations } from '../../xtask/docs/declarations.mjs';
import { kernelsOf } from '../../xtask/docs/kernel.mjs';
import { blocksOf } from '../../xtask/docs/programs.mjs';
import { markdownFiles, writeSite } from '../../xtask/docs/site.mjs';
import { answer, browserName, launch, listen, openBlankPage, url } from '../browser.mjs';
import { byTurns } from '../tier.mjs';

const root = fileURLToPath(new URL('../../', import.meta.url));
const axe = await readFile(join(root, 'node_modules/axe-core/axe.min.js'), 'utf8');
const declarationsOf = (entry) => readDeclarations(join(root, `pkg-template/src/${entry}.ts`), join(root, 'pkg-template/tsconfig.json'));
const declarations = declarationsOf('index');

/** Firefox can't be told of a scheme; there pages are as its system has it. */
const schemes = browserName === 'chromium' ? ['light', 'dark'] : [null];

let browser, folder, kernels, names;
const pages = new Map();
before(async () => {
  browser = await launch();
  const blank = await openBlankPage(browser, { load: false });
  kernels = await kernelsOf(blank.page, await readFile(markdownFiles().get('how-it-works'), 'utf8'));
  await blank.close();
  folder = await mkdtemp(join(tmpdir(), 'residua-site-'));
  await writeSite(folder, kernels);
  names = await readdir(folder);
  for (const name of names.filter((file) => file.endsWith('.html'))) pages.set(name, await readFile(join(folder, name), 'utf8'));
});
after(async () => {
  await browser?.close();
  await rm(folder, { recursive: true, force: true });
});

const unescape = (text) => text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&quot;', '"').replaceAll('&amp;', '&');
const idsOf = (html) => [...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => unescape(id));
const textOf = (html) => unescape(html.replace(/<[^>]*>/g, ''));

test('every link leads to a page and a place that exist', () => {
  const broken = [];
  const ids = new Map([...pages].map(([name, html]) => [name, new Set(idsOf(html))]));
  let links = 0;
  for (const [name, html] of pages) {
    for (const [, href] of html.matchAll(/(?:href|src)="([^"]+)"/g)) {
      const [path, anchor] = unescape(href).split('#');
      if (path === 'data:,' || /^https?:/.test(path)) continue;
      links++;
      const target = path === '' ? name : path;
      const exists = names.includes(target) && (anchor === undefined || ids.get(target)?.has(anchor) === true);
      if (!exists) broken.push(`${name}: ${href}`);
    }
  }
  assert.deepEqual(broken, []);
  assert.ok(links > 1000, `${links} links were looked at`);
});

test('an address is unique in its page', () => {
  for (const [name, html] of pages) assert.equal(new Set(idsOf(html)).size, idsOf(html).length, name);
});

test('pages load nothing from other hosts', () => {
  for (const [name, html] of pages) assert.doesNotMatch(html, /(?:src|<link[^>]* href)="(?:https?:)?\/\//, name);
});

test('every error code and every termination has its entry, and nothing else has one', () => {
  const html = pages.get('troubleshooting.html');
  const [, byCode, byTermination] = /<h2[^>]*>By error code([^]*?)<h2[^>]*>How a solve ended([^]*?)<h2/.exec(html);
  const entries = (part) => [...part.matchAll(/<h3[^>]*>([\w-]+)/g)].map(([, word]) => word).sort();
  const words = (type) => [...declarations.get(type).signature.matchAll(/'([^']+)'/g)].map(([, word]) => word).sort();
  assert.equal(words('ErrorCode').length, 12);
  assert.deepEqual(entries(byCode), words('ErrorCode'));
  assert.deepEqual(entries(byTermination), words('Termination'));
});

test('the reference has every export', () => {
  const html = [...pages].filter(([name]) => name.startsWith('api-')).map(([, page]) => page).join('');
  for (const name of [...declarations.keys(), ...declarationsOf('tensor').keys()]) assert.ok(idsOf(html).includes(name), name);
});

test('the shaders shown are the generated ones, line by line', () => {
  const blocks = [...pages.get('how-it-works.html').matchAll(/<pre[^>]*><code>([^]*?)<\/code>/g)].map(([, code]) => textOf(code));
  const lines = (text) => text.split('\n').map((line) => line.trim()).filter((line) => line !== '');
  const shown = blocks.flatMap(lines).join('\n');
  for (const name of ['springs values', 'springs sumGradientByBlockOf3']) {
    const { wgsl } = kernels.find((kernel) => kernel.name === name);
    assert.ok(shown.includes(lines(wgsl).join('\n')), name);
  }
});

test('commands that are shown exist', async () => {
  const main = await readFile(join(root, 'xtask/src/main.rs'), 'utf8');
  const shown = [];
  for (const file of [...markdownFiles().values(), join(root, 'README.md'), join(root, 'pkg-template/README.md')]) {
    const markdown = await readFile(file, 'utf8');
    for (const { kind, code } of blocksOf(markdown)) if (kind === 'sh') shown.push(...code.split('\n').map((line) => line.replace(/\s*#.*/, '')));
    shown.push(...[...markdown.matchAll(/`(cargo xtask \w+)/g)].map(([, command]) => command));
  }
  assert.ok(shown.includes('npm install residua') && shown.some((command) => command.startsWith('cargo xtask')));
  for (const command of shown) {
    const [, subcommand] = /^cargo xtask (\w+)/.exec(command) ?? [];
    if (subcommand === undefined) assert.equal(command, 'npm install residua');
    else assert.ok(main.includes(`Some("${subcommand}")`), command);
  }
});

test('the page of plain HTML runs as it stands', async () => {
  const [{ code }] = blocksOf(await readFile(markdownFiles().get('index'), 'utf8')).filter(({ kind }) => kind === 'html');
  const page = await browser.newPage();
  const complaints = [];
  listen(page, complaints);
  const address = new URL('plain.html', url);
  const end = await answer(page, { [address.pathname]: { contentType: 'text/html', body: `${code}<link rel="icon" href="data:,">` } });
  await page.goto(address.href);
  await page.waitForFunction(() => document.title === '3', { timeout: 30_000 });
  await end();
  await page.close();
  assert.deepEqual(complaints, []);
});

test('axe finds nothing wrong, in light and in dark', async () => {
  const page = await browser.newPage();
  await page.setViewport({ width: 1280, height: 900 });
  const violations = [];
  for (const [k, name] of [...pages.keys()].entries()) {
    await page.goto(pathToFileURL(join(folder, name)).href);
    await page.addScriptTag({ content: axe });
    // All pages have one stylesheet.
    for (const scheme of byTurns(schemes, k)) {
      if (scheme !== null) await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
      const found = await page.evaluate(async () => (await window.axe.run(document, { resultTypes: ['violations'] })).violations.map(({ id, nodes }) => ({ id, where: nodes[0].html })));
      violations.push(...found.map(({ id, where }) => `${name}, ${scheme}: ${id} at ${where}`));
    }
  }
  await page.close();
  assert.deepEqual(violations, []);
});

test('the search finds sections by words, beginnings of words and names, by keyboard alone', async () => {
  const page = await browser.newPage();
  const complaints = [];
  listen(page, complaints);
  await page.goto(pathToFileURL(join(folder, 'index.html')).href);
  const found = async (words) => {
    await page.keyboard.press('/');
    await page.keyboard.type(words);
    await page.waitForFunction(() => document.querySelector('.found [role=status]').textContent !== '');
    const links = await page.$$eval('.found a', (all) => all.map((link) => [link.getAttribute('href'), link.querySelector('b').textContent]));
    await page.addScriptTag({ content: axe });
    const violations = await page.evaluate(async () => (await window.axe.run('.search', { resultTypes: ['violations'], preload: false })).violations.map(({ id }) => id));
    assert.deepEqual(violations, []);
    return links;
  };
  const clear = async () => {
    await page.keyboard.press('Escape');
    assert.equal(await page.$eval('.found', (panel) => panel.hidden), true);
    await page.evaluate(() => {
      document.activeElement.blur();
      document.querySelector('.found [role=status]').textContent = '';
    });
  };
  const targets = new Map([...pages].map(([name, html]) => [name, new Set(idsOf(html))]));
  for (const [words, expected] of [['conjugate gradi', /./], ['solveMany', /many/i], ['quantile', /./]]) {
    const links = await found(words);
    assert.ok(links.some(([, title]) => expected.test(title)), `${words}: ${links.join('; ')}`);
    for (const [href] of links) {
      const [name, anchor] = href.split('#');
      assert.ok(targets.has(name) && (anchor === undefined || targets.get(name).has(anchor)), href);
    }
    await clear();
  }
  assert.deepEqual(await found('zzzzqqqq'), []);
  await clear();
  await found('standard errors');
  await Promise.all([page.waitForNavigation(), page.keyboard.press('Enter')]);
  assert.match(new URL(page.url()).pathname, /\.html$/);
  await page.close();
  assert.deepEqual(complaints, []);
});

test("at a phone's width no page is wider than the screen", async () => {
  const page = await browser.newPage();
  await page.setViewport({ width: 360, height: 740 });
  for (const name of pages.keys()) {
    await page.goto(pathToFileURL(join(folder, name)).href);
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 360, name);
  }
  await page.close();
});
