/** What is done to gradients before a step. */

import { describe, invalidArgument } from '../../arguments/errors.js';
import { stack } from '../functions.js';
import { map } from '../map.js';
import { V } from '../../expressions/v.js';
import { Tensor } from '../tensor.js';

/** Gradients that were clipped, and the norm that they had before. */
export interface Clipped {
  /** The gradients, in their order. */
  readonly gradients: Tensor<'f32'>[];
  /** The Euclidean norm of all gradients together, before, a scalar. */
  readonly norm: Tensor<'f32'>;
}

/** Gradients whose Euclidean norm, of all of them together, is at most `most`, a number above 0: larger ones are multiplied by most/norm. Throws 'invalid-argument'. */
export function clipByNorm(gradients: readonly Tensor<'f32'>[], most: number): Clipped {
  if (!Array.isArray(gradients) || gradients.length === 0) throw invalidArgument('clipByNorm: gradients', describe(gradients), 'a list of Tensors');
  (gradients as unknown[]).forEach((gradient, k) => {
    if (!(gradient instanceof Tensor) || gradient.dtype !== 'f32') throw invalidArgument(`clipByNorm: gradients[${k}]`, describe(gradient), 'a Tensor of f32');
  });
  checkNorm('clipByNorm: most', most);
  const norm = stack(gradients.map((gradient: Tensor<'f32'>) => gradient.norm())).norm();
  const factor = map((n) => V.ifThenElse(n.gt(most), n.reciprocal().mul(most), 1), norm);
  return { gradients: gradients.map((gradient: Tensor<'f32'>) => gradient.mul(factor)), norm };
}

/** Throws 'invalid-argument' unless `value` is a number above 0. */
export function checkNorm(argument: string, value: unknown): asserts value is number {
  if (typeof value !== 'number' || !(value > 0 && value < Infinity)) throw invalidArgument(argument, describe(value), 'a finite number above 0');
}
