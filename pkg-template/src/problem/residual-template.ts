/**
 * Residual templates: from the inputs and the residual function of a block to recorded functions. Instances are grouped by the lengths of
 * their stars, and the residual function is recorded once for each combination of lengths that occurs.
 */

import { makeBlock, scalarsOf } from '../expressions/block.js';
import { Op } from '../expressions/op-codes.js';
import { record, Recording } from '../expressions/tape.js';
import { Value } from '../expressions/value.js';
import type { Tape } from '../module/raw.js';
import type { NamedInputs } from './block-inputs.js';
import { checkDependsOnParameters, withStates, type ConstraintKind } from './constraint-function.js';
import { AtInput, DataInput, GridInput, offsetsOf, ownerOf, SharedInput, starLength, StarInput, type AnyInput } from './inputs.js';
import type { PlainInstances } from './plain-instances.js';
import { SQRT_INFORMATION, type SqrtInformation } from './sqrt-information.js';
import { WEIGHTS } from './weights.js';

/** A recorded residual function with its instances. */
export interface ResidualTemplate {
  /** Number of instances. */
  readonly count: number;
  /** The instances of the block that belong to it, ascending; null for all of them. */
  readonly instances: Uint32Array | null;
  /** The first residual of each instance, counted within the block; null if they are consecutive. */
  readonly rows: Uint32Array | null;
  /** The parameter array of each slot, that is of each block that an instance takes. */
  readonly slotArrays: readonly object[];
  /** The first column of each data input. */
  readonly firstColumns: ReadonlyMap<string, number>;
  /** How many numbers an instance takes. */
  readonly dataColumns: number;
  /** The data column that is an instance's weight; null without. The recorded function does not have it. */
  readonly weightColumn: number | null;
  /** The first data column of the states of a constraint block; null in residual blocks. */
  readonly stateColumn: number | null;
  /** Data columns that are counts of loops: whole numbers, those of a list ascending. */
  readonly counts: readonly (readonly number[])[];
  /** The recorded residual function. */
  readonly tape: Tape;
  /** The plain function that it stands for; null for a recorded one. */
  readonly plain: PlainInstances | null;
}

/** A function that is recorded, and what is made of its outputs. */
export interface RecordedFunction {
  /** Its block in messages, as `residuals "name"`. */
  readonly call: string;
  /** Its name in messages. */
  readonly name: 'residual' | 'constraint';
  readonly function: (inputs: never) => unknown;
  readonly sqrtInformation: SqrtInformation | null;
  readonly isWeighted: boolean;
  /** The kind of its constraints; null for residuals. */
  readonly constraint: ConstraintKind | null;
}

/** Records a function for every combination of star lengths. Returns the templates and their total number of outputs. */
export function makeTemplates(
  inputs: NamedInputs,
  count: number,
  recordable: RecordedFunction,
): { templates: ResidualTemplate[]; residuals: number } {
  const groups = groupByLengths(inputs, count);
  const recorded = groups.map((instances) => ({ instances, ...recordFunction(inputs, instances?.[0] ?? 0, recordable) }));
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
  const templates = recorded.map(({ instances, ...recording }): ResidualTemplate => {
    if (instances === null) return { count, instances, rows: null, ...recording };
    const outputs = recording.tape.outputs.length;
    const rows = new Uint32Array(instances.length);
    for (let j = 0; j < rows.length; j++) {
      const instance = instances[j] as number;
      rows[j] = firstRows === null ? instance * outputs : (firstRows[instance] as number);
    }
    return { count: rows.length, instances, rows, ...recording };
  });
  return { templates, residuals };
}

/** Records a function of a block without stars that has no instances yet. */
export function emptyTemplate(inputs: NamedInputs, recordable: RecordedFunction): ResidualTemplate {
  return { count: 0, instances: null, rows: null, ...recordFunction(inputs, 0, recordable) };
}

/**
 * Returns the instances of each combination of star lengths, ascending. Groups are in the order of their first instance; null stands for
 * all instances.
 */
export function groupByLengths(inputs: NamedInputs, count: number): (Uint32Array | null)[] {
  if (count === 0) return [];
  // Equal offsets give equal lengths, so each distinct table is read once.
  const stars = [...new Set([...inputs.values()].map(offsetsOf).filter((offsets) => offsets !== null))];
  if (stars.length === 0) return [null];
  const group = new Uint32Array(count);
  let groups = 1;
  for (const offsets of stars) {
    // A pair of the previous group and a length is a new group, numbered by first appearance.
    let longest = 0;
    for (let i = 0; i < count; i++) longest = Math.max(longest, starLength(offsets, i));
    const numbers = new Map<number, number>();
    // Adjacent instances often have the same key, so the last one is kept.
    let [lastKey, lastNumber] = [-1, 0];
    for (let i = 0; i < count; i++) {
      const key = (group[i] as number) * (longest + 1) + starLength(offsets, i);
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

/** Runs the function once, for instances whose stars have the lengths of those of `instance`. */
function recordFunction(
  inputs: NamedInputs,
  instance: number,
  { call, name, function: run, sqrtInformation, isWeighted, constraint }: RecordedFunction,
): Pick<ResidualTemplate, 'tape' | 'counts' | 'slotArrays' | 'firstColumns' | 'dataColumns' | 'weightColumn' | 'stateColumn' | 'plain'> {
  const recording = new Recording('residual');
  for (const input of inputs.values()) recording.owner = ownerOf(input);
  const slotArrays: object[] = [];
  const firstColumns = new Map<string, number>();
  let parameters = 0;
  let columns = 0;
  const nextParameter = () => Value.at(recording, recording.push(Op.parameter, parameters++, 0, 0));
  const nextDatum = () => Value.at(recording, recording.push(Op.data, columns++, 0, 0));
  const parameterBlock = (input: AtInput | SharedInput | StarInput) => {
    slotArrays.push(input.array);
    return input.array.makeBlock(nextParameter);
  };
  const argumentOf = (key: string, input: AnyInput): unknown => {
    if (input instanceof SharedInput) return parameterBlock(input);
    if (input instanceof GridInput) {
      const nodes = Array.from({ length: input.width }, () => {
        slotArrays.push(input.array);
        return Array.from({ length: input.array.dim }, nextParameter);
      });
      firstColumns.set(key, columns);
      return input.grid.makePoint(nodes, Array.from({ length: input.behind.dim }, nextDatum));
    }
    if (input instanceof AtInput) {
      return input.single ? parameterBlock(input) : Array.from({ length: input.width }, () => parameterBlock(input));
    }
    if (input instanceof StarInput) return Array.from({ length: starLength(input.offsets, instance) }, () => parameterBlock(input));
    firstColumns.set(key, columns);
    if (input instanceof DataInput) return makeBlock(input.dim, nextDatum);
    return Array.from({ length: starLength(input.offsets, instance) }, () => makeBlock(input.dim, nextDatum));
  };
  let stateColumn: number | null = null;
  let constraints: Uint32Array = new Uint32Array();
  const outputs = record(recording, () => {
    const args = Object.fromEntries([...inputs].map(([key, input]) => [key, argumentOf(key, input)]));
    const scalars = scalarsOf(`${call}: what ${name} returned`, run(args as never));
    if (constraint !== null) {
      stateColumn = columns;
      constraints = recording.positions(scalars);
      return recording.positions(withStates(constraint, scalars, nextDatum));
    }
    if (sqrtInformation === null) return recording.positions(scalars);
    sqrtInformation.prepare(scalars.length);
    if (sqrtInformation.input !== null) firstColumns.set(SQRT_INFORMATION, columns);
    return recording.positions(sqrtInformation.apply(scalars, nextDatum));
  });
  const weightColumn = isWeighted ? columns++ : null;
  if (weightColumn !== null) firstColumns.set(WEIGHTS, weightColumn);
  const tape = recording.finish(outputs);
  if (constraint !== null) checkDependsOnParameters(call, tape, constraints);
  return { tape, counts: recording.counts, slotArrays, firstColumns, dataColumns: columns, weightColumn, stateColumn, plain: null };
}
