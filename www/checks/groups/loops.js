/** Loops in residual functions on both engines, against the same steps written one after another. */
import { GpuCompiledFunctions, Problem, rungeKutta4, solve, solveMany, V } from 'residua';
import { gpuAgainstCpu } from '../define.js';

const COUNTS = [40, 0, 7, 1, 39, 3];

/** A step of Euler's method for predators and prey. */
const step = ([a, b, c, d], h) => ([x, y]) => {
  const met = x.mul(y);
  return [x.add(a.mul(x).sub(b.mul(met)).mul(h)), y.add(d.mul(met).sub(c.mul(y)).mul(h))];
};

/** Both populations of each instance after steps of its own number: by a loop, or by steps one after another. */
function populations(isUnrolled) {
  const problem = new Problem();
  const rates = problem.parameters('rates', { dim: 4, values: [1.1, 0.4, 0.4, 0.1] });
  const start = problem.parameters('start', { dim: 2, values: [5, 3] });
  const inputs = { rates: rates.shared(), start: start.shared() };
  if (!isUnrolled) {
    problem.residuals('end', { inputs: { ...inputs, n: problem.data(COUNTS) }, residual: ({ rates, start, n }) => V.loop(n, start, step(rates, 1 / 32)) });
    return problem;
  }
  COUNTS.forEach((count, k) => {
    const residual = ({ rates, start }) => {
      let state = [...start];
      for (let n = 0; n < count; n++) state = step(rates, 1 / 32)(state);
      return state;
    };
    problem.residuals(`end ${k}`, { inputs, residual });
  });
  return problem;
}

async function valuesAndJacobian(problem, options) {
  const functions = await GpuCompiledFunctions.compile(problem, options);
  try {
    const { values, jacobian } = await functions.evaluateJacobian();
    return { residuals: [...values], jacobian: [...jacobian.toDense()], precision: functions.precision };
  } finally {
    functions.dispose();
  }
}

/** The largest difference relative to the larger of 1 and the largest number. */
const difference = (found, expected) => {
  const scale = expected.reduce((most, number) => Math.max(most, Math.abs(number)), 1);
  return expected.reduce((most, number, k) => Math.max(most, Math.abs(found[k] - number) / scale), 0);
};

/** The gradient of a network over numbers that all depend on each other, whose loop goes backward. */
async function networkGradient(options) {
  const [states, count] = [12, 20];
  const problem = new Problem();
  const w = problem.parameters('w', { dim: states * states, values: Array.from({ length: states * states }, (_, k) => 0.4 * Math.sin(1.7 * k)) });
  const step = (weights) => (state) => state.map((x, i) => x.add(V.sum(state.map((y, j) => weights[i * states + j].mul(y))).tanh().mul(2 / count)));
  problem.residuals('end', {
    inputs: { w: w.shared(), n: problem.data([count, count - 1, 0, 1]), x: problem.data([0.3, -0.2, 0.9, 1.4]) },
    residual: ({ w, n, x }) => {
      const state = V.loop(n, Array.from({ length: states }, (_, k) => x.add(Math.cos(k))), step([...w]));
      return V.sum(state.map((end, i) => end.sub(0.1 * i).square()));
    },
  });
  const functions = await GpuCompiledFunctions.compile(problem, options);
  try {
    const { value, gradient } = await functions.evaluateCostWithGradient();
    return [value, ...gradient];
  } finally {
    functions.dispose();
  }
}

/** A fall with drag v′ = g − k v², seen at some times. */
function fall(times, seen) {
  const problem = new Problem();
  const p = problem.parameters('p', { dim: 2, values: [5, 1] });
  problem.residuals('speeds', {
    inputs: { p: p.shared(), times: problem.data(times, times.length), seen: problem.data(seen, seen.length) },
    residual: ({ p: [g, k], times, seen }) => rungeKutta4(([v]) => [g.sub(k.mul(v).mul(v))], [0], { to: times, steps: 20 }).map(([v], i) => v.sub(seen[i])),
  });
  return { problem, p };
}

/** A level that sinks by a table of itself and is raised by a measured series, which a loop reads at its state and its counter. */
function driven() {
  const problem = new Problem();
  const series = problem.grid('series', { size: [40], values: Array.from({ length: 40 }, (_, k) => Math.sin(0.3 * k)), interpolation: 'linear' });
  const outflow = problem.grid('outflow', { size: [7], values: [0.1, 0.2, 0.25, 0.5, 0.45, 0.6, 0.7] });
  const p = problem.parameters('p', { dim: 2, values: [1.3, 0.4] });
  problem.residuals('levels', {
    inputs: { p: p.shared(), n: problem.data([40, 39, 7, 0]), seen: problem.data([2.1, 1.9, 2.2, 1.1]) },
    residual: ({ p: [first, share], n, seen }) => {
      const [end] = V.loop(n, [first], ([level], k) => [level.sub(outflow.at(level).mul(share)).add(series.at(k).add(1).mul(0.1))]);
      return end.sub(seen);
    },
  });
  return problem;
}

const TIMES = [0.25, 0.5, 1, 1.5, 2];

/** Speeds at some times, with errors that stand out of what f32 rounds. */
const seenAt = (times, [g, k]) => times.map((t, i) => Math.sqrt(g / k) * Math.tanh(Math.sqrt(g * k) * t) + [0.01, -0.01, 0.005, -0.007, 0.003][i]);

export const group = {
  id: 'loops',
  title: 'Loops',
  about: 'Residual functions with loops, whose counts are data of their instances.',
  checks: [
    ...gpuAgainstCpu(
      'gradients go backward through steps of 12 numbers that depend on each other',
      async (check) => {
        const [found, expected] = [await networkGradient({ backend: 'gpu' }), await networkGradient({ backend: 'cpu' })];
        check.close(difference(found, expected), 0, { within: 3e-5, because: 'Some hundred roundings of 6e-8 in each sum, relative to the largest derivative.' });
      },
      { long: true },
    ),

    ...gpuAgainstCpu('loops with different counts are the same steps one after another', async (check) => {
      const expected = await valuesAndJacobian(populations(true), { backend: 'cpu' });
      const host = await valuesAndJacobian(populations(false), { backend: 'cpu' });
      check.below(Math.max(difference(host.residuals, expected.residuals), difference(host.jacobian, expected.jacobian)), 1e-13, 'some hundred roundings of f64 in another order', 'on the CPU');
      const single = await valuesAndJacobian(populations(false), { backend: 'gpu' });
      check.equal(single.precision, 'f32');
      check.below(Math.max(difference(single.residuals, expected.residuals), difference(single.jacobian, expected.jacobian)), 1e-5, 'roundings of f32 in 40 steps', 'in single precision');
      const pairs = await valuesAndJacobian(populations(false), { backend: 'auto', precision: 'f32x2' });
      check.below(difference(pairs.residuals, expected.residuals), 1e-12, 'roundings of 2⁻⁴⁶ in 40 steps', 'in pairs');
    }),
    ...gpuAgainstCpu('bodies of loops read grids', async (check) => {
      const expected = await valuesAndJacobian(driven(), { backend: 'cpu' });
      const single = await valuesAndJacobian(driven(), { backend: 'gpu' });
      check.equal(single.precision, 'f32');
      check.below(Math.max(difference(single.residuals, expected.residuals), difference(single.jacobian, expected.jacobian)), 1e-5, 'roundings of f32 in 40 steps', 'in single precision');
      const pairs = await valuesAndJacobian(driven(), { backend: 'auto', precision: 'f32x2' });
      check.below(difference(pairs.residuals, expected.residuals), 1e-12, 'roundings of 2⁻⁴⁶ in 40 steps', 'in pairs');
      const found = {};
      for (const backend of ['cpu', 'gpu']) {
        const many = await solveMany(driven(), { count: 20, data: { levels: { seen: Array.from({ length: 80 }, (_, k) => 1.5 + 0.5 * Math.sin(k)) } } }, { backend });
        check.equal(many.backend, backend);
        found[backend] = [...many.x];
      }
      check.below(difference(found.gpu, found.cpu), 1e-4, 'f32 tells levels to some 1e-6', 'many');
    }),
    ...gpuAgainstCpu('a differential equation is fitted', async (check) => {
      const found = {};
      for (const backend of ['cpu', 'gpu']) {
        const { problem, p } = fall(TIMES, seenAt(TIMES, [9.81, 0.3]));
        const result = await solve(problem, { backend });
        check.equal(result.success, true, result.message);
        found[backend] = [...p.values()];
      }
      check.below(difference(found.gpu, found.cpu), 1e-5, 'f32 tells speeds to some 1e-6', 'g and k');
    }),
    ...gpuAgainstCpu('many of them are fitted, each at times of its own', async (check) => {
      const count = 100;
      const times = Array.from({ length: count }, (_, k) => TIMES.map((t) => t * (1 + 0.001 * k)));
      const seen = times.flatMap((own, k) => seenAt(own, [9 + 0.01 * k, 0.3 + 0.002 * k]));
      const found = {};
      for (const backend of ['cpu', 'gpu']) {
        const many = await solveMany(fall(TIMES, TIMES).problem, { count, data: { speeds: { times: times.flat(), seen } } }, { backend });
        check.equal(many.backend, backend);
        check.equal(many.converged, count, many.message);
        found[backend] = [...many.x];
      }
      check.below(difference(found.gpu, found.cpu), 1e-5, 'as for one', 'g and k of all');
    }),
  ],
};
