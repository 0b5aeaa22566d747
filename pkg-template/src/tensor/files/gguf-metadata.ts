/** Metadata of GGUF files: keys with values of 13 types. Source: docs/gguf.md in the repository ggml-org/ggml. */

import { describe, invalidArgument, ResiduaError } from '../../arguments/errors.js';
import { bytesText, countOf, textOf, u16At, u32At, u64At, type ByteReader } from './byte-reader.js';

/** The longest part before the numbers that is read. Tokenizers of a million tokens take some 30 MB. */
const MOST_HEADER_BYTES = 2 ** 27;

/** The most elements of a list. */
const MOST_ELEMENTS = 2 ** 24;

/** The longest name. */
const MOST_NAME_BYTES = 2 ** 16;

/** The deepest nesting of lists. */
const MOST_DEPTH = 8;

const STRING = 8;
const LIST = 9;

/** Types of values by code: how many bytes they have, and what these stand for. */
interface ScalarType {
  readonly bytes: number;
  readonly value: (bytes: Uint8Array) => unknown;
}

const viewOf = ({ buffer, byteOffset, byteLength }: Uint8Array) => new DataView(buffer, byteOffset, byteLength);

/** A number where it is exact, else a bigint. */
function exact(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

const SCALARS: ReadonlyMap<number, ScalarType> = /* @__PURE__ */ new Map<number, ScalarType>([
  [0, { bytes: 1, value: (bytes) => bytes[0] }],
  [1, { bytes: 1, value: (bytes) => viewOf(bytes).getInt8(0) }],
  [2, { bytes: 2, value: (bytes) => u16At(bytes, 0) }],
  [3, { bytes: 2, value: (bytes) => viewOf(bytes).getInt16(0, true) }],
  [4, { bytes: 4, value: (bytes) => u32At(bytes, 0) }],
  [5, { bytes: 4, value: (bytes) => viewOf(bytes).getInt32(0, true) }],
  [6, { bytes: 4, value: (bytes) => viewOf(bytes).getFloat32(0, true) }],
  [7, { bytes: 1, value: (bytes) => bytes[0] !== 0 }],
  [10, { bytes: 8, value: (bytes) => exact(u64At(bytes, 0)) }],
  [11, { bytes: 8, value: (bytes) => exact(BigInt.asIntN(64, u64At(bytes, 0))) }],
  [12, { bytes: 8, value: (bytes) => viewOf(bytes).getFloat64(0, true) }],
]);

/** Reads the part of a GGUF file before its numbers. */
export class GgufHeader {
  constructor(private readonly reader: ByteReader) {}

  /** A number of 32 bits. */
  async u32(what: string): Promise<number> {
    return u32At(this.reader.ready(4) ?? (await this.reader.read(4, what)), 0);
  }

  /** A number of 64 bits that counts something of at least `least` bytes each. */
  async count(what: string, least: number): Promise<number> {
    const { call, position } = this.reader;
    const count = await this.u64(what);
    if (count * least > MOST_HEADER_BYTES) throw invalidArgument(`${call}: ${what} at byte ${position}`, String(count), `at most ${Math.floor(MOST_HEADER_BYTES / Math.max(1, least))}`);
    this.reader.checkLeft(count * least, `${what}, which is ${count}`);
    return count;
  }

  /** A number of 64 bits. */
  async u64(what: string): Promise<number> {
    const { call, position } = this.reader;
    const bytes = this.reader.ready(8) ?? (await this.reader.read(8, what));
    return countOf(`${call}: ${what} at byte ${position}`, u64At(bytes, 0));
  }

  /** A name: a text that is not long. */
  async name(what: string): Promise<string> {
    return this.text(what, MOST_NAME_BYTES);
  }

  /** Reads `count` keys with their values. */
  async metadata(count: number): Promise<Map<string, unknown>> {
    const found = new Map<string, unknown>();
    for (let k = 0; k < count; k++) {
      const { position } = this.reader;
      const key = await this.name(`key ${k} of the metadata`);
      const place = `metadata ${describe(key)}`;
      if (found.has(key)) throw invalidArgument(`${this.reader.call}: byte ${position}`, `${place} twice`, 'each key once');
      found.set(key, await this.value(place, await this.u32(`the type of ${place}`), 0));
      this.checkLength();
    }
    return found;
  }

  /** Throws 'limit-exceeded' where the header is too long. */
  checkLength(): void {
    const { call, position } = this.reader;
    if (position > MOST_HEADER_BYTES) throw new ResiduaError('limit-exceeded', `${call}: the part before the numbers has more than ${bytesText(MOST_HEADER_BYTES)}, which is the most that is read`);
  }

  private async value(place: string, type: number, depth: number): Promise<unknown> {
    const { reader } = this;
    const scalar = SCALARS.get(type);
    if (scalar !== undefined) return scalar.value(reader.ready(scalar.bytes) ?? (await reader.read(scalar.bytes, place)));
    if (type === STRING) return this.text(place, MOST_HEADER_BYTES);
    if (type !== LIST) throw invalidArgument(`${reader.call}: ${place} before byte ${reader.position}`, `type ${type}`, 'types 0 to 12');
    if (depth === MOST_DEPTH) throw invalidArgument(`${reader.call}: ${place} at byte ${reader.position}`, 'lists in lists', `at most ${MOST_DEPTH} levels`);
    const of = await this.u32(`the type of the elements of ${place}`);
    const element = SCALARS.get(of);
    const count = await this.count(`the length of ${place}`, element?.bytes ?? 8);
    if (count > MOST_ELEMENTS) throw invalidArgument(`${reader.call}: ${place}`, `a list of ${count}`, `at most ${MOST_ELEMENTS}`);
    if (element !== undefined) return this.scalars(place, element, count);
    const list: unknown[] = [];
    for (let k = 0; k < count; k++) list.push(await this.value(`${place}[${k}]`, of, depth + 1));
    return list;
  }

  /** A list of values of one size, without a promise for each that has arrived. */
  private async scalars(place: string, { bytes, value }: ScalarType, count: number): Promise<unknown[]> {
    const { reader } = this;
    const list: unknown[] = [];
    for (let k = 0; k < count; k++) list.push(value(reader.ready(bytes) ?? (await reader.read(bytes, `${place}[${k}]`))));
    return list;
  }

  private async text(what: string, most: number): Promise<string> {
    const { reader } = this;
    const { call, position } = reader;
    const bytes = await this.u64(`the length of ${what}`);
    if (bytes > most) throw invalidArgument(`${call}: ${what} at byte ${position}`, `a text of ${bytes} bytes`, `at most ${most}`);
    return textOf(`${call}: ${what} at byte ${position}`, reader.ready(bytes) ?? (await reader.read(bytes, what)));
  }
}
