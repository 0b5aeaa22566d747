/**
 * A module of the package in a form for memory that threads share. The module has a memory of its own; here its bytes are changed so that it imports one,
 * exports its stack pointer, and has no data: the first thread writes them once, and the instances of other threads leave memory as it is.
 */

/** A module that imports its memory as env.memory. */
export interface SharedModule {
  readonly module: WebAssembly.Module;
  /** Pages of 64 KiB that its memory begins with. */
  readonly pages: number;
  /** Pages that its memory may have. */
  readonly mostPages: number;
  /** What stands in memory at first. */
  readonly data: readonly Segment[];
}

interface Segment {
  readonly address: number;
  readonly bytes: Uint8Array;
}

/** The name of the exported stack pointer. */
export const STACK_POINTER = 'stack';

/** Sections, kinds and codes of WebAssembly's binary format. */
const [IMPORTS, MEMORY, EXPORTS, DATA, DATA_COUNT] = [2, 5, 7, 11, 12];
const [MEMORY_KIND, GLOBAL_KIND] = [2, 3];
const [SHARED_WITH_MAXIMUM, I32_CONST, END] = [3, 0x41, 0x0b];

/** Changes a module. Throws where its form is another than the linker's, whose first global is the stack pointer. */
export async function sharedModule(bytes: Uint8Array, mostPages: number): Promise<SharedModule> {
  const reader = new Reader(bytes);
  const sections = [...reader.sections()];
  const memory = new Reader(sections.find(({ id }) => id === MEMORY)?.content ?? new Uint8Array());
  const [count, flags, pages] = [memory.number(), memory.number(), memory.number()];
  if (count !== 1 || flags > 1) throw new Error('its memory has an unknown form');
  const imported = [...text('env'), ...text('memory'), MEMORY_KIND, SHARED_WITH_MAXIMUM, ...leb(pages), ...leb(mostPages)];
  const exported = [...text(STACK_POINTER), GLOBAL_KIND, 0];
  const data: Segment[] = [];
  const parts: (Uint8Array | number[])[] = [bytes.subarray(0, 8)];
  for (const { id, content } of sections) {
    if (id === DATA) data.push(...new Reader(content).segments());
    else if (id === IMPORTS) parts.push(...section(id, appended(content, imported)));
    else if (id === EXPORTS) parts.push(...section(id, appended(content, exported)));
    else if (id !== MEMORY && id !== DATA_COUNT) parts.push(...section(id, [content]));
  }
  return { module: await WebAssembly.compile(joined(parts)), pages, mostPages, data };
}

class Reader {
  private position = 0;

  constructor(private readonly bytes: Uint8Array) {}

  /** An unsigned number. */
  number(): number {
    for (let value = 0, shift = 0; ; shift += 7) {
      const byte = this.take(1)[0] as number;
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value >>> 0;
    }
  }

  take(count: number): Uint8Array {
    const end = this.position + count;
    if (end > this.bytes.length) throw new Error('it ends early');
    const taken = this.bytes.subarray(this.position, end);
    this.position = end;
    return taken;
  }

  *sections(): Generator<{ readonly id: number; readonly content: Uint8Array }> {
    for (this.position = 8; this.position < this.bytes.length; ) yield { id: this.take(1)[0] as number, content: this.take(this.number()) };
  }

  /** The segments of a data section, each at an address that is known. */
  *segments(): Generator<Segment> {
    for (let left = this.number(); left > 0; left--) {
      const [flags, code] = [this.number(), this.take(1)[0]];
      if (flags !== 0 || code !== I32_CONST) throw new Error('its data have an unknown form');
      // A positive number ends with a byte whose sign is not set, so that it reads as an unsigned one.
      const address = this.number();
      if (this.take(1)[0] !== END) throw new Error('its data have an unknown form');
      yield { address, bytes: this.take(this.number()) };
    }
  }
}

/** An unsigned number. */
function leb(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...leb(value >>> 7)];
}

function text(name: string): number[] {
  return [name.length, ...[...name].map((letter) => letter.charCodeAt(0))];
}

/** A list with one more entry. */
function appended(content: Uint8Array, entry: number[]): (Uint8Array | number[])[] {
  const count = new Reader(content).number();
  return [leb(count + 1), content.subarray(leb(count).length), entry];
}

function section(id: number, content: (Uint8Array | number[])[]): (Uint8Array | number[])[] {
  return [[id], leb(content.reduce((sum, { length }) => sum + length, 0)), ...content];
}

function joined(parts: readonly (Uint8Array | number[])[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let end = 0;
  for (const part of parts) {
    bytes.set(part, end);
    end += part.length;
  }
  return bytes;
}
