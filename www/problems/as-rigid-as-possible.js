/**
 * As-rigid-as-possible deformation (Sorkine and Alexa, "As-Rigid-As-Possible Surface Modeling", Symposium on Geometry Processing 2007): a
 * mesh follows a few constant vertices, and every other vertex with its edges moves as if it were rigid. For each vertex i with rotation Rᵢ
 * and each neighbour j
 *
 *     √wᵢⱼ ( (p′ᵢ − p′ⱼ) − Rᵢ(pᵢ − pⱼ) )       p the mesh at rest, p′ its deformation, w the cotangent weights
 *
 * The paper alternates between positions and rotations. Here both are unknowns of one least-squares problem. Rotations are quaternions: on
 * the manifold of unit quaternions. Handles are constant blocks. Takes a mesh and its handles; returns the Problem.
 */
import { Problem } from 'residua';

/** Cotangents are negative beyond a right angle, and a negative weight has no square root; such an edge keeps a small positive weight. */
const LEAST_WEIGHT = 1e-3;

/**
 * Half the sum of the cotangents of the angles opposite to each edge: w of Sorkine and Alexa.
 * @param {Float64Array} positions
 * @param {Uint32Array} triangles
 * @param {Uint32Array} edges two vertices per edge, the smaller first
 */
export function cotangentWeights(positions, triangles, edges) {
  const vertexCount = positions.length / 3;
  const sums = new Map();
  const side = (from, to) => [0, 1, 2].map((d) => positions[3 * to + d] - positions[3 * from + d]);
  const dot = (u, v) => u[0] * v[0] + u[1] * v[1] + u[2] * v[2];
  for (let corner = 0; corner < triangles.length; corner++) {
    const first = corner - (corner % 3);
    const [at, b, c] = [0, 1, 2].map((k) => triangles[first + ((corner - first + k) % 3)]);
    const u = side(at, b), v = side(at, c);
    const twiceArea = Math.sqrt(Math.max(dot(u, u) * dot(v, v) - dot(u, v) ** 2, 0));
    const cotangent = twiceArea > 0 ? dot(u, v) / twiceArea : 0;
    const key = Math.min(b, c) * vertexCount + Math.max(b, c);
    sums.set(key, (sums.get(key) ?? 0) + cotangent / 2);
  }
  return Float64Array.from({ length: edges.length / 2 }, (_, e) => Math.max(sums.get(edges[2 * e] * vertexCount + edges[2 * e + 1]) ?? 0, LEAST_WEIGHT));
}

/**
 * The instances of the residual: every edge from both of its ends, with p_first − p_second at rest, and √w.
 * @param {Float64Array} positions at rest
 * @param {Uint32Array} edges two vertices per edge
 * @param {Float64Array} weights one per edge
 * @returns {{ ends: Uint32Array, sides: Float64Array, rootWeights: Float64Array }}
 */
export function rigidInstances(positions, edges, weights) {
  const count = edges.length / 2;
  const ends = new Uint32Array(2 * edges.length), sides = new Float64Array(3 * edges.length), rootWeights = new Float64Array(edges.length);
  for (let instance = 0; instance < 2 * count; instance++) {
    const edge = instance % count, turned = instance < count ? 0 : 1;
    const from = edges[2 * edge + turned], to = edges[2 * edge + 1 - turned];
    ends[2 * instance] = from;
    ends[2 * instance + 1] = to;
    for (let d = 0; d < 3; d++) sides[3 * instance + d] = positions[3 * from + d] - positions[3 * to + d];
    rootWeights[instance] = Math.sqrt(weights[edge]);
  }
  return { ends, sides, rootWeights };
}

/**
 * @param {{ positions: Float64Array, triangles: Uint32Array }} mesh at rest
 * @param {{ edges: Uint32Array }} topology of the mesh (mesh/topology.js)
 * @param {{ vertices: readonly number[], targets: readonly (readonly [number, number, number])[] }} handles constant vertices and their
 *   positions
 * @param {Float64Array} weights one per edge; by default cotangents
 */
export function rigidProblem({ positions, triangles }, { edges }, handles, weights = cotangentWeights(positions, triangles, edges)) {
  const vertexCount = positions.length / 3;
  const problem = new Problem();
  const vertices = problem.parameters('vertices', { dim: 3, values: positions });
  const rotations = problem.parameters('rotations', { dim: 4, values: Float64Array.from({ length: 4 * vertexCount }, (_, i) => Number(i % 4 === 0)) });
  rotations.setManifold('unit-quaternion');
  handles.vertices.forEach((vertex, k) => vertices.setAt(vertex, handles.targets[k]));
  vertices.setConstant(handles.vertices);

  const { ends, sides, rootWeights } = rigidInstances(positions, edges, weights);
  problem.residuals('rigidity', {
    inputs: {
      ends: vertices.at(ends, 2), turned: rotations.at(ends.filter((_, i) => i % 2 === 0)),
      side: problem.data(sides, 3), rootWeight: problem.data(rootWeights),
    },
    residual: ({ ends: [a, b], turned, side, rootWeight }) => a.sub(b).sub(turned.rotate(side)).mul(rootWeight),
  });
  return { problem, vertices, rotations };
}

/** The vertices nearest to the two ends of the mesh along a coordinate axis: the fraction `share` of all at each end. */
export function endVertices(positions, axis, share = 0.05) {
  const order = Array.from({ length: positions.length / 3 }, (_, vertex) => vertex).sort((a, b) => positions[3 * a + axis] - positions[3 * b + axis] || a - b);
  const count = Math.max(1, Math.round(share * order.length));
  return { low: order.slice(0, count), high: order.slice(-count) };
}
