/**
 * The memory of a program's inputs. Small inputs and the keys of random numbers lie in one piece, of which a run uploads what differs from the
 * run before; others have memory of their own for numbers and pictures of the caller. A stored tensor is read where it lies.
 */

import { invalidArgument } from '../../arguments/errors.js';
import { DTYPE_BYTES } from '../dtype.js';
import type { Memory } from '../engine/engine.js';
import { checkPicture, pictureOf, type ImageSource, type Picture } from '../../arguments/picture.js';
import { elementBytes, elementCount, encode, encodeInto, numberCount, numbersOf, paddedBytes, wholeWords, type Numeric } from '../memory/numbers.js';
import type { Node } from '../recipe/node.js';
import { largest, shapeText } from '../size.js';
import { Cell, ProgramInput } from './cell.js';
import type { DeviceCore } from './core.js';
import { isRandomSource, KEY_WORDS, writeKey, type Drawn, type RandomSource } from './random-key.js';

/** What a run gives for an input: memory of a stored tensor, numbers, or a picture. */
export type FeedValue = Cell | Numeric | number | ImageSource;

/** Where a binding of a buffer may begin. */
const ALIGNMENT = 256;

/** Inputs of at most this many bytes lie together. */
const SMALL_BYTES = 1024;

/** Memory for numbers is allocated by the compile up to this many bytes, else by the first run that gives numbers. */
const EAGER_BYTES = 16 * 2 ** 20;

/** An upload of a run. */
interface Upload {
  readonly memory: Memory;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** A picture that a run gives. */
interface Taken {
  readonly argument: string;
  readonly picture: Picture;
  readonly memory: Memory;
}

/** Bytes of the small inputs, from one to before another. */
interface Range {
  readonly start: number;
  end: number;
}

/** Changed bytes of small inputs that are so near to one another are uploaded in one write. */
const NEAR_BYTES = 16;

/** Random numbers of a program: the key's place, and how many runs there were since the generator was started over. */
interface Draw {
  readonly source: RandomSource;
  readonly words: Uint32Array;
  epoch: number;
  runs: number;
}

/** The memory of the inputs of a program. */
export class ProgramInputs {
  private readonly small: Memory | null = null;
  private readonly smallBytes: Uint8Array<ArrayBuffer>;
  /** What the small inputs hold after the uploads so far. */
  private readonly uploadedBytes: Uint8Array<ArrayBuffer>;
  /** Slots of small inputs to which stored tensors were copied since. */
  private readonly overwritten = new Set<number>();
  /** Slots of small inputs that the present run gives as numbers. */
  private readonly numbered = new Set<number>();
  /** Where the bytes of small inputs lie, by slot. */
  private readonly ranges = new Map<number, Range>();
  /** Stored tensors among the inputs. */
  private readonly cells: readonly Cell[];
  /** What each run gives. */
  private readonly fed: readonly { readonly slot: number; readonly input: ProgramInput }[];
  /** Memory for numbers, by slot. */
  private readonly forNumbers: (Memory | null)[];
  private readonly draws: Draw[] = [];
  private uploads: Upload[] = [];
  private pictures: { readonly memory: Memory; readonly write: (memory: Memory) => void }[] = [];
  private copies: { readonly from: Memory; readonly to: Memory }[] = [];

  constructor(
    private readonly core: DeviceCore,
    /** Inputs of the tape, by slot. */
    private readonly inputs: readonly Node[],
    /** Allocates memory that the program owns, zeroed. */
    private readonly allocate: (bytes: number) => Memory,
  ) {
    this.cells = inputs.flatMap(({ source }) => (source instanceof Cell ? [source] : []));
    this.fed = inputs.flatMap(({ source }, slot) => (source instanceof ProgramInput ? [{ slot, input: source }] : []));
    let end = 0;
    inputs.forEach((node, slot) => {
      const bytes = largestBytes(node);
      if (node.source instanceof Cell || bytes > SMALL_BYTES) return;
      this.ranges.set(slot, { start: end, end: end + bytes });
      end += Math.ceil(paddedBytes(bytes) / ALIGNMENT) * ALIGNMENT;
    });
    this.smallBytes = new Uint8Array(end);
    this.uploadedBytes = new Uint8Array(end);
    if (end > 0) {
      this.small = this.allocate(end);
      for (const [slot, { start }] of this.ranges) {
        const { source } = inputs[slot] as Node;
        if (isRandomSource(source)) this.draws.push({ source, words: new Uint32Array(this.smallBytes.buffer, start, KEY_WORDS), epoch: source.epoch, runs: 0 });
      }
    }
    this.forNumbers = inputs.map((node, slot) => {
      if (node.source instanceof Cell) return null;
      const bytes = paddedBytes(largestBytes(node));
      const range = this.ranges.get(slot);
      if (range !== undefined && this.small !== null) return { ...this.small, bytes, offset: this.small.offset + range.start, isOwned: false };
      return bytes <= EAGER_BYTES ? this.allocate(bytes) : null;
    });
  }

  /** Memory of each slot where all inputs are given as numbers; of large inputs there may be none. */
  slots(): (Memory | null)[] {
    return this.inputs.map(({ source }, slot) => (source instanceof Cell ? source.memory : (this.forNumbers[slot] ?? null)));
  }

  /**
   * Takes what a run gives, and writes its memory to `slots`, which have that of the other inputs. Throws 'invalid-argument' for a wrong type, shape
   * or length, and 'disposed'.
   *
   * @param call the call, in messages
   * @param feedOf the feed of an input
   * @param sizesOf the present sizes of an input
   * @param isWritten whether the program writes memory, so that an input there has to be copied first
   */
  take(call: string, feedOf: (input: ProgramInput) => FeedValue, sizesOf: (input: ProgramInput) => readonly number[], isWritten: (memory: Memory) => boolean, slots: (Memory | null)[]): void {
    // Work that waits has the lists of its run.
    if (this.uploads.length > 0) this.uploads = [];
    if (this.copies.length > 0) this.copies = [];
    if (this.pictures.length > 0) this.pictures = [];
    if (this.numbered.size > 0) this.numbered.clear();
    for (const cell of this.cells) cell.check(call);
    if (this.fed.length === 0 && this.draws.length === 0) return;
    const taken: Taken[] = [];
    for (const { slot, input } of this.fed) slots[slot] = this.takeFeed(`${call}: ${input.name}`, slot, input, feedOf(input), sizesOf(input), isWritten, taken);
    // Once all inputs are accepted: a picture holds a texture until it is written.
    for (const { argument, picture, memory } of taken) this.pictures.push({ memory, write: this.core.engine.capture(argument, picture, true) });
    for (const draw of this.draws) {
      if (draw.epoch !== draw.source.epoch) [draw.epoch, draw.runs] = [draw.source.epoch, 0];
      writeKey(draw.words, draw.source, draw.runs);
      draw.runs += 1;
    }
  }

  /** Gives back what `take` drew, so that the next run draws it. */
  undraw(): void {
    for (const draw of this.draws) draw.runs -= 1;
  }

  /** What was drawn so far from each generator, in the order of the inputs. */
  get drawn(): readonly Drawn[] {
    return this.draws.map(({ source, epoch, runs }) => ({ seed: source.seed, runs: epoch === source.epoch ? runs : 0 }));
  }

  /** Goes on where so much was drawn. */
  set drawn(drawn: readonly Drawn[]) {
    this.draws.forEach((draw, k) => {
      const { seed, runs } = drawn[k] as Drawn;
      if (seed !== draw.source.seed) draw.source.reseed(seed);
      [draw.epoch, draw.runs] = [draw.source.epoch, runs];
    });
  }

  /** Returns the uploads and copies of what was taken, to be made when it is the run's turn; null if there are none. */
  transfer(isImmediate: boolean): (() => void) | null {
    const { core, small, uploads, copies, pictures } = this;
    if (small === null && uploads.length + copies.length + pictures.length === 0) return null;
    const own = (bytes: Uint8Array<ArrayBuffer>) => (isImmediate ? bytes : bytes.slice());
    const changes = this.smallChanges().map(({ start, end }) => ({ start, bytes: own(this.smallBytes.subarray(start, end)) }));
    const now = uploads.map(({ memory, bytes }) => ({ memory, bytes: own(bytes) }));
    return () => {
      if (small !== null) for (const { start, bytes } of changes) core.engine.write(small, start, bytes);
      for (const { memory, bytes } of now) core.engine.write(memory, 0, bytes);
      for (const { memory, write } of pictures) write(memory);
      for (const { from, to } of copies) core.engine.copy(from, to, Math.min(from.bytes, to.bytes));
    };
  }

  /** Ranges of whole words of the small inputs that differ from what was uploaded, and takes them as uploaded. */
  private smallChanges(): Range[] {
    const { smallBytes, uploadedBytes } = this;
    const changes: Range[] = [];
    for (const [slot, { start, end }] of this.ranges) {
      if (this.numbered.has(slot) && this.overwritten.delete(slot)) {
        // All of them, those beyond the present sizes too: later runs may have larger ones.
        uploadedBytes.set(smallBytes.subarray(start, end), start);
        changes.push({ start: start - (start % 4), end: Math.ceil(end / 4) * 4 });
        continue;
      }
      for (let place = start; place < end; place++) {
        if (smallBytes[place] === uploadedBytes[place]) continue;
        uploadedBytes[place] = smallBytes[place] as number;
        const word = place - (place % 4);
        const last = changes.at(-1);
        if (last !== undefined && word <= last.end + NEAR_BYTES) last.end = Math.max(last.end, word + 4);
        else changes.push({ start: word, end: word + 4 });
      }
    }
    return changes;
  }

  private takeFeed(argument: string, slot: number, input: ProgramInput, feed: FeedValue, sizes: readonly number[], isWritten: (memory: Memory) => boolean, taken: Taken[]): Memory {
    if (feed instanceof Cell) {
      this.checkCell(argument, input, feed, sizes);
      if (!isWritten(feed.memory)) return feed.memory;
      const memory = this.numbersAt(slot);
      this.copies.push({ from: feed.memory, to: memory });
      if (this.ranges.has(slot)) this.overwritten.add(slot);
      return memory;
    }
    const picture = pictureOf(feed);
    if (picture !== null) return this.takePicture(slot, argument, input, checkPicture(argument, picture.source), sizes, taken);
    const numbers = typeof feed === 'number' ? [feed] : numbersOf(argument, feed);
    const count = numberCount(input.dtype, sizes);
    if (numbers.length !== count) {
      throw invalidArgument(argument, typeof feed === 'number' ? 'one number' : `${numbers.length} numbers`, `${count}: the shape is ${shapeText(sizes)} of ${input.dtype}`);
    }
    const range = this.ranges.get(slot);
    const memory = this.numbersAt(slot);
    if (range !== undefined) {
      const { start } = range;
      encodeInto(argument, input.dtype, numbers, this.smallBytes.subarray(start, start + elementBytes(input.dtype, sizes)));
      this.numbered.add(slot);
    } else {
      this.uploads.push({ memory, bytes: wholeWords(encode(argument, input.dtype, numbers)) });
    }
    return memory;
  }

  private takePicture(slot: number, argument: string, input: ProgramInput, picture: Picture, sizes: readonly number[], taken: Taken[]): Memory {
    const shape = [picture.height, picture.width, 4];
    if (input.dtype !== 'u8' || sizes.length !== 3 || shape.some((size, axis) => size !== sizes[axis])) {
      throw invalidArgument(argument, `a picture, u8 ${shapeText(shape)}`, `${input.dtype} ${shapeText(sizes)}`);
    }
    const memory = this.numbersAt(slot);
    taken.push({ argument, picture, memory });
    if (this.ranges.has(slot)) this.overwritten.add(slot);
    return memory;
  }

  private checkCell(argument: string, { dtype, shape }: ProgramInput, feed: Cell, sizes: readonly number[]): void {
    if (feed.core !== this.core) throw invalidArgument(argument, 'a stored tensor of another device', "one of the program's device");
    feed.check(argument);
    const isFit = feed.dtype === dtype && feed.sizes.length === shape.length && feed.sizes.every((size, axis) => size === sizes[axis]);
    if (!isFit) throw invalidArgument(argument, `${feed.dtype} ${shapeText(feed.sizes)}`, `${dtype} ${shapeText(sizes)}`);
  }

  private numbersAt(slot: number): Memory {
    return (this.forNumbers[slot] ??= this.allocate(paddedBytes(largestBytes(this.inputs[slot] as Node))));
  }
}

/** Bytes of an input for the largest dims. */
function largestBytes({ dtype, shape }: Node): number {
  return elementCount(shape.map(largest)) * DTYPE_BYTES[dtype];
}
