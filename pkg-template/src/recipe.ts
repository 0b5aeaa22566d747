/**
 * From the inputs of a residual block to recipes: instances are grouped by the lengths of their stars, the residual function is
 * recorded once for each combination that occurs, and for each the tables say which blocks and which numbers its instances take.
 * The tables are not made here: a compile reads them piece by piece, so that the page lives while millions of residuals are compiled.
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
  /** How many instances it serves. */
  readonly count: number;
  /** Which instances of the block, ascending; null for all of them. */
  readonly instances: Uint32Array | null;
  /** Each one's first residual, counted within the block; null if they follow one another. */
  readonly rows: Uint32Array | null;
  /** The array of each block that an instance takes. */
  readonly slotArrays: readonly object[];
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
  const recorded = groups.map((instances) => ({ instances, ...recordResidual(name, inputs, instances?.[0] ?? 0, residual) }));
  const outputsOfFirst = recorded[0]?.tape.outputs.length ?? 0;
  const uniform = recorded.every(({ tape }) => tape.outputs.length === outputsOfFirst);
  let residuals = count * outputsOfFirst;
  let firstRows: Uint32Array | null = null;
  if (!uniform) {
    firstRows = new Uint32Array(count);
    for (const { instances, tape } of recorded) for (const instance of instances ?? []) firstRows[instance] = tape.outputs.length;
    residuals = 0;
    for (let i = 0; i < count; i++) {
      const outputs = firstRows[i] as number;
      firstRows[i] = residuals;
      residuals += outputs;
    }
  }
  const recipes = recorded.map(({ instances, tape, slotArrays, firstColumns, dataColumns }): Recipe => {
    if (instances === null) return { count, instances, rows: null, slotArrays, firstColumns, dataColumns, tape };
    const outputs = tape.outputs.length;
    const rows = new Uint32Array(instances.length);
    for (let j = 0; j < rows.length; j++) {
      const instance = instances[j] as number;
      rows[j] = firstRows === null ? instance * outputs : (firstRows[instance] as number);
    }
    return { count: rows.length, instances, rows, slotArrays, firstColumns, dataColumns, tape };
  });
  return { recipes, residuals };
}

/** The instances of a recipe, as far as tables need them. */
type Instances = Pick<Recipe, 'count' | 'instances'>;

/** How many numbers each of a recipe's instances takes of a data input. */
function widthOf(input: DataInput | DataStarInput, { instances }: Instances): number {
  const offsets = offsetsOf(input);
  return offsets === null ? input.dim : input.dim * lengthAt(offsets, instances?.[0] ?? 0);
}

/** Where among a data input's numbers those of a recipe's instances stand, column after column. */
export function dataSources(input: DataInput | DataStarInput, recipe: Instances): Uint32Array {
  const { count, instances } = recipe;
  const { dim } = input;
  const offsets = offsetsOf(input);
  const width = widthOf(input, recipe);
  const sources = new Uint32Array(width * count);
  for (let j = 0; j < count; j++) {
    const instance = instances === null ? j : (instances[j] as number);
    const first = offsets === null ? instance * dim : (offsets[instance] as number) * dim;
    for (let column = 0; column < width; column++) sources[column * count + j] = first + column;
  }
  return sources;
}

/** The numbers of one data input for a recipe's instances, column after column. */
export function dataColumns(input: DataInput | DataStarInput, values: Float64Array, recipe: Instances): Float64Array {
  const sources = dataSources(input, recipe);
  const columns = new Float64Array(sources.length);
  for (let i = 0; i < columns.length; i++) columns[i] = values[sources[i] as number] as number;
  return columns;
}

/** Reads a column of a table for `count` of a recipe's instances from `first` on. What it returns holds until it is called again. */
export type ColumnReader<A> = (column: number, first: number, count: number) => A;

/** Reads block indices; a column is a slot. */
export function indexReader(inputs: NamedInputs, recipe: Instances): ColumnReader<Uint32Array> {
  const slots: (readonly [input: AtInput | SharedInput | StarInput, place: number])[] = [];
  for (const input of inputs.values()) {
    if (input instanceof DataInput || input instanceof DataStarInput) continue;
    const width = input instanceof SharedInput ? 1 : input instanceof AtInput ? input.width : lengthAt(input.offsets, recipe.instances?.[0] ?? 0);
    for (let place = 0; place < width; place++) slots.push([input, place]);
  }
  let buffer = new Uint32Array(0);
  return (slot, first, count) => {
    if (buffer.length < count) buffer = new Uint32Array(count);
    const [input, place] = slots[slot] as (typeof slots)[number];
    const piece = buffer.subarray(0, count);
    if (input instanceof SharedInput) return piece.fill(input.index);
    return gather(piece, input.indices, [input instanceof AtInput ? input.width : 1, place], offsetsOf(input), first, recipe.instances);
  };
}

/** Reads the numbers of all data inputs of a recipe. */
export function dataReader(
  data: readonly (readonly [input: DataInput | DataStarInput, values: Float64Array, firstColumn: number])[],
  recipe: Instances,
): ColumnReader<Float64Array> {
  let buffer = new Float64Array(0);
  return (column, first, count) => {
    if (buffer.length < count) buffer = new Float64Array(count);
    const piece = buffer.subarray(0, count);
    for (const [input, values, firstColumn] of data) {
      const place = column - firstColumn;
      if (place < 0 || place >= widthOf(input, recipe)) continue;
      return gather(piece, values, [input.dim, place], offsetsOf(input), first, recipe.instances);
    }
    return piece.fill(0);
  };
}

/**
 * Fills a piece of a column from a table that holds `width` entries an instance, or with offsets `width` for each entry of an instance's
 * star. `place` is the column's place from the instance's first entry on.
 */
function gather<A extends Uint32Array | Float64Array>(
  piece: A,
  table: A,
  [width, place]: readonly [number, number],
  offsets: Uint32Array | null,
  first: number,
  instances: Uint32Array | null,
): A {
  if (offsets === null && instances === null) {
    for (let j = 0, at = first * width + place; j < piece.length; j++, at += width) piece[j] = table[at] as number;
    return piece;
  }
  for (let j = 0; j < piece.length; j++) {
    const instance = instances === null ? first + j : (instances[first + j] as number);
    piece[j] = table[(offsets === null ? instance : (offsets[instance] as number)) * width + place] as number;
  }
  return piece;
}

/** The instances of each combination of star lengths, ascending; groups in the order of their first instance. null for all. */
function groupByLengths(inputs: NamedInputs, count: number): (Uint32Array | null)[] {
  if (count === 0) return [];
  // Equal offsets give equal lengths, so each distinct table is looked at once.
  const stars = [...new Set([...inputs.values()].map(offsetsOf).filter((offsets) => offsets !== null))];
  if (stars.length === 0) return [null];
  const group = new Uint32Array(count);
  let groups = 1;
  for (const offsets of stars) {
    // A group so far and a length make a new group, numbered by first appearance.
    let longest = 0;
    for (let i = 0; i < count; i++) longest = Math.max(longest, lengthAt(offsets, i));
    const numbers = new Map<number, number>();
    // Neighbours are often alike.
    let [lastKey, lastNumber] = [-1, 0];
    for (let i = 0; i < count; i++) {
      const key = (group[i] as number) * (longest + 1) + lengthAt(offsets, i);
      if (key !== lastKey) {
        lastKey = key;
        lastNumber = numbers.get(key) ?? numbers.size;
        if (lastNumber === numbers.size) numbers.set(key, lastNumber);
      }
      group[i] = lastNumber;
    }
    groups = numbers.size;
  }
  if (groups === 1) return [null];
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
