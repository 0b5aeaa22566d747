/** The cases of ONNX's own tests of operators as models of one node: inputs that a graph has as constants are initializers. */
import { model } from './writer.mjs';

const ARRAYS = { f32: Float32Array, f16: Uint16Array, i32: Int32Array, u32: Uint32Array, u8: Uint8Array, bool: Uint8Array };
const NAMES = { f32: 'float', f16: 'float16', i32: 'int32', u32: 'uint32', u8: 'uint8', bool: 'bool' };

/** Inputs that decide shapes, by operator. */
const CONSTANTS = {
  Reshape: [1], Expand: [1], Squeeze: [1], Unsqueeze: [1], Slice: [1, 2, 3, 4], Pad: [1, 2, 3], Split: [1], Resize: [1, 2, 3], Upsample: [1], TopK: [1], OneHot: [1], Range: [0, 1, 2], ConstantOfShape: [0], Trilu: [1], CumSum: [1], CumProd: [1],
  DFT: [1, 2], STFT: [1, 3], HannWindow: [0], HammingWindow: [0], BlackmanWindow: [0], Compress: [1],
  ...Object.fromEntries(['L1', 'L2', 'LogSum', 'LogSumExp', 'Max', 'Mean', 'Min', 'Prod', 'Sum', 'SumSquare'].map((name) => [`Reduce${name}`, [1]])),
};

/** Attributes that are floats also where their number is whole. */
const FLOATS = new Set(['alpha', 'beta', 'epsilon', 'scale', 'softcap', 'lambd', 'bias', 'gamma', 'momentum', 'cubic_coeff_a']);

/** A number of half precision from its bits. */
function fromHalf(bits) {
  const [sign, exponent, mantissa] = [(bits & 0x8000) === 0 ? 1 : -1, (bits >> 10) & 31, bits & 1023];
  if (exponent === 31) return mantissa === 0 ? sign * Infinity : Number.NaN;
  return sign * (exponent === 0 ? mantissa * 2 ** -24 : (1 + mantissa / 1024) * 2 ** (exponent - 15));
}

/** The numbers of an input or output of a case; `bytes` is the file of all numbers. */
export function numbersOf({ dtype, offset, length }, bytes) {
  const Type = ARRAYS[dtype];
  const raw = new Type(bytes, offset, length / Type.BYTES_PER_ELEMENT);
  return dtype === 'f16' ? Float32Array.from(raw, fromHalf) : raw;
}

function attributeOf(name, value) {
  if (typeof value === 'number') return FLOATS.has(name) || !Number.isInteger(value) ? { float: value } : value;
  if (typeof value === 'object' && !Array.isArray(value)) return { tensor: { type: NAMES[value.dtype], sizes: value.shape, data: value.data } };
  return value;
}

/** The model of a case, and the feeds of the inputs that are not constants. */
export function modelOf({ op, opset, attributes, inputs, outputs }, bytes) {
  const constants = CONSTANTS[op] ?? [];
  const named = inputs.map((input, k) => input && { input, name: `x${k}`, isConstant: constants.includes(k), numbers: numbersOf(input, bytes) });
  const given = named.filter((each) => each !== null);
  const file = model({
    opset: Math.max(opset, 7),
    nodes: [{ op, name: 'the node', inputs: named.map((each) => each?.name ?? ''), outputs: outputs.map((output, k) => (output === null ? '' : `y${k}`)), attributes: Object.fromEntries(Object.entries(attributes).filter(([name]) => !name.startsWith('made_')).map(([name, value]) => [name, attributeOf(name, value)])) }],
    initializers: given.filter(({ isConstant }) => isConstant).map(({ name, input, numbers }) => ({ name, type: NAMES[input.dtype], sizes: input.shape, data: numbers })),
    inputs: given.filter(({ isConstant }) => !isConstant).map(({ name, input }) => ({ name, type: NAMES[input.dtype], shape: input.shape })),
    outputs: outputs.flatMap((output, k) => (output === null ? [] : [{ name: `y${k}`, type: NAMES[output.dtype] }])),
  });
  const feeds = Object.fromEntries(given.filter(({ isConstant }) => !isConstant).map(({ name, input, numbers }) => [name, { data: numbers, shape: input.shape }]));
  return { file, feeds };
}
