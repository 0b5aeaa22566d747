/**
 * The largest problem: springs on a grid of ten million vertices (`sizes` selects others) on one backend (`backend=gpu`). Measures
 * compiling, an evaluation, ten steps of Levenberg-Marquardt with ten iterations of conjugate gradients each, and the peak of GPU memory
 * per residual. It has no contenders, because no other library runs this in a page.
 */
import { GpuCompiledFunctions, GpuContext, levenbergMarquardt } from 'residua';
import { springsProblem } from '../../problems/springs.js';
import { springMesh } from './spring-meshes.js';

export const name = 'scale';
export const title = 'Ten million vertices: compile, evaluate, ten steps of Levenberg-Marquardt';
export const unit = 'vertices';
export const sizes = [10_000_000];
/** Runs only when selected by name. */
export const onDemand = true;

const STEPS = 10;
const FIXED = { maxIterations: STEPS, costTolerance: 0, gradientTolerance: 0, parameterTolerance: 0, linearTolerance: 0, maxLinearIterations: 10, readBack: false };

export async function run(query, tell, progress, settings) {
  const backend = query.get('backend') ?? 'gpu';
  for (const size of settings.sizes) {
    progress(`${title}: ${size.toLocaleString('en-US')} vertices`, true);
    await new Promise((resolve) => setTimeout(resolve));
    const mesh = springMesh(size);
    const context = backend === 'gpu' ? await GpuContext.create() : undefined;
    const at = { vertices: mesh.size, residuals: mesh.residuals, backend };
    const clock = async (stage, work, timing) => {
      progress(`${title}: ${stage}`, true);
      const began = performance.now();
      const result = await work();
      const ms = performance.now() - began;
      const stats = context?.stats();
      tell({
        ...at, stage, ms, timing,
        'live GPU bytes a residual': stats && stats.bufferBytes / mesh.residuals, 'peak GPU bytes a residual': stats && stats.peakBufferBytes / mesh.residuals,
        ...(stage === 'compile' ? { value: undefined } : { value: result.value ?? result.finalCost }),
      });
      return result;
    };
    let functions;
    try {
      const { problem } = springsProblem(mesh.positions, mesh.edges, 1);
      functions = await clock('compile', () => GpuCompiledFunctions.compile(problem, { backend, ...(context === undefined ? {} : { context }) }), 'wall; pipelines included');
      await clock('cost with gradient', () => functions.evaluateCostWithGradient(), 'wall; whole gradient read back; first call');
      await clock('cost with gradient, again', () => functions.evaluateCostWithGradient(), 'wall; whole gradient read back');
      const options = { ...FIXED, ...(backend === 'cpu' ? { linearSolver: 'pcg' } : {}) };
      await clock(`${STEPS} steps`, () => levenbergMarquardt(functions, options), 'wall; figures read back; first call');
      await clock(`${STEPS} steps, again`, () => levenbergMarquardt(functions, options), 'wall; figures read back');
    } catch (error) {
      tell({ ...at, stage: 'failed', reason: `${error?.code ?? ''} ${error?.message ?? error}` });
    } finally {
      functions?.dispose();
      context?.dispose();
    }
  }
}
