/// <reference lib="esnext.disposable" preserve="true" />
/**
 * residua/tensor/train: training with tensors: optimisers, schedules, losses, batch norm, loaders of data, and checkpoints.
 *
 * A step is compiled once: the loss of a batch, its gradients and what the optimiser makes of them are one program. Weights, gradients and the optimiser's state stay on the device. What
 * changes from step to step, the learning rate among it, are numbers, for which nothing is compiled anew.
 *
 * @packageDocumentation
 */

export { BatchNorm, type BatchNormOptions } from './tensor/train/batch-norm.js';
export { loadCheckpoint, saveCheckpoint, type CheckpointOptions, type SaveCheckpointOptions } from './tensor/train/checkpoint.js';
export { DataLoader, type Batch, type Columns, type DataLoaderOptions, type LoaderState } from './tensor/train/data-loader.js';
export { Adam, AdamW, Lion, Sgd, type AdamOptions, type LionOptions, type SgdOptions } from './tensor/train/elementwise-optimizers.js';
export { fit, type BatchReport, type EpochReport, type FitOptions } from './tensor/train/fit.js';
export { clipByNorm, type Clipped } from './tensor/train/gradients.js';
export {
  binaryCrossEntropyLoss,
  crossEntropyLoss,
  smoothL1Loss,
  type BinaryCrossEntropyOptions,
  type CrossEntropyOptions,
  type LossOptions,
  type Reduction,
  type SmoothL1Options,
} from './tensor/train/losses.js';
export { Muon, type MuonOptions } from './tensor/train/muon.js';
export { OptimizerGroup } from './tensor/train/optimizer-group.js';
export { Optimizer, type RatedOptimizer, type RateOptions, type StepInputs } from './tensor/train/optimizer.js';
export { samples, type PictureOptions, type SampleFileOptions, type Samples } from './tensor/train/samples.js';
export { schedule, type OneCycleOptions, type Schedule } from './tensor/train/schedule.js';
export type { StoredBranch, StoredTree } from './tensor/train/stored-tree.js';
export { compileStep, type MetricName, type StepOptions, type StepResults, type TrainingStep } from './tensor/train/training-step.js';
export { WeightAverage, type WeightAverageOptions } from './tensor/train/weight-average.js';
