/** Builds a graph of ONNX' operators. Names of values that a file does not have are made here. */

import { typeNamed } from '../onnx/element-types.js';
import type { Attribute, FileTensor, GraphProto, NodeProto } from '../onnx/model.js';

/** The version of ONNX' operators that graphs are written in. */
export const OPSET = 20;

/** What an attribute may be; a number is one of both kinds. */
export type AttributeValue = number | string | readonly number[] | readonly string[] | GraphProto;

export type Attributes = Readonly<Record<string, AttributeValue>>;

/** A value that is computed with its channels on axis 1. */
interface Twin {
  readonly name: string;
  readonly rank: number;
}

const encoder = /* @__PURE__ */ new TextEncoder();

function attributeOf(name: string, value: AttributeValue): Attribute {
  const empty = { name, ints: [], floats: [], texts: [] };
  if (typeof value === 'number') return { ...empty, int: value, float: value };
  if (typeof value === 'string') return { ...empty, text: encoder.encode(value) };
  if ('nodes' in value) return { ...empty, graph: value };
  if (value.every((each) => typeof each === 'string')) return { ...empty, texts: value.map((each) => encoder.encode(each)) };
  return { ...empty, ints: value as readonly number[], floats: value as readonly number[] };
}

/**
 * The nodes of a graph as they are added. Values are names. TensorFlow has channels last, ONNX has them on axis 1: what a convolution or a pool gives is known
 * in both orders, and operators element by element go on with that of ONNX, so that no picture is transposed between layers.
 */
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
  /** The sizes of some of them. */
  private readonly constants = new Map<string, readonly number[]>();
  private readonly twins = new Map<string, Twin>();
  private transposed = new Map<string, string>();
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
      this.constants.set(name, tensor.sizes);
      this.fixed.add(name);
    }
    return name;
  }

  /** Whole numbers: a list, or one number. */
  ints(data: readonly number[] | number): string {
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

  /** The sizes of a value that depends on constants alone, where they are known here. */
  sizesOf(name: string): readonly number[] | undefined {
    return this.constants.get(name);
  }

  /** A value with channels last as one with its channels on axis 1. */
  channelsFirst(x: string, rank: number): string {
    const known = this.twins.get(x)?.name ?? this.transposed.get(x);
    if (known !== undefined) return known;
    const name = this.node('Transpose', [x], { perm: [0, rank - 1, ...Array.from({ length: rank - 2 }, (_, k) => k + 1)] });
    this.transposed.set(x, name);
    return name;
  }

  /** A value with its channels on axis 1 as one with channels last. */
  channelsLast(x: string, rank: number): string {
    const name = this.node('Transpose', [x], { perm: [0, ...Array.from({ length: rank - 2 }, (_, k) => k + 2), 1] });
    this.twins.set(name, { name: x, rank });
    return name;
  }

  /** Whether values are computed with channels on axis 1, all of them but constants. */
  private rankOfTwins(inputs: readonly string[]): number | null {
    let rank: number | null = null;
    for (const name of inputs) {
      const sizes = this.constants.get(name);
      if (sizes !== undefined) continue;
      const twin = this.twins.get(name);
      if (twin === undefined || (rank !== null && twin.rank !== rank)) return null;
      rank = twin.rank;
    }
    return rank !== null && inputs.every((name) => (this.constants.get(name)?.length ?? 0) <= (rank as number)) ? rank : null;
  }

  /** Adds an operator element by element, whose inputs are broadcast. */
  elementwise(operator: string, inputs: readonly string[], attributes: Attributes = {}): string {
    const rank = this.rankOfTwins(inputs);
    if (rank !== null) return this.channelsLast(this.node(operator, inputs.map((name) => this.constantFirst(name, rank) ?? this.channelsFirst(name, rank)), attributes), rank);
    const output = this.node(operator, inputs, attributes);
    const sizes = inputs.map((name) => this.constants.get(name));
    if (sizes.every((each) => each !== undefined)) this.constants.set(output, broadcast(sizes));
    return output;
  }

  /** A constant that is broadcast to tensors of a rank, with its channels on axis 1. */
  private constantFirst(name: string, rank: number): string | null {
    const sizes = this.constants.get(name);
    if (sizes === undefined) return null;
    if (sizes.length === 0) return name;
    const whole = [...Array.from({ length: rank - sizes.length }, () => 1), ...sizes];
    return this.channelsFirst(this.node('Reshape', [name, this.ints(whole)]), rank);
  }

  /** Joins values along an axis. */
  concat(inputs: readonly string[], axis: number): string {
    const rank = inputs.some((name) => this.constants.has(name)) ? null : this.rankOfTwins(inputs);
    if (rank === null) return this.node('Concat', inputs, { axis });
    const last = axis < 0 ? axis + rank : axis;
    const first = last === 0 ? 0 : last === rank - 1 ? 1 : last + 1;
    return this.channelsLast(this.node('Concat', inputs.map((name) => this.channelsFirst(name, rank)), { axis: first }), rank);
  }

  /** A graph of its own, for an attribute: nodes that `fill` adds are in it. */
  graph(inputs: readonly string[], fill: () => readonly string[]): GraphProto {
    const [outer, transposed, ofConstants] = [this.nodes, this.transposed, this.ofConstants];
    this.nodes = [];
    // What is made within is not seen from outside.
    this.transposed = new Map(transposed);
    this.ofConstants = new Map(ofConstants);
    try {
      const outputs = fill();
      const info = (name: string) => ({ name, type: null, shape: null });
      return { nodes: this.nodes, initializers: [], inputs: inputs.map(info), outputs: outputs.map(info) };
    } finally {
      [this.nodes, this.transposed, this.ofConstants] = [outer, transposed, ofConstants];
    }
  }

  private add(operator: string, inputs: readonly string[], outputs: readonly string[], attributes: Attributes): void {
    const named = new Map(Object.entries(attributes).map(([name, value]) => [name, attributeOf(name, value)]));
    this.nodes.push({ name: this.where, operator, domain: '', inputs: [...inputs], outputs: [...outputs], attributes: named });
  }
}

/** The sizes of constants that are broadcast, where they fit; else the node says so once it is recorded. */
function broadcast(shapes: readonly (readonly number[])[]): readonly number[] {
  const rank = Math.max(0, ...shapes.map(({ length }) => length));
  return Array.from({ length: rank }, (_, axis) => Math.max(...shapes.map((sizes) => sizes[axis - rank + sizes.length] ?? 1)));
}
