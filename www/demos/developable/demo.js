/**
 * The developable icosphere: L-BFGS in long slices, each with its own history pairs, while the picture is drawn from the buffer with the
 * last accepted point.
 */
import { GpuCompiledFunctions, lbfgs } from 'residua';
import { surface } from '../surface.js';
import { creasingSphere } from './model.js';

const SUBDIVISIONS = { '1: 42 vertices': 1, '2: 162': 2, '3: 642': 3, '4: 2,562': 4, '5: 10,242': 5, '6: 40,962': 6, '7: 163,842': 7 };
/** The duration of a slice: a new one has no history, so it is long where the picture is updated meanwhile. */
const SLICE = { gpu: { maxIterations: 1000, maxTimeMs: 4000 }, cpu: { maxIterations: 25, maxTimeMs: 500 } };
/** This many iterations with a smaller relative decrease of the cost have no visible effect. */
const JUDGED_EVERY = 1000, HARDLY = 1e-4;
const ALL_TOLERANCES_OFF = { costTolerance: 0, gradientTolerance: 0, parameterTolerance: 0 };

/** @param {import('../stage.js').Stage} stage */
export async function open(stage) {
  const wished = stage.wish('subdivisions', 3);
  const choices = { subdivisions: Object.values(SUBDIVISIONS).includes(wished) ? wished : 3, 'history size': 10 };
  let sphere = null, mesh = null, functions = null;
  let iterations = 0, cost = NaN;
  let judged = { iterations: 0, cost: Infinity };

  const counted = (count) => count.toLocaleString('en-US');

  function startAgain() {
    iterations = 0;
    judged = { iterations: 0, cost: Infinity };
  }

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
    startAgain();
  }

  const demo = {
    async compile(backend) {
      const old = functions;
      const count = counted(sphere.positions.length / 3);
      stage.say(`Compiling the energy of ${count} vertices…`);
      functions = await GpuCompiledFunctions.compile(sphere.problem, {
        backend, context: stage.context ?? undefined, signal: stage.signal,
        onProgress: (done, total, what) => stage.say(`Compiling the energy of ${count} vertices: ${what}, ${done} of ${total}.`),
      });
      stage.drawFrom(mesh.geometry.attributes.position, functions, sphere.vertices);
      old?.dispose();
      stage.say(`${count} vertices, ${counted(sphere.triangles.length / 3)} triangles, ${counted(functions.numResiduals)} terms in ${functions.kernelCount} kernels.`);
    },
    async step() {
      const result = await lbfgs(functions, {
        ...SLICE[functions.backend], ...ALL_TOLERANCES_OFF, historySize: choices['history size'], readBack: functions.backend === 'cpu',
        signal: stage.interruption(),
        onIteration: (summary) => stage.plotCost(summary.iteration, summary.cost),
      });
      iterations += result.iterations;
      cost = result.finalCost;
      if (!['aborted', 'max-time', 'max-iterations'].includes(result.termination)) {
        stage.say(`No further progress after ${counted(iterations)} iterations: ${result.message}`);
        return false;
      }
      if (iterations - judged.iterations < JUDGED_EVERY) return true;
      const gained = judged.cost - cost;
      judged = { iterations, cost };
      if (!(gained < HARDLY * cost)) return true;
      stage.say(`Creased, after ${counted(iterations)} iterations.`);
      return false;
    },
    async remember() {
      await functions.download();
    },
    async reset() {
      sphere.vertices.set(sphere.positions);
      startAgain();
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
