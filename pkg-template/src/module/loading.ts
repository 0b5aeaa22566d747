/**
 * Loads the WebAssembly module and detects its failure. A host is the place where the module runs: the calling thread (`here`) or a worker
 * (worker.ts).
 *
 * A trap in WebAssembly cannot be unwound, so it leaves the module's state undefined. The instance that trapped is marked as failed:
 * pending calls reject with 'internal' or 'out-of-memory', further calls are refused, and the next `init()` starts a new instance. A trap is
 * seen where a call of an export throws, in the panic hook, and in callbacks of the page, which the glue guards (xtask/src/guard.rs).
 */

import { describe, ResiduaError, type ErrorCode } from '../arguments/errors.js';
import { checkWholeNumber } from '../arguments/numeric-arguments.js';
import { checkOptions } from '../arguments/options.js';
import { availableThreads, canShare, endThreads, MOST_THREADS, restartOnThreads, startOnThreads, threadsOf, type ThreadedModule, type Threads, type Wanted } from '../threads/threaded.js';
import { PACKAGE_ROOT } from './package-root.js';
import { loadGlue, type RawModule } from './raw.js';

/** The source of the .wasm where it is not beside the module, for bundlers and CDNs that move it. */
export type WasmSource = string | URL | Response | Promise<Response> | BufferSource | WebAssembly.Module;

/** Bytes that a module can address. */
const MEMORY_LIMIT = 2 ** 32;

/** What failures and restarts need of a module. Both modules of the package have it: that of the solvers, and that of tensors. */
export type RestartableModule = Pick<RawModule, 'onPanic' | 'onTrap' | 'refusedBytes' | 'memoryBytes' | 'restart'> & ThreadedModule;

/** A running instance of a module, until it fails. */
export class Instance<M extends RestartableModule = RawModule> {
  /** Why the instance can no longer be used; null while it can. */
  failure: ResiduaError | null = null;
  /** The module's own message of its failure. */
  failureMessage = '';
  /** The code of its failure. */
  failureCode: ErrorCode = 'internal';
  private readonly waiting = new Set<(failure: ResiduaError) => void>();

  constructor(
    readonly module: M,
    /** The host on which it runs. */
    readonly host: Host<M>,
  ) {}

  /** Calls the module. Exceptions of the module become ResiduaErrors. */
  call<T>(work: (module: M) => T): T {
    if (this.failure !== null) throw this.failure;
    try {
      return work(this.module);
    } catch (error) {
      throw this.translate(error);
    }
  }

  /** Calls a function over the module's memory with two numbers, as `call` does, but allocates nothing. */
  invoke<T>(work: (a: number, b: number) => T, a: number, b: number): T {
    if (this.failure !== null) throw this.failure;
    try {
      return work(a, b);
    } catch (error) {
      throw this.translate(error);
    }
  }

  /** Calls the module and waits for a promise that it returns. Rejects at once if the module fails meanwhile. */
  async wait<T>(work: (module: M) => Promise<T> | T): Promise<T> {
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

  /** Marks the instance as failed, and rejects pending calls. `code` is that of a failure in a worker, which is known there. */
  fail(message: string, cause?: unknown, code?: ErrorCode): ResiduaError {
    if (this.failure !== null) return this.failure;
    const memory = code === undefined ? this.missingMemory(message) : code === 'out-of-memory' ? message : null;
    this.failureMessage = memory ?? message;
    this.failureCode = memory === null ? 'internal' : 'out-of-memory';
    const next = 'all objects made so far are unusable, and init() starts a new instance';
    const words = memory === null ? `residua failed: ${message}. This is a bug of residua; ${next}` : `residua ran out of memory: ${memory}; ${next}`;
    return this.end(new ResiduaError(this.failureCode, words, { cause }));
  }

  /** Returns the figures of a refused request for memory if that is the reason of a failure, else null. */
  private missingMemory(message: string): string | null {
    const { module } = this;
    // The module's state is undefined after a trap. These exports read two words.
    const refused = module.refusedBytes?.() ?? 0;
    const used = module.memoryBytes?.() ?? 0;
    if (refused > 0) return `${refused} bytes were refused with ${used} of ${MEMORY_LIMIT} in use`;
    return /capacity overflow/.test(message) ? `a table of ${2 ** 31} bytes or more was requested with ${used} of ${MEMORY_LIMIT} in use` : null;
  }

  /** Refuses all further calls with `reason`, and rejects pending calls. */
  end(reason: ResiduaError): ResiduaError {
    if (this.failure === null) {
      this.failure = reason;
      for (const reject of this.waiting) reject(reason);
      this.waiting.clear();
    }
    return this.failure;
  }

  /** Calls `listener` once with the failure of the instance, at once if it has failed. Returns a function that removes the listener. */
  whenFailed(listener: (failure: ResiduaError) => void): () => void {
    if (this.failure !== null) listener(this.failure);
    else this.waiting.add(listener);
    return () => void this.waiting.delete(listener);
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

/** Whether an error is a trap or a stack overflow inside the module. An error with a code is one that the module returned, with words of a function of the application perhaps. */
function isTrap(error: unknown): boolean {
  if (error instanceof WebAssembly.RuntimeError) return true;
  return error instanceof Error && !('code' in error) && /call stack|too much recursion/i.test(error.message);
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

/** A place where the module runs. The module is loaded when it is first needed. */
export class Host<M extends RestartableModule = RawModule> {
  private current: Instance<M> | null = null;
  private loading: Promise<Threads> | null = null;
  /** On how many threads it was to be loaded. */
  private wanted: Wanted = 1;
  /** The reason of the latest end of an instance; each end has an error of its own. */
  private lastEnd: ResiduaError | null = null;

  /** @param load resolves with a running module on so many threads, or on one; `failed` is the previous one on this host, if it has failed */
  constructor(private readonly load: (source: WasmSource | undefined, failed: M | null, threads: Wanted) => Promise<M>) {}

  /** Loads the module once, and again after a failure, which is then on as many threads as before. */
  init(source?: WasmSource, threads?: Wanted): Promise<Threads> {
    if (this.loading !== null && this.isLoaded) return threads === undefined || threads === this.wanted ? this.loading : this.loading.then((found) => loadedBefore(found, threads));
    const { lastEnd } = this;
    this.wanted = threads ?? this.wanted;
    const attempt = this.load(source, this.current?.module ?? null, this.wanted).then((module) => {
      this.checkEnd(lastEnd);
      this.start(module, attempt);
      return threadsOf(module);
    });
    this.loading = attempt;
    attempt.catch(() => {
      if (this.loading === attempt) this.loading = null;
    });
    return attempt;
  }

  /** Returns the running instance, and loads it first where needed. */
  async ready(): Promise<Instance<M>> {
    if (this.current !== null && this.current.failure !== null) throw this.current.failure;
    const { lastEnd } = this;
    await this.init();
    // A call that was made before an end must not run on the instance that is loaded after it.
    this.checkEnd(lastEnd);
    return this.running();
  }

  /** Returns the running instance. Throws 'not-initialized' where there is none. */
  running(): Instance<M> {
    if (this.current === null) {
      throw new ResiduaError('not-initialized', 'the WebAssembly module is not loaded yet; await init() first');
    }
    if (this.current.failure !== null) throw this.current.failure;
    return this.current;
  }

  /** Whether an instance is the running one and has not failed. */
  isRunning(instance: Instance<M>): boolean {
    return instance === this.current && instance.failure === null;
  }

  /** Makes `module` the running one, as init() does. */
  start(module: M, loading: Promise<Threads> = Promise.resolve(threadsOf(module))): Instance<M> {
    const instance = new Instance<M>(module, this);
    module.onPanic((message, code) => void instance.fail(message, undefined, code));
    module.onTrap?.((error) => {
      const trapped = isTrap(error);
      if (trapped) instance.fail(error instanceof Error ? error.message : String(error), error);
      return trapped;
    });
    instance.whenFailed(() => endThreads(module));
    this.current = instance;
    this.loading = loading;
    return instance;
  }

  /** Whether the module is loaded or being loaded. */
  get isLoaded(): boolean {
    return this.loading !== null && this.current?.failure == null;
  }

  /** Ends the running instance with `reason`. The next call that needs the module loads it again. */
  end(reason: ResiduaError): void {
    this.lastEnd = reason;
    this.current?.end(reason);
    this.current = null;
    this.loading = null;
  }

  /** Throws the reason of an end that is later than `last`. */
  private checkEnd(last: ResiduaError | null): void {
    if (this.lastEnd !== null && this.lastEnd !== last) throw this.lastEnd;
  }
}

/** The calling thread. */
export const here: Host = /* @__PURE__ */ new Host<RawModule>(
  /* @__PURE__ */ loader(loadGlue, 'wasm/residua_bg.wasm'),
);

/** How the module is loaded. */
export interface InitOptions {
  /** The source of the .wasm; by default the file beside the package's glue. */
  readonly source?: WasmSource;
  /**
   * On how many threads work on the CPU is done, the calling one among them: 1 by default; 'auto' is one for each core, at most 8. More than one need memory
   * that threads can share: a cross-origin isolated page, or Node. Results have the same bits for every number.
   */
  readonly threads?: number | 'auto';
}

/**
 * Loads the WebAssembly module once; later calls return the same promise. After an 'internal' failure it starts a new instance. Importing
 * the package does no work, so it is safe on a server. Asynchronous calls load the module themselves; init() is needed only to give its
 * source, to load it early, or to have it on several threads. Resolves with the number of threads, and why they are fewer than were asked for. Rejects with
 * 'not-initialized' where the module cannot be loaded, and may then be called again.
 *
 * @param options the source of the .wasm, by default the file beside the package's glue, which bundlers find too; or options
 */
export function init(options?: WasmSource | InitOptions): Promise<Threads> {
  return initOn(here, options);
}

/** Loads a module on a host. */
export function initOn<M extends RestartableModule>(host: Host<M>, options?: WasmSource | InitOptions): Promise<Threads> {
  if (!isInitOptions(options)) return host.init(options);
  try {
    checkOptions('init', options, { source: true, threads: true });
    const { source, threads } = options;
    if (threads !== undefined && threads !== 'auto') checkWholeNumber('init: threads', threads, 1, MOST_THREADS);
    return host.init(source, threads);
  } catch (error) {
    return Promise.reject(error as Error);
  }
}

function isInitOptions(options: WasmSource | InitOptions | undefined): options is InitOptions {
  return typeof options === 'object' && Object.getPrototypeOf(options) === Object.prototype;
}

/** What `init` with another number of threads resolves with where the module is loaded. */
function loadedBefore(found: Threads, threads: Wanted): Threads {
  return found.fallbackReason !== null || found.threads === threads ? found : { ...found, fallbackReason: `the module was loaded on ${found.threads} before; init({ threads }) has to be the first call` };
}

/** Makes `module` the running one on the calling thread, as init() does. */
export function start(module: RawModule): Instance {
  return here.start(module);
}

/**
 * Returns the function that loads a module of the package: its glue, then its .wasm.
 *
 * @param loadGlue imports the glue
 * @param wasm the path of the .wasm in the package
 */
export function loader<M extends RestartableModule & Pick<RawModule, 'default' | 'initSync'>>(
  loadGlue: () => Promise<M>,
  wasm: string,
): (source: WasmSource | undefined, failed: M | null, threads: Wanted) => Promise<M> {
  return async (source, failed, threads) => {
    if (failed !== null) {
      if (!(await restartOnThreads(failed))) failed.restart();
      return failed;
    }
    checkNode();
    try {
      const [glue, found] = await Promise.all([loadGlue(), bytesOf(source, wasm)]);
      let input = found;
      const wanted = threads === 'auto' ? await availableThreads() : threads;
      if (wanted > 1 && canShare(glue, await found)) {
        input = await contentOf(await found, glue);
        if (await startOnThreads(glue, input as Uint8Array, wanted)) return glue;
      }
      // The other start asks what a Response is, for which Node loads its HTTP client: that takes longer than all the rest.
      if (glue.initSync !== undefined && 'process' in globalThis && isBytes(input)) glue.initSync({ module: await WebAssembly.compile(input) });
      else await glue.default(input === undefined ? undefined : { module_or_path: input });
      return glue;
    } catch (error) {
      if (error instanceof ResiduaError) throw error;
      const origin = source === undefined ? 'beside the package' : describe(source);
      const reason = error instanceof Error ? error.message : String(error);
      throw notLoaded(`from ${origin}: ${reason}${isNotWasm(error) ? `. ${NOT_WASM}` : ''}`, error);
    }
  };
}

const NOT_WASM =
  'What was loaded is not WebAssembly: many servers answer a wrong address with an HTML page. Check where the .wasm is, and pass its address to init()';

/** Whether the bytes of a module do not begin as WebAssembly does. Engines have a word of their own for that: "magic" in Chrome and Firefox. */
function isNotWasm(error: unknown): boolean {
  return error instanceof WebAssembly.CompileError && /magic|\\0asm/i.test(error.message);
}

/** The oldest version of Node that the package supports. */
const OLDEST_NODE = 20;

/** Throws 'not-initialized' in a Node that is too old. */
function checkNode(): void {
  const { process } = globalThis as { process?: { versions?: { node?: string } } };
  const version = process?.versions?.node;
  if (version !== undefined && Number.parseInt(version) < OLDEST_NODE) {
    throw notLoaded(`in Node ${version}: residua needs Node ${OLDEST_NODE} or newer`);
  }
}

/** Returns the error for a module that could not be loaded. */
export function notLoaded(why: string, cause?: unknown): ResiduaError {
  return new ResiduaError('not-initialized', `the WebAssembly module could not be loaded ${why}`, { cause });
}

/** Node's fetch does not read files, so in Node the bytes are read from disk. Everywhere else the glue fetches them. */
async function bytesOf(source: WasmSource | undefined, wasm: string): Promise<unknown> {
  // Bundlers follow `new URL(…, import.meta.url)`. It occurs in the glue, and must not occur a second time here.
  const module = import.meta.url;
  const url = source === undefined ? new URL(PACKAGE_ROOT + wasm, module) : typeof source === 'string' ? parseUrl(source) : source;
  if (!(url instanceof URL) || url.protocol !== 'file:' || !('process' in globalThis)) return source;
  const fileSystem = 'node:fs/promises';
  const { readFile } = (await import(/* @vite-ignore */ /* webpackIgnore: true */ fileSystem)) as {
    readFile(path: URL): Promise<Uint8Array<ArrayBuffer>>;
  };
  return readFile(url);
}

/** Returns the bytes of a module. */
async function contentOf(input: unknown, glue: ThreadedModule): Promise<Uint8Array> {
  if (isBytes(input)) return ArrayBuffer.isView(input) ? new Uint8Array(input.buffer, input.byteOffset, input.byteLength) : new Uint8Array(input);
  const response = input instanceof Response ? input : await fetch((input ?? glue.wasmAddress?.()) as string | URL);
  if (!response.ok) throw new Error(`failed to fetch it: ${response.status} ${response.statusText} fetching '${response.url}'`);
  return new Uint8Array(await response.arrayBuffer());
}

function isBytes(input: unknown): input is BufferSource {
  return input instanceof ArrayBuffer || ArrayBuffer.isView(input);
}

function parseUrl(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined; // A relative URL: the glue's fetch resolves it against the page.
  }
}
