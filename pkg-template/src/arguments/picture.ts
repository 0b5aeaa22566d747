/** Pictures of the page: what they are, and their pixels on the host. */

import { describe, invalidArgument } from './errors.js';

/** A picture that the page has. */
export type ImageSource = ImageBitmap | ImageData | HTMLImageElement | HTMLVideoElement | HTMLCanvasElement | OffscreenCanvas | VideoFrame;

/** A picture with its size in pixels. */
export interface Picture {
  readonly source: ImageSource;
  readonly width: number;
  readonly height: number;
}

/** What says the sizes of the sources, the first that is there. */
const WIDTHS = ['naturalWidth', 'videoWidth', 'displayWidth', 'width'] as const;
const HEIGHTS = ['naturalHeight', 'videoHeight', 'displayHeight', 'height'] as const;

/** HTMLMediaElement.HAVE_CURRENT_DATA: a video has a frame. */
const HAVE_CURRENT_DATA = 2;

/** Returns a picture with its size; null for anything else. Pictures of other windows are none of this window's classes, so that their members tell. */
export function pictureOf(value: unknown): Picture | null {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return null;
  const size = (names: readonly string[]): unknown => (value as Record<string, unknown>)[names.find((name) => name in value) ?? ''];
  const [width, height] = [size(WIDTHS), size(HEIGHTS)];
  return typeof width === 'number' && typeof height === 'number' ? { source: value as ImageSource, width, height } : null;
}

/** Returns a picture that has pixels. Throws 'invalid-argument' for anything else. */
export function checkPicture(argument: string, value: unknown): Picture {
  const picture = pictureOf(value);
  if (picture === null) throw invalidArgument(argument, describe(value), 'an ImageBitmap, ImageData, VideoFrame, or an image, video or canvas of the page');
  const { complete, readyState } = picture.source as { complete?: unknown; readyState?: unknown };
  if (!(picture.width > 0 && picture.height > 0) || complete === false || (typeof readyState === 'number' && readyState < HAVE_CURRENT_DATA)) {
    throw invalidArgument(argument, `a picture of ${picture.width} by ${picture.height} pixels that is not loaded, or has none`, 'one that has pixels: an image that is loaded, a video with a frame');
  }
  return picture;
}

/** Returns a copy of the bytes of ImageData; null for other pictures. */
export function dataOf({ source }: Picture): Uint8Array<ArrayBuffer> | null {
  const { data } = source as Partial<ImageData>;
  return data instanceof Uint8ClampedArray ? new Uint8Array(data) : null;
}

/** Returns red, green, blue and opacity of all pixels, row by row. Throws 'invalid-argument' where the page may not read them. */
export function pixelsOf(argument: string, picture: Picture): Uint8Array<ArrayBuffer> {
  const data = dataOf(picture);
  if (data !== null) return data;
  const { source, width, height } = picture;
  try {
    const context = new OffscreenCanvas(width, height).getContext('2d', { willReadFrequently: true }) as OffscreenCanvasRenderingContext2D;
    context.drawImage(source as CanvasImageSource, 0, 0, width, height);
    return new Uint8Array(context.getImageData(0, 0, width, height).data.buffer as ArrayBuffer);
  } catch (error) {
    throw invalidArgument(argument, `a picture that cannot be read (${String(error)})`, 'one of the page’s own origin, or loaded with CORS');
  }
}
