/// <reference lib="esnext.disposable" preserve="true" />
/**
 * residua/tensor/models/worker: models of ONNX and of TensorFlow.js, and files of tensors, in a worker of the package, with the names of
 * `residua/tensor/worker`.
 *
 * Files are fetched, read and stored in the worker: those of `loadSafetensors`, `loadGguf`, `loadNpy`, `loadNpz` and of the loaders of `residua/tensor/models`
 * that are given a device from here, too. Graphs of `loadOnnx` and `loadTfjs` are recorded, compiled and run there as well; the page has the model and its
 * tensors as handles. The worker is another one than that of `residua/tensor/worker`, as its script has all that models need; a page with models takes all of
 * its tensors from here. It starts with the first device, and runs until `terminate()`, or as long as the page.
 *
 * @packageDocumentation
 */

import { describe, invalidArgument } from './arguments/errors.js';
import { checkOptions, type OptionNames } from './arguments/options.js';
import type { WasmSource } from './module/loading.js';
import { startThread } from './remote/thread.js';
import { Device as PageDevice } from './tensor/device/device.js';
import { readOn } from './tensor/device/evaluator.js';
import type { FileSource } from './tensor/files/source.js';
import { RemoteFiles } from './tensor/remote/remote-files.js';
import { loadInWorker, type RemoteLoadOptions, type WorkerModel } from './tensor/remote/remote-model.js';
import { TensorThread } from './tensor/remote/thread.js';

export * from './tensor.js';
export { WorkerModel } from './tensor/remote/remote-model.js';
export type { RemoteLoadOptions } from './tensor/remote/remote-model.js';
export type { ModelFeed, ModelNumbers, ModelValue } from './tensor/onnx/feeds.js';

const worker = /* @__PURE__ */ new TensorThread(() => {
  const { thread, listen } = startThread(() => new Worker(new URL('./tensor-models-worker-entry.js', import.meta.url), { type: 'module' }), 'tensor-models-worker-entry.js');
  return { port: thread, listen, end: () => thread.terminate() };
}, RemoteFiles);

/** Where tensors are stored and computed, in the worker; see `Device` of `residua/tensor`. */
export const Device: typeof PageDevice = /* @__PURE__ */ PageDevice.on(worker.open);
export type Device = PageDevice;

// A recipe without stored tensors is computed in the worker, too.
readOn(Device);

/**
 * Starts the worker and loads the WebAssembly module of tensors in it; once, and again after an 'internal' failure. `Device.create()` does so itself. Rejects
 * with 'not-initialized'.
 *
 * @param source the source of the .wasm, which is compiled on the page; by default the file beside the package's glue, which bundlers find too
 */
export function init(source?: WasmSource): Promise<void> {
  return worker.init(source);
}

/**
 * Ends the worker at once, with all its objects. Pending calls reject with 'disposed', and so do later calls on those objects. The next device starts a new
 * worker.
 */
export function terminate(): void {
  worker.terminate();
}

/** Options of loadOnnx in a worker. */
export interface WorkerOnnxOptions extends RemoteLoadOptions {
  /** Gives the files with data outside of the model, by the names that it has for them. */
  external?: (location: string) => FileSource | Promise<FileSource>;
}

/** Options of loadTfjs in a worker. */
export interface WorkerTfjsOptions extends RemoteLoadOptions {
  /** Gives the files with weights, by the paths that the model has for them; by default they lie beside the address of the model. */
  weights?: (path: string) => FileSource | Promise<FileSource>;
}

const OPTIONS: OptionNames<RemoteLoadOptions> = { device: true, dims: true, onProgress: true, signal: true, transfer: true };
const ONNX_OPTIONS: OptionNames<WorkerOnnxOptions> = { ...OPTIONS, external: true };
const TFJS_OPTIONS: OptionNames<WorkerTfjsOptions> = { ...OPTIONS, weights: true };

/**
 * Loads a model of ONNX in the worker, as `loadOnnx` of `residua/tensor/onnx` does on the page, with its errors. An address, a Blob and bytes go to the worker;
 * a response and a stream are read on the page, and their bytes go there as they come.
 */
export async function loadOnnx(source: FileSource, options: WorkerOnnxOptions = {}): Promise<WorkerModel> {
  checkOptions('loadOnnx: options', options, ONNX_OPTIONS);
  const { external } = options;
  if (external !== undefined && typeof external !== 'function') throw invalidArgument('loadOnnx: external', describe(external), 'a function of the name of a file');
  return loadInWorker('loadOnnx', 'onnx', source, options, Device, external);
}

/**
 * Loads a model of TensorFlow.js in the worker, as `loadTfjs` of `residua/tensor/tfjs` does on the page, with its errors. An address, a Blob and bytes go to
 * the worker; a response and a stream are read on the page, and their bytes go there as they come.
 */
export async function loadTfjs(source: FileSource, options: WorkerTfjsOptions = {}): Promise<WorkerModel> {
  checkOptions('loadTfjs: options', options, TFJS_OPTIONS);
  const { weights } = options;
  if (weights !== undefined && typeof weights !== 'function') throw invalidArgument('loadTfjs: weights', describe(weights), 'a function of the path of a file');
  return loadInWorker('loadTfjs', 'tfjs', source, options, Device, weights);
}
