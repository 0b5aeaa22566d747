/** Loads a file of ONNX. */

import { describe, invalidArgument } from '../../arguments/errors.js';
import { checkOptions, type OptionNames } from '../../arguments/options.js';
import { checkSignal } from '../../module/cancellation.js';
import type { Device } from '../device/device.js';
import { load } from '../files/load.js';
import type { FileSource } from '../files/source.js';
import { checkDims, type Size } from '../size.js';
import type { LoadedModel } from './loaded-model.js';
import { modelOf } from './prepare.js';
import { readModel } from './reading.js';

/** Options of {@link loadOnnx}. */
export interface OnnxOptions {
  /** Where the constants are stored and runs are computed; `Device.default()` unless told. */
  device?: Device;
  /**
   * Sizes that the file names, such as `{ batch: 1, sequence: dim('sequence', 512) }`. With a number the graph is recorded for it. With a Dim one program
   * serves all sizes up to its `max`. A name that is not told here has the sizes of each run, with a program for each.
   */
  dims?: Readonly<Record<string, Size>>;
  /** Gives the files with data outside of the model, by the names that it has for them. */
  external?: (location: string) => FileSource | Promise<FileSource>;
  /** Called as bytes of the model arrive, with their number and that of the file; the latter is 0 while it is not known. */
  onProgress?: (loaded: number, total: number) => void;
  /** Ends the load with 'aborted'. */
  signal?: AbortSignal;
}

const OPTIONS: OptionNames<OnnxOptions> = { device: true, dims: true, external: true, onProgress: true, signal: true };

/**
 * Loads a model of ONNX with operators of versions 13 to 22, and of others as far as they are the same. Its bytes are read as they arrive, and large
 * initializers go to the device at once. What depends on constants alone is computed once.
 *
 * Rejects with 'invalid-argument' for a file that is no model of ONNX, is damaged, or has operators, types or attributes that are not taken: the message
 * has the node, its operator with the version, and what is taken. With 'limit-exceeded', 'out-of-memory', 'aborted'.
 */
export async function loadOnnx(source: FileSource, options: OnnxOptions = {}): Promise<LoadedModel> {
  const call = 'loadOnnx';
  checkOptions(`${call}: options`, options, OPTIONS);
  const { device, dims = {}, external, onProgress, signal } = options;
  checkDims(`${call}: dims`, dims);
  checkSignal(`${call}: signal`, signal);
  if (external !== undefined && typeof external !== 'function') throw invalidArgument(`${call}: external`, describe(external), 'a function of the name of a file');
  const given = { ...(device && { device }), ...(onProgress && { onProgress }), ...(signal && { signal }) };
  return load(call, source, given, async (work) => {
    const file = await readModel(work, external, signal);
    return modelOf(call, file, work.device, dims);
  });
}
