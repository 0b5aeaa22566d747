// Levenberg-Marquardt in a page, on both backends: what a problem may have, what a run tells, and what goes wrong.
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { launch, openBlankPage } from '../browser.mjs';

let browser, blank, page;
before(async () => {
  browser = await launch();
  blank = await openBlankPage(browser);
  page = blank.page;
  await page.evaluate(() => {
    const { GpuCompiledFunctions, Problem, V } = window.residua;
    window.kept = [];
    /** Compiled functions that the end of the test disposes of. */
    window.compiled = async (...what) => {
      const functions = await GpuCompiledFunctions.compile(...what);
      window.kept.push(functions);
      return functions;
    };
    /** Points of y = 2 exp(−1.5 x), and a curve a exp(b x) to fit. */
    window.decay = (values = [1, -1]) => {
      const xs = Array.from({ length: 40 }, (_, i) => i / 20);
      const problem = new Problem();
      const curve = problem.parameters('curve', { dim: 2, values });
      const block = problem.residuals('points', {
        inputs: { curve: curve.shared(), x: problem.data(xs), y: problem.data(xs.map((x) => 2 * Math.exp(-1.5 * x))) },
        residual: ({ curve, x, y }) => V.sub(V.mul(curve.x, V.exp(V.mul(curve.y, x))), y),
      });
      return { problem, curve, block };
    };
    window.plain = ({ x, history, ...result }) => ({ ...result, x: [...x], history: history.map((one) => ({ ...one })), report: result.report() });
    window.failure = (promise) => promise.then(() => 'nothing was thrown', (error) => `${error.code}: ${error.message}`);
  });
});
afterEach(() => page.evaluate(() => window.kept.splice(0).forEach((functions) => functions.dispose())));
after(() => browser.close());

const close = (actual, expected, tolerance, what) =>
  assert.ok(Math.abs(actual - expected) <= tolerance, `${what}: ${actual}, not ${expected} within ${tolerance}`);

// gradientTolerance, 1e-6, over the least eigenvalue of JᵀJ, 1.7; in f32 forty residuals of size 1 leave the gradient uncertain by some 1e-6.
const tolerances = { gpu: 1e-5, cpu: 1e-6 };

for (const backend of ['gpu', 'cpu']) {
  describe(`on the ${backend}`, () => {
    test('an exponential is found, and the run is told as a table', async () => {
      const result = await page.evaluate(async (backend) => {
        const { NonlinearLeastSquares } = window.residua;
        const { problem, curve } = window.decay();
        const functions = await window.compiled(problem, { backend });
        const heard = [];
        const solved = await NonlinearLeastSquares.solve(functions, { onIteration: (one) => void heard.push(one.iteration) });
        return { ...window.plain(solved), heard, values: [...curve.values()] };
      }, backend);
      assert.ok(result.success, result.message);
      close(result.x[0], 2, tolerances[backend], 'factor');
      close(result.x[1], -1.5, tolerances[backend], 'rate');
      assert.deepEqual(result.values, result.x);
      assert.deepEqual(result.heard, result.history.map((one) => one.iteration), 'each iteration once, in order');
      assert.deepEqual(result.heard, [...result.heard.keys()]);
      assert.equal(result.iterations, result.history.length - 1);
      for (const one of result.history.slice(1)) {
        assert.ok(one.damping > 0 && one.linearIterations >= 1 && 'gainRatio' in one, JSON.stringify(one));
      }
      for (const words of ['Levenberg-Marquardt', 'Linear solver', 'Original', 'Reduced', 'Residual blocks', 'Kernels', 'gain ratio', 'CONVERGENCE']) {
        assert.ok(result.report.includes(words), `the report has no ${words}:\n${result.report}`);
      }
    });

    test('a second solve begins where the first ended, and what is set in between counts', async () => {
      const { first, second, third, weighted } = await page.evaluate(async (backend) => {
        const { levenbergMarquardt } = window.residua;
        const { problem, curve, block } = window.decay();
        const functions = await window.compiled(problem, { backend });
        const first = await levenbergMarquardt(functions, { maxIterations: 2 });
        const second = await levenbergMarquardt(functions, { maxIterations: 1 });
        curve.set([1, -1]);
        const third = await levenbergMarquardt(functions, { maxIterations: 0 });
        block.setWeight(4);
        const weighted = await levenbergMarquardt(functions, { maxIterations: 0 });
        return { first: window.plain(first), second: window.plain(second), third: window.plain(third), weighted: weighted.initialCost };
      }, backend);
      close(second.initialCost, first.finalCost, 1e-6 * first.initialCost, 'the warm start');
      assert.ok(second.finalCost < first.finalCost);
      assert.equal(third.initialCost, first.initialCost);
      assert.equal(third.termination, 'max-iterations');
      assert.equal(weighted, 4 * third.initialCost, 'a weight of 4 is exact');
    });

    test('with readBack: false the numbers stay there until download()', async () => {
      const { x, before, after, downloaded } = await page.evaluate(async (backend) => {
        const { levenbergMarquardt } = window.residua;
        const { problem, curve } = window.decay();
        const functions = await window.compiled(problem, { backend });
        const solved = await levenbergMarquardt(functions, { readBack: false });
        const before = [...curve.values()];
        const downloaded = [...(await functions.download())];
        return { x: [...solved.x], before, downloaded, after: [...curve.values()] };
      }, backend);
      assert.deepEqual(x, []);
      assert.deepEqual(before, [1, -1]);
      assert.deepEqual(after, downloaded);
      close(downloaded[0], 2, tolerances[backend], 'factor');
    });

    test('constants keep every bit, bounds hold, and a violated start is projected and told', async () => {
      const { held, bounded } = await page.evaluate(async (backend) => {
        const { levenbergMarquardt } = window.residua;
        const { problem, curve } = window.decay([1.75, -1]);
        const functions = await window.compiled(problem, { backend });
        curve.setConstant([0], true, [0]);
        const held = await levenbergMarquardt(functions);
        curve.setConstant([0], false);
        curve.set([1, -1]);
        curve.setBounds({ lower: [-Infinity, -1.25], upper: [0.5, Infinity] });
        const bounded = await levenbergMarquardt(functions);
        return { held: window.plain(held), bounded: window.plain(bounded) };
      }, backend);
      assert.ok(held.success, held.message);
      assert.equal(held.x[0], 1.75);
      assert.equal(bounded.x[0], 0.5, bounded.message);
      assert.ok(bounded.x[1] >= -1.25);
      assert.match(bounded.message, /^1 starting value was out of bounds and was moved to the nearest bound\. /);
    });

    test('blocks on manifolds stay there, and a start off its manifold is normalised and told', async () => {
      const result = await page.evaluate(async (backend) => {
        const { levenbergMarquardt, Problem, V, Vec3 } = window.residua;
        const problem = new Problem();
        const rotation = problem.parameters('rotation', { dim: 4, values: [2, 0.1, -0.2, 0.3] });
        rotation.setManifold('unit-quaternion');
        const heading = problem.parameters('heading', { dim: 1, values: [3] });
        heading.setManifold('angle');
        const normal = problem.parameters('normal', { dim: 3, values: [0, 0, 1] });
        normal.setManifold('unit-vector');
        // The quarter turn about z; an angle beyond π; the direction (2, −1, 2)/3.
        const points = [1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 2, 3];
        const turned = [0, 1, 0, -1, 0, 0, 0, 0, 1, -2, 1, 3];
        problem.residuals('turns', {
          inputs: { q: rotation.shared(), p: problem.data(points, 3), t: problem.data(turned, 3) },
          residual: ({ q, p, t }) => q.rotate(p).sub(t),
        });
        problem.residuals('heads', { inputs: { a: heading.shared() }, residual: ({ a }) => [V.sub(V.cos(a), Math.cos(3.5)), V.sub(V.sin(a), Math.sin(3.5))] });
        problem.residuals('points', { inputs: { n: normal.shared() }, residual: ({ n }) => n.sub(new Vec3(V.C(2), V.C(-1), V.C(2))) });
        const functions = await window.compiled(problem, { backend });
        return window.plain(await levenbergMarquardt(functions, { costTolerance: 0 }));
      }, backend);
      const [w, x, y, z, angle, a, b, c] = result.x;
      assert.match(result.message, /^1 block of 'rotation' started off its manifold 'unit-quaternion' and was normalised\. /);
      // Gradient tolerance, or the precision of f32, over curvatures of 1 and more.
      const tolerance = backend === 'gpu' ? 2e-4 : 2e-6;
      const half = Math.SQRT1_2;
      for (const [found, expected] of [[w, half], [x, 0], [y, 0], [z, half], [a, 2 / 3], [b, -1 / 3], [c, 2 / 3]]) {
        close(found, expected, tolerance, result.message);
      }
      close(angle, 3.5 - 2 * Math.PI, tolerance, 'the angle is in (−π, π]');
      // A normalisation in the arithmetic of the backend at each step.
      close(Math.hypot(w, x, y, z), 1, backend === 'gpu' ? 5e-7 : 1e-15, 'length');
    });

    test('NaN at a trial refuses the step and raises damping; NaN at the start names its place', async () => {
      const { solved, error } = await page.evaluate(async (backend) => {
        const { levenbergMarquardt, Problem, V } = window.residua;
        const problem = new Problem();
        const p = problem.parameters('p', { dim: 1, values: [0.5] });
        // log(x) + 3: the Gauss-Newton step from 0.5 leads below 0.
        problem.residuals('logarithm', { inputs: { p: p.shared() }, residual: ({ p }) => V.add(V.log(p), 3) });
        const functions = await window.compiled(problem, { backend });
        const solved = await levenbergMarquardt(functions);
        p.set([-1]);
        const error = await window.failure(levenbergMarquardt(functions));
        return { solved: window.plain(solved), error };
      }, backend);
      const [, first, second] = solved.history;
      assert.equal(first.accepted, false);
      assert.ok(second.damping > first.damping, 'damping grows');
      close(solved.x[0], Math.exp(-3), 1e-5, solved.message);
      assert.match(error, /^non-finite: residual 0 \(block 'logarithm', instance 0, residual 0 of 1\) is NaN at the start/);
    });

    test('a singular system, a column of zeros and a flat cost end well', async () => {
      const { singular, flat } = await page.evaluate(async (backend) => {
        const { levenbergMarquardt, Problem, V } = window.residua;
        const solve = async (residual) => {
          const problem = new Problem();
          const p = problem.parameters('p', { dim: 3, values: [0, 0, 7] });
          problem.residuals('r', { inputs: { p: p.shared() }, residual });
          const functions = await window.compiled(problem, { backend });
          return window.plain(await levenbergMarquardt(functions));
        };
        // x and y only as their sum, z not at all.
        const singular = await solve(({ p }) => [V.sub(V.add(p.x, p.y), 4), V.mul(0.5, V.add(p.x, p.y))]);
        const flat = await solve(({ p }) => V.add(1, V.mul(0, p.x)));
        return { singular, flat };
      }, backend);
      assert.ok(singular.success, singular.message);
      // Least squares of s − 4 and s/2.
      close(singular.x[0] + singular.x[1], 3.2, tolerances[backend], singular.message);
      assert.equal(singular.x[2], 7);
      assert.equal(flat.termination, 'gradient-tolerance', flat.message);
      assert.deepEqual(flat.x, [0, 0, 7]);
    });

    test('blocks that no residual touches are named', async () => {
      const { report, message } = await page.evaluate(async (backend) => {
        const { levenbergMarquardt, Problem } = window.residua;
        const problem = new Problem();
        const vertices = problem.parameters('vertices', { dim: 2, values: new Float64Array(40) });
        problem.residuals('pins', { inputs: { v: vertices.at(Array.from({ length: 17 }, (_, i) => i)) }, residual: ({ v }) => [v.x.sub(1), v.y] });
        const functions = await window.compiled(problem, { backend });
        vertices.setConstant([18]);
        return window.plain(await levenbergMarquardt(functions));
      }, backend);
      assert.match(message, /vertices\[17\], vertices\[19\] are touched by no residual\.$/);
      assert.match(report, /vertices\[17\]/);
    });

    test('a run repeats bit for bit', async () => {
      const [first, second] = await page.evaluate(async (backend) => {
        const { levenbergMarquardt } = window.residua;
        const { problem, curve } = window.decay();
        const functions = await window.compiled(problem, { backend });
        const run = async () => {
          curve.set([1, -1]);
          const { history, x } = await levenbergMarquardt(functions);
          return { x: [...x], history: history.map((one) => ({ ...one, elapsedMs: 0 })) };
        };
        return [await run(), await run()];
      }, backend);
      assert.deepEqual(first, second);
    });

    test('the caller, the signal and the clock end a run, and the best point so far is kept', async () => {
      const results = await page.evaluate(async (backend) => {
        const { levenbergMarquardt } = window.residua;
        const { problem, curve } = window.decay();
        const functions = await window.compiled(problem, { backend });
        const run = (options) => {
          curve.set([1, -1]);
          return levenbergMarquardt(functions, { costTolerance: 0, gradientTolerance: 0, parameterTolerance: 0, maxIterations: 1e6, ...options });
        };
        const stopped = await run({ onIteration: ({ iteration }) => iteration >= 2 });
        const controller = new AbortController();
        const aborted = await run({ signal: controller.signal, onIteration: ({ iteration }) => void (iteration === 1 && controller.abort()) });
        const late = await run({ maxTimeMs: 1e-3 });
        return [stopped, aborted, late].map(window.plain);
      }, backend);
      assert.deepEqual(results.map((result) => result.termination), ['aborted', 'aborted', 'max-time']);
      for (const result of results) assert.ok(result.finalCost <= result.initialCost, result.message);
    });
  });
}

test('the linear solver can be asked for on the CPU, and the report says which it was', async () => {
  const { reports, errors } = await page.evaluate(async () => {
    const { levenbergMarquardt } = window.residua;
    const reports = {};
    const { problem, curve } = window.decay();
    const functions = await window.compiled(problem, { backend: 'cpu' });
    for (const linearSolver of ['auto', 'dense-qr', 'sparse-cholesky', 'pcg']) {
      curve.set([1, -1]);
      const solved = await levenbergMarquardt(functions, { linearSolver });
      reports[linearSolver] = [solved.report(), Math.abs(solved.x[0] - 2)];
    }
    const onGpu = await window.compiled(problem, { backend: 'gpu' });
    const errors = [];
    for (const options of [{ linearSolver: 'lu' }, { initialDamping: -1 }, { maxLinearIterations: 0 }, { linearTolerance: 1 }]) {
      errors.push(await window.failure(levenbergMarquardt(functions, options)));
    }
    errors.push(await window.failure(levenbergMarquardt(onGpu, { linearSolver: 'dense-qr' })));
    return { reports, errors };
  });
  const words = { auto: 'dense QR', 'dense-qr': 'dense-qr', 'sparse-cholesky': 'sparse-cholesky', pcg: 'pcg' };
  for (const [linearSolver, [report, error]] of Object.entries(reports)) {
    assert.ok(report.includes(words[linearSolver]), report);
    assert.ok(error < tolerances.cpu, `${linearSolver}: ${error}`);
  }
  const options = ['linearSolver', 'initialDamping', 'maxLinearIterations', 'linearTolerance', 'linearSolver'];
  errors.forEach((error, i) => assert.match(error, new RegExp(`^invalid-argument: levenbergMarquardt: ${options[i]}`)));
});

test('bounds, manifolds and constants that do not go together are refused, and so is a loss without a scale', async () => {
  const errors = await page.evaluate(() => {
    const { Problem, loss } = window.residua;
    const array = (dim) => new Problem().parameters('q', { dim, values: new Float64Array(dim).fill(1) });
    const tries = [
      () => { const q = array(4); q.setManifold('unit-quaternion'); q.setBounds({ lower: 0 }); },
      () => { const q = array(4); q.setBounds({ lower: 0 }); q.setManifold('unit-quaternion'); },
      () => { const q = array(4); q.setManifold('unit-quaternion'); q.setConstant([0], true, [1, 2]); },
      () => loss.huber(0), () => loss.cauchy(-1), () => loss.tukey(NaN), () => loss.tolerant(1, 0),
    ];
    return tries.map((attempt) => { try { attempt(); return 'nothing'; } catch (error) { return error.code; } });
  });
  assert.deepEqual(errors, errors.map(() => 'invalid-argument'));
});

test('the CPU solver hands the page its turns', async () => {
  const turns = await page.evaluate(async () => {
    const { levenbergMarquardt, Problem, V } = window.residua;
    const n = 60;
    const problem = new Problem();
    const grid = problem.parameters('grid', { dim: 3, values: Float64Array.from({ length: 3 * n * n }, (_, i) => Math.sin(i * 12.9898) * 5) });
    const pairs = [];
    for (let i = 0; i < n; i++) for (let j = 0; j + 1 < n; j++) pairs.push(i * n + j, i * n + j + 1, j * n + i, (j + 1) * n + i);
    problem.residuals('springs', { inputs: { ends: grid.at(pairs, 2) }, residual: ({ ends: [a, b] }) => V.sub(a.distance(b), 1) });
    const functions = await window.compiled(problem, { backend: 'cpu' });
    let turns = 0, running = true;
    const count = () => { turns++; if (running) setTimeout(count, 0); };
    const solving = levenbergMarquardt(functions, { maxIterations: 10, costTolerance: 0, gradientTolerance: 0, parameterTolerance: 0 });
    count();
    await solving;
    running = false;
    return turns;
  });
  assert.ok(turns > 5, `${turns} turns in ten iterations`);
});

test('a device that is lost during a solve rejects with device-lost, and a new context solves again', async () => {
  const { lost, again } = await page.evaluate(async () => {
    const { GpuContext, levenbergMarquardt } = window.residua;
    const { problem, curve } = window.decay();
    const context = await GpuContext.create();
    const functions = await window.compiled(problem, { backend: 'gpu', context });
    const endless = { costTolerance: 0, gradientTolerance: 0, parameterTolerance: 0, maxIterations: 1e6 };
    const lost = await window.failure(levenbergMarquardt(functions, { ...endless, onIteration: ({ iteration }) => void (iteration === 1 && context.device.destroy()) }));
    const second = await GpuContext.create();
    curve.set([1, -1]);
    const again = await levenbergMarquardt(await window.compiled(problem, { backend: 'gpu', context: second }));
    context.dispose();
    const result = window.plain(again);
    window.kept.splice(0).forEach((functions) => functions.dispose());
    second.dispose();
    return { lost, again: result };
  });
  assert.match(lost, /^device-lost: /);
  assert.ok(again.success || again.termination === 'precision-limit', again.message);
  close(again.x[0], 2, tolerances.gpu, again.message);
});

test("with backend: 'auto' the CPU goes on where single precision ends, and the message says so", async () => {
  const { solved, heard, values } = await page.evaluate(async () => {
    const { problem, curve } = window.decay();
    const functions = await window.compiled(problem, { fallbackThreshold: 0 });
    if (functions.backend !== 'gpu') throw new Error(functions.fallbackReason);
    const heard = [];
    const tight = { costTolerance: 1e-14, gradientTolerance: 1e-12, parameterTolerance: 1e-14 };
    const solved = await window.residua.levenbergMarquardt(functions, { ...tight, onIteration: ({ iteration }) => void heard.push(iteration) });
    return { solved: window.plain(solved), heard, values: [...curve.values()] };
  });
  assert.match(solved.message, /^The GPU ended with 'precision-limit' after \d+ iterations in single precision, and the CPU went on\. /);
  // gradientTolerance over the least eigenvalue of JᵀJ, with room for the rounding of sums of forty.
  close(solved.x[0], 2, 1e-11, solved.message);
  close(solved.x[1], -1.5, 1e-11, solved.message);
  assert.deepEqual(values, solved.x);
  assert.deepEqual(heard, solved.history.map((one) => one.iteration), 'each iteration once');
  assert.deepEqual(heard, [...heard.keys()], 'in order');
});

test('residuals that are long sums are solved beside the GPU', async () => {
  const { x, message } = await page.evaluate(async () => {
    const { V, levenbergMarquardt } = window.residua;
    const params = Array.from({ length: 50 }, (_, i) => V.W(1 + i / 50));
    // Each near 1, their sum 40: 50 residuals of one term and one of fifty.
    const functions = await window.compiled(params, (p) => [...p.map((x) => x.sub(1)), V.sum(p.map((x) => V.square(x))).sub(40)], { backend: 'gpu' });
    const { x, message } = await levenbergMarquardt(functions, { costTolerance: 0, parameterTolerance: 0 });
    return { x: [...x], message };
  });
  // All are equal by symmetry, and at the minimum (x − 1) + 2x(50x² − 40) = 0.
  const root = (low, high) => { for (let k = 0; k < 60; k++) { const x = (low + high) / 2; if (x - 1 + 2 * x * (50 * x * x - 40) < 0) low = x; else high = x; } return low; };
  // gradientTolerance 1e-6 over an eigenvalue of 1.
  for (const value of x) close(value, root(0.5, 1), 1e-6, message);
});

test('solve() takes Levenberg-Marquardt', async () => {
  const { report, values } = await page.evaluate(async () => {
    const { problem, curve } = window.decay();
    const result = await window.residua.solve(problem);
    return { report: result.report(), values: [...curve.values()] };
  });
  assert.match(report, /Levenberg-Marquardt/);
  close(values[0], 2, tolerances.cpu, 'factor');
});

test('the page has nothing to complain about', () => assert.deepEqual(blank.complaints, []));
