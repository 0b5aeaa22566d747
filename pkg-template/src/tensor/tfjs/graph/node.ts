/** A node of a graph model: its attributes as JSON has them, and its inputs as values of the graph that is built. */

import { describe, invalidArgument } from '../../../arguments/errors.js';
import { typeNamed, type ElementType } from '../../onnx/element-types.js';
import type { GraphBuilder } from '../builder.js';
import { Fields } from '../fields.js';

/** An output of a node. */
export interface Source {
  readonly node: string;
  readonly output: number;
}

/** A node as a file has it. */
export interface GraphNode {
  readonly name: string;
  readonly operator: string;
  readonly inputs: readonly Source[];
  readonly attributes: Fields;
}

/** Element types by TensorFlow's names and numbers; integers of 64 bits are of 32 in TensorFlow.js, and doubles single. */
const TYPES: Readonly<Record<string, string>> = {
  DT_FLOAT: 'float', 1: 'float', DT_DOUBLE: 'float', 2: 'float', DT_HALF: 'float', 19: 'float', DT_INT32: 'int32', 3: 'int32', DT_INT64: 'int32', 9: 'int32',
  DT_INT16: 'int32', 5: 'int32', DT_INT8: 'int32', 6: 'int32', DT_UINT8: 'uint8', 4: 'uint8', DT_BOOL: 'bool', 10: 'bool',
};

/** Reads nodes. Throws 'invalid-argument' for nodes of one name. */
export function readNodes(list: readonly Fields[]): Map<string, GraphNode> {
  const nodes = new Map<string, GraphNode>();
  for (const fields of list) {
    const name = fields.text('name');
    const operator = fields.text('op');
    const place = `${fields.place.split(':')[0]}: node ${describe(name)} (${operator})`;
    const inputs = fields.list('input', []).flatMap((input) => {
      if (typeof input !== 'string') throw invalidArgument(`${place}: input`, describe(input), 'names of outputs');
      // What begins with ^ tells an order alone.
      return input.startsWith('^') ? [] : [sourceOf(input)];
    });
    if (nodes.has(name)) throw invalidArgument(place, 'another node of this name', 'each name once');
    nodes.set(name, { name, operator, inputs, attributes: Fields.of(place, fields.any('attr') ?? {}) });
  }
  return nodes;
}

/** A name with the number of an output after a colon; in functions the output has a name before, of which 'indices' is the second one of its operator. */
export function sourceOf(text: string): Source {
  const [node = '', ...rest] = text.split(':');
  const number = Number(rest.at(-1) ?? 0);
  const first = rest.length === 2 && rest[0] === 'indices' ? 1 : 0;
  return { node, output: first + (Number.isSafeInteger(number) && number >= 0 ? number : 0) };
}

/** A function of the file. */
export interface GraphFunction {
  readonly name: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly Source[];
  readonly nodes: ReadonlyMap<string, GraphNode>;
}

/** Runs a function: it gives its outputs for values of its inputs. */
export type CallFunction = (name: string, inputs: readonly string[]) => string[];

/** A node with its inputs, as operators see it. */
export class NodeCall {
  constructor(
    readonly builder: GraphBuilder,
    readonly node: GraphNode,
    /** Names of values in the graph that is built. */
    readonly inputs: readonly string[],
    /** The numbers of values that the file has. */
    private readonly known: (value: string) => readonly number[] | null,
    readonly run: CallFunction,
  ) {}

  get place(): string {
    return this.node.attributes.place;
  }

  has(k: number): boolean {
    return this.inputs[k] !== undefined;
  }

  input(k: number): string {
    const name = this.inputs[k];
    if (name === undefined) throw invalidArgument(`${this.place}: input ${k}`, 'none', 'the name of an output');
    return name;
  }

  /** The numbers of an input where the file has them, else null. */
  maybeNumbers(k: number): readonly number[] | null {
    return this.known(this.input(k));
  }

  /** The numbers of an input, which the file has. */
  numbers(k: number): readonly number[] {
    const found = this.maybeNumbers(k);
    if (found === null) throw invalidArgument(`${this.place}: input ${k}`, 'a computed tensor', 'numbers of a constant');
    return found;
  }

  number(k: number): number {
    const [first, ...others] = this.numbers(k);
    if (first === undefined || others.length > 0) throw invalidArgument(`${this.place}: input ${k}`, `${others.length + 1} numbers`, 'one number');
    return first;
  }

  /** An attribute in one of its kinds; null where it is absent. */
  private attribute(name: string, ...kinds: readonly string[]): unknown {
    const { attributes } = this.node;
    if (!attributes.has(name)) return null;
    const fields = attributes.object(name);
    const kind = kinds.find((each) => fields.has(each));
    return kind === undefined ? null : fields.any(kind);
  }

  hasAttribute(name: string): boolean {
    return this.node.attributes.has(name);
  }

  int(name: string, fallback?: number): number {
    const value = this.attribute(name, 'i') ?? fallback;
    return whole(`${this.place}: ${name}`, value);
  }

  float(name: string, fallback?: number): number {
    const value = this.attribute(name, 'f') ?? fallback;
    const number = typeof value === 'string' ? Number(value) : value;
    if (typeof number !== 'number') throw invalidArgument(`${this.place}: ${name}`, describe(value), 'a number');
    return number;
  }

  flag(name: string, fallback = false): boolean {
    const value = this.attribute(name, 'b') ?? fallback;
    if (typeof value !== 'boolean') throw invalidArgument(`${this.place}: ${name}`, describe(value), 'true or false');
    return value;
  }

  text(name: string, fallback?: string): string {
    const value = this.attribute(name, 's');
    if (value === null && fallback !== undefined) return fallback;
    return decoded(`${this.place}: ${name}`, value);
  }

  choice<T extends string>(name: string, choices: readonly T[], fallback?: T): T {
    const value = this.text(name, fallback) as T;
    if (!choices.includes(value)) throw invalidArgument(`${this.place}: ${name}`, describe(value), choices.map((each) => `'${each}'`).join(' or '));
    return value;
  }

  private list(name: string, kind: string): readonly unknown[] {
    const { attributes } = this.node;
    return attributes.has(name) ? attributes.object(name).object('list').list(kind, []) : [];
  }

  ints(name: string): readonly number[] {
    return this.list(name, 'i').map((value) => whole(`${this.place}: ${name}`, value));
  }

  texts(name: string): readonly string[] {
    return this.list(name, 's').map((value) => decoded(`${this.place}: ${name}`, value));
  }

  /** The name of a function in an attribute. */
  functionName(name: string): string {
    return this.node.attributes.object(name).object('func').text('name');
  }

  type(name: string, fallback?: ElementType): ElementType {
    if (!this.hasAttribute(name) && fallback !== undefined) return fallback;
    return typeOfCode(`${this.place}: ${name}`, this.attribute(name, 'type'));
  }

  /** Throws unless an attribute has one of its values. */
  expect(name: string, isTaken: boolean, got: unknown, takes: string): void {
    if (!isTaken) throw invalidArgument(`${this.place}: ${name}`, typeof got === 'string' ? describe(got) : String(got), takes);
  }
}

/** An element type by TensorFlow's name or number. */
export function typeOfCode(place: string, code: unknown): ElementType {
  const name = (typeof code === 'string' || typeof code === 'number') && Object.hasOwn(TYPES, code) ? TYPES[code] : undefined;
  if (name === undefined) throw invalidArgument(place, code === null ? 'none' : describe(code), Object.keys(TYPES).filter((key) => key.startsWith('DT_')).join(', '));
  return typeNamed(name);
}

/** A whole number, which JSON has as a text where it is of 64 bits. */
export function whole(place: string, value: unknown): number {
  const number = typeof value === 'string' && /^-?\d{1,16}$/.test(value) ? Number(value) : value;
  if (typeof number !== 'number' || !Number.isSafeInteger(number)) throw invalidArgument(place, value === null || value === undefined ? 'none' : describe(value), 'a whole number');
  return number;
}

/** A text, which JSON has in base 64 or byte by byte. */
function decoded(place: string, value: unknown): string {
  if (Array.isArray(value) && value.every((byte) => Number.isInteger(byte) && byte >= 0 && byte < 256)) return String.fromCharCode(...(value as number[]));
  if (typeof value === 'string' && value.length < 2 ** 16) {
    try {
      return atob(value);
    } catch {
      // It is none, which the next line says.
    }
  }
  throw invalidArgument(place, value === null ? 'none' : describe(value), 'a text in base 64');
}
