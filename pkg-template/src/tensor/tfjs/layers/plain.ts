/** Layers of products, normalisations, shapes and several inputs. */

import { invalidArgument } from '../../../arguments/errors.js';
import { activated } from './activations.js';
import type { Layer, LayerCall, Ranked } from './call.js';

const dense: Layer = (call) => {
  const { builder, x } = call;
  const product = builder.node('MatMul', [x.name, call.sized('kernel', 2).name]);
  const { bias } = call;
  return activated(call, { name: bias === null ? product : builder.node('Add', [product, bias]), rank: x.rank });
};

const embedding: Layer = (call) => {
  const { builder, x } = call;
  // Places are whole numbers that may come as floats.
  const places = builder.node('Cast', [x.name], { to: 6 });
  const rows = { name: builder.node('Gather', [call.sized('embeddings', 2).name, places], { axis: 0 }), rank: x.rank + 1 };
  if (!call.config.flag('mask_zero')) return rows;
  return { ...rows, mask: builder.node('Cast', [places], { to: 9 }) };
};

/** An axis from 0, of a setting with one. */
function axisOf(call: LayerCall, fallback: number, rank = call.x.rank): number {
  const [given] = call.config.ints('axis', 1, [fallback]) as readonly [number];
  const axis = given < 0 ? given + rank : given;
  if (!(axis >= 0 && axis < rank)) throw call.config.wrong('axis', given, `an axis of ${rank}`);
  return axis;
}

/** factor · x + term along an axis, for vectors of that axis. */
function scaled(call: LayerCall, factor: string, term: string, axis: number): Ranked {
  const { builder, x } = call;
  const along = (vector: string) => (axis === x.rank - 1 ? vector : builder.node('Reshape', [vector, builder.ints([-1, ...Array.from({ length: x.rank - 1 - axis }, () => 1)])]));
  return { name: builder.node('Add', [builder.node('Mul', [x.name, along(factor)]), along(term)]), rank: x.rank };
}

const batchNormalization: Layer = (call) => {
  const { builder, config } = call;
  const deviation = builder.node('Sqrt', [builder.node('Add', [call.weight('moving_variance'), builder.floats(config.number('epsilon', 1e-3))])]);
  const gamma = config.flag('scale', true) ? call.weight('gamma') : builder.floats(1);
  const factor = builder.node('Div', [gamma, deviation]);
  const shift = builder.node('Mul', [call.weight('moving_mean'), factor]);
  const term = config.flag('center', true) ? builder.node('Sub', [call.weight('beta'), shift]) : builder.node('Neg', [shift]);
  return scaled(call, factor, term, axisOf(call, -1));
};

/** Over the last axes alone. */
const layerNormalization: Layer = (call) => {
  const { builder, config, x } = call;
  const axes = config.ints('axis', undefined, [-1]).map((axis) => (axis < 0 ? axis : axis - x.rank)).sort((a, b) => a - b);
  if (axes.length === 0 || axes.some((axis, k) => axis !== k - axes.length)) throw config.wrong('axis', axes.join(', '), 'the last axes');
  const gamma = config.flag('scale', true) ? call.weight('gamma') : null;
  const beta = config.flag('center', true) ? call.weight('beta') : null;
  const normal = builder.node('LayerNormalization', gamma === null ? [x.name] : [x.name, gamma], { axis: axes[0] as number, epsilon: config.number('epsilon', 1e-3) });
  return { name: beta === null ? normal : builder.node('Add', [normal, beta]), rank: x.rank };
};

/** (x − mean) / deviation, by numbers that were found before. */
const normalization: Layer = (call) => {
  const { builder, config } = call;
  call.refuse('invert', (value) => value === false, 'false');
  const axis = axisOf(call, -1);
  const [mean, variance] = ['mean', 'variance'].map((name) => builder.node('Reshape', [call.weight(name), builder.ints([-1])])) as [string, string];
  const deviation = builder.node('Max', [builder.node('Sqrt', [variance]), builder.floats(1e-7)]);
  if (axis !== call.x.rank - 1) throw config.wrong('axis', config.any('axis'), 'the last axis');
  return { name: builder.node('Div', [builder.node('Sub', [call.x.name, mean]), deviation]), rank: call.x.rank };
};

const rescaling: Layer = ({ builder, config, x }) => {
  const scaledBy = builder.node('Mul', [x.name, builder.floats(config.number('scale'))]);
  return { name: builder.node('Add', [scaledBy, builder.floats(config.number('offset', 0))]), rank: x.rank };
};

const flatten: Layer = ({ builder, config, x }) => {
  const isFirst = config.choice('data_format', ['channels_last', 'channels_first'], 'channels_last') === 'channels_first';
  const last = isFirst && x.rank > 2 ? builder.node('Transpose', [x.name], { perm: [0, ...Array.from({ length: x.rank - 2 }, (_, k) => k + 2), 1] }) : x.name;
  return { name: builder.node('Flatten', [last], { axis: 1 }), rank: 2 };
};

const reshape: Layer = ({ builder, config, x }) => {
  const target = config.list('target_shape').map((size) => {
    if (size === null || size === -1) return -1;
    if (!Number.isSafeInteger(size) || (size as number) < 1) throw config.wrong('target_shape', config.any('target_shape'), 'whole numbers of at least 1, of which one may be −1');
    return size as number;
  });
  return { name: builder.node('Reshape', [x.name, builder.ints([0, ...target])]), rank: target.length + 1 };
};

const permute: Layer = ({ builder, config, x }) => ({ name: builder.node('Transpose', [x.name], { perm: [0, ...config.ints('dims')] }), rank: x.rank });

const repeatVector: Layer = (call) => {
  const { builder, config } = call;
  const x = call.ranked(2);
  return { name: builder.node('Expand', [builder.node('Unsqueeze', [x, builder.ints([1])]), builder.ints([1, config.int('n'), 1])]), rank: 3 };
};

/** Inputs of fewer axes get some after the batch. */
const merged = (operator: string, isForMany: boolean): Layer => ({ builder, config, inputs }) => {
  const rank = Math.max(...inputs.map((input) => input.rank));
  if (inputs.length < 2 || (operator === 'Sub' && inputs.length > 2)) throw invalidArgument(`${config.place}: inputs`, `${inputs.length} tensors`, operator === 'Sub' ? '2' : 'at least 2');
  const names = inputs.map((input) => (input.rank === rank ? input.name : builder.node('Unsqueeze', [input.name, builder.ints(Array.from({ length: rank - input.rank }, (_, k) => k + 1))])));
  const name = isForMany ? builder.node(operator, names) : names.reduce((a, b) => builder.node(operator, [a, b]));
  return { name, rank };
};

const concatenate: Layer = ({ builder, config, inputs }) => {
  const rank = inputs[0]?.rank ?? 0;
  if (inputs.length < 2 || inputs.some((input) => input.rank !== rank)) throw invalidArgument(`${config.place}: inputs`, `tensors of ${inputs.map((input) => input.rank).join(', ')} axes`, 'at least 2 of as many axes');
  return { name: builder.node('Concat', inputs.map(({ name }) => name), { axis: config.int('axis', -1) }), rank };
};

/** Products along an axis of each input, for each item of a batch. */
const dot: Layer = (call) => {
  const { builder, config, inputs } = call;
  const [a, b] = inputs;
  if (a === undefined || b === undefined || inputs.length !== 2) throw invalidArgument(`${config.place}: inputs`, `${inputs.length} tensors`, '2');
  const axes = config.ints('axes', 2).map((axis, k) => (axis < 0 ? axis + (inputs[k] as Ranked).rank : axis));
  if (axes.some((axis, k) => !(axis >= 1 && axis < (inputs[k] as Ranked).rank && axis < 26))) throw config.wrong('axes', config.any('axes'), 'axes after the batch');
  const letters = 'cdefghijklmnopqrstuvwxyz';
  const term = ({ rank }: Ranked, axis: number, from: number) => Array.from({ length: rank }, (_, k) => (k === 0 ? 'a' : k === axis ? 'b' : letters[from + k])).join('');
  const [first, second] = [term(a, axes[0] as number, 0), term(b, axes[1] as number, 10)];
  const rest = (text: string) => text.replace('a', '').replace('b', '');
  const unit = (input: Ranked, axis: number) => (config.flag('normalize') ? builder.node('LpNormalization', [input.name], { axis, p: 2 }) : input.name);
  const product = builder.node('Einsum', [unit(a, axes[0] as number), unit(b, axes[1] as number)], { equation: `${first},${second}->a${rest(first)}${rest(second)}` });
  const rank = a.rank + b.rank - 3;
  return rank === 1 ? { name: builder.node('Unsqueeze', [product, builder.ints([1])]), rank: 2 } : { name: product, rank };
};

/** Applies a layer to each step of a sequence: steps and batch are one axis there. */
const timeDistributed: Layer = (call) => {
  const { builder, config, x } = call;
  const shape = builder.node('Shape', [x.name]);
  const part = (of: string, from: number, to: number) => builder.node('Slice', [of, builder.ints([from]), builder.ints([to])]);
  const all = 2 ** 31 - 1;
  const rows = builder.node('Reshape', [x.name, builder.node('Concat', [builder.ints([-1]), part(shape, 2, all)], { axis: 0 })], { allowzero: 1 });
  const [y, ...others] = call.applyWrapped(config.object('layer'), call.scope, [{ name: rows, rank: x.rank - 1 }]);
  if (y === undefined || others.length > 0) throw config.wrong('layer', 'a layer with several outputs', 'a layer with one');
  const back = builder.node('Concat', [part(shape, 0, 2), part(builder.node('Shape', [y.name]), 1, all)], { axis: 0 });
  return { name: builder.node('Reshape', [y.name, back], { allowzero: 1 }), rank: y.rank + 1 };
};

const identity: Layer = ({ x }) => x;

export const PLAIN_LAYERS: Readonly<Record<string, Layer>> = {
  Dense: dense, Embedding: embedding, BatchNormalization: batchNormalization, LayerNormalization: layerNormalization, Normalization: normalization, Rescaling: rescaling,
  Flatten: flatten, Reshape: reshape, Permute: permute, RepeatVector: repeatVector, TimeDistributed: timeDistributed,
  Add: merged('Sum', true), Subtract: merged('Sub', false), Multiply: merged('Mul', false), Average: merged('Mean', true), Maximum: merged('Max', true), Minimum: merged('Min', true),
  Concatenate: concatenate, Dot: dot,
  Dropout: identity, SpatialDropout1D: identity, SpatialDropout2D: identity, SpatialDropout3D: identity, GaussianDropout: identity, GaussianNoise: identity, AlphaDropout: identity,
  ActivityRegularization: identity,
};
