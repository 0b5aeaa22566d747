/** Exponential averages of weights. */

import { checkOptions } from '../../arguments/options.js';
import { makeDisposable } from '../../compile/dispose.js';
import { scalar, type Spec } from '../device/program.js';
import type { StoredTensor } from '../device/stored-tensor.js';
import type { Tensor } from '../tensor.js';
import { checkInputs, checkShare, type StepInputs } from './optimizer.js';
import { inFormOfTree, namedWeights, type StoredTree } from './stored-tree.js';

/** Options of averages of weights. */
export interface WeightAverageOptions {
  /** The share of an average that stays in a step, from 0 to below 1. Default 0.999. */
  decay?: number;
}

/**
 * Exponential averages of weights, average ← decay · average + (1 − decay) · weight after each step: a model that is often better than the last weights. The first step takes the weights as
 * they are; before it the averages are zeros.
 */
export class WeightAverage<W extends StoredTree<'f32'> = StoredTree<'f32'>> {
  /** The averages, in the form in which the weights were given: stored tensors. */
  readonly averages: W;
  /** Inputs of a program whose body calls update(). */
  readonly inputs: { readonly share: Spec<'f32'> } = Object.freeze({ share: scalar });
  /** The same as dispose(), for `using`. */
  declare readonly [Symbol.dispose]: () => void;
  /** @internal The averages by name. */
  readonly state: { readonly [name: string]: StoredTensor<'f32'> };
  /** @internal The weights. */
  readonly weights: readonly StoredTensor<'f32'>[];
  /** @internal Steps so far. A checkpoint sets it. */
  taken = 0;
  private readonly decay: number;

  /** Takes weights in a list or a record. Throws 'invalid-argument'; 'out-of-memory' on the CPU. */
  constructor(weights: W, options: WeightAverageOptions = {}) {
    checkOptions('WeightAverage: options', options, { decay: true });
    const { decay = 0.999 } = options;
    checkShare('WeightAverage: decay', decay);
    const { names, tensors, device } = namedWeights('WeightAverage: weights', weights);
    const averages = tensors.map(({ shape }) => device.zeros(shape));
    [this.decay, this.weights, this.averages] = [decay, tensors, inFormOfTree(weights, averages)];
    this.state = Object.freeze(Object.fromEntries(names.map((name, k) => [name, averages[k] as StoredTensor<'f32'>])));
  }

  /** Counts a step, and returns its numbers for the inputs of the program. */
  next(): Record<string, number> {
    const numbers = this.numbers(this.taken);
    this.taken += 1;
    return numbers;
  }

  /** @internal The numbers of a step, counted from 0. */
  numbers(step: number): Record<string, number> {
    return { share: step === 0 ? 1 : 1 - this.decay };
  }

  /** In the body of a compile, after the weights were updated: records the step of the averages. Throws 'invalid-argument' without the tensors of `inputs`. */
  update(inputs: StepInputs): void {
    checkInputs(this.inputs, inputs);
    const share = inputs.share as Tensor<'f32'>;
    Object.values(this.state).forEach((average, k) => average.assign(average.add((this.weights[k] as StoredTensor<'f32'>).sub(average).mul(share))));
  }

  /** Frees the averages; the weights stay. */
  dispose(): void {
    for (const tensor of Object.values(this.state)) tensor.dispose();
  }
}

makeDisposable(WeightAverage);
