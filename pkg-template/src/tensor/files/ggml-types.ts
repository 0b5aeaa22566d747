/** Types of numbers in GGUF files, by their codes. Source: ggml.h and ggml-common.h in the repository ggml-org/ggml. */

import { dequantiseIq4Nl, dequantiseIq4Xs, dequantiseMxfp4, dequantiseQ40, dequantiseQ41, dequantiseQ50, dequantiseQ51, dequantiseQ80, dequantiseTq10, dequantiseTq20 } from './blocks.js';
import type { FileType } from './elements.js';
import { dequantiseQ2K, dequantiseQ3K, dequantiseQ4K, dequantiseQ5K, dequantiseQ6K } from './k-blocks.js';

/** Writes the numbers of the block at byte `from` to `to`, from element `at` on. */
export type Dequantise = (bytes: Uint8Array, from: number, to: Float32Array, at: number) => void;

/** A type of numbers in a file. */
export interface GgmlType {
  readonly name: string;
  /** Numbers of a block. */
  readonly numbers: number;
  /** Bytes of a block. */
  readonly bytes: number;
  /** As plain numbers. */
  readonly plain?: FileType;
  /** What a block stands for; neither this nor `plain` for types that are not read. */
  readonly dequantise?: Dequantise;
}

const plain = (name: string, bytes: number, type: FileType): GgmlType => ({ name, numbers: 1, bytes, plain: type });
const blocks = (name: string, numbers: number, bytes: number, dequantise?: Dequantise): GgmlType => (dequantise === undefined ? { name, numbers, bytes } : { name, numbers, bytes, dequantise });

/** Returns the type of a code; undefined for codes without one. */
export function ggmlType(code: number): GgmlType | undefined {
  return TYPES.get(code);
}

/** The names of the types that are read. */
export function readableTypes(): string {
  return [...TYPES.values()].filter((type) => type.plain !== undefined || type.dequantise !== undefined).map(({ name }) => name).join(', ');
}

const TYPES: ReadonlyMap<number, GgmlType> = /* @__PURE__ */ new Map([
  [0, plain('F32', 4, 'f32')],
  [1, plain('F16', 2, 'f16')],
  [2, blocks('Q4_0', 32, 18, dequantiseQ40)],
  [3, blocks('Q4_1', 32, 20, dequantiseQ41)],
  [6, blocks('Q5_0', 32, 22, dequantiseQ50)],
  [7, blocks('Q5_1', 32, 24, dequantiseQ51)],
  [8, blocks('Q8_0', 32, 34, dequantiseQ80)],
  [9, blocks('Q8_1', 32, 36)],
  [10, blocks('Q2_K', 256, 84, dequantiseQ2K)],
  [11, blocks('Q3_K', 256, 110, dequantiseQ3K)],
  [12, blocks('Q4_K', 256, 144, dequantiseQ4K)],
  [13, blocks('Q5_K', 256, 176, dequantiseQ5K)],
  [14, blocks('Q6_K', 256, 210, dequantiseQ6K)],
  [15, blocks('Q8_K', 256, 292)],
  [16, blocks('IQ2_XXS', 256, 66)],
  [17, blocks('IQ2_XS', 256, 74)],
  [18, blocks('IQ3_XXS', 256, 98)],
  [19, blocks('IQ1_S', 256, 50)],
  [20, blocks('IQ4_NL', 32, 18, dequantiseIq4Nl)],
  [21, blocks('IQ3_S', 256, 110)],
  [22, blocks('IQ2_S', 256, 82)],
  [23, blocks('IQ4_XS', 256, 136, dequantiseIq4Xs)],
  [24, plain('I8', 1, 'i8')],
  [25, plain('I16', 2, 'i16')],
  [26, plain('I32', 4, 'i32')],
  [27, plain('I64', 8, 'i64')],
  [28, plain('F64', 8, 'f64')],
  [29, blocks('IQ1_M', 256, 56)],
  [30, plain('BF16', 2, 'bf16')],
  [34, blocks('TQ1_0', 256, 54, dequantiseTq10)],
  [35, blocks('TQ2_0', 256, 66, dequantiseTq20)],
  [39, blocks('MXFP4', 32, 17, dequantiseMxfp4)],
  [40, blocks('NVFP4', 64, 36)],
  [41, blocks('Q1_0', 128, 18)],
]);
