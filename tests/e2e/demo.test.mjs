// The demo's page, as `cargo xtask demo` and a visitor use it.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { launch, listen, url } from '../browser.mjs';
import { longTest } from '../tier.mjs';

const root = fileURLToPath(new URL('../../', import.meta.url));
let browser, page;
const complaints = [];

before(async () => {
  browser = await launch();
  page = await browser.newPage();
  listen(page, complaints, () => `${page.url()}: `);
  await page.goto(new URL('demo/', url).href);
  await page.waitForFunction(() => window.residuaDemo !== undefined);
});
after(() => browser.close());

const run = (backend, obj, iterations, form = 'problem') =>
  page.evaluate(
    async ({ backend, obj, iterations, form }) => {
      try {
        return await window.residuaDemo.run({ obj, backend, iterations, form });
      } catch (error) {
        return { message: error.message };
      }
    },
    { backend, obj, iterations, form },
  );

longTest('both backends make the icosphere more developable, and the pictures show it', async () => {
  const cpu = await run('cpu', null, 30);
  const gpu = await run('gpu', null, 30);
  for (const { figures, message } of [cpu, gpu]) {
    assert.equal(message, undefined);
    assert.equal(figures.vertices, 2562);
    assert.ok(figures.finalCost < figures.initialCost, `${figures.backend}: ${figures.initialCost} to ${figures.finalCost}`);
  }
  assert.equal(gpu.figures.backend, 'gpu');
  // The same cost in single and in double precision, before their paths part.
  const difference = Math.abs(gpu.figures.initialCost / cpu.figures.initialCost - 1);
  console.log(`initial cost, GPU against CPU: ${difference.toExponential(2)}`);
  assert.ok(difference < 1e-5);
  const pictures = await page.evaluate(async () => [await window.residuaDemo.render('before'), await window.residuaDemo.render('after')]);
  for (const picture of pictures) assert.match(picture, /^data:image\/png;base64,.{2000}/);
  assert.notEqual(pictures[0], pictures[1]);
  assert.equal(gpu.obj.match(/^v /gm).length, 2562);
});

test('the energy written over params costs the same as over index arrays', async () => {
  const problem = await run('cpu', null, 1, 'problem');
  const params = await run('cpu', null, 1, 'params');
  assert.equal(params.message, undefined);
  assert.equal(params.figures.residuals, problem.figures.residuals);
  // Double precision, summed in another order: 8e3 terms of 1e-16 each.
  assert.ok(Math.abs(params.figures.initialCost / problem.figures.initialCost - 1) < 1e-12);
});

test('a broken OBJ file is refused with the number of its line', async () => {
  const { message } = await run('cpu', 'v 0 0 0\nv 1 0 0\nv 0 one 0\nf 1 2 3\n', 1);
  assert.match(message, /line 3\b/);
});

longTest('the meshes of the collection lose cost on the GPU', async () => {
  const folder = `${root}../shared/data/meshes`;
  if (!existsSync(folder)) {
    console.log(`data absent: the meshes of the collection lose cost on the GPU: ${folder}`);
    return;
  }
  for (const file of readdirSync(folder).filter((name) => name.endsWith('.obj'))) {
    // One after another: they share the page's device.
    const { figures, message } = await run('gpu', readFileSync(`${folder}/${file}`, 'utf8'), 5);
    assert.equal(message, undefined, file);
    assert.ok(figures.finalCost < figures.initialCost, `${file}: ${figures.initialCost} to ${figures.finalCost}`);
  }
});

test('the page complained of nothing', () => assert.deepEqual(complaints, []));
