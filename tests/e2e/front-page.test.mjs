// The example on the front page as a visitor changes it.
import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { launch, listen, url } from '../browser.mjs';

const shots = fileURLToPath(new URL('../../target/test-screenshots/', import.meta.url));

let browser, page;
const complaints = [];
before(async () => {
  [browser] = [await launch(), await mkdir(shots, { recursive: true })];
  page = await browser.newPage();
  page.setDefaultTimeout(120_000);
  listen(page, complaints);
  await page.goto(url);
});
after(() => browser.close());

const state = () => page.evaluate(() => window.residuaEditor.state());
/** Waits until the text as it is has run. */
const ran = (runs) => page.waitForFunction((runs) => window.residuaEditor?.state().runs >= runs && !window.residuaEditor.state().running, {}, runs);

/** Replaces the code as typing does. */
async function write(text) {
  const { runs } = await state();
  await page.$eval('#code', (code, text) => {
    code.value = text;
    code.dispatchEvent(new Event('input'));
  }, text);
  return runs + 1;
}

test('it has run when the page is open: a curve through its points, and the report', async () => {
  await ran(1);
  const { plot, failure, text } = await state();
  assert.equal(failure, null);
  assert.equal(plot.points.length, 60);
  assert.match(text, /height +2\.9/);
  assert.deepEqual(await page.$$eval('#plot circle, #plot polyline', (parts) => parts.length), 61);
  await page.screenshot({ path: `${shots}front-page.png` });
});

test('a change of the model runs by itself, and changes the plot', async () => {
  const before = await state();
  await page.focus('#code');
  await ran(await write((await page.$eval('#code', ({ value }) => value)).replace('3 * Math.exp', '5 * Math.exp')));
  const { text, failure, plot } = await state();
  assert.equal(failure, null);
  assert.match(text, /height +(4\.9|5\.0)/);
  assert.ok(plot.points[0][1] > before.plot.points[0][1] + 1);
});

test('errors are shown with their line, and the page goes on', async () => {
  await ran(await write("import { fit } from 'residua';\n\nawait fit(() => 1, { x: [1], y: [2, 3] }, { initialValues: [1] });"));
  assert.match((await state()).failure, /fit: /);
  await ran(await write('const a = 1;\n\nmissing(a);'));
  assert.match((await state()).failure, /^Line 3: ReferenceError: /);
  await ran(await write('const = 3;'));
  assert.match((await state()).failure, /SyntaxError/);
  await ran(await write("console.log('well', [1, 2]);"));
  assert.deepEqual([(await state()).failure, (await state()).text], [null, 'well 1, 2']);
});

test('code that does not end is replaced by the next, and the page answers meanwhile', async () => {
  const endless = await write('while (true);');
  await page.waitForFunction((runs) => window.residuaEditor.state().runs >= runs, {}, endless);
  assert.equal((await state()).running, true);
  await write('console.log(7);');
  // Ctrl and Enter do not wait for the pause in typing.
  await page.focus('#code');
  await page.keyboard.down('Control');
  await page.keyboard.press('Enter');
  await page.keyboard.up('Control');
  await ran(endless + 1);
  assert.deepEqual([(await state()).failure, (await state()).text], [null, '7']);
});

test('another example is chosen by the keyboard', async () => {
  const { runs } = await state();
  await page.select('#example', 'chain');
  await ran(runs + 1);
  const { plot, text } = await state();
  assert.equal(plot.points.length, 25);
  assert.match(text, /Constraints/);
});

test('an address names an example, here one of tensors, and one that there is none of gives the first', async () => {
  await page.goto(new URL('?example=network', url).href);
  await ran(1);
  const { plot, failure, text } = await state();
  assert.equal(failure, null);
  assert.equal(plot.line.length, 200);
  assert.match(text, /step 600: loss 0\.00/);
  await page.goto(new URL('?example=toString', url).href);
  await ran(1);
  assert.equal(await page.$eval('#example', ({ value }) => value), 'oscillation');
});

test('nothing was complained about', () => assert.deepEqual(complaints, []));
