/** Canvases that pictures are drawn on. */

import { describe, invalidArgument } from '../../arguments/errors.js';

/** A canvas that pictures are drawn on. */
export type Canvas = HTMLCanvasElement | OffscreenCanvas;

/** Gives a canvas a size. A size that is set clears it, also one that it has. */
export function resize(canvas: Canvas, width: number, height: number): void {
  if (canvas.width !== width) canvas.width = width;
  if (canvas.height !== height) canvas.height = height;
}

/** Returns the context of a canvas. Throws 'invalid-argument' for anything else, and where the canvas has another context. */
export function contextOf<T>(argument: string, canvas: unknown, kind: '2d' | 'webgpu'): T {
  const given = canvas as { getContext?: (kind: string) => T | null } | null;
  if (typeof given?.getContext !== 'function') throw invalidArgument(argument, describe(canvas), 'an HTMLCanvasElement or an OffscreenCanvas');
  const context = given.getContext(kind);
  if (context === null) throw invalidArgument(argument, 'a canvas with a context of another kind', `a canvas without a context, or with one of kind '${kind}'`);
  return context;
}

/** Draws bytes of red, green, blue and opacity, row by row, on a canvas with this context, whose size becomes theirs. The opacity does not count, as on a GPU, whose canvas is opaque. */
export function paint(canvas: Canvas, context: CanvasRenderingContext2D, width: number, height: number, bytes: Uint8Array): void {
  resize(canvas, width, height);
  const pixels = new Uint8ClampedArray(bytes.subarray(0, width * height * 4));
  for (let opacity = 3; opacity < pixels.length; opacity += 4) pixels[opacity] = 255;
  context.putImageData(new ImageData(pixels, width, height), 0, 0);
}
