/** Selections with exactly as many elements as were selected: their number is read, and the elements are copied to memory of that size. */

import { describe, invalidArgument } from '../../arguments/errors.js';
import { checkObject } from '../../arguments/numeric-arguments.js';
import type { DType } from '../dtype.js';
import type { Memory } from '../engine/engine.js';
import type { Pending } from '../engine/pending.js';
import { decode } from '../memory/numbers.js';
import { nodeOf, nodeText } from '../recipe/operands.js';
import { knownSizes } from '../size.js';
import type { Selection } from '../tensor.js';
import type { DeviceCore } from './core.js';
import { evaluationsOf } from './evaluation.js';

/** Elements that were selected, in memory of their own. */
export interface Compacted {
  readonly dtype: DType;
  readonly sizes: readonly number[];
  readonly memory: Memory;
}

/**
 * Computes a selection, and copies its elements.
 *
 * @param allocate allocates memory for a tensor
 * @param caller the waits of the call, where it can be aborted
 */
export async function compacted(core: DeviceCore, selection: Selection, allocate: (dtype: DType, sizes: readonly number[]) => Memory, caller?: Pending): Promise<Compacted> {
  checkObject('compact', selection);
  const [values, count] = [nodeOf('compact: values', selection.values), nodeOf('compact: count', selection.count)];
  const [most, ...rest] = knownSizes('compact: values', values.shape);
  if (most === undefined) throw invalidArgument('compact: values', nodeText(values), 'a tensor with at least one axis');
  if (count.dtype !== 'u32' || count.shape.length > 0) throw invalidArgument('compact: count', nodeText(count), 'a scalar of u32');
  const wholes: Memory[] = [];
  try {
    const [bytes] = await evaluationsOf(core).run('compact', [values, count], [], ([whole, number], keep) => {
      keep(whole as Memory);
      wholes.push(whole as Memory);
      return core.engine.read([{ memory: number as Memory, bytes: 4 }]);
    }, caller);
    const [size] = decode('u32', bytes as Uint8Array<ArrayBuffer>) as unknown as [number];
    if (size > most) throw invalidArgument('compact: count', describe(size), `at most ${most}, the elements of values`);
    const sizes = Object.freeze([size, ...rest]);
    const memory = allocate(values.dtype, sizes);
    core.queue.push(() => core.engine.copy(wholes[0] as Memory, memory, memory.bytes));
    try {
      await core.checkAllocated([memory]);
      // Nobody waits for it after an abort.
      caller?.check();
    } catch (error) {
      core.free(memory);
      throw error;
    }
    return { dtype: values.dtype, sizes, memory };
  } finally {
    for (const whole of wholes) core.free(whole);
  }
}
