/** CLIP: texts and pictures as vectors of one space, in which a picture is near to what describes it (Radford et al. 2021). */

import { describe, invalidArgument } from '../../arguments/errors.js';
import { checkWholeNumber } from '../../arguments/numeric-arguments.js';
import { checkOptions, type OptionNames } from '../../arguments/options.js';
import { makeDisposable } from '../../compile/dispose.js';
import { Device } from '../device/device.js';
import { dispose } from '../device/dispose.js';
import { spec, type Feed, type Program, type Spec } from '../device/program.js';
import type { LoadOptions } from '../files/load.js';
import { attention, concat, embedding } from '../functions.js';
import { linear } from '../linear.js';
import { dim, type Size } from '../size.js';
import { arange, full, zeros } from '../sources.js';
import { Tensor } from '../tensor.js';
import { activationOf } from './decoder-settings.js';
import { checkTokenLists, encodeLists, vocabularyOf } from './encoder.js';
import { FactReader, type Facts } from './facts.js';
import { block, norm, type BlockShape } from './transformer.js';
import { loadWeights, Weights, type ModelSource, type Naming, type WeightTable } from './weights.js';

/** One of the two transformers. */
export interface ClipTower extends BlockShape {
  /** Layers. */
  readonly layers: number;
}

/** All that the graphs of a CLIP depend on, besides its weights. */
export interface ClipSettings {
  /** The transformer of texts. */
  readonly text: ClipTower & {
    /** The most tokens of a text. */
    readonly context: number;
  };
  /** The transformer of pictures. */
  readonly vision: ClipTower & {
    /** Pixels of a side of a picture. */
    readonly picture: number;
    /** Pixels of a side of a patch, which becomes one token. */
    readonly patch: number;
  };
  /** Names of the parts in the file. */
  readonly naming: Naming;
}

/** A CLIP's weights and settings. `dispose(model.weights)` frees it. */
export interface ClipModel {
  /** What its config.json says of it. */
  readonly settings: ClipSettings;
  /** Its weights; `t.` is before the names of those of texts, `v.` of those of pictures. */
  readonly weights: WeightTable;
}

/** Options of {@link loadClip}. */
export interface ClipLoadOptions extends Omit<LoadOptions, 'select'> {
  /** The contents of config.json. */
  config: Readonly<Record<string, unknown>>;
}

const tower = (from: string, to: string): Naming => ({
  [`${from}.encoder.layers.#.self_attn.q_proj`]: `${to}.blk.#.attn_q`, [`${from}.encoder.layers.#.self_attn.k_proj`]: `${to}.blk.#.attn_k`, [`${from}.encoder.layers.#.self_attn.v_proj`]: `${to}.blk.#.attn_v`,
  [`${from}.encoder.layers.#.self_attn.out_proj`]: `${to}.blk.#.attn_output`, [`${from}.encoder.layers.#.layer_norm1`]: `${to}.blk.#.attn_norm`, [`${from}.encoder.layers.#.layer_norm2`]: `${to}.blk.#.ffn_norm`,
  [`${from}.encoder.layers.#.mlp.fc1`]: `${to}.blk.#.ffn_up`, [`${from}.encoder.layers.#.mlp.fc2`]: `${to}.blk.#.ffn_down`,
});

const NAMING: Naming = {
  ...tower('text_model', 't'), ...tower('vision_model', 'v'),
  'text_model.embeddings.token_embedding': 't.token_embd', 'text_model.embeddings.position_embedding': 't.position_embd', 'text_model.final_layer_norm': 't.post_ln', text_projection: 't.projection',
  'vision_model.embeddings.class_embedding': 'v.class_embd', 'vision_model.embeddings.patch_embedding': 'v.patch_embd', 'vision_model.embeddings.position_embedding': 'v.position_embd',
  'vision_model.pre_layrnorm': 'v.pre_ln', 'vision_model.post_layernorm': 'v.post_ln', visual_projection: 'v.projection', logit_scale: 'logit_scale',
};

const SHAPE = {
  norm: 'layer', normPlace: 'before', isGated: false, isFused: false, biases: ['attn_q', 'attn_k', 'attn_v', 'attn_output', 'ffn_up', 'ffn_down'], hasHeadNorms: false, hasPostNorms: false, hasUnitOffset: false,
} as const satisfies Partial<BlockShape>;

/** By how much pictures are shifted and scaled, for red, green and blue, of numbers from 0 to 1: mean and deviation of the pictures of the training. */
const [MEANS, DEVIATIONS] = [[0.48145466, 0.4578275, 0.40821073], [0.26862954, 0.26130258, 0.27577711]] as const;

/** What config.json leaves out where it is the default. */
const TEXT = { hidden_size: 512, num_hidden_layers: 12, num_attention_heads: 8, max_position_embeddings: 77 };
const VISION = { hidden_size: 768, num_hidden_layers: 12, num_attention_heads: 12, image_size: 224, patch_size: 32 };

/**
 * Loads a CLIP from safetensors with its config.json as `config`. Rejects as the loaders of files do; with 'invalid-argument' for another `model_type`, for a setting that is missing or wrong, and for
 * a tensor that is missing or has another shape, by its name.
 */
export async function loadClip(source: ModelSource, options: ClipLoadOptions): Promise<ClipModel> {
  const call = 'loadClip';
  const { config, ...loading } = options;
  const settings = settingsOf(call, config);
  const { weights } = await loadWeights(call, source, loading, NAMING, () => false);
  try {
    const model = { settings, weights };
    // Recording asks for every weight, and checks it.
    textVectors(call, full([1, 1], 0, 'i32'), full([1], 1, 'i32'), model);
    pictureVectors(call, zeros([1, 3, settings.vision.picture, settings.vision.picture]), model);
    new Weights(call, weights, NAMING).take('logit_scale', []);
    return model;
  } catch (error) {
    dispose(weights);
    throw error;
  }
}

function settingsOf(call: string, config: unknown): ClipSettings {
  if (typeof config !== 'object' || config === null || Array.isArray(config)) throw invalidArgument(`${call}: config`, describe(config), 'the contents of a config.json, an object');
  const { model_type: type, text_config: text = {}, vision_config: vision = {} } = config as Facts;
  if (type !== 'clip') throw invalidArgument(`${call}: config: model_type`, describe(type), "'clip'");
  const read = (name: string, given: unknown, defaults: Facts) => {
    if (typeof given !== 'object' || given === null) throw invalidArgument(`${call}: config: ${name}`, describe(given), 'an object');
    return new FactReader(`${call}: config: ${name}`, { ...defaults, ...(given as Facts) }, 0);
  };
  const [ofText, ofVision] = [read('text_config', text, TEXT), read('vision_config', vision, VISION)];
  const [picture, patch] = [ofVision.count(['image_size'], undefined, 4096), ofVision.count(['patch_size'], undefined, 4096)];
  if (picture % patch !== 0) throw ofVision.wrong('patch_size', patch, `a divisor of the size of a picture, ${picture}`);
  return { text: { ...towerOf(ofText), context: ofText.count(['max_position_embeddings']) }, vision: { ...towerOf(ofVision), picture, patch }, naming: NAMING };
}

function towerOf(facts: FactReader): ClipTower {
  const [width, heads] = [facts.count(['hidden_size']), facts.count(['num_attention_heads'])];
  if (width % heads !== 0) throw facts.wrong('num_attention_heads', heads, `a divisor of the width, ${width}`);
  const layers = facts.count(['num_hidden_layers'], undefined, 4096);
  return { ...SHAPE, width, heads, kvHeads: heads, size: width / heads, layers, epsilon: facts.number(['layer_norm_eps'], 1e-5), activation: activationOf(facts, 'gelu-quick') };
}

const unit = (x: Tensor<'f32'>) => x.div(x.norm(-1, { keep: true }));

/** The vector of a text is that of its last token, which has seen all others. */
function textVectors(call: string, ids: Tensor<'i32'>, lengths: Tensor<'i32'>, { settings: { text }, weights }: ClipModel): Tensor<'f32'> {
  const w = new Weights(call, weights, NAMING);
  const tokens = ids.shape[1] as Size;
  const places = embedding(arange(tokens, 'i32'), w.take('t.position_embd.weight', [text.context, text.width]));
  let x = embedding(ids, w.take('t.token_embd.weight', [null, text.width])).add(places);
  for (let layer = 0; layer < text.layers; layer++) x = block(x, w, `t.blk.${layer}.`, text, (q, k, v) => attention(q, k, v, { causal: true }));
  const isLast = arange(tokens, 'i32').eq(lengths.sub(1).expandDims(-1)).cast('f32');
  const last = x.mul(isLast.expandDims(-1)).sum(1);
  return unit(w.linear(norm(last, w, 't.post_ln', text), 't.projection', null, 'none'));
}

/** The vector of a picture is that of a token of its own, before those of its patches. Pixels are [pictures, 3, side, side], from 0 to 1. */
function pictureVectors(call: string, pixels: Tensor<'f32'>, { settings: { vision }, weights }: ClipModel): Tensor<'f32'> {
  const { picture, patch, width } = vision;
  const w = new Weights(call, weights, NAMING);
  const count = pixels.shape[0] as Size;
  const channel = (values: readonly number[]) => concat(values.map((value) => full([1, 1, 1], value)));
  const side = picture / patch;
  const patches = pixels.sub(channel(MEANS)).div(channel(DEVIATIONS)).reshape([count, 3, side, patch, side, patch]).permute([0, 2, 4, 1, 3, 5]).reshape([count, side * side, 3 * patch * patch]);
  const table = w.tensor('v.patch_embd.weight', [width, 3, patch, patch]).reshape([width, 3 * patch * patch]);
  const first = w.tensor('v.class_embd', [width]).broadcastTo([count, 1, width]);
  const tokens = concat([first, linear(patches, table)], 1).add(w.tensor('v.position_embd.weight', [side * side + 1, width]));
  let x = norm(tokens, w, 'v.pre_ln', vision);
  for (let layer = 0; layer < vision.layers; layer++) x = block(x, w, `v.blk.${layer}.`, vision, (q, k, v) => attention(q, k, v));
  return unit(w.linear(norm(x.pick(1, 0), w, 'v.post_ln', vision), 'v.projection', null, 'none'));
}

/** Options of {@link compileClip}. */
export interface ClipOptions {
  /** The most texts of a run. Default 32. */
  batch?: number;
}

const CLIP_OPTIONS: OptionNames<ClipOptions> = { batch: true };

/** Compiles a CLIP: a program for batches of texts, and one for a picture. Rejects with 'invalid-argument', 'out-of-memory', 'limit-exceeded'. */
export async function compileClip(device: Device, model: ClipModel, options: ClipOptions = {}): Promise<Clip> {
  const call = 'compileClip';
  if (!(device instanceof Device)) throw invalidArgument(`${call}: device`, describe(device), 'a Device');
  checkOptions(`${call}: options`, options, CLIP_OPTIONS);
  const { batch = 32 } = options;
  checkWholeNumber(`${call}: batch`, batch, 1);
  const { text, vision } = model.settings;
  const [texts, tokens] = [dim('sentences', batch), dim('tokens', text.context)];
  const scale = await new Weights(call, model.weights, NAMING).tensor('logit_scale', []).exp().item();
  const ofTexts = await device.compile({ ids: spec('i32', [texts, tokens]), lengths: spec('i32', [texts]) }, ({ ids, lengths }) => textVectors(call, ids, lengths, model), { name: 'texts' });
  try {
    const pixels = (picture: Tensor<'u8'>) => picture.slice(null, null, [0, 3]).cast('f32').div(255).permute([2, 0, 1]).expandDims(0);
    const ofPicture = await device.compile({ picture: spec('u8', [vision.picture, vision.picture, 4]) }, ({ picture }) => pictureVectors(call, pixels(picture), model).squeeze(0), { name: 'picture' });
    return new Clip({ ofTexts, ofPicture }, { batch, tokens: text.context, vocabulary: vocabularyOf(model.weights, 't.token_embd.weight'), picture: vision.picture, scale });
  } catch (error) {
    ofTexts.dispose();
    throw error;
  }
}

/** A CLIP that is ready to run; {@link compileClip} makes it. */
export class Clip {
  /** The most tokens of a text. */
  readonly tokens: number;
  /** Pixels of a side of a picture. */
  readonly picture: number;
  /** The factor of the product of two vectors: of a picture's products with several texts the softmax has how probable each is among them. */
  readonly scale: number;
  /** The same as dispose(), for `using`. */
  declare readonly [Symbol.dispose]: () => void;
  private readonly batch: number;
  private readonly vocabulary: number;

  /** @internal Made by compileClip(). */
  constructor(
    private readonly programs: { ofTexts: Program<any, Tensor<'f32'>>; ofPicture: Program<any, Tensor<'f32'>> },
    sizes: { batch: number; tokens: number; vocabulary: number; picture: number; scale: number },
  ) {
    ({ batch: this.batch, tokens: this.tokens, vocabulary: this.vocabulary, picture: this.picture, scale: this.scale } = sizes);
  }

  /** The vectors, of length 1, of texts that are lists of tokens, with those around them that the model was trained with. Rejects with 'invalid-argument' for an empty list, for what is no token, and for a longer text. */
  async encodeTexts(lists: readonly (readonly number[])[]): Promise<Float32Array[]> {
    checkTokenLists('encodeTexts', lists, this.vocabulary);
    // A text that is cut would end without the token that its vector is.
    lists.forEach((list, k) => {
      if (list.length > this.tokens) throw invalidArgument(`encodeTexts: lists[${k}]`, `${list.length} tokens`, `at most ${this.tokens}`);
    });
    return encodeLists(this.programs.ofTexts, lists, { batch: this.batch, tokens: this.tokens });
  }

  /** The vector, of length 1, of a picture of `picture` · `picture` pixels with four bytes each: an image, a canvas or a video as it is at the call, a stored tensor, or bytes. */
  async encodePicture(picture: Feed<Spec<'u8'>>): Promise<Float32Array> {
    return (await this.programs.ofPicture.run({ picture }).data()) as Float32Array;
  }

  /** Frees its programs, after the runs so far; not the weights. A second call does nothing. */
  dispose(): void {
    dispose(this.programs);
  }
}

makeDisposable(Clip);
