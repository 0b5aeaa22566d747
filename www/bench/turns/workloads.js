/**
 * Workloads on which two builds are compared. Each is a function that resolves to `{ run, before, units, dispose }`: `before()` is not timed, `run()` resolves
 * to a number that both builds must agree on, and does `units` of what the time is about.
 */
import { GpuCompiledFunctions, levenbergMarquardt, Problem, solveMany } from 'residua';
import { clothGrid, clothProblem, setStuff, spreadOut, stepOptions, STUFF } from '../../demos/cloth/model.js';
import { sphereGraph } from '../../demos/pose-graph/graphs.js';
import { poseGraphProblem } from '../../problems/pose-graph.js';
import { rigidProblem } from '../../problems/as-rigid-as-possible.js';
import { gridEdges, scatteredPositions, springGrid } from '../../problems/springs.js';
import { problems as cpuProblems } from '../cpu-engine.js';
import { deformation } from '../jobs/rigid.js';
import { makePeaks, peakTemplate } from '../many.js';

const withoutTests = (steps, iterations) => ({
  maxIterations: steps, maxLinearIterations: iterations, costTolerance: 0, gradientTolerance: 0, parameterTolerance: 0, linearTolerance: 0,
});

/** Cost with gradient of springs, both left on the device but for the value. */
const springGradient = (side) => async () => {
  const { problem } = springGrid(side);
  const functions = await GpuCompiledFunctions.compile(problem, { backend: 'gpu' });
  return {
    run: async () => (await functions.evaluateCostWithGradientOnDevice()).value,
    dispose: () => functions.dispose(),
  };
};

/** Solves of fixed length from the same start; a unit is a step. */
function solves(functions, arrays, steps, options) {
  const starts = arrays.map((array) => array.values());
  return {
    units: steps,
    before: async () => {
      arrays.forEach((array, k) => array.set(starts[k]));
      // The start is on its way to the device before the clock starts.
      if (functions.backend === 'gpu') await functions.evaluateCostWithGradient();
    },
    run: async () => (await levenbergMarquardt(functions, options)).finalCost,
    dispose: () => functions.dispose(),
  };
}

const springSteps = (side) => async () => {
  const positions = scatteredPositions(side * side);
  const { problem, vertices } = springGrid(side);
  const functions = await GpuCompiledFunctions.compile(problem, { backend: 'gpu' });
  const start = { values: () => positions, set: (values) => vertices.set(values) };
  return solves(functions, [start], 20, { ...withoutTests(20, 10), readBack: false });
};

const cloth = (side) => async () => {
  const grid = clothGrid(side);
  const positions = spreadOut(grid);
  const parts = clothProblem(grid, positions);
  const stuff = STUFF;
  setStuff(parts, grid, stuff, 1 / 60);
  const functions = await GpuCompiledFunctions.compile(parts.problem, { backend: 'gpu' });
  const moved = Float64Array.from(positions, (number, k) => number + 1e-3 * Math.sin(7 * k));
  const start = { values: () => moved, set: (values) => parts.vertices.set(values) };
  const options = { ...stepOptions(grid, stuff, 1 / 60, { iterations: 2, linearIterations: 60 }), ...withoutTests(2, 60), readBack: false };
  return solves(functions, [start], 2, options);
};

const poseGraph = async () => {
  const graph = sphereGraph();
  const { problem, positions, rotations } = poseGraphProblem(graph);
  const functions = await GpuCompiledFunctions.compile(problem, { backend: 'gpu' });
  const starts = [[positions, Float64Array.from(graph.positions)], [rotations, Float64Array.from(graph.rotations)]];
  const arrays = starts.map(([array, values]) => ({ values: () => values, set: (start) => array.set(start) }));
  return solves(functions, arrays, 2, { ...withoutTests(2, 60), readBack: false });
};

const rigid = (vertices) => async () => {
  const sheet = deformation(vertices);
  const { problem, vertices: positions, rotations } = rigidProblem(sheet, sheet.topology, sheet.handles, sheet.weights);
  const functions = await GpuCompiledFunctions.compile(problem, { backend: 'gpu' });
  const start = sheet.start, split = 3 * sheet.size;
  const arrays = [
    { values: () => start.subarray(0, split), set: (values) => positions.set(values) },
    { values: () => start.subarray(split), set: (values) => rotations.set(values) },
  ];
  return solves(functions, arrays, 5, { ...withoutTests(5, 20), readBack: false });
};

/** One residual an instance, four blocks each. */
const bendingSteps = (residuals) => async () => {
  const { x, problem, vertices } = cpuProblems.bending(residuals);
  const functions = await GpuCompiledFunctions.compile(problem, { backend: 'gpu' });
  const start = x.slice();
  return solves(functions, [{ values: () => start, set: (values) => vertices.set(values) }], 20, { ...withoutTests(20, 10), readBack: false });
};

/** Three residuals an instance, two blocks of one array each. */
const differenceSteps = (side) => async () => {
  const positions = scatteredPositions(side * side);
  const edges = gridEdges(side);
  const problem = new Problem();
  const vertices = problem.parameters('vertices', { dim: 3, values: positions });
  const offsets = scatteredPositions(edges.length / 2, 1, 2);
  problem.residuals('differences', {
    inputs: { ends: vertices.at(edges, 2), offset: problem.data(offsets, 3) },
    residual: ({ ends: [a, b], offset }) => a.sub(b).sub(offset).add(a.cross(b).mul(0.01)),
  });
  const functions = await GpuCompiledFunctions.compile(problem, { backend: 'gpu' });
  return solves(functions, [{ values: () => positions, set: (values) => vertices.set(values) }], 20, { ...withoutTests(20, 10), readBack: false });
};

const fits = (count) => async () => {
  const times = Float64Array.from({ length: 25 }, (_, k) => (2 * k) / 24 - 1);
  const { samples, starts } = makePeaks(count, times, 0.02);
  const template = peakTemplate(times);
  const batch = { count, parameters: { peak: starts }, data: { samples: { y: samples } } };
  return {
    run: async () => (await solveMany(template, batch, { backend: 'gpu', maxIterations: 100, costTolerance: 1e-6, gradientTolerance: 1e-6 })).converged,
    dispose() {},
  };
};

/** The CPU engine: one call each, results into arrays that are kept. */
const onCpu = (name, job, size) => async () => {
  const { x, problem, vertices } = cpuProblems[name](size);
  const functions = await GpuCompiledFunctions.compile(problem, { backend: 'cpu' });
  if (job === 'lm') {
    const start = x.slice();
    const arrays = [{ values: () => start, set: (values) => vertices.set(values) }];
    return solves(functions, arrays, 5, { ...withoutTests(5, 10), linearSolver: name === 'peak' ? 'dense-qr' : 'pcg' });
  }
  const into = new Float64Array(x.length);
  let jacobian;
  return {
    run: job === 'sum'
      ? async () => (await functions.evaluateSumWithGradient(x, into)).value
      : async () => (jacobian = (await functions.evaluateJacobian(x, jacobian))).jacobian.values[0],
    dispose: () => functions.dispose(),
  };
};

export const workloads = {
  'springs gradient 5041': springGradient(71),
  'springs gradient 1000000': springGradient(1000),
  'springs LM step 5041': springSteps(71),
  'springs LM step 1000000': springSteps(1000),
  'bending LM step 10000': bendingSteps(10_000),
  'bending LM step 1000000': bendingSteps(1_000_000),
  'differences LM step 5041': differenceSteps(71),
  'differences LM step 250000': differenceSteps(500),
  'cloth step 10000': cloth(100),
  'pose graph step 2500': poseGraph,
  'rigid step 10000': rigid(10_000),
  'fits 100000': fits(100_000),
  ...Object.fromEntries(
    ['springs', 'bending', 'peak'].flatMap((name) => ['sum', 'jacobian', 'lm'].flatMap((job) => [10_000, 100_000].map((size) => [`CPU ${name} ${job} ${size}`, onCpu(name, job, size)]))),
  ),
};
