/** The energy of springs, ½ Σ (l − 1)², with its gradient. */
import { springsProblem } from '../../problems/springs.js';
import * as jax from '../contenders/jax.js';
import { onEachBackend } from '../contenders/residua.js';
import * as tfjs from '../contenders/tfjs.js';
import { unable } from '../contenders/unable.js';
import { plainSprings } from '../plain/springs.js';
import { SIZES } from '../sizes.js';
import { SPRING_TOLERANCE, springMesh } from './spring-meshes.js';

const FULL = 'wall; positions given, value and whole gradient read back';
const LEFT = 'wall; positions and gradient stay on the GPU, value read back';

export const springGradient = {
  name: 'spring-gradient',
  title: 'Spring energy with gradient',
  unit: 'vertices',
  sizes: SIZES,
  input: springMesh,
  tolerance: SPRING_TOLERANCE,
  contenders: [
    {
      name: 'plain loop', timing: 'wall; in place', precision: 'f64', known: true,
      prepare({ positions, edges, size }) {
        const springs = plainSprings(edges, 1), gradient = new Float64Array(3 * size);
        return { run: () => ({ value: springs.costWithGradient(positions, gradient), gradient }) };
      },
    },
    ...onEachBackend({
      timing: FULL,
      problem: ({ positions, edges }) => springsProblem(positions, edges, 1),
      attempt: (functions, _, { positions }) => ({ run: () => functions.evaluateCostWithGradient(positions) }),
    }),
    { name: 'jax-js', timing: FULL, precision: 'f32', absent: jax.jaxOnGpu, prepare: (input) => jax.springGradient(input, true) },
    { name: 'jax-js, gradient left on the GPU', timing: LEFT, precision: 'f32', absent: jax.jaxOnGpu, prepare: (input) => jax.springGradient(input, false) },
    { name: 'TensorFlow.js', timing: FULL, precision: 'f32', absent: tfjs.tfjsOnGpu, prepare: (input) => tfjs.springGradient(input, true) },
    { name: 'TensorFlow.js, gradient left on the GPU', timing: LEFT, precision: 'f32', absent: tfjs.tfjsOnGpu, prepare: (input) => tfjs.springGradient(input, false) },
    unable('ml-levenberg-marquardt', 'it has no call for a cost with its gradient'),
  ],
};
