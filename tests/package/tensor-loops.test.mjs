// Loops over tensors on the CPU, by the module that is packed: beside the steps written out, beside differences, and errors that name the argument, what it got and what it takes.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import * as T from '../../pkg-template/dist/tensor.js';
import { noise } from '../../www/checks/tensors/linalg.js';
import { LONG_LOOPS, LOOPS } from '../../www/checks/tensors/loops.js';

let device;
before(async () => {
  await T.init(await readFile(new URL('../../pkg-template/wasm-tensor/residua_tensor_bg.wasm', import.meta.url)));
  device = await T.Device.create({ backend: 'cpu' });
});
after(() => device.dispose());

for (const [name, run] of [...LOOPS, ...LONG_LOOPS]) test(name, () => run(T, device, (holds, claim) => assert.ok(holds, claim)));

const tensor = (...shape) => device.tensor(noise(shape.reduce((a, b) => a * b, 1), shape.length), shape);

test('derivatives are those of differences', async () => {
  const [w, x] = [tensor(3, 3), tensor(6, 3)];
  const loss = (weight) => {
    const [last, rows] = T.scan(x, T.zeros([1, 3]), (s, each) => { const next = s.matmul(weight).add(each).tanh(); return [next, next.square().sum()]; });
    return last.sum().add(rows.mul(T.arange(6)).sum());
  };
  const [by] = await device.read(...T.grad(loss(w), [w]));
  const values = await w.data();
  const step = 2 ** -7;
  for (let k = 0; k < 9; k++) {
    const moved = await Promise.all([-step, step].map((h) => loss(device.tensor(values.map((value, at) => (at === k ? value + h : value)), [3, 3])).item()));
    const difference = (moved[1] - moved[0]) / (2 * step);
    // Differences are off by step² times a third derivative, and by roundings of the loss over the step.
    assert.ok(Math.abs(difference - by[k]) <= 1e-2 * (1 + Math.abs(by[k])), `${k}: ${by[k]} beside ${difference}`);
  }
});

test('no steps leave the state, and outputs without rows', async () => {
  const x = tensor(4);
  assert.deepEqual(await T.loop(0, x, (s) => s.mul(2)).data(), await x.data());
  const [state, outputs] = T.scan(T.zeros([0, 2]), x, (s, each) => [s.mul(each.sum()), each.mul(3)]);
  assert.deepEqual(outputs.shape, [0, 2]);
  assert.deepEqual(await state.data(), await x.data());
});

test('the same loop is compiled once', async () => {
  const run = (x) => T.loop(6, x, (s, i) => s.add(i.cast('f32'))).data();
  await run(tensor(5));
  const { pipelines } = device.stats();
  assert.deepEqual([...(await run(device.tensor([0, 0, 0, 0, 0])))], [15, 15, 15, 15, 15]);
  assert.equal(device.stats().pipelines, pipelines);
});

test('assign() takes what a loop gives', async () => {
  const w = device.tensor([1, 2]);
  const program = await device.compile({}, () => {
    const next = T.loop(3, w, (s) => s.mul(w));
    w.assign(next);
    return { before: w.mul(1), next };
  });
  const { next } = program.run();
  assert.deepEqual([...(await next.data())], [1, 16]);
  assert.deepEqual([...(await w.data())], [1, 16]);
});

test('random numbers of a body are drawn once', async () => {
  const draw = () => new T.Random(1).uniform([3]);
  assert.deepEqual(await T.loop(4, T.zeros([3]), (s) => s.add(draw())).data(), await draw().mul(4).data());
});

const [x, n] = [T.zeros([2]), T.dim('n', 4)];
for (const [call, message] of [
  [() => T.loop(-1, x, (s) => s), /^loop: count: got -1; takes a whole number of at least 0, a Dim, or a Tensor/],
  [() => T.loop(1.5, x, (s) => s), /^loop: count: got 1.5; takes a whole number/],
  [() => T.loop('3', x, (s) => s), /^loop: count: got .*; takes a whole number/],
  [() => T.loop(T.zeros([2], 'i32'), x, (s) => s, { most: 3 }), /^loop: count: got a tensor of i32 of shape \[2\]; takes one number of i32 or u32/],
  [() => T.loop(T.zeros([]), x, (s) => s, { most: 3 }), /^loop: count: got a tensor of f32/],
  [() => T.loop(T.zeros([], 'i32'), x, (s) => s), /^loop: most: got undefined; takes a whole number/],
  [() => T.loop(3, x, (s) => s, { most: 3 }), /^loop: most: got 3; takes no number/],
  [() => T.loop(3, x, (s) => s, { mots: 3 }), /^loop: options: got the unknown option/],
  [() => T.loop(3, 5, (s) => s), /^loop: state: got 5; takes a Tensor, or a list or record of them/],
  [() => T.loop(3, { a: x, b: 2 }, (s) => s), /^loop: state.b: got 2; takes a Tensor/],
  [() => T.loop(3, x, null), /^loop: body: got null; takes a function/],
  [() => T.loop(3, x, () => 1), /^loop: the state that body gives: got 1; takes a Tensor/],
  [() => T.loop(3, x, async (s) => s), /^loop: the state that body gives: got a Promise; takes a Tensor/],
  [() => T.loop(3, x, (s) => s.sum()), /^loop: the state that body gives: got a tensor of f32 of shape \[\]; takes a tensor of f32 of shape \[2\], as the state is/],
  [() => T.loop(3, x, (s) => s.cast('i32')), /^loop: the state that body gives: got a tensor of i32 of shape \[2\]; takes/],
  [() => T.loop(3, { a: x }, ({ a }) => ({ b: a })), /^loop: the state that body gives\.a: got nothing; takes/],
  [() => T.loop(3, [x], ([a]) => [a, a]), /^loop: the state that body gives\[1\]: got a tensor of f32 of shape \[2\]; takes nothing/],
  [() => T.scan(x, x, (s) => s), /^scan: the result of body: got .*; takes \[state, outputs\]/],
  [() => T.scan(x, x, (s) => [s, 1]), /^scan: the outputs that body gives: got 1; takes a Tensor/],
  [() => T.scan([x, T.zeros([3])], x, (s) => [s]), /^scan: inputs\[1\]: got size 3 along axis 0; takes 2, as scan: inputs\[0\] has/],
  [() => T.scan([x, T.zeros([n])], x, (s) => [s]), /^scan: inputs\[1\]: got size n along axis 0; takes 2/],
  [() => T.scan(T.zeros([]), x, (s) => [s]), /^scan: inputs: axis: got 0; takes no axis/],
  [() => T.scan([], x, (s) => [s]), /^scan: inputs: got no tensors; takes at least one/],
  [() => T.scan(x, x, (s) => [s], { axis: 1 }), /^scan: inputs: axis: got 1; takes/],
  [() => T.scan(x, x, (s) => [s], { reverse: 1 }), /^scan: reverse: got 1; takes true or false/],
]) {
  test(`${String(call).replace('() => ', '')} is refused`, () => assert.throws(call, (error) => error.code === 'invalid-argument' && message.test(error.message)));
}

test('what a body has is refused outside', async () => {
  let [state, counter] = [];
  T.loop(3, tensor(2), (s, i) => { [state, counter] = [s, i]; return s; });
  for (const each of [state, counter.add(1)]) {
    await assert.rejects(each.data(), (error) => error.code === 'invalid-graph' && error.message.startsWith('loop: got a state, a slice or the counter of a body'));
    await assert.rejects(device.compile({}, () => each.mul(1)), { code: 'invalid-graph' });
  }
});

test('derivatives of derivatives through a loop are refused, others are not', async () => {
  const w = tensor(2);
  const [first] = T.grad(T.loop(3, w, (s) => s.sin()).sum(), [w]);
  assert.throws(() => T.grad(first.sum(), [w]), (error) => error.code === 'invalid-graph' && error.message.startsWith('grad: got a derivative that goes through a loop'));
  // A step of Newton's method in the body: its derivative is the module's.
  const root = T.loop(6, w.mul(0).add(1), (s) => { const f = s.square().sub(2); const [slope] = T.grad(f.sum(), [s]); return s.sub(f.div(slope)); });
  for (const value of await root.data()) assert.ok(Math.abs(value - Math.SQRT2) < 2 ** -22, String(value));
});

test('derivatives by views that a body uses are those of the steps written out', async () => {
  const [x, w] = [tensor(2), tensor(1, 2)];
  const view = w.reshape([2]);
  const step = (state) => state.mul(view).sin();
  const looped = [T.loop(2, x, step), T.loop(2, x, (state) => T.loop(1, state, step)), T.scan(T.arange(2), x, (state) => [step(state)])[0]];
  const expected = await T.grad(step(step(x)).sum(), [view])[0].data();
  for (const result of looped) (await T.grad(result.sum(), [view])[0].data()).forEach((each, k) => assert.ok(Math.abs(each - expected[k]) <= 1e-6));
});
