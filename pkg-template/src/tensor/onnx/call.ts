/** A node with its inputs, as operators see it: tensors, numbers in memory, attributes. */

import { describe, invalidArgument, ResiduaError } from '../../arguments/errors.js';
import { checkAxis } from '../recipe/operands.js';
import { shapeText, sizeText, type Size } from '../size.js';
import { zeros } from '../sources.js';
import { Tensor } from '../tensor.js';
import { typeNamed, typeOfCode, typeOfDType, type ElementType } from './element-types.js';
import { attributeText, type Attribute, type FileTensor, type GraphProto, type NodeProto } from './model.js';
import { NO_ORIGINS, originsOf, Value, type ConstantMemory, type Host, type Origins } from './values.js';

/** Numbers that must be known when a graph is recorded depend on inputs. */
export class UnknownNumbers extends ResiduaError {
  constructor(
    message: string,
    /** Which inputs. */
    readonly origins: Origins,
    /** What was to be known; null where that does not suffice. */
    readonly value: Value | null = null,
  ) {
    super('invalid-argument', message);
  }
}

/** What an operator gives: one output or several, of which those that are null were not asked for. */
export type Outputs = Tensor | Value | readonly (Tensor | Value | null)[];

/** An operator. */
export type Operator = (call: Call) => Outputs;

/** What runs a graph in an attribute: it gives its outputs. */
export type SubgraphRunner = (graph: GraphProto, inputs: readonly Value[]) => Value[];

/** A node with its inputs. */
export class Call {
  /** Inputs of graphs that its outputs depend on. */
  readonly origins: Origins;

  constructor(
    readonly node: NodeProto,
    /** The version of the operators of its domain. */
    readonly opset: number,
    private readonly given: readonly (Value | null)[],
    private readonly attributes: ReadonlyMap<string, Attribute>,
    private readonly memory: ConstantMemory,
    /** Runs a graph in an attribute. */
    readonly run: SubgraphRunner,
    /** Whether both graphs of a condition are computed where it is not known. */
    readonly takesBothBranches: boolean,
  ) {
    this.origins = originsOf(given);
  }

  /** How many inputs there are, with those left out in the middle. */
  get count(): number {
    return this.given.length;
  }

  /** Whether an input is given. */
  has(place: number): boolean {
    return this.given[place] != null;
  }

  /** Whether an output is asked for. */
  wants(place: number): boolean {
    return (this.node.outputs[place] ?? '') !== '';
  }

  /** An input. Throws 'invalid-argument' where it was left out. */
  value(place: number): Value {
    const value = this.given[place];
    if (value == null) throw invalidArgument(`input ${place}`, 'none', 'a tensor');
    return value;
  }

  /** An input as a tensor. Throws 'invalid-argument' where it was left out. */
  tensor(place: number): Tensor {
    return this.value(place).tensor(this.memory);
  }

  /** An input as a tensor, or undefined where it was left out. */
  maybe(place: number): Tensor | undefined {
    return this.has(place) ? this.tensor(place) : undefined;
  }

  /** All inputs as tensors. */
  get tensors(): Tensor[] {
    return this.given.map((_, place) => this.tensor(place));
  }

  /** All inputs as numbers in memory, null where one of them is none, or is left out. */
  get hosts(): Host[] | null {
    const hosts = this.given.map((value) => value?.host ?? null);
    return hosts.includes(null) ? null : (hosts as Host[]);
  }

  /** Numbers in memory of an input, among which Dims may be. Throws where they are not known. */
  sizes(place: number): readonly Size[] {
    const value = this.value(place);
    if (value.host !== null) return value.host.data;
    const from = [...value.origins].map((name) => describe(name)).join(', ');
    const got = value.origins.size === 0 ? `a computed tensor ${shapeText(value.shape)}` : `a tensor that depends on the numbers of ${from}`;
    throw new UnknownNumbers(`input ${place}: got ${got}; takes at most 4096 numbers that are known when the graph is recorded`, value.origins, value);
  }

  /** Numbers of an input. Throws where they are not known, or depend on a Dim. */
  numbers(place: number): readonly number[] {
    return this.sizes(place).map((size) => {
      if (typeof size !== 'number') throw invalidArgument(`input ${place}`, `the Dim ${sizeText(size)}`, 'numbers');
      return size;
    });
  }

  /** The number of an input. */
  number(place: number): number {
    const numbers = this.numbers(place);
    if (numbers.length !== 1) throw invalidArgument(`input ${place}`, `${numbers.length} numbers`, 'one number');
    return numbers[0] as number;
  }

  /** Whether an attribute is given. */
  hasAttribute(name: string): boolean {
    return this.attributes.has(name);
  }

  int(name: string, fallback?: number): number {
    return this.attribute(name, 'int', fallback);
  }

  flag(name: string, fallback = false): boolean {
    return this.int(name, Number(fallback)) !== 0;
  }

  float(name: string, fallback?: number): number {
    return this.attribute(name, 'float', fallback);
  }

  text(name: string, fallback?: string): string {
    const bytes = this.attribute(name, 'text', fallback === undefined ? undefined : null);
    return bytes === null ? (fallback as string) : attributeText(`attribute ${name}`, bytes);
  }

  /** One of the texts that an attribute may be. */
  choice<T extends string>(name: string, choices: readonly T[], fallback?: T): T {
    const text = this.text(name, fallback) as T;
    if (!choices.includes(text)) throw invalidArgument(`attribute ${name}`, describe(text), choices.map((each) => `'${each}'`).join(' or '));
    return text;
  }

  ints(name: string): readonly number[] | undefined {
    return this.attributes.has(name) ? this.attributes.get(name)?.ints : undefined;
  }

  floats(name: string): readonly number[] | undefined {
    return this.attributes.has(name) ? this.attributes.get(name)?.floats : undefined;
  }

  texts(name: string): readonly string[] | undefined {
    return this.attributes.get(name)?.texts.map((bytes) => attributeText(`attribute ${name}`, bytes));
  }

  tensorAttribute(name: string): FileTensor | undefined {
    return this.attributes.get(name)?.tensor;
  }

  graph(name: string): GraphProto {
    return this.attribute<'graph', never>(name, 'graph', undefined);
  }

  /** An element type by its number in an attribute. */
  type(name: string, fallback?: ElementType): ElementType {
    if (fallback !== undefined && this.int(name, 0) === 0) return fallback;
    return typeOfCode(`attribute ${name}`, this.int(name));
  }

  /** An attribute that is the number of an axis, from 0. */
  axis(name: string, rank: number, fallback?: number): number {
    return checkAxis(`attribute ${name}`, this.int(name, fallback), rank);
  }

  /** Whole numbers that are an attribute in old versions, an input in new ones; undefined where neither is given. */
  listed(name: string, place: number): readonly number[] | undefined {
    return this.has(place) ? this.numbers(place) : this.ints(name);
  }

  /** Numbers in memory as an output. */
  hostOutput(type: ElementType, sizes: readonly number[], data: readonly Size[]): Value {
    return Value.ofHost({ sizes, data }, type, this.origins);
  }

  /** Numbers in memory that do not depend on those of inputs: shapes. */
  withoutOrigins(type: ElementType, sizes: readonly number[], data: readonly Size[]): Value {
    return Value.ofHost({ sizes, data }, type, NO_ORIGINS);
  }

  /** A tensor of an attribute as a value. */
  constant(tensor: FileTensor): Value {
    return Value.ofFile(tensor);
  }

  /** A value as a tensor. */
  tensorOf(value: Value): Tensor {
    return value.tensor(this.memory);
  }

  /** A tensor of numbers, stored once for the model. */
  stored(type: ElementType, sizes: readonly number[], data: readonly number[]): Tensor {
    return this.hostOutput(type, sizes, data).tensor(this.memory);
  }

  /** A vector of places, stored once for the model. */
  indices(numbers: readonly number[]): Tensor<'i32'> {
    return numbers.length === 0 ? zeros([0], 'i32') : this.stored(typeNamed('int32'), [numbers.length], numbers);
  }

  /** A tensor as an output of an element type. */
  output(tensor: Tensor, type: ElementType): Value {
    return Value.ofTensor(tensor.dtype === type.dtype ? tensor : tensor.cast(type.dtype), type, this.origins);
  }

  /** The outputs as values; the type is that of the first input where that has the same elements. */
  wrap(outputs: Outputs): (Value | null)[] {
    const first = this.given.find((value) => value != null)?.type;
    const list = outputs instanceof Tensor || outputs instanceof Value ? [outputs] : outputs;
    return list.map((each) => {
      if (each === null || each instanceof Value) return each;
      return Value.ofTensor(each, first !== undefined && first.dtype === each.dtype ? first : typeOfDType(each.dtype), this.origins);
    });
  }

  private attribute<K extends 'int' | 'float' | 'text' | 'graph', F>(name: string, kind: K, fallback: F | undefined): NonNullable<Attribute[K]> | F {
    const attribute = this.attributes.get(name);
    const value = attribute?.[kind];
    if (value !== undefined) return value as NonNullable<Attribute[K]>;
    if (attribute === undefined && fallback !== undefined) return fallback;
    throw invalidArgument(`attribute ${name}`, attribute === undefined ? 'none' : 'one of another kind', { int: 'a whole number', float: 'a number', text: 'a text', graph: 'a graph' }[kind]);
  }
}

/** Throws 'invalid-argument' unless a tensor has numbers as sizes; returns them. */
export function numberSizes(argument: string, { shape }: Tensor | Value): readonly number[] {
  return shape.map((size, axis) => {
    if (typeof size !== 'number') throw invalidArgument(argument, `the Dim ${sizeText(size)} as the size of axis ${axis}`, 'sizes that are numbers: tell them in the option dims');
    return size;
  });
}

/** Throws 'limit-exceeded' where a count is larger than a limit. */
export function checkLimit(what: string, count: number, most: number): void {
  if (!(count <= most)) throw new ResiduaError('limit-exceeded', `got ${count} ${what}; takes ${most} at most`);
}
