/**
 * The one error type of the package, and the words for bad input: which argument, what it got, what it takes.
 */

/** The stable codes; new ones may be added. */
export type ErrorCode =
  /** Called before `init()`. */
  | 'not-initialized'
  /** No `navigator.gpu`, no adapter, or the adapter lacks what is needed; the message says which. */
  | 'gpu-unavailable'
  /** The GPU device went away; the problem can be compiled again on a new context. */
  | 'device-lost'
  /** An allocation was refused; nothing was leaked. */
  | 'out-of-memory'
  /** The work cannot be split to fit the device's limits; the message names the limit and both figures. */
  | 'limit-exceeded'
  /** A bug of ours: the message holds the compiler's words, `wgsl` the kernel. */
  | 'shader-compilation'
  /** Wrong type, length, range or a NaN; the message names the argument, what it got and what it takes. */
  | 'invalid-argument'
  /** A Value from elsewhere, or an output that is not a Value. */
  | 'invalid-graph'
  /** A residual or derivative is NaN or infinite at the start; the message names batch, instance and residual. */
  | 'non-finite'
  /** Used after `dispose()`. */
  | 'disposed'
  /** The caller's AbortSignal fired while compiling. */
  | 'aborted'
  /** A bug of ours; everything made so far is unusable, `init()` starts afresh. */
  | 'internal';

/** Every failure of the package: a code for programs, a message for people. */
export class ResiduaError extends Error {
  /** What kind of failure it is; stable across versions. */
  readonly code: ErrorCode;
  /** With 'shader-compilation' alone: the kernel that the browser refused. */
  readonly wgsl?: string;

  /** Made by the package; `options` holds the kernel with 'shader-compilation', and what was thrown first. */
  constructor(code: ErrorCode, message: string, options?: { wgsl?: string; cause?: unknown }) {
    super(message, options?.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'ResiduaError';
    this.code = code;
    if (options?.wgsl !== undefined) this.wgsl = options.wgsl;
  }
}

/** An 'invalid-argument' error in the package's form of words. */
export function invalidArgument(argument: string, got: string, takes: string): ResiduaError {
  return new ResiduaError('invalid-argument', `${argument}: ${gotAndTakes(got, takes)}`);
}

/** What objects of the package's classes are called. */
const OURS = /^a (Problem|GpuContext|GpuCompiledFunctions|Value|Vec[234]|Mat3)$/;

/** The words for what was got and what is taken. A class of the same name may be another copy's, or another library's. */
export function gotAndTakes(got: string, takes: string): string {
  const name = OURS.exec(got)?.[1];
  const isTaken = name !== undefined && (takes.includes(name) || (name.startsWith('Vec') && takes.includes('a vector')));
  return `got ${got}${isTaken ? ' that is not of this copy of residua' : ''}; takes ${takes}`;
}

/** An 'invalid-graph' error. */
export function invalidGraph(message: string): ResiduaError {
  return new ResiduaError('invalid-graph', message);
}

/** What a person would call `value`, briefly: for messages. */
export function describe(value: unknown): string {
  if (value === null || value === undefined || typeof value === 'boolean') return String(value);
  if (typeof value === 'number') return Object.is(value, -0) ? '-0' : String(value);
  if (typeof value === 'bigint') return `the bigint ${value}n`;
  if (typeof value === 'string') return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value);
  if (typeof value === 'function') return 'a function';
  if (typeof value === 'symbol') return 'a symbol';
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (ArrayBuffer.isView(value)) return `a ${value.constructor.name}`;
  if (value instanceof Promise) return 'a Promise';
  const name: unknown = value.constructor?.name;
  return typeof name === 'string' && name !== 'Object' && name !== '' ? `a ${name}` : 'an object';
}
