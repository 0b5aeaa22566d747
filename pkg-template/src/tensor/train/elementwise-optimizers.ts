/** Optimisers whose rule is one function of a weight, its gradient and what is kept of it: one kernel a weight. The formulas are those of the papers, as PyTorch documents them. */

import { checkFinite } from '../../arguments/numeric-arguments.js';
import { checkFlag, checkOptions, type OptionNames } from '../../arguments/options.js';
import { invalidArgument } from '../../arguments/errors.js';
import type { Scalar, Value } from '../../expressions/value.js';
import type { StoredTensor } from '../device/stored-tensor.js';
import { map } from '../map.js';
import type { Tensor } from '../tensor.js';
import { checkBetas, checkShare, RatedOptimizer, type RateOptions, type StepInputs } from './optimizer.js';
import type { Schedule } from './schedule.js';
import type { StoredTree } from './stored-tree.js';

/** What a rule is a function of. */
interface Step {
  readonly weight: Value;
  readonly gradient: Value;
  readonly kept: readonly Value[];
  /** The numbers of the step, in the order of the inputs. */
  readonly numbers: readonly Value[];
}

abstract class ElementwiseOptimizer extends RatedOptimizer {
  /** @internal The next weight, and what is kept. */
  protected abstract rule(step: Step): { readonly weight: Scalar; readonly kept: readonly Scalar[] };

  /** @internal */
  protected record(gradients: readonly Tensor<'f32'>[], inputs: StepInputs): void {
    const numbers = Object.keys(this.inputs).map((name) => inputs[name] as Tensor<'f32'>);
    this.weights.forEach((weight, k) => {
      const kept = this.kept[k] as readonly StoredTensor<'f32'>[];
      const next = (w: Value, g: Value, ...others: Value[]) => {
        const found = this.rule({ weight: w, gradient: g, kept: others.slice(0, kept.length), numbers: others.slice(kept.length) });
        return [found.weight, ...found.kept];
      };
      const results: readonly Tensor<'f32'>[] = map(next, weight, gradients[k] as Tensor<'f32'>, ...kept, ...numbers);
      [weight, ...kept].forEach((tensor, i) => tensor.assign(results[i] as Tensor<'f32'>));
    });
  }
}

/** Options of SGD. */
export interface SgdOptions extends RateOptions {
  /** The learning rate: a number of at least 0, or a schedule. Default 1e-3. */
  rate?: number | Schedule;
  /** The share of the step before that goes on, from 0 to below 1. Default 0. */
  momentum?: number;
  /** Nesterov's momentum: the gradient is taken where the momentum leads. Needs `momentum`. Default false. */
  nesterov?: boolean;
  /** This times the weight is added to its gradient. Default 0. */
  weightDecay?: number;
}

const SGD_OPTIONS: OptionNames<SgdOptions> = { rate: true, momentum: true, nesterov: true, weightDecay: true };

/** Gradient descent with momentum: b ← μb + g, w ← w − rate · b, or with Nesterov's momentum w ← w − rate · (g + μb). */
export class Sgd extends ElementwiseOptimizer {
  private readonly momentum: number;
  private readonly isNesterov: boolean;
  private readonly weightDecay: number;

  /** Takes the weights in a list or a record. Throws 'invalid-argument'; 'out-of-memory' on the CPU. */
  constructor(weights: StoredTree<'f32'>, options: SgdOptions = {}) {
    checkOptions('Sgd: options', options, SGD_OPTIONS);
    const { rate = 1e-3, momentum = 0, nesterov = false, weightDecay = 0 } = options;
    checkShare('Sgd: momentum', momentum);
    checkFlag('Sgd: nesterov', nesterov);
    if (nesterov && momentum === 0) throw invalidArgument('Sgd: nesterov', 'true without momentum', 'true with a momentum above 0');
    checkFinite('Sgd: weightDecay', weightDecay, 0);
    super('Sgd', weights, rate, ['rate'], momentum === 0 ? [] : ['momentum']);
    [this.momentum, this.isNesterov, this.weightDecay] = [momentum, nesterov, weightDecay];
  }

  /** @internal */
  numbers(step: number): Record<string, number> {
    return { rate: this.rateAt(step) };
  }

  /** @internal */
  protected rule({ weight, gradient, kept: [before], numbers: [rate] }: Step): { weight: Scalar; kept: Scalar[] } {
    const { momentum, weightDecay } = this;
    const g = weightDecay === 0 ? gradient : gradient.add(weight.mul(weightDecay));
    if (before === undefined) return { weight: weight.sub(g.mul(rate as Value)), kept: [] };
    const b = before.mul(momentum).add(g);
    return { weight: weight.sub((this.isNesterov ? g.add(b.mul(momentum)) : b).mul(rate as Value)), kept: [b] };
  }
}

/** Options of Adam and AdamW. */
export interface AdamOptions extends RateOptions {
  /** The learning rate: a number of at least 0, or a schedule. Default 1e-3. */
  rate?: number | Schedule;
  /** The shares of the first and of the second moment that stay, each from 0 to below 1. Default [0.9, 0.999]. */
  betas?: readonly [number, number];
  /** Keeps the divisor from being 0. Default 1e-8. */
  epsilon?: number;
  /** Of Adam: this times the weight is added to its gradient; default 0. Of AdamW: each step takes the rate times this of the weight away; default 0.01. */
  weightDecay?: number;
}

const ADAM_OPTIONS: OptionNames<AdamOptions> = { rate: true, betas: true, epsilon: true, weightDecay: true };

/** Adam (Kingma and Ba 2015): steps of the mean gradient over the root of the mean square, both corrected for having begun with zeros. */
export class Adam extends ElementwiseOptimizer {
  private readonly betas: readonly [number, number];
  private readonly epsilon: number;
  private readonly weightDecay: number;
  private readonly isDecoupled: boolean;

  /** Takes the weights in a list or a record. Throws 'invalid-argument'; 'out-of-memory' on the CPU. */
  constructor(weights: StoredTree<'f32'>, options: AdamOptions = {}) {
    const isDecoupled = new.target.isDecoupled;
    const call = isDecoupled ? 'AdamW' : 'Adam';
    checkOptions(`${call}: options`, options, ADAM_OPTIONS);
    const { rate = 1e-3, betas = [0.9, 0.999], epsilon = 1e-8, weightDecay = isDecoupled ? 0.01 : 0 } = options;
    checkBetas(`${call}: betas`, betas);
    checkFinite(`${call}: epsilon`, epsilon, 0);
    checkFinite(`${call}: weightDecay`, weightDecay, 0);
    super(call, weights, rate, ['stepSize', 'rootCorrection', 'decay'], ['first', 'second']);
    [this.betas, this.epsilon, this.weightDecay, this.isDecoupled] = [[...betas], epsilon, weightDecay, isDecoupled];
  }

  /** @internal Whether the weight decay is none of the gradient. */
  protected static readonly isDecoupled: boolean = false;

  /** @internal The corrections are computed in f64: 1 − 0.999ᵗ has few digits in f32. */
  numbers(step: number): Record<string, number> {
    const rate = this.rateAt(step);
    const [first, second] = this.betas;
    return { stepSize: rate / (1 - first ** (step + 1)), rootCorrection: Math.sqrt(1 - second ** (step + 1)), decay: this.isDecoupled ? rate * this.weightDecay : 0 };
  }

  /** @internal */
  protected rule({ weight, gradient, kept, numbers }: Step): { weight: Scalar; kept: Scalar[] } {
    const [first, second] = kept as [Value, Value];
    const [stepSize, rootCorrection, decay] = numbers as [Value, Value, Value];
    const { betas: [beta1, beta2], epsilon, weightDecay, isDecoupled } = this;
    const g = isDecoupled || weightDecay === 0 ? gradient : gradient.add(weight.mul(weightDecay));
    const m = first.mul(beta1).add(g.mul(1 - beta1));
    const v = second.mul(beta2).add(g.square().mul(1 - beta2));
    const change = stepSize.mul(m).div(v.sqrt().div(rootCorrection).add(epsilon));
    return { weight: weight.sub(isDecoupled && weightDecay !== 0 ? change.add(weight.mul(decay)) : change), kept: [m, v] };
  }
}

/** AdamW (Loshchilov and Hutter 2019): Adam, and beside it each step takes the rate times `weightDecay` of the weight away. */
export class AdamW extends Adam {
  /** @internal */
  protected static override readonly isDecoupled: boolean = true;
}

/** Options of Lion. */
export interface LionOptions extends RateOptions {
  /** The learning rate: a number of at least 0, or a schedule. Default 1e-4. */
  rate?: number | Schedule;
  /** The share of the momentum in a step, and that which stays, each from 0 to below 1. Default [0.9, 0.99]. */
  betas?: readonly [number, number];
  /** Each step takes the rate times this of the weight away. Default 0. */
  weightDecay?: number;
}

const LION_OPTIONS: OptionNames<LionOptions> = { rate: true, betas: true, weightDecay: true };

/** Lion (Chen et al. 2023): steps of one size, the rate, in the direction of the sign of a mean of momentum and gradient. */
export class Lion extends ElementwiseOptimizer {
  private readonly betas: readonly [number, number];
  private readonly weightDecay: number;

  /** Takes the weights in a list or a record. Throws 'invalid-argument'; 'out-of-memory' on the CPU. */
  constructor(weights: StoredTree<'f32'>, options: LionOptions = {}) {
    checkOptions('Lion: options', options, LION_OPTIONS);
    const { rate = 1e-4, betas = [0.9, 0.99], weightDecay = 0 } = options;
    checkBetas('Lion: betas', betas);
    checkFinite('Lion: weightDecay', weightDecay, 0);
    super('Lion', weights, rate, ['rate', 'decay'], ['momentum']);
    [this.betas, this.weightDecay] = [[...betas], weightDecay];
  }

  /** @internal */
  numbers(step: number): Record<string, number> {
    const rate = this.rateAt(step);
    return { rate, decay: rate * this.weightDecay };
  }

  /** @internal */
  protected rule({ weight, gradient, kept, numbers }: Step): { weight: Scalar; kept: Scalar[] } {
    const [momentum, [rate, decay], [beta1, beta2]] = [kept[0] as Value, numbers as [Value, Value], this.betas];
    const change = momentum.mul(beta1).add(gradient.mul(1 - beta1)).sign().mul(rate);
    return { weight: weight.sub(this.weightDecay === 0 ? change : change.add(weight.mul(decay))), kept: [momentum.mul(beta2).add(gradient.mul(1 - beta2))] };
  }
}
