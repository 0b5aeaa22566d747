/**
 * Files of the GGUF format, versions 2 and 3: metadata, descriptions of tensors, and their numbers, each at a multiple of the alignment.
 * Source: docs/gguf.md in the repository ggml-org/ggml.
 */

import { describe, invalidArgument } from '../../arguments/errors.js';
import type { QuantizedTensor } from '../device/quantized-tensor.js';
import type { StoredTensor } from '../device/stored-tensor.js';
import { elementCount } from '../memory/numbers.js';
import { shapeText } from '../size.js';
import { beginningText, u32At, type ByteReader } from './byte-reader.js';
import { ggmlType, readableTypes, type GgmlType } from './ggml-types.js';
import { GgufHeader } from './gguf-metadata.js';
import { checkedSizes, load, type Load, type LoadOptions } from './load.js';
import type { FileSource } from './source.js';
import { blockBytes, storeBlocks, storeMatrices } from './stored-blocks.js';
import { storeElements } from './stored-elements.js';

const MAGIC = 0x46554747;

/** The largest number of axes in GGML. */
const MOST_AXES = 4;

/** The alignment of files that tell none. */
const ALIGNMENT = 32;

/** The least bytes of a key with its value, and of the description of a tensor. */
const LEAST_PAIR = 13;
const LEAST_DESCRIPTION = 24;

interface Entry {
  readonly name: string;
  /** The code of its type. */
  readonly code: number;
  /** Undefined for codes without one. */
  readonly type: GgmlType | undefined;
  readonly sizes: readonly number[];
  /** Where its bytes begin, and where they end if that is known, from the end of the header on. */
  readonly start: number;
  readonly end: number;
}

/**
 * Loads a file of the GGUF format, version 2 or 3: its tensors by name, and its metadata. Shapes have the outermost axis first, so a matrix is
 * [out, in]. F32 and F16 stay what they are; BF16 and F64 become f32, I8, I16, I32 and I64 become i32. Matrices of Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q2_K
 * to Q6_K, IQ4_NL and IQ4_XS stay quantised, as do several matrices with three axes, such as experts; those of TQ1_0, TQ2_0 and MXFP4 are quantised to
 * q8_0, piece by piece. A quantised tensor with one axis or more than
 * three becomes f32, or f16 by the option `dtype`. Numbers of metadata are numbers, or bigints where 64 bits are not exact as a number; lists are arrays. Rejects as
 * loadSafetensors() does, and with 'invalid-argument' for selected tensors of other types.
 */
export function loadGguf(source: FileSource, options: LoadOptions = {}): Promise<{ tensors: Record<string, StoredTensor | QuantizedTensor>; metadata: Record<string, unknown> }> {
  return load('loadGguf', source, options, async (work) => {
    const { reader } = work;
    const { entries, metadata, start } = await readHeader(reader);
    // Where no tensor has bytes, none of the padding before them need be there.
    const end = entries.reduce((most, entry) => (entry.end > entry.start ? Math.max(most, start + entry.end) : most), reader.position);
    if (reader.size !== null && reader.size < end) throw invalidArgument(`${reader.call}: source`, `${reader.size} bytes`, `${end}, where the last tensor of its header ends`);
    work.expect(end);
    const tensors: [string, StoredTensor | QuantizedTensor][] = [];
    const names = await work.selected(entries.map(({ name }) => name));
    for (const entry of entries) {
      if (!names.has(entry.name)) continue;
      const place = `tensor ${describe(entry.name)}`;
      if (entry.end > entry.start) await reader.skipTo(start + entry.start, place);
      tensors.push([entry.name, await store(work, reader, place, entry)]);
    }
    return { tensors: Object.fromEntries(tensors), metadata };
  }, 'gguf');
}

function store(work: Load, reader: ByteReader, place: string, { name, code, type, sizes }: Entry): Promise<StoredTensor | QuantizedTensor> {
  if (type?.plain !== undefined) return storeElements(work, reader, place, { name, type: type.plain, sizes });
  if (type?.dequantise === undefined) throw invalidArgument(`${reader.call}: ${place}`, `type ${type?.name ?? code}`, readableTypes());
  const areMatrices = (sizes.length === 2 || sizes.length === 3) && elementCount(sizes) > 0;
  return areMatrices ? storeMatrices(work, reader, place, { name, type, sizes }) : storeBlocks(work, reader, place, { name, type, sizes });
}

/** The tensors in the order of their bytes, the metadata, and where bytes of tensors begin. */
async function readHeader(reader: ByteReader): Promise<{ entries: Entry[]; metadata: Record<string, unknown>; start: number }> {
  const { call } = reader;
  const first = await reader.read(8, 'the first bytes');
  if (u32At(first, 0) !== MAGIC) throw invalidArgument(`${call}: byte 0`, beginningText(first), "a file of the GGUF format, which begins with 'GGUF'");
  const version = u32At(first, 4);
  if (version !== 2 && version !== 3) {
    const isSwapped = version > 0xffff;
    throw invalidArgument(`${call}: byte 4`, isSwapped ? 'a file with the highest byte first' : `version ${version}`, isSwapped ? 'those with the lowest first' : 'versions 2 and 3');
  }
  const header = new GgufHeader(reader);
  const count = await header.count('the number of tensors', LEAST_DESCRIPTION);
  const pairs = await header.count('the number of keys', LEAST_PAIR);
  const metadata = await header.metadata(pairs);
  const alignment = metadata.get('general.alignment') ?? ALIGNMENT;
  if (typeof alignment !== 'number' || !(alignment >= 1) || alignment > 2 ** 20 || (alignment & (alignment - 1)) !== 0) {
    throw invalidArgument(`${call}: metadata "general.alignment"`, describe(alignment), 'a power of two up to 2^20');
  }
  const entries: Entry[] = [];
  const names = new Set<string>();
  for (let k = 0; k < count; k++) {
    const { position } = reader;
    const entry = await readEntry(call, header, k, alignment);
    if (names.has(entry.name)) throw invalidArgument(`${call}: byte ${position}`, `tensor ${describe(entry.name)} twice`, 'each name once');
    names.add(entry.name);
    entries.push(entry);
    header.checkLength();
  }
  entries.sort((a, b) => a.start - b.start || a.end - b.end);
  let end = 0;
  for (const { name, start, end: own } of entries) {
    if (start < end) throw invalidArgument(`${call}: tensor ${describe(name)}`, `byte ${start} of the numbers as its beginning`, `${end} or more, where the one before ends`);
    end = own;
  }
  return { entries, metadata: Object.fromEntries(metadata), start: Math.ceil(reader.position / alignment) * alignment };
}

async function readEntry(call: string, header: GgufHeader, k: number, alignment: number): Promise<Entry> {
  const name = await header.name(`the name of tensor ${k}`);
  const what = `tensor ${describe(name)}`;
  const place = `${call}: ${what}`;
  const rank = await header.u32(`the number of axes of ${what}`);
  if (rank > MOST_AXES) throw invalidArgument(place, `${rank} axes`, `at most ${MOST_AXES}`);
  const sizes: number[] = [];
  // The innermost axis comes first.
  for (let axis = 0; axis < rank; axis++) sizes.unshift(await header.u64(`the shape of ${what}`));
  checkedSizes(place, sizes);
  const code = await header.u32(`the type of ${what}`);
  const start = await header.u64(`the place of ${what}`);
  if (start % alignment !== 0) throw invalidArgument(place, `byte ${start} of the numbers as its beginning`, `a multiple of the alignment, ${alignment}`);
  const type = ggmlType(code);
  if (type !== undefined && (sizes.at(-1) ?? 1) % type.numbers !== 0) throw invalidArgument(place, `${type.name} ${shapeText(sizes)}`, `rows of a multiple of ${type.numbers}`);
  const end = start + (type === undefined ? 0 : blockBytes(type, sizes));
  if (!Number.isSafeInteger(end)) throw invalidArgument(place, `byte ${start} of the numbers as its beginning`, 'a place below 2^53');
  return { name, code, type, sizes, start, end };
}
