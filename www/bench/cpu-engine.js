/**
 * The CPU engine compared with plain JavaScript with hand-written derivatives (plain/), job by job and in turns, in double precision.
 * residua's times contain the whole call of the public interface: x is passed in and results are returned, in both cases in reused arrays;
 * in the jobs that end in `-fresh`, in arrays that are allocated for the call.
 *
 * Springs on a grid are cheap, bending hinges are dense arithmetic, and the fit of a peak has an exponential per sample.
 *
 * Sizes are approximate numbers of residuals. Parameters: `problems`, `jobs`, `steps` and `cg` (steps of Levenberg-Marquardt, and
 * iterations of conjugate gradients in each).
 */
import { GpuCompiledFunctions, levenbergMarquardt, Problem } from 'residua';
import { gridEdges, scatteredPositions, springsProblem } from '../problems/springs.js';
import { numbers } from './parameters.js';
import { plainBending } from './plain/bending.js';
import { denseLevenbergMarquardt } from './plain/dense-levenberg-marquardt.js';
import { levenbergMarquardt as plainLevenbergMarquardt } from './plain/levenberg-marquardt.js';
import { plainPeak } from './plain/peak.js';
import { plainSprings } from './plain/springs.js';

export const name = 'cpu-engine';
export const title = 'The CPU engine beside plain JavaScript with hand-written derivatives';
export const unit = 'residuals';
export const sizes = [1_000, 10_000, 100_000, 1_000_000];

const withoutTests = (steps, cg) => ({ maxIterations: steps, costTolerance: 0, gradientTolerance: 0, parameterTolerance: 0, linearTolerance: 0, maxLinearIterations: cg });
const sparseLevenbergMarquardt = (functions, x, steps, cg) => plainLevenbergMarquardt(functions, x, withoutTests(steps, cg)).finalCost;

/** Three springs per vertex. */
function springs(residuals) {
  const side = Math.max(2, Math.round(Math.sqrt(residuals / 3)));
  const [x, edges] = [Float64Array.from(scatteredPositions(side * side)), gridEdges(side)];
  return { x, plain: plainSprings(edges, 1), ...springsProblem(x, edges, 1), minimise: sparseLevenbergMarquardt };
}

/** A wavy grid of triangles; each diagonal and each inner side is a hinge, three per vertex. */
function bending(residuals) {
  const side = Math.max(3, Math.round(Math.sqrt(residuals / 3)) + 1);
  const x = scatteredPositions(side * side, 0.3);
  const at = (row, column) => row * side + column;
  for (let row = 0; row < side; row++) {
    for (let column = 0; column < side; column++) {
      x[3 * at(row, column)] += column;
      x[3 * at(row, column) + 1] += row;
    }
  }
  const hinges = [];
  for (let row = 0; row + 1 < side; row++) {
    for (let column = 0; column + 1 < side; column++) {
      hinges.push(at(row, column), at(row + 1, column + 1), at(row + 1, column), at(row, column + 1));
      if (row > 0) hinges.push(at(row, column), at(row, column + 1), at(row + 1, column + 1), at(row - 1, column));
      if (column > 0) hinges.push(at(row + 1, column), at(row, column), at(row + 1, column + 1), at(row, column - 1));
    }
  }
  const corners = Uint32Array.from(hinges);
  const problem = new Problem();
  const vertices = problem.parameters('vertices', { dim: 3, values: x });
  const residual = ({ corners: [a, b, c, d] }) => {
    const u = b.sub(a);
    const [m, n] = [u.cross(c.sub(a)).normalized, d.sub(a).cross(u).normalized];
    return m.dot(n).neg().add(1);
  };
  problem.residuals('hinges', { inputs: { corners: vertices.at(corners, 4) }, residual });
  return { x: Float64Array.from(x), plain: plainBending(corners), problem, vertices, minimise: sparseLevenbergMarquardt };
}

/** A peak on a slope, sampled evenly. */
function peak(residuals) {
  const times = Float64Array.from({ length: residuals }, (_, i) => (2 * i) / (residuals - 1) - 1);
  const noise = scatteredPositions(Math.ceil(residuals / 3), 0.1);
  const samples = times.map((t, i) => 2 * Math.exp(-(((t - 0.2) / 0.3) ** 2)) + 0.3 + 0.1 * t + noise[i]);
  const x = Float64Array.of(1.7, 0.1, 0.4, 0.2, 0);
  const problem = new Problem();
  const peaks = problem.parameters('peak', { dim: 5, values: x });
  problem.residuals('samples', {
    inputs: { peak: peaks.shared(), t: problem.data(times), y: problem.data(samples) },
    residual: ({ peak: [amplitude, centre, width, offset, slope], t, y }) =>
      t.sub(centre).div(width).square().neg().exp().mul(amplitude).add(offset).add(slope.mul(t)).sub(y),
  });
  return { x, plain: plainPeak(times, samples), problem, vertices: peaks, minimise: denseLevenbergMarquardt };
}

export const problems = { springs, bending, peak };

const gradientDifference = (sum, { value, gradient }, task) => Math.max(relative([sum], [value]), relative(task.gradient, gradient));
const jacobianDifference = (_, { values, jacobian }, task) => Math.max(relative(task.values, values), relative(task.entries, jacobian.values));

/** The jobs, and the results that must agree. */
const JOBS = {
  sum: {
    plain: ({ plain, x, gradient }) => plain.sumWithGradient(x, gradient),
    ours: ({ functions, x, into }) => functions.evaluateSumWithGradient(x, into),
    difference: gradientDifference,
  },
  'sum-fresh': {
    plain: (task) => task.plain.sumWithGradient(task.x, (task.gradient = new Float64Array(task.x.length))),
    ours: ({ functions, x }) => functions.evaluateSumWithGradient(x),
    difference: gradientDifference,
  },
  cost: {
    plain: ({ plain, x, gradient }) => plain.costWithGradient(x, gradient),
    ours: ({ functions, x, into }) => functions.evaluateCostWithGradient(x, into),
    difference: gradientDifference,
  },
  jacobian: {
    plain: ({ plain, x, values, entries }) => plain.jacobian(x, values, entries),
    ours: async (task) => (task.result = await task.functions.evaluateJacobian(task.x, task.result)),
    difference: jacobianDifference,
  },
  'jacobian-fresh': {
    plain: (task) => {
      task.values = new Float64Array(task.values.length);
      task.entries = new Float64Array(task.entries.length);
      task.plain.jacobian(task.x, task.values, task.entries);
    },
    ours: ({ functions, x }) => functions.evaluateJacobian(x),
    difference: jacobianDifference,
  },
  lm: {
    plain: ({ plain, x, minimise, start, steps, cg }) => {
      x.set(start);
      return minimise(plain, x, steps, cg);
    },
    ours: async ({ functions, options, vertices, start }) => {
      vertices.set(start);
      return levenbergMarquardt(functions, options);
    },
    // Two solvers diverge by rounding; after a few steps the difference is about this.
    difference: (cost, result) => relative([cost], [result.finalCost]),
  },
};

/** The largest difference, relative to the largest entry. */
function relative(ours, theirs) {
  if (ours.length !== theirs.length) return Infinity;
  let [difference, size] = [0, 0];
  for (let k = 0; k < ours.length; k++) {
    difference = Math.max(difference, Math.abs(ours[k] - theirs[k]));
    size = Math.max(size, Math.abs(ours[k]));
  }
  return difference / size;
}

const median = (list) => list.toSorted((a, b) => a - b)[list.length >> 1];

/** The resolution of the clock in milliseconds: 0.005 to 0.1 in Chromium, 1 in Firefox. */
function clockStep() {
  const next = (from) => {
    let now = performance.now();
    while (now === from) now = performance.now();
    return now;
  };
  const began = next(performance.now());
  return next(began) - began;
}

/** Milliseconds of one call each, in turn. Calls are repeated to fill a millisecond and four ticks of the clock. */
async function timeInTurn(task, job, reps) {
  const clock = async (work) => {
    const began = performance.now();
    await work();
    return performance.now() - began;
  };
  let result;
  let answer;
  const plain = () => (result = job.plain(task));
  const ours = async () => (answer = await job.ours(task));
  // Runs that let the JavaScript and WebAssembly compilers optimise both.
  const patience = performance.now() + 300;
  let least = Infinity;
  for (let warm = 0; warm < 3 || performance.now() < patience; warm++) {
    plain();
    least = Math.min(least, await clock(ours));
  }
  let calls = Math.max(1, Math.ceil(1 / Math.max(least, 0.01)));
  const plainCalls = () => clock(() => { for (let call = 0; call < calls; call++) plain(); });
  const ourCalls = () => clock(async () => { for (let call = 0; call < calls; call++) await ours(); });
  const enough = 4 * clockStep();
  while ((await plainCalls()) < enough || (await ourCalls()) < enough) calls *= 2;
  const times = { plain: [], ours: [] };
  for (let rep = 0; rep < reps; rep++) {
    times.plain.push((await plainCalls()) / calls);
    times.ours.push((await ourCalls()) / calls);
  }
  return { ...times, difference: job.difference(result, answer, task) };
}

export async function run(parameters, report, progress, settings) {
  const chosen = (name, all) => parameters.get(name)?.split(',') ?? Object.keys(all);
  const [steps] = numbers(parameters, 'steps', [5]);
  const [cg] = numbers(parameters, 'cg', [10]);
  for (const size of settings.sizes) {
    for (const problemName of chosen('problems', problems)) {
      progress(`${title}: ${size.toLocaleString('en-US')} residuals, ${problemName}`, true);
      await new Promise((resolve) => setTimeout(resolve));
      const { x, plain, problem, vertices, minimise } = problems[problemName](size);
      const functions = await GpuCompiledFunctions.compile(problem, { backend: 'cpu' });
      const task = {
        functions, plain, minimise, x, start: x.slice(), steps, cg, vertices,
        gradient: new Float64Array(x.length), into: new Float64Array(x.length), values: new Float64Array(plain.count), entries: new Float64Array(plain.count * plain.entriesPerRow),
        options: { ...withoutTests(steps, cg), linearSolver: minimise === denseLevenbergMarquardt ? 'dense-qr' : 'pcg' },
      };
      for (const jobName of chosen('jobs', JOBS)) {
        task.x.set(task.start);
        const { plain, ours, difference } = await timeInTurn(task, JOBS[jobName], settings.reps);
        const ratios = plain.map((ms, rep) => ms / ours[rep]);
        report({
          problem: problemName, job: jobName, residuals: functions.numResiduals, 'residua, least, ms': Math.min(...ours), 'residua, median, ms': median(ours),
          'plain, least, ms': Math.min(...plain), 'plain, median, ms': median(plain),
          'times as fast, of leasts': Math.min(...plain) / Math.min(...ours), 'times as fast, median': median(ratios), 'relative difference': difference,
        });
      }
      functions.dispose();
    }
  }
}
