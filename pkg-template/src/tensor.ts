/// <reference lib="esnext.disposable" preserve="true" />
/**
 * residua/tensor: arrays of numbers on the device of residua's solvers, with a WebAssembly module of their own.
 *
 * A Tensor is a recipe: operations record, and check types and shapes where they are called. Work begins with a read, a store or a run. What
 * compiles or reads is async; recording, uploading and running a compiled program are not. Typed arrays that are passed in are copied at the
 * call; those that are returned are fresh.
 *
 * @packageDocumentation
 */

export type { WasmSource } from './module/loading.js';
export type { InitOptions } from './module/loading.js';
export { init } from './tensor/module/loading.js';
export type { Threads } from './threads/threaded.js';
export { ResiduaError, type ErrorCode } from './arguments/errors.js';

export {
  adaptiveAvgPool,
  adaptiveMaxPool,
  avgPool,
  conv1d,
  conv2d,
  convTranspose1d,
  convTranspose2d,
  maxPool,
  type ConvOptions,
  type ConvTransposeOptions,
} from './tensor/convolutions.js';
export { type DataOf, type DType } from './tensor/dtype.js';
export type { ReadOptions } from './tensor/evaluator.js';
export { complex, fft, ifft, irfft, rfft, type FftOptions } from './tensor/fourier.js';
export {
  attention,
  batchNorm,
  cdist,
  concat,
  crossEntropy,
  einsum,
  embedding,
  grad,
  groupNorm,
  layerNorm,
  meshgrid,
  rmsNorm,
  rope,
  stack,
  where,
  type AttentionOptions,
  type NormOptions,
  type RopeOptions,
} from './tensor/functions.js';
export * as linalg from './tensor/linalg.js';
export { linear, type LinearOptions } from './tensor/linear.js';
export { loop, scan, type Like, type LoopOptions, type ScanBodyOptions } from './tensor/loops.js';
export { fold, map, type Fold, type Planes, type Values } from './tensor/map.js';
export { type Nested } from './tensor/nested.js';
export { Random } from './tensor/random.js';
export type { PadOptions } from './tensor/recipe/borders.js';
export type { Combine, ScatterOptions } from './tensor/recipe/indexing.js';
export type { QuantizedType } from './tensor/recipe/quantised.js';
export type { Keep } from './tensor/recipe/operands.js';
export type { NormOptions as VectorNormOptions, VarianceOptions } from './tensor/recipe/reductions.js';
export type { ScanOptions } from './tensor/recipe/rows.js';
export type { Padding, PoolOptions } from './tensor/recipe/sliding.js';
export type { SortOptions, TopkOptions } from './tensor/recipe/sorting.js';
export type { Range } from './tensor/recipe/slices.js';
export { gridSample, resize, type GridSampleOptions, type ResizeOptions } from './tensor/resampling.js';
export { dim, type Dim, type Shape, type Size } from './tensor/size.js';
export type { Quantized } from './tensor/quantized.js';
export { bincount, histogram, segmentMax, segmentMean, segmentMin, segmentSum } from './tensor/segments.js';
export { istft, melSpectrogram, stft, type IstftOptions, type MelOptions, type StftOptions } from './tensor/signals.js';
export { SparseMatrix, type SparseParts } from './tensor/sparse.js';
export { arange, eye, full, iota, linspace, oneHot, ones, zeros } from './tensor/sources.js';
export { customGradient, hessian, jacobian, jvp, vmap, type Derivatives, type Hessians } from './tensor/transforms.js';
export { Tensor, type Axes, type Axis, type Indices, type Operand, type Selection, type Unique } from './tensor/tensor.js';

export { Device } from './tensor/device/evaluator.js';
export type { DeviceOptions } from './tensor/device/device-options.js';
export { dispose } from './tensor/device/dispose.js';
export { KvCache, type KvCacheOptions } from './tensor/device/kv-cache.js';
export { Program, scalar, spec, type Feed, type Feeds, type ProgramPlan, type Sizes, type Spec, type Specs, type Stored } from './tensor/device/program.js';
export type { ProgramOptions } from './tensor/device/compile-program.js';
export type { DeviceFeatures, Loss } from './tensor/device/core.js';
export type { Group, Results } from './tensor/device/results.js';
export { QuantizedTensor } from './tensor/device/quantized-tensor.js';
export type { KernelComparison } from './tensor/device/compiler.js';
export { SparseProduct } from './tensor/device/sparse-product.js';
export { SparseTriangular, type SparseTriangularOptions } from './tensor/device/sparse-triangular.js';
export { SharedTensor } from './tensor/device/shared-tensor.js';
export { StoredTensor, type TensorMemory } from './tensor/device/stored-tensor.js';
export type { ImageSource } from './arguments/picture.js';
export type { DeviceStats } from './tensor/engine/accounts.js';
export type { Numbers, Numeric, Rows } from './tensor/memory/numbers.js';

export { loadGguf } from './tensor/files/gguf.js';
export type { LoadOptions } from './tensor/files/load.js';
export { loadNpy, saveNpy } from './tensor/files/npy.js';
export { loadNpz } from './tensor/files/npz.js';
export { loadSafetensors, saveSafetensors } from './tensor/files/safetensors.js';
export type { FileSource } from './tensor/files/source.js';
