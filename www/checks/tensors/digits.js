/** Made digits: strokes of seven segments on 28 × 28 pixels, moved, of random strength and with noise. The same numbers in every browser. */

import { congruential } from '../../problems/seeded-noise.js';

export const PIXELS = 28 * 28;

/** Which of the segments top, upper left, upper right, middle, lower left, lower right and bottom a digit has. */
const SEGMENTS = ['1110111', '0010010', '1011101', '1011011', '0111010', '1101011', '1101111', '1010010', '1111111', '1111011'];

/** Rows and columns of the segments: first row, first column, last row, last column. */
const STROKES = [[6, 10, 7, 17], [6, 9, 13, 10], [6, 17, 13, 18], [13, 10, 14, 17], [14, 9, 21, 10], [14, 17, 21, 18], [20, 10, 21, 17]];

/** So many digits, moved by at most `reach` pixels: their pixels in 0 … 255 and their labels. */
export function madeDigits(count, reach, seed) {
  const bits = congruential(seed);
  const next = () => bits() / 2 ** 32;
  const [images, labels] = [new Uint8Array(count * PIXELS), new Uint8Array(count)];
  for (let k = 0; k < count; k++) {
    const label = Math.floor(10 * next());
    const [down, right, strength] = [Math.floor((2 * reach + 1) * next()) - reach, Math.floor((2 * reach + 1) * next()) - reach, 120 + 135 * next()];
    const image = images.subarray(k * PIXELS, (k + 1) * PIXELS);
    labels[k] = label;
    for (let place = 0; place < PIXELS; place++) image[place] = Math.floor(80 * next());
    STROKES.forEach(([top, left, bottom, end], segment) => {
      if (SEGMENTS[label][segment] !== '1') return;
      for (let row = top; row <= bottom; row++) {
        for (let column = left; column <= end; column++) image[(row + down) * 28 + column + right] = Math.min(255, strength + Math.floor(60 * next()));
      }
    });
  }
  return { images, labels, count, pixels: PIXELS };
}
