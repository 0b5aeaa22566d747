/** Results of recipes in the form in which the application gave them: one tensor, or lists and records of them. */

import { describe, invalidArgument } from '../../arguments/errors.js';
import { Tensor } from '../tensor.js';

/** A list or a record of tensors. */
export type Group = readonly Tensor[] | { readonly [name: string]: Tensor };

/** What a body or a store gives: nothing, one tensor, a list or a record of tensors or of such groups. */
export type Results = void | Tensor | Group | readonly (Tensor | Group)[] | { readonly [name: string]: Tensor | Group };

/** The tensors of results, in order. Throws 'invalid-argument' for anything that is no tensor. */
export function tensorsOf(argument: string, results: unknown): Tensor[] {
  if (results === undefined) return [];
  const tensors: Tensor[] = [];
  visit(argument, results, tensors);
  return tensors;
}

function visit(argument: string, results: unknown, tensors: Tensor[]): void {
  if (results instanceof Tensor) {
    tensors.push(results);
    return;
  }
  const isRecord = Array.isArray(results) || (typeof results === 'object' && results !== null && Object.getPrototypeOf(results) === Object.prototype);
  if (!isRecord) throw invalidArgument(argument, describe(results), 'a Tensor, or lists and records of them');
  for (const [name, part] of Object.entries(results as object)) visit(Array.isArray(results) ? `${argument}[${name}]` : `${argument}.${name}`, part, tensors);
}

/** Other objects in the form of results, in the order of `tensorsOf`. */
export function inFormOf(results: unknown, objects: readonly object[]): unknown {
  let next = 0;
  const form = (part: unknown): unknown => {
    if (part === undefined) return undefined;
    if (part instanceof Tensor) return objects[next++];
    if (Array.isArray(part)) return part.map(form);
    return Object.fromEntries(Object.entries(part as object).map(([name, inner]) => [name, form(inner)]));
  };
  return form(results);
}
