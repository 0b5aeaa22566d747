/**
 * Quantised weights in recipes: words and scales of blocks of 32 numbers along a row, in two inputs. Numbers of the weights are computed where
 * they are used.
 */

import { describe, invalidArgument } from '../../arguments/errors.js';
import type { Shape } from '../size.js';
import { indexSelect } from './indexing.js';
import { Node } from './node.js';

/** A form of quantised numbers that GGML has. */
export type QuantizedType = 'q8_0' | 'q4_0';

/** Numbers of a block, which share a scale. */
export const BLOCK = 32;

/** Bits of a number. */
export const BITS: Readonly<Record<QuantizedType, 4 | 8>> = { q8_0: 8, q4_0: 4 };

/** Throws 'invalid-argument' unless `type` is the name of a form. */
export function checkQuantizedType(argument: string, type: unknown): asserts type is QuantizedType {
  if (typeof type !== 'string' || !Object.hasOwn(BITS, type)) throw invalidArgument(argument, describe(type), `'${Object.keys(BITS).join("' or '")}'`);
}

/** The sizes of the words and of the scales of a matrix of weights. Throws 'invalid-argument' for columns that are no blocks. */
export function planeSizes(argument: string, [rows, columns]: readonly [number, number], type: QuantizedType): [words: [number, number], scales: [number, number]] {
  if (columns % BLOCK !== 0) throw invalidArgument(argument, `rows of ${columns} numbers`, `rows of a multiple of ${BLOCK} numbers`);
  return [[rows, (columns * BITS[type]) / 32], [rows, columns / BLOCK]];
}

/** Words and scales of quantised weights. */
export class Planes {
  /**
   * @param type their form
   * @param words u32 [rows, columns · bits / 32]: the numbers of a block in their order, low bits first
   * @param scales f16 [rows, columns / 32]
   */
  constructor(
    readonly type: QuantizedType,
    readonly words: Node,
    readonly scales: Node,
  ) {}

  /** The numbers. */
  numbers(): Node {
    const { type, words, scales } = this;
    const shape: Shape = [...words.shape.slice(0, -1), ((words.shape.at(-1) as number) * 32) / BITS[type]];
    return new Node('dequantize', 'f32', shape, [words, scales], [BITS[type]]);
  }

  /** Rows in the shape of ids. */
  rows(ids: Node, operation: string): Planes {
    return new Planes(this.type, indexSelect(this.words, ids, 0, operation), indexSelect(this.scales, ids, 0, operation));
  }
}
