/** Several optimisers as one: weights that need other rules, rates or decays than the rest. */

import { describe, invalidArgument } from '../../arguments/errors.js';
import type { Spec } from '../device/program.js';
import type { StoredTensor } from '../device/stored-tensor.js';
import type { Tensor } from '../tensor.js';
import { Optimizer, type StepInputs } from './optimizer.js';

/** The names of a part's entries among those of all. */
const withPrefix = <T>(entries: { readonly [name: string]: T }, part: number) => Object.entries(entries).map(([name, value]): [string, T] => [`${part}.${name}`, value]);

/**
 * Several optimisers as one, each with weights of its own: matrices by Muon and the rest by AdamW, or biases without weight decay. Its weights are those of the parts, one part after another.
 */
export class OptimizerGroup extends Optimizer {
  /** Those of the parts, with the number of the part and a dot before each name. */
  readonly inputs: { readonly [name: string]: Spec<'f32'> };
  /** What the parts keep, by such names. */
  readonly state: { readonly [name: string]: StoredTensor<'f32'> };
  /** The optimisers. They take their steps together. */
  readonly parts: readonly Optimizer[];

  /** Throws 'invalid-argument' for anything but a list of optimisers of one device, for a weight that two of them have, and for one that has taken steps. */
  constructor(parts: readonly Optimizer[]) {
    if (!Array.isArray(parts) || parts.length === 0) throw invalidArgument('OptimizerGroup: parts', describe(parts), 'a list of optimisers');
    (parts as unknown[]).forEach((part, k) => {
      if (!(part instanceof Optimizer)) throw invalidArgument(`OptimizerGroup: parts[${k}]`, describe(part), 'an optimiser');
      if (part.steps > 0) throw invalidArgument(`OptimizerGroup: parts[${k}]`, `an optimiser that has taken ${part.steps} steps`, 'one that has taken none');
    });
    const optimizers = [...(parts as readonly Optimizer[])];
    super('OptimizerGroup', optimizers.map(({ names, weights }) => Object.fromEntries(names.map((name, k) => [name, weights[k] as StoredTensor<'f32'>]))));
    this.parts = Object.freeze(optimizers);
    this.inputs = Object.freeze(Object.fromEntries(optimizers.flatMap(({ inputs }, k) => withPrefix(inputs, k))));
    this.state = Object.freeze(Object.fromEntries(optimizers.flatMap(({ state }, k) => withPrefix(state, k))));
  }

  /** @internal */
  numbers(step: number): Record<string, number> {
    return Object.fromEntries(this.parts.flatMap((part, k) => withPrefix(part.numbers(step), k)));
  }

  /** @internal */
  get rates(): readonly (number | null)[] {
    return this.parts.flatMap((part) => part.rates);
  }
  /** @internal */
  set rates(rates: readonly (number | null)[]) {
    let at = 0;
    for (const part of this.parts) part.rates = rates.slice(at, (at += part.rates.length));
  }

  /** @internal */
  protected record(gradients: readonly Tensor<'f32'>[], inputs: StepInputs): void {
    let at = 0;
    this.parts.forEach((part, k) => {
      const own = Object.fromEntries(Object.keys(part.inputs).map((name) => [name, inputs[`${k}.${name}`] as Tensor<'f32'>]));
      part.update(gradients.slice(at, (at += part.weights.length)), own);
    });
  }
}
