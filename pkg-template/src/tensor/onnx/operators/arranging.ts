/** Operators that arrange elements: shapes, parts, borders; and tensors of one number or of places. */

import { invalidArgument } from '../../../arguments/errors.js';
import { isReal } from '../../dtype.js';
import { concat, where } from '../../functions.js';
import { checkAxis } from '../../recipe/operands.js';
import { arange, full, oneHot } from '../../sources.js';
import { product, quotient, type Shape, type Size } from '../../size.js';
import type { Tensor } from '../../tensor.js';
import { numberSizes, type Call, type Operator } from '../call.js';
import { typeNamed } from '../element-types.js';
import { constantOf } from '../folding.js';
import { reshapedSizes, sliceRanges, squeezedAxes } from '../shapes.js';

/** Shape as Expand takes it: both broadcast. */
function expand(call: Call): Tensor {
  const x = call.tensor(0);
  const told = call.sizes(1);
  const rank = Math.max(told.length, x.rank);
  const at = (shape: Shape, axis: number): Size => shape[axis - rank + shape.length] ?? 1;
  return x.broadcastTo(Array.from({ length: rank }, (_, axis) => (at(told, axis) === 1 ? at(x.shape, axis) : at(told, axis))));
}

function flatten(call: Call): Tensor {
  const x = call.tensor(0);
  const axis = call.int('axis', 1);
  const at = axis === x.rank ? axis : checkAxis('attribute axis', axis, x.rank);
  return x.reshape([product(x.shape.slice(0, at)), product(x.shape.slice(at))]);
}

function split(call: Call): Tensor[] {
  const x = call.tensor(0);
  const axis = call.axis('axis', x.rank, 0);
  const told = call.has(1) ? call.sizes(1) : call.ints('split');
  const size = x.shape[axis] as Size;
  if (told === undefined) {
    const count = call.hasAttribute('num_outputs') ? call.int('num_outputs') : call.node.outputs.length;
    if (count !== call.node.outputs.length) throw invalidArgument('attribute num_outputs', String(count), `${call.node.outputs.length}, the number of outputs`);
    if (typeof size !== 'number') {
      const part = quotient(size, count);
      if (part === null) throw invalidArgument('split', 'none', 'sizes of the parts, as the axis is a Dim');
      return parts(x, axis, Array.from({ length: count }, () => part));
    }
    // The last part is smaller where the size is no multiple.
    const most = Math.ceil(size / count);
    return parts(x, axis, Array.from({ length: count }, (_, k) => Math.max(0, Math.min(most, size - k * most))));
  }
  return parts(x, axis, told);
}

function parts(x: Tensor, axis: number, sizes: readonly Size[]): Tensor[] {
  if (sizes.every((size) => typeof size === 'number') && typeof x.shape[axis] === 'number') return x.split(sizes as readonly number[], axis);
  const found: Tensor[] = [];
  let start: Size = 0;
  for (const size of sizes) {
    const end: Size = typeof start === 'number' && typeof size === 'number' ? start + size : typeof start === 'number' ? (size as { plus(n: Size): Size }).plus(start) : start.plus(size);
    found.push(x.slice(...x.shape.map((_, k) => (k === axis ? ([start, end] as const) : null))));
    start = end;
  }
  return found;
}

const PAD_MODES = { constant: 'constant', edge: 'clamp', reflect: 'mirror', wrap: 'wrap' } as const;

function pad(call: Call): Tensor {
  const x = call.tensor(0);
  const mode = call.choice('mode', ['constant', 'edge', 'reflect', 'wrap'], 'constant');
  const pads = call.listed('pads', 1) ?? call.ints('paddings') ?? [];
  const axes = call.has(3) ? call.numbers(3) : x.shape.map((_, axis) => axis);
  if (pads.length !== 2 * axes.length) throw invalidArgument('pads', `${pads.length} numbers`, `${2 * axes.length}, two an axis`);
  const widths = x.shape.map(() => [0, 0] as [number, number]);
  axes.forEach((axis, k) => (widths[checkAxis('axes', axis, x.rank)] = [pads[k] as number, pads[k + axes.length] as number]));
  if (mode !== 'constant') return x.pad(widths, { mode: PAD_MODES[mode] });
  if (call.has(2) && call.value(2).host === null) {
    const isInside = full(x.shape, 1, 'u8').pad(widths).neq(0);
    return where(isInside, x.dtype === 'bool' ? x.cast('u8').pad(widths).cast('bool') : x.pad(widths), call.tensor(2).reshape([]));
  }
  const value = call.has(2) ? call.number(2) : call.hasAttribute('value') ? call.float('value') : 0;
  return x.dtype === 'bool' ? x.cast('u8').pad(widths, { value }).cast('bool') : x.pad(widths, { value });
}

function depthToSpace(call: Call): Tensor {
  const x = call.tensor(0);
  const [images, channels, height, width] = fourSizes(x);
  const b = call.int('blocksize');
  const inner = channels / (b * b);
  if (!Number.isInteger(inner)) throw invalidArgument('attribute blocksize', String(b), `a number whose square divides the ${channels} channels`);
  const isRowMajor = call.choice('mode', ['DCR', 'CRD'], 'DCR') === 'DCR';
  const blocks = isRowMajor ? x.reshape([images, b, b, inner, height, width]).permute([0, 3, 4, 1, 5, 2]) : x.reshape([images, inner, b, b, height, width]).permute([0, 1, 4, 2, 5, 3]);
  return blocks.reshape([images, inner, height * b, width * b]);
}

function spaceToDepth(call: Call): Tensor {
  const x = call.tensor(0);
  const [images, channels, height, width] = fourSizes(x);
  const b = call.int('blocksize');
  if (!(b > 0 && height % b === 0 && width % b === 0)) throw invalidArgument('attribute blocksize', String(b), `a divisor of ${height} and ${width}`);
  const blocks = x.reshape([images, channels, height / b, b, width / b, b]);
  const isBlockFirst = call.choice('mode', ['DCR', 'CRD'], 'DCR') === 'DCR';
  return blocks.permute(isBlockFirst ? [0, 3, 5, 1, 2, 4] : [0, 1, 3, 5, 2, 4]).reshape([images, channels * b * b, height / b, width / b]);
}

function fourSizes(x: Tensor): readonly [images: Size, channels: number, height: number, width: number] {
  const [images, ...rest] = x.shape;
  if (x.rank !== 4 || rest.some((size) => typeof size !== 'number')) throw invalidArgument('input 0', String(x), 'a tensor [images, channels, height, width]');
  return [images as Size, ...(rest as [number, number, number])];
}

function tile(call: Call): Tensor {
  const x = call.tensor(0);
  const counts = call.numbers(1);
  if (counts.length !== x.rank) throw invalidArgument('repeats', `${counts.length} numbers`, `${x.rank}, one an axis`);
  return x.tile(counts);
}

function trilu(call: Call): Tensor {
  const x = call.tensor(0);
  const diagonal = call.has(1) ? call.number(1) : 0;
  const wide = x.dtype === 'bool' ? x.cast('u8') : x;
  return (call.flag('upper', true) ? wide.triu(diagonal) : wide.tril(diagonal)).cast(x.dtype);
}

function eyeLike(call: Call): ReturnType<Operator> {
  const x = call.value(0);
  const [rows, columns] = x.shape;
  if (rows === undefined || columns === undefined || x.shape.length !== 2) throw invalidArgument('input 0', `${x.shape.length} axes`, 'a matrix');
  const type = call.hasAttribute('dtype') ? call.type('dtype') : x.type;
  return call.output(arange(rows, 'i32').add(call.int('k', 0)).expandDims(1).eq(arange(columns, 'i32')), type);
}

/** A place out of range has no 1. */
function oneHotOf(call: Call): ReturnType<Operator> {
  const [depth, values] = [call.number(1), call.tensor(2)];
  const indices = call.tensor(0).cast('i32');
  const hot = oneHot(indices.floorMod(depth), depth).neq(0);
  const isInside = indices.gte(-depth).and(indices.lt(depth)).expandDims(-1);
  const found = where(isInside.and(hot), values.pick(0, 1), values.pick(0, 0));
  const axis = checkAxis('attribute axis', call.int('axis', -1), found.rank);
  const order = Array.from({ length: indices.rank }, (_, k) => k);
  return call.output(found.permute([...order.slice(0, axis), indices.rank, ...order.slice(axis)]), call.value(2).type);
}

/** A range whose numbers are not in memory. */
function range(call: Call): ReturnType<Operator> {
  const [start, limit, step] = [call.sizes(0)[0], call.sizes(1)[0], call.sizes(2)[0]] as [Size, Size, Size];
  if (typeof start !== 'number' || typeof step !== 'number') throw invalidArgument('start and delta', 'a Dim', 'numbers');
  const { type } = call.value(0);
  if (typeof limit === 'number') {
    const count = Math.max(0, Math.ceil((limit - start) / step));
    const places = arange(count, isReal(type.dtype) ? 'f32' : type.dtype);
    return call.output(places.mul(step).add(start), type);
  }
  const distance = start === 0 ? limit : limit.plus(-start);
  const count = quotient(distance, step);
  if (count === null) throw invalidArgument('delta', String(step), 'a divisor of the range, which is a Dim');
  return call.output(arange(count, isReal(type.dtype) ? 'f32' : type.dtype).mul(step).add(start), type);
}

const constant: Operator = (call) => {
  const tensor = call.tensorAttribute('value');
  if (tensor !== undefined) return call.constant(tensor);
  const float = typeNamed('float');
  const int = typeNamed('int64');
  if (call.hasAttribute('value_float')) return call.hostOutput(float, [], [call.float('value_float')]);
  if (call.hasAttribute('value_int')) return call.hostOutput(int, [], [call.int('value_int')]);
  const floats = call.floats('value_floats');
  if (floats !== undefined) return call.hostOutput(float, [floats.length], floats);
  const ints = call.ints('value_ints');
  if (ints !== undefined) return call.hostOutput(int, [ints.length], ints);
  throw invalidArgument('attributes', 'no value', 'value, value_float, value_floats, value_int or value_ints');
};

export const ARRANGING_OPERATORS: Readonly<Record<string, Operator>> = {
  Constant: constant,
  Shape: (call) => call.value(0), Size: (call) => call.value(0),
  Reshape: (call) => call.tensor(0).reshape(reshapedSizes(call, call.value(0).shape)),
  Flatten: flatten,
  Squeeze: (call) => {
    const x = call.tensor(0);
    const axes = squeezedAxes(call, x.shape);
    return axes.length === 0 ? x : x.squeeze([...axes]);
  },
  Unsqueeze: (call) => call.tensor(0).expandDims(...(call.listed('axes', 1) ?? [])),
  Transpose: (call) => {
    const x = call.tensor(0);
    return x.permute(call.ints('perm') ?? x.shape.map((_, axis) => x.rank - 1 - axis));
  },
  Expand: expand, Tile: tile, Split: split, Pad: pad,
  Concat: (call) => concat(call.tensors, call.int('axis', call.opset < 4 ? 1 : undefined)),
  Slice: (call) => call.tensor(0).slice(...sliceRanges(call, call.value(0).shape)),
  DepthToSpace: depthToSpace, SpaceToDepth: spaceToDepth,
  Trilu: trilu, EyeLike: eyeLike, OneHot: oneHotOf, Range: range,
  ConstantOfShape: (call) => {
    const { type, number } = constantOf(call.tensorAttribute('value'), call);
    return call.output(full([...call.sizes(0)], number, type.dtype), type);
  },
  ReverseSequence: (call) => {
    const x = call.tensor(0);
    const [time, batch] = [call.axis('time_axis', x.rank, 0), call.axis('batch_axis', x.rank, 1)];
    const sizes = numberSizes('input 0', x);
    const along = (tensor: Tensor, axis: number) => tensor.reshape(sizes.map((size, k) => (k === axis ? size : 1)));
    const lengths = along(call.tensor(1).cast('i32'), batch);
    const places = along(arange(sizes[time] as number, 'i32'), time);
    const turned = where(places.lt(lengths), lengths.sub(places).sub(1), places);
    return x.gather(turned.broadcastTo([...sizes]), time);
  },
};
