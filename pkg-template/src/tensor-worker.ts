/// <reference lib="esnext.disposable" preserve="true" />
/**
 * residua/tensor/worker: the names of `residua/tensor`, with all computing in a worker of the package.
 *
 * The page records recipes, and has tensors and programs as handles. Compiling, running and reading take place in the worker, where the memory is, on a GPU or
 * on the CPU. Numbers cross as typed arrays that are transferred. The first device starts the worker, which runs until `terminate()`, or as long as the page.
 * What cannot cross is refused, or is null:
 *
 * - `Device.create({ share })` rejects with 'invalid-argument'; `device.gpu` and the `memory` of a stored tensor are null;
 * - `borrow()` and `copyTo()` throw 'gpu-unavailable', `gradient()` throws 'invalid-argument';
 * - `draw()` takes a canvas of the page, with a context of kind '2d', on which numbers that were read are drawn;
 * - `Program.verify` rejects for programs with loops;
 * - memory that a device does not have is told by the next read, store or compile that uses it, as on a GPU;
 * - `stats()` has what the worker counted at its last answer, beside the page's own counts of tensors and programs.
 *
 * @packageDocumentation
 */

import type { WasmSource } from './module/loading.js';
import { startThread } from './remote/thread.js';
import { Device as PageDevice } from './tensor/device/device.js';
import { readOn } from './tensor/device/evaluator.js';
import { TensorThread } from './tensor/remote/thread.js';

export * from './tensor.js';

const worker = /* @__PURE__ */ new TensorThread(() => {
  const { thread, listen } = startThread(() => new Worker(new URL('./tensor-worker-entry.js', import.meta.url), { type: 'module' }), 'tensor-worker-entry.js');
  return { port: thread, listen, end: () => thread.terminate() };
});

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
 * worker. Does nothing where no worker runs.
 */
export function terminate(): void {
  worker.terminate();
}
