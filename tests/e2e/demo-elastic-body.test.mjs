// The elastic body as a visitor uses it: it falls, is dragged and thrown, and touches nothing.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { launch } from '../browser.mjs';
import { openDemo, stateOf } from '../demo-page.mjs';

let browser;
before(async () => void (browser = await launch()));
after(() => browser.close());

const onPage = (page, x, y) =>
  page.evaluate(([x, y]) => {
    const { stage } = window.residuaDemos;
    document.getElementById('picture').scrollIntoView({ block: 'nearest' });
    const at = new stage.three.Vector3(x, y, 0).project(stage.camera);
    const box = document.getElementById('picture').getBoundingClientRect();
    return [box.left + ((at.x + 1) / 2) * box.width, box.top + ((1 - at.y) / 2) * box.height];
  }, [x, y]);

const steps = (page, count) => page.evaluate((count) => window.residuaDemos.settled({ steps: count, ms: 120_000 }), count);
const middle = ({ demo: { positions } }) => [0, 1].map((axis) => positions.filter((_, i) => i % 2 === axis).reduce((sum, value) => sum + value) / (positions.length / 2));

for (const [backend, webgpu] of [['cpu', true], ['gpu', true], ['cpu', false]]) {
  test(`it falls, is dragged and thrown, with ${webgpu ? `the engine ${backend}` : 'no WebGPU'}`, async () => {
    const { page, complaints, close } = await openDemo(browser, `demo=elastic-body&size=91 vertices&backend=${backend}`, { webgpu, paused: true, viewport: { width: 800, height: 700 } });
    try {
      const first = await stateOf(page);
      assert.deepEqual([first.backend, first.demo.vertices], [backend, 91]);
      await page.evaluate(() => window.residuaDemos.goOn());
      await steps(page, 5);
      await page.evaluate(() => window.residuaDemos.pause());
      await page.waitForFunction(() => !window.residuaDemos.shell.solving);
      const fallen = await stateOf(page);
      assert.ok(middle(fallen)[1] < middle(first)[1] - 0.01 && fallen.demo.clearance > 0);
      // The pointer takes the body at its middle and moves to the left.
      await page.evaluate(() => window.residuaDemos.choose('gravity', 0));
      const [x, y] = middle(fallen);
      await page.mouse.move(...(await onPage(page, x, y)));
      await page.mouse.down();
      await page.mouse.move(...(await onPage(page, x - 0.2, y + 0.1)));
      await page.mouse.move(...(await onPage(page, x - 0.4, y + 0.1)));
      await page.evaluate(() => window.residuaDemos.goOn());
      await steps(page, 40);
      const dragged = await stateOf(page);
      assert.equal(dragged.demo.held, true);
      await page.mouse.up();
      assert.ok(middle(dragged)[0] < x - 0.1 && dragged.demo.clearance > 0, `${middle(dragged)} after ${x}`);
      await page.focus('#picture');
      await page.keyboard.press('ArrowRight');
      await page.keyboard.press('ArrowRight');
      await steps(page, 10);
      const thrown = await stateOf(page);
      assert.equal(thrown.demo.held, false);
      assert.ok(thrown.demo.clearance > 0 && Number.isFinite(thrown.demo.energy));
      assert.ok(middle(thrown)[0] > middle(dragged)[0] + 0.05, `${middle(thrown)} after ${middle(dragged)}`);
      await page.evaluate(() => window.residuaDemos.choose('stiffness', 2e5));
      await steps(page, 5);
      const stiff = await stateOf(page);
      assert.ok(stiff.demo.clearance > 0 && Number.isFinite(stiff.demo.energy));
      await page.evaluate(() => window.residuaDemos.pause());
      await page.waitForFunction(() => !window.residuaDemos.shell.solving);
      await page.evaluate(() => window.residuaDemos.reset());
      const again = await stateOf(page);
      assert.deepEqual(again.demo.positions, first.demo.positions);
      assert.deepEqual([complaints, again.failure], [[], null]);
    } finally {
      await close();
    }
  });
}
