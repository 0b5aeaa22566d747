/**
 * What computes recipes. A Tensor's reads call it; the part of the package that owns devices provides it when it is loaded, so recording does
 * not import it.
 */

import { ResiduaError } from '../arguments/errors.js';
import type { DataOf, DType } from './dtype.js';
import type { Node } from './recipe/node.js';

/** Computes recipes. */
export interface Evaluator {
  /** Computes recipes and reads their elements in C order, in one round trip. The shapes have no Dims but those of inputs of a program. */
  read(nodes: readonly Node[]): Promise<DataOf[DType][]>;
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
