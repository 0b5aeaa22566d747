/**
 * The CPU engine beside the plain loop, springs, one thread each: sum with gradient, cost with gradient, Jacobian, and steps of Levenberg-Marquardt with ten
 * iterations of conjugate gradients. Sizes count residuals. A row is a ratio: how many times as long the plain loop takes.
 */
import { levenbergMarquardt } from 'residua';
import { springsProblem } from '../../problems/springs.js';
import { residua } from '../contenders/residua.js';
import { levenbergMarquardt as plainLevenbergMarquardt, workspace } from '../plain/levenberg-marquardt.js';
import { PlainSprings } from '../plain/springs.js';
import { runJob } from '../runner.js';
import { springMesh } from './spring-meshes.js';

export const name = 'cpu-engine';
export const title = 'The CPU engine beside the plain loop: ratios';
export const unit = 'residuals';
export const sizes = [1_000, 10_000, 100_000, 1_000_000];

const STEPS = 5;
const FIXED = { maxIterations: STEPS, costTolerance: 0, gradientTolerance: 0, parameterTolerance: 0, linearTolerance: 0, maxLinearIterations: 10 };

/** What each of the two does; the plain loop writes into arrays that it keeps, residua gives fresh ones. */
const WORK = {
  'sum with gradient': {
    plain: (springs, x) => () => ({ value: springs.sumWithGradient(x), gradient: springs.gradient }),
    ours: (functions, x) => ({ run: () => functions.evaluateSumWithGradient(x) }),
  },
  'cost with gradient': {
    plain: (springs, x) => () => ({ value: springs.costWithGradient(x), gradient: springs.gradient }),
    ours: (functions, x) => ({ run: () => functions.evaluateCostWithGradient(x) }),
  },
  Jacobian: {
    plain: (springs, x) => () => {
      const { values } = springs.evaluateJacobian(x);
      return { value: springs.residuals[0], gradient: values };
    },
    ours: (functions, x) => ({
      run: () => functions.evaluateJacobian(x),
      after: ({ values, jacobian }) => ({ value: values[0], gradient: jacobian.values }),
    }),
  },
  'Levenberg-Marquardt, a step': {
    units: STEPS,
    plain(springs, x) {
      const space = workspace(springs);
      return () => ({ value: plainLevenbergMarquardt(springs, x, FIXED, space).finalCost });
    },
    ours: (functions, x, vertices) => ({
      before: () => vertices.set(x),
      run: () => levenbergMarquardt(functions, { ...FIXED, linearSolver: 'pcg', readBack: false }),
      after: ({ finalCost }) => ({ value: finalCost }),
    }),
  },
};

const jobOf = (work, { plain, ours, units }) => ({
  title: `${title}, ${work}`,
  unit,
  // A grid has three springs a vertex, less its rim; a few springs alone determine nothing, and part ways by rounding.
  input: (residuals) => {
    const mesh = springMesh(Math.max(residuals / 3, 30));
    return { ...mesh, size: mesh.residuals };
  },
  tolerance: { f64: { value: 1e-8, gradient: 1e-10 } },
  contenders: [
    {
      name: 'plain loop', timing: 'wall; in place', precision: 'f64', known: true,
      prepare: ({ positions, edges, grid }) => ({ units, run: plain(new PlainSprings(edges, grid.rows * grid.columns), positions) }),
    },
    residua('cpu', {
      timing: 'wall; fresh arrays',
      problem: ({ positions, edges }) => springsProblem(positions, edges, 1),
      attempt: (functions, { vertices }, { positions }) => ({ units, ...ours(functions, positions, vertices) }),
    }),
  ],
});

export async function run(_, tell, progress, settings) {
  for (const [work, what] of Object.entries(WORK)) {
    const rows = [];
    await runJob(jobOf(work, what), { ...settings, contenders: undefined }, (row) => rows.push(row), progress);
    for (const plain of rows.filter((row) => row.contender === 'plain loop')) {
      const ours = rows.find((row) => row.contender !== plain.contender && row.size === plain.size);
      tell({
        work, residuals: plain.size, status: ours?.status, reason: ours?.reason, 'plain, least, ms': plain['least, ms'], 'residua, least, ms': ours?.['least, ms'],
        'ratio of least': plain['least, ms'] / ours?.['least, ms'], 'ratio of medians': plain['median, ms'] / ours?.['median, ms'],
        difference: ours?.difference, reps: ours?.reps,
      });
    }
  }
}
