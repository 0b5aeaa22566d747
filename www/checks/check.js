/**
 * The argument of a running check: its engine, assertions (see assertions.js), and residua's objects, which are disposed at the end in
 * every case.
 */
import { GpuCompiledFunctions, GpuContext } from 'residua';
import { claims, inWords } from './assertions.js';

export class Check {
  /** Numbers that are shown beside the outcome. */
  notes = [];
  #cleanups = [];

  /** @param {'gpu' | 'cpu' | 'both' | 'none'} engine */
  constructor(engine) {
    /** Passed to compile() and the like; undefined where the check takes no engine or both. */
    this.backend = engine === 'gpu' || engine === 'cpu' ? engine : undefined;
    Object.assign(this, claims);
  }

  /** Run at the end of the check, in reverse order. */
  defer(cleanup) {
    this.#cleanups.push(cleanup);
  }

  note(...words) {
    this.notes.push(words.map((word) => inWords(word)).join(' '));
  }

  /** GpuCompiledFunctions.compile, on the check's engine unless the options name another. */
  async compile(...what) {
    const last = what.at(-1);
    const given = typeof last === 'object' && last !== null && Object.getPrototypeOf(last) === Object.prototype ? what.pop() : {};
    const functions = await GpuCompiledFunctions.compile(...what, { ...(this.backend === undefined ? {} : { backend: this.backend }), ...given });
    this.defer(() => functions.dispose());
    return functions;
  }

  /** A context of this check alone. */
  async context(options) {
    const context = await GpuContext.create(options);
    this.defer(() => context.dispose());
    return context;
  }

  /** A device that an application would have. */
  async ownDevice(descriptor) {
    const adapter = await navigator.gpu.requestAdapter();
    const device = await adapter.requestDevice(descriptor);
    this.defer(() => device.destroy());
    return device;
  }

  /** The error of a promise or of a function; null when nothing is thrown. */
  async failure(attempt) {
    try {
      await (typeof attempt === 'function' ? attempt() : attempt);
      return null;
    } catch (error) {
      return error;
    }
  }

  /** That error as `code: message`, or 'nothing was thrown'. */
  async failureInWords(attempt) {
    const error = await this.failure(attempt);
    return error === null ? 'nothing was thrown' : `${error.code}: ${error.message}`;
  }

  async end() {
    for (const cleanup of this.#cleanups.toReversed()) await cleanup();
    this.#cleanups.length = 0;
  }
}
