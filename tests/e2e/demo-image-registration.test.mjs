// The registration demo as a visitor uses it: the frame is dragged, and found again by the pictures.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { launch } from '../browser.mjs';
import { openDemo } from '../demo-page.mjs';

let browser;
before(async () => void (browser = await launch()));
after(() => browser.close());

/** What the demo tells at rest. */
const settled = (page) =>
  page.evaluate(async () => {
    await window.residuaDemos.settled({ ms: 240_000 });
    const { demo, failure, said, backend } = window.residuaDemos.state();
    return { ...demo, failure, said, backend };
  });

/** A place of the scene on the page. */
const onPage = (page, x, y) =>
  page.evaluate(([x, y]) => {
    const canvas = document.querySelector('.registration .scene canvas');
    canvas.scrollIntoView({ block: 'nearest' });
    const box = canvas.getBoundingClientRect();
    const unit = Math.min(box.width / canvas.width, box.height / canvas.height);
    return [box.left + (box.width - unit * canvas.width) / 2 + x * unit, box.top + (box.height - unit * canvas.height) / 2 + y * unit];
  }, [x, y]);

async function drag(page, from, to) {
  await page.mouse.move(...(await onPage(page, ...from)));
  await page.mouse.down();
  for (const share of [0.5, 1]) await page.mouse.move(...(await onPage(page, ...from.map((value, k) => value + share * (to[k] - value)))));
  await page.mouse.up();
}

for (const backend of ['cpu', 'gpu']) {
  test(`the frame is dragged and found, on the ${backend.toUpperCase()}`, async () => {
    const { page, complaints, close } = await openDemo(browser, `demo=image-registration&backend=${backend}`, { viewport: { width: 1000, height: 800 } });
    try {
      const first = await settled(page);
      assert.equal(first.backend, backend);
      // Noise of 0.02 over 6,912 pixels leaves a tenth of a pixel.
      assert.ok(first.apart < 0.15, `${first.apart} pixels`);
      await drag(page, [first.truth[0], first.truth[3]], [first.truth[0] - 8, first.truth[3] + 5]);
      const moved = await settled(page);
      // The pointer has whole pixels of the page.
      assert.ok(Math.hypot(moved.truth[0] - first.truth[0] + 8, moved.truth[3] - first.truth[3] - 5) < 1, `${moved.truth}`);
      assert.ok(moved.apart < 0.15 && !moved.isLost, `${moved.apart} pixels`);
      assert.match(moved.said, /^Found to .* iterations in .* ms\.$/);
      if (backend === 'cpu') {
        const right = [moved.truth[0] + moved.truth[1], moved.truth[3] + moved.truth[4]];
        await drag(page, right, [right[0] - 4, right[1] + 6]);
        const turned = await settled(page);
        assert.ok(turned.truth[1] < moved.truth[1] - 2 && turned.apart < 0.15, `${turned.truth}: ${turned.apart}`);
        await page.focus('#picture');
        await page.keyboard.press('ArrowRight');
        await page.keyboard.press('[');
        const keyed = await settled(page);
        assert.ok(Math.abs(keyed.truth[0] - turned.truth[0] - 3) < 1e-9 && keyed.apart < 0.15);
        await page.evaluate(() => window.residuaDemos.choose('gain', 0.7));
        const darker = await settled(page);
        assert.ok(Math.abs(darker.tone[0] - 0.7) < 0.01, `${darker.tone}`);
        await page.evaluate(() => window.residuaDemos.reset());
        assert.deepEqual((await settled(page)).truth, first.truth);
      }
      assert.deepEqual([complaints, (await settled(page)).failure], [[], null]);
    } finally {
      await close();
    }
  });
}
