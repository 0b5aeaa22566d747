/** The developable energy of a wave sheet (energies/developable.js) with its gradient. */
import { developableProblem, edgeLengths } from '../../energies/developable.js';
import * as jax from '../contenders/jax-developable.js';
import { onEachBackend } from '../contenders/residua.js';
import { tfjsOnGpu } from '../contenders/tfjs.js';
import * as tfjs from '../contenders/tfjs-developable.js';
import { unable } from '../contenders/unable.js';
import { PlainDevelopable } from '../plain/developable.js';
import { SIZES } from '../sizes.js';
import { waveSheetWithTopology } from './sheet-meshes.js';

const FULL = 'wall; positions given, value and whole gradient read back';

function input(vertices) {
  const sheet = waveSheetWithTopology(vertices);
  // Rest lengths that differ from the mesh, so that edges have a gradient.
  const restLengths = edgeLengths(sheet.positions, sheet.topology.edges).map((length) => 1.1 * length);
  return { ...sheet, restLengths, residuals: sheet.size + restLengths.length };
}

export const developable = {
  name: 'developable',
  title: 'Developable energy with gradient',
  unit: 'vertices',
  sizes: SIZES,
  input,
  // An eigenvector loses digits as the gap to the next eigenvalue closes, and acos in the plain loop's closed form loses half of them;
  // among a million vertices there are gaps of 1e-6. Single precision: the differences that the comparison of engines found on spheres,
  // 5e-7 and 5e-6 (docs/performance.md), and twenty times that, because a sheet has smaller gaps than a sphere.
  tolerance: { f64: { value: 1e-10, gradient: 1e-6 }, f32: { value: 1e-5, gradient: 1e-4 } },
  contenders: [
    {
      name: 'plain loop', timing: 'wall; in place', precision: 'f64', known: true,
      prepare({ topology, restLengths, positions, size }) {
        const energy = new PlainDevelopable(topology, restLengths, size);
        return { run: () => ({ value: energy.sumWithGradient(positions), gradient: energy.gradient }) };
      },
    },
    ...onEachBackend({
      timing: `${FULL} into the array of the call before`,
      problem: (sheet) => developableProblem(sheet, sheet.topology, sheet.restLengths),
      attempt(functions, _, { positions }) {
        const into = new Float64Array(positions.length);
        return { run: () => functions.evaluateSumWithGradient(positions, into) };
      },
    }),
    { name: 'jax-js', timing: FULL, precision: 'f32', absent: jax.present, prepare: (sheet) => jax.developableGradient(sheet) },
    { name: 'TensorFlow.js', timing: FULL, precision: 'f32', absent: tfjsOnGpu, prepare: (sheet) => tfjs.developableGradient(sheet) },
    unable('ml-levenberg-marquardt', 'it minimises sums of squares of a curve, and has no call for an energy'),
  ],
};
