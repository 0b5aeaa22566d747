/** Quantised weights that are made up. */

/**
 * Formats of 256 numbers: bytes of a block, where its halves stand, and the first one in units of a number's size. The second half makes numbers as often
 * negative as positive.
 */
const LONG_BLOCKS = { q4_K: { bytes: 144, halves: [0, 2], unit: 1 / (32 * 4), second: 7.5 }, q6_K: { bytes: 210, halves: [208], unit: 1 / (64 * 16) } };

/** The bits of a positive number in half precision, rounded down. */
function halfBits(value) {
  const exponent = Math.max(-14, Math.floor(Math.log2(value)));
  const fraction = Math.floor((value / 2 ** exponent) * 1024);
  return fraction < 1024 ? fraction : ((exponent + 14) << 10) + fraction;
}

/** Blocks of bytes that repeat after some thousands, as weights of about the size 1 / √columns. */
export function madeBlocks(device, type, [rows, columns]) {
  const { bytes: size, halves, unit, second } = LONG_BLOCKS[type];
  const count = Math.min(4096, (rows * columns) / 256);
  const part = Uint8Array.from({ length: count * size }, (_, i) => (Math.imul(i + 1, 0x9e3779b1) >>> 15) & 255);
  const view = new DataView(part.buffer);
  const scale = unit / Math.sqrt(columns);
  for (let block = 0; block < count; block++) halves.forEach((at, k) => view.setUint16(block * size + at, halfBits(k === 0 ? scale : second * scale), true));
  const bytes = new Uint8Array(((rows * columns) / 256) * size);
  for (let at = 0; at < bytes.length; at += part.length) bytes.set(part.subarray(0, bytes.length - at), at);
  return device.quantized(bytes, [rows, columns], type);
}
