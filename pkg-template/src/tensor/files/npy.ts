/** Files of NumPy's .npy format: one array. */

import type { StoredTensor } from '../device/stored-tensor.js';
import type { RealDType } from '../dtype.js';
import type { Tensor } from '../tensor.js';
import type { ByteReader } from './byte-reader.js';
import { load, type Load, type LoadOptions } from './load.js';
import { NPY_MAGIC, readNpyHeader } from './npy-header.js';
import { checkTensor, encodeTensor } from './saving.js';
import type { FileSource } from './source.js';
import { storeElements } from './stored-elements.js';

/** NumPy's names of the element types. */
const NAME_OF: Readonly<Record<RealDType, string>> = { f32: '<f4', f16: '<f2', i32: '<i4', u32: '<u4', u8: '|u1', bool: '|b1' };

/** The header's end is at a multiple of this. */
const ALIGNMENT = 64;

/**
 * Loads a file of NumPy's .npy format, versions 1 to 3, of either order of bytes; an array in Fortran's order is rearranged on the device, which
 * needs its memory twice. f32, f16, i32, u32, u8 and bool stay what they are; f64 becomes f32, i8, i16 and i64 become i32, u16 and u64 become
 * u32. `select` gets the empty name. Rejects as loadSafetensors() does, and with 'invalid-argument' for complex numbers, texts, records and
 * objects. What follows the array is not read.
 */
export function loadNpy(source: FileSource, options: LoadOptions = {}): Promise<StoredTensor> {
  return load('loadNpy', source, options, (work) => storeArray(work, work.reader, ''), 'npy');
}

/** Reads a header and stores the array that follows it. `check` is called in between with the bytes of the array. */
export async function storeArray(work: Load, reader: ByteReader, name: string, check: (header: Awaited<ReturnType<typeof readNpyHeader>>) => void = () => {}): Promise<StoredTensor> {
  const header = await readNpyHeader(reader);
  check(header);
  const { sizes, isFortran } = header;
  const isTurned = isFortran && sizes.filter((size) => size !== 1).length > 1;
  const tensor = await storeElements(work, reader, 'the array', { ...header, name, sizes: isTurned ? [...sizes].reverse() : sizes });
  if (!isTurned) return tensor;
  return work.replace(tensor, () => work.device.store(tensor.permute(sizes.map((_, axis) => sizes.length - 1 - axis))));
}

/** Saves a tensor as a file of NumPy's .npy format, version 1, in C order. It is computed and read with what it holds at the call. Rejects with 'invalid-argument' for complex numbers. */
export async function saveNpy(tensor: Tensor): Promise<Blob> {
  checkTensor('saveNpy: tensor', tensor);
  const { body, sizes } = await encodeTensor(tensor);
  const shape = sizes.length === 1 ? `(${sizes[0]},)` : `(${sizes.join(', ')})`;
  const text = `{'descr': '${NAME_OF[tensor.dtype]}', 'fortran_order': False, 'shape': ${shape}, }`;
  const before = NPY_MAGIC.length + 4;
  const length = Math.ceil((before + text.length + 1) / ALIGNMENT) * ALIGNMENT - before;
  const header = Uint8Array.of(...NPY_MAGIC, 1, 0, length & 255, length >> 8);
  return new Blob([header, `${text.padEnd(length - 1)}\n`, body], { type: 'application/octet-stream' });
}
