/**
 * Pose graphs as files: the package reads and writes the .g2o format; this module separates positions and rotations, which the demonstration keeps
 * in arrays of their own.
 */
import { initialisePoses, parseG2o as parse, ResiduaError, writeG2o as write } from 'residua';

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

/** The graph as the package has it. */
function asPackaged({ dimension, positions, rotations, fixed, edges, measuredPositions, measuredRotations, squareRoots }) {
  const ends = (which) => edges.filter((_, k) => k % 2 === which);
  return {
    dim: dimension, poses: joined(rotations, positions, dimension), fixed, from: ends(0), to: ends(1),
    measurements: joined(measuredRotations, measuredPositions, dimension), sqrtInformation: squareRoots,
  };
}

/**
 * The graph with the start of the package's initialisePoses, which does not depend on the graph's own. Those that poseGraphProblem holds stay.
 * @param {PoseGraph} graph
 * @returns {PoseGraph}
 */
export function initialised(graph) {
  const { dimension, fixed } = graph;
  const { poses } = initialisePoses({ ...asPackaged(graph), fixed: fixed.length > 0 ? fixed : [0] });
  const [size, rotation, position] = dimension === 3 ? [7, [0, 1, 2, 3], [4, 5, 6]] : [3, [0], [1, 2]];
  return { ...graph, positions: parts(poses, size, position), rotations: parts(poses, size, rotation) };
}

/**
 * The text of a .g2o file: the inverse of parseG2o.
 * @param {PoseGraph} graph
 */
export const writeG2o = (graph) => write(asPackaged(graph));
