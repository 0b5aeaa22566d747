/**
 * A parametrisation of a hilly mesh by the symmetric Dirichlet energy, from Tutte's embedding: Newton's method on the GPU, by conjugate gradients in f32,
 * against the CPU, by a factorisation in f64. Each solve begins at the same start; the first of a page contains what the browser's compilers do once.
 *
 * Parameters: `triangles` (about so many), `reps`, `backends` (`gpu,cpu`), `tolerance` (`costTolerance`).
 */
import { GpuCompiledFunctions, newton } from 'residua';
import { hillyMesh, symmetricDirichlet, tutte } from '../problems/parametrisation.js';
import { numbers } from './parameters.js';

export const name = 'parametrisation';
/** Runs only when selected by name: the CPU takes seconds for each solve. */
export const onDemand = true;
export const title = "Parametrisation of a mesh by Newton's method";

/** Milliseconds by stage, as the report of a solve has them. */
function stages(report) {
  const of = (stage) => Number(new RegExp(`^ {2}${stage} +([\\d.]+)$`, 'm').exec(report)?.[1]);
  return Object.fromEntries(['setup', 'Hessian', 'linear solver', 'trials'].map((stage) => [`${stage}, ms`, of(stage)]));
}

export async function run(parameters, report, progress) {
  const one = (key, standard) => numbers(parameters, key, [standard])[0];
  const [size, reps] = [Math.max(2, Math.round(Math.sqrt(one('triangles', 100_000) / 2))), one('reps', 5)];
  const costTolerance = Number(parameters.get('tolerance') ?? 1e-6);
  progress('Embedding the mesh…', true);
  const mesh = hillyMesh(size);
  const { start } = await tutte(mesh);
  const costs = {};
  for (const backend of parameters.get('backends')?.split(',') ?? ['gpu', 'cpu']) {
    const { problem, places } = symmetricDirichlet(mesh, start);
    progress(`Compiling for ${backend}…`, true);
    const began = performance.now();
    const functions = await GpuCompiledFunctions.compile(problem, { backend });
    const compiled = performance.now() - began;
    const times = [];
    let result;
    try {
      for (let rep = 0; rep <= reps; rep++) {
        progress(`Solve ${rep} on ${backend}…`, true);
        places.set(start);
        // The start is uploaded before the time is measured.
        await functions.evaluateSumWithGradient();
        const before = performance.now();
        result = await newton(functions, { costTolerance });
        times.push(performance.now() - before);
      }
    } finally {
      functions.dispose();
    }
    costs[backend] = result.finalCost;
    const [first, ...later] = times;
    later.sort((a, b) => a - b);
    report({
      backend, arithmetic: result.arithmetic, triangles: mesh.triangles.length, parameters: start.length, 'compile, ms': compiled, 'first solve, ms': first,
      'least, ms': later[0], 'median, ms': later[later.length >> 1], steps: result.iterations, termination: result.termination, 'final cost': result.finalCost,
      'promise, relative': result.newtonDecrement / result.finalCost, ...stages(result.report()),
      'linear iterations': result.history.slice(1).map(({ linearIterations }) => linearIterations).join(' '),
      'step sizes': result.history.slice(1).map(({ stepSize }) => stepSize.toPrecision(2)).join(' '),
      ...(costs.gpu === undefined || costs.cpu === undefined ? {} : { 'GPU over CPU, minimum': costs.gpu / costs.cpu - 1 }),
    });
  }
}
