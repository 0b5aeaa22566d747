/** Overlapping calls, calls after dispose, and the memory that remains on the device. */
import { GpuContext, lbfgs, Problem, V } from 'residua';
import { onCpu, onEach, onGpu } from '../define.js';

/** Residuals 2xᵢ of 1,000 numbers xᵢ, all 1. */
async function doubles(check) {
  const problem = new Problem();
  const x = problem.parameters('x', { dim: 1, values: new Float64Array(1000).fill(1) });
  problem.residuals('double', {
    inputs: { x: x.at(Uint32Array.from({ length: 1000 }, (_, i) => i)) },
    residual: ({ x }) => x.mul(2),
  });
  return { x, functions: await check.compile(problem) };
}

/** The error's code, or `fulfilled`. */
const outcome = (promise) => promise.then(() => 'fulfilled', (error) => error.code ?? String(error));

export const group = {
  id: 'calls',
  title: 'Overlapping calls, and calls after dispose',
  about: 'Calls on one object queue in order; changes during a call apply to the next one; dispose() and signals take effect at any time.',
  checks: [
    ...onEach('two simultaneous calls on one object both resolve, each with its own point', async (check) => {
      const { functions } = await doubles(check);
      const point = new Float64Array(1000).fill(3);
      const first = functions.evaluate(point);
      point.fill(5); // arrays are copied at the call
      const all = await Promise.all([first, functions.evaluate(point), functions.evaluateSumWithGradient()]);
      check.same([all[0][0], all[0][999], all[1][0], all[1][999], all[2].value, all[2].gradient[500]], [6, 6, 10, 10, 2000, 2]);
    }),

    ...onEach('a change during a call applies to the next call', async (check) => {
      const { x, functions } = await doubles(check);
      const running = functions.evaluate();
      x.setAt(7, [4]);
      const next = functions.evaluate();
      check.same([(await running)[7], (await next)[7], (await next)[8]], [2, 8, 2]);
    }),

    ...onEach("dispose during a call rejects it with 'disposed', and so does every later call", async (check) => {
      const { functions } = await doubles(check);
      const pending = [outcome(functions.evaluate()), outcome(lbfgs(functions))];
      functions.dispose();
      functions.dispose(); // a second call has no effect
      pending.push(outcome(functions.evaluate()), outcome(functions.evaluateJacobian()));
      check.same(await Promise.all(pending), ['disposed', 'disposed', 'disposed', 'disposed']);
    }),

    ...onEach('an aborted solve resolves, and the object stays usable', async (check) => {
      const { functions } = await doubles(check);
      const result = await lbfgs(functions, { objective: 'least-squares', signal: AbortSignal.abort() });
      const values = await functions.evaluate(new Float64Array(1000).fill(9));
      check.same([result.termination, values[0]], ['aborted', 18]);
    }),

    ...onCpu('a solve on the CPU yields to the event loop: a signal or dispose() ends it', async (check) => {
      const params = Array.from({ length: 2000 }, (_, i) => V.W(i % 2 === 0 ? -1.2 : 1));
      const rosenbrock = (x) => x.slice(0, -1).map((a, i) => x[i + 1].sub(a.square()).square().mul(100).add(a.sub(1).square()));
      const forever = { maxIterations: 1e7, costTolerance: 0, gradientTolerance: 0, parameterTolerance: 0, historySize: 1 };
      const functions = await check.compile(params, rosenbrock);
      const controller = new AbortController();
      setTimeout(() => controller.abort(), 30);
      const { termination } = await lbfgs(functions, { ...forever, signal: controller.signal });
      params.forEach((param, i) => (param.data = i % 2 === 0 ? -1.2 : 1));
      let iterations = 0;
      setTimeout(() => functions.dispose(), 30);
      const ended = await outcome(lbfgs(functions, { ...forever, onIteration: () => void iterations++ }));
      const atEnd = iterations;
      await new Promise((resolve) => setTimeout(resolve, 50));
      check.equal(termination, 'aborted');
      check.equal(ended, 'disposed');
      check.ok(iterations - atEnd <= 1, `${iterations - atEnd} iterations after dispose()`);
    }),

    ...onGpu('kernels() can be read during a call, and setData before the first call of dataBuffer takes effect', async (check) => {
      const problem = new Problem();
      const a = problem.parameters('a', { dim: 1, values: [5, 6, 7] });
      const block = problem.residuals('r', { inputs: { a: a.at([0, 1, 2]), d: problem.data([0, 1, 2]) }, residual: ({ a, d }) => a.sub(d) });
      const functions = await check.compile(problem);
      const pending = functions.evaluate();
      await Promise.resolve();
      const texts = functions.kernels();
      const first = [...(await pending)];
      const later = functions.kernels();
      const { device } = await GpuContext.default();
      const buffer = block.dataBuffer('d');
      block.setData('d', [1, 1, 1]);
      const second = [...(await functions.evaluate())];
      device.queue.writeBuffer(buffer, 0, new Float32Array([10, 20, 30]));
      const third = [...(await functions.evaluate())];
      block.setData('d', [2, 3, 4]);
      const fourth = [...(await functions.evaluate())];
      check.ok(texts.some(({ name }) => name === 'r values'), `'r values' is among ${texts.map(({ name }) => name).join()}`);
      check.same(texts, later, 'kernels during a call and after it');
      check.same([first, second, third, fourth], [[5, 5, 5], [4, 5, 6], [-5, -14, -23], [3, 3, 3]]);
    }),
  ],
};
