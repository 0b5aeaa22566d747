/** Mesh energies: the GPU against the CPU, on an icosphere. The automated tests add meshes from files. */
import { gpuAgainstCpu } from '../define.js';
import { compareEngines, energyNames } from '../mesh-comparison.js';

export const group = {
  id: 'energies',
  title: 'Mesh energies',
  about: 'Residuals, costs, gradients and Jacobians of energies of geometry processing: the GPU against the CPU.',
  checks: energyNames.flatMap((name) => gpuAgainstCpu(`GPU and CPU agree on the energy of a mesh: ${name}, icosphere`, (check) => compareEngines(check, name, null))),
};
