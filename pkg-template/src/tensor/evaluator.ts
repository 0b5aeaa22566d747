/**
 * What computes recipes. A Tensor's reads call it; the part of the package that owns devices provides it when it is loaded, so recording does
 * not import it.
 */

import { describe, invalidArgument, ResiduaError } from '../arguments/errors.js';
import type { DataOf, DType } from './dtype.js';
import { numberCount } from './memory/numbers.js';
import type { Node } from './recipe/node.js';
import { knownSizes } from './size.js';

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

const ARRAYS: { readonly [D in DType]: new (length: number) => DataOf[D] } = {
  f32: Float32Array, f16: Float32Array, i32: Int32Array, u32: Uint32Array, u8: Uint8Array, bool: Uint8Array, c64: Float32Array,
};

/** Reads a recipe as data() does: into a fresh array, or into one of the caller. Rejects with 'invalid-argument' for an array of another type or length. */
export async function readData(node: Node, [first, second]: [ReadOptions?] | [DataOf[DType], ReadOptions?]): Promise<DataOf[DType]> {
  if (!ArrayBuffer.isView(first)) return evaluator().read('data', node, first ?? second ?? {});
  const { dtype, shape } = node;
  const count = numberCount(dtype, knownSizes('data', shape));
  const { name } = ARRAYS[dtype];
  if (!(first instanceof ARRAYS[dtype])) throw invalidArgument('data: into', describe(first), `a ${name} of ${count}, as the type is ${dtype}`);
  if (first.length !== count) throw invalidArgument('data: into', `a ${name} of ${first.length}`, `one of ${count}`);
  const data = await evaluator().read('data', node, second ?? {});
  // Its buffer may have been transferred meanwhile.
  if (first.length !== count) throw invalidArgument('data: into', `a ${name} whose buffer was transferred or resized during the read`, `one of ${count}`);
  first.set(data);
  return first;
}
