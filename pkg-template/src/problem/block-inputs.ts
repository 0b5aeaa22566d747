/** The named inputs of one residual block, and their checks. */

import { describe, invalidArgument } from '../arguments/errors.js';
import { DataStarInput, instanceCount, isInput, ownerOf, StarInput, type AnyInput } from './inputs.js';

/** The inputs of a residual block by name, in order. */
export type NamedInputs = ReadonlyMap<string, AnyInput>;

/** Checks the `inputs` of a block; `call` names it in messages, as `residuals "name"`. Throws 'invalid-argument' unless they are an object of at least one input of `owner`. */
export function checkInputs(call: string, inputs: unknown, owner: object): NamedInputs {
  const argument = `${call}: inputs`;
  if (typeof inputs !== 'object' || inputs === null || Array.isArray(inputs)) {
    throw invalidArgument(argument, describe(inputs), 'an object of inputs');
  }
  const named = new Map<string, AnyInput>();
  for (const [key, input] of Object.entries(inputs as Record<string, unknown>)) {
    if (!isInput(input)) {
      throw invalidArgument(`${argument}.${key}`, describe(input), 'what at, shared, star, data or dataStar return');
    }
    if (ownerOf(input) !== owner) throw invalidArgument(`${argument}.${key}`, 'an input of another problem', 'an input of this one');
    named.set(key, input);
  }
  if (named.size === 0) throw invalidArgument(argument, 'no input', 'at least one');
  return named;
}

/**
 * Returns the number of instances, on which all inputs must agree; 1 with shared inputs alone. Throws 'invalid-argument' where they differ.
 */
export function agreedInstances(call: string, inputs: NamedInputs): number {
  let agreed: { key: string; count: number } | null = null;
  for (const [key, input] of inputs) {
    const count = instanceCount(input);
    if (count === null) continue;
    agreed ??= { key, count };
    if (count !== agreed.count) {
      throw invalidArgument(`${call}: inputs.${key}`, `${count} instances`, `as many as ${agreed.key} has, ${agreed.count}`);
    }
  }
  return agreed?.count ?? 1;
}

/**
 * Throws 'invalid-argument' unless every dataStar has the offsets of a star of its block, so that it has numbers for each of the star's
 * entries.
 */
export function checkStarData(call: string, inputs: NamedInputs): void {
  const stars = [...inputs].filter((entry): entry is [string, StarInput] => entry[1] instanceof StarInput);
  const names = stars.map(([key]) => `"${key}"`).join(', ');
  for (const [key, input] of inputs) {
    if (!(input instanceof DataStarInput)) continue;
    const differences = stars.map(([, star]) => input.offsets.findIndex((offset, i) => offset !== star.offsets[i]));
    if (differences.includes(-1)) continue;
    const argument = `${call}: inputs.${key}`;
    if (stars.length === 0) throw invalidArgument(argument, 'a dataStar in a block without a star', 'a star with the same offsets beside it');
    const position = Math.max(...differences);
    throw invalidArgument(argument, `offsets[${position}] = ${input.offsets[position]}`, `the offsets of a star of the block: ${names}`);
  }
}
