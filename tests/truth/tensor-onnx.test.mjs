// The cases of ONNX's own tests of operators (onnx 1.23.2, Apache-2.0), on both engines in a page: those whose operators www/checks/tensors/onnx.js writes as calls of residua/tensor.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { answer, launch, openBlankPage } from '../browser.mjs';
import { hasData, pathOf, readData } from '../shared-data.mjs';
import { longTest } from '../tier.mjs';

const FOLDER = 'tensor/onnx';
/** Operators whose cases the options of the contract say all of, also where they are marked as unspecified: ONNX has other defaults. */
const SPECIFIED = ['GridSample', 'Resize'];
/** Cases with places halfway between two pixels, of which ONNX takes the even one and the contract the lower. */
const DIFFERENT = ['gridsample_nearest', 'gridsample_nearest_align_corners_1_additional_1'];

let browser, blank;
before(async () => {
  browser = await launch();
});
after(() => browser?.close());

async function open(t) {
  if (blank !== undefined) return true;
  if (!hasData(t, `${FOLDER}/cases.json`)) return false;
  blank = await openBlankPage(browser, { load: false });
  const types = { json: 'application/json', bin: 'application/octet-stream' };
  const answers = Object.fromEntries(Object.entries(types).map(([ending, contentType]) => [`/onnx/cases.${ending}`, { contentType, body: readFileSync(pathOf(`${FOLDER}/cases.${ending}`)) }]));
  const end = await answer(blank.page, answers);
  await blank.page.evaluate(async () => {
    window.onnx = await import('/checks/tensors/onnx.js');
    window.tensor = await import('residua/tensor');
    window.cases = await (await fetch('/onnx/cases.json')).json();
    window.numbers = await (await fetch('/onnx/cases.bin')).arrayBuffer();
  });
  await end();
  return true;
}

test('every operator of the cases is written', async (t) => {
  if (!(await open(t))) return;
  const cases = JSON.parse(readData(`${FOLDER}/cases.json`));
  const written = await blank.page.evaluate(() => Object.keys(window.onnx.OPERATORS));
  const all = [...new Set(cases.map(({ op }) => op))].sort();
  assert.deepEqual(all.filter((op) => !written.includes(op)), []);
});

for (const [backend, testOf] of [['gpu', longTest], ['cpu', test]]) {
  describe(`on the ${backend.toUpperCase()}`, () => {
    testOf('the cases of all operators come out', { timeout: 600_000 }, async (t) => {
      if (!(await open(t))) return;
      const { count, wrong } = await blank.page.evaluate(async (backend, specified, different) => {
        const device = await window.tensor.Device.create({ backend });
        // What the contract leaves open is nobody's failure.
        const taken = window.cases.filter(({ name, op, fit }) => op in window.onnx.OPERATORS && (fit !== 'unspecified' || specified.includes(op)) && !different.includes(name));
        const wrong = [];
        for (const given of taken) {
          const words = await window.onnx.runCase(device, given, window.numbers).catch((error) => `${error.code}: ${error.message}`);
          if (words !== null) wrong.push(`${given.name}: ${words}`);
        }
        device.dispose();
        return { count: taken.length, wrong };
      }, backend, SPECIFIED, DIFFERENT);
      console.log(`${count} cases`);
      assert.ok(count > 400, `${count} cases were taken`);
      assert.deepEqual(wrong, []);
      assert.deepEqual(blank.complaints, []);
    });
  });
}
