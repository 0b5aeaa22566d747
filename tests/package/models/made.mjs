// Models with made weights, the same as references.py makes, and files of them: safetensors as they are, GGUF as llama.cpp converts them.
import { readFileSync } from 'node:fs';
import { safetensorsOf } from '../../../www/bench/onnx/safetensors.js';
import { writeGguf } from '../../../xtask/small-decoder/gguf.mjs';

export { safetensorsOf as safetensors };
export const REFERENCES = JSON.parse(readFileSync(new URL('references.json', import.meta.url), 'utf8'));

const sizeOf = (shape) => shape.reduce((a, b) => a * b, 1);

/** Numbers in [offset − scale, offset + scale), by the finaliser of MurmurHash3, rounded to f32. */
export function made(number, count, scale, offset = 0) {
  return Float32Array.from({ length: count }, (_, i) => {
    let h = (Math.imul(i, 0x9e3779b1) + Math.imul(number, 0x7f4a7c15)) >>> 0;
    h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
    h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
    h = (h ^ (h >>> 16)) >>> 0;
    return ((h >>> 8) / 2 ** 23 - 1) * scale + offset;
  });
}

/** The weights of a reference by name, in order: { shape, numbers }. */
export function weightsOf({ shapes }) {
  return Object.fromEntries(Object.entries(shapes).map(([name, shape], number) => {
    const isVector = shape.length < 2;
    const isNorm = shape.length === 1 && name.endsWith('weight');
    const scale = isVector ? 0.3 : 2 / Math.sqrt(sizeOf(shape.slice(1)));
    return [name, { shape, numbers: made(number, sizeOf(shape), scale, isNorm ? 1 : 0) }];
  }));
}

const f32 = (value) => Float32Array.of(value);

/** Names of GGUF, in the words of transformers. */
const PARTS = {
  'model.embed_tokens': 'token_embd', 'model.norm': 'output_norm', lm_head: 'output', input_layernorm: 'attn_norm', post_attention_layernorm: 'ffn_norm', 'self_attn.q_proj': 'attn_q', 'self_attn.k_proj': 'attn_k',
  'self_attn.v_proj': 'attn_v', 'self_attn.o_proj': 'attn_output', 'self_attn.qkv_proj': 'attn_qkv', 'self_attn.q_norm': 'attn_q_norm', 'self_attn.k_norm': 'attn_k_norm', 'mlp.gate_proj': 'ffn_gate', 'mlp.up_proj': 'ffn_up',
  'mlp.down_proj': 'ffn_down', 'mlp.gate_up_proj': 'ffn_up', pre_feedforward_layernorm: 'ffn_norm', post_feedforward_layernorm: 'post_ffw_norm',
  'transformer.wte': 'token_embd', 'transformer.wpe': 'position_embd', 'transformer.ln_f': 'output_norm', ln_1: 'attn_norm', ln_2: 'ffn_norm', 'attn.c_attn': 'attn_qkv', 'attn.c_proj': 'attn_output', 'mlp.c_fc': 'ffn_up', 'mlp.c_proj': 'ffn_down',
};

/** Rows of queries and keys as Llama's GGUF files have them: numbers of a pair beside each other. */
function neighbours({ shape, numbers }, heads) {
  const [rows, columns = 1] = shape;
  const half = rows / heads / 2;
  const to = new Float32Array(numbers.length);
  for (let row = 0; row < rows; row++) {
    const [head, within] = [Math.floor(row / (2 * half)), row % (2 * half)];
    const at = head * 2 * half + (within % half) * 2 + Math.floor(within / half);
    to.set(numbers.subarray(row * columns, (row + 1) * columns), at * columns);
  }
  return { shape, numbers: to };
}

function transposed({ shape: [rows, columns], numbers }) {
  return { shape: [columns, rows], numbers: Float32Array.from(numbers, (_, i) => numbers[(i % rows) * columns + Math.floor(i / rows)]) };
}

/** A GGUF file of a decoder, and its metadata. */
export function ggufOf({ config, ...reference }, change = (metadata) => metadata) {
  const type = config.model_type;
  const architecture = { mistral: 'llama', gemma3_text: 'gemma3' }[type] ?? type;
  const [heads, kvHeads] = [config.num_attention_heads ?? config.n_head, config.num_key_value_heads ?? config.n_head];
  const tensors = Object.entries(weightsOf(reference)).map(([name, tensor]) => {
    const [, layer, part, suffix] = /^(?:(?:model\.layers|transformer\.h)\.(\d+)\.)?(.+)\.(weight|bias)$/.exec(name);
    const gguf = type.startsWith('gemma') && part === 'post_attention_layernorm' ? 'post_attention_norm' : PARTS[part];
    let given = tensor;
    if (architecture === 'llama' && /^attn_[qk]$/.test(gguf)) given = neighbours(tensor, gguf === 'attn_q' ? heads : kvHeads);
    if (type === 'gpt2' && /^(attn|mlp)\./.test(part) && suffix === 'weight') given = transposed(tensor);
    if (type.startsWith('gemma') && /norm/.test(gguf)) given = { shape: tensor.shape, numbers: tensor.numbers.map((x) => Math.fround(x + 1)) };
    return { name: `${layer === undefined ? '' : `blk.${layer}.`}${gguf}.${suffix}`, type: 'f32', ...given };
  });
  const own = {
    block_count: config.num_hidden_layers ?? config.n_layer, context_length: config.max_position_embeddings ?? config.n_positions, embedding_length: config.hidden_size ?? config.n_embd,
    'attention.head_count': heads, 'attention.head_count_kv': kvHeads,
    ...(type === 'gpt2' ? { 'attention.layer_norm_epsilon': f32(config.layer_norm_epsilon) } : { 'attention.layer_norm_rms_epsilon': f32(config.rms_norm_eps) }),
    ...(config.head_dim === undefined ? {} : { 'attention.key_length': config.head_dim, 'attention.value_length': config.head_dim }),
    ...(config.sliding_window === undefined ? {} : { 'attention.sliding_window': config.sliding_window }),
    ...(config.attn_logit_softcapping === undefined ? {} : { attn_logit_softcapping: f32(config.attn_logit_softcapping), final_logit_softcapping: f32(config.final_logit_softcapping) }),
  };
  const rope = config.rope_parameters?.full_attention ?? config.rope_parameters;
  if (rope !== undefined) {
    own['rope.freq_base'] = f32(rope.rope_theta);
    if (rope.partial_rotary_factor !== undefined) own['rope.dimension_count'] = ((config.head_dim ?? config.hidden_size / heads) * rope.partial_rotary_factor);
    if (rope.rope_type === 'linear' || rope.rope_type === 'yarn') Object.assign(own, { 'rope.scaling.type': rope.rope_type, 'rope.scaling.factor': f32(rope.factor) });
    if (rope.original_max_position_embeddings !== undefined) own['rope.scaling.original_context_length'] = rope.original_max_position_embeddings;
    for (const kind of ['short', 'long']) {
      const factors = rope[`${kind}_factor`];
      if (factors !== undefined) tensors.push({ name: `rope_factors_${kind}.weight`, shape: [factors.length], type: 'f32', numbers: Float32Array.from(factors) });
    }
    if (rope.rope_type === 'llama3') {
      const numbers = llama3Factors(rope, config.hidden_size / heads);
      tensors.push({ name: 'rope_freqs.weight', shape: [numbers.length], type: 'f32', numbers });
    }
  }
  const metadata = { 'general.architecture': architecture, ...Object.fromEntries(Object.entries(own).map(([name, value]) => [`${architecture}.${name}`, value])), 'tokenizer.ggml.eos_token_id': config.eos_token_id };
  return writeGguf(change(metadata), tensors);
}

/** By how much Llama 3 slows down each frequency, as its converter writes it. */
function llama3Factors({ rope_theta: base, factor, low_freq_factor: low, high_freq_factor: high, original_max_position_embeddings: original }, size) {
  return Float32Array.from({ length: size / 2 }, (_, i) => {
    const wave = 2 * Math.PI * base ** ((2 * i) / size);
    if (wave < original / high) return 1;
    if (wave > original / low) return factor;
    const smooth = (original / wave - low) / (high - low);
    return 1 / ((1 - smooth) / factor + smooth);
  });
}
