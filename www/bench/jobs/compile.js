/**
 * Compiling, with recording and pipelines: the problem form (index arrays) and the params form (one written expression per residual). Each
 * compile on the GPU has a context of its own, so that no pipeline exists; the browser's own shader cache remains. The result is then
 * evaluated, without timing, and its cost compared.
 */
import { GpuCompiledFunctions, GpuContext, Vec3 } from 'residua';
import { springResidual, springsProblem } from '../../problems/springs.js';
import { gpuPresent } from '../contenders/residua.js';
import { unable } from '../contenders/unable.js';
import { plainSprings } from '../plain/springs.js';
import { SIZES } from '../sizes.js';
import { SPRING_TOLERANCE, springMesh } from './spring-meshes.js';

/** Above this size the params form needs more memory for expressions than a page has. */
const MOST_WRITTEN_OUT = 1_200_000;

const FORMS = {
  problem: ({ positions, edges }, options) => GpuCompiledFunctions.compile(springsProblem(positions, edges, 1).problem, options),
  params: ({ edges }, options, params) => GpuCompiledFunctions.compile(params, (values) => {
    const at = (vertex) => new Vec3(values[3 * vertex], values[3 * vertex + 1], values[3 * vertex + 2]);
    const residuals = [];
    for (let e = 0; e < edges.length; e += 2) residuals.push(springResidual(at(edges[e]), at(edges[e + 1]), 1));
    return residuals;
  }, options),
};

const compiles = (form, backend) => ({
  name: `residua ${backend === 'gpu' ? 'GPU' : 'CPU'}, ${form} form`,
  timing: backend === 'gpu' ? 'wall; recording, derivatives, tables, pipelines' : 'wall; recording, derivatives, WebAssembly',
  precision: backend === 'gpu' ? 'f32' : 'f64',
  absent: backend === 'gpu' ? gpuPresent : undefined,
  cannot: ({ residuals }) => (form === 'params' && residuals > MOST_WRITTEN_OUT ? 'the params form is for up to about a million residuals' : undefined),
  async prepare(input) {
    const params = [];
    if (form === 'params') for (let i = 0; i < input.positions.length; i += 3) params.push(...Vec3.W(...input.positions.subarray(i, i + 3)));
    let context;
    return {
      async before() {
        context = backend === 'gpu' ? await GpuContext.create() : undefined;
      },
      run: () => FORMS[form](input, { backend, ...(context === undefined ? {} : { context }) }, params),
      async after(functions) {
        const { value } = await functions.evaluateCostWithGradient();
        const notes = { kernels: functions.kernelCount, ...functions.compileTimes };
        functions.dispose();
        context?.dispose();
        return { value, notes };
      },
    };
  },
});

export const compile = {
  name: 'compile',
  title: 'Compile time, springs',
  unit: 'vertices',
  sizes: SIZES,
  input: springMesh,
  tolerance: SPRING_TOLERANCE,
  contenders: [
    {
      name: 'plain loop', timing: 'wall; arrays made, nothing to compile', precision: 'f64', known: true,
      prepare: ({ positions, edges, size }) => ({
        run: () => ({ springs: plainSprings(edges, 1), gradient: new Float64Array(3 * size) }),
        after: ({ springs, gradient }) => ({ value: springs.costWithGradient(positions, gradient) }),
      }),
    },
    compiles('problem', 'gpu'),
    compiles('problem', 'cpu'),
    compiles('params', 'gpu'),
    compiles('params', 'cpu'),
    unable('jax-js', 'it traces and compiles in its first call: see the first times of the other jobs'),
    unable('TensorFlow.js', 'it makes its shaders in its first call: see the first times of the other jobs'),
    unable('ml-levenberg-marquardt', 'it has nothing to compile'),
  ],
};
