/** Operators of shapes, parts and places. */

import { invalidArgument } from '../../../arguments/errors.js';
import { typeNamed, type ElementType } from '../../onnx/element-types.js';
import type { GraphBuilder } from '../builder.js';
import type { Operator } from './elementwise.js';
import type { NodeCall } from './node.js';

/** Ends of any axis. */
const BEYOND = 2 ** 31 - 1;

/** A number of a type. */
const filled = (builder: GraphBuilder, value: number, type: ElementType) => builder.node('Cast', [builder.floats(value)], { to: type.code });

/** One number in every place of a shape. */
const like = (value: number): Operator => (call) => {
  const { builder } = call;
  return builder.node('Expand', [filled(builder, value, call.type('T')), builder.node('Shape', [call.input(0)])]);
};

const reshape: Operator = (call) => call.builder.node('Reshape', [call.input(0), call.input(1)], { allowzero: 1 });

const transpose: Operator = (call) => call.builder.node('Transpose', [call.input(0)], { perm: call.numbers(1) });

const concat = (isAxisFirst: boolean): Operator => (call) => {
  const last = call.inputs.length - 1;
  const [axis, inputs] = isAxisFirst ? [call.number(0), call.inputs.slice(1)] : [call.number(last), call.inputs.slice(0, last)];
  return call.builder.node('Concat', inputs, { axis });
};

const split = (isSized: boolean): Operator => (call) => {
  const { builder } = call;
  const count = call.int('num_split', isSized ? call.numbers(1).length : 1);
  if (!(count >= 1 && count <= 4096)) throw invalidArgument(`${call.place}: num_split`, String(count), 'a number from 1 to 4096');
  const [axis, x] = isSized ? [call.number(2), call.input(0)] : [call.number(0), call.input(1)];
  if (!isSized) return builder.several('Split', [x], count, { axis, num_outputs: count });
  const sizes = call.numbers(1);
  if (sizes.length !== count) throw invalidArgument(`${call.place}: input 1`, `${sizes.length} sizes`, `${count}`);
  if (!sizes.includes(-1)) return builder.several('Split', [x, builder.ints(sizes)], count, { axis });
  // The open size is what the others leave.
  const extent = builder.node('Gather', [builder.node('Shape', [x]), builder.ints([axis])], { axis: 0 });
  const rest = builder.node('Sub', [extent, builder.ints([sizes.reduce((sum, size) => sum + Math.max(size, 0), 0)])]);
  const told = builder.node('Concat', sizes.map((size) => (size === -1 ? rest : builder.ints([size]))), { axis: 0 });
  return builder.several('Split', [x, told], count, { axis });
};

const pack: Operator = (call) => {
  const axis = call.int('axis', 0);
  const { builder } = call;
  return builder.node('Concat', call.inputs.map((input) => builder.node('Unsqueeze', [input, builder.ints([axis])])), { axis });
};

const unpack: Operator = (call) => {
  const { builder } = call;
  const [axis, count] = [call.int('axis', 0), call.int('num')];
  if (!(count >= 1 && count <= 4096)) throw invalidArgument(`${call.place}: num`, String(count), 'a number from 1 to 4096');
  return builder.several('Split', [call.input(0)], count, { axis, num_outputs: count }).map((part) => builder.node('Squeeze', [part, builder.ints([axis])]));
};

/** Begin and size of each axis; a size of −1 is all that is left. */
const slice: Operator = (call) => {
  const { builder } = call;
  const [begin, size] = [call.input(1), call.input(2)];
  const isOpen = builder.node('Less', [size, builder.ints([0])]);
  const end = builder.node('Where', [isOpen, builder.ints([BEYOND]), builder.node('Add', [begin, size])]);
  return builder.node('Slice', [call.input(0), begin, end]);
};

/** The parts of a strided slice: each is an axis, a new axis, or all axes that the others leave. */
const stridedSlice: Operator = (call) => {
  const { builder } = call;
  const masks = (name: string) => call.int(name, 0);
  const [beginMask, endMask, shrinkMask, newMask, ellipsisMask] = ['begin_mask', 'end_mask', 'shrink_axis_mask', 'new_axis_mask', 'ellipsis_mask'].map(masks) as [number, number, number, number, number];
  const known = [1, 2, 3].map((k) => call.maybeNumbers(k));
  const count = known[0]?.length ?? known[1]?.length ?? known[2]?.length ?? builder.sizesOf(call.input(1))?.[0];
  if (count === undefined || count > 30) throw invalidArgument(`${call.place}: inputs 1 to 3`, count === undefined ? 'computed tensors' : `${count} numbers`, 'at most 30, of which begin, end or strides are constants');
  const strides = call.numbers(3);
  const has = (mask: number, k: number) => Math.floor(mask / 2 ** k) % 2 === 1;
  const ellipsis = Array.from({ length: count }, (_, k) => k).find((k) => has(ellipsisMask, k)) ?? -1;
  // Axes after an ellipsis are counted from the end.
  const isAxis = (k: number) => k !== ellipsis && !has(newMask, k);
  const placesFrom = (from: number, to: number, counts: (k: number) => boolean) => Array.from({ length: Math.max(0, to - from) }, (_, i) => from + i).filter(counts).length;
  const axisOf = (k: number) => (ellipsis < 0 || k < ellipsis ? placesFrom(0, k, isAxis) : -placesFrom(k, count, isAxis));
  const at = (input: number, k: number) => builder.node('Slice', [call.input(input), builder.ints([k]), builder.ints([k + 1])]);
  let x = call.input(0);
  const [starts, ends, axes, steps, gone] = [[], [], [], [], []] as [string[], string[], number[], number[], number[]];
  for (let k = 0; k < count; k++) {
    if (!isAxis(k)) continue;
    const axis = axisOf(k);
    const step = has(shrinkMask, k) ? 1 : (strides[k] as number);
    const [begin, end] = [known[0]?.[k], known[1]?.[k]];
    if (has(shrinkMask, k)) {
      gone.push(axis);
      // A place that is not known may be counted from the end, so that it is read as it is.
      if (begin === undefined) {
        x = builder.node('Gather', [x, at(1, k)], { axis });
        continue;
      }
      starts.push(builder.ints([begin]));
      ends.push(builder.ints([begin === -1 ? BEYOND : begin + 1]));
    } else {
      if (has(beginMask, k) && has(endMask, k) && step === 1) continue;
      starts.push(has(beginMask, k) ? builder.ints([step > 0 ? 0 : BEYOND]) : begin === undefined ? at(1, k) : builder.ints([begin]));
      ends.push(has(endMask, k) ? builder.ints([step > 0 ? BEYOND : -BEYOND]) : end === undefined ? at(2, k) : builder.ints([end]));
    }
    axes.push(axis);
    steps.push(step);
  }
  const joined = (parts: readonly string[]) => (parts.length === 1 ? (parts[0] as string) : builder.node('Concat', parts, { axis: 0 }));
  if (axes.length > 0) x = builder.node('Slice', [x, joined(starts), joined(ends), builder.ints(axes), builder.ints(steps)]);
  if (gone.length > 0) x = builder.node('Squeeze', [x, builder.ints(gone)]);
  const stays = (k: number) => k !== ellipsis && !(has(shrinkMask, k) && !has(newMask, k));
  const added = Array.from({ length: count }, (_, k) => k).filter((k) => k !== ellipsis && has(newMask, k)).map((k) => (ellipsis < 0 || k < ellipsis ? placesFrom(0, k, stays) : -placesFrom(k, count, stays)));
  return added.length > 0 ? builder.node('Unsqueeze', [x, builder.ints(added)]) : x;
};

/** [before, after] of each axis, as all before and then all after. */
function pads(call: NodeCall): string {
  const { builder } = call;
  return builder.node('Reshape', [builder.node('Transpose', [call.input(1)], { perm: [1, 0] }), builder.ints([-1])]);
}

const pad: Operator = (call) => call.builder.node('Pad', [call.input(0), pads(call), ...(call.node.operator === 'PadV2' ? [call.input(2)] : [])]);

/** The border is mirrored at its last elements, or beside them: then these stand twice. */
const mirrorPad: Operator = (call) => {
  const { builder } = call;
  if (call.choice('mode', ['REFLECT', 'SYMMETRIC']) === 'REFLECT') return builder.node('Pad', [call.input(0), pads(call)], { mode: 'reflect' });
  const widths = call.numbers(1);
  const part = (x: string, axis: number, start: number, end: number) => builder.node('Slice', [x, builder.ints([start]), builder.ints([end]), builder.ints([axis]), builder.ints([-1])]);
  return Array.from({ length: widths.length / 2 }, (_, axis) => axis).reduce((x, axis) => {
    const [before, after] = [widths[2 * axis] as number, widths[2 * axis + 1] as number];
    const parts = [...(before > 0 ? [part(x, axis, before - 1, -BEYOND)] : []), x, ...(after > 0 ? [part(x, axis, -1, -1 - after)] : [])];
    return parts.length === 1 ? x : builder.node('Concat', parts, { axis });
  }, call.input(0));
};

const fill: Operator = (call) => call.builder.node('Expand', [call.input(1), call.input(0)]);

const range: Operator = (call) => call.builder.node('Range', [call.input(0), call.input(1), call.input(2)]);

const gather: Operator = (call) => {
  const batch = call.int('batch_dims', 0);
  call.expect('batch_dims', batch === 0, batch, '0');
  const axis = call.has(2) ? call.number(2) : 0;
  return call.builder.node('Gather', [call.input(0), call.input(1)], { axis });
};

/** A place below 0 or beyond has no 1. */
const oneHot: Operator = (call) => {
  const { builder } = call;
  const [indices, depth, on, off] = [0, 1, 2, 3].map((k) => call.input(k)) as [string, string, string, string];
  const axis = call.int('axis', -1);
  const places = builder.node('Range', [builder.ints(0), depth, builder.ints(1)]);
  let along = places;
  if (axis >= 0) {
    const after = builder.node('Sub', [builder.node('Size', [builder.node('Shape', [indices])]), builder.ints(axis)]);
    const ones = builder.node('Expand', [builder.ints([1]), builder.node('Reshape', [after, builder.ints([1])])]);
    along = builder.node('Reshape', [places, builder.node('Concat', [builder.ints([-1]), ones], { axis: 0 })]);
  }
  const isPlace = builder.node('Equal', [builder.node('Unsqueeze', [indices, builder.ints([axis])]), along]);
  return builder.node('Where', [isPlace, on, off]);
};

/** Sizes of axes of a block, as numbers that runs may tell. */
function blockSizes(call: NodeCall, x: string, block: readonly number[]): { readonly batch: string; readonly extents: string[]; readonly rest: string } {
  const { builder } = call;
  const shape = builder.node('Shape', [x]);
  const part = (from: number, to: number) => builder.node('Slice', [shape, builder.ints([from]), builder.ints([to])]);
  return { batch: part(0, 1), extents: block.map((_, k) => part(k + 1, k + 2)), rest: part(block.length + 1, BEYOND) };
}

/** Blocks of an axis become images. */
const spaceToBatch: Operator = (call) => {
  const { builder } = call;
  const block = call.numbers(1);
  const widths = call.numbers(2);
  if (block.length === 0 || block.length > 8 || widths.length !== 2 * block.length) throw invalidArgument(`${call.place}: inputs 1 and 2`, `${block.length} and ${widths.length} numbers`, '1 to 8, and two for each');
  const axes = block.map((_, k) => k + 1);
  const ends = [0, 1].flatMap((end) => block.map((_, k) => widths[2 * k + end] as number));
  const padded = widths.some((width) => width !== 0) ? builder.node('Pad', [call.input(0), builder.ints(ends), '', builder.ints(axes)]) : call.input(0);
  const { batch, extents, rest } = blockSizes(call, padded, block);
  const whole = extents.map((extent, k) => builder.node('Div', [extent, builder.ints([block[k] as number])]));
  const joined = (parts: readonly string[]) => builder.node('Concat', parts, { axis: 0 });
  const divided = builder.node('Reshape', [padded, joined([batch, ...whole.flatMap((extent, k) => [extent, builder.ints([block[k] as number])]), builder.ints([-1])])], { allowzero: 1 });
  const m = block.length;
  const turned = builder.node('Transpose', [divided], { perm: [...block.map((_, k) => 2 * k + 2), 0, ...block.map((_, k) => 2 * k + 1), 2 * m + 1] });
  const images = builder.node('Mul', [batch, builder.ints([block.reduce((product, each) => product * each, 1)])]);
  return builder.node('Reshape', [turned, joined([images, ...whole, rest])], { allowzero: 1 });
};

/** Images become blocks of an axis, of which borders are cut. */
const batchToSpace: Operator = (call) => {
  const { builder } = call;
  const block = call.numbers(1);
  const crops = call.numbers(2);
  if (block.length === 0 || block.length > 8 || crops.length !== 2 * block.length) throw invalidArgument(`${call.place}: inputs 1 and 2`, `${block.length} and ${crops.length} numbers`, '1 to 8, and two for each');
  const { batch, extents, rest } = blockSizes(call, call.input(0), block);
  const images = builder.node('Div', [batch, builder.ints([block.reduce((product, each) => product * each, 1)])]);
  const joined = (parts: readonly string[]) => builder.node('Concat', parts, { axis: 0 });
  const m = block.length;
  const divided = builder.node('Reshape', [call.input(0), joined([builder.ints(block), images, ...extents, builder.ints([-1])])], { allowzero: 1 });
  const turned = builder.node('Transpose', [divided], { perm: [m, ...block.flatMap((_, k) => [m + 1 + k, k]), 2 * m + 1] });
  const whole = builder.node('Reshape', [turned, joined([images, ...extents.map((extent, k) => builder.node('Mul', [extent, builder.ints([block[k] as number])])), rest])], { allowzero: 1 });
  if (crops.every((crop) => crop === 0)) return whole;
  const starts = block.map((_, k) => crops[2 * k] as number);
  const ends = block.map((_, k) => (crops[2 * k + 1] === 0 ? BEYOND : -(crops[2 * k + 1] as number)));
  return builder.node('Slice', [whole, builder.ints(starts), builder.ints(ends), builder.ints(block.map((_, k) => k + 1))]);
};

const squeeze: Operator = (call) => {
  const listed = call.hasAttribute('squeeze_dims') ? call.ints('squeeze_dims') : call.ints('axis');
  return call.builder.node('Squeeze', listed.length === 0 ? [call.input(0)] : [call.input(0), call.builder.ints(listed)]);
};

const reverse: Operator = (call) => {
  const { builder } = call;
  const axes = call.node.operator === 'Reverse' ? call.numbers(1).flatMap((isReversed, axis) => (isReversed === 0 ? [] : [axis])) : call.numbers(1);
  if (axes.length === 0) return call.input(0);
  return builder.node('Slice', [call.input(0), builder.ints(axes.map(() => -1)), builder.ints(axes.map(() => -BEYOND)), builder.ints(axes), builder.ints(axes.map(() => -1))]);
};

/** The diagonals from `lower` below the main one to `upper` above it; below 0 all. */
const bandPart: Operator = (call) => {
  const { builder } = call;
  const [lower, upper] = [call.number(1), call.number(2)];
  const below = lower < 0 ? call.input(0) : builder.node('Trilu', [call.input(0), builder.ints(-lower)], { upper: 1 });
  return upper < 0 ? below : builder.node('Trilu', [below, builder.ints(upper)], { upper: 0 });
};

/** Updates are added to zeros. */
const scatter: Operator = (call) => {
  const { builder } = call;
  const zeros = builder.node('Expand', [filled(builder, 0, call.type('T')), call.input(2)]);
  return builder.node('ScatterND', [zeros, call.input(0), call.input(1)], { reduction: 'add' });
};

/** Values at places of a shape that has a default elsewhere; places are rows, or numbers of a vector. */
const sparseToDense: Operator = (call) => {
  const { builder } = call;
  const axes = builder.node('Reshape', [builder.node('Size', [call.input(1)]), builder.ints([1])]);
  const places = builder.node('Reshape', [call.input(0), builder.node('Concat', [builder.ints([-1]), axes], { axis: 0 })]);
  const count = builder.node('Slice', [builder.node('Shape', [places]), builder.ints([0]), builder.ints([1])]);
  return builder.node('ScatterND', [builder.node('Expand', [call.input(3), call.input(1)]), places, builder.node('Expand', [call.input(2), count])]);
};

const shape: Operator = (call) => call.builder.node('Cast', [call.builder.node('Shape', [call.input(0)])], { to: typeNamed('int32').code });

const same: Operator = (call) => call.input(0);

export const ARRANGING_OPERATORS: Readonly<Record<string, Operator>> = {
  Reshape: reshape, Transpose: transpose, ConcatV2: concat(false), Concat: concat(true), Split: split(false), SplitV: split(true), Pack: pack, Unpack: unpack, Slice: slice, StridedSlice: stridedSlice,
  Pad: pad, PadV2: pad, MirrorPad: mirrorPad, Tile: (call) => call.builder.node('Tile', [call.input(0), call.input(1)]),
  ExpandDims: (call) => call.builder.node('Unsqueeze', [call.input(0), call.builder.ints([call.number(1)])]), Squeeze: squeeze,
  Gather: gather, GatherV2: gather, GatherNd: (call) => call.builder.node('GatherND', [call.input(0), call.input(1)]), ScatterNd: scatter, SparseToDense: sparseToDense,
  Shape: shape, Size: (call) => call.builder.node('Size', [call.input(0)]), Rank: (call) => call.builder.node('Size', [call.builder.node('Shape', [call.input(0)])]),
  Fill: fill, Range: range, ZerosLike: like(0), OnesLike: like(1), BroadcastTo: (call) => call.builder.node('Expand', [call.input(0), call.input(1)]), OneHot: oneHot,
  SpaceToBatchND: spaceToBatch, BatchToSpaceND: batchToSpace, ReverseV2: reverse, Reverse: reverse, MatrixBandPart: bandPart,
  Identity: same, StopGradient: same, PreventGradient: same, Snapshot: same, CheckNumerics: same, PlaceholderWithDefault: same, IdentityN: (call) => call.inputs, NoOp: () => [],
};
