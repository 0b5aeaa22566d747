/** Numbers of the solvers as tensors: copies on one GPUDevice, and through the host otherwise. With fakes of both modules and of the GPU. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { noteOwner } from '../../pkg-template/dist/module/buffer-owners.js';
import { GpuCompiledFunctions, Problem, V } from '../../pkg-template/dist/index.js';
import { Device } from '../../pkg-template/dist/tensor.js';
import { fakeGpu } from './fake-gpu.mjs';
import { install, residuaError } from './fake-module.mjs';
import { installTensors } from './fake-tensor-module.mjs';

/** A problem with two arrays and a data input, compiled by the fake on the CPU. */
async function solver() {
  install();
  const problem = new Problem();
  const first = problem.parameters('first', { dim: 1, values: [1] });
  const second = problem.parameters('second', { dim: 2, values: [2, 3, 4, 5] });
  const block = problem.residuals('r', {
    inputs: { a: first.at([0, 0]), b: second.at([0, 1]), goal: problem.data([10, 20, 30, 40], 2) },
    residual: ({ a, b, goal }) => [a.sub(goal.x), V.sub(b.y, goal.y)],
  });
  return { first, second, block, functions: await GpuCompiledFunctions.compile(problem, { backend: 'cpu' }) };
}

const buffer = (gpu, numbers) => {
  const made = noteOwner(gpu.createBuffer({ label: 'solver', size: 64, usage: GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST }), gpu);
  new Float32Array(made.bytes.buffer).set(numbers);
  return made;
};

for (const backend of ['gpu', 'cpu']) {
  test(`numbers of a solver on the CPU go to a device on the ${backend} through the host, and back`, async () => {
    const { first, second, block, functions } = await solver();
    installTensors();
    const device = await Device.create(backend === 'gpu' ? { share: fakeGpu() } : { backend });
    const [all, some, data] = [device.parameters(functions), device.parameters(functions, second), device.dataInput(block, 'goal')];
    assert.deepEqual([all.shape, some.shape, data.shape], [[5], [2, 2], [2, 2]]);
    assert.deepEqual((await device.read(all, some, data)).map((numbers) => [...numbers]), [[1, 2, 3, 4, 5], [2, 3, 4, 5], [10, 20, 30, 40]]);
    some.set([7, 8, 9, 10]);
    await some.publish();
    assert.deepEqual([...first.values(), ...second.values()], [1, 7, 8, 9, 10]);
    await all.refresh();
    assert.deepEqual([...(await all.data())], [1, 7, 8, 9, 10]);
    data.set([1, 2, 3, 4]);
    await data.publish();
    data.set([0, 0, 0, 0]);
    await data.refresh();
    assert.deepEqual([...(await data.data())], [1, 2, 3, 4]);
    assert.throws(() => device.dataInput(block, 'a'), residuaError('invalid-argument', /takes a data input of r/));
    assert.throws(() => device.parameters(functions, {}), residuaError('invalid-argument', /parameter array/));
    assert.throws(() => device.gradient(functions, { gradient: null }), residuaError('invalid-argument', /on the CPU/));
  });
}

test('the numbers of a grid are a tensor with its last axis first, and are published through the host where functions are on the CPU', async () => {
  const { second } = await solver();
  installTensors();
  const device = await Device.create({ backend: 'cpu' });
  const problem = new Problem();
  const grid = problem.grid('g', { size: [3, 2], channels: 2, values: Array.from({ length: 12 }, (_, k) => k), border: -1 });
  const values = device.gridValues(grid);
  assert.deepEqual(values.shape, [2, 3, 2]);
  assert.deepEqual([...(await values.data())], Array.from({ length: 12 }, (_, k) => k), 'without the border');
  values.set(Array.from({ length: 12 }, (_, k) => 2 * k));
  await values.publish();
  values.set(new Float32Array(12));
  await values.refresh();
  assert.deepEqual([...(await values.data())], Array.from({ length: 12 }, (_, k) => 2 * k));
  const smooth = problem.grid('smooth', { size: [2], values: [1, 2], prefilter: true });
  assert.throws(() => device.gridValues(smooth), residuaError('invalid-argument', /"smooth" with prefilter/));
  assert.throws(() => device.gridValues(second), residuaError('invalid-argument', /gridValues: grid/));
});

test('on one GPUDevice they are copied there, and the host takes no part', async () => {
  const { second, block, functions } = await solver();
  installTensors();
  const gpu = fakeGpu();
  const device = await Device.create({ share: gpu });
  const [parameters, goal] = [buffer(gpu, [1, 20, 30, 40, 50]), buffer(gpu, [1, 1, 1, 1])];
  Object.defineProperty(functions, 'parameterBuffer', { value: parameters });
  block.dataBuffer = () => goal;
  const [some, data] = [device.parameters(functions, second), device.dataInput(block, 'goal')];
  await some.refresh();
  assert.deepEqual([...(await some.data())], [20, 30, 40, 50], 'from byte 4 on');
  data.set([5, 6, 7, 8]);
  await data.publish();
  assert.deepEqual([...new Float32Array(goal.bytes.buffer, 0, 4)], [5, 6, 7, 8]);
  const gradient = device.gradient(functions, { gradient: parameters });
  assert.equal(gradient.memory.buffer, parameters);
  assert.deepEqual([...(await gradient.data())], [1, 20, 30, 40, 50]);
  const other = await Device.create({ share: fakeGpu() });
  assert.throws(() => other.gradient(functions, { gradient: parameters }), residuaError('invalid-argument', /another GPUDevice/));
});
