// The package in a page, from an expression to its minimum, on both backends.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { launch, openBlankPage } from '../browser.mjs';

let browser, blank, page;
before(async () => {
  browser = await launch();
  blank = await openBlankPage(browser);
  page = blank.page;
});
after(() => browser.close());

const close = (actual, expected, tolerance, what) =>
  assert.ok(Math.abs(actual - expected) <= tolerance, `${what}: ${actual}, not ${expected} within ${tolerance}`);

// Single precision carries 6e-8 per rounding; through a solve of few terms 1e-4 of the answer is left with room.
const tolerances = { gpu: 1e-4, cpu: 1e-7 };

for (const backend of ['gpu', 'cpu']) {
  describe(`on the ${backend}`, () => {
    test('a line through points is the least-squares line', async () => {
      const result = await page.evaluate(async (backend) => {
        const { Problem, GpuCompiledFunctions, lbfgs } = window.residua;
        const xs = Array.from({ length: 101 }, (_, i) => i / 50 - 1);
        const ys = xs.map((x, i) => 0.75 * x - 0.25 + 0.1 * Math.sin(7 * i));
        const problem = new Problem();
        const line = problem.parameters('line', { dim: 2, values: [0, 0] });
        problem.residuals('points', {
          inputs: { line: line.shared(), x: problem.data(xs), y: problem.data(ys) },
          residual: ({ line, x, y }) => line.x.mul(x).add(line.y).sub(y),
        });
        const functions = await GpuCompiledFunctions.compile(problem, { backend });
        const solved = await lbfgs(functions, { objective: 'least-squares', gradientTolerance: 0, costTolerance: 1e-12 });
        const summary = {
          backend: functions.backend, termination: solved.termination, x: [...solved.x], values: [...line.values()],
          initialCost: solved.initialCost, finalCost: solved.finalCost, history: solved.history.length, report: solved.report(),
        };
        functions.dispose();
        // The normal equations of the same points.
        const sum = (f) => xs.reduce((total, x, i) => total + f(x, ys[i]), 0);
        const n = xs.length, sx = sum((x) => x), sy = sum((_, y) => y), sxx = sum((x) => x * x), sxy = sum((x, y) => x * y);
        const slope = (n * sxy - sx * sy) / (n * sxx - sx * sx);
        return { ...summary, slope, intercept: (sy - slope * sx) / n };
      }, backend);
      assert.equal(result.backend, backend);
      close(result.x[0], result.slope, tolerances[backend], `slope (${result.termination})`);
      close(result.x[1], result.intercept, tolerances[backend], 'intercept');
      assert.deepEqual(result.values, result.x, 'the solution is written back to the parameters');
      assert.ok(result.finalCost < result.initialCost);
      assert.ok(result.history > 0);
      assert.match(result.report, /\d/);
    });

    test('residuals over params are grouped by topology and stand in the order they were returned', async () => {
      const result = await page.evaluate(async (backend) => {
        const { V, GpuCompiledFunctions } = window.residua;
        const params = Array.from({ length: 40 }, (_, i) => V.W(i / 8));
        const functions = await GpuCompiledFunctions.compile(
          params,
          (p) => p.slice(1).flatMap((b, i) => [V.clamp(V.sub(b, p[i]), 0, i / 4), V.mul(V.C(i), V.square(b))]),
          { backend },
        );
        const values = [...(await functions.evaluate())];
        const shape = [functions.numParams, functions.numResiduals, functions.kernelCount, functions.kernelReuseFactor];
        const kernels = functions.kernels().map(({ wgsl }) => wgsl);
        functions.dispose();
        return { values, shape, kernels };
      }, backend);
      assert.deepEqual(result.shape, [40, 78, 2, 39]);
      for (let i = 0; i < 39; i++) {
        // All of these numbers are exact in single precision.
        assert.equal(result.values[2 * i], Math.min(1 / 8, i / 4));
        assert.equal(result.values[2 * i + 1], i * ((i + 1) / 8) ** 2);
      }
      if (backend === 'gpu') for (const wgsl of result.kernels) assert.match(wgsl, /@compute/);
    });

    test('a solve stops when onIteration says so, keeping the best point so far', async () => {
      const result = await page.evaluate(async (backend) => {
        const { V, GpuCompiledFunctions, lbfgs } = window.residua;
        const rosenbrock = ([x, y]) => [V.square(V.sub(1, x)), V.mul(100, V.square(V.sub(y, V.square(x))))];
        const functions = await GpuCompiledFunctions.compile([V.W(-1.2), V.W(1)], rosenbrock, { backend });
        const stopped = await lbfgs(functions, { onIteration: ({ iteration }) => iteration >= 3 });
        const finished = await lbfgs(functions, { maxIterations: 200, costTolerance: 0 });
        functions.dispose();
        const { termination, finalCost, initialCost } = stopped;
        return { termination, finalCost, initialCost, x: [...finished.x] };
      }, backend);
      assert.equal(result.termination, 'aborted');
      assert.ok(result.finalCost < result.initialCost);
      // The valley is flat: an error e along it costs e² / 2, so single precision sees the minimum within 1e-3.
      for (const coordinate of result.x) close(coordinate, 1, backend === 'gpu' ? 1e-2 : 1e-4, 'Rosenbrock');
    });
  });
}

test('gradient and Jacobian of the GPU are those of the CPU', async () => {
  const [gpu, cpu] = await page.evaluate(async () => {
    const { Problem, GpuCompiledFunctions, loss, V } = window.residua;
    const evaluate = async (backend) => {
      const problem = new Problem();
      // Values that single precision holds exactly, so that both backends start from the same numbers.
      const values = Float32Array.from({ length: 300 }, (_, i) => Math.sin(i * 1.7));
      const points = problem.parameters('points', { dim: 3, values });
      const ring = Uint32Array.from({ length: 200 }, (_, i) => (i % 2 === 0 ? i / 2 : ((i + 1) / 2) % 100));
      problem.residuals('springs', {
        inputs: { ends: points.at(ring, 2) },
        residual: ({ ends: [a, b] }) => V.sub(a.distance(b), 1),
        loss: loss.huber(0.5),
        weight: 2,
      });
      const functions = await GpuCompiledFunctions.compile(problem, { backend });
      const { value, gradient } = await functions.evaluateCostWithGradient();
      const { values: residuals, jacobian } = await functions.evaluateJacobian();
      const check = await functions.checkGradients();
      functions.dispose();
      return {
        cost: value, gradient: [...gradient], residuals: [...residuals], jacobian: [...jacobian.values],
        pattern: [...jacobian.rowOffsets, ...jacobian.colIndices], error: check.maxRelativeError,
      };
    };
    return [await evaluate('gpu'), await evaluate('cpu')];
  });
  assert.deepEqual(gpu.pattern, cpu.pattern);
  const limits = { residuals: 1e-5, gradient: 1e-4, jacobian: 1e-4 };
  for (const [key, limit] of Object.entries(limits)) {
    assert.equal(gpu[key].length, cpu[key].length);
    const largest = Math.max(...cpu[key].map(Math.abs));
    const difference = Math.max(...cpu[key].map((value, i) => Math.abs(value - gpu[key][i]))) / largest;
    console.log(`GPU against CPU, ${key}: ${difference.toExponential(2)} of the largest entry`);
    assert.ok(difference < limit, `${key} differ by ${difference}`);
  }
  close(gpu.cost, cpu.cost, 1e-5 * cpu.cost, 'cost');
  // Central differences in double precision leave about the cube root of its rounding, squared.
  assert.ok(cpu.error < 1e-6, `gradient check: ${cpu.error}`);
});

test('solve() compiles, minimises the least-squares cost and leaves nothing behind', async () => {
  const { values, success, cost, refused } = await page.evaluate(async () => {
    const { Problem, solve } = window.residua;
    const problem = new Problem();
    const point = problem.parameters('point', { dim: 2, values: [3, -4] });
    problem.residuals('offsets', { inputs: { p: point.shared() }, residual: ({ p }) => [p.x.sub(1), p.y.add(2).mul(3)] });
    const result = await solve(problem, { method: 'lbfgs' });
    const refused = await solve(problem, { method: 'newton' }).catch(({ code, message }) => `${code}: ${message}`);
    return { values: [...point.values()], success: result.success, cost: result.initialCost, refused };
  });
  assert.ok(success);
  assert.equal(cost, 0.5 * (2 ** 2 + 6 ** 2));
  // The default gradient tolerance is 1e-6, with second derivatives of 1 and 9.
  close(values[0], 1, 1e-6, 'x');
  close(values[1], -2, 1e-6, 'y');
  assert.match(refused, /^invalid-argument: solve: method/);
});

test('the page has nothing to complain about', () => assert.deepEqual(blank.complaints, []));
