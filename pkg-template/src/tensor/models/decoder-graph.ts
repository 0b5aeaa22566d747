/** A decoder as a recipe: from the numbers of tokens to the logits of those that follow. One graph for all families. */

import { describe, invalidArgument } from '../../arguments/errors.js';
import type { Device } from '../device/device.js';
import { attention, concat, embedding, rope, where } from '../functions.js';
import { linear } from '../linear.js';
import type { LoadOptions } from '../files/load.js';
import { dispose } from '../device/dispose.js';
import { largest, plus, type Size } from '../size.js';
import { arange, full } from '../sources.js';
import { Tensor } from '../tensor.js';
import { FACTOR_TENSORS, rotaryFactors, settingsOfConfig, settingsOfGguf, type DecoderSettings } from './decoder-settings.js';
import { isLongContext, rotaryFrequencies, type RotarySettings } from './rotary.js';
import { block, norm, type Mix } from './transformer.js';
import { loadWeights, Weights, type ModelSource, type WeightTable } from './weights.js';

/** A decoder's weights and settings. `dispose(model.weights)` frees it. */
export interface DecoderModel {
  /** What its file says of it. */
  readonly settings: DecoderSettings;
  /** Its weights, by the names that GGUF has for them. */
  readonly weights: WeightTable;
  /** The metadata of its file: in GGUF files the vocabulary, too. */
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** Options of {@link loadDecoder}. */
export interface DecoderLoadOptions extends Omit<LoadOptions, 'select'> {
  /** The contents of config.json, which stands beside files of safetensors; without it the file is a GGUF file. */
  config?: Readonly<Record<string, unknown>>;
}

/** Parts of decoders in GGUF files. */
const PARTS = /^(token_embd|position_embd|output|output_norm|rope_freqs|rope_factors_(long|short)|blk\.\d+\.(attn_(q|k|v|qkv|output|norm|q_norm|k_norm)|post_attention_norm|ffn_(norm|gate|up|down)|post_ffw_norm))\.(weight|bias)$/;

/**
 * Loads a decoder: of the families Llama, Mistral, Qwen 2 and 3, Gemma 2 and 3, Phi 3 and GPT-2, from a GGUF file, or from safetensors with their config.json as `config`; parts of a divided file
 * are a list. Weights go to the device as they arrive, and quantised ones stay so. Rejects as the loaders of files do; with 'invalid-argument' for another family, for a setting that is missing or
 * wrong, and for a tensor that is missing or has another shape, by its name.
 */
export async function loadDecoder(source: ModelSource, options: DecoderLoadOptions = {}): Promise<DecoderModel> {
  const { config, ...loading } = options;
  const call = 'loadDecoder';
  const known = config === undefined ? undefined : settingsOfConfig(call, config);
  const { weights, metadata } = await loadWeights(call, source, loading, known?.naming, (name) => PARTS.test(name));
  try {
    const settings = known ?? settingsOfGguf(call, metadata, await rotaryFactors(weights));
    const { [FACTOR_TENSORS[0]]: all, [FACTOR_TENSORS[1]]: short, [FACTOR_TENSORS[2]]: long, ...used } = weights;
    dispose(all, short, long);
    const model = { settings, weights: used, metadata };
    // Recording asks for every weight, and checks it.
    graph(call, full([1], 0, 'i32'), model, { position: 0, starts: null, isLast: true, mix: () => (q, k, v) => attention(q, k, v) });
    const { device } = Object.values(used)[0] as WeightTable[string];
    return { ...model, weights: { ...used, ...rotaryTables(device, settings) } };
  } catch (error) {
    dispose(weights);
    throw error;
  }
}

/** How a graph is made. */
export interface GraphOptions {
  /** The place of the first token. */
  readonly position: Size;
  /** Of several sequences the place where each begins; those before it are padding. null: all begin at 0. */
  readonly starts: Tensor<'i32'> | null;
  /** Whether logits of the last token alone are wanted. */
  readonly isLast: boolean;
  /** How products of the layers with quantised weights are added; 'f32' unless told. */
  readonly accumulate?: 'f32' | 'int8';
  /** The attention of a layer. */
  readonly mix: (layer: number) => Mix;
}

/** Logits [..., tokens, vocabulary], or of the last token [..., vocabulary], of tokens [..., tokens]. */
export function graph(call: string, ids: Tensor<'i32'>, model: DecoderModel, { position, starts, isLast, accumulate = 'f32', mix }: GraphOptions): Tensor<'f32'> {
  const { settings } = model;
  const { width, layers, context, embeddingScale, logitCap, isTied, rotary, isTransposed } = settings;
  const w = new Weights(call, model.weights, settings.naming, isTransposed, accumulate);
  const table = w.take('token_embd.weight', [null, width]);
  let x: Tensor<'f32'> = embedding(ids, table);
  if (embeddingScale !== 1) x = x.mul(embeddingScale);
  if (rotary === null) {
    const end = plus(position, ids.shape.at(-1) as Size);
    const places = arange(end, 'i32').slice([position, end]);
    x = x.add(embedding(starts === null ? places : places.sub(starts.expandDims(-1)).maximum(0), w.take('position_embd.weight', [context, width])));
  }
  for (let layer = 0; layer < layers; layer++) x = block(x, w, `blk.${layer}.`, settings, mix(layer));
  const rows = isLast ? x.slice(...x.shape.slice(0, -2).map(() => null), [-1]) : x;
  const isHead = isTied !== true && (isTied === false || w.has('output.weight'));
  const all = linear(norm(rows, w, 'output_norm', settings), isHead ? w.take('output.weight', [table.shape[0] as number, width]) : table);
  const logits = isLast ? all.squeeze(-2) : all;
  return logitCap === null ? logits : logits.div(logitCap).tanh().mul(logitCap);
}

/** Names of the tables of frequencies among the weights: those of all layers, and those of layers with a window. */
const tableName = (isInWindow: boolean, isLong: boolean) => `rope${isInWindow ? '_window' : ''}.${isLong ? 'long' : 'short'}`;

/** The tables of frequencies that are no powers of a base. */
function rotaryTables(device: Device, { rotary, windowRotary }: DecoderSettings): WeightTable {
  const tables: Record<string, WeightTable[string]> = {};
  for (const [k, settings] of [rotary, windowRotary].entries()) {
    if (settings === null || settings.scaling === null) continue;
    for (const isLong of settings.scaling.kind === 'factors' ? [false, true] : [false]) tables[tableName(k === 1, isLong)] = device.tensor(rotaryFrequencies(settings, isLong));
  }
  return tables;
}

/** Frequencies that are no powers of a base: the table that loadDecoder() made of them, or in models that are made otherwise numbers of the recipe. */
function frequenciesOf(settings: RotarySettings, weights: WeightTable, isInWindow: boolean, isLong: boolean): Tensor<'f32'> {
  const name = tableName(isInWindow, isLong);
  if (Object.hasOwn(weights, name)) return weights[name] as Tensor<'f32'>;
  return concat(rotaryFrequencies(settings, isLong).map((frequency) => full([1], frequency)));
}

/** What the attention of all layers depends on. */
export interface MixOptions {
  /** The place of the first token. */
  readonly position: Size;
  /** Where each sequence begins; null: all at 0. */
  readonly starts: Tensor<'i32'> | null;
  /** The most tokens that there can be. */
  readonly capacity: number;
  /** Keeps the keys and values of a layer, and gives all of them. */
  readonly keep: (layer: number, k: Tensor, v: Tensor) => { k: Tensor; v: Tensor };
}

/** Turns queries and keys by their positions, and attends. */
export function mixOf({ settings, weights }: DecoderModel, { position, starts, capacity, keep }: MixOptions): GraphOptions['mix'] {
  const { size, attentionScale: scale, attentionCap, windows, rotary, windowRotary } = settings;
  const turnOf = (own: RotarySettings | null, isInWindow: boolean) => {
    if (own === null) return (x: Tensor<'f32'>) => x;
    const speeds = own.scaling === null ? { base: own.base } : { frequencies: frequenciesOf(own, weights, isInWindow, isLongContext(own, capacity)) };
    const magnitude = own.scaling !== null && 'magnitude' in own.scaling ? own.scaling.magnitude : 1;
    const factor = magnitude === 1 ? null : where(arange(size, 'i32').lt(own.size), full([size], magnitude), 1);
    return (x: Tensor<'f32'>) => {
      const turned = rope(x, { position, layout: own.layout, size: own.size, ...speeds });
      return factor === null ? turned : turned.mul(factor);
    };
  };
  const turn = turnOf(rotary, false);
  const turnInWindow = windowRotary === null ? turn : turnOf(windowRotary, true);
  return (layer) => (q, k, v) => {
    const window = windows[layer] ?? null;
    const turned = window === null ? turn : turnInWindow;
    const all = keep(layer, turned(k), v);
    const options = { causal: true, position, scale, ...(window === null ? {} : { window: window - 1 }), ...(attentionCap === null ? {} : { softcap: attentionCap }) };
    if (starts === null) return attention(turned(q), all.k, all.v, options);
    const isText = arange(all.k.shape.at(-2) as Size, 'i32').gte(starts.expandDims(-1));
    return attention(turned(q), all.k, all.v, { ...options, mask: isText.expandDims(1, 2) });
  };
}

/**
 * Logits [..., tokens, vocabulary] of the tokens after each of [..., tokens], as a recipe: for scores of texts, and with derivatives for training. Texts are generated by {@link compileDecoder}, which
 * keeps keys and values. Throws 'invalid-argument' for ids of another type.
 */
export function decoderLogits(ids: Tensor<'i32'>, model: DecoderModel): Tensor<'f32'> {
  if (!(ids instanceof Tensor) || ids.dtype !== 'i32' || ids.rank === 0) throw invalidArgument('decoderLogits: ids', ids instanceof Tensor ? `${ids}` : describe(ids), 'a Tensor i32 [..., tokens]');
  const capacity = largest(ids.shape.at(-1) as Size);
  const mix = mixOf(model, { position: 0, starts: null, capacity, keep: (_, k, v) => ({ k, v }) });
  return graph('decoderLogits', ids, model, { position: 0, starts: null, isLast: false, mix });
}
