/** The families of decoders: how each differs from Llama, by the names of GGUF's architectures and of Hugging Face's `model_type`. */

import type { BlockShape } from './transformer.js';
import type { Naming } from './weights.js';

/** What a family has of its own. What is not here stands in the file. */
export interface DecoderFamily {
  /** `general.architecture` of GGUF files. */
  readonly architecture: string;
  /** `model_type` in config.json. */
  readonly types: readonly string[];
  /** Where its layers differ from {@link LLAMA_SHAPE}. */
  readonly shape?: Partial<BlockShape>;
  /** What safetensors call the parts. */
  readonly naming: Naming;
  /** What config.json leaves out where it is the default. */
  readonly defaults?: Readonly<Record<string, unknown>>;
  /** Facts that have one value here, where the file has them. */
  readonly requires?: Readonly<Record<string, unknown>>;
  /** Which numbers rotate together in GGUF files; in safetensors it is always 'halves'. null: positions are vectors of a table. */
  readonly rotates: 'halves' | 'pairs' | null;
  /** Layers that see a window where the file names a size of it, of which it does not say which: all but every n-th, or all. */
  readonly everyNthSeesAll?: number;
  /** Whether the vectors of tokens are multiplied by √width. */
  readonly scalesEmbedding?: boolean;
  /** Whether norms of safetensors are stored less 1. */
  readonly hasUnitOffset?: boolean;
  /** Whether matrices of safetensors are [in, out]. */
  readonly isTransposed?: boolean;
}

/** The layers of Llama. */
export const LLAMA_SHAPE: Pick<BlockShape, 'norm' | 'normPlace' | 'activation' | 'isGated' | 'isFused' | 'biases' | 'hasHeadNorms' | 'hasPostNorms' | 'hasUnitOffset'> = {
  norm: 'rms', normPlace: 'before', activation: 'silu', isGated: true, isFused: false, biases: [], hasHeadNorms: false, hasPostNorms: false, hasUnitOffset: false,
};

/** Names of Llama's parts, which most families took over. */
const LLAMA: Naming = {
  embed_tokens: 'token_embd', norm: 'output_norm', lm_head: 'output',
  'layers.#.input_layernorm': 'blk.#.attn_norm', 'layers.#.post_attention_layernorm': 'blk.#.ffn_norm',
  'layers.#.self_attn.q_proj': 'blk.#.attn_q', 'layers.#.self_attn.k_proj': 'blk.#.attn_k', 'layers.#.self_attn.v_proj': 'blk.#.attn_v', 'layers.#.self_attn.o_proj': 'blk.#.attn_output',
  'layers.#.mlp.gate_proj': 'blk.#.ffn_gate', 'layers.#.mlp.up_proj': 'blk.#.ffn_up', 'layers.#.mlp.down_proj': 'blk.#.ffn_down',
};

const HEAD_NORMS: Naming = { 'layers.#.self_attn.q_norm': 'blk.#.attn_q_norm', 'layers.#.self_attn.k_norm': 'blk.#.attn_k_norm' };

const GEMMA: Naming = {
  ...LLAMA,
  'layers.#.post_attention_layernorm': 'blk.#.post_attention_norm', 'layers.#.pre_feedforward_layernorm': 'blk.#.ffn_norm', 'layers.#.post_feedforward_layernorm': 'blk.#.post_ffw_norm',
};

const GPT2: Naming = {
  wte: 'token_embd', wpe: 'position_embd', ln_f: 'output_norm', lm_head: 'output', 'h.#.ln_1': 'blk.#.attn_norm', 'h.#.ln_2': 'blk.#.ffn_norm',
  'h.#.attn.c_attn': 'blk.#.attn_qkv', 'h.#.attn.c_proj': 'blk.#.attn_output', 'h.#.mlp.c_fc': 'blk.#.ffn_up', 'h.#.mlp.c_proj': 'blk.#.ffn_down',
};

/** All families. */
export const DECODER_FAMILIES: readonly DecoderFamily[] = [
  { architecture: 'llama', types: ['llama', 'mistral'], naming: LLAMA, rotates: 'pairs', requires: { expert_count: 0 } },
  { architecture: 'qwen2', types: ['qwen2'], naming: LLAMA, rotates: 'halves', shape: { biases: ['attn_q', 'attn_k', 'attn_v'] } },
  { architecture: 'qwen3', types: ['qwen3'], naming: { ...LLAMA, ...HEAD_NORMS }, rotates: 'halves', shape: { hasHeadNorms: true } },
  {
    architecture: 'gemma2', types: ['gemma2'], naming: GEMMA, rotates: 'halves', scalesEmbedding: true, hasUnitOffset: true, everyNthSeesAll: 2,
    shape: { activation: 'gelu-tanh', hasPostNorms: true },
    defaults: { tie_word_embeddings: true, rms_norm_eps: 1e-6, attn_logit_softcapping: 50, final_logit_softcapping: 30 },
  },
  {
    architecture: 'gemma3', types: ['gemma3_text', 'gemma3'], naming: { ...GEMMA, ...HEAD_NORMS }, rotates: 'halves', scalesEmbedding: true, hasUnitOffset: true, everyNthSeesAll: 6,
    shape: { activation: 'gelu-tanh', hasPostNorms: true, hasHeadNorms: true },
    defaults: {
      tie_word_embeddings: true, rms_norm_eps: 1e-6, num_attention_heads: 8, num_key_value_heads: 4, head_dim: 256, max_position_embeddings: 131072, rope_theta: 1e6, rope_local_base_freq: 1e4,
      query_pre_attn_scalar: 256, sliding_window: 4096,
    },
    requires: { use_bidirectional_attention: false },
  },
  {
    architecture: 'phi3', types: ['phi3'], rotates: 'halves', shape: { isFused: true },
    naming: { ...LLAMA, 'layers.#.self_attn.qkv_proj': 'blk.#.attn_qkv', 'layers.#.mlp.gate_up_proj': 'blk.#.ffn_up' },
  },
  {
    architecture: 'gpt2', types: ['gpt2'], naming: GPT2, rotates: null, isTransposed: true, defaults: { tie_word_embeddings: true },
    shape: { norm: 'layer', activation: 'gelu-tanh', isGated: false, isFused: true, biases: ['attn_qkv', 'attn_output', 'ffn_up', 'ffn_down'] },
    requires: { scale_attn_weights: true, scale_attn_by_inverse_layer_idx: false, add_cross_attention: false },
  },
];
