/** Whisper: speech to text (Radford et al. 2022). An encoder of spectrograms, and a decoder that attends to what it gives. */

import { describe, invalidArgument } from '../../arguments/errors.js';
import { makeDisposable } from '../../compile/dispose.js';
import type { Device } from '../device/device.js';
import { dispose } from '../device/dispose.js';
import { spec, type Program } from '../device/program.js';
import type { StoredTensor } from '../device/stored-tensor.js';
import type { LoadOptions } from '../files/load.js';
import { conv1d } from '../convolutions.js';
import { attention, embedding } from '../functions.js';
import { linear } from '../linear.js';
import { plus, type Size } from '../size.js';
import { arange, full, zeros } from '../sources.js';
import type { Tensor } from '../tensor.js';
import { activationOf } from './decoder-settings.js';
import { compileSteps, type Decoder, type DecoderOptions, type StepParts } from './decoder.js';
import { FactReader, type Facts } from './facts.js';
import { HOP, melFilters, melSpectrogram } from './mel.js';
import { block, joinHeads, norm, splitHeads, type BlockShape } from './transformer.js';
import { loadWeights, Weights, type ModelSource, type Naming, type WeightTable } from './weights.js';

/** All that the graphs of a Whisper depend on, besides its weights. */
export interface WhisperSettings {
  /** The encoder: its layers, and the places that it gives, two frames of 10 ms each. */
  readonly encoder: BlockShape & { readonly layers: number; readonly places: number };
  /** The decoder: its layers, and the most tokens of a text. */
  readonly decoder: BlockShape & { readonly layers: number; readonly context: number };
  /** Bands of the spectrogram. */
  readonly bands: number;
  /** Tokens that end a text. */
  readonly ends: readonly number[];
}

/** A Whisper's weights and settings. `dispose(model.weights)` frees it. */
export interface WhisperModel {
  /** What its config.json says of it. */
  readonly settings: WhisperSettings;
  /** Its weights; `e.` is before the names of the encoder's, `d.` of the decoder's. */
  readonly weights: WeightTable;
}

/** Options of {@link loadWhisper}. */
export interface WhisperLoadOptions extends Omit<LoadOptions, 'select'> {
  /** The contents of config.json. */
  config: Readonly<Record<string, unknown>>;
}

const attentionNames = (from: string, to: string): Naming => ({ [`${from}.q_proj`]: `${to}attn_q`, [`${from}.k_proj`]: `${to}attn_k`, [`${from}.v_proj`]: `${to}attn_v`, [`${from}.out_proj`]: `${to}attn_output` });

const layerNames = (from: string, to: string): Naming => ({
  ...attentionNames(`${from}.layers.#.self_attn`, `${to}.blk.#.`), [`${from}.layers.#.self_attn_layer_norm`]: `${to}.blk.#.attn_norm`, [`${from}.layers.#.final_layer_norm`]: `${to}.blk.#.ffn_norm`,
  [`${from}.layers.#.fc1`]: `${to}.blk.#.ffn_up`, [`${from}.layers.#.fc2`]: `${to}.blk.#.ffn_down`, [`${from}.embed_positions`]: `${to}.position_embd`, [`${from}.layer_norm`]: `${to}.output_norm`,
});

const NAMING: Naming = {
  ...layerNames('encoder', 'e'), 'encoder.conv1': 'e.conv1', 'encoder.conv2': 'e.conv2',
  ...layerNames('decoder', 'd'), 'decoder.embed_tokens': 'd.token_embd', ...attentionNames('decoder.layers.#.encoder_attn', 'd.blk.#.cross_'), 'decoder.layers.#.encoder_attn_layer_norm': 'd.blk.#.cross_attn_norm',
};

const SHAPE = {
  norm: 'layer', normPlace: 'before', isGated: false, isFused: false, biases: ['attn_q', 'attn_v', 'attn_output', 'ffn_up', 'ffn_down'], hasHeadNorms: false, hasPostNorms: false, hasUnitOffset: false, epsilon: 1e-5,
} as const satisfies Partial<BlockShape>;

/**
 * Loads a Whisper from safetensors with its config.json as `config`. Rejects as the loaders of files do; with 'invalid-argument' for another `model_type`, for a setting that is missing or wrong, and
 * for a tensor that is missing or has another shape, by its name.
 */
export async function loadWhisper(source: ModelSource, options: WhisperLoadOptions): Promise<WhisperModel> {
  const call = 'loadWhisper';
  const { config, ...loading } = options;
  const settings = settingsOf(call, config);
  const { weights } = await loadWeights(call, source, loading, NAMING, () => false);
  try {
    const model = { settings, weights };
    const { encoder, decoder, bands } = settings;
    // Recording asks for every weight, and checks it.
    const heard = crossParts(call, encodeSpeech(call, zeros([bands, 2 * encoder.places]), model), model);
    decode(call, full([1], 0, 'i32'), model, heard, { position: 0, starts: null, capacity: decoder.context, accumulate: 'f32', keep: (_, k, v) => ({ k, v }) });
    return model;
  } catch (error) {
    dispose(weights);
    throw error;
  }
}

function settingsOf(call: string, config: unknown): WhisperSettings {
  if (typeof config !== 'object' || config === null || Array.isArray(config)) throw invalidArgument(`${call}: config`, describe(config), 'the contents of a config.json, an object');
  const facts = new FactReader(`${call}: config`, config as Facts, 0);
  const type = facts.text(['model_type']);
  if (type !== 'whisper') throw facts.wrong('model_type', type, "'whisper'");
  if (facts.flag(['scale_embedding'], false)) throw facts.wrong('scale_embedding', true, 'false');
  const width = facts.count(['d_model']);
  const activation = activationOf(facts, 'gelu');
  const shapeOf = (name: string) => {
    const heads = facts.count([`${name}_attention_heads`]);
    if (width % heads !== 0) throw facts.wrong(`${name}_attention_heads`, heads, `a divisor of the width, ${width}`);
    return { ...SHAPE, activation, width, heads, kvHeads: heads, size: width / heads, layers: facts.count([`${name}_layers`], undefined, 4096) };
  };
  return {
    encoder: { ...shapeOf('encoder'), places: facts.count(['max_source_positions'], 1500) },
    decoder: { ...shapeOf('decoder'), context: facts.count(['max_target_positions'], 448) },
    bands: facts.count(['num_mel_bins'], 80, 1024),
    ends: facts.list(['eos_token_id']),
  };
}

/** Vectors [places, width] of a spectrogram [bands, 2 · places]. */
function encodeSpeech(call: string, spectrogram: Tensor<'f32'>, { settings: { encoder, bands }, weights }: WhisperModel): Tensor<'f32'> {
  const { width, places, layers } = encoder;
  const w = new Weights(call, weights, NAMING);
  const convolved = (x: Tensor<'f32'>, name: string, channels: number, stride: number) => conv1d(x, w.tensor(`${name}.weight`, [width, channels, 3]), { bias: w.tensor(`${name}.bias`, [width]), padding: 1, stride }).gelu();
  const heard = convolved(convolved(spectrogram.expandDims(0), 'e.conv1', bands, 1), 'e.conv2', width, 2);
  let x = heard.squeeze(0).transpose().add(w.tensor('e.position_embd.weight', [places, width]));
  for (let layer = 0; layer < layers; layer++) x = block(x, w, `e.blk.${layer}.`, encoder, (q, k, v) => attention(q, k, v));
  return norm(x, w, 'e.output_norm', encoder);
}

/** Keys and values that a layer of the decoder attends to. */
interface Heard {
  readonly k: Tensor;
  readonly v: Tensor;
}

/** Keys and values [heads, places, size] of what the encoder gives, for each layer of the decoder. */
function crossParts(call: string, x: Tensor<'f32'>, { settings: { decoder }, weights }: WhisperModel): Heard[] {
  const { layers, width, heads } = decoder;
  const w = new Weights(call, weights, NAMING);
  return Array.from({ length: layers }, (_, layer) => {
    const at = `d.blk.${layer}.cross_attn_`;
    return { k: splitHeads(w.linear(x, `${at}k`, width, 'none'), heads), v: splitHeads(w.linear(x, `${at}v`, width, 'needed'), heads) };
  });
}

/** Logits [vocabulary] after tokens [tokens]. */
function decode(call: string, ids: Tensor<'i32'>, { settings: { decoder }, weights }: WhisperModel, heard: readonly Heard[], { position, keep }: StepParts): Tensor<'f32'> {
  const { width, layers, heads, context } = decoder;
  const w = new Weights(call, weights, NAMING);
  const table = w.take('d.token_embd.weight', [null, width]);
  const end = plus(position, ids.shape[0] as Size);
  let x: Tensor<'f32'> = embedding(ids, table).add(embedding(arange(end, 'i32').slice([position, end]), w.take('d.position_embd.weight', [context, width])));
  for (let layer = 0; layer < layers; layer++) {
    const at = `d.blk.${layer}.`;
    const mix = (q: Tensor<'f32'>, k: Tensor<'f32'>, v: Tensor<'f32'>) => {
      const all = keep(layer, k, v);
      return attention(q, all.k, all.v, { causal: true, position });
    };
    const { k, v } = heard[layer] as Heard;
    const listen = (y: Tensor<'f32'>) => {
      const q = splitHeads(w.linear(norm(y, w, `${at}cross_attn_norm`, decoder), `${at}cross_attn_q`, width, 'needed'), heads);
      return y.add(w.linear(joinHeads(attention(q, k, v)), `${at}cross_attn_output`, width, 'needed'));
    };
    x = block(x, w, at, decoder, mix, listen);
  }
  return linear(norm(x.slice([-1]), w, 'd.output_norm', decoder), table).squeeze(0);
}

/** Options of {@link compileWhisper}. */
export type WhisperOptions = Omit<DecoderOptions, 'batch' | 'accumulate'>;

/** Compiles a Whisper: a program that listens, and the decoder. Rejects as {@link compileDecoder}. */
export async function compileWhisper(device: Device, model: WhisperModel, options: WhisperOptions = {}): Promise<Whisper> {
  const call = 'compileWhisper';
  if ('accumulate' in options) throw invalidArgument(`${call}: options`, 'accumulate', 'no accumulate: its weights are floats');
  if ('batch' in options) throw invalidArgument(`${call}: options`, 'batch', 'no batch: one recording at a time');
  const { encoder, decoder, bands, ends } = model.settings;
  const { layers, heads, size, context } = decoder;
  const samples = 2 * encoder.places * HOP;
  const made: { dispose(): void }[] = [];
  const keep = <T extends { dispose(): void }>(thing: T): T => {
    made.push(thing);
    return thing;
  };
  try {
    const type = options.cache ?? 'f16';
    const heard = Array.from({ length: layers }, () => ({ k: keep(device.zeros([heads, encoder.places, size], type)), v: keep(device.zeros([heads, encoder.places, size], type)) }));
    const steps = await compileSteps(call, device, { layers, kvHeads: heads, size, context, ends, isBounded: true, isQuantised: false, logits: (ids, parts) => decode(call, ids, model, heard, parts) }, options);
    keep(steps);
    const filters = keep(melFilters(device, bands));
    const body = ({ samples: x }: { samples: Tensor<'f32'> }) => {
      crossParts(call, encodeSpeech(call, melSpectrogram(x, filters), model), model).forEach(({ k, v }, layer) => {
        (heard[layer] as { k: StoredTensor }).k.assign(k.cast(type));
        (heard[layer] as { v: StoredTensor }).v.assign(v.cast(type));
      });
    };
    const listening = keep(await device.compile({ samples: spec('f32', [samples]) }, body, { name: 'listen', ...(options.signal === undefined ? {} : { signal: options.signal }) }));
    return new Whisper(steps, samples, listening, made);
  } catch (error) {
    dispose(made);
    throw error;
  }
}

/** A Whisper that is ready to run; {@link compileWhisper} makes it. */
export class Whisper {
  /** The same as dispose(), for `using`. */
  declare readonly [Symbol.dispose]: () => void;

  /** @internal Made by compileWhisper(). */
  constructor(
    /** Writes what was heard last: its prompt are the tokens that say language and task. */
    readonly decoder: Decoder,
    /** The most samples of a recording, at 16,000 a second. */
    readonly samples: number,
    private readonly program: Program<any, void>,
    private readonly owned: readonly { dispose(): void }[],
  ) {}

  /** Listens to a recording at 16,000 samples a second, from −1 to 1, of at most `samples`: what follows it is silence. The decoder then writes from it. Throws 'invalid-argument' for what is longer. */
  listen(recording: Float32Array): void {
    if (!(recording instanceof Float32Array) || recording.length > this.samples) {
      throw invalidArgument('listen: recording', recording instanceof Float32Array ? `${recording.length} samples` : describe(recording), `a Float32Array of at most ${this.samples} samples, at 16,000 a second`);
    }
    const padded = new Float32Array(this.samples);
    padded.set(recording);
    this.program.run({ samples: padded });
  }

  /** Frees its programs and what they keep, after the runs so far; not the weights. A second call does nothing. */
  dispose(): void {
    dispose(this.owned);
  }
}

makeDisposable(Whisper);
