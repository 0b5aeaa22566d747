/** The error type of the package, and the wording of errors for invalid arguments: the argument, what it got and what it takes. */

/** Stable error codes. Later versions may add codes. */
export type ErrorCode =
  /** Called before `init()`. */
  | 'not-initialized'
  /** No `navigator.gpu`, no adapter, or the adapter lacks what is needed; the message says which. */
  | 'gpu-unavailable'
  /** The GPU device was lost; the problem can be compiled again on a new context. */
  | 'device-lost'
  /**
   * An allocation failed. On the GPU no memory was leaked. Where it was memory of the module, the message says so: all objects made so far are unusable then, and
   * `init()` starts a new instance.
   */
  | 'out-of-memory'
  /** The work cannot be split to fit the device's limits; the message names the limit and both figures. */
  | 'limit-exceeded'
  /** A bug of residua: the message holds the compiler's output, `wgsl` the kernel. */
  | 'shader-compilation'
  /** Wrong type, length or range, or a NaN; the message names the argument, what it got and what it takes. */
  | 'invalid-argument'
  /** A Value of another recording, or an output that is not a Value. */
  | 'invalid-graph'
  /** A residual or derivative is NaN or infinite at the start, or a plain function threw; the message names block, instance and residual. */
  | 'non-finite'
  /** The object was used after `dispose()`. */
  | 'disposed'
  /** The caller's AbortSignal fired while compiling or loading a file. */
  | 'aborted'
  /** A bug of residua; all objects made so far are unusable, and `init()` starts a new instance. */
  | 'internal';

/** The error of every failure of the package. */
export class ResiduaError extends Error {
  /** The kind of failure; stable across versions. */
  readonly code: ErrorCode;
  /** The kernel that the browser rejected; with 'shader-compilation' alone. */
  readonly wgsl?: string;

  /** Created by the package. `options` holds the kernel with 'shader-compilation', and the original error as `cause`. */
  constructor(code: ErrorCode, message: string, options?: { wgsl?: string; cause?: unknown }) {
    super(message, options?.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'ResiduaError';
    this.code = code;
    if (options?.wgsl !== undefined) this.wgsl = options.wgsl;
  }
}

/** Returns an 'invalid-argument' error with the package's wording. */
export function invalidArgument(argument: string, got: string, takes: string): ResiduaError {
  return new ResiduaError('invalid-argument', `${argument}: ${gotAndTakes(got, takes)}`);
}

/** The descriptions of objects of the package's classes. */
const OURS = /^a (Problem|GpuContext|GpuCompiledFunctions|Value|Vec[234]|Mat3|Rotation[23]|Pose[23]|Sim[23])$/;

/**
 * Returns the wording of what was got and what is taken. An object whose class has the right name may be of another copy of the package, or
 * of another library.
 */
export function gotAndTakes(got: string, takes: string): string {
  const name = OURS.exec(got)?.[1];
  const isTaken = name !== undefined && (takes.includes(name) || (name.startsWith('Vec') && takes.includes('a vector')));
  return `got ${got}${isTaken ? ' that is not of this copy of residua' : ''}; takes ${takes}`;
}

/** Returns an 'invalid-graph' error. */
export function invalidGraph(message: string): ResiduaError {
  return new ResiduaError('invalid-graph', message);
}

/** Returns a short description of `value` for messages. */
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
  // A class may stand for an interface that the application knows by another name.
  const name: unknown = (value as { [Symbol.toStringTag]?: unknown })[Symbol.toStringTag] ?? value.constructor?.name;
  return typeof name === 'string' && name !== 'Object' && name !== '' ? `a ${name}` : 'an object';
}
