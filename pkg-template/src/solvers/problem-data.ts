/**
 * The data that each of many problems has of its own: for an input one array with the numbers of all problems, or a list with an array for each problem.
 * Arrays of a list may differ in length. Then the block gets as many instances as the longest problem, and those that a problem lacks have the weight 0.
 */

import { invalidArgument } from '../arguments/errors.js';
import { checkObject, copyAnyNumbers, type Numbers } from '../arguments/numeric-arguments.js';
import { AtInput, DataInput, GridInput, offsetsOf, type AnyInput } from '../problem/inputs.js';
import { checkCounts } from '../problem/loop-counts.js';
import { Problem } from '../problem/problem.js';
import { ResidualInstances } from '../problem/residual-block.js';
import { checkWeights, WEIGHTS } from '../problem/weights.js';

/** Data of many problems: by residual block and by input, an array for all problems or a list with one for each. */
type ManyData = Readonly<Record<string, Readonly<Record<string, Numbers | readonly Numbers[]>>>>;

/** The numbers of one data input for all problems. */
export interface OwnData {
  /** Position of the residual block in the template. */
  readonly block: number;
  /** Its name in messages. */
  readonly name: string;
  /** The input; null for weights that the template's block does not have. */
  readonly key: string | null;
  /** Numbers of an instance; null where instances differ in that. */
  readonly dim: number | null;
  /** Numbers of a problem. */
  readonly length: number;
  /** They themselves, problem after problem. */
  readonly values: Float64Array;
}

/** Numbers of an input: of all problems, or a list by problem. */
type Given = Float64Array | readonly Float64Array[];

/** Checks and copies data. Returns them with the template whose blocks have the instances that they need. */
export function takeProblemData(template: Problem, count: number, data: ManyData = {}): { template: Problem; own: OwnData[] } {
  checkObject('solveMany: batch.data', data);
  const own: OwnData[] = [];
  const shape = new Problem();
  shape.arrays.push(...template.arrays);
  shape.grids.push(...template.grids);
  const blocks = Object.keys(data).map((name) => find(`solveMany: batch.data.${name}`, 'residual block', template.blocks, name));
  for (const block of template.blocks) {
    const inputs = blocks.includes(block) ? data[block.name] : undefined;
    shape.blocks.push(inputs === undefined ? resized(block, shape.numResiduals, null) : takeBlock(block, shape, count, inputs, own));
  }
  return { template: shape, own };
}

/** Takes the inputs of a block, and returns the block with as many instances as they need. */
function takeBlock(block: ResidualInstances, shape: Problem, count: number, inputs: ManyData[string], own: OwnData[]): ResidualInstances {
  const argument = `solveMany: batch.data.${block.name}`;
  checkObject(argument, inputs);
  const given = new Map<string, Given>();
  for (const [key, values] of Object.entries(inputs)) given.set(key, takeInput(block, `${argument}.${key}`, key, values, count));
  const position = shape.blocks.length;
  const lengths = instancesOf(block, argument, given, count);
  const add = (key: string | null, dim: number | null, values: Float64Array) => {
    own.push({ block: position, name: `batch.data.${block.name}.${key}`, key, dim, length: values.length / Math.max(count, 1), values });
  };
  const dimOf = (key: string): number | null => {
    const { input } = block.data.get(key)!;
    return input instanceof DataInput ? input.dim : null;
  };
  if (lengths === null) {
    for (const [key, values] of given) add(key, dimOf(key), values as Float64Array);
    return resized(block, shape.numResiduals, null);
  }
  const size = sizeOf(block, argument, given, lengths);
  const weights = [...block.data].find(([, { isWeight }]) => isWeight)?.[0] ?? null;
  const isMasked = lengths.some((length) => length < size);
  for (const [key, values] of given) {
    if (key === weights && isMasked) continue;
    add(key, dimOf(key), values instanceof Float64Array ? values : padded(values, size * (dimOf(key) as number), dimOf(key) as number));
  }
  if (isMasked) {
    const known = weights === null ? null : (given.get(weights) ?? block.data.get(weights)!.values);
    add(weights, 1, masks(known, lengths, size, block.count));
  }
  return resized(block, shape.numResiduals, { size, addsWeights: isMasked && weights === null });
}

function takeInput(block: ResidualInstances, argument: string, key: string, values: Numbers | readonly Numbers[], count: number): Given {
  const data = block.data.get(key);
  if (data === undefined || data.isPlace) {
    const names = [...block.data].filter(([, { isPlace }]) => !isPlace).map(([name]) => name);
    throw invalidArgument(argument, data === undefined ? 'no data input of that name' : 'places in a grid of parameters, which all problems share', namesOf('data input', names));
  }
  if (!isList(values)) {
    const { length } = data.values;
    const copy = copyAnyNumbers(argument, values, count * length, `${count} problems × ${length} numbers of "${key}"`);
    if (data.isWeight) checkWeights(argument, copy);
    checkCounts(argument, block.templates, key, block.data, copy);
    return copy;
  }
  if (!(data.input instanceof DataInput)) throw invalidArgument(argument, 'a list of arrays', 'one array for all problems, since it is a dataStar');
  if (values.length !== count) throw invalidArgument(argument, `${values.length} arrays`, `${count}: one for each problem`);
  const { dim } = data.input;
  return values.map((numbers, problem) => {
    const copy = copyAnyNumbers(`${argument}[${problem}]`, numbers);
    if (copy.length % dim !== 0) throw invalidArgument(`${argument}[${problem}]`, `${copy.length} numbers`, `a multiple of ${dim}, the numbers of an instance`);
    if (data.isWeight) checkWeights(`${argument}[${problem}]`, copy);
    checkCounts(`${argument}[${problem}]`, block.templates, key, block.data, copy);
    return copy;
  });
}

/** Whether data are a list of arrays, one for each problem. */
export function isList(values: Numbers | readonly Numbers[]): values is readonly Numbers[] {
  return Array.isArray(values) && typeof values[0] === 'object';
}

/** Returns the number of instances of each problem, on which all lists agree; null without a list. */
function instancesOf(block: ResidualInstances, argument: string, given: ReadonlyMap<string, Given>, count: number): Uint32Array | null {
  let first: { key: string; lengths: Uint32Array } | null = null;
  for (const [key, lists] of given) {
    if (lists instanceof Float64Array) continue;
    const { dim } = block.data.get(key)!.input;
    const lengths = Uint32Array.from(lists, ({ length }) => length / dim);
    first ??= { key, lengths };
    for (let problem = 0; problem < count; problem++) {
      if (lengths[problem] === first.lengths[problem]) continue;
      const takes = `as many as ${first.key} has for problem ${problem}, ${first.lengths[problem]}`;
      throw invalidArgument(`${argument}.${key}[${problem}]`, `${lengths[problem]} instances`, takes);
    }
  }
  return first?.lengths ?? null;
}

/**
 * Returns the number of instances that the block gets: that of the longest problem, or with stars as many as it has. Inputs that are no lists must have
 * so many.
 */
function sizeOf(block: ResidualInstances, argument: string, given: ReadonlyMap<string, Given>, lengths: Uint32Array): number {
  const longest = lengths.reduce((most, length) => Math.max(most, length), 1);
  const isFixed = ([key, input]: readonly [string, AnyInput]) => {
    return (input instanceof AtInput || input instanceof DataInput || offsetsOf(input) !== null) && !Array.isArray(given.get(key));
  };
  const fixed = [...block.inputs].find(isFixed);
  if (longest > block.count && (fixed !== undefined || block.count === 0)) {
    const key = [...given].find(([, lists]) => Array.isArray(lists))?.[0] as string;
    const problem = lengths.indexOf(longest);
    const as = fixed === undefined ? "those of the template's block" : `as many as the input "${fixed[0]}" has`;
    throw invalidArgument(`${argument}.${key}[${problem}]`, `${longest} instances`, `at most ${block.count}, ${as}`);
  }
  return hasStars(block) ? block.count : longest;
}

function hasStars(block: ResidualInstances): boolean {
  return [...block.inputs.values()].some((input) => offsetsOf(input) !== null);
}

/** Returns lists one after another, each filled up with copies of its first instance to `length` numbers. */
function padded(lists: readonly Float64Array[], length: number, dim: number): Float64Array {
  const values = new Float64Array(lists.length * length);
  lists.forEach((list, problem) => {
    const start = problem * length;
    values.set(list, start);
    for (let at = list.length; at < length && list.length > 0; at++) values[start + at] = list[at % dim] as number;
  });
  return values;
}

/** Returns the weights of `size` instances of each problem: those that are known, else 1, and 0 of the instances that a problem lacks. */
function masks(known: Given | null, lengths: Uint32Array, size: number, ofTemplate: number): Float64Array {
  const weights = new Float64Array(lengths.length * size);
  lengths.forEach((length, problem) => {
    const own = weights.subarray(problem * size, problem * size + length);
    if (known === null) own.fill(1);
    else if (!(known instanceof Float64Array)) own.set(known[problem] as Float64Array);
    // Those of the template are the same for all problems.
    else own.set(known.subarray(known.length === ofTemplate ? 0 : problem * ofTemplate).subarray(0, length));
  });
  return weights;
}

/** Returns a block with its settings at another place among the residuals, with another number of instances if that is given. */
function resized(block: ResidualInstances, offset: number, to: { size: number; addsWeights: boolean } | null): ResidualInstances {
  if (to === null && offset === block.offset) return block;
  const { size, addsWeights } = to ?? { size: block.count, addsWeights: false };
  const isSame = size === block.count;
  const inputs = new Map<string, AnyInput>();
  for (const [key, input] of block.inputs) inputs.set(key, isSame ? input : withInstances(input, size));
  const templates = block.templates.map((template) => {
    const added = addsWeights ? { weightColumn: template.dataColumns, dataColumns: template.dataColumns + 1 } : {};
    return { ...template, count: isSame ? template.count : size, ...added };
  });
  const residuals = isSame ? block.numResiduals : size * (block.numResiduals / block.count);
  const weights = block.data.get(WEIGHTS)?.isWeight === true ? (inputs.get(WEIGHTS) as DataInput) : null;
  const made = new ResidualInstances(block.name, size, offset, residuals, templates, inputs, weights);
  for (const [key, data] of made.data) data.values = isSame ? block.data.get(key)!.values : ofLength(block.data.get(key)!.values, data.values.length);
  [made.weight, made.loss, made.enabled] = [block.weight, block.loss, block.enabled];
  return made;
}

/** Returns an input of a block without stars with another number of instances. */
function withInstances(input: AnyInput, size: number): AnyInput {
  if (input instanceof GridInput) {
    const { owner, dim, values } = input.behind;
    return input.of(input.array, input.indices.subarray(0, size * input.width), new DataInput(owner, dim, ofLength(values, size * dim)));
  }
  if (input instanceof AtInput) return new AtInput(input.array, input.indices.subarray(0, size * input.width), input.width, input.single);
  if (input instanceof DataInput) return new DataInput(input.owner, input.dim, ofLength(input.values, size * input.dim));
  return input;
}

function ofLength(values: Float64Array, length: number): Float64Array {
  const copy = new Float64Array(length);
  copy.set(values.subarray(0, length));
  return copy;
}

/** Returns the item of a list with a name. Throws 'invalid-argument' without one. */
export function find<T extends { readonly name: string }>(argument: string, what: string, list: readonly T[], name: string): T {
  const found = list.find((item) => item.name === name);
  if (found === undefined) throw invalidArgument(argument, `no ${what} of that name`, namesOf(what, list.map((item) => item.name)));
  return found;
}

function namesOf(what: string, names: readonly string[]): string {
  return names.length === 0 ? `none: the template has no ${what}` : `one of "${names.join('", "')}"`;
}
