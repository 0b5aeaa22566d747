/** Streams quantised blocks from a file to the device: matrices stay quantised, other tensors become plain numbers. */

import type { QuantizedTensor } from '../device/quantized-tensor.js';
import type { StoredTensor } from '../device/stored-tensor.js';
import { DTYPE_BYTES } from '../dtype.js';
import { elementCount } from '../memory/numbers.js';
import { BLOCK, planeSizes } from '../recipe/quantised.js';
import type { ByteReader } from './byte-reader.js';
import { bytesOf, halvesOf } from './elements.js';
import type { Dequantise, GgmlType } from './ggml-types.js';
import type { Load } from './load.js';
import { dequantised, repackOf } from './quantised-planes.js';

/** A tensor of blocks in a file. */
export interface BlocksInFile {
  readonly name: string;
  readonly type: GgmlType;
  /** The last axis is a multiple of a block's numbers. */
  readonly sizes: readonly number[];
}

/** Bytes of a tensor in a file. */
export function blockBytes({ numbers, bytes }: GgmlType, sizes: readonly number[]): number {
  return (elementCount(sizes) / numbers) * bytes;
}

/** Allocates a tensor and fills it with the next blocks of the file. `place` is the tensor in messages. */
export async function storeBlocks(load: Load, reader: ByteReader, place: string, { name, type, sizes }: BlocksInFile): Promise<StoredTensor> {
  const dtype = load.typeFor('f32');
  const bytes = blockBytes(type, sizes);
  reader.checkLeft(bytes, place);
  const cell = await load.allocate(name, dtype, sizes);
  let offset = 0;
  for await (const piece of reader.pieces(bytes, type.bytes, place)) {
    const numbers = dequantised(piece, type, type.dequantise as Dequantise);
    await load.write(cell, offset, bytesOf(dtype === 'f16' ? halvesOf(numbers) : numbers));
    offset += numbers.length * DTYPE_BYTES[dtype];
  }
  return load.tensor(cell);
}

/** As storeBlocks(), for a matrix, which stays quantised or becomes q8_0. */
export async function storeMatrix(load: Load, reader: ByteReader, place: string, { name, type, sizes }: BlocksInFile): Promise<QuantizedTensor> {
  const [rows, columns] = sizes as readonly [number, number];
  const { as, repack } = repackOf(`${reader.call}: ${place}`, type);
  const bytes = blockBytes(type, sizes);
  reader.checkLeft(bytes, place);
  const [wordSizes, scaleSizes] = planeSizes(place, [rows, columns], as);
  const words = await load.allocate(name, 'u32', wordSizes);
  const scales = await load.allocate(name, 'f16', scaleSizes);
  let [wordBytes, scaleBytes] = [0, 0];
  // Scales of an even number of blocks are whole words.
  const grain = type.numbers === BLOCK ? 2 * type.bytes : type.bytes;
  for await (const piece of reader.pieces(bytes, grain, place)) {
    const planes = repack(piece);
    await load.write(words, wordBytes, planes.words);
    await load.write(scales, scaleBytes, planes.scales);
    wordBytes += planes.words.length;
    scaleBytes += planes.scales.length;
  }
  return load.quantized(as, [rows, columns], words, scales);
}
