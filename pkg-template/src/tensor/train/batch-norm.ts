/** Batch norm with running statistics. */

import { describe, invalidArgument } from '../../arguments/errors.js';
import { checkFinite, checkWholeNumber } from '../../arguments/numeric-arguments.js';
import { checkOptions, type OptionNames } from '../../arguments/options.js';
import { makeDisposable } from '../../compile/dispose.js';
import { Device } from '../device/device.js';
import type { StoredTensor } from '../device/stored-tensor.js';
import { batchNorm } from '../functions.js';
import { nodeOf } from '../recipe/operands.js';
import { sizeNode } from '../recipe/reductions.js';
import { product } from '../size.js';
import { Tensor } from '../tensor.js';

/** Options of batch norm. */
export interface BatchNormOptions {
  /** The share of a batch in the running statistics, from above 0 to 1. Default 0.1. */
  momentum?: number;
  /** Keeps the divisor from being 0. Default 1e-5. */
  epsilon?: number;
}

const BATCH_NORM_OPTIONS: OptionNames<BatchNormOptions> = { momentum: true, epsilon: true };

/**
 * Batch norm of [images, channels, …] (Ioffe and Szegedy 2015): in training by the mean and the variance of a batch, which running statistics follow; afterwards by these. Give `weights` to the
 * optimiser and `statistics` to compileStep() as `state`.
 */
export class BatchNorm {
  /** What is learnt, one number a channel: factors, which begin with 1, and terms, which begin with 0. */
  readonly weights: { readonly weight: StoredTensor<'f32'>; readonly bias: StoredTensor<'f32'> };
  /** The running mean, which begins with 0, and the running variance, which begins with 1; of the variance without bias, as PyTorch has it. */
  readonly statistics: { readonly mean: StoredTensor<'f32'>; readonly variance: StoredTensor<'f32'> };
  /** The same as dispose(), for `using`. */
  declare readonly [Symbol.dispose]: () => void;
  private readonly momentum: number;
  private readonly epsilon: number;

  /** Stores four vectors of so many channels. Throws 'invalid-argument'; 'out-of-memory' on the CPU. */
  constructor(device: Device, channels: number, options: BatchNormOptions = {}) {
    if (!(device instanceof Device)) throw invalidArgument('BatchNorm: device', describe(device), 'a Device');
    checkWholeNumber('BatchNorm: channels', channels, 1);
    checkOptions('BatchNorm: options', options, BATCH_NORM_OPTIONS);
    const { momentum = 0.1, epsilon = 1e-5 } = options;
    if (typeof momentum !== 'number' || !(momentum > 0 && momentum <= 1)) throw invalidArgument('BatchNorm: momentum', describe(momentum), 'a number above 0, at most 1');
    checkFinite('BatchNorm: epsilon', epsilon, 0);
    [this.momentum, this.epsilon] = [momentum, epsilon];
    const ones = () => device.tensor(new Float32Array(channels).fill(1));
    this.weights = Object.freeze({ weight: ones(), bias: device.zeros([channels]) });
    this.statistics = Object.freeze({ mean: device.zeros([channels]), variance: ones() });
  }

  /** In the body of a step: normalises by the batch, and moves the running statistics towards it. Throws 'invalid-argument' for a channel of fewer than two numbers. */
  train(x: Tensor<'f32'>): Tensor<'f32'> {
    const { y, mean, variance } = batchNorm(x, { ...this.weights, epsilon: this.epsilon });
    const count = product(nodeOf('train', x).shape.filter((_, axis) => axis !== 1));
    if (typeof count === 'number' && count < 2) throw invalidArgument('train', `${count} numbers a channel`, 'two or more, as one has no variance');
    // The variance without bias, of a channel of one number 0.
    const numbers: Tensor<'f32'> = Tensor.make(sizeNode(count, 'f32'));
    const unbiased = variance.mul(numbers.div(numbers.sub(1).maximum(1)));
    const follow = (running: StoredTensor<'f32'>, now: Tensor<'f32'>) => running.assign(running.add(now.stopGradient().sub(running).mul(this.momentum)));
    follow(this.statistics.mean, mean);
    follow(this.statistics.variance, unbiased);
    return y;
  }

  /** Normalises by the running statistics. */
  apply(x: Tensor<'f32'>): Tensor<'f32'> {
    return batchNorm(x, { ...this.weights, ...this.statistics, epsilon: this.epsilon }).y;
  }

  /** Frees its four vectors. */
  dispose(): void {
    for (const tensor of [...Object.values(this.weights), ...Object.values(this.statistics)]) tensor.dispose();
  }
}

makeDisposable(BatchNorm);
