/**
 * As-rigid-as-possible deformation for dragging (the residual of www/problems/as-rigid-as-possible.js). What a reader drags changes many times a second, and
 * which vertices it is changes too, so handles are data: every vertex has a goal and a pull, 0 for all but the handles',
 *
 *     pull ( p′ᵢ − goalᵢ )
 *
 * and on the device a few words of a buffer are written for a handle that has moved. A pull gives way a little where constants would tear. Rotations are free
 * quaternions that the residual makes unit, which saves the way through tangent spaces. Takes a mesh; gives the Problem and its parts.
 */
import { Problem } from 'residua';
import { meshTopology } from '../../mesh/topology.js';
import { cotangentWeights, rigidInstances } from '../../problems/as-rigid-as-possible.js';

/**
 * The weight of a handle's residual, where a vertex's own are of size √w ≈ 1: a handle then stays within a thousandth of what pulls at it, and
 * a preconditioner that knows its block makes nothing of it.
 */
export const PULL = 30;

/** Numbers a vertex in `goals`: where it should be, and how it is pulled. */
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

  const { ends, sides, rootWeights } = rigidInstances(positions, edges, cotangentWeights(positions, triangles, edges));
  problem.residuals('rigidity', {
    inputs: {
      ends: vertices.at(ends, 2), turned: rotations.at(ends.filter((_, i) => i % 2 === 0)),
      side: problem.data(sides, 3), rootWeight: problem.data(rootWeights),
    },
    residual: ({ ends: [a, b], turned, side, rootWeight }) => a.sub(b).sub(turned.normalized.rotate(side)).mul(rootWeight),
  });

  const goals = new Float64Array(GOAL * vertexCount);
  const handles = problem.residuals('handles', {
    inputs: { vertex: vertices.at(Uint32Array.from({ length: vertexCount }, (_, vertex) => vertex)), goal: problem.data(goals, GOAL) },
    // A goal's four numbers are x, y, z and the pull, which a block of four calls w, x, y, z.
    residual: ({ vertex, goal: { w: x, x: y, y: z, z: pull } }) => [vertex.x.sub(x).mul(pull), vertex.y.sub(y).mul(pull), vertex.z.sub(z).mul(pull)],
  });
  return {
    problem, vertices, rotations, handles, goals, edges,
    /** Back to rest, held by nothing. */
    reset() {
      vertices.set(positions);
      rotations.set(identities);
      goals.fill(0);
      handles.setData('goal', goals);
    },
    /** Pulls a vertex to a place, or with null leaves it alone: in `goals`, which the caller hands on. */
    setGoal(vertex, place) {
      goals.set(place === null ? [0, 0, 0, 0] : [...place, PULL], GOAL * vertex);
    },
  };
}
