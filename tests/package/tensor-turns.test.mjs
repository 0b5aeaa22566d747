// Long kernels on the CPU leave turns of the event loop to others.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { before, test } from 'node:test';
import * as T from '../../pkg-template/dist/tensor.js';

let device;
before(async () => {
  await T.init(await readFile(new URL('../../pkg-template/wasm-tensor/residua_tensor_bg.wasm', import.meta.url)));
  device = await T.Device.create({ backend: 'cpu' });
});

/** Runs work, and counts how often a timer of a millisecond fires until it is done. */
async function countTurns(work) {
  let turns = 0;
  const timer = setInterval(() => (turns += 1), 1);
  try {
    return { result: await work(), turns };
  } finally {
    clearInterval(timer);
  }
}

test('a timer fires during a product of 2048³', async () => {
  const size = 2048;
  const [a, b] = [0, 1].map(() => device.tensor(new Float32Array(size * size).fill(1), [size, size]));
  const product = await device.compile({}, () => a.matmul(b));
  const { result, turns } = await countTurns(() => product.run().data());
  assert.ok(result.every((number) => number === size));
  // The work of 8.6 · 10⁹ products is cut into 128 calls. A core that does 10¹¹ a second takes 86 ms, which are 7 turns of 12 ms.
  assert.ok(turns >= 5, `${turns} turns`);
  product.dispose();
});

test('a timer fires during one kernel of elementwise operations', async () => {
  const count = 2 ** 23;
  const x = device.tensor(new Float32Array(count).fill(0.5), [count]);
  const program = await device.compile({}, () => Array.from({ length: 12 }).reduce((y) => y.sin(), x));
  assert.equal(program.kernels().length, 1);
  const { result, turns } = await countTurns(() => program.run().data());
  assert.ok(result.every((number) => number === result[0]));
  // 10⁸ sines, in 32 calls. A core that does 10⁹ a second takes 100 ms, which are 8 turns of 12 ms.
  assert.ok(turns >= 5, `${turns} turns`);
  program.dispose();
  x.dispose();
});

/** Numbers from −2³¹ on, in an order that has nothing to do with theirs. */
const mixed = (count) => Int32Array.from({ length: count }, (_, k) => Math.imul(k, 2_654_435_769) | 0);

test('a timer fires during a sort of one row, and a signal ends it', async () => {
  const count = 2 ** 22;
  const x = device.tensor(mixed(count), [count], 'i32');
  const program = await device.compile({}, () => x.argsort());
  const { result, turns } = await countTurns(() => program.run().data());
  const sorted = mixed(count).sort();
  const numbers = mixed(count);
  assert.ok(result.every((place, rank) => numbers[place] === sorted[rank]));
  // Keys are read, moved by 4 digits and written in calls of 2¹⁷ each, 192 in all. A core that moves 10⁹ a second takes 25 ms for the moves alone.
  assert.ok(turns >= 2, `${turns} turns`);
  const controller = new AbortController();
  setTimeout(() => controller.abort(), 1);
  await assert.rejects(program.run({}, {}, { signal: controller.signal }).data({ signal: controller.signal }), { code: 'aborted' });
  assert.deepEqual(await program.run().data(), result, 'the next run begins anew');
  T.dispose(program, x);
});

test('long rows have their quantiles, their smallest and their order, as short ones do', async () => {
  const count = 300_000;
  const rows = 3;
  const numbers = Float32Array.from(mixed(rows * count), (number) => (number >> 12) / 7);
  const x = device.tensor(numbers, [rows, count]);
  const [median, few, many, order] = await device.read(x.median(1), x.topk(5, 1, { smallest: true }).values, x.topk(200_000, 1).indices, x.argsort(1));
  for (let row = 0; row < rows; row++) {
    const own = numbers.subarray(row * count, (row + 1) * count);
    const sorted = own.slice().sort();
    const [low, high] = [sorted[count / 2 - 1], sorted[count / 2]];
    assert.ok(median[row] >= low && median[row] <= high, `${median[row]} from ${low} to ${high}`);
    assert.deepEqual(few.slice(row * 5, row * 5 + 5), sorted.slice(0, 5));
    // Of equal numbers the first comes first.
    const places = [...own.keys()].sort((a, b) => own[a] - own[b] || a - b);
    assert.ok(places.every((place, rank) => order[row * count + rank] === place));
    const falling = [...own.keys()].sort((a, b) => own[b] - own[a] || a - b);
    assert.ok(many.subarray(row * 200_000, (row + 1) * 200_000).every((place, rank) => place === falling[rank]));
  }
  T.dispose(x);
});

test('a product in parts has the same bits at each run', async () => {
  const numbers = (count, seed) => Float32Array.from({ length: count }, (_, k) => Math.sin(k * 0.7 + seed));
  const [a, b] = [device.tensor(numbers(3 * 200 * 700, 1), [3, 200, 700]), device.tensor(numbers(3 * 700 * 600, 2), [3, 700, 600])];
  const product = await device.compile({}, () => a.matmul(b));
  const first = await product.run().data();
  const [second, third] = [product.run().data(), product.run().data()];
  assert.deepEqual(await second, first);
  assert.deepEqual(await third, first);
  // Beside sums in double precision of some elements. Each of 700 terms of at most 1 has errors of at most (256 + 3) · 2⁻²⁴.
  const [x, y] = [await a.data(), await b.data()];
  for (const [batch, row, column] of [[0, 0, 0], [1, 77, 512], [2, 199, 599]]) {
    let sum = 0;
    for (let k = 0; k < 700; k++) sum += x[(batch * 200 + row) * 700 + k] * y[(batch * 700 + k) * 600 + column];
    assert.ok(Math.abs(first[(batch * 200 + row) * 600 + column] - sum) <= 700 * 259 * 2 ** -24);
  }
  product.dispose();
});

/** A network of many layers and its derivatives, whose compile takes some tenths of a second. */
function deep() {
  const weights = Array.from({ length: 40 }, (_, k) => device.tensor(Float32Array.from({ length: 64 }, (_, i) => Math.sin(i + k) / 8), [8, 8]));
  const body = () => {
    let y = T.iota([8, 8], 1).div(8);
    for (const weight of weights) y = y.matmul(weight).softmax().sub(y.mean(-1, { keep: true })).tanh().add(y);
    return T.grad(y.square().sum(), weights);
  };
  return { weights, body };
}

test('a timer fires during a compile', async () => {
  const { weights, body } = deep();
  const { result: program, turns } = await countTurns(() => device.compile({}, body));
  // 120 products and as many reductions of several kernels each, in parts of 12 ms.
  assert.ok(program.plan.dispatches > 200, `${program.plan.dispatches} kernels`);
  assert.ok(turns >= 5, `${turns} turns`);
  const [first] = await device.read(...program.run());
  assert.ok(first.every(Number.isFinite) && first.some((slope) => slope !== 0));
  T.dispose(program, weights);
});

test('a signal ends a compile between its parts, and reads of other recipes have their turn', async () => {
  const { weights, body } = deep();
  const { pipelines } = device.stats();
  const controller = new AbortController();
  setTimeout(() => controller.abort(), 5);
  await assert.rejects(device.compile({}, body, { signal: controller.signal }), { code: 'aborted' });
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.equal(device.stats().pipelines, pipelines, 'what is left of it is left out');
  assert.deepEqual([...(await device.tensor([1, 2]).mul(3).data())], [3, 6]);
  T.dispose(weights);
});

test('recipes that differ in numbers of the caller are compiled once', async () => {
  const x = device.tensor([1, -2, 3.5]);
  const ints = device.tensor([7, -7, 100], [3], 'i32');
  const { fround } = Math;
  const calls = {
    mul: [(i) => x.mul(i / 7), (i) => [1, -2, 3.5].map((a) => fround(a * fround(i / 7)))],
    sub: [(i) => x.sub(i), (i) => [1, -2, 3.5].map((a) => fround(a - i))],
    clamp: [(i) => x.clamp(-i, i / 2), (i) => [1, -2, 3.5].map((a) => Math.min(Math.max(a, -i), i / 2))],
    where: [(i) => T.where(x.gt(i - 3), x, i), (i) => [1, -2, 3.5].map((a) => (a > i - 3 ? a : i))],
    maskedFill: [(i) => x.maskedFill(x.lt(0), i), (i) => [1, i, 3.5]],
    full: [(i) => T.full([2], i).add(x.slice([0, 2])), (i) => [i + 1, i - 2]],
    pad: [(i) => x.pad([[1, 0]], { value: i }), (i) => [i, 1, -2, 3.5]],
    'a product with a source': [(i) => x.mul(i).matmul(T.full([3, 1], i / 2)), (i) => [(1 - 2 + 3.5) * i * (i / 2)]],
    'integers': [(i) => ints.mul(i).add(-i), (i) => [6 * i, -8 * i, 99 * i]],
    'quotients of integers': [(i) => ints.div(i), (i) => [7, -7, 100].map((a) => Math.trunc(a / i))],
  };
  for (const [name, [recipe, expected]] of Object.entries(calls)) {
    const before = device.stats().pipelines;
    // 0 and 1 make kernels simpler.
    for (let i = 2; i < 102; i++) {
      const found = [...(await recipe(i).data())];
      assert.ok(found.every((number, k) => Math.abs(number - expected(i)[k]) <= 1e-6 * Math.abs(number)), `${name} of ${i}: ${found}, not ${expected(i)}`);
    }
    // A number that is −1, 0 or 1 in one of these is part of the kernel.
    const made = device.stats().pipelines - before;
    assert.ok(made <= 4, `${name}: ${made} compiles`);
  }
  // A stored tensor and a program have the same bits.
  const program = await device.compile({}, () => x.mul(0.1).add(2.7));
  assert.deepEqual(await x.mul(0.1).add(2.7).data(), await program.run().data());
  program.dispose();
});
