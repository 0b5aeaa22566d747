/**
 * As-rigid-as-possible deformation for dragging (the residual of www/problems/as-rigid-as-possible.js). The dragged vertices and their
 * targets change many times a second, so handles are data: every vertex has a goal and a pull, 0 except for the handles',
 *
 *     pull ( p′ᵢ − goalᵢ )
 *
 * and on the device a moved handle needs writes of a few words. A pull yields slightly where constants would distort the surface. Takes a
 * mesh; returns the Problem and its parts.
 */
import { Problem } from 'residua';
import { meshTopology } from '../../mesh/topology.js';
import { cotangentWeights, rigidInstances } from '../../problems/as-rigid-as-possible.js';

/**
 * The weight of a handle's residual, where a vertex's own are of size √w ≈ 1. A handle then stays within a thousandth of its target, and a
 * block preconditioner removes the ill-conditioning.
 */
export const PULL = 30;

/** Numbers per vertex in `goals`: the target and the weight of the pull. */
export const GOAL = 4;

/**
 * @param {{ positions: Float64Array, triangles: Uint32Array }} mesh at rest, about as large as the unit sphere
 */
export function rigidModel({ positions, triangles }) {
  const vertexCount = positions.length / 3;
  const { edges } = meshTopology(vertexCount, triangles);
  const problem = new Problem();
  const vertices = problem.parameters('vertices', { dim: 3, values: positions });
  const identities = Float64Array.from({ length: 4 * vertexCount }, (_, i) => Number(i % 4 === 0));
  const rotations = problem.parameters('rotations', { dim: 4, values: identities });
  rotations.setManifold('unit-quaternion');

  const { ends, sides, rootWeights } = rigidInstances(positions, edges, cotangentWeights(positions, triangles, edges));
  problem.residuals('rigidity', {
    inputs: {
      ends: vertices.at(ends, 2), turned: rotations.at(ends.filter((_, i) => i % 2 === 0)),
      side: problem.data(sides, 3), rootWeight: problem.data(rootWeights),
    },
    residual: ({ ends: [a, b], turned, side, rootWeight }) => a.sub(b).sub(turned.rotate(side)).mul(rootWeight),
  });

  const goals = new Float64Array(GOAL * vertexCount);
  const handles = problem.residuals('handles', {
    inputs: { vertex: vertices.at(Uint32Array.from({ length: vertexCount }, (_, vertex) => vertex)), goal: problem.data(goals, GOAL) },
    // A goal's four numbers are x, y, z and the pull, which are w, x, y, z in a block of four.
    residual: ({ vertex, goal: { w: x, x: y, y: z, z: pull } }) => [vertex.x.sub(x).mul(pull), vertex.y.sub(y).mul(pull), vertex.z.sub(z).mul(pull)],
  });
  return {
    problem, vertices, rotations, handles, goals, edges,
    /** Resets to rest without pulls. */
    reset() {
      vertices.set(positions);
      rotations.set(identities);
      goals.fill(0);
      handles.setData('goal', goals);
    },
    /** Sets the target of a vertex, or with null removes its pull: in `goals`, which the caller uploads. */
    setGoal(vertex, place) {
      goals.set(place === null ? [0, 0, 0, 0] : [...place, PULL], GOAL * vertex);
    },
  };
}
