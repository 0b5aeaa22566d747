/**
 * Pose graphs as files: the .g2o format (R. Kümmerle et al., "g2o: A General Framework for Graph Optimization", ICRA 2011), in space
 * (VERTEX_SE3:QUAT, EDGE_SE3:QUAT) or in the plane (VERTEX_SE2, EDGE_SE2), with FIX. Takes the text; returns the graph as arrays of
 * numbers, or throws an error with the line and the reason.
 *
 * Quaternions are w, x, y, z here as everywhere in residua; the files have x, y, z, w.
 */

/** An invalid .g2o file; `line` counts from 1. */
export class G2oError extends Error {
  constructor(line, message) {
    super(`g2o line ${line}: ${message}`);
    this.name = 'G2oError';
    this.line = line;
  }
}

/** Number() also accepts hexadecimal, empty strings and "Infinity". */
const DECIMAL = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/;

/** "1e999" has the form of a number and is infinite. */
function readNumber(word, fail) {
  const value = DECIMAL.test(word) ? Number(word) : fail(`"${word}" is not a decimal number`);
  return Number.isFinite(value) ? value : fail(`"${word}" is above the largest number, 1.8e308`);
}

/**
 * Position and rotation from the numbers of one pose. Files round to six digits, so the norm of a quaternion is not exactly 1.
 * @type {Record<string, (numbers: number[], fail: (message: string) => never) => { position: number[], rotation: number[] }>}
 */
const readPose = {
  space([x, y, z, qx, qy, qz, qw], fail) {
    const length = Math.hypot(qw, qx, qy, qz);
    if (!(length > 0)) fail('the quaternion is 0');
    if (length === Infinity) fail('the norm of the quaternion is above the largest number');
    return { position: [x, y, z], rotation: [qw / length, qx / length, qy / length, qz / length] };
  },
  plane: ([x, y, heading]) => ({ position: [x, y], rotation: [heading] }),
};

/** For each tag: the dimension, the number of ids, and the number of entries of a pose and of an information matrix. */
const TAGS = new Map([
  ['VERTEX_SE3:QUAT', { dimension: 3, ids: 1, pose: 7, information: 0, read: readPose.space }],
  ['EDGE_SE3:QUAT', { dimension: 3, ids: 2, pose: 7, information: 21, read: readPose.space }],
  ['VERTEX_SE2', { dimension: 2, ids: 1, pose: 3, information: 0, read: readPose.plane }],
  ['EDGE_SE2', { dimension: 2, ids: 2, pose: 3, information: 6, read: readPose.plane }],
]);

/**
 * The upper triangle of Lᵀ, row after row, where LLᵀ is the symmetric n×n matrix whose upper triangle is given row after row. Cholesky's method.
 * @param {readonly number[]} upper n(n + 1)/2 numbers: 21 of a pose in space, 6 of one in the plane
 */
export function squareRoot(upper, fail = (message) => { throw new RangeError(message); }) {
  const size = (Math.sqrt(8 * upper.length + 1) - 1) / 2;
  const root = [];
  const at = (i, j) => size * i - (i * (i - 1)) / 2 + (j - i);
  for (let i = 0; i < size; i++) {
    for (let j = i; j < size; j++) {
      let rest = upper[at(i, j)];
      for (let k = 0; k < i; k++) rest -= root[at(k, i)] * root[at(k, j)];
      if (i === j && !(rest > 0)) fail(`the information matrix is not positive definite: pivot ${i + 1} is ${rest}`);
      root.push(i === j ? Math.sqrt(rest) : rest / root[at(i, i)]);
    }
  }
  return root;
}

/**
 * A pose graph. In space a position is 3 numbers, a rotation 4 (w, x, y, z), a square root 21; in the plane 2, 1 (the heading in radians) and 6.
 * @typedef {{
 *   dimension: 2 | 3, positions: Float64Array, rotations: Float64Array, fixed: number[],
 *   edges: Uint32Array, measuredPositions: Float64Array, measuredRotations: Float64Array, squareRoots: Float64Array,
 * }} PoseGraph `edges` has 2 pose numbers each (from, to); measurements and square roots of information matrices stand edge after edge
 */

/**
 * @param {string} text
 * @returns {PoseGraph} poses count from 0 in the file's order, independent of their ids
 */
export function parseG2o(text) {
  const numbers = new Map();
  const positions = [], rotations = [], fixedIds = [], edgeIds = [], measuredPositions = [], measuredRotations = [], squareRoots = [];
  /** The first tag, which determines the dimension of the file. */
  let first = null;
  const lines = text.split(/\r\n|\n|\r/);
  lines.forEach((content, index) => {
    const words = content.trim().split(/\s+/);
    if (words[0] === '' || words[0].startsWith('#')) return;
    const fail = (message) => { throw new G2oError(index + 1, message); };
    if (words[0] === 'FIX') {
      for (const id of words.slice(1)) fixedIds.push({ ids: [id], fail });
      return;
    }
    const tag = TAGS.get(words[0]) ?? fail(`"${words[0]}" is not understood; it takes ${[...TAGS.keys()].join(', ')} and FIX`);
    first ??= { name: words[0], line: index + 1, dimension: tag.dimension };
    if (tag.dimension !== first.dimension) fail(`${words[0]} is in ${tag.dimension} dimensions, and ${first.name} in line ${first.line} is in ${first.dimension}`);
    const count = tag.ids + tag.pose + tag.information;
    if (words.length !== 1 + count) fail(`${words[0]} takes ${count} words, this one has ${words.length - 1}`);
    const ids = words.slice(1, 1 + tag.ids);
    const values = words.slice(1 + tag.ids).map((word) => readNumber(word, fail));
    const { position, rotation } = tag.read(values, fail);
    if (tag.ids === 1) {
      if (numbers.has(ids[0])) fail(`pose ${ids[0]} is defined a second time`);
      numbers.set(ids[0], numbers.size);
      positions.push(...position);
      rotations.push(...rotation);
    } else {
      if (ids[0] === ids[1]) fail(`it measures pose ${ids[0]} relative to itself`);
      edgeIds.push({ ids, fail });
      measuredPositions.push(...position);
      measuredRotations.push(...rotation);
      squareRoots.push(...squareRoot(values.slice(tag.pose), fail));
    }
  });
  if (edgeIds.length === 0) throw new G2oError(lines.length, `the file ends with ${numbers.size === 0 ? 'no pose' : 'no measurement'} in it`);
  // An edge may precede its poses.
  const numbered = ({ ids, fail }) => ids.map((id) => numbers.get(id) ?? fail(`there is no pose ${id}`));
  return {
    dimension: first.dimension,
    positions: Float64Array.from(positions), rotations: Float64Array.from(rotations), fixed: fixedIds.flatMap(numbered),
    edges: Uint32Array.from(edgeIds.flatMap(numbered)),
    measuredPositions: Float64Array.from(measuredPositions), measuredRotations: Float64Array.from(measuredRotations),
    squareRoots: Float64Array.from(squareRoots),
  };
}

/** The number of entries of a square root and the order of its matrix, by dimension. */
const ORDER = { 2: 3, 3: 6 };

/** The upper triangle of LLᵀ, row after row, from that of Lᵀ: the inverse of squareRoot. */
function squared(root, size) {
  const at = (i, j) => size * i - (i * (i - 1)) / 2 + (j - i);
  const upper = [];
  for (let i = 0; i < size; i++) {
    for (let j = i; j < size; j++) {
      let sum = 0;
      for (let k = 0; k <= i; k++) sum += root[at(k, i)] * root[at(k, j)];
      upper.push(sum);
    }
  }
  return upper;
}

/**
 * The text of a .g2o file: the inverse of parseG2o, except for rounding.
 * @param {PoseGraph} graph
 */
export function writeG2o({ dimension, positions, rotations, fixed, edges, measuredPositions, measuredRotations, squareRoots }) {
  const turn = dimension === 3 ? 4 : 1, size = ORDER[dimension], root = (size * (size + 1)) / 2;
  const [vertex, edge] = dimension === 3 ? ['VERTEX_SE3:QUAT', 'EDGE_SE3:QUAT'] : ['VERTEX_SE2', 'EDGE_SE2'];
  const pose = (places, turns, k) => {
    const rotation = turns.subarray(turn * k, turn * (k + 1));
    return [...places.subarray(dimension * k, dimension * (k + 1)), ...rotation.subarray(1), rotation[0]].join(' ');
  };
  const lines = [];
  for (let k = 0; k < positions.length / dimension; k++) lines.push(`${vertex} ${k} ${pose(positions, rotations, k)}`);
  for (const k of fixed) lines.push(`FIX ${k}`);
  for (let k = 0; k < edges.length / 2; k++) {
    lines.push(`${edge} ${edges[2 * k]} ${edges[2 * k + 1]} ${pose(measuredPositions, measuredRotations, k)} ${squared(squareRoots.subarray(root * k, root * (k + 1)), size).join(' ')}`);
  }
  return `${lines.join('\n')}\n`;
}
