// The real-time demos' page: its shell, as-rigid-as-possible and the developable icosphere, as a visitor uses them, on meshes small enough for a software adapter.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { launch } from '../browser.mjs';
import { openDemo, stateOf } from '../demo-page.mjs';

const SPHERE = 'demo=developable&subdivisions=1';
const BAR = 'demo=as-rigid-as-possible&mesh=bar, 74 vertices&linear=30';

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser.close());

/** Runs `use` with a demo's page, which must complain of nothing. */
async function withDemo(query, options, use) {
  const { page, complaints, close } = await openDemo(browser, query, options);
  try {
    await use(page, complaints);
    assert.deepEqual(complaints, []);
  } finally {
    await close();
  }
}

/** Where a handle stands on the page, in CSS pixels. */
const handleOnPage = (page, index) =>
  page.evaluate((index) => {
    const { stage, demo } = window.residuaDemos;
    const seen = new stage.three.Vector3(...demo.state().handles[index].center).project(stage.camera);
    document.getElementById('picture').scrollIntoView();
    const box = stage.canvas.getBoundingClientRect();
    return { x: box.left + ((seen.x + 1) / 2) * box.width, y: box.top + ((1 - seen.y) / 2) * box.height };
  }, index);

/** Solves until it rests, or for a few steps, and brings the numbers. */
const settle = (page, steps = Infinity) =>
  page.evaluate(async (steps) => {
    await window.residuaDemos.settled({ steps, ms: 120000 });
    window.residuaDemos.pause();
    await window.residuaDemos.settled();
    await window.residuaDemos.demo.remember();
    window.residuaDemos.goOn();
  }, steps);

const distance = (positions, vertex, point) => Math.hypot(...[0, 1, 2].map((d) => positions[3 * vertex + d] - point[d]));

test('the sphere creases on the GPU, and the picture shows it from the solver’s own buffer: nothing is brought back', async () => {
  await withDemo(`${SPHERE}&backend=gpu`, { paused: true }, async (page) => {
    const outcome = await page.evaluate(async () => {
      const { shell, stage, state, demo } = window.residuaDemos;
      const attribute = stage.scene.children.find((object) => object.isMesh).geometry.attributes.position;
      // A canvas can be read in the task that has drawn it.
      const picture = () => {
        shell.draw(0);
        return stage.canvas.toDataURL();
      };
      const before = { picture: picture(), numbers: Array.from(attribute.array) };
      window.residuaDemos.goOn();
      // A step whose time ends while its kernels are compiled moves nothing.
      for (const end = performance.now() + 120_000; performance.now() < end && demo.state().iterations === 0; ) await window.residuaDemos.settled({ steps: 1, ms: 120000 });
      window.residuaDemos.pause();
      await window.residuaDemos.settled();
      const { readbacks } = state().stats;
      for (let frame = 0; frame < 20; frame++) shell.draw(0.016);
      const after = { picture: picture(), numbers: Array.from(attribute.array) };
      return { before, after, drawn: state().stats.readbacks - readbacks, state: state(), iterations: demo.state().iterations };
    });
    assert.equal(outcome.state.renderer, 'webgpu');
    assert.equal(outcome.state.backend, 'gpu');
    assert.equal(outcome.state.drawsFromDevice, true);
    assert.ok(outcome.iterations > 0);
    assert.notEqual(outcome.after.picture, outcome.before.picture, 'the picture has changed');
    assert.deepEqual(outcome.after.numbers, outcome.before.numbers, 'while the numbers on the host have not');
    assert.equal(outcome.drawn, 0, 'drawing reads nothing back');
  });
});

test('the engine is changed in the middle: the other goes on from the same numbers, and the table tells both', async () => {
  await withDemo(`${SPHERE}&backend=gpu`, {}, async (page) => {
    await page.evaluate(() => window.residuaDemos.settled({ steps: 1, ms: 120000 }));
    // On a busy machine the limit of a first solve passes while pipelines are made: it has no cost then.
    await page.waitForFunction(() => Number.isFinite(window.residuaDemos.state().engines.gpu?.cost));
    const gpu = (await stateOf(page)).engines.gpu;
    await page.evaluate(async () => {
      await window.residuaDemos.useBackend('cpu');
      await window.residuaDemos.settled({ steps: 2 });
      window.residuaDemos.pause();
    });
    const { backend, engines, drawsFromDevice } = await stateOf(page);
    assert.equal(backend, 'cpu');
    assert.equal(drawsFromDevice, false);
    // The CPU has gone on, where starting over would have begun at a higher cost; the steps after the figure was read only lower it.
    assert.ok(engines.cpu.cost <= gpu.cost * (1 + 1e-4), `${gpu.cost} on the GPU, then ${engines.cpu.cost} on the CPU`);
    for (const name of ['gpu', 'cpu']) assert.ok(engines[name].iterationMs > 0, `${name} has a time for an iteration`);
    await page.waitForFunction(() => /times as fast/.test(document.getElementById('difference').textContent));
    const rows = await page.evaluate(() => Array.from(document.querySelectorAll('#comparison tr'), (row) => row.textContent));
    assert.ok(rows.length === 2 && rows.every((row) => !row.includes('–')), rows.join(' | '));
  });
});

test('of engines that are chosen while one compiles only the last is compiled, and the page shows the one that is wanted', async () => {
  await withDemo('demo=developable&subdivisions=1&backend=cpu', { paused: true }, async (page, complaints) => {
    const found = await page.evaluate(async () => {
      const { demo, shell, stage } = window.residuaDemos;
      const shown = () => document.querySelector('#engines input:checked').value;
      const compiled = [], seen = [];
      let fail = null, go;
      // Compiles that take as long as the test likes, in place of the demo's.
      demo.compile = (backend) => {
        compiled.push(backend);
        return new Promise((resolve, reject) => {
          go = () => (fail === backend ? reject(new Error('no room')) : resolve());
        });
      };
      const click = (backend) => document.querySelector(`#engines input[value=${backend}]`).click();
      const compiling = async (count) => {
        while (compiled.length < count) await new Promise((resolve) => setTimeout(resolve, 5));
      };
      const settled = () => shell.between(async () => {});
      const tell = () => seen.push([compiled.splice(0).join(), stage.backend, shown(), window.residuaDemos.state().failure]);

      // Six clicks, the last of which is for what is in use.
      click('gpu');
      await compiling(1);
      for (const backend of ['cpu', 'gpu', 'cpu', 'gpu', 'cpu']) click(backend);
      const meanwhile = shown();
      go();
      await compiling(2);
      go();
      await settled();
      tell();
      // Seven, the last of which is for what is being compiled.
      click('gpu');
      await compiling(1);
      for (const backend of ['cpu', 'gpu', 'cpu', 'gpu']) click(backend);
      go();
      await settled();
      tell();
      // What fails leaves the engine of before; what fails and is no longer wanted is not told.
      fail = 'cpu';
      click('cpu');
      await compiling(1);
      click('gpu');
      go();
      await settled();
      tell();
      const failed = window.residuaDemos.useBackend('cpu');
      await compiling(1);
      go();
      await failed;
      tell();
      return { seen, meanwhile };
    });
    assert.equal(found.meanwhile, 'cpu');
    assert.deepEqual(found.seen, [
      ['gpu,cpu', 'cpu', 'cpu', null],
      ['gpu', 'gpu', 'gpu', null],
      ['cpu', 'gpu', 'gpu', null],
      ['cpu', 'gpu', 'gpu', 'no room'],
    ]);
    // In words above; Firefox's protocol has none for an Error on the console.
    assert.equal(complaints.splice(0).length, 1, 'told once');
  });
});

for (const backend of ['gpu', 'cpu']) {
  test(`a handle is dragged and the surface follows, on the ${backend.toUpperCase()}`, async () => {
    await withDemo(`${BAR}&backend=${backend}`, {}, async (page) => {
      await settle(page);
      const start = await stateOf(page);
      assert.equal(start.demo.handles.length, 2);
      const { x, y } = await handleOnPage(page, 1);
      await page.mouse.move(x, y);
      await page.mouse.down();
      for (let step = 1; step <= 5; step++) await page.mouse.move(x + 16 * step, y + 8 * step);
      await page.mouse.up();
      // A software adapter takes a second a step; what is seen after a few is seen at rest.
      await settle(page, backend === 'gpu' ? 4 : Infinity);
      const end = await stateOf(page);
      const [held, dragged] = end.demo.handles;
      assert.ok(distance(dragged.center, 0, start.demo.handles[1].center) > 0.1, 'the handle has moved');
      // The pull is 30, squared 900 times as stiff as an edge: what is left of a bent bar's strain is far below this.
      for (const handle of [held, dragged]) assert.ok(distance(end.demo.positions, handle.vertices[0], handle.center) < 0.02, 'handles are where they are held');
      // Vertices of no handle followed: the ring half way up.
      const middle = 37;
      assert.ok(distance(end.demo.positions, middle, start.demo.positions.slice(3 * middle, 3 * middle + 3)) > 0.01, 'the middle follows');
      assert.ok(Number.isFinite(end.demo.cost) && end.demo.cost > 0);
    });
  });
}

test('a click sets a handle and takes it away, and keys choose, move, turn and remove handles', async () => {
  await withDemo(`${BAR}&backend=cpu`, {}, async (page) => {
    const count = async () => (await stateOf(page)).demo.handles.length;
    const top = await handleOnPage(page, 1), bottom = await handleOnPage(page, 0);
    const middle = { x: (top.x + bottom.x) / 2, y: (top.y + bottom.y) / 2 };
    await page.mouse.click(middle.x, middle.y);
    await page.waitForFunction(() => window.residuaDemos.demo.state().handles.length === 3);
    const added = await handleOnPage(page, 2);
    await page.mouse.click(added.x, added.y);
    assert.equal(await count(), 2);

    await page.focus('#picture');
    await page.keyboard.press('h');
    await page.waitForFunction(() => window.residuaDemos.demo.state().handles.length === 3);
    await page.keyboard.press('n');
    assert.equal((await stateOf(page)).demo.chosen, 0);
    const before = (await stateOf(page)).demo;
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('[');
    await settle(page);
    const after = (await stateOf(page)).demo;
    assert.ok(distance(after.handles[0].center, 0, before.handles[0].center) > 0.02, 'an arrow key moves the chosen handle');
    assert.ok(after.cost > 0, 'and the surface feels it');
    await page.keyboard.press('Delete');
    assert.equal(await count(), 2);
    // With none chosen, the same keys turn the camera.
    await page.keyboard.press('Escape');
    const camera = () => page.evaluate(() => window.residuaDemos.stage.camera.position.toArray());
    const first = await camera();
    await page.keyboard.press('ArrowRight');
    assert.notDeepEqual(await camera(), first);
  });
});

test('the source of a demo is one click away', async () => {
  await withDemo(`${SPHERE}&backend=cpu`, { paused: true }, async (page) => {
    await page.evaluate(() => document.getElementById('source').click());
    await page.waitForFunction(() => document.getElementById('source-text').textContent.includes('export async function open(stage)'));
    const files = await page.evaluate(() => Array.from(document.querySelectorAll('#source-files button'), (button) => button.textContent));
    assert.deepEqual(files, ['developable/demo.js', 'developable/model.js', 'energies/developable.js']);
    assert.match(await page.evaluate(() => document.getElementById('source-link').href), /demos\/developable\/demo\.js$/);
  });
});

test('without WebGPU the CPU solves, WebGL draws where there is any, and the page says so', async () => {
  await withDemo(SPHERE, { webgpu: false }, async (page) => {
    await page.evaluate(() => window.residuaDemos.settled({ steps: 2 }));
    const { backend, renderer, frames, engines } = await stateOf(page);
    assert.equal(backend, 'cpu');
    assert.ok(engines.cpu.iterations > 0);
    // Firefox without a display has no WebGL.
    const webgl = await page.evaluate(() => document.createElement('canvas').getContext('webgl2') !== null);
    assert.equal(renderer, webgl ? 'webgl' : 'none');
    if (webgl) assert.ok(frames > 0);
    else assert.match(await page.evaluate(() => document.getElementById('picture').textContent), /There is no picture/);
    assert.match(await page.evaluate(() => document.getElementById('engine-note').textContent), /No WebGPU here .*the CPU computes/);
    assert.equal(await page.evaluate(() => document.querySelector('[name=engine][value=gpu]').disabled), true);
  });
});
