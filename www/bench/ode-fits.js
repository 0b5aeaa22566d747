// Differential equations in a loop: fits of Lotka and Volterra's predators and prey, by four rates and two starting values, to observations of both.
//
// Compiling one fit of `long` steps of Runge and Kutta's method, and `count` fits of `steps` steps by `solveMany`, data uploaded and results read back.
// Parameters: `count`, `steps`, `long`, `reps`; `cpu=0` omits the CPU.
import { GpuCompiledFunctions, GpuContext, Problem, rungeKutta4, solveMany } from 'residua';
import { congruential } from '../problems/seeded-noise.js';
import { numbers } from './parameters.js';

export const name = 'ode-fits';
/** Runs only when selected by name. */
export const onDemand = true;
export const title = 'Fits of differential equations: Lotka and Volterra, six parameters, 20 observations of two numbers';

const OBSERVATIONS = 20;
const SPAN = 10;
const TIMES = Array.from({ length: OBSERVATIONS }, (_, k) => (SPAN * (k + 1)) / OBSERVATIONS);

/** One step of Runge and Kutta's method in double precision. */
function step([a, b, c, d], [x, y], h) {
  const slope = ([u, v]) => [(a - b * v) * u, (d * u - c) * v];
  const along = (k, length) => [x + length * k[0], y + length * k[1]];
  const first = slope([x, y]);
  const second = slope(along(first, h / 2));
  const third = slope(along(second, h / 2));
  const fourth = slope(along(third, h));
  return [0, 1].map((i) => [x, y][i] + (h / 6) * (first[i] + 2 * second[i] + 2 * third[i] + fourth[i]));
}

/** The template: one fit, whose steps begin at `steps` to the last time. */
export function template(steps) {
  const problem = new Problem();
  const rates = problem.parameters('rates', { dim: 4, values: [0.9, 0.35, 0.9, 0.35] });
  const start = problem.parameters('start', { dim: 2, values: [2, 1] });
  const zeros = () => problem.data(new Float64Array(OBSERVATIONS), OBSERVATIONS);
  problem.residuals('observations', {
    inputs: { rates: rates.shared(), start: start.shared(), preys: zeros(), predators: zeros() },
    residual: ({ rates: [a, b, c, d], start: [x0, y0], preys, predators }) => {
      const derivative = ([x, y]) => [a.sub(b.mul(y)).mul(x), d.mul(x).sub(c).mul(y)];
      const states = rungeKutta4(derivative, [x0, y0], { to: TIMES, steps: Math.ceil(steps / OBSERVATIONS) });
      return states.flatMap(([x, y], k) => [x.sub(preys[k]), y.sub(predators[k])]);
    },
  });
  return problem;
}

/** Observations of `count` systems whose rates and starts differ, with noise of 0.01. */
export function observations(count, seed = 11) {
  const next = congruential(seed);
  const between = (low, high) => low + ((high - low) * next()) / 2 ** 32;
  const [truth, preys, predators] = [new Float64Array(count * 6), new Float64Array(count * OBSERVATIONS), new Float64Array(count * OBSERVATIONS)];
  const FINE = 25;
  for (let system = 0; system < count; system++) {
    const rates = [between(0.7, 1.1), between(0.3, 0.5), between(0.7, 1.1), between(0.3, 0.5)];
    let state = [between(1.5, 3), between(0.7, 1.5)];
    truth.set([...rates, ...state], 6 * system);
    for (let k = 0; k < OBSERVATIONS; k++) {
      for (let i = 0; i < FINE; i++) state = step(rates, state, SPAN / OBSERVATIONS / FINE);
      preys[OBSERVATIONS * system + k] = state[0] + between(-0.01, 0.01);
      predators[OBSERVATIONS * system + k] = state[1] + between(-0.01, 0.01);
    }
  }
  return { truth, data: { observations: { preys, predators } } };
}

export async function run(parameters, report) {
  const one = (parameter, value) => numbers(parameters, parameter, [value])[0];
  const [count, steps, long, repetitions, cpu] = [one('count', 100_000), one('steps', 500), one('long', 2_000), one('reps', 3), one('cpu', 1)];
  const context = await GpuContext.create();
  const backends = cpu ? ['gpu', 'cpu'] : ['gpu'];
  for (const backend of backends) {
    for (let repetition = 0; repetition < repetitions; repetition++) {
      const began = performance.now();
      // Another length each time, so that no pipeline is there already.
      const functions = await GpuCompiledFunctions.compile(template(long + OBSERVATIONS * repetition), backend === 'gpu' ? { backend, context } : { backend });
      const compiled = performance.now();
      await functions.evaluateCostWithGradient();
      report({ work: 'compile', backend, steps: long, 'compile, ms': compiled - began, 'first cost and gradient, ms': performance.now() - compiled });
      functions.dispose();
    }
  }
  const problem = template(steps);
  const { truth, data } = observations(count);
  for (const backend of backends) {
    const fits = backend === 'gpu' ? count : Math.min(count, 1_000);
    const few = (list) => list.subarray(0, fits * OBSERVATIONS);
    const batch = { count: fits, data: { observations: { preys: few(data.observations.preys), predators: few(data.observations.predators) } } };
    for (let repetition = 0; repetition < (backend === 'gpu' ? repetitions : 1); repetition++) {
      const began = performance.now();
      const result = await solveMany(problem, batch, backend === 'gpu' ? { backend, context } : { backend });
      const wall = performance.now() - began;
      let furthest = 0;
      for (let k = 0; k < 6 * fits; k++) furthest = Math.max(furthest, Math.abs(result.x[k] - truth[k]));
      const iterations = result.iterations.reduce((sum, n) => sum + n, 0) / fits;
      report({ work: 'fits', backend, fits, steps, 'wall, ms': wall, 'iterations, mean': iterations, converged: result.converged, 'furthest from the truth': furthest, message: result.message });
    }
  }
}
