// The page of models as a visitor uses it: its own net on both engines, layers, files of ONNX and TensorFlow.js that are chosen, and what it refuses.
import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { browserName, launch, listen, url } from '../browser.mjs';
import { MADE } from '../onnx/made.mjs';
import { model, rawData } from '../onnx/writer.mjs';
import { cases, fileOf } from '../tfjs/loaded.mjs';

const shots = fileURLToPath(new URL('../../target/test-screenshots/', import.meta.url));

let browser;
before(async () => void ([browser] = [await launch(), await mkdir(shots, { recursive: true })]));
after(() => browser.close());

async function open(query = '', { webgpu = true } = {}) {
  const page = await browser.newPage();
  page.setDefaultTimeout(240_000);
  const complaints = [];
  listen(page, complaints);
  if (!webgpu) await page.evaluateOnNewDocument(() => Object.defineProperty(Navigator.prototype, 'gpu', { value: undefined }));
  await page.goto(new URL(`models/${query}`, url).href);
  await idle(page);
  return { page, complaints };
}
const idle = (page) => page.waitForFunction(() => window.residuaModels?.state().busy === false);
const state = (page) => page.evaluate(() => window.residuaModels.state());

/** Does what begins a piece of work, and waits for its end; the time between may be shorter than a frame. */
async function through(page, begin) {
  const { ended } = await state(page);
  await begin();
  await page.waitForFunction((ended) => window.residuaModels.state().ended > ended && !window.residuaModels.state().busy, {}, ended);
}

/** Chooses files in the page's field, as a visitor does. */
async function choose(page, files) {
  await through(page, () => page.evaluate((files) => {
    const transfer = new DataTransfer();
    for (const { name, bytes } of files) transfer.items.add(new File([Uint8Array.from(bytes)], name));
    const input = document.getElementById('file');
    input.files = transfer.files;
    input.dispatchEvent(new Event('change'));
  }, files.map(({ name, bytes }) => ({ name, bytes: [...bytes] }))));
}

test('the page’s net runs on both engines, whose outputs agree, and its layers are timed', async () => {
  const { page, complaints } = await open();
  const { name, failure, inputs, outputs, engines, difference, layers } = await state(page);
  assert.deepEqual([name, failure], ['The small net', null]);
  assert.deepEqual([inputs, outputs], [[{ name: 'picture', type: 'float', shape: ['batch', 3, 32, 32] }], [{ name: 'probabilities', type: 'float', shape: ['batch', 5] }]]);
  for (const backend of ['cpu', 'gpu']) assert.ok(engines[backend].runMs > 0, backend);
  // Shares of some 0.2, summed in single precision in other orders.
  assert.ok(difference[0].difference < 1e-5 && difference[0].largest > 0.1, JSON.stringify(difference));
  assert.equal(layers.length, 10);
  await through(page, () => page.locator('#time').click());
  for (const { name: layer, cpu, gpu, apart } of (await state(page)).layers) {
    assert.deepEqual([cpu.failure, gpu.failure, cpu.shape], [null, null, gpu.shape], layer);
    assert.ok(cpu.ms > 0 && gpu.ms > 0 && apart < 1e-4, `${layer}: ${apart}`);
  }
  assert.match(await page.$eval('#layers tr', (row) => row.textContent), /^1Convedges17\[1, 8, 32, 32\]/);
  await page.screenshot({ path: `${shots}models.png`, fullPage: true });
  // Another size of the batch, by the keyboard.
  await page.focus('#sizes input');
  await page.keyboard.press('ArrowUp');
  await through(page, () => page.keyboard.press('Enter'));
  assert.equal((await state(page)).failure, null);
  assert.deepEqual(complaints, []);
  await page.close();
});

test('a file is chosen, with external data in another, and missing data is named', async () => {
  const { page, complaints } = await open('?engines=cpu');
  await choose(page, [{ name: 'encoder.onnx', bytes: MADE.encoder().file }]);
  const encoder = await state(page);
  assert.deepEqual([encoder.name, encoder.failure, encoder.inputs[0].type], ['encoder.onnx', null, 'int64']);
  assert.ok(encoder.layers.some(({ operator }) => operator === 'com.microsoft.Attention'));
  const { bytes, int, text } = await import('../onnx/writer.mjs');
  const entry = (key, value) => bytes(13, [...text(1, key), ...text(2, value)]);
  const external = Uint8Array.from([...int(1, 4), ...int(2, 1), ...text(8, 'w'), ...entry('location', 'weights.bin'), ...int(14, 1)]);
  const file = model({
    nodes: [{ op: 'Add', name: 'sum', inputs: ['x', 'w'], outputs: ['y'] }], initializers: [external], inputs: [{ name: 'x', type: 'float', shape: [4] }], outputs: [{ name: 'y', type: 'float', shape: [4] }],
  });
  await choose(page, [{ name: 'sum.onnx', bytes: file }]);
  assert.match((await state(page)).failure, /weights\.bin.*choose or drop both/);
  await choose(page, [{ name: 'sum.onnx', bytes: file }, { name: 'weights.bin', bytes: rawData('float', [1, 2, 3, 4]) }]);
  const sum = await state(page);
  assert.deepEqual([sum.failure, sum.layers.length], [null, 1]);
  assert.ok(sum.engines.cpu.runMs >= 0 && sum.engines.gpu === undefined);
  assert.deepEqual(complaints, []);
  await page.close();
});

test('a model of TensorFlow.js is chosen with its weights, runs on both engines, and its layers are timed', async () => {
  const { page, complaints } = await open();
  const given = cases('layers').find(({ name }) => name === 'dense layers, one after another');
  const { json, bytes } = fileOf(given);
  await choose(page, [{ name: 'group1-shard1of1.bin', bytes }, { name: 'model.json', bytes: json }]);
  const { name, failure, engines, difference, layers } = await state(page);
  assert.deepEqual([name, failure], ['model.json', null]);
  for (const backend of ['cpu', 'gpu']) assert.ok(engines[backend].runMs > 0, backend);
  assert.ok(difference[0].difference < 1e-5, JSON.stringify(difference));
  await through(page, () => page.locator('#time').click());
  const timed = (await state(page)).layers;
  assert.deepEqual(timed.map(({ operator }) => operator), layers.map(({ operator }) => operator));
  for (const { operator, cpu, gpu } of timed) assert.ok(cpu.failure === null && gpu.failure === null && cpu.ms > 0 && gpu.ms > 0, operator);
  assert.match(await page.$eval('#note', (note) => note.textContent), /layers or nodes/);
  await choose(page, [{ name: 'model.json', bytes: json }]);
  assert.match((await state(page)).failure, /group1-shard1of1\.bin.*choose or drop both/);
  assert.deepEqual(complaints, []);
  await page.close();
});

test('an input of one number is asked for, and decides what the model computes', async () => {
  const { page, complaints } = await open('?engines=cpu');
  await choose(page, [{ name: 'speech.onnx', bytes: MADE.speech().file }]);
  assert.equal((await state(page)).failure, null);
  const labels = await page.$$eval('#sizes label', (fields) => fields.map((field) => field.textContent.trim()));
  assert.deepEqual(labels, ['Value of rate']);
  await page.$eval('#sizes input', (input) => {
    input.value = '16000';
    input.dispatchEvent(new Event('input'));
  });
  await through(page, () => page.locator('#run').click());
  assert.equal((await state(page)).failure, null);
  assert.deepEqual(complaints, []);
  await page.close();
});

test('what is not taken is named by operator, node and opset, and the page goes on', async () => {
  const { page, complaints } = await open('?engines=cpu');
  const unknown = model({ opset: 18, nodes: [{ op: 'Levitate', name: 'up', inputs: ['x'], outputs: ['y'] }], inputs: [{ name: 'x', type: 'float', shape: [2] }], outputs: [{ name: 'y', type: 'float' }] });
  await choose(page, [{ name: 'unknown.onnx', bytes: unknown }]);
  const refused = await state(page);
  assert.match(refused.failure, /node "up" \(Levitate, opset 18\)/);
  assert.deepEqual(refused.layers.map(({ operator, name, isRefused }) => [operator, name, isRefused]), [['Levitate', 'up', true]]);
  assert.match(await page.$eval('#layers', (rows) => rows.textContent), /Levitateup18not taken/);
  await choose(page, [{ name: 'picture.png', bytes: [137, 80, 78, 71, 13, 10] }]);
  assert.notEqual((await state(page)).failure, null);
  assert.equal(await page.$eval('#run', (button) => button.disabled), true);
  await through(page, () => page.locator('#own').click());
  assert.equal((await state(page)).failure, null);
  assert.deepEqual(complaints, []);
  await page.close();
});

test('without WebGPU the CPU runs alone, and the page says so', async () => {
  const { page, complaints } = await open('', { webgpu: false });
  const { failure, engines, difference } = await state(page);
  assert.deepEqual([failure, engines.gpu, difference], [null, undefined, null]);
  assert.match(await page.$eval('#difference', (line) => line.textContent), /^One engine alone: /);
  // An error of the protocol is not one of the page; Firefox reports none here either.
  assert.deepEqual(complaints, [], browserName);
  await page.close();
});
