/** Weights of instances, and problems whose lengths differ, on both engines. */
import { covariance, lbfgs, levenbergMarquardt, loss, Problem, solve, solveMany } from 'residua';
import { gpuAgainstCpu, onEach } from '../define.js';

const TIMES = [0, 0.5, 1, 1.5, 2, 3, 3.5];
const SAMPLES = [3.1, 2, 1.6, 1, 0.9, 0.3, 2];
const WEIGHTS = [1, 3, 0, 2, 1, 2, 0];
const repeated = (numbers) => numbers.flatMap((number, i) => Array.from({ length: WEIGHTS[i] }, () => number));

/** a·exp(−bt) + 0·√z − y. At z = −1 that is NaN, and at z = 0 its derivatives are. */
function decay(times, samples, z, settings = {}) {
  const problem = new Problem();
  const curve = problem.parameters('curve', { dim: 2, values: [2, 1] });
  const block = problem.residuals('samples', {
    inputs: { c: curve.shared(), t: problem.data(times), y: problem.data(samples), z: problem.data(z) },
    residual: ({ c, t, y, z }) => c.x.mul(c.y.mul(t).neg().exp()).add(z.mul(c.x).sqrt().mul(1e-3)).sub(y),
    ...settings,
  });
  return { problem, block, curve };
}

/** With weights, where masked samples have no residual, and with copies of samples in place of weights. */
function weightedAndCopies(settings = {}) {
  const weighted = decay(TIMES, SAMPLES, [1, 1, -1, 1, 1, 1, 0], { ...settings, weights: WEIGHTS });
  const copies = decay(repeated(TIMES), repeated(SAMPLES), repeated(TIMES).map(() => 1), settings);
  return [weighted, copies];
}

const TERMS = { within: 2e-5, because: 'Sums of nine terms in f32 in another order, and residuals of 0.1 that are differences of 3.' };

export const group = {
  id: 'weights',
  title: 'Weights of instances',
  about: 'Weights outside of the loss, masks, and many problems whose lengths differ.',
  checks: [
    ...onEach('a weight counts an instance as often, and 0 leaves it out with a residual that is NaN', async (check) => {
      for (const settings of [{}, { loss: loss.cauchy(0.2), weight: 2 }, { loss: loss.tolerant(0.5, 0.1) }]) {
        const [weighted, copies] = weightedAndCopies(settings);
        const [f, g] = [await check.compile(weighted.problem), await check.compile(copies.problem)];
        for (const call of ['evaluateCostWithGradient', 'evaluateSumWithGradient']) {
          const [got, expected] = [await f[call](), await g[call]()];
          check.close((got.cost ?? got.value) / (expected.cost ?? expected.value), 1, TERMS, call);
          got.gradient.forEach((value, k) => check.close(value / expected.gradient[k], 1, TERMS, `${call}, gradient ${k}`));
        }
        const values = await f.evaluate();
        check.same([values[2], values[6]], [0, 0], 'residuals that are left out');
        const { jacobian } = await f.evaluateJacobian();
        const dense = jacobian.toDense();
        check.same([...dense.slice(4, 6), ...dense.slice(12, 14)], [0, 0, 0, 0], 'and their derivatives');
        for (const minimise of [levenbergMarquardt, (functions) => lbfgs(functions, { objective: 'least-squares' })]) {
          weighted.curve.set([2, 1]);
          copies.curve.set([2, 1]);
          const [found, expected] = [await minimise(f), await minimise(g)];
          check.close(found.finalCost / expected.finalCost, 1, TERMS, `cost (${found.message})`);
          found.x.forEach((value, k) => check.close(value, expected.x[k], { within: 2e-3, because: 'A cost is flat at its minimum: √2e-5 of a parameter’s standard error, some 0.2.' }, `x ${k}`));
        }
      }
    }),

    ...onEach('weights change between solves without a new compile', async (check) => {
      const problem = new Problem();
      const mean = problem.parameters('mean', { dim: 1, values: [0] });
      const block = problem.residuals('samples', { inputs: { m: mean.shared(), y: problem.data([1, 2, 4, 100]) }, residual: ({ m, y }) => m.sub(y), weights: [1, 1, 1, 0] });
      const functions = await check.compile(problem);
      const because = { within: 1e-5, because: 'a few roundings of f32 at 4' };
      await levenbergMarquardt(functions);
      check.close(mean.values()[0], 7 / 3, because, 'three samples');
      const three = await covariance(functions);
      check.close(three.standardDeviations[0], Math.sqrt(7) / 3, because, 'their standard error');
      block.setData('weights', [0, 2, 1, 0]);
      await levenbergMarquardt(functions);
      check.close(mean.values()[0], 8 / 3, because, 'two samples of weights 2 and 1');
      block.setData('weights', [0, 0, 0, 0]);
      const none = await levenbergMarquardt(functions);
      check.match(none.message, /No residual takes part: all instances have the weight 0\./);
      check.match(none.report(), /Residuals +4 +0/);
    }),

    ...gpuAgainstCpu('in pairs weights have the digits of the CPU', async (check) => {
      const solved = async (options) => solve(weightedAndCopies({ loss: loss.huber(0.1) })[0].problem, { costTolerance: 1e-13, gradientTolerance: 1e-12, parameterTolerance: 1e-12, ...options });
      const [pairs, exact] = [await solved({ backend: 'gpu', precision: 'f32x2' }), await solved({ backend: 'cpu' })];
      check.close(pairs.finalCost / exact.finalCost, 1, { within: 1e-10, because: '14 digits' }, 'cost');
      pairs.x.forEach((value, k) => check.close(value, exact.x[k], { within: 1e-5, because: 'the root of that, of standard errors of 0.2' }, `x ${k}`));
    }, { slow: true }),

    ...onEach('problems of differing lengths are solved as if each were alone', async (check) => {
      const lengths = [7, 3, 5, 4];
      const [t, y] = [TIMES, SAMPLES.with(6, 0.2)].map((numbers) => lengths.map((length) => Float64Array.from(numbers.slice(0, length))));
      y.forEach((samples, problem) => samples.forEach((value, i) => (samples[i] = value * (1 + problem / 10))));
      const shape = (times, samples) => decay(times, samples, times.map(() => 1)).problem;
      const template = new Problem();
      const curve = template.parameters('curve', { dim: 2, values: [2, 1] });
      template.residuals('samples', { inputs: { c: curve.shared(), t: template.data([0]), y: template.data([0]), z: template.data([1]) }, residual: ({ c, t, y, z }) => c.x.mul(c.y.mul(t).neg().exp()).add(z.mul(c.x).sqrt().mul(1e-3)).sub(y) });
      const z = lengths.map((length) => new Float64Array(length).fill(1));
      for (const losses of [null, loss.cauchy(0.2)]) {
        if (losses !== null) template.blocks[0].setLoss(losses);
        const many = await solveMany(template, { count: 4, data: { samples: { t, y, z } } }, { backend: check.backend, standardErrors: true });
        check.equal(many.converged, 4, many.message);
        for (const [problem] of lengths.entries()) {
          const alone = shape([...t[problem]], [...y[problem]]);
          if (losses !== null) alone.blocks[0].setLoss(losses);
          const own = await solveMany(alone, { count: 1 }, { backend: check.backend, standardErrors: true });
          const same = { within: 1e-12, because: 'Terms of 0 change no sum.' };
          check.close(many.cost[problem], own.cost[0], same, `cost of ${problem}`);
          for (const k of [0, 1]) {
            check.close(many.x[2 * problem + k], own.x[k], same, `number ${k} of ${problem}`);
            check.close(many.standardErrors[2 * problem + k], own.standardErrors[k], same, `standard error ${k} of ${problem}`);
          }
        }
      }
    }),

    ...onEach('problems with data that are not finite are named, and a template where none can start is refused', async (check) => {
      const template = new Problem();
      const mean = template.parameters('mean', { dim: 1, values: [0] });
      template.residuals('samples', { inputs: { m: mean.shared(), y: template.data([1, 2]) }, residual: ({ m, y }) => m.sub(y), weights: [1, 1] });
      const y = [1, 2, Number.NaN, 4, 5, Number.NaN, 7, Infinity];
      const many = await solveMany(template, { count: 4, data: { samples: { y, weights: [1, 1, 1, 1, 1, 0, 1, 1] } } }, { backend: check.backend });
      const ends = many.termination.map((end) => end === 'non-finite');
      check.same(ends, [false, true, false, true]);
      check.close(many.x[2], 5, { within: 1e-6, because: 'the tolerances of the solve' }, 'NaN of weight 0 is left out');
      check.match(many.message, /2 of 4 problems ended with 'non-finite': 1, 3\. batch\.data\.samples\.y is not finite in 2 of them: number 0 of problem 1 is NaN\./);
      const broken = new Problem();
      broken.residuals('logs', { inputs: { m: broken.parameters('m', { dim: 1, values: [0] }).shared(), y: broken.data([1, -1]) }, residual: ({ m, y }) => m.sub(y.log()) });
      const refused = await check.failure(solveMany(broken, { count: 3, parameters: { m: [1, 2, 3] } }, { backend: check.backend }));
      check.equal(refused?.code, 'non-finite');
      check.match(refused.message, /residual 1 \(block 'logs', instance 1, residual 0 of 1\) is NaN at the start/);
    }),
  ],
};
