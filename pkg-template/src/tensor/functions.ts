/** Functions of several tensors. Each throws 'invalid-argument' where types or shapes do not fit. */

import { describe, invalidArgument } from '../arguments/errors.js';
import { checkOptions, type OptionNames } from '../arguments/options.js';
import type { DType } from './dtype.js';
import { attention as attentionOf } from './recipe/attention.js';
import { cast, where as select } from './recipe/elementwise.js';
import { einsum as einsumOf } from './recipe/einsum.js';
import { indexSelect } from './recipe/indexing.js';
import { gradients } from './recipe/loop-gradient.js';
import { ComplexNode, type Node } from './recipe/node.js';
import * as normalisation from './recipe/normalisation.js';
import { checkType, nodeOf, nodeText, NOT_COMPLEX, operandOf, REALS } from './recipe/operands.js';
import { rope as rotated } from './recipe/rotary.js';
import * as slices from './recipe/slices.js';
import { sameSize, sizeText, type Size } from './size.js';
import { Quantized } from './quantized.js';
import { nodesOf, Tensor, type Axes, type Axis, type Indices, type Operand } from './tensor.js';

/** Elements of `a` where the condition holds, else of `b`; all broadcast. What is not selected never leaks, be it NaN. */
export function where<D extends DType>(condition: Tensor<'bool'>, a: Tensor<D>, b: Operand<D>): Tensor<D>;
export function where<D extends DType>(condition: Tensor<'bool'>, a: Operand<D>, b: Tensor<D>): Tensor<D>;
export function where<D extends DType>(condition: Tensor<'bool'>, a: Operand<D>, b: Operand<D>): Tensor<D> {
  const dtype = (typeof a === 'number' ? nodeOf('where', b, 'at least one Tensor') : nodeOf('where', a, 'a Tensor or a number')).dtype;
  return Tensor.make(select(nodeOf('where: condition', condition), operandOf('where', a, dtype), operandOf('where', b, dtype)));
}

/** Tensors of one type after one another along an axis, the first unless told; the other sizes are equal. */
export function concat<D extends DType>(parts: readonly Tensor<D>[], axis: Axis = 0): Tensor<D> {
  return Tensor.make(slices.concat(nodesOf('concat', parts), axis));
}

/** Tensors of one type and shape after one another along a new axis, the first unless told. */
export function stack<D extends DType>(parts: readonly Tensor<D>[], axis: Axis = 0): Tensor<D> {
  return Tensor.make(slices.stack(nodesOf('stack', parts), axis));
}

/**
 * An Einstein sum such as `einsum('bij,bjk->bik', a, b)`: a letter names an axis, and letters that are not in the result are summed over. '...'
 * stands for leading axes, which broadcast. Without an arrow the result has the letters that occur once, in alphabetical order.
 */
export function einsum<D extends DType>(formula: string, ...tensors: Tensor<D>[]): Tensor<D> {
  return Tensor.make(einsumOf(formula, nodesOf('einsum', tensors)));
}

/**
 * Rows of a table [rows, size] of floats, or of a QuantizedTensor, in the shape of the ids, in single precision. A negative id counts from the end; a row that is not there is 0.
 * Of a QuantizedTensor of several matrices, such as experts, these are matrices: `linear(x, embedding(ids, experts))` reads their blocks.
 */
export function embedding(ids: Indices, table: Tensor | Quantized): Tensor<'f32'> {
  if (table instanceof Quantized) return Tensor.make(table.planes.select(nodeOf('embedding: ids', ids), 'embedding').numbers());
  const rows = nodeOf('embedding: table', table, 'a Tensor or a QuantizedTensor');
  checkType('embedding: table', rows, NOT_COMPLEX);
  return Tensor.make(cast(indexSelect(rows, nodeOf('embedding: ids', ids), 0, 'embedding'), 'f32'));
}

/** What follows a normalisation. */
export interface NormOptions {
  /** Factors, which have the shape of the normalised axes; of groupNorm and batchNorm a vector, one a channel. */
  weight?: Tensor;
  /** Terms that are added, of the same shape. */
  bias?: Tensor;
  /** Keeps the divisor from being 0. Default 1e-5. */
  epsilon?: number;
}

/** Normalises by the mean and the variance over axes, the last unless told. */
export function layerNorm<D extends DType>(x: Tensor<D>, options: NormOptions & { axes?: Axes } = {}): Tensor<D> {
  const affine = normalisation.affineOf('layerNorm', options, { axes: true });
  return Tensor.make(normalisation.layerNorm(nodeOf('layerNorm', x), options.axes ?? -1, affine));
}

/** Divides by the root of the mean square over axes, the last unless told. */
export function rmsNorm<D extends DType>(x: Tensor<D>, options: NormOptions & { axes?: Axes } = {}): Tensor<D> {
  const affine = normalisation.affineOf('rmsNorm', options, { axes: true });
  return Tensor.make(normalisation.rmsNorm(nodeOf('rmsNorm', x), options.axes ?? -1, affine));
}

/** Normalises groups of the channels of [images, channels, …]; with as many groups as channels it is instance norm. */
export function groupNorm<D extends DType>(x: Tensor<D>, groups: number, options: NormOptions = {}): Tensor<D> {
  return Tensor.make(normalisation.groupNorm(nodeOf('groupNorm', x), groups, normalisation.affineOf('groupNorm', options, {})));
}

/** Normalises each channel of [images, channels, …] by a mean and a variance, which are those of the batch unless told, and come back. */
export function batchNorm<D extends DType>(
  x: Tensor<D>,
  options: NormOptions & { mean?: Tensor; variance?: Tensor } = {},
): { y: Tensor<D>; mean: Tensor<'f32'>; variance: Tensor<'f32'> } {
  const affine = normalisation.affineOf('batchNorm', options, { mean: true, variance: true });
  const given = (name: 'mean' | 'variance'): Node | null => (options[name] === undefined ? null : nodeOf(`batchNorm: ${name}`, options[name]));
  const { y, mean, variance } = normalisation.batchNorm(nodeOf('batchNorm', x), { mean: given('mean'), variance: given('variance') }, affine);
  return { y: Tensor.make(y), mean: Tensor.make(mean), variance: Tensor.make(variance) };
}

/** −log softmax(logits)[label], a number an example: labels have the shape of the logits without the axis of the classes, the last unless told. A label that is no class, 0 to n − 1, gives NaN. */
export function crossEntropy(logits: Tensor<'f32'>, labels: Indices, axis: Axis = -1): Tensor<'f32'> {
  return Tensor.make(normalisation.crossEntropy(nodeOf('crossEntropy: logits', logits), nodeOf('crossEntropy: labels', labels), axis));
}

/** What a rotary embedding depends on. */
export interface RopeOptions {
  /** The position of the first token, a whole number or a Dim; or a tensor with one position a token, whose last size is the number of tokens and whose other axes broadcast. */
  position: Size | Tensor<'i32'>;
  /** Pair i of a token turns by position · base^(−2i/size) radians. Default 10000. */
  base?: number;
  /** Which numbers are a pair: 'halves' has i and i + size/2, as files of Hugging Face, 'pairs' neighbours, as GGUF files of Llama. Default 'halves'. */
  layout?: 'halves' | 'pairs';
  /** How many numbers of each token turn, the first ones, an even number; the others stay. All unless told. */
  size?: number;
  /** A vector of size/2 angles in radians, by which the pairs turn from one position to the next, in place of the powers of the base. */
  frequencies?: Tensor<'f32'>;
}

const ROPE_OPTIONS: OptionNames<RopeOptions> = { position: true, base: true, layout: true, size: true, frequencies: true };

/**
 * Rotary embedding of [..., tokens, size]: pairs of numbers of each token turn by angles that grow with its position. Computes in single
 * precision, so that angles are exact to 2⁻²⁴ of themselves; the result has the type of x, f32 or f16. Throws 'invalid-argument'.
 */
export function rope<D extends DType>(x: Tensor<D>, options: RopeOptions): Tensor<D> {
  checkOptions('rope: options', options, ROPE_OPTIONS);
  const { position, base, layout = 'halves', size, frequencies } = options;
  return Tensor.make(rotated(nodeOf('rope', x), { position, base, layout, size, frequencies }));
}

/** Which keys a query sees, and what becomes of a score before the softmax. */
export interface AttentionOptions {
  /** Whether query i sees the keys up to `position` + i alone. Default false. */
  causal?: boolean;
  /** The place of the first query among the keys, a whole number from 0 or a Dim. By default the last query stands at the last key. */
  position?: Size;
  /** Which keys count, a bool, or a term of each score, an f32. It broadcasts to [..., heads, queries, keys]. */
  mask?: Tensor<'bool'> | Tensor<'f32'>;
  /** Factor of the products of queries and keys. Default 1/√size. */
  scale?: number;
  /** A query at place p sees the keys from p − window to p alone. */
  window?: number;
  /** Scores s become softcap · tanh(s / softcap), before the mask. */
  softcap?: number;
}

/**
 * Attention: softmax(q · kᵀ · scale + mask) · v for each head, without the matrix of weights in memory where the device has a kernel for it.
 *
 * q is [..., heads, queries, size], k [..., heads, keys, size] and v [..., heads, keys, width], of f32 or f16; the result is
 * [..., heads, queries, width] in single precision. k and v may have fewer heads than q: their number divides that of q, and each serves a
 * group of consecutive heads. Leading axes broadcast; a matrix is one head. A query that sees no key gives 0. A key that is not seen has weight
 * 0, so its value must be finite. Throws 'invalid-argument' where types, shapes or options do not fit.
 */
export function attention(q: Tensor, k: Tensor, v: Tensor, options: AttentionOptions = {}): Tensor<'f32'> {
  return Tensor.make(attentionOf(nodeOf('attention: q', q), nodeOf('attention: k', k), nodeOf('attention: v', v), options));
}

/**
 * Derivatives of a scalar of f32 by tensors of floats, as recipes with their shapes, by reverse accumulation. What the scalar does not depend on
 * gets zeros. It goes through loop() and scan(). By complex numbers x + iy it is ∂/∂x + i ∂/∂y, the direction in which the scalar grows most.
 */
export function grad<const W extends readonly Tensor[]>(scalar: Tensor<'f32'>, wrt: W): { -readonly [K in keyof W]: W[K] extends Tensor<infer D> ? Tensor<D> : never } {
  const by = nodesOf('grad: wrt', wrt);
  const parts = by.map((node) => (node instanceof ComplexNode ? [node.re, node.im] : [node]));
  const found = gradients(nodeOf('grad: scalar', scalar), parts);
  const tensors = found.map(([re, im]) => Tensor.make(im === undefined ? (re as Node) : new ComplexNode(re as Node, im)));
  return tensors as { -readonly [K in keyof W]: W[K] extends Tensor<infer D> ? Tensor<D> : never };
}

/**
 * The coordinates of a grid: for each of the vectors a tensor with an axis for every vector, in which it runs along its own. With 'xy' (default) the
 * first two axes are exchanged, rows before columns, as NumPy has it; with 'ij' they are in the order of the vectors, as PyTorch has it.
 */
export function meshgrid<D extends DType>(vectors: readonly Tensor<D>[], indexing: 'xy' | 'ij' = 'xy'): Tensor<D>[] {
  const nodes = nodesOf('meshgrid: vectors', vectors);
  if (indexing !== 'xy' && indexing !== 'ij') throw invalidArgument('meshgrid: indexing', describe(indexing), "'xy' or 'ij'");
  nodes.forEach((node, k) => {
    if (node.shape.length !== 1) throw invalidArgument(`meshgrid: vectors[${k}]`, nodeText(node), 'a vector');
  });
  // The axis of each vector.
  const axes = nodes.map((_, k) => (indexing === 'xy' && nodes.length > 1 && k < 2 ? 1 - k : k));
  const shape = axes.map((k) => (nodes[k] as Node).shape[0] as Size);
  return vectors.map((vector, k) => vector.reshape(shape.map((size, axis) => (axis === axes[k] ? size : 1))).broadcastTo(shape));
}

/**
 * The Euclidean distance of each row of a [..., n, size] to each of b [..., m, size], of floats, as [..., n, m] in single precision: from differences, so that near points keep their
 * digits. Leading axes broadcast. The derivative at a distance of 0 is 0.
 */
export function cdist(a: Tensor, b: Tensor): Tensor<'f32'> {
  for (const [name, x] of [['a', a], ['b', b]] as const) {
    const node = nodeOf(`cdist: ${name}`, x);
    checkType(`cdist: ${name}`, node, REALS);
    if (node.shape.length < 2) throw invalidArgument(`cdist: ${name}`, nodeText(node), 'rows of points, [..., points, size]');
  }
  if (!sameSize(a.shape.at(-1) as Size, b.shape.at(-1) as Size)) throw invalidArgument('cdist: b', nodeText(b.node), `points of ${sizeText(a.shape.at(-1) as Size)} numbers, as ${nodeText(a.node)}`);
  return a.cast('f32').expandDims(-2).sub(b.cast('f32').expandDims(-3)).norm(-1);
}
