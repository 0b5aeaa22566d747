/** Bundle adjustment problems in the BAL format (S. Agarwal et al., "Bundle Adjustment in the Large", ECCV 2010). */

import { readLines, type Line } from './lines.js';

/** A bundle adjustment: cameras, points, and where the cameras saw the points. */
export interface BundleAdjustment {
  /**
   * Camera after camera, 9 numbers each: angle-axis vector and translation of the pose that takes points into the camera's frame, then focal
   * length, k1 and k2 of the radial distortion. The camera looks along −z.
   */
  readonly cameras: Float64Array;
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

/**
 * Reads the text of a BAL file: a line with the numbers of cameras, points and observations; a line for each observation with camera,
 * point, x and y; then all numbers of the cameras and of the points, any number of them in a line.
 *
 * Throws 'invalid-argument' for any other line and for a file that is too short or too long; the message has the line's number.
 */
export function parseBal(text: string): BundleAdjustment {
  let counts: { cameras: number; points: number; observations: number } | null = null;
  const cameraIndices: number[] = [];
  const pointIndices: number[] = [];
  const observations: number[] = [];
  const parameters: number[] = [];
  let size = 0;
  const words = (line: Line, count: number, what: string) => {
    if (line.words.length !== count) throw line.error(`${line.words.length} words`, `${count}: ${what}`);
  };
  const last = readLines('parseBal', text, (line) => {
    if (counts === null) {
      words(line, 3, 'the numbers of cameras, points and observations');
      const [cameras, points, seen] = [0, 1, 2].map((k) => line.whole(k, MOST, 'a count')) as [number, number, number];
      if (cameras === 0 || points === 0 || seen === 0) throw line.error('a count of 0', 'counts from 1');
      counts = { cameras, points, observations: seen };
      size = 9 * cameras + 3 * points;
    } else if (cameraIndices.length < counts.observations) {
      words(line, 4, 'camera, point, x and y');
      cameraIndices.push(line.whole(0, counts.cameras, 'the index of a camera'));
      pointIndices.push(line.whole(1, counts.points, 'the index of a point'));
      observations.push(line.finite(2), line.finite(3));
    } else {
      if (parameters.length + line.words.length > size) throw line.error(`more than ${size} numbers after the observations`, `${size}: 9 a camera and 3 a point`);
      for (let k = 0; k < line.words.length; k++) parameters.push(line.finite(k));
    }
  });
  const found = counts as { cameras: number; observations: number } | null;
  if (found === null) throw last.error('the end of a file without numbers', 'the numbers of cameras, points and observations');
  if (cameraIndices.length < found.observations) throw last.error(`the end after ${cameraIndices.length} observations`, `${found.observations}`);
  if (parameters.length < size) throw last.error(`the end after ${parameters.length} numbers of cameras and points`, `${size}: 9 a camera and 3 a point`);
  return {
    cameras: Float64Array.from(parameters.slice(0, 9 * found.cameras)),
    points: Float64Array.from(parameters.slice(9 * found.cameras)),
    cameraIndices: Uint32Array.from(cameraIndices),
    pointIndices: Uint32Array.from(pointIndices),
    observations: Float64Array.from(observations),
  };
}
