/** What a thread of a module does: it waits for jobs, and takes pieces of them. It ends with the page, or when it is terminated. */

import { pieceOf, readWork, takePieces, WORD, writeFailure, type Kernel, type KernelCode, type Work } from './job.js';
import { STACK_POINTER } from './shared-module.js';

/** What a thread is started with. */
export interface ThreadStart {
  readonly module: WebAssembly.Module;
  readonly memory: WebAssembly.Memory;
  readonly words: Int32Array;
  /** The end of its stack, which grows downwards. */
  readonly stack: number;
  /** Functions of the module that kernels import, by their places in its function table. Others are those of Math. */
  readonly functions: Readonly<Record<string, number>>;
}

/** Turns of waiting before a thread sleeps: some 0.1 ms, for to wake it takes as long as a short piece. */
const TURNS = 20_000;
/** Codes of kernels that a thread keeps. */
const MOST_CODES = 64;

/** Serves jobs, and does not return. `isReady` is called when it waits for the first. */
export function serve({ module, memory, words, stack, functions }: ThreadStart, isReady: () => void): void {
  const { exports } = new WebAssembly.Instance(module, { glue: refusals(module), env: { memory } });
  const stackPointer = exports[STACK_POINTER] as WebAssembly.Global;
  stackPointer.value = stack;
  const kernelOf = kernelsOf(exports, memory, functions);
  const task = exports.runPiece as (task: number, data: number, piece: number) => void;
  const run = (work: Work) => {
    const kernel = work.kind === 'task' ? undefined : kernelOf(work.code, work.kernel);
    // Where kernels cannot be compiled, other threads take the pieces.
    if (kernel !== null) takePieces(words, pieceOf(work, memory, task, kernel));
  };
  let seen = Atomics.load(words, WORD.job);
  isReady();
  for (;;) {
    for (let turns = 0; Atomics.load(words, WORD.job) === seen; turns++) {
      if (turns < TURNS) continue;
      Atomics.add(words, WORD.sleeping, 1);
      Atomics.wait(words, WORD.job, seen);
      Atomics.sub(words, WORD.sleeping, 1);
    }
    seen = Atomics.load(words, WORD.job);
    Atomics.add(words, WORD.active, 1);
    try {
      if (Atomics.load(words, WORD.isOpen) === 1) run(readWork(words));
    } catch (error) {
      writeFailure(words, error instanceof Error ? error.message : String(error));
      // A trap leaves it anywhere.
      stackPointer.value = stack;
    } finally {
      Atomics.sub(words, WORD.active, 1);
    }
  }
}

/** Returns what gives a kernel, which is compiled at its first use; null where that is refused. */
function kernelsOf(own: WebAssembly.Exports, memory: WebAssembly.Memory, functions: ThreadStart['functions']): (code: KernelCode, kernel: number) => Kernel | null {
  const tables = Object.values(own).filter((exported) => exported instanceof WebAssembly.Table);
  // One has functions, the other objects of JavaScript, of which a thread has none.
  const functionAt = (place: number): unknown => tables.map((table) => (place < table.length ? (table.get(place) as unknown) : undefined)).find((found) => typeof found === 'function');
  const mathOf = (name: string): unknown => (functions[name] === undefined ? (Math as unknown as Record<string, unknown>)[name] : functionAt(functions[name]));
  const instantiate = ({ address, bytes }: KernelCode): WebAssembly.Exports | null => {
    try {
      const module = new WebAssembly.Module(new Uint8Array(memory.buffer, address, bytes).slice());
      const math = WebAssembly.Module.imports(module).filter((imported) => imported.module === 'math');
      return new WebAssembly.Instance(module, { env: { memory }, math: Object.fromEntries(math.map(({ name }) => [name, mathOf(name)])) as WebAssembly.ModuleImports }).exports;
    } catch {
      return null;
    }
  };
  const known = new Map<number, WebAssembly.Exports | null>();
  return (code, kernel) => {
    const exports = known.get(code.id) ?? instantiate(code);
    known.delete(code.id);
    known.set(code.id, exports);
    if (known.size > MOST_CODES) known.delete(known.keys().next().value as number);
    return exports === null ? null : (exports[kernel] as Kernel);
  };
}

/** Functions in place of those that the glue gives: a thread has nothing of JavaScript. */
function refusals(module: WebAssembly.Module): WebAssembly.ModuleImports {
  const refuse = (name: string) => () => {
    throw new Error(`a piece of work called '${name}' of the page`);
  };
  return Object.fromEntries(WebAssembly.Module.imports(module).filter(({ kind }) => kind === 'function').map(({ name }) => [name, refuse(name)]));
}
