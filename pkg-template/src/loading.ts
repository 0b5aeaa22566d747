/**
 * Loads the WebAssembly module and keeps watch over it.
 *
 * A trap in WebAssembly cannot be unwound: whatever the module was doing is half done. So the instance that trapped is marked as
 * failed, what waits on it is rejected with 'internal', further calls are refused, and the next `init()` starts a fresh instance.
 */

import { describe, ResiduaError, type ErrorCode } from './errors.js';
import { loadGlue, type RawModule } from './raw.js';

/** Where the .wasm comes from, when not from beside the module: for bundlers and CDNs that move it. */
export type WasmSource = string | URL | Response | Promise<Response> | BufferSource | WebAssembly.Module;

/** A running module, until it fails. */
export class Instance {
  /** Why it can no longer be used. */
  failure: ResiduaError | null = null;
  private readonly waiting = new Set<(failure: ResiduaError) => void>();

  constructor(readonly module: RawModule) {}

  /** Calls into the module; what it throws comes out as a ResiduaError. */
  call<T>(work: (module: RawModule) => T): T {
    if (this.failure !== null) throw this.failure;
    try {
      return work(this.module);
    } catch (error) {
      throw this.translate(error);
    }
  }

  /** Calls into the module and waits; rejects at once if the module fails meanwhile. */
  async wait<T>(work: (module: RawModule) => Promise<T>): Promise<T> {
    const promise = this.call(work);
    let listener: ((failure: ResiduaError) => void) | undefined;
    const failing = new Promise<never>((_, reject) => {
      listener = reject;
      this.waiting.add(reject);
    });
    try {
      return await Promise.race([promise, failing]);
    } catch (error) {
      throw this.translate(error);
    } finally {
      if (listener !== undefined) this.waiting.delete(listener);
    }
  }

  /** Marks the module as failed and rejects what waits on it. */
  fail(message: string, cause?: unknown): ResiduaError {
    if (this.failure === null) {
      this.failure = new ResiduaError(
        'internal',
        `residua failed: ${message}. This is a bug of residua; everything made so far is unusable, init() starts afresh`,
        { cause },
      );
      for (const reject of this.waiting) reject(this.failure);
      this.waiting.clear();
    }
    return this.failure;
  }

  private translate(error: unknown): ResiduaError {
    if (error instanceof ResiduaError) return error;
    if (this.failure !== null) return this.failure;
    const { code, message, wgsl } = (error ?? {}) as { code?: unknown; message?: unknown; wgsl?: unknown };
    const text = typeof message === 'string' ? message : String(error);
    if (isTrap(error)) return this.fail(text, error);
    if (typeof code === 'string' && isErrorCode(code)) {
      return new ResiduaError(code, text, { cause: error, ...(typeof wgsl === 'string' ? { wgsl } : {}) });
    }
    return new ResiduaError('internal', text, { cause: error });
  }
}

/** Whether the module stopped in the middle of its work: a trap, or a stack that ran out inside it. */
function isTrap(error: unknown): boolean {
  if (error instanceof WebAssembly.RuntimeError) return true;
  return error instanceof Error && /call stack|too much recursion/i.test(error.message);
}

const ERROR_CODES: Record<ErrorCode, true> = {
  'not-initialized': true,
  'gpu-unavailable': true,
  'device-lost': true,
  'out-of-memory': true,
  'limit-exceeded': true,
  'shader-compilation': true,
  'invalid-argument': true,
  'invalid-graph': true,
  'non-finite': true,
  disposed: true,
  aborted: true,
  internal: true,
};

function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(ERROR_CODES, code);
}

let current: Instance | null = null;
let loading: Promise<void> | null = null;

/**
 * Loads the WebAssembly module, once; later calls return the same promise. After an 'internal' failure it starts a fresh instance.
 * Importing the package does no work, so it is safe on a server.
 *
 * @param source where the .wasm comes from; by default from beside the package's glue, where bundlers find it too.
 */
export function init(source?: WasmSource): Promise<void> {
  if (loading !== null && current?.failure == null) return loading;
  const attempt = load(source);
  loading = attempt;
  attempt.catch(() => {
    if (loading === attempt) loading = null;
  });
  return attempt;
}

/** The running instance, loading it first where need be. */
export async function ready(): Promise<Instance> {
  if (current !== null && current.failure !== null) throw current.failure;
  await init();
  return running();
}

/** The running instance, for what cannot wait. */
export function running(): Instance {
  if (current === null) {
    throw new ResiduaError('not-initialized', 'the WebAssembly module is not loaded yet; await init() first');
  }
  if (current.failure !== null) throw current.failure;
  return current;
}

/** Whether an instance is the one that runs, and has not failed. */
export function isRunning(instance: Instance): boolean {
  return instance === current && instance.failure === null;
}

/** Runs on `module` from now on, as if init() had loaded it. */
export function start(module: RawModule): Instance {
  const instance = new Instance(module);
  module.onPanic((message) => instance.fail(message));
  current = instance;
  loading = Promise.resolve();
  return instance;
}

async function load(source: WasmSource | undefined): Promise<void> {
  if (current !== null) {
    current.module.restart();
    start(current.module);
    return;
  }
  let glue: RawModule;
  try {
    glue = await loadGlue();
    const input = await bytesOf(source);
    await glue.default(input === undefined ? undefined : { module_or_path: input });
  } catch (error) {
    const origin = source === undefined ? 'beside the package' : describe(source);
    const reason = error instanceof Error ? error.message : String(error);
    throw new ResiduaError('not-initialized', `the WebAssembly module could not be loaded from ${origin}: ${reason}`, { cause: error });
  }
  start(glue);
}

/** Node's fetch does not read files, so there the bytes are read from disk; everywhere else the glue fetches. */
async function bytesOf(source: WasmSource | undefined): Promise<unknown> {
  // Bundlers follow `new URL(…, import.meta.url)`: they shall see the module once, in the glue.
  const here = import.meta.url;
  const url = source === undefined ? new URL('../wasm/residua_bg.wasm', here) : typeof source === 'string' ? parseUrl(source) : source;
  if (!(url instanceof URL) || url.protocol !== 'file:' || !('process' in globalThis)) return source;
  const fileSystem = 'node:fs/promises';
  const { readFile } = (await import(/* @vite-ignore */ /* webpackIgnore: true */ fileSystem)) as {
    readFile(path: URL): Promise<Uint8Array<ArrayBuffer>>;
  };
  return readFile(url);
}

function parseUrl(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined; // relative: the glue's fetch resolves it against the page
  }
}
