/** Devices of tensors, stored tensors and programs, on a fake GPU and on the CPU, with a fake module that plans one kernel an operation. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dim } from '../../pkg-template/dist/tensor/size.js';
import { CompiledRecipes } from '../../pkg-template/dist/tensor/device/compiled.js';
import { writtenTape } from '../../pkg-template/dist/tensor/device/written.js';
import { Device, dispose, ones, scalar, spec, StoredTensor, Tensor } from '../../pkg-template/dist/tensor.js';
import { Node } from '../../pkg-template/dist/tensor/recipe/node.js';
import { ELEMENTWISE } from '../../pkg-template/dist/tensor/recipe/elementwise-codes.js';
import { Turns } from '../../pkg-template/dist/tensor/memory/turns.js';
import { WorkQueue } from '../../pkg-template/dist/tensor/memory/work-queue.js';
import { fakeGpu } from './fake-gpu.mjs';
import { deferred, residuaError, settle } from './fake-module.mjs';
import { installTensors } from './fake-tensor-module.mjs';

const op = (name, ...operands) => Tensor.make(new Node('elementwise', operands[0].dtype, operands[0].shape, operands.map(({ node }) => node), [ELEMENTWISE[name].code]));
const expand = (x, shape) => Tensor.make(new Node('expand', x.dtype, shape, [x.node]));
const draw = (source, shape) => Tensor.make(new Node('randomBits', 'u32', shape, [new Node('input', 'u32', [3], [], [], source)], [0]));

/** A device on a fake GPU or on the CPU. */
async function open(backend = 'gpu', options = {}) {
  const fake = installTensors();
  const gpu = backend === 'gpu' ? fakeGpu(options) : null;
  const device = await Device.create(gpu === null ? { backend: 'cpu' } : { share: gpu });
  return { fake, gpu, device };
}

for (const backend of ['gpu', 'cpu']) {
  test(`${backend}: numbers of every type come back as they were`, async () => {
    const { device } = await open(backend);
    assert.equal(device.backend, backend);
    const cases = [
      ['f32', [1, -2.5, 3e38, NaN, -0], Float32Array],
      ['f16', [1, 0.5, -65504, 2 ** -24, Infinity], Float32Array],
      ['i32', [1, -(2 ** 31), 2 ** 31 - 1], Int32Array],
      ['u32', [0, 2 ** 32 - 1], Uint32Array],
      ['u8', [0, 255, 7, 9, 11], Uint8Array],
      ['bool', [0, 1, 1], Uint8Array],
    ];
    for (const [dtype, numbers, type] of cases) {
      const tensor = device.tensor(numbers, [numbers.length], dtype);
      const data = await tensor.data();
      assert.ok(data instanceof type, dtype);
      assert.deepEqual([...data], [...type.from(numbers)], dtype);
      tensor.dispose();
    }
    const nested = device.tensor([[1, 2, 3], [4, 5, 6]]);
    assert.deepEqual(nested.shape, [2, 3]);
    assert.deepEqual(await nested.toArray(), [[1, 2, 3], [4, 5, 6]]);
    assert.equal(await device.tensor(7).item(), 7);
    assert.deepEqual(await device.read(nested, device.zeros([0])), [Float32Array.of(1, 2, 3, 4, 5, 6), new Float32Array(0)]);
  });

  test(`${backend}: set() writes a part, of bytes and halves too`, async () => {
    const { device } = await open(backend);
    for (const dtype of ['f32', 'f16', 'i32', 'u32', 'u8']) {
      const expected = Array.from({ length: 11 }, (_, i) => i);
      const tensor = device.tensor(expected, [11], dtype);
      for (const [offset, numbers] of [[1, [50]], [2, [60, 61, 62]], [7, [70, 71, 72, 73]], [10, [80]], [0, [90, 91]], [5, [55, 56, 57, 58]]]) {
        tensor.set(numbers, offset);
        numbers.forEach((number, k) => (expected[offset + k] = number));
        assert.deepEqual([...(await tensor.data())], expected, `${dtype} at ${offset}`);
      }
      assert.throws(() => tensor.set([1, 2], 10), residuaError('invalid-argument', /at most 11 elements/));
    }
    const bytes = device.tensor([1, 2], [2], 'u8');
    assert.throws(() => bytes.set([256]), residuaError('invalid-argument', /set: data\[0\]: got 256; takes a whole number from 0 to 255/));
    assert.throws(() => bytes.set([0.5]), residuaError('invalid-argument'));
    assert.throws(() => device.tensor([2], [1], 'bool'), residuaError('invalid-argument'));
    assert.throws(() => device.tensor([1, 2, 3], [2]), residuaError('invalid-argument', /3 numbers; takes 2/));
    assert.throws(() => device.tensor([[1, 2], [3]]), residuaError('invalid-argument', /data\[1\]/));
  });

  test(`${backend}: recipes are computed once asked for, and one of the same structure is compiled once`, async () => {
    const { fake, device } = await open(backend);
    const [a, b] = [device.tensor([1, 2, 3]), device.tensor([10, 20, 30])];
    assert.deepEqual([...(await op('add', a, b).data())], [11, 22, 33]);
    const { pipelines } = device.stats();
    assert.deepEqual([...(await op('add', b, b).data())], [20, 40, 60], 'one input');
    assert.deepEqual([...(await op('add', b, a).data())], [11, 22, 33]);
    assert.equal(fake.plans, 2, 'of one input, and of two');
    assert.equal(device.stats().pipelines, backend === 'gpu' ? pipelines : pipelines + 1);
    const [sum, same] = await device.read(op('add', a, b), a);
    assert.deepEqual([[...sum], [...same]], [[11, 22, 33], [1, 2, 3]]);
    const stored = await device.store({ sum: op('add', a, b), again: a });
    assert.ok(stored.sum instanceof StoredTensor);
    a.set([0, 0, 0]);
    assert.deepEqual([...(await stored.sum.data()), ...(await stored.again.data())], [11, 22, 33, 1, 2, 3]);
    await b.set(op('mul', b, b));
    assert.deepEqual([...(await b.data())], [100, 400, 900]);
  });

  test(`${backend}: a program runs with numbers, stored tensors and scalars`, async () => {
    const { device } = await open(backend);
    const weight = device.tensor([1, 2, 3]);
    const step = await device.compile({ x: spec('f32', [3]), rate: scalar }, ({ x, rate }) => ({ y: op('mul', op('add', x, weight), expand(rate, [3])) }));
    assert.deepEqual([...(await step.run({ x: [1, 1, 1], rate: 2 }).y.data())], [4, 6, 8]);
    const x = device.tensor([5, 5, 5]);
    const first = step.run({ x, rate: 1 }).y.data();
    step.run({ x: Float32Array.of(0, 0, 0), rate: 1 });
    assert.deepEqual([...(await first)], [6, 7, 8], 'a read stands before the next run');
    assert.deepEqual([...(await step.outputs.y.data())], [1, 2, 3]);
    // An output of the program is copied before it is written over.
    assert.deepEqual([...(await step.run({ x: step.outputs.y, rate: 1 }).y.data())], [2, 4, 6]);
    assert.deepEqual([...(await step.run({ x: [0, 0, 0], rate: 1 }).y.data())], [1, 2, 3], 'numbers of an earlier run are uploaded again after a copy');
    assert.throws(() => step.run({ x: [1], rate: 1 }), residuaError('invalid-argument', /run: x: got 1 numbers; takes 3/));
    assert.throws(() => step.run({ x: [1, 2, 3] }), residuaError('invalid-argument', /inputs.rate: got undefined/));
    assert.throws(() => step.run({ x, rate: 1, other: 1 }), residuaError('invalid-argument', /takes inputs 'x', 'rate'/));
    assert.throws(() => step.run({ x: device.zeros([2]), rate: 1 }), residuaError('invalid-argument', /f32 \[2\]; takes f32 \[3\]/));
    assert.throws(() => step.run({ x, rate: 1 }, { n: 1 }), residuaError('invalid-argument', /no Dim/));
    assert.equal(step.plan.dispatches, 3);
    assert.equal(step.kernels().length, 3);
    step.dispose();
    assert.throws(() => step.run({ x, rate: 1 }), residuaError('disposed'));
    await assert.rejects(step.outputs.y.data(), residuaError('disposed'));
  });

  test(`${backend}: assign() holds at each run; reads after it see the new value, and recipes from before the old one`, async () => {
    const { device } = await open(backend);
    const state = device.tensor([1, 2]);
    const program = await device.compile({}, () => {
      const before = op('neg', state);
      state.assign(op('add', state, state));
      const after = op('neg', state);
      state.assign(op('mul', state, state));
      return [before, after, state];
    });
    const read = async () => (await device.read(...program.run())).map((data) => [...data]);
    assert.deepEqual(await read(), [[-1, -2], [-2, -4], [4, 16]]);
    assert.deepEqual(await read(), [[-4, -16], [-8, -32], [64, 1024]]);
    assert.deepEqual([...(await state.data())], [64, 1024]);
    assert.throws(() => state.assign(state), residuaError('invalid-graph', /outside/));
    await assert.rejects(device.compile({}, () => void state.set([1, 2])), residuaError('invalid-graph', /assign/));
    await assert.rejects(device.compile({}, () => state.assign(device.zeros([3]))), residuaError('invalid-argument', /broadcasts to \[2\]/));
    await assert.rejects(device.compile({}, async () => {}), residuaError('invalid-argument', /not async/));
  });

  test(`${backend}: sizes of Dims are told at each run, and make no pipelines`, async () => {
    const { gpu, device } = await open(backend);
    const n = dim('n', 1000);
    const program = await device.compile({ x: spec('f32', [n]) }, ({ x }) => op('add', x, x));
    const { pipelines } = device.stats();
    const made = { ...gpu?.made };
    for (const size of [3, 1000, 1, 0, 17]) {
      const x = Float32Array.from({ length: size }, (_, i) => i);
      const y = program.run({ x }, { n: size });
      assert.deepEqual(y.shape, [size]);
      assert.deepEqual([...(await y.data())], Array.from(x, (number) => 2 * number), `${size}`);
    }
    assert.equal(device.stats().pipelines, pipelines);
    if (gpu !== null) assert.equal(gpu.made.bindGroups, made.bindGroups);
    assert.throws(() => program.run({ x: [] }, { n: 1001 }), residuaError('invalid-argument', /from 0 to 1000/));
    assert.throws(() => program.run({ x: [] }, {}), residuaError('invalid-argument', /sizes.n: got undefined/));
    assert.throws(() => program.run({ x: [] }), residuaError('invalid-argument', /sizes: got undefined/));
    assert.throws(() => program.run({ x: [1] }, { n: 2 }), residuaError('invalid-argument', /1 numbers; takes 2/));
    if (gpu !== null) await assert.rejects(program.verify({ x: [] }, {}), residuaError('invalid-argument', /^program\.verify: sizes\.n: got undefined/));
  });

  test(`${backend}: sizes that would become negative are refused, before any run too`, async () => {
    const { device } = await open(backend);
    const n = dim('n', 4);
    const program = await device.compile({ x: spec('f32', [n.plus(-2)]) }, ({ x }) => op('add', x, x));
    assert.throws(() => program.run({ x: [] }, { n: 1 }), residuaError('invalid-argument', /sizes: got n = 1; takes sizes for which n - 2 is not negative/));
    assert.deepEqual([...(await program.run({ x: [5] }, { n: 3 }).data())], [10]);
    const other = await device.compile({ x: spec('f32', [n.plus(-2)]), y: spec('f32', [n, dim('m', 9)]) }, ({ x, y }) => [op('add', x, x), op('add', y, y)]);
    assert.throws(() => other.run({ x: [], y: [] }, { n: 0, m: 9 }), residuaError('invalid-argument', /got n = 0, m = 9/));
  });

  test(`${backend}: a recipe with a Dim anywhere in it is computed by programs alone`, async () => {
    const { fake, device } = await open(backend);
    const x = expand(device.tensor([1]), [dim('n', 4)]);
    const sum = Tensor.make(new Node('reduce', 'f32', [], [x.node], [0, 0]));
    for (const call of [() => device.read(sum), () => device.store(sum), () => device.tensor([1]).set(sum)]) {
      await assert.rejects(call(), residuaError('invalid-argument', /^(read|store|set): got a recipe with the Dim n; takes one of known sizes/));
    }
    assert.equal(fake.plans, 0);
  });

  test(`${backend}: each run draws anew, and starting over repeats the draws`, async () => {
    const { device } = await open(backend);
    const source = { seed: 7n, epoch: 0 };
    const program = await device.compile({}, () => draw(source, [2]));
    const next = async () => [...(await program.run().data())];
    assert.deepEqual([await next(), await next()], [[7000, 7001], [7010, 7011]]);
    source.seed = 9n;
    source.epoch += 1;
    assert.deepEqual(await next(), [9000, 9001]);
  });

  test(`${backend}: work keeps the order of the calls while something compiles`, async () => {
    const { gpu, device } = await open(backend);
    const a = device.tensor([1, 2]);
    const program = await device.compile({ x: spec('f32', [2]) }, ({ x }) => op('add', a, x));
    const gate = deferred();
    if (gpu !== null) gpu.holdPipelines = gate.promise;
    const changed = a.set(op('mul', a, device.tensor([3, 4])));
    const numbers = Float32Array.of(10, 10);
    const sum = program.run({ x: numbers }).data();
    numbers.fill(0);
    a.set([0, 0]);
    const last = a.data();
    gate.resolve();
    await changed;
    assert.deepEqual([...(await sum)], [13, 18]);
    assert.deepEqual([...(await last)], [0, 0]);
  });

  test(`${backend}: everything rejects after dispose(), and promises settle`, async () => {
    const { fake, gpu, device } = await open(backend);
    const a = device.tensor([1, 2]);
    const program = await device.compile({}, () => op('neg', a));
    const pending = op('mul', a, a).data();
    const other = device.tensor([3]);
    other.dispose();
    other.dispose();
    assert.equal(other.isDisposed, true);
    await assert.rejects(other.data(), residuaError('disposed'));
    await assert.rejects(op('neg', other).data(), residuaError('disposed'));
    device.dispose();
    device.dispose();
    await assert.rejects(pending, residuaError('disposed'));
    assert.throws(() => program.run(), residuaError('disposed'));
    assert.throws(() => device.tensor([1]), residuaError('disposed'));
    await assert.rejects(a.data(), residuaError('disposed'));
    await assert.rejects(device.synchronize(), residuaError('disposed'));
    // No recipe that the device knows: the promise of its kernels has a handler too, without which Node ends.
    await assert.rejects(device.store(op('neg', ones([2]))), residuaError('disposed'));
    await settle();
    dispose([a, { program }], device);
    assert.equal(gpu?.live.size ?? fake.allocations.size, 0, 'uniforms too');
  });

  test(`${backend}: a thousand rounds leave nothing behind`, async () => {
    const { fake, gpu, device } = await open(backend);
    const x = device.tensor([1, 2, 3]);
    const round = async () => {
      const y = await device.store(op('add', x, x));
      const program = await device.compile({ x: spec('f32', [3]) }, ({ x: given }) => op('mul', given, y));
      await program.run({ x }).data();
      dispose(y, program);
    };
    // The second round finds the memory of the first.
    await round();
    await round();
    const [before, liveBefore] = [device.stats(), gpu?.live.size ?? fake.allocations.size];
    for (let k = 0; k < 1000; k++) await round();
    const after = device.stats();
    for (const count of ['tensors', 'tensorBytes', 'programs', 'programBytes', 'pooledBytes', 'peakBytes', 'leaked']) assert.equal(after[count], before[count], count);
    assert.equal(gpu?.live.size ?? fake.allocations.size, liveBefore);
    assert.equal(fake.plans, fake.freedPlans);
  });
}

test('a run makes no buffers, bind groups or pipelines', async () => {
  const { gpu, device } = await open();
  const weight = device.tensor([1, 2, 3]);
  const program = await device.compile({ x: spec('f32', [3]), rate: scalar }, ({ x, rate }) => {
    weight.assign(op('add', weight, x));
    return op('mul', weight, expand(rate, [3]));
  });
  const made = { ...gpu.made };
  for (let rate = 0; rate < 100; rate++) program.run({ x: [rate, 1, 2], rate });
  assert.deepEqual({ ...gpu.made, submits: 0 }, { ...made, submits: 0 });
  assert.equal(gpu.made.submits - made.submits, 100, 'one submission a run');
  const inputs = [device.tensor([1, 1, 1]), device.tensor([2, 2, 2])];
  for (const x of inputs) program.run({ x, rate: 1 });
  const bound = { ...gpu.made };
  for (let k = 0; k < 100; k++) program.run({ x: inputs[k % 2], rate: k });
  assert.equal(gpu.made.bindGroups, bound.bindGroups, 'of stored tensors that were inputs before');
  assert.equal(gpu.made.buffers, bound.buffers);
});

test('runs that take long are submitted in pieces of whole kernels', async () => {
  const gpu = fakeGpu();
  installTensors();
  const device = await Device.create({ share: gpu, sliceMs: 5 });
  const x = device.tensor([1, 2]);
  const program = await device.compile({}, () => [op('neg', x), op('add', x, x), op('mul', x, x), op('neg', op('mul', x, x))]);
  const submits = () => {
    const before = gpu.made.submits;
    program.run();
    return gpu.made.submits - before;
  };
  assert.equal(submits(), 1);
  gpu.queue.onSubmittedWorkDone = () => new Promise((resolve) => setTimeout(resolve, 12));
  assert.equal(submits(), 1, 'the run that is measured');
  await new Promise((resolve) => setTimeout(resolve, 40));
  // 12 ms or more are 3 pieces of 5 or more; a run has 5 kernels, and the copies of its results.
  assert.ok(submits() >= 3);
  assert.deepEqual((await device.read(...program.outputs)).map((data) => [...data]), [[-1, -2], [2, 4], [1, 4], [-1, -4]]);
  await assert.rejects(Device.create({ share: gpu, sliceMs: -1 }), residuaError('invalid-argument', /sliceMs/));
});

test('a lost device rejects all calls with device-lost, and tells why', async () => {
  const { gpu, device } = await open();
  const a = device.tensor([1, 2]);
  const program = await device.compile({}, () => op('neg', a));
  const pending = a.data();
  gpu.lose('destroyed');
  await assert.rejects(pending, residuaError('device-lost', /a test lost it/));
  assert.deepEqual(await device.lost, { reason: 'destroyed', message: 'a test lost it' });
  for (const call of [() => program.run(), () => device.tensor([1]), () => a.set([1, 2])]) assert.throws(call, residuaError('device-lost'));
  for (const call of [() => op('neg', a).data(), () => device.store(a), () => device.compile({}, () => a), () => device.synchronize()]) await assert.rejects(call(), residuaError('device-lost'));
});

test('a tensor beyond the limits is refused with both figures, and one without memory by the next read', async () => {
  const { fake, gpu, device } = await open('gpu', { limits: { maxBufferSize: 4096 } });
  assert.throws(() => device.zeros([1025]), residuaError('limit-exceeded', /f32 \[1025\]: 4112 bytes are needed, and the device's maxBufferSize is 4096/));
  gpu.memoryLimit = 512;
  const large = device.zeros([200]);
  await assert.rejects(large.data(), residuaError('out-of-memory', /800 bytes/));
  const small = device.tensor([1, 2]);
  await assert.rejects(device.compile({ x: spec('f32', [200]) }, ({ x }) => op('neg', x)), residuaError('out-of-memory'));
  assert.deepEqual([...(await small.data())], [1, 2]);
  assert.equal(device.stats().programBytes, 0);
  await assert.rejects(device.store(expand(device.tensor(1), [200])), residuaError('out-of-memory'));
  assert.equal(device.stats().pooledBytes, 4096, 'that of reads: a buffer without memory does not serve again');
  await assert.rejects(device.compile({ x: spec('f32', [200]), y: spec('f32', [1200]) }, ({ x, y }) => [op('neg', x), op('neg', y)]), residuaError('limit-exceeded', /the inputs of program/));
  assert.deepEqual([device.stats().programBytes, fake.plans - fake.freedPlans], [0, 0]);
});

test('a kernel that the browser refuses is named, with the message of the compiler', async () => {
  const { gpu, device } = await open();
  gpu.createComputePipelineAsync = async () => {
    throw new Error('refused');
  };
  const refused = residuaError('shader-compilation', /kernel neg was rejected: line 3: 'neg 0,0' is no kernel/);
  await assert.rejects(op('neg', device.tensor([1])).data(), refused);
  await assert.rejects(device.compile({}, () => op('neg', device.tensor([1]))), refused);
});

test('a compile ends when its signal fires', async () => {
  const { fake, gpu, device } = await open();
  const a = device.tensor([1]);
  await assert.rejects(device.compile({}, () => op('neg', a), { signal: AbortSignal.abort() }), residuaError('aborted'));
  const controller = new AbortController();
  const gate = deferred();
  gpu.holdPipelines = gate.promise;
  const compiling = device.compile({}, () => op('mul', a, a), { signal: controller.signal });
  controller.abort();
  await assert.rejects(compiling, residuaError('aborted'));
  assert.equal(device.stats().programs, 0);
  gate.resolve();
  await settle();
  assert.equal(fake.freedPlans, fake.plans, 'also of what is finished after the abort');
});

test('memory and copyTo give the application the numbers on the GPU; a borrowed buffer stays its own', async () => {
  const { gpu, device } = await open();
  const a = device.tensor([1, 2, 3]);
  const { buffer, byteOffset, byteLength } = a.memory;
  assert.deepEqual([...new Float32Array(buffer.bytes.buffer, byteOffset, byteLength / 4)], [1, 2, 3]);
  const own = gpu.createBuffer({ label: 'own', size: 32, usage: GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST });
  a.copyTo(own, 16);
  assert.deepEqual([...new Float32Array(own.bytes.buffer)], [0, 0, 0, 0, 1, 2, 3, 0]);
  const borrowed = device.borrow(own, [8], 'f32');
  assert.deepEqual([...(await op('neg', borrowed).data())], [-0, -0, -0, -0, -1, -2, -3, -0]);
  borrowed.set([9], 7);
  borrowed.dispose();
  assert.equal(own.isDestroyed, false);
  assert.equal(new Float32Array(own.bytes.buffer)[7], 9);
  assert.throws(() => device.borrow(own, [9], 'f32'), residuaError('invalid-argument', /32 bytes; takes at least 48/));
  assert.throws(() => device.borrow(own, [4], 'f32', 16), residuaError('invalid-argument', /a multiple of 256/));
  a.dispose();
  assert.equal(buffer.isDestroyed, true, 'memory that the application has seen does not serve again');
});

test('bytes of a borrowed buffer are written by the one stored tensor that a recipe has of them', async () => {
  const { device, gpu } = await open();
  const buffer = gpu.createBuffer({ label: 'shared', size: 512, usage: GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST });
  const [start, same, rest] = [[8, 0], [4, 0], [4, 256]].map(([count, offset]) => device.borrow(buffer, [count], 'f32', offset));
  const refused = residuaError('invalid-graph', /two stored tensors over the same bytes/);
  await assert.rejects(same.set(op('add', same, device.borrow(buffer, [4], 'f32'))), refused);
  await assert.rejects(device.compile({}, () => {
    same.assign(device.zeros([4]));
    return op('neg', start);
  }), refused);
  // Other bytes of the buffer, and reads alone.
  rest.set([1, 2, 3, 4]);
  await same.set(op('mul', rest, rest));
  assert.deepEqual([...(await start.data())], [1, 4, 9, 16, 0, 0, 0, 0]);
  assert.deepEqual([...(await op('add', same, device.borrow(buffer, [4], 'f32')).data())], [2, 8, 18, 32]);
});

test('tapes that differ in the sign of a 0 are compiled apart', () => {
  const asked = [];
  const compile = async (tape) => {
    asked.push(tape[1]);
    throw new Error('enough');
  };
  const recipes = new CompiledRecipes({ compiler: { compile } });
  for (const number of [0, -0, 0, NaN, NaN]) Promise.resolve(recipes.get(writtenTape({ tape: Float64Array.of(1, number), numbers: new Uint32Array(0) }))).catch(() => {});
  assert.deepEqual(asked, [0, -0, NaN]);
});

test('auto without navigator.gpu takes the CPU and says why, gpu rejects', async () => {
  installTensors();
  const device = await Device.create();
  assert.equal(device.backend, 'cpu');
  assert.match(device.fallbackReason, /navigator\.gpu/);
  await assert.rejects(Device.create({ backend: 'gpu' }), residuaError('gpu-unavailable'));
  assert.equal(await Device.default(), await Device.default());
  const first = await Device.default();
  first.dispose();
  assert.notEqual(await Device.default(), first);
  await assert.rejects(Device.create({ backends: 'gpu' }), residuaError('invalid-argument', /did you mean 'backend'/));
  await settle();
});

test('auto leaves a GPU alone that is emulated in software, which gpu and share take', async () => {
  for (const isFallbackAdapter of [true, false]) {
    installTensors();
    const gpu = fakeGpu();
    gpu.adapterInfo = { isFallbackAdapter };
    const adapter = { features: new Set(), limits: {}, info: gpu.adapterInfo, requestDevice: async () => gpu };
    const page = Object.getOwnPropertyDescriptor(globalThis, 'navigator');
    Object.defineProperty(globalThis, 'navigator', { value: { gpu: { requestAdapter: async () => adapter } }, configurable: true });
    try {
      const automatic = await Device.create();
      assert.deepEqual([automatic.backend, automatic.fallbackReason], isFallbackAdapter ? ['cpu', 'the GPU is emulated in software'] : ['gpu', null]);
      assert.equal((await Device.default()).backend, automatic.backend);
      for (const options of [{ backend: 'gpu' }, { share: gpu }, { backend: 'auto', share: gpu }]) {
        const device = await Device.create(options);
        assert.deepEqual([device.backend, device.fallbackReason], ['gpu', null]);
      }
      (await Device.default()).dispose();
    } finally {
      if (page === undefined) delete globalThis.navigator;
      else Object.defineProperty(globalThis, 'navigator', page);
      gpu.lose('destroyed');
      await settle();
    }
  }
});

test('work in steps gives the page a turn every 12 ms, and keeps its order', async () => {
  const queue = new WorkQueue(new Turns(), (error) => assert.fail(error));
  let turns = 0;
  const count = () => {
    turns += 1;
    if (turns < 1000) setImmediate(count);
  };
  setImmediate(count);
  const log = [];
  const steps = function* () {
    for (let step = 0; step < 12; step++) {
      const end = performance.now() + 4;
      while (performance.now() < end);
      yield;
    }
    log.push(`steps, ${turns > 1 ? 'with turns' : 'without'}`);
  };
  queue.push(steps);
  assert.equal(queue.isIdle, false);
  const { promise, resolve } = deferred();
  queue.push(() => {
    log.push('next');
    resolve();
  });
  await promise;
  turns = 1000;
  assert.deepEqual(log, ['steps, with turns', 'next']);
  assert.equal(queue.isIdle, true);
});

test('work that fails takes no later work with it', async () => {
  const queue = new WorkQueue(new Turns(), (error) => assert.fail(error));
  const { promise, resolve } = deferred();
  const failing = () =>
    queue.push(() => {
      queue.push(resolve);
      throw new Error('a failure');
    });
  assert.throws(failing, /a failure/);
  await promise;
  assert.equal(queue.isIdle, true);
});

test('buffers of reads are counted, at most 64 MiB of them are kept, and trim() frees them', async () => {
  const { gpu, device } = await open();
  const mebibytes = (count) => device.zeros([count * 2 ** 18]);
  const tensors = [1, 2, 4, 8, 16, 32].map(mebibytes);
  const before = gpu.live.size;
  for (const tensor of tensors) await tensor.data();
  assert.deepEqual([device.stats().pooledBytes, gpu.live.size - before], [63 * 2 ** 20, 6]);
  await device.read(tensors[5], tensors[0]);
  assert.deepEqual([device.stats().pooledBytes, gpu.live.size - before], [64 * 2 ** 20, 1], 'the read of 33 MiB takes a buffer of 64');
  device.trim();
  assert.deepEqual([device.stats().pooledBytes, gpu.live.size - before], [0, 0]);
});
