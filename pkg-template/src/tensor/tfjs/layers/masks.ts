/** Masks: which steps of a sequence count. Recurrent layers keep their state at others; layers that compute each step by itself give the mask on. */

import { invalidArgument } from '../../../arguments/errors.js';
import type { Layer, Ranked } from './call.js';

/** Layers that take a mask themselves. */
const TAKING: readonly string[] = ['Masking', 'SimpleRNN', 'LSTM', 'GRU', 'RNN', 'Bidirectional'];

/** Layers that give the mask of their input on. */
const PASSING: readonly string[] = [
  'Dense', 'Activation', 'ReLU', 'LeakyReLU', 'ELU', 'ThresholdedReLU', 'Softmax', 'LayerNormalization', 'BatchNormalization', 'TimeDistributed', 'Dropout',
  'SpatialDropout1D', 'GaussianDropout', 'GaussianNoise', 'AlphaDropout', 'ActivityRegularization',
];

/** Masks steps whose numbers are all `mask_value`, and makes them 0. */
const masking: Layer = ({ builder, config, x }) => {
  const differs = builder.node('Not', [builder.node('Equal', [x.name, builder.floats(config.number('mask_value', 0))])]);
  const counts = builder.node('ReduceMax', [builder.node('Cast', [differs], { to: 1 }), builder.ints([-1])], { keepdims: 1 });
  return { name: builder.node('Mul', [x.name, counts]), rank: x.rank, mask: builder.node('Cast', [builder.node('Squeeze', [counts, builder.ints([-1])])], { to: 9 }) };
};

/** The outputs of a layer with the mask of its input, where the layer gives it on. Throws 'invalid-argument' for a layer that takes no masks. */
export function withMask(kind: string, place: string, inputs: readonly Ranked[], outputs: readonly Ranked[]): readonly Ranked[] {
  const mask = inputs.find((input) => input.mask !== undefined)?.mask;
  if (mask === undefined || TAKING.includes(kind)) return outputs;
  if (!PASSING.includes(kind) || inputs.length > 1) throw invalidArgument(`${place}: inputs`, 'a sequence with masked steps', `them in the layers ${[...TAKING, ...PASSING].join(', ')}`);
  return outputs.map((output) => ({ ...output, mask }));
}

export const MASK_LAYERS: Readonly<Record<string, Layer>> = { Masking: masking };
