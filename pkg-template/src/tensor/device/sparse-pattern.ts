/** What operations on the patterns of sparse matrices have in common: reading them, work in turns, and keeping what they find on the device. */

import { invalidArgument } from '../../arguments/errors.js';
import type { Pending } from '../engine/pending.js';
import { Turns } from '../memory/turns.js';
import type { Node } from '../recipe/node.js';
import type { SparseMatrix } from '../sparse.js';
import type { Tensor } from '../tensor.js';
import type { Pattern } from './product-pattern.js';

/** Milliseconds of work after which the page has a turn. */
const TURN = 12;

/** A vector with memory of its own. */
export type Part = Tensor<'u32'> & { dispose(): void };

/** What a device does for patterns. */
export interface PatternAccess {
  read(nodes: readonly Node[], caller: Pending): Promise<unknown[]>;
  store(numbers: Uint32Array<ArrayBuffer>): Part;
}

/** Does work in steps, between which the page has turns. */
export async function inTurns<R>(steps: Generator<void, R, void>, caller: Pending): Promise<R> {
  const turns = new Turns();
  let step = steps.next();
  for (let start = performance.now(); step.done !== true; step = steps.next()) {
    if (performance.now() - start < TURN) continue;
    await new Promise<void>((resolve) => turns.next(resolve));
    caller.check();
    start = performance.now();
  }
  return step.value;
}

/** Throws 'invalid-argument' where the offsets fall. */
export function patternOf(argument: string, { rows, columns }: SparseMatrix, offsets: Uint32Array, indices: Uint32Array): Pattern {
  const row = offsets.findIndex((offset, k) => offset < (offsets[k - 1] ?? 0));
  if (row > 0) throw invalidArgument(argument, `rowOffsets that fall from ${offsets[row - 1]} to ${offsets[row]}`, 'offsets that do not fall');
  return { rows, columns, offsets, indices };
}

/** Stores numbers by their names; where one finds no memory, none keeps its own. */
export function storeAll<K extends string>({ store }: PatternAccess, all: Readonly<Record<K, Uint32Array<ArrayBuffer>>>): Record<K, Part> {
  const stored = {} as Record<K, Part>;
  try {
    for (const name of Object.keys(all) as K[]) stored[name] = store(all[name]);
  } catch (error) {
    for (const part of Object.values<Part>(stored)) part.dispose();
    throw error;
  }
  return stored;
}
