/**
 * A node of a recipe: an operation on earlier nodes, with an element type and a shape. Nodes are immutable, hold no memory of a device, and
 * are what a tape is written from. A Tensor is a node with methods.
 */

import { invalidArgument } from '../../arguments/errors.js';
import type { DType } from '../dtype.js';
import type { Shape, Size } from '../size.js';
import type { OP } from '../tape-codes.js';

/** The name of an operation of the tape. */
export type TapeOp = keyof typeof OP;

/** The name of an operation. 'complex' makes complex numbers of two parts; no tape has it. */
export type OpName = TapeOp | 'complex';

/** How states of a user's reduction merge: a scalar graph in the form of the tape. */
export interface Rule {
  /** The state of nothing. */
  readonly identity: readonly number[];
  /** How many scalar nodes there are. */
  readonly count: number;
  /** The scalar nodes, in the form of the tape. */
  readonly scalars: readonly number[];
  /** The scalar nodes of the merged state. */
  readonly results: readonly number[];
}

/** What a node says besides its operands: a number, a size (by its position on the tape), a rule (likewise). */
export type Attribute = number | { readonly size: Size } | { readonly rule: Rule };

const NONE: readonly Size[] = [];

/** A node of a recipe. */
export class Node {
  /**
   * @param op what it is
   * @param dtype type of its elements
   * @param shape its extents, the outermost first
   * @param operands what it takes
   * @param attributes in the order of the tape; none of an input, whose slot a tape decides
   * @param source of an input: the object whose memory it stands for
   * @param bounds sizes that no run may make negative, besides those of the shape: places are within an axis where these are not
   */
  constructor(
    readonly op: OpName,
    readonly dtype: DType,
    readonly shape: Shape,
    readonly operands: readonly Node[] = [],
    readonly attributes: readonly Attribute[] = [],
    readonly source: object | null = null,
    readonly bounds: readonly Size[] = NONE,
  ) {
    const isComplex = dtype === 'c64' || operands.some((operand) => operand.dtype === 'c64');
    if (isComplex && op !== 'complex') throw invalidArgument(op, 'a tensor of c64', REAL_NUMBERS);
  }
}

/** What operations without a meaning for complex numbers take, in messages. */
export const REAL_NUMBERS = 'real numbers: real(), imag() and abs() give them';

/**
 * Complex numbers: two tensors of f32 of one shape. Operations on complex numbers record nodes on the parts, so no other node has the type c64,
 * and no other node takes one.
 */
export class ComplexNode extends Node {
  /**
   * @param re real parts
   * @param im imaginary parts
   * @param pairs the node of f32 of shape [..., 2] of which they are the parts; null where they are computed by themselves
   */
  constructor(
    readonly re: Node,
    readonly im: Node,
    private pairs: Node | null = null,
  ) {
    super('complex', 'c64', re.shape, [re, im], [], pairs?.source ?? null);
  }

  /** The numbers as they lie in memory: f32 of shape [..., 2]. */
  get inMemory(): Node {
    if (this.pairs === null) {
      const shape = [...this.shape, 1];
      const columns = [this.re, this.im].map((part) => new Node('reshape', 'f32', shape, [part]));
      this.pairs = new Node('concat', 'f32', [...this.shape, 2], columns, [this.shape.length]);
    }
    return this.pairs;
  }
}

/** A node as it lies in memory: complex numbers as pairs of f32. */
export function inMemory(node: Node): Node {
  return node instanceof ComplexNode ? node.inMemory : node;
}

/** Applies an operation that moves or adds elements: of a complex tensor to either part. */
export function byParts(x: Node, apply: (part: Node) => Node): Node {
  if (!(x instanceof ComplexNode)) return apply(x);
  const [re, im] = [apply(x.re), apply(x.im)];
  return re === x.re && im === x.im ? x : new ComplexNode(re, im);
}

/** Likewise of several tensors, which have one type. */
export function byPartsOfAll(tensors: readonly Node[], apply: (parts: readonly Node[]) => Node): Node {
  const complex = tensors.filter((each) => each instanceof ComplexNode);
  if (complex.length === 0) return apply(tensors);
  return new ComplexNode(apply(complex.map(({ re }) => re)), apply(complex.map(({ im }) => im)));
}

/** A node for memory that `source` owns: a stored tensor, an input of a program, the key of a Random. */
export function inputNode(dtype: DType, shape: Shape, source: object): Node {
  if (dtype !== 'c64') return new Node('input', dtype, shape, [], [], source);
  return complexOfPairs(new Node('input', 'f32', [...shape, 2], [], [], source));
}

/** The complex numbers of which a node has real and imaginary parts along its last axis, of 2. */
export function complexOfPairs(pairs: Node): ComplexNode {
  const shape = pairs.shape.slice(0, -1);
  const part = (place: number) => {
    const starts = [...shape.map(() => 0), place].map((size) => ({ size }));
    const column = new Node('slice', 'f32', [...shape, 1], [pairs], [...starts, ...pairs.shape.map(() => 1)]);
    return new Node('reshape', 'f32', shape, [column]);
  };
  return new ComplexNode(part(0), part(1), pairs);
}

/** A number that the caller gave, everywhere. What is computed once takes it as data, so that other numbers have the same kernels. */
export class NumberNode extends Node {
  constructor(
    readonly value: number,
    dtype: DType,
    shape: Shape = [],
  ) {
    super('constant', dtype, shape, [], [value]);
  }

  /** The bits that a kernel takes it by; null where kernels are simpler for its value, or it has none. */
  get bits(): number | null {
    const { value, dtype } = this;
    const isSimple = Number.isInteger(value) && Math.abs(value) <= 1;
    if (dtype === 'bool' || isSimple || !Number.isFinite(Math.fround(value))) return null;
    return dtype === 'f32' || dtype === 'f16' ? (new Uint32Array(Float32Array.of(value).buffer)[0] as number) : value >>> 0;
  }
}

/** A node with one number of the caller everywhere. */
export function numberNode(value: number, dtype: DType, shape: Shape = []): Node {
  if (dtype === 'c64') return new ComplexNode(numberNode(value, 'f32', shape), constantNode(0, 'f32', shape));
  return new NumberNode(value, dtype, shape);
}

/** A node with one number everywhere. */
export function constantNode(value: number, dtype: DType, shape: Shape = []): Node {
  if (dtype === 'c64') return new ComplexNode(constantNode(value, 'f32', shape), constantNode(0, 'f32', shape));
  return new Node('constant', dtype, shape, [], [value]);
}
