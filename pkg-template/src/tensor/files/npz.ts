/**
 * Files of NumPy's .npz format: a zip archive of .npy files. It is read from its beginning, by the headers before the entries, as the list of
 * entries stands at its end. Source: PKWARE's APPNOTE.TXT, 4.3 and 4.5.3.
 */

import { describe, invalidArgument, ResiduaError } from '../../arguments/errors.js';
import type { StoredTensor } from '../device/stored-tensor.js';
import { elementCount } from '../memory/numbers.js';
import { beginningText, ByteReader, bytesText, countOf, textOf, u16At, u32At, u64At } from './byte-reader.js';
import { crc32 } from './crc32.js';
import { FILE_BYTES } from './elements.js';
import { load, type Load, type LoadOptions } from './load.js';
import { storeArray } from './npy.js';
import { ofStream, type ByteSource, type FileSource } from './source.js';

/** Signatures: of an entry's header; of the list at the end, of its end, and of the end with 64-bit numbers. */
const ENTRY = 0x04034b50;
const ENDS: readonly number[] = [0x02014b50, 0x06054b50, 0x06064b50];

const ENCRYPTED = 1;
const SIZES_FOLLOW = 8;
const STORED = 0;
const DEFLATED = 8;

/** In place of a size that stands in an extra field of 64-bit numbers. */
const IN_EXTRA = 0xffffffff;
const EXTRA_64 = 1;

/** Deflate makes at most this many bytes of one. */
const MOST_RATIO = 1032;

interface Entry {
  readonly name: string;
  readonly method: number;
  readonly checksum: number;
  /** Bytes in the archive. */
  readonly packed: number;
  /** Bytes of the entry. */
  readonly size: number;
}

/**
 * Loads a file of NumPy's .npz format: its arrays by name, without the ending '.npy', as loadNpy() loads each. Entries are stored or
 * deflated, as numpy.savez and numpy.savez_compressed write them to files; 64-bit sizes are taken. Entries with another ending are passed
 * over. Rejects as loadNpy() does, and with 'invalid-argument' for encrypted entries, other compressions, a wrong checksum, and an entry whose sizes
 * follow it.
 */
export function loadNpz(source: FileSource, options: LoadOptions = {}): Promise<Record<string, StoredTensor>> {
  return load('loadNpz', source, options, async (work) => {
    const { reader } = work;
    const tensors = new Map<string, StoredTensor | null>();
    for (let entry = await readEntry(reader); entry !== null; entry = await readEntry(reader)) {
      const name = entry.name.replace(/\.npy$/, '');
      const place = `entry ${describe(entry.name)}`;
      if (tensors.has(name)) throw invalidArgument(`${reader.call}: byte ${reader.position}`, `${place} twice`, 'each name once');
      if (name === entry.name || !(await work.selected([name])).has(name)) {
        tensors.set(name, null);
        await reader.skip(entry.packed, place);
      } else {
        tensors.set(name, await storeEntry(work, reader, name, entry));
      }
    }
    return Object.fromEntries([...tensors].filter((found): found is [string, StoredTensor] => found[1] !== null));
  }, 'npz');
}

/** Reads the header of an entry; null where the list at the end begins. */
async function readEntry(reader: ByteReader): Promise<Entry | null> {
  const { call, position } = reader;
  const signature = await reader.read(4, 'the header of an entry or the list of entries');
  const kind = u32At(signature, 0);
  if (ENDS.includes(kind)) return null;
  if (kind !== ENTRY) throw invalidArgument(`${call}: byte ${position}`, beginningText(signature), 'the header of an entry of a zip archive');
  const header = await reader.read(26, 'the header of an entry');
  const [flags, method, checksum] = [u16At(header, 2), u16At(header, 4), u32At(header, 10)];
  const [packed, size] = [u32At(header, 14), u32At(header, 18)];
  const [nameLength, extraLength] = [u16At(header, 22), u16At(header, 24)];
  const name = textOf(`${call}: byte ${position + 30}`, await reader.read(nameLength, 'the name of an entry'));
  const place = `${call}: entry ${describe(name)} at byte ${position}`;
  const extra = await reader.read(extraLength, 'the extra fields of an entry');
  if (flags & ENCRYPTED) throw invalidArgument(place, 'an encrypted entry', 'others');
  if (flags & SIZES_FOLLOW) throw invalidArgument(place, 'an entry whose sizes follow it', 'those with sizes before, as NumPy writes to a file');
  if (method !== STORED && method !== DEFLATED) throw invalidArgument(place, `compression ${method}`, `${STORED} (stored) and ${DEFLATED} (deflated)`);
  const sizes = largeSizes(place, extra, { size, packed });
  if (method === STORED && sizes.packed !== sizes.size) throw invalidArgument(place, `${sizes.packed} bytes in the archive for ${sizes.size}`, 'as many for a stored entry');
  if (sizes.size > MOST_RATIO * sizes.packed) throw invalidArgument(place, `${sizes.packed} bytes in the archive for ${sizes.size}`, `at most ${MOST_RATIO} for one, which is all that deflate can do`);
  return { name, method, checksum, ...sizes };
}

/** Sizes, of which those that do not fit 32 bits stand in an extra field. */
function largeSizes(place: string, extra: Uint8Array, { size, packed }: { size: number; packed: number }): { size: number; packed: number } {
  const large = [size, packed].map((value) => value === IN_EXTRA);
  if (!large[0] && !large[1]) return { size, packed };
  for (let at = 0; at + 4 <= extra.length; ) {
    const [id, length] = [u16At(extra, at), u16At(extra, at + 2)];
    const needed = large.filter(Boolean).length * 8;
    if (id === EXTRA_64 && length >= needed && at + 4 + needed <= extra.length) {
      let from = at + 4;
      const next = () => countOf(`${place}: size`, u64At(extra, (from += 8) - 8));
      return { size: large[0] ? next() : size, packed: large[1] ? next() : packed };
    }
    at += 4 + length;
  }
  throw invalidArgument(place, 'no extra field with its sizes', 'one where they do not fit 32 bits');
}

async function storeEntry(work: Load, reader: ByteReader, name: string, entry: Entry): Promise<StoredTensor> {
  const place = `entry ${describe(entry.name)}`;
  const inside = `${reader.call}: ${place}`;
  reader.checkLeft(entry.packed, place);
  const packed = partOf(reader, entry.packed, place);
  const unpacked = entry.method === STORED ? packed : inflated(inside, packed, entry.size);
  let checksum = 0;
  const checked: ByteSource = {
    ...unpacked,
    size: entry.size,
    async next() {
      const bytes = await unpacked.next();
      if (bytes !== null) checksum = crc32(bytes, checksum);
      return bytes;
    },
    skip: () => 0,
  };
  try {
    // Progress is that of the archive.
    const host = { wait: <T>(promise: Promise<T>) => work.wait(promise), progress() {} };
    const array = new ByteReader(inside, checked, host);
    const tensor = await storeArray(work, array, name, ({ type, sizes }) => {
      const end = array.position + FILE_BYTES[type] * elementCount(sizes);
      if (end !== entry.size) throw invalidArgument(inside, bytesText(entry.size), `${end}, of which the array and its header have`);
    });
    if (!(await array.isAtEnd())) throw invalidArgument(inside, 'more bytes', bytesText(entry.size));
    if (checksum !== entry.checksum) throw invalidArgument(inside, `bytes of the checksum ${checksum.toString(16)}`, `those of ${entry.checksum.toString(16)}`);
    if (!(await isUsedUp(packed))) throw invalidArgument(inside, 'bytes after its end', 'none');
    return tensor;
  } finally {
    unpacked.cancel();
  }
}

/** The next bytes of a reader as a source. */
function partOf(reader: ByteReader, bytes: number, place: string): ByteSource {
  const pieces = reader.pieces(bytes, 1, place);
  return {
    size: bytes,
    expectedSize: bytes,
    async next() {
      const { done, value } = await pieces.next();
      return done === true ? null : value;
    },
    skip: () => 0,
    cancel() {},
  };
}

async function isUsedUp(source: ByteSource): Promise<boolean> {
  for (let bytes = await source.next(); bytes !== null; bytes = await source.next()) if (bytes.length > 0) return false;
  return true;
}

/** The bytes that deflated ones stand for. */
function inflated(place: string, packed: ByteSource, size: number): ByteSource {
  let decompression: DecompressionStream;
  try {
    decompression = new DecompressionStream('deflate-raw');
  } catch (error) {
    throw new ResiduaError('invalid-argument', `${place}: got a deflated entry, and this environment has no DecompressionStream of 'deflate-raw'; takes a stored one, as numpy.savez writes it`, { cause: error });
  }
  const compressed = new ReadableStream<BufferSource>(
    {
      async pull(controller) {
        const bytes = await packed.next();
        if (bytes === null) controller.close();
        // The piece is valid until the next one is asked for.
        else controller.enqueue(bytes.slice());
      },
    },
    { highWaterMark: 0 },
  );
  return ofStream(place, compressed.pipeThrough(decompression), size, size);
}
