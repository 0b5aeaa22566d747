/**
 * Jobs that the threads of a module share. A job is a number of pieces; each thread takes the next piece until none is left. What a piece computes does not
 * depend on the thread, so that results have the same bits for every number of threads.
 *
 * Threads agree by words of a small shared memory. One thread posts a job, takes pieces itself, closes it, and waits until no other is at work.
 * A thread counts itself as active before it asks whether the job is open, so that a late one never takes pieces of the next.
 */

/** Places of the words. */
export const WORD = {
  /** Counts jobs; threads wait here. */
  job: 0,
  /** 1 while pieces may be taken. */
  isOpen: 1,
  /** Threads that may be at work, but for the one that posted. */
  active: 2,
  /** Threads that sleep. */
  sleeping: 3,
  /** The piece that is taken next. */
  next: 4,
  /** The piece after the last. */
  end: 5,
  /** 1 when a kernel has said that nothing is left. */
  isFinished: 6,
  /** Characters of the message of a thread that failed. */
  failure: 7,
  /** What the pieces are, see {@link Work}. */
  work: 8,
  message: 16,
} as const;

/** Characters of a message. */
const MOST_CHARACTERS = 200;

/** Words in all. */
export const WORDS: number = WORD.message + MOST_CHARACTERS;

/** The code of generated kernels, in the memory of the module. */
export interface KernelCode {
  /** Different for every code; not 0. */
  readonly id: number;
  readonly address: number;
  readonly bytes: number;
}

/** What the pieces of a job are. */
export type Work =
  /** Calls of a function of the module, by its place in the function table. */
  | { readonly kind: 'task'; readonly task: number; readonly data: number }
  /** Calls of a kernel of tensors with a frame, each of which says whether more is left. */
  | { readonly kind: 'parts'; readonly code: KernelCode; readonly kernel: number; readonly data: number }
  /** Calls of a kernel of residuals with frames that follow one another; the numbers that they return go to memory from `results` on. */
  | { readonly kind: 'frames'; readonly code: KernelCode; readonly kernel: number; readonly data: number; readonly stride: number; readonly results: number };

const KINDS = ['task', 'parts', 'frames'] as const;

/** Writes the work of a job. */
export function writeWork(words: Int32Array, work: Work): void {
  const { id, address, bytes } = work.kind === 'task' ? { id: work.task, address: 0, bytes: 0 } : work.code;
  const { kernel = 0, stride = 0, results = 0 } = work as Partial<Work & { kernel: number; stride: number; results: number }>;
  words.set([KINDS.indexOf(work.kind), id, address, bytes, kernel, work.data, stride, results], WORD.work);
}

/** Reads the work of a job. */
export function readWork(words: Int32Array): Work {
  const [kind, id, address, bytes, kernel, data, stride, results] = Array.from(words.subarray(WORD.work, WORD.work + 8), (word) => word >>> 0) as [number, number, number, number, number, number, number, number];
  const code = { id, address, bytes };
  switch (KINDS[kind]) {
    case 'parts':
      return { kind: 'parts', code, kernel, data };
    case 'frames':
      return { kind: 'frames', code, kernel, data, stride, results };
    default:
      return { kind: 'task', task: id, data };
  }
}

/** Takes pieces until none is left. `run` does a piece, and returns whether more is left. */
export function takePieces(words: Int32Array, run: (piece: number) => boolean): void {
  for (;;) {
    const piece = Atomics.add(words, WORD.next, 1);
    if (piece >= Atomics.load(words, WORD.end)) return;
    if (!run(piece)) {
      Atomics.store(words, WORD.isFinished, 1);
      return;
    }
  }
}

/** Notes why a thread failed; no thread takes further pieces. */
export function writeFailure(words: Int32Array, message: string): void {
  const text = message.slice(0, MOST_CHARACTERS);
  for (let k = 0; k < text.length; k++) words[WORD.message + k] = text.charCodeAt(k);
  Atomics.store(words, WORD.end, 0);
  Atomics.store(words, WORD.failure, Math.max(text.length, 1));
}

/** Returns the message of a thread that failed, once; null where none has. */
export function takeFailure(words: Int32Array): string | null {
  const length = Atomics.exchange(words, WORD.failure, 0);
  return length === 0 ? null : String.fromCharCode(...words.subarray(WORD.message, WORD.message + length));
}

/** A kernel of generated code: of tensors with a frame and a part, of residuals with a frame. */
export type Kernel = (frame: number, part?: number) => number;

/** Returns what does a piece of work over kernels and tasks of a thread. */
export function pieceOf(work: Work, memory: WebAssembly.Memory, task: (task: number, data: number, piece: number) => void, kernel: Kernel | undefined): (piece: number) => boolean {
  switch (work.kind) {
    case 'task':
      return (piece) => {
        task(work.task, work.data, piece);
        return true;
      };
    case 'parts':
      return (piece) => (kernel as Kernel)(work.data, piece) !== 0;
    case 'frames': {
      const results = new DataView(memory.buffer);
      return (piece) => {
        results.setFloat64(work.results + 8 * piece, (kernel as Kernel)(work.data + piece * work.stride), true);
        return true;
      };
    }
  }
}
