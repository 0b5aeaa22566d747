/** Problems that grow after the compile, on both engines. */
import { levenbergMarquardt, Problem } from 'residua';
import { onEach, onGpu } from '../define.js';
import { grow } from '../growing-problems.js';

/** Springs of length 1 between neighbours on a line, the first of which is held. */
function springs(count) {
  const problem = new Problem();
  const x = problem.parameters('x', { dim: 1, values: Float64Array.from({ length: count }, (_, k) => 1.5 * k) });
  x.setConstant([0]);
  const ends = Array.from({ length: count - 1 }, (_, k) => k);
  const block = problem.residuals('springs', {
    inputs: { a: x.at(ends), b: x.at(ends.map((k) => k + 1)), length: problem.data(ends.map(() => 1)) },
    residual: ({ a, b, length }) => b.sub(a).sub(length),
  });
  const lengthen = () => block.append({ a: [x.count - 1], b: [x.append([1.5 * x.count])], length: [1] });
  return { problem, x, block, lengthen };
}

export const group = {
  id: 'append',
  title: 'Problems that grow after the compile',
  about: 'What is appended to arrays and residual blocks is part of the next call, with the bits of a new compile and without one.',
  checks: [
    ...onEach('random appends give every call and solver the bits of a new compile', async (check) => {
      for (const [seed, isConstrained] of [[0, false], [1, true], [4, false]]) {
        for await (const { name, got, expected } of grow(seed, 5, isConstrained, (problem) => check.compile(problem))) {
          check.same(got, expected, `seed ${seed}: ${name}`);
        }
      }
    }, { slow: true }),

    ...onGpu('a call after an append compiles no pipeline and makes no more buffers', async (check) => {
      const { problem, x, lengthen } = springs(20);
      const context = await check.context();
      const functions = await check.compile(problem, { context });
      const solve = async () => [await functions.evaluateCostWithGradient(), await levenbergMarquardt(functions)];
      // Of numbers that four divides, steps are made by another kernel.
      await solve();
      lengthen();
      await solve();
      const { pipelines, buffers } = context.stats();
      for (let k = 0; k < 3; k++) {
        lengthen();
        x.setAt(x.count - 1, [50]);
        const [{ gradient }, result] = await solve();
        check.same([gradient.length, result.x.length, functions.numResiduals], [x.count, x.count, x.count - 1]);
        check.ok(Math.abs(result.x[x.count - 1] - (x.count - 1)) < 1e-3, `the end lies at ${result.x[x.count - 1]} (${result.message})`);
      }
      check.same([context.stats().pipelines, context.stats().buffers], [pipelines, buffers], 'pipelines and buffers');
    }),

    ...onGpu("the page's buffers are others after the call that follows an append, and what it wrote stays until it takes them", async (check) => {
      const { problem, block, lengthen } = springs(5);
      const context = await check.context();
      const functions = await check.compile(problem, { context });
      const { device } = context;
      const [points, lengths] = [functions.parameterBuffer, block.dataBuffer('length')];
      await functions.evaluate();
      device.queue.writeBuffer(lengths, 0, Float32Array.of(2, 2, 2, 2));
      lengthen();
      let refusal = '';
      try {
        block.dataBuffer('length');
      } catch (error) {
        refusal = error.code;
      }
      check.same(refusal, 'invalid-argument');
      check.same([...(await functions.evaluate())], [-0.5, -0.5, -0.5, -0.5, 0.5]);
      check.ok(functions.parameterBuffer !== points && block.dataBuffer('length') !== lengths, 'other buffers');
      // It begins with the numbers that the page has given.
      device.queue.writeBuffer(block.dataBuffer('length'), 4, Float32Array.of(2, 2, 2, 3));
      check.same([...(await functions.evaluate())], [0.5, -0.5, -0.5, -0.5, -1.5]);
    }),
  ],
};
