/** Layers of convolutions, pools, borders and sizes of pictures: over one, two or three axes. */

import { invalidArgument } from '../../../arguments/errors.js';
import type { Attributes } from '../builder.js';
import { activated } from './activations.js';
import type { Layer, LayerCall, Ranked } from './call.js';

/** Applies an operator that has its channels on axis 1. */
function onChannelsFirst(call: LayerCall, axes: number, apply: (x: string) => string): Ranked {
  const { builder, config } = call;
  const rank = axes + 2;
  const x = call.ranked(rank);
  const isFirst = config.choice('data_format', ['channels_last', 'channels_first'], 'channels_last') === 'channels_first';
  return { name: isFirst ? apply(x) : builder.channelsLast(apply(builder.channelsFirst(x, rank)), rank), rank };
}

/** How windows slide: strides, dilations and borders. */
function windowsOf(call: LayerCall, sizes: readonly number[], defaultStrides: readonly number[] = sizes.map(() => 1)): Attributes {
  const { config } = call;
  const axes = sizes.length;
  const strides = config.ints('strides', axes, defaultStrides);
  const dilations = config.ints('dilation_rate', axes, sizes.map(() => 1));
  const padding = config.choice('padding', axes === 1 ? ['valid', 'same', 'causal'] : ['valid', 'same'], 'valid');
  // Of a causal convolution a place depends on those before it.
  if (padding === 'causal') return { strides, dilations, pads: [((sizes[0] as number) - 1) * (dilations[0] as number), 0] };
  return { strides, dilations, auto_pad: padding === 'same' ? 'SAME_UPPER' : 'VALID' };
}

/** The order of axes for weights [windows …, in, out], as [out, in, windows …]. */
const outFirst = (axes: number) => [axes + 1, axes, ...Array.from({ length: axes }, (_, k) => k)];

const present = (...names: readonly (string | null)[]) => names.filter((name) => name !== null);

const convolution = (axes: number): Layer => (call) => {
  const { builder, config } = call;
  const kernel = call.sized('kernel', axes + 2);
  const weight = builder.node('Transpose', [kernel.name], { perm: outFirst(axes) });
  const attributes = { ...windowsOf(call, kernel.sizes.slice(0, axes)), group: config.int('groups', 1) };
  return activated(call, onChannelsFirst(call, axes, (x) => builder.node('Conv', present(x, weight, call.bias), attributes)));
};

/** The weights [rows, columns, in, each] of a convolution of each channel by itself, as [in · each, 1, rows, columns]. */
function depthwiseWeight(call: LayerCall, axes: number, ...names: readonly string[]): { readonly weight: string; readonly sizes: readonly number[]; readonly channels: number } {
  const { builder } = call;
  const own = names.find((name) => call.maybe(name) !== null) ?? (names[0] as string);
  const { name, sizes } = call.sized(own, axes + 2);
  const [windows, channels, each] = [sizes.slice(0, axes), sizes[axes] as number, sizes[axes + 1] as number];
  const inFirst = builder.node('Transpose', [name], { perm: [axes, axes + 1, ...windows.map((_, k) => k)] });
  return { weight: builder.node('Reshape', [inFirst, builder.ints([channels * each, 1, ...windows])]), sizes: windows, channels };
}

const depthwise: Layer = (call) => {
  const { weight, sizes, channels } = depthwiseWeight(call, 2, 'depthwise_kernel', 'kernel');
  return activated(call, onChannelsFirst(call, 2, (x) => call.builder.node('Conv', present(x, weight, call.bias), { ...windowsOf(call, sizes), group: channels })));
};

const separable = (axes: number): Layer => (call) => {
  const { builder } = call;
  const { weight, sizes, channels } = depthwiseWeight(call, axes, 'depthwise_kernel');
  const pointwise = builder.node('Transpose', [call.sized('pointwise_kernel', axes + 2).name], { perm: outFirst(axes) });
  return activated(call, onChannelsFirst(call, axes, (x) => {
    const own = builder.node('Conv', [x, weight], { ...windowsOf(call, sizes), group: channels });
    return builder.node('Conv', present(own, pointwise, call.bias));
  }));
};

const transposed = (axes: number): Layer => (call) => {
  const { builder, config } = call;
  call.refuse('output_padding', () => false, 'none');
  const isOne = (value: unknown) => [value].flat().every((each) => each === 1);
  call.refuse('dilation_rate', isOne, '1');
  const { name, sizes } = call.sized('kernel', axes + 2);
  const weight = builder.node('Transpose', [name], { perm: outFirst(axes) });
  const strides = config.ints('strides', axes, sizes.slice(0, axes).map(() => 1));
  const isSame = config.choice('padding', ['valid', 'same'], 'valid') === 'same';
  const more = strides.map((stride, k) => Math.max(0, stride - (sizes[k] as number)));
  const attributes: Attributes = isSame ? { strides, auto_pad: 'SAME_UPPER' } : { strides, output_padding: more };
  return activated(call, onChannelsFirst(call, axes, (x) => builder.node('ConvTranspose', present(x, weight, call.bias), attributes)));
};

const pool = (operator: 'MaxPool' | 'AveragePool', axes: number): Layer => (call) => {
  const size = call.config.ints('pool_size', axes, Array.from({ length: axes }, () => 2));
  return onChannelsFirst(call, axes, (x) => call.builder.node(operator, [x], { kernel_shape: size, ...windowsOf(call, size, size) }));
};

const globalPool = (operator: 'ReduceMax' | 'ReduceMean', axes: number): Layer => (call) => {
  const { builder, config } = call;
  const over = builder.ints(Array.from({ length: axes }, (_, k) => k + 2));
  if (config.flag('keepdims')) return onChannelsFirst(call, axes, (x) => builder.node(operator, [x, over], { keepdims: 1 }));
  const x = call.ranked(axes + 2);
  const isFirst = config.choice('data_format', ['channels_last', 'channels_first'], 'channels_last') === 'channels_first';
  return { name: builder.node(operator, [isFirst ? x : builder.channelsFirst(x, axes + 2), over], { keepdims: 0 }), rank: 2 };
};

/** Widths at both ends of each axis: one number, one an axis, or two an axis. */
function widthsOf(call: LayerCall, setting: string, axes: number): readonly (readonly [before: number, after: number])[] {
  const value = call.config.any(setting) ?? 1;
  const isWidth = (each: unknown): each is number => typeof each === 'number' && Number.isSafeInteger(each) && each >= 0;
  const isPair = (each: unknown): each is [number, number] => Array.isArray(each) && each.length === 2 && each.every(isWidth);
  if (isWidth(value)) return Array.from({ length: axes }, () => [value, value] as const);
  if (axes === 1 && isPair(value)) return [value];
  if (Array.isArray(value) && value.length === axes) {
    if (value.every(isWidth)) return value.map((width) => [width, width] as const);
    if (value.every(isPair)) return value;
  }
  throw call.config.wrong(setting, value, `a whole number, ${axes} of them, or ${axes} pairs of them`);
}

const zeroPadding = (axes: number): Layer => (call) => {
  const widths = widthsOf(call, 'padding', axes);
  const pads = [0, 0, ...widths.map(([before]) => before), 0, 0, ...widths.map(([, after]) => after)];
  return onChannelsFirst(call, axes, (x) => call.builder.node('Pad', [x, call.builder.ints(pads)]));
};

/** Ends of axes without widths. */
const BEYOND = 2 ** 31 - 1;

const cropping = (axes: number): Layer => (call) => {
  const { builder } = call;
  const widths = widthsOf(call, 'cropping', axes);
  const ends = widths.map(([, after]) => (after === 0 ? BEYOND : -after));
  const inputs = [widths.map(([before]) => before), ends, widths.map((_, k) => k + 2)].map((list) => builder.ints(list));
  return onChannelsFirst(call, axes, (x) => builder.node('Slice', [x, ...inputs]));
};

/** TensorFlow.js has the first place of both pictures at one place. */
const upSampling = (axes: number): Layer => (call) => {
  const { builder, config } = call;
  const size = config.ints('size', axes, Array.from({ length: axes }, () => 2));
  const mode = config.choice('interpolation', axes === 2 ? ['nearest', 'bilinear'] : ['nearest'], 'nearest');
  const attributes = { mode: mode === 'nearest' ? 'nearest' : 'linear', coordinate_transformation_mode: 'asymmetric', nearest_mode: 'floor', axes: size.map((_, k) => k + 2) };
  return onChannelsFirst(call, axes, (x) => builder.node('Resize', [x, '', builder.floats(size)], attributes));
};

/** As Keras has it, with the middles of both pictures at one place: TensorFlow.js reads the layer but does not compute it for a batch. */
const resizing: Layer = (call) => {
  const { builder, config } = call;
  call.refuse('crop_to_aspect_ratio', (value) => value === false, 'false');
  const mode = config.choice('interpolation', ['nearest', 'bilinear'], 'bilinear');
  const attributes = { ...(mode === 'nearest' ? { mode, coordinate_transformation_mode: 'tf_half_pixel_for_nn', nearest_mode: 'floor' } : { mode: 'linear', coordinate_transformation_mode: 'half_pixel' }), axes: [2, 3] };
  const size = [config.int('height'), config.int('width')];
  if (size.some((each) => !(each > 0))) throw invalidArgument(`${config.place}: height and width`, size.join(' and '), 'whole numbers of at least 1');
  return onChannelsFirst(call, 2, (x) => builder.node('Resize', [x, '', '', builder.ints(size)], attributes));
};

const AXES = [1, 2, 3] as const;
const ofAxes = (name: string, make: (axes: number) => Layer) => Object.fromEntries(AXES.map((axes) => [name.replace('#', `${axes}D`), make(axes)]));

export const PICTURE_LAYERS: Readonly<Record<string, Layer>> = {
  ...ofAxes('Conv#', convolution), ...ofAxes('Conv#Transpose', transposed), ...ofAxes('MaxPooling#', (axes) => pool('MaxPool', axes)), ...ofAxes('AveragePooling#', (axes) => pool('AveragePool', axes)),
  ...ofAxes('GlobalMaxPooling#', (axes) => globalPool('ReduceMax', axes)), ...ofAxes('GlobalAveragePooling#', (axes) => globalPool('ReduceMean', axes)),
  ...ofAxes('ZeroPadding#', zeroPadding), ...ofAxes('Cropping#', cropping), ...ofAxes('UpSampling#', upSampling),
  SeparableConv1D: separable(1), SeparableConv2D: separable(2), DepthwiseConv2D: depthwise, Resizing: resizing,
};
