/**
 * Levenberg-Marquardt on a grid of springs of rest length 1: each vertex is connected to its right, lower and lower-right neighbour, and
 * starts at a random position in [0, 10)³. Every solve runs the same number of steps with the same number of iterations of conjugate
 * gradients each, whether it converges or not; its wall time is divided by its steps.
 *
 * Parameters: `sides` (vertices are their squares), `steps`, `cg`, `reps`, `backend`.
 */
import { GpuCompiledFunctions, GpuContext, levenbergMarquardt } from 'residua';
import { numbers } from './parameters.js';
import { scatteredPositions, springGrid } from '../problems/springs.js';

export const name = 'springs-lm';
/** Runs only when selected by name: the suite's own jobs cover most of it. */
export const onDemand = true;
export const title = 'Springs on a grid: one step of Levenberg-Marquardt';

export async function run(parameters, report) {
  const [steps] = numbers(parameters, 'steps', [20]);
  const [cg] = numbers(parameters, 'cg', [10]);
  const [reps] = numbers(parameters, 'reps', [9]);
  const backend = parameters.get('backend') ?? 'gpu';
  for (const side of numbers(parameters, 'sides', [71, 316])) {
    const positions = scatteredPositions(side * side);
    const { problem, vertices } = springGrid(side);
    const began = performance.now();
    const functions = await GpuCompiledFunctions.compile(problem, { backend });
    const compileMs = performance.now() - began;
    const context = functions.backend === 'gpu' ? await GpuContext.default() : null;
    const options = {
      maxIterations: steps, readBack: false, costTolerance: 0, gradientTolerance: 0, parameterTolerance: 0, linearTolerance: 0, maxLinearIterations: cg,
      ...(functions.backend === 'cpu' ? { linearSolver: 'pcg' } : {}),
    };
    const perStep = [];
    let first;
    let last;
    // The first solve creates resources that later ones reuse; it is reported separately.
    for (let rep = 0; rep <= reps; rep++) {
      vertices.set(positions);
      // The new positions are uploaded before the time is measured.
      await functions.evaluateCostWithGradient();
      const readbacks = context?.stats().readbacks ?? 0;
      const start = performance.now();
      last = await levenbergMarquardt(functions, options);
      const ms = (performance.now() - start) / last.iterations;
      if (rep === 0) first = ms;
      else perStep.push(ms);
      last.readbacks = (context?.stats().readbacks ?? 0) - readbacks;
    }
    perStep.sort((a, b) => a - b);
    report({
      backend: functions.backend, vertices: side * side, residuals: functions.numResiduals, 'compile, ms': compileMs,
      'first solve, ms a step': first, 'ms a step, least': perStep[0], 'ms a step, median': perStep[perStep.length >> 1],
      steps: last.iterations, rejected: last.history.filter((entry) => !entry.accepted).length, 'read-backs': last.readbacks,
      'initial cost': last.initialCost, 'final cost': last.finalCost, termination: last.termination,
    });
    functions.dispose();
  }
}
