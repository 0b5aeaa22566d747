/// <reference lib="esnext.disposable" preserve="true" />
/**
 * residua/cameras: lenses as expressions and in numbers, starts of poses and points in closed form, and COLMAP's files.
 *
 * @packageDocumentation
 */

export { Lens, lenses, type Undistorted } from './cameras/lens.js';
