/// <reference lib="esnext.disposable" preserve="true" />
/**
 * residua/worker: the names of `residua`, with everything that takes time in a worker of the package's own.
 *
 * The page records expressions and keeps the numbers of parameter arrays; compiling, evaluating and solving happen in the worker, and typed
 * arrays go there and back without a copy where the caller does not keep them. The worker is started by the first call that needs it and
 * lives until `terminate()`, or as long as the page. GPU objects stay there:
 *
 * - `GpuContext.create({ device })` is refused with 'invalid-argument', reading a context's `device` with 'gpu-unavailable';
 * - `parameterBuffer`, `dataBuffer()` and the gradients of the ...OnDevice calls are null;
 * - `stats()` and `kernels()` are the last known copies: counts come with the answers of the calls that changed them.
 *
 * What the page says during a call is heard there when the work next rests: true from `onIteration`, or an abort, ends a solve some iterations
 * later, and these are in its history. `Value.data` of an expression needs the module on the page, too, which `init()` loads.
 *
 * @packageDocumentation
 */

import { GpuContext as PageContext } from './context.js';
import { describe, ResiduaError } from './errors.js';
import { GpuCompiledFunctions as PageFunctions } from './functions.js';
import { here, Host, notLoaded, type WasmSource } from './loading.js';
import type { RawModule } from './raw.js';
import { RemoteModule } from './remote/module.js';
import { solveManyOn, type solveMany as solveManyHere } from './solve-many.js';
import { solveOn, type solve as solveHere } from './solve.js';

export * from './index.js';

const worker: Host = /* @__PURE__ */ new Host(start);

/** A GPU device with its buffers and pipelines, in the worker. */
export const GpuContext: typeof PageContext = /* @__PURE__ */ PageContext.on(worker);
export type GpuContext = PageContext;

/** Residual functions, compiled in the worker. */
export const GpuCompiledFunctions: typeof PageFunctions = /* @__PURE__ */ PageFunctions.on(worker);
export type GpuCompiledFunctions = PageFunctions;

/** Compiles a problem in the worker, minimises its least-squares cost there and frees what it made; see `solve` of `residua`. */
export const solve: typeof solveHere = (problem, options = {}) => solveOn(worker, problem, options);

/** Solves many problems of one shape in the worker; see `solveMany` of `residua`. */
export const solveMany: typeof solveManyHere = (template, batch, options = {}) => solveManyOn(worker, template, batch, options);

let whole: { readonly parts: readonly Promise<void>[]; readonly promise: Promise<void> } | null = null;

/**
 * Starts the worker and loads the WebAssembly module there, and on the page, for `Value.data`; once, and afresh after an 'internal' failure.
 * Calls start the worker by themselves; what they don't do is load the module on the page.
 *
 * @param source where the .wasm comes from; by default from beside the package's glue, where bundlers find it too. It is compiled once.
 */
export function init(source?: WasmSource): Promise<void> {
  const compiled = source === undefined || (here.isLoaded && worker.isLoaded) ? undefined : compile(source);
  // Whoever loads already does not look at it.
  compiled?.catch(() => {});
  const module = compiled as unknown as WasmSource | undefined;
  const parts = [here.init(module), worker.init(module)];
  if (whole === null || parts.some((part, i) => part !== whole?.parts[i])) whole = { parts, promise: Promise.all(parts).then(() => {}) };
  return whole.promise;
}

let running: RemoteModule | null = null;

/**
 * Ends the worker at once, with all that it holds. Calls that wait reject with 'disposed', as do later ones on what was made there; the next
 * compile starts a new worker. Does nothing where none runs.
 */
export function terminate(): void {
  const reason = new ResiduaError('disposed', 'the worker that this was in has been ended by terminate()');
  running?.connection.close(reason);
  running = null;
  worker.end(reason);
}

/** What was last loaded from, for the worker that takes the place of one that has failed. */
let compiledModule: WebAssembly.Module | undefined;

async function start(source: WasmSource | undefined): Promise<RawModule> {
  if (source !== undefined) compiledModule = await (source as unknown as Promise<WebAssembly.Module>);
  if (typeof Worker !== 'function') throw notLoaded("in a worker: there is no Worker here; 'residua' itself runs on the thread that calls");
  let thread: Worker;
  try {
    thread = new Worker(new URL('./worker-entry.js', import.meta.url), { type: 'module' });
  } catch (error) {
    throw notLoaded(`in a worker: ${String(error)}`, error);
  }
  const module = (running = new RemoteModule(thread));
  const { connection } = module;
  let isLoaded = false;
  connection.onClose = () => thread.terminate();
  // Without a message it is the script itself that could not be had.
  thread.onerror = ({ message }: Partial<ErrorEvent>) => {
    if (isLoaded) connection.fail(message ?? 'an error in its worker');
    else connection.close(notLoaded(`in a worker: ${message ?? 'its script, worker-entry.js, could not be loaded from beside the package'}`));
  };
  thread.onmessageerror = () => connection.fail('a message from its worker could not be read');
  try {
    await module.default(compiledModule === undefined ? undefined : { module_or_path: compiledModule });
  } catch (error) {
    connection.close(error as ResiduaError);
    throw error;
  }
  isLoaded = true;
  return module;
}

/** Compiles the module on the page, for both sides. */
async function compile(source: WasmSource): Promise<WebAssembly.Module> {
  try {
    const found: unknown = typeof source === 'string' || source instanceof URL ? await fetch(source) : await source;
    if (found instanceof WebAssembly.Module) return found;
    if (!(found instanceof Response)) return await WebAssembly.compile(found as BufferSource);
    if (!found.ok) throw new Error(`failed to fetch it: ${found.status} ${found.statusText} fetching '${found.url}'`);
    return await WebAssembly.compile(await found.arrayBuffer());
  } catch (error) {
    throw notLoaded(`from ${describe(source)}: ${error instanceof Error ? error.message : String(error)}`, error);
  }
}
