// Gradients that stay on the GPU, as an application finds them there.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { launch, openBlankPage } from '../browser.mjs';

let browser, page;
before(async () => {
  browser = await launch();
  ({ page } = await openBlankPage(browser));
  await page.evaluate(() => {
    const { Problem, GpuCompiledFunctions } = window.residua;
    /** A chain of springs between 50 points, pulled straight and too long. */
    window.chain = async (backend) => {
      const problem = new Problem();
      const values = Float64Array.from({ length: 150 }, (_, k) => (k % 3 === 0 ? k / 2 : (k % 7) / 8));
      const points = problem.parameters('points', { dim: 3, values });
      const ends = Uint32Array.from({ length: 98 }, (_, k) => (k >> 1) + (k & 1));
      problem.residuals('springs', { inputs: { ends: points.at(ends, 2) }, residual: ({ ends: [a, b] }) => a.distance(b).sub(1) });
      return { points, values, functions: await GpuCompiledFunctions.compile(problem, { backend }) };
    };
    /** The numbers of a GPUBuffer. */
    window.numbersOf = async (buffer) => {
      const { device } = await window.residua.GpuContext.default();
      const staging = device.createBuffer({ size: buffer.size, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
      const encoder = device.createCommandEncoder();
      encoder.copyBufferToBuffer(buffer, 0, staging, 0, buffer.size);
      device.queue.submit([encoder.finish()]);
      await staging.mapAsync(GPUMapMode.READ);
      return [...new Float32Array(staging.getMappedRange())];
    };
  });
});
after(() => browser.close());

describe('a gradient left on the GPU', () => {
  test('is the gradient that is read back, in one buffer for the object’s life, tightly packed', async () => {
    const found = await page.evaluate(async () => {
      const { functions, points, values } = await window.chain('gpu');
      const rows = [];
      let buffer = null;
      for (const objective of ['Sum', 'Cost']) {
        for (const x of [undefined, values.map((value) => value * 1.25)]) {
          const expected = await functions[`evaluate${objective}WithGradient`](x);
          const left = await functions[`evaluate${objective}WithGradientOnDevice`](x);
          buffer ??= left.gradient;
          rows.push({
            same: left.gradient === buffer, sameValue: left.value === expected.value,
            numbers: await window.numbersOf(left.gradient), expected: [...expected.gradient],
          });
        }
      }
      points.setAt(0, [100, 0, 0]);
      const moved = await functions.evaluateCostWithGradientOnDevice();
      const cost = (await functions.evaluateCostWithGradient()).value;
      const bytes = buffer.size;
      functions.dispose();
      return { rows, bytes, moved: moved.value, cost };
    });
    for (const { same, sameValue, numbers, expected } of found.rows) {
      assert.ok(same && sameValue);
      assert.deepEqual(numbers, expected);
      assert.ok(numbers.some((number) => number !== 0));
    }
    assert.equal(found.bytes, 600);
    assert.equal(found.moved, found.cost, 'what is set applies to the next call');
  });

  test('is taken where a solve without read-back has left the parameters', async () => {
    const [before, left, after] = await page.evaluate(async () => {
      const { functions } = await window.chain('gpu');
      const before = (await functions.evaluateCostWithGradientOnDevice()).value;
      await window.residua.levenbergMarquardt(functions, { maxIterations: 12, readBack: false });
      const left = (await functions.evaluateCostWithGradientOnDevice()).value;
      await functions.download();
      const after = (await functions.evaluateCostWithGradient()).value;
      functions.dispose();
      return [before, left, after];
    });
    assert.ok(left < before);
    assert.equal(left, after);
  });

  test('has zeros for what is constant', async () => {
    const [numbers, expected] = await page.evaluate(async () => {
      const { functions, points } = await window.chain('gpu');
      points.setConstant([3, 4]);
      points.setConstant([10], true, [1]);
      const { gradient } = await functions.evaluateCostWithGradientOnDevice();
      const numbers = await window.numbersOf(gradient);
      const read = await functions.evaluateCostWithGradient();
      functions.dispose();
      return [numbers, [...read.gradient]];
    });
    assert.deepEqual(numbers, expected);
    assert.deepEqual([numbers.slice(9, 15), numbers[31]], [[0, 0, 0, 0, 0, 0], 0]);
    assert.notEqual(numbers[30], 0);
  });

  test('read into an array of the caller’s is the fresh one, on both engines', async () => {
    const rows = await page.evaluate(async () => {
      const rows = [];
      for (const backend of ['gpu', 'cpu']) {
        const { functions } = await window.chain(backend);
        const into = new Float64Array(150).fill(7);
        const { gradient } = await functions.evaluateCostWithGradient(undefined, into);
        const fresh = await functions.evaluateCostWithGradient();
        rows.push({ same: gradient === into && fresh.gradient !== into, numbers: [...into], expected: [...fresh.gradient] });
        functions.dispose();
      }
      return rows;
    });
    for (const { same, numbers, expected } of rows) {
      assert.ok(same);
      assert.deepEqual(numbers, expected);
    }
  });

  test('is null on the CPU, and the value is there', async () => {
    const [left, value] = await page.evaluate(async () => {
      const { functions } = await window.chain('cpu');
      const left = await functions.evaluateCostWithGradientOnDevice();
      const { value } = await functions.evaluateCostWithGradient();
      functions.dispose();
      return [left, value];
    });
    assert.deepEqual(left, { value, gradient: null });
  });
});
