/**
 * From the inputs of a residual block to recipes: instances are grouped by the lengths of their stars, the residual function is
 * recorded once for each combination that occurs, and for each the tables say which blocks and which numbers its instances take.
 * The loops over instances are flat, so that millions of residuals take a fraction of a second.
 */

import { makeBlock, scalarsOf } from './block.js';
import { describe, invalidArgument } from './errors.js';
import {
  AtInput,
  DataInput,
  DataStarInput,
  instanceCount,
  isInput,
  offsetsOf,
  ownerOf,
  SharedInput,
  StarInput,
  type AnyInput,
} from './inputs.js';
import { Op } from './op-codes.js';
import type { Tape } from './raw.js';
import { record, Recording } from './tape.js';
import { Value } from './value.js';

/** The inputs of a residual block by name, in order. */
export type NamedInputs = ReadonlyMap<string, AnyInput>;

/** A recorded residual function with the instances that it serves. */
export interface Recipe {
  /** Which instances of the block, ascending. */
  readonly instances: Uint32Array;
  /** Each one's first residual, counted within the block. */
  readonly rows: Uint32Array;
  /** Residuals per instance. */
  readonly outputs: number;
  /** The array of each block that an instance takes. */
  readonly slotArrays: readonly object[];
  /** Block indices, slot after slot. */
  readonly indices: Uint32Array;
  /** The first column of each data input. */
  readonly firstColumns: ReadonlyMap<string, number>;
  /** How many numbers an instance takes. */
  readonly dataColumns: number;
  /** The residual function. */
  readonly tape: Tape;
}

/** Checks what the user gave as inputs of the block called `name`. */
export function checkInputs(name: string, inputs: unknown, owner: object): NamedInputs {
  const argument = `residuals "${name}": inputs`;
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

/** The number of instances on which all inputs agree; 1 with shared inputs alone. */
export function agreedInstances(name: string, inputs: NamedInputs): number {
  let agreed: { key: string; count: number } | null = null;
  for (const [key, input] of inputs) {
    const count = instanceCount(input);
    if (count === null) continue;
    agreed ??= { key, count };
    if (count !== agreed.count) {
      throw invalidArgument(`residuals "${name}": inputs.${key}`, `${count} instances`, `as many as ${agreed.key} has, ${agreed.count}`);
    }
  }
  return agreed?.count ?? 1;
}

/** Throws unless every dataStar has the offsets of a star of its block, so that it has a number for each of the star's entries. */
export function checkStarData(name: string, inputs: NamedInputs): void {
  const stars = [...inputs].filter((entry): entry is [string, StarInput] => entry[1] instanceof StarInput);
  const names = stars.map(([key]) => `"${key}"`).join(', ');
  for (const [key, input] of inputs) {
    if (!(input instanceof DataStarInput)) continue;
    const differences = stars.map(([, star]) => input.offsets.findIndex((offset, i) => offset !== star.offsets[i]));
    if (differences.includes(-1)) continue;
    const argument = `residuals "${name}": inputs.${key}`;
    if (stars.length === 0) throw invalidArgument(argument, 'a dataStar in a block without a star', 'a star with the same offsets beside it');
    const position = Math.max(...differences);
    throw invalidArgument(argument, `offsets[${position}] = ${input.offsets[position]}`, `the offsets of a star of the block: ${names}`);
  }
}

/** Records the residual function for every combination of star lengths and builds the tables. */
export function makeRecipes(
  name: string,
  inputs: NamedInputs,
  count: number,
  residual: (inputs: never) => unknown,
): { recipes: Recipe[]; residuals: number } {
  const groups = groupByLengths(inputs, count);
  const recorded = groups.map((instances) => ({ instances, ...recordResidual(name, inputs, instances[0] as number, residual) }));
  const outputsOfFirst = recorded[0]?.tape.outputs.length ?? 0;
  const uniform = recorded.every(({ tape }) => tape.outputs.length === outputsOfFirst);
  let residuals = count * outputsOfFirst;
  let firstRows: Uint32Array | null = null;
  if (!uniform) {
    firstRows = new Uint32Array(count);
    for (const { instances, tape } of recorded) for (const instance of instances) firstRows[instance] = tape.outputs.length;
    residuals = 0;
    for (let i = 0; i < count; i++) {
      const outputs = firstRows[i] as number;
      firstRows[i] = residuals;
      residuals += outputs;
    }
  }
  const recipes = recorded.map(({ instances, tape, slotArrays, firstColumns, dataColumns }): Recipe => {
    const outputs = tape.outputs.length;
    const rows = new Uint32Array(instances.length);
    for (let j = 0; j < rows.length; j++) {
      const instance = instances[j] as number;
      rows[j] = firstRows === null ? instance * outputs : (firstRows[instance] as number);
    }
    const indices = blockTable(inputs, instances, slotArrays.length);
    return { instances, rows, outputs, slotArrays, indices, firstColumns, dataColumns, tape };
  });
  return { recipes, residuals };
}

/** Where among a data input's numbers those of a recipe's instances stand, column after column. */
export function dataSources(input: DataInput | DataStarInput, instances: Uint32Array): Uint32Array {
  const count = instances.length;
  const { dim } = input;
  const offsets = offsetsOf(input);
  const width = offsets === null ? dim : dim * lengthAt(offsets, instances[0] as number);
  const sources = new Uint32Array(width * count);
  for (let j = 0; j < count; j++) {
    const instance = instances[j] as number;
    const first = offsets === null ? instance * dim : (offsets[instance] as number) * dim;
    for (let column = 0; column < width; column++) sources[column * count + j] = first + column;
  }
  return sources;
}

/** The numbers of one data input for a recipe's instances, column after column. */
export function dataColumns(input: DataInput | DataStarInput, values: Float64Array, instances: Uint32Array): Float64Array {
  const sources = dataSources(input, instances);
  const columns = new Float64Array(sources.length);
  for (let i = 0; i < columns.length; i++) columns[i] = values[sources[i] as number] as number;
  return columns;
}

/** The instances of each combination of star lengths, ascending; groups in the order of their first instance. */
function groupByLengths(inputs: NamedInputs, count: number): Uint32Array[] {
  if (count === 0) return [];
  // Equal offsets give equal lengths, so each distinct table is looked at once.
  const stars = [...new Set([...inputs.values()].map(offsetsOf).filter((offsets) => offsets !== null))];
  const group = new Uint32Array(count);
  let groups = 1;
  for (const offsets of stars) {
    // A group so far and a length make a new group, numbered by first appearance.
    let longest = 0;
    for (let i = 0; i < count; i++) longest = Math.max(longest, lengthAt(offsets, i));
    const numbers = new Map<number, number>();
    for (let i = 0; i < count; i++) {
      const key = (group[i] as number) * (longest + 1) + lengthAt(offsets, i);
      let number = numbers.get(key);
      if (number === undefined) numbers.set(key, (number = numbers.size));
      group[i] = number;
    }
    groups = numbers.size;
  }
  const sizes = new Uint32Array(groups);
  for (let i = 0; i < count; i++) sizes[group[i] as number]! += 1;
  const members = Array.from(sizes, (size) => new Uint32Array(size));
  sizes.fill(0);
  for (let i = 0; i < count; i++) {
    const number = group[i] as number;
    (members[number] as Uint32Array)[sizes[number]!++] = i;
  }
  return members;
}

function lengthAt(offsets: Uint32Array, instance: number): number {
  return (offsets[instance + 1] as number) - (offsets[instance] as number);
}

/** Runs the residual function once, for instances whose stars are as long as those of `instance`. */
function recordResidual(
  name: string,
  inputs: NamedInputs,
  instance: number,
  residual: (inputs: never) => unknown,
): Pick<Recipe, 'tape' | 'slotArrays' | 'firstColumns' | 'dataColumns'> {
  const recording = new Recording('residual');
  const slotArrays: object[] = [];
  const firstColumns = new Map<string, number>();
  let parameters = 0;
  let columns = 0;
  const nextParameter = () => Value.at(recording, recording.push(Op.parameter, parameters++, 0, 0));
  const nextDatum = () => Value.at(recording, recording.push(Op.data, columns++, 0, 0));
  const parameterBlock = (input: AtInput | SharedInput | StarInput) => {
    slotArrays.push(input.array);
    return makeBlock(input.array.dim, nextParameter);
  };
  const argumentOf = (key: string, input: AnyInput): unknown => {
    if (input instanceof SharedInput) return parameterBlock(input);
    if (input instanceof AtInput) {
      return input.single ? parameterBlock(input) : Array.from({ length: input.width }, () => parameterBlock(input));
    }
    if (input instanceof StarInput) return Array.from({ length: lengthAt(input.offsets, instance) }, () => parameterBlock(input));
    firstColumns.set(key, columns);
    if (input instanceof DataInput) return makeBlock(input.dim, nextDatum);
    return Array.from({ length: lengthAt(input.offsets, instance) }, () => makeBlock(input.dim, nextDatum));
  };
  const outputs = record(recording, () => {
    const args = Object.fromEntries([...inputs].map(([key, input]) => [key, argumentOf(key, input)]));
    const scalars = scalarsOf(`residuals "${name}": what residual returned`, residual(args as never));
    return recording.positions(scalars);
  });
  return { tape: recording.finish(outputs), slotArrays, firstColumns, dataColumns: columns };
}

/** The block indices of a recipe's instances, slot after slot. */
function blockTable(inputs: NamedInputs, instances: Uint32Array, slots: number): Uint32Array {
  const count = instances.length;
  const table = new Uint32Array(slots * count);
  let slot = 0;
  for (const input of inputs.values()) {
    if (input instanceof DataInput || input instanceof DataStarInput) continue;
    const first = slot * count;
    if (input instanceof SharedInput) {
      table.fill(input.index, first, first + count);
      slot += 1;
      continue;
    }
    const offsets = offsetsOf(input);
    const width = input instanceof AtInput ? input.width : lengthAt(input.offsets, instances[0] as number);
    const { indices } = input;
    for (let j = 0; j < count; j++) {
      const instance = instances[j] as number;
      const start = offsets === null ? instance * width : (offsets[instance] as number);
      for (let k = 0; k < width; k++) table[first + k * count + j] = indices[start + k] as number;
    }
    slot += width;
  }
  return table;
}
