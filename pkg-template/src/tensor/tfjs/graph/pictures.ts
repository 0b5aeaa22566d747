/** Convolutions, pools, sizes of pictures, and normalisations by channel. */

import { invalidArgument } from '../../../arguments/errors.js';
import type { Attributes } from '../builder.js';
import { fusedActivation, withoutBias, type Operator } from './elementwise.js';
import type { NodeCall } from './node.js';

/** Applies an operator that has its channels on axis 1 to a picture of so many axes. */
function onChannelsFirst(call: NodeCall, axes: number, apply: (x: string) => string, place = 0): string {
  const { builder } = call;
  const [last, first] = axes === 3 ? ['NDHWC', 'NCDHW'] : ['NHWC', 'NCHW'];
  if (call.choice('data_format', [last, first], last) === first) return apply(call.input(place));
  return builder.channelsLast(apply(builder.channelsFirst(call.input(place), axes + 2)), axes + 2);
}

/** Numbers of a picture's axes among those of all axes. */
function ofAxes(call: NodeCall, name: string, axes: number): readonly number[] {
  const listed = call.ints(name);
  if (listed.length === 0) return Array.from({ length: axes }, () => 1);
  if (listed.length !== axes + 2) throw invalidArgument(`${call.place}: ${name}`, `${listed.length} numbers`, `${axes + 2}`);
  const isFirst = call.text('data_format', 'NHWC').startsWith('NC');
  const [batch, ...rest] = listed as readonly [number, ...number[]];
  const channels = isFirst ? rest[0] : rest.at(-1);
  if (batch !== 1 || channels !== 1) throw invalidArgument(`${call.place}: ${name}`, listed.join(', '), '1 for images and channels');
  return isFirst ? rest.slice(1) : rest.slice(0, -1);
}

/** How windows slide. */
function windowsOf(call: NodeCall, axes: number): Attributes {
  const padding = call.choice('padding', ['SAME', 'VALID', 'EXPLICIT']);
  const windows = { strides: ofAxes(call, 'strides', axes), ...(call.hasAttribute('dilations') ? { dilations: ofAxes(call, 'dilations', axes) } : {}) };
  if (padding !== 'EXPLICIT') return { ...windows, auto_pad: padding === 'SAME' ? 'SAME_UPPER' : 'VALID' };
  const widths = call.ints('explicit_paddings');
  if (widths.length !== 2 * (axes + 2)) throw invalidArgument(`${call.place}: explicit_paddings`, `${widths.length} numbers`, `${2 * (axes + 2)}`);
  const from = call.text('data_format', 'NHWC').startsWith('NC') ? 2 : 1;
  const own = Array.from({ length: axes }, (_, k) => from + k);
  return { ...windows, pads: [...own.map((axis) => widths[2 * axis] as number), ...own.map((axis) => widths[2 * axis + 1] as number)] };
}

/** Weights [windows …, in, out] as [out, in, windows …]. */
const outFirst = (call: NodeCall, axes: number) => call.builder.node('Transpose', [call.input(1)], { perm: [axes + 1, axes, ...Array.from({ length: axes }, (_, k) => k)] });

/** Weights [rows, columns, in, each] as [in · each, 1, rows, columns]. */
function depthwiseWeight(call: NodeCall): { readonly weight: string; readonly group: number } {
  const { builder } = call;
  const sizes = builder.sizesOf(call.input(1));
  if (sizes?.length !== 4) throw invalidArgument(`${call.place}: input 1`, sizes === undefined ? 'a computed tensor' : `${sizes.length} axes`, 'a constant of 4 axes');
  const [rows, columns, channels, each] = sizes as readonly [number, number, number, number];
  const inFirst = builder.node('Transpose', [call.input(1)], { perm: [2, 3, 0, 1] });
  return { weight: builder.node('Reshape', [inFirst, builder.ints([channels * each, 1, rows, columns])]), group: channels };
}

const convolution = (axes: number): Operator => (call) => {
  const weight = outFirst(call, axes);
  return onChannelsFirst(call, axes, (x) => call.builder.node('Conv', [x, weight], windowsOf(call, axes)));
};

const depthwise: Operator = (call) => {
  const { weight, group } = depthwiseWeight(call);
  return onChannelsFirst(call, 2, (x) => call.builder.node('Conv', [x, weight], { ...windowsOf(call, 2), group }));
};

/** A convolution, then what fused_ops lists: a bias and activations. */
const fusedConvolution = (isDepthwise: boolean): Operator => (call) => {
  const operators = call.texts('fused_ops');
  const rest = withoutBias(operators);
  const hasBias = rest.length < operators.length;
  const { weight, group } = isDepthwise ? depthwiseWeight(call) : { weight: outFirst(call, 2), group: 1 };
  const found = onChannelsFirst(call, 2, (x) => call.builder.node('Conv', hasBias ? [x, weight, call.input(2)] : [x, weight], { ...windowsOf(call, 2), group }));
  return fusedActivation(call, found, rest, hasBias ? 3 : 2);
};

/** The gradient of a convolution in its input, whose size is an input. */
const transposedConvolution: Operator = (call) => {
  const { builder } = call;
  const weight = outFirst(call, 2);
  const strides = ofAxes(call, 'strides', 2);
  const isFirst = call.choice('data_format', ['NHWC', 'NCHW'], 'NHWC') === 'NCHW';
  const padding = call.choice('padding', ['SAME', 'VALID', 'EXPLICIT']);
  call.expect('padding', padding !== 'EXPLICIT', padding, "'SAME' or 'VALID'");
  const dilations = ofAxes(call, 'dilations', 2);
  call.expect('dilations', dilations.every((each) => each === 1), dilations.join(', '), '1');
  const kernel = builder.sizesOf(call.input(1));
  if (kernel?.length !== 4) throw invalidArgument(`${call.place}: input 1`, 'a computed tensor', 'a constant of 4 axes');
  const known = call.maybeNumbers(0);
  if (known !== null) {
    const output_shape = isFirst ? known.slice(2) : known.slice(1, 3);
    return onChannelsFirst(call, 2, (x) => builder.node('ConvTranspose', [x, weight], { strides, output_shape, auto_pad: 'SAME_UPPER' }), 2);
  }
  // The whole result, with what larger sizes have more, of which the part is taken that the size tells.
  const sizes = builder.node('Slice', [call.input(0), builder.ints([isFirst ? 2 : 1]), builder.ints([isFirst ? 4 : 3])]);
  return onChannelsFirst(call, 2, (x) => {
    const whole = builder.node('ConvTranspose', [x, weight], { strides, output_padding: strides.map((stride) => stride - 1) });
    const extents = builder.node('Slice', [builder.node('Shape', [x]), builder.ints([2]), builder.ints([4])]);
    const least = builder.node('Add', [builder.node('Mul', [builder.node('Sub', [extents, builder.ints([1])]), builder.ints(strides)]), builder.ints(kernel.slice(0, 2))]);
    const beyond = builder.node('Max', [builder.node('Sub', [least, sizes]), builder.ints([0])]);
    const start = padding === 'SAME' ? builder.node('Div', [beyond, builder.ints([2])]) : builder.ints([0, 0]);
    return builder.node('Slice', [whole, start, builder.node('Add', [start, sizes]), builder.ints([2, 3])]);
  }, 2);
};

const pool = (operator: 'MaxPool' | 'AveragePool', axes: number): Operator => (call) => {
  const kernel_shape = ofAxes(call, 'ksize', axes);
  return onChannelsFirst(call, axes, (x) => call.builder.node(operator, [x], { ...windowsOf(call, axes), kernel_shape }));
};

/** factor · x + term, by channel. */
const batchNorm: Operator = (call) => {
  const { builder } = call;
  call.expect('is_training', !call.flag('is_training'), true, 'false');
  const [x, scale, offset, mean, variance] = [0, 1, 2, 3, 4].map((k) => call.input(k)) as [string, string, string, string, string];
  const deviation = builder.node('Sqrt', [builder.node('Add', [variance, builder.floats(call.float('epsilon', 1e-3))])]);
  const factor = builder.node('Div', [scale, deviation]);
  const term = builder.node('Sub', [offset, builder.node('Mul', [mean, factor])]);
  const isFirst = call.choice('data_format', ['NHWC', 'NCHW'], 'NHWC') === 'NCHW';
  const along = (vector: string) => (isFirst ? builder.node('Reshape', [vector, builder.ints([-1, 1, 1])]) : vector);
  return builder.node('Add', [builder.node('Mul', [x, along(factor)]), along(term)]);
};

/** Corners, or middles, or first places of both pictures at one place. */
const resize = (mode: 'linear' | 'nearest'): Operator => (call) => {
  const [corners, middles] = [call.flag('align_corners'), call.flag('half_pixel_centers')];
  if (corners && middles) throw invalidArgument(`${call.place}: align_corners and half_pixel_centers`, 'both', 'one of them');
  const coordinates = corners ? 'align_corners' : middles ? (mode === 'linear' ? 'half_pixel' : 'tf_half_pixel_for_nn') : 'asymmetric';
  const attributes = { mode, coordinate_transformation_mode: coordinates, nearest_mode: corners ? 'round_prefer_ceil' : 'floor', axes: [2, 3] };
  return onChannelsFirst(call, 2, (x) => call.builder.node('Resize', [x, '', '', call.input(1)], attributes));
};

/** The radius counts to both sides, and alpha each square. */
const localResponse: Operator = (call) => {
  const size = 2 * call.int('depth_radius', 5) + 1;
  return onChannelsFirst(call, 2, (x) => call.builder.node('LRN', [x], { size, alpha: call.float('alpha', 1) * size, beta: call.float('beta', 0.5), bias: call.float('bias', 1) }));
};

const rearranged = (operator: 'DepthToSpace' | 'SpaceToDepth'): Operator => (call) => onChannelsFirst(call, 2, (x) => call.builder.node(operator, [x], { blocksize: call.int('block_size'), mode: 'DCR' }));

export const PICTURE_OPERATORS: Readonly<Record<string, Operator>> = {
  Conv2D: convolution(2), Conv3D: convolution(3), DepthwiseConv2d: depthwise, DepthwiseConv2dNative: depthwise, _FusedConv2D: fusedConvolution(false), FusedConv2D: fusedConvolution(false),
  FusedDepthwiseConv2dNative: fusedConvolution(true), Conv2DBackpropInput: transposedConvolution,
  MaxPool: pool('MaxPool', 2), MaxPool3D: pool('MaxPool', 3), AvgPool: pool('AveragePool', 2), AvgPool3D: pool('AveragePool', 3),
  FusedBatchNorm: batchNorm, FusedBatchNormV2: batchNorm, FusedBatchNormV3: batchNorm,
  ResizeBilinear: resize('linear'), ResizeNearestNeighbor: resize('nearest'), LRN: localResponse, DepthToSpace: rearranged('DepthToSpace'), SpaceToDepth: rearranged('SpaceToDepth'),
};
