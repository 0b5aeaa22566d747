/** A worker of the package: its start, its errors, and the module that it is given. */

import { describe, ResiduaError } from '../arguments/errors.js';
import { notLoaded, type WasmSource } from '../module/loading.js';

/** What takes the end of a worker. */
export interface ThreadListener {
  /** The worker failed after its start. */
  fail(message: string): void;
  /** It could not be started. */
  close(reason: ResiduaError): void;
}

/**
 * Starts a worker. Returns it, and what is to be called once it has answered. Throws 'not-initialized'.
 *
 * @param make makes the worker; bundlers find its script where `new Worker(new URL(…))` stands
 * @param script the name of the script, in messages
 */
export function startThread(make: () => Worker, script: string): { readonly thread: Worker; listen(listener: ThreadListener): () => void } {
  if (typeof Worker !== 'function') throw notLoaded('in a worker: there is no Worker here; the package itself runs on the thread that calls');
  let thread: Worker;
  try {
    thread = make();
  } catch (error) {
    throw notLoaded(`in a worker: ${String(error)}`, error);
  }
  const listen = ({ fail, close }: ThreadListener) => {
    let isLoaded = false;
    // An error without a message means that the script itself could not be loaded.
    thread.onerror = ({ message }: Partial<ErrorEvent>) => {
      if (isLoaded) fail(message ?? 'an error in its worker');
      else close(notLoaded(`in a worker: ${message ?? `its script, ${script}, could not be loaded from beside the package`}`));
    };
    thread.onmessageerror = () => fail('a message from its worker could not be read');
    return () => void (isLoaded = true);
  };
  return { thread, listen };
}

/** The reason with which objects of a worker reject after terminate(). */
export function terminated(): ResiduaError {
  return new ResiduaError('disposed', 'the worker of this object was ended by terminate()');
}

/** Compiles a module on the page, for workers. Rejects with 'not-initialized'. */
export async function compileSource(source: WasmSource): Promise<WebAssembly.Module> {
  try {
    const found: unknown = typeof source === 'string' || source instanceof URL ? await fetch(source) : await source;
    if (found instanceof WebAssembly.Module) return found;
    if (!(found instanceof Response)) return await WebAssembly.compile(found as BufferSource);
    if (!found.ok) throw new Error(`failed to fetch it: ${found.status} ${found.statusText} fetching '${found.url}'`);
    // Streams are compiled only with this type.
    const isWasm = found.headers.get('content-type')?.startsWith('application/wasm') === true;
    return isWasm ? await WebAssembly.compileStreaming(found) : await WebAssembly.compile(await found.arrayBuffer());
  } catch (error) {
    throw notLoaded(`from ${describe(source)}: ${error instanceof Error ? error.message : String(error)}`, error);
  }
}
