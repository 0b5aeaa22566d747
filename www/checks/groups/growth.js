/** The memory of the device after many calls equals that before. */
import { GpuContext, lbfgs, levenbergMarquardt, Problem } from 'residua';
import { onGpu } from '../define.js';

/** Residuals 2xᵢ of 1,000 numbers xᵢ, all 1. */
function doubles() {
  const problem = new Problem();
  const x = problem.parameters('x', { dim: 1, values: new Float64Array(1000).fill(1) });
  problem.residuals('double', {
    inputs: { x: x.at(Uint32Array.from({ length: 1000 }, (_, i) => i)) },
    residual: ({ x }) => x.mul(2),
  });
  return { problem, x };
}

export const group = {
  id: 'growth',
  title: 'No leaks',
  about: 'Thousands of calls do not increase the number of buffers, bytes and pipelines on the device.',
  checks: [
    ...onGpu("after 1,000 rounds of compile, evaluate and dispose the device's memory is unchanged", async (check) => {
      const { GpuCompiledFunctions } = await import('residua');
      const context = await GpuContext.default();
      const round = async () => {
        const functions = await GpuCompiledFunctions.compile(doubles().problem, { backend: 'gpu' });
        await functions.evaluate();
        functions.dispose();
      };
      await round();
      const first = context.stats();
      for (let i = 0; i < 1000; i++) await round();
      const last = context.stats();
      check.equal(last.buffers, first.buffers, 'buffers');
      check.equal(last.bufferBytes, first.bufferBytes, 'bytes');
      check.equal(last.pipelines, first.pipelines, 'the pipelines come from the cache');
      check.ok(last.pipelineCacheHits > first.pipelineCacheHits, 'the cache is asked');
    }, { long: true }),

    ...onGpu("after 1,000 evaluations of each kind the device's memory is that after the first", async (check) => {
      const context = await check.context();
      const { problem, x } = doubles();
      const functions = await check.compile(problem, { context });
      const round = async (i) => {
        x.setAt(i % 1000, [i]);
        await functions.evaluate();
        await functions.evaluateSumWithGradient();
        await functions.evaluateCostWithGradient();
      };
      await round(0);
      const first = context.stats();
      for (let i = 1; i <= 1000; i++) await round(i);
      const last = context.stats();
      for (const figure of ['buffers', 'bufferBytes', 'peakBufferBytes', 'pipelines']) check.equal(last[figure], first[figure], figure);
      check.equal(last.readbacks, first.readbacks + 3000, 'every result was read back');
    }, { long: true }),

    ...onGpu("after 20 solves by each method the device's memory is that after the first", async (check) => {
      const context = await check.context();
      const { problem, x } = doubles();
      const functions = await check.compile(problem, { context });
      const start = new Float64Array(1000).fill(1);
      const round = async () => {
        for (const solve of [() => levenbergMarquardt(functions, { maxIterations: 2, maxLinearIterations: 5 }), () => lbfgs(functions, { objective: 'least-squares', maxIterations: 2 })]) {
          x.set(start);
          await solve();
        }
      };
      await round();
      const first = context.stats();
      for (let i = 0; i < 20; i++) await round();
      const last = context.stats();
      for (const figure of ['buffers', 'bufferBytes', 'peakBufferBytes', 'pipelines']) check.equal(last[figure], first[figure], figure);
    }, { long: true }),
  ],
};
