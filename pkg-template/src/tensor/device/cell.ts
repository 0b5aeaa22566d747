/**
 * What an input of a recipe stands for: the memory of a stored tensor, or an input of a program. A recipe refers to it as the `source` of an
 * input node.
 */

import { ResiduaError } from '../../arguments/errors.js';
import type { DType } from '../dtype.js';
import type { Memory } from '../engine/engine.js';
import type { Shape } from '../size.js';
import type { DeviceCore } from './core.js';

/** The memory of a stored tensor, which is there until it is disposed. */
export class Cell {
  private disposed = false;
  /** Keeps the object of the application alive while a recipe refers to its memory: its garbage collection frees the memory. */
  handle: object | null = null;

  constructor(
    readonly core: DeviceCore,
    readonly dtype: DType,
    readonly sizes: readonly number[],
    readonly memory: Memory,
    /** What owns it: itself; a program, which disposes of it; or the application, for a buffer that was borrowed. */
    readonly owner: 'tensor' | 'program' | 'application',
    /** The program that owns it. */
    private readonly program: { readonly isDisposed: boolean } | null = null,
  ) {}

  /** Whether it was disposed of, or its program or device. */
  get isDisposed(): boolean {
    return this.disposed || this.core.isDisposed || this.program?.isDisposed === true;
  }

  /** Marks it as disposed. Returns whether it was not before. */
  end(): boolean {
    const isFirst = !this.disposed;
    this.disposed = true;
    return isFirst;
  }

  /** Throws 'disposed', or the failure of the device or of the allocation. `what` names the use in messages. */
  check(what: string): void {
    if (this.isDisposed) throw new ResiduaError('disposed', `${what}: the stored tensor was used after dispose()`);
    this.core.pending.check();
    if (this.memory.failure !== null) throw this.memory.failure;
  }
}

/** An input of a program, which each run gives. */
export class ProgramInput {
  constructor(
    readonly name: string,
    readonly dtype: DType,
    readonly shape: Shape,
  ) {}
}
