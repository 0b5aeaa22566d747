/**
 * Times of f32 and f32x2 on one GPU. `?size=small` takes problems that a software adapter solves too, `?fits` only those of solveMany. With `auto` it starts at once, and posts rows to `/log` and
 * everything to `/result`.
 */
import { GpuCompiledFunctions, GpuContext, levenbergMarquardt, Problem, solveMany } from 'residua';
import { sphereGraph } from '../../demos/pose-graph/graphs.js';
import { poseGraphProblem } from '../../problems/pose-graph.js';
import { scatteredPositions, springGrid } from '../../problems/springs.js';
import { makePeaks, peakTemplate } from '../many.js';
import { median } from '../statistics.js';
import { fill } from '../table.js';

const query = new URLSearchParams(location.search);
const auto = query.has('auto');
const isSmall = query.get('size') === 'small';
const element = (id) => document.getElementById(id);
const post = (path, body) => (auto ? fetch(path, { method: 'POST', body: JSON.stringify(body) }) : undefined);
const PRECISIONS = ['f32', 'f32x2'];
/** Pairs of samples; the first pair is not counted. */
const REPS = Number(query.get('reps')) || 9;

/** A solve of fixed length. */
const steps = (count, iterations) => ({
  maxIterations: count, maxLinearIterations: iterations, costTolerance: 0, gradientTolerance: 0, parameterTolerance: 0, linearTolerance: 0, readBack: false,
});

function springs(side) {
  const positions = scatteredPositions(side * side);
  const { problem, vertices } = springGrid(side);
  return { problem, restore: () => vertices.set(positions) };
}

function poses(count, lap) {
  const graph = sphereGraph({ poses: count, lap });
  const { problem, positions, rotations } = poseGraphProblem(graph);
  const [atPositions, atRotations] = [Float64Array.from(graph.positions), Float64Array.from(graph.rotations)];
  return {
    problem,
    restore: () => {
      positions.set(atPositions);
      rotations.set(atRotations);
    },
  };
}

const PROBLEMS = isSmall
  ? { 'springs, 400 vertices': () => springs(20) }
  : { 'springs, 1,000,000 vertices': () => springs(1000), 'pose graph, 500,000 edges': () => poses(250_000, 500) };
const LM_STEPS = isSmall ? 2 : 10;
const FITS = isSmall ? 200 : 100_000;

/** The rows of each table by its id. */
const tables = { calls: [], kernels: [], fits: [] };

async function report(table, row) {
  tables[table].push(row);
  fill(element(table), tables[table], []);
  await post('/log', { table, ...row });
}

/** Samples of both precisions in turns, in milliseconds of a unit. */
async function inTurns(run, units) {
  const times = [[], []];
  for (let rep = 0; rep <= REPS; rep++) {
    for (const k of PRECISIONS.keys()) {
      const ms = await run(k);
      if (rep > 0) times[k].push(ms / units);
    }
  }
  const ratio = median(times[1].map((ms, rep) => ms / times[0][rep]));
  return { 'f32, ms': median(times[0]), 'f32x2, ms': median(times[1]), ratio };
}

async function timed(work) {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

/** Compile, gradient and steps of a problem. */
async function measureProblem(name, make) {
  const compiled = [], restores = [];
  try {
    const ms = [];
    for (const precision of PRECISIONS) {
      const { problem, restore } = make();
      restores.push(restore);
      ms.push(await timed(async () => compiled.push(await GpuCompiledFunctions.compile(problem, { backend: 'gpu', precision }))));
    }
    await report('calls', { what: `${name}: compile`, 'f32, ms': ms[0], 'f32x2, ms': ms[1], ratio: ms[1] / ms[0] });
    const gradient = (k) => timed(() => compiled[k].evaluateCostWithGradientOnDevice());
    await report('calls', { what: `${name}: cost with gradient, left on the device`, ...await inTurns(gradient, 1) });
    const solve = async (k) => {
      restores[k]();
      await compiled[k].evaluateCostWithGradient();
      return timed(() => levenbergMarquardt(compiled[k], steps(LM_STEPS, 10)));
    };
    const firsts = [await solve(0), await solve(1)];
    await report('calls', { what: `${name}: first solve, with its kernels' compilation`, 'f32, ms': firsts[0], 'f32x2, ms': firsts[1], ratio: firsts[1] / firsts[0] });
    await report('calls', { what: `${name}: step of Levenberg-Marquardt, 10 iterations of conjugate gradients`, ...await inTurns(solve, LM_STEPS) });
  } finally {
    compiled.forEach((functions) => functions.dispose());
  }
}

/** Mean GPU times of the kernels of a solve, by the names that both precisions have. */
async function measureKernels(name, make) {
  const found = [];
  for (const precision of PRECISIONS) {
    const context = await GpuContext.create({ profile: true });
    const { problem, restore } = make();
    const functions = await GpuCompiledFunctions.compile(problem, { backend: 'gpu', precision, context });
    try {
      for (let k = 0; k < 3; k++) {
        restore();
        await functions.evaluateCostWithGradientOnDevice();
        await levenbergMarquardt(functions, steps(LM_STEPS, 10));
      }
      const { profile } = context.stats();
      if (!profile.hasGpuTimes) return;
      found.push(Object.fromEntries(Object.entries(profile.kernels).filter(([, times]) => times.timed > 0).map(([kernel, { timed, gpuMs }]) => [kernel, gpuMs / timed])));
    } finally {
      functions.dispose();
      context.dispose();
    }
  }
  for (const kernel of new Set(found.flatMap(Object.keys))) {
    const [single, pairs] = found.map((times) => times[kernel]);
    await report('kernels', { kernel: `${name}: ${kernel}`, 'f32, µs': 1e3 * single, 'f32x2, µs': 1e3 * pairs, ratio: pairs / single });
  }
}

async function measureFits() {
  const times = Float64Array.from({ length: 25 }, (_, k) => (2 * k) / 24 - 1);
  const { samples, starts } = makePeaks(FITS, times, 0.02);
  const template = peakTemplate(times);
  const batch = { count: FITS, parameters: { peak: starts }, data: { samples: { y: samples } } };
  const ends = [];
  const solve = (k) => timed(async () => {
    ends[k] = await solveMany(template, batch, { backend: 'gpu', precision: PRECISIONS[k] });
  });
  await report('calls', { what: `${FITS.toLocaleString('en')} fits by solveMany`, ...await inTurns(solve, 1) });
  for (const [k, precision] of PRECISIONS.entries()) await reportFits('peaks', precision, ends[k]);
  await reportFits('peaks', 'auto', await solveMany(template, batch, { backend: 'auto' }));
}

/** How fits ended. */
function reportFits(fits, asked, { termination, converged, arithmetic, backend, computationTime, message }) {
  return report('fits', { fits, asked, count: termination.length, converged, arithmetic, backend, ms: computationTime, notes: message });
}

/** Lines through noisy points at these times, with a slope near 0.01. */
function lines(count, t) {
  const problem = new Problem();
  const line = problem.parameters('line', { dim: 2, values: [0, 0] });
  problem.residuals('points', {
    inputs: { p: line.shared(), x: problem.data(t), y: problem.data(new Float64Array(t.length)) },
    residual: ({ p, x, y }) => p.x.mul(x).add(p.y).sub(y),
  });
  const y = Float64Array.from({ length: count * t.length }, (_, k) => 0.5 * (k % t.length) + 0.2 * Math.sin(0.7 * k * k));
  return { problem, batch: { count, data: { points: { y } } } };
}

/** Time stamps that f32 loses: 'auto' goes on in pairs, and in f64 where they do not suffice. */
async function measureLadder() {
  for (const start of [1.7e6, 1.7e9]) {
    const [count, points] = [2000, 40];
    const t = Float64Array.from({ length: points }, (_, k) => start + 50 * k);
    const { problem, batch } = lines(count, t);
    await reportFits(`lines at time ${start}`, 'auto', await solveMany(problem, batch, { backend: 'auto' }));
  }
}

async function run() {
  for (const [name, make] of query.has('fits') ? [] : Object.entries(PROBLEMS)) {
    element('progress').textContent = `${name}…`;
    await measureProblem(name, make);
    await measureKernels(name, make);
  }
  element('progress').textContent = 'Fits…';
  await measureFits();
  await measureLadder();
  element('progress').textContent = 'Done.';
  return { page: 'precision', userAgent: navigator.userAgent, reps: REPS, ...tables };
}

async function start() {
  element('start').disabled = true;
  try {
    await post('/result', await run());
  } catch (error) {
    element('failure').textContent = error?.message ?? String(error);
    element('failure').hidden = false;
    await post('/result', { page: 'precision', error: String(error?.stack ?? error), ...tables });
  }
}

element('start').addEventListener('click', start);
if (auto) await start();
