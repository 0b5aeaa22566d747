// Compile times in the params form: linear in the residuals, and small.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { launch, openBlankPage } from '../browser.mjs';

let browser, page;
before(async () => {
  browser = await launch();
  ({ page } = await openBlankPage(browser));
});
after(() => browser.close());

/** Milliseconds of compiling `count` springs between points of their own, recording included: the best of `rounds`. */
const compileSprings = async ([count, rounds]) => {
  const { GpuCompiledFunctions, V, Vec3 } = window.residua;
  const params = Array.from({ length: 6 * count }, (_, i) => V.W(Math.sin(i)));
  let best = Infinity, kernels = 0;
  for (let round = 0; round < rounds; round++) {
    const start = performance.now();
    const functions = await GpuCompiledFunctions.compile(
      params,
      (p) => {
        const residuals = [];
        for (let i = 0; i < p.length; i += 6) {
          const a = new Vec3(p[i], p[i + 1], p[i + 2]), b = new Vec3(p[i + 3], p[i + 4], p[i + 5]);
          residuals.push(a.distance(b).sub(1 + i / p.length).square());
        }
        return residuals;
      },
      { backend: 'cpu' },
    );
    best = Math.min(best, performance.now() - start - functions.compileTimes.pipelines);
    kernels = functions.kernelCount;
    functions.dispose();
  }
  return { best, kernels };
};

test('5,000 residuals over 30,000 params compile in under 100 ms beside pipelines, and the time grows linearly', async () => {
  const times = [];
  for (const [count, rounds] of [[5_000, 5], [50_000, 3], [500_000, 1]]) {
    const { best, kernels } = await page.evaluate(compileSprings, [count, rounds]);
    console.log(`${count} residuals over ${6 * count} params: ${best.toFixed(1)} ms beside pipelines, ${kernels} kernel`);
    assert.equal(kernels, 1);
    times.push(best / count);
  }
  assert.ok(5_000 * times[0] < 100, `${5_000 * times[0]} ms`);
  // Quadratic growth would be a factor of 100. Tables that leave the caches and one garbage collection account for less than 5.
  assert.ok(times[2] < 5 * times[0], `${times.map((time) => (1e3 * time).toFixed(2))} µs a residual`);
});

test('one energy that is a sum of 100,000 terms compiles to the kernels of its terms', async () => {
  const { kernels, value, gradient, residuals } = await page.evaluate(async () => {
    const { GpuCompiledFunctions, V } = window.residua;
    const params = Array.from({ length: 1000 }, (_, i) => V.W(i / 1000));
    const functions = await GpuCompiledFunctions.compile(
      params,
      (p) => {
        const terms = [];
        for (let i = 0; i < 100_000; i++) terms.push(i % 2 === 0 ? p[i % 1000].sub(i).square() : p[i % 1000].mul(3));
        return V.sum(terms);
      },
      { backend: 'gpu' },
    );
    const { value, gradient } = await functions.evaluateSumWithGradient();
    const [residual] = await functions.evaluate();
    const figures = { kernels: functions.kernelCount, value, gradient: Array.from(gradient.subarray(0, 2)), residuals: [functions.numResiduals, residual] };
    functions.dispose();
    return figures;
  });
  let sum = 0, first = 0;
  for (let i = 0; i < 100_000; i++) sum += i % 2 === 0 ? ((i % 1000) / 1000 - i) ** 2 : (3 * (i % 1000)) / 1000;
  for (let i = 0; i < 100_000; i += 1000) first += 2 * (0 - i);
  assert.equal(kernels, 2);
  assert.equal(residuals[0], 1);
  // Terms and partial sums are f32: 1e-6 of a sum of one sign.
  for (const got of [value, residuals[1]]) assert.ok(Math.abs(got / sum - 1) < 1e-6, `${got} for ${sum}`);
  assert.ok(Math.abs(gradient[0] / first - 1) < 1e-6, `${gradient[0]} for ${first}`);
  assert.equal(gradient[1], 300);
});

test('what has too many topologies for the GPU goes to the CPU, and says why', async () => {
  const result = await page.evaluate(async () => {
    const { GpuCompiledFunctions, V } = window.residua;
    const powers = ([x]) => {
      const residuals = [];
      for (let n = 0; n < 100; n++) residuals.push(Array.from({ length: n + 1 }).reduce((value) => value.sin(), x));
      return residuals;
    };
    const compile = (backend) => GpuCompiledFunctions.compile([V.W(0.5)], powers, { backend, fallbackThreshold: 0 });
    const auto = await compile('auto');
    const { backend, fallbackReason, kernelCount } = auto;
    auto.dispose();
    const refusal = await compile('gpu').catch((error) => ({ code: error.code, message: error.message }));
    return { backend, fallbackReason, kernelCount, refusal };
  });
  assert.equal(result.backend, 'cpu');
  assert.equal(result.kernelCount, 100);
  assert.match(result.fallbackReason, /100 topologies.*at most 64/);
  assert.equal(result.refusal.code, 'limit-exceeded');
});
