// The cloth demo as a visitor uses it, on cloths small enough for a software adapter.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { launch } from '../browser.mjs';
import { openDemo } from '../demo-page.mjs';
import { longTest } from '../tier.mjs';

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser.close());

/** Runs `use` with the demo's page, which must complain of nothing. Steps are taken by take() alone. */
async function withCloth(query, use) {
  const { page, complaints, close } = await openDemo(browser, `demo=cloth&${query}`, { paused: true });
  try {
    await use(page);
    assert.deepEqual(complaints, []);
  } finally {
    await close();
  }
}

/** So many steps, one after another whatever the clock says; then the positions. */
const take = (page, count) =>
  page.evaluate(async (count) => {
    const { demo, shell, state } = window.residuaDemos;
    // The shell's loop rests, so that no other step runs.
    shell.paused = false;
    for (let k = 0; k < count; k++) await shell.step();
    shell.paused = true;
    await demo.remember();
    shell.stage.refresh();
    shell.draw(0);
    const { demo: { positions, steps, cost, pins }, failure } = state();
    return { positions: Array.from(positions()), steps, cost, pins, failure };
  }, count);

const choose = (page, name, value) =>
  page.evaluate(({ name, value }) => {
    window.residuaDemos.stage.panel.controllersRecursive().find(({ property }) => property === name).setValue(value);
  }, { name, value });

const largestDifference = (a, b) => Math.max(...a.map((value, k) => Math.abs(value - b[k])));

/** Where a vertex stands on the page, in CSS pixels. */
const onPage = (page, vertex) =>
  page.evaluate((vertex) => {
    const { stage, demo } = window.residuaDemos;
    document.getElementById('picture').scrollIntoView();
    stage.camera.updateMatrixWorld();
    const seen = new stage.three.Vector3(...demo.state().positions().slice(3 * vertex, 3 * vertex + 3)).project(stage.camera);
    const box = stage.canvas.getBoundingClientRect();
    return [box.left + ((seen.x + 1) / 2) * box.width, box.top + ((1 - seen.y) / 2) * box.height];
  }, vertex);

longTest('it falls alike on both engines, in wind too, and the picture is drawn from the solver’s own buffers', async () => {
  const falls = {};
  for (const backend of ['cpu', 'gpu']) {
    await withCloth(`side=10&backend=${backend}`, async (page) => {
      await choose(page, 'wind', 2);
      const fallen = await take(page, 12);
      assert.equal(fallen.failure, null);
      assert.equal(fallen.steps, 12);
      falls[backend] = fallen.positions;
      if (backend === 'cpu') return;
      const drawn = await page.evaluate(() => {
        const { stage, demo, shell } = window.residuaDemos;
        shell.draw(0);
        const { attributes } = stage.scene.getObjectByProperty('isMesh', true).geometry;
        const bound = (attribute) => stage.renderer.backend.get(attribute).buffer?.label ?? null;
        return { position: bound(attributes.position), normal: bound(attributes.normal), stillStart: attributes.position.array[3 * 99 + 1], now: demo.state().positions()[3 * 99 + 1] };
      });
      // Three's own array is as it was at the start: what is drawn comes from elsewhere.
      assert.equal(drawn.stillStart, 0);
      assert.ok(drawn.now < -0.1);
      assert.equal(drawn.normal, 'cloth: normals');
    });
  }
  assert.ok(falls.cpu.some((value, k) => k % 3 === 1 && value < -0.1), 'it has fallen');
  // Twelve steps, each a minimum that is found to 2 %: the engines' conjugate gradients stop alike, and single precision has 1e-7 of 2 m.
  const difference = largestDifference(falls.cpu, falls.gpu);
  console.log(`positions, GPU against CPU: ${difference.toExponential(2)} m`);
  assert.ok(difference < 1e-4);
});

longTest('the other engine goes on from where one was, with the same speeds', async () => {
  await withCloth('side=8&backend=gpu', async (page) => {
    await take(page, 5);
    const before = await take(page, 1);
    const drawn = await page.evaluate(async () => {
      const { stage, shell, useBackend } = window.residuaDemos;
      const { say } = stage;
      let frames = 0;
      // Frames fall while it compiles: what they are drawn from must be there, or WebGPU complains.
      stage.say = (text) => {
        shell.draw(0);
        frames++;
        say.call(stage, text);
      };
      await useBackend('cpu');
      await stage.context.device.queue.onSubmittedWorkDone();
      return { frames, failure: window.residuaDemos.state().failure };
    });
    assert.ok(drawn.frames >= 2);
    assert.equal(drawn.failure, null);
    const after = await take(page, 1);
    const lowest = ({ positions }) => Math.min(...positions.filter((_, k) => k % 3 === 1));
    // Six steps of falling: g h² · 6 more in the seventh, 16 mm; a cloth that had lost its speed would fall by 3 mm.
    const fallen = lowest(before) - lowest(after);
    assert.ok(fallen > 0.012 && fallen < 0.022, `${fallen}`);
  });
});

for (const backend of ['cpu', 'gpu']) {
  (backend === 'gpu' ? longTest : test)(`a vertex is dragged, a click pins and lets go, on the ${backend.toUpperCase()}`, async () => {
    await withCloth(`side=8&backend=${backend}`, async (page) => {
      const { pins, positions: start } = await take(page, 4);
      const vertex = 8 * 5 + 4;
      const [x, y] = await onPage(page, vertex);
      await page.mouse.move(x, y);
      await page.mouse.down();
      // On the GPU a kernel looks for it.
      await page.waitForFunction(() => window.residuaDemos.demo.state().taken);
      await page.mouse.move(x + 40, y - 60);
      await page.waitForFunction(() => window.residuaDemos.demo.state().held);
      const { positions } = await take(page, 6);
      assert.ok(positions[3 * vertex + 1] > start[3 * vertex + 1] + 0.05, 'it is pulled up');
      const [pulledX, pulledY] = await onPage(page, vertex);
      // A grip of 1000 N/m gives way to a cloth of 0.8 kg by 8 mm, 2 pixels; springs that are stretched pull more.
      assert.ok(Math.hypot(pulledX - x - 40, pulledY - y + 60) < 12, `${pulledX - x}, ${pulledY - y}`);
      await page.mouse.up();
      await page.mouse.click(...(await onPage(page, vertex)));
      await page.waitForFunction((pins) => window.residuaDemos.demo.state().pins === pins + 1, {}, pins);
      const pinned = await take(page, 2);
      const still = await take(page, 3);
      // A pin is a spring of 20 kN/m; the cloth weighs 8 N.
      for (let axis = 0; axis < 3; axis++) assert.ok(Math.abs(still.positions[3 * vertex + axis] - pinned.positions[3 * vertex + axis]) < 1e-3);
      await page.mouse.click(...(await onPage(page, vertex)));
      await page.waitForFunction((pins) => window.residuaDemos.demo.state().pins === pins, {}, pins);
    });
  });
}

longTest('a step moves no positions to or from the device', async () => {
  await withCloth('side=20&backend=gpu', async (page) => {
    await take(page, 1);
    const moved = await page.evaluate(async () => {
      const { demo, shell, stage } = window.residuaDemos;
      const { queue } = stage.context.device;
      let largest = 0;
      const write = queue.writeBuffer;
      queue.writeBuffer = (buffer, at, data, ...rest) => {
        largest = Math.max(largest, data.byteLength);
        return write.call(queue, buffer, at, data, ...rest);
      };
      // The shell brings positions now and then, for the case that the device is lost.
      demo.remember = undefined;
      const before = demo.state().positions();
      shell.paused = false;
      for (let k = 0; k < 3; k++) await shell.step();
      shell.paused = true;
      delete queue.writeBuffer;
      return { largest, unchanged: demo.state().positions().every((value, k) => value === before[k]) };
    });
    // Positions are 4,800 bytes; the conditions of a step are 80, and the solver has settings of 3,072.
    assert.ok(moved.largest > 0 && moved.largest < 4800, `${moved.largest} bytes`);
    assert.ok(moved.unchanged);
  });
});
