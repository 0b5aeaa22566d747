// A CLIP with made weights beside `transformers` in double precision (models/references.py), and what is refused.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import * as T from '../../pkg-template/dist/tensor.js';
import { compileClip, loadClip } from '../../pkg-template/dist/tensor-models.js';
import { made, REFERENCES, safetensors, weightsOf } from './models/made.mjs';

const reference = REFERENCES.clip;
const { config } = reference;
/** Vectors of length 1 through two layers in f32. */
const BY_F32 = 1e-5;

let device;
before(async () => {
  await T.init(await readFile(new URL('../../pkg-template/wasm-tensor/residua_tensor_bg.wasm', import.meta.url)));
  device = await T.Device.create({ backend: 'cpu' });
});
after(() => device.dispose());

const load = (change = {}, drop = '') => loadClip(safetensors(Object.fromEntries(Object.entries(weightsOf(reference)).filter(([name]) => name !== drop))), { device, config: { ...config, ...change } });

function assertNear(found, expected, what) {
  const moved = expected.reduce((most, x, k) => Math.max(most, Math.abs(x - found[k])), 0);
  assert.ok(found.length === expected.length && moved <= BY_F32, `${what}: ${moved}`);
}

test('texts and pictures have the expected vectors', async () => {
  const model = await load();
  for (const batch of [1, 32]) {
    const clip = await compileClip(device, model, { batch });
    const texts = await clip.encodeTexts(reference.texts);
    reference.textVectors.forEach((expected, k) => assertNear(texts[k], expected, `text ${k}`));
    for (const [k, number] of reference.pictures.entries()) {
      const bytes = Uint8Array.from(made(number, clip.picture * clip.picture * 4, 0.5, 0.5), (x) => Math.round(x * 255));
      assertNear(await clip.encodePicture(bytes), reference.pictureVectors[k], `picture ${k}`);
    }
    assert.ok(Math.abs(clip.scale - reference.scale) < 1e-6);
    clip.dispose();
  }
  T.dispose(model.weights);
});

test('what is wrong is refused by its name', async () => {
  const rejects = (call, message) => assert.rejects(async () => call(), { code: 'invalid-argument', message });
  await rejects(() => load({}, 'vision_model.embeddings.class_embedding'), /^loadClip: tensor "vision_model\.embeddings\.class_embedding": got none; takes floats \[48\]/);
  await rejects(() => load({}, 'text_projection.weight'), /^loadClip: tensor "text_projection\.weight": got none/);
  await rejects(() => load({}, 'text_model.encoder.layers.1.mlp.fc1.bias'), /^loadClip: tensor "text_model\.encoder\.layers\.1\.mlp\.fc1\.bias": got none; takes floats \[48\]/);
  await rejects(() => load({}, 'logit_scale'), /^loadClip: tensor "logit_scale": got none; takes floats \[\]/);
  await rejects(() => load({ model_type: 'siglip' }), /^loadClip: config: model_type: got "siglip"; takes 'clip'/);
  await rejects(() => load({ vision_config: { ...config.vision_config, patch_size: 7 } }), /vision_config: patch_size: got 7; takes a divisor of the size of a picture, 24/);
  await rejects(() => load({ vision_config: { ...config.vision_config, image_size: 32 } }), /tensor "vision_model\.embeddings\.position_embedding\.weight": got f32 \[10, 48\]; takes floats \[17, 48\]/);
  await rejects(() => load({ text_config: { ...config.text_config, num_attention_heads: 5 } }), /text_config: num_attention_heads: got 5; takes a divisor of the width, 32/);
  const model = await load();
  const clip = await compileClip(device, model);
  await rejects(() => clip.encodeTexts([[1], Array(13).fill(1)]), /^encodeTexts: lists\[1\]: got 13 tokens; takes at most 12/);
  await rejects(() => clip.encodeTexts([[]]), /^encodeTexts: lists\[0\]/);
  const [vocabulary] = reference.shapes['text_model.embeddings.token_embedding.weight'];
  await clip.encodeTexts([[vocabulary - 1]]);
  for (const id of [vocabulary, -1, 0.5]) await rejects(() => clip.encodeTexts([[1], [2, id]]), new RegExp(`^encodeTexts: lists\\[1\\]\\[1\\]: got ${id}; takes a whole number below ${vocabulary}, the vocabulary`));
  await rejects(() => clip.encodePicture(new Uint8Array(5)), /picture/);
  clip.dispose();
  T.dispose(model.weights);
});
