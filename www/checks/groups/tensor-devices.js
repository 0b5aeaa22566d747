/** Devices of tensors: one GPUDevice with the solvers, runs that make nothing, loss, numbers of every type, the application's buffers. */
import { GpuCompiledFunctions, GpuContext, Problem, levenbergMarquardt } from 'residua';
import { Device, crossEntropy, dim, grad, map, scalar, spec, Random, zeros } from 'residua/tensor';
import { tensorDevice } from '../tensors/compare.js';
import { bufferNumbers } from '../buffer-numbers.js';
import { onEach, onGpu } from '../define.js';

/** Counts the objects that a GPUDevice makes from now on. */
function counting(gpu, check) {
  const made = { createBuffer: 0, createBindGroup: 0, createComputePipeline: 0, createComputePipelineAsync: 0, createShaderModule: 0 };
  for (const name of Object.keys(made)) {
    gpu[name] = (...args) => {
      made[name] += 1;
      return Object.getPrototypeOf(gpu)[name].apply(gpu, args);
    };
  }
  check.defer(() => Object.keys(made).forEach((name) => delete gpu[name]));
  return made;
}

/** A step of training a classifier with two layers by Adam; its weights. */
async function classifier(device, check) {
  const random = new Random(5);
  const [pixels, labels] = [await device.store(random.uniform([96, 12])), await device.store(random.integers([96], 0, 4))];
  const model = await device.store({ w1: random.normal([12, 20], 0, 0.4), b1: zeros([20]), w2: random.normal([20, 4], 0, 0.3), b2: zeros([4]) });
  const weights = Object.values(model);
  const moments = weights.map(({ shape }) => [device.zeros(shape), device.zeros(shape)]);
  const step = await device.compile({ rate: scalar, correction1: scalar, correction2: scalar }, (given) => {
    const rows = random.integers([16], 0, 96);
    const hidden = pixels.indexSelect(rows).matmul(model.w1).add(model.b1).relu();
    const loss = crossEntropy(hidden.matmul(model.w2).add(model.b2), labels.indexSelect(rows)).mean();
    grad(loss, weights).forEach((gradient, k) => {
      const [first, second] = moments[k];
      const [m, v, w] = map(
        (w, m, v, g, rate, c1, c2) => {
          const [next1, next2] = [m.mul(0.9).add(g.mul(0.1)), v.mul(0.999).add(g.square().mul(0.001))];
          return [next1, next2, w.sub(rate.mul(next1.div(c1)).div(next2.div(c2).sqrt().add(1e-8)))];
        },
        weights[k], first, second, gradient, given.rate, given.correction1, given.correction2,
      );
      first.assign(m);
      second.assign(v);
      weights[k].assign(w);
    });
    return { loss };
  });
  check.defer(() => step.dispose());
  let t = 0;
  const run = () => {
    t += 1;
    return step.run({ rate: 1e-2, correction1: 1 - 0.9 ** t, correction2: 1 - 0.999 ** t });
  };
  return { step, run, weights };
}

export const group = {
  id: 'tensor-devices',
  title: 'Tensors: devices',
  about: 'One GPUDevice with the solvers, runs that make no objects, loss and dispose, numbers of every type, and buffers of the application.',
  checks: [
    ...onGpu('tensors and the solvers’ default context are on one GPUDevice', async (check) => {
      const device = await tensorDevice(check);
      check.ok((await GpuContext.default()).device === device.gpu, 'the GPUDevice');
      const { gpu, fallbackReason } = await Device.default();
      check.ok(gpu === device.gpu || /emulated in software/.test(fallbackReason), 'that of the default device, unless it is emulated');
      check.same(Object.keys(device.features), ['f16', 'subgroups', 'timestamps']);
    }),

    ...onEach('recipes that differ in their numbers have one pipeline', async (check) => {
      const device = await tensorDevice(check);
      const x = device.tensor([1, -2, 0.5]);
      const products = async (from, to) => {
        for (let i = from; i < to; i++) check.same([...(await x.mul(i).data())], [i, -2 * i, i / 2], `the products by ${i}`);
      };
      await products(2, 3);
      const { pipelines } = device.stats();
      await products(3, 303);
      check.equal(device.stats().pipelines, pipelines, 'pipelines of 300 more numbers');
    }),

    ...onGpu('a run makes no buffers, bind groups, pipelines or shader modules, whatever its sizes are', async (check) => {
      const device = await tensorDevice(check);
      const { run } = await classifier(device, check);
      const n = dim('n', 300);
      const sized = await device.compile({ x: spec('f32', [n]), y: spec('f32', [n]) }, ({ x, y }) => x.mul(y).sum());
      const inputs = [1, 2].map((number) => device.tensor(new Float32Array(50).fill(number)));
      run();
      for (const x of inputs) sized.run({ x, y: x }, { n: 50 });
      const made = counting(device.gpu, check);
      for (let i = 0; i < 50; i++) {
        run();
        sized.run({ x: inputs[i % 2], y: inputs[i % 2] }, { n: 50 });
        sized.run({ x: new Float32Array(6 * i).fill(2), y: new Float32Array(6 * i).fill(0.5) }, { n: 6 * i });
      }
      await device.synchronize();
      check.same(made, { createBuffer: 0, createBindGroup: 0, createComputePipeline: 0, createComputePipelineAsync: 0, createShaderModule: 0 });
      check.equal(await sized.outputs.item(), 294);
    }),

    ...onEach('training gives the same bits each time', async (check) => {
      const results = [];
      for (let time = 0; time < 2; time++) {
        const device = await tensorDevice(check);
        const { run, weights } = await classifier(device, check);
        const losses = [];
        for (let i = 0; i < 20; i++) losses.push(run().loss.item());
        results.push([await Promise.all(losses), ...(await device.read(...weights)).map((numbers) => [...new Uint32Array(numbers.buffer)])]);
      }
      check.same(results[1], results[0]);
      check.ok(results[0][0].at(-1) < results[0][0][0], `the loss falls from ${results[0][0][0]} to ${results[0][0].at(-1)}`);
    }),

    ...onEach('a thousand rounds of what is stored, compiled and disposed leave memory as it was', async (check) => {
      const device = await tensorDevice(check);
      const x = device.tensor([1, 2, 3]);
      const round = async (k) => {
        const y = await device.store(x.mul(k));
        const program = await device.compile({}, () => y.add(1));
        const [, , last] = await program.run().data();
        program.dispose();
        y.dispose();
        return last;
      };
      // Constants are part of a recipe's structure, so that few of them are taken in turn.
      for (let k = 0; k < 4; k++) await round(k);
      const before = device.stats();
      for (let k = 0; k < 1000; k++) check.equal(await round(k % 4), 3 * (k % 4) + 1);
      const after = device.stats();
      for (const name of ['tensors', 'tensorBytes', 'programs', 'programBytes', 'pooledBytes', 'peakBytes', 'leaked']) check.equal(after[name], before[name], name);
    }, { long: true }),

    ...onEach('numbers of every type come back, and parts of words are written', async (check) => {
      const device = await tensorDevice(check);
      const cases = { f32: [1, -2.5, 3e38, -0], f16: [1, 0.5, -65504, 2 ** -24, Infinity], i32: [-(2 ** 31), 2 ** 31 - 1], u32: [0, 2 ** 32 - 1], u8: [0, 255, 7, 9, 11], bool: [0, 1, 1] };
      for (const [dtype, numbers] of Object.entries(cases)) {
        const tensor = device.tensor(numbers, [numbers.length], dtype);
        check.same([...(await tensor.data())], Object.values(Float64Array.from(numbers, dtype === 'f32' ? Math.fround : undefined)), dtype);
        tensor.set(numbers.slice(0, 1), 1);
        check.same([...(await tensor.data())], [numbers[0], numbers[0], ...numbers.slice(2)].map((number) => (dtype === 'f32' ? Math.fround(number) : number)), `${dtype}, the second element`);
      }
    }),

    ...onGpu('a buffer of the application is read and written where it lies', async (check) => {
      const device = await tensorDevice(check);
      const buffer = device.gpu.createBuffer({ size: 64, usage: GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST });
      check.defer(() => buffer.destroy());
      device.gpu.queue.writeBuffer(buffer, 0, Float32Array.from({ length: 16 }, (_, i) => i));
      const borrowed = device.borrow(buffer, [4, 4], 'f32');
      check.same(await borrowed.T.slice([0, 1]).toArray(), [[0, 4, 8, 12]]);
      const program = await device.compile({}, () => borrowed.assign(borrowed.mul(2)));
      program.run();
      check.same((await bufferNumbers(device.gpu, buffer)).slice(0, 4), [0, 2, 4, 6]);
      const copied = device.gpu.createBuffer({ size: 32, usage: GPUBufferUsage.COPY_DST | GPUBufferUsage.COPY_SRC });
      check.defer(() => copied.destroy());
      device.tensor([7, 8, 9]).copyTo(copied, 8);
      check.same(await bufferNumbers(device.gpu, copied), [0, 0, 7, 8, 9, 0, 0, 0]);
    }),

    ...onEach('a solver’s parameters and data are tensors', async (check) => {
      const device = await tensorDevice(check);
      const problem = new Problem();
      const at = problem.parameters('at', { dim: 2, values: [0, 0, 0, 0, 0, 0] });
      const pull = problem.residuals('pull', { inputs: { at: at.at([0, 1, 2]), goal: problem.data([0, 0, 0, 0, 0, 0], 2) }, residual: ({ at, goal }) => [at.x.sub(goal.x), at.y.sub(goal.y)] });
      const functions = await GpuCompiledFunctions.compile(problem, { backend: check.backend });
      check.defer(() => functions.dispose());
      const [positions, goals] = [device.parameters(functions, at), device.dataInput(pull, 'goal')];
      const aim = await device.compile({ scale: scalar }, ({ scale }) => goals.assign(device.tensor([[1, 2], [3, 4], [5, 6]]).mul(scale)));
      aim.run({ scale: 10 });
      await goals.publish();
      await levenbergMarquardt(functions, { readBack: false });
      await positions.refresh();
      const found = await positions.data();
      [10, 20, 30, 40, 50, 60].forEach((goal, k) => check.close(found[k], goal, { within: 1e-3, because: 'a linear problem, solved to the default tolerance' }, `coordinate ${k}`));
      await positions.set(positions.add(1));
      await positions.publish();
      check.same(Array.from(at.values(), Math.fround), [...(await positions.data())]);
    }),

    ...onGpu('a program reads a solver’s gradient and parameters and writes its data where they lie, however many numbers they are', async (check) => {
      const device = await tensorDevice(check);
      const problem = new Problem();
      const at = problem.parameters('at', { dim: 1, values: [1, 2, 3, 4, 5] });
      const pull = problem.residuals('pull', { inputs: { at: at.at([0, 1, 2, 3, 4]), goal: problem.data([0, 0, 0, 0, 0]) }, residual: ({ at, goal }) => at.sub(goal) });
      const functions = await GpuCompiledFunctions.compile(problem, { backend: 'gpu' });
      check.defer(() => functions.dispose());
      const gradient = device.gradient(functions, await functions.evaluateCostWithGradientOnDevice());
      const [positions, goals] = [device.borrow(functions.parameterBuffer, [5], 'f32'), device.borrow(pull.dataBuffer('goal'), [5], 'f32')];
      const aim = await device.compile({}, () => goals.assign(positions.sub(gradient.mul(0.5))));
      aim.run();
      await device.synchronize();
      await levenbergMarquardt(functions);
      at.values().forEach((value, k) => check.close(value, (k + 1) / 2, { within: 1e-5, because: 'a linear problem, solved in f32' }, `coordinate ${k}`));
    }),

    ...onGpu('a lost device rejects calls with device-lost, and the next device is a new one', async (check) => {
      const device = await Device.create({ backend: 'gpu' });
      const x = device.tensor([1, 2, 3]);
      const program = await device.compile({}, () => x.add(1));
      const pending = x.mul(3).data();
      device.gpu.destroy();
      const { reason } = await device.lost;
      check.equal(reason, 'destroyed');
      check.equal((await check.failure(pending))?.code, 'device-lost');
      for (const attempt of [() => program.run(), () => device.tensor([1]), () => x.data(), () => device.synchronize()]) check.equal((await check.failure(attempt))?.code, 'device-lost', String(attempt));
      const next = await tensorDevice(check);
      check.equal(await next.tensor([4]).mul(2).item(), 8);
      check.equal(await (await Device.default()).tensor([4]).mul(2).item(), 8);
      check.equal((await GpuContext.default()).device, next.gpu, 'and the solvers have it too');
    }),
  ],
};
