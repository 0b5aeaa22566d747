/** What a file of ONNX says, as objects: graphs, nodes, attributes, tensors, inputs and outputs. */

import { describe, invalidArgument, ResiduaError } from '../../arguments/errors.js';
import type { StoredTensor } from '../device/stored-tensor.js';
import { textOf } from '../files/byte-reader.js';
import { checkedSizes } from '../files/load.js';
import { toHalf } from '../memory/half.js';
import { elementCount } from '../memory/numbers.js';
import { fileBytes, typeOfCode, type ElementType } from './element-types.js';
import { Message } from './protobuf.js';

/** How deep graphs stand in attributes of one another, at most. */
const MOST_DEPTH = 16;

/** A tensor of a file: its bytes as `raw_data` has them, or its numbers on a device. */
export interface FileTensor {
  readonly name: string;
  readonly type: ElementType;
  readonly sizes: readonly number[];
  readonly bytes: Uint8Array | null;
  readonly stored: StoredTensor | null;
}

/** A tensor whose bytes are in another file. */
export interface ExternalTensor extends FileTensor {
  readonly external: { readonly location: string; readonly offset: number; readonly length: number };
}

/** An attribute of a node. */
export interface Attribute {
  readonly name: string;
  readonly int?: number;
  readonly float?: number;
  readonly text?: Uint8Array;
  readonly ints: readonly number[];
  readonly floats: readonly number[];
  readonly texts: readonly Uint8Array[];
  readonly tensor?: FileTensor;
  readonly graph?: GraphProto;
  /** The attribute of the function around it, which stands for this one. */
  readonly reference?: string;
}

/** A node: an operator with the names of its inputs and outputs, '' for what is left out. */
export interface NodeProto {
  readonly name: string;
  readonly operator: string;
  /** '' is that of ONNX. */
  readonly domain: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly attributes: ReadonlyMap<string, Attribute>;
}

/** An input or output. */
export interface ValueInfo {
  readonly name: string;
  /** Null where it is not said. */
  readonly type: ElementType | null;
  /** A number, a name, or '' of what is not known; null where not even the number of axes is. */
  readonly shape: readonly (number | string)[] | null;
}

/** A graph. */
export interface GraphProto {
  readonly nodes: readonly NodeProto[];
  readonly initializers: readonly FileTensor[];
  readonly inputs: readonly ValueInfo[];
  readonly outputs: readonly ValueInfo[];
}

/** A function of the file's own: an operator by nodes. */
export interface FunctionProto {
  readonly name: string;
  readonly domain: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly nodes: readonly NodeProto[];
  readonly defaults: ReadonlyMap<string, Attribute>;
  readonly opsets: ReadonlyMap<string, number>;
}

/** The parts of a graph as they are read. */
export interface GraphParts {
  nodes: NodeProto[];
  initializers: FileTensor[];
  inputs: ValueInfo[];
  outputs: ValueInfo[];
}

/** Returns a graph without anything. */
export function emptyGraph(): GraphParts {
  return { nodes: [], initializers: [], inputs: [], outputs: [] };
}

/** The domain of an operator: that of ONNX has two names. */
const domainOf = (name: string) => (name === 'ai.onnx' ? '' : name);

/** Reads the domain and the version of operators. */
export function readOpset(message: Message): readonly [domain: string, version: number] {
  let [domain, version] = ['', 0];
  while (message.next()) {
    if (message.field === 1) domain = domainOf(message.text());
    else if (message.field === 2) version = message.int();
  }
  return [domain, version];
}

/** Reads a graph that is in memory: that of an attribute. */
function readGraph(message: Message, depth: number): GraphProto {
  if (depth > MOST_DEPTH) throw new ResiduaError('limit-exceeded', `${message.place}: got graphs within graphs; takes ${MOST_DEPTH} levels at most`);
  const graph = emptyGraph();
  while (message.next()) {
    if (message.field === 5) graph.initializers.push(readTensor(message.message()));
    else readGraphField(message, graph, depth);
  }
  return graph;
}

/** Reads the present field of a graph, other than a tensor. */
export function readGraphField(message: Message, graph: GraphParts, depth = 0): void {
  if (message.field === 1) graph.nodes.push(readNode(message.message(), depth));
  else if (message.field === 11) graph.inputs.push(readValueInfo(message.message()));
  else if (message.field === 12) graph.outputs.push(readValueInfo(message.message()));
  else if (message.field === 15) throw invalidArgument(`${message.place}: sparse_initializer`, 'a sparse tensor', 'dense ones');
}

/** Reads a node. */
function readNode(message: Message, depth: number): NodeProto {
  const node = { name: '', operator: '', domain: '', inputs: [] as string[], outputs: [] as string[], attributes: new Map<string, Attribute>() };
  while (message.next()) {
    if (message.field === 1) node.inputs.push(message.text());
    else if (message.field === 2) node.outputs.push(message.text());
    else if (message.field === 3) node.name = message.text();
    else if (message.field === 4) node.operator = message.text();
    else if (message.field === 7) node.domain = domainOf(message.text());
    else if (message.field === 5) {
      const attribute = readAttribute(message.message(), depth);
      node.attributes.set(attribute.name, attribute);
    }
  }
  return node;
}

function readAttribute(message: Message, depth: number): Attribute {
  const found: { -readonly [K in keyof Attribute]: Attribute[K] } = { name: '', ints: [], floats: [], texts: [] };
  const [ints, floats, texts] = [found.ints as number[], found.floats as number[], found.texts as Uint8Array[]];
  while (message.next()) {
    if (message.field === 1) found.name = message.text();
    else if (message.field === 2) found.float = message.float();
    else if (message.field === 3) found.int = message.int();
    else if (message.field === 4) found.text = message.bytes();
    else if (message.field === 5) found.tensor = readTensor(message.message());
    else if (message.field === 6) found.graph = readGraph(message.message(), depth + 1);
    else if (message.field === 7) message.floats(floats);
    else if (message.field === 8) message.ints(ints);
    else if (message.field === 9) texts.push(message.bytes());
    else if (message.field === 21) found.reference = message.text();
    else if (message.field === 20) {
      // What is 0 or empty may be left out, so that the type alone tells that it is there.
      const type = message.int();
      if (type === 1) found.float ??= 0;
      else if (type === 2) found.int ??= 0;
      else if (type === 3) found.text ??= new Uint8Array(0);
    }
  }
  return found;
}

/** Reads a function. */
export function readFunction(message: Message): FunctionProto {
  const found = { name: '', domain: '', inputs: [] as string[], outputs: [] as string[], nodes: [] as NodeProto[], defaults: new Map<string, Attribute>(), opsets: new Map<string, number>() };
  while (message.next()) {
    if (message.field === 1) found.name = message.text();
    else if (message.field === 4) found.inputs.push(message.text());
    else if (message.field === 5) found.outputs.push(message.text());
    else if (message.field === 7) found.nodes.push(readNode(message.message(), 0));
    else if (message.field === 9) found.opsets.set(...readOpset(message.message()));
    else if (message.field === 10) found.domain = domainOf(message.text());
    else if (message.field === 11) {
      const attribute = readAttribute(message.message(), 0);
      found.defaults.set(attribute.name, attribute);
    }
  }
  return found;
}

function readValueInfo(message: Message): ValueInfo {
  let [name, found]: [string, Pick<ValueInfo, 'type' | 'shape'>] = ['', { type: null, shape: null }];
  while (message.next()) {
    if (message.field === 1) name = message.text();
    else if (message.field === 2) found = readType(message.message());
  }
  return { name, ...found };
}

function readType(message: Message): Pick<ValueInfo, 'type' | 'shape'> {
  let [type, shape]: [ElementType | null, (number | string)[] | null] = [null, null];
  while (message.next()) {
    if (message.field !== 1) continue;
    const tensor = message.message();
    while (tensor.next()) {
      if (tensor.field === 1) {
        const code = tensor.int();
        type = code === 0 ? null : typeOfCode(tensor.place, code);
      }
      if (tensor.field === 2) {
        const axes: (number | string)[] = [];
        const dims = tensor.message();
        while (dims.next()) if (dims.field === 1) axes.push(readDim(dims.message()));
        shape = axes;
      }
    }
  }
  return { type, shape };
}

function readDim(message: Message): number | string {
  let size: number | string = '';
  while (message.next()) {
    if (message.field === 1) size = message.int();
    else if (message.field === 2) size = message.text();
  }
  // Exporters write '?', −1 or 0 for what they do not know.
  return size === '?' || (typeof size === 'number' && size <= 0) ? '' : size;
}

/** The fields of a tensor, as they come. */
export class TensorFields {
  name = '';
  readonly sizes: number[] = [];
  private code = 0;
  private raw: Uint8Array | null = null;
  private readonly numbers: number[] = [];
  /** Which list of numbers there is: the field that has it. */
  private listField = 0;
  private readonly external = new Map<string, string>();
  private isExternal = false;

  constructor(readonly place: string) {}

  /** Takes a number of a field. */
  number(field: number, value: number): void {
    if (field === 1) this.sizes.push(value);
    else if (field === 2) this.code = value;
    else if (field === 14) this.isExternal = value === 1;
    else if (field === 5 || field === 7 || field === 11) this.list(field).push(value);
  }

  /** Takes the present field of a message. */
  take(message: Message): void {
    const { field } = message;
    if (field === 1) message.ints(this.sizes);
    else if (field === 4 || field === 10) message.floats(this.list(field), field === 4 ? 4 : 8);
    else if (field === 5 || field === 7 || field === 11) message.ints(this.list(field));
    else if (field === 2 || field === 14) this.number(field, message.int());
    else if (field === 8) this.name = message.text();
    else if (field === 9) this.raw = message.bytes();
    else if (field === 13) {
      const entry = message.message();
      let [key, value] = ['', ''];
      while (entry.next()) {
        if (entry.field === 1) key = entry.text();
        else if (entry.field === 2) value = entry.text();
      }
      this.external.set(key, value);
    }
  }

  get where(): string {
    return `${this.place}${this.name === '' ? '' : ` ${describe(this.name)}`}`;
  }

  /** The type and the sizes where both came, else null. Throws 'invalid-argument' for those that are none. */
  get form(): { readonly type: ElementType; readonly sizes: readonly number[]; readonly bytes: number } | null {
    if (this.code === 0) return null;
    const type = typeOfCode(this.where, this.code);
    const sizes = checkedSizes(this.where, this.sizes);
    return { type, sizes, bytes: fileBytes(type, elementCount(sizes)) };
  }

  /** The tensor, whose bytes are in memory or in another file. */
  tensor(): FileTensor | ExternalTensor {
    const { form, name } = this;
    if (form === null) throw invalidArgument(this.where, 'a tensor without data_type', 'one with it');
    const { type, sizes, bytes } = form;
    if (this.isExternal) return { name, type, sizes, bytes: null, stored: null, external: this.externalData(bytes) };
    const data = this.raw ?? this.listed(type, elementCount(sizes));
    if (data.length !== bytes) throw invalidArgument(this.where, `${data.length} bytes`, `${bytes} for ${type.name} [${sizes.join(', ')}]`);
    return { name, type, sizes, bytes: data, stored: null };
  }

  private list(field: number): number[] {
    if (this.listField !== 0 && this.listField !== field) throw invalidArgument(this.where, `lists of numbers in fields ${this.listField} and ${field}`, 'one of them');
    this.listField = field;
    return this.numbers;
  }

  private externalData(bytes: number): ExternalTensor['external'] {
    const location = this.external.get('location');
    if (location === undefined || location === '') throw invalidArgument(`${this.where}: external_data`, 'no location', 'the name of a file');
    const whole = (key: string, fallback: number) => {
      const text = this.external.get(key);
      const value = text === undefined ? fallback : Number(text);
      if (!Number.isSafeInteger(value) || value < 0 || text === '') throw invalidArgument(`${this.where}: external_data: ${key}`, describe(text), 'a whole number');
      return value;
    };
    const length = whole('length', bytes);
    if (length !== bytes) throw invalidArgument(`${this.where}: external_data: length`, String(length), `${bytes}, the bytes of its type and shape`);
    return { location, offset: whole('offset', 0), length };
  }

  /** The bytes of numbers that are listed one by one. */
  private listed(type: ElementType, count: number): Uint8Array {
    const { numbers } = this;
    const perNumber = type.bits < 8 ? 8 / type.bits : 1;
    if (numbers.length !== Math.ceil(count / perNumber)) throw invalidArgument(this.where, `${numbers.length} numbers`, `${Math.ceil(count / perNumber)} for ${type.name} [${this.sizes.join(', ')}]`);
    const width = Math.max(1, type.bits / 8);
    const bytes = new Uint8Array(numbers.length * width);
    const view = new DataView(bytes.buffer);
    const put: Readonly<Record<number, (at: number, value: number) => void>> = {
      1: (at, value) => view.setUint8(at, value),
      2: (at, value) => view.setUint16(at, value, true),
      4: (at, value) => (type.name === 'float' ? view.setFloat32(at, value, true) : view.setUint32(at, value, true)),
      8: (at, value) => {
        if (type.name === 'double') view.setFloat64(at, value, true);
        else {
          view.setUint32(at, value, true);
          view.setInt32(at + 4, Math.floor(value / 2 ** 32), true);
        }
      },
    };
    // Halves are listed by their bits, but for writers that put them among the floats.
    const isHalfByValue = type.name === 'float16' && this.listField === 4;
    numbers.forEach((value, i) => put[width]?.(i * width, isHalfByValue ? toHalf(value) : value));
    return bytes.subarray(0, fileBytes(type, count));
  }
}

/** Reads a tensor that is in memory. */
export function readTensor(message: Message): FileTensor {
  const fields = new TensorFields(message.place);
  while (message.next()) fields.take(message);
  const tensor = fields.tensor();
  if ('external' in tensor) throw invalidArgument(fields.where, 'a tensor of an attribute, with data in another file', 'such tensors as initializers');
  return tensor;
}

/** A text of an attribute. */
export function attributeText(place: string, bytes: Uint8Array): string {
  return textOf(place, bytes);
}
