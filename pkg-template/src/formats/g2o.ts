/** Pose graphs in the .g2o format (R. Kümmerle et al., "g2o: A General Framework for Graph Optimization", ICRA 2011). */

import { describe } from '../arguments/errors.js';
import { sqrtInformation } from '../problem/sqrt-information.js';
import { readLines, type Line } from './lines.js';

/** A pose graph. Poses have the numbers of a block of `problem.poses`: angle, x, y in the plane; w, x, y, z, then x, y, z in space. */
export interface PoseGraph {
  /** 2 for the plane, 3 for space. */
  readonly dim: 2 | 3;
  /** Pose after pose in the file's order: 3 or 7 numbers each. Quaternions are normalised. */
  readonly poses: Float64Array;
  /** The id of each pose in the file. */
  readonly ids: readonly string[];
  /** Indices of the poses that the file fixes. */
  readonly fixed: Uint32Array;
  /** For each measurement the index of the pose that it is seen from. */
  readonly from: Uint32Array;
  /** For each measurement the index of the pose that is seen. */
  readonly to: Uint32Array;
  /** The measured relative poses, as `poses`. */
  readonly measurements: Float64Array;
  /**
   * The square roots of the information matrices, for `sqrtInformation` of a residual block: 6 or 21 numbers each. Rows and columns are in
   * the order of the format: translation, then rotation.
   */
  readonly sqrtInformation: Float64Array;
}

/** For each tag: the dimension, the number of ids, and how many numbers a pose and an information matrix have. */
const TAGS = new Map<string, { dim: 2 | 3; ids: 1 | 2; pose: number; information: number }>([
  ['VERTEX_SE3:QUAT', { dim: 3, ids: 1, pose: 7, information: 0 }],
  ['EDGE_SE3:QUAT', { dim: 3, ids: 2, pose: 7, information: 21 }],
  ['VERTEX_SE2', { dim: 2, ids: 1, pose: 3, information: 0 }],
  ['EDGE_SE2', { dim: 2, ids: 2, pose: 3, information: 6 }],
]);

/**
 * Reads the text of a .g2o file with VERTEX_SE3:QUAT and EDGE_SE3:QUAT, or with VERTEX_SE2 and EDGE_SE2, and FIX. Lines that begin with '#'
 * are comments. Edges may precede their poses.
 *
 * Throws 'invalid-argument' for any other line; the message has the line's number, what it got and what it takes.
 */
export function parseG2o(text: string): PoseGraph {
  const indices = new Map<string, number>();
  const poses: number[] = [];
  const measurements: number[] = [];
  const information: number[] = [];
  const fixed: (readonly [line: Line, id: string])[] = [];
  const ends: (readonly [line: Line, from: string, to: string])[] = [];
  let first: { tag: string; dim: 2 | 3; line: number } | null = null;
  const last = readLines('parseG2o', text, (line) => {
    const { words } = line;
    const name = words[0] as string;
    if (name === 'FIX') {
      for (const id of words.slice(1)) fixed.push([line, id]);
      return;
    }
    const tag = TAGS.get(name);
    if (tag === undefined) throw line.error(`the tag ${describe(name)}`, `${[...TAGS.keys()].join(', ')} or FIX`);
    first ??= { tag: name, dim: tag.dim, line: line.number };
    if (tag.dim !== first.dim) throw line.error(name, `${first.dim} dimensions, as ${first.tag} in line ${first.line} has`);
    const { ids, pose } = tag;
    const count = ids + pose + tag.information;
    if (words.length !== 1 + count) throw line.error(`${words.length - 1} words after ${name}`, `${count}`);
    const [from, to] = [words[1] as string, words[2] as string];
    if (ids === 1) {
      if (indices.has(from)) throw line.error(`pose ${describe(from)} a second time`, 'each pose once');
      indices.set(from, indices.size);
      append(poses, line, ids, tag.dim);
    } else {
      if (from === to) throw line.error(`pose ${describe(from)} relative to itself`, 'two poses');
      ends.push([line, from, to]);
      append(measurements, line, ids, tag.dim);
      for (let k = 0; k < tag.information; k++) information.push(line.finite(1 + ids + pose + k));
    }
  });
  const found = first as { dim: 2 | 3 } | null;
  if (found === null || ends.length === 0) throw last.error(`the end of a file with no ${indices.size === 0 ? 'pose' : 'measurement'}`, 'poses and measurements');
  const { dim } = found;
  const indexOf = (line: Line, id: string): number => {
    const index = indices.get(id);
    if (index === undefined) throw line.error(`pose ${describe(id)}, which the file does not have`, 'the id of a pose');
    return index;
  };
  return {
    dim,
    poses: Float64Array.from(poses),
    ids: [...indices.keys()],
    fixed: Uint32Array.from(new Set(fixed.map(([line, id]) => indexOf(line, id)))),
    from: Uint32Array.from(ends, ([line, from]) => indexOf(line, from)),
    to: Uint32Array.from(ends, ([line, , to]) => indexOf(line, to)),
    measurements: Float64Array.from(measurements),
    sqrtInformation: roots(information, dim === 2 ? 3 : 6, ends),
  };
}

/** Appends the pose of a line in the order of a block. */
function append(poses: number[], line: Line, ids: number, dim: 2 | 3): void {
  const at = (k: number) => line.finite(1 + ids + k);
  if (dim === 2) {
    poses.push(at(2), at(0), at(1));
    return;
  }
  // Files round to six digits or so, so the length of a quaternion is not exactly 1.
  const [x, y, z, w] = [at(3), at(4), at(5), at(6)];
  const length = Math.hypot(w, x, y, z);
  if (!(length > 0 && length < Infinity)) throw line.error(`a quaternion of length ${length}`, 'one that has a direction');
  poses.push(w / length, x / length, y / length, z / length, at(0), at(1), at(2));
}

function roots(information: readonly number[], size: number, ends: readonly (readonly [line: Line, ...unknown[]])[]): Float64Array {
  const length = (size * (size + 1)) / 2;
  const result = new Float64Array(information.length);
  ends.forEach(([line], k) => {
    try {
      result.set(sqrtInformation(information.slice(k * length, (k + 1) * length), size), k * length);
    } catch {
      throw line.error('an information matrix that is not positive definite', 'positive definite matrices');
    }
  });
  return result;
}
