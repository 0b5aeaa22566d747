// A decoder of Llama's shape: RMS norm, rotary positions, grouped keys and values, SwiGLU. Weights come from a GGUF file, or from safetensors with Hugging Face's names.
import { arange, attention, dim, embedding, linear, loadGguf, loadSafetensors, Random, rmsNorm, rope, scalar, spec, where } from 'residua/tensor';
import type { Device, FileSource, LoadOptions, QuantizedTensor, StoredTensor, Tensor } from 'residua/tensor';

export interface Settings { layers: number; heads: number; kvHeads: number; size: number; context: number; epsilon: number; base: number; layout: 'pairs' | 'halves'; ends: number[] }
export interface Model { settings: Settings; weights: Record<string, StoredTensor | QuantizedTensor>; metadata: Record<string, unknown> }
type Sampling = { temperature: number; topP: number };

/** Tokens of a prompt that a run takes at most, unless told: fewer take less memory, more are faster. And how many of the likeliest tokens are drawn from. */
const [PIECE, LIKELIEST] = [1024, 40];

/** What Hugging Face calls the parts that GGUF has under these names. */
const NAMES: Record<string, string> = {
  'model.embed_tokens': 'token_embd', 'model.norm': 'output_norm', lm_head: 'output', input_layernorm: 'attn_norm', post_attention_layernorm: 'ffn_norm',
  'self_attn.q_proj': 'attn_q', 'self_attn.k_proj': 'attn_k', 'self_attn.v_proj': 'attn_v', 'self_attn.o_proj': 'attn_output',
  'mlp.gate_proj': 'ffn_gate', 'mlp.up_proj': 'ffn_up', 'mlp.down_proj': 'ffn_down',
};

/** Loads a GGUF file, which holds its settings; with `config`, the contents of a config.json, it loads safetensors. */
export async function loadModel(source: FileSource, options: LoadOptions & { config?: Record<string, any> }): Promise<Model> {
  const { config, ...loading } = options;
  if (config !== undefined) {
    const { tensors, metadata } = await loadSafetensors(source, loading);
    const named = (name: string) => name.replace('.weight', '').replace(/^(model\.layers\.(\d+)\.)?(.*)/, (_, layer, n, part) => (layer ? `blk.${n}.` : '') + (NAMES[part] ?? part));
    if (config.rope_scaling) throw new Error('scaled rotary frequencies are read from GGUF files alone');
    const { num_attention_heads: heads, hidden_size: width, eos_token_id: ends } = config;
    const settings: Settings = {
      layers: config.num_hidden_layers, heads, kvHeads: config.num_key_value_heads ?? heads, size: config.head_dim ?? width / heads, context: config.max_position_embeddings,
      epsilon: config.rms_norm_eps, base: config.rope_theta ?? config.rope_parameters?.rope_theta ?? 10000, layout: 'halves', ends: [ends].flat(),
    };
    return { settings, weights: Object.fromEntries(Object.entries(tensors).map(([name, tensor]) => [named(name), tensor])), metadata };
  }
  const { tensors, metadata } = await loadGguf(source, loading);
  if (metadata['general.architecture'] !== 'llama') throw new Error(`the architecture of the file is ${metadata['general.architecture']}; this decoder takes llama`);
  const read = (name: string, otherwise?: number) => {
    const value = metadata[`llama.${name}`] ?? otherwise;
    if (value === undefined) throw new Error(`the file has no llama.${name}`);
    return Number(value);
  };
  const heads = read('attention.head_count');
  const settings: Settings = {
    layers: read('block_count'), heads, kvHeads: read('attention.head_count_kv', heads), size: read('attention.key_length', read('embedding_length') / heads), context: read('context_length'),
    epsilon: read('attention.layer_norm_rms_epsilon'), base: read('rope.freq_base', 10000), layout: 'pairs', ends: [Number(metadata['tokenizer.ggml.eos_token_id'])],
  };
  return { settings, weights: Object.fromEntries(Object.entries(tensors).map(([name, tensor]) => [name.replace('.weight', ''), tensor])), metadata };
}

/** Logits of the tokens after x, which holds [..., tokens, width]. `attend` mixes the queries, keys and values of a layer, which are [..., heads, tokens, size]. */
export function transform(x: Tensor<'f32'>, { settings, weights }: Pick<Model, 'settings' | 'weights'>, attend: (layer: number, q: Tensor, k: Tensor, v: Tensor) => Tensor<'f32'>, last = false): Tensor<'f32'> {
  const { layers, heads, kvHeads, size, epsilon } = settings;
  const weight = (name: string) => {
    if (!(name in weights)) throw new Error(`the file has no ${name}.weight`);
    return weights[name];
  };
  const norm = (y: Tensor<'f32'>, name: string) => rmsNorm(y, { weight: weight(name) as StoredTensor, epsilon });
  const split = (y: Tensor<'f32'>, count: number) => y.reshape([...y.shape.slice(0, -1), count, size]).transpose(-3, -2);
  for (let layer = 0; layer < layers; layer++) {
    const apply = (y: Tensor<'f32'>, part: string) => linear(y, weight(`blk.${layer}.${part}`));
    const h = norm(x, `blk.${layer}.attn_norm`);
    const mixed = attend(layer, split(apply(h, 'attn_q'), heads), split(apply(h, 'attn_k'), kvHeads), split(apply(h, 'attn_v'), kvHeads));
    x = x.add(apply(mixed.transpose(-3, -2).reshape(x.shape.slice(0, -1).concat(heads * size)), 'attn_output'));
    const g = norm(x, `blk.${layer}.ffn_norm`);
    x = x.add(apply(apply(g, 'ffn_gate').silu().mul(apply(g, 'ffn_up')), 'ffn_down'));
  }
  return linear(norm(last ? x.slice([-1]) : x, 'output_norm'), weights['output'] ?? weight('token_embd'));
}

/** Compiles the programs of a model: one for pieces of a prompt, one for a token. Both choose the next token on the device, which the next run reads there. */
export async function makeDecoder(device: Device, model: Model, options: { capacity?: number; piece?: number; cache?: 'f16' | 'f32'; seed?: number } = {}) {
  const { layers, kvHeads, size, context, base, layout, ends } = model.settings;
  const { capacity = Math.min(context, 2048), cache: dtype = 'f16', seed = Date.now() } = options;
  const piece = Math.min(options.piece ?? PIECE, capacity);
  if (!(Number.isInteger(piece) && piece > 0)) throw new Error(`makeDecoder: piece: got ${piece}; takes a positive integer`);
  const cache = device.kvCache({ layers, heads: kvHeads, size, capacity, dtype });
  const [next, random, position] = [device.zeros([1], 'i32'), new Random(seed), dim('position', capacity)];
  // Llama 3 slows its low frequencies down; its GGUF files have the factors.
  const factors = model.weights['rope_freqs'] as StoredTensor<'f32'> | undefined;
  const speeds = factors === undefined ? { base } : { frequencies: arange(size / 2).mul((-2 * Math.log(base)) / size).exp().div(factors) };
  const turned = (x: Tensor) => rope(x, { position, layout, ...speeds });
  const body = (ids: Tensor<'i32'>, temperature: Tensor<'f32'>, topP: Tensor<'f32'>) => {
    const logits = transform(embedding(ids, model.weights['token_embd']), model, (layer, q, k, v) => {
      const all = cache.append(layer, turned(k), v, position);
      return attention(turned(q), all.k, all.v, { causal: true, position });
    }, true).squeeze(0);
    // Of the likeliest tokens as many as together have the probability topP, and one of them by chance; without a temperature the first.
    const { values, indices } = logits.topk(LIKELIEST);
    const scores = values.div(temperature.maximum(1e-6));
    const isIn = scores.softmax().cumsum(-1, { exclusive: true }).lt(topP.maximum(1e-6));
    const drawn = where(temperature.gt(0), random.categorical(where(isIn, scores, -Infinity)), 0);
    const token = indices.indexSelect(drawn.expandDims(0));
    next.assign(token);
    return { token, logits };
  };
  const read = await device.compile({ ids: spec('i32', [dim('count', piece)]), temperature: scalar, topP: scalar }, ({ ids, temperature, topP }) => body(ids, temperature, topP));
  const write = await device.compile({ temperature: scalar, topP: scalar }, ({ temperature, topP }) => body(next, temperature, topP));
  const decoder = {
    capacity,
    /** Takes tokens from `position` on, and gives the logits of the one after them and a choice. */
    feed(ids: readonly number[], position: number, sampling: Sampling) {
      for (let at = 0; at < ids.length; at += piece) {
        const part = ids.slice(at, at + piece);
        read.run({ ids: part, ...sampling }, { position: position + at, count: part.length });
      }
      return read.outputs;
    },
    /** Takes the token chosen last, which stands at `position`. */
    step: (position: number, sampling: Sampling) => write.run(sampling, { position }),
    /** Yields tokens until the model ends, the cache is full or the caller leaves the loop. Some runs are submitted ahead of the token that is read. */
    async *generate(prompt: readonly number[], { temperature = 0.8, topP = 0.95, ahead = 3 } = {}): AsyncGenerator<number, void> {
      const sampling = { temperature, topP };
      const pending = [decoder.feed(prompt, 0, sampling).token.item()];
      for (let at = prompt.length; pending.length > 0; at++) {
        if (at < capacity) pending.push(decoder.step(at, sampling).token.item());
        pending.at(-1)?.catch(() => undefined); // After the caller left the loop nothing reads it.
        if (pending.length <= ahead && at < capacity) continue;
        const token = (await pending.shift()) as number;
        if (ends.includes(token)) return;
        yield token;
      }
    },
    plans: { read: read.plan, write: write.plan },
    dispose: () => [cache, next, read, write].forEach((thing) => thing.dispose()),
  };
  return decoder;
}
