// residua/tensor/worker at the two ends of a channel, by the module that is packed: what a worker computes is what the page computes, and errors, aborts and ends cross.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import * as T from '../../pkg-template/dist/tensor.js';
import { AdamW, compileStep } from '../../pkg-template/dist/tensor-train.js';
import { tensorModule } from '../../pkg-template/dist/tensor/module/loading.js';
import { serveTensors } from '../../pkg-template/dist/tensor/remote/server.js';
import { TensorThread } from '../../pkg-template/dist/tensor/remote/thread.js';
import { LOOPS } from '../../www/checks/tensors/loops.js';
import { recipes } from '../facade/tensor-recipes.mjs';

const threads = [];
/** A thread whose worker is at the other end of a channel. `sent` are the page's messages; `fail` tells an error of the worker. */
function joined() {
  const sides = { sent: [], starts: 0, fail: () => {} };
  const thread = new TensorThread(() => {
    const { port1, port2 } = new MessageChannel();
    sides.starts += 1;
    serveTensors(port2);
    const port = {
      set onmessage(listener) {
        port1.onmessage = listener;
      },
      postMessage: (batch, transfer) => (sides.sent.push(...batch), port1.postMessage(batch, transfer)),
    };
    const end = () => [port1, port2].forEach((each) => each.close());
    return { port, end, listen: (listener) => ((sides.fail = listener.fail), () => {}) };
  });
  threads.push(thread);
  return Object.assign(sides, { thread, Device: T.Device.on(thread.open) });
}

const code = (expected, message = /./) => (error) => error instanceof T.ResiduaError && error.code === expected && message.test(error.message);
const memoryBytes = () => tensorModule.running().module.memoryBytes();

let here, there, sides;
before(async () => {
  await T.init(await readFile(new URL('../../pkg-template/wasm-tensor/residua_tensor_bg.wasm', import.meta.url)));
  here = await T.Device.create({ backend: 'cpu' });
  sides = joined();
  there = await sides.Device.create({ backend: 'cpu' });
});
after(() => {
  for (const thread of threads) thread.terminate();
  here.dispose();
});

/** What a job gives on both devices. */
const both = async (job) => [await job(there), await job(here)];
const assertSame = async (job) => {
  const [remote, local] = await both(job);
  assert.deepEqual(remote, local);
  return remote;
};

for (const [name, run] of LOOPS) test(`in a worker: ${name}`, () => run(T, there, (holds, claim) => assert.ok(holds, claim)));

test('a device in a worker is a Device that says where it computes', () => {
  assert.ok(there instanceof T.Device);
  assert.deepEqual([there.constructor.name, there.backend, there.fallbackReason, there.gpu, there.features], ['Device', 'cpu', null, null, here.features]);
});

test('a device that nobody refers to is collected, and ends in the worker', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc');
  const open = async (Device) => {
    const device = await Device.create({ backend: 'cpu' });
    await device.tensor([1, 2]).add(1).data();
    return new WeakRef(device);
  };
  const { sent, Device } = joined();
  const devices = [await open(Device), await open(T.Device)];
  const isEnded = () => sent.some((message) => message.do === 'dispose');
  for (let turn = 0; turn < 50 && !(isEnded() && devices.every((device) => device.deref() === undefined)); turn++) {
    await new Promise((resolve) => setTimeout(resolve, 10));
    collect();
  }
  assert.deepEqual(devices.map((device) => device.deref()), [undefined, undefined]);
  assert.ok(isEnded());
});

test('recipes give the same bits', async () => {
  let count = 0;
  for (const [title, tensor, dims] of recipes()) {
    const { node } = tensor;
    const sources = [...nodesOf(node)].filter(({ source }) => source?.data !== undefined);
    if (Object.keys(dims ?? {}).length > 0 || [...nodesOf(node)].some(({ op, source }) => op === 'input' && source?.data === undefined)) continue;
    const kept = sources.map(({ source }) => source);
    const found = [];
    for (const device of [there, here]) {
      const own = sources.map((input, k) => (input.source = device.tensor(kept[k].data, input.shape, input.dtype).cell));
      found.push(await device.read(tensor).then(([data]) => [...data], (error) => error.code));
      own.forEach(({ handle }) => handle.dispose());
      sources.forEach((input, k) => (input.source = kept[k]));
    }
    assert.deepEqual(found[0], found[1], title);
    count += 1;
  }
  assert.ok(count > 50, `${count} recipes`);
});

function nodesOf(root, seen = new Set()) {
  if (!seen.has(root)) {
    seen.add(root);
    root.operands.forEach((operand) => nodesOf(operand, seen));
  }
  return seen;
}

test('stores, writes, selections and quantised weights', async () => {
  const [stored, written, selected, product] = await assertSame(async (device) => {
    const x = device.tensor([[3, -1, 2], [0, 5, -4]]);
    const { a, b } = await device.store({ a: x.mul(2), b: x.T.sort() });
    const stored = [a.shape, await a.data(), b.shape, await b.data()];
    x.set([7, 8], 1);
    await a.set(a.add(x));
    const half = device.tensor([1, 2, 3], [3], 'f16');
    half.set([0.5], 1);
    const written = await device.read(x, a, half);
    const chosen = await device.compact(x.maskedSelect(x.gt(2)));
    const selected = [chosen.shape, await chosen.data()];
    const weights = await device.quantize(T.linspace(-1, 1, 128).reshape([4, 32]), 'q8_0');
    const product = await T.ones([2, 32]).matmul(weights.dequantize('f32').T).data();
    T.dispose(x, a, b, half, chosen, weights);
    return [stored, written.map((data) => [...data]), selected, product];
  });
  assert.deepEqual(stored, [[2, 3], Float32Array.of(6, -2, 4, 0, 10, -8), [3, 2], Float32Array.of(0, 3, -1, 5, -4, 2)]);
  assert.deepEqual(written, [[3, 7, 8, 0, 5, -4], [9, 5, 12, 0, 15, -12], [1, 0.5, 3]]);
  assert.deepEqual(selected, [[4], Float32Array.of(3, 7, 8, 5)]);
  assert.equal(product.length, 8);
});

test('programs with Dims, states, random numbers and several results', async () => {
  await assertSame(async (device) => {
    const total = device.zeros([]);
    const random = new T.Random(5);
    const program = await device.compile(
      { x: T.spec('f32', [T.dim('n', 300), 2]), factor: T.scalar },
      ({ x, factor }) => {
        total.assign(total.add(x.sum()));
        return { scaled: x.mul(factor), noise: random.uniform([3]), last: [x.max(0), T.fft(factor.mul(T.arange(6))).abs()] };
      },
      { name: 'step' },
    );
    const found = [];
    for (const n of [2, 300, 0, 5]) {
      const x = Float32Array.from({ length: 2 * n }, (_, i) => Math.sin(i));
      const { scaled, noise, last } = program.run({ x, factor: n }, { n });
      found.push(scaled.shape, await device.read(scaled, noise, ...last, total));
    }
    found.push(String(program.plan), program.plan.dispatches, program.kernels(), program.toJSON());
    program.dispose();
    total.dispose();
    return found;
  });
});

test('a training step and a file of weights', async () => {
  const losses = await assertSame(async (device) => {
    const file = await T.saveSafetensors({ w: here.tensor([[1, 2], [3, 4]]), b: here.tensor([0.5, -0.5]) });
    const { tensors: weights } = await T.loadSafetensors(file, { device });
    const inputs = { x: T.spec('f32', [4, 2]), y: T.spec('f32', [4, 2]) };
    const step = await compileStep(new AdamW(weights, { rate: 0.1 }), inputs, ({ x, y }) => x.matmul(weights.w).add(weights.b).sub(y).square().mean());
    const found = [];
    for (let k = 0; k < 5; k++) found.push(await step.run({ x: [1, 0, 0, 1, 1, 1, 2, 1], y: [1, 1, 2, 2, 3, 3, 4, 4] }).loss.item());
    found.push(await weights.w.data());
    return found;
  });
  assert.ok(losses[4] < losses[0]);
});

test('arrays of the caller are copied at the call, and results are fresh', async () => {
  const numbers = Float32Array.of(1, 2, 3);
  const x = there.tensor(numbers);
  numbers.fill(9);
  x.set(numbers.subarray(1, 2), 2);
  numbers.fill(0);
  const first = await x.data();
  assert.deepEqual([...first], [1, 2, 9]);
  assert.notEqual((await x.data()).buffer, first.buffer);
  assert.equal(numbers.length, 3);
  x.dispose();
});

describe('errors', () => {
  test('what is wrong with a call is thrown at the call', () => {
    assert.throws(() => there.tensor([1, 2], [3]), code('invalid-argument', /takes 3/));
    assert.throws(() => there.zeros([2 ** 30]), code('limit-exceeded', /4294967296 bytes/));
    assert.throws(() => there.borrow({}, [1], 'f32'), code('gpu-unavailable', /in a worker/));
    const x = there.zeros([1]);
    assert.throws(() => x.copyTo({}), code('gpu-unavailable', /in a worker/));
    assert.equal(x.memory, null);
    x.dispose();
    assert.throws(() => x.set([1]), code('disposed'));
  });

  test('what the worker finds wrong crosses with its code and message', async () => {
    await assert.rejects(sides.Device.create({ backend: 'gpu' }), code('gpu-unavailable', /navigator\.gpu/));
    await assert.rejects(sides.Device.create({ share: {} }), code('invalid-argument', /share: got .*residua\/tensor\/worker/));
    const checked = await sides.Device.create({ backend: 'cpu', checks: true });
    const x = checked.tensor([1, 2, 3]);
    await assert.rejects(x.indexSelect(checked.tensor([5], [1], 'i32')).data(), code('invalid-argument', /indexSelect: got an index that is out of range/));
    checked.dispose();
    const program = await there.compile({}, () => T.ones([2]));
    await assert.rejects(program.verify(), code('gpu-unavailable', /on the CPU/));
    program.dispose();
  });

  test('memory that there is not rejects what uses it, and nothing else', async () => {
    const most = 2 ** 29 - 2 ** 14 - 64;
    const held = [there.zeros([most]), there.zeros([most])];
    const failing = [() => held[1].sum().item(), () => held[1].data(), () => there.store(held[1].add(1)), () => there.compile({}, () => held[1].sum())];
    for (const use of failing) await assert.rejects(use(), code('out-of-memory', new RegExp(`${most}`)));
    held[1].dispose();
    assert.equal(await held[0].sum().item(), 0);
    held[0].dispose();
    assert.equal(await T.ones([3]).add(there.tensor([1])).sum().item(), 6);
  });

  test('a failure of the worker rejects everything pending, and the next device starts another one', async () => {
    const sides = joined();
    const device = await sides.Device.create({ backend: 'cpu' });
    const x = device.tensor([1, 2]);
    const program = await device.compile({}, () => x.mul(2));
    const pending = [x.data(), device.store(x.add(1)), device.compile({}, () => x.sum()), device.synchronize(), x.set(x.mul(3))];
    sides.fail('its worker has ended');
    for (const each of await Promise.allSettled(pending)) assert.ok(code('internal', /its worker has ended/)(each.reason), String(each.reason));
    assert.equal((await device.lost).reason, 'failed');
    assert.throws(() => program.run(), code('internal'));
    assert.throws(() => device.tensor([1]), code('internal'));
    const next = await sides.Device.create({ backend: 'cpu' });
    assert.equal(await next.tensor([4]).sum().item(), 4);
    assert.equal(sides.starts, 2);
  });
});

describe('ends', () => {
  test('terminate() rejects what is pending and later calls with disposed', async () => {
    const sides = joined();
    const device = await sides.Device.default();
    assert.equal(await sides.Device.default(), device);
    const x = device.tensor([1, 2]);
    const pending = x.sum().item();
    sides.thread.terminate();
    await assert.rejects(pending, code('disposed', /terminate/));
    await assert.rejects(x.data(), code('disposed', /terminate/));
    assert.notEqual(await sides.Device.default(), device);
    sides.thread.terminate();
  });

  test('dispose() of a device rejects what is pending, and frees its memory in the worker', async () => {
    const sizes = [];
    for (let k = 0; k < 6; k++) {
      const device = await sides.Device.create({ backend: 'cpu' });
      const x = device.zeros([2 ** 23]);
      const program = await device.compile({}, () => x.add(1));
      program.run();
      await device.synchronize();
      const pending = x.sum().item();
      device.dispose();
      device.dispose();
      await assert.rejects(pending, code('disposed'));
      await there.synchronize();
      sizes.push(memoryBytes());
    }
    assert.equal(sizes.at(-1), sizes[1]);
  });

  test('tensors and programs that are disposed of leave nothing', async () => {
    await there.synchronize();
    const start = there.stats();
    for (let k = 0; k < 3; k++) {
      const x = there.tensor(new Float32Array(1000));
      const program = await there.compile({ n: T.spec('f32', [1000]) }, ({ n }) => [n.add(x), n.mul(2)]);
      program.run({ n: x });
      await x.sort().data();
      assert.equal(there.stats().tensors, start.tensors + 1);
      program.dispose();
      x.dispose();
      await there.synchronize();
    }
    const { tensors, tensorBytes, programs, programBytes, leaked } = there.stats();
    assert.deepEqual([tensors, tensorBytes, programs, programBytes, leaked], [start.tensors, start.tensorBytes, start.programs, start.programBytes, start.leaked]);
    assert.ok(there.stats().dispatches > start.dispatches);
  });
});

describe('signals', () => {
  /** Work of some hundred milliseconds in many short steps. */
  const long = (device, x) => Array.from({ length: 300 }).reduce((sum) => sum.matmul(x).tanh(), x);

  test('an aborted read rejects at once, and the worker leaves out what is left', async () => {
    const x = there.tensor(Float32Array.from({ length: 128 * 128 }, (_, i) => Math.sin(i) / 12), [128, 128]);
    await there.read(long(there, x));
    const { dispatches: before } = there.stats();
    const controller = new AbortController();
    const read = long(there, x).data({ signal: controller.signal });
    setTimeout(() => controller.abort(), 20);
    await assert.rejects(read, code('aborted', /^data was aborted/));
    await there.synchronize();
    const { dispatches } = there.stats();
    assert.ok(dispatches - before < 300, `${dispatches - before} dispatches`);
    assert.ok(sides.sent.some((message) => message.do === 'cancel'));
    assert.equal((await x.data()).length, 128 * 128);
    x.dispose();
  });

  test('a signal ends the runs that it was given to, and no other', async () => {
    const x = there.tensor(Float32Array.from({ length: 128 * 128 }, (_, i) => Math.sin(i) / 12), [128, 128]);
    const program = await there.compile({}, () => long(there, x));
    const other = await there.compile({}, () => x.sum());
    await program.run().data();
    const { dispatches: before } = there.stats();
    const controller = new AbortController();
    for (let k = 0; k < 3; k++) program.run({}, undefined, { signal: controller.signal });
    const sum = other.run({}, undefined, { signal: new AbortController().signal }).item();
    setTimeout(() => controller.abort(), 20);
    assert.equal(await sum, await x.sum().item());
    const { dispatches } = there.stats();
    assert.ok(dispatches - before < 600, `${dispatches - before} dispatches`);
    assert.throws(() => program.run({}, undefined, { signal: controller.signal }), code('aborted', /^program.run was aborted/));
    program.dispose();
    other.dispose();
    x.dispose();
  });

  test('an aborted compile rejects, and the device goes on', async () => {
    const controller = new AbortController();
    const x = there.zeros([64, 64]);
    const compile = there.compile({}, () => long(there, x), { signal: controller.signal });
    controller.abort();
    await assert.rejects(compile, code('aborted'));
    await assert.rejects(there.compile({}, () => x.sum(), { signal: AbortSignal.abort() }), code('aborted'));
    const seen = [];
    const program = await there.compile({}, () => x.sum(), { onProgress: (done, total, stage) => seen.push([done, total, stage]) });
    assert.deepEqual(seen.at(-1), [program.kernels().length, program.kernels().length, 'kernels']);
    program.dispose();
    x.dispose();
  });
});

test('messages of one turn are sent together, and numbers are transferred', async () => {
  const sides = joined();
  const device = await sides.Device.create({ backend: 'cpu' });
  sides.sent.length = 0;
  const x = device.tensor([1, 2, 3]);
  x.set([4], 0);
  assert.equal(sides.sent.length, 0);
  assert.deepEqual([...(await x.data())], [4, 2, 3]);
  assert.deepEqual(sides.sent.map((message) => message.do), ['allocate', 'write', 'write', 'read', 'allocated']);
  // What was sent is not here any more.
  assert.ok(sides.sent.filter((message) => message.do === 'write').every(({ data }) => data.length === 0));
});
