/** Weights of instances on both engines. */
import { covariance, lbfgs, levenbergMarquardt, loss, Problem, solve } from 'residua';
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
  about: 'Weights outside of the loss, and masks.',
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
    }),
  ],
};
