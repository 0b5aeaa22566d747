/** Activations by their names in Keras, and layers of activations. */

import { describe, invalidArgument } from '../../../arguments/errors.js';
import type { Attributes } from '../builder.js';
import type { Layer, LayerCall, Ranked } from './call.js';

const ACTIVATIONS: Readonly<Record<string, readonly [operator: string, attributes?: Attributes]>> = {
  relu: ['Relu'], sigmoid: ['Sigmoid'], tanh: ['Tanh'], softplus: ['Softplus'], softsign: ['Softsign'], elu: ['Elu', { alpha: 1 }], selu: ['Selu'], exponential: ['Exp'],
  hard_sigmoid: ['HardSigmoid', { alpha: 0.2, beta: 0.5 }], swish: ['Swish', { alpha: 1 }], silu: ['Swish', { alpha: 1 }], mish: ['Mish'],
  gelu: ['Gelu'], gelu_new: ['Gelu', { approximate: 'tanh' }],
};

/** The names of activations; those that recurrent layers have too are ONNX' names there. */
const RECURRENT: Readonly<Record<string, string>> = {
  linear: 'Affine', relu: 'Relu', sigmoid: 'Sigmoid', tanh: 'Tanh', softplus: 'Softplus', softsign: 'Softsign', elu: 'Elu', hard_sigmoid: 'HardSigmoid',
};

/** The name of an activation: 'hardSigmoid' is 'hard_sigmoid' too, and newer files have an object. */
function nameIn(call: LayerCall, setting: string, fallback: string): string {
  const value = call.config.any(setting) ?? fallback;
  const name = typeof value === 'object' && value !== null && 'config' in value && typeof value.config === 'string' ? value.config : value;
  if (typeof name !== 'string') throw call.config.wrong(setting, value, 'the name of an activation');
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Applies the activation that a setting names; none is the identity. */
export function activated(call: LayerCall, { name, rank }: Ranked, setting = 'activation', fallback = 'linear'): Ranked {
  const { builder } = call;
  const activation = nameIn(call, setting, fallback);
  if (activation === 'linear') return { name, rank };
  if (activation === 'softmax') return { name: builder.node('Softmax', [name], { axis: -1 }), rank };
  if (activation === 'log_softmax') return { name: builder.node('LogSoftmax', [name], { axis: -1 }), rank };
  if (activation === 'relu6') return { name: builder.node('Clip', [name, builder.floats(0), builder.floats(6)]), rank };
  const known = Object.hasOwn(ACTIVATIONS, activation) ? ACTIVATIONS[activation] : undefined;
  if (known === undefined) throw invalidArgument(`${call.config.place}: ${setting}`, describe(activation), ['linear', 'softmax', 'log_softmax', 'relu6', ...Object.keys(ACTIVATIONS)].join(', '));
  return { name: builder.node(known[0], [name], known[1]), rank };
}

/** The name of an activation in ONNX' recurrent operators. */
export function recurrentActivation(call: LayerCall, setting: string, fallback: string): string {
  const activation = nameIn(call, setting, fallback);
  if (!Object.hasOwn(RECURRENT, activation)) throw invalidArgument(`${call.config.place}: ${setting}`, describe(activation), Object.keys(RECURRENT).join(', '));
  return RECURRENT[activation] as string;
}

/** slope · (x − threshold) below the threshold, x from it on, at most a value. */
const relu: Layer = (call) => {
  const { builder, config, x } = call;
  const [slope, threshold] = [config.number('negative_slope', 0), config.number('threshold', 0)];
  const isPlain = slope === 0 && threshold === 0;
  let y = isPlain ? builder.node('Relu', [x.name]) : x.name;
  if (!isPlain) {
    const least = builder.floats(threshold);
    const low = builder.node('Mul', [builder.node('Sub', [x.name, least]), builder.floats(slope)]);
    y = builder.node('Where', [builder.node('GreaterOrEqual', [x.name, least]), x.name, low]);
  }
  if (config.has('max_value')) y = builder.node('Min', [y, builder.floats(config.number('max_value'))]);
  return { name: y, rank: x.rank };
};

const leakyRelu: Layer = ({ builder, config, x }) => ({ name: builder.node('LeakyRelu', [x.name], { alpha: config.number(config.has('negative_slope') ? 'negative_slope' : 'alpha', 0.3) }), rank: x.rank });

const softmax: Layer = ({ builder, config, x }) => ({ name: builder.node('Softmax', [x.name], { axis: config.ints('axis', 1, [-1])[0] as number }), rank: x.rank });

export const ACTIVATION_LAYERS: Readonly<Record<string, Layer>> = {
  Activation: (call) => activated(call, call.x),
  ReLU: relu,
  LeakyReLU: leakyRelu,
  PReLU: (call) => ({ name: call.builder.node('PRelu', [call.x.name, call.weight('alpha')]), rank: call.x.rank }),
  ELU: ({ builder, config, x }) => ({ name: builder.node('Elu', [x.name], { alpha: config.number('alpha', 1) }), rank: x.rank }),
  ThresholdedReLU: ({ builder, config, x }) => ({ name: builder.node('ThresholdedRelu', [x.name], { alpha: config.number('theta', 1) }), rank: x.rank }),
  Softmax: softmax,
};
