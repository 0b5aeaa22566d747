/** What a decoder's file says of it, from a GGUF file's metadata or a config.json. */

import { describe, invalidArgument } from '../../arguments/errors.js';
import { DECODER_FAMILIES, LLAMA_SHAPE, type DecoderFamily } from './decoder-families.js';
import { FactReader, type Facts } from './facts.js';
import { longMagnitude, scalingOf, yarn, type RotaryScaling, type RotarySettings } from './rotary.js';
import type { Activation, BlockShape } from './transformer.js';
import type { Naming, WeightTable } from './weights.js';

/** All that the graph of a decoder depends on, besides its weights. */
export interface DecoderSettings extends BlockShape {
  /** The family, by GGUF's name of the architecture. */
  readonly architecture: string;
  /** Layers. */
  readonly layers: number;
  /** The most tokens that it was trained for. */
  readonly context: number;
  /** A factor of the vectors of tokens. */
  readonly embeddingScale: number;
  /** A factor of the products of queries and keys. */
  readonly attentionScale: number;
  /** Scores s of attention become cap · tanh(s / cap); null where they stay. */
  readonly attentionCap: number | null;
  /** The same of logits. */
  readonly logitCap: number | null;
  /** For each layer how many tokens a query sees, its own among them; null: all. */
  readonly windows: readonly (number | null)[];
  /** How positions turn queries and keys; null where positions are vectors of a table instead. */
  readonly rotary: RotarySettings | null;
  /** The same in layers with a window, where that differs. */
  readonly windowRotary: RotarySettings | null;
  /** Whether logits are products with the table of tokens; null: where the file has no matrix for them. */
  readonly isTied: boolean | null;
  /** Tokens that end a text. */
  readonly ends: readonly number[];
  /** Whether matrices are [in, out]. */
  readonly isTransposed: boolean;
  /** Names of the parts in the file, where these are not GGUF's. */
  readonly naming?: Naming;
}

/** More layers are a wrong file. */
const MOST_LAYERS = 4096;

/** `hidden_act` of config.json. */
const ACTIVATIONS: Readonly<Record<string, Activation>> = { silu: 'silu', swish: 'silu', gelu: 'gelu', gelu_new: 'gelu-tanh', gelu_pytorch_tanh: 'gelu-tanh', gelu_fast: 'gelu-tanh', quick_gelu: 'gelu-quick', relu: 'relu' };

/** The activation that a config.json names. Throws 'invalid-argument' for another. */
export function activationOf(facts: FactReader, otherwise: Activation): Activation {
  const found = facts.find('hidden_activation', 'hidden_act', 'activation_function');
  if (found === null) return otherwise;
  if (typeof found.value !== 'string' || !Object.hasOwn(ACTIVATIONS, found.value)) throw facts.wrong(found.name, found.value, `one of ${Object.keys(ACTIVATIONS).join(', ')}`);
  return ACTIVATIONS[found.value] as Activation;
}

/**
 * The settings of a decoder by the contents of its config.json, for models whose weights are made otherwise than by {@link loadDecoder}. Throws 'invalid-argument' for another `model_type`, and for a
 * value that is missing or wrong.
 */
export function decoderSettings(config: Readonly<Record<string, unknown>>): DecoderSettings {
  return settingsOfConfig('decoderSettings', config);
}

/** The settings of a config.json. Throws 'invalid-argument' for another `model_type`, and for a value that is missing or wrong. */
export function settingsOfConfig(call: string, config: unknown): DecoderSettings {
  if (typeof config !== 'object' || config === null || Array.isArray(config)) throw invalidArgument(`${call}: config`, describe(config), 'the contents of a config.json, an object');
  // Models of several media have that of the text inside.
  const outer = config as Facts;
  const given = { ...outer, ...(typeof outer['text_config'] === 'object' ? (outer['text_config'] as Facts) : {}) };
  const type = given['model_type'];
  const family = DECODER_FAMILIES.find(({ types }) => types.includes(type as string));
  if (family === undefined) throw invalidArgument(`${call}: config: model_type`, describe(type), DECODER_FAMILIES.flatMap(({ types }) => types).join(', '));
  const facts = new FactReader(`${call}: config`, { ...family.defaults, ...given }, 1);
  const settings = common(facts, family);
  const { context, size, layers } = settings;
  const isLocal = layersWithWindow(facts, family, layers);
  const window = facts.flag(['use_sliding_window'], type !== 'qwen2' && type !== 'qwen3') ? facts.optional(['sliding_window']) : null;
  const parameters = facts.inner('rope_parameters') ?? facts.inner('rope_scaling');
  const [full, local] = [parameters?.inner('full_attention') ?? parameters, parameters?.inner('sliding_attention') ?? null];
  const turned = checkTurned(facts, 'partial_rotary_factor', Math.floor(size * (full?.optional(['partial_rotary_factor']) ?? facts.number(['partial_rotary_factor'], 1))), size);
  const rotary = (base: number, scaling: RotaryScaling | null): RotarySettings => ({ layout: 'halves', size: turned, base, scaling });
  const localBase = local?.optional(['rope_theta']) ?? facts.optional(['rope_local_base_freq']);
  const base = full?.optional(['rope_theta']) ?? facts.number(['rope_theta'], 10000);
  const original = facts.optional(['original_max_position_embeddings']) ?? full?.optional(['original_max_position_embeddings']) ?? null;
  const isScaled = facts.find('query_pre_attn_scalar') !== null;
  return {
    ...settings,
    activation: activationOf(facts, settings.activation),
    hasUnitOffset: family.hasUnitOffset === true,
    isTransposed: family.isTransposed === true,
    attentionScale: (isScaled ? facts.number(['query_pre_attn_scalar']) : size) ** -0.5,
    windows: isLocal.map((has) => (has ? window : null)),
    rotary: family.rotates === null ? null : rotary(base, scalingOf(full, context, original, turned)),
    windowRotary: localBase === null ? null : rotary(localBase, scalingOf(local, context, original, turned)),
    isTied: facts.find('tie_word_embeddings') === null ? null : facts.flag(['tie_word_embeddings'], false),
    ends: facts.list(['eos_token_id']),
    naming: family.naming,
  };
}

/** The settings of a GGUF file, some of whose tensors are lists of rotary factors. */
export function settingsOfGguf(call: string, metadata: Facts, factors: Readonly<Record<string, readonly number[]>>): DecoderSettings {
  const architecture = metadata['general.architecture'];
  const family = DECODER_FAMILIES.find((each) => each.architecture === architecture);
  if (family === undefined) throw invalidArgument(`${call}: metadata: general.architecture`, describe(architecture), DECODER_FAMILIES.map((each) => each.architecture).join(', '));
  const start = `${family.architecture}.`;
  const own = Object.entries(metadata).filter(([name]) => name.startsWith(start)).map(([name, value]) => [name.slice(start.length), value]);
  const facts = new FactReader(`${call}: metadata: ${family.architecture}`, Object.fromEntries(own), 0);
  const settings = common(facts, family);
  const { layers, width, heads, size, context } = settings;
  const turned = family.rotates === null ? 0 : checkTurned(facts, 'rope.dimension_count', facts.count(['rope.dimension_count'], size), size);
  const window = facts.optional(['attention.sliding_window']);
  const isLocal = layersWithWindow(facts, family, layers);
  const rotary = (base: number, scaling: RotaryScaling | null): RotarySettings => ({ layout: family.rotates ?? 'halves', size: turned, base, scaling });
  const hasLocalBase = architecture === 'gemma3';
  // The files of Gemma do not have the factor; that of the models of 27 billion weights differs.
  const scaledBy = (architecture === 'gemma2' && layers === 46) || (architecture === 'gemma3' && layers === 62) ? width / heads : size;
  const tokens = new FactReader(`${call}: metadata: tokenizer.ggml`, { eos: metadata['tokenizer.ggml.eos_token_id'], eot: metadata['tokenizer.ggml.eot_token_id'] }, 0);
  return {
    ...settings,
    attentionScale: scaledBy ** -0.5,
    windows: isLocal.map((has) => (has ? window : null)),
    rotary: family.rotates === null ? null : rotary(facts.number(['rope.freq_base'], 10000), ggufScaling(facts, factors, context, turned)),
    windowRotary: hasLocalBase ? rotary(facts.number(['rope.freq_base_swa'], 10000), null) : null,
    isTied: null,
    ends: [...tokens.list(['eos']), ...tokens.list(['eot'])],
  };
}

/** How many numbers of a head turn. */
function checkTurned(facts: FactReader, name: string, turned: number, size: number): number {
  if (turned % 2 !== 0 || turned < 2 || turned > size) throw facts.wrong(name, turned, `what makes an even number up to ${size} of the numbers of a head turn`);
  return turned;
}

/** Names of the tensors with rotary factors. */
export const FACTOR_TENSORS = ['rope_freqs.weight', 'rope_factors_short.weight', 'rope_factors_long.weight'] as const;

function ggufScaling(facts: FactReader, factors: Readonly<Record<string, readonly number[]>>, context: number, turned: number): RotaryScaling | null {
  const [all, short, long] = FACTOR_TENSORS.map((name) => factors[name]);
  const original = facts.count(['rope.scaling.original_context_length'], context);
  for (const [k, list] of [all, short, long].entries()) {
    if (list !== undefined && (list.length !== turned / 2 || !list.every((x) => x > 0))) throw facts.wrong(`tensor ${describe(FACTOR_TENSORS[k])}`, list, `${turned / 2} positive numbers`);
  }
  if (all !== undefined) return { kind: 'factors', short: all, long: all, original, magnitude: 1 };
  if (short !== undefined && long !== undefined) return { kind: 'factors', short, long, original, magnitude: facts.optional(['rope.scaling.attn_factor']) ?? longMagnitude(context, original) };
  const kind = facts.text(['rope.scaling.type'], 'none');
  const factor = facts.number(['rope.scaling.factor', 'rope.scale_linear'], 1);
  if (kind === 'yarn') return yarn(factor, original, facts);
  if (kind === 'linear' || (kind === 'none' && facts.find('rope.scaling.type') === null)) return factor === 1 ? null : { kind: 'linear', factor };
  if (kind !== 'none') throw facts.wrong('rope.scaling.type', kind, "'none', 'linear' or 'yarn', or 'longrope' with tensors of factors");
  return null;
}

/** What both kinds of files have, under their two names. */
function common(facts: FactReader, family: DecoderFamily) {
  for (const [name, value] of Object.entries(family.requires ?? {})) {
    const found = facts.find(name);
    if (found !== null && found.value !== value) throw facts.wrong(name, found.value, String(value));
  }
  const shape = { ...LLAMA_SHAPE, ...family.shape };
  const heads = facts.count(['attention.head_count', 'num_attention_heads', 'n_head']);
  const kvHeads = facts.count(['attention.head_count_kv', 'num_key_value_heads'], heads);
  const width = facts.count(['embedding_length', 'hidden_size', 'n_embd']);
  const size = facts.count(['attention.key_length', 'head_dim'], width / heads);
  if (heads % kvHeads !== 0) throw facts.wrong('heads of keys and values', kvHeads, `a divisor of the number of heads, ${heads}`);
  return {
    ...shape,
    architecture: family.architecture,
    layers: facts.count(['block_count', 'num_hidden_layers', 'n_layer'], undefined, MOST_LAYERS),
    width, heads, kvHeads, size,
    context: facts.count(['context_length', 'max_position_embeddings', 'n_positions']),
    epsilon: facts.number(['attention.layer_norm_rms_epsilon', 'attention.layer_norm_epsilon', 'rms_norm_eps', 'layer_norm_epsilon'], 1e-5),
    embeddingScale: family.scalesEmbedding === true ? Math.sqrt(width) : 1,
    attentionCap: facts.optional(['attn_logit_softcapping']),
    logitCap: facts.optional(['final_logit_softcapping']),
    hasUnitOffset: false,
    isTransposed: false,
  };
}

/** Which layers see a window. */
function layersWithWindow(facts: FactReader, family: DecoderFamily, layers: number): boolean[] {
  const types = facts.find('layer_types');
  const pattern = facts.find('attention.sliding_window_pattern');
  if (pattern !== null && Array.isArray(pattern.value)) {
    if (pattern.value.length !== layers || !pattern.value.every((has) => typeof has === 'boolean')) throw facts.wrong(pattern.name, pattern.value, `a list of ${layers} flags, one a layer`);
    return pattern.value;
  }
  if (types !== null) {
    if (!Array.isArray(types.value) || types.value.length !== layers) throw facts.wrong('layer_types', types.value, `a list of ${layers}, one a layer`);
    return types.value.map((type: unknown) => {
      if (type !== 'full_attention' && type !== 'sliding_attention') throw facts.wrong('layer_types', type, "'full_attention' or 'sliding_attention'");
      return type === 'sliding_attention';
    });
  }
  const nth = facts.optional(['attention.sliding_window_pattern', 'sliding_window_pattern', '_sliding_window_pattern']) ?? family.everyNthSeesAll;
  // Qwen's first layers see all.
  const first = facts.optional(['max_window_layers']) ?? 0;
  return Array.from({ length: layers }, (_, layer) => layer >= first && (nth === undefined || (layer + 1) % nth !== 0));
}

/** The weights that are lists of rotary factors, as numbers. */
export async function rotaryFactors(weights: WeightTable): Promise<Record<string, readonly number[]>> {
  const found = FACTOR_TENSORS.filter((name) => Object.hasOwn(weights, name)).map(async (name) => {
    const weight = weights[name] as WeightTable[string];
    return [name, 'data' in weight ? Array.from(await weight.data(), Number) : []] as const;
  });
  return Object.fromEntries(await Promise.all(found));
}
