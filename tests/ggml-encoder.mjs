// Weights as quantised blocks of GGML, by the nearest integers: www/checks/tensors/ggml-numbers.js has what the blocks stand for.
import { halfBits } from '../xtask/small-decoder/gguf.mjs';
import { BLOCKS, ofHalf } from '../www/checks/tensors/ggml-numbers.js';

const CURVE = [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113];
const levelsFrom = (zero, count) => Array.from({ length: count }, (_, k) => k - zero);

/** Adds the bits of number i at the places that ggml-numbers.js reads. */
const PUT = {
  nibble: (bytes, at, i, bits) => (bytes[at + (i % 16)] |= bits << (i < 16 ? 0 : 4)),
  pair: (bytes, at, i, bits) => (bytes[at + 32 * (i >> 7) + (i & 31)] |= bits << (2 * ((i >> 5) & 3))),
  bit: (bytes, at, i, bits) => (bytes[at + (i & 31)] |= bits << (i >> 5)),
  inRuns: (bytes, at, i, bits) => (bytes[at + 32 * (i >> 6) + (i & 31)] |= bits << (4 * ((i >> 5) & 1))),
  inOrder: (bytes, at, i, bits) => (bytes[at + (i >> 3)] |= bits << (i & 7)),
};

/** Scales and minima of 6 bits. */
function putSixBits(bytes, scales, minima) {
  for (let j = 0; j < 8; j++) {
    if (j < 4) [bytes[4 + j], bytes[8 + j]] = [bytes[4 + j] | scales[j], bytes[8 + j] | minima[j]];
    else {
      bytes[8 + j] |= (scales[j] & 15) | ((minima[j] & 15) << 4);
      bytes[j] |= (scales[j] >> 4) << 6;
      bytes[4 + j] |= (minima[j] >> 4) << 6;
    }
  }
}
const putQ3Scales = (bytes, scales) => scales.forEach((scale, part) => {
  bytes[96 + (part % 8)] |= ((scale + 32) & 15) << (part < 8 ? 0 : 4);
  bytes[104 + (part % 4)] |= ((scale + 32) >> 4) << (2 * (part >> 2));
});
const putXsScales = (bytes, scales) => scales.forEach((scale, run) => {
  bytes[4 + (run >> 1)] |= ((scale + 32) & 15) << (4 * (run & 1));
  bytes[2 + (run >> 2)] |= ((scale + 32) >> 4) << (2 * (run & 3));
});

/** Of each type the levels, the numbers of a group, the largest integer that multiplies a half (1: none), whether there are minima, and what writes integers. */
const ENCODERS = {
  q8_0: { levels: levelsFrom(128, 256), put: (b, i, q) => (b[2 + i] = q - 128) },
  q4_0: { levels: levelsFrom(8, 16), put: (b, i, q) => PUT.nibble(b, 2, i, q) },
  q4_1: { levels: levelsFrom(0, 16), minima: true, put: (b, i, q) => PUT.nibble(b, 4, i, q) },
  q5_0: { levels: levelsFrom(16, 32), put: (b, i, q) => (PUT.nibble(b, 6, i, q & 15), PUT.inOrder(b, 2, i, q >> 4)) },
  q5_1: { levels: levelsFrom(0, 32), minima: true, put: (b, i, q) => (PUT.nibble(b, 8, i, q & 15), PUT.inOrder(b, 4, i, q >> 4)) },
  q2_K: { levels: levelsFrom(0, 4), group: 16, most: 15, minima: true, put: (b, i, q) => PUT.pair(b, 16, i, q), scales: (b, scales, minima) => scales.forEach((scale, k) => (b[k] = scale | (minima[k] << 4))) },
  q3_K: { levels: levelsFrom(4, 8), group: 16, most: 31, put: (b, i, q) => (PUT.pair(b, 32, i, q & 3), PUT.bit(b, 0, i, q >> 2)), scales: putQ3Scales },
  q4_K: { levels: levelsFrom(0, 16), most: 63, minima: true, put: (b, i, q) => PUT.inRuns(b, 16, i, q), scales: putSixBits },
  q5_K: { levels: levelsFrom(0, 32), most: 63, minima: true, put: (b, i, q) => (PUT.inRuns(b, 48, i, q & 15), PUT.bit(b, 16, i, q >> 4)), scales: putSixBits },
  q6_K: {
    levels: levelsFrom(32, 64), group: 16, most: 127,
    put: (b, i, q) => ((b[64 * (i >> 7) + (i & 63)] |= (q & 15) << (4 * ((i >> 6) & 1))), PUT.pair(b, 128, i, q >> 4)),
    scales: (b, scales) => b.set(scales, 192),
  },
  iq4_nl: { levels: CURVE, put: (b, i, q) => PUT.nibble(b, 2, i, q) },
  iq4_xs: { levels: CURVE, most: 31, put: (b, i, q) => PUT.nibble(b, 8 + 16 * (i >> 5), i & 31, q), scales: putXsScales },
};

/** The bytes of rows of whole blocks. */
export function encode(numbers, type) {
  const { numbers: block, bytes: size, halves } = BLOCKS[type];
  const { levels, group = 32, most = 1, minima = false, put, scales: putScales } = ENCODERS[type];
  const bytes = new Uint8Array((numbers.length / block) * size);
  const largest = Math.max(levels.at(-1), minima ? 0 : -levels[0]);
  for (let from = 0; from < numbers.length; from += block) {
    const own = bytes.subarray((from / block) * size, (from / block + 1) * size);
    const view = new DataView(own.buffer, own.byteOffset);
    const groups = Array.from({ length: block / group }, (_, k) => Array.from(numbers.subarray(from + k * group, from + (k + 1) * group)));
    const least = groups.map((all) => (minima ? Math.max(0, -Math.min(...all)) : 0));
    const steps = groups.map((all, k) => (minima ? Math.max(...all) + least[k] : Math.max(...all.map(Math.abs))) / largest);
    // A half and integers, as the block will have them.
    const rounded = (values, at, sign) => {
      const half = halfBits((sign * Math.max(...values)) / most);
      view.setUint16(at, half, true);
      const unit = Math.abs(ofHalf(half));
      return values.map((value) => (most === 1 || unit === 0 ? 1 : Math.min(most, Math.round(value / unit))));
    };
    const integers = rounded(steps, halves[0], 1);
    // Those of q4_1 and q5_1 are added.
    const [leastIntegers, sign] = minima ? [rounded(least, halves[1], putScales === undefined ? -1 : 1), putScales === undefined ? -1 : 1] : [[], 0];
    putScales?.(own, integers, leastIntegers);
    const [scale, minimum] = halves.map((at) => ofHalf(view.getUint16(at, true)));
    groups.forEach((all, k) => all.forEach((x, i) => {
      const [step, less] = [scale * integers[k], minima ? sign * minimum * leastIntegers[k] : 0];
      const wanted = step === 0 ? 0 : (x + less) / step;
      const nearest = levels.reduce((best, level, q) => (Math.abs(level - wanted) < Math.abs(levels[best] - wanted) ? q : best), 0);
      put(own, k * group + i, nearest);
    }));
  }
  return bytes;
}
