/** Optimisers against their published formulas in f64, schedules by closed form, clipping, accumulation and averages of weights. On the CPU engine. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Device, grad, spec } from '../../pkg-template/dist/tensor.js';
import { Adam, AdamW, clipByNorm, compileStep, Lion, Muon, OptimizerGroup, schedule, Sgd, WeightAverage } from '../../pkg-template/dist/tensor-train.js';

let device;
before(async () => void (device = await Device.create({ backend: 'cpu' })));
after(() => device.dispose());

const refused = (message) => (error) => error.code === 'invalid-argument' && (message.test(error.message) || assert.fail(error.message));

const STEPS = 25;
const SHAPES = [[6, 4], [3, 5], [7]];
const count = (shape) => shape.reduce((product, size) => product * size, 1);
/** Numbers of about 1 that no f32 rounding brings near to 0: the sign of a mean of them is the same in both precisions. */
const made = (shape, phase) => Array.from({ length: count(shape) }, (_, k) => Math.fround(Math.sin(1.7 * k + phase) + 0.4 * Math.cos(3.1 * k * phase)));

const firstWeights = (shapes) => shapes.map((shape, k) => made(shape, k + 1));
const gradientsOf = (shapes, step) => shapes.map((shape, k) => made(shape, 0.37 * step + k + 0.2));

/** Weights after some steps with given gradients, and what is compiled in between. */
async function onDevice(shapes, make) {
  const weights = firstWeights(shapes).map((numbers, k) => device.tensor(numbers, shapes[k]));
  const optimizer = make(weights);
  const inputs = Object.fromEntries(shapes.map((shape, k) => [`g${k}`, spec('f32', shape)]));
  const program = await device.compile({ ...optimizer.inputs, ...inputs }, (given) => optimizer.update(shapes.map((_, k) => given[`g${k}`]), given));
  for (let step = 0; step < STEPS; step++) {
    const gradients = gradientsOf(shapes, step);
    program.run({ ...optimizer.next(), ...Object.fromEntries(gradients.map((numbers, k) => [`g${k}`, numbers])) });
  }
  const found = await device.read(...weights);
  assert.equal(optimizer.steps, STEPS);
  program.dispose();
  optimizer.dispose();
  return found;
}

/** The same in f64 by a rule (w, g, state, t, k) → w, where t counts from 1. */
function inF64(shapes, rule) {
  const weights = firstWeights(shapes);
  const states = shapes.map(() => ({}));
  for (let step = 0; step < STEPS; step++) {
    gradientsOf(shapes, step).forEach((g, k) => void (weights[k] = rule(weights[k], g, states[k], step + 1, k)));
  }
  return weights;
}

/** Each step rounds a weight of about 1 by 2⁻²⁴ of it, and its change by some units more: over 25 steps less than 25 · 4 · 6e-8. */
const CLOSE = 6e-6;
function assertClose(found, expected, within = CLOSE) {
  found.forEach((numbers, k) => numbers.forEach((number, i) => {
    assert.ok(Math.abs(number - expected[k][i]) <= within, `weight ${k}[${i}]: ${number}, in f64 ${expected[k][i]}`);
  }));
}

const sgd = ({ rate, momentum = 0, nesterov = false, weightDecay = 0 }) => (w, g0, state, t) => {
  const g = g0.map((x, i) => x + weightDecay * w[i]);
  state.b = t === 1 ? g : state.b.map((b, i) => momentum * b + g[i]);
  return w.map((x, i) => x - rate * (momentum === 0 ? g[i] : nesterov ? g[i] + momentum * state.b[i] : state.b[i]));
};

const adam = ({ rate, betas: [b1, b2] = [0.9, 0.999], epsilon = 1e-8, weightDecay = 0, decoupled = false }) => (w, g0, state, t) => {
  const lr = typeof rate === 'function' ? rate(t - 1) : rate;
  const g = decoupled ? g0 : g0.map((x, i) => x + weightDecay * w[i]);
  state.m = g.map((x, i) => b1 * (state.m?.[i] ?? 0) + (1 - b1) * x);
  state.v = g.map((x, i) => b2 * (state.v?.[i] ?? 0) + (1 - b2) * x * x);
  return w.map((x, i) => {
    const kept = decoupled ? x - lr * weightDecay * x : x;
    return kept - (lr * (state.m[i] / (1 - b1 ** t))) / (Math.sqrt(state.v[i] / (1 - b2 ** t)) + epsilon);
  });
};

const lion = ({ rate, betas: [b1, b2] = [0.9, 0.99], weightDecay = 0 }) => (w, g, state) => {
  state.m ??= g.map(() => 0);
  const change = g.map((x, i) => {
    const mean = b1 * state.m[i] + (1 - b1) * x;
    assert.ok(Math.abs(mean) > 1e-5, 'the sign is the same in f32');
    return Math.sign(mean) + weightDecay * w[i];
  });
  state.m = g.map((x, i) => b2 * state.m[i] + (1 - b2) * x);
  return w.map((x, i) => x - rate * change[i]);
};

const product = (a, b, rows, inner, columns) => Array.from({ length: rows * columns }, (_, at) => {
  const [i, j] = [Math.floor(at / columns), at % columns];
  let sum = 0;
  for (let k = 0; k < inner; k++) sum += a[i * inner + k] * b[k * columns + j];
  return sum;
});
const transposed = (a, rows, columns) => Array.from({ length: rows * columns }, (_, at) => a[(at % rows) * columns + Math.floor(at / rows)]);

const muon = (shapes, { rate, momentum = 0.95, nesterov = true, weightDecay = 0.1, scale = 'original' }) => (w, g, state, t, k) => {
  const [rows, columns] = [shapes[k][0], count(shapes[k].slice(1))];
  state.b = g.map((x, i) => momentum * (state.b?.[i] ?? 0) + x);
  const direction = g.map((x, i) => (nesterov ? x + momentum * state.b[i] : state.b[i]));
  const isTall = rows > columns;
  const [short, long] = isTall ? [columns, rows] : [rows, columns];
  let x = isTall ? transposed(direction, rows, columns) : direction;
  const norm = Math.max(Math.hypot(...x), 1e-7);
  x = x.map((value) => value / norm);
  for (let i = 0; i < 5; i++) {
    const a = product(x, transposed(x, short, long), short, long, short);
    const square = product(a, a, short, short, short);
    const b = a.map((value, j) => -4.775 * value + 2.0315 * square[j]);
    const bx = product(b, x, short, short, long);
    x = x.map((value, j) => 3.4445 * value + bx[j]);
  }
  const o = isTall ? transposed(x, columns, rows) : x;
  const factor = scale === 'original' ? Math.sqrt(Math.max(1, rows / columns)) : 0.2 * Math.sqrt(Math.max(rows, columns));
  return w.map((value, i) => value - rate * weightDecay * value - rate * factor * o[i]);
};

for (const [name, make, rule] of [
  ['SGD', (w) => new Sgd(w, { rate: 0.05 }), sgd({ rate: 0.05 })],
  ['SGD with weight decay', (w) => new Sgd(w, { rate: 0.05, weightDecay: 0.1 }), sgd({ rate: 0.05, weightDecay: 0.1 })],
  ['SGD with momentum and weight decay', (w) => new Sgd(w, { rate: 0.02, momentum: 0.9, weightDecay: 0.01 }), sgd({ rate: 0.02, momentum: 0.9, weightDecay: 0.01 })],
  ["SGD with Nesterov's momentum", (w) => new Sgd(w, { rate: 0.02, momentum: 0.9, nesterov: true }), sgd({ rate: 0.02, momentum: 0.9, nesterov: true })],
  ['Adam by its defaults', (w) => new Adam(w), adam({ rate: 1e-3 })],
  ['Adam with weight decay, betas and epsilon', (w) => new Adam(w, { rate: 0.01, betas: [0.8, 0.95], epsilon: 1e-3, weightDecay: 0.1 }), adam({ rate: 0.01, betas: [0.8, 0.95], epsilon: 1e-3, weightDecay: 0.1 })],
  ['AdamW by its defaults', (w) => new AdamW(w), adam({ rate: 1e-3, weightDecay: 0.01, decoupled: true })],
  ['AdamW with a schedule', (w) => new AdamW(w, { rate: schedule.cosine(0.02, 20, 0.001), weightDecay: 0.2 }), adam({ rate: schedule.cosine(0.02, 20, 0.001), weightDecay: 0.2, decoupled: true })],
  ['Lion', (w) => new Lion(w, { rate: 0.01, weightDecay: 0.3 }), lion({ rate: 0.01, weightDecay: 0.3 })],
  ['Lion by its defaults', (w) => new Lion(w), lion({ rate: 1e-4 })],
]) {
  test(`${name} has the weights of its formula after ${STEPS} steps`, async () => assertClose(await onDevice(SHAPES, make), inF64(SHAPES, rule)));
}

const MATRICES = [[6, 4], [3, 5], [4, 2, 3, 3]];
for (const [name, options] of [['Muon', { rate: 0.02 }], ['Muon without Nesterov, by the scale of Adam', { rate: 0.02, nesterov: false, scale: 'adam', weightDecay: 0 }]]) {
  test(`${name} has the weights of its formula after ${STEPS} steps, of tall and wide matrices and of a filter bank`, async () => {
    const found = await onDevice(MATRICES, (w) => new Muon(w, options));
    // The polynomial has a slope of 3.4 at 0: five of them make an error of a small singular value up to 480 times as large, 3e-5 of a step of 0.02, and there are 25 steps.
    assertClose(found, inF64(MATRICES, muon(MATRICES, options)), 25 * 0.02 * 3e-5);
  });
}

test('a group updates each part by its own rule', async () => {
  const shapes = [[6, 4], [3, 5], [7]];
  const found = await onDevice(shapes, (w) => new OptimizerGroup([new Muon([w[0], w[1]], { rate: 0.02 }), new AdamW([w[2]], { rate: 0.01 })]));
  const [byMuon, byAdam] = [muon(shapes, { rate: 0.02 }), adam({ rate: 0.01, weightDecay: 0.01, decoupled: true })];
  assertClose(found, inF64(shapes, (w, g, state, t, k) => (k < 2 ? byMuon : byAdam)(w, g, state, t, k)), 25 * 0.02 * 3e-5);
});

test('schedules have the numbers of their formulas, at their ends too', () => {
  const at = (of, steps) => steps.map(of);
  assert.deepEqual(at(schedule.constant(0.3), [0, 5, 1e6]), [0.3, 0.3, 0.3]);
  assert.deepEqual(at(schedule.warmup(4, 0.8), [0, 1, 3, 4, 99]), [0, 0.2, 0.6000000000000001, 0.8, 0.8]);
  assert.deepEqual(at(schedule.warmup(4, schedule.steps(0.8, 10, 0.5), 0.5), [0, 2, 4, 13, 14]), [0.4, 0.6000000000000001, 0.8, 0.8, 0.4]);
  assert.deepEqual(at(schedule.warmup(0, 0.8), [0]), [0.8]);
  assert.deepEqual(at(schedule.steps(1, 3, 0.5), [0, 2, 3, 5, 6]), [1, 1, 0.5, 0.5, 0.25]);
  assert.deepEqual(at(schedule.exponential(2, 0.5), [0, 1, 3]), [2, 1, 0.25]);
  assert.deepEqual(at(schedule.exponential(2, 0.25, 2), [1, 2]), [1, 0.5]);
  const cosine = schedule.cosine(1, 100, 0.1);
  for (const [step, rate] of [[0, 1], [25, 0.1 + 0.45 * (1 + Math.SQRT1_2)], [50, 0.55], [100, 0.1], [500, 0.1]]) assert.ok(Math.abs(cosine(step) - rate) < 1e-15, `${step}: ${cosine(step)}`);
  // PyTorch's OneCycleLR(max_lr=1, total_steps=10): its docs give the phases, which end at pct_start · total − 1 = 2 and at 9.
  const cycle = schedule.oneCycle(1, 10);
  for (const [step, rate] of [[0, 0.04], [1, 0.52], [2, 1], [9, 4e-6], [20, 4e-6], [5.5, (1 + 4e-6) / 2]]) assert.ok(Math.abs(cycle(step) - rate) < 1e-15, `${step}: ${cycle(step)}`);
  assert.ok(Math.abs(schedule.oneCycle(1, 10, { warmup: 0, startDivisor: 10, endDivisor: 5 })(9) - 0.02) < 1e-15);
  assert.equal(schedule.oneCycle(1, 10, { warmup: 1 })(9), 1);
});

test('the rate may be set between steps, and is a schedule or a number', () => {
  const optimizer = new Sgd([device.zeros([2])], { rate: 0.5 });
  assert.deepEqual(optimizer.next(), { rate: 0.5 });
  optimizer.rate = (step) => step / 10;
  assert.deepEqual(optimizer.next(), { rate: 0.1 });
  optimizer.rate = 0.2;
  assert.deepEqual([optimizer.rate, optimizer.next()], [0.2, { rate: 0.2 }]);
  assert.throws(() => void (optimizer.rate = -1), refused(/^Sgd: rate: got -1; takes/));
  optimizer.rate = () => NaN;
  assert.throws(() => optimizer.next(), refused(/^Sgd: rate of step 3: got NaN; takes a finite number of at least 0$/));
  assert.equal(optimizer.steps, 3);
});

test('gradients are clipped by the norm of all of them, and smaller ones stay as they are', async () => {
  const parts = [device.tensor([3, 0]), device.tensor([[0], [4]])];
  for (const [most, factor] of [[2.5, 0.5], [5, 1], [100, 1]]) {
    const { gradients, norm } = clipByNorm(parts, most);
    const [a, b, n] = await device.read(...gradients, norm);
    assert.deepEqual([[...a], [...b], n[0]], [[3 * factor, 0], [0, 4 * factor], 5]);
  }
  // The squares would be beyond f32.
  const { gradients, norm } = clipByNorm([device.tensor([3e30]), device.tensor([-4e30])], 1);
  const [a, b, n] = await device.read(...gradients, norm);
  for (const [found, expected] of [[a[0], 0.6], [b[0], -0.8], [n[0] / 5e30, 1]]) assert.ok(Math.abs(found - expected) < 1e-6, `${found}`);
  assert.deepEqual([...(await clipByNorm([device.zeros([2])], 1).gradients[0].data())], [0, 0]);
  assert.throws(() => clipByNorm(parts, 0), refused(/^clipByNorm: most: got 0; takes a finite number above 0$/));
  assert.throws(() => clipByNorm([], 1), refused(/^clipByNorm: gradients: got an array of 0/));
});

/** A linear fit: rows [count, 3] of which a batch has `size`. */
const ROWS = 12;
const points = Float32Array.from({ length: 3 * ROWS }, (_, k) => Math.sin(2.3 * k));
const targets = Float32Array.from({ length: ROWS }, (_, k) => Math.cos(1.1 * k));

async function trained({ size, accumulate, clipNorm, average, epochs = 4 }) {
  const weights = { w: device.tensor([0.1, -0.2, 0.3], [3, 1]), b: device.tensor([0.05]) };
  const optimizer = new Adam(weights, { rate: 0.05 });
  const step = await compileStep(optimizer, { x: spec('f32', [size, 3]), y: spec('f32', [size, 1]) }, ({ x, y }) => x.matmul(weights.w).add(weights.b).sub(y).square().mean(), { accumulate, clipNorm, average: average?.(weights) });
  const losses = [];
  for (let epoch = 0; epoch < epochs; epoch++) {
    for (let at = 0; at < ROWS; at += size) step.run({ x: points.slice(3 * at, 3 * (at + size)), y: targets.slice(at, at + size) });
    losses.push((await step.takeMeans()).loss);
  }
  const found = [...(await weights.w.data()), ...(await weights.b.data())];
  return { found, losses, step };
}

test('steps that accumulate four batches are those of one large batch', async () => {
  const whole = await trained({ size: 12, accumulate: 1 });
  const parts = await trained({ size: 3, accumulate: 4 });
  assert.deepEqual([whole.step.steps, parts.step.steps], [4, 4]);
  // Sums in another order round otherwise; Adam's quotients of moments keep relative errors of some 1e-7.
  parts.found.forEach((number, k) => assert.ok(Math.abs(number - whole.found[k]) < 1e-6, `${number}, ${whole.found[k]}`));
  parts.losses.forEach((loss, k) => assert.ok(Math.abs(loss - whole.losses[k]) < 1e-6, `${loss}, ${whole.losses[k]}`));
});

test('clipping takes the norm of the accumulated gradients', async () => {
  const whole = await trained({ size: 12, accumulate: 1, clipNorm: 0.1, epochs: 1 });
  const parts = await trained({ size: 3, accumulate: 4, clipNorm: 0.1, epochs: 1 });
  const [a, b] = [await whole.step.gradientNorm.item(), await parts.step.gradientNorm.item()];
  assert.ok(a > 0.1 && Math.abs(a - b) < 1e-6, `${a}, ${b}`);
  assert.equal((await trained({ size: 12, accumulate: 1, epochs: 1 })).step.gradientNorm, null);
});

test('averages begin with the weights of the first step and follow by the decay', async () => {
  const weights = [device.tensor([1, 2]), { deep: device.tensor([3]) }];
  const average = new WeightAverage(weights, { decay: 0.75 });
  const optimizer = new Sgd(weights, { rate: 1 });
  const step = await compileStep(optimizer, {}, () => weights[0].sum().add(weights[1].deep.sum()), { average });
  // Each gradient is 1, so that weights fall by 1 in each step.
  let expected = null;
  for (let k = 1; k <= 4; k++) {
    step.run({});
    const now = [1 - k, 2 - k, 3 - k];
    expected = expected === null ? now : expected.map((a, i) => 0.75 * a + 0.25 * now[i]);
    assert.deepEqual([...(await average.averages[0].data()), ...(await average.averages[1].deep.data())], expected);
  }
});

test('averages follow the steps of the optimiser, not the runs', async () => {
  const weights = [device.tensor([4])];
  const average = new WeightAverage(weights, { decay: 0.5 });
  const step = await compileStep(new Sgd(weights, { rate: 1 }), {}, () => weights[0].sum(), { average, accumulate: 2 });
  for (let k = 0; k < 4; k++) step.run({});
  assert.deepEqual([...(await weights[0].data()), ...(await average.averages[0].data())], [2, 2.5]);
});

test('nothing is compiled and no memory is taken between steps, also where the rate changes', async () => {
  const weights = [device.tensor([1, 2, 3])];
  const optimizer = new AdamW(weights, { rate: schedule.oneCycle(0.1, 200) });
  const step = await compileStep(optimizer, { x: spec('f32', [3]) }, ({ x }) => weights[0].sub(x).square().sum(), { clipNorm: 1 });
  step.run({ x: [1, 1, 1] });
  await device.synchronize();
  // All but what counts work.
  const held = () => ({ ...device.stats(), dispatches: 0, submits: 0 });
  const before = held();
  for (let k = 0; k < 200; k++) step.run({ x: [k, 1, 1] });
  await device.synchronize();
  assert.deepEqual(held(), before);
  step.dispose();
  step.dispose();
  assert.throws(() => step.run({ x: [1, 1, 1] }), { code: 'disposed' });
});

test('the gradients of a step are those of the weights before it, and metrics too', async () => {
  const weights = [device.tensor([2])];
  const step = await compileStep(new Sgd(weights, { rate: 0.25 }), {}, () => ({ loss: weights[0].square().sum(), double: weights[0].sum().mul(2) }));
  const outputs = step.run({});
  assert.deepEqual([await outputs.loss.item(), await outputs.double.item(), await weights[0].item()], [4, 4, 1]);
  step.run({}, undefined, 3);
  // (4 · 1 + 1 · 3)/4 and (4 · 1 + 2 · 3)/4.
  assert.deepEqual(await step.takeMeans(), { loss: 1.75, double: 2.5 });
  assert.deepEqual(await step.takeMeans(), { loss: NaN, double: NaN });
});

test('a gradient that a body takes itself goes to an optimiser', async () => {
  const w = device.tensor([3]);
  const optimizer = new Sgd([w], { rate: 0.5 });
  const program = await device.compile(optimizer.inputs, (inputs) => optimizer.update(grad(w.square().sum(), optimizer.weights), inputs));
  program.run(optimizer.next());
  assert.equal(await w.item(), 0);
});

test('wrong arguments are refused by name', async () => {
  const w = device.tensor([1, 2]);
  const matrix = device.tensor([[1, 2], [3, 4]]);
  const bytes = device.tensor([1, 2], [2], 'u8');
  for (const [call, message] of [
    [() => new Sgd(w), /^Sgd: weights: got one stored tensor; takes a list or a record/],
    [() => new Sgd([]), /^Sgd: weights: got no stored tensor; takes one or more$/],
    [() => new Sgd({ a: { b: 5 } }), /^Sgd: weights: a\.b: got 5; takes stored tensors in lists and records$/],
    [() => new Sgd(new Map([['w', w]])), /^Sgd: weights: got a Map/],
    [() => new Sgd(null), /^Sgd: weights: got null/],
    [() => new Sgd([w.add(1)]), /^Sgd: weights: 0: got a Tensor/],
    [() => new Adam([w, w]), /^Adam: weights: got the stored tensor '1' twice; takes each once$/],
    [() => new Adam({ a: bytes }), /^Adam: weights: a: got u8 \[2\]; takes weights of type f32$/],
    [() => new Adam({ 'a.b': w, a: { b: matrix } }), /^Adam: weights: got two stored tensors of the name 'a\.b'/],
    [() => new Adam([w], { rat: 1 }), /^Adam: options: got the unknown option "rat"; did you mean 'rate'\?$/],
    [() => new Adam([w], { rate: -1 }), /^Adam: rate: got -1/],
    [() => new Adam([w], { rate: '1e-3' }), /^Adam: rate: got "1e-3"; takes a finite number of at least 0, or a function of the step$/],
    [() => new AdamW([w], { betas: [0.9] }), /^AdamW: betas: got an array of 1; takes a list of two numbers$/],
    [() => new AdamW([w], { betas: [0.9, 1] }), /^AdamW: betas\[1\]: got 1; takes a number from 0 to below 1$/],
    [() => new AdamW([w], { epsilon: NaN }), /^AdamW: epsilon: got NaN/],
    [() => new Sgd([w], { nesterov: true }), /^Sgd: nesterov: got true without momentum/],
    [() => new Sgd([w], { momentum: 1 }), /^Sgd: momentum: got 1/],
    [() => new Lion([w], { weightDecay: -1 }), /^Lion: weightDecay: got -1/],
    [() => new Muon([matrix, w]), /^Muon: weights: 1: got f32 \[2\]; takes weights of two axes or more/],
    [() => new Muon([matrix], { scale: 'big' }), /^Muon: scale: got "big"; takes 'original' or 'adam'$/],
    [() => new Muon([matrix], { iterations: 0 }), /^Muon: iterations: got 0/],
    [() => new OptimizerGroup([]), /^OptimizerGroup: parts: got an array of 0/],
    [() => new OptimizerGroup([{}]), /^OptimizerGroup: parts\[0\]: got an object; takes an optimiser$/],
    [() => new OptimizerGroup([new Sgd([w]), new Sgd([w])]), /twice; takes each once$/],
    [() => new WeightAverage([w], { decay: 1 }), /^WeightAverage: decay: got 1/],
    [() => new WeightAverage([w]).update(null), /^update: inputs\.share: got undefined; takes the input of the program$/],
    [() => new Sgd([w]).update([], {}), /^update: gradients: got an array of 0; takes an array of 1, one a weight$/],
    [() => new Sgd([w]).update([matrix], {}), /^update: gradients\[0\]: got a tensor of f32 of shape \[2, 2\]; takes f32 \[2\]$/],
    [() => new Sgd([w]).update([w], {}), /^update: inputs\.rate: got undefined; takes the input of the program$/],
    [() => new Sgd([w]).update([w], null), /^update: inputs\.rate: got undefined/],
    [() => schedule.cosine(1, 0), /^cosine: steps: got 0/],
    [() => schedule.oneCycle(1, 1), /^oneCycle: steps: got 1/],
    [() => schedule.oneCycle(1, 10, { warmup: 2 }), /^oneCycle: warmup: got 2; takes a number from 0 to 1$/],
    [() => schedule.warmup(3, null), /^warmup: after: got null/],
    [() => schedule.exponential(1, -1), /^exponential: factor: got -1/],
  ]) assert.throws(call, refused(message), String(call));

  const optimizer = new Sgd([w]);
  const loss = () => w.sum();
  for (const [call, message] of [
    [compileStep({}, {}, loss), /^compileStep: optimizer: got an object; takes an optimiser$/],
    [compileStep(optimizer, {}, null), /^compileStep: body: got null; takes a function$/],
    [compileStep(optimizer, null, loss), /^compileStep: inputs: got null; takes an object$/],
    [compileStep(optimizer, { 'optimizer.rate': spec('f32', []) }, loss), /^compileStep: inputs: got the name 'optimizer\.rate'/],
    [compileStep(optimizer, {}, () => w), /^compileStep: the result of body: loss: got a tensor of f32 of shape \[2\]; takes a scalar of f32/],
    [compileStep(optimizer, {}, () => ({ accuracy: w.sum() })), /^compileStep: the result of body: got an object; takes the loss, or a record with `loss`$/],
    [compileStep(optimizer, {}, () => ({ loss: w.sum(), right: w.gt(1).countNonzero() })), /right: got a tensor of u32 of shape \[\]; takes a scalar of f32/],
    [compileStep(optimizer, {}, () => undefined), /^compileStep: the result of body: got undefined/],
    [compileStep(optimizer, {}, loss, { clipNorm: 0 }), /^compileStep: clipNorm: got 0/],
    [compileStep(optimizer, {}, loss, { accumulate: 1.5 }), /^compileStep: accumulate: got 1\.5/],
    [compileStep(optimizer, {}, loss, { average: {} }), /^compileStep: average: got an object; takes a WeightAverage$/],
    [compileStep(optimizer, {}, loss, { acumulate: 2 }), /did you mean 'accumulate'\?$/],
    [compileStep(optimizer, {}, loss, { state: [w.add(1)] }), /^compileStep: state: 0: got a Tensor/],
  ]) await assert.rejects(call, refused(message));
  const { programs, tensorBytes } = device.stats();
  for (const accumulate of [1, 2]) {
    const unkept = compileStep(optimizer, {}, () => (matrix.assign(0), w.sum()), { accumulate });
    await assert.rejects(unkept, { code: 'invalid-graph', message: /assigns to a stored tensor f32 \[2, 2\] that no checkpoint would hold/ });
    await device.synchronize();
    assert.deepEqual([device.stats().programs, device.stats().tensorBytes], [programs, tensorBytes]);
  }
  await assert.rejects(compileStep(optimizer, {}, loss, { signal: AbortSignal.abort() }), { code: 'aborted' });
  const step = await compileStep(optimizer, { x: spec('f32', [2]) }, ({ x }) => w.mul(x).sum());
  assert.throws(() => step.run({ x: [1] }), refused(/x: got 1 numbers; takes 2/));
  assert.throws(() => step.run({ x: [1, 2] }, undefined, -1), refused(/^run: weight: got -1/));
  assert.equal(step.steps, 0);
});

test('a failed compile leaves no memory', async () => {
  const w = device.tensor([1, 2]);
  const optimizer = new Sgd([w]);
  const before = device.stats();
  await assert.rejects(compileStep(optimizer, {}, () => { w.assign(w.mul(2)); return { loss: w.sum(), wrong: w }; }, { accumulate: 2 }), { code: 'invalid-argument' });
  await device.synchronize();
  assert.deepEqual([device.stats().tensors, device.stats().programs], [before.tensors, before.programs]);
});

test('an update that fails begins anew: the next runs are a step of their own', async () => {
  const w = device.tensor([1]);
  const optimizer = new Sgd({ w }, { rate: 0.5 });
  const step = await compileStep(optimizer, { x: spec('f32', []) }, ({ x }) => w.mul(x).sum(), { accumulate: 2 });
  step.run({ x: 1 });
  // Without a rate the update is refused.
  optimizer.numbers = () => ({});
  assert.throws(() => step.run({ x: 100 }), { code: 'invalid-argument' });
  delete optimizer.numbers;
  assert.equal(step.steps, 0);
  step.run({ x: 2 });
  assert.equal(step.steps, 0);
  step.run({ x: 4 });
  assert.equal(step.steps, 1);
  // 1 − 0.5 · (2 + 4) / 2.
  assert.deepEqual([...(await w.data())], [-0.5]);
  step.dispose();
});
