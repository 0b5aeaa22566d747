/**
 * Loads the WebAssembly module and keeps watch over it. Where it runs is a host: the thread that calls (`here`), or a worker (worker.ts).
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
  /** What the module itself said when it failed. */
  lastWords = '';
  private readonly waiting = new Set<(failure: ResiduaError) => void>();

  constructor(
    readonly module: RawModule,
    /** Where it runs. */
    readonly host: Host,
  ) {}

  /** Calls into the module; what it throws comes out as a ResiduaError. */
  call<T>(work: (module: RawModule) => T): T {
    if (this.failure !== null) throw this.failure;
    try {
      return work(this.module);
    } catch (error) {
      throw this.translate(error);
    }
  }

  /** Calls into the module and waits, if it gives a promise; rejects at once if the module fails meanwhile. */
  async wait<T>(work: (module: RawModule) => Promise<T> | T): Promise<T> {
    const promise = this.call(work);
    if (!(promise instanceof Promise)) return promise;
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
    this.lastWords ||= message;
    const words = `residua failed: ${message}. This is a bug of residua; everything made so far is unusable, init() starts afresh`;
    return this.end(new ResiduaError('internal', words, { cause }));
  }

  /** Refuses everything from now on, for this reason, and rejects what waits on it. */
  end(reason: ResiduaError): ResiduaError {
    if (this.failure === null) {
      this.failure = reason;
      for (const reject of this.waiting) reject(reason);
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

/** A place where the module runs, loaded when it is first needed. */
export class Host {
  private current: Instance | null = null;
  private loading: Promise<void> | null = null;
  /** Why what ran last was ended, each time with an error of its own. */
  private lastEnd: ResiduaError | null = null;

  /** @param load gives a running module; `failed` is the one that ran here before, and failed. */
  constructor(private readonly load: (source: WasmSource | undefined, failed: RawModule | null) => Promise<RawModule>) {}

  /** Loads the module, once; again after a failure. */
  init(source?: WasmSource): Promise<void> {
    if (this.loading !== null && this.isLoaded) return this.loading;
    const { lastEnd } = this;
    const attempt = this.load(source, this.current?.module ?? null).then((module) => {
      this.checkEnd(lastEnd);
      this.start(module, attempt);
    });
    this.loading = attempt;
    attempt.catch(() => {
      if (this.loading === attempt) this.loading = null;
    });
    return attempt;
  }

  /** The running instance, loading it first where need be. */
  async ready(): Promise<Instance> {
    if (this.current !== null && this.current.failure !== null) throw this.current.failure;
    const { lastEnd } = this;
    await this.init();
    // What asked before an end has no part in what is loaded after it.
    this.checkEnd(lastEnd);
    return this.running();
  }

  /** The running instance, for what cannot wait. */
  running(): Instance {
    if (this.current === null) {
      throw new ResiduaError('not-initialized', 'the WebAssembly module is not loaded yet; await init() first');
    }
    if (this.current.failure !== null) throw this.current.failure;
    return this.current;
  }

  /** Whether an instance is the one that runs, and has not failed. */
  isRunning(instance: Instance): boolean {
    return instance === this.current && instance.failure === null;
  }

  /** Runs on `module` from now on, as if init() had loaded it. */
  start(module: RawModule, loading = Promise.resolve()): Instance {
    const instance = new Instance(module, this);
    module.onPanic((message) => instance.fail(message));
    this.current = instance;
    this.loading = loading;
    return instance;
  }

  /** Whether it is loaded, or about to be. */
  get isLoaded(): boolean {
    return this.loading !== null && this.current?.failure == null;
  }

  /** What runs is at its end, for this reason; the next call that needs the module loads it again. */
  end(reason: ResiduaError): void {
    this.lastEnd = reason;
    this.current?.end(reason);
    this.current = null;
    this.loading = null;
  }

  /** Throws the reason of an end that came after the one that was the last. */
  private checkEnd(last: ResiduaError | null): void {
    if (this.lastEnd !== null && this.lastEnd !== last) throw this.lastEnd;
  }
}

/** The thread that calls. */
export const here: Host = /* @__PURE__ */ new Host(load);

/**
 * Loads the WebAssembly module, once; later calls return the same promise. After an 'internal' failure it starts a fresh instance.
 * Importing the package does no work, so it is safe on a server. Asynchronous calls load the module by themselves: this is for those
 * who give its place, or want it there early. Rejects with 'not-initialized' where it could not be loaded, and may then be called again.
 *
 * @param source where the .wasm comes from; by default from beside the package's glue, where bundlers find it too.
 */
export function init(source?: WasmSource): Promise<void> {
  return here.init(source);
}

/** Runs on `module` from now on, on the thread that calls, as if init() had loaded it. */
export function start(module: RawModule): Instance {
  return here.start(module);
}

async function load(source: WasmSource | undefined, failed: RawModule | null): Promise<RawModule> {
  if (failed !== null) {
    failed.restart();
    return failed;
  }
  try {
    const glue = await loadGlue();
    const input = await bytesOf(source);
    await glue.default(input === undefined ? undefined : { module_or_path: input });
    return glue;
  } catch (error) {
    if (error instanceof ResiduaError) throw error;
    const origin = source === undefined ? 'beside the package' : describe(source);
    throw notLoaded(`from ${origin}: ${error instanceof Error ? error.message : String(error)}`, error);
  }
}

/** The module could not be loaded. */
export function notLoaded(why: string, cause?: unknown): ResiduaError {
  return new ResiduaError('not-initialized', `the WebAssembly module could not be loaded ${why}`, { cause });
}

/** Node's fetch does not read files, so there the bytes are read from disk; everywhere else the glue fetches. */
async function bytesOf(source: WasmSource | undefined): Promise<unknown> {
  // Bundlers follow `new URL(…, import.meta.url)`: they shall see the module once, in the glue.
  const module = import.meta.url;
  const url = source === undefined ? new URL('../wasm/residua_bg.wasm', module) : typeof source === 'string' ? parseUrl(source) : source;
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
