/**
 * What a file of ONNX has, for the page that shows it: nodes, initialisers, outputs, with the bytes of each, so that files of a part can be made. The package reads
 * files by itself; this knows no operator. A message of Protocol Buffers is a list of fields: a number, a kind and a value.
 */

const decoder = new TextDecoder(), encoder = new TextEncoder();
const [VARINT, FIXED64, BYTES, FIXED32] = [0, 1, 2, 5];

/** The fields of a message. `whole` are the bytes of a field with its number, `value` those of a text or a message. */
export function fieldsOf(bytes) {
  const fields = [];
  let at = 0;
  const varint = () => {
    let value = 0, factor = 1;
    for (let k = 0; k < 10; k++) {
      if (at >= bytes.length) throw new RangeError('the file ends within a number');
      const byte = bytes[at++];
      value += (byte & 127) * factor;
      if (byte < 128) return value;
      factor *= 128;
    }
    throw new RangeError('the file has a number of more than 10 bytes');
  };
  while (at < bytes.length) {
    const start = at, tag = varint();
    const [number, kind] = [Math.floor(tag / 8), tag % 8];
    if (number === 0 || ![VARINT, FIXED64, BYTES, FIXED32].includes(kind)) throw new RangeError('the file is no message of Protocol Buffers');
    const field = { number, kind, int: 0, value: null, whole: null };
    if (kind === VARINT) field.int = varint();
    else {
      const length = kind === BYTES ? varint() : kind === FIXED32 ? 4 : 8;
      if (at + length > bytes.length) throw new RangeError('the file ends within a field');
      field.value = bytes.subarray(at, (at += length));
    }
    field.whole = bytes.subarray(start, at);
    fields.push(field);
  }
  return fields;
}

const all = (fields, number) => fields.filter((field) => field.number === number && field.value !== null).map(({ value }) => value);
const text = (fields, number) => decoder.decode(all(fields, number).at(-1) ?? new Uint8Array(0));

// ---------------------------------------------------------------- reading

/** A node; `takes` are its inputs and what graphs in its attributes take from outside. */
function nodeOf(whole, value) {
  const fields = fieldsOf(value);
  const domain = text(fields, 7);
  const inputs = all(fields, 1).map((name) => decoder.decode(name));
  const outer = all(fields, 5).flatMap((attribute) => all(fieldsOf(attribute), 6).flatMap(freeNames));
  return {
    name: text(fields, 3), operator: text(fields, 4), domain: domain === 'ai.onnx' ? '' : domain, inputs,
    outputs: all(fields, 2).map((name) => decoder.decode(name)), takes: [...new Set([...inputs, ...outer].filter((name) => name !== ''))], whole,
  };
}

/** The names that a graph takes from the graph around it. */
function freeNames(graph) {
  const fields = fieldsOf(graph);
  const nodes = all(fields, 1).map((value) => nodeOf(null, value));
  const own = new Set([...nodes.flatMap(({ outputs }) => outputs), ...all(fields, 11).map(nameOfValue), ...all(fields, 5).map((tensor) => text(fieldsOf(tensor), 8))]);
  return [...nodes.flatMap(({ takes }) => takes), ...all(fields, 12).map(nameOfValue)].filter((name) => !own.has(name));
}

const nameOfValue = (value) => text(fieldsOf(value), 1);

/** The code of the element type of an input or output; 0 where it is not said. */
function typeOfValue(value) {
  const [type] = all(fieldsOf(value), 2).slice(-1);
  const [tensor] = type === undefined ? [] : all(fieldsOf(type), 1).slice(-1);
  return tensor === undefined ? 0 : (fieldsOf(tensor).findLast(({ number, kind }) => number === 1 && kind === VARINT)?.int ?? 0);
}

/**
 * Reads a file. Throws a RangeError where it is no file of ONNX.
 * @param {Uint8Array} bytes
 */
export function readFile(bytes) {
  const model = fieldsOf(bytes);
  const graph = all(model, 7).at(-1);
  if (graph === undefined) throw new RangeError('the file has no graph');
  const fields = fieldsOf(graph);
  const opsets = all(model, 8).map((value) => {
    const opset = fieldsOf(value), domain = text(opset, 1);
    return { domain: domain === 'ai.onnx' ? '' : domain, version: opset.findLast(({ number }) => number === 2)?.int ?? 0 };
  });
  const values = [...all(fields, 11), ...all(fields, 12), ...all(fields, 13)];
  return {
    nodes: fields.filter(({ number, value }) => number === 1 && value !== null).map(({ whole, value }) => nodeOf(whole, value)),
    initializers: new Map(fields.filter(({ number, value }) => number === 5 && value !== null).map(({ whole, value }) => [text(fieldsOf(value), 8), whole])),
    outputs: all(fields, 12).map(nameOfValue), types: new Map(values.map((value) => [nameOfValue(value), typeOfValue(value)])), opsets,
    producer: text(model, 2), model, graph: fields,
  };
}

// ---------------------------------------------------------------- writing

const varintBytes = (value) => {
  const found = [];
  let rest = value;
  for (; rest >= 128; rest = Math.floor(rest / 128)) found.push((rest % 128) + 128);
  return [...found, rest];
};

/** A message of parts, which are bytes of fields. */
export function joined(parts) {
  const found = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    found.set(part, at);
    at += part.length;
  }
  return found;
}
export const intField = (number, value) => Uint8Array.from([...varintBytes(8 * number), ...varintBytes(value)]);
export const bytesField = (number, value) => joined([Uint8Array.from([...varintBytes(8 * number + BYTES), ...varintBytes(value.length)]), value]);
export const textField = (number, value) => bytesField(number, encoder.encode(value));

/** An input or output: its name, and a type with sizes, numbers or names, where they are known. */
export function valueInfo(number, name, type, sizes) {
  if (type === undefined) return bytesField(number, textField(1, name));
  const shape = joined(sizes.map((size) => bytesField(1, typeof size === 'string' ? textField(2, size) : intField(1, size))));
  return bytesField(number, joined([textField(1, name), bytesField(2, bytesField(1, joined([intField(1, type), bytesField(2, shape)])))]));
}

/** A file as another was, with this graph. */
const withGraph = ({ model }, parts) => joined([...model.filter(({ number }) => number !== 7).map(({ whole }) => whole), bytesField(7, joined(parts))]);

/** The file whose outputs are those of all nodes. */
export function withAllOutputs(file) {
  const names = new Set(file.outputs);
  const more = file.nodes.flatMap(({ outputs }) => outputs).filter((name) => name !== '' && !names.has(name) && names.add(name));
  return withGraph(file, [...file.graph.map(({ whole }) => whole), ...more.map((name) => valueInfo(12, name))]);
}

/**
 * A file of one node, whose inputs are what it takes beside initialisers.
 * @param {readonly { name: string, type: number, sizes: readonly number[] }[]} inputs
 */
export function fileOfNode(file, node, inputs) {
  const fixed = node.takes.filter((name) => file.initializers.has(name) && !inputs.some((input) => input.name === name));
  return withGraph(file, [
    node.whole, textField(2, 'layer'), ...fixed.map((name) => file.initializers.get(name)), ...inputs.map(({ name, type, sizes }) => valueInfo(11, name, type, sizes)),
    ...node.outputs.filter((name) => name !== '').map((name) => valueInfo(12, name)),
  ]);
}

/** Names of values that depend on initialisers alone. */
export function constantNames({ nodes, initializers }) {
  const known = new Set(initializers.keys());
  for (const { takes, outputs } of nodes) if (takes.every((name) => known.has(name))) for (const name of outputs) known.add(name);
  return known;
}
