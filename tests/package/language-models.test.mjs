// The decoder and the encoder of www/models/ on the CPU in Node: tokens, logits and embeddings beside references in double precision.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { before, describe, test } from 'node:test';
import { BY_F16_CACHE, compare, FILES, firstWrong, llama, minilm } from '../language-models.mjs';
import { writeGguf } from '../../xtask/small-decoder/gguf.mjs';
import { modelCode, tensor } from '../../xtask/small-decoder/modules.mjs';

const { loadModel, makeDecoder } = await modelCode('decoder.ts');
const { loadWeights, makeEncoder } = await modelCode('encoder.ts');

const GREEDY = { temperature: 0, topP: 1 };
/** NumPy in f32 differs from f64 by 2.1e-5 over these files; sums here are in another order. */
const BY_F32 = 1e-4;

let device;
before(async () => {
  device = await tensor.Device.create({ backend: 'cpu' });
});

/** A decoder of a file of the Llama, for `use`. */
async function withDecoder(data, file, options, use) {
  const config = file.endsWith('.safetensors') ? data.config : undefined;
  const model = await loadModel(data.bytes(file), { device, config });
  const decoder = await makeDecoder(device, model, { seed: 1, ...options });
  try {
    await use(decoder);
  } finally {
    decoder.dispose();
    tensor.dispose(Object.values(model.weights));
  }
}

async function greedy(decoder, ids, count) {
  const tokens = [];
  for await (const token of decoder.generate(ids, { temperature: 0 })) if (tokens.push(token) === count) break;
  return tokens;
}

describe('a decoder on the CPU', () => {
  for (const [kind, file] of Object.entries(FILES)) {
    test(`chooses the expected tokens from weights in ${kind}`, { timeout: 300_000 }, async (t) => {
      const data = llama(t);
      if (data === null) return;
      await withDecoder(data, file, {}, async (decoder) => {
        for (const { text, ids, [kind]: expected } of data.prompts) {
          const found = await greedy(decoder, ids, expected.tokens.length);
          assert.equal(found.length, expected.tokens.length, text);
          assert.equal(firstWrong(found, expected), -1, `${text}: ${found}`);
        }
      });
    });
  }

  test('reads safetensors, whose rotary layout is another', { timeout: 300_000 }, async (t) => {
    const data = llama(t);
    if (data === null) return;
    await withDecoder(data, 'model.safetensors', {}, async (decoder) => {
      for (const { text, ids, f16 } of data.prompts) assert.equal(firstWrong(await greedy(decoder, ids, 16), f16), -1, text);
    });
  });

  test('has the expected logits, to single precision with keys and values in f32', { timeout: 300_000 }, async (t) => {
    const data = llama(t);
    if (data === null) return;
    for (const [kind, file] of Object.entries(FILES)) {
      for (const [cache, tolerance] of [['f32', BY_F32], ['f16', BY_F16_CACHE]]) {
        await withDecoder(data, file, { cache }, async (decoder) => {
          for (const { text, ids, [kind]: { firstLogits } } of data.prompts) {
            const { difference } = compare(await decoder.feed(ids, 0, GREEDY).logits.data(), firstLogits);
            assert.ok(difference <= tolerance, `${kind}, keys in ${cache}, ${text}: ${difference}`);
          }
        });
      }
    }
  });

  test('has the same logits whether a prompt comes in one piece, in several or token by token', { timeout: 300_000 }, async (t) => {
    const data = llama(t);
    if (data === null) return;
    await withDecoder(data, FILES.f16, { cache: 'f32' }, async (decoder) => {
      const ids = data.prompts[0].ids.concat(data.prompts[0].f16.tokens.slice(0, 24));
      const whole = await decoder.feed(ids, 0, GREEDY).logits.data();
      let parts;
      ids.forEach((id, at) => (parts = decoder.feed([id], at, GREEDY)));
      const { difference } = compare(await parts.logits.data(), whole);
      assert.ok(difference <= BY_F32, `${difference}`);
      await withDecoder(data, FILES.f16, { cache: 'f32', piece: 7 }, async (other) => {
        assert.ok(ids.length % 7 > 0);
        const { difference } = compare(await other.feed(ids, 0, GREEDY).logits.data(), whole);
        assert.ok(difference <= BY_F32, `pieces of 7: ${difference}`);
      });
      for (const piece of [0, NaN, 2.5]) await assert.rejects(withDecoder(data, FILES.f16, { piece }, () => {}), /piece: got .*positive integer/);
    });
  });

  test('divides rotary frequencies by the factors of a file', { timeout: 300_000 }, async (t) => {
    const data = llama(t);
    if (data === null) return;
    const { ids, f16: { firstLogits } } = data.prompts[0];
    const model = await loadModel(data.bytes(FILES.f16), { device });
    const differences = [];
    for (const factor of [1, 2]) {
      model.weights.rope_freqs = device.tensor(new Float32Array(model.settings.size / 2).fill(factor));
      const decoder = await makeDecoder(device, model, { cache: 'f32' });
      differences.push(compare(await decoder.feed(ids, 0, GREEDY).logits.data(), firstLogits).difference);
      decoder.dispose();
    }
    tensor.dispose(Object.values(model.weights));
    // Factors of 1 leave the angles, up to their rounding; factors of 2 halve them.
    assert.ok(differences[0] <= BY_F32 && differences[1] > 0.1, `${differences}`);
  });

  test('draws other texts from other seeds, and the same text from the same seed', { timeout: 300_000 }, async (t) => {
    const data = llama(t);
    if (data === null) return;
    const texts = [];
    for (const seed of [1, 1, 2]) {
      await withDecoder(data, FILES.q8_0, { seed }, async (decoder) => {
        const tokens = [];
        for await (const token of decoder.generate(data.prompts[0].ids, { temperature: 1 })) if (tokens.push(token) === 24) break;
        texts.push(tokens.join());
      });
    }
    assert.equal(texts[0], texts[1]);
    assert.notEqual(texts[0], texts[2]);
  });
});

test('a GGUF file that the build writes is loaded with its metadata and tensors', async () => {
  const metadata = { 'general.architecture': 'llama', 'a.count': 7, 'a.flag': true, 'a.rate': Float32Array.of(0.5), 'a.kinds': Int32Array.of(-1, 3), 'a.names': ['é', ''] };
  const numbers = Float32Array.from({ length: 64 }, (_, k) => (k % 32) - 16);
  const file = writeGguf(metadata, ['f32', 'f16', 'q8_0'].map((type) => ({ name: type, shape: [2, 32], type, numbers })));
  const loaded = await tensor.loadGguf(file, { device });
  assert.deepEqual({ ...loaded.metadata, 'a.kinds': [...loaded.metadata['a.kinds']] }, { ...metadata, 'a.rate': 0.5, 'a.kinds': [-1, 3] });
  const { f32, f16, q8_0: quantised } = loaded.tensors;
  for (const found of [f32, f16]) assert.deepEqual([found.shape, [...(await found.data())]], [[2, 32], [...numbers]], found.dtype);
  // Half a step of the largest number over 127, and the rounding of the scale to 11 bits.
  const { difference } = compare(await quantised.dequantize().data(), numbers);
  assert.ok(quantised.type === 'q8_0' && difference <= 16 * (0.5 / 127 + 2 ** -11), `${difference}`);
  tensor.dispose(Object.values(loaded.tensors));
});

test('a file of another architecture, or without its settings, is refused by what it lacks', async () => {
  await assert.rejects(loadModel(writeGguf({ 'general.architecture': 'qwen2' }, []), { device }), /the architecture of the file is qwen2; this decoder takes llama/);
  await assert.rejects(loadModel(writeGguf({ 'general.architecture': 'llama' }, []), { device }), /the file has no llama\.attention\.head_count/);
});

test('the encoder has the expected embeddings on the CPU', { timeout: 300_000 }, async (t) => {
  const data = minilm(t);
  if (data === null) return;
  const encoder = await makeEncoder(device, await loadWeights(readFileSync(data.file), { device }));
  const found = await encoder.encode(data.sentences.map(({ ids, tokens }) => ids.slice(0, tokens)));
  data.sentences.forEach(({ text, embedding }, k) => {
    const { difference, cosine } = compare(found[k], embedding);
    // Single precision moves a component by 2e-7 in NumPy and ONNX Runtime.
    assert.ok(difference <= 1e-5 && cosine >= 0.999999, `${text}: ${difference}, ${cosine}`);
  });
  encoder.dispose();
});
