/**
 * Three energies of meshes on which both engines are compared. Each takes a mesh and returns a Problem whose numbers are exact in single
 * precision, so that both engines start from the same numbers. Developability also has starts that are displaced by about one rounding, for
 * ensembles, because its iteration is chaotic.
 */
import { GpuCompiledFunctions } from 'residua';
import { developableProblem, edgeLengths } from '../energies/developable.js';
import { boundingSphere, intoUnitSphere } from '../mesh/bounding-sphere.js';
import { icosphere } from '../mesh/icosphere.js';
import { parseObj } from '../mesh/obj.js';
import { perturb } from '../mesh/perturb.js';
import { meshTopology } from '../mesh/topology.js';
import { endVertices, rigidProblem } from './as-rigid-as-possible.js';
import { springsProblem } from './springs.js';

/**
 * Half the spacing of f32 numbers just below 1: in a mesh that fills the unit sphere, the outer coordinates change by one f32 number or not
 * at all.
 */
const ROUNDING = 2 ** -24;

/**
 * The mesh of the demo: its own icosphere, or a file scaled to the unit sphere.
 * @param {string | { subdivisions: number }} source the text of an .obj file, or an icosphere
 */
export function unitMesh(source) {
  const isFile = typeof source === 'string';
  const { positions, triangles } = isFile ? parseObj(source) : icosphere(source.subdivisions);
  const unit = (isFile ? intoUnitSphere(positions, boundingSphere(positions)) : perturb(positions)).map(Math.fround);
  return { positions: unit, triangles, topology: meshTopology(unit.length / 3, triangles) };
}

/** The ends of the mesh along its longest axis, at their positions. */
function ends(positions) {
  const coordinates = [0, 1, 2].map((d) => positions.filter((_, i) => i % 3 === d));
  const spans = coordinates.map((along) => along.reduce((a, b) => Math.max(a, b)) - along.reduce((a, b) => Math.min(a, b)));
  const axis = spans.indexOf(Math.max(...spans));
  return { axis, ...endVertices(positions, axis) };
}

/** As rigid as possible: one end is constant; the other is rotated by 45° about the long axis and displaced along it. */
export function twisted({ positions, triangles, topology }) {
  const { axis, low, high } = ends(positions);
  const [u, v] = [(axis + 1) % 3, (axis + 2) % 3];
  const at = (vertex) => Array.from(positions.subarray(3 * vertex, 3 * vertex + 3));
  const targets = [...low.map(at), ...high.map((vertex) => {
    const to = at(vertex);
    [to[u], to[v]] = [(to[u] - to[v]) * Math.SQRT1_2, (to[u] + to[v]) * Math.SQRT1_2];
    to[axis] += 0.2;
    return to.map(Math.fround);
  })];
  return rigidProblem({ positions, triangles }, topology, { vertices: [...low, ...high], targets }).problem;
}

/**
 * Springs with the edges' lengths, of a mesh stretched by half along its long axis and constant at both ends. Free springs on a mesh could
 * all reach their rest lengths.
 */
export function stretched({ positions, topology }) {
  const { axis, low, high } = ends(positions);
  const longer = positions.map((value, i) => Math.fround(i % 3 === axis ? 1.5 * value : value));
  const { problem, vertices } = springsProblem(longer, topology.edges, edgeLengths(positions, topology.edges).map(Math.fround));
  vertices.setConstant([...low, ...high]);
  return problem;
}

/**
 * Developability from the start of the demo: a mesh without any energy is displaced slightly first.
 * @param {ReturnType<typeof unitMesh>} mesh
 * @param {number} member index in the ensemble; 0 is the start itself, each other one is displaced by about one rounding of single
 *   precision
 */
export async function undeveloped({ positions, triangles, topology }, member = 0) {
  const restLengths = edgeLengths(positions, topology.edges);
  const functions = await GpuCompiledFunctions.compile(developableProblem({ positions, triangles }, topology, restLengths).problem, { backend: 'cpu' });
  const { value } = await functions.evaluateSumWithGradient();
  functions.dispose();
  const meanLength = restLengths.reduce((sum, length) => sum + length, 0) / restLengths.length;
  const start = value <= 1e-9 * functions.numResiduals ? perturb(positions, 0.02 * meanLength).map(Math.fround) : positions;
  const moved = member === 0 ? start : perturb(start, ROUNDING, member).map(Math.fround);
  return developableProblem({ positions: moved, triangles }, topology, restLengths).problem;
}
