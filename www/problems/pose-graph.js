/**
 * Pose graphs: where a vehicle was at each time, from measurements of one pose seen from another. Takes the text of a .g2o file in three dimensions
 * (VERTEX_SE3:QUAT, EDGE_SE3:QUAT, FIX); gives the graph, and its maximum-likelihood estimate as a Problem, with the residual of Ceres' example
 * pose_graph_3d (https://github.com/ceres-solver/ceres-solver, examples/slam): for an edge from pose i to pose j that measured position t̂ and rotation q̂
 *
 *     e = ( Rᵢᵀ(tⱼ − tᵢ) − t̂ ,  2 vec(q̂⁻¹ qᵢ⁻¹ qⱼ) ),      r = Lᵀe with LLᵀ = Ω,  so that ‖r‖² = eᵀΩe
 *
 * The example multiplies by L, which is the same for the diagonal Ω that it is run with; here Ω counts in full.
 *
 * Quaternions are w, x, y, z here as everywhere in residua; the files have x, y, z, w.
 */
import { Problem } from 'residua';

/** A broken .g2o file; `line` counts from 1. */
export class G2oError extends Error {
  constructor(line, message) {
    super(`g2o line ${line}: ${message}`);
    this.name = 'G2oError';
    this.line = line;
  }
}

/** Number() alone would take hexadecimal, empty words and "Infinity". */
const DECIMAL = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/;

/** How many numbers follow the ids. */
const POSE_NUMBERS = 7, INFORMATION_NUMBERS = 21;

/** Position and unit quaternion from x y z qx qy qz qw: files round to six digits, so the length is not quite 1. */
function readPose(numbers, fail) {
  const [x, y, z, qx, qy, qz, qw] = numbers;
  const length = Math.hypot(qw, qx, qy, qz);
  if (!(length > 0)) fail('the quaternion is 0');
  return { position: [x, y, z], rotation: [qw / length, qx / length, qy / length, qz / length] };
}

/**
 * The upper triangle of Lᵀ, row after row, where LLᵀ is the symmetric 6×6 matrix whose upper triangle is given row after row. Cholesky's method.
 * @param {readonly number[]} upper 21 numbers
 */
export function squareRoot(upper, fail = (message) => { throw new RangeError(message); }) {
  const root = [];
  const at = (i, j) => 6 * i - (i * (i - 1)) / 2 + (j - i);
  for (let i = 0; i < 6; i++) {
    for (let j = i; j < 6; j++) {
      let rest = upper[at(i, j)];
      for (let k = 0; k < i; k++) rest -= root[at(k, i)] * root[at(k, j)];
      if (i === j && !(rest > 0)) fail(`the information matrix is not positive definite: pivot ${i + 1} is ${rest}`);
      root.push(i === j ? Math.sqrt(rest) : rest / root[at(i, i)]);
    }
  }
  return root;
}

/**
 * @param {string} text
 * @returns {{
 *   positions: Float64Array, rotations: Float64Array, fixed: number[],
 *   edges: Uint32Array, measuredPositions: Float64Array, measuredRotations: Float64Array, squareRoots: Float64Array,
 * }} 3 numbers a position, 4 a rotation (w, x, y, z), 2 pose numbers an edge (from, to), 21 a square root; poses count from 0 in the file's order,
 *   whatever their ids
 */
export function parseG2o(text) {
  const numbers = new Map();
  const positions = [], rotations = [], fixedIds = [], edgeIds = [], measuredPositions = [], measuredRotations = [], squareRoots = [];
  text.split(/\r\n|\n|\r/).forEach((content, index) => {
    const words = content.trim().split(/\s+/);
    if (words[0] === '' || words[0].startsWith('#')) return;
    const fail = (message) => { throw new G2oError(index + 1, message); };
    const read = (ids) => {
      const count = words[0].startsWith('EDGE') ? POSE_NUMBERS + INFORMATION_NUMBERS : POSE_NUMBERS;
      if (words.length !== 1 + ids + count) fail(`${words[0]} takes ${ids + count} words, this one has ${words.length - 1}`);
      return words.slice(1 + ids).map((word) => (DECIMAL.test(word) ? Number(word) : fail(`"${word}" is not a decimal number`)));
    };
    switch (words[0]) {
      case 'VERTEX_SE3:QUAT': {
        if (numbers.has(words[1])) fail(`pose ${words[1]} is there already`);
        const { position, rotation } = readPose(read(1), fail);
        numbers.set(words[1], numbers.size);
        positions.push(...position);
        rotations.push(...rotation);
        break;
      }
      case 'EDGE_SE3:QUAT': {
        const values = read(2);
        const { position, rotation } = readPose(values, fail);
        edgeIds.push({ ids: [words[1], words[2]], fail });
        measuredPositions.push(...position);
        measuredRotations.push(...rotation);
        squareRoots.push(...squareRoot(values.slice(POSE_NUMBERS), fail));
        break;
      }
      case 'FIX':
        for (const id of words.slice(1)) fixedIds.push({ ids: [id], fail });
        break;
      default:
        fail(`"${words[0]}" is not understood; it takes VERTEX_SE3:QUAT, EDGE_SE3:QUAT and FIX`);
    }
  });
  // An edge may stand above its poses.
  const numbered = ({ ids, fail }) => ids.map((id) => numbers.get(id) ?? fail(`there is no pose ${id}`));
  return {
    positions: Float64Array.from(positions), rotations: Float64Array.from(rotations), fixed: fixedIds.flatMap(numbered),
    edges: Uint32Array.from(edgeIds.flatMap(numbered)),
    measuredPositions: Float64Array.from(measuredPositions), measuredRotations: Float64Array.from(measuredRotations),
    squareRoots: Float64Array.from(squareRoots),
  };
}

/** The six numbers of Lᵀe, from the upper triangle of Lᵀ. */
function whiten(root, error) {
  let next = 0;
  return error.map((_, i) => error.slice(i).map((component) => component.mul(root[next++])).reduce((sum, term) => sum.add(term)));
}

/** The residual of one edge: six numbers, each a standard deviation long. */
export function poseResidual({ at: [ti, tj], turned: [qi, qj], position, rotation, root }) {
  const back = qi.conjugate();
  const seen = back.rotate(tj.sub(ti)).sub(position);
  const turn = rotation.conjugate().quaternionMul(back.quaternionMul(qj)).mul(2);
  return whiten(root, [...seen, turn.x, turn.y, turn.z]);
}

/**
 * The estimation problem of a graph: one block of 3 and one unit quaternion a pose. Measurements leave all poses together free to move; pose 0, or those
 * that the file fixes, are constant.
 * @param {ReturnType<typeof parseG2o>} graph
 */
export function poseGraphProblem({ positions, rotations, fixed, edges, measuredPositions, measuredRotations, squareRoots }) {
  const problem = new Problem();
  const at = problem.parameters('positions', { dim: 3, values: positions });
  const turned = problem.parameters('rotations', { dim: 4, values: rotations });
  turned.setManifold('unit-quaternion');
  const held = fixed.length > 0 ? fixed : [0];
  at.setConstant(held);
  turned.setConstant(held);
  problem.residuals('measurements', {
    inputs: {
      at: at.at(edges, 2), turned: turned.at(edges, 2),
      position: problem.data(measuredPositions, 3), rotation: problem.data(measuredRotations, 4), root: problem.data(squareRoots, INFORMATION_NUMBERS),
    },
    residual: poseResidual,
  });
  return { problem, positions: at, rotations: turned };
}
