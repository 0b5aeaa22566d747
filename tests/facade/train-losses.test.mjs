/** Losses by closed form in f64 and their gradients against differences; batch norm with running statistics. On the CPU engine. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Device, dim, grad, spec } from '../../pkg-template/dist/tensor.js';
import { BatchNorm, binaryCrossEntropyLoss, compileStep, crossEntropyLoss, Sgd, smoothL1Loss } from '../../pkg-template/dist/tensor-train.js';

let device;
before(async () => void (device = await Device.create({ backend: 'cpu' })));
after(() => device.dispose());

const refused = (message) => (error) => error.code === 'invalid-argument' && (message.test(error.message) || assert.fail(error.message));
const close = (found, expected, within, what = '') => assert.ok(Math.abs(found - expected) <= within * Math.max(1, Math.abs(expected)), `${what}: ${found}, expected ${expected}`);

/** Losses and gradients of f32: a few roundings of numbers of about 1. */
const WITHIN = 2e-6;

/** Compares a loss, a function of tensors that starts with numbers, and its gradient with a function in f64 and the differences of that. */
async function compare(numbers, shape, loss, inF64, what) {
  const x = device.tensor(numbers, shape);
  const found = loss(x);
  const [value, slopes] = await device.read(found, grad(found, [x])[0]);
  const at = Float64Array.from(numbers, Math.fround);
  close(value[0], inF64(at), WITHIN, what);
  at.forEach((number, k) => {
    const h = 1e-5;
    const moved = (by) => inF64(at.map((other, i) => (i === k ? number + by : other)));
    // Central differences of f64 have an error of some h² and 1e-16/h: 1e-10.
    close(slopes[k], (moved(h) - moved(-h)) / (2 * h), WITHIN, `${what}: the derivative by number ${k}`);
  });
}

const LOGITS = [2, -1, 0.5, 0.1, 0.2, 3, -2, 1.5, 0, 40, -40, 1];
const LABELS = [0, 2, 1, 0];

/** Mean or sum over examples of (1 − ε) · −log p[label] + ε · mean of −log p, in f64. */
const entropy = ({ labels = LABELS, ignoreIndex, smoothing = 0, reduction = 'mean' }) => (x) => {
  const rows = labels.map((_, k) => x.slice(3 * k, 3 * k + 3));
  const kept = labels.map((label, k) => [label, rows[k]]).filter(([label]) => label !== ignoreIndex);
  const losses = kept.map(([label, row]) => {
    const most = Math.max(...row);
    const logs = Array.from(row, (v) => v - most - Math.log(row.reduce((sum, w) => sum + Math.exp(w - most), 0)));
    return -(1 - smoothing) * logs[label] - (smoothing * (logs[0] + logs[1] + logs[2])) / 3;
  });
  const sum = losses.reduce((a, b) => a + b, 0);
  return reduction === 'sum' ? sum : sum / Math.max(kept.length, 1);
};

for (const options of [{}, { reduction: 'sum' }, { labelSmoothing: 0.1 }, { labelSmoothing: 1 }, { ignoreIndex: 2 }, { ignoreIndex: 0, labelSmoothing: 0.2 }, { ignoreIndex: 0, reduction: 'sum' }, { ignoreIndex: -100 }]) {
  test(`cross entropy with ${JSON.stringify(options)} and its gradient have their closed form`, () =>
    compare(LOGITS, [4, 3], (x) => crossEntropyLoss(x, device.tensor(LABELS, [4], 'i32'), options), entropy({ ...options, smoothing: options.labelSmoothing }), 'the loss'));
}

test('cross entropy takes classes on any axis, labels of any shape, and gives a number an example', async () => {
  // [images, classes, pixels], as of a segmentation.
  const logits = device.tensor(LOGITS, [2, 3, 2]);
  const labels = device.tensor([[0, -100], [2, 1]], undefined, 'i32');
  const found = await crossEntropyLoss(logits, labels, { axis: 1, ignoreIndex: -100, reduction: 'none' }).toArray();
  const pixel = (image, at) => [0, 1, 2].map((c) => LOGITS[6 * image + 2 * c + at]);
  const expected = (image, at, label) => entropy({ labels: [label] })(Float64Array.from(pixel(image, at)));
  close(found[0][0], expected(0, 0, 0), WITHIN);
  assert.equal(found[0][1], 0);
  close(found[1][0], expected(1, 0, 2), WITHIN);
  close(found[1][1], expected(1, 1, 1), WITHIN);
});

test('an example that is left out reaches neither the loss nor a gradient, whatever its logits are', async () => {
  const x = device.tensor([1, 2, NaN, Infinity, -Infinity, 3], [3, 2]);
  const loss = crossEntropyLoss(x, device.tensor([1, 255, 255], [3], 'u32'), { ignoreIndex: 255, labelSmoothing: 0.1 });
  const [value, slopes] = await device.read(loss, grad(loss, [x])[0]);
  const p = 1 / (1 + Math.exp(-1));
  close(value[0], -0.95 * Math.log(p) - 0.05 * Math.log(1 - p), WITHIN);
  close(slopes[0], 1 - p - 0.05, WITHIN);
  assert.deepEqual(Array.from(slopes.subarray(2)), [0, 0, 0, 0]);
  // Of none it is 0, so that a batch without labels changes nothing.
  const none = crossEntropyLoss(x, device.tensor([7, 7, 7], [3], 'u32'), { ignoreIndex: 7 });
  assert.deepEqual([...(await none.data()), ...(await grad(none, [x])[0].data())], [0, 0, 0, 0, 0, 0, 0]);
});

test('a label that is no class gives NaN', async () => {
  assert.deepEqual([...(await crossEntropyLoss(device.zeros([2, 3]), device.tensor([3, 1], [2], 'i32'), { reduction: 'none' }).data())].map(Number.isNaN), [true, false]);
});

const log1pExp = (x) => Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x)));

test('binary cross entropy has its closed form, with soft targets, weights and large logits', async () => {
  const logits = [0, 1.5, -2, 30, -30, 4, 0.25, -0.5];
  const targets = [0, 1, 0.3, 1, 0, 0, 0.9, 1];
  for (const weight of [1, 2.5]) {
    const inF64 = (x) => targets.reduce((sum, y, k) => sum + weight * Math.fround(y) * log1pExp(-x[k]) + (1 - Math.fround(y)) * log1pExp(x[k]), 0) / targets.length;
    await compare(logits, [2, 4], (x) => binaryCrossEntropyLoss(x, device.tensor(targets, [2, 4]), { positiveWeight: weight }), inF64, `weight ${weight}`);
  }
  // Near 0 all digits stay: log(1 + e^−30) is e^−30.
  const [small, large] = await binaryCrossEntropyLoss(device.tensor([30, -200]), device.tensor([1, 1]), { reduction: 'none' }).data();
  close(small / Math.exp(-30), 1, 1e-5);
  assert.equal(large, 200);
});

test('smooth L1 has its closed form on both sides of beta, and is L1 for beta 0', async () => {
  const a = [0.2, -0.3, 2, -5, 0.99, 1.7];
  // No difference is at the end of a square, where the derivative of differences is none.
  const targets = [0, 0, 0.5, -1, 0, 0.1];
  for (const beta of [1, 0.25, 3]) {
    const inF64 = (x) => targets.reduce((sum, y, k) => {
      const d = Math.abs(x[k] - Math.fround(y));
      return sum + (d < beta ? (d * d) / (2 * beta) : d - beta / 2);
    }, 0);
    await compare(a, [6], (x) => smoothL1Loss(x, device.tensor(targets), { beta, reduction: 'sum' }), inF64, `beta ${beta}`);
  }
  assert.deepEqual([...(await smoothL1Loss(device.tensor([1, -2]), 0, { beta: 0, reduction: 'none' }).data())], [1, 2]);
  const equal = device.tensor([3]);
  assert.deepEqual([...(await grad(smoothL1Loss(equal, 3), [equal])[0].data())], [0]);
});

test('batch norm normalises by the batch in training, and its statistics follow without bias', async () => {
  const norm = new BatchNorm(device, 2, { momentum: 0.25, epsilon: 1e-3 });
  const x = Float32Array.from({ length: 3 * 2 * 4 }, (_, k) => Math.sin(3 * k) * (k % 8 < 4 ? 1 : 5) + (k % 8 < 4 ? 2 : -1));
  const input = spec('f32', [3, 2, 4]);
  const optimizer = new Sgd(norm.weights, { rate: 0 });
  const step = await compileStep(optimizer, { x: input }, ({ x }) => norm.train(x).square().mean(), { state: norm.statistics });
  const of = (channel) => Array.from(x).filter((_, k) => Math.floor(k / 4) % 2 === channel);
  const mean = (numbers) => numbers.reduce((a, b) => a + b, 0) / numbers.length;
  const variance = (numbers, less) => numbers.reduce((sum, v) => sum + (v - mean(numbers)) ** 2, 0) / (numbers.length - less);
  const running = [0, 1].map(() => ({ mean: 0, variance: 1 }));
  for (let k = 0; k < 3; k++) {
    // The mean square of normalised numbers is variance/(variance + ε).
    close(await step.run({ x }).loss.item(), mean([0, 1].map((c) => variance(of(c), 0) / (variance(of(c), 0) + 1e-3))), WITHIN);
    running.forEach((r, c) => {
      r.mean += 0.25 * (mean(of(c)) - r.mean);
      r.variance += 0.25 * (variance(of(c), 1) - r.variance);
    });
    const [means, variances] = await device.read(norm.statistics.mean, norm.statistics.variance);
    running.forEach((r, c) => {
      close(means[c], r.mean, WITHIN);
      close(variances[c], r.variance, WITHIN);
    });
  }
  const y = await norm.apply(device.tensor(x, [3, 2, 4])).data();
  x.forEach((v, k) => {
    const r = running[Math.floor(k / 4) % 2];
    close(y[k], (v - r.mean) / Math.sqrt(r.variance + 1e-3), 5 * WITHIN);
  });
});

test('batch norm takes batches whose size is a Dim', async () => {
  const norm = new BatchNorm(device, 1, { momentum: 1 });
  const rows = dim('rows', 8);
  const step = await compileStep(new Sgd(norm.weights), { x: spec('f32', [rows, 1]) }, ({ x }) => norm.train(x).sum(), { state: [norm.statistics] });
  step.run({ x: [1, 2, 6] }, { rows: 3 });
  assert.deepEqual([...(await norm.statistics.mean.data()), ...(await norm.statistics.variance.data())], [3, 7]);
  step.run({ x: [5] }, { rows: 1 });
  assert.deepEqual([...(await norm.statistics.mean.data()), ...(await norm.statistics.variance.data())], [5, 0]);
});

test('wrong arguments are refused by name', async () => {
  const logits = device.zeros([2, 3]);
  const labels = device.zeros([2], 'i32');
  const norm = new BatchNorm(device, 2);
  for (const [call, message] of [
    [() => crossEntropyLoss(labels, labels), /^crossEntropyLoss: logits/],
    [() => crossEntropyLoss(logits, logits), /^crossEntropyLoss: labels/],
    [() => crossEntropyLoss(null, labels), /^crossEntropyLoss: logits: got null/],
    [() => crossEntropyLoss(logits, [0, 1]), /^crossEntropyLoss: labels: got an array of 2/],
    [() => crossEntropyLoss(logits, labels, { axis: 2 }), /^crossEntropyLoss: axis: got 2/],
    [() => crossEntropyLoss(logits, labels, { ignore: -1 }), /unknown option "ignore"; did you mean 'ignoreIndex'\?$/],
    [() => crossEntropyLoss(logits, labels, { ignoreIndex: 1.5 }), /^crossEntropyLoss: ignoreIndex: got 1\.5/],
    [() => crossEntropyLoss(logits, device.zeros([2], 'u32'), { ignoreIndex: -1 }), /^crossEntropyLoss: ignoreIndex: got -1/],
    [() => crossEntropyLoss(logits, labels, { labelSmoothing: 1.1 }), /^crossEntropyLoss: labelSmoothing: got 1\.1; takes a number from 0 to 1$/],
    [() => crossEntropyLoss(logits, labels, { reduction: 'max' }), /^crossEntropyLoss: reduction: got "max"; takes 'mean', 'sum' or 'none'$/],
    [() => crossEntropyLoss(logits, device.zeros([3], 'i32')), /labels of shape \[2\]/],
    [() => crossEntropyLoss(logits, device.zeros([3], 'i32'), { ignoreIndex: 0 }), /.+/],
    [() => binaryCrossEntropyLoss(logits, labels), /^binaryCrossEntropyLoss: targets/],
    [() => binaryCrossEntropyLoss(logits, NaN), /^binaryCrossEntropyLoss: targets: got NaN/],
    [() => binaryCrossEntropyLoss(3, 1), /^binaryCrossEntropyLoss: logits: got 3/],
    [() => smoothL1Loss(logits, 0, { beta: -1 }), /^smoothL1Loss: beta: got -1/],
    [() => new BatchNorm(null, 2), /^BatchNorm: device: got null; takes a Device$/],
    [() => new BatchNorm(device, 0), /^BatchNorm: channels: got 0/],
    [() => new BatchNorm(device, 2, { momentum: 0 }), /^BatchNorm: momentum: got 0/],
    [() => norm.apply(logits), /.+/],
  ]) assert.throws(call, refused(message), String(call));
  // An assignment is a matter of bodies.
  assert.throws(() => norm.train(device.zeros([2, 2])), { code: 'invalid-graph' });
  assert.throws(() => norm.train(device.zeros([1, 2])), refused(/^train: got 1 numbers a channel; takes two or more/));
});
