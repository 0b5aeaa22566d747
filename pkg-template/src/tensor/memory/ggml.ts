/**
 * Quantised numbers as files of GGML hold them, and as devices do: words with the integers of a row in order, or their low bits, and a side with what
 * belongs to a block. Eight integers of 4 bits or fewer that follow one another have a distance of 4 bits; crates/tensor-loops/src/format.rs states the
 * order. Source of the blocks: ggml-common.h and ggml-quants.c in the repository ggml-org/ggml.
 */

import { FORMATS, type QuantizedType } from '../recipe/quantised.js';

/** Where bits of the numbers of a block stand: eight numbers have a bit field each in eight bytes. */
interface Bits {
  readonly count: 1 | 2 | 4;
  /** The first of these bytes, and the shift within each, for numbers 8 k to 8 k + 7 of part `part` of 32. */
  readonly places: readonly (readonly [byte: number, shift: number])[];
}

/** How a block is split. */
interface Layout {
  /** None for q8_0, whose words are those of the file. */
  readonly low?: Bits;
  /** Where the bits above the low ones go in the record, too. */
  readonly high?: Bits & { readonly to: number };
  /** Writes what else the record has. */
  readonly side: (view: DataView, from: number, side: Uint32Array | Uint16Array, to: number) => void;
}

function bits(count: 1 | 2 | 4, numbers: 32 | 256, place: (part: number, k: number) => [byte: number, shift: number]): Bits {
  return { count, places: Array.from({ length: numbers / 8 }, (_, eight) => place(eight >> 2, eight & 3)) };
}

/** 16 bytes for each 32 numbers, of which the lower halves are the first 16. */
const inHalves = (from: number, numbers: 32 | 256) => bits(4, numbers, (part, k) => [from + 16 * part + 8 * (k & 1), 4 * (k >> 1)]);

/** Bytes that parts of 32 share: two parts nibbles, four parts pairs of bits, eight parts bits. */
const shared = (count: 1 | 2 | 4, from: number) => {
  const parts = 8 / count;
  return bits(count, 256, (part, k) => [from + 32 * Math.floor(part / parts) + 8 * k, count * (part % parts)]);
};

const half: Layout['side'] = (view, from, side, to) => {
  side[to] = view.getUint16(from, true);
};

/** Two halves in a word. */
const halves: Layout['side'] = (view, from, side, to) => {
  side[to] = view.getUint32(from, true);
};

/** Two halves, and eight scales and eight minima of 6 bits. */
const sixBits: Layout['side'] = (view, from, side, to) => {
  const [a, b, c] = [view.getUint32(from + 4, true), view.getUint32(from + 8, true), view.getUint32(from + 12, true)];
  side[to] = view.getUint32(from, true);
  side[to + 1] = nibbles(a) | (nibbles(c) << 16);
  side[to + 2] = nibbles(b) | (nibbles(c >>> 4) << 16);
  side[to + 3] = pairs(a >>> 4) | (pairs(a >>> 6) << 8) | (pairs(b >>> 4) << 16) | (pairs(b >>> 6) << 24);
};

const LAYOUTS: Readonly<Record<QuantizedType, Layout>> = {
  q8_0: { side: half },
  q4_0: { low: /* @__PURE__ */ inHalves(2, 32), side: half },
  q4_1: { low: /* @__PURE__ */ inHalves(4, 32), side: halves },
  q5_0: { low: /* @__PURE__ */ inHalves(6, 32), side: () => {} },
  q5_1: {
    low: /* @__PURE__ */ inHalves(8, 32),
    side(view, from, side, to) {
      halves(view, from, side, to);
      side[to + 1] = fifthBits(view.getUint32(from + 4, true));
    },
  },
  q2_K: {
    low: /* @__PURE__ */ shared(2, 16),
    side(view, from, side, to) {
      side[to] = view.getUint32(from + 80, true);
      for (let k = 0; k < 2; k++) {
        const [a, b] = [view.getUint32(from + 8 * k, true), view.getUint32(from + 8 * k + 4, true)];
        side[to + 1 + k] = nibbles(a) | (nibbles(b) << 16);
        side[to + 3 + k] = nibbles(a >>> 4) | (nibbles(b >>> 4) << 16);
      }
    },
  },
  q3_K: {
    low: /* @__PURE__ */ shared(2, 32),
    high: { .../* @__PURE__ */ shared(1, 0), to: 4 },
    side(view, from, side, to) {
      const [a, b, c] = [view.getUint32(from + 96, true), view.getUint32(from + 100, true), view.getUint32(from + 104, true)];
      side[to] = view.getUint16(from + 108, true);
      side[to + 1] = nibbles(a) | (nibbles(b) << 16);
      side[to + 2] = nibbles(a >>> 4) | (nibbles(b >>> 4) << 16);
      side[to + 3] = pairs(c) | (pairs(c >>> 2) << 8) | (pairs(c >>> 4) << 16) | (pairs(c >>> 6) << 24);
    },
  },
  q4_K: { low: /* @__PURE__ */ shared(4, 16), side: sixBits },
  q5_K: { low: /* @__PURE__ */ shared(4, 48), high: { .../* @__PURE__ */ shared(1, 16), to: 4 }, side: sixBits },
  q6_K: {
    low: /* @__PURE__ */ bits(4, 256, (part, k) => [64 * (part >> 2) + 32 * (part & 1) + 8 * k, 2 * (part & 2)]),
    high: { .../* @__PURE__ */ shared(2, 128), to: 5 },
    side(view, from, side, to) {
      side[to] = view.getUint16(from + 208, true);
      for (let k = 0; k < 4; k++) side[to + 1 + k] = view.getUint32(from + 192 + 4 * k, true);
    },
  },
  iq4_nl: { low: /* @__PURE__ */ inHalves(2, 32), side: half },
  iq4_xs: {
    low: /* @__PURE__ */ inHalves(8, 256),
    side(view, from, side, to) {
      halves(view, from, side, to);
      side[to + 1] = view.getUint32(from + 4, true);
    },
  },
};

/** Words of a row and its side. */
export interface SplitBlocks {
  readonly words: Uint32Array<ArrayBuffer>;
  /** Bits of f16, or records. */
  readonly side: Uint16Array<ArrayBuffer> | Uint32Array<ArrayBuffer>;
}

/** Splits the blocks of whole rows, or where a row has an even number of blocks, an even number of them. */
export function splitBlocks(type: QuantizedType, bytes: Uint8Array, blocksOfRow: number): SplitBlocks {
  const { low, numbers, span, record, bytes: size } = FORMATS[type];
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const count = bytes.byteLength / size;
  const blockWords = (numbers / 32) * low;
  const words = new Uint32Array(count * blockWords);
  if (type === 'q5_0') return { words, side: splitPairs(view, count, blocksOfRow, words) };
  const side = record === 0 ? new Uint16Array(count) : new Uint32Array((count * numbers * record) / span);
  const layout = LAYOUTS[type];
  for (let block = 0; block < count; block++) {
    const [from, to] = [block * size, block * Math.max(record, 1)];
    layout.side(view, from, side, to);
    if (layout.high !== undefined) splitBits(view, from, layout.high, side, to + layout.high.to);
    if (layout.low !== undefined) splitBits(view, from, layout.low, words, block * blockWords);
    else for (let k = 0; k < blockWords; k++) words[block * blockWords + k] = view.getUint32(from + 2 + 4 * k, true);
  }
  return { words, side };
}

/** Two blocks of q5_0 share a record, the last one of an odd row has one of its own: scales, and fifth bits. */
function splitPairs(view: DataView, count: number, blocksOfRow: number, words: Uint32Array): Uint32Array<ArrayBuffer> {
  const records = Math.ceil(blocksOfRow / 2);
  const side = new Uint32Array(3 * (blocksOfRow % 2 === 0 ? count / 2 : (count / blocksOfRow) * records));
  const { low } = LAYOUTS.q5_0;
  for (let block = 0; block < count; block++) {
    const from = 22 * block;
    const within = block % blocksOfRow;
    const to = 3 * (Math.floor(block / blocksOfRow) * records + (within >> 1));
    const second = within & 1;
    side[to] = (side[to] as number) | (view.getUint16(from, true) << (16 * second));
    side[to + 1 + second] = fifthBits(view.getUint32(from + 2, true));
    splitBits(view, from, low as Bits, words, 4 * block);
  }
  return side;
}

/** Adds bits of the numbers of a block to words that are 0. */
function splitBits(view: DataView, from: number, { count, places }: Bits, words: Uint32Array | Uint16Array, to: number): void {
  const mask = ((1 << count) - 1) * 0x01010101;
  const eights = 4 / count;
  for (let eight = 0; eight < places.length; eight++) {
    const [byte, shift] = places[eight] as (typeof places)[number];
    const low = (view.getUint32(from + byte, true) >>> shift) & mask;
    const high = (view.getUint32(from + byte + 4, true) >>> shift) & mask;
    const at = to + Math.floor(eight / eights);
    words[at] = (words[at] as number) | ((nibbles(low) | (nibbles(high) << 16)) << (count * (eight % eights)));
  }
}

/** The low halves of four bytes beside one another, in 16 bits. */
function nibbles(bytes: number): number {
  const halvesOfBytes = bytes & 0x0f0f0f0f;
  const joined = (halvesOfBytes | (halvesOfBytes >>> 4)) & 0x00ff00ff;
  return (joined | (joined >>> 8)) & 0xffff;
}

/** The lowest two bits of four bytes beside one another, in 8 bits. */
function pairs(bytes: number): number {
  const twoBits = bytes & 0x03030303;
  const joined = (twoBits | (twoBits >>> 6)) & 0x000f000f;
  return (joined | (joined >>> 12)) & 0xff;
}

/** A bit of each of 32 numbers in order, with distances of 4 for eight neighbours. */
function fifthBits(word: number): number {
  let spread = 0;
  for (let k = 0; k < 4; k++) {
    const byte = (word >>> (8 * k)) & 0xff;
    const fours = (byte | (byte << 12)) & 0x000f000f;
    const twos = (fours | (fours << 6)) & 0x03030303;
    spread |= ((twos | (twos << 3)) & 0x11111111) << k;
  }
  return spread;
}
