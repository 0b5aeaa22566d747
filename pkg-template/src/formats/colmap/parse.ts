/** The reader of COLMAP's models. */

import { describe, invalidArgument } from '../../arguments/errors.js';
import { checkOptions } from '../../arguments/options.js';
import { ModelBuilder } from './builder.js';
import type { ColmapModel } from './model.js';
import * as binary from './read-binary.js';
import * as texts from './read-text.js';

/** The files of a model: texts, or the bytes of binary files. */
export interface ColmapFiles<T = string | ArrayBuffer | Uint8Array> {
  /** cameras.txt or cameras.bin. */
  cameras: T;
  /** images.txt or images.bin. */
  images: T;
  /** points3D.txt or points3D.bin. */
  points3D: T;
}

/**
 * Reads a model of COLMAP. A string is taken for a text file, bytes for a binary one. Quaternions are normalised. Tracks of points must agree with the
 * keypoints of images, which give the observations.
 *
 * Throws 'invalid-argument' for files that are not as their format demands, with the file and the line or byte, and for ids that do not exist.
 */
export function parseColmap(files: ColmapFiles): ColmapModel {
  checkOptions('parseColmap: files', files, { cameras: true, images: true, points3D: true });
  const builder = new ModelBuilder();
  const read = (name: keyof ColmapFiles, readText: typeof texts.readCameras, readBytes: typeof binary.readCameras): void => {
    const file: unknown = files[name];
    const reader = `parseColmap: ${name}`;
    if (typeof file === 'string') readText(reader, file, builder);
    else if (file instanceof ArrayBuffer || file instanceof Uint8Array) readBytes(reader, file, builder);
    else throw invalidArgument(reader, describe(file), 'the text of a file, or the bytes of a binary one');
  };
  read('cameras', texts.readCameras, binary.readCameras);
  read('images', texts.readImages, binary.readImages);
  read('points3D', texts.readPoints, binary.readPoints);
  return builder.finish();
}
