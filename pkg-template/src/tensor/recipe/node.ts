/**
 * A node of a recipe: an operation on earlier nodes, with an element type and a shape. Nodes are immutable, hold no memory of a device, and
 * are what a tape is written from. A Tensor is a node with methods.
 */

import type { DType } from '../dtype.js';
import type { Shape, Size } from '../size.js';

/** Codes of operations on the tape, as in crates/tensor/src/tape.rs. */
export const OP = {
  input: 0,
  constant: 1,
  extent: 2,
  iota: 3,
  randomBits: 4,
  elementwise: 5,
  reshape: 6,
  expand: 7,
  permute: 8,
  slice: 9,
  pad: 10,
  concat: 11,
  windows: 12,
  gather: 13,
  gatherElements: 14,
  reduce: 15,
  scan: 16,
  fold: 17,
  scanBy: 18,
  matmul: 19,
  scatter: 20,
  indexPut: 21,
  gradient: 22,
  argsort: 23,
  setSlice: 24,
  attention: 25,
  dequantize: 27,
} as const;

/** The name of an operation of the tape. */
export type OpName = keyof typeof OP;

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
  ) {}
}

/** A node for memory that `source` owns: a stored tensor, an input of a program, the key of a Random. */
export function inputNode(dtype: DType, shape: Shape, source: object): Node {
  return new Node('input', dtype, shape, [], [], source);
}

/** A node with one number everywhere. */
export function constantNode(value: number, dtype: DType, shape: Shape = []): Node {
  return new Node('constant', dtype, shape, [], [value]);
}
