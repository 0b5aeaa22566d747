// The decoder and the encoder of residua/tensor/models with real weights, on the CPU in Node: tokens, logits and embeddings beside references in double precision.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { before, describe, test } from 'node:test';
import { encode } from '../ggml-encoder.mjs';
import { BY_F16_CACHE, compare, FILES, firstWrong, llama, minilm } from '../language-models.mjs';
import { BLOCKS, numbersOf } from '../../www/checks/tensors/ggml-numbers.js';
import { writeGguf } from '../../xtask/small-decoder/gguf.mjs';
import { models, tensor } from '../../xtask/small-decoder/modules.mjs';

const { compileDecoder, compileEncoder, jsonGrammar, loadDecoder, loadEncoder, tokenBytes } = models;

/** NumPy in f32 differs from f64 by 2.1e-5 over these files; sums here are in another order. */
const BY_F32 = 1e-4;

let device;
before(async () => {
  device = await tensor.Device.create({ backend: 'cpu' });
});

/** A decoder of a file of the Llama, for `use`. */
async function withDecoder(data, file, options, use) {
  const config = file.endsWith('.safetensors') ? data.config : undefined;
  const model = await loadDecoder(data.bytes(file), { device, config });
  const decoder = await compileDecoder(device, model, options);
  try {
    await use(decoder, model);
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
            const { difference } = compare(await decoder.feed(ids).data(), firstLogits);
            assert.ok(difference <= tolerance, `${kind}, keys in ${cache}, ${text}: ${difference}`);
          }
        });
      }
    }
  });

  test('adds prompts in integers on request, with logits that differ by the rounding of rows', { timeout: 300_000 }, async (t) => {
    const data = llama(t);
    if (data === null) return;
    const { ids } = data.prompts[0];
    const logits = [];
    for (const accumulate of ['f32', 'int8']) await withDecoder(data, FILES.q8_0, { accumulate }, async (decoder) => void logits.push(await decoder.feed(ids).data()));
    const [exact, rounded] = logits;
    const size = (numbers) => Math.hypot(...numbers) / Math.sqrt(numbers.length);
    const share = size(exact.map((logit, k) => logit - rounded[k])) / size(exact);
    // Rounding rows errs by 0.5 % in each product, of which a few layers follow one another.
    assert.ok(share > 1e-6 && share < 0.03, `${share}`);
    await withDecoder(data, FILES.q8_0, {}, (_, model) => assert.rejects(compileDecoder(device, model, { accumulate: 'int4' }), { code: 'invalid-argument', message: /^compileDecoder: accumulate: got "int4"; takes 'f32' or 'int8'$/ }));
    await withDecoder(data, FILES.f16, {}, (_, model) => assert.rejects(compileDecoder(device, model, { accumulate: 'int8' }), { code: 'invalid-argument', message: /^compileDecoder: accumulate: got 'int8'; takes 'f32', as no weights of the model are quantised$/ }));
  });

  test('has the same logits whether a prompt comes in one piece, in several or token by token', { timeout: 300_000 }, async (t) => {
    const data = llama(t);
    if (data === null) return;
    await withDecoder(data, FILES.f16, { cache: 'f32' }, async (decoder) => {
      const ids = data.prompts[0].ids.concat(data.prompts[0].f16.tokens.slice(0, 24));
      const whole = await decoder.feed(ids).data();
      let parts;
      ids.forEach((id, at) => (parts = decoder.feed([id], at)));
      const { difference } = compare(await parts.data(), whole);
      assert.ok(difference <= BY_F32, `${difference}`);
      await withDecoder(data, FILES.f16, { cache: 'f32', piece: 7 }, async (other) => {
        assert.ok(ids.length % 7 > 0);
        const { difference } = compare(await other.feed(ids).data(), whole);
        assert.ok(difference <= BY_F32, `pieces of 7: ${difference}`);
      });
    });
  });

  test('draws other texts from other seeds, and the same text from the same seed', { timeout: 300_000 }, async (t) => {
    const data = llama(t);
    if (data === null) return;
    const texts = [];
    for (const seed of [1, 1, 2]) {
      await withDecoder(data, FILES.q8_0, {}, async (decoder) => {
        const tokens = [];
        for await (const token of decoder.generate(data.prompts[0].ids, { temperature: 1, seed })) if (tokens.push(token) === 24) break;
        texts.push(tokens.join());
      });
    }
    assert.equal(texts[0], texts[1]);
    assert.notEqual(texts[0], texts[2]);
  });

  test('writes all prompts at once as each alone', { timeout: 300_000 }, async (t) => {
    const data = llama(t);
    if (data === null) return;
    await withDecoder(data, FILES.q8_0, { batch: data.prompts.length }, async (decoder) => {
      const found = data.prompts.map(() => []);
      for await (const row of decoder.generateBatch(data.prompts.map(({ ids }) => ids), { temperature: 0 })) {
        row.forEach((token, k) => found[k].push(token));
        if (found[0].length === 24) break;
      }
      data.prompts.forEach(({ text, q8_0 }, k) => assert.equal(firstWrong(found[k], q8_0), -1, text));
    });
  });

  test('writes JSON by a grammar over the bytes of its tokens', { timeout: 300_000 }, async (t) => {
    const data = llama(t);
    if (data === null) return;
    await withDecoder(data, FILES.q8_0, {}, async (decoder, { metadata }) => {
      const bytes = tokenBytes(metadata);
      const grammar = jsonGrammar({ type: 'object', properties: { book: { type: 'string', minLength: 3, maxLength: 30 }, chapter: { type: 'integer' }, read: { type: 'boolean' } }, required: ['book', 'chapter', 'read'] }, bytes);
      for (const seed of [1, 2, 3]) {
        const parts = [];
        for await (const token of decoder.generate(data.prompts[0].ids, { grammar, seed, temperature: 1 })) parts.push(bytes[token]);
        const { book, chapter, read, ...rest } = JSON.parse(Buffer.concat(parts));
        assert.ok(book.length >= 3 && book.length <= 30 && Number.isInteger(chapter) && typeof read === 'boolean', `${book}, ${chapter}, ${read}`);
        assert.deepEqual(rest, {});
      }
    });
  });
});

/** Weights as a type has them, where rows are whole blocks of it; llama.cpp takes q5_0 in place of q4_K for rows that are not. */
async function asBlocks(weights, type) {
  const blocks = {};
  for (const [name, tensor] of Object.entries(weights)) {
    if (tensor.rank !== 2) continue;
    const own = tensor.shape[1] % BLOCKS[type].numbers === 0 ? type : 'q5_0';
    blocks[name] = { type: own, shape: tensor.shape, bytes: encode(await tensor.cast('f32').data(), own) };
  }
  return blocks;
}

describe('a decoder of blocks chooses as one of the numbers that they stand for', () => {
  const types = Object.keys(BLOCKS);
  for (const type of types) {
    test(type, { timeout: 300_000 }, async (t) => {
      const data = llama(t);
      if (data === null) return;
      const model = await loadDecoder(data.bytes(FILES.f16), { device });
      const blocks = await asBlocks(model.weights, type);
      const of = async (make) => {
        const weights = { ...model.weights };
        for (const [name, block] of Object.entries(blocks)) weights[name] = make(block);
        return { weights, decoder: await compileDecoder(device, { ...model, weights }, { cache: 'f32' }) };
      };
      const found = await of(({ type, shape, bytes }) => device.quantized(bytes, shape, type));
      const reference = await of(({ type, shape, bytes }) => device.tensor(Float32Array.from(numbersOf(bytes, type)), shape));
      const { ids } = data.prompts[0];
      let [position, next] = [0, ids];
      for (let count = 0; count < 12; count++) {
        const logits = [];
        // A whole prompt, then a token at a time.
        for (const { decoder } of [found, reference]) logits.push(await decoder.feed(next, position).data());
        const { difference } = compare(logits[0], logits[1]);
        assert.ok(difference <= BY_F32, `token ${count}: logits differ by ${difference}`);
        const [first, second] = [...logits[1]].map((logit, token) => [logit, token]).sort(([a], [b]) => b - a);
        if (first[0] - second[0] > 2 * BY_F32) assert.equal(logits[0].indexOf(Math.max(...logits[0])), first[1], `token ${count}`);
        position += next.length;
        next = [first[1]];
      }
      for (const { decoder, weights } of [found, reference]) {
        decoder.dispose();
        for (const name of Object.keys(blocks)) weights[name].dispose();
      }
      tensor.dispose(Object.values(model.weights));
    });
  }
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

test('the encoder has the expected embeddings on the CPU', { timeout: 300_000 }, async (t) => {
  const data = minilm(t);
  if (data === null) return;
  const encoder = await compileEncoder(device, await loadEncoder(readFileSync(data.file), { device, config: data.config }), { tokens: 256 });
  const found = await encoder.encode(data.sentences.map(({ ids, tokens }) => ids.slice(0, tokens)));
  data.sentences.forEach(({ text, embedding }, k) => {
    const { difference, cosine } = compare(found[k], embedding);
    // Single precision moves a component by 2e-7 in NumPy and ONNX Runtime.
    assert.ok(difference <= 1e-5 && cosine >= 0.999999, `${text}: ${difference}, ${cosine}`);
  });
  encoder.dispose();
});
