// Threads in a browser: a cross-origin isolated page computes on two what it computes on one, to the last bit.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { launch, openBlankPage } from '../browser.mjs';

let browser;
before(async () => void (browser = await launch()));
after(() => browser?.close());

async function compute(threads) {
  const { page, complaints, close } = await openBlankPage(browser, { load: false, isolated: true });
  const found = await page.evaluate(async (threads) => {
    const { GpuCompiledFunctions, init, levenbergMarquardt, Problem, V } = await import('residua');
    const tensor = await import('residua/tensor');
    const reports = threads === 1 ? [] : [await init({ threads }), await tensor.init({ threads })];
    const device = await tensor.Device.create({ backend: 'cpu' });
    const x = device.tensor(Float32Array.from({ length: 300 * 400 }, (_, i) => Math.sin(i)), [300, 400]);
    const product = await x.matmul(x.transpose(0, 1)).softmax(-1).data();
    const chain = new Problem();
    const count = 20_000;
    const points = chain.parameters('points', { dim: 2, values: Float64Array.from({ length: 2 * count }, (_, i) => (i % 2 === 0 ? i / 2 : Math.sin(i))) });
    const from = (first) => Uint32Array.from({ length: count - 1 }, (_, i) => first + i);
    chain.residuals('links', { inputs: { a: points.at(from(0)), b: points.at(from(1)) }, residual: ({ a, b }) => V.atan2(a.distance(b), 2) });
    const functions = await GpuCompiledFunctions.compile(chain, { backend: 'cpu' });
    const { jacobian } = await functions.evaluateJacobian();
    const solved = await levenbergMarquardt(functions, { linearSolver: 'sparse-cholesky', maxIterations: 3 });
    // Memory that is shared goes to buffers of the GPU, too.
    const onGpu = await GpuCompiledFunctions.compile(chain, { backend: 'gpu' });
    const gradient = [...(await onGpu.evaluateCostWithGradient()).gradient.subarray(0, 500)];
    const gpuTensors = await tensor.Device.create({ backend: 'gpu' });
    const squares = [...(await gpuTensors.tensor(Float32Array.from({ length: 500 }, (_, i) => Math.cos(i)), [500]).square().data())];
    return { gradient, squares, isolated: crossOriginIsolated, reports, product: [...product.subarray(0, 500)], jacobian: [...jacobian.values.subarray(-500)], x: [...solved.x.subarray(0, 500)], cost: solved.finalCost };
  }, threads);
  assert.deepEqual(complaints, []);
  await close();
  return found;
}

test('a page on two threads has the bits of a page on one', async () => {
  const [alone, shared] = [await compute(1), await compute(2)];
  assert.equal(shared.isolated, true);
  for (const report of shared.reports) assert.deepEqual(report, { threads: 2, fallbackReason: null });
  for (const name of ['product', 'jacobian', 'x', 'cost', 'gradient', 'squares']) assert.deepEqual(shared[name], alone[name], name);
});
