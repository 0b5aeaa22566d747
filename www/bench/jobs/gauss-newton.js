/**
 * One Gauss-Newton step on springs with ten iterations of conjugate gradients. The plain loop and residua damp by 1e-3·diag(JᵀJ),
 * precondition with diagonal blocks, and compute the cost after the step, so their costs agree. The peers damp by the identity and do not
 * precondition, which is less work; their cost before the step is compared.
 */
import { levenbergMarquardt } from 'residua';
import { springsProblem } from '../../problems/springs.js';
import * as jax from '../contenders/jax.js';
import { onEachBackend, residua } from '../contenders/residua.js';
import * as tfjs from '../contenders/tfjs.js';
import { unable } from '../contenders/unable.js';
import { levenbergMarquardt as plainLevenbergMarquardt, workspace } from '../plain/levenberg-marquardt.js';
import { plainSprings } from '../plain/springs.js';
import { SIZES } from '../sizes.js';
import { SPRING_TOLERANCE, springMesh } from './spring-meshes.js';

const ITERATIONS = 10;
const WITHOUT_TESTS = { costTolerance: 0, gradientTolerance: 0, parameterTolerance: 0, linearTolerance: 0, maxLinearIterations: ITERATIONS };

const attempt = (steps) => (functions, { vertices }, { positions }) => ({
  units: steps,
  // The start is uploaded before the time is measured.
  before: async () => {
    vertices.set(positions);
    await functions.evaluateCostWithGradient();
  },
  async run() {
    const options = { ...WITHOUT_TESTS, maxIterations: steps, readBack: false, ...(functions.backend === 'cpu' ? { linearSolver: 'pcg' } : {}) };
    const result = await levenbergMarquardt(functions, options);
    const after = result.history.find((entry) => entry.iteration === 1)?.cost ?? result.finalCost;
    return { value: after, notes: { 'final cost': result.finalCost, iterations: result.iterations } };
  },
});
const problem = ({ positions, edges }) => springsProblem(positions, edges, 1);
const peerTiming = 'wall; one step, cost read back';

export const gaussNewton = {
  name: 'gauss-newton',
  title: 'One Gauss-Newton step with 10 iterations of conjugate gradients',
  unit: 'vertices',
  sizes: SIZES,
  input: springMesh,
  // Conjugate gradients amplify the rounding of the first iteration: random springs are ill-conditioned, and ten iterations lose two
  // digits.
  tolerance: { f64: { value: 1e-8 }, f32: { value: 100 * SPRING_TOLERANCE.f32.value } },
  contenders: [
    {
      name: 'plain loop', timing: 'wall; one step, in place', precision: 'f64', known: true,
      prepare({ positions, edges, size }) {
        const springs = plainSprings(edges, 1), space = workspace(3 * size);
        return {
          run() {
            const { finalCost, initialCost } = plainLevenbergMarquardt(springs, positions, { ...WITHOUT_TESTS, maxIterations: 1 }, space);
            return { value: finalCost, start: initialCost };
          },
        };
      },
    },
    ...onEachBackend({ timing: 'wall; one step by itself, its figures read back', problem, attempt: attempt(1) }),
    residua('gpu', { variant: 'a step of twenty', timing: 'wall; twenty steps in one solve, figures read back, divided', problem, attempt: attempt(20) }),
    { name: 'jax-js', timing: peerTiming, precision: 'f32', absent: jax.jaxOnGpu, prepare: (input) => jax.gaussNewtonStep(input, ITERATIONS) },
    { name: 'TensorFlow.js', timing: peerTiming, precision: 'f32', absent: tfjs.tfjsOnGpu, prepare: (input) => tfjs.gaussNewtonStep(input, ITERATIONS) },
    unable('ml-levenberg-marquardt', 'it has no conjugate gradients: its steps solve dense normal equations'),
  ],
};
