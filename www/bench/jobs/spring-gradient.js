/** The energy of springs, ½ Σ (l − 1)², with its gradient. */
import { GpuContext } from 'residua';
import { springsProblem } from '../../problems/springs.js';
import * as jax from '../contenders/jax.js';
import { bareCopy } from '../contenders/bare-copy.js';
import { gpuClock, gpuPresent, gpuTimesPresent, gradientOnDevicePresent, onEachBackend, residua } from '../contenders/residua.js';
import * as tfjs from '../contenders/tfjs.js';
import { unable } from '../contenders/unable.js';
import { plainSprings } from '../plain/springs.js';
import { SIZES } from '../sizes.js';
import { SPRING_TOLERANCE, springMesh } from './spring-meshes.js';

const FULL = 'wall; positions given, value and whole gradient read back';
/** The number of evaluations between two reads of the GPU's clock, which may tick every 0.1 ms. */
const TIMED = 20;
const problem = ({ positions, edges }) => springsProblem(positions, edges, 1);
const BACK = 'wall; positions stay on the GPU, value and whole gradient read back into';
const LEFT = 'wall; positions and gradient stay on the GPU, value read back';

const plainLoop = {
  name: 'plain loop', timing: 'wall; in place', precision: 'f64', known: true,
  prepare({ positions, edges, size }) {
    const springs = plainSprings(edges, 1), gradient = new Float64Array(3 * size);
    return { run: () => ({ value: springs.costWithGradient(positions, gradient), gradient }) };
  },
};

export const springGradient = {
  name: 'spring-gradient',
  title: 'Spring energy with gradient',
  unit: 'vertices',
  sizes: SIZES,
  input: springMesh,
  tolerance: SPRING_TOLERANCE,
  contenders: [
    plainLoop,
    ...onEachBackend({
      timing: FULL,
      problem,
      attempt: (functions, _, { positions }) => ({ run: () => functions.evaluateCostWithGradient(positions) }),
    }),
    residua('gpu', {
      variant: 'gradient left on the GPU', timing: LEFT, problem, absent: gradientOnDevicePresent,
      attempt: (functions) => ({
        async run() {
          const { value } = await functions.evaluateCostWithGradientOnDevice();
          return { value };
        },
      }),
    }),
    residua('gpu', {
      variant: 'whole gradient read back', timing: `${BACK} a fresh array`, problem,
      attempt: (functions) => ({ run: () => functions.evaluateCostWithGradient() }),
    }),
    residua('gpu', {
      variant: 'whole gradient into an array that is kept', timing: `${BACK} the array of the call before`, problem,
      attempt(functions) {
        const gradient = new Float64Array(functions.numParams);
        return { run: () => functions.evaluateCostWithGradient(undefined, gradient) };
      },
    }),
    {
      name: 'bare copy of a gradient', timing: 'wall; copied into a mappable buffer, mapped, copied to a typed array, nothing computed', precision: 'f32', absent: gpuPresent, known: true,
      prepare: bareCopy,
    },
    { name: 'jax-js', timing: FULL, precision: 'f32', absent: jax.jaxOnGpu, prepare: (input) => jax.springGradient(input, true) },
    { name: 'jax-js, gradient left on the GPU', timing: LEFT, precision: 'f32', absent: jax.jaxOnGpu, prepare: (input) => jax.springGradient(input, false) },
    { name: 'TensorFlow.js', timing: FULL, precision: 'f32', absent: tfjs.tfjsOnGpu, prepare: (input) => tfjs.springGradient(input, true) },
    { name: 'TensorFlow.js, gradient left on the GPU', timing: LEFT, precision: 'f32', absent: tfjs.tfjsOnGpu, prepare: (input) => tfjs.springGradient(input, false) },
    unable('ml-levenberg-marquardt', 'it has no call for a cost with its gradient'),
  ],
};

/**
 * The same by the GPU's clock, in a context of its own. In a page with several devices each waits for the others, so this is not a
 * contender of the job above.
 */
export const springGradientGpuTime = {
  name: 'spring-gradient-gpu-time',
  title: 'Spring energy with gradient: time of the GPU',
  unit: 'vertices',
  sizes: SIZES,
  input: springMesh,
  tolerance: SPRING_TOLERANCE,
  contenders: [
    plainLoop,
    residua('gpu', {
      variant: 'GPU time', timing: `GPU time of its kernels, by timestamps with a pass each; mean of ${TIMED} evaluations`, problem,
      growth: 0, absent: () => gradientOnDevicePresent().then(gpuTimesPresent), createContext: () => GpuContext.create({ profile: true }),
      async attempt(functions, _, __, context) {
        const elapsed = gpuClock(context);
        await functions.evaluateCostWithGradientOnDevice();
        await elapsed();
        return {
          ownTime: true, units: TIMED,
          async run() {
            let value;
            for (let k = 0; k < TIMED; k++) ({ value } = await functions.evaluateCostWithGradientOnDevice());
            const { ms, dispatches } = await elapsed();
            return { value, ms, notes: { 'dispatches an evaluation': dispatches / TIMED } };
          },
        };
      },
    }),
  ],
};
