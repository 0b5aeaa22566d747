// What may befall the demos' page: a device that is lost, a tab that is hidden, a neighbour on the same GPU, a long run, files that are too large or broken.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { browserName, launch, url } from '../browser.mjs';
import { openDemo, stateOf } from '../demo-page.mjs';
import { longTest } from '../tier.mjs';

/** Few linear iterations: on a software adapter each takes milliseconds, however small the mesh. */
const BAR = 'demo=as-rigid-as-possible&mesh=bar, 74 vertices&linear=10';

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser.close());

async function withDemo(query, options, use) {
  const { page, complaints, close } = await openDemo(browser, query, options);
  try {
    await use(page, complaints);
  } finally {
    await close();
  }
}

/** Moves the second handle as a drag does, lets some steps pass, pauses and brings the numbers. */
const pull = (page, by, steps = 2) =>
  page.evaluate(
    async (by, steps) => {
      const demos = window.residuaDemos;
      const { demo, stage } = demos;
      demos.goOn();
      const [x, y, z] = demo.state().handles[1].center;
      const onPage = (place) => {
        const seen = new stage.three.Vector3(...place).project(stage.camera);
        const box = stage.canvas.getBoundingClientRect();
        return { clientX: box.left + ((seen.x + 1) / 2) * box.width, clientY: box.top + ((1 - seen.y) / 2) * box.height };
      };
      const [from, to] = [onPage([x, y, z]), onPage([x + by, y, z])];
      demo.pointer.down(from);
      demo.pointer.move(to, stage.pick(to));
      demo.pointer.up();
      await demos.settled({ steps, ms: 120000 });
      demos.pause();
      await demos.settled();
      await demo.remember();
    },
    by, steps,
  );

/**
 * Destroys the device of a demo that is paused. On a software adapter Firefox 153 ends, itself and all its pages, when it has to present a frame of a device
 * that is gone: there the last frame must have been shown. Elsewhere one may be on its way.
 */
async function destroyDevice(page) {
  if (browserName === 'firefox') {
    await page.evaluate(async () => {
      const frames = () => window.residuaDemos.state().frames;
      for (let before = -1; before !== frames(); ) {
        before = frames();
        await new Promise((resolve) => setTimeout(resolve, 300));
      }
    });
  }
  await page.evaluate(() => window.residuaDemos.stage.context.device.destroy());
}

const furthest = (a, b) => a.reduce((most, value, i) => Math.max(most, Math.abs(value - b[i])), 0);

longTest('after its device is lost a demo says so, asks for another and goes on from the last known positions', async () => {
  await withDemo(`${BAR}&backend=gpu`, {}, async (page) => {
    await pull(page, 0.3);
    const before = await stateOf(page);
    await destroyDevice(page);
    await page.waitForFunction(() => /It goes on .* on a new device/.test(document.getElementById('failure').textContent));
    const after = await stateOf(page);
    assert.equal(after.losses, 1);
    assert.match(after.failure, /The GPU device was lost \(destroyed/);
    assert.deepEqual([after.backend, after.renderer, after.drawsFromDevice], ['gpu', 'webgpu', true]);
    assert.deepEqual(after.demo.positions, before.demo.positions);
    // On the new device it solves: nothing but what the next pull asks for moves, and that does.
    await pull(page, 0.2);
    const end = await stateOf(page);
    assert.ok(furthest(end.demo.positions, before.demo.positions) > 0.05, 'the surface follows again');
    const drawn = await page.evaluate(async () => {
      const { frames } = window.residuaDemos.state();
      window.residuaDemos.stage.redraw();
      await new Promise((resolve) => setTimeout(resolve, 1000));
      return window.residuaDemos.state().frames - frames;
    });
    assert.ok(drawn > 0, 'and is drawn');
  });
});

longTest('where no other device is to be had, it goes on with the CPU', async () => {
  await withDemo(`${BAR}&backend=gpu`, {}, async (page) => {
    await pull(page, 0.3);
    const before = await stateOf(page);
    await page.evaluate(() => void (navigator.gpu.requestAdapter = async () => null));
    await destroyDevice(page);
    await page.waitForFunction(() => /goes on .* on the CPU/.test(document.getElementById('failure').textContent));
    const after = await stateOf(page);
    assert.equal(after.backend, 'cpu');
    assert.deepEqual(after.demo.positions, before.demo.positions);
    await pull(page, 0.2);
    assert.ok(furthest((await stateOf(page)).demo.positions, before.demo.positions) > 0.05);
  });
});

test('hidden, a demo neither solves nor draws; shown again it goes on, without making up for the time', async () => {
  await withDemo('demo=developable&subdivisions=3&backend=cpu', {}, async (page) => {
    const outcome = await page.evaluate(async () => {
      const demos = window.residuaDemos;
      const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
      const become = (hidden) => {
        Object.defineProperty(document, 'hidden', { value: hidden, configurable: true });
        document.dispatchEvent(new Event('visibilitychange'));
      };
      const seconds = [];
      demos.demo.frame = (elapsed) => seconds.push(elapsed);
      await demos.settled({ steps: 1 });
      become(true);
      // The step that was under way ends.
      for (let waited = 0; demos.state().solving && waited < 20000; waited += 10) await wait(10);
      const before = demos.state();
      await wait(1500);
      const hidden = demos.state();
      seconds.length = 0;
      become(false);
      await demos.settled({ steps: 2 });
      for (let waited = 0; demos.state().frames === hidden.frames && waited < 20000; waited += 10) await wait(10);
      return { before, hidden, shown: demos.state(), longest: Math.max(...seconds) };
    });
    const { before, hidden, shown, longest } = outcome;
    assert.deepEqual([hidden.solving, hidden.steps], [false, before.steps]);
    // One frame may show what the last step has left.
    assert.ok(hidden.frames <= before.frames + 1, `${hidden.frames - before.frames} frames while hidden`);
    assert.ok(shown.steps > hidden.steps && shown.frames > hidden.frames);
    assert.ok(longest <= 0.1, `a frame of ${longest} s`);
  });
});

longTest('two demos beside each other, each in its frame and one of them a neighbour of a third context, do not disturb each other', async () => {
  const page = await browser.newPage();
  try {
    const home = new URL('demos/', url).href;
    await page.goto(new URL('index.html', url).href);
    const states = await page.evaluate(
      async (home, bar) => {
        const open = async (query) => {
          const frame = Object.assign(document.createElement('iframe'), { src: `${home}?${query}`, width: 400, height: 400 });
          document.body.append(frame);
          await new Promise((resolve) => frame.addEventListener('load', resolve));
          while (frame.contentWindow.residuaDemos === undefined) await new Promise((resolve) => setTimeout(resolve, 20));
          await frame.contentWindow.residuaDemos.ready;
          return frame.contentWindow;
        };
        const both = await Promise.all([open(`${bar}&backend=gpu`), open('demo=developable&subdivisions=1&backend=gpu')]);
        // A second context in the first page: its own device, its own buffers.
        const third = await both[0].eval("import('residua')").then(({ GpuContext }) => GpuContext.create());
        const [bars, sphere] = both.map((window) => window.residuaDemos);
        bars.demo.key({ key: 'ArrowRight' });
        const solved = (demos) => demos.state().engines.gpu.iterations > 0;
        for (let waited = 0; !solved(bars) || !solved(sphere); waited++) {
          if (waited > 9000) throw new Error(`not solved: ${JSON.stringify([bars.state(), sphere.state()])}`);
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
        for (const demos of [bars, sphere]) demos.pause();
        await Promise.all([bars.settled(), sphere.settled()]);
        const apart = new Set([bars.stage.context.device, sphere.stage.context.device, third.device]).size;
        const untouched = third.stats().buffers;
        third.dispose();
        return { apart, untouched, bars: bars.state(), sphere: sphere.state() };
      },
      home, BAR,
    );
    assert.equal(states.apart, 3);
    assert.equal(states.untouched, 0);
    for (const state of [states.bars, states.sphere]) {
      assert.equal(state.failure, null);
      assert.equal(state.losses, 0);
      assert.ok(state.engines.gpu.iterations > 0, `${state.id} has solved`);
    }
  } finally {
    await page.close();
  }
});

longTest('10,000 frames leave no more on the device than the first 5,000', async () => {
  await withDemo(`${BAR}&backend=gpu`, {}, async (page, complaints) => {
    // What a solve and bringing its numbers need is made when they are first done.
    await pull(page, 0.1);
    const outcome = await page.evaluate(async () => {
      const { shell, demo, stage, state, goOn } = window.residuaDemos;
      // A picture of a few pixels: what is counted is what frames leave behind, and a software adapter pays for every pixel.
      stage.renderer.setSize(16, 16, false);
      goOn();
      const counts = () => {
        const { buffers, bufferBytes, pipelines } = state().stats;
        const { geometries, textures } = stage.renderer.info.memory;
        return { buffers, bufferBytes, pipelines, geometries, textures };
      };
      const seen = {};
      for (let frame = 1; frame <= 10000; frame++) {
        // A drag: the handle moves at every fiftieth frame, and a step follows.
        if (frame % 50 === 1) demo.key({ key: frame % 100 === 1 ? 'ArrowRight' : 'ArrowLeft' });
        shell.draw(1 / 60);
        if (frame % 100 === 0) {
          // Nothing piles up in the queue either: what a step reads back comes after all frames before it.
          for (let waited = 0; shell.steps < frame / 100; waited++) {
            if (waited > 15000) throw new Error(`no step follows frame ${frame}: ${JSON.stringify(state())}`);
            await new Promise((resolve) => setTimeout(resolve, 1));
          }
        }
        // Not before a solve has converged: the check of its digits makes kernels of its own, once.
        if (frame === 5000 || frame === 10000) seen[frame] = counts();
      }
      return { seen, frames: shell.frames, steps: shell.steps };
    });
    assert.ok(outcome.frames >= 10000 && outcome.steps >= 100);
    assert.deepEqual(outcome.seen[10000], outcome.seen[5000]);
    assert.deepEqual(complaints, []);
  });
});

test('an OBJ file of 100 MB is refused before it is read, a truncated one with its line, and the demo stays as it was', async () => {
  await withDemo(`${BAR}&backend=cpu`, {}, async (page) => {
    /** Chooses a file in the page's field, or drops it on the picture; tells what the page says, and how many bytes of it were read. */
    const offer = (way, name, contents) =>
      page.evaluate(
        async (way, name, contents) => {
          const parts = typeof contents === 'number' ? Array.from({ length: contents / 1e6 }, () => new Uint8Array(1e6)) : [contents];
          let read = 0;
          const { text } = Blob.prototype;
          Blob.prototype.text = function counted() {
            read += this.size;
            return text.call(this);
          };
          const transfer = new DataTransfer();
          transfer.items.add(new File(parts, name));
          const field = document.getElementById('file');
          if (way === 'choose') {
            field.files = transfer.files;
            field.dispatchEvent(new Event('change'));
          } else {
            document.getElementById('picture').dispatchEvent(new DragEvent('drop', { dataTransfer: transfer, cancelable: true }));
          }
          while (window.residuaDemos.state().failure === null) await new Promise((resolve) => setTimeout(resolve, 5));
          Blob.prototype.text = text;
          return { failure: window.residuaDemos.state().failure, read, shown: document.getElementById('failure').textContent };
        },
        way, name, contents,
      );
    const large = await offer('choose', 'large.obj', 100e6);
    assert.match(large.failure, /large\.obj has 100 MB; this page takes files of up to 64 MB/);
    assert.equal(large.read, 0);
    assert.equal(large.shown, large.failure);

    await page.evaluate(() => window.residuaDemos.reset());
    const truncated = await offer('drop', 'cut.obj', 'v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\nf 1 2 ');
    assert.match(truncated.failure, /cut\.obj: OBJ line 6: a face takes at least three corners/);
    assert.equal((await stateOf(page)).demo.vertices, 74);
    const whole = await page.evaluate(async () => {
      await window.residuaDemos.read('v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n', 'tetrahedron.obj');
      return window.residuaDemos.state();
    });
    assert.equal(whole.failure, null);
    assert.equal(whole.demo.vertices, 4);
    assert.match(whole.said, /tetrahedron\.obj: 4 vertices/);
  });
});
