/// <reference lib="esnext.disposable" preserve="true" />
/**
 * residua: nonlinear least squares and energy minimisation on WebGPU, for web pages.
 *
 * Importing does no work. Everything that uses the GPU is async; lengths and indices count elements, never bytes. Typed arrays that are
 * passed in are copied at the call; those that are returned are fresh. Async calls load the WebAssembly module themselves.
 *
 * @packageDocumentation
 */

export { init, type InitOptions, type WasmSource } from './module/loading.js';
export type { Threads } from './threads/threaded.js';
export { ResiduaError, type ErrorCode } from './arguments/errors.js';

export { GpuContext, type ContextProfile, type ContextStats, type GpuContextOptions, type KernelTimes, type StageTimes } from './compile/context.js';

export { Value, type Scalar } from './expressions/value.js';
export { V } from './expressions/v.js';
export type { LoopNext, LoopState, LoopValues } from './expressions/loop.js';
export { dormandPrince, rungeKutta4, type DormandPrinceOptions, type RungeKutta4Options } from './expressions/integrators.js';
export { Vec2 } from './expressions/vec2.js';
export { Vec3 } from './expressions/vec3.js';
export { Vec4 } from './expressions/vec4.js';
export { Mat2 } from './expressions/mat2.js';
export { Mat3 } from './expressions/mat3.js';
export { Rotation2 } from './expressions/rotation2.js';
export { Rotation3 } from './expressions/rotation3.js';
export { Pose2 } from './expressions/pose2.js';
export { Pose3 } from './expressions/pose3.js';
export { Sim2 } from './expressions/sim2.js';
export { Sim3 } from './expressions/sim3.js';
export { poseSpline } from './expressions/pose-spline.js';
export { geometry } from './expressions/geometry.js';

export { Problem, type PlainValues } from './problem/problem.js';
export type { Differences } from './problem/plain-instances.js';
export type { Block, Output, Tuple } from './expressions/block.js';
export type { Grid, GridSize, GridSpec, GridValues } from './problem/grid.js';
export { pictureGrid, type PictureData } from './problem/picture-grid.js';
export type { ImageSource } from './arguments/picture.js';
export type { GridPoint, ParameterGrid, ParameterGridSpec } from './problem/parameter-grid.js';
export type { GridBorder, GridInterpolation } from './problem/grid-interpolation.js';
export type { Input } from './problem/inputs.js';
export type { Indices, Numbers } from './arguments/numeric-arguments.js';
export type { ParameterArray } from './problem/parameter-array.js';
export { manifold, type Manifold, type ManifoldPart, type ProductManifold } from './problem/manifold.js';
export type { ResidualBlock } from './problem/residual-block.js';
export type { ConstraintBlock, ConstraintSpec } from './problem/constraint-block.js';
export type { ConstraintKind } from './problem/constraint-function.js';
export { sqrtInformation } from './problem/sqrt-information.js';
export { loss, type Loss } from './problem/loss.js';

export { parseG2o, type Measurements, type PoseGraph } from './formats/g2o.js';
export type { PoseGraphLike } from './formats/check-graph.js';
export { initialisePoses, type InitialisePosesOptions } from './graphs/initialise-poses.js';
export { writeG2o } from './formats/write-g2o.js';
export { parseTum, writeTum, type Trajectory } from './formats/tum.js';
export { parseBal, writeBal, type BundleAdjustment } from './formats/bal.js';

export { GpuCompiledFunctions, type GradientOnDevice, type HessianOptions } from './compile/functions.js';
export type { CompileOptions } from './compile/compile.js';
export type { CsrMatrix } from './compile/csr-matrix.js';

export { lbfgs, type LbfgsOptions } from './solvers/lbfgs.js';
export { covariance, type Covariance, type CovarianceOptions, type ParameterBlock } from './solvers/covariance.js';
export { rank, type DirectionEntry, type RankOptions, type RankResult } from './solvers/rank.js';
export { levenbergMarquardt, NonlinearLeastSquares, type LevenbergMarquardtOptions } from './solvers/levenberg-marquardt.js';
export type { ConstraintResult } from './solvers/constrained/findings.js';
export { marginalise, type MarginalPrior } from './solvers/marginalise.js';
export { incremental, type IncrementalOptions, type IncrementalSmoother, type IncrementalUpdate, type MarginalCovarianceOptions } from './solvers/incremental.js';
export { fit, type FitData, type FitModel, type FitOptions, type FitParameters, type FitResult, type FitSample, type FitScalar, type FitStart } from './solvers/fit.js';
export type { CircleValues, EllipseValues } from './solvers/conics.js';
export { startValues, type ExponentialValues, type GaussianValues, type LogisticValues, type LorentzianValues, type SineValues } from './solvers/start-values.js';
export { multistart, type Minimum, type MultistartOptions, type MultistartResult, type StartRange } from './solvers/multistart.js';
export { newton, type NewtonOptions } from './solvers/newton.js';
export { ransac, type RansacOptions, type RansacResult } from './solvers/ransac.js';
export { solve } from './solvers/solve.js';
export { solveMany, type ManyBatch, type ManyConstraintResult, type ManyOptions, type ManyResult } from './solvers/solve-many.js';
export type { BeforeIteration, ChangeProblem } from './solvers/changing.js';
export type { Finding } from './module/solve-record.js';
export type { IterationSummary, SolveOptions, SolveResult, Termination } from './solvers/solve-options.js';
