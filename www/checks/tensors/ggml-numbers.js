/**
 * The numbers of quantised blocks of GGML by their definition (ggml-common.h and ggml-quants.c in the repository ggml-org/ggml), one number at a time, and blocks that
 * repeat nothing. A test compares the numbers with those of the package `gguf` of PyPI.
 */

/** The number whose half-precision bits these are. */
export function ofHalf(bits) {
  const [sign, exponent, fraction] = [bits & 0x8000 ? -1 : 1, (bits >> 10) & 31, bits & 1023];
  if (exponent === 0) return sign * fraction * 2 ** -24;
  return exponent === 31 ? sign * (fraction === 0 ? Infinity : NaN) : sign * (1024 + fraction) * 2 ** (exponent - 25);
}

const CURVE = [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113];
const signed = (byte) => (byte << 24) >> 24;

/** The nibble of number i of 32 in 16 bytes: the upper ones are the last 16 numbers. */
const nibble = (byte, at, i) => (byte(at + (i % 16)) >> (i < 16 ? 0 : 4)) & 15;
/** The bits of number i of 256 in 64 bytes: each half has 32 bytes, with four numbers a byte that are 32 apart. */
const pair = (byte, at, i) => (byte(at + 32 * (i >> 7) + (i & 31)) >> (2 * ((i >> 5) & 3))) & 3;
/** Bit number i of 32 bytes, whose bit k belongs to numbers 32 k and on. */
const bit = (byte, at, i) => (byte(at + (i & 31)) >> (i >> 5)) & 1;
/** The nibble of number i of 256 in 128 bytes: two runs of 32 numbers share 32 bytes. */
const inRuns = (byte, at, i) => (byte(at + 32 * (i >> 6) + (i & 31)) >> (4 * ((i >> 5) & 1))) & 15;
/** Scale and minimum of run j of 32, of 6 bits each in 12 bytes. */
const sixBits = (byte, at, j) =>
  j < 4
    ? [byte(at + j) & 63, byte(at + j + 4) & 63]
    : [(byte(at + j + 4) & 15) | ((byte(at + j - 4) >> 6) << 4), (byte(at + j + 4) >> 4) | ((byte(at + j) >> 6) << 4)];
const scaleOfQ3 = (byte, at, part) => {
  const low = part < 8 ? byte(at + part) & 15 : byte(at + part - 8) >> 4;
  return (low | (((byte(at + 8 + (part % 4)) >> (2 * (part >> 2))) & 3) << 4)) - 32;
};
const longMinimum = ({ byte, half }, i, low, high) => {
  const [scale, least] = sixBits(byte, 4, i >> 5);
  return [half(0) * scale * (low | (high << 4)), half(2) * least];
};

/** For each type the numbers and the bytes of a block, where its halves stand, and the parts of number i, of which the second is taken away. */
export const BLOCKS = {
  q8_0: { numbers: 32, bytes: 34, halves: [0], parts: ({ byte, half }, i) => [half(0) * signed(byte(2 + i)), 0] },
  q4_0: { numbers: 32, bytes: 18, halves: [0], parts: ({ byte, half }, i) => [half(0) * (nibble(byte, 2, i) - 8), 0] },
  q4_1: { numbers: 32, bytes: 20, halves: [0, 2], parts: ({ byte, half }, i) => [half(0) * nibble(byte, 4, i), -half(2)] },
  q5_0: { numbers: 32, bytes: 22, halves: [0], parts: ({ byte, half }, i) => [half(0) * ((nibble(byte, 6, i) | (((byte(2 + (i >> 3)) >> (i & 7)) & 1) << 4)) - 16), 0] },
  q5_1: { numbers: 32, bytes: 24, halves: [0, 2], parts: ({ byte, half }, i) => [half(0) * (nibble(byte, 8, i) | (((byte(4 + (i >> 3)) >> (i & 7)) & 1) << 4)), -half(2)] },
  q2_K: { numbers: 256, bytes: 84, halves: [80, 82], parts: ({ byte, half }, i) => [half(80) * (byte(i >> 4) & 15) * pair(byte, 16, i), half(82) * (byte(i >> 4) >> 4)] },
  q3_K: { numbers: 256, bytes: 110, halves: [108], parts: ({ byte, half }, i) => [half(108) * scaleOfQ3(byte, 96, i >> 4) * (pair(byte, 32, i) + 4 * bit(byte, 0, i) - 4), 0] },
  q4_K: { numbers: 256, bytes: 144, halves: [0, 2], parts: (block, i) => longMinimum(block, i, inRuns(block.byte, 16, i), 0) },
  q5_K: { numbers: 256, bytes: 176, halves: [0, 2], parts: (block, i) => longMinimum(block, i, inRuns(block.byte, 48, i), bit(block.byte, 16, i)) },
  q6_K: {
    numbers: 256, bytes: 210, halves: [208],
    parts: ({ byte, half }, i) => {
      const low = (byte(64 * (i >> 7) + (i & 63)) >> (4 * ((i >> 6) & 1))) & 15;
      return [half(208) * signed(byte(192 + (i >> 4))) * ((low | (pair(byte, 128, i) << 4)) - 32), 0];
    },
  },
  iq4_nl: { numbers: 32, bytes: 18, halves: [0], parts: ({ byte, half }, i) => [half(0) * CURVE[nibble(byte, 2, i)], 0] },
  iq4_xs: {
    numbers: 256, bytes: 136, halves: [0],
    parts: ({ byte, half }, i) => {
      const run = i >> 5;
      const upper = (byte(2 + (run >> 2)) >> (2 * (run & 3))) & 3;
      const scale = (((byte(4 + (run >> 1)) >> (4 * (run & 1))) & 15) | (upper << 4)) - 32;
      return [half(0) * scale * CURVE[nibble(byte, 8 + 16 * run, i & 31)], 0];
    },
  },
};

/** The parts of the numbers of blocks: each number is the first less the second, rounded to single precision once. */
export function partsOf(bytes, type) {
  const { numbers, bytes: size, parts } = BLOCKS[type];
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  return Array.from({ length: (bytes.length / size) * numbers }, (_, k) => {
    const from = Math.floor(k / numbers) * size;
    return parts({ byte: (at) => view.getUint8(from + at), half: (at) => ofHalf(view.getUint16(from + at, true)) }, k % numbers);
  });
}

/** The numbers of blocks. */
export const numbersOf = (bytes, type) => partsOf(bytes, type).map(([number, less]) => Math.fround(number - less));

/** Bytes of blocks that repeat nothing, with numbers of about 1. */
export function blocksOf(count, type) {
  const { bytes: size, halves, numbers } = BLOCKS[type];
  const bytes = new Uint8Array(count * size).map((_, i) => Math.floor(((i * 0.618033988749895) % 1) * 256));
  const view = new DataView(bytes.buffer);
  // Integers of up to 8 bits multiply those of 256 numbers once more.
  const first = numbers === 256 ? 0x1000 : 0x2400;
  for (let block = 0; block < count; block++) halves.forEach((at, k) => view.setUint16(block * size + at, first + ((block * 389 + 211 * k) % 512), true));
  return bytes;
}

/** Rows as 'int8' has them: the nearest multiples of the largest magnitude of a block by 127, with that quotient in single precision. */
export function inBytes(x) {
  const rounded = new Float64Array(x.length);
  for (let first = 0; first < x.length; first += 32) {
    const block = x.slice(first, first + 32);
    const scale = Math.fround(Math.max(...block.map(Math.abs)) * Math.fround(1 / 127));
    const inverse = Math.fround(1 / scale);
    block.forEach((number, k) => {
      const quotient = Math.fround(number * inverse);
      rounded[first + k] = scale === 0 ? 0 : Math.sign(quotient) * Math.floor(Math.abs(quotient) + 0.5) * scale;
    });
  }
  return rounded;
}
