/** Loaders, the loop of a training, and checkpoints. On the CPU engine. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Device, loadSafetensors, Random, saveSafetensors } from '../../pkg-template/dist/tensor.js';
import { AdamW, BatchNorm, compileStep, DataLoader, fit, loadCheckpoint, Muon, OptimizerGroup, samples, saveCheckpoint, schedule, Sgd, WeightAverage } from '../../pkg-template/dist/tensor-train.js';
import { permutation } from '../../pkg-template/dist/tensor/train/shuffle.js';

let device;
before(async () => void (device = await Device.create({ backend: 'cpu' })));
after(() => device.dispose());

const refused = (message) => (error) => error.code === 'invalid-argument' && (message.test(error.message) || assert.fail(error.message));

/** The samples' places in the batches of the epoch that is left. */
async function epochOf(loader) {
  const batches = [];
  for await (const { inputs } of loader) batches.push([...inputs.rows]);
  return batches;
}
const rowsLoader = (count, options) => new DataLoader({ rows: samples.rows(count) }, options);
const ascending = (count) => Array.from({ length: count }, (_, k) => k);
const sorted = (numbers) => numbers.flat().sort((a, b) => a - b);

test('an epoch has each sample once: in order, or in an order of its own that the seed decides', async () => {
  assert.deepEqual(await epochOf(rowsLoader(6, { batch: 2 })), [[0, 1], [2, 3], [4, 5]]);
  const loader = rowsLoader(1000, { batch: 10, shuffle: true, seed: 7 });
  const [first, second] = [await epochOf(loader), await epochOf(loader)];
  assert.equal(loader.epoch, 2);
  for (const epoch of [first, second]) assert.deepEqual(sorted(epoch), ascending(1000));
  assert.notDeepEqual(first, second);
  assert.deepEqual(await epochOf(rowsLoader(1000, { batch: 10, shuffle: true, seed: 7n + 2n ** 64n })), first);
  assert.notDeepEqual(await epochOf(rowsLoader(1000, { batch: 10, shuffle: true, seed: 8 })), first);
});

test('each sample comes to each place about as often', () => {
  const [epochs, count] = [6000, 6];
  const seen = Array.from({ length: count }, () => Array.from({ length: count }, () => 0));
  for (let epoch = 0; epoch < epochs; epoch++) permutation(3n, epoch, count).forEach((row, place) => void (seen[row][place] += 1));
  // Binomial with a mean of 1,000 and a standard deviation of 29: five of them.
  for (const times of seen.flat()) assert.ok(Math.abs(times - epochs / count) < 145, `${times}`);
});

test('samples that fill no batch are left out, or a smaller batch with its size', async () => {
  const dropping = rowsLoader(7, { batch: 3 });
  assert.deepEqual([dropping.batches, await epochOf(dropping)], [2, [[0, 1, 2], [3, 4, 5]]]);
  const keeping = rowsLoader(7, { batch: 3, last: 'keep' });
  const seen = [];
  for await (const { inputs, sizes, size } of keeping) seen.push([[...inputs.rows], sizes, size]);
  assert.deepEqual(seen, [[[0, 1, 2], { batch: 3 }, 3], [[3, 4, 5], { batch: 3 }, 3], [[6], { batch: 1 }, 1]]);
  assert.equal(keeping.inputs.rows.shape[0].name, 'batch');
  // Where none is left over there is no Dim, and a run needs no sizes.
  for await (const batch of rowsLoader(6, { batch: 3, last: 'keep' })) assert.equal('sizes' in batch, false);
  assert.deepEqual(await epochOf(rowsLoader(2, { batch: 3, last: 'keep' })), [[0, 1]]);
  // Of a shuffled epoch other samples are left out in each.
  const shuffled = rowsLoader(7, { batch: 3, shuffle: true });
  const left = new Set();
  for (let k = 0; k < 40; k++) {
    const given = (await epochOf(shuffled)).flat();
    left.add(ascending(7).find((row) => !given.includes(row)));
  }
  assert.ok(left.size > 3, `${[...left]}`);
});

test('columns of every kind of array keep their samples together', async () => {
  const data = {
    list: [10, 11, 12, 13],
    bytes: samples.array(Uint8Array.from({ length: 8 }, (_, k) => k), [2]),
    floats: new Float32Array([0.5, 1.5, 2.5, 3.5]),
    doubles: samples.array(new Float64Array([0.1, 1.1, 2.1, 3.1]), [], 'f16'),
    words: samples.array([5, 6, 7, 8], [], 'u32'),
    flags: samples.array([0, 1, 0, 1], [], 'bool'),
  };
  const loader = new DataLoader(data, { batch: 3, shuffle: true, seed: 5 });
  assert.deepEqual(Object.values(loader.inputs).map(({ dtype, shape }) => [dtype, shape]), [['f32', [3]], ['u8', [3, 2]], ['f32', [3]], ['f16', [3]], ['u32', [3]], ['bool', [3]]]);
  for await (const { inputs } of loader) {
    const rows = [...inputs.list].map((number) => number - 10);
    assert.deepEqual([...inputs.bytes], rows.flatMap((row) => [2 * row, 2 * row + 1]));
    assert.deepEqual([...inputs.floats], rows.map((row) => row + 0.5));
    assert.deepEqual([...inputs.doubles], rows.map((row) => [0.1, 1.1, 2.1, 3.1][row]));
    assert.deepEqual([...inputs.words], rows.map((row) => row + 5));
  }
});

test('files give the same samples as their bytes, from an offset on', async () => {
  const numbers = Float32Array.from({ length: 12 }, (_, k) => k / 4);
  const bytes = new Uint8Array(5 + 48 + 2);
  bytes.set(new Uint8Array(numbers.buffer), 5);
  for (const source of [new Blob([bytes]), bytes, bytes.buffer, new DataView(bytes.buffer)]) {
    const column = samples.file(source, { dtype: 'f32', shape: [3], byteOffset: 5, count: 4 });
    assert.equal(column.count, 4);
    assert.deepEqual([...(await column.read(Int32Array.of(2, 3, 0)))], [...numbers.slice(6, 12), ...numbers.slice(0, 3)]);
  }
  const words = samples.file(new Blob([Int32Array.of(-1, 5)]), { dtype: 'i32' });
  assert.deepEqual([words.count, [...(await words.read(Int32Array.of(1, 0)))]], [2, [5, -1]]);
  assert.throws(() => samples.file(bytes, { dtype: 'f32', byteOffset: 5 }), refused(/^samples\.file: source: got 55 bytes; takes 5 and a multiple of 4/));
  assert.throws(() => samples.file(bytes, { dtype: 'f32', count: 14 }), refused(/^samples\.file: source: got 55 bytes; takes 56/));
});

test('items are read by a function, one batch ahead', async () => {
  const asked = [];
  const column = samples.of(['a', 'b', 'c', 'd', 'e', 'f'], { dtype: 'u8', shape: [2] }, async (item, row) => {
    asked.push(row);
    await new Promise((resolve) => setTimeout(resolve, 1));
    return [row, item.charCodeAt(0)];
  });
  const loader = new DataLoader({ x: column }, { batch: 2 });
  for await (const { inputs } of loader) {
    assert.deepEqual([...inputs.x], [0, 97, 1, 98]);
    assert.deepEqual(asked, [0, 1, 2, 3]);
    break;
  }
  // What was read ahead was not given.
  assert.equal(loader.state.batch, 1);
  const wrong = new DataLoader({ x: samples.of([1], { dtype: 'u8', shape: [2] }, () => [1]) }, { batch: 1 });
  await assert.rejects(wrong.read().next(), refused(/^samples\.of: sample 0: got 1 numbers; takes 2/));
  const failing = new DataLoader({ x: samples.of([1, 2], { dtype: 'u8', shape: [] }, (item) => { if (item === 2) throw new Error('gone'); return [item]; }) }, { batch: 1 });
  const reading = failing.read();
  await reading.next();
  await new Promise((resolve) => setTimeout(resolve, 5));
  await assert.rejects(reading.next(), /gone/);
  assert.throws(() => samples.pictures([new Blob()], { height: 2, width: 2 }), refused(/^samples\.pictures: nothing decodes pictures here/));
});

test('a loader tells its progress, and goes on in the middle of an epoch', async () => {
  const seen = [];
  const options = { batch: 4, shuffle: true, seed: 11, last: 'keep' };
  const whole = await epochOf(rowsLoader(10, options));
  const loader = rowsLoader(10, { ...options, onProgress: (done, total) => seen.push([done, total]) });
  let state;
  for await (const { inputs } of loader) {
    assert.deepEqual([...inputs.rows], whole[0]);
    state = JSON.parse(JSON.stringify(loader.state));
    break;
  }
  const other = rowsLoader(10, options);
  other.restore(state);
  assert.deepEqual(await epochOf(other), whole.slice(1));
  assert.deepEqual(await epochOf(loader), whole.slice(1));
  assert.deepEqual(await epochOf(loader), await epochOf(other));
  assert.deepEqual(seen.slice(0, 4), [[4, 10], [8, 10], [10, 10], [4, 10]]);
  for (const [wrong, message] of [[{ ...state, batch: 3 }, /^restore: state\.batch: got 3; takes a whole number from 0 to 2$/], [{ ...state, epoch: -1 }, /^restore: state\.epoch/], [null, /^restore: state: got null/]]) assert.throws(() => other.restore(wrong), refused(message));
  for (const change of [{ batch: 5 }, { seed: 12 }, { shuffle: false }, { last: 'drop' }]) assert.throws(() => rowsLoader(10, { ...options, ...change }).restore({ ...state, batch: 0 }), refused(/^restore: state\.order/));
  assert.throws(() => rowsLoader(11, options).restore(state), refused(/^restore: state\.order/));
});

test('wrong loaders are refused by name', () => {
  const x = samples.rows(4);
  for (const [call, message] of [
    [() => new DataLoader({}, { batch: 1 }), /^DataLoader: columns: got none; takes one or more$/],
    [() => new DataLoader(null, { batch: 1 }), /^DataLoader: columns: got null/],
    [() => new DataLoader({ x }), /^DataLoader: options: got undefined/],
    [() => new DataLoader({ x }, { batch: 0 }), /^DataLoader: batch: got 0/],
    [() => new DataLoader({ x }, { batch: 5 }), /^DataLoader: batch: got 5 with 4 samples; takes at most 4/],
    [() => new DataLoader({ x, y: [1, 2] }, { batch: 1 }), /^DataLoader: columns\.y: got 2 samples; takes 4, as 'x' has$/],
    [() => new DataLoader({ x: 5 }, { batch: 1 }), /^DataLoader: columns\.x: got 5; takes samples/],
    [() => new DataLoader({ x: null }, { batch: 1 }), /^DataLoader: columns\.x: got null/],
    [() => new DataLoader({ x: { ...x, count: 1.5 } }, { batch: 1 }), /^DataLoader: columns\.x: got an object; takes samples/],
    [() => new DataLoader({ x: { ...x, dtype: 'f8' } }, { batch: 1 }), /got "f8"/],
    [() => new DataLoader({ x: [] }, { batch: 1 }), /^DataLoader: columns: got no samples/],
    [() => new DataLoader({ x }, { batch: 1, seed: 0.5 }), /^DataLoader: seed: got 0\.5/],
    [() => new DataLoader({ x }, { batch: 1, shuffle: 1 }), /^DataLoader: shuffle: got 1/],
    [() => new DataLoader({ x }, { batch: 1, last: 'pad' }), /^DataLoader: last: got "pad"/],
    [() => new DataLoader({ x }, { batch: 1, onProgress: 1 }), /^DataLoader: onProgress: got 1/],
    [() => new DataLoader({ x }, { size: 1 }), /unknown option "size"/],
    [() => samples.array([1, 2, 3], [2]), /^samples\.array: data: got 3 numbers; takes a multiple of 2/],
    [() => samples.array('abc'), /^samples\.array: data: got "abc"/],
    [() => samples.array([1], [0]), /^samples\.array: shape\[0\]: got 0/],
    [() => samples.array([1], [], 'c64'), /^samples\.array: dtype: got "c64"/],
    [() => samples.file('x', { dtype: 'u8' }), /^samples\.file: source: got "x"/],
    [() => samples.file(new Blob(), { dtype: 'u8' }), /^samples\.file: source: got 0 bytes/],
    [() => samples.file(new Blob(), { dtype: 'f16' }), /^samples\.file: dtype: got "f16"/],
    [() => samples.of([], { dtype: 'u8', shape: [] }, () => [1]), /^samples\.of: items: got an array of 0/],
    [() => samples.of([1], { dtype: 'u8', shape: [] }), /^samples\.of: read: got undefined/],
    [() => samples.rows(0), /^samples\.rows: count: got 0/],
  ]) assert.throws(call, refused(message), String(call));
});

// Training.

const POINTS = 50;
const xs = Float32Array.from({ length: 2 * POINTS }, (_, k) => Math.sin(1.3 * k + (k % 2)));
const ys = Float32Array.from({ length: POINTS }, (_, k) => 2 * xs[2 * k] - xs[2 * k + 1] + 0.5);

async function line(options = {}) {
  const weights = { w: device.zeros([2, 1]), b: device.zeros([1]) };
  const loader = new DataLoader({ x: samples.array(xs, [2]), y: ys }, { batch: 8, shuffle: true, seed: 3, last: 'keep', ...options });
  const step = await compileStep(new AdamW(weights, { rate: 0.05, weightDecay: 0 }), loader.inputs, ({ x, y }) => {
    const difference = x.matmul(weights.w).add(weights.b).flatten().sub(y);
    return { loss: difference.square().mean(), magnitude: difference.abs().mean() };
  });
  return { weights, loader, step };
}

test('a fit finds a line, and reports the means of each epoch over its samples', async () => {
  const { weights, loader, step } = await line();
  const epochs = [];
  const reports = await fit(step, loader, { epochs: 60, onEpoch: (report) => void epochs.push(report) });
  assert.deepEqual(epochs, reports);
  assert.deepEqual(reports.map(({ epoch, batches, steps }) => [epoch, batches, steps]), Array.from({ length: 60 }, (_, k) => [k + 1, 7, 7 * (k + 1)]));
  assert.ok(reports.every(({ seconds }) => seconds >= 0));
  const [w, b] = await device.read(weights.w, weights.b);
  for (const [found, expected] of [[w[0], 2], [w[1], -1], [b[0], 0.5]]) assert.ok(Math.abs(found - expected) < 1e-3, `${found}`);
  assert.ok(reports.at(-1).means.loss < 1e-6 && reports[0].means.loss > 1);
});

test('means are those of samples where the last batch is smaller, and batches are reported in order', async () => {
  const weights = [device.tensor([1])];
  const step = await compileStep(new Sgd(weights, { rate: 0 }), new DataLoader({ x: [1, 2, 3, 4, 10] }, { batch: 2, last: 'keep' }).inputs, ({ x }) => x.mean().mul(weights[0].sum()));
  const seen = [];
  const [{ means }] = await fit(step, new DataLoader({ x: [1, 2, 3, 4, 10] }, { batch: 2, last: 'keep' }), { epochs: 1, onBatch: (report) => void seen.push(report) });
  assert.deepEqual(means, { loss: 4 });
  assert.deepEqual(seen, [1.5, 3.5, 10].map((loss, k) => ({ epoch: 1, batch: k + 1, steps: k + 1, values: { loss } })));
});

test('a fit takes batches of any kind, and leaves the page its turns', async () => {
  const { step, loader, weights } = await line({ batch: 50 });
  let turns = 0;
  const timer = setInterval(() => void (turns += 1), 1);
  const all = await fit(step, [{ inputs: { x: xs, y: ys } }], { epochs: 1000 });
  clearInterval(timer);
  assert.equal(all.length, 1000);
  assert.ok(turns > 2, `${turns} turns`);
  assert.ok(Math.abs((await weights.b.item()) - 0.5) < 1e-3);
  await assert.rejects(fit(step, loader[Symbol.asyncIterator](), { epochs: 2 }), refused(/^fit: data: got no batch in epoch 2; takes a batch or more in each epoch/));
});

test('a fit ends where onEpoch returns true, and with its signal between two runs', async () => {
  const { step, loader, weights } = await line();
  assert.equal((await fit(step, loader, { epochs: Infinity, onEpoch: async ({ epoch }) => epoch === 3 })).length, 3);
  const control = new AbortController();
  await assert.rejects(fit(step, loader, { epochs: Infinity, signal: control.signal, onBatch: ({ epoch, batch }) => void (epoch === 2 && batch === 1 && control.abort()) }), { code: 'aborted' });
  // Each batch that was given was a step: another fit goes on there.
  const { epoch, batch } = loader.state;
  assert.equal(step.steps, 7 * epoch + batch);
  assert.ok(epoch >= 4);
  await fit(step, loader, { epochs: 1 });
  assert.equal(step.steps, 7 * (epoch + 1));
  const before = await weights.w.data();
  await assert.rejects(fit(step, loader, { epochs: 1, signal: AbortSignal.abort() }), { code: 'aborted' });
  assert.deepEqual(await weights.w.data(), before);
  await assert.rejects(fit(step, loader, { epochs: 1, onEpoch: () => { throw new TypeError('mine'); } }), TypeError);
  await assert.rejects(fit(step, loader, { epochs: 1, onBatch: () => { throw new TypeError('mine'); } }), TypeError);
});

test('an abort ends a fit that waits for data', async () => {
  const weights = [device.tensor([1])];
  const control = new AbortController();
  const never = samples.of([1], { dtype: 'f32', shape: [] }, (item, row, signal) => new Promise((resolve) => signal.addEventListener('abort', () => resolve([1]))));
  const loader = new DataLoader({ x: never }, { batch: 1 });
  const step = await compileStep(new Sgd(weights), loader.inputs, ({ x }) => x.mul(weights[0]).sum());
  const fitting = fit(step, loader, { epochs: 1, signal: control.signal });
  setTimeout(() => control.abort(), 5);
  await assert.rejects(fitting, { code: 'aborted' });
  assert.deepEqual([step.steps, loader.state.batch], [0, 0]);
});

test('wrong fits are refused by name', async () => {
  const { step, loader } = await line();
  for (const [call, message] of [
    [() => fit({}, loader, { epochs: 1 }), /^fit: step: got an object; takes a training step$/],
    [() => fit(step, null, { epochs: 1 }), /^fit: data: got null/],
    [() => fit(step, {}, { epochs: 1 }), /^fit: data: got an object/],
    [() => fit(step, loader), /^fit: options: got undefined/],
    [() => fit(step, loader, {}), /^fit: epochs: got undefined/],
    [() => fit(step, loader, { epochs: 1.5 }), /^fit: epochs: got 1\.5; takes a whole number of at least 0, or Infinity$/],
    [() => fit(step, loader, { epochs: 1, onEpoch: 1 }), /^fit: onEpoch: got 1; takes a function$/],
    [() => fit(step, loader, { epochs: 1, signal: 1 }), /^fit: signal: got 1/],
    [() => fit(step, loader, { epoch: 1 }), /did you mean 'epochs'\?$/],
    [() => fit(step, [], { epochs: 1 }), /^fit: data: got no batch in epoch 1/],
  ]) await assert.rejects(call, refused(message), String(call));
  assert.deepEqual(await fit(step, loader, { epochs: 0 }), []);
});

// Checkpoints.

/** A net with everything that has state: two optimisers, averages, accumulation, clipping, batch norm, dropout, a schedule and a shuffled loader. */
async function made(seed = 9) {
  const random = new Random(seed);
  const weights = await device.store({ first: random.normal([2, 6]), second: random.normal([6, 1]) });
  const norm = new BatchNorm(device, 6);
  const optimizer = new OptimizerGroup([new Muon({ first: weights.first }, { rate: 0.02 }), new AdamW({ second: weights.second, norm: norm.weights }, { rate: schedule.oneCycle(0.05, 100) })]);
  const average = new WeightAverage(weights, { decay: 0.9 });
  const loader = new DataLoader({ x: samples.array(xs, [2]), y: ys }, { batch: 8, shuffle: true, seed: 4 });
  const step = await compileStep(optimizer, loader.inputs, ({ x, y }) => {
    const hidden = random.dropout(norm.train(x.matmul(weights.first)).relu(), 0.25);
    return hidden.matmul(weights.second).flatten().sub(y).square().mean();
  }, { average, accumulate: 2, clipNorm: 1, state: norm.statistics });
  const bits = async () => Object.fromEntries(await Promise.all(Object.entries(step.tensors()).map(async ([name, tensor]) => [name, [...new Uint32Array((await tensor.data()).buffer)]])));
  return { step, loader, optimizer, average, bits };
}

/** Runs with batches of a loader, from the epoch where it is on. */
async function runs(step, loader, count) {
  for (let left = count; left > 0;) {
    for await (const { inputs, size } of loader) {
      step.run(inputs, undefined, size);
      if (--left === 0) break;
    }
  }
}

for (const count of [9, 12]) {
  test(`a training that is resumed after ${count} runs has the bits of one that was not stopped`, async () => {
    const whole = await made();
    await runs(whole.step, whole.loader, count + 11);
    const first = await made();
    await runs(first.step, first.loader, count);
    const file = await saveCheckpoint(first.step, { data: first.loader, metadata: { note: 'half' } });
    // Runs after the checkpoint are no part of it. The other training has another seed, so that nothing fits by chance.
    await runs(first.step, first.loader, 3);
    const resumed = await made(10);
    await runs(resumed.step, resumed.loader, 5);
    assert.deepEqual(await loadCheckpoint(file, resumed.step, { data: resumed.loader }), { note: 'half' });
    assert.equal(resumed.step.steps, Math.floor(count / 2));
    await runs(resumed.step, resumed.loader, 11);
    const expected = await whole.bits();
    assert.deepEqual(await resumed.bits(), expected);
    assert.deepEqual(await resumed.step.takeMeans(), await whole.step.takeMeans());
    assert.deepEqual(resumed.loader.state, whole.loader.state);
    // The same training before the checkpoint goes back, too.
    await loadCheckpoint(file, first.step, { data: first.loader });
    await runs(first.step, first.loader, 11);
    assert.deepEqual(await first.bits(), expected);
  });
}

test('a checkpoint is a file of safetensors with what the training has', async () => {
  const { step, loader } = await made();
  await runs(step, loader, 2);
  const { tensors, metadata } = await loadSafetensors(await saveCheckpoint(step, { data: loader }), { device });
  assert.deepEqual(Object.keys(tensors).sort(), [
    'accumulated.0.first', 'accumulated.1.norm.bias', 'accumulated.1.norm.weight', 'accumulated.1.second', 'average.first', 'average.second', 'metrics',
    'optimizer.0.momentum.first', ...['first', 'second'].flatMap((part) => ['norm.bias', 'norm.weight', 'second'].map((name) => `optimizer.1.${part}.${name}`)),
    'state.mean', 'state.variance', 'weights.0.first', 'weights.1.norm.bias', 'weights.1.norm.weight', 'weights.1.second',
  ].sort());
  const { steps, runs: left, drawn, data } = JSON.parse(metadata['residua.training']);
  assert.deepEqual([steps, left, drawn, data.batch], [1, 0, [{ seed: '9', runs: 2 }], 2]);
});

test('a rate that was set is kept, and a schedule stays the program’s', async () => {
  const build = async (rate) => {
    const optimizer = new Sgd([device.tensor([1])], { rate });
    return { optimizer, step: await compileStep(optimizer, {}, () => optimizer.weights[0].sum()) };
  };
  const [first, second, third] = [await build(0.5), await build(0.25), await build((step) => step)];
  first.optimizer.rate = 0.125;
  const file = await saveCheckpoint(first.step);
  await loadCheckpoint(file, second.step);
  await loadCheckpoint(file, third.step);
  assert.deepEqual([second.optimizer.rate, typeof third.optimizer.rate], [0.125, 'function']);
});

test('a file of another training is refused, and nothing of it is taken', async () => {
  const { step, loader, bits } = await made();
  await runs(step, loader, 3);
  const before = [await bits(), loader.state, step.progress];
  const file = await saveCheckpoint(step, { data: loader });
  const { tensors, metadata } = await loadSafetensors(file, { device });
  const text = JSON.parse(metadata['residua.training']);
  const saved = (changes, others = tensors) => saveSafetensors(others, { 'residua.training': JSON.stringify({ ...text, ...changes }) });
  const { metrics, ...fewer } = tensors;
  await runs(step, loader, 1);
  await loadCheckpoint(file, step, { data: loader });
  for (const [source, message] of [
    [await saveSafetensors(tensors), /^loadCheckpoint: source: got a file without the numbers of a training/],
    [await saveSafetensors(tensors, { 'residua.training': '{' }), /no JSON/],
    [await saveSafetensors(tensors, { 'residua.training': 'null' }), /a checkpoint of version undefined/],
    [await saved({ version: 2 }), /a checkpoint of version 2/],
    [await saved({ steps: -1 }), /counts that are no whole numbers/],
    [await saved({ runs: 2 }), /after 2 runs of a step; takes fewer than 2/],
    [await saved({ weight: 'a' }), /a weight that is no number/],
    [await saved({ rates: [0.1] }), /learning rates of an array of 1/],
    [await saved({ drawn: [] }), /random numbers of an array of 0 generators; takes those of 1/],
    [await saved({ drawn: [{ seed: -1, runs: 0 }] }), /a generator without a seed and runs/],
    [await saved({ drawn: [null] }), /a generator without a seed and runs/],
    [await saved({ data: undefined }), /a checkpoint without the state of a loader/],
    [await saved({ data: { ...text.data, batch: 99 } }), /^restore: state\.batch: got 99/],
    [await saved({ data: { ...text.data, order: 'x' } }), /^restore: state\.order: got "x"/],
    [await saved({}, fewer), /^loadCheckpoint: source: metrics: got nothing; takes f32 \[1\]/],
    [await saved({}, { ...tensors, metrics: device.zeros([2]) }), /metrics: got f32 \[2\]; takes f32 \[1\]/],
    [await saved({}, { ...tensors, other: metrics }), /other: got a tensor that the step does not have/],
    [new Blob(['{}']), /^loadSafetensors/],
  ]) await assert.rejects(loadCheckpoint(source, step, { data: loader }), refused(message));
  assert.deepEqual([await bits(), loader.state, step.progress], before);
  await assert.rejects(loadCheckpoint(file, {}), refused(/^loadCheckpoint: step: got an object/));
  await assert.rejects(saveCheckpoint(step, { data: {} }), refused(/^saveCheckpoint: data: got an object; takes a DataLoader$/));
  await assert.rejects(saveCheckpoint(step, { metadata: { 'residua.training': '' } }), refused(/^saveCheckpoint: metadata: got the name/));
  await assert.rejects(saveCheckpoint(step, { metadata: null }), refused(/^saveCheckpoint: metadata: got null/));
  step.dispose();
  await assert.rejects(saveCheckpoint(step), { code: 'disposed' });
});
