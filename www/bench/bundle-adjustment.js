/**
 * Bundle adjustment on one backend: compiling, and steps of Levenberg-Marquardt by each linear solver. Steps have the default forcing terms and no
 * tests of convergence, so that the same number of steps is made by all; the first solve, which makes resources, is reported separately.
 *
 * Parameters: `scene` (`road`, where conjugate gradients take long, or `object`), `cameras`, `points`, `seenby` (observations a point), `steps`, `reps`, `solvers`, `backend`, `linear` (iterations of conjugate gradients a
 * step, at most), `tolerance` (the forcing term's ceiling).
 */
import { GpuCompiledFunctions, GpuContext, levenbergMarquardt } from 'residua';
import { bundleProblem, madeBundle } from '../problems/bundle-adjustment.js';
import { numbers } from './parameters.js';

export const name = 'bundle-adjustment';
/** Runs only when selected by name: it takes a GPU of many gigabytes. */
export const onDemand = true;
export const title = 'Bundle adjustment: compile, and one step of Levenberg-Marquardt';

async function steps(functions, { cameras, points }, bundle, options, reps) {
  const perStep = [];
  let first;
  let last;
  for (let rep = 0; rep <= reps; rep++) {
    cameras.set(bundle.cameras);
    points.set(bundle.points);
    // The new numbers are uploaded before the time is measured.
    await functions.evaluateCostWithGradient();
    const start = performance.now();
    last = await levenbergMarquardt(functions, options);
    const ms = (performance.now() - start) / Math.max(1, last.iterations);
    if (rep === 0) first = ms * last.iterations;
    else perStep.push(ms);
  }
  perStep.sort((a, b) => a - b);
  return {
    'first solve, ms': first, 'ms a step, least': perStep[0], 'ms a step, median': perStep[perStep.length >> 1], steps: last.iterations,
    'rejected steps': last.history.filter(({ accepted }) => !accepted).length,
    'linear iterations': last.history.slice(1).map(({ linearIterations }) => linearIterations).join(' '),
    costs: last.history.map(({ cost }) => cost.toPrecision(6)).join(' '), 'final cost': last.finalCost, termination: last.termination,
    'linear solver': /Linear solver\s+(.*)/.exec(last.report())?.[1],
  };
}

export async function run(parameters, report, progress) {
  const one = (key, standard) => numbers(parameters, key, [standard])[0];
  const size = { cameras: one('cameras', 1000), points: one('points', 200_000), seenBy: one('seenby', 5), scene: parameters.get('scene') ?? 'road' };
  const backend = parameters.get('backend') ?? 'gpu';
  const solvers = parameters.get('solvers')?.split(',') ?? ['pcg', 'iterative-schur'];
  const [count, reps] = [one('steps', 10), one('reps', 5)];
  progress('Making the observations…', true);
  const bundle = madeBundle(size);
  const context = backend === 'gpu' ? await GpuContext.create() : undefined;
  const compiled = [];
  let made;
  let functions;
  // The first compile of a page contains what the browser's own compilers do once.
  for (const turn of ['first', 'second']) {
    functions?.dispose();
    made = bundleProblem(bundle);
    progress(`Compiling, ${turn} time…`, true);
    const began = performance.now();
    functions = await GpuCompiledFunctions.compile(made.problem, { backend, ...(context === undefined ? {} : { context }) });
    compiled.push({ [`${turn} compile, ms`]: performance.now() - began, [`${turn} compile, stages`]: JSON.stringify(functions.compileTimes) });
  }
  const at = { backend: functions.backend, ...size, observations: size.points * size.seenBy, ...compiled[0], ...compiled[1] };
  for (const linearSolver of solvers) {
    progress(`${count} steps with '${linearSolver}'…`, true);
    const options = {
      linearSolver, maxIterations: count, readBack: false, costTolerance: 0, gradientTolerance: 0, parameterTolerance: 0,
      ...(parameters.has('linear') ? { maxLinearIterations: one('linear') } : {}), ...(parameters.has('tolerance') ? { linearTolerance: one('tolerance') } : {}),
    };
    try {
      report({ ...at, solver: linearSolver, ...(await steps(functions, made, bundle, options, reps)), 'peak GPU bytes': context?.stats().peakBufferBytes });
    } catch (error) {
      report({ ...at, solver: linearSolver, error: `${error?.code ?? ''} ${error?.message ?? error}` });
    }
  }
  functions.dispose();
  context?.dispose();
}
