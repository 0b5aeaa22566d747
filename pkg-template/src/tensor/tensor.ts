/** The public tensor: a recipe with methods. Types and shapes of the results are decided in `recipe/`, a file for each kind of operation. */

import { makeInspectable } from '../arguments/inspection.js';
import { describe, invalidArgument } from '../arguments/errors.js';
import { checkFinite } from '../arguments/numeric-arguments.js';
import type { DataOf, DType } from './dtype.js';
import { evaluator, readData, type ReadOptions } from './evaluator.js';
import { nested, type Nested } from './nested.js';
import { showTensors } from './notebook.js';
import * as activations from './recipe/activations.js';
import * as borders from './recipe/borders.js';
import { angle, checkComplex, conj } from './recipe/complex.js';
import { expandTo } from './recipe/broadcast.js';
import { apply, bitcast, cast, test, where } from './recipe/elementwise.js';
import type { ElementwiseName } from './recipe/elementwise-codes.js';
import * as indexing from './recipe/indexing.js';
import type { Node } from './recipe/node.js';
import { nodeOf, operandOf, type Keep } from './recipe/operands.js';
import * as products from './recipe/products.js';
import * as reductions from './recipe/reductions.js';
import * as rows from './recipe/rows.js';
import * as selections from './recipe/selections.js';
import * as slices from './recipe/slices.js';
import * as sorting from './recipe/sorting.js';
import * as special from './recipe/special.js';
import * as views from './recipe/views.js';
import { checkShape, knownSizes, type Shape, type Size } from './size.js';

/** Indices: integers of 32 bits. A negative one counts from the end. */
export type Indices = Tensor<'i32'> | Tensor<'u32'>;
/** The number of an axis, from 0; a negative one counts from the end. */
export type Axis = number;
/** An axis or several. */
export type Axes = Axis | readonly Axis[];
/**
 * A tensor, or a number, which takes the other operand's type. Shapes broadcast as NumPy's do: from the last axis on, sizes are equal or 1. Types
 * never mix silently: `cast()` changes one.
 */
export type Operand<D extends DType = any> = Tensor<D> | number;

/** Elements that were selected, of which `count` stand at the front of `values`, and zeros behind them: `Device.compact` takes them alone. */
export type Selection<D extends DType = any> = {
  /** As many elements, or rows of coordinates, as could be selected. */
  readonly values: Tensor<D>;
  /** How many of them were, a scalar. */
  readonly count: Tensor<'u32'>;
};

/** Different elements, of which `count` stand at the front of `values`. */
export type Unique<D extends DType = any> = Selection<D> & {
  /** For each value the place of its first element. */
  readonly indices: Tensor<'i32'>;
  /** For each value how many elements have it. */
  readonly counts: Tensor<'u32'>;
  /** For each element which of the values it has. */
  readonly inverse: Tensor<'i32'>;
};

/**
 * A recipe: an element type, a shape, and what it is computed from. It owns no memory of a device and is garbage-collected. Operations check
 * types and shapes where they are called, throw 'invalid-argument' there with what they got and what they take, and compute nothing; work begins
 * with a read or a run. Half precision is a type of storage: compositions such as `softmax` and all sums compute in single precision.
 */
export class Tensor<D extends DType = any> {
  /** Type of its elements. */
  readonly dtype: D;
  /** Sizes of its axes, the outermost first. */
  readonly shape: Shape;
  /** @internal The recipe. */
  readonly node: Node;

  /** Tensors are made by operations and devices. */
  protected constructor(node: Node) {
    this.node = node;
    this.dtype = node.dtype as D;
    this.shape = node.shape;
  }

  /** @internal Returns the tensor of a node. */
  static make<D extends DType>(node: Node): Tensor<D> {
    return new Tensor<D>(node);
  }

  /** Number of axes. */
  get rank(): number { return this.shape.length; }
  /** The shape as numbers. Throws 'invalid-argument' where it has a Dim. */
  get sizes(): readonly number[] { return knownSizes('sizes', this.shape); }

  /** Computes the elements, in C order, and reads them into a fresh typed array. Rejects with 'aborted' when `signal` fires. */
  data(options?: ReadOptions): Promise<DataOf[D]>;
  /**
   * The same into an array of the caller, which is returned: one of the type that a fresh one has, with as many numbers. Rejects with 'invalid-argument'
   * otherwise. After a failure it has what it had.
   */
  data(into: DataOf[D], options?: ReadOptions): Promise<DataOf[D]>;
  data(...options: [ReadOptions?] | [DataOf[D], ReadOptions?]): Promise<DataOf[D]> {
    return readData(this.node, options) as Promise<DataOf[D]>;
  }
  /** Computes and reads the number of a tensor with one element. Rejects with 'invalid-argument' for any other, and for c64; with 'aborted' when `signal` fires. */
  async item(options: ReadOptions = {}): Promise<number> {
    if (this.dtype === 'c64') throw invalidArgument('item', 'a tensor of c64', 'a tensor of one number: real() and imag() give one each');
    const data = await evaluator().read('item', this.node, options);
    if (data.length !== 1) throw invalidArgument('item', `${data.length} elements`, 'a tensor with one element');
    return data[0] as number;
  }
  /** Computes and reads the elements as lists of lists, one level an axis; a scalar is a number, and a complex number a list of two. Rejects with 'aborted' when `signal` fires. */
  async toArray(options: ReadOptions = {}): Promise<Nested> {
    const data = await evaluator().read('toArray', this.node, options);
    const sizes = evaluator().sizes(this.node);
    return nested(data, this.dtype === 'c64' ? [...sizes, 2] : sizes);
  }

  // Arithmetic.

  /** this + b; integers wrap. */
  add(b: Operand<D>): Tensor<D> { return this.binary('add', b); }
  /** this − b; integers wrap. */
  sub(b: Operand<D>): Tensor<D> { return this.binary('sub', b); }
  /** this · b; integers wrap. */
  mul(b: Operand<D>): Tensor<D> { return this.binary('mul', b); }
  /** this / b; of integers toward zero, and 0 where b is 0; of c64 without overflow in between, and by 0 each part. */
  div(b: Operand<D>): Tensor<D> { return this.binary('div', b); }
  /** The remainder with the sign of this, as JavaScript's %; of integers 0 where b is 0. */
  mod(b: Operand<D>): Tensor<D> { return this.binary('mod', b); }
  /** The remainder with the sign of b, as NumPy's mod; of integers 0 where b is 0. */
  floorMod(b: Operand<D>): Tensor<D> { return this.binary('floorMod', b); }
  /** this to the power b, as Math.pow; of integers by products, which wrap. */
  pow(b: Operand<D>): Tensor<D> { return isSimplePower(b) ? this.withLiteral('pow', b) : this.binary('pow', b); }
  /** The smaller; NaN if either is NaN. */
  minimum(b: Operand<D>): Tensor<D> { return this.binary('minimum', b); }
  /** The larger; NaN if either is NaN. */
  maximum(b: Operand<D>): Tensor<D> { return this.binary('maximum', b); }
  /** min(max(this, low), high) */
  clamp(low: Operand<D>, high: Operand<D>): Tensor<D> {
    const raised = apply('maximum', [this.node, this.operand('clamp: low', low)], 'clamp: low');
    return Tensor.make(apply('minimum', [raised, this.operand('clamp: high', high)], 'clamp: high'));
  }
  /** The angle of the point (x, this) in radians, in (−π, π]. */
  atan2(x: Operand<D>): Tensor<D> { return this.binary('atan2', x); }
  /** √(this² + b²) of floats, without overflow in between; infinite where either is. */
  hypot(b: Operand<D>): Tensor<D> { return Tensor.make(special.hypot(this.node, this.operand('hypot', b))); }

  // Comparisons, which are false with a NaN, but for neq.

  /** this = b */
  eq(b: Operand<D>): Tensor<'bool'> { return this.binary('eq', b); }
  /** this ≠ b; true with a NaN. */
  neq(b: Operand<D>): Tensor<'bool'> { return this.binary('neq', b); }
  /** this < b */
  lt(b: Operand<D>): Tensor<'bool'> { return this.binary('lt', b); }
  /** this ≤ b */
  lte(b: Operand<D>): Tensor<'bool'> { return this.binary('lte', b); }
  /** this > b */
  gt(b: Operand<D>): Tensor<'bool'> { return this.binary('gt', b); }
  /** this ≥ b */
  gte(b: Operand<D>): Tensor<'bool'> { return this.binary('gte', b); }
  /** Whether it is NaN; integers never are. */
  isNaN(): Tensor<'bool'> { return Tensor.make(test('isNaN', this.node)); }
  /** Whether it is neither NaN nor infinite; integers always are. */
  isFinite(): Tensor<'bool'> { return Tensor.make(test('isFinite', this.node)); }
  /** Whether it is infinite; integers never are. */
  isInfinite(): Tensor<'bool'> { return Tensor.make(test('isInfinite', this.node)); }

  // Bits.

  /** Both, of bools; of integers bit by bit. */
  and(b: Operand<D>): Tensor<D> { return this.withLiteral('and', b); }
  /** Either, of bools; of integers bit by bit. */
  or(b: Operand<D>): Tensor<D> { return this.withLiteral('or', b); }
  /** Either but not both, of bools; of integers bit by bit. */
  xor(b: Operand<D>): Tensor<D> { return this.withLiteral('xor', b); }
  /** The opposite, of bools; of integers bit by bit. */
  not(): Tensor<D> { return this.unary('not'); }
  /** Bits of an integer moved up by b, modulo 32. */
  shl(b: Operand<D>): Tensor<D> { return this.withLiteral('shl', b); }
  /** Bits of an integer moved down by b, modulo 32; an i32 keeps its sign. */
  shr(b: Operand<D>): Tensor<D> { return this.withLiteral('shr', b); }

  // Functions of one number.

  /** −this; integers wrap. */
  neg(): Tensor<D> { return this.unary('neg'); }
  /** |this|; of c64 the magnitude, an f32, without overflow in between. */
  abs(): Tensor<D extends 'c64' ? 'f32' : D> { return Tensor.make(apply('abs', [this.node])); }
  /** −1, 0 or 1; NaN of a NaN. */
  sign(): Tensor<D> { return this.unary('sign'); }
  /** this² */
  square(): Tensor<D> { return Tensor.make(apply('mul', [this.node, this.node], 'square')); }
  /** √this; NaN below 0. Of c64 the root with a real part that is not negative. */
  sqrt(): Tensor<D> { return this.unary('sqrt'); }
  /** 1/√this */
  rsqrt(): Tensor<D> { return Tensor.make(activations.rsqrt(this.node)); }
  /** 1/this */
  reciprocal(): Tensor<D> { return Tensor.make(apply('div', [1, this.node], 'reciprocal')); }
  /** e to the power of this. */
  exp(): Tensor<D> { return this.unary('exp'); }
  /** e to the power of this, less 1; accurate near 0. */
  expm1(): Tensor<D> { return this.unary('expm1'); }
  /** Natural logarithm; −∞ at 0, NaN below. Of c64 log |this| + i angle(this). */
  log(): Tensor<D> { return this.unary('log'); }
  /** log(1 + this), accurate near 0. */
  log1p(): Tensor<D> { return this.unary('log1p'); }
  /** Logarithm to the base 2, exact at powers of 2. */
  log2(): Tensor<D> { return Tensor.make(activations.log2(this.node)); }
  /** Logarithm to the base 10; on the CPU exact at powers of 10. */
  log10(): Tensor<D> { return Tensor.make(special.log10(this.node)); }
  /** The error function, 2/√π ∫ e^(−t²) dt from 0. */
  erf(): Tensor<D> { return this.unary('erf'); }
  /** 1 − erf(this), with digits where that is small: 0 from about 10 on. */
  erfc(): Tensor<D> { return this.unary('erfc'); }
  /** The inverse of erf; infinite at −1 and 1, NaN beyond. */
  erfinv(): Tensor<D> { return Tensor.make(special.erfinv(this.node)); }
  /** log |Γ(this)|: infinite at 0, −1, −2, …; the error is some 1e-7 of the larger of the value and 1 beside roots below 0. */
  logGamma(): Tensor<D> { return Tensor.make(special.logGamma(this.node)); }
  /** The derivative of log Γ; NaN at 0, −1, −2, … */
  digamma(): Tensor<D> { return Tensor.make(special.digamma(this.node)); }
  /** Sine of an angle in radians, of magnitude 1e5 at most on the GPU and 2²⁸ on the CPU; larger ones lose digits. */
  sin(): Tensor<D> { return this.unary('sin'); }
  /** Cosine of an angle in radians, of magnitude 1e5 at most on the GPU and 2²⁸ on the CPU; larger ones lose digits. */
  cos(): Tensor<D> { return this.unary('cos'); }
  /** Tangent of an angle in radians, of magnitude 1e5 at most on the GPU and 2²⁸ on the CPU; larger ones lose digits. */
  tan(): Tensor<D> { return this.unary('tan'); }
  /** Arc sine in [−π/2, π/2]; NaN outside [−1, 1]. */
  asin(): Tensor<D> { return this.unary('asin'); }
  /** Arc cosine in [0, π]; NaN outside [−1, 1]. */
  acos(): Tensor<D> { return this.unary('acos'); }
  /** Arc tangent in [−π/2, π/2]. */
  atan(): Tensor<D> { return this.unary('atan'); }
  /** Hyperbolic sine. */
  sinh(): Tensor<D> { return this.unary('sinh'); }
  /** Hyperbolic cosine. */
  cosh(): Tensor<D> { return this.unary('cosh'); }
  /** Hyperbolic tangent. */
  tanh(): Tensor<D> { return this.unary('tanh'); }
  /** The largest whole number not above this. */
  floor(): Tensor<D> { return this.unary('floor'); }
  /** The smallest whole number not below this. */
  ceil(): Tensor<D> { return this.unary('ceil'); }
  /** The nearest whole number, halves upward as Math.round, or to the 'even' neighbour as NumPy and PyTorch. */
  round(halves: 'up' | 'even' = 'up'): Tensor<D> { return Tensor.make(special.round(this.node, halves)); }
  /** The whole part, toward zero. */
  trunc(): Tensor<D> { return this.unary('trunc'); }

  // Activations.

  /** this above 0, else 0; NaN of a NaN. */
  relu(): Tensor<D> { return Tensor.make(activations.relu(this.node)); }
  /** this between 0 and 6, else the nearer of them. */
  relu6(): Tensor<D> { return Tensor.make(activations.relu6(this.node)); }
  /** this above 0, else slope · this. */
  leakyRelu(slope = 0.01): Tensor<D> {
    checkFinite('leakyRelu: slope', slope);
    return Tensor.make(activations.prelu('leakyRelu', this.node, slope));
  }
  /** this above 0, else slope · this. */
  prelu(slope: Operand<D>): Tensor<D> { return Tensor.make(activations.prelu('prelu', this.node, this.operand('prelu: slope', slope))); }
  /** this above 0, else alpha · (e to the power of this, less 1). */
  elu(alpha = 1): Tensor<D> {
    checkFinite('elu: alpha', alpha);
    return Tensor.make(activations.elu(this.node, alpha));
  }
  /** The scaled elu of Klambauer et al. 2017. */
  selu(): Tensor<D> { return Tensor.make(activations.selu(this.node)); }
  /** 1/(1 + e^−this) */
  sigmoid(): Tensor<D> { return this.unary('sigmoid'); }
  /** log(1/(1 + e^−this)), without overflow. */
  logSigmoid(): Tensor<D> { return Tensor.make(activations.logSigmoid(this.node)); }
  /** this/6 + 1/2 between 0 and 1, else the nearer of them. */
  hardSigmoid(): Tensor<D> { return Tensor.make(activations.hardSigmoid(this.node)); }
  /** log(1 + e^this), without overflow. */
  softplus(): Tensor<D> { return this.unary('softplus'); }
  /** this/(1 + |this|) */
  softsign(): Tensor<D> { return Tensor.make(activations.softsign(this.node)); }
  /** this · sigmoid(this) */
  silu(): Tensor<D> { return Tensor.make(activations.silu(this.node)); }
  /** this · Φ(this), exact by erf, or the common approximation by tanh. */
  gelu(form: 'exact' | 'tanh' = 'exact'): Tensor<D> { return Tensor.make(activations.gelu(this.node, form)); }
  /** this · tanh(softplus(this)) */
  mish(): Tensor<D> { return Tensor.make(activations.mish(this.node)); }
  /** this · hardSigmoid(this) */
  hardSwish(): Tensor<D> { return Tensor.make(activations.hardSwish(this.node)); }

  // Complex numbers. These throw 'invalid-argument' for other types than c64.

  /** The real parts. */
  real(): Tensor<'f32'> { return Tensor.make(checkComplex('real', this.node).re); }
  /** The imaginary parts. */
  imag(): Tensor<'f32'> { return Tensor.make(checkComplex('imag', this.node).im); }
  /** The conjugates: imaginary parts with the other sign. */
  conj(): Tensor<D> { return Tensor.make(conj(checkComplex('conj', this.node))); }
  /** The angles in radians, in [−π, π]; 0 of 0. */
  angle(): Tensor<'f32'> { return Tensor.make(angle(checkComplex('angle', this.node))); }

  // Types.

  /** As another type: to floats the nearest; floats to integers toward zero, clamped, NaN as 0; integers to integers by their low bits, so −1 is 255 of u8; to bool whether it is not 0; to c64 with an imaginary part of 0, and from c64 to bool alone. */
  cast<E extends DType>(dtype: E): Tensor<E> { return Tensor.make(cast(this.node, dtype)); }
  /** The same 32 bits as another type. Takes f32, i32 and u32. */
  bitcast<E extends 'f32' | 'i32' | 'u32'>(dtype: E): Tensor<E> { return Tensor.make(bitcast(this.node, dtype)); }
  /** As a constant: no gradient passes. */
  stopGradient(): Tensor<D> { return this.unary('stopGradient'); }

  // Reductions, over all axes unless told. With `keep` the axes stay, with size 1.

  /** Sum; of nothing 0. Long sums carry their error; integers wrap. Takes numbers. */
  sum(axes?: Axes, options?: Keep): Tensor<D> { return Tensor.make(reductions.simple('sum', this.node, axes, options)); }
  /** Mean; of nothing NaN. Of integers the sum, which wraps at 32 bits, of u8 too, is divided toward zero; of nothing it is 0. */
  mean(axes?: Axes, options?: Keep): Tensor<D> { return Tensor.make(reductions.mean(this.node, axes, options)); }
  /** Product; of nothing 1. Of c64 over axes whose sizes are numbers. */
  prod(axes?: Axes, options?: Keep): Tensor<D> { return Tensor.make(reductions.simple('prod', this.node, axes, options)); }
  /** Smallest; NaN if any is, of nothing the largest of the type. */
  min(axes?: Axes, options?: Keep): Tensor<D> { return Tensor.make(reductions.simple('min', this.node, axes, options)); }
  /** Largest; NaN if any is, of nothing the smallest of the type. */
  max(axes?: Axes, options?: Keep): Tensor<D> { return Tensor.make(reductions.simple('max', this.node, axes, options)); }
  /** log Σ e^this, without overflow; of nothing −∞. */
  logSumExp(axes?: Axes, options?: Keep): Tensor<D> { return Tensor.make(reductions.logSumExp(this.node, axes, options)); }
  /** Whether any is not 0; of nothing false. */
  any(axes?: Axes, options?: Keep): Tensor<'bool'> { return Tensor.make(reductions.anyOrAll('any', this.node, axes, options)); }
  /** Whether none is 0; of nothing true. */
  all(axes?: Axes, options?: Keep): Tensor<'bool'> { return Tensor.make(reductions.anyOrAll('all', this.node, axes, options)); }
  /** How many are not 0. */
  countNonzero(axes?: Axes, options?: Keep): Tensor<'u32'> { return Tensor.make(reductions.countNonzero(this.node, axes, options)); }
  /** Variance of floats; `correction: 1` divides by one less than their number. */
  variance(axes?: Axes, options?: reductions.VarianceOptions): Tensor<D> { return Tensor.make(reductions.variance(this.node, axes, options)); }
  /** Standard deviation of floats; `correction: 1` divides by one less than their number. */
  std(axes?: Axes, options?: reductions.VarianceOptions): Tensor<D> { return Tensor.make(reductions.std(this.node, axes, options)); }
  /** The Euclidean norm, without overflow in between; or with `order` 1 the sum of magnitudes, with Infinity the largest. Its derivative at 0 is 0. */
  norm(axes?: Axes, options?: reductions.NormOptions): Tensor<'f32'> { return Tensor.make(reductions.norm(this.node, axes, options)); }
  /** The place of the first smallest along an axis, or in C order of all; a NaN counts as smallest. Of nothing 0. */
  argmin(axis?: Axis, options?: Keep): Tensor<'i32'> { return Tensor.make(reductions.place('argmin', this.node, axis, options)); }
  /** The place of the first largest along an axis, or in C order of all; a NaN counts as largest. Of nothing 0. */
  argmax(axis?: Axis, options?: Keep): Tensor<'i32'> { return Tensor.make(reductions.place('argmax', this.node, axis, options)); }

  /**
   * The number below which a share `q`, from 0 to 1, of the numbers along an axis lies, or of all: exact, and linear between neighbours, as NumPy
   * has it. Of a list of shares, the results stand along a first axis. NaN if any number is, and of nothing. Throws 'invalid-argument' for
   * types other than f32 and f16.
   */
  quantile(q: number | readonly number[], axis?: Axis, options?: Keep): Tensor<D> { return Tensor.make(sorting.quantile('quantile', this.node, q, axis, options)); }
  /** The middle of the numbers along an axis, or of all; between two their mean. As quantile() of 0.5. */
  median(axis?: Axis, options?: Keep): Tensor<D> { return Tensor.make(sorting.quantile('median', this.node, 0.5, axis, options)); }

  // Along one axis, the last unless told.

  /** Sums of all elements up to each. */
  cumsum(axis: Axis = -1, options?: rows.ScanOptions): Tensor<D> { return Tensor.make(rows.accumulate('cumsum', 'sum', this.node, axis, options)); }
  /** Products of all elements up to each. */
  cumprod(axis: Axis = -1, options?: rows.ScanOptions): Tensor<D> { return Tensor.make(rows.accumulate('cumprod', 'prod', this.node, axis, options)); }
  /** The largest of all elements up to each. */
  cummax(axis: Axis = -1, options?: rows.ScanOptions): Tensor<D> { return Tensor.make(rows.accumulate('cummax', 'max', this.node, axis, options)); }
  /** The smallest of all elements up to each. */
  cummin(axis: Axis = -1, options?: rows.ScanOptions): Tensor<D> { return Tensor.make(rows.accumulate('cummin', 'min', this.node, axis, options)); }
  /** Each element less the one before it; the axis has one place less, and none where it had none. */
  diff(axis: Axis = -1): Tensor<D> { return Tensor.make(slices.diff(this.node, axis)); }
  /** e^this over the sum of these, without overflow; a row of −∞ gives NaN. */
  softmax(axis: Axis = -1): Tensor<D> { return Tensor.make(rows.softmax(this.node, axis)); }
  /** The logarithm of softmax, without overflow. */
  logSoftmax(axis: Axis = -1): Tensor<D> { return Tensor.make(rows.logSoftmax(this.node, axis)); }

  /** In ascending order, or `descending`. Equal elements keep their order, for which −0 equals 0; NaN comes last. */
  sort(axis: Axis = -1, options?: sorting.SortOptions): Tensor<D> { return Tensor.make(sorting.sort(this.node, axis, options)); }
  /** The places along the axis of what sort() gives. */
  argsort(axis: Axis = -1, options?: sorting.SortOptions): Tensor<'i32'> { return Tensor.make(sorting.argsort(this.node, axis, options)); }
  /**
   * The `k` largest along an axis, or with `smallest` the smallest, the most extreme first, and their places. Of equal elements those that come
   * first are taken, in their order; NaN is taken last. The axis has size `k` in both results. Throws 'invalid-argument' where it has fewer than `k`
   * elements.
   */
  topk(k: number, axis: Axis = -1, options?: sorting.TopkOptions): { values: Tensor<D>; indices: Tensor<'i32'> } {
    const { values, indices } = sorting.topk(this.node, k, axis, options);
    return { values: Tensor.make(values), indices: Tensor.make(indices) };
  }
  /**
   * The place in this vector, sorted ascending, before which each of `values` would be inserted: with 'left' (default) before equal elements, with
   * 'right' after them. NaN is larger than any number. The result has the shape of `values`, which may have any.
   */
  searchSorted(values: Tensor<D>, side: 'left' | 'right' = 'left'): Tensor<'i32'> { return Tensor.make(sorting.searchSorted(this.node, nodeOf('searchSorted: values', values), side)); }

  // Shapes. These are views; a copy is made only where a kernel cannot read one.

  /** The same elements in C order in another shape, of which one size may be −1. */
  reshape(shape: Shape): Tensor<D> { return Tensor.make(views.reshape(this.node, shape)); }
  /** The axes from one to another as one; all unless told. */
  flatten(from: Axis = 0, to: Axis = -1): Tensor<D> { return Tensor.make(views.flatten(this.node, from, to)); }
  /** Without axes of size 1: all of them, or those told. */
  squeeze(axes?: Axes): Tensor<D> { return Tensor.make(views.squeeze(this.node, axes)); }
  /** With axes of size 1, which have these numbers in the result. */
  expandDims(...axes: Axis[]): Tensor<D> { return Tensor.make(views.expandDims(this.node, axes)); }
  /** Axes in another order: axis k of the result is axis `axes[k]` of this. */
  permute(axes: readonly Axis[]): Tensor<D> { return Tensor.make(views.permute(this.node, axes)); }
  /** Two axes exchanged; the last two unless told. */
  transpose(a: Axis = -2, b: Axis = -1): Tensor<D> { return Tensor.make(views.transpose(this.node, a, b)); }
  /** The last two axes exchanged. */
  get T(): Tensor<D> { return Tensor.make(views.transpose(this.node, -2, -1, 'T')); }
  /** Repeated to a shape to which this one broadcasts. */
  broadcastTo(shape: Shape): Tensor<D> { return Tensor.make(expandTo('broadcastTo', this.node, checkShape('broadcastTo: shape', shape))); }
  /** An axis `count` times as a whole: 1 2 becomes 1 2 1 2. */
  repeat(count: number, axis: Axis): Tensor<D> { return Tensor.make(views.repeat(this.node, count, axis)); }
  /** Each axis so many times as a whole. Counts are those of the last axes; more of them than axes add axes at the front. */
  tile(counts: readonly number[]): Tensor<D> { return Tensor.make(views.tile(this.node, counts)); }
  /** A part: one range an axis, from the first on; see {@link Range}. */
  slice(...ranges: slices.Range[]): Tensor<D> { return Tensor.make(slices.slice(this.node, ranges)); }
  /** One place of an axis, which goes; a negative number counts from the end. */
  pick(axis: Axis, index: Size): Tensor<D> { return Tensor.make(slices.pick(this.node, axis, index)); }
  /** An axis, the first unless told, cut into so many equal parts, or into parts of these sizes. */
  split(parts: number | readonly number[], axis: Axis = 0): Tensor<D>[] { return slices.split(this.node, parts, axis).map((node) => Tensor.make<D>(node)); }
  /** Axes reversed; all unless told. */
  flip(axes?: Axes): Tensor<D> { return Tensor.make(slices.flip(this.node, axes)); }
  /** Elements moved `by` places along an axis, the first unless told; those beyond the end come in at the start. */
  roll(by: number, axis: Axis = 0): Tensor<D> { return Tensor.make(borders.roll(this.node, by, axis)); }
  /** The elements whose last two coordinates are equal, as a last axis instead of these two. */
  diagonal(): Tensor<D> { return Tensor.make(slices.diagonal(this.node)); }
  /** Overlapping pieces of an axis: it becomes their number, and an axis of `size` is added at the end. */
  windows(axis: Axis, size: number, step = 1, dilation = 1): Tensor<D> { return Tensor.make(borders.windows(this.node, axis, size, step, dilation)); }
  /** What stands so much further along the last axes; beyond the border the nearest element, 0, the axis again, or the axis mirrored. */
  shift(offsets: readonly number[], border: 'clamp' | 'zero' | 'wrap' | 'mirror' = 'clamp'): Tensor<D> { return Tensor.make(borders.shift(this.node, offsets, border)); }
  /** With so many elements before and after each axis; negative numbers take away. */
  pad(widths: readonly (readonly [before: number, after: number])[], options?: borders.PadOptions): Tensor<D> { return Tensor.make(borders.pad(this.node, widths, options)); }
  /** With 0 above a diagonal of the last two axes. */
  tril(diagonal = 0): Tensor<D> { return Tensor.make(borders.triangle(this.node, 'tril', diagonal)); }
  /** With 0 below a diagonal of the last two axes. */
  triu(diagonal = 0): Tensor<D> { return Tensor.make(borders.triangle(this.node, 'triu', diagonal)); }

  // Indexing. Negative indices count from the end. One that is out of range reads 0 and writes nothing.

  /** Slices of an axis, the first unless told: the axis is replaced by the shape of the indices. */
  indexSelect(indices: Indices, axis: Axis = 0): Tensor<D> { return Tensor.make(indexing.indexSelect(this.node, nodeOf('indexSelect: indices', indices), axis)); }
  /** The element at each index along an axis, the first unless told; indices have this tensor's rank. */
  gather(indices: Indices, axis: Axis = 0): Tensor<D> { return Tensor.make(indexing.gather(this.node, nodeOf('gather: indices', indices), axis)); }
  /** Elements, or slices, at rows of coordinates [..., count] of the first axes. */
  gatherNd(indices: Indices): Tensor<D> { return Tensor.make(indexing.gatherNd(this.node, nodeOf('gatherNd: indices', indices))); }
  /** This with elements of `source`, which broadcasts to the indices, put along an axis. Of several at one place 'set' takes the last. */
  scatter(indices: Indices, source: Operand<D>, options?: indexing.ScatterOptions): Tensor<D> {
    return Tensor.make(indexing.scatter(this.node, nodeOf('scatter: indices', indices), source, options));
  }
  /** This with elements, or slices, put at rows of coordinates. */
  scatterNd(indices: Indices, source: Tensor<D>, options?: { combine?: indexing.Combine }): Tensor<D> {
    return Tensor.make(indexing.scatterNd(this.node, nodeOf('scatterNd: indices', indices), nodeOf('scatterNd: source', source), options));
  }
  /** This with slices added, or combined otherwise, at the places along an axis that a vector says. */
  indexAdd(indices: Indices, source: Tensor<D>, options?: indexing.ScatterOptions): Tensor<D> {
    return Tensor.make(indexing.indexAdd(this.node, nodeOf('indexAdd: indices', indices), nodeOf('indexAdd: source', source), options));
  }
  /** This with the part that begins at `starts` replaced by `source`, which has this tensor's rank. Negative places count from the end. */
  setSlice(starts: readonly Size[], source: Tensor<D>): Tensor<D> { return Tensor.make(indexing.setSlice(this.node, starts, nodeOf('setSlice: source', source))); }
  /** This with `value` where the mask holds. */
  maskedFill(mask: Tensor<'bool'>, value: Operand<D>): Tensor<D> {
    return Tensor.make(where(nodeOf('maskedFill: mask', mask), this.operand('maskedFill: value', value), this.node, 'maskedFill'));
  }

  /**
   * The elements where the mask holds, in C order, at the front of a vector, and zeros behind them. The mask broadcasts to this shape, or this
   * tensor to the mask's. Gradients go back to the selected elements.
   */
  maskedSelect(mask: Tensor<'bool'>): Selection<D> { return selected(selections.maskedSelect(this.node, nodeOf('maskedSelect: mask', mask))); }
  /**
   * The coordinates of the elements that are not 0, in C order, as rows [elements, rank] of which the first ones are meant, and zeros behind them.
   * NaN is not 0.
   */
  nonzero(): Selection<'i32'> { return selected(selections.nonzero(this.node)); }
  /**
   * The different elements in ascending order, at the front of a vector, and zeros behind them; all NaN are one, the last. `indices` are the places of the
   * first of each in C order, `counts` how many there are, both as the values with zeros behind; `inverse` has this shape and says which value each element
   * is. Gradients of the values go to the first of each.
   */
  unique(): Unique<D> {
    const { indices, counts, inverse, ...found } = selections.unique(this.node);
    return { ...selected<D>(found), indices: Tensor.make(indices), counts: Tensor.make(counts), inverse: Tensor.make(inverse) };
  }

  // Products.

  /**
   * [..., m, k] times [..., k, n], over leading axes that broadcast; a vector is a row on the left and a column on the right. One operand may be
   * f16 where the other is f32; the result has this tensor's type. Sums are in f32, of integers they wrap; c64 goes with c64.
   */
  matmul(b: Tensor): Tensor<D> { return Tensor.make(products.matmul(this.node, nodeOf('matmul', b))); }
  /** The sum of the products of two vectors' elements, of which c64 has no conjugates. */
  dot(b: Tensor<D>): Tensor<D> { return Tensor.make(products.dot(this.node, nodeOf('dot', b))); }
  /** The matrix of the products of two vectors' elements. */
  outer(b: Tensor<D>): Tensor<D> { return Tensor.make(products.outer(this.node, nodeOf('outer', b))); }

  /** What JSON.stringify writes: type and shape, in which a Dim has its name. Nothing is computed or read: toArray() gives the elements. */
  toJSON(): { dtype: D; shape: (number | string)[] } {
    return { dtype: this.dtype, shape: this.shape.map((size) => (typeof size === 'number' ? size : size.name)) };
  }

  /** Text in a template literal. As a number, in JavaScript's operators and comparisons, it throws 'invalid-argument'. */
  [Symbol.toPrimitive](hint: string): string {
    if (hint !== 'string') throw invalidArgument('a Tensor', 'an operator of JavaScript', 'methods, such as add and lt');
    return `Tensor ${this.dtype} [${this.shape.map((size) => (typeof size === 'number' ? size : size.name)).join(', ')}]`;
  }

  private unary(name: ElementwiseName): Tensor<D> {
    return Tensor.make(apply(name, [this.node]));
  }

  private binary<E extends DType>(name: ElementwiseName, b: unknown): Tensor<E> {
    return Tensor.make(apply(name, [this.node, this.operand(name, b)]));
  }

  /** As binary(), with a number that kernels are written for: places of bits, and powers that are products. */
  private withLiteral(name: ElementwiseName, b: unknown): Tensor<D> {
    return typeof b === 'number' ? Tensor.make(apply(name, [this.node, b])) : this.binary(name, b);
  }

  private operand(argument: string, value: unknown): Node {
    return operandOf(argument, value, this.dtype);
  }
}

/** Whether a power is a product, a quotient or a root of few of them. */
function isSimplePower(exponent: unknown): boolean {
  return typeof exponent === 'number' && Number.isInteger(2 * exponent) && Math.abs(exponent) <= 8;
}

function selected<D extends DType>({ values, count }: selections.Selected): Selection<D> {
  return { values: Tensor.make(values), count: Tensor.make(count) };
}

/** Throws 'invalid-argument' unless a list holds tensors; returns their recipes. */
export function nodesOf(argument: string, tensors: unknown): Node[] {
  if (!Array.isArray(tensors)) throw invalidArgument(argument, describe(tensors), 'an array of Tensors');
  return tensors.map((tensor, k) => nodeOf(`${argument}[${k}]`, tensor));
}

makeInspectable(Tensor, 'Tensor');
showTensors(Tensor);
