/** Writes files of ONNX for tests: the fields of a model as objects, in the wire format of Protocol Buffers. */

/** Element types by name, with what puts a number at a byte. */
export const TYPES = {
  float: [1, 4, (view, at, x) => view.setFloat32(at, x, true)], uint8: [2, 1, (view, at, x) => view.setUint8(at, x)], int8: [3, 1, (view, at, x) => view.setInt8(at, x)],
  uint16: [4, 2, (view, at, x) => view.setUint16(at, x, true)], int16: [5, 2, (view, at, x) => view.setInt16(at, x, true)], int32: [6, 4, (view, at, x) => view.setInt32(at, x, true)],
  int64: [7, 8, (view, at, x) => view.setBigInt64(at, BigInt(x), true)], bool: [9, 1, (view, at, x) => view.setUint8(at, Number(x))], float16: [10, 2, (view, at, x) => view.setUint16(at, halfOf(x), true)],
  double: [11, 8, (view, at, x) => view.setFloat64(at, x, true)], uint32: [12, 4, (view, at, x) => view.setUint32(at, x, true)], uint64: [13, 8, (view, at, x) => view.setBigUint64(at, BigInt(x), true)],
  bfloat16: [16, 2, (view, at, x) => view.setUint16(at, new Uint32Array(Float32Array.of(x).buffer)[0] >>> 16, true)],
};

/** The bits of a number that half precision has. */
function halfOf(x) {
  if (Number.isNaN(x)) return 0x7e00;
  const sign = x < 0 || Object.is(x, -0) ? 0x8000 : 0;
  const size = Math.abs(x);
  if (size === Infinity) return sign | 0x7c00;
  if (size < 2 ** -14) return sign | Math.round(size * 2 ** 24);
  const exponent = Math.floor(Math.log2(size));
  return sign | ((exponent + 15) << 10) + Math.round((size / 2 ** exponent - 1) * 1024);
}

const encoder = new TextEncoder();

export function varint(value) {
  const bytes = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  for (; rest >= 128n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
  return [...bytes, Number(rest)];
}

export const int = (field, value) => [...varint(field * 8), ...varint(value)];
export const float = (field, value) => [...varint(field * 8 + 5), ...new Uint8Array(Float32Array.of(value).buffer)];
export const double = (field, value) => [...varint(field * 8 + 1), ...new Uint8Array(Float64Array.of(value).buffer)];
export function bytes(field, value) {
  const header = [...varint(field * 8 + 2), ...varint(value.length)];
  const found = new Uint8Array(header.length + value.length);
  found.set(header);
  found.set(value, header.length);
  return found;
}
export const text = (field, value) => bytes(field, encoder.encode(value));

/** The bytes of numbers of a type. */
export function rawData(type, numbers) {
  const [, width, put] = TYPES[type];
  const data = new Uint8Array(numbers.length * width);
  const view = new DataView(data.buffer);
  Array.from(numbers).forEach((x, i) => put(view, i * width, x));
  return data;
}

export function concatenated(parts) {
  const list = parts.map((part) => (part instanceof Uint8Array ? part : Uint8Array.from(part)));
  const found = new Uint8Array(list.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of list) {
    found.set(part, at);
    at += part.length;
  }
  return found;
}

/** { name, type, sizes, data }, or { …, raw } with its bytes, or { …, fields } with fields of one's own for the numbers. */
export function tensor({ name = '', type, sizes, data, raw, fields }) {
  const code = typeof type === 'number' ? type : TYPES[type][0];
  return concatenated([...sizes.map((size) => int(1, size)), int(2, code), text(8, name), ...(fields ?? [bytes(9, raw ?? rawData(type, data))])]);
}

/** A name, an element type and a shape of numbers, names or null. */
export function valueInfo({ name, type, shape }) {
  const code = typeof type === 'number' ? type : TYPES[type][0];
  const dims = shape?.map((size) => bytes(1, typeof size === 'number' ? int(1, size) : size === null ? [] : text(2, size)));
  const tensorType = concatenated([int(1, code), ...(dims === undefined ? [] : [bytes(2, concatenated(dims))])]);
  return concatenated([text(1, name), bytes(2, bytes(1, tensorType))]);
}

/** An attribute: a whole number, { float }, a text, lists of these, { tensor }, { graph }. */
export function attribute(name, value) {
  const head = text(1, name);
  if (typeof value === 'number' || typeof value === 'bigint') return concatenated([head, int(3, value), int(20, 2)]);
  if (typeof value === 'string') return concatenated([head, text(4, value), int(20, 3)]);
  if (Array.isArray(value)) {
    if (value.every((each) => typeof each === 'string')) return concatenated([head, ...value.map((each) => text(9, each)), int(20, 8)]);
    return concatenated([head, ...value.map((each) => int(8, each)), int(20, 7)]);
  }
  if ('float' in value) return concatenated([head, float(2, value.float), int(20, 1)]);
  if ('floats' in value) return concatenated([head, bytes(7, concatenated(value.floats.map((each) => new Uint8Array(Float32Array.of(each).buffer)))), int(20, 6)]);
  if ('tensor' in value) return concatenated([head, bytes(5, tensor(value.tensor)), int(20, 4)]);
  if ('reference' in value) return concatenated([head, text(21, value.reference), int(20, 2)]);
  return concatenated([head, bytes(6, graph(value.graph)), int(20, 5)]);
}

export function node({ op, name = '', domain = '', inputs, outputs, attributes = {} }) {
  return concatenated([
    ...inputs.map((each) => text(1, each)), ...outputs.map((each) => text(2, each)), text(3, name), text(4, op),
    ...Object.entries(attributes).map(([key, value]) => bytes(5, attribute(key, value))), text(7, domain),
  ]);
}

export function graph({ nodes, initializers = [], inputs = [], outputs = [] }) {
  return concatenated([
    ...nodes.map((each) => bytes(1, node(each))), text(2, 'graph'), ...initializers.map((each) => bytes(5, each instanceof Uint8Array ? each : tensor(each))),
    ...inputs.map((each) => bytes(11, valueInfo(each))), ...outputs.map((each) => bytes(12, valueInfo(each))),
  ]);
}

/** A model. `opsets` are versions by domain, `functions` fields of one's own. */
export function model({ opset = 17, opsets = {}, functions = [], ...rest }) {
  return concatenated([
    int(1, 8), text(2, 'residua'), bytes(7, graph(rest)),
    ...Object.entries({ '': opset, ...opsets }).map(([domain, version]) => bytes(8, concatenated([text(1, domain), int(2, version)]))), ...functions.map((each) => bytes(25, each)),
  ]);
}
