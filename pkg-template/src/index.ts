/// <reference lib="esnext.disposable" preserve="true" />
/**
 * residua: nonlinear least squares and energy minimisation on WebGPU, for web pages.
 *
 * Importing does no work. Everything that touches the GPU is async; lengths and indices count elements, never bytes.
 *
 * @packageDocumentation
 */

export { ResiduaError, type ErrorCode } from './errors.js';
export { geometry } from './geometry.js';
export { init, type WasmSource } from './loading.js';
export { Mat3 } from './mat3.js';
export { V } from './v.js';
export { Value, type Scalar } from './value.js';
export { Vec2 } from './vec2.js';
export { Vec3 } from './vec3.js';
export { Vec4 } from './vec4.js';
