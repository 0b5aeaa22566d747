/** Weights of the instances of a residual block. */

import { describe, invalidArgument } from '../arguments/errors.js';
import { copyNumbers, type Numbers } from '../arguments/numeric-arguments.js';
import { DataInput, isInput, ownerOf, type Input } from './inputs.js';

/** The name of the data input that holds the weights of instances. */
export const WEIGHTS = 'weights';

/** Returns weights as a data input. Throws 'invalid-argument' unless they are `count` finite numbers, at least 0, or a data input of `owner` that has them. */
export function weightsInput(argument: string, owner: object, weights: Numbers | Input<unknown>, count: number): DataInput {
  let input: DataInput;
  if (isInput(weights)) {
    if (!(weights instanceof DataInput) || weights.dim !== 1) throw invalidArgument(argument, describe(weights), 'numbers, or what data returns for them');
    if (ownerOf(weights) !== owner) throw invalidArgument(argument, 'an input of another problem', 'an input of this one');
    input = weights;
  } else {
    input = new DataInput(owner, 1, copyNumbers(argument, weights));
  }
  if (input.values.length !== count) throw invalidArgument(argument, `${input.values.length} numbers`, `one for each of the ${count} instances`);
  checkWeights(argument, input.values);
  return input;
}

/** Throws 'invalid-argument' unless all numbers are finite and at least 0. */
export function checkWeights(argument: string, weights: Float64Array): void {
  const position = weights.findIndex((weight) => !(weight >= 0 && weight < Infinity));
  if (position >= 0) throw invalidArgument(`${argument}[${position}]`, String(weights[position]), 'a finite number, at least 0');
}
