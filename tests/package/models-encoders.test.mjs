// Encoders of sentences with made weights beside `transformers` in double precision (models/references.py), and what is refused.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import * as T from '../../pkg-template/dist/tensor.js';
import { compileEncoder, loadEncoder } from '../../pkg-template/dist/tensor-models.js';
import { writeGguf } from '../../xtask/small-decoder/gguf.mjs';
import { REFERENCES, safetensors, weightsOf } from './models/made.mjs';

/** Vectors of length 1 through two layers in f32. */
const BY_F32 = 1e-5;

let device;
before(async () => {
  await T.init(await readFile(new URL('../../pkg-template/wasm-tensor/residua_tensor_bg.wasm', import.meta.url)));
  device = await T.Device.create({ backend: 'cpu' });
});
after(() => device.dispose());

async function check(model, { sentences, vectors }, batch) {
  const encoder = await compileEncoder(device, model, { batch });
  const told = [];
  const found = await encoder.encode(sentences, (done) => told.push(done));
  vectors.forEach((expected, k) => {
    const moved = expected.reduce((most, x, i) => Math.max(most, Math.abs(x - found[k][i])), 0);
    assert.ok(found[k].length === expected.length && moved <= BY_F32, `sentence ${k}: ${moved}`);
  });
  assert.equal(told.at(-1), sentences.length);
  assert.deepEqual(await encoder.encode([]), []);
  encoder.dispose();
}

for (const [name, reference] of Object.entries(REFERENCES.encoders)) {
  const { config, pooling } = reference;
  test(`${name}: sentences have the expected vectors, in one batch and in several`, async () => {
    for (const prefix of ['', `${config.model_type.replace('xlm-', '')}.`]) {
      const weights = Object.fromEntries(Object.entries(weightsOf(reference)).map(([part, tensor]) => [prefix + part, tensor]));
      const model = await loadEncoder(safetensors(weights), { device, config, pooling });
      await check(model, reference, prefix === '' ? 32 : 2);
      T.dispose(model.weights);
    }
  });
}

/** Parts in GGUF's words. */
const PARTS = {
  'embeddings.word_embeddings': 'token_embd', 'embeddings.position_embeddings': 'position_embd', 'embeddings.token_type_embeddings': 'token_types', 'embeddings.LayerNorm': 'token_embd_norm', 'attention.self.query': 'attn_q',
  'attention.self.key': 'attn_k', 'attention.self.value': 'attn_v', 'attention.output.dense': 'attn_output', 'attention.output.LayerNorm': 'attn_output_norm', 'intermediate.dense': 'ffn_up', 'output.dense': 'ffn_down', 'output.LayerNorm': 'layer_output_norm',
};

test('a GGUF file of a BERT has them, too, pooled as it says', async () => {
  const reference = REFERENCES.encoders['bert, mean'];
  const tensors = Object.entries(weightsOf(reference)).map(([name, tensor]) => {
    const [, layer, part, suffix] = /^(?:encoder\.layer\.(\d+)\.)?(.+)\.(weight|bias)$/.exec(name);
    return { name: `${layer === undefined ? '' : `blk.${layer}.`}${PARTS[part]}.${suffix}`, type: 'f32', ...tensor };
  });
  const { config } = reference;
  const file = (change) => writeGguf({
    'general.architecture': 'bert', 'bert.block_count': config.num_hidden_layers, 'bert.context_length': config.max_position_embeddings, 'bert.embedding_length': config.hidden_size,
    'bert.attention.head_count': config.num_attention_heads, 'bert.attention.layer_norm_epsilon': Float32Array.of(config.layer_norm_eps), 'bert.pooling_type': 1, ...change,
  }, tensors);
  const model = await loadEncoder(file({}), { device });
  await check(model, reference, 32);
  T.dispose(model.weights);
  const first = await loadEncoder(file({ 'bert.pooling_type': 2 }), { device });
  assert.equal(first.settings.pooling, 'cls');
  T.dispose(first.weights);
  await assert.rejects(loadEncoder(file({ 'bert.pooling_type': 3 }), { device }), /pooling_type: got 3; takes 1, the mean/);
  await assert.rejects(loadEncoder(file({ 'general.architecture': 'nomic-bert' }), { device }), /general\.architecture: got "nomic-bert"; takes 'bert'/);
});

test('what is wrong is refused by its name', async () => {
  const reference = REFERENCES.encoders['bert, mean'];
  const { config } = reference;
  const load = (change = {}, options = {}, drop = '') => loadEncoder(safetensors(Object.fromEntries(Object.entries(weightsOf(reference)).filter(([name]) => name !== drop))), { device, config: { ...config, ...change }, ...options });
  const rejects = (call, message) => assert.rejects(async () => call(), { code: 'invalid-argument', message });
  await rejects(() => load({}, {}, 'encoder.layer.1.output.dense.bias'), /^loadEncoder: tensor "encoder\.layer\.1\.output\.dense\.bias": got none; takes floats \[32\]/);
  await rejects(() => load({}, {}, 'embeddings.token_type_embeddings.weight'), /^loadEncoder: tensor "embeddings\.token_type_embeddings\.weight": got none/);
  await rejects(() => load({ max_position_embeddings: 30 }), /tensor "embeddings\.position_embeddings\.weight": got f32 \[20, 32\]; takes floats \[30, 32\]/);
  await rejects(() => load({ model_type: 't5' }), /^loadEncoder: config: model_type: got "t5"; takes bert, roberta, xlm-roberta/);
  await rejects(() => load({ hidden_size: undefined }), /config: hidden_size: got undefined; takes a whole number/);
  await rejects(() => load({ position_embedding_type: 'relative_key' }), /position_embedding_type: got "relative_key"; takes 'absolute'/);
  await rejects(() => load({}, { pooling: 'max' }), /pooling: got "max"; takes 'mean', 'cls'/);
  await rejects(() => load({}, { pooling: { pooling_mode_max_tokens: true } }), /pooling: got pooling_mode_max_tokens; takes/);
  const model = await load({}, { pooling: { word_embedding_dimension: 32, pooling_mode_cls_token: true, pooling_mode_mean_tokens: false } });
  assert.equal(model.settings.pooling, 'cls');
  await rejects(() => compileEncoder(device, model, { tokens: 21 }), /^compileEncoder: tokens: got 21/);
  const encoder = await compileEncoder(device, model);
  await rejects(() => encoder.encode([[1], []]), /^encode: lists\[1\]: got an array of 0; takes a list of at least one token/);
  await rejects(() => encoder.encode([[1.5]]), /^encode: lists\[0\]/);
  const [vocabulary] = reference.shapes['embeddings.word_embeddings.weight'];
  await encoder.encode([[vocabulary - 1]]);
  for (const id of [vocabulary, 1e9, -1]) await rejects(() => encoder.encode([[1], [2, id]]), new RegExp(`^encode: lists\\[1\\]\\[1\\]: got ${id}; takes a whole number below ${vocabulary}, the vocabulary`));
  encoder.dispose();
});
