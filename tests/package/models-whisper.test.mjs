// A Whisper with made weights beside `transformers` in double precision (models/references.py), and what is refused.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import * as T from '../../pkg-template/dist/tensor.js';
import { compileWhisper, loadWhisper } from '../../pkg-template/dist/tensor-models.js';
import { melFilters, melSpectrogram } from '../../pkg-template/dist/tensor/models/mel.js';
import { made, REFERENCES, safetensors, weightsOf } from './models/made.mjs';

const reference = REFERENCES.whisper;
const { config, ids, logits } = reference;
/** A spectrogram of numbers up to 2, and logits up to 5 through four layers: each in f32. */
const [BY_SPECTRUM, BY_F32] = [1e-5, 1e-5];

let device;
before(async () => {
  await T.init(await readFile(new URL('../../pkg-template/wasm-tensor/residua_tensor_bg.wasm', import.meta.url)));
  device = await T.Device.create({ backend: 'cpu' });
});
after(() => device.dispose());

/** Three tones and noise, of 0.7 seconds. */
const recording = Float32Array.from(made(999, 11200, 0.05), (noise, k) => {
  const time = k / 16000;
  return 0.3 * Math.sin(2 * Math.PI * 440 * time) + 0.2 * Math.sin(2 * Math.PI * 1800 * time * (1 + time)) + noise;
});
const load = (change = {}, drop = '') => loadWhisper(safetensors(Object.fromEntries(Object.entries(weightsOf(reference)).filter(([name]) => name !== drop))), { device, config: { ...config, ...change } });
const difference = (found, expected) => expected.reduce((most, x, k) => Math.max(most, Math.abs(x - found[k])), 0);

test('the spectrogram is that of the extractor', async () => {
  const samples = new Float32Array(16000);
  samples.set(recording);
  const found = await melSpectrogram(device.tensor(samples), melFilters(device, config.num_mel_bins)).data();
  const moved = difference(found.filter((_, k) => k % 7 === 0), reference.features);
  assert.ok(found.length === 2000 && moved <= BY_SPECTRUM, `${moved}`);
});

test('the text has the expected logits in pieces, token by token, and for what was heard last', async () => {
  const model = await load();
  const whisper = await compileWhisper(device, model, { cache: 'f32', piece: 5 });
  assert.deepEqual([whisper.samples, whisper.decoder.capacity], [16000, 24]);
  whisper.listen(recording.map((x) => -x / 2).reverse());
  const other = await whisper.decoder.feed(ids).data();
  assert.ok(difference(other, logits[13]) > 0.1);
  whisper.listen(recording);
  const whole = difference(await whisper.decoder.feed(ids).data(), logits[13]);
  assert.ok(whole <= BY_F32, `${whole}`);
  for (const [at, id] of ids.entries()) {
    const found = await whisper.decoder.feed([id], at).data();
    if (at in logits) assert.ok(difference(found, logits[at]) <= BY_F32, `token ${at}: ${difference(found, logits[at])}`);
  }
  // Tokens that never come are passed over.
  const best = logits[13].indexOf(Math.max(...logits[13]));
  for await (const token of whisper.decoder.generate(ids, { temperature: 0, forbidden: [best], ends: [] })) {
    assert.equal(token, logits[13].indexOf(Math.max(...logits[13].filter((_, id) => id !== best))));
    break;
  }
  for await (const token of whisper.decoder.generate(ids, { temperature: 0, ends: [] })) {
    assert.equal(token, best);
    break;
  }
  whisper.dispose();
  T.dispose(model.weights);
});

test('what is wrong is refused by its name', async () => {
  const rejects = (call, message) => assert.rejects(async () => call(), { code: 'invalid-argument', message });
  await rejects(() => load({}, 'model.encoder.conv1.bias'), /^loadWhisper: tensor "encoder\.conv1\.bias": got none; takes floats \[32\]/);
  await rejects(() => load({}, 'model.decoder.layers.1.encoder_attn.v_proj.bias'), /^loadWhisper: tensor "decoder\.layers\.1\.encoder_attn\.v_proj\.bias": got none/);
  await rejects(() => load({}, 'model.decoder.layers.0.encoder_attn_layer_norm.weight'), /tensor "decoder\.layers\.0\.encoder_attn_layer_norm\.weight": got none/);
  await rejects(() => load({ num_mel_bins: 80 }), /tensor "encoder\.conv1\.weight": got f32 \[32, 20, 3\]; takes floats \[32, 80, 3\]/);
  await rejects(() => load({ max_target_positions: 448 }), /tensor "decoder\.embed_positions\.weight": got f32 \[24, 32\]; takes floats \[448, 32\]/);
  await rejects(() => load({ model_type: 'bart' }), /^loadWhisper: config: model_type: got "bart"; takes 'whisper'/);
  await rejects(() => load({ decoder_attention_heads: 3 }), /decoder_attention_heads: got 3; takes a divisor of the width, 32/);
  await rejects(() => load({ scale_embedding: true }), /scale_embedding: got true; takes false/);
  const model = await load();
  await rejects(() => compileWhisper(device, model, { batch: 2 }), /^compileWhisper: options: got batch; takes no batch/);
  await rejects(() => compileWhisper(device, model, { capacity: 25 }), /^compileWhisper: capacity: got 25/);
  const whisper = await compileWhisper(device, model);
  await rejects(() => whisper.listen(new Float32Array(16001)), /^listen: recording: got 16001 samples; takes a Float32Array of at most 16000 samples/);
  await rejects(() => whisper.listen([0]), /^listen: recording: got an array of 1/);
  whisper.dispose();
  T.dispose(model.weights);
});
