// The sketch demo as a visitor uses it: with mouse and keys, on the page.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { launch } from '../browser.mjs';
import { openDemo } from '../demo-page.mjs';
import { longTest } from '../tier.mjs';

let browser, page, complaints;

before(async () => {
  browser = await launch();
  ({ page, complaints } = await openDemo(browser, 'demo=sketch', { viewport: { width: 1280, height: 1000 } }));
});
after(() => browser.close());

/** What the demo tells, once nothing is under way. */
async function told() {
  return page.evaluate(async () => {
    const demos = window.residuaDemos;
    // An edit's compile waits in the shell's queue, and its solve behind that.
    for (let quiet = 0; quiet < 3; quiet++) {
      await demos.settled({ ms: 300000 });
      await new Promise((resolve) => setTimeout(resolve, 20));
      if (demos.state().demo.stale || demos.shell.solving) quiet = -1;
    }
    demos.shell.draw(0);
    const { demo, failure, said } = demos.state();
    return { ...demo, pixels: undefined, failure, said };
  });
}

const example = async (name) => {
  await page.evaluate((chosen) => {
    window.residuaDemos.stage.panel.controllers.find(({ property }) => property === 'example').setValue(chosen);
  }, name);
  return told();
};

/** Millimetres to pixels of the page. */
const onPage = (x, y) =>
  page.evaluate(([x, y]) => {
    const { stage } = window.residuaDemos;
    const at = new stage.three.Vector3(x, y, 0).project(stage.camera);
    const box = document.getElementById('picture').getBoundingClientRect();
    return [box.left + ((at.x + 1) / 2) * box.width, box.top + ((1 - at.y) / 2) * box.height];
  }, [x, y]);

async function click(x, y) {
  await page.mouse.click(...(await onPage(x, y)));
  return told();
}

async function drag(from, to) {
  await page.mouse.move(...(await onPage(...from)));
  await page.mouse.down();
  await page.mouse.move(...(await onPage((from[0] + to[0]) / 2, (from[1] + to[1]) / 2)));
  await page.mouse.move(...(await onPage(...to)));
  await told();
  await page.mouse.up();
  return told();
}

async function press(...keys) {
  await page.focus('#picture');
  for (const key of keys) await page.keyboard.press(key);
  return told();
}

const pointOf = ({ sketch }, id) => sketch.points.find((point) => point.id === id);
const apart = (a, b) => Math.hypot(a.x - b.x, a.y - b.y);

test('a linkage is dragged by its crank, and every length holds', async () => {
  const before = await example('four-bar linkage');
  assert.equal(before.told, '1 degree of freedom');
  const crank = before.sketch.points[2], pivot = before.sketch.points[0];
  const after = await drag([crank.x, crank.y], [pivot.x - 5, pivot.y + 40]);
  const moved = pointOf(after, crank.id);
  assert.ok(apart(moved, crank) > 5, 'it has moved');
  // It goes to the nearest place on its circle: straight above and a little to the left.
  assert.ok(Math.abs(Math.atan2(moved.y - pivot.y, moved.x - pivot.x) - Math.atan2(40, -5)) < 0.05);
  for (const { kind, of: [line], value } of after.sketch.constraints) {
    if (kind !== 'distance') continue;
    const { a, b } = after.sketch.curves.find(({ id }) => id === line);
    // Double precision, and what a squared residual can hide of it.
    assert.ok(Math.abs(apart(pointOf(after, a), pointOf(after, b)) - value) < 1e-6);
  }
  const undone = await press('z');
  assert.ok(apart(pointOf(undone, crank.id), crank) < 1e-6, 'undo takes it back');
});

test('lines are drawn, made level by themselves, constrained by keys and told to be too much', async () => {
  await example('empty sheet');
  await press('3');
  await click(-40, -20);
  // Within 3° of level: it becomes so.
  await click(40, -18.5);
  await click(30, 30);
  let now = await press('Escape', '1');
  assert.deepEqual(now.sketch.constraints.map(({ kind }) => kind), ['horizontal']);
  assert.deepEqual([now.sketch.points.length, now.sketch.curves.length, now.tool], [3, 2, 'select']);
  assert.equal(now.freedom, 5);
  // The second line, perpendicular to the first.
  await click(0, -20);
  await click(35, 5);
  now = await press('o');
  assert.equal(now.freedom, 4);
  const [first, second] = now.sketch.curves;
  const [a, b, c] = [pointOf(now, first.a), pointOf(now, second.a), pointOf(now, second.b)];
  assert.ok(Math.abs(a.y - b.y) < 1e-9 && Math.abs(b.x - c.x) < 1e-9);
  // Upright it is already.
  await click((b.x + c.x) / 2, b.y + 0.3 * (c.y - b.y));
  now = await press('v');
  assert.deepEqual(now.redundant.map(({ constraint }) => now.sketch.constraints.find(({ id }) => id === constraint).kind), ['vertical']);
  assert.match(now.said, /Vertical L\d+ follows from /);
  assert.match(now.told, /1 constraint says nothing new/);
});

test('a length is typed, and a second one that contradicts it is told in red', async () => {
  const now = await example('bracket with holes');
  const [bottom] = now.sketch.curves;
  const width = now.sketch.constraints.find(({ kind, of }) => kind === 'distance' && of[0] === bottom.id);
  await page.evaluate(({ id }) => {
    const input = document.getElementById(`value-${id}`);
    input.value = '150';
    input.dispatchEvent(new Event('change'));
  }, width);
  const wide = await told();
  assert.ok(Math.abs(apart(pointOf(wide, bottom.a), pointOf(wide, bottom.b)) - 150) < 1e-9);
  assert.equal(wide.conflicting.length, 0);
  // The bottom line, clear of signs.
  const left = pointOf(wide, bottom.a), right = pointOf(wide, bottom.b);
  await click(left.x + 0.3 * (right.x - left.x), left.y);
  const asked = await press('d');
  assert.equal(asked.sketch.constraints.length, wide.sketch.constraints.length + 1);
  await page.waitForSelector('.sketch-value');
  await page.evaluate(() => {
    document.querySelector('.sketch-value').value = '140';
  });
  await page.keyboard.press('Enter');
  const torn = await told();
  assert.ok(torn.conflicting.includes(width.id) && torn.conflicting.includes(asked.sketch.constraints.at(-1).id));
  assert.match(torn.told, /^Over-constrained/);
  assert.match(torn.said, /contradict each other/);
  assert.ok(await page.evaluate(() => document.querySelectorAll('.sheet .conflicting').length > 0));
});

test('circles and arcs are drawn and made tangent', async () => {
  await example('empty sheet');
  await press('4');
  await click(-20, 0);
  await click(-5, 0);
  await press('3');
  await click(-50, 30);
  await click(20, 38);
  await press('Escape', '1');
  await click(-20, -15);
  await click(10, 36.86);
  let now = await press('t');
  const [circle, line] = now.sketch.curves;
  const [center, a, b] = [circle.center, line.a, line.b].map((id) => pointOf(now, id));
  const off = Math.abs((b.x - a.x) * (center.y - a.y) - (b.y - a.y) * (center.x - a.x)) / apart(a, b);
  assert.ok(Math.abs(off - circle.radius) < 1e-9);
  await press('5');
  await click(40, -20);
  await click(60, -20);
  now = await click(40, 3);
  const arc = now.sketch.curves[2];
  assert.equal(arc.kind, 'arc');
  assert.ok(Math.abs(apart(pointOf(now, arc.center), pointOf(now, arc.end)) - arc.radius) < 1e-9);
});

test('a saved sketch is read again, and a broken one refused with what is wrong', async () => {
  const { sketch } = await example('tangent slot');
  const outcome = await page.evaluate(async (text) => {
    const { demo } = window.residuaDemos;
    demo.files.read(text);
    try {
      demo.files.read('{"points": 3}');
    } catch (error) {
      return error.message;
    }
  }, JSON.stringify(sketch));
  assert.match(outcome, /"points" should be a list/);
  const again = await told();
  assert.deepEqual(again.sketch.curves.map(({ kind }) => kind), sketch.curves.map(({ kind }) => kind));
  assert.deepEqual([again.freedom, again.conflicting.length], [2, 0]);
});

longTest('on the GPU it is solved to what single precision has', async () => {
  await example('empty sheet');
  await press('3');
  await click(-40, -20);
  await click(10, 25);
  await press('Escape', '1');
  await page.evaluate(() => window.residuaDemos.useBackend('gpu'));
  await click(-20, -2);
  await press('d');
  await page.waitForSelector('.sketch-value');
  await page.evaluate(() => {
    document.querySelector('.sketch-value').value = '60';
  });
  await page.keyboard.press('Enter');
  const now = await told();
  const [line] = now.sketch.curves;
  // 60 mm in 24 bits are 4e-6 mm; the length has some ten roundings.
  assert.ok(Math.abs(apart(pointOf(now, line.a), pointOf(now, line.b)) - 60) < 1e-4);
  assert.deepEqual([now.freedom, now.conflicting.length, now.failure], [3, 0, null]);
  assert.match(now.said, /Solved in f32 in /);
});

longTest('in pairs of f32 on the GPU it is solved to more digits, and the page names the arithmetic', async () => {
  await page.evaluate(() => window.residuaDemos.choose('precision', 'f32x2'));
  const { sketch } = await told();
  const [constraint] = sketch.constraints;
  await page.evaluate((id) => {
    const input = document.getElementById(`value-${id}`);
    input.value = '61.7';
    input.dispatchEvent(new Event('change'));
  }, constraint.id);
  const now = await told();
  assert.deepEqual([now.precision, now.freedom, now.failure], ['f32x2', 3, null]);
  assert.match(now.said, /Solved in f32x2 in /);
  const [line] = now.sketch.curves;
  const off = Math.abs(apart(pointOf(now, line.a), pointOf(now, line.b)) - 61.7);
  console.log(`sketch in pairs: ${off.toExponential(1)} mm off`);
  // Steps end below 1e-10 of the sketch’s size, some 80 mm. A point in f32 is a multiple of 4e-6 mm.
  assert.ok(off < 1e-8, `${off}`);
});

test('nothing was complained about', () => assert.deepEqual(complaints, []));
