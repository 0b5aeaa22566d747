// Trains the small decoder that the page www/text/ opens with, on the project's documentation, with residua/tensor on the CPU; writes target/small-decoder/model.gguf.
//
// The model has Llama's shape and about 150,000 weights. It learns which words follow each other in these documents, and no more.
import { mkdir, writeFile } from 'node:fs/promises';
import { encoderOf, learnPairs } from './byte-pairs.mjs';
import { writeGguf } from './gguf.mjs';
import { models, tensor, train } from './modules.mjs';
import { paragraphs } from './text.mjs';

const { arange, crossEntropy, Device, ones, Random } = tensor;
const { Adam, compileStep } = train;
const { decoderLogits, decoderSettings } = models;

const [VOCABULARY, CONTEXT, WIDTH, FORWARD, LAYERS, HEADS, KV_HEADS] = [768, 64, 64, 192, 2, 2, 1];
const SIZE = WIDTH / HEADS;
const EPSILON = 1e-5;
const BASE = 10000;
const settings = {
  ...decoderSettings({ model_type: 'llama', num_hidden_layers: LAYERS, hidden_size: WIDTH, num_attention_heads: HEADS, num_key_value_heads: KV_HEADS, max_position_embeddings: 512, rms_norm_eps: EPSILON }),
  // As in GGUF files of Llama.
  rotary: { layout: 'pairs', size: SIZE, base: BASE, scaling: null },
};

const [BATCH, STEPS, WARM_UP, RATE] = [8, Number(process.env.RESIDUA_STEPS ?? 600), 20, 6e-3];

const texts = await paragraphs();
const vocabulary = learnPairs(texts, VOCABULARY);
const encode = encoderOf(vocabulary);
const numbers = Int32Array.from(texts.flatMap((text) => [0, ...encode(text), 1]));

const device = await Device.create({ backend: 'cpu' });
const random = new Random(1);
const matrix = (rows, columns, deviation = Math.sqrt(1 / columns)) => random.normal([rows, columns], 0, deviation);
const made = { 'token_embd.weight': matrix(VOCABULARY, WIDTH, 0.1), 'output_norm.weight': ones([WIDTH]) };
for (let layer = 0; layer < LAYERS; layer++) {
  const parts = {
    attn_norm: ones([WIDTH]), attn_q: matrix(WIDTH, WIDTH), attn_k: matrix(KV_HEADS * SIZE, WIDTH), attn_v: matrix(KV_HEADS * SIZE, WIDTH), attn_output: matrix(WIDTH, WIDTH, 0.05),
    ffn_norm: ones([WIDTH]), ffn_gate: matrix(FORWARD, WIDTH), ffn_up: matrix(FORWARD, WIDTH), ffn_down: matrix(WIDTH, FORWARD, 0.03),
  };
  for (const [name, weight] of Object.entries(parts)) made[`blk.${layer}.${name}.weight`] = weight;
}
const weights = await device.store(made);
const list = Object.values(weights);
/** Rises in a straight line, falls by half a cosine from the first step on, and ends with a fiftieth. Steps count from 0. */
const rate = (step) => RATE * Math.min((step + 1) / WARM_UP, 0.02 + 0.98 * (0.5 + 0.5 * Math.cos((Math.PI * (step + 1)) / STEPS)));
const corpus = device.tensor(numbers, [numbers.length], 'i32');

const step = await compileStep(new Adam(weights, { rate, betas: [0.9, 0.99] }), {}, () => {
  const places = random.integers([BATCH, 1], 0, numbers.length - CONTEXT - 1).add(arange(CONTEXT + 1, 'i32'));
  const ids = corpus.indexSelect(places);
  const logits = decoderLogits(ids.slice(null, [0, CONTEXT]), { settings, weights, metadata: {} });
  return crossEntropy(logits, ids.slice(null, [1])).mean();
});

const began = performance.now();
let mean = 0;
for (let i = 1; i <= STEPS; i++) {
  const loss = await step.run({}).loss.item();
  mean += (loss - mean) / Math.min(i, 20);
  if (i % 50 === 0 || i === STEPS) console.log(`step ${i} of ${STEPS}: ${mean.toFixed(3)} nats a token, ${((performance.now() - began) / 1000).toFixed(1)} s`);
}
if (!(mean < 5)) throw new Error(`the training ended at ${mean} nats a token`);

const f32 = (value) => Float32Array.of(value);
const count = list.reduce((sum, { shape }) => sum + shape.reduce((a, b) => a * b, 1), 0);
const metadata = {
  'general.architecture': 'llama', 'general.name': 'small decoder', 'general.description': 'Trained on the documentation of residua for the page that shows residua/tensor.',
  'general.parameter_count': count, 'llama.block_count': LAYERS, 'llama.context_length': settings.context, 'llama.embedding_length': WIDTH, 'llama.feed_forward_length': FORWARD,
  'llama.attention.head_count': HEADS, 'llama.attention.head_count_kv': KV_HEADS, 'llama.attention.layer_norm_rms_epsilon': f32(EPSILON), 'llama.rope.freq_base': f32(BASE),
  'llama.rope.dimension_count': SIZE, 'llama.vocab_size': VOCABULARY, 'tokenizer.ggml.model': 'gpt2', 'tokenizer.ggml.pre': 'gpt-2', 'tokenizer.ggml.tokens': vocabulary.tokens,
  'tokenizer.ggml.token_type': Int32Array.from(vocabulary.tokens, (_, id) => (id < 2 ? 3 : 1)), 'tokenizer.ggml.merges': vocabulary.merges, 'tokenizer.ggml.bos_token_id': 0,
  'tokenizer.ggml.eos_token_id': 1, 'tokenizer.ggml.add_bos_token': true,
};
const tensors = [];
for (const [name, weight] of Object.entries(weights)) tensors.push({ name, shape: weight.shape, type: weight.rank === 1 ? 'f32' : 'f16', numbers: await weight.data() });
const folder = new URL('../../target/small-decoder/', import.meta.url);
await mkdir(folder, { recursive: true });
await writeFile(new URL('model.gguf', folder), writeGguf(metadata, tensors));
console.log(`${count} weights`);
device.dispose();
