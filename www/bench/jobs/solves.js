/**
 * Complete solves: a net of springs whose rest lengths are those of a wave sheet, with each vertex attached to a noisy position, which is
 * its start. The attachment gives one well-determined minimum at every size. All contenders have the same stopping tests, or get them as
 * options; the notes say which test ended a solve.
 */
import { lbfgs, levenbergMarquardt } from 'residua';
import { edgeLengths } from '../../energies/developable.js';
import { springsProblem } from '../../problems/springs.js';
import * as jax from '../contenders/jax.js';
import { peer } from '../contenders/peers.js';
import { onEachBackend } from '../contenders/residua.js';
import * as tfjs from '../contenders/tfjs.js';
import { unable } from '../contenders/unable.js';
import { lbfgs as plainLbfgs } from '../plain/lbfgs.js';
import { levenbergMarquardt as plainLevenbergMarquardt, workspace } from '../plain/levenberg-marquardt.js';
import { PlainNet } from '../plain/net.js';
import { SIZES } from '../sizes.js';
import { waveSheet } from './sheet-meshes.js';
import { springMesh } from './spring-meshes.js';

const PULL = 0.5;
const TESTS = { maxIterations: 200, costTolerance: 1e-6, gradientTolerance: 1e-6, parameterTolerance: 1e-8 };

function input(vertices) {
  const { size, edges, positions: random, residuals } = springMesh(vertices);
  const { positions: sheet } = waveSheet(vertices);
  const restLengths = edgeLengths(sheet, edges).map(Math.fround);
  // Random numbers in [0, 10) become noise in [−0.3, 0.3).
  const places = sheet.map((number, i) => Math.fround(number + 0.06 * (random[i] - 5)));
  return { size, edges, restLengths, places, pull: PULL, positions: places, residuals: residuals + 3 * size };
}

const plainNet = ({ edges, restLengths, places, pull }) => new PlainNet(edges, restLengths, places, pull);

function problem({ positions, edges, restLengths, places, pull, size }) {
  const made = springsProblem(positions, edges, restLengths);
  made.problem.residuals('pulls', {
    inputs: { vertex: made.vertices.at(Uint32Array.from({ length: size }, (_, vertex) => vertex)), place: made.problem.data(places, 3) },
    residual: ({ vertex, place }) => vertex.sub(place).mul(pull),
  });
  return made;
}

const told = (result) => ({
  value: result.finalCost,
  notes: { termination: result.termination, iterations: result.iterations, 'cost before': result.initialCost },
});

const onResidua = (solver, options) => onEachBackend({
  timing: 'wall; start given, numbers and figures read back',
  problem,
  attempt: (functions, { vertices }, mesh) => ({
    before: () => vertices.set(mesh.positions),
    run: () => solver(functions, options),
    after: told,
  }),
});

/** Steps shrink by a constant factor near the minimum, so a change of 1e-6 leaves a few times that. */
const TOLERANCE = { f64: { value: 1e-5 }, f32: { value: 1e-4 } };
/** The entries of a dense Jacobian of doubles. */
const MOST_ENTRIES = 1 << 20;

export const lmSolve = {
  name: 'lm-solve',
  title: 'A whole solve by Levenberg-Marquardt: a net pulled to noisy places',
  unit: 'vertices',
  sizes: SIZES,
  input,
  tolerance: TOLERANCE,
  contenders: [
    {
      name: 'plain loop', timing: 'wall; in place', precision: 'f64', known: true,
      prepare(mesh) {
        const net = plainNet(mesh);
        const space = workspace(mesh.positions.length);
        return { run: () => plainLevenbergMarquardt(net, mesh.positions, TESTS, space), after: told };
      },
    },
    ...onResidua(levenbergMarquardt, TESTS),
    {
      name: 'ml-levenberg-marquardt', timing: 'wall; derivatives by hand; as many iterations as the plain loop takes, for want of its tests', precision: 'f64', growth: 3,
      absent: () => peer('ml-levenberg-marquardt'),
      cannot: ({ residuals, size }) => (residuals * 3 * size > MOST_ENTRIES ? `its Jacobian is dense: ${residuals} × ${3 * size} numbers` : undefined),
      prepare: curveOfNet,
    },
    unable('jax-js', 'it brings no least-squares solver'),
    unable('TensorFlow.js', 'it brings no least-squares solver'),
  ],
};

/**
 * ml-levenberg-marquardt fits curves: here the samples are the springs' lengths, followed by the coordinates times the weight of the
 * attachment.
 */
async function curveOfNet(mesh) {
  const { levenbergMarquardt: fit } = await peer('ml-levenberg-marquardt');
  const { edges, restLengths, places, pull, residuals } = mesh;
  const net = plainNet(mesh);
  const { iterations } = plainLevenbergMarquardt(net, mesh.positions, TESTS);
  const springs = restLengths.length;
  const sideOf = (x, e) => [0, 1, 2].map((d) => x[3 * edges[2 * e] + d] - x[3 * edges[2 * e + 1] + d]);
  const model = (x) => (sample) => (sample < springs ? Math.hypot(...sideOf(x, sample)) : pull * x[sample - springs]);
  const jacobianFunction = (x) => (sample) => {
    const row = Array.from({ length: x.length }, () => 0);
    if (sample >= springs) {
      row[sample - springs] = pull;
      return row;
    }
    const side = sideOf(x, sample), length = Math.hypot(...side);
    for (let d = 0; d < 3; d++) {
      row[3 * edges[2 * sample] + d] = side[d] / length;
      row[3 * edges[2 * sample + 1] + d] = -side[d] / length;
    }
    return row;
  };
  const data = { x: Array.from({ length: residuals }, (_, sample) => sample), y: [...restLengths, ...places.map((place) => pull * place)] };
  const options = { initialValues: Array.from(mesh.positions), jacobianFunction, damping: 1e-3, errorTolerance: 0, maxIterations: iterations };
  return {
    run: () => fit(data, model, options),
    after: ({ parameterValues, iterations }) => told({ finalCost: net.cost(parameterValues), initialCost: net.cost(mesh.positions), iterations, termination: 'max-iterations' }),
  };
}

/** The plain L-BFGS over the evaluation of another library. */
const hosted = (name, library, absent) => ({
  name, precision: 'f32', timing: 'wall; its value and gradient, the minimiser of the plain loop', absent,
  async prepare(mesh) {
    const cost = await library.netEvaluator(mesh);
    // In single precision the relative length of a step is accurate to 1e-6.
    return { run: () => plainLbfgs(cost.evaluate, mesh.positions, { ...TESTS, parameterTolerance: 1e-6 }), after: told, dispose: cost.dispose };
  },
});

export const lbfgsSolve = {
  name: 'lbfgs-solve',
  title: 'A whole solve by L-BFGS: a net pulled to noisy places',
  unit: 'vertices',
  sizes: SIZES,
  input,
  // A change of 1e-6 in one iteration may leave a hundred times that.
  tolerance: { f64: { value: 1e-3 }, f32: { value: 1e-3 } },
  contenders: [
    {
      name: 'plain loop', timing: 'wall; in place', precision: 'f64', known: true,
      prepare(mesh) {
        const net = plainNet(mesh);
        const evaluate = (x) => ({ value: net.costWithGradient(x), gradient: net.gradient });
        return { run: () => plainLbfgs(evaluate, mesh.positions, TESTS), after: told };
      },
    },
    ...onResidua(lbfgs, { ...TESTS, objective: 'least-squares' }),
    hosted('jax-js', jax, jax.jaxOnGpu),
    hosted('TensorFlow.js', tfjs, tfjs.tfjsOnGpu),
    unable('ml-levenberg-marquardt', 'it has no L-BFGS'),
  ],
};
