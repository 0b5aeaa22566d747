// Many small problems at once: fits of a peak (amplitude, centre, width, offset, slope) to noisy samples, on the GPU and, for comparison,
// on the CPU in double precision.
// 
// Parameters: `count`, `samples`, `noise`, `reps`; `cpu=0` omits the CPU.
import { Problem, solveMany } from 'residua';
import { congruential } from '../problems/seeded-noise.js';
import { numbers } from './parameters.js';

export const name = 'many';
/** Runs only when selected by name: the suite's own jobs cover most of it. */
export const onDemand = true;
export const title = 'Many small problems: fits of a peak with five parameters, data uploaded and results read back';

const peak = ([amplitude, centre, width, offset, slope], t) => {
  const z = (t - centre) / width;
  return amplitude * Math.exp(-z * z) + offset + slope * t;
};

/** Samples of `count` peaks at `times`, and starts estimated from them. */
export function makePeaks(count, times, noise, seed = 7) {
  const next = congruential(seed);
  const random = () => next() / 2 ** 32;
  const between = (low, high) => low + (high - low) * random();
  const samples = new Float64Array(count * times.length);
  const starts = new Float64Array(count * 5);
  for (let problem = 0; problem < count; problem++) {
    const truth = [between(1, 3), between(-0.4, 0.4), between(0.25, 0.45), between(-0.5, 0.5), between(-0.3, 0.3)];
    let [least, most, at] = [Infinity, -Infinity, 0];
    for (let i = 0; i < times.length; i++) {
      const y = peak(truth, times[i]) + noise * (random() + random() + random() - 1.5) * 2;
      samples[problem * times.length + i] = y;
      least = Math.min(least, y);
      if (y > most) [most, at] = [y, times[i]];
    }
    starts.set([most - least, at, 0.35, least, 0], problem * 5);
  }
  return { samples, starts };
}

/** The template: one fit. */
export function peakTemplate(times) {
  const template = new Problem();
  const peaks = template.parameters('peak', { dim: 5, values: [1, 0, 0.35, 0, 0] });
  template.residuals('samples', {
    inputs: { peak: peaks.shared(), t: template.data(times), y: template.data(new Float64Array(times.length)) },
    residual: ({ peak: [amplitude, centre, width, offset, slope], t, y }) =>
      t.sub(centre).div(width).square().neg().exp().mul(amplitude).add(offset).add(slope.mul(t)).sub(y),
  });
  return template;
}

/** ½‖r‖² of each fit in double precision. */
export function costsOf(x, samples, times) {
  return Float64Array.from({ length: x.length / 5 }, (_, problem) => {
    const parameters = x.subarray(5 * problem, 5 * problem + 5);
    let sum = 0;
    for (let i = 0; i < times.length; i++) sum += (peak(parameters, times[i]) - samples[problem * times.length + i]) ** 2;
    return sum / 2;
  });
}

/** The differences of two solutions of the same fits: the largest distance between parameters, and the largest excess of cost. */
function compare(gpu, cpu, samples, times) {
  const costs = costsOf(gpu.x, samples, times);
  let [largestDifference, largestExcess, others] = [0, 0, 0];
  for (let problem = 0; problem < costs.length; problem++) {
    let difference = 0;
    for (let k = 5 * problem; k < 5 * problem + 5; k++) difference = Math.max(difference, Math.abs(gpu.x[k] - cpu.x[k]));
    const excess = (costs[problem] - cpu.cost[problem]) / cpu.cost[problem];
    // Another minimum, not rounding.
    if (Math.abs(excess) > 1e-2) others++;
    else {
      largestDifference = Math.max(largestDifference, difference);
      largestExcess = Math.max(largestExcess, excess);
    }
  }
  return { largestDifference, largestExcess, others };
}

export async function run(parameters, report) {
  const one = (name, value) => numbers(parameters, name, [value])[0];
  const figures = await fit({ count: one('count', 100_000), samples: one('samples', 25), noise: one('noise', 0.02), cpu: one('cpu', 1), repetitions: one('reps', 3) });
  for (const backend of ['gpu', 'cpu'].filter((backend) => figures[backend] !== undefined)) {
    const { wallMs, fitsPerSecond, iterations, converged } = figures[backend];
    report({ backend, fits: figures.count, 'wall, least, ms': wallMs, 'fits a second': fitsPerSecond, 'iterations, mean': iterations, converged });
  }
  const { largestDifference, largestExcess, others } = figures;
  if (figures.cpu !== undefined) report({ backend: 'gpu against cpu', 'largest difference': largestDifference, 'largest excess of cost': largestExcess, 'in another minimum': others });
}

/** Fits `count` peaks on the GPU `reps` times, and with `cpu` once on the CPU; returns times, terminations and differences. */
export async function fit({ count = 100_000, samples: width = 25, noise = 0.02, cpu = 1, repetitions = 3, context } = {}) {
  const times = Float64Array.from({ length: width }, (_, i) => (2 * i) / (width - 1) - 1);
  const { samples, starts } = makePeaks(count, times, noise);
  const template = peakTemplate(times);
  const batch = { count, parameters: { peak: starts }, data: { samples: { y: samples } } };
  const figures = { count, samples: width, noise };
  const tell = (backend, result, wallMs) => {
    const iterations = result.iterations.reduce((sum, n) => sum + n, 0) / Math.max(count, 1);
    const terminations = {};
    for (const end of result.termination) terminations[end] = (terminations[end] ?? 0) + 1;
    figures[backend] = { wallMs, fitsPerSecond: count / (wallMs / 1e3), iterations, converged: result.converged, terminations };
  };
  const timed = async (backend) => {
    const began = performance.now();
    const result = await solveMany(template, batch, { backend, ...(backend === 'gpu' && context ? { context } : {}) });
    return { result, ms: performance.now() - began };
  };
  let onGpu = null;
  const runs = [];
  for (let repetition = 0; repetition < Math.max(1, repetitions); repetition++) {
    const { result, ms } = await timed('gpu');
    runs.push(ms);
    if (onGpu !== null) figures.repeatable = result.x.every((number, k) => Object.is(number, onGpu.x[k]));
    onGpu = result;
  }
  tell('gpu', onGpu, Math.min(...runs));
  figures.gpu.runsMs = runs;
  if (cpu) {
    const { result, ms } = await timed('cpu');
    tell('cpu', result, ms);
    Object.assign(figures, compare(onGpu, result, samples, times));
  }
  return figures;
}
