/** Grouping by topology: few kernels, in time that is linear in the residuals. */
import { GpuCompiledFunctions, V, Vec3 } from 'residua';
import { gpuAgainstCpu, onCpu, onEach, onGpu } from '../define.js';

/** Milliseconds of compiling `count` springs between distinct points, recording included: the minimum of `rounds`. */
async function compileSprings(count, rounds) {
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
}

export const group = {
  id: 'grouping',
  title: 'Grouping by topology',
  about: 'Residuals whose expressions are equal up to their parameters and constants share one kernel.',
  checks: [
    ...onEach('residuals over params are grouped by topology and keep the order in which they were returned', async (check) => {
      const params = Array.from({ length: 40 }, (_, i) => V.W(i / 8));
      const functions = await check.compile(params, (p) => p.slice(1).flatMap((b, i) => [V.clamp(V.sub(b, p[i]), 0, i / 4), V.mul(V.C(i), V.square(b))]));
      const values = await functions.evaluate();
      check.same([functions.numParams, functions.numResiduals, functions.kernelCount, functions.kernelReuseFactor], [40, 78, 2, 39]);
      for (let i = 0; i < 39; i++) {
        // All of these numbers are exact in single precision.
        check.equal(values[2 * i], Math.min(1 / 8, i / 4));
        check.equal(values[2 * i + 1], i * ((i + 1) / 8) ** 2);
      }
      if (check.backend === 'gpu') for (const { wgsl } of functions.kernels()) check.match(wgsl, /@compute/);
    }),

    ...onCpu('5,000 residuals over 30,000 params compile in under 100 ms, pipelines excluded, and the time grows linearly', async (check) => {
      const times = [];
      for (const [count, rounds] of [[5_000, 5], [50_000, 3], [500_000, 1]]) {
        const { best, kernels } = await compileSprings(count, rounds);
        check.note(`${count} residuals over ${6 * count} params: ${best.toFixed(1)} ms beside pipelines, ${kernels} kernel`);
        check.equal(kernels, 1, 'kernels');
        times.push(best / count);
      }
      check.below(5_000 * times[0], 100, 'the package’s promise for a computer on a desk', 'milliseconds of compiling 5,000 residuals');
      check.below(
        times[2], 5 * times[0],
        'Quadratic growth would be a factor of 100. Tables that leave the caches and one garbage collection account for less than 5.',
        `milliseconds a residual of 500,000; of all sizes ${times.map((time) => (1e3 * time).toFixed(2))} µs`,
      );
    }, { long: true }),

    ...onGpu('one energy that is a sum of 100,000 terms compiles to the kernels of its terms', async (check) => {
      const params = Array.from({ length: 1000 }, (_, i) => V.W(i / 1000));
      const functions = await check.compile(params, (p) => {
        const terms = [];
        for (let i = 0; i < 100_000; i++) terms.push(i % 2 === 0 ? p[i % 1000].sub(i).square() : p[i % 1000].mul(3));
        return V.sum(terms);
      });
      const { value, gradient } = await functions.evaluateSumWithGradient();
      const [residual] = await functions.evaluate();
      let sum = 0, first = 0;
      for (let i = 0; i < 100_000; i++) sum += i % 2 === 0 ? ((i % 1000) / 1000 - i) ** 2 : (3 * (i % 1000)) / 1000;
      for (let i = 0; i < 100_000; i += 1000) first += 2 * (0 - i);
      check.equal(functions.kernelCount, 2, 'kernels');
      check.equal(functions.numResiduals, 1, 'residuals');
      const because = 'Terms and partial sums are f32: 1e-6 of a sum of one sign.';
      for (const got of [value, residual]) check.below(Math.abs(got / sum - 1), 1e-6, because, `${got} for ${sum}`);
      check.below(Math.abs(gradient[0] / first - 1), 1e-6, because, `${gradient[0]} for ${first}`);
      check.equal(gradient[1], 300);
    }),

    ...gpuAgainstCpu('a problem with too many topologies for the GPU runs on the CPU, with the reason', async (check) => {
      const powers = ([x]) => {
        const residuals = [];
        for (let n = 0; n < 100; n++) residuals.push(Array.from({ length: n + 1 }).reduce((value) => value.sin(), x));
        return residuals;
      };
      const compile = (backend) => check.compile([V.W(0.5)], powers, { backend, fallbackThreshold: 0 });
      const { backend, fallbackReason, kernelCount } = await compile('auto');
      const refusal = await check.failure(compile('gpu'));
      check.equal(backend, 'cpu');
      check.equal(kernelCount, 100);
      check.match(fallbackReason, /100 topologies.*at most 64/);
      check.equal(refusal?.code, 'limit-exceeded');
    }),
  ],
};
