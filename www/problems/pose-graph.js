/**
 * Pose graphs: where a vehicle was at each time, from measurements of one pose relative to another. Takes a graph (g2o.js); returns its
 * maximum-likelihood estimate as a Problem, with the residual of Ceres' examples pose_graph_3d and pose_graph_2d
 * (https://github.com/ceres-solver/ceres-solver, examples/slam): for an edge from pose i to pose j that measured position t̂ and, in space,
 * rotation q̂ or, in the plane, heading θ̂
 *
 *     e = ( Rᵢᵀ(tⱼ − tᵢ) − t̂ ,  2 vec(q̂⁻¹ qᵢ⁻¹ qⱼ) )      or      e = ( Rᵢᵀ(tⱼ − tᵢ) − t̂ ,  θⱼ − θᵢ − θ̂  within ±π ),
 *     r = Lᵀe with LLᵀ = Ω,  so that ‖r‖² = eᵀΩe
 *
 * The example in space multiplies by L, which is the same for the diagonal Ω of its data; here Ω is used in full.
 */
import { Problem, V, Vec2 } from 'residua';

export { initialised, parseG2o, writeG2o } from './g2o.js';

/** The numbers of Lᵀe, from the upper triangle of Lᵀ. */
function whiten(root, error) {
  let next = 0;
  return error.map((_, i) => error.slice(i).map((component) => component.mul(root[next++])).reduce((sum, term) => sum.add(term)));
}

/** The residual of one edge in space: six numbers in units of standard deviations. */
export function poseResidual({ at: [ti, tj], turned: [qi, qj], position, rotation, root }) {
  const back = qi.conjugate();
  const seen = back.rotate(tj.sub(ti)).sub(position);
  const turn = rotation.conjugate().quaternionMul(back.quaternionMul(qj)).mul(2);
  return whiten(root, [...seen, turn.x, turn.y, turn.z]);
}

/** The residual of one edge in the plane: three numbers in units of standard deviations. */
export function planarPoseResidual({ at: [ti, tj], turned: [heading, other], position, rotation, root }) {
  const [c, s, way] = [V.cos(heading), V.sin(heading), tj.sub(ti)];
  const seen = new Vec2(way.x.mul(c).add(way.y.mul(s)), way.y.mul(c).sub(way.x.mul(s))).sub(position);
  const turn = other.sub(heading).sub(rotation);
  // Rounding has derivative 0, as the wrapped angle has wherever it is differentiable.
  return whiten(root, [...seen, turn.sub(V.round(turn.div(2 * Math.PI)).mul(2 * Math.PI))]);
}

/** By dimension: the number of entries of a position, a rotation and a square root, the manifold of rotations, and the residual. */
export const SHAPES = {
  2: { position: 2, rotation: 1, root: 6, manifold: 'angle', residual: planarPoseResidual },
  3: { position: 3, rotation: 4, root: 21, manifold: 'unit-quaternion', residual: poseResidual },
};

/** The blocks `which` of an array with `dim` numbers per block. */
export function pick(values, dim, which) {
  const picked = new values.constructor(dim * which.length);
  which.forEach((block, k) => picked.set(values.subarray(dim * block, dim * (block + 1)), dim * k));
  return picked;
}

/**
 * The estimation problem of a graph: one block of positions and one of rotations per pose. Measurements do not determine a common motion of
 * all poses, so pose 0, or those that the file fixes, are constant.
 * @param {import('./g2o.js').PoseGraph} graph
 * @param {Record<string, { edges: readonly number[] | Uint32Array, loss?: import('residua').Loss }>} groups the edges of each residual
 *   block, by its name; by default all edges, as "measurements"
 */
export function poseGraphProblem(graph, groups = { measurements: { edges: Uint32Array.from({ length: graph.edges.length / 2 }, (_, edge) => edge) } }) {
  const { dimension, positions, rotations, fixed, edges, measuredPositions, measuredRotations, squareRoots } = graph;
  const shape = SHAPES[dimension];
  const problem = new Problem();
  const at = problem.parameters('positions', { dim: shape.position, values: positions });
  const turned = problem.parameters('rotations', { dim: shape.rotation, values: rotations });
  turned.setManifold(shape.manifold);
  const held = fixed.length > 0 ? fixed : [0];
  at.setConstant(held);
  turned.setConstant(held);
  const blocks = {};
  for (const [name, { edges: which, loss }] of Object.entries(groups)) {
    if (which.length === 0) continue;
    const ends = pick(edges, 2, which);
    blocks[name] = problem.residuals(name, {
      inputs: {
        at: at.at(ends, 2), turned: turned.at(ends, 2),
        position: problem.data(pick(measuredPositions, shape.position, which), shape.position),
        rotation: problem.data(pick(measuredRotations, shape.rotation, which), shape.rotation),
        root: problem.data(pick(squareRoots, shape.root, which), shape.root),
      },
      residual: shape.residual,
      ...(loss === undefined ? {} : { loss }),
    });
  }
  return { problem, positions: at, rotations: turned, blocks };
}
