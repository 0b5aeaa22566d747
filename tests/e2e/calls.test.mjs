// Calls that overlap, calls after the end, and what remains on the device afterwards.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { launch, openBlankPage } from '../browser.mjs';

let browser, page;
before(async () => {
  browser = await launch();
  ({ page } = await openBlankPage(browser));
  await page.evaluate(() => {
    const { Problem, GpuCompiledFunctions } = window.residua;
    /** Residuals 2xᵢ of 1,000 numbers xᵢ, all 1. */
    window.doubles = async (backend) => {
      const problem = new Problem();
      const x = problem.parameters('x', { dim: 1, values: new Float64Array(1000).fill(1) });
      problem.residuals('double', {
        inputs: { x: x.at(Uint32Array.from({ length: 1000 }, (_, i) => i)) },
        residual: ({ x }) => x.mul(2),
      });
      return { x, functions: await GpuCompiledFunctions.compile(problem, { backend }) };
    };
    /** The error's code, or `fulfilled`. */
    window.outcome = (promise) => promise.then(() => 'fulfilled', (error) => error.code ?? String(error));
  });
});
after(() => browser.close());

for (const backend of ['gpu', 'cpu']) {
  describe(`on the ${backend}`, () => {
    test('two calls at once on one object both answer, each with its own point', async () => {
      const answers = await page.evaluate(async (backend) => {
        const { functions } = await window.doubles(backend);
        const point = new Float64Array(1000).fill(3);
        const first = functions.evaluate(point);
        point.fill(5); // arrays are copied at the call
        const all = await Promise.all([first, functions.evaluate(point), functions.evaluateSumWithGradient()]);
        functions.dispose();
        return [all[0][0], all[0][999], all[1][0], all[1][999], all[2].value, all[2].gradient[500]];
      }, backend);
      assert.deepEqual(answers, [6, 6, 10, 10, 2000, 2]);
    });

    test('a set during a call applies to the next one', async () => {
      const answers = await page.evaluate(async (backend) => {
        const { x, functions } = await window.doubles(backend);
        const running = functions.evaluate();
        x.setAt(7, [4]);
        const next = functions.evaluate();
        const values = [(await running)[7], (await next)[7], (await next)[8]];
        functions.dispose();
        return values;
      }, backend);
      assert.deepEqual(answers, [2, 8, 2]);
    });

    test('dispose during a call rejects it with disposed, and so does every later call', async () => {
      const codes = await page.evaluate(async (backend) => {
        const { functions } = await window.doubles(backend);
        const pending = [window.outcome(functions.evaluate()), window.outcome(window.residua.lbfgs(functions))];
        functions.dispose();
        functions.dispose(); // again is harmless
        pending.push(window.outcome(functions.evaluate()), window.outcome(functions.evaluateJacobian()));
        return Promise.all(pending);
      }, backend);
      assert.deepEqual(codes, ['disposed', 'disposed', 'disposed', 'disposed']);
    });

    test('an aborted solve resolves, and the object stays usable', async () => {
      const [termination, value] = await page.evaluate(async (backend) => {
        const { functions } = await window.doubles(backend);
        const result = await window.residua.lbfgs(functions, { objective: 'least-squares', signal: AbortSignal.abort() });
        const values = await functions.evaluate(new Float64Array(1000).fill(9));
        functions.dispose();
        return [result.termination, values[0]];
      }, backend);
      assert.deepEqual([termination, value], ['aborted', 18]);
    });
  });
}

test('after 1,000 rounds of compile, evaluate and dispose the device holds what it held before', async () => {
  const [first, last] = await page.evaluate(async () => {
    const context = await window.residua.GpuContext.default();
    const round = async () => {
      const { functions } = await window.doubles('gpu');
      await functions.evaluate();
      functions.dispose();
    };
    await round();
    const first = context.stats();
    for (let i = 0; i < 1000; i++) await round();
    return [first, context.stats()];
  });
  assert.equal(last.buffers, first.buffers);
  assert.equal(last.bufferBytes, first.bufferBytes);
  assert.equal(last.pipelines, first.pipelines, 'the pipelines come from the cache');
  assert.ok(last.pipelineCacheHits > first.pipelineCacheHits);
});

test('a solve on the CPU lets the page live: a signal or dispose() from outside ends it', async () => {
  const [aborted, disposed, late] = await page.evaluate(async () => {
    const { GpuCompiledFunctions, V, lbfgs } = window.residua;
    const params = Array.from({ length: 2000 }, (_, i) => V.W(i % 2 === 0 ? -1.2 : 1));
    const rosenbrock = (x) => x.slice(0, -1).map((a, i) => x[i + 1].sub(a.square()).square().mul(100).add(a.sub(1).square()));
    const forever = { maxIterations: 1e7, costTolerance: 0, gradientTolerance: 0, parameterTolerance: 0, historySize: 1 };
    const functions = await GpuCompiledFunctions.compile(params, rosenbrock, { backend: 'cpu' });
    const controller = new AbortController();
    setTimeout(() => controller.abort(), 30);
    const { termination } = await lbfgs(functions, { ...forever, signal: controller.signal });
    params.forEach((param, i) => (param.data = i % 2 === 0 ? -1.2 : 1));
    let iterations = 0;
    setTimeout(() => functions.dispose(), 30);
    const outcome = await window.outcome(lbfgs(functions, { ...forever, onIteration: () => void iterations++ }));
    const atEnd = iterations;
    await new Promise((resolve) => setTimeout(resolve, 50));
    return [termination, outcome, iterations - atEnd];
  });
  assert.equal(aborted, 'aborted');
  assert.equal(disposed, 'disposed');
  assert.ok(late <= 1, `${late} iterations after dispose()`);
});

test('kernels() can be read during a call, and setData before the first call of a data buffer is not lost', async () => {
  const [texts, values] = await page.evaluate(async () => {
    const { GpuCompiledFunctions, Problem } = window.residua;
    const problem = new Problem();
    const a = problem.parameters('a', { dim: 1, values: [5, 6, 7] });
    const block = problem.residuals('r', { inputs: { a: a.at([0, 1, 2]), d: problem.data([0, 1, 2]) }, residual: ({ a, d }) => a.sub(d) });
    const functions = await GpuCompiledFunctions.compile(problem, { backend: 'gpu' });
    const pending = functions.evaluate();
    await Promise.resolve();
    const texts = functions.kernels();
    const first = [...(await pending)];
    const later = functions.kernels();
    const { device } = await window.residua.GpuContext.default();
    const buffer = block.dataBuffer('d');
    block.setData('d', [1, 1, 1]);
    const second = [...(await functions.evaluate())];
    device.queue.writeBuffer(buffer, 0, new Float32Array([10, 20, 30]));
    const third = [...(await functions.evaluate())];
    block.setData('d', [2, 3, 4]);
    const fourth = [...(await functions.evaluate())];
    functions.dispose();
    return [[texts, later], [first, second, third, fourth]];
  });
  assert.ok(texts[0].some(({ name }) => name === 'r values'), texts[0].map(({ name }) => name).join());
  assert.deepEqual(texts[0], texts[1]);
  assert.deepEqual(values, [[5, 5, 5], [4, 5, 6], [-5, -14, -23], [3, 3, 3]]);
});
