/** Lenses of COLMAP's cameras. */

import { invalidArgument, describe } from '../arguments/errors.js';
import { checkObject, copyNumbers } from '../arguments/numeric-arguments.js';
import type { ColmapCamera, ColmapCameraModel } from '../formats/colmap/model.js';
import { lenses, type Lens } from './lens.js';

/** The lens of each model that has one, and for each of the lens's parameters the position of the model's, or −1 for 0. */
const LENSES: Partial<Record<ColmapCameraModel, readonly [lens: Lens, places: readonly number[]]>> = {
  SIMPLE_PINHOLE: [lenses.pinhole, [0, 0, 1, 2]],
  PINHOLE: [lenses.pinhole, [0, 1, 2, 3]],
  SIMPLE_RADIAL: [lenses.radialTangential, [0, 0, 1, 2, 3, -1, -1, -1]],
  RADIAL: [lenses.radialTangential, [0, 0, 1, 2, 3, 4, -1, -1]],
  OPENCV: [lenses.radialTangential, [0, 1, 2, 3, 4, 5, 6, 7]],
  FULL_OPENCV: [lenses.rational, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]],
  SIMPLE_FISHEYE: [lenses.fisheye, [0, 0, 1, 2, -1, -1, -1, -1]],
  FISHEYE: [lenses.fisheye, [0, 1, 2, 3, -1, -1, -1, -1]],
  SIMPLE_RADIAL_FISHEYE: [lenses.fisheye, [0, 0, 1, 2, 3, -1, -1, -1]],
  RADIAL_FISHEYE: [lenses.fisheye, [0, 0, 1, 2, 3, 4, -1, -1]],
  OPENCV_FISHEYE: [lenses.fisheye, [0, 1, 2, 3, 4, 5, 6, 7]],
};

/**
 * Returns the lens of a camera of COLMAP with its parameters in the lens's order: a focal length that stands for both is there twice, and coefficients that
 * the model does not have are 0. Throws 'invalid-argument' for the models FOV, THIN_PRISM_FISHEYE, RAD_TAN_THIN_PRISM_FISHEYE, SIMPLE_DIVISION, DIVISION,
 * EUCM and EQUIRECTANGULAR, which `lenses` does not have.
 */
export function colmapLens(camera: Pick<ColmapCamera, 'model' | 'parameters'>): { lens: Lens; parameters: Float64Array } {
  checkObject('colmapLens: camera', camera);
  const found = Object.hasOwn(LENSES, camera.model) ? LENSES[camera.model] : undefined;
  if (found === undefined) throw invalidArgument('colmapLens: camera.model', describe(camera.model), `one of ${Object.keys(LENSES).join(', ')}`);
  const [lens, places] = found;
  const given = copyNumbers('colmapLens: camera.parameters', camera.parameters);
  const size = Math.max(...places) + 1;
  if (given.length !== size) throw invalidArgument('colmapLens: camera.parameters', `${given.length} numbers`, `${size} of ${camera.model}`);
  return { lens, parameters: Float64Array.from(places, (place) => given[place] ?? 0) };
}
