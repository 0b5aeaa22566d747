// A short soak on both engines in a page: all jobs end, memory is flat, results repeat, and the report is there to be copied.
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

async function open(query, { webgpu = true } = {}) {
  const page = await browser.newPage();
  page.setDefaultTimeout(400_000);
  const complaints = [];
  listen(page, complaints);
  if (!webgpu) await page.evaluateOnNewDocument(() => Object.defineProperty(Navigator.prototype, 'gpu', { value: undefined }));
  await page.goto(new URL(`soak/?${query}`, url).href);
  return { page, complaints };
}
const state = (page) => page.evaluate(() => window.residuaSoak.state());
const ended = (page) => page.waitForFunction(() => window.residuaSoak?.state().ended);

for (const [engine, counts, declare] of [['cpu', 'solves=200&tokens=200&frames=32&compiles=32', test], ['gpu', 'solves=4&tokens=16&frames=4&compiles=2', longTest]]) {
  declare(`a short soak on the ${engine.toUpperCase()} is flat`, { timeout: 500_000 }, async () => {
    const { page, complaints } = await open(`auto&engines=${engine}&${counts}`);
    await ended(page);
    const { results, failure, report } = await state(page);
    assert.equal(failure, null);
    assert.deepEqual(results.map(({ id, backend }) => [id, backend]), ['solves', 'tokens', 'frames', 'compiles'].map((id) => [id, engine]));
    for (const { id, failure: broken, growth, differing, done } of results) {
      assert.equal(broken, undefined, id);
      assert.ok(done > 0, id);
      assert.equal(differing, id === 'solves' || id === 'compiles' ? 0 : null, id);
      // So few steps on a software adapter end before WebAssembly has what it needs.
      assert.ok(engine === 'cpu' ? growth.isFlat : growth.device <= 0, `${id}: ${JSON.stringify(growth)}`);
    }
    assert.match(report, /^residua soak\nDate [^]*Browser [^]*Tokens of a recurrent net, /);
    await page.screenshot({ path: `${shots}soak-${engine}.png`, fullPage: true });
    assert.deepEqual(complaints, []);
    await page.close();
  });
}

test('it is started, stopped and copied by hand, without WebGPU too, and the page says what is missing', { timeout: 500_000 }, async () => {
  const { page, complaints } = await open('solves=100000&tokens=0&frames=0&compiles=nonsense', { webgpu: false });
  await page.waitForFunction(() => window.residuaSoak !== undefined);
  assert.match((await state(page)).failure, /compiles=nonsense/);
  await page.$eval('#compiles', (input) => void (input.value = 0));
  await page.focus('#start');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => /Solves of a curve on the CPU/.test(document.getElementById('note').textContent));
  await page.locator('#stop').click();
  await ended(page);
  const { results, report } = await state(page);
  assert.deepEqual([results.length, results[0].isAborted], [1, true]);
  assert.match(report, /GPU +none: /);
  await page.locator('#copy').click();
  await page.waitForFunction(() => /^(Copied|The report is marked)/.test(document.getElementById('copied').textContent));
  // Now with the other engine, which there is none of.
  await page.$eval('#solves', (input) => void (input.value = 5));
  await page.locator('input[value=cpu]').click();
  await page.locator('#start').click();
  await page.waitForFunction(() => window.residuaSoak.state().ended && window.residuaSoak.state().results.some(({ backend }) => backend === 'gpu'));
  assert.match((await state(page)).results[0].failure, /gpu-unavailable/);
  assert.deepEqual(complaints, []);
  await page.close();
});
