/** Products with weights, in single precision or with a left factor that is rounded to bytes. */

import { describe, invalidArgument } from '../arguments/errors.js';
import { checkOptions, type OptionNames } from '../arguments/options.js';
import { inBytes } from './quantise.js';
import { Quantized } from './quantized.js';
import { nodeOf, nodeText } from './recipe/operands.js';
import { linear as product } from './recipe/products.js';
import { Tensor } from './tensor.js';
import { customGradient } from './transforms.js';

/** Options of linear(). */
export interface LinearOptions {
  /** What is added, which broadcasts to [..., out]. */
  bias?: Tensor;
  /**
   * 'int8' rounds x to bytes, and adds the products of 32 neighbours as integers: for prompts and other products of many rows with a QuantizedTensor, on
   * devices that multiply bytes faster than floats. 'f32' by default.
   */
  accumulate?: 'f32' | 'int8';
}

const OPTIONS: OptionNames<LinearOptions> = { bias: true, accumulate: true };

/** Throws 'invalid-argument' unless `value` says how products are added. */
export function checkAccumulate(argument: string, value: unknown): asserts value is 'f32' | 'int8' {
  if (value !== 'f32' && value !== 'int8') throw invalidArgument(argument, describe(value), "'f32' or 'int8'");
}

/**
 * x · weightᵀ + bias: x is [..., in] and the weight [out, in], as files have it. Floats or a QuantizedTensor, in single precision. With several matrices,
 * weights [..., out, in], x is [..., n, in], and the leading axes broadcast: a matrix for each batch of rows, as experts have.
 *
 * With `accumulate: 'int8'` each number of x becomes the nearest multiple of m / 127, where m is the largest magnitude of its 32 neighbours, of a block of the
 * weight. So it is off by at most m / 254, and an element of the result by at most Σ m |w| / 254, besides what sums in f32 round. Blocks with NaN or an
 * infinity are NaN. Derivatives are those of x as it is.
 */
export function linear(x: Tensor, weight: Tensor | Quantized, options?: Tensor | LinearOptions): Tensor<'f32'> {
  const isBias = options === undefined || options instanceof Tensor;
  if (!isBias) checkOptions('linear: options', options, OPTIONS);
  const { bias, accumulate = 'f32' }: LinearOptions = isBias ? (options === undefined ? {} : { bias: options }) : options;
  checkAccumulate('linear: accumulate', accumulate);
  const matrix = weight instanceof Quantized ? weight.planes.numbers() : nodeOf('linear: weight', weight, 'a Tensor or a QuantizedTensor');
  const added = bias === undefined ? null : nodeOf('linear: bias', bias);
  const exact = product(nodeOf('linear: x', x), matrix, added);
  if (accumulate === 'f32') return Tensor.make(exact);
  if (!(weight instanceof Quantized)) throw invalidArgument('linear: weight', nodeText(matrix), "a QuantizedTensor, as accumulate is 'int8'");
  const rounded = customGradient(
    (y: Tensor) => Tensor.make<'f32'>(product(inBytes(y).node, matrix, null)),
    (adjoint) => [sharedBy(adjoint.matmul(Tensor.make<'f32'>(matrix)), x)],
  )(x);
  return bias === undefined ? rounded : rounded.add(bias.cast('f32'));
}

/** The adjoint of x from that of x as it broadcast. */
function sharedBy(adjoint: Tensor<'f32'>, x: Tensor): Tensor {
  const more = adjoint.shape.length - x.shape.length;
  const axes = adjoint.shape.map((_, axis) => axis).filter((axis) => axis < more || (x.shape[axis - more] === 1 && adjoint.shape[axis] !== 1));
  return adjoint.sum(axes, { keep: true }).reshape(x.shape).cast(x.dtype);
}
