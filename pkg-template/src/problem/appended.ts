/** New instances of a residual block, by the names of its inputs, and their checks. */

import { describe, invalidArgument } from '../arguments/errors.js';
import { copyIndices, copyNumbers, type Indices, type Numbers } from '../arguments/numeric-arguments.js';
import type { NamedInputs } from './block-inputs.js';
import { AtInput, DataInput, GridInput, SharedInput } from './inputs.js';

/** What new instances have of an input. */
export interface AppendedPart {
  readonly key: string;
  readonly input: AtInput | DataInput;
  readonly values: Uint32Array | Float64Array;
  /** Of places in a grid how far they lie behind their cells' first blocks. */
  readonly behind?: Float64Array;
}

/**
 * Returns what new instances have of each input that is not shared, and how many they are. `weights` is the input of weights, which are 1 where none are given.
 * Throws 'invalid-argument' for inputs that are missing or unknown, that disagree on the number of instances, or are not what `residuals` takes.
 */
export function appended(
  argument: string,
  inputs: NamedInputs,
  instances: Readonly<Record<string, Indices | Numbers>>,
  weights: DataInput | null,
): { count: number; parts: AppendedPart[] } {
  const given = new Map(Object.entries(instances));
  const parts: AppendedPart[] = [];
  let unweighted: { key: string; input: DataInput } | null = null;
  let agreed: { key: string; count: number } | null = null;
  for (const [key, input] of inputs) {
    if (!(input instanceof AtInput || input instanceof DataInput)) continue;
    const place = `${argument}.${key}`;
    const value = given.get(key);
    given.delete(key);
    const isWeight = weights !== null && key === 'weights' && input instanceof DataInput;
    if (value === undefined) {
      if (!isWeight) throw invalidArgument(place, 'nothing', input instanceof GridInput ? 'the coordinates of each new instance' : input instanceof AtInput ? `indices of blocks of "${input.array.name}"` : 'the numbers of each new instance');
      unweighted = { key, input };
      continue;
    }
    const placed = input instanceof GridInput ? input.grid.place(place, value) : null;
    const values = placed !== null ? placed.blocks : input instanceof AtInput ? copyIndices(place, value, input.array.count, `blocks of "${input.array.name}"`) : copyNumbers(place, value);
    const width = input instanceof AtInput ? input.width : input.dim;
    if (values.length % width !== 0) throw invalidArgument(place, `${values.length} numbers`, `a multiple of ${width}, as many as an instance has`);
    const count = values.length / width;
    agreed ??= { key, count };
    if (count !== agreed.count) throw invalidArgument(place, `${count} instances`, `as many as ${agreed.key} has, ${agreed.count}`);
    parts.push({ key, input, values, ...(placed === null ? {} : { behind: placed.behind }) });
  }
  const [unknown] = given.keys();
  if (unknown !== undefined) {
    const isShared = inputs.get(unknown) instanceof SharedInput;
    const takes = parts.map(({ key }) => `"${key}"`).join(', ');
    throw invalidArgument(`${argument}.${unknown}`, isShared ? 'a shared input' : describe(given.get(unknown)), `the inputs of each instance alone: ${takes === '' ? 'there are none' : takes}`);
  }
  if (agreed === null) throw invalidArgument(argument, 'instances of a block with shared inputs alone, which has one', 'those of blocks with at or data');
  if (unweighted !== null) parts.push({ ...unweighted, values: new Float64Array(agreed.count).fill(1) });
  return { count: agreed.count, parts };
}
