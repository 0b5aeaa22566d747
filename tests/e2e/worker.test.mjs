// residua/worker: the package's own worker does what the page would have done, bit for bit.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { launch, openBlankPage, url } from '../browser.mjs';
import { longTest } from '../tier.mjs';

let browser, page, complaints;
before(async () => {
  browser = await launch();
  ({ page, complaints } = await openBlankPage(browser, { load: false }));
  await page.evaluate(async () => {
    // Workers that the package starts.
    window.workers = [];
    window.Worker = class extends Worker {
      constructor(...args) {
        super(...args);
        window.workers.push(this);
      }
    };
    window.here = await import('residua');
    window.there = await import('residua/worker');
    /** A grid of springs with a few wild lengths, bounds and a constant corner. */
    window.grid = ({ Problem, loss }, n) => {
      const problem = new Problem();
      const points = problem.parameters('points', { dim: 3, values: Float64Array.from({ length: 3 * n * n }, (_, i) => Math.sin(i) + (i % 3) * n * 0.1) });
      points.setConstant([0]);
      points.setBounds({ lower: -5 * n, upper: 5 * n });
      const edges = [];
      for (let i = 0; i < n * n; i++) {
        if (i % n < n - 1) edges.push(i, i + 1);
        if (i < n * (n - 1)) edges.push(i, i + n);
      }
      const block = problem.residuals('springs', {
        inputs: { ends: points.at(edges, 2), length: problem.data(Float64Array.from({ length: edges.length / 2 }, (_, i) => 1 + (i % 17 === 0 ? 2 : 0))) },
        residual: ({ ends: [a, b], length }) => a.distance(b).sub(length),
        loss: loss.huber(0.5),
      });
      return { problem, points, block };
    };
    /** The error's code, or `fulfilled`. */
    window.outcome = (promise) => promise.then(() => 'fulfilled', (error) => error.code ?? String(error));
    /** Everything that the package computes, through one of its entries. */
    window.everything = async (entry, backend) => {
      const residua = window[entry];
      const { GpuCompiledFunctions, V, Problem, levenbergMarquardt, lbfgs, covariance, rank, solve, solveMany } = residua;
      const found = {};
      const { problem, points, block } = window.grid(residua, 6);
      const functions = await GpuCompiledFunctions.compile(problem, { backend });
      const x = points.values().map((value) => value + 0.25);
      found.values = await functions.evaluate();
      found.at = await functions.evaluate(x);
      found.sum = await functions.evaluateSumWithGradient(x);
      const into = new Float64Array(functions.numParams);
      found.cost = await functions.evaluateCostWithGradient(x, into);
      found.sameArray = found.cost.gradient === into;
      const { values, jacobian } = await functions.evaluateJacobian(x);
      found.jacobian = [values, jacobian.rowOffsets, jacobian.colIndices, jacobian.values];
      found.check = await functions.checkGradients();
      found.onDevice = (await functions.evaluateCostWithGradientOnDevice(x)).value;
      const result = ({ x, termination, iterations, functionEvaluations, initialCost, finalCost, message }) => ({ x, termination, iterations, functionEvaluations, initialCost, finalCost, message });
      found.lm = result(await levenbergMarquardt(functions, { maxIterations: 5 }));
      found.arrays = points.values();
      points.setAt(7, [1, 2, 3]);
      block.setWeight(2);
      block.setData('length', new Float64Array(block.count).fill(1.5));
      found.lbfgs = result(await lbfgs(functions, { objective: 'least-squares', maxIterations: 5, readBack: false }));
      found.downloaded = await functions.download();
      found.rank = await rank(functions, { tolerance: 1e-9 });
      const end = points.append([7, 8, 9]);
      block.append({ ends: [end - 1, end, 0, end], length: [1, 9] });
      found.grown = [await functions.evaluate(), functions.numParams];
      found.facts = [functions.backend, functions.fallbackReason, functions.kernelCount, functions.kernels(), functions.numResiduals];
      functions.dispose();

      const params = Array.from({ length: 12 }, (_, i) => V.W(i % 2 === 0 ? -1.2 : 1));
      const rosenbrock = (list) => list.slice(0, -1).flatMap((a, i) => [list[i + 1].sub(a.square()).mul(10), a.neg().add(1)]);
      const written = await GpuCompiledFunctions.compile(params, rosenbrock, { backend });
      found.written = await written.evaluateJacobian();
      // A software adapter takes seconds to compile a solver's kernels, for each problem anew.
      if (backend === 'cpu') found.params = result(await levenbergMarquardt(written));
      found.numbers = params.map(({ data }) => data);
      const { values: variances } = await covariance(written, { blocks: [0, 5], absoluteSigma: true });
      found.covariance = variances;
      written.dispose();

      if (backend === 'cpu') found.solve = result(await solve(window.grid(residua, 3).problem, { backend, maxIterations: 10 }));
      const template = new Problem();
      const c = template.parameters('c', { dim: 2, values: [1, 1] });
      const t = Float64Array.from({ length: 8 }, (_, i) => i / 4);
      template.residuals('fit', { inputs: { c: c.shared(), t: template.data(t), y: template.data(t) }, residual: ({ c, t, y }) => c.x.mul(t).add(c.y).sub(y) });
      const y = Float64Array.from({ length: 8 * 20 }, (_, i) => (1 + (i >> 3) / 10) * t[i & 7] + 2);
      const { computationTime: _, ...many } = await solveMany(template, { count: 20, data: { fit: { y } } }, { backend });
      found.many = many;
      return found;
    };
  });
});
after(() => browser.close());

test('importing starts no worker, and the first call starts one', async () => {
  const counts = await page.evaluate(async () => {
    const before = window.workers.length;
    const { GpuCompiledFunctions, V } = window.there;
    const functions = await Promise.all([1, 2].map((x) => GpuCompiledFunctions.compile([V.W(x)], ([x]) => x.square(), { backend: 'cpu' })));
    for (const each of functions) each.dispose();
    return [before, window.workers.length];
  });
  assert.deepEqual(counts, [0, 1]);
});

test("the classes are the page's own", async () => {
  assert.deepEqual(await page.evaluate(() => {
    const { here, there } = window;
    const missing = Object.keys(here).filter((name) => !(name in there));
    const same = ['Problem', 'Value', 'V', 'Vec3', 'loss', 'geometry', 'ResiduaError', 'levenbergMarquardt', 'lbfgs', 'covariance', 'rank', 'NonlinearLeastSquares'];
    return [missing, same.filter((name) => here[name] !== there[name]), there.GpuContext.name, there.GpuCompiledFunctions.name];
  }), [[], [], 'GpuContext', 'GpuCompiledFunctions']);
});

for (const backend of ['gpu', 'cpu']) {
  describe(`on the ${backend}`, () => {
    (backend === 'gpu' ? longTest : test)('everything computed in the worker is what the page computes, bit for bit', async () => {
      // One after the other, so that they share nothing but the browser.
      const [there, here] = [await page.evaluate((backend) => window.everything('there', backend), backend), await page.evaluate((backend) => window.everything('here', backend), backend)];
      assert.equal(there.sameArray, true);
      assert.deepEqual(there, here);
    });

    test('a listener and a signal end a solve, which keeps the best point so far', async () => {
      const { heard, results, values } = await page.evaluate(async (backend) => {
        const { GpuCompiledFunctions, levenbergMarquardt } = window.there;
        const { problem, points } = window.grid(window.there, 20);
        const functions = await GpuCompiledFunctions.compile(problem, { backend });
        const heard = [];
        const controller = new AbortController();
        const ends = [
          { onIteration: ({ iteration }) => (heard.push(iteration), iteration === 2) },
          { onIteration: () => void controller.abort(), signal: controller.signal },
        ];
        const results = [];
        for (const end of ends) {
          const { termination, x, history } = await levenbergMarquardt(functions, { ...end, maxIterations: 10_000, costTolerance: 0, gradientTolerance: 0, parameterTolerance: 0 });
          results.push({ termination, x, length: history.length });
        }
        functions.dispose();
        return { heard, results, values: points.values() };
      }, backend);
      assert.deepEqual(heard, [0, 1, 2]);
      for (const { termination, length } of results) assert.deepEqual([termination, length < 10_000], ['aborted', true], `${length} iterations`);
      assert.ok(results[0].length >= 3);
      assert.deepEqual(values, results[1].x);
    });

    test('dispose rejects what is pending, and the worker goes on with others', async () => {
      const codes = await page.evaluate(async (backend) => {
        const { GpuCompiledFunctions, levenbergMarquardt, V } = window.there;
        const functions = await GpuCompiledFunctions.compile(window.grid(window.there, 20).problem, { backend });
        const pending = [functions.evaluate(), levenbergMarquardt(functions, { maxIterations: 1e6 })].map(window.outcome);
        functions.dispose();
        pending.push(window.outcome(functions.evaluate()));
        const other = await GpuCompiledFunctions.compile([V.W(3)], ([x]) => x.square(), { backend });
        const [nine] = await other.evaluate();
        other.dispose();
        return [...(await Promise.all(pending)), nine];
      }, backend);
      assert.deepEqual(codes, ['disposed', 'disposed', 'disposed', 9]);
    });
  });
}

test('a start that is not finite is told with its place', async () => {
  const error = await page.evaluate(async () => {
    const { GpuCompiledFunctions, levenbergMarquardt, V, ResiduaError } = window.there;
    const functions = await GpuCompiledFunctions.compile([V.W(1), V.W(-1)], ([x, y]) => [x, y.log()], { backend: 'cpu' });
    const error = await levenbergMarquardt(functions).catch((error) => error);
    functions.dispose();
    return [error instanceof ResiduaError, error.code, error.message];
  });
  assert.deepEqual(error.slice(0, 2), [true, 'non-finite']);
  assert.match(error[2], /residual 1/);
});

test('GPU objects stay in the worker', async () => {
  const found = await page.evaluate(async () => {
    const { GpuCompiledFunctions, GpuContext } = window.there;
    const context = await GpuContext.create();
    const { problem, block } = window.grid(window.there, 4);
    const before = context.stats().dispatches;
    const functions = await GpuCompiledFunctions.compile(problem, { backend: 'gpu', context });
    const { value, gradient } = await functions.evaluateCostWithGradientOnDevice();
    const { dispatches } = context.stats();
    const device = await window.outcome((async () => context.device)());
    const adopted = await window.outcome(GpuContext.create({ device: {} }));
    const foreign = await window.outcome(GpuCompiledFunctions.compile(problem, { backend: 'gpu', context: await window.here.GpuContext.default() }));
    const buffers = [functions.parameterBuffer, block.dataBuffer('length'), gradient];
    functions.dispose();
    context.dispose();
    const after = await window.outcome(GpuCompiledFunctions.compile(problem, { backend: 'gpu', context }));
    return { available: await GpuContext.isAvailable(), counted: [before, dispatches], value, buffers, device, adopted, foreign, after, vendor: typeof context.adapter.vendor };
  });
  assert.ok(found.value > 0);
  assert.ok(found.counted[0] === 0 && found.counted[1] > 0, `${found.counted}`);
  assert.deepEqual(found.buffers, [null, null, null]);
  const { available, device, adopted, foreign, after, vendor } = found;
  assert.deepEqual({ available, device, adopted, foreign, after, vendor }, {
    available: true, device: 'gpu-unavailable', adopted: 'invalid-argument', foreign: 'invalid-argument', after: 'disposed', vendor: 'string',
  });
});

test("a worker that is gone is 'internal', and init() starts another", async () => {
  const found = await page.evaluate(async () => {
    const { GpuCompiledFunctions, levenbergMarquardt, V, init } = window.there;
    const compile = () => GpuCompiledFunctions.compile([V.W(3)], ([x]) => x.square(), { backend: 'cpu' });
    const functions = await GpuCompiledFunctions.compile(window.grid(window.there, 30).problem, { backend: 'cpu' });
    const solving = window.outcome(levenbergMarquardt(functions, { maxIterations: 1e6, costTolerance: 0, gradientTolerance: 0, parameterTolerance: 0 }));
    await new Promise((resolve) => setTimeout(resolve, 50));
    window.workers.at(-1).terminate(); // not by the package
    const codes = [await solving, await window.outcome(functions.evaluate()), await window.outcome(compile())];
    await init();
    const again = await compile();
    const [nine] = await again.evaluate();
    return { codes, nine, data: V.W(2).add(1).data };
  });
  assert.deepEqual(found, { codes: ['internal', 'internal', 'internal'], nine: 9, data: 3 });
});

test('terminate() ends the worker; the next call starts another', async () => {
  const found = await page.evaluate(async () => {
    const { GpuCompiledFunctions, levenbergMarquardt, V, terminate } = window.there;
    const compile = () => GpuCompiledFunctions.compile([V.W(3)], ([x]) => x.square(), { backend: 'cpu' });
    const functions = await compile();
    const before = window.workers.length;
    const pending = [levenbergMarquardt(functions), compile()].map(window.outcome);
    terminate();
    terminate(); // again is harmless
    const codes = [...(await Promise.all(pending)), await window.outcome(functions.evaluate())];
    functions.dispose();
    const again = await compile();
    const [nine] = await again.evaluate();
    return { codes, nine, started: window.workers.length - before };
  });
  assert.deepEqual(found, { codes: ['disposed', 'disposed', 'disposed'], nine: 9, started: 1 });
});

test('the .wasm may come from anywhere: a place, an answer, bytes, a module; a place that is none is told', async () => {
  for (const kind of ['address', 'answer', 'bytes', 'module', 'nowhere']) {
    const blank = await openBlankPage(browser, { load: false });
    try {
      const found = await blank.page.evaluate(async (kind, address) => {
        const { init, GpuCompiledFunctions, V } = await import('residua/worker');
        const bytes = async () => (await fetch(address)).arrayBuffer();
        const sources = { address: () => address, answer: () => fetch(address), bytes, module: async () => WebAssembly.compile(await bytes()), nowhere: () => '/nowhere.wasm' };
        const source = await sources[kind]();
        const first = init(source);
        const same = init() === first;
        const code = await first.then(() => null, (error) => `${error.code}: ${error.message}`);
        if (code !== null) return code;
        const functions = await GpuCompiledFunctions.compile([V.W(3)], ([x]) => x.square(), { backend: 'cpu' });
        return [same, V.W(3).square().data, ...(await functions.evaluate())];
      }, kind, new URL('residua/wasm/residua_bg.wasm', url).href);
      if (kind === 'nowhere') assert.match(found, /^not-initialized: .*"\/nowhere\.wasm".*404/);
      else assert.deepEqual(found, [true, 9, 9], kind);
    } finally {
      await blank.close();
    }
  }
});

test('it works without WebGPU, under a strict policy, and in a worker of the application', async () => {
  const square = `async ({ GpuCompiledFunctions, V }) => {
    const functions = await GpuCompiledFunctions.compile([V.W(3)], ([x]) => x.square(), { fallbackThreshold: 0 });
    return [functions.backend, ...(await functions.evaluate())];
  }`;
  const policy = "default-src 'self'; img-src data:; script-src 'self' 'nonce-map' 'wasm-unsafe-eval'";
  const strict = await openBlankPage(browser, { policy, load: false });
  try {
    assert.deepEqual(await strict.page.evaluate(`import('residua/worker').then(${square})`), ['gpu', 9]);
    assert.deepEqual(strict.complaints, []);
  } finally {
    await strict.close();
  }
  const nested = `import * as residua from '${new URL('residua/dist/worker.js', url)}'; (${square})(residua).then(postMessage, (error) => postMessage(String(error)));`;
  const answer = await page.evaluate(
    (script) =>
      new Promise((resolve) => {
        const worker = new Worker(URL.createObjectURL(new Blob([script], { type: 'text/javascript' })), { type: 'module' });
        worker.onmessage = ({ data }) => (worker.terminate(), resolve(data));
        worker.onerror = ({ message }) => resolve(message);
      }),
    nested,
  );
  assert.deepEqual(answer, ['gpu', 9]);
});

test('nothing of it was complained of', () => assert.deepEqual(complaints, []));
