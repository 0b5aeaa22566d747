/// <reference lib="esnext.disposable" preserve="true" />
/**
 * residua/worker: the names of `residua`, with all long work in a worker of the package.
 *
 * The page records expressions and keeps the numbers of parameter arrays. Compiling, evaluating and solving run in the worker; the buffers
 * of typed arrays are transferred unless the caller keeps them. The first call that needs the worker starts it. It runs until
 * `terminate()`, or as long as the page. GPU objects stay in the worker:
 *
 * - `GpuContext.create({ device })` rejects with 'invalid-argument'; reading a context's `device` throws 'gpu-unavailable';
 * - `parameterBuffer`, `dataBuffer()` and the gradients of the ...OnDevice calls are null;
 * - `incremental()` computes on the page;
 * - `stats()` and `kernels()` return the last known copies; counters arrive with the answers of the calls that changed them.
 *
 * The worker receives messages of the page when it yields to its event loop. So true from `onIteration`, or an abort, ends a solve some
 * iterations later, and these are in its history. `Value.data` of an expression needs the module on the page, which `init()` loads.
 *
 * @packageDocumentation
 */

import type { ResiduaError } from './arguments/errors.js';
import { GpuContext as PageContext } from './compile/context.js';
import { GpuCompiledFunctions as PageFunctions } from './compile/functions.js';
import { here, Host, type WasmSource } from './module/loading.js';
import type { RawModule } from './module/raw.js';
import { RemoteModule } from './remote/module.js';
import { compileSource, startThread, terminated } from './remote/thread.js';
import { fitOn, type fit as fitHere } from './solvers/fit.js';
import { multistartOn, type multistart as multistartHere } from './solvers/multistart.js';
import { ransacOn, type ransac as ransacHere } from './solvers/ransac.js';
import { solveOn, type solve as solveHere } from './solvers/solve.js';
import { solveManyOn, type solveMany as solveManyHere } from './solvers/solve-many.js';

export * from './index.js';

const worker: Host = /* @__PURE__ */ new Host(start);

/** A GPU device with its buffers and pipelines, in the worker. */
export const GpuContext: typeof PageContext = /* @__PURE__ */ PageContext.on(worker);
export type GpuContext = PageContext;

/** Residual functions, compiled in the worker. */
export const GpuCompiledFunctions: typeof PageFunctions = /* @__PURE__ */ PageFunctions.on(worker);
export type GpuCompiledFunctions = PageFunctions;

/** Compiles a problem in the worker, minimises its least-squares cost there and frees all memory; see `solve` of `residua`. */
export const solve: typeof solveHere = (problem, options = {}) => solveOn(worker, problem, options);

/** Fits an expression in the worker; see `fit` of `residua`. A plain model rejects with 'invalid-argument': a function cannot be sent. */
export const fit: typeof fitHere = (model, data, options) => fitOn(worker, model, data, options);

/** Solves many problems of one shape in the worker; see `solveMany` of `residua`. */
export const solveMany: typeof solveManyHere = (template, batch, options = {}) => solveManyOn(worker, template, batch, options);

/** Solves a problem from many starts in the worker; see `multistart` of `residua`. */
export const multistart: typeof multistartHere = (template, bounds, options = {}) => multistartOn(worker, template, bounds, options);

/** Finds parameters with which most measurements agree in the worker; see `ransac` of `residua`. */
export const ransac: typeof ransacHere = (template, options) => ransacOn(worker, template, options);

let whole: { readonly parts: readonly Promise<unknown>[]; readonly promise: Promise<void> } | null = null;

/**
 * Starts the worker and loads the WebAssembly module in it, and on the page for `Value.data`; once, and again after an 'internal' failure.
 * Other calls start the worker themselves, and do not load the module on the page.
 *
 * @param source the source of the .wasm, which is compiled once; by default the file beside the package's glue, which bundlers find too
 */
export function init(source?: WasmSource): Promise<void> {
  const compiled = source === undefined || (here.isLoaded && worker.isLoaded) ? undefined : compileSource(source);
  // A host that is already loading does not use it, so its rejection has no other handler.
  compiled?.catch(() => {});
  const module = compiled as unknown as WasmSource | undefined;
  const parts = [here.init(module), worker.init(module)];
  if (whole === null || parts.some((part, i) => part !== whole?.parts[i])) whole = { parts, promise: Promise.all(parts).then(() => {}) };
  return whole.promise;
}

let running: RemoteModule | null = null;

/**
 * Ends the worker at once, with all its objects. Pending calls reject with 'disposed', and so do later calls on those objects. The next
 * compile starts a new worker. Does nothing where no worker runs.
 */
export function terminate(): void {
  const reason = terminated();
  terminations += 1;
  running?.connection.close(reason);
  running = null;
  worker.end(reason);
}

/** Number of calls of terminate(). A worker that was requested before such a call must not start after it. */
let terminations = 0;

/** The compiled module, for the worker that replaces a failed one. */
let compiledModule: WebAssembly.Module | undefined;

async function start(source: WasmSource | undefined): Promise<RawModule> {
  const before = terminations;
  if (source !== undefined) compiledModule = await (source as unknown as Promise<WebAssembly.Module>);
  if (terminations > before) throw terminated();
  const { thread, listen } = startThread(() => new Worker(new URL('./worker-entry.js', import.meta.url), { type: 'module' }), 'worker-entry.js');
  const module = (running = new RemoteModule(thread));
  const { connection } = module;
  connection.onClose = () => thread.terminate();
  const loaded = listen({ fail: (message) => connection.fail(message), close: (reason) => connection.close(reason) });
  try {
    await module.default(compiledModule === undefined ? undefined : { module_or_path: compiledModule });
  } catch (error) {
    connection.close(error as ResiduaError);
    throw error;
  }
  loaded();
  return module;
}
