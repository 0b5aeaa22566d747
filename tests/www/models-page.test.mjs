// The page of ONNX files, outside of a page: its reader and writer of files, its example, made inputs, and layers by themselves on the CPU.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { MADE } from '../onnx/made.mjs';
import { model } from '../onnx/writer.mjs';
import { cases, fileOf } from '../tfjs/loaded.mjs';
import { folder, mapImports } from './import-map.mjs';

mapImports({ 'residua/tensor': 'tensor.js', 'residua/tensor/onnx': 'tensor-onnx.js', 'residua/tensor/tfjs': 'tensor-tfjs.js' });
const { Device, init } = await import('residua/tensor');
const { loadOnnx } = await import('residua/tensor/onnx');
await init(readFileSync(new URL('wasm-tensor/residua_tensor_bg.wasm', folder)));
const { constantNames, fieldsOf, readFile, withAllOutputs } = await import('../../www/models/onnx-file.js');
const { difference, madeNumbers, openModel, openSizes, refusedBy, runLayers, runWhole, scalarsOf, sizesOf } = await import('../../www/models/runs.js');
const { exampleFile } = await import('../../www/models/example.js');
const device = await Device.create({ backend: 'cpu' });

/** All layers of a file with these feeds. */
async function layersOf(bytes, feeds) {
  const layers = [];
  await runLayers(device, await openModel(bytes), feeds, { onLayer: (index, layer) => void (layers[index] = layer) });
  return layers;
}

test('the example has its nodes, names and opset, and runs: shares that add up to 1', async () => {
  const bytes = exampleFile();
  const { nodes, initializers, outputs, opsets } = readFile(bytes);
  assert.deepEqual([nodes.length, initializers.size, outputs, opsets], [10, 6, ['probabilities'], [{ domain: '', version: 17 }]]);
  const feeds = { picture: { data: madeNumbers({ dtype: 'f32' }, [2, 3, 32, 32]), shape: [2, 3, 32, 32] } };
  const { outputs: [found], loadMs, firstMs, runMs } = await runWhole(device, (await openModel(bytes)).load, feeds);
  assert.deepEqual([found.name, found.shape], ['probabilities', [2, 5]]);
  for (const row of [0, 1]) assert.ok(Math.abs(found.numbers.subarray(5 * row, 5 * row + 5).reduce((sum, value) => sum + value, 0) - 1) < 1e-6);
  assert.ok(new Set(found.numbers).size > 5 && [loadMs, firstMs, runMs].every((ms) => ms > 0));
});

test('layers by themselves give what they give in the whole model', async () => {
  const bytes = exampleFile(), file = readFile(bytes);
  const feeds = { picture: { data: madeNumbers({ dtype: 'f32' }, [1, 3, 32, 32]), shape: [1, 3, 32, 32] } };
  const layers = await layersOf(bytes, feeds);
  const { outputs } = await runWhole(device, (await openModel(withAllOutputs(file))).load, feeds, { runs: 1 });
  assert.equal(outputs.length, 10);
  file.nodes.forEach(({ name, outputs: [output] }, k) => {
    const whole = outputs.find((each) => each.name === output);
    assert.deepEqual(layers[k].shape, whole.shape, name);
    // Fused kernels may add in another order.
    const { difference: far, largest } = difference(layers[k].numbers, whole.numbers);
    assert.ok(far <= 1e-5 * Math.max(1, largest), `${name}: ${far}`);
  });
});

for (const [name, make] of Object.entries(MADE)) {
  test(`each layer of the made model “${name}” is run by itself`, async () => {
    const { file: bytes, feeds } = make();
    const file = readFile(bytes), layers = await layersOf(bytes, feeds);
    assert.equal(layers.length, file.nodes.length);
    for (const [k, layer] of layers.entries()) {
      const { name: node, outputs } = file.nodes[k];
      assert.equal(layer.failure, undefined, node);
      assert.ok(layer.isConstant === true ? constantNames(file).has(outputs[0]) : layer.ms > 0 && layer.numbers.length > 0, node);
    }
  });
}

for (const kind of ['layers', 'graphs']) {
  test(`each layer of the made ${kind} of TensorFlow.js is run by itself, and the last ones give what TensorFlow.js computes`, async () => {
    let count = 0;
    for (const given of cases(kind)) {
      const { json, bytes } = fileOf(given);
      const file = await openModel(json, () => bytes), layers = [];
      const feeds = Object.fromEntries(given.inputs.map(({ name, shape, data }) => [name, { data, shape }]));
      await runLayers(device, file, feeds, { onLayer: (index, layer) => void (layers[index] = layer) });
      for (const [k, layer] of layers.entries()) assert.equal(layer.failure, undefined, `${given.name}: ${file.nodes[k].name}`);
      for (const [k, { outputs }] of file.nodes.entries()) {
        const place = file.outputs.indexOf(outputs[0]);
        if (place < 0 || layers[k].isConstant) continue;
        const expected = given.outputs[place];
        const { difference: far, largest } = difference(layers[k].numbers, Float32Array.from(expected.data.map(Number)));
        // As in the tests of the package, with rounding in other orders.
        assert.ok(far <= 1e-4 * Math.max(1, largest), `${given.name}: ${far}`);
        count++;
      }
    }
    assert.ok(count > 100, `${count}`);
  });
}

test('sizes that a file leaves open are asked for once, by name or place', () => {
  const inputs = [
    { name: 'a', dtype: 'f32', shape: ['batch', 3, '', 'width'] }, { name: 'b', dtype: 'i32', shape: ['batch', 'length'] }, { name: 'c', dtype: 'f32', shape: null },
    { name: 'd', dtype: 'f32', shape: ['batch', 'samples'] }, { name: 'e', dtype: 'i32', shape: [] },
  ];
  const open = openSizes(inputs);
  assert.deepEqual([...open], [['batch', 1], ['a[2]', 64], ['width', 64], ['length', 8], ['samples', 512]]);
  assert.deepEqual(inputs.map((input) => sizesOf(input, open)), [[1, 3, 64, 64], [1, 8], [], [1, 512], []]);
  assert.deepEqual(scalarsOf(inputs).map(({ name }) => name), ['e']);
});

test('made numbers are between −1 and 1, whole ones 0 and 1, the same each time', () => {
  const real = madeNumbers({ dtype: 'f32' }, [10, 20]), whole = madeNumbers({ dtype: 'i32' }, [100]);
  assert.ok(real.length === 200 && real.every((value) => Math.abs(value) <= 1) && real.some((value) => value < 0));
  assert.deepEqual([...new Set(whole)].sort(), [0, 1]);
  assert.deepEqual(madeNumbers({ dtype: 'f32' }, [10, 20]), real);
  assert.equal(madeNumbers({ dtype: 'f32' }, []).length, 1);
});

test('differences see numbers beside NaN, and different lengths', () => {
  assert.deepEqual(difference([1, -3, NaN], [1, -3.5, NaN]), { difference: 0.5, largest: 3.5 });
  assert.deepEqual(difference([Infinity, 2], [Infinity, 2]), { difference: 0, largest: Infinity });
  assert.equal(difference([1], [NaN]).difference, Infinity);
  assert.equal(difference([1], [1, 2]).difference, Infinity);
});

test('what is no file of ONNX is refused, and cut files too', () => {
  const bytes = exampleFile();
  assert.throws(() => readFile(Uint8Array.of(1, 2, 3)), RangeError);
  assert.throws(() => readFile(new Uint8Array(0)), /no graph/);
  assert.throws(() => fieldsOf(new Uint8Array(11).fill(255)), /more than 10 bytes/);
  for (let length = 1; length < 300; length++) assert.throws(() => readFile(bytes.subarray(0, length)), RangeError, `${length}`);
});

test('operators that are not taken are told of all nodes, and other errors as they are', async () => {
  const nodes = Array.from({ length: 12 }, (_, k) => ({ op: k % 3 === 0 ? 'Relu' : `Strange${k % 2}`, domain: k % 3 === 2 ? 'made.up' : '', name: `n${k}`, inputs: [k === 0 ? 'x' : `v${k - 1}`], outputs: [`v${k}`] }));
  const bytes = model({ nodes, inputs: [{ name: 'x', type: 'float', shape: [2] }], outputs: [{ name: 'v11', type: 'float' }] });
  const error = await loadOnnx(bytes, { device }).then(() => assert.fail('it loads'), (thrown) => thrown);
  const { operators, words } = refusedBy(error, readFile(bytes).nodes);
  assert.deepEqual([...operators].sort(), ['Strange0', 'Strange1', 'made.up.Strange0', 'made.up.Strange1']);
  assert.match(words, /node "n1" \(Strange1, opset 17\)/);
  assert.ok(words.length < 800, words);
  assert.equal(refusedBy(new Error('another'), []), null);
});
