/** Muon: momentum that is made orthogonal by Newton-Schulz steps. */

import { describe, invalidArgument } from '../../arguments/errors.js';
import { checkFinite, checkWholeNumber } from '../../arguments/numeric-arguments.js';
import { checkFlag, checkOptions, type OptionNames } from '../../arguments/options.js';
import type { StoredTensor } from '../device/stored-tensor.js';
import { shapeText } from '../size.js';
import type { Tensor } from '../tensor.js';
import { checkShare, RatedOptimizer, type RateOptions, type StepInputs } from './optimizer.js';
import type { Schedule } from './schedule.js';
import type { StoredTree } from './stored-tree.js';

/** Options of Muon. */
export interface MuonOptions extends RateOptions {
  /** The learning rate: a number of at least 0, or a schedule. Default 1e-3. */
  rate?: number | Schedule;
  /** The share of the momentum that stays, from 0 to below 1. Default 0.95. */
  momentum?: number;
  /** Nesterov's momentum. Default true. */
  nesterov?: boolean;
  /** Each step takes the rate times this of the weight away. Default 0.1. */
  weightDecay?: number;
  /** How many Newton-Schulz steps there are. Default 5. */
  iterations?: number;
  /** How a step grows with a matrix: 'original' √max(1, rows/columns), as Keller Jordan has it; 'adam' 0.2 · √max(rows, columns), for rates that suit AdamW. Default 'original'. */
  scale?: 'original' | 'adam';
}

const MUON_OPTIONS: OptionNames<MuonOptions> = { rate: true, momentum: true, nesterov: true, weightDecay: true, iterations: true, scale: true };

/** The polynomial ax + bx³ + cx⁵, which brings singular values in (0, 1] near to 1 (Jordan et al. 2024). */
const [A, B, C] = [3.4445, -4.775, 2.0315];
/** The smallest norm by which a matrix is divided. */
const LEAST_NORM = 1e-7;

/**
 * Muon (Jordan et al. 2024): each step of a matrix is its momentum with singular values near 1. It takes weights of two axes or more, of which those after the first are one, as of a filter
 * bank; embeddings, last layers and vectors go to another optimiser of an `OptimizerGroup`.
 */
export class Muon extends RatedOptimizer {
  private readonly momentum: number;
  private readonly isNesterov: boolean;
  private readonly weightDecay: number;
  private readonly iterations: number;
  private readonly scale: 'original' | 'adam';

  /** Takes the weights in a list or a record. Throws 'invalid-argument', also for a weight of fewer than two axes; 'out-of-memory' on the CPU. */
  constructor(weights: StoredTree<'f32'>, options: MuonOptions = {}) {
    checkOptions('Muon: options', options, MUON_OPTIONS);
    const { rate = 1e-3, momentum = 0.95, nesterov = true, weightDecay = 0.1, iterations = 5, scale = 'original' } = options;
    checkShare('Muon: momentum', momentum);
    checkFlag('Muon: nesterov', nesterov);
    checkFinite('Muon: weightDecay', weightDecay, 0);
    checkWholeNumber('Muon: iterations', iterations, 1, 100);
    if (scale !== 'original' && scale !== 'adam') throw invalidArgument('Muon: scale', describe(scale), "'original' or 'adam'");
    super('Muon', weights, rate, ['rate', 'decay'], ['momentum']);
    [this.momentum, this.isNesterov, this.weightDecay, this.iterations, this.scale] = [momentum, nesterov, weightDecay, iterations, scale];
    const vector = this.weights.findIndex(({ shape }) => shape.length < 2 || shape.includes(0));
    if (vector < 0) return;
    this.dispose();
    throw invalidArgument(`Muon: weights: ${this.names[vector]}`, `f32 ${shapeText((this.weights[vector] as StoredTensor).shape)}`, 'weights of two axes or more that are not empty: give others to another optimiser');
  }

  /** @internal */
  numbers(step: number): Record<string, number> {
    const rate = this.rateAt(step);
    return { rate, decay: rate * this.weightDecay };
  }

  /** @internal */
  protected record(gradients: readonly Tensor<'f32'>[], inputs: StepInputs): void {
    const { rate, decay } = inputs as { rate: Tensor<'f32'>; decay: Tensor<'f32'> };
    this.weights.forEach((weight, k) => {
      const [gradient, kept] = [gradients[k] as Tensor<'f32'>, (this.kept[k] as readonly StoredTensor<'f32'>[])[0] as StoredTensor<'f32'>];
      const momentum = kept.mul(this.momentum).add(gradient);
      const direction = this.isNesterov ? gradient.add(momentum.mul(this.momentum)) : momentum;
      const [rows, columns] = [weight.shape[0] as number, weight.shape.slice(1).reduce((product, size) => product * size, 1)];
      const change = this.orthogonal(direction.reshape([rows, columns]), rows > columns).reshape(weight.shape);
      const factor = this.scale === 'original' ? Math.sqrt(Math.max(1, rows / columns)) : 0.2 * Math.sqrt(Math.max(rows, columns));
      const next = weight.sub(change.mul(rate.mul(factor)).add(weight.mul(decay)));
      kept.assign(momentum);
      weight.assign(next);
    });
  }

  /** A matrix with singular values near 1. The products are those of the shorter side. */
  private orthogonal(matrix: Tensor<'f32'>, isTall: boolean): Tensor<'f32'> {
    let x = isTall ? matrix.T : matrix;
    x = x.div(x.norm().maximum(LEAST_NORM));
    for (let i = 0; i < this.iterations; i++) {
      const square = x.matmul(x.T);
      x = x.mul(A).add(square.mul(B).add(square.matmul(square).mul(C)).matmul(x));
    }
    return isTall ? x.T : x;
  }
}
