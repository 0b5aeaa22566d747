// The page of digits: a network is trained on each engine, and reads what the pointer draws.
import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { launch, listen, url } from '../browser.mjs';
import { longTest } from '../tier.mjs';

const shots = fileURLToPath(new URL('../../target/test-screenshots/', import.meta.url));

let browser;
before(async () => void ([browser] = [await launch(), await mkdir(shots, { recursive: true })]));
after(() => browser.close());

async function open(query) {
  const page = await browser.newPage();
  const complaints = [];
  listen(page, complaints);
  await page.goto(new URL(`digits/?${query}`, url).href);
  return { page, complaints };
}

const state = (page) => page.evaluate(() => window.residuaDigits.state());

async function trained(query, limitMs) {
  const { page, complaints } = await open(query);
  await page.waitForFunction(() => {
    const { training, epochs } = window.residuaDigits.state();
    return (!training && epochs > 0) || !document.getElementById('failure').hidden;
  }, { timeout: limitMs });
  assert.equal(await page.evaluate(() => document.getElementById('failure').hidden), true, await page.evaluate(() => document.getElementById('failure').textContent));
  return { page, complaints };
}

/** Draws lines through points of the pad, which has coordinates from 0 to 1. */
async function draw(page, points) {
  const box = await (await page.$('#pad')).boundingBox();
  const place = ([x, y]) => [box.x + x * box.width, box.y + y * box.height];
  await page.mouse.move(...place(points[0]));
  await page.mouse.down();
  for (const point of points.slice(1)) await page.mouse.move(...place(point), { steps: 8 });
  await page.mouse.up();
}

test('a pass on the CPU reads nine of ten digits, and one that is drawn', { timeout: 300_000 }, async () => {
  const { page, complaints } = await trained('backend=cpu&auto&epochs=1', 240_000);
  const { backend, accuracy, loss } = await state(page);
  assert.equal(backend, 'cpu');
  // A pass over 8,000 digits with Adam at 1e-3 gives 90 to 92 %.
  assert.ok(accuracy > 0.87, `${accuracy} are right, with a loss of ${loss}`);
  await page.locator('#clear').click();
  await draw(page, [[0.5, 0.15], [0.5, 0.85]]);
  await page.waitForFunction(() => window.residuaDigits.state().reading !== null);
  assert.equal((await state(page)).reading, 1);
  await page.screenshot({ path: `${shots}digits.png` });
  assert.deepEqual(complaints, []);
  await page.close();
});

longTest('a pass on the GPU reads nine of ten digits', { timeout: 600_000 }, async () => {
  const { page, complaints } = await trained('backend=gpu&auto&epochs=1', 540_000);
  const { backend, accuracy } = await state(page);
  assert.equal(backend, 'gpu');
  assert.ok(accuracy > 0.87, `${accuracy} are right`);
  assert.deepEqual(complaints, []);
  await page.close();
});

test('the engine is changed, and training starts over with fresh weights', { timeout: 300_000 }, async () => {
  const { page, complaints } = await open('backend=cpu');
  await page.waitForFunction(() => !document.getElementById('train').disabled, { timeout: 120_000 });
  await page.locator('input[name=engine][value=gpu]').click();
  await page.waitForFunction(() => window.residuaDigits.state().backend === 'gpu', { timeout: 240_000 });
  assert.equal((await state(page)).steps, 0);
  assert.deepEqual(complaints, []);
  await page.close();
});
