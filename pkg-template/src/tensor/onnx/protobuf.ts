/** The wire format of Protocol Buffers: fields of messages in memory, and of messages that arrive. */

import { invalidArgument } from '../../arguments/errors.js';
import { textOf, type ByteReader } from '../files/byte-reader.js';

/** Kinds of fields by the low bits of a tag. */
export const WIRE = { varint: 0, fixed64: 1, bytes: 2, fixed32: 5 } as const;

/** The number of a field and its kind, by a tag. */
function fieldOf(place: string, tag: number): { field: number; wire: number } {
  const [field, wire] = [Math.floor(tag / 8), tag % 8];
  if (field === 0 || !(wire === WIRE.varint || wire === WIRE.fixed64 || wire === WIRE.bytes || wire === WIRE.fixed32)) {
    throw invalidArgument(place, `field ${field} of kind ${wire}`, 'fields of kinds 0, 1, 2 and 5: a file of ONNX');
  }
  return { field, wire };
}

/** A number of 64 bits from the 7-bit groups of a varint, as one with a sign. Beyond 2⁵³ it is the nearest. */
class Varint {
  private low = 0;
  private high = 0;
  private count = 0;

  constructor(private readonly place: string) {}

  /** Takes a byte; returns whether it was the last. */
  take(byte: number): boolean {
    const bits = byte & 0x7f;
    const shift = 7 * this.count++;
    if (shift < 28) this.low += bits * 2 ** shift;
    else if (shift === 28) {
      this.low += (bits & 15) * 2 ** 28;
      this.high += bits >> 4;
    } else if (shift < 63) this.high += bits * 2 ** (shift - 32);
    else this.high += (bits & 1) * 2 ** 31;
    if (byte < 0x80) return true;
    if (this.count === 10) throw invalidArgument(this.place, 'a number of more than 10 bytes', 'a varint of at most 10');
    return false;
  }

  get value(): number {
    return (this.high | 0) * 2 ** 32 + this.low;
  }
}

/** The fields of a message in memory, in order. */
export class Message {
  /** The number of the present field. */
  field = 0;
  /** Its kind. */
  wire = 0;
  private at = 0;
  private readonly view: DataView;
  private isTaken = true;
  private isField = false;

  /**
   * @param place the message, in errors
   * @param data its bytes
   */
  constructor(
    readonly place: string,
    private readonly data: Uint8Array,
  ) {
    this.view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  }

  /** A field that arrived by itself, as the present one: the bytes of its value, of another kind than 0. */
  static ofField(place: string, { field, wire }: Pick<ArrivingField, 'field' | 'wire'>, value: Uint8Array): Message {
    const message = new Message(place, value);
    [message.field, message.wire, message.isField] = [field, wire, wire === WIRE.bytes];
    return message;
  }

  /** Goes to the next field; passes over the value of the present one where it was not taken. Returns false after the last one. */
  next(): boolean {
    if (!this.isTaken) this.skip();
    if (this.at >= this.data.length) return false;
    const { field, wire } = fieldOf(this.place, this.varint());
    [this.field, this.wire, this.isTaken] = [field, wire, false];
    return true;
  }

  /** A whole number with a sign. */
  int(): number {
    this.expect(WIRE.varint);
    return this.varint();
  }

  /** A number of single precision. */
  float(): number {
    this.expect(WIRE.fixed32);
    return this.view.getFloat32(this.take(4), true);
  }

  /** The bytes of a text, a message or a packed list, where they lie. */
  bytes(): Uint8Array {
    this.expect(WIRE.bytes);
    if (this.isField) return this.data;
    const count = this.varint();
    const start = this.take(count);
    return this.data.subarray(start, start + count);
  }

  text(): string {
    return textOf(this.place, this.bytes());
  }

  /** The fields of a message in this one. */
  message(place: string = this.place): Message {
    return new Message(place, this.bytes());
  }

  /** Adds the whole numbers of a list, packed or one of them, to `numbers`. */
  ints(numbers: number[]): void {
    if (this.wire !== WIRE.bytes) {
      numbers.push(this.int());
      return;
    }
    const packed = new Message(this.place, this.bytes());
    while (packed.at < packed.data.length) numbers.push(packed.varint());
  }

  /** Adds the numbers of single, or of double precision, to `numbers`. */
  floats(numbers: number[], width: 4 | 8 = 4): void {
    const read = (view: DataView, at: number) => (width === 4 ? view.getFloat32(at, true) : view.getFloat64(at, true));
    if (this.wire !== WIRE.bytes) {
      this.expect(width === 4 ? WIRE.fixed32 : WIRE.fixed64);
      numbers.push(read(this.view, this.take(width)));
      return;
    }
    const packed = this.bytes();
    if (packed.length % width !== 0) throw invalidArgument(this.place, `a list of ${packed.length} bytes`, `a multiple of ${width}`);
    const view = new DataView(packed.buffer, packed.byteOffset, packed.byteLength);
    for (let at = 0; at < packed.length; at += width) numbers.push(read(view, at));
  }

  private skip(): void {
    if (this.wire === WIRE.varint) this.int();
    else if (this.wire === WIRE.bytes) this.bytes();
    else {
      this.isTaken = true;
      this.take(this.wire === WIRE.fixed32 ? 4 : 8);
    }
  }

  private expect(wire: number): void {
    if (this.wire !== wire) throw invalidArgument(this.place, `field ${this.field} of kind ${this.wire}`, `kind ${wire} there`);
    this.isTaken = true;
  }

  private varint(): number {
    const number = new Varint(this.place);
    while (!number.take(this.data[this.take(1)] as number));
    return number.value;
  }

  /** Passes over so many bytes, and returns where they begin. */
  private take(count: number): number {
    const start = this.at;
    if (!(count >= 0 && count <= this.data.length - start)) throw invalidArgument(this.place, `${count} bytes in a message that has ${this.data.length - start} left`, 'a file of ONNX that is whole');
    this.at = start + count;
    return start;
  }
}

/** A field of a message that arrives: a number, or so many bytes that are to be read or passed over. */
export interface ArrivingField {
  readonly field: number;
  readonly wire: number;
  /** Bytes of the value; null of kind 0. */
  readonly length: number | null;
  /** Of kind 0. */
  readonly value: number;
}

/** The fields of a message that arrives, up to a place of the file, or to its end. Whoever asks for the next has read the bytes of the one before. */
export async function* arrivingFields(reader: ByteReader, place: string, end: number | null): AsyncGenerator<ArrivingField, void, void> {
  const full = `${reader.call}: ${place}`;
  const isAtEnd = async () => (end === null ? reader.isAtEnd() : reader.position >= end);
  while (!(await isAtEnd())) {
    const { field, wire } = fieldOf(full, await arrivingVarint(reader, place));
    let [length, value]: [number | null, number] = [null, 0];
    if (wire === WIRE.varint) value = await arrivingVarint(reader, place);
    else if (wire === WIRE.bytes) {
      length = await arrivingVarint(reader, place);
      const room = end === null ? Number.MAX_SAFE_INTEGER : end - reader.position;
      if (!(length >= 0 && length <= room)) throw invalidArgument(full, `${length} bytes for field ${field}`, `at most the ${end === null ? 'bytes of the file' : `${room} bytes that are left there`}`);
      reader.checkLeft(length, place);
    } else length = wire === WIRE.fixed32 ? 4 : 8;
    const after = length === null ? null : reader.position + length;
    yield { field, wire, length, value };
    if (after !== null) await reader.skipTo(after, place);
  }
  if (end !== null && reader.position !== end) throw invalidArgument(full, 'a field beyond its end', 'a file of ONNX that is whole');
}

async function arrivingVarint(reader: ByteReader, place: string): Promise<number> {
  const number = new Varint(`${reader.call}: ${place}`);
  for (;;) {
    const bytes = reader.ready(1) ?? (await reader.read(1, place));
    if (number.take(bytes[0] as number)) return number.value;
  }
}
