/**
 * Quantised weights in recipes: in one input the integers of blocks along a row, or their low bits, in another one their side: a half for each block,
 * or records of words. Numbers of the weights are computed where they are used.
 */

import { describe, invalidArgument } from '../../arguments/errors.js';
import type { DType } from '../dtype.js';
import type { Shape } from '../size.js';
import { indexSelect } from './indexing.js';
import { Node } from './node.js';

/** A format of quantised numbers that GGML has. */
export type QuantizedType = 'q8_0' | 'q4_0' | 'q4_1' | 'q5_0' | 'q5_1' | 'q2_K' | 'q3_K' | 'q4_K' | 'q5_K' | 'q6_K' | 'iq4_nl' | 'iq4_xs';

/** A format that devices compute from floats. */
export type ComputedType = 'q8_0' | 'q4_0';

/** Numbers of a block of q8_0 and q4_0, which share a scale. */
export const BLOCK = 32;

/** Bits of a number of q8_0 and q4_0. */
export const BITS: Readonly<Record<ComputedType, 4 | 8>> = { q8_0: 8, q4_0: 4 };

/** How a format lies in memory: the table of crates/tensor-loops/src/format.rs, in its order. */
interface Format {
  /** Bits of a number in the words. */
  readonly low: 2 | 4 | 8;
  /** Numbers of a record, and its words, 0 if it is a half. */
  readonly span: number;
  readonly record: number;
  /** Numbers of a block of GGML, of which rows have a multiple, and its bytes. */
  readonly numbers: 32 | 256;
  readonly bytes: number;
}

export const FORMATS: Readonly<Record<QuantizedType, Format>> = {
  q8_0: { low: 8, span: 32, record: 0, numbers: 32, bytes: 34 },
  q4_0: { low: 4, span: 32, record: 0, numbers: 32, bytes: 18 },
  q4_1: { low: 4, span: 32, record: 1, numbers: 32, bytes: 20 },
  q5_0: { low: 4, span: 64, record: 3, numbers: 32, bytes: 22 },
  q5_1: { low: 4, span: 32, record: 2, numbers: 32, bytes: 24 },
  q2_K: { low: 2, span: 256, record: 5, numbers: 256, bytes: 84 },
  q3_K: { low: 2, span: 256, record: 12, numbers: 256, bytes: 110 },
  q4_K: { low: 4, span: 256, record: 4, numbers: 256, bytes: 144 },
  q5_K: { low: 4, span: 256, record: 12, numbers: 256, bytes: 176 },
  q6_K: { low: 4, span: 256, record: 21, numbers: 256, bytes: 210 },
  iq4_nl: { low: 4, span: 32, record: 0, numbers: 32, bytes: 18 },
  iq4_xs: { low: 4, span: 256, record: 2, numbers: 256, bytes: 136 },
};

/** The formats in the order of their codes. */
export const QUANTIZED_TYPES = Object.keys(FORMATS) as QuantizedType[];

/** Throws 'invalid-argument' unless `type` is the name of a format. */
export function checkQuantizedType(argument: string, type: unknown): asserts type is QuantizedType {
  checkName(argument, type, QUANTIZED_TYPES);
}

/** Throws 'invalid-argument' unless `type` is the name of a format that devices compute. */
export function checkComputedType(argument: string, type: unknown): asserts type is ComputedType {
  checkName(argument, type, Object.keys(BITS));
}

function checkName(argument: string, type: unknown, names: readonly string[]): void {
  if (typeof type !== 'string' || !names.includes(type)) throw invalidArgument(argument, describe(type), `'${names.join("' or '")}'`);
}

/** Sizes of quantised weights: a matrix, or several. */
export type QuantizedShape = readonly [rows: number, columns: number] | readonly [matrices: number, rows: number, columns: number];

/** The sizes of the words and of the side of weights. Throws 'invalid-argument' for rows that are no blocks. */
export function planeSizes(argument: string, shape: readonly number[], type: QuantizedType): [words: number[], side: number[]] {
  const { low, numbers, span, record } = FORMATS[type];
  const columns = shape.at(-1) as number;
  if (columns % numbers !== 0) throw invalidArgument(argument, `rows of ${columns} numbers`, `rows of a multiple of ${numbers} numbers, as ${type} has blocks of ${numbers}`);
  const leading = shape.slice(0, -1);
  return [[...leading, (columns / 32) * low], [...leading, Math.ceil(columns / span) * Math.max(record, 1)]];
}

/** The element types of words and side. */
export function planeTypes(type: QuantizedType): readonly [words: DType, side: DType] {
  return ['u32', FORMATS[type].record === 0 ? 'f16' : 'u32'];
}

/**
 * The left factor of a product of integers: signed bytes in words [..., in / 4], and an f32 for each block of 32 that they are multiplied by. Its format stands
 * after all others.
 */
export function numbersOfBytes(words: Node, scales: Node): Node {
  return new Node('dequantize', 'f32', [...words.shape.slice(0, -1), (words.shape.at(-1) as number) * 4], [words, scales], [QUANTIZED_TYPES.length]);
}

/** Words and side of quantised weights. */
export class Planes {
  /**
   * @param type their format
   * @param words u32 [..., rows, columns · low / 32]
   * @param side f16 [..., rows, columns / 32], or records of u32
   */
  constructor(
    readonly type: QuantizedType,
    readonly words: Node,
    readonly side: Node,
  ) {}

  /** The numbers. */
  numbers(): Node {
    const { type, words, side } = this;
    const shape: Shape = [...words.shape.slice(0, -1), ((words.shape.at(-1) as number) * 32) / FORMATS[type].low];
    return new Node('dequantize', 'f32', shape, [words, side], [QUANTIZED_TYPES.indexOf(type)]);
  }

  /** Rows of a matrix, or matrices of several, in the shape of ids. */
  select(ids: Node, operation: string): Planes {
    return new Planes(this.type, indexSelect(this.words, ids, 0, operation), indexSelect(this.side, ids, 0, operation));
  }
}
