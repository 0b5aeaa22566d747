/** Many small problems at once: fits of peaks on both engines, and errors of one problem or all. */
import { GpuContext, loss, Problem, solveMany } from 'residua';
import { gpuAgainstCpu, onEach } from '../define.js';

/** A line through points; `xs` and `ys` are the template's. */
function lineTemplate(xs, ys) {
  const template = new Problem();
  const line = template.parameters('line', { dim: 2, values: [0, 0] });
  template.residuals('points', {
    inputs: { p: line.shared(), x: template.data(xs), y: template.data(ys) },
    residual: ({ p, x, y }) => p.x.mul(x).add(p.y).sub(y),
  });
  return { template, line };
}

export const group = {
  id: 'solve-many',
  title: 'Many small problems at once',
  about: 'Thousands of fits in one kernel, each with its own data, start and end.',
  checks: [
    ...gpuAgainstCpu('two thousand fits of a peak on the GPU agree with the CPU, and repeat to the last bit', async (check) => {
      const { fit } = await import('../../bench/many.js');
      const figures = await fit({ count: 2000, repetitions: 2 });
      check.equal(figures.repeatable, true, 'bitwise repeatable');
      check.equal(figures.others, 0, 'every fit finds the minimum that the CPU finds');
      check.below(
        figures.largestDifference, 2e-5,
        'Rounding samples of size 3 to f32, 2e-7, moves a minimum by that times the condition of the fit, which is below 100 for peaks that are inside the samples.',
        'difference of parameters',
      );
      check.below(figures.largestExcess, 1e-6, 'A cost is flat at its minimum: the square of that, over a cost of 0.003.', 'difference of costs');
    }),

    ...onEach('count 0 gives nothing, count 1 the result of a solve', async (check) => {
      const { template, line } = lineTemplate([0, 1, 2, 3], [1, 3, 5, 7]);
      const none = await solveMany(template, { count: 0 }, { backend: check.backend });
      const one = await solveMany(template, { count: 1 }, { backend: check.backend });
      check.same([none.x.length, none.cost.length, none.termination, none.converged], [0, 0, [], 0]);
      check.equal(one.backend, check.backend);
      const tolerance = { within: 1e-5, because: 'A line through points on it: a few roundings of f32.' };
      check.close(one.x[0], 2, tolerance, 'slope');
      check.close(one.x[1], 1, tolerance, 'intercept');
      check.same(line.values(), [0, 0], 'the template stays as it is');
    }),

    ...onEach('bounds, constants, losses and manifolds are those of the template, data and starts those of each problem', async (check) => {
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
      // A rotation by 1 about z; the second one is twice as large, which its bound forbids.
      const [c, s] = [Math.cos(1), Math.sin(1)];
      const turned = [c, s, 0, -s, c, 0, 0, 0, 1];
      const { x, termination } = await solveMany(
        template,
        { count: 2, parameters: { scale: [1, 5, 1, 5] }, data: { points: { to: [...turned, ...turned.map((n) => 2 * n)] } } },
        { backend: check.backend },
      );
      const [first, second] = [x.slice(0, 6), x.slice(6)];
      const expected = [1, 5, Math.cos(0.5), 0, 0, Math.sin(0.5)];
      const tolerance = { within: 1e-4, because: 'Stopped where a step is below 1e-6 of the parameters, in f32.' };
      for (const [k, number] of expected.entries()) check.close(first[k], number, tolerance, `number ${k} (${termination[0]})`);
      check.equal(second[0], 1.5, 'at its bound');
      check.equal(second[1], 5, 'constant');
      check.close(second[5], Math.sin(0.5), tolerance, 'turned');
    }),

    ...onEach('a problem with a NaN, or a singular one, does not affect the others', async (check) => {
      const { template } = lineTemplate([0, 1, 2], [1, 3, 5]);
      const xs = [0, 1, 2, 0, 1, 2, 0, 0, 0, 0, 1, 2];
      const ys = [1, 3, 5, 1, Number.NaN, 5, 1, 1, 4, 1, 3, 5];
      const starts = [0, 0, 7, 8, 3, 0, Infinity, 0];
      const { x, iterations, termination, converged } = await solveMany(
        template,
        { count: 4, parameters: { line: starts }, data: { points: { x: xs, y: ys } } },
        { backend: check.backend },
      );
      const tolerance = { within: 1e-5, because: 'a few roundings of f32' };
      check.close(x[0], 2, tolerance, 'slope of the first');
      check.close(x[1], 1, tolerance, 'intercept of the first');
      check.equal(termination[1], 'non-finite');
      check.same([x[2], x[3], iterations[1]], [7, 8, 0], 'as it was given');
      check.equal(x[4], 3, 'a slope that nothing depends on stays');
      check.close(x[5], 2, tolerance, 'the mean of 1, 1 and 4');
      check.equal(termination[3], 'non-finite');
      check.equal(x[6], Infinity);
      check.ok(converged <= 2, `${converged} converged, at most 2`);
    }),

    ...gpuAgainstCpu('Unix time stamps are lost in f32, where no problem counts as converged, and kept in f64', async (check) => {
      const [count, points] = [300, 40];
      const xs = Array.from({ length: points }, (_, i) => 1.7e9 + 50 * i);
      const { template } = lineTemplate(xs, xs);
      const ys = Array.from({ length: count * points }, (_, i) => 0.5 * (i % points) + 0.2 * Math.sin(0.7 * i * i));
      const solved = (backend) => solveMany(template, { count, data: { points: { y: ys } } }, { backend });
      const [refused, ordinary] = [await solved('gpu'), await solved('cpu')];
      check.same([refused.converged, refused.arithmetic], [0, 'f32'], refused.message);
      check.ok(refused.termination.includes('precision-limit') && refused.precisionLoss > 1e-3, refused.message);
      check.same([ordinary.arithmetic, ordinary.precisionLoss], ['f64', 0], ordinary.message);
      check.close(ordinary.x[0], 0.01, { within: 2e-4, because: 'noise of 0.2 over 2,000 seconds' }, 'slope');
    }),

    ...gpuAgainstCpu('pairs keep the digits of time stamps that f32 loses, and say so', async (check) => {
      const [count, points] = [300, 40];
      const xs = Array.from({ length: points }, (_, i) => 1.7e6 + 50 * i);
      const { template } = lineTemplate(xs, xs);
      const ys = Array.from({ length: count * points }, (_, i) => 0.5 * (i % points) + 0.2 * Math.sin(0.7 * i * i));
      const tolerances = { costTolerance: 1e-12, gradientTolerance: 1e-12, parameterTolerance: 1e-12 };
      const solved = (options) => solveMany(template, { count, data: { points: { y: ys } } }, { ...tolerances, ...options });
      const [single, pairs, exact] = [await solved({ backend: 'gpu' }), await solved({ backend: 'gpu', precision: 'f32x2' }), await solved({ backend: 'cpu', precision: 'f32x2' })];
      check.same([pairs.arithmetic, exact.arithmetic], ['f32x2', 'f64'], pairs.message);
      const farthest = ({ x }) => x.reduce((most, value, i) => Math.max(most, Math.abs(value / exact.x[i] - 1)), 0);
      check.below(farthest(pairs), 1e-6, 'the condition of the fit is 3e3, and its square times 2^-46 is 1e-7', 'relative distance to the numbers of the CPU');
      check.ok(farthest(single) > 1e-4, `f32 is as good: ${farthest(single)}`);
      const refused = await check.failure(solved({ backend: 'gpu', precision: 'f64' }));
      check.equal(refused?.code, 'invalid-argument', 'precision f64');
    }),

    ...onEach('an abort and an exception of onProgress end the solve', async (check) => {
      const template = new Problem();
      const p = template.parameters('p', { dim: 1, values: [3] });
      template.residuals('r', { inputs: { p: p.shared() }, residual: ({ p }) => p.sub(1) });
      const { backend } = check;
      const aborted = await solveMany(template, { count: 3 }, { backend, signal: AbortSignal.abort() });
      const thrown = await check.failure(solveMany(template, { count: 3 }, { backend, onProgress: () => { throw new Error('enough'); } }));
      const progress = [];
      await solveMany(template, { count: 3 }, { backend, onProgress: (done, total) => progress.push([done, total]) });
      check.same(
        { termination: aborted.termination, x: aborted.x, thrown: thrown?.message, progress },
        { termination: ['aborted', 'aborted', 'aborted'], x: [3, 3, 3], thrown: 'enough', progress: [[3, 3]] },
      );
    }),

    ...gpuAgainstCpu('a wrong argument of solveMany is named', async (check) => {
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
      for (const call of calls) messages.push(await check.failureInWords(call));
      const fallback = await solveMany(large, { count: 2000 });
      const { isSoftware } = (await GpuContext.default()).adapter;
      const reason = isSoftware ? 'the GPU is emulated in software, which is slower than the CPU' : 'solveMany: a problem has 20 free coordinates; the GPU takes at most 16';
      check.same([...messages, `${fallback.backend}: ${fallback.fallbackReason}`], [
        'invalid-argument: solveMany: template: got an object; takes a Problem',
        'invalid-argument: solveMany: batch.count: got -1; takes a whole number of at least 0',
        'invalid-argument: solveMany: batch.parameters.lines: got no parameter array of that name; takes one of "line"',
        'invalid-argument: solveMany: batch.parameters.line: got 3 numbers; takes 4: 2 problems × 2 numbers of "line"',
        'invalid-argument: solveMany: batch.data.point: got no residual block of that name; takes one of "points"',
        'invalid-argument: solveMany: batch.data.points.z: got no data input of that name; takes one of "y"',
        'invalid-argument: solveMany: batch.data.points.y: got 3 numbers; takes 4: 2 problems × 2 numbers of "y"',
        'invalid-argument: solveMany: initialDamping: got -1; takes a finite number of at least 0',
        'limit-exceeded: solveMany: a problem has 20 free coordinates; the GPU takes at most 16',
        `cpu: ${reason}`,
      ]);
    }),
  ],
};
