/** Reads a file's bytes in order, by numbers of bytes, whatever the pieces are in which they arrive. */

import { invalidArgument, ResiduaError } from '../../arguments/errors.js';
import type { ByteSource } from './source.js';

/** Bytes that are handed on at once, at most. A conversion may make some 20 times as many of them. */
const PIECE_BYTES = 2 ** 17;

/** What a reader reports to whoever loads. */
export interface ReaderHost {
  /** Waits for the source: rejects when the load is aborted or the device fails. Gives the page a turn where one is due. */
  wait<T>(promise: Promise<T>): Promise<T>;
  /** Takes how many bytes have arrived or were passed over. */
  progress(loaded: number): void;
}

/** Bytes that are to be read, for messages. */
interface Range {
  readonly start: number;
  readonly count: number;
  readonly what: string;
}

/** Returns `bytes` with words of how many there are. */
export function bytesText(bytes: number): string {
  return `${bytes} byte${bytes === 1 ? '' : 's'}`;
}

/** The bytes of one file, in order. */
export class ByteReader {
  /** How many bytes were taken: the place of the next one. */
  position = 0;
  /** What arrived and was not taken. */
  private chunk: Uint8Array<ArrayBuffer> = new Uint8Array(0);

  constructor(
    /** The call and the file, in messages. */
    readonly call: string,
    private readonly source: ByteSource,
    private readonly host: ReaderHost,
  ) {}

  /** How many bytes the file has; null where only its end tells. */
  get size(): number | null {
    return this.source.size;
  }

  /** The next `count` bytes where they have arrived, else null. They are valid until the next call. */
  ready(count: number): Uint8Array<ArrayBuffer> | null {
    if (count > this.chunk.length) return null;
    const bytes = this.chunk.subarray(0, count);
    this.chunk = this.chunk.subarray(count);
    this.position += count;
    return bytes;
  }

  /** The next `count` bytes, all at once: for headers. `what` names them in messages. Rejects where the file ends before. */
  async read(count: number, what: string): Promise<Uint8Array<ArrayBuffer>> {
    const ready = this.ready(count);
    if (ready !== null) return ready;
    this.checkLeft(count, what);
    return this.gather(count, { start: this.position, count, what });
  }

  /**
   * The next `count` bytes in pieces, each valid until the next one is asked for. All but the last are multiples of `grain` bytes, which is
   * small. Rejects where the file ends before.
   */
  async *pieces(count: number, grain: number, what: string): AsyncGenerator<Uint8Array<ArrayBuffer>, void, void> {
    this.checkLeft(count, what);
    const range = { start: this.position, count, what };
    const most = Math.floor(PIECE_BYTES / grain) * grain;
    for (let left = count; left > 0; ) {
      if (this.chunk.length === 0) await this.refill(range);
      const available = Math.min(left, most, this.chunk.length);
      const whole = available === left ? available : available - (available % grain);
      const piece = whole > 0 ? (this.ready(whole) as Uint8Array<ArrayBuffer>) : await this.gather(Math.min(grain, left), range);
      left -= piece.length;
      yield piece;
    }
  }

  /** Passes over `count` bytes. Rejects where the file ends before. */
  async skip(count: number, what: string): Promise<void> {
    this.checkLeft(count, what);
    const range = { start: this.position, count, what };
    for (let left = count; left > 0; ) {
      if (this.chunk.length === 0) {
        const passed = this.source.skip(left);
        this.position += passed;
        left -= passed;
        if (passed > 0) this.host.progress(this.position);
        if (left > 0) await this.refill(range);
      }
      left -= (this.ready(Math.min(left, this.chunk.length)) as Uint8Array).length;
    }
  }

  /** Passes over the bytes up to a place that is not before the present one. */
  async skipTo(place: number, what: string): Promise<void> {
    await this.skip(place - this.position, what);
  }

  /** All bytes that are left. */
  async rest(): Promise<Uint8Array<ArrayBuffer>> {
    const parts: Uint8Array<ArrayBuffer>[] = [];
    while (!(await this.isAtEnd())) parts.push(this.ready(this.chunk.length) as Uint8Array<ArrayBuffer>);
    return joined(parts);
  }

  /** Whether all bytes were taken. */
  async isAtEnd(): Promise<boolean> {
    return this.chunk.length === 0 && !(await this.more());
  }

  /** Throws unless `count` more bytes can be there. */
  checkLeft(count: number, what: string): void {
    if (this.size !== null && count > this.size - this.position) throw this.truncated(this.position, count, this.size, what);
  }

  /** The next `count` bytes of a range, from several pieces. */
  private async gather(count: number, range: Range): Promise<Uint8Array<ArrayBuffer>> {
    // Memory is allocated as bytes arrive: `count` may be wrong.
    const parts: Uint8Array<ArrayBuffer>[] = [];
    for (let left = count; left > 0; ) {
      if (this.chunk.length === 0) await this.refill(range);
      const part = this.ready(Math.min(left, this.chunk.length)) as Uint8Array<ArrayBuffer>;
      parts.push(part);
      left -= part.length;
    }
    return joined(parts);
  }

  /** Makes at least one byte ready. Rejects at the end of the file. */
  private async refill({ start, count, what }: Range): Promise<void> {
    if (!(await this.more())) throw this.truncated(start, count, this.position, what);
  }

  private async more(): Promise<boolean> {
    while (this.chunk.length === 0) {
      const next = await this.host.wait(this.source.next());
      if (next === null) return false;
      this.chunk = next;
      this.host.progress(this.position + next.length);
    }
    return true;
  }

  private truncated(start: number, count: number, end: number, what: string): ResiduaError {
    return invalidArgument(`${this.call}: ${what}`, `a file that ends at byte ${end}`, `${bytesText(count)} from byte ${start} on`);
  }
}

function joined(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

/** The number of 16 bits at a place. */
export function u16At(bytes: Uint8Array, at: number): number {
  return (bytes[at] as number) | ((bytes[at + 1] as number) << 8);
}

/** The number of 32 bits at a place. */
export function u32At(bytes: Uint8Array, at: number): number {
  return (u16At(bytes, at) | (u16At(bytes, at + 2) << 16)) >>> 0;
}

/** The number of 64 bits at a place. */
export function u64At(bytes: Uint8Array, at: number): bigint {
  return BigInt(u32At(bytes, at)) | (BigInt(u32At(bytes, at + 4)) << 32n);
}

/** A number of 64 bits that counts bytes or elements. Throws 'invalid-argument' for one that is not below 2⁵³. */
export function countOf(place: string, value: bigint): number {
  if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw invalidArgument(place, String(value), 'a number below 2^53');
  return Number(value);
}

let decoder: TextDecoder | null = null;

/** Text of UTF-8. Throws 'invalid-argument' where it is none. */
export function textOf(place: string, bytes: Uint8Array): string {
  // One for all: a vocabulary has some 100,000 texts.
  decoder ??= new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  try {
    // A copy: a decoder takes no shared memory.
    return decoder.decode(bytes.slice());
  } catch {
    throw invalidArgument(place, 'bytes that are no UTF-8', 'text in UTF-8');
  }
}

/** The first bytes of a file, in messages: as text where they are printable. */
export function beginningText(bytes: Uint8Array): string {
  const first = [...bytes.subarray(0, 16)];
  const isText = first.length > 0 && first.every((byte) => (byte >= 32 && byte < 127) || byte === 10 || byte === 13 || byte === 9);
  return isText ? JSON.stringify(String.fromCharCode(...first)) : `the bytes ${first.map((byte) => byte.toString(16).padStart(2, '0')).join(' ')}`;
}
