/** Streams quantised blocks from a file to the device: matrices, one or several, stay quantised, other tensors become plain numbers. */

import type { QuantizedTensor } from '../device/quantized-tensor.js';
import type { StoredTensor } from '../device/stored-tensor.js';
import { DTYPE_BYTES } from '../dtype.js';
import { elementCount } from '../memory/numbers.js';
import { planeSizes, planeTypes, type QuantizedShape } from '../recipe/quantised.js';
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

/** As storeBlocks(), for a matrix or several, which stay quantised or become q8_0. */
export async function storeMatrices(load: Load, reader: ByteReader, place: string, { name, type, sizes }: BlocksInFile): Promise<QuantizedTensor> {
  const shape = sizes as QuantizedShape;
  const columns = sizes.at(-1) as number;
  const { as, repack } = repackOf(`${reader.call}: ${place}`, type, columns);
  const bytes = blockBytes(type, sizes);
  reader.checkLeft(bytes, place);
  const [wordSizes, sideSizes] = planeSizes(place, shape, as);
  const [wordType, sideType] = planeTypes(as);
  const words = await load.allocate(name, wordType, wordSizes);
  const side = await load.allocate(name, sideType, sideSizes);
  let [wordBytes, sideBytes] = [0, 0];
  // Halves of an even number of blocks are whole words. Two blocks of a row may share a record.
  const blocks = columns / type.numbers;
  const grain = type.bytes * (type.numbers === 256 ? 1 : as === 'q5_0' && blocks % 2 === 1 ? blocks : 2);
  for await (const piece of reader.pieces(bytes, grain, place)) {
    const planes = repack(piece);
    await load.write(words, wordBytes, planes.words);
    await load.write(side, sideBytes, planes.side);
    wordBytes += planes.words.length;
    sideBytes += planes.side.length;
  }
  return load.quantized(as, shape, words, side);
}
