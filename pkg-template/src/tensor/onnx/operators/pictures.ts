/** Convolutions and pools. */

import { invalidArgument } from '../../../arguments/errors.js';
import { adaptiveAvgPool, adaptiveMaxPool, avgPool, maxPool, type ConvOptions } from '../../convolutions.js';
import { convolution } from '../../recipe/convolution.js';
import { transposedConvolution } from '../../recipe/transposed-convolution.js';
import { minus, plus, type Size } from '../../size.js';
import { full } from '../../sources.js';
import { Tensor } from '../../tensor.js';
import type { Call, Operator } from '../call.js';

/** How windows slide, and how much of the padding at the end ceil_mode has added. */
interface Windows {
  readonly stride: readonly number[];
  readonly dilation: readonly number[];
  readonly padding: readonly (readonly [before: number, after: number])[];
  readonly more: readonly number[];
}

/** Reads stride, dilation and padding of windows over axes with these extents. */
export function windowsOf(call: Call, extents: readonly Size[], sizes: readonly number[]): Windows {
  const axes = sizes.length;
  if (extents.length !== axes) throw invalidArgument('attribute kernel_shape', `${axes} numbers`, `${extents.length}, one an axis after the channels`);
  const listed = (name: string, count: number, fallback: number) => {
    const found = call.ints(name) ?? Array.from({ length: count }, () => fallback);
    if (found.length !== count) throw invalidArgument(`attribute ${name}`, `${found.length} numbers`, `${count} numbers`);
    return found;
  };
  const [stride, dilation, pads] = [listed('strides', axes, 1), listed('dilations', axes, 1), listed('pads', 2 * axes, 0)];
  const auto = call.choice('auto_pad', ['NOTSET', 'VALID', 'SAME_UPPER', 'SAME_LOWER'], 'NOTSET');
  const more = sizes.map(() => 0);
  const padding = sizes.map((size, k) => {
    const [extent, step] = [extents[k] as Size, stride[k] as number];
    const span = (size - 1) * (dilation[k] as number) + 1;
    if (auto === 'VALID') return [0, 0] as const;
    if (auto !== 'NOTSET') {
      const needed = Math.max(0, typeof extent === 'number' ? (Math.ceil(extent / step) - 1) * step + span - extent : span - 1);
      const [low, high] = [Math.floor(needed / 2), Math.ceil(needed / 2)];
      return auto === 'SAME_UPPER' ? ([low, high] as const) : ([high, low] as const);
    }
    const [before, after] = [pads[k] as number, pads[k + axes] as number];
    if (call.flag('ceil_mode') && typeof extent === 'number') {
      const room = extent + before + after - span;
      // A window begins within the axis or the padding before it.
      let count = Math.ceil(room / step) + 1;
      if ((count - 1) * step >= extent + before) count -= 1;
      more[k] = Math.max(0, (count - 1) * step - room);
    }
    return [before, after + (more[k] as number)] as const;
  });
  return { stride, dilation, padding, more };
}

/** A convolution over any number of axes. */
export function convolve(call: Call, x: Tensor, weight: Tensor, bias: Tensor | undefined): Tensor {
  const sizes = windowSizes(weight);
  const options: ConvOptions = { ...slidingOf(windowsOf(call, x.shape.slice(2), sizes)), groups: call.int('group', 1), ...(bias === undefined ? {} : { bias }) };
  return Tensor.make(convolution('Conv', x.node, weight.node, sizes.length, options));
}

const slidingOf = ({ stride, dilation, padding }: Windows) => ({ stride, dilation, padding });

function windowSizes(weight: Tensor): readonly number[] {
  const sizes = weight.shape.slice(2);
  if (weight.rank < 3 || sizes.some((size) => typeof size !== 'number')) throw invalidArgument('input 1', String(weight), 'a weight [out, in/groups, sizes of a window] of numbers');
  return sizes as readonly number[];
}

function convTranspose(call: Call): Tensor {
  const [x, weight] = [call.tensor(0), call.tensor(1)];
  const bias = call.maybe(2);
  const sizes = windowSizes(weight);
  const given = windowsOf(call, x.shape.slice(2), sizes);
  const more = call.ints('output_padding') ?? sizes.map(() => 0);
  const told = call.ints('output_shape');
  const auto = call.text('auto_pad', 'NOTSET');
  const widths = sizes.map((size, k) => {
    const [stride, extent, extra] = [given.stride[k] as number, x.shape[k + 2] as Size, more[k] ?? 0];
    const wanted = told?.at(k - sizes.length) ?? (auto.startsWith('SAME') && typeof extent === 'number' ? extent * stride : undefined);
    if (wanted === undefined) return { padding: given.padding[k] as readonly [number, number], more: extra };
    const whole = plus(minusTimes(extent, stride), (size - 1) * (given.dilation[k] as number) + 1 + extra);
    const beyond = minus(whole, wanted);
    if (typeof beyond !== 'number') throw invalidArgument('attribute output_shape', 'a number for an axis that is a Dim', 'axes of known sizes');
    const cut = Math.max(beyond, 0);
    const [small, large] = [Math.floor(cut / 2), Math.ceil(cut / 2)];
    return { padding: auto === 'SAME_UPPER' ? ([small, large] as const) : ([large, small] as const), more: extra + Math.max(-beyond, 0) };
  });
  const options = { stride: given.stride, dilation: given.dilation, groups: call.int('group', 1), padding: widths.map(({ padding }) => padding), outputPadding: widths.map((each) => each.more), ...(bias === undefined ? {} : { bias }) };
  return Tensor.make(transposedConvolution('ConvTranspose', x.node, weight.node, sizes.length, options));
}

/** (extent − 1) · stride. */
function minusTimes(extent: Size, stride: number): Size {
  const less = minus(extent, 1);
  return typeof less === 'number' ? less * stride : Array.from({ length: stride }, () => less as Size).reduce<Size>(plus, 0);
}

function poolWindows(call: Call): { x: Tensor; size: readonly number[]; windows: Windows } {
  const x = call.tensor(0);
  const size = call.ints('kernel_shape') ?? [];
  return { x, size, windows: windowsOf(call, x.shape.slice(2), size) };
}

function maxPoolOf(call: Call): readonly (Tensor | null)[] {
  if (call.wants(1)) throw invalidArgument('output 1', 'a name', 'none: the places of the largest are not computed');
  const { x, size, windows } = poolWindows(call);
  return [maxPool(x, size, slidingOf(windows)), null];
}

/** What ceil_mode adds never counts; the padding counts with `count_include_pad`. */
function avgPoolOf(call: Call): Tensor {
  const { x, size, windows } = poolWindows(call);
  if (!call.flag('count_include_pad')) return avgPool(x, size, slidingOf(windows));
  const given = windows.padding.map(([before, after], k) => [before, after - (windows.more[k] as number)] as const);
  const padded = x.pad([[0, 0], [0, 0], ...given]);
  return avgPool(padded, size, { ...slidingOf(windows), padding: windows.more.map((width) => [0, width] as const) });
}

/** The p-norm of each window. */
function lpPool(call: Call): Tensor {
  const { x, size, windows } = poolWindows(call);
  const p = call.int('p', 2);
  const count = size.reduce((product, each) => product * each, 1);
  const powers = p === 1 ? x.abs() : p === 2 ? x.square() : x.abs().pow(p);
  const sums = avgPool(powers, size, { ...slidingOf(windows), countPadding: true }).mul(count);
  return p === 1 ? sums : p === 2 ? sums.sqrt() : sums.pow(1 / p);
}

/** A pool over all places. */
const whole = (apply: (x: Tensor, size: number[]) => Tensor, reduce: (x: Tensor, axes: number[]) => Tensor): Operator => (call) => {
  const x = call.tensor(0);
  const axes = x.shape.slice(2).map((_, k) => k + 2);
  return x.shape.slice(2).every((size) => typeof size === 'number') ? apply(x, axes.map(() => 1)) : reduce(x, axes);
};

/** Local response: divided by a power of the squares of channels around. */
function lrn(call: Call): Tensor {
  const x = call.tensor(0);
  const size = call.int('size');
  const squares = x.square();
  const before = Math.floor((size - 1) / 2);
  const sums = squares.pad(x.shape.map((_, axis) => (axis === 1 ? [before, size - 1 - before] : [0, 0]))).windows(1, size).sum(-1);
  return x.div(sums.mul(call.float('alpha', 0.0001) / size).add(call.float('bias', 1)).pow(call.float('beta', 0.75)));
}

/** The largest of regions of interest, in so many parts. */
function maxUnpool(call: Call): Tensor {
  const [x, indices] = [call.tensor(0), call.tensor(1)];
  const size = call.ints('kernel_shape') ?? [];
  const { stride, padding } = windowsOf(call, x.shape.slice(2), size);
  const extents = x.shape.slice(2).map((extent, k) => {
    if (typeof extent !== 'number') throw invalidArgument('input 0', 'an axis that is a Dim', 'axes of known sizes');
    const [before, after] = padding[k] as readonly [number, number];
    return (extent - 1) * (stride[k] as number) + (size[k] as number) - before - after;
  });
  const lead = x.shape.slice(0, 2);
  const inferred = [...lead, ...extents];
  const shape = call.has(2) ? call.sizes(2) : inferred;
  if (lead.some((each) => typeof each !== 'number')) throw invalidArgument('input 0', 'images that are a Dim', 'a known number of them');
  const count = (inferred as number[]).reduce((product, each) => product * each, 1);
  const flat = full([count], 0, x.dtype).scatter(indices.cast('i32').flatten(), x.flatten());
  const unpooled = flat.reshape(inferred);
  const more = shape.slice(2).map((each, k) => [0, (each as number) - (extents[k] as number)] as const);
  return unpooled.pad([[0, 0], [0, 0], ...more]);
}

export const PICTURE_OPERATORS: Readonly<Record<string, Operator>> = {
  Conv: (call) => convolve(call, call.tensor(0), call.tensor(1), call.maybe(2)),
  ConvTranspose: convTranspose,
  MaxPool: maxPoolOf, AveragePool: avgPoolOf, LpPool: lpPool, LRN: lrn, MaxUnpool: maxUnpool,
  GlobalAveragePool: whole(adaptiveAvgPool, (x, axes) => x.mean(axes, { keep: true })),
  GlobalMaxPool: whole(adaptiveMaxPool, (x, axes) => x.max(axes, { keep: true })),
};
