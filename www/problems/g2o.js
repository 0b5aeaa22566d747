/**
 * Pose graphs as files: the package reads the .g2o format; this module separates positions and rotations, which the demonstration keeps
 * in arrays of their own, and writes files.
 */
import { initialisePoses, parseG2o as parse, ResiduaError } from 'residua';

/**
 * A pose graph. In space a position is 3 numbers, a rotation 4 (w, x, y, z), a square root 21; in the plane 2, 1 (the heading in radians) and 6.
 * @typedef {{
 *   dimension: 2 | 3, positions: Float64Array, rotations: Float64Array, fixed: number[],
 *   edges: Uint32Array, measuredPositions: Float64Array, measuredRotations: Float64Array, squareRoots: Float64Array,
 * }} PoseGraph `edges` has 2 pose numbers each (from, to); measurements and square roots of information matrices stand edge after edge
 */

/** The numbers at some places of each group of `size`. */
function parts(numbers, size, places) {
  const groups = Array.from({ length: numbers.length / size }, (_, k) => size * k);
  return Float64Array.from(groups.flatMap((first) => places.map((place) => numbers[first + place])));
}

/**
 * Landmarks and priors of the file are left out.
 * @param {string} text
 * @returns {PoseGraph} poses count from 0 in the file's order, independent of their ids
 */
export function parseG2o(text) {
  const { dim, poses, measurements, fixed, from, to, sqrtInformation } = parse(text);
  if (from.length === 0) throw new ResiduaError('invalid-argument', 'got a file in which no pose measures another; takes pose graphs');
  const [size, rotation, position] = dim === 3 ? [7, [0, 1, 2, 3], [4, 5, 6]] : [3, [0], [1, 2]];
  return {
    dimension: dim,
    positions: parts(poses, size, position), rotations: parts(poses, size, rotation), fixed: [...fixed],
    edges: Uint32Array.from({ length: 2 * from.length }, (_, k) => (k % 2 === 0 ? from : to)[k >> 1]),
    measuredPositions: parts(measurements, size, position), measuredRotations: parts(measurements, size, rotation),
    squareRoots: sqrtInformation,
  };
}

/** Poses or measurements as the package has them: rotation, then position, one after the other. */
function joined(rotations, positions, dimension) {
  const turn = dimension === 3 ? 4 : 1, size = turn + dimension;
  return Float64Array.from({ length: size * (positions.length / dimension) }, (_, i) => {
    const [k, entry] = [Math.floor(i / size), i % size];
    return entry < turn ? rotations[turn * k + entry] : positions[dimension * k + entry - turn];
  });
}

/**
 * The graph with the start of the package's initialisePoses, which does not depend on the graph's own. Those that poseGraphProblem holds stay.
 * @param {PoseGraph} graph
 * @returns {PoseGraph}
 */
export function initialised(graph) {
  const { dimension, positions, rotations, fixed, edges, measuredPositions, measuredRotations, squareRoots } = graph;
  const ends = (which) => edges.filter((_, k) => k % 2 === which);
  const { poses } = initialisePoses({
    dim: dimension, poses: joined(rotations, positions, dimension), fixed: fixed.length > 0 ? fixed : [0], from: ends(0), to: ends(1),
    measurements: joined(measuredRotations, measuredPositions, dimension), sqrtInformation: squareRoots,
  });
  const [size, rotation, position] = dimension === 3 ? [7, [0, 1, 2, 3], [4, 5, 6]] : [3, [0], [1, 2]];
  return { ...graph, positions: parts(poses, size, position), rotations: parts(poses, size, rotation) };
}

/** The number of entries of a square root and the order of its matrix, by dimension. */
const ORDER = { 2: 3, 3: 6 };

/** The upper triangle of LLᵀ, row after row, from that of Lᵀ: the inverse of the package's `sqrtInformation`. */
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
