/** The threads of a module, as the thread has them that calls the module. */

import type { StartedThread } from '../start-thread.js';
import { pieceOf, takeFailure, takePieces, WORD, WORDS, writeWork, type Kernel, type KernelCode, type Work } from './job.js';
import type { ThreadStart } from './serve.js';

/** Pieces take some milliseconds at most. */
const PATIENCE = 30_000;
/** Turns of waiting between two looks at the clock. */
const TURNS = 1 << 16;
/** Parts of a kernel of tensors that a thread does in one job, about: some milliseconds. */
const PARTS = 32;
/** As many pieces as a job can have. */
const MOST_PIECES = 2 ** 30;

/** Threads with the memory of a module. The module calls `tasks` and `frames` (crates/module/src/threads.rs, crates/cpu/src/threads.rs). */
export class Pool {
  private readonly words = new Int32Array(new SharedArrayBuffer(4 * WORDS));
  private threads: readonly StartedThread[] = [];
  private codes = 0;

  /**
   * @param task runs a piece of a task on this thread
   * @param patience milliseconds after which a thread that does not end its piece counts as dead
   */
  constructor(
    private readonly memory: WebAssembly.Memory,
    private readonly task: (task: number, data: number, piece: number) => void,
    private readonly patience: number = PATIENCE,
  ) {}

  /** How many threads compute: those of the pool, and the one that calls. */
  get count(): number {
    return 1 + this.threads.length;
  }

  /** Starts threads, of which each has the end of a stack. Rejects where one cannot start. */
  async start(begin: (start: ThreadStart) => StartedThread, module: WebAssembly.Module, functions: Readonly<Record<string, number>>, stacks: readonly number[]): Promise<void> {
    const { memory, words } = this;
    this.threads = stacks.map((stack) => begin({ module, memory, words, stack, functions }));
    try {
      await Promise.all(this.threads.map(({ ready }) => ready));
    } catch (error) {
      this.end();
      throw error;
    }
  }

  /** Ends the threads. Jobs are then done by the calling thread alone. */
  end(): void {
    for (const thread of this.threads) thread.end();
    this.threads = [];
    Atomics.store(this.words, WORD.active, 0);
  }

  /** Numbers code that lies in the memory of the module. */
  code(address: number, bytes: number): KernelCode {
    this.codes += 1;
    return { id: this.codes, address, bytes };
  }

  /** Runs the pieces of a task of the module. */
  tasks(task: number, data: number, pieces: number): void {
    this.run({ kind: 'task', task, data }, 0, pieces);
  }

  /** Runs a kernel of residuals with frames. */
  frames(kernel: Kernel, code: number, address: number, bytes: number, position: number, data: number, stride: number, results: number, pieces: number): void {
    this.run({ kind: 'frames', code: { id: code, address, bytes }, kernel: position, data, stride, results }, 0, pieces, kernel);
  }

  /** Runs parts of a kernel of tensors. Returns the next part, 0 after the last. */
  parts(kernel: Kernel, code: KernelCode, position: number, frame: number, first: number): number {
    const end = first + PARTS * this.count;
    const isFinished = this.run({ kind: 'parts', code, kernel: position, data: frame }, first, end, kernel);
    return isFinished ? 0 : end;
  }

  /** Runs the pieces of a job. Returns whether one has said that nothing is left. Throws what a trap is where a thread fails. */
  private run(work: Work, first: number, end: number, kernel?: Kernel): boolean {
    const { words } = this;
    writeWork(words, work);
    Atomics.store(words, WORD.next, first);
    Atomics.store(words, WORD.end, Math.min(end, MOST_PIECES));
    Atomics.store(words, WORD.isFinished, 0);
    Atomics.store(words, WORD.isOpen, 1);
    Atomics.add(words, WORD.job, 1);
    if (Atomics.load(words, WORD.sleeping) > 0) Atomics.notify(words, WORD.job);
    try {
      takePieces(words, pieceOf(work, this.memory, this.task, kernel));
    } finally {
      Atomics.store(words, WORD.isOpen, 0);
      this.join();
    }
    const failure = takeFailure(words);
    if (failure !== null) throw new WebAssembly.RuntimeError(`a thread failed: ${failure}`);
    return Atomics.load(words, WORD.isFinished) === 1;
  }

  /** Waits until no other thread is at work. The thread of a page may not sleep. */
  private join(): void {
    const { words } = this;
    let deadline = Infinity;
    for (let turns = 1; Atomics.load(words, WORD.active) !== 0; turns++) {
      if (turns % TURNS !== 0) continue;
      const now = performance.now();
      if (deadline === Infinity) deadline = now + this.patience;
      if (now > deadline) throw new WebAssembly.RuntimeError(`a thread did not end its piece in ${this.patience / 1000} s`);
    }
  }
}
