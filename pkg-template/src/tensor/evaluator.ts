/**
 * What computes recipes. A Tensor's reads call it; the part of the package that owns devices provides it when it is loaded, so recording does
 * not import it.
 */

import { ResiduaError } from '../arguments/errors.js';
import type { DataOf, DType } from './dtype.js';
import type { Node } from './recipe/node.js';

/** Options of what computes recipes once. */
export interface ReadOptions {
  /** Rejects with 'aborted', and leaves out what is not computed yet. */
  signal?: AbortSignal;
}

/** Computes recipes. */
export interface Evaluator {
  /** Computes a recipe and reads its elements in C order. The shape has no Dims. `what` is the call, in messages. */
  read(what: string, node: Node, options: ReadOptions): Promise<DataOf[DType]>;
  /** The present sizes of a node: of a program's output those of its latest run. */
  sizes(node: Node): readonly number[];
}

let provided: Evaluator | null = null;

/** Provides what computes recipes. */
export function setEvaluator(evaluator: Evaluator): void {
  provided = evaluator;
}

/** Returns what computes recipes. */
export function evaluator(): Evaluator {
  if (provided === null) throw new ResiduaError('internal', 'nothing that computes recipes was loaded: import from the package, not from one of its files');
  return provided;
}
