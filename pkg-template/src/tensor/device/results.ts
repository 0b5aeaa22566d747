/** Results of recipes in the form in which the application gave them: one tensor, a list or a record. */

import { describe, invalidArgument } from '../../arguments/errors.js';
import { Tensor } from '../tensor.js';

/** What a body or a store gives. */
export type Results = void | Tensor | readonly Tensor[] | { readonly [name: string]: Tensor };

/** The tensors of results, in order. Throws 'invalid-argument' for anything that is no tensor. */
export function tensorsOf(argument: string, results: unknown): Tensor[] {
  if (results === undefined) return [];
  if (results instanceof Tensor) return [results];
  if (typeof results !== 'object' || results === null) throw invalidArgument(argument, describe(results), 'a Tensor, a list or a record of them');
  return Object.entries(results).map(([name, tensor]: [string, unknown]) => {
    const place = Array.isArray(results) ? `${argument}[${name}]` : `${argument}.${name}`;
    if (!(tensor instanceof Tensor)) throw invalidArgument(place, describe(tensor), 'a Tensor');
    return tensor;
  });
}

/** Other objects in the form of results. */
export function inFormOf(results: unknown, objects: readonly object[]): unknown {
  if (results === undefined) return undefined;
  if (results instanceof Tensor) return objects[0];
  if (Array.isArray(results)) return [...objects];
  return Object.fromEntries(Object.keys(results as object).map((name, k) => [name, objects[k]]));
}
