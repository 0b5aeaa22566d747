/** Bundle adjustment problems in the BAL format (S. Agarwal et al., "Bundle Adjustment in the Large", ECCV 2010). */

import { invalidArgument, describe } from '../arguments/errors.js';
import { checkObject, copyIndices, copyNumbers } from '../arguments/numeric-arguments.js';
import { numberText, readLines, type Line } from './lines.js';

/** A bundle adjustment: cameras, points, and where the cameras saw the points. */
export interface BundleAdjustment {
  /**
   * Camera after camera, `cameraSize` numbers each: rotation and translation of the pose that takes points into the camera's frame, then focal
   * length, k1 and k2 of the radial distortion. The camera looks along −z.
   */
  readonly cameras: Float64Array;
  /** Numbers per camera. The data set has 9; files of programs that keep rotations as quaternions, as Ceres' bundle adjuster can, have 10. */
  readonly cameraSize: 9 | 10;
  /**
   * What the rotations are: angle-axis vectors of 3 numbers where a camera has 9, quaternions w, x, y, z where it has 10. Null where it has 10 that
   * do not begin with quaternions of length 1: the file does not say what they are.
   */
  readonly rotation: 'angle-axis' | 'quaternion' | null;
  /** Point after point, 3 numbers each. */
  readonly points: Float64Array;
  /** The camera of each observation. */
  readonly cameraIndices: Uint32Array;
  /** The point of each observation. */
  readonly pointIndices: Uint32Array;
  /** Where it was seen, 2 numbers each, in pixels from the image's centre. */
  readonly observations: Float64Array;
}

/** More cameras, points or observations than this are taken for a mistake. */
const MOST = 2 ** 31;

/** Quaternions in texts of three digits have length 1 but for this. */
const UNIT_TOLERANCE = 1e-3;

/**
 * Reads the text of a BAL file: a line with the numbers of cameras, points and observations; a line for each observation with camera,
 * point, x and y; then all numbers of the cameras and of the points, any number of them in a line. How many there are says whether cameras
 * have 9 or 10. A '#' begins a comment.
 *
 * Throws 'invalid-argument' for any other line and for a file that is too short or too long; the message has the line's number.
 */
export function parseBal(text: string): BundleAdjustment {
  let counts: { cameras: number; points: number; observations: number } | null = null;
  const cameraIndices: number[] = [];
  const pointIndices: number[] = [];
  const observations: number[] = [];
  const parameters: number[] = [];
  let sizes = { 9: 0, 10: 0 };
  const takes = () => `${sizes[9]}: 9 a camera and 3 a point, or ${sizes[10]}: 10 a camera`;
  const words = (line: Line, count: number, what: string) => {
    if (line.words.length !== count) throw line.error(`${line.words.length} words`, `${count}: ${what}`);
  };
  const last = readLines('parseBal', text, (line) => {
    if (counts === null) {
      words(line, 3, 'the numbers of cameras, points and observations');
      const [cameras, points, seen] = [0, 1, 2].map((k) => line.whole(k, MOST, 'a count')) as [number, number, number];
      if (cameras === 0 || points === 0 || seen === 0) throw line.error('a count of 0', 'counts from 1');
      counts = { cameras, points, observations: seen };
      sizes = { 9: 9 * cameras + 3 * points, 10: 10 * cameras + 3 * points };
    } else if (cameraIndices.length < counts.observations) {
      words(line, 4, 'camera, point, x and y');
      cameraIndices.push(line.whole(0, counts.cameras, 'the index of a camera'));
      pointIndices.push(line.whole(1, counts.points, 'the index of a point'));
      observations.push(line.finite(2), line.finite(3));
    } else {
      if (parameters.length + line.words.length > sizes[10]) throw line.error(`more than ${sizes[10]} numbers after the observations`, takes());
      for (let k = 0; k < line.words.length; k++) parameters.push(line.finite(k));
    }
  });
  const found = counts as { cameras: number; observations: number } | null;
  if (found === null) throw last.error('the end of a file without numbers', 'the numbers of cameras, points and observations');
  if (cameraIndices.length < found.observations) throw last.error(`the end after ${cameraIndices.length} observations`, `${found.observations}`);
  const cameraSize = parameters.length === sizes[9] ? 9 : 10;
  if (parameters.length !== sizes[cameraSize]) throw last.error(`the end after ${parameters.length} numbers of cameras and points`, takes());
  const cameras = Float64Array.from(parameters.slice(0, cameraSize * found.cameras));
  return {
    cameras,
    cameraSize,
    rotation: cameraSize === 9 ? 'angle-axis' : haveQuaternions(cameras) ? 'quaternion' : null,
    points: Float64Array.from(parameters.slice(cameras.length)),
    cameraIndices: Uint32Array.from(cameraIndices),
    pointIndices: Uint32Array.from(pointIndices),
    observations: Float64Array.from(observations),
  };
}

/**
 * Returns the text of a BAL file, which parseBal reads as the same bundle, bit for bit: the counts, a line for each observation, then a line for each number of the
 * cameras and points. Throws 'invalid-argument' for numbers that are not finite, indices that do not exist, and lengths that do not fit.
 */
export function writeBal(bundle: Omit<BundleAdjustment, 'rotation'>): string {
  checkObject('writeBal: bundle', bundle);
  const { cameraSize } = bundle;
  if (cameraSize !== 9 && cameraSize !== 10) throw invalidArgument('writeBal: bundle.cameraSize', describe(cameraSize), '9 or 10');
  const numbers = (name: 'cameras' | 'points' | 'observations', width: number): Float64Array => {
    const copy = copyNumbers(`writeBal: bundle.${name}`, bundle[name]);
    if (copy.length === 0 || copy.length % width !== 0) throw invalidArgument(`writeBal: bundle.${name}`, `${copy.length} numbers`, `a positive multiple of ${width}`);
    return copy;
  };
  const [cameras, points, observations] = [numbers('cameras', cameraSize), numbers('points', 3), numbers('observations', 2)];
  const count = observations.length / 2;
  const indices = (name: 'cameraIndices' | 'pointIndices', limit: number, what: string): Uint32Array => {
    const copy = copyIndices(`writeBal: bundle.${name}`, bundle[name], limit, what);
    if (copy.length !== count) throw invalidArgument(`writeBal: bundle.${name}`, `${copy.length} indices`, `${count}, as there are observations`);
    return copy;
  };
  const seenBy = indices('cameraIndices', cameras.length / cameraSize, 'cameras');
  const seen = indices('pointIndices', points.length / 3, 'points');
  const lines = [`${cameras.length / cameraSize} ${points.length / 3} ${count}`];
  for (let k = 0; k < count; k++) lines.push(`${seenBy[k]} ${seen[k]} ${numberText(observations[2 * k] as number)} ${numberText(observations[2 * k + 1] as number)}`);
  for (const list of [cameras, points]) for (const value of list) lines.push(numberText(value));
  return `${lines.join('\n')}\n`;
}

/** Whether cameras of 10 numbers begin with quaternions of length 1. */
function haveQuaternions(cameras: Float64Array): boolean {
  for (let first = 0; first < cameras.length; first += 10) {
    if (!(Math.abs(Math.hypot(...cameras.subarray(first, first + 4)) - 1) <= UNIT_TOLERANCE)) return false;
  }
  return true;
}
