/** Encoders of sentences: BERT and what has its shape. A sentence becomes one vector, by its first token or the mean of all. */

import { describe, invalidArgument } from '../../arguments/errors.js';
import { checkWholeNumber } from '../../arguments/numeric-arguments.js';
import { checkOptions, type OptionNames } from '../../arguments/options.js';
import { makeDisposable } from '../../compile/dispose.js';
import { Device } from '../device/device.js';
import { dispose } from '../device/dispose.js';
import { spec, type Program } from '../device/program.js';
import type { LoadOptions } from '../files/load.js';
import { attention, embedding } from '../functions.js';
import { dim, type Size } from '../size.js';
import { arange, full } from '../sources.js';
import { Tensor } from '../tensor.js';
import { activationOf } from './decoder-settings.js';
import { FactReader, type Facts } from './facts.js';
import { checkTokens } from './tokens.js';
import { block, norm, type BlockShape } from './transformer.js';
import { loadWeights, Weights, type ModelSource, type Naming, type WeightTable } from './weights.js';

/** How a sentence's vector is made of those of its tokens: their mean, or the first one. */
export type Pooling = 'mean' | 'cls';

/** All that the graph of an encoder depends on, besides its weights. */
export interface EncoderSettings extends BlockShape {
  /** Layers. */
  readonly layers: number;
  /** The most tokens of a sentence. */
  readonly context: number;
  /** The row of the table of positions that the first token has. */
  readonly firstPosition: number;
  /** How vectors of sentences are made. */
  readonly pooling: Pooling;
  /** Names of the parts in the file, where these are not GGUF's. */
  readonly naming?: Naming;
}

/** An encoder's weights and settings. `dispose(model.weights)` frees it. */
export interface EncoderModel {
  /** What its file says of it. */
  readonly settings: EncoderSettings;
  /** Its weights, by the names that GGUF has for them. */
  readonly weights: WeightTable;
  /** The metadata of its file. */
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** Options of {@link loadEncoder}. */
export interface EncoderLoadOptions extends Omit<LoadOptions, 'select'> {
  /** The contents of config.json, which stands beside files of safetensors; without it the file is a GGUF file. */
  config?: Readonly<Record<string, unknown>>;
  /** How sentences' vectors are made, or the contents of 1_Pooling/config.json, which says it. Default: what a GGUF file says, else 'mean'. */
  pooling?: Pooling | Readonly<Record<string, unknown>>;
}

const NAMING: Naming = {
  'embeddings.word_embeddings': 'token_embd', 'embeddings.position_embeddings': 'position_embd', 'embeddings.token_type_embeddings': 'token_types', 'embeddings.LayerNorm': 'token_embd_norm',
  'encoder.layer.#.attention.self.query': 'blk.#.attn_q', 'encoder.layer.#.attention.self.key': 'blk.#.attn_k', 'encoder.layer.#.attention.self.value': 'blk.#.attn_v',
  'encoder.layer.#.attention.output.dense': 'blk.#.attn_output', 'encoder.layer.#.attention.output.LayerNorm': 'blk.#.attn_output_norm',
  'encoder.layer.#.intermediate.dense': 'blk.#.ffn_up', 'encoder.layer.#.output.dense': 'blk.#.ffn_down', 'encoder.layer.#.output.LayerNorm': 'blk.#.layer_output_norm',
};
const PARTS = /^(token_embd|position_embd|token_types|token_embd_norm|blk\.\d+\.(attn_(q|k|v|output|output_norm)|ffn_(up|down)|layer_output_norm))\.(weight|bias)$/;

const SHAPE = {
  norm: 'layer', normPlace: 'after', isGated: false, isFused: false, biases: ['attn_q', 'attn_k', 'attn_v', 'attn_output', 'ffn_up', 'ffn_down'], hasHeadNorms: false, hasPostNorms: false, hasUnitOffset: false,
} as const satisfies Partial<BlockShape>;

/** `model_type` in config.json. */
const TYPES = ['bert', 'roberta', 'xlm-roberta'];

/**
 * Loads an encoder of sentences: BERT, RoBERTa and XLM-RoBERTa, as MiniLM, E5, BGE and many others are, from safetensors with their config.json as `config`, or a BERT from a GGUF file. Rejects as the
 * loaders of files do; with 'invalid-argument' for another architecture, for a setting that is missing or wrong, and for a tensor that is missing or has another shape, by its name.
 */
export async function loadEncoder(source: ModelSource, options: EncoderLoadOptions = {}): Promise<EncoderModel> {
  const { config, pooling, ...loading } = options;
  const call = 'loadEncoder';
  const known = config === undefined ? undefined : settingsOfConfig(call, config, pooling);
  const { weights, metadata } = await loadWeights(call, source, loading, known?.naming, (name) => PARTS.test(name));
  try {
    const model = { settings: known ?? settingsOfGguf(call, metadata, pooling), weights, metadata };
    // Recording asks for every weight, and checks it.
    graph(call, full([1, 1], 0, 'i32'), full([1], 1, 'i32'), model);
    return model;
  } catch (error) {
    dispose(weights);
    throw error;
  }
}

function settingsOfConfig(call: string, config: unknown, pooling: EncoderLoadOptions['pooling']): EncoderSettings {
  if (typeof config !== 'object' || config === null || Array.isArray(config)) throw invalidArgument(`${call}: config`, describe(config), 'the contents of a config.json, an object');
  const facts = new FactReader(`${call}: config`, config as Facts, 1);
  const type = facts.text(['model_type', 'model_type']);
  if (!TYPES.includes(type)) throw facts.wrong('model_type', type, TYPES.join(', '));
  if (facts.text(['position_embedding_type'], 'absolute') !== 'absolute') throw facts.wrong('position_embedding_type', facts.find('position_embedding_type')?.value, "'absolute'");
  // Rows of the table before the first position are those of padding there.
  const firstPosition = type === 'bert' ? 0 : facts.count(['pad_token_id', 'pad_token_id'], 1) + 1;
  const context = facts.count(['max_position_embeddings', 'max_position_embeddings']) - firstPosition;
  return { ...sizesOf(facts), activation: activationOf(facts, 'gelu'), context, firstPosition, pooling: poolingOf(call, pooling, 'mean'), naming: NAMING };
}

function settingsOfGguf(call: string, metadata: Facts, pooling: EncoderLoadOptions['pooling']): EncoderSettings {
  const architecture = metadata['general.architecture'];
  if (architecture !== 'bert') throw invalidArgument(`${call}: metadata: general.architecture`, describe(architecture), "'bert'");
  const own = Object.entries(metadata).filter(([name]) => name.startsWith('bert.')).map(([name, value]) => [name.slice(5), value]);
  const facts = new FactReader(`${call}: metadata: bert`, Object.fromEntries(own), 0);
  const kind = facts.find('pooling_type')?.value ?? 1;
  if (pooling === undefined && kind !== 1 && kind !== 2) throw facts.wrong('pooling_type', kind, '1, the mean, or 2, the first token; or the option pooling');
  return { ...sizesOf(facts), activation: 'gelu', context: facts.count(['context_length']), firstPosition: 0, pooling: poolingOf(call, pooling, kind === 2 ? 'cls' : 'mean') };
}

/** What both kinds of files have, under their two names. */
function sizesOf(facts: FactReader) {
  const heads = facts.count(['attention.head_count', 'num_attention_heads']);
  const width = facts.count(['embedding_length', 'hidden_size']);
  if (width % heads !== 0) throw facts.wrong('heads', heads, `a divisor of the width, ${width}`);
  const epsilon = facts.number(['attention.layer_norm_epsilon', 'layer_norm_eps'], 1e-12);
  return { ...SHAPE, width, heads, kvHeads: heads, size: width / heads, epsilon, layers: facts.count(['block_count', 'num_hidden_layers'], undefined, 4096) };
}

function poolingOf(call: string, given: EncoderLoadOptions['pooling'], otherwise: Pooling): Pooling {
  if (given === undefined) return otherwise;
  if (given === 'mean' || given === 'cls') return given;
  const modes = typeof given === 'object' && given !== null ? Object.keys(given).filter((name) => name.startsWith('pooling_mode_') && given[name] === true) : [];
  if (modes.length === 1 && modes[0] === 'pooling_mode_mean_tokens') return 'mean';
  if (modes.length === 1 && modes[0] === 'pooling_mode_cls_token') return 'cls';
  throw invalidArgument(`${call}: pooling`, modes.length > 0 ? modes.join(', ') : describe(given), "'mean', 'cls', or the contents of 1_Pooling/config.json with one of these");
}

/** Vectors [sentences, tokens, width] of tokens [sentences, tokens], of which each sentence has the first `lengths`. */
function graph(call: string, ids: Tensor<'i32'>, lengths: Tensor<'i32'>, { settings, weights }: EncoderModel): Tensor<'f32'> {
  const { width, layers, context, firstPosition } = settings;
  const w = new Weights(call, weights, settings.naming);
  const tokens = ids.shape[1] as Size;
  const isToken = arange(tokens, 'i32').lt(lengths.expandDims(-1)).expandDims(1, 2);
  const words = embedding(ids, w.take('token_embd.weight', [null, width]));
  const places = embedding(arange(tokens, 'i32').add(firstPosition), w.take('position_embd.weight', [context + firstPosition, width]));
  const type = w.tensor('token_types.weight', [null, width]).slice([0, 1]);
  let x = norm(words.add(places.add(type)), w, 'token_embd_norm', settings);
  for (let layer = 0; layer < layers; layer++) x = block(x, w, `blk.${layer}.`, settings, (q, k, v) => attention(q, k, v, { mask: isToken }));
  return x;
}

/** Vectors [sentences, width] of length 1, of tokens [sentences, tokens] of which each sentence has the first `lengths`, as a recipe. Throws 'invalid-argument' for other types and shapes. */
export function sentenceVectors(ids: Tensor<'i32'>, lengths: Tensor<'i32'>, model: EncoderModel): Tensor<'f32'> {
  const call = 'sentenceVectors';
  for (const [name, tensor, rank] of [['ids', ids, 2], ['lengths', lengths, 1]] as const) {
    if (!(tensor instanceof Tensor) || tensor.dtype !== 'i32' || tensor.rank !== rank) throw invalidArgument(`${call}: ${name}`, tensor instanceof Tensor ? `${tensor}` : describe(tensor), `a Tensor i32 of ${rank === 1 ? 'one axis' : 'two axes'}`);
  }
  const x = graph(call, ids, lengths, model);
  const isToken = arange(ids.shape[1] as Size, 'i32').lt(lengths.expandDims(-1));
  const share = isToken.cast('f32').div(lengths.cast('f32').expandDims(-1));
  const vector = model.settings.pooling === 'cls' ? x.pick(1, 0) : x.mul(share.expandDims(-1)).sum(1);
  return vector.div(vector.norm(-1, { keep: true }));
}

/** Options of {@link compileEncoder}. */
export interface EncoderOptions {
  /** The most sentences of a run. Default 32. */
  batch?: number;
  /** The most tokens of a sentence; longer ones are cut. Default: those that the model was trained for, but at most 512. */
  tokens?: number;
}

const ENCODER_OPTIONS: OptionNames<EncoderOptions> = { batch: true, tokens: true };

/** Compiles an encoder for batches of sentences of any length. Rejects with 'invalid-argument', 'out-of-memory', 'limit-exceeded'. */
export async function compileEncoder(device: Device, model: EncoderModel, options: EncoderOptions = {}): Promise<Encoder> {
  const call = 'compileEncoder';
  if (!(device instanceof Device)) throw invalidArgument(`${call}: device`, describe(device), 'a Device');
  checkOptions(`${call}: options`, options, ENCODER_OPTIONS);
  const { context } = model.settings;
  const { batch = 32, tokens = Math.min(context, 512) } = options;
  checkWholeNumber(`${call}: batch`, batch, 1);
  checkWholeNumber(`${call}: tokens`, tokens, 1, context);
  const [sentences, length] = [dim('sentences', batch), dim('tokens', tokens)];
  const program = await device.compile({ ids: spec('i32', [sentences, length]), lengths: spec('i32', [sentences]) }, ({ ids, lengths }) => sentenceVectors(ids, lengths, model), { name: 'encoder' });
  return new Encoder(program, batch, tokens, vocabularyOf(model.weights, 'token_embd.weight'));
}

/** An encoder that is ready to run; {@link compileEncoder} makes it. */
export class Encoder {
  /** The same as dispose(), for `using`. */
  declare readonly [Symbol.dispose]: () => void;

  /** @internal Made by compileEncoder(). */
  constructor(
    private readonly program: Program<any, Tensor<'f32'>>,
    /** The most sentences of a run. */
    readonly batch: number,
    /** The most tokens of a sentence. */
    readonly tokens: number,
    private readonly vocabulary: number,
  ) {}

  /**
   * The vectors, of length 1, of sentences that are lists of tokens, with those around them that the model was trained with. Sentences of similar length share a run, so that little is computed for
   * padding. `onProgress` is called with how many are done. Rejects with 'invalid-argument' for an empty list and for what is no token.
   */
  async encode(lists: readonly (readonly number[])[], onProgress?: (done: number) => void): Promise<Float32Array[]> {
    checkTokenLists('encode', lists, this.vocabulary);
    return encodeLists(this.program, lists, this, onProgress);
  }

  /** Frees its program, after the runs so far; not the weights. A second call does nothing. */
  dispose(): void {
    this.program.dispose();
  }
}

makeDisposable(Encoder);

/** How many tokens there are: the rows of their table. */
export const vocabularyOf = (weights: WeightTable, table: string): number => (weights[table] as WeightTable[string]).shape[0] as number;

/** Throws 'invalid-argument' unless it is a list of lists of tokens of a vocabulary of this size, none of them empty. */
export function checkTokenLists(call: string, lists: readonly (readonly number[])[], vocabulary: number): void {
  if (!Array.isArray(lists)) throw invalidArgument(`${call}: lists`, describe(lists), 'a list of lists of tokens');
  lists.forEach((list: unknown, k) => {
    if (!Array.isArray(list) || list.length === 0) throw invalidArgument(`${call}: lists[${k}]`, describe(list), 'a list of at least one token');
    checkTokens(`${call}: lists[${k}]`, list, vocabulary);
  });
}

/** The vectors of lists of tokens, by a program whose dims are `sentences` and `tokens`. Lists of similar length share a run. */
export async function encodeLists(
  program: Program<any, Tensor<'f32'>>,
  lists: readonly (readonly number[])[],
  { batch, tokens }: { batch: number; tokens: number },
  onProgress?: (done: number) => void,
): Promise<Float32Array[]> {
  const lengthOf = (index: number) => (lists[index] as readonly number[]).length;
  const order = lists.map((_, index) => index).sort((a, b) => lengthOf(b) - lengthOf(a));
  const found: Float32Array[] = [];
  for (let start = 0; start < order.length; start += batch) {
    const part = order.slice(start, start + batch).map((index) => (lists[index] as readonly number[]).slice(0, tokens));
    const longest = (part[0] as readonly number[]).length;
    const ids = part.flatMap((list) => [...list, ...Array<number>(longest - list.length).fill(0)]);
    const numbers = (await program.run({ ids, lengths: part.map((list) => list.length) }, { sentences: part.length, tokens: longest }).data()) as Float32Array;
    const width = numbers.length / part.length;
    part.forEach((_, row) => (found[order[start + row] as number] = numbers.slice(row * width, (row + 1) * width)));
    onProgress?.(Math.min(start + batch, order.length));
  }
  return found;
}
