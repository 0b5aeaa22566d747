/** Files with tensors, read in the worker for the page. */

import type { Device } from '../device/device.js';
import { QuantizedTensor } from '../device/quantized-tensor.js';
import type { StoredTensor } from '../device/stored-tensor.js';
import { loadGguf } from '../files/gguf.js';
import { selectElsewhere, type LoadOptions } from '../files/load.js';
import { loadNpy } from '../files/npy.js';
import { loadNpz } from '../files/npz.js';
import { loadSafetensors } from '../files/safetensors.js';
import type { FileSource } from '../files/source.js';
import type { FileFormat } from '../files/load.js';

/** What a file holds, whatever its format. */
export interface FileTensors {
  readonly tensors: Readonly<Record<string, StoredTensor | QuantizedTensor>>;
  readonly metadata: Readonly<Record<string, unknown>>;
}

const LOADERS: { readonly [F in FileFormat]: (source: FileSource, options: LoadOptions) => Promise<FileTensors> } = {
  safetensors: loadSafetensors,
  gguf: loadGguf,
  npz: async (source, options) => ({ tensors: await loadNpz(source, options), metadata: {} }),
  npy: async (source, options) => ({ tensors: { '': await loadNpy(source, options) }, metadata: {} }),
};

/** Reads a file. `select` asks the page which tensors are wanted, if not all are. */
export function readFile(format: FileFormat, source: FileSource, device: Device, options: Omit<LoadOptions, 'select'>, select: ((names: readonly string[]) => Promise<readonly string[]>) | null): Promise<FileTensors> {
  return LOADERS[format](source, { ...options, device, ...(select === null ? {} : { select: selectElsewhere(select) }) });
}
