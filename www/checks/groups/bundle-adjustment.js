/** Bundle adjustments: the Schur complement of the points, on the GPU and on the CPU. */
import { levenbergMarquardt, loss, Problem } from 'residua';
import { bundleProblem, madeBundle } from '../../problems/bundle-adjustment.js';
import { gpuAgainstCpu, onGpu } from '../define.js';

/** A road with outliers; the first camera stays where it is. With `priors` cameras are held by springs, too, which no point is in. */
function road({ priors = false, ...spec } = {}) {
  const bundle = madeBundle({ cameras: 12, points: 160, seenBy: 5, seed: 3, outliers: 0.05, ...spec });
  const made = bundleProblem(bundle, loss.huber(2));
  made.cameras.setConstant([0]);
  if (priors) {
    made.problem.residuals('priors', {
      inputs: { camera: made.cameras.at(Uint32Array.from({ length: bundle.cameras.length / 9 }, (_, c) => c)), at: made.problem.data(bundle.cameras, 9) },
      residual: ({ camera, at }) => [...camera].map((number, k) => number.sub(at[k]).mul(10)),
    });
  }
  return { ...made, bundle };
}

/** No test ends a solve, and steps are solved for to six digits. */
const exactSteps = (maxIterations) => ({
  maxIterations, costTolerance: 0, gradientTolerance: 0, parameterTolerance: 0, linearTolerance: 1e-6, maxLinearIterations: 200, initialDamping: 1e-2,
});

const solverOf = (result) => /Linear solver\s+(.*)/.exec(result.report())?.[1] ?? '';

export const group = {
  id: 'bundle-adjustment',
  title: 'Bundle adjustment',
  about: 'Points are eliminated by a Schur complement that conjugate gradients never form.',
  checks: [
    ...[false, true].flatMap((priors) => gpuAgainstCpu(`'iterative-schur' on the GPU ends where 'sparse-schur' on the CPU does, with a loss${priors ? ', priors' : ''} and a camera that stays`, async (check) => {
      // Of the roads of seeds 1 to 16 those of 3 and 6 may not end on the CPU within a thousand iterations.
      const [gpu, cpu] = [road({ priors, seed: 5 }), road({ priors, seed: 5 })];
      const first = cpu.cameras.values().slice(0, 9);
      const onGpu = await levenbergMarquardt(await check.compile(gpu.problem, { backend: 'gpu' }), { linearSolver: 'iterative-schur' });
      // To its minimum: after 100 iterations it may still be as far above as what is allowed.
      const onCpu = await levenbergMarquardt(await check.compile(cpu.problem, { backend: 'cpu' }), { linearSolver: 'sparse-schur', maxIterations: 1000 });
      check.ok(onCpu.success, onCpu.message);
      check.close(onGpu.finalCost, onCpu.finalCost, { within: 1e-3 * onCpu.finalCost, because: 'a run in f32 ends where a step changes the cost by no more than its rounding, in a flat valley some 1e-4 of the cost above its end' }, onGpu.message);
      check.ok(onCpu.finalCost < 0.5 * onCpu.initialCost, 'the cost falls');
      check.same(gpu.cameras.values().slice(0, 9), first, 'the camera that stays');
      check.ok(solverOf(onGpu).startsWith('iterative-schur: on the device, 160 independent blocks'), solverOf(onGpu));
    }, { slow: true })),

    ...onGpu("'iterative-schur' takes fewer iterations than 'pcg', and repeats to the last bit", async (check) => {
      const { problem, cameras, points, bundle } = road();
      const functions = await check.compile(problem);
      const solve = async (linearSolver) => {
        cameras.set(bundle.cameras);
        points.set(bundle.points);
        return levenbergMarquardt(functions, { ...exactSteps(3), linearSolver, linearTolerance: 1e-3 });
      };
      const runs = [await solve('iterative-schur'), await solve('pcg'), await solve('iterative-schur')];
      const [schur, pcg] = runs.map(({ history }) => history.reduce((sum, { linearIterations = 0 }) => sum + linearIterations, 0));
      check.ok(schur < 0.75 * pcg, `${schur} iterations on the complement, ${pcg} on the whole`);
      check.same(runs[2].x, runs[0].x);
      check.same(runs[2].history.map(({ cost }) => cost), runs[0].history.map(({ cost }) => cost));
    }, { long: true }),

    ...onGpu("'auto' eliminates points where there are many, and not otherwise", async (check) => {
      const many = road({ points: 400 });
      const solver = async (problem) => solverOf(await levenbergMarquardt(await check.compile(problem), { maxIterations: 1 }));
      check.ok((await solver(many.problem)).startsWith('iterative-schur'), 'many points');
      check.ok((await solver(road({ points: 30 }).problem)).startsWith('pcg'), 'few points');
    }),

    ...onGpu("without blocks that can be eliminated 'iterative-schur' is refused, and 'auto' takes 'pcg'", async (check) => {
      const problem = new Problem();
      const points = problem.parameters('points', { dim: 2, values: [0, 0, 1, 0, 2, 0] });
      problem.residuals('links', { inputs: { ends: points.at([0, 1, 1, 2], 2) }, residual: ({ ends: [a, b] }) => a.sub(b) });
      const functions = await check.compile(problem);
      const failure = await levenbergMarquardt(functions, { linearSolver: 'iterative-schur' }).catch((error) => error);
      check.equal(failure.code, 'invalid-argument');
      check.match(failure.message, /got 'iterative-schur'; takes 'auto' or 'pcg' with this problem on the GPU/);
      const result = await levenbergMarquardt(functions);
      check.ok(solverOf(result).startsWith('pcg'), solverOf(result));
    }),
  ],
};
