/// <reference lib="esnext.disposable" preserve="true" />
/**
 * residua/cameras: lenses as expressions and in numbers, starts of poses and points in closed form, and COLMAP's files.
 *
 * @packageDocumentation
 */

export { absoluteOrientation, type AbsoluteOrientation, type AbsoluteOrientationOptions } from './cameras/absolute-orientation.js';
export { colmapLens } from './cameras/colmap-lens.js';
export type { ColmapModelLike } from './formats/colmap/check.js';
export type { ColmapCamera, ColmapCameraModel, ColmapImages, ColmapKeypoints, ColmapModel, ColmapObservations, ColmapPoints } from './formats/colmap/model.js';
export { parseColmap, type ColmapFiles } from './formats/colmap/parse.js';
export { writeColmap } from './formats/colmap/write.js';
export { handEye, type HandEye } from './cameras/hand-eye.js';
export { Lens, lenses, type Undistorted } from './cameras/lens.js';
export { relativePose, type RelativePose } from './cameras/relative-pose.js';
export { solvePnp, type CameraPose, type PnpResult } from './cameras/solve-pnp.js';
export { triangulate, type TriangulateOptions, type Triangulation, type TriangulationStatus } from './cameras/triangulate.js';
