/**
 * The layers of a transformer as recipes: norms, attention and feed-forward parts. Every model of this entry point is made of them; a {@link BlockShape} says how
 * its layers differ from those of others. Names of weights are GGUF's.
 */

import { layerNorm, rmsNorm } from '../functions.js';
import type { Tensor } from '../tensor.js';
import type { Weights } from './weights.js';

/** Functions between the two products of a feed-forward part. */
export type Activation = 'silu' | 'gelu' | 'gelu-tanh' | 'gelu-quick' | 'relu';

const ACTIVATIONS: Readonly<Record<Activation, (x: Tensor<'f32'>) => Tensor<'f32'>>> = {
  silu: (x) => x.silu(),
  gelu: (x) => x.gelu(),
  'gelu-tanh': (x) => x.gelu('tanh'),
  'gelu-quick': (x) => x.mul(x.mul(1.702).sigmoid()),
  relu: (x) => x.relu(),
};

/** How the layers of a model are made. */
export interface BlockShape {
  /** Numbers of a token between layers. */
  readonly width: number;
  /** Heads of queries, and of keys and values, which each serve a group of the former. */
  readonly heads: number;
  /** Heads of keys and values. */
  readonly kvHeads: number;
  /** Numbers of a head. */
  readonly size: number;
  /** The norm: by the root of the mean square, or by mean and variance, with a bias. */
  readonly norm: 'rms' | 'layer';
  /** What keeps a norm's divisor from being 0. */
  readonly epsilon: number;
  /** Where the norm stands: before a part, whose result is added to what came in, or after that sum. */
  readonly normPlace: 'before' | 'after';
  /** What stands between the products of the feed-forward part. */
  readonly activation: Activation;
  /** Whether the activation of one product is the factor of another, as in SwiGLU. */
  readonly isGated: boolean;
  /** Whether queries, keys and values are one product, and so the gate with what it multiplies where there is one. */
  readonly isFused: boolean;
  /** Which products must have a bias; others may have one. */
  readonly biases: readonly string[];
  /** Whether queries and keys are normalised, head by head. */
  readonly hasHeadNorms: boolean;
  /** Whether the result of each part is normalised, too. */
  readonly hasPostNorms: boolean;
  /** Whether the file has the factors of norms less 1. */
  readonly hasUnitOffset: boolean;
}

/** Mixes queries, keys and values of [..., heads, tokens, size]: attention, with what the model does to them before. */
export type Mix = (q: Tensor<'f32'>, k: Tensor<'f32'>, v: Tensor<'f32'>) => Tensor<'f32'>;

/** [..., tokens, heads · size] as [..., heads, tokens, size]. */
export function splitHeads(x: Tensor<'f32'>, heads: number): Tensor<'f32'> {
  return x.reshape([...x.shape.slice(0, -1), heads, (x.shape.at(-1) as number) / heads]).transpose(-3, -2);
}

/** The inverse of splitHeads(). */
export function joinHeads(x: Tensor<'f32'>): Tensor<'f32'> {
  const turned = x.transpose(-3, -2);
  return turned.reshape([...turned.shape.slice(0, -2), (turned.shape.at(-2) as number) * (turned.shape.at(-1) as number)]);
}

/** The norm of a part of the model. */
export function norm(x: Tensor<'f32'>, w: Weights, name: string, { norm: kind, epsilon, hasUnitOffset }: Pick<BlockShape, 'norm' | 'epsilon' | 'hasUnitOffset'>): Tensor<'f32'> {
  const size = x.shape.at(-1) as number;
  if (kind === 'layer') return layerNorm(x, { weight: w.take(`${name}.weight`, [size]) as Tensor, bias: w.take(`${name}.bias`, [size]) as Tensor, epsilon });
  const weight = hasUnitOffset ? w.tensor(`${name}.weight`, [size]).add(1) : (w.take(`${name}.weight`, [size]) as Tensor);
  return rmsNorm(x, { weight, epsilon });
}

/** The product of a part, with a bias where the shape of the block says so, or where the file has one. */
function product(x: Tensor<'f32'>, w: Weights, at: string, part: string, out: number | null, { biases }: BlockShape): Tensor<'f32'> {
  return w.linear(x, `${at}${part}`, out, biases.includes(part) ? 'needed' : 'optional');
}

/** Queries, keys and values of x, by heads. */
function queriesKeysValues(x: Tensor<'f32'>, w: Weights, at: string, shape: BlockShape): Tensor<'f32'>[] {
  const { heads, kvHeads, size, isFused } = shape;
  const counts = [heads, kvHeads, kvHeads];
  const widths = counts.map((count) => count * size);
  const parts = isFused
    ? product(x, w, at, 'attn_qkv', (heads + 2 * kvHeads) * size, shape).split(widths, -1)
    : ['attn_q', 'attn_k', 'attn_v'].map((part, k) => product(x, w, at, part, widths[k] as number, shape));
  return parts.map((part, k) => splitHeads(part, counts[k] as number));
}

/** The attention part of a layer, whose weights begin with `at`. */
export function attend(x: Tensor<'f32'>, w: Weights, at: string, shape: BlockShape, mix: Mix): Tensor<'f32'> {
  let [q, k, v] = queriesKeysValues(x, w, at, shape) as [Tensor<'f32'>, Tensor<'f32'>, Tensor<'f32'>];
  if (shape.hasHeadNorms) [q, k] = [norm(q, w, `${at}attn_q_norm`, shape), norm(k, w, `${at}attn_k_norm`, shape)];
  return product(joinHeads(mix(q, k, v)), w, at, 'attn_output', shape.width, shape);
}

/** The feed-forward part of a layer. */
export function feedForward(x: Tensor<'f32'>, w: Weights, at: string, shape: BlockShape): Tensor<'f32'> {
  const { isGated, isFused, activation, width } = shape;
  const activate = ACTIVATIONS[activation];
  let inner = product(x, w, at, 'ffn_up', null, shape);
  if (isGated && isFused) {
    const [gate, up] = inner.split(2, -1) as [Tensor<'f32'>, Tensor<'f32'>];
    inner = activate(gate).mul(up);
  } else if (isGated) {
    inner = activate(product(x, w, at, 'ffn_gate', inner.shape.at(-1) as number, shape)).mul(inner);
  } else {
    inner = activate(inner);
  }
  return product(inner, w, at, 'ffn_down', width, shape);
}

/** A layer, whose weights begin with `at`. `between` adds what stands between attention and feed-forward part: the attention to an encoder. */
export function block(x: Tensor<'f32'>, w: Weights, at: string, shape: BlockShape, mix: Mix, between = (y: Tensor<'f32'>): Tensor<'f32'> => y): Tensor<'f32'> {
  const normed = (y: Tensor<'f32'>, name: string) => norm(y, w, `${at}${name}`, shape);
  if (shape.normPlace === 'after') {
    const mixed = normed(x.add(attend(x, w, at, shape, mix)), 'attn_output_norm');
    return normed(mixed.add(feedForward(mixed, w, at, shape)), 'layer_output_norm');
  }
  const after = (y: Tensor<'f32'>, name: string) => (shape.hasPostNorms ? normed(y, name) : y);
  const mixed = between(x.add(after(attend(normed(x, 'attn_norm'), w, at, shape, mix), 'post_attention_norm')));
  return mixed.add(after(feedForward(normed(mixed, 'ffn_norm'), w, at, shape), 'post_ffw_norm'));
}
