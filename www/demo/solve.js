/**
 * The solve of the demonstration: makes a mesh developable with residua and measures the run. Takes a mesh and options; returns the
 * positions, the measurements and the history of the cost. It does not use the page.
 */
import { GpuCompiledFunctions, GpuContext, lbfgs } from 'residua';
import { developableEnergies, developableProblem, edgeLengths } from '../energies/developable.js';
import { perturb } from '../mesh/perturb.js';
import { meshTopology } from '../mesh/topology.js';

export { GpuContext };

/** A mean cost per residual below this is rounding, with nothing left to minimise. */
const NOTHING_TO_DO = 1e-9;
/** The displacement of such a mesh, relative to its mean edge length. */
const DISPLACEMENT = 0.02;

/** The name of an adapter in the table. */
export function adapterName({ vendor, architecture, description, isSoftware }) {
  const words = [vendor, architecture, description].filter((word) => word !== '');
  return `${words.length > 0 ? words.join(' ') : 'unnamed GPU'}${isSoftware ? ' (software)' : ''}`;
}

/** Compiles the energy of a mesh in one of the two forms. */
function compileEnergy(mesh, topology, restLengths, form, options) {
  if (form === 'params') {
    const { params, energies } = developableEnergies(mesh, topology, restLengths);
    return GpuCompiledFunctions.compile(params, energies, options);
  }
  return GpuCompiledFunctions.compile(developableProblem(mesh, topology, restLengths).problem, options);
}

/**
 * Minimises the developability energy. All tolerances are 0, so that every engine runs the same number of iterations.
 *
 * @param {{ positions: Float64Array, triangles: Uint32Array }} mesh
 * @param {{
 *   backend: 'gpu' | 'cpu', form?: 'problem' | 'params', iterations?: number, signal?: AbortSignal,
 *   onCompiling?: (done: number, total: number, stage: string) => void,
 *   onStart?: (start: { functions: GpuCompiledFunctions, positions: Float64Array }) => void,
 *   onIteration?: (summary: import('residua').IterationSummary) => void,
 *   onEnd?: (positions: Float64Array) => void, }} options `onStart` is called between compiling and solving; `onEnd` after solving, before
 * the functions and their buffers are destroyed
 * @returns the measurements, the positions before and after, the history, the termination, and notes
 */
export async function makeDevelopable(mesh, { backend, form = 'problem', iterations = 200, signal, onCompiling, onStart, onIteration, onEnd }) {
  const notes = [];
  const topology = meshTopology(mesh.positions.length / 3, mesh.triangles);
  if (topology.irregular.vertices.length > 0) {
    notes.push(`${topology.irregular.vertices.length} vertices have faces that are neither a ring nor a fan (${topology.nonManifoldEdgeCount} edges with more than two faces); they count all the same.`);
  }
  const restLengths = edgeLengths(mesh.positions, topology.edges);
  const context = backend === 'gpu' ? await GpuContext.default() : undefined;
  const options = { backend, context, onProgress: onCompiling, signal };

  let positions = mesh.positions;
  let compileStart = performance.now();
  let functions = await compileEnergy(mesh, topology, restLengths, form, options);
  let compileMs = performance.now() - compileStart;
  try {
    const { value } = await functions.evaluateSumWithGradient();
    if (value <= NOTHING_TO_DO * functions.numResiduals) {
      notes.push('The mesh is developable already; its vertices were moved a little, so that there is something to do.');
      functions.dispose();
      positions = perturb(positions, DISPLACEMENT * (restLengths.reduce((sum, length) => sum + length, 0) / restLengths.length));
      compileStart = performance.now();
      functions = await compileEnergy({ ...mesh, positions }, topology, restLengths, form, options);
      compileMs = performance.now() - compileStart;
    }
    onStart?.({ functions, positions });
    const result = await lbfgs(functions, {
      maxIterations: iterations, costTolerance: 0, gradientTolerance: 0, parameterTolerance: 0, signal, onIteration,
    });
    onEnd?.(result.x);
    const figures = {
      backend: functions.backend,
      adapter: context === undefined ? 'CPU (WebAssembly)' : adapterName(context.adapter),
      vertices: positions.length / 3, residuals: functions.numResiduals, kernels: functions.kernelCount,
      compileMs, iterations: result.iterations, initialCost: result.initialCost, finalCost: result.finalCost,
      totalMs: result.computationTime, evaluationMs: result.computationTime / result.functionEvaluations,
    };
    if (result.termination !== 'max-iterations' && result.termination !== 'aborted') notes.push(`Ended with ${result.termination} after ${result.iterations} iterations: ${result.message}`);
    return { figures, before: positions, after: result.x, history: result.history, termination: result.termination, notes };
  } finally {
    functions.dispose();
  }
}
