/**
 * Files of the safetensors format: 8 bytes with the length of a header, the header in JSON, and the numbers of all tensors without gaps.
 * Source: the specification in the repository huggingface/safetensors.
 */

import { describe, invalidArgument, ResiduaError } from '../../arguments/errors.js';
import type { RealDType } from '../dtype.js';
import type { StoredTensor } from '../device/stored-tensor.js';
import { elementCount } from '../memory/numbers.js';
import { shapeText } from '../size.js';
import { Tensor } from '../tensor.js';
import { beginningText, bytesText, countOf, textOf, u64At, type ByteReader } from './byte-reader.js';
import { FILE_BYTES, type FileType } from './elements.js';
import { JsonHeader } from './json-header.js';
import { checkedSizes, load, type LoadOptions } from './load.js';
import { encodeTensor, namedTensors } from './saving.js';
import type { FileSource } from './source.js';
import { storeElements } from './stored-elements.js';

/** The longest header that the format allows. */
const MOST_HEADER_BYTES = 100_000_000;

const METADATA = '__metadata__';

/** Types of the format. */
const TYPES: Readonly<Record<string, FileType>> = {
  F64: 'f64', F32: 'f32', F16: 'f16', BF16: 'bf16', I64: 'i64', I32: 'i32', I16: 'i16', I8: 'i8', U64: 'u64', U32: 'u32', U16: 'u16', U8: 'u8', BOOL: 'bool',
};

const NAME_OF: Readonly<Record<RealDType, string>> = { f32: 'F32', f16: 'F16', i32: 'I32', u32: 'U32', u8: 'U8', bool: 'BOOL' };

/** Types in the order of files that are saved: the larger elements first, so that all are aligned. */
const TYPE_ORDER: readonly RealDType[] = ['f32', 'i32', 'u32', 'f16', 'u8', 'bool'];

interface Entry {
  readonly name: string;
  readonly type: string;
  readonly sizes: readonly number[];
  /** Where its bytes begin and end, counted from the end of the header. */
  readonly range: readonly number[];
}

/**
 * Loads a file of the safetensors format: its tensors by name, and the texts of its metadata. f32, f16, i32, u32, u8 and bool stay what they
 * are; bf16 and f64 become f32, i8, i16 and i64 become i32, u16 and u64 become u32. Bodies go to the device piece by piece, in the order of
 * the file. Rejects with 'invalid-argument' for a source that cannot be read and for a file that is wrong, truncated or of another format,
 * and names the tensor or the byte; also for an integer that does not fit, and for a selected tensor of a type that tensors do not have (complex
 * numbers, 8-bit floats). Rejects with 'aborted', 'limit-exceeded', 'out-of-memory', 'device-lost'. What was allocated is then freed.
 */
export function loadSafetensors(source: FileSource, options: LoadOptions = {}): Promise<{ tensors: Record<string, StoredTensor>; metadata: Record<string, string> }> {
  return load('loadSafetensors', source, options, async (work) => {
    const { reader } = work;
    const { entries, metadata } = await readHeader(reader);
    const start = reader.position;
    const end = start + entries.reduce((most, { range }) => Math.max(most, range[1] as number), 0);
    if (reader.size !== null && reader.size !== end) {
      throw invalidArgument(`${reader.call}: source`, `${bytesText(reader.size)}`, `${end}, where the last tensor of its header ends`);
    }
    work.expect(end);
    const names = await work.selected(entries.map(({ name }) => name));
    const selected = entries.filter(({ name }) => names.has(name));
    const tensors: [string, StoredTensor][] = [];
    for (const { name, type, sizes, range } of selected) {
      const place = `tensor ${describe(name)}`;
      const fileType = Object.hasOwn(TYPES, type) ? TYPES[type] : undefined;
      if (fileType === undefined) throw invalidArgument(`${reader.call}: ${place}`, `type ${describe(type)}`, Object.keys(TYPES).join(', '));
      await reader.skipTo(start + (range[0] as number), place);
      tensors.push([name, await storeElements(work, reader, place, { name, type: fileType, sizes })]);
    }
    if (selected.length === entries.length && !(await reader.isAtEnd())) {
      throw invalidArgument(`${reader.call}: source`, 'more bytes', `a file that ends at byte ${end}, with its last tensor`);
    }
    return { tensors: Object.fromEntries(tensors), metadata };
  }, 'safetensors');
}

/** The tensors in the order of their bytes, and the metadata. */
async function readHeader(reader: ByteReader): Promise<{ entries: Entry[]; metadata: Record<string, string> }> {
  const first = await reader.read(8, 'the length of the header');
  const beginning = beginningText(first);
  const length = u64At(first, 0);
  if (length < 2n || length > BigInt(MOST_HEADER_BYTES)) {
    throw invalidArgument(`${reader.call}: byte 0`, `${beginning}, a header of ${length} bytes`, `a safetensors file, whose header has 2 to ${MOST_HEADER_BYTES} bytes`);
  }
  const place = `${reader.call}: the header`;
  const bytes = await reader.read(countOf(place, length), 'the header');
  if (bytes[0] !== 0x7b) throw invalidArgument(`${reader.call}: byte 8`, beginningText(bytes), "a safetensors file, whose header begins with '{'");
  const json = new JsonHeader(place, textOf(place, bytes));
  const entries: Entry[] = [];
  const metadata: [string, string][] = [];
  json.object('the header', (name) => {
    if (name === METADATA) json.object('the metadata', (key) => metadata.push([key, json.string('texts as metadata')]));
    else entries.push(readEntry(reader.call, json, name));
  });
  json.end();
  entries.sort((a, b) => (a.range[0] as number) - (b.range[0] as number) || (a.range[1] as number) - (b.range[1] as number));
  let end = 0;
  for (const { name, range } of entries) {
    if (range[0] !== end) throw invalidArgument(`${reader.call}: tensor ${describe(name)}`, `bytes ${range[0]} to ${range[1]}`, `bytes from ${end} on, where those before end`);
    end = range[1] as number;
  }
  return { entries, metadata: Object.fromEntries(metadata) };
}

function readEntry(call: string, json: JsonHeader, name: string): Entry {
  const place = `${call}: tensor ${describe(name)}`;
  const found: { type?: string; sizes?: readonly number[]; range?: readonly number[] } = {};
  json.object(`tensor ${describe(name)}`, (key) => {
    if (key === 'dtype') found.type = json.string('the name of a type');
    else if (key === 'shape') found.sizes = checkedSizes(place, json.numbers('a shape'));
    else if (key === 'data_offsets') found.range = json.numbers('a range of bytes');
    else json.skipValue('a value');
  });
  const { type, sizes, range } = found;
  if (type === undefined || sizes === undefined || range === undefined) throw invalidArgument(place, `an entry with ${Object.keys(found).join(', ') || 'nothing'}`, 'dtype, shape and data_offsets');
  const [from, to] = range as [number, number];
  if (range.length !== 2 || from > to) throw invalidArgument(`${place}: data_offsets`, `[${range.slice(0, 4).join(', ')}]`, 'where its bytes begin and end');
  const fileType = Object.hasOwn(TYPES, type) ? (TYPES[type] as FileType) : null;
  if (fileType !== null && to - from !== elementCount(sizes) * FILE_BYTES[fileType]) {
    throw invalidArgument(place, `${bytesText(to - from)}`, `${elementCount(sizes) * FILE_BYTES[fileType]} for ${type} ${shapeText(sizes)}`);
  }
  return { name, type, sizes, range };
}

/**
 * Saves tensors as a file of the safetensors format, with texts as metadata. All of them are computed and read with what they hold at the call.
 * The bytes of the file depend on its contents alone: types of larger elements come first, then names in the order of their UTF-16 codes.
 * Rejects with 'invalid-argument' for anything that is no Tensor, for complex numbers, for the name '__metadata__', and for metadata that is no text.
 */
export async function saveSafetensors(tensors: Readonly<Record<string, Tensor>>, metadata: Readonly<Record<string, string>> = {}): Promise<Blob> {
  const call = 'saveSafetensors';
  const texts = textsOf(call, metadata);
  const entries = namedTensors(call, tensors);
  for (const [name] of entries) if (name === METADATA) throw invalidArgument(`${call}: tensors`, `the name '${METADATA}'`, 'other names: the format has it for texts');
  entries.sort(([a, x], [b, y]) => TYPE_ORDER.indexOf(x.dtype) - TYPE_ORDER.indexOf(y.dtype) || (a < b ? -1 : 1));
  const bodies = await Promise.all(entries.map(([, tensor]) => encodeTensor(tensor)));
  let end = 0;
  const members = entries.map(([name, { dtype }], k): [string, object] => {
    const { body, sizes } = bodies[k] as (typeof bodies)[number];
    const range = [end, (end += body.size)];
    return [name, { dtype: NAME_OF[dtype], shape: sizes, data_offsets: range }];
  });
  // Names that look like numbers would come first in an object.
  const json = [...(texts === null ? [] : [[METADATA, texts] as const]), ...members].map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`);
  const header = new TextEncoder().encode(`{${json.join(',')}}`);
  // Padded, so that numbers begin at a multiple of 8.
  const length = Math.ceil(header.length / 8) * 8;
  if (length > MOST_HEADER_BYTES) throw new ResiduaError('limit-exceeded', `${call}: the header needs ${length} bytes, and the format has at most ${MOST_HEADER_BYTES}`);
  const beginning = new Uint8Array(8 + length).fill(0x20, 8);
  new DataView(beginning.buffer).setUint32(0, length, true);
  beginning.set(header, 8);
  return new Blob([beginning, ...bodies.map(({ body }) => body)], { type: 'application/octet-stream' });
}

/** Metadata in the order of its keys; null where there is none. */
function textsOf(call: string, metadata: unknown): Record<string, string> | null {
  if (typeof metadata !== 'object' || metadata === null || Array.isArray(metadata)) throw invalidArgument(`${call}: metadata`, describe(metadata), 'an object of texts');
  const entries = Object.entries(metadata).sort(([a], [b]) => (a < b ? -1 : 1));
  for (const [key, text] of entries) {
    if (typeof text !== 'string') throw invalidArgument(`${call}: metadata.${key}`, describe(text), 'a text');
    if (!isWellFormed(key) || !isWellFormed(text)) throw invalidArgument(`${call}: metadata`, `${describe(key)} with half of a surrogate pair`, 'text');
  }
  return entries.length === 0 ? null : Object.fromEntries(entries);
}

/** Whether text can be written as UTF-8: without half of a surrogate pair. */
function isWellFormed(text: string): boolean {
  return !/\p{Surrogate}/u.test(text);
}
