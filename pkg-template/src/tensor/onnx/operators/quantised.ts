/** Quantised numbers. Products of integers are added as integers, so that they are exact; scales are applied in single precision. */

import { invalidArgument } from '../../../arguments/errors.js';
import { stack } from '../../functions.js';
import { linear } from '../../linear.js';
import { checkAxis } from '../../recipe/operands.js';
import { product, type Size } from '../../size.js';
import { Tensor } from '../../tensor.js';
import type { Call, Operator } from '../call.js';
import { typeNamed, type ElementType } from '../element-types.js';
import { roundHalfToEven } from './elementwise.js';
import { convolve } from './pictures.js';

/** A scale or a zero point, a number or one for each place of an axis, in the shape that broadcasts to x; in blocks repeated along it. */
function spread(part: Tensor, x: Tensor, axis: number, block: number): Tensor {
  if (part.rank === 0 || (part.rank === 1 && part.shape[0] === 1 && block === 0)) return part.reshape([]);
  if (block > 0) {
    const size = x.shape[axis] as Size;
    const repeated = part.expandDims(axis + 1).broadcastTo([...part.shape.slice(0, axis + 1), block, ...part.shape.slice(axis + 1)]);
    const flat = repeated.reshape([...part.shape.slice(0, axis), product([part.shape[axis] as Size, block]), ...part.shape.slice(axis + 1)]);
    return flat.shape[axis] === size ? flat : flat.slice(...flat.shape.map((_, k) => (k === axis ? ([0, size] as const) : null)));
  }
  if (part.rank !== 1) throw invalidArgument('scale', String(part), 'a number, or a vector');
  return part.reshape(x.shape.map((_, k) => (k === axis ? (part.shape[0] as Size) : 1)));
}

/** (x − zero point) · scale. */
function dequantised(call: Call, places: readonly [x: number, scale: number, zero: number], axisOf: (x: Tensor) => number = () => 0, block = 0): Tensor {
  const [x, scale] = [call.tensor(places[0]), call.tensor(places[1])];
  const axis = axisOf(x);
  const numbers = x.cast('f32');
  const centred = call.has(places[2]) ? numbers.sub(spread(call.tensor(places[2]), x, axis, block).cast('f32')) : numbers;
  return centred.mul(spread(scale, x, axis, block).cast('f32'));
}

const axisAttribute = (call: Call) => (x: Tensor) => (x.rank === 0 ? 0 : checkAxis('attribute axis', call.int('axis', 1), Math.max(x.rank, call.hasAttribute('axis') ? 1 : 2)));

const dequantizeLinear: Operator = (call) => {
  const { type } = call.value(1);
  const found = dequantised(call, [0, 1, 2], axisAttribute(call), call.int('block_size', 0));
  return call.output(found, call.type('output_dtype', type));
};

/** The integers of a type nearest to x / scale + zero point. */
function quantised(x: Tensor, scale: Tensor, zero: Tensor | number, { range, dtype }: ElementType): Tensor {
  if (range === null) throw invalidArgument('output type', 'floats of 8 bits', 'integers');
  const rounded = roundHalfToEven(x.cast('f32').div(scale.cast('f32'))).add(typeof zero === 'number' ? zero : zero.cast('f32'));
  return rounded.clamp(range[0], range[1]).cast(dtype);
}

const quantizeLinear: Operator = (call) => {
  const x = call.tensor(0);
  const axis = axisAttribute(call)(x);
  const block = call.int('block_size', 0);
  const type = call.has(2) ? call.value(2).type : call.type('output_dtype', typeNamed('uint8'));
  const zero = call.has(2) ? spread(call.tensor(2), x, axis, block) : 0;
  return call.output(quantised(x, spread(call.tensor(1), x, axis, block), zero, type), type);
};

/** The scale that the extremes, and 0 among them, need for 8 bits, and the number of 0. */
function dynamicScale(x: Tensor): { scale: Tensor; zero: Tensor } {
  const [low, high] = [x.min().minimum(0), x.max().maximum(0)];
  const scale = high.sub(low).div(255);
  return { scale, zero: roundHalfToEven(low.div(scale).neg()).clamp(0, 255) };
}

const dynamicQuantizeLinear: Operator = (call) => {
  const x = call.tensor(0);
  const { scale, zero } = dynamicScale(x);
  const type = typeNamed('uint8');
  return [call.output(quantised(x, scale, zero, type), type), scale, call.output(zero.cast('u8'), type)];
};

/** Integers less their zero point, as i32. */
function centred(call: Call, place: number, zeroPlace: number, shape: (zero: Tensor, x: Tensor) => Tensor): Tensor {
  const x = call.tensor(place).cast('i32');
  return call.has(zeroPlace) ? x.sub(shape(call.tensor(zeroPlace).cast('i32'), x)) : x;
}

/** Zero points of rows, and of columns. */
const ofRows = (zero: Tensor) => (zero.rank === 1 && zero.shape[0] !== 1 ? zero.expandDims(1) : zero.rank === 1 ? zero.reshape([]) : zero);
const ofColumns = (zero: Tensor) => (zero.rank === 1 && zero.shape[0] === 1 ? zero.reshape([]) : zero);
/** Zero points and scales of the channels of a weight. */
const ofChannels = (zero: Tensor, x: Tensor) => (zero.rank === 1 && zero.shape[0] !== 1 ? zero.reshape([zero.shape[0] as Size, ...x.shape.slice(1).map(() => 1)]) : zero.reshape([]));

const matMulInteger: Operator = (call) => call.output(centred(call, 0, 2, ofRows).matmul(centred(call, 1, 3, ofColumns)), typeNamed('int32'));

const convInteger: Operator = (call) => call.output(convolve(call, centred(call, 0, 2, (zero) => zero.reshape([])), centred(call, 1, 3, ofChannels), undefined), typeNamed('int32'));

const qLinearMatMul: Operator = (call) => {
  const sums = centred(call, 0, 2, ofRows).matmul(centred(call, 3, 5, ofColumns)).cast('f32');
  const scaled = sums.mul(ofRows(call.tensor(1)).cast('f32')).mul(ofColumns(call.tensor(4)).cast('f32'));
  const { type } = call.value(7);
  return call.output(quantised(scaled, call.tensor(6).reshape([]), call.tensor(7).reshape([]), type), type);
};

const qLinearConv: Operator = (call) => {
  const sums = convolve(call, centred(call, 0, 2, (zero) => zero.reshape([])), centred(call, 3, 5, ofChannels), call.maybe(8)?.cast('i32'));
  const ofWeights = call.tensor(4).cast('f32');
  const scale = ofWeights.rank === 1 && ofWeights.shape[0] !== 1 ? ofWeights.reshape([ofWeights.shape[0] as Size, ...sums.shape.slice(2).map(() => 1)]) : ofWeights.reshape([]);
  const { type } = call.value(7);
  return call.output(quantised(sums.cast('f32').mul(call.tensor(1).reshape([]).cast('f32').mul(scale)), call.tensor(6).reshape([]), call.tensor(7).reshape([]), type), type);
};

/** An operation on dequantised numbers, quantised again by a scale and a zero point. */
function requantised(call: Call, compute: (...numbers: Tensor[]) => Tensor, operands: readonly number[], scale: number): ReturnType<Operator> {
  const numbers = operands.map((place) => dequantised(call, [place, place + 1, place + 2]));
  const type = call.has(scale + 1) ? call.value(scale + 1).type : call.value(operands[0] as number).type;
  return call.output(quantised(compute(...numbers), call.tensor(scale).reshape([]), call.has(scale + 1) ? call.tensor(scale + 1).reshape([]) : 0, type), type);
}

/** Weights of few bits in blocks along their rows: [out, blocks, bytes of a block], the low bits of a byte first. */
const matMulNBits: Operator = (call) => {
  const x = call.tensor(0);
  const [depth, out, bits, block] = [call.int('K'), call.int('N'), call.int('bits', 4), call.int('block_size')];
  if (bits !== 2 && bits !== 4 && bits !== 8) throw invalidArgument('attribute bits', String(bits), '2, 4 or 8');
  if (!(depth > 0 && out > 0 && block > 0)) throw invalidArgument('attributes K, N and block_size', `${depth}, ${out} and ${block}`, 'numbers of at least 1');
  if (call.has(4)) throw invalidArgument('input 4', 'an order of the columns', 'none');
  const blocks = Math.ceil(depth / block);
  const weights = unpackedBits(call.tensor(1).cast('i32').reshape([out, blocks, -1]), bits).cast('f32');
  const scale = call.tensor(2).cast('f32').reshape([out, blocks, 1]);
  const centre = call.has(3) ? zeroPoints(call.tensor(3), out, blocks, bits) : 2 ** (bits - 1);
  const rows = weights.sub(centre as Tensor).mul(scale).reshape([out, blocks * block]).slice(null, [0, depth]);
  const bias = call.maybe(5)?.cast('f32');
  return linear(x, rows, bias).cast(x.dtype);
};

/** Zero points of blocks are packed as weights are, unless they are floats. */
function zeroPoints(given: Tensor, out: number, blocks: number, bits: number): Tensor {
  if (given.dtype === 'f32' || given.dtype === 'f16') return given.cast('f32').reshape([out, blocks, 1]);
  const unpacked = unpackedBits(given.cast('i32').reshape([out, -1]), bits);
  return unpacked.slice(null, [0, blocks]).cast('f32').reshape([out, blocks, 1]);
}

/** Numbers of few bits, from bytes along the last axis. */
function unpackedBits(bytes: Tensor, bits: number): Tensor {
  if (bits === 8) return bytes;
  const parts = Array.from({ length: 8 / bits }, (_, k) => bytes.shr(k * bits).and(2 ** bits - 1));
  return stack(parts, -1).flatten(-2);
}

/** Products with integers of which one factor is quantised at once. */
/** The product with a matrix of integers of 32 bits and its scale, of numbers that are quantised to 8 bits by their extremes. */
export function dynamicProduct(x: Tensor, matrix: Tensor, matrixScale: Tensor): Tensor {
  const { scale, zero } = dynamicScale(x);
  const left = quantised(x, scale, zero, typeNamed('uint8')).cast('i32').sub(zero.cast('i32'));
  return left.matmul(matrix).cast('f32').mul(scale).mul(matrixScale);
}

const dynamicQuantizeMatMul: Operator = (call) => {
  const sums = dynamicProduct(call.tensor(0), centred(call, 1, 3, ofColumns), ofColumns(call.tensor(2)));
  return call.has(4) ? sums.add(call.tensor(4)) : sums;
};

const matMulIntegerToFloat: Operator = (call) => {
  const sums = centred(call, 0, 4, ofRows).matmul(centred(call, 1, 5, ofColumns)).cast('f32').mul(ofRows(call.tensor(2))).mul(ofColumns(call.tensor(3)));
  return call.has(6) ? sums.add(call.tensor(6)) : sums;
};

export const QUANTISED_OPERATORS: Readonly<Record<string, Operator>> = {
  DequantizeLinear: dequantizeLinear, QuantizeLinear: quantizeLinear, DynamicQuantizeLinear: dynamicQuantizeLinear,
  'com.microsoft.DequantizeLinear': dequantizeLinear, 'com.microsoft.QuantizeLinear': quantizeLinear,
  MatMulInteger: matMulInteger, ConvInteger: convInteger, QLinearMatMul: qLinearMatMul, QLinearConv: qLinearConv,
  'com.microsoft.QLinearAdd': (call) => requantised(call, (a, b) => a.add(b as Tensor), [0, 3], 6), 'com.microsoft.QLinearMul': (call) => requantised(call, (a, b) => a.mul(b as Tensor), [0, 3], 6),
  'com.microsoft.QLinearSigmoid': (call) => requantised(call, (x) => x.sigmoid(), [0], 3), 'com.microsoft.QLinearLeakyRelu': (call) => requantised(call, (x) => x.leakyRelu(call.float('alpha', 0.01)), [0], 3),
  'com.microsoft.QLinearGlobalAveragePool': (call) => requantised(call, (x) => {
    const axes = call.flag('channels_last') ? x.shape.slice(1, -1).map((_, k) => k + 1) : x.shape.slice(2).map((_, k) => k + 2);
    return x.mean(axes, { keep: true });
  }, [0], 3),
  'com.microsoft.DynamicQuantizeMatMul': dynamicQuantizeMatMul, 'com.microsoft.MatMulIntegerToFloat': matMulIntegerToFloat, 'com.microsoft.MatMulNBits': matMulNBits,
};
