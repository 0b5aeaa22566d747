/** Streams the numbers of a tensor from a file to the device. */

import { DTYPE_BYTES } from '../dtype.js';
import { elementCount } from '../memory/numbers.js';
import type { StoredTensor } from '../device/stored-tensor.js';
import type { ByteReader } from './byte-reader.js';
import { converterOf, FILE_BYTES, TYPE_OF, type FileType } from './elements.js';
import type { Load } from './load.js';

/** What a file says of the numbers of a tensor. */
export interface ElementsInFile {
  readonly name: string;
  readonly type: FileType;
  readonly sizes: readonly number[];
  /** Whether the highest byte comes first. */
  readonly isSwapped?: boolean;
}

/** Allocates a tensor and fills it with the next numbers of the file. `place` is the tensor in messages. */
export async function storeElements(load: Load, reader: ByteReader, place: string, { name, type, sizes, isSwapped = false }: ElementsInFile): Promise<StoredTensor> {
  const dtype = load.typeFor(TYPE_OF[type]);
  const width = FILE_BYTES[type];
  const bytes = width * elementCount(sizes);
  reader.checkLeft(bytes, place);
  const cell = await load.allocate(name, dtype, sizes);
  const convert = converterOf(`${reader.call}: ${place}`, type, dtype, isSwapped);
  // Of each write but the last the bytes are whole words.
  const grain = width * Math.max(1, 4 / DTYPE_BYTES[dtype]);
  let offset = 0;
  for await (const piece of reader.pieces(bytes, grain, place)) {
    const converted = convert(piece);
    await load.write(cell, offset, converted);
    offset += converted.length;
  }
  return load.tensor(cell);
}
