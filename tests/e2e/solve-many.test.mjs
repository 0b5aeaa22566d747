// Many small problems at once, in a page: fits of peaks on both backends, and what may be wrong with one problem or all.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { launch, openBlankPage } from '../browser.mjs';

let browser, page;
before(async () => {
  browser = await launch();
  ({ page } = await openBlankPage(browser));
});
after(() => browser.close());

test('two thousand fits of a peak are on the GPU what they are on the CPU, and the same when run again', async () => {
  const figures = await page.evaluate(async () => {
    const { fit } = await import('/bench/many.js');
    return fit({ count: 2000, repetitions: 2 });
  });
  assert.equal(figures.repeatable, true, 'bitwise repeatable');
  assert.equal(figures.others, 0, 'every fit finds the minimum that the CPU finds');
  // Rounding samples of size 3 to f32, 2e-7, moves a minimum by that times the condition of the fit, which is below 100 for peaks
  // that are inside the samples.
  assert.ok(figures.largestDifference < 2e-5, `parameters differ by ${figures.largestDifference}`);
  // A cost is flat at its minimum: the square of that, over a cost of 0.003.
  assert.ok(figures.largestExcess < 1e-6, `costs differ by ${figures.largestExcess}`);
});

for (const backend of ['gpu', 'cpu']) {
  describe(`on the ${backend}`, () => {
    test('count 0 gives nothing, count 1 what a solve gives', async () => {
      const result = await page.evaluate(async (backend) => {
        const { Problem, solveMany } = window.residua;
        const line = new Problem();
        const p = line.parameters('line', { dim: 2, values: [0, 0] });
        line.residuals('points', {
          inputs: { p: p.shared(), x: line.data([0, 1, 2, 3]), y: line.data([1, 3, 5, 7]) },
          residual: ({ p, x, y }) => p.x.mul(x).add(p.y).sub(y),
        });
        const none = await solveMany(line, { count: 0 }, { backend });
        const one = await solveMany(line, { count: 1 }, { backend });
        return { none: [none.x.length, none.cost.length, none.termination, none.converged], x: [...one.x], kind: one.backend, values: [...p.values()] };
      }, backend);
      assert.deepEqual(result.none, [0, 0, [], 0]);
      assert.equal(result.kind, backend);
      // A line through points on it: a few roundings of f32.
      assert.ok(Math.abs(result.x[0] - 2) < 1e-5 && Math.abs(result.x[1] - 1) < 1e-5, `${result.x}`);
      assert.deepEqual(result.values, [0, 0], 'the template stays as it is');
    });

    test('bounds, constants, losses and manifolds are those of the template, data and starts those of the problem', async () => {
      const result = await page.evaluate(async (backend) => {
        const { Problem, solveMany, loss } = window.residua;
        const template = new Problem();
        const scale = template.parameters('scale', { dim: 2, values: [1, 5] });
        const rotation = template.parameters('rotation', { dim: 4, values: [1, 0, 0, 0] });
        rotation.setManifold('unit-quaternion');
        scale.setBounds({ lower: -Infinity, upper: 1.5 });
        scale.setConstant([0], true, [1]);
        const from = [1, 0, 0, 0, 1, 0, 0, 0, 1];
        template.residuals('points', {
          inputs: { q: rotation.shared(), s: scale.shared(), from: template.data(from, 3), to: template.data(from, 3) },
          residual: ({ q, s, from, to }) => q.rotate(from).mul(s.x).sub(to),
          loss: loss.cauchy(10),
        });
        // Turned by 1 about z; the second twice as large, which its bound forbids.
        const [c, s] = [Math.cos(1), Math.sin(1)];
        const turned = [c, s, 0, -s, c, 0, 0, 0, 1];
        const { x, termination } = await solveMany(
          template,
          { count: 2, parameters: { scale: [1, 5, 1, 5] }, data: { points: { to: [...turned, ...turned.map((n) => 2 * n)] } } },
          { backend },
        );
        return { x: [...x], termination };
      }, backend);
      const [first, second] = [result.x.slice(0, 6), result.x.slice(6)];
      const expected = [1, 5, Math.cos(0.5), 0, 0, Math.sin(0.5)];
      // Stopped where a step is below 1e-6 of the parameters, in f32.
      for (const [k, number] of expected.entries()) assert.ok(Math.abs(first[k] - number) < 1e-4, `${k}: ${first[k]} (${result.termination[0]})`);
      assert.equal(second[0], 1.5, 'at its bound');
      assert.equal(second[1], 5, 'constant');
      assert.ok(Math.abs(second[5] - Math.sin(0.5)) < 1e-4, `turned: ${second[5]}`);
    });

    test('a problem with a NaN, or a singular one, does not concern the others', async () => {
      const result = await page.evaluate(async (backend) => {
        const { Problem, solveMany } = window.residua;
        const line = new Problem();
        const p = line.parameters('line', { dim: 2, values: [0, 0] });
        line.residuals('points', {
          inputs: { p: p.shared(), x: line.data([0, 1, 2]), y: line.data([1, 3, 5]) },
          residual: ({ p, x, y }) => p.x.mul(x).add(p.y).sub(y),
        });
        const xs = [0, 1, 2, 0, 1, 2, 0, 0, 0, 0, 1, 2];
        const ys = [1, 3, 5, 1, NaN, 5, 1, 1, 4, 1, 3, 5];
        const starts = [0, 0, 7, 8, 3, 0, Infinity, 0];
        const { x, cost, iterations, termination, converged } = await solveMany(
          line,
          { count: 4, parameters: { line: starts }, data: { points: { x: xs, y: ys } } },
          { backend },
        );
        return { x: [...x], cost: [...cost], iterations: [...iterations], termination, converged };
      }, backend);
      const { x, termination } = result;
      assert.ok(Math.abs(x[0] - 2) < 1e-5 && Math.abs(x[1] - 1) < 1e-5, `${x}`);
      assert.equal(termination[1], 'non-finite');
      assert.deepEqual([x[2], x[3], result.iterations[1]], [7, 8, 0], 'as it was given');
      assert.equal(x[4], 3, 'a slope that nothing depends on stays');
      assert.ok(Math.abs(x[5] - 2) < 1e-5, 'the mean of 1, 1 and 4');
      assert.equal(termination[3], 'non-finite');
      assert.equal(x[6], Infinity);
      assert.ok(result.converged <= 2);
    });

    test('an abort and an exception of onProgress end it', async () => {
      const result = await page.evaluate(async (backend) => {
        const { Problem, solveMany } = window.residua;
        const line = new Problem();
        const p = line.parameters('p', { dim: 1, values: [3] });
        line.residuals('r', { inputs: { p: p.shared() }, residual: ({ p }) => p.sub(1) });
        const aborted = await solveMany(line, { count: 3 }, { backend, signal: AbortSignal.abort() });
        const thrown = await solveMany(line, { count: 3 }, { backend, onProgress: () => { throw new Error('enough'); } }).catch(({ message }) => message);
        const progress = [];
        await solveMany(line, { count: 3 }, { backend, onProgress: (done, total) => progress.push([done, total]) });
        return { termination: aborted.termination, x: [...aborted.x], thrown, progress };
      }, backend);
      assert.deepEqual(result, { termination: ['aborted', 'aborted', 'aborted'], x: [3, 3, 3], thrown: 'enough', progress: [[3, 3]] });
    });
  });
}

test('what does not fit is named', async () => {
  const messages = await page.evaluate(async () => {
    const { Problem, solveMany } = window.residua;
    const line = new Problem();
    const p = line.parameters('line', { dim: 2, values: [0, 0] });
    line.residuals('points', { inputs: { p: p.shared(), y: line.data([1, 3]) }, residual: ({ p, y }) => p.x.add(p.y).sub(y) });
    const large = new Problem();
    const many = large.parameters('many', { dim: 20, values: Array.from({ length: 20 }, () => 1) });
    large.residuals('all', { inputs: { x: many.shared() }, residual: ({ x }) => x });
    const calls = [
      () => solveMany({}, { count: 1 }),
      () => solveMany(line, { count: -1 }),
      () => solveMany(line, { count: 2, parameters: { lines: [1] } }),
      () => solveMany(line, { count: 2, parameters: { line: [1, 2, 3] } }),
      () => solveMany(line, { count: 2, data: { point: {} } }),
      () => solveMany(line, { count: 2, data: { points: { z: [1] } } }),
      () => solveMany(line, { count: 2, data: { points: { y: [1, 2, 3] } } }),
      () => solveMany(line, { count: 2 }, { initialDamping: -1 }),
      () => solveMany(large, { count: 2 }, { backend: 'gpu' }),
    ];
    const messages = [];
    for (const call of calls) messages.push(await call().then(() => 'none', ({ code, message }) => `${code}: ${message}`));
    const fallback = await solveMany(large, { count: 2000 });
    return [...messages, `${fallback.backend}: ${fallback.fallbackReason}`];
  });
  assert.deepEqual(messages, [
    'invalid-argument: solveMany: template: got an object; takes a Problem',
    'invalid-argument: solveMany: batch.count: got -1; takes a whole number of at least 0',
    'invalid-argument: solveMany: batch.parameters.lines: got no parameter array of that name; takes one of "line"',
    'invalid-argument: solveMany: batch.parameters.line: got 3 numbers; takes 4: 2 problems × 2 numbers of "line"',
    'invalid-argument: solveMany: batch.data.point: got no residual block of that name; takes one of "points"',
    'invalid-argument: solveMany: batch.data.points.z: got no data input of that name; takes one of "y"',
    'invalid-argument: solveMany: batch.data.points.y: got 3 numbers; takes 4: 2 problems × 2 numbers of "y"',
    'invalid-argument: solveMany: initialDamping: got -1; takes a finite number of at least 0',
    'limit-exceeded: solveMany: a problem has 20 free coordinates; the GPU takes at most 16',
    'cpu: solveMany: a problem has 20 free coordinates; the GPU takes at most 16',
  ]);
});
