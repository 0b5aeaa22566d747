/// <reference lib="esnext.disposable" preserve="true" />
/**
 * residua: nonlinear least squares and energy minimisation on WebGPU, for web pages.
 *
 * Importing does no work. Everything that touches the GPU is async; lengths and indices count elements, never bytes. Typed arrays
 * passed in are copied at the call; those returned are fresh. Async calls load the WebAssembly themselves.
 *
 * @packageDocumentation
 */

export { init, type WasmSource } from './loading.js';
export { ResiduaError, type ErrorCode } from './errors.js';

export { GpuContext, type ContextProfile, type ContextStats, type GpuContextOptions, type KernelTimes, type StageTimes } from './context.js';

export { Value, type Scalar } from './value.js';
export { V } from './v.js';
export { Vec2 } from './vec2.js';
export { Vec3 } from './vec3.js';
export { Vec4 } from './vec4.js';
export { Mat3 } from './mat3.js';
export { geometry } from './geometry.js';

export { Problem } from './problem.js';
export type { Block, Output, Tuple } from './block.js';
export type { Input } from './inputs.js';
export type { Indices, Numbers } from './numeric-arguments.js';
export type { Manifold, ParameterArray } from './parameter-array.js';
export type { ResidualBlock } from './residual-block.js';
export { loss, type Loss } from './loss.js';

export { GpuCompiledFunctions, type GradientOnDevice } from './functions.js';
export type { CompileOptions } from './compile.js';
export type { CsrMatrix } from './csr-matrix.js';

export { lbfgs, type LbfgsOptions } from './lbfgs.js';
export { covariance, type Covariance, type CovarianceOptions, type ParameterBlock } from './covariance.js';
export { rank, type DirectionEntry, type RankOptions, type RankResult } from './rank.js';
export { levenbergMarquardt, NonlinearLeastSquares, type LevenbergMarquardtOptions } from './levenberg-marquardt.js';
export { solve } from './solve.js';
export { solveMany, type ManyBatch, type ManyOptions, type ManyResult } from './solve-many.js';
export type { IterationSummary, SolveOptions, SolveResult, Termination } from './solve-options.js';
