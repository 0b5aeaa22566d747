/** Trajectories in the format of the TUM RGB-D benchmark (J. Sturm et al., "A Benchmark for the Evaluation of RGB-D SLAM Systems", IROS 2012). */

import { invalidArgument } from '../arguments/errors.js';
import { checkObject, copyNumbers } from '../arguments/numeric-arguments.js';
import { numberText, quaternionLength, quaternionScale, readLines } from './lines.js';

/** Where something was, and when. */
export interface Trajectory {
  /** Times in the file's unit, which is seconds in the benchmark. */
  readonly timestamps: Float64Array;
  /** Pose after pose with the numbers of a block of `problem.poses` in space: the unit quaternion w, x, y, z, then x, y, z. */
  readonly poses: Float64Array;
}

/**
 * Reads the text of a trajectory: lines of time, x, y, z, and the quaternion x, y, z, w, which is normalised. A '#' begins a comment. Throws
 * 'invalid-argument' for any other line, with its number, and for a text without poses.
 */
export function parseTum(text: string): Trajectory {
  const timestamps: number[] = [];
  const poses: number[] = [];
  const last = readLines('parseTum', text, (line) => {
    if (line.words.length !== 8) throw line.error(`${line.words.length} words`, '8: time, x, y, z, and a quaternion x, y, z, w');
    timestamps.push(line.finite(0));
    const quaternion = [7, 4, 5, 6].map((k) => line.finite(k));
    const length = Math.hypot(...quaternion);
    if (!(length > 0 && length < Infinity)) throw line.error(`a quaternion of length ${length}`, 'one that has a direction');
    const scale = quaternionScale(length);
    poses.push(...quaternion.map((entry) => entry / scale), line.finite(1), line.finite(2), line.finite(3));
  });
  if (timestamps.length === 0) throw last.error('the end of a file without poses', 'a line for each pose');
  return { timestamps: Float64Array.from(timestamps), poses: Float64Array.from(poses) };
}

/** Returns the text of a trajectory, which parseTum reads as the same poses. Throws 'invalid-argument' for numbers that are not finite and lengths that do not fit. */
export function writeTum(trajectory: Trajectory): string {
  checkObject('writeTum: trajectory', trajectory);
  const timestamps = copyNumbers('writeTum: trajectory.timestamps', trajectory.timestamps);
  const poses = copyNumbers('writeTum: trajectory.poses', trajectory.poses);
  if (poses.length !== 7 * timestamps.length) throw invalidArgument('writeTum: trajectory.poses', `${poses.length} numbers`, `7 for each of the ${timestamps.length} times`);
  const lines = Array.from(timestamps, (time, k) => {
    const pose = poses.subarray(7 * k, 7 * (k + 1));
    quaternionLength('writeTum: trajectory.poses', poses, k);
    return [time, ...[4, 5, 6, 1, 2, 3, 0].map((place) => pose[place] as number)].map(numberText).join(' ');
  });
  return lines.map((line) => `${line}\n`).join('');
}
