// The curve fitting demo as a visitor uses it: points are clicked, dragged and taken away, models typed, and every pixel of an image fitted, on either engine.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { launch, listen, url } from '../browser.mjs';

let browser, page;
const complaints = [];

before(async () => {
  browser = await launch();
  page = await browser.newPage();
  listen(page, complaints);
  // A software renderer draws and solves on the same processor: the fewer pixels, the sooner it is solved.
  await page.setViewport({ width: 480, height: 640 });
  await page.goto(new URL('demos/?demo=curve-fitting&backend=cpu', url).href);
  await page.waitForFunction(() => window.residuaDemos !== undefined);
  await page.evaluate(async () => {
    await window.residuaDemos.ready;
    window.control = (property) => window.residuaDemos.stage.panel.controllersRecursive().find((controller) => controller.property === property);
    window.until = async (what) => {
      const began = performance.now();
      for (;;) {
        const state = window.residuaDemos.state();
        if (what(state)) return { ...state, demo: JSON.parse(JSON.stringify(state.demo)) };
        if (performance.now() - began > 60_000) throw new Error(`not in a minute: ${what}, ${JSON.stringify(state)}`);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    };
    document.getElementById('picture').scrollIntoView();
  });
});
after(() => browser.close());

/** Waits until the page's state is so, which a function in text says, and gives the state. */
const until = (what) => page.evaluate((text) => window.until(new Function('state', `return ${text}`)), what);
const settled = (what = 'true') => until(`!state.solving && state.demo.cost !== null && (${what})`);
const placeOf = (point) => page.evaluate((at) => window.residuaDemos.state().demo.clientPlace(at), point);
const truth = { a: 7, tau: 2.2, c: 1 };

/** Estimates are within three and a half standard errors of the truth, which chance exceeds once in two thousand. */
function nearTruth({ parameters }) {
  for (const [name, expected] of Object.entries(truth)) {
    const { value, error } = parameters[name];
    assert.ok(error > 0 && Math.abs(value - expected) < 3.5 * error, `${name}: ${value} ± ${error} for ${expected}`);
  }
}

test('the example is fitted when the page opens, on the GPU to the same parameters as on the CPU', async () => {
  const { demo: cpu, backend } = await settled();
  assert.equal(backend, 'cpu');
  nearTruth(cpu);
  await page.evaluate(() => window.residuaDemos.useBackend('gpu'));
  const { demo: gpu, failure } = await settled('state.backend === "gpu" && state.engines.gpu.iterations >= 0');
  assert.equal(failure, null);
  // Single precision finds a cost's flat floor to the root of 1e-7 of a standard error or so.
  for (const name of Object.keys(truth)) assert.ok(Math.abs(gpu.parameters[name].value - cpu.parameters[name].value) < 0.01 * cpu.parameters[name].error, name);
  await page.evaluate(() => window.residuaDemos.useBackend('cpu'));
});

test('a click adds a point, a drag moves it while the fit follows, dragged out or with Delete it is gone', async () => {
  const before = (await settled('state.backend === "cpu"')).demo;
  const at = await placeOf({ x: 5, y: 5 });
  await page.mouse.click(at.clientX, at.clientY);
  const added = (await settled(`state.demo.points.length === ${before.points.length + 1} && state.demo.cost > 1`)).demo;
  const point = added.points.at(-1);
  assert.ok(Math.abs(point.x - 5) < 0.05 && Math.abs(point.y - 5) < 0.05, JSON.stringify(point));
  assert.ok(added.cost > before.cost + 1);

  const [from, to] = [await placeOf(point), await placeOf({ x: 5, y: 3 })];
  await page.mouse.move(from.clientX, from.clientY);
  await page.mouse.down();
  await page.mouse.move(to.clientX, to.clientY, { steps: 4 });
  const dragged = (await settled(`state.demo.cost < ${added.cost / 1.5}`)).demo;
  await page.mouse.up();
  assert.ok(Math.abs(dragged.points.at(-1).y - 3) < 0.1);

  const box = await page.evaluate(() => ({ ...document.getElementById('picture').getBoundingClientRect().toJSON() }));
  const now = await placeOf((await settled()).demo.points.at(-1));
  await page.mouse.move(now.clientX, now.clientY);
  await page.mouse.down();
  await page.mouse.move(now.clientX, box.bottom - 4, { steps: 3 });
  await page.mouse.up();
  const thrown = (await settled(`state.demo.points.length === ${before.points.length}`)).demo;
  // The same points as at first; each solve ends within its tolerance of 1e-12 of the least cost.
  assert.ok(Math.abs(thrown.cost / before.cost - 1) < 1e-9, `${thrown.cost}, ${before.cost}`);

  await page.focus('#picture');
  await page.keyboard.press('n');
  await page.keyboard.press('ArrowUp');
  const moved = (await settled(`state.demo.points[0].y > ${thrown.points[0].y}`)).demo;
  assert.equal(moved.selected, 0);
  await page.keyboard.press('Delete');
  const fewer = (await settled(`state.demo.points.length === ${before.points.length - 1}`)).demo;
  assert.equal(fewer.selected, -1);
});

/** Puts a model into the field as typing does. */
const type = async (text) => {
  await page.focus('#model-text');
  await page.evaluate(() => document.getElementById('model-text').select());
  await page.keyboard.type(text);
};

test('a typed model is fitted; a broken one says where it is wrong, and the fit from before stays', async () => {
  await type('c + a * 2^(-x / half)');
  const { demo } = await settled('"half" in state.demo.parameters');
  // The same curve in other words: half = tau · ln 2.
  const { value, error } = demo.parameters.half;
  assert.ok(Math.abs(value - truth.tau * Math.LN2) < 3.5 * error, `${value} ± ${error}`);
  await page.keyboard.press('Backspace');
  const { demo: broken } = await until('state.demo.message !== ""');
  assert.match(broken.message, /At character 11: this \( is never closed/);
  assert.deepEqual([broken.text, Object.keys(broken.parameters)], ['c + a * 2^(-x / half)', ['c', 'a', 'half']]);
  assert.equal(await page.evaluate(() => document.getElementById('model-text').getAttribute('aria-invalid')), 'true');
  await type('a + b * x');
  const { demo: line } = await settled('"b" in state.demo.parameters');
  assert.equal(line.message, '');
  assert.ok(line.cost > 10 * demo.cost);
});

test('every pixel of an image is fitted on the CPU and on the GPU, as near the truth as photon noise allows', async () => {
  const fit = async (backend) => {
    await page.evaluate(async (engine) => {
      await window.residuaDemos.useBackend(engine);
      window.control('pixels').setValue('1,000');
      window.control('fitPixels').getValue()();
    }, backend);
    return (await until(`state.demo.batch?.backend === "${backend}" && state.demo.show === "found"`)).demo.batch;
  };
  const cpu = await fit('cpu'), gpu = await fit('gpu');
  for (const batch of [cpu, gpu]) {
    assert.deepEqual([batch.pixels, batch.converged, batch.lost], [1000, 1000, 0], batch.backend);
    // Four standard errors of a root mean square of a thousand around 1, and the few percent that dim pixels are above the bound.
    assert.ok(Math.abs(batch.deviations - 1) < 4 / Math.sqrt(2000) + 0.05, `${batch.deviations}`);
  }
  console.log(`1,000 decays: CPU ${cpu.milliseconds.toFixed(0)} ms, GPU ${gpu.milliseconds.toFixed(0)} ms; errors ${cpu.deviations}, ${gpu.deviations}`);
  // Costs are flat at their minimum: single precision stops a thousandth of a standard error away at most.
  assert.ok(Math.abs(gpu.deviations / cpu.deviations - 1) < 1e-3);
  // The middle of the map is painted in colours of lifetimes, and pressing there shows that pixel's decay.
  const center = await page.evaluate(() => {
    document.getElementById('picture').scrollIntoView();
    const canvas = document.querySelector('.lifetime-map > canvas'), { left, top, width, height } = canvas.getBoundingClientRect();
    const colours = new Set();
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    for (let i = 0; i < data.length; i += 4) colours.add(`${data[i]} ${data[i + 1]} ${data[i + 2]}`);
    return { x: left + width / 2, y: top + height / 2, colours: colours.size };
  });
  assert.ok(center.colours > 100, `${center.colours} colours`);
  await page.mouse.click(center.x, center.y);
  const { demo } = await settled('state.demo.show === "curve" && state.demo.points.length === 24 && "tau" in state.demo.parameters');
  assert.equal(demo.text, 'a * exp(-x / tau) + c');
  assert.ok(demo.parameters.tau.value > 0.5 && demo.parameters.tau.value < 4);
});

test('the page complained of nothing', () => assert.deepEqual(complaints, []));
