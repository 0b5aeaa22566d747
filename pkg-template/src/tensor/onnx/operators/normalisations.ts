/** Normalisations. */

import { invalidArgument } from '../../../arguments/errors.js';
import { batchNorm, groupNorm, layerNorm, rmsNorm } from '../../functions.js';
import { checkAxis } from '../../recipe/operands.js';
import type { Tensor } from '../../tensor.js';
import type { Call, Operator } from '../call.js';
import { typeNamed } from '../element-types.js';
import type { Host } from '../values.js';

/** The axes from one on. */
export const axesFrom = (x: Tensor, axis: number): number[] => Array.from({ length: x.rank - axis }, (_, k) => axis + k);

/** Normalises over all axes from one on, and gives mean and 1/deviation too. */
function layerNormalization(call: Call): readonly (Tensor | null)[] {
  const x = call.tensor(0);
  const axes = axesFrom(x, call.axis('axis', x.rank, -1));
  const epsilon = call.float('epsilon', 1e-5);
  const [weight, bias] = [call.maybe(1), call.maybe(2)];
  const y = layerNorm(x, { axes, epsilon, ...(weight && { weight }), ...(bias && { bias }) });
  const single = x.cast('f32');
  return [y, call.wants(1) ? single.mean(axes, { keep: true }) : null, call.wants(2) ? single.variance(axes, { keep: true }).add(epsilon).rsqrt() : null];
}

export function rmsNormalization(call: Call): Tensor {
  const x = call.tensor(0);
  const weight = call.maybe(1);
  return rmsNorm(x, { axes: axesFrom(x, call.axis('axis', x.rank, -1)), epsilon: call.float('epsilon', 1e-5), ...(weight && { weight }) });
}

/** With statistics that are numbers in memory it is one factor and one term a channel. */
function batchNormalization(call: Call): readonly (Tensor | null)[] {
  const x = call.tensor(0);
  const epsilon = call.float('epsilon', 1e-5);
  const momentum = call.float('momentum', 0.9);
  if (!call.flag('training_mode')) {
    const statistics = [1, 2, 3, 4].map((place) => call.value(place).host);
    if (statistics.every((host) => host !== null) && x.rank >= 2) return [scaled(call, x, statistics as Host[], epsilon)];
    return [batchNorm(x, { weight: call.tensor(1), bias: call.tensor(2), mean: call.tensor(3), variance: call.tensor(4), epsilon }).y];
  }
  const found = batchNorm(x, { weight: call.tensor(1), bias: call.tensor(2), epsilon });
  const moved = (place: number, now: Tensor) => call.tensor(place).cast('f32').mul(momentum).add(now.mul(1 - momentum));
  return [found.y, moved(3, found.mean), moved(4, found.variance)];
}

function scaled(call: Call, x: Tensor, statistics: readonly Host[], epsilon: number): Tensor {
  const [weight, bias, mean, variance] = statistics.map(({ data }) => data as readonly number[]) as [readonly number[], readonly number[], readonly number[], readonly number[]];
  const channels = x.shape[1];
  if ([weight, bias, mean, variance].some(({ length }) => length !== channels)) throw invalidArgument('inputs 1 to 4', `vectors of ${weight.length} and more`, `vectors with a number for each of the channels of ${String(x)}`);
  const factors = weight.map((each, k) => each / Math.sqrt((variance[k] as number) + epsilon));
  const terms = bias.map((each, k) => each - (mean[k] as number) * (factors[k] as number));
  const along = (data: readonly number[]) => call.stored(typeNamed('float'), [data.length, ...x.shape.slice(2).map(() => 1)], data.map(Math.fround));
  return x.cast('f32').mul(along(factors)).add(along(terms)).cast(x.dtype);
}

/** From version 21 on weight and bias are vectors of channels; before of groups. */
function groupNormalization(call: Call): Tensor {
  const x = call.tensor(0);
  const groups = call.int('num_groups');
  const channels = x.shape[1];
  const spread = (vector: Tensor) => {
    if (vector.shape[0] === channels || typeof channels !== 'number') return vector;
    return vector.expandDims(1).broadcastTo([groups, channels / groups]).flatten();
  };
  return groupNorm(x, groups, { weight: spread(call.tensor(1)), bias: spread(call.tensor(2)), epsilon: call.float('epsilon', 1e-5) });
}

const instanceNormalization: Operator = (call) => {
  const x = call.tensor(0);
  const channels = x.shape[1];
  if (typeof channels !== 'number') throw invalidArgument('input 0', String(x), 'a tensor [images, channels, …] with a known number of channels');
  return groupNorm(x, channels, { weight: call.tensor(1), bias: call.tensor(2), epsilon: call.float('epsilon', 1e-5) });
};

const meanVarianceNormalization: Operator = (call) => {
  const x = call.tensor(0);
  const axes = (call.ints('axes') ?? [0, 2, 3]).map((axis) => checkAxis('attribute axes', axis, x.rank));
  const difference = x.sub(x.mean(axes, { keep: true }));
  return difference.div(difference.square().mean(axes, { keep: true }).sqrt().add(1e-9));
};

export const NORMALISATION_OPERATORS: Readonly<Record<string, Operator>> = {
  LayerNormalization: layerNormalization, RMSNormalization: rmsNormalization, BatchNormalization: batchNormalization,
  GroupNormalization: groupNormalization, InstanceNormalization: instanceNormalization, MeanVarianceNormalization: meanVarianceNormalization,
};
