/**
 * Optimisers: rules by which a program changes its weights from their gradients. Weights and what a rule keeps stay on the device; what differs from step to step, such as the learning
 * rate, are numbers that each run gets.
 */

import { describe, invalidArgument } from '../../arguments/errors.js';
import { checkFinite } from '../../arguments/numeric-arguments.js';
import { makeDisposable } from '../../compile/dispose.js';
import type { Device } from '../device/device.js';
import { scalar, type Spec } from '../device/program.js';
import type { StoredTensor } from '../device/stored-tensor.js';
import { nodeText } from '../recipe/operands.js';
import { sameShape, shapeText } from '../size.js';
import { Tensor } from '../tensor.js';
import { scheduleOf, type Schedule } from './schedule.js';
import { namedWeights, type StoredTree } from './stored-tree.js';

/** Numbers of a step by name, as the body of a compile has them. */
export type StepInputs = { readonly [name: string]: Tensor<'f32'> };

/** What all optimisers take. */
export interface RateOptions {
  /** The learning rate: a number of at least 0, or a schedule. */
  rate?: number | Schedule;
}

/** What changes weights of f32 from their gradients. */
export abstract class Optimizer {
  /** The device of the weights. */
  readonly device: Device;
  /** The weights, in the order of their gradients. */
  readonly weights: readonly StoredTensor<'f32'>[];
  /** The same as dispose(), for `using`. */
  declare readonly [Symbol.dispose]: () => void;
  /** @internal The names of the weights. */
  readonly names: readonly string[];
  /** @internal Steps so far. A checkpoint sets it. */
  taken = 0;

  /** @internal */
  constructor(call: string, weights: StoredTree<'f32'>) {
    const { names, tensors, device } = namedWeights(`${call}: weights`, weights);
    [this.names, this.weights, this.device] = [names, tensors, device];
  }

  /** Inputs of a program whose body calls update(): numbers that next() gives. */
  abstract readonly inputs: { readonly [name: string]: Spec<'f32'> };
  /** What it keeps between steps, by name: stored tensors, which begin with zeros. */
  abstract readonly state: { readonly [name: string]: StoredTensor<'f32'> };
  /** @internal The numbers of a step, counted from 0. */
  abstract numbers(step: number): Record<string, number>;
  /** @internal Learning rates that are numbers, for checkpoints; null in place of schedules. */
  abstract rates: readonly (number | null)[];
  /** @internal Records a step from as many gradients as weights, of their shapes. */
  protected abstract record(gradients: readonly Tensor<'f32'>[], inputs: StepInputs): void;

  /** How many steps there were. */
  get steps(): number {
    return this.taken;
  }

  /** Counts a step, and returns its numbers for the inputs of the program. Throws 'invalid-argument' for a schedule that gives no finite number of at least 0. */
  next(): Record<string, number> {
    const numbers = this.numbers(this.taken);
    this.taken += 1;
    return numbers;
  }

  /**
   * In the body of a compile: records a step. `gradients` are those of the weights, in their order and of their shapes; `inputs` has the program's tensors of the names in `inputs`. Throws
   * 'invalid-argument' for others.
   */
  update(gradients: readonly Tensor<'f32'>[], inputs: StepInputs): void {
    if (!Array.isArray(gradients) || gradients.length !== this.weights.length) throw invalidArgument('update: gradients', describe(gradients), `an array of ${this.weights.length}, one a weight`);
    gradients.forEach((gradient: unknown, k) => {
      const { shape } = this.weights[k] as StoredTensor;
      if (!(gradient instanceof Tensor)) throw invalidArgument(`update: gradients[${k}]`, describe(gradient), 'a Tensor');
      if (gradient.dtype !== 'f32' || !sameShape(gradient.shape, shape)) throw invalidArgument(`update: gradients[${k}]`, nodeText(gradient.node), `f32 ${shapeText(shape)}`);
    });
    checkInputs(this.inputs, inputs);
    this.record(gradients, inputs);
  }

  /** Frees what it keeps; the weights stay. */
  dispose(): void {
    for (const tensor of Object.values(this.state)) tensor.dispose();
  }
}

makeDisposable(Optimizer);

/** An optimiser with one learning rate, which keeps tensors of the weights' shapes. */
export abstract class RatedOptimizer extends Optimizer {
  /** Inputs of a program whose body calls update(). */
  readonly inputs: { readonly [name: string]: Spec<'f32'> };
  /** What it keeps between steps, by the name of what it is and that of the weight. */
  readonly state: { readonly [name: string]: StoredTensor<'f32'> };
  /** @internal Of each weight what is kept. */
  protected readonly kept: readonly (readonly StoredTensor<'f32'>[])[];
  private given: number | Schedule = 0;
  private readonly call: string;

  /** @internal */
  constructor(call: string, weights: StoredTree<'f32'>, rate: number | Schedule, inputs: readonly string[], kept: readonly string[]) {
    super(call, weights);
    this.call = call;
    this.inputs = Object.freeze(Object.fromEntries(inputs.map((name) => [name, scalar])));
    this.rate = rate;
    this.kept = this.weights.map(({ shape }) => kept.map(() => this.device.zeros(shape)));
    this.state = Object.freeze(Object.fromEntries(this.names.flatMap((name, k) => kept.map((part, i) => [`${part}.${name}`, (this.kept[k] as StoredTensor<'f32'>[])[i] as StoredTensor<'f32'>]))));
  }

  /** The learning rate of the steps from here on: a number of at least 0, or a schedule. Nothing is compiled anew for it. */
  get rate(): number | Schedule {
    return this.given;
  }
  set rate(rate: number | Schedule) {
    scheduleOf(`${this.call}: rate`, rate);
    this.given = rate;
  }

  /** @internal */
  get rates(): readonly (number | null)[] {
    return [typeof this.given === 'number' ? this.given : null];
  }
  /** @internal */
  set rates([rate]: readonly (number | null)[]) {
    if (typeof rate === 'number' && typeof this.given === 'number') this.rate = rate;
  }

  /** @internal The learning rate of a step. */
  protected rateAt(step: number): number {
    const rate: unknown = scheduleOf(`${this.call}: rate`, this.given)(step);
    checkFinite(`${this.call}: rate of step ${step}`, rate, 0);
    return rate;
  }
}

/** Throws 'invalid-argument' unless there is a tensor for each input. */
export function checkInputs(specs: { readonly [name: string]: Spec<'f32'> }, inputs: unknown): void {
  for (const name of Object.keys(specs)) {
    const input = (inputs as Partial<Record<string, unknown>> | null | undefined)?.[name];
    if (!(input instanceof Tensor)) throw invalidArgument(`update: inputs.${name}`, describe(input), 'the input of the program');
  }
}

/** Throws 'invalid-argument' unless `value` is a share of what was before: from 0 to below 1. */
export function checkShare(argument: string, value: unknown): asserts value is number {
  if (typeof value !== 'number' || !(value >= 0 && value < 1)) throw invalidArgument(argument, describe(value), 'a number from 0 to below 1');
}

/** Throws 'invalid-argument' unless `value` is a list of two shares. */
export function checkBetas(argument: string, value: unknown): asserts value is readonly [number, number] {
  if (!Array.isArray(value) || value.length !== 2) throw invalidArgument(argument, describe(value), 'a list of two numbers');
  value.forEach((share, k) => checkShare(`${argument}[${k}]`, share));
}
