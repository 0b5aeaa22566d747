/**
 * As-rigid-as-possible deformation of a wave sheet: the first column of vertices is constant, and so is the last, lifted and rotated. The
 * unknowns are all other vertices and a rotation for each; edges have equal weights. Two jobs: cost with gradient at a deformed state, and
 * five steps of Levenberg-Marquardt with twenty iterations of conjugate gradients each, from rest.
 */
import { levenbergMarquardt } from 'residua';
import { rigidInstances, rigidProblem } from '../../problems/as-rigid-as-possible.js';
import * as jax from '../contenders/jax-rigid.js';
import { onEachBackend } from '../contenders/residua.js';
import { tfjsOnGpu } from '../contenders/tfjs.js';
import * as tfjs from '../contenders/tfjs-rigid.js';
import { unable } from '../contenders/unable.js';
import { levenbergMarquardt as plainLevenbergMarquardt, workspace } from '../plain/levenberg-marquardt.js';
import { PlainRigid } from '../plain/rigid.js';
import { SIZES } from '../sizes.js';
import { waveSheetWithTopology } from './sheet-meshes.js';

const STEPS = 5;
const ITERATIONS = 20;
const FIXED = { maxIterations: STEPS, costTolerance: 0, gradientTolerance: 0, parameterTolerance: 0, linearTolerance: 0, maxLinearIterations: ITERATIONS };

export function deformation(vertices) {
  const sheet = waveSheetWithTopology(vertices);
  const { size, rows, columns, positions, topology } = sheet;
  const weights = new Float64Array(topology.edges.length / 2).fill(1);
  const held = [], targets = [];
  for (let row = 0; row < rows; row++) {
    const first = row * columns, last = first + columns - 1;
    held.push(first, last);
    targets.push([...positions.subarray(3 * first, 3 * first + 3)]);
    // Rotated by half a radian about the sheet's middle line, and lifted by a tenth of its width; exact in single precision.
    const [x, y, z] = positions.subarray(3 * last, 3 * last + 3), middle = (rows - 1) / 2;
    const [cosine, sine] = [Math.cos(0.5), Math.sin(0.5)];
    targets.push([x, middle + cosine * (y - middle) - sine * z, sine * (y - middle) + cosine * z + columns / 10].map(Math.fround));
  }
  // The numbers of all vertices, then all quaternions, at rest with the handles at their targets.
  const start = new Float64Array(7 * size);
  start.set(positions);
  held.forEach((vertex, k) => start.set(targets[k], 3 * vertex));
  for (let vertex = 0; vertex < size; vertex++) start[3 * size + 4 * vertex] = 1;
  // A deformed state, with unit quaternions in single precision.
  const deformed = start.slice();
  for (let i = 0; i < 3 * size; i++) deformed[i] = Math.fround(deformed[i] + 0.2 * Math.sin(7 * i));
  for (let vertex = 0; vertex < size; vertex++) {
    const q = [1, 0.2 * Math.sin(vertex), 0.1 * Math.cos(3 * vertex), 0.3 * Math.sin(5 * vertex)];
    const length = Math.hypot(...q);
    for (let d = 0; d < 4; d++) deformed[3 * size + 4 * vertex + d] = Math.fround(q[d] / length);
  }
  const instances = rigidInstances(positions, topology.edges, weights);
  return { ...sheet, weights, handles: { vertices: held, targets }, start, deformed, instances, residuals: 3 * topology.edges.length };
}

const problem = (sheet) => rigidProblem(sheet, sheet.topology, sheet.handles, sheet.weights);
const noLeastSquares = unable('ml-levenberg-marquardt', 'it fits curves: its model has one number for each sample, its normal equations are dense');

export const rigidGradient = {
  name: 'rigid-gradient',
  title: 'As-rigid-as-possible deformation: cost with gradient',
  unit: 'vertices',
  sizes: SIZES,
  input: deformation,
  // As for springs: differences of coordinates that are exact in single precision, and about fifty operations.
  tolerance: { f64: { value: 1e-10, gradient: 1e-10 }, f32: { value: 2e-5, gradient: 2e-5 } },
  contenders: [
    {
      name: 'plain loop', timing: 'wall; in place', precision: 'f64', known: true,
      prepare({ instances, size, handles, deformed }) {
        const rigid = new PlainRigid(instances, size, handles.vertices);
        return { run: () => ({ value: rigid.costWithGradient(deformed), gradient: rigid.gradient }) };
      },
    },
    ...onEachBackend({
      timing: 'wall; numbers given, value and whole gradient read back into the array of the call before',
      problem,
      attempt(functions, _, { deformed }) {
        const into = new Float64Array(deformed.length);
        return { run: () => functions.evaluateCostWithGradient(deformed, into) };
      },
    }),
    { name: 'jax-js', timing: 'wall; numbers given, value and whole gradient read back', precision: 'f32', absent: jax.present, prepare: (sheet) => jax.rigidGradient(sheet) },
    { name: 'TensorFlow.js', timing: 'wall; numbers given, value and whole gradient read back', precision: 'f32', absent: tfjsOnGpu, prepare: (sheet) => tfjs.rigidGradient(sheet) },
    noLeastSquares,
  ],
};

export const rigidSteps = {
  name: 'rigid-steps',
  title: `As-rigid-as-possible deformation: ${STEPS} steps of Levenberg-Marquardt with ${ITERATIONS} iterations of conjugate gradients each`,
  unit: 'vertices',
  sizes: SIZES,
  input: deformation,
  // Steps with inexact linear solves diverge by the rounding of their first iterations. Their costs differ less, because they are sums over
  // the whole sheet.
  tolerance: { f64: { value: 1e-6 }, f32: { value: 1e-2 } },
  contenders: [
    {
      name: 'plain loop', timing: 'wall; all steps, in place', precision: 'f64', known: true,
      prepare({ instances, size, handles, start }) {
        const rigid = new PlainRigid(instances, size, handles.vertices);
        const space = workspace(6 * size);
        return {
          run() {
            const { finalCost, initialCost } = plainLevenbergMarquardt(rigid, start, FIXED, space);
            return { value: finalCost, notes: { 'cost before': initialCost } };
          },
        };
      },
    },
    ...onEachBackend({
      timing: 'wall; all steps, figures read back',
      problem,
      attempt: (functions, { vertices, rotations }, { start, size }) => ({
        before: async () => {
          vertices.set(start.subarray(0, 3 * size));
          rotations.set(start.subarray(3 * size));
          await functions.evaluateCostWithGradient();
        },
        run: async () => {
          const { finalCost, initialCost } = await levenbergMarquardt(functions, { ...FIXED, readBack: false, ...(functions.backend === 'cpu' ? { linearSolver: 'pcg' } : {}) });
          return { value: finalCost, notes: { 'cost before': initialCost } };
        },
      }),
    }),
    unable('jax-js', 'it brings no least-squares solver'),
    unable('TensorFlow.js', 'it brings no least-squares solver'),
    noLeastSquares,
  ],
};
