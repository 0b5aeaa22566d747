/** Builds a graph of ONNX' operators. Names of values that a file does not have are made here. */

import { invalidArgument } from '../../arguments/errors.js';
import { typeNamed } from '../onnx/element-types.js';
import type { Attribute, FileTensor, GraphProto, NodeProto } from '../onnx/model.js';

/** The version of ONNX' operators that graphs are written in. */
export const OPSET = 20;

/** What an attribute may be; a number is one of both kinds. */
export type AttributeValue = number | string | readonly number[] | readonly string[] | GraphProto;

export type Attributes = Readonly<Record<string, AttributeValue>>;

const encoder = /* @__PURE__ */ new TextEncoder();

function attributeOf(name: string, value: AttributeValue): Attribute {
  const empty = { name, ints: [], floats: [], texts: [] };
  if (typeof value === 'number') return { ...empty, int: value, float: value };
  if (typeof value === 'string') return { ...empty, text: encoder.encode(value) };
  if ('nodes' in value) return { ...empty, graph: value };
  if (value.every((each) => typeof each === 'string')) return { ...empty, texts: value.map((each) => encoder.encode(each)) };
  return { ...empty, ints: value as readonly number[], floats: value as readonly number[] };
}

/** The nodes of a graph as they are added. Values are names. */
export class GraphBuilder {
  /** What nodes that are added belong to, in messages. */
  where = '';
  nodes: NodeProto[] = [];
  readonly initializers: FileTensor[] = [];
  private readonly ofTensors = new Map<FileTensor, string>();
  private readonly ofNumbers = new Map<string, string>();
  /** Values that depend on constants alone. */
  private readonly fixed = new Set<string>();
  private ofConstants = new Map<string, string>();
  private readonly sizes = new Map<string, readonly number[]>();
  private count = 0;

  /** @param reserved names of the file, which values here do not have */
  constructor(private readonly reserved: ReadonlySet<string>) {}

  /** A name that no value has. */
  fresh(): string {
    for (;;) {
      const name = `:${this.count++}`;
      if (!this.reserved.has(name)) return name;
    }
  }

  /** Adds a node with one output. A node of constants alone stands once, however often it is added. */
  node(operator: string, inputs: readonly string[], attributes: Attributes = {}, output?: string): string {
    const isConstant = output === undefined && inputs.length > 0 && inputs.every((name) => this.fixed.has(name));
    const key = isConstant ? JSON.stringify([operator, inputs, attributes]) : '';
    const known = this.ofConstants.get(key);
    if (isConstant && known !== undefined) return known;
    const name = output ?? this.fresh();
    if (isConstant) {
      this.fixed.add(name);
      this.ofConstants.set(key, name);
    }
    this.add(operator, inputs, [name], attributes);
    return name;
  }

  /** Adds a node with so many outputs. */
  several(operator: string, inputs: readonly string[], count: number, attributes: Attributes = {}): string[] {
    const outputs = Array.from({ length: count }, () => this.fresh());
    this.add(operator, inputs, outputs, attributes);
    return outputs;
  }

  /** A weight of the file. */
  weight(tensor: FileTensor): string {
    let name = this.ofTensors.get(tensor);
    if (name === undefined) {
      name = this.fresh();
      this.ofTensors.set(tensor, name);
      this.initializers.push({ ...tensor, name });
      this.sizes.set(name, tensor.sizes);
      this.fixed.add(name);
    }
    return name;
  }

  /** Whole numbers: a list, or one number. */
  ints(data: readonly number[] | number): string {
    const wide = [data].flat().find((each) => each !== Math.trunc(each) || Math.abs(each) >= 2 ** 31);
    if (wide !== undefined) throw invalidArgument(`loadTfjs: ${this.where}`, `the number ${wide}`, 'whole numbers of 32 bits');
    return this.numbers(data, 'int32', (list) => Int32Array.from(list));
  }

  /** Numbers of single precision: a list, or one number. */
  floats(data: readonly number[] | number): string {
    return this.numbers(data, 'float', (list) => Float32Array.from(list));
  }

  private numbers(data: readonly number[] | number, type: 'int32' | 'float', array: (list: readonly number[]) => ArrayBufferView<ArrayBuffer>): string {
    const key = `${type} ${typeof data === 'number' ? '' : '#'}${String(data)}`;
    let name = this.ofNumbers.get(key);
    if (name === undefined) {
      const [list, sizes] = typeof data === 'number' ? [[data], []] : [data, [data.length]];
      name = this.weight({ name: '', type: typeNamed(type), sizes, bytes: new Uint8Array(array(list).buffer), stored: null });
      this.ofNumbers.set(key, name);
    }
    return name;
  }

  /** The sizes of a weight or of numbers. */
  sizesOf(name: string): readonly number[] | undefined {
    return this.sizes.get(name);
  }

  /** A value with channels last, as TensorFlow has it, as one with its channels on axis 1: a view. */
  channelsFirst(x: string, rank: number): string {
    return this.node('Transpose', [x], { perm: [0, rank - 1, ...Array.from({ length: rank - 2 }, (_, k) => k + 1)] });
  }

  /** A value with its channels on axis 1 as one with channels last: a view. */
  channelsLast(x: string, rank: number): string {
    return this.node('Transpose', [x], { perm: [0, ...Array.from({ length: rank - 2 }, (_, k) => k + 2), 1] });
  }

  /** A graph of its own, for an attribute: nodes that `fill` adds are in it. */
  graph(inputs: readonly string[], fill: () => readonly string[]): GraphProto {
    const [outer, ofConstants] = [this.nodes, this.ofConstants];
    this.nodes = [];
    // What is made within is not seen from outside.
    this.ofConstants = new Map(ofConstants);
    try {
      const outputs = fill();
      const info = (name: string) => ({ name, type: null, shape: null });
      return { nodes: this.nodes, initializers: [], inputs: inputs.map(info), outputs: outputs.map(info) };
    } finally {
      [this.nodes, this.ofConstants] = [outer, ofConstants];
    }
  }

  private add(operator: string, inputs: readonly string[], outputs: readonly string[], attributes: Attributes): void {
    const named = new Map(Object.entries(attributes).map(([name, value]) => [name, attributeOf(name, value)]));
    this.nodes.push({ name: this.where, operator, domain: '', inputs: [...inputs], outputs: [...outputs], attributes: named });
  }
}
