// Decoders of every family with made weights beside `transformers` in double precision (models/references.py), from safetensors and from GGUF files.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { before, describe, test } from 'node:test';
import * as T from '../../pkg-template/dist/tensor.js';
import { compileDecoder, decoderLogits, decoderSettings, loadDecoder } from '../../pkg-template/dist/tensor-models.js';
import { ggufOf, REFERENCES, safetensors, weightsOf } from './models/made.mjs';

/** Logits reach 7 here. Sums in f32, and angles, which transformers has in f32, too, move those of three layers by up to 6e-6, of seven by 1.1e-5. */
const BY_F32 = 3e-5;

let device;
before(async () => {
  await T.init(await readFile(new URL('../../pkg-template/wasm-tensor/residua_tensor_bg.wasm', import.meta.url)));
  device = await T.Device.create({ backend: 'cpu' });
});

const difference = (found, expected) => {
  assert.equal(found.length, expected.length);
  return expected.reduce((most, x, k) => Math.max(most, Math.abs(x - found[k])), 0);
};

for (const [name, reference] of Object.entries(REFERENCES.decoders)) {
  describe(name, () => {
    const { config, ids, logits, capacity } = reference;
    const sources = {
      safetensors: () => loadDecoder(safetensors(weightsOf(reference)), { device, config }),
      ...(reference.gguf ? { gguf: () => loadDecoder(ggufOf(reference), { device }) } : {}),
    };
    for (const [kind, load] of Object.entries(sources)) {
      test(`has the expected logits at all positions, from ${kind}`, async () => {
        const model = await load();
        const input = device.tensor(ids, [1, ids.length], 'i32');
        const found = await decoderLogits(input, model).data();
        const vocabulary = found.length / ids.length;
        for (const [at, expected] of Object.entries(logits)) {
          const moved = difference(found.subarray(at * vocabulary, (+at + 1) * vocabulary), expected);
          assert.ok(moved <= BY_F32, `position ${at}: ${moved}`);
        }
        T.dispose(model.weights, input);
      });

      test(`has them as well in pieces, token by token and in a batch, from ${kind}`, async () => {
        const model = await load();
        const decoder = await compileDecoder(device, model, { capacity, piece: 5, cache: 'f32' });
        const last = logits[ids.length - 1];
        const whole = difference(await decoder.feed(ids).data(), last);
        assert.ok(whole <= BY_F32, `pieces: ${whole}`);
        for (const [at, id] of ids.entries()) {
          const found = await decoder.feed([id], at).data();
          if (at in logits) assert.ok(difference(found, logits[at]) <= BY_F32, `token ${at}`);
        }
        decoder.dispose();
        // The second sequence is shorter, and has padding before it.
        const batch = await compileDecoder(device, model, { capacity, piece: 5, cache: 'f32', batch: 2 });
        const both = await batch.feed([ids, ids.slice(0, 7)]).data();
        assert.ok(difference(both.subarray(0, last.length), last) <= BY_F32, 'first of a batch');
        assert.ok(difference(both.subarray(last.length), logits[6]) <= BY_F32, `second of a batch: ${difference(both.subarray(last.length), logits[6])}`);
        batch.dispose();
        T.dispose(model.weights);
      });
    }
  });
}

test('models whose weights are made otherwise than by loadDecoder have the scaled frequencies of their settings', async () => {
  const scaled = ['llama with biases, tied, scaled', 'qwen2 with yarn', 'gemma3', 'phi3 with long contexts', 'phi3 beyond its first context'];
  for (const name of scaled) {
    const reference = REFERENCES.decoders[name];
    const { config, ids, logits, capacity } = reference;
    const loaded = await loadDecoder(safetensors(weightsOf(reference)), { device, config });
    const weights = Object.fromEntries(Object.entries(loaded.weights).filter(([part]) => !part.startsWith('rope')));
    assert.ok(Object.keys(weights).length < Object.keys(loaded.weights).length, `${name} has tables`);
    const model = { settings: decoderSettings(config), weights, metadata: {} };
    const last = ids.length - 1;
    const decoder = await compileDecoder(device, model, { capacity, cache: 'f32' });
    const fed = difference(await decoder.feed(ids).data(), logits[last]);
    assert.ok(fed <= BY_F32, `${name}: ${fed}`);
    decoder.dispose();
    const input = device.tensor(ids, [1, ids.length], 'i32');
    const found = await decoderLogits(input, model).data();
    const recorded = difference(found.subarray((last * found.length) / ids.length), logits[last]);
    assert.ok(recorded <= BY_F32, `${name} as a recipe: ${recorded}`);
    T.dispose(loaded.weights, input);
  }
});
