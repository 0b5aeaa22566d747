/**
 * Three energies of meshes as both engines are compared on them: each takes a mesh and gives a Problem whose numbers are single precision, so that both
 * start from the same ones. Developability's problem can also be had from a start that is moved by about one rounding, for ensembles: its way is chaotic.
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

/** Half the spacing of single-precision numbers just below 1: where a mesh fills the unit sphere, the coordinates far out move by one number or not at all. */
const ROUNDING = 2 ** -24;

/**
 * The mesh as the demo has it: its own icosphere, or a file in the unit sphere.
 * @param {string | { subdivisions: number }} source the text of an .obj file, or an icosphere
 */
export function unitMesh(source) {
  const isFile = typeof source === 'string';
  const { positions, triangles } = isFile ? parseObj(source) : icosphere(source.subdivisions);
  const unit = (isFile ? intoUnitSphere(positions, boundingSphere(positions)) : perturb(positions)).map(Math.fround);
  return { positions: unit, triangles, topology: meshTopology(unit.length / 3, triangles) };
}

/** The ends of the mesh along its longest axis, where they are. */
function ends(positions) {
  const coordinates = [0, 1, 2].map((d) => positions.filter((_, i) => i % 3 === d));
  const spans = coordinates.map((along) => along.reduce((a, b) => Math.max(a, b)) - along.reduce((a, b) => Math.min(a, b)));
  const axis = spans.indexOf(Math.max(...spans));
  return { axis, ...endVertices(positions, axis) };
}

/** As rigid as possible: one end is held, the other turned by an eighth of a circle about the long axis and pulled along it. */
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

/** Springs as long as the edges were, of a mesh stretched by half along its long axis and held at both ends; free springs on a mesh can all come to rest. */
export function stretched({ positions, topology }) {
  const { axis, low, high } = ends(positions);
  const longer = positions.map((value, i) => Math.fround(i % 3 === axis ? 1.5 * value : value));
  const { problem, vertices } = springsProblem(longer, topology.edges, edgeLengths(positions, topology.edges).map(Math.fround));
  vertices.setConstant([...low, ...high]);
  return problem;
}

/**
 * Developability from the start of the demo: a mesh that has no energy is moved a little first.
 * @param {ReturnType<typeof unitMesh>} mesh
 * @param {number} member of the ensemble; 0 is the start itself, each other one is moved by about one rounding of single precision
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
