/**
 * What an input of a recipe stands for: the memory of a stored tensor, or an input of a program. A recipe refers to it as the `source` of an
 * input node.
 */

import { invalidGraph, ResiduaError } from '../../arguments/errors.js';
import type { DType } from '../dtype.js';
import { haveCommonBytes, type Memory } from '../engine/engine.js';
import type { Node } from '../recipe/node.js';
import type { Assignment } from '../recipe/tape.js';
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

/**
 * Throws 'invalid-graph' where a recipe writes memory that another stored tensor of it has as well: kernels are put in order by the tensors that they
 * read and write, and would see the old or the new numbers of the other by chance.
 */
export function checkAliases(what: string, inputs: readonly Node[], assignments: readonly Assignment[]): void {
  const cells = inputs.flatMap(({ source }) => (source instanceof Cell ? [source] : []));
  for (const { input: { source } } of assignments) {
    if (!(source instanceof Cell)) continue;
    if (cells.some((cell) => cell !== source && haveCommonBytes(cell.memory, source.memory))) {
      throw invalidGraph(`${what}: got two stored tensors over the same bytes of a buffer, of which one is assigned to; takes one stored tensor for these bytes`);
    }
  }
}
