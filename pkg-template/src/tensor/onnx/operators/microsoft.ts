/** Operators of the domain com.microsoft, as ONNX Runtime's optimiser and exporters of transformers write them. */

import { invalidArgument } from '../../../arguments/errors.js';
import { attention, concat, embedding, layerNorm, rmsNorm, type AttentionOptions } from '../../functions.js';
import type { Size } from '../../size.js';
import { arange } from '../../sources.js';
import type { Indices, Tensor } from '../../tensor.js';
import type { Call, Operator } from '../call.js';
import { typeNamed } from '../element-types.js';
import { byHeads, heads, joinedMasks, rotated } from './attention.js';
import { rmsNormalization } from './normalisations.js';

/** Outputs 1 and 2, the statistics, are for training. */
function withoutStatistics(call: Call): void {
  for (const place of [1, 2]) if (call.wants(place)) throw invalidArgument(`output ${place}`, 'a name', 'none: it is for training');
}

/** A normalisation of the sum of an input, a skip and a bias, and that sum. */
const skip = (isCentred: boolean): Operator => (call) => {
  withoutStatistics(call);
  const biasPlace = isCentred ? 4 : 3;
  const x = call.tensor(0).add(call.tensor(1));
  const sum = call.has(biasPlace) ? x.add(call.tensor(biasPlace)) : x;
  const epsilon = call.float('epsilon', 1e-12);
  const weight = call.tensor(2);
  const bias = isCentred ? call.maybe(3) : undefined;
  const y = isCentred ? layerNorm(sum, { epsilon, weight, ...(bias && { bias }) }) : rmsNorm(sum, { epsilon, weight });
  return [y, null, null, sum];
};

/** Rows of tables for ids, positions and segments, added and normalised. */
const embedLayerNormalization: Operator = (call) => {
  const ids = call.tensor(0).cast('i32') as Indices;
  const [, tokens] = ids.shape as readonly [Size, Size];
  const positions = call.has(8) ? embedding(call.tensor(8).cast('i32') as Indices, call.tensor(3)) : call.tensor(3).cast('f32').slice([0, tokens]);
  const words = embedding(ids, call.tensor(2)).add(positions);
  const sum = call.has(1) && call.has(4) ? words.add(embedding(call.tensor(1).cast('i32') as Indices, call.tensor(4))) : words;
  const y = layerNorm(sum, { epsilon: call.float('epsilon', 1e-12), weight: call.tensor(5), bias: call.tensor(6) });
  const { dtype } = call.tensor(2);
  const mask = call.maybe(7);
  const counts = call.wants(1) ? call.output(mask === undefined ? ids.mul(0).sum(1) : mask.cast('i32').sum(1), typeNamed('int32')) : null;
  return [y.cast(dtype), counts, call.wants(2) ? sum.cast(dtype) : null];
};

/** Which keys count, from lengths [batch], a mask [batch, keys], or one for each query. */
function keyMask(mask: Tensor, batch: Size, keys: Size): Tensor {
  const given = mask.cast('i32');
  if (given.rank === 1) {
    if (given.shape[0] === batch) return arange(keys, 'i32').lt(given.reshape([batch, 1, 1, 1]));
    throw invalidArgument('mask', String(mask), 'lengths [batch], or a mask [batch, keys] or [batch, queries, keys]');
  }
  const shape = given.rank === 2 ? [given.shape[0] as Size, 1, 1, given.shape[1] as Size] : given.rank === 3 ? [given.shape[0] as Size, 1, given.shape[1] as Size, given.shape[2] as Size] : given.shape;
  return given.reshape(shape).neq(0);
}

function attended(call: Call, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | undefined, bias: Tensor | undefined, past: Size): Tensor {
  const counts = mask === undefined ? undefined : keyMask(mask, q.shape[0] as Size, k.shape[2] as Size);
  const joined = joinedMasks(counts, bias?.cast('f32'));
  const options: AttentionOptions = {
    ...(call.float('scale', 0) > 0 ? { scale: call.float('scale') } : {}),
    ...(call.flag('unidirectional') ? { causal: true, position: past } : {}),
    ...(joined === undefined ? {} : { mask: joined }),
  };
  return attention(q, k, v, options);
}

const multiHeadAttention: Operator = (call) => {
  const count = call.int('num_heads');
  const given = call.tensor(0);
  const [query, key, value] = unpackedHeads(call, given, count);
  const bias = call.maybe(3);
  const width = (x: Tensor) => (x.shape[1] as number) * (x.shape[3] as number);
  /** A part of the bias, which has those of queries, keys and values one after another. */
  const biased = (x: Tensor, from: number) => (bias === undefined ? x : x.add(bias.slice([from, from + width(x)]).reshape([count, 1, -1])));
  const q = biased(query, 0);
  const newK = biased(key, width(query));
  const newV = biased(value, width(query) + width(key));
  const [pastK, pastV] = [call.maybe(6), call.maybe(7)];
  const [k, v] = pastK === undefined || pastV === undefined ? [newK, newV] : [concat([pastK, newK], 2), concat([pastV, newV], 2)];
  const y = attended(call, q, k, v, call.maybe(4), call.maybe(5), pastK?.shape[2] ?? 0);
  if (call.wants(3)) throw invalidArgument('output 3', 'a name', 'none: scores are not kept');
  return [heads(y).cast(given.dtype), call.wants(1) ? k : null, call.wants(2) ? v : null];
};

/** Queries, keys and values [batch, heads, tokens, size], which may be packed. */
function unpackedHeads(call: Call, query: Tensor, count: number): [Tensor, Tensor, Tensor] {
  const ofPacked = (x: Tensor, k: number) => x.pick(3, k).permute([0, 2, 1, 3]);
  if (query.rank === 5) return [ofPacked(query, 0), ofPacked(query, 1), ofPacked(query, 2)];
  const key = call.tensor(1);
  if (key.rank === 5) return [byHeads(query, count), ofPacked(key, 0), ofPacked(key, 1)];
  const split = (x: Tensor) => (x.rank === 4 ? x : byHeads(x, count));
  return [byHeads(query, count), split(key), split(call.tensor(2))];
}

/** Attention with one product for queries, keys and values. */
const attentionOf: Operator = (call) => {
  const x = call.tensor(0);
  const count = call.int('num_heads');
  const bias = call.maybe(2);
  const product = x.matmul(call.tensor(1));
  const all = bias === undefined ? product : product.add(bias);
  const width = all.shape[2] as number;
  const sizes = call.ints('qkv_hidden_sizes') ?? [width / 3, width / 3, width / 3];
  if (call.flag('do_rotary')) throw invalidArgument('attribute do_rotary', '1', '0: RotaryEmbedding nodes turn queries and keys');
  const [q, newK, newV] = all.split(sizes, 2).map((part) => byHeads(part, count)) as [Tensor, Tensor, Tensor];
  const past = call.maybe(4);
  const [k, v] = past === undefined ? [newK, newV] : [concat([past.pick(0, 0), newK], 2), concat([past.pick(0, 1), newV], 2)];
  const y = attended(call, q, k, v, call.maybe(3), call.maybe(5), past?.shape[3] ?? 0);
  return [heads(y).cast(x.dtype), call.wants(1) ? concat([k.expandDims(0), v.expandDims(0)], 0) : null];
};

/** One position for all batches is that of the first token. */
const rotaryEmbedding: Operator = (call) => {
  const x = call.tensor(0);
  const positions = call.tensor(1).cast('i32');
  const tables = [call.tensor(2), call.tensor(3)] as const;
  const size = call.int('rotary_embedding_dim', 0) || 2 * (tables[0].shape[1] as number);
  const isFlat = x.rank === 3;
  const count = call.int('num_heads', 0) || (isFlat ? (x.shape[2] as number) / size : 1);
  const split = isFlat ? byHeads(x, count) : x;
  const tokens = split.shape[2] as Size;
  const places = positions.rank === 1 ? positions.expandDims(0).add(arange(tokens, 'i32')) : positions;
  const [cos, sin] = tables.map((table) => table.indexSelect(places as Indices)) as [Tensor, Tensor];
  const found = rotated(split, cos, sin, size, call.flag('interleaved'));
  return isFlat ? heads(found) : found;
};

const withBias = (activate: (x: Tensor) => Tensor): Operator => (call) => activate(call.has(1) ? call.tensor(0).add(call.tensor(1)) : call.tensor(0));

const fusedMatMul: Operator = (call) => {
  const turned = (place: number, name: string) => {
    const x = call.tensor(place);
    const batch = `transBatch${name.slice(5)}`;
    // The first axis becomes the last but one.
    const moved = call.flag(batch) ? x.permute([...Array.from({ length: x.rank - 2 }, (_, k) => k + 1), 0, x.rank - 1]) : x;
    return call.flag(name) && x.rank > 1 ? moved.T : moved;
  };
  const product = turned(0, 'transA').matmul(turned(1, 'transB'));
  const alpha = call.float('alpha', 1);
  return alpha === 1 ? product : product.mul(alpha);
};

const simplified: Operator = (call) => {
  if (call.wants(1)) throw invalidArgument('output 1', 'a name', 'none: it is for training');
  return rmsNormalization(call);
};

export const MICROSOFT_OPERATORS: Readonly<Record<string, Operator>> = {
  SimplifiedLayerNormalization: simplified,
  'com.microsoft.SimplifiedLayerNormalization': simplified,
  'com.microsoft.SkipLayerNormalization': skip(true), 'com.microsoft.SkipSimplifiedLayerNormalization': skip(false),
  'com.microsoft.EmbedLayerNormalization': embedLayerNormalization,
  'com.microsoft.Attention': attentionOf, 'com.microsoft.MultiHeadAttention': multiHeadAttention, 'com.microsoft.RotaryEmbedding': rotaryEmbedding,
  'com.microsoft.Gelu': (call) => call.tensor(0).gelu(), 'com.microsoft.FastGelu': withBias((x) => x.gelu('tanh')), 'com.microsoft.BiasGelu': withBias((x) => x.gelu()),
  'com.microsoft.QuickGelu': (call) => call.tensor(0).mul(call.tensor(0).mul(call.float('alpha', 1.702)).sigmoid()),
  'com.microsoft.FusedMatMul': fusedMatMul,
};
