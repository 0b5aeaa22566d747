/** Headers of NumPy's .npy format, versions 1 to 3. Source: numpy.lib.format. */

import { describe, invalidArgument } from '../../arguments/errors.js';
import { beginningText, textOf, u16At, u32At, type ByteReader } from './byte-reader.js';
import type { FileType } from './elements.js';
import { checkedSizes } from './load.js';

/** What a header says. */
export interface NpyHeader {
  readonly type: FileType;
  /** Whether the highest byte of a number comes first. */
  readonly isSwapped: boolean;
  /** Whether the first axis is the innermost one in memory. */
  readonly isFortran: boolean;
  readonly sizes: readonly number[];
}

/** The longest header that is read; NumPy itself reads 10,000 bytes from files that are not trusted. */
const MOST_HEADER_BYTES = 2 ** 16;

/** Kinds and widths of numbers. */
const TYPES: Readonly<Record<string, FileType>> = {
  f8: 'f64', f4: 'f32', f2: 'f16', i8: 'i64', i4: 'i32', i2: 'i16', i1: 'i8', u8: 'u64', u4: 'u32', u2: 'u16', u1: 'u8', b1: 'bool',
};

/** The format's first bytes. */
export const NPY_MAGIC = [0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59] as const;

/** Reads the header. Rejects with 'invalid-argument' where it is wrong, and for types that tensors do not have. */
export async function readNpyHeader(reader: ByteReader): Promise<NpyHeader> {
  const { call } = reader;
  const start = reader.position;
  const first = await reader.read(8, 'the first bytes');
  if (NPY_MAGIC.some((byte, k) => first[k] !== byte)) throw invalidArgument(`${call}: byte ${start}`, beginningText(first), "a file of NumPy's .npy format");
  const [version, minor] = [first[6] as number, first[7] as number];
  if (version < 1 || version > 3 || minor !== 0) throw invalidArgument(`${call}: byte ${start + 6}`, `version ${version}.${minor} of the format`, '1.0, 2.0 and 3.0');
  const lengthBytes = await reader.read(version === 1 ? 2 : 4, 'the length of the header');
  const length = version === 1 ? u16At(lengthBytes, 0) : u32At(lengthBytes, 0);
  if (length > MOST_HEADER_BYTES) throw invalidArgument(`${call}: byte ${start + 8}`, `a header of ${length} bytes`, `at most ${MOST_HEADER_BYTES}`);
  const bytes = await reader.read(length, 'the header');
  const place = `${call}: the header`;
  // Latin-1 before version 3, where all that is read below is ASCII.
  const text = version === 3 ? textOf(place, bytes) : String.fromCharCode(...bytes.subarray(0, 4096)) + (length > 4096 ? ' '.repeat(length - 4096) : '');
  return parseHeader(place, text);
}

function parseHeader(place: string, text: string): NpyHeader {
  const members = new Map<string, string>();
  const wrong = (got: string, takes = "a dictionary with 'descr', 'fortran_order' and 'shape'") => invalidArgument(place, got, takes);
  const inside = /^\s*\{(.*)\}\s*$/s.exec(text)?.[1];
  if (inside === undefined) throw wrong(describe(text));
  // A key, and a text, a word, a tuple or a list as its value.
  const member = /\s*(['"])(\w+)\1\s*:\s*('[^']*'|"[^"]*"|\w+|\([^()]*\)|\[[^\]]*\])\s*(?:,|$)/y;
  while (member.lastIndex < inside.length) {
    const from = member.lastIndex;
    const found = member.exec(inside);
    if (found === null) {
      if (inside.slice(from).trim() === '') break;
      throw wrong(describe(inside.slice(from)));
    }
    const [, , key, value] = found as unknown as [string, string, string, string];
    if (members.has(key)) throw wrong(`'${key}' twice`);
    members.set(key, value);
  }
  const [descr, order, shape] = ['descr', 'fortran_order', 'shape'].map((key) => members.get(key));
  if (descr === undefined || order === undefined || shape === undefined) throw wrong(describe(inside));
  const parts = /^['"]([<>|=]?)([a-zA-Z]\d+)['"]$/.exec(descr);
  const type = parts !== null && Object.hasOwn(TYPES, parts[2] as string) ? TYPES[parts[2] as string] : undefined;
  if (type === undefined) throw wrong(`the type ${describe(descr)}`, `numbers and truth values: ${Object.keys(TYPES).join(', ')}`);
  if (order !== 'True' && order !== 'False') throw wrong(`fortran_order ${describe(order)}`, 'True or False');
  const sizes = /^\(\s*((?:\d{1,16}L?\s*,\s*)*(?:\d{1,16}L?)?)\s*\)$/.exec(shape)?.[1];
  if (sizes === undefined) throw wrong(`the shape ${describe(shape)}`, 'a tuple of whole numbers from 0');
  const list = sizes.split(',').map((size) => size.trim().replace('L', '')).filter((size) => size !== '').map(Number);
  return { type, isSwapped: parts?.[1] === '>', isFortran: order === 'True', sizes: checkedSizes(place, list) };
}
