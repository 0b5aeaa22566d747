/**
 * The developable icosphere: L-BFGS in long slices, each with a history of its own, while the picture is drawn from the buffer that holds the last
 * accepted point.
 */
import { GpuCompiledFunctions, lbfgs } from 'residua';
import { surface } from '../surface.js';
import { creasingSphere } from './model.js';

const SUBDIVISIONS = { '1: 42 vertices': 1, '2: 162': 2, '3: 642': 3, '4: 2,562': 4, '5: 10,242': 5, '6: 40,962': 6, '7: 163,842': 7 };
/** What a slice may take: a new one forgets the history, so it is long where the picture shows what happens meanwhile. */
const SLICE = { gpu: { maxIterations: 1000, maxTimeMs: 4000 }, cpu: { maxIterations: 25, maxTimeMs: 500 } };
/** After so many the sphere has found its creases, and what follows is hardly seen. */
const ENOUGH = 3000;
const ALL_TOLERANCES_OFF = { costTolerance: 0, gradientTolerance: 0, parameterTolerance: 0 };

/** @param {import('../stage.js').Stage} stage */
export async function open(stage) {
  const wished = stage.wish('subdivisions', 3);
  const choices = { subdivisions: Object.values(SUBDIVISIONS).includes(wished) ? wished : 3, 'history size': 10 };
  let sphere = null, mesh = null, functions = null;
  let iterations = 0, cost = NaN;

  function build() {
    sphere = creasingSphere(choices.subdivisions);
    if (mesh !== null) {
      stage.letGo(mesh.geometry.attributes.position);
      mesh.removeFromParent();
      mesh.geometry.dispose();
      mesh.material.dispose();
    }
    functions?.dispose();
    functions = null;
    mesh = surface(stage, sphere);
    iterations = 0;
  }

  const demo = {
    async compile(backend) {
      const old = functions;
      const count = (sphere.positions.length / 3).toLocaleString('en-US');
      stage.say(`Compiling the energy of ${count} vertices…`);
      functions = await GpuCompiledFunctions.compile(sphere.problem, {
        backend, context: stage.context ?? undefined, signal: stage.signal,
        onProgress: (done, total, what) => stage.say(`Compiling the energy of ${count} vertices: ${what}, ${done} of ${total}.`),
      });
      stage.drawFrom(mesh.geometry.attributes.position, functions, sphere.vertices);
      old?.dispose();
      stage.say(`${count} vertices, ${(sphere.triangles.length / 3).toLocaleString('en-US')} triangles, ${functions.numResiduals.toLocaleString('en-US')} terms in ${functions.kernelCount} kernels.`);
    },
    async step() {
      const result = await lbfgs(functions, {
        ...SLICE[functions.backend], ...ALL_TOLERANCES_OFF, historySize: choices['history size'], readBack: functions.backend === 'cpu',
        signal: stage.interruption(),
        onIteration: (summary) => stage.plotCost(summary.iteration, summary.cost),
      });
      iterations += result.iterations;
      cost = result.finalCost;
      const stuck = result.iterations === 0 && result.termination !== 'aborted' && result.termination !== 'max-time';
      if (stuck) stage.say(`No further progress after ${iterations} iterations: ${result.message}`);
      else if (iterations >= ENOUGH) stage.say(`Creased, after ${iterations} iterations.`);
      return !stuck && iterations < ENOUGH;
    },
    async remember() {
      await functions.download();
    },
    async reset() {
      sphere.vertices.set(sphere.positions);
      iterations = 0;
    },
    state: () => ({ vertices: sphere.positions.length / 3, iterations, cost, positions: () => sphere.vertices.values() }),
    dispose: () => functions?.dispose(),
  };

  build();
  stage.look({ center: [0, 0, 0], radius: 1 });
  stage.panel.add(choices, 'subdivisions', SUBDIVISIONS).onChange(() =>
    stage.between(async () => {
      build();
      await demo.compile(stage.backend);
    }, { fresh: true }));
  stage.panel.add(choices, 'history size', 1, 30, 1);
  return demo;
}
