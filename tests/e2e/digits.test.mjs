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

async function open(query, prepare) {
  const page = await browser.newPage();
  const complaints = [];
  listen(page, complaints);
  await prepare?.(page);
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
  // A pass over 8,000 digits gives some 94 %.
  assert.ok(accuracy > 0.9, `${accuracy} are right, with a loss of ${loss}`);
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
  assert.ok(accuracy > 0.9, `${accuracy} are right`);
  assert.deepEqual(complaints, []);
  await page.close();
});

const isReady = (page) => page.waitForFunction(() => !document.getElementById('train').disabled, { timeout: 120_000 });

test('the engine is changed after a training, and weights are fresh', { timeout: 300_000 }, async () => {
  const { page, complaints } = await open('backend=cpu&epochs=0.3');
  await isReady(page);
  const fresh = await state(page);
  assert.deepEqual([fresh.backend, fresh.steps, fresh.loss], ['cpu', 0, null]);
  await page.locator('#train').click();
  await page.waitForFunction(() => window.residuaDigits.state().epochs >= 0.3 && !window.residuaDigits.state().training, { timeout: 120_000 });
  // Three tenths of a pass give some 80 %, fresh weights some 10 %.
  assert.ok((await state(page)).accuracy > fresh.accuracy + 0.3, `${(await state(page)).accuracy} after ${fresh.accuracy}`);
  await page.locator('input[name=engine][value=gpu]').click();
  await page.waitForFunction(() => window.residuaDigits.state().backend === 'gpu', { timeout: 240_000 });
  const { steps, epochs, loss, accuracy } = await state(page);
  assert.deepEqual([steps, epochs, loss], [0, 0, null]);
  // Weights are the same numbers on both engines; of 2,000 digits a few may be read otherwise where two logits round alike.
  assert.ok(Math.abs(accuracy - fresh.accuracy) < 5 / 2000, `${accuracy}, on the CPU ${fresh.accuracy}`);
  assert.deepEqual(complaints, []);
  await page.close();
});

longTest('after the GPU was lost the page says so, and starts over on a new device', { timeout: 300_000 }, async () => {
  const { page } = await open('backend=gpu');
  await isReady(page);
  await page.evaluate(() => window.residuaDigits.device().gpu.destroy());
  await page.waitForFunction(() => !document.getElementById('failure').hidden, { timeout: 60_000 });
  assert.match(await page.$eval('#failure', (line) => line.textContent), /The GPU was lost \(destroyed\).*“Start over” takes a new device/);
  await page.locator('#reset').click();
  await page.waitForFunction(() => document.getElementById('failure').hidden && !document.getElementById('train').disabled, { timeout: 120_000 });
  await page.locator('#train').click();
  await page.waitForFunction(() => window.residuaDigits.state().steps > 0, { timeout: 60_000 });
  assert.equal((await state(page)).backend, 'gpu');
  await page.close();
});

test('after an engine that cannot start, the page trains on the one before', { timeout: 300_000 }, async () => {
  const { page } = await open('backend=cpu', (page) => page.evaluateOnNewDocument(() => {
    Object.defineProperty(navigator.gpu, 'requestAdapter', { value: async () => null });
  }));
  await isReady(page);
  await page.locator('input[name=engine][value=gpu]').click();
  await page.waitForFunction(() => !document.getElementById('failure').hidden, { timeout: 60_000 });
  assert.match(await page.$eval('#failure', (line) => line.textContent), /gpu-unavailable/);
  assert.equal(await page.$eval('input[name=engine]:checked', (input) => input.value), 'cpu');
  assert.equal((await state(page)).backend, 'cpu');
  await page.locator('#train').click();
  await page.waitForFunction(() => window.residuaDigits.state().steps > 0, { timeout: 60_000 });
  await page.locator('#reset').click();
  await page.waitForFunction(() => window.residuaDigits.state().steps === 0 && document.getElementById('failure').hidden, { timeout: 60_000 });
  await page.close();
});

test('a training that is started over stays ended, also where Train is clicked meanwhile', { timeout: 300_000 }, async () => {
  const { page, complaints } = await open('backend=cpu');
  await isReady(page);
  await page.locator('#train').click();
  await page.waitForFunction(() => window.residuaDigits.state().steps > 0, { timeout: 60_000 });
  await page.evaluate(() => {
    document.getElementById('reset').click();
    document.getElementById('train').click();
  });
  await page.waitForFunction(() => window.residuaDigits.state().steps === 0, { timeout: 60_000 });
  await isReady(page);
  assert.equal((await state(page)).training, false);
  assert.deepEqual(complaints, []);
  await page.close();
});

test('buttons that need the digits wait for them', { timeout: 120_000 }, async () => {
  let resolve;
  const asked = new Promise((settle) => void (resolve = settle));
  const { page, complaints } = await open('backend=cpu', async (page) => {
    await page.setRequestInterception(true);
    page.on('request', (request) => {
      if (!request.url().endsWith('digits.bin')) return void request.continue();
      resolve(() => request.continue());
    });
  });
  const release = await asked;
  const disabled = () => page.$$eval('button', (buttons) => buttons.filter((button) => button.disabled).map(({ id }) => id));
  assert.deepEqual(await disabled(), ['train', 'reset', 'clear', 'sample']);
  release();
  await isReady(page);
  assert.deepEqual(await disabled(), []);
  await page.locator('#sample').click();
  await page.waitForFunction(() => window.residuaDigits.state().reading !== null, { timeout: 60_000 });
  assert.deepEqual(complaints, []);
  await page.close();
});
