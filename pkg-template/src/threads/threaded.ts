/** A module of the package on several threads: whether that is possible here, its start, and its end. */

import { threadStarter } from '../start-thread.js';
import { Pool } from './pool.js';
import { sharedModule, type SharedModule } from './shared-module.js';

/** On how many threads a module computes. */
export interface Threads {
  /** The calling thread is one of them. */
  readonly threads: number;
  /** Why they are fewer than `init()` was asked for; null where they are not. */
  readonly fallbackReason: string | null;
}

/** A number of threads, or one for each core. */
export type Wanted = number | 'auto';

/** What a module needs for threads, in addition to what starts it. */
export interface ThreadedModule {
  /** Has instances import the memory that `memory` makes for each. */
  importMemory?(memory: () => WebAssembly.Memory): void;
  /** The address of the .wasm beside the glue. */
  wasmAddress?(): URL;
  default?(options: { module_or_path: WebAssembly.Module }): Promise<unknown>;
  restart(): void;
  /** Runs a piece of a task on the calling thread. */
  runPiece?(task: number, data: number, piece: number): void;
  /** Has work be shared by a pool. */
  setPool?(pool: Pool): void;
  /** The same for kernels; the places in the function table of functions that they import. */
  setKernelPool?(pool: Pool): Record<string, number>;
}

/** More threads than this gain little: they share caches and memory. */
const MOST_AUTO = 8;
/** More than this are refused as an argument. */
export const MOST_THREADS = 64;
/** Pages of a stack. */
const STACK_PAGES = 4;
const PAGE = 2 ** 16;
/** Pages that a module can address. */
const MOST_PAGES = 2 ** 16;
/** Pages of memory at most. Some devices reserve less than all that a module can address. */
const LIMITS = [MOST_PAGES, MOST_PAGES / 2, MOST_PAGES / 4];

const ISOLATION = 'the page is not cross-origin isolated: its server has to send Cross-Origin-Opener-Policy: same-origin and Cross-Origin-Embedder-Policy: require-corp';

/** What is known of the threads of a running module. */
interface Known {
  readonly report: Threads;
  /** What it needs to start again; null where its memory is not shared. */
  readonly parts: { readonly shared: SharedModule; readonly wanted: number; readonly pool: Pool } | null;
}

const known = /* @__PURE__ */ new WeakMap<object, Known>();

/** The threads of a running module; null where it has one. */
export function poolOf(module: object): Pool | null {
  const pool = known.get(module)?.parts?.pool;
  return pool === undefined || pool.count === 1 ? null : pool;
}

/** On how many threads a running module computes. */
export function threadsOf(module: object): Threads {
  return known.get(module)?.report ?? { threads: 1, fallbackReason: null };
}

/** Ends the threads of a module that has failed. */
export function endThreads(module: object): void {
  known.get(module)?.parts?.pool.end();
}

/** How many threads 'auto' is. */
export async function availableThreads(): Promise<number> {
  const { navigator } = globalThis as { navigator?: { hardwareConcurrency?: number } };
  let count = navigator?.hardwareConcurrency;
  if (count === undefined && 'process' in globalThis) {
    const system = 'node:os';
    count = ((await import(/* @vite-ignore */ /* webpackIgnore: true */ system)) as { availableParallelism(): number }).availableParallelism();
  }
  return Math.min(count ?? 1, MOST_AUTO);
}

/** Whether a module from a source can be on threads here. If not, the reason is noted. */
export function canShare(glue: ThreadedModule, source: unknown): boolean {
  const { crossOriginIsolated } = globalThis as { crossOriginIsolated?: boolean };
  const reason =
    crossOriginIsolated === false
      ? ISOLATION
      : typeof SharedArrayBuffer !== 'function'
        ? 'SharedArrayBuffer is not there'
        : source instanceof WebAssembly.Module
          ? 'a WebAssembly.Module cannot be changed to share its memory: give its address or its bytes as the source'
          : null;
  if (reason !== null) known.set(glue, { report: alone(reason), parts: null });
  return reason === null;
}

/** Starts a module, given as bytes, on threads. Returns whether there is memory for that; if not, the reason is noted. */
export async function startOnThreads(glue: ThreadedModule, bytes: Uint8Array, wanted: number): Promise<boolean> {
  for (const limit of LIMITS) {
    const shared = await sharedModule(bytes, limit);
    let memory;
    try {
      memory = memoryFor(shared, wanted);
    } catch (error) {
      known.set(glue, { report: alone(`there is no memory that threads can share: ${String(error)}`), parts: null });
      continue;
    }
    await begin(glue, shared, wanted, memory, () => glue.default?.({ module_or_path: shared.module }));
    return true;
  }
  return false;
}

/** Starts a module again after its failure, if its memory is shared. Returns whether it is. */
export async function restartOnThreads(glue: ThreadedModule): Promise<boolean> {
  const { parts } = known.get(glue) ?? { parts: null };
  if (parts === null) return false;
  await begin(glue, parts.shared, parts.wanted, memoryFor(parts.shared, parts.wanted), () => glue.restart());
  return true;
}

function alone(fallbackReason: string): Threads {
  return { threads: 1, fallbackReason };
}

/** The memory of an instance: its own, then the stacks of threads, each of which ends where the next one begins. */
function memoryFor({ pages, mostPages, data }: SharedModule, threads: number): WebAssembly.Memory {
  const memory = new WebAssembly.Memory({ initial: pages + STACK_PAGES * (threads - 1), maximum: mostPages, shared: true });
  const content = new Uint8Array(memory.buffer);
  for (const { address, bytes } of data) content.set(bytes, address);
  return memory;
}

async function begin(glue: ThreadedModule, shared: SharedModule, wanted: number, memory: WebAssembly.Memory, instantiate: () => unknown): Promise<void> {
  glue.importMemory?.(() => memory);
  await instantiate();
  const pool = new Pool(memory, (task, data, piece) => glue.runPiece?.(task, data, piece));
  glue.setPool?.(pool);
  const functions = glue.setKernelPool?.(pool) ?? {};
  const stacks = Array.from({ length: wanted - 1 }, (_, k) => PAGE * (shared.pages + STACK_PAGES * (k + 1)));
  let report: Threads = { threads: wanted, fallbackReason: null };
  try {
    await pool.start(await threadStarter(), shared.module, functions, stacks);
  } catch (error) {
    report = alone(`a thread could not be started: ${error instanceof Error ? error.message : String(error)}`);
  }
  known.set(glue, { report, parts: { shared, wanted, pool } });
}
