// Made models of TensorFlow.js on the GPU, in a page: their outputs are those that TensorFlow.js computes, which tests/tfjs/make.mjs keeps.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { launch, openBlankPage } from '../browser.mjs';
import { cases, fileOf } from '../tfjs/loaded.mjs';

let browser, blank;
before(async () => {
  browser = await launch();
  blank = await openBlankPage(browser, { load: false });
});
after(() => browser?.close());

for (const kind of ['layers', 'graphs']) {
  test(`the made models of ${kind} give what they give in TensorFlow.js`, { timeout: 900_000 }, async () => {
    const given = cases(kind).map((each) => {
      const { json, bytes } = fileOf(each);
      return { name: each.name, json: new TextDecoder().decode(json), bytes: [...bytes], inputs: each.inputs, outputs: each.outputs };
    });
    const wrong = await blank.page.evaluate(async (all) => {
      const [{ Device }, { loadTfjs }] = await Promise.all([import('residua/tensor'), import('residua/tensor/tfjs')]);
      const device = await Device.create({ backend: 'gpu' });
      const found = [];
      for (const { name, json, bytes, inputs, outputs } of all) {
        try {
          const model = await loadTfjs(new Blob([json]), { device, weights: () => Uint8Array.from(bytes) });
          const tensors = await model.run(Object.fromEntries(inputs.map((input) => [input.name, { shape: input.shape, data: input.data }])));
          for (const [k, { data, ...expected }] of outputs.entries()) {
            const numbers = await tensors[expected.name ?? model.outputs[k].name].data();
            const largest = data.reduce((most, x) => Math.max(most, Math.abs(x)), 1e-3);
            // As on the CPU 1e-5 of the largest: some 80 roundings. Functions of the GPU are within 2e-6.
            const at = data.findIndex((right, i) => !(Math.abs(numbers[i] - right) <= 1e-5 * largest));
            if (at >= 0 || numbers.length !== data.length) found.push(`${name}: element ${at} of output ${k} is ${numbers[at]}, not ${data[at]}`);
          }
          model.dispose();
        } catch (error) {
          found.push(`${name}: ${error.message}`);
        }
      }
      device.dispose();
      return found;
    }, given);
    assert.deepEqual(wrong, []);
    assert.deepEqual(blank.complaints, []);
  });
}
