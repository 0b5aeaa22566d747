/**
 * An icosphere and its developability energy (www/energies/developable.js). Takes the number of subdivisions; returns the mesh and the
 * Problem.
 */
import { developableProblem } from '../../energies/developable.js';
import { icosphere } from '../../mesh/icosphere.js';
import { perturb } from '../../mesh/perturb.js';
import { meshTopology } from '../../mesh/topology.js';

/**
 * Vertices are displaced slightly from the exact sphere, on which rounding alone would determine the creases.
 * @param {number} subdivisions 1 to 7: 42 to 163,842 vertices
 */
export function creasingSphere(subdivisions) {
  const { positions: exact, triangles } = icosphere(subdivisions);
  const positions = perturb(exact);
  const topology = meshTopology(positions.length / 3, triangles);
  const { problem, vertices } = developableProblem({ positions }, topology);
  return { positions, triangles, problem, vertices };
}
