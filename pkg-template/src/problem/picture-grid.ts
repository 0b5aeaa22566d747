/** Pictures as the numbers of grids. */

import { describe, invalidArgument } from '../arguments/errors.js';
import { checkWholeNumber } from '../arguments/numeric-arguments.js';
import { checkPicture, pictureOf, pixelsOf, type ImageSource } from '../arguments/picture.js';

/** A picture: ImageData, or anything like it. */
export interface PictureData {
  /** Pixels in a row. */
  readonly width: number;
  /** Number of rows. */
  readonly height: number;
  /** Red, green, blue and alpha of each pixel, row after row from the top. */
  readonly data: ArrayLike<number>;
}

/** Whether it is a picture, and no list of numbers. */
export function isPicture(value: unknown): value is PictureData | ImageSource {
  return pictureOf(value) !== null;
}

/**
 * Returns size, channels and values of a grid from a picture of the page, or from anything like ImageData, to be spread into Problem.grid: with 1 channel
 * (default) the luma of each pixel, with 3 red, green and blue, with 4 alpha too. Bytes become numbers from 0 to 1; others stay as they are. Pixel (x, y)
 * stands at the place (x, y), y downward.
 *
 * Throws 'invalid-argument' for another number of channels, data that are not 4 numbers for each pixel, and a picture that is not loaded or that the page may
 * not read.
 */
export function pictureGrid<C extends 1 | 3 | 4 = 1>(picture: PictureData | ImageSource, channels?: C): { size: [number, number]; channels: C; values: Float64Array } {
  const taken = channels ?? 1;
  if (taken !== 1 && taken !== 3 && taken !== 4) throw invalidArgument('pictureGrid: channels', describe(taken), '1, 3 or 4');
  return { channels: taken as C, ...pixelNumbers('pictureGrid: picture', picture, taken) };
}

/** Returns the numbers of a picture's channels. Throws 'invalid-argument' as pictureGrid does; `argument` names the picture. */
export function pixelNumbers(argument: string, picture: PictureData | ImageSource, taken: number): { size: [number, number]; values: Float64Array } {
  if (taken !== 1 && taken !== 3 && taken !== 4) throw invalidArgument(argument, `a picture for ${describe(taken)} channels`, 'a picture for 1, 3 or 4');
  const { width, height, data } = dataOf(argument, picture);
  const pixels = width * height;
  const scale = data instanceof Uint8ClampedArray || data instanceof Uint8Array ? 1 / 255 : 1;
  const values = new Float64Array(taken * pixels);
  for (let pixel = 0; pixel < pixels; pixel++) {
    const part = (channel: number) => scale * (data[4 * pixel + channel] as number);
    // Rec. 709.
    if (taken === 1) values[pixel] = 0.2126 * part(0) + 0.7152 * part(1) + 0.0722 * part(2);
    else for (let channel = 0; channel < taken; channel++) values[taken * pixel + channel] = part(channel);
  }
  return { size: [width, height], values };
}

/** The pixels of a picture. Throws 'invalid-argument' for anything else. */
function dataOf(argument: string, picture: PictureData | ImageSource): PictureData {
  if (typeof picture !== 'object' || picture === null) throw invalidArgument(argument, describe(picture), 'ImageData, or an image, video or canvas of the page');
  if (!('data' in picture)) {
    const checked = checkPicture(argument, picture);
    return { width: checked.width, height: checked.height, data: pixelsOf(argument, checked) };
  }
  const { width, height, data } = picture;
  checkWholeNumber(`${argument}.width`, width, 1);
  checkWholeNumber(`${argument}.height`, height, 1);
  if (typeof data !== 'object' || data === null || data.length !== 4 * width * height) {
    const got = typeof data === 'object' && data !== null ? `${data.length} numbers` : describe(data);
    throw invalidArgument(`${argument}.data`, got, `${4 * width * height}: 4 for each of ${width} × ${height} pixels`);
  }
  return { width, height, data };
}
