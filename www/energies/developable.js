/**
 * Developability of triangle meshes: the covariance energy of Stein, Grinspun and Crane ("Developability of Triangle Meshes", ACM
 * Transactions on Graphics 37(4), 2018). A surface is developable, that is bent from flat sheets without stretching, where the normals
 * around each point lie on one great circle. So for each vertex
 *
 *     λ_min( Σ_f θ_f N_f N_fᵀ )      over its faces f, θ_f the angle of f at the vertex, N_f the unit normal of f
 *
 * measures the deviation: it is 0 where the faces are flat or fold along one line. To this the energy adds for each edge
 *
 *     (l / l₀ − 1)²                  l its length, l₀ its length in the given mesh
 *
 * so that triangles keep their size and shape. The objective is the plain sum of all terms (L-BFGS with objective 'sum').
 *
 * Takes a mesh and its topology (mesh/topology.js); returns the energy as a Problem or in the params form.
 */
import { Mat3, Problem, V, Vec3 } from 'residua';

/**
 * λ_min of Σ θ N Nᵀ over the faces (center, b, c).
 *
 * On a fine mesh the normals of one vertex are nearly equal, and the two smaller eigenvalues are a thousandth of the largest. A sum in
 * world coordinates would lose their digits in single precision. In a frame (t₁, t₂, n) with n along the mean normal, N has the small
 * components N·t₁ and N·t₂, whose products keep all digits. Eigenvalues are the same in every orthonormal frame, and so are their
 * derivatives, so the frame is under stopGradient and is not differentiated.
 *
 * @param {Vec3} center
 * @param {readonly (readonly [Vec3, Vec3])[]} faces the other two corners of each face
 */
export function normalSpread(center, faces) {
  const normals = [], angles = [];
  for (const [b, c] of faces) {
    const toB = b.sub(center), toC = c.sub(center);
    const twiceArea = toB.cross(toC);
    normals.push(twiceArea.normalized);
    angles.push(V.atan2(twiceArea.magnitude, toB.dot(toC)));
  }
  const [t1, t2, n] = frameAlong(normals.map((N, f) => N.mul(angles[f])).reduce((sum, N) => sum.add(N)));
  return normals
    .map((N) => new Vec3(N.dot(t1), N.dot(t2), N.dot(n)))
    .map((components, f) => Mat3.outer(components, components).mul(angles[f]))
    .reduce((sum, term) => sum.add(term))
    .smallestEigenvalue;
}

/**
 * An orthonormal frame whose third axis has the direction of `axis`, constant for differentiation. The construction of Duff et al.
 * ("Building an Orthonormal Basis, Revisited", JCGT 6(1), 2017) works for every direction; for axis = 0, where normals cancel, it still
 * gives two axes.
 */
function frameAlong(axis) {
  const n = new Vec3(V.stopGradient(axis.x), V.stopGradient(axis.y), V.stopGradient(axis.z)).normalized;
  const side = V.ifThenElse(n.z.gte(0), 1, -1);
  const a = side.add(n.z).reciprocal().neg();
  const b = n.x.mul(n.y).mul(a);
  const t1 = new Vec3(n.x.square().mul(a).mul(side).add(1), side.mul(b), side.mul(n.x).neg());
  const t2 = new Vec3(b, n.y.square().mul(a).add(side), n.y.neg());
  return [t1, t2, n];
}

/** (l / l₀ − 1)² of the edge between a and b. */
export function edgeRegularity(a, b, restLength) {
  return a.distance(b).div(restLength).sub(1).square();
}

const closedFaces = (ring) => ring.map((b, i) => [b, ring[(i + 1) % ring.length]]);
const openFaces = (ring) => ring.slice(1).map((c, i) => [ring[i], c]);
const pairedFaces = (pairs) => Array.from({ length: pairs.length / 2 }, (_, i) => [pairs[2 * i], pairs[2 * i + 1]]);

/** The three kinds of vertex: how the faces follow from the star, and the name of the residuals. */
const VERTEX_KINDS = [
  { name: 'developability', kind: 'interior', faces: closedFaces },
  { name: 'developability, boundary', kind: 'boundary', faces: openFaces },
  { name: 'developability, irregular', kind: 'irregular', faces: pairedFaces },
];

/** The l₀ of all edges, in the units of the positions. */
export function edgeLengths(positions, edges) {
  return Float64Array.from({ length: edges.length / 2 }, (_, e) => {
    const a = 3 * edges[2 * e], b = 3 * edges[2 * e + 1];
    return Math.hypot(positions[a] - positions[b], positions[a + 1] - positions[b + 1], positions[a + 2] - positions[b + 2]);
  });
}

/**
 * The energy as a Problem: one residual function for each kind of vertex and one for the edges, over index arrays. Large meshes use this
 * form.
 * @param {{ positions: Float64Array }} mesh
 * @param {ReturnType<typeof import('../mesh/topology.js').meshTopology>} topology
 * @param {Float64Array} restLengths l₀ of each edge of the topology, none of them 0
 * @returns {{ problem: Problem, vertices: import('residua').ParameterArray<3> }}
 */
export function developableProblem({ positions }, topology, restLengths = edgeLengths(positions, topology.edges)) {
  const problem = new Problem();
  const vertices = problem.parameters('vertices', { dim: 3, values: positions });
  for (const { name, kind, faces } of VERTEX_KINDS) {
    const stars = topology[kind];
    if (stars.vertices.length === 0) continue;
    problem.residuals(name, {
      inputs: { center: vertices.at(stars.vertices), star: vertices.star(stars.offsets, stars.indices) },
      residual: ({ center, star }) => normalSpread(center, faces(star)),
    });
  }
  problem.residuals('edge regularity', {
    inputs: { ends: vertices.at(topology.edges, 2), restLength: problem.data(restLengths) },
    residual: ({ ends: [a, b], restLength }) => edgeRegularity(a, b, restLength),
  });
  return { problem, vertices };
}

/**
 * The same energy in the params form: three parameters per vertex, and a function that returns one scalar for each vertex and edge, in the
 * order of the Problem. residua groups them into the few expressions that they share.
 * @returns {{ params: import('residua').Value[], energies: (params: import('residua').Value[]) => import('residua').Value[] }}
 */
export function developableEnergies({ positions }, topology, restLengths = edgeLengths(positions, topology.edges)) {
  const params = [];
  for (let i = 0; i < positions.length; i += 3) params.push(...Vec3.W(positions[i], positions[i + 1], positions[i + 2]));
  const energies = (values) => {
    const vertices = [];
    for (let i = 0; i < values.length; i += 3) vertices.push(new Vec3(values[i], values[i + 1], values[i + 2]));
    const terms = [];
    for (const { kind, faces } of VERTEX_KINDS) {
      const { vertices: centers, offsets, indices } = topology[kind];
      centers.forEach((center, i) => {
        const star = Array.from(indices.subarray(offsets[i], offsets[i + 1]), (vertex) => vertices[vertex]);
        terms.push(normalSpread(vertices[center], faces(star)));
      });
    }
    restLengths.forEach((restLength, e) => terms.push(edgeRegularity(vertices[topology.edges[2 * e]], vertices[topology.edges[2 * e + 1]], restLength)));
    return terms;
  };
  return { params, energies };
}
