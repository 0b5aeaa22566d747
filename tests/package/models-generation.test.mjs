// How decoders choose tokens: distributions beside those computed here from the logits, grammars, batches, and what is refused.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import * as T from '../../pkg-template/dist/tensor.js';
import { compileDecoder, jsonGrammar, loadDecoder } from '../../pkg-template/dist/tensor-models.js';
import { ggufOf, REFERENCES, safetensors, weightsOf } from './models/made.mjs';

const reference = REFERENCES.decoders.qwen2;
const { ids } = reference;
let device, model, decoder, logits;
before(async () => {
  await T.init(await readFile(new URL('../../pkg-template/wasm-tensor/residua_tensor_bg.wasm', import.meta.url)));
  device = await T.Device.create({ backend: 'cpu' });
  model = await loadDecoder(safetensors(weightsOf(reference)), { device, config: reference.config });
  decoder = await compileDecoder(device, model, { capacity: 40, cache: 'f32', likeliest: 20 });
  logits = await decoder.feed(ids).data();
});
after(() => device.dispose());

/** The probabilities of all tokens, step by step as the options say it. */
function probabilities({ temperature = 0.8, topK = 20, topP = 0.95, minP = 0, repetitionPenalty = 1, presencePenalty = 0, frequencyPenalty = 0 }) {
  const scores = Array.from(logits, (x, id) => {
    const count = ids.filter((other) => other === id).length;
    if (count === 0) return x;
    return (x > 0 ? x / repetitionPenalty : x * repetitionPenalty) - presencePenalty - count * frequencyPenalty;
  });
  const order = scores.map((_, id) => id).sort((a, b) => scores[b] - scores[a]).slice(0, topK);
  const share = (list) => {
    const weights = list.map((id) => Math.exp((scores[id] - scores[order[0]]) / temperature));
    const sum = weights.reduce((a, b) => a + b, 0);
    return weights.map((weight) => weight / sum);
  };
  const shares = share(order);
  let sum = 0;
  const kept = order.filter((_, k) => {
    const isIn = sum < topP && shares[k] >= minP * shares[0];
    sum += shares[k];
    return isIn;
  });
  const found = share(kept);
  return new Map(kept.map((id, k) => [id, found[k]]));
}

describe('sampling', () => {
  const DRAWS = 600;
  for (const options of [{}, { temperature: 2 }, { temperature: 1.5, topP: 0.6 }, { temperature: 3, topP: 1, topK: 3 }, { temperature: 3, topP: 1, minP: 0.3 }, { temperature: 3, topP: 0.8, topK: 10, minP: 0.05 }, { temperature: 2, repetitionPenalty: 3 }, { temperature: 2, presencePenalty: 2, frequencyPenalty: 1.5 }]) {
    test(`draws as often as probabilities say with ${JSON.stringify(options)}`, async () => {
      const expected = probabilities(options);
      const counts = new Map();
      for (let k = 0; k < DRAWS; k++) {
        const token = await decoder.choose(ids.length, options).item();
        counts.set(token, (counts.get(token) ?? 0) + 1);
      }
      for (const [token] of counts) assert.ok(expected.has(token), `${token} was drawn`);
      for (const [token, share] of expected) {
        // Five standard deviations: by chance one of a million.
        const far = Math.abs((counts.get(token) ?? 0) - DRAWS * share);
        assert.ok(far <= 5 * Math.sqrt(DRAWS * share * (1 - share)) + 1, `${token}: ${counts.get(token) ?? 0} of ${DRAWS}, ${share}`);
      }
    });
  }

  test('takes the likeliest token without a temperature, or where one alone is left', async () => {
    const best = logits.indexOf(Math.max(...logits));
    for (const options of [{ temperature: 0 }, { temperature: 5, topK: 1 }, { temperature: 5, topP: 0 }, { temperature: 5, minP: 1 }]) assert.equal(await decoder.choose(ids.length, options).item(), best, JSON.stringify(options));
  });

  test('counts the tokens of the text so far, and none that stood there before', async () => {
    const [token] = ids;
    const other = ids.map((id) => (id === token ? token + 1 : id));
    const huge = { temperature: 0, presencePenalty: 1e6 };
    const seen = new Set();
    for (const text of [ids, other]) {
      await decoder.feed(text).data();
      const found = await decoder.choose(text.length, huge).item();
      assert.ok(!text.includes(found), `${found}`);
      seen.add(found);
    }
    await decoder.feed(ids).data();
  });

  test('gives the same tokens for a seed, and others for another', async () => {
    const written = async (seed) => {
      const tokens = [];
      for await (const token of decoder.generate(ids, { seed, temperature: 3, topP: 1, ends: [] })) if (tokens.push(token) === 16) break;
      return tokens.join();
    };
    const first = await written(7);
    assert.equal(await written(7), first);
    assert.notEqual(await written(8), first);
    await decoder.feed(ids).data();
  });
});

/** The tokens that follow greedily, each by the logits of the whole text before it. */
async function greedyByHand(text, count) {
  const all = [...text];
  for (let k = 0; k < count; k++) {
    const found = await decoder.feed(all).data();
    all.push(found.indexOf(Math.max(...found)));
  }
  return all.slice(text.length);
}

describe('generate', () => {
  test('goes on greedily as the logits of the whole text say, however many runs are ahead', async () => {
    const expected = await greedyByHand(ids, 10);
    for (const ahead of [0, 1, 3, 100]) {
      const tokens = [];
      for await (const token of decoder.generate(ids, { temperature: 0, ends: [], ahead })) if (tokens.push(token) === 10) break;
      assert.deepEqual(tokens, expected, `${ahead} ahead`);
    }
  });

  test('ends at a token that ends a text, and at the capacity', async () => {
    const expected = await greedyByHand(ids, 6);
    const all = async (options) => {
      const tokens = [];
      for await (const token of decoder.generate(ids, { temperature: 0, ...options })) tokens.push(token);
      return tokens;
    };
    const end = expected.find((token, k) => k > 1 && expected.indexOf(token) === k);
    if (end !== undefined) assert.deepEqual(await all({ ends: [end] }), expected.slice(0, expected.indexOf(end)));
    // The last token has no place among the keys, and needs none.
    assert.equal((await all({ ends: [] })).length, decoder.capacity - ids.length + 1);
  });

  test('goes on from tokens that were taken before', async () => {
    const expected = await greedyByHand(ids, 5);
    decoder.feed(ids.slice(0, 9));
    const tokens = [];
    for await (const token of decoder.generate(ids.slice(9), { temperature: 0, ends: [], position: 9 })) if (tokens.push(token) === 5) break;
    assert.deepEqual(tokens, expected);
  });

  test('writes several texts at once, each as it is alone, and tells which have ended', async () => {
    const prompts = [ids, ids.slice(0, 4), ids.slice(2, 11)];
    const alone = [];
    for (const prompt of prompts) alone.push(await greedyByHand(prompt, 6));
    const batch = await compileDecoder(device, model, { capacity: 40, cache: 'f32', batch: 4 });
    const found = prompts.map(() => []);
    let rows = 0;
    for await (const row of batch.generateBatch(prompts, { temperature: 0, ends: [] })) {
      row.forEach((token, k) => found[k].push(token));
      if (++rows === 6) break;
    }
    assert.deepEqual(found, alone);
    const [end] = alone[1];
    const ended = [];
    for await (const row of batch.generateBatch(prompts, { temperature: 0, ends: [end] })) if (ended.push(row) === 3) break;
    const isOver = (k, at) => alone[k].slice(0, at + 1).includes(end);
    ended.forEach((row, at) => assert.deepEqual(row, alone.map((tokens, k) => (isOver(k, at) ? null : tokens[at]))));
    batch.dispose();
  });
});

/** A vocabulary of 80 tokens that can write JSON: letters, pieces of several, and two that are no text. */
const PIECES = ['', '', ...'{}[]:,"\\ abcdefghijklmnopqrstuvwxyz0123456789-.eE+tu', '{"', '":', '", "', 'true', 'false', 'null', 'name', 'age', '12', '\n'];
const BYTES = PIECES.map((piece) => (piece === '' ? null : new TextEncoder().encode(piece)));

describe('a grammar', () => {
  const schema = { type: 'object', properties: { name: { type: 'string', minLength: 2, maxLength: 6 }, age: { type: 'integer' }, tags: { type: 'array', items: { enum: ['a', 'bc', 3, null] }, maxItems: 2 } }, required: ['name', 'age'] };

  test('makes every text valid JSON of its schema, whatever the model prefers', async () => {
    const long = await compileDecoder(device, model, { capacity: 64, cache: 'f32' });
    const grammar = jsonGrammar(schema, BYTES);
    let complete = 0;
    for (let seed = 0; seed < 12; seed++) {
      let text = '';
      let count = 0;
      for await (const token of long.generate(ids.slice(0, 3), { grammar, seed, temperature: 4, topP: 1, ends: [1] })) {
        text += PIECES[token];
        count++;
      }
      if (count >= 61) continue; // A text that the capacity cut.
      complete++;
      const { name, age, tags = [], ...rest } = JSON.parse(text);
      assert.ok(name.length >= 2 && name.length <= 6 && Number.isInteger(age) && tags.length <= 2 && tags.every((tag) => schema.properties.tags.items.enum.includes(tag)), text);
      assert.deepEqual(rest, {});
    }
    assert.ok(complete >= 6, `${complete} texts were complete`);
    // What a grammar forbade is allowed again.
    const free = [];
    for await (const token of long.generate(ids, { temperature: 0, ends: [] })) if (free.push(token) === 4) break;
    assert.deepEqual(free, await greedyByHand(ids, 4));
    long.dispose();
  });

  test('gives a batch a state for each text', async () => {
    const batch = await compileDecoder(device, model, { capacity: 30, cache: 'f32', batch: 2 });
    const grammar = jsonGrammar({ enum: ['abc', 'a', 12] }, BYTES);
    const texts = ['', ''];
    for await (const row of batch.generateBatch([ids, ids.slice(0, 2)], { grammar, seed: 3, temperature: 5, topP: 1, ends: [1] })) row.forEach((token, k) => (texts[k] += token === null ? '' : PIECES[token]));
    for (const text of texts) assert.ok(['abc', 'a', 12].includes(JSON.parse(text)), text);
    batch.dispose();
  });

  test('that no token can begin is an error', async () => {
    const grammar = jsonGrammar({ const: 'Z' }, BYTES.map((bytes) => (bytes?.[0] === 0x22 ? null : bytes)));
    await assert.rejects(async () => { for await (const _ of decoder.generate(ids, { grammar })); }, { code: 'invalid-argument', message: /^generate: grammar: got one that no token continues/ });
  });
});

describe('what is refused', () => {
  const rejects = (call, message) => assert.rejects(async () => call(), { code: 'invalid-argument', message });
  const first = async (loop) => { for await (const _ of loop) return; };

  test('options that are out of range, by their names', async () => {
    await rejects(() => first(decoder.generate(ids, { temperature: -1 })), /^sampling\.temperature: got -1; takes a number from 0/);
    await rejects(() => first(decoder.generate(ids, { topK: 21 })), /^sampling\.topK: got 21; takes a whole number from 1 to 20/);
    await rejects(() => first(decoder.generate(ids, { topP: NaN })), /^sampling\.topP: got NaN/);
    await rejects(() => first(decoder.generate(ids, { top_p: 1 })), /^generate: options: got the unknown option "top_p"; did you mean 'topP'/);
    await rejects(() => first(decoder.generate(ids, { repetitionPenalty: 0 })), /repetitionPenalty: got 0; takes a positive number/);
    await rejects(() => first(decoder.generateBatch([ids, ids])), /^generateBatch: prompts: got an array of 2; takes 1 to 1 lists/);
    for (const piece of [0, NaN, 2.5]) await rejects(() => compileDecoder(device, model, { piece }), /^compileDecoder: piece: got /);
    await rejects(() => compileDecoder(device, model, { context: 3 }), /^compileDecoder: options: got the unknown option "context"/);
  });

  test('tokens that are none, and more than there is room for', async () => {
    await rejects(() => first(decoder.generate([])), /^feed: ids: got an array of 0; takes a list of at least one token/);
    await rejects(() => first(decoder.generate([3, 80])), /^feed: ids\[1\]: got 80; takes a whole number below 80, the vocabulary/);
    await rejects(() => decoder.feed([1.5]), /^feed: ids\[0\]: got 1\.5/);
    for (const id of [-1, 2.5, 80, '7']) await rejects(() => first(decoder.generate(ids, { forbidden: [3, id] })), /^generate: forbidden\[1\]: got .*; takes a whole number below 80, the vocabulary/);
    await rejects(() => first(decoder.generate(ids, { forbidden: 3 })), /^generate: forbidden: got 3; takes a list of tokens/);
    await rejects(() => decoder.feed(Array(41).fill(1)), /^feed: ids: got 41 tokens from position 0 on; takes at most 40 tokens in all/);
    await rejects(() => decoder.feed([1], 40), /^feed: ids: got 1 tokens from position 40 on/);
  });

  test('files: missing tensors, wrong shapes and types, by the name in the file', async () => {
    const { config } = reference;
    const weights = weightsOf(reference);
    const changed = (change) => {
      const copy = { ...weights };
      change(copy);
      return loadDecoder(safetensors(copy), { device, config });
    };
    await rejects(() => changed((copy) => delete copy['model.layers.1.self_attn.k_proj.bias']), /^loadDecoder: tensor "layers\.1\.self_attn\.k_proj\.bias": got none; takes floats \[16\]/);
    await rejects(() => changed((copy) => delete copy['model.norm.weight']), /^loadDecoder: tensor "norm\.weight": got none; takes floats \[32\]/);
    await rejects(() => changed((copy) => delete copy['model.embed_tokens.weight']), /^loadDecoder: tensor "embed_tokens\.weight": got none; takes floats \[any, 32\]/);
    await rejects(() => changed((copy) => (copy['model.layers.0.mlp.down_proj.weight'] = { shape: [48, 32], numbers: new Float32Array(48 * 32) })), /^loadDecoder: tensor "layers\.0\.mlp\.down_proj\.weight": got f32 \[48, 32\]; takes floats \[32, 48\]/);
    await rejects(() => loadDecoder(ggufOf({ ...reference, shapes: Object.fromEntries(Object.entries(reference.shapes).filter(([name]) => !name.includes('2.input_layernorm'))) }), { device }), /^loadDecoder: tensor "blk\.2\.attn_norm\.weight": got none/);
    const parts = Object.entries(weights);
    const half = (from, to) => safetensors(Object.fromEntries(parts.slice(from, to)));
    await rejects(() => loadDecoder([half(0, 9), half(8)], { device, config }), /^loadDecoder: tensor "[^"]+": got it twice; takes each part of the model once/);
    const divided = await loadDecoder([half(0, 9), half(9)], { device, config });
    assert.equal(Object.keys(divided.weights).length, parts.length);
    T.dispose(divided.weights);
    // Progress goes on from part to part.
    const told = [];
    const files = [half(0, 9), half(9)];
    T.dispose((await loadDecoder(files, { device, config, onProgress: (...numbers) => told.push(numbers) })).weights);
    const sum = files[0].byteLength + files[1].byteLength;
    assert.ok(told.every(([bytes], k) => k === 0 || bytes >= told[k - 1][0]), `${told}`);
    assert.deepEqual(told.at(-1), [sum, sum]);
    assert.ok(told.every(([bytes, total]) => total === sum || (total === 0 && bytes <= files[0].byteLength)), `${told}`);
    await rejects(() => loadDecoder(files, { device, config, onProgress: 1 }), /onProgress: got 1; takes a function/);
    await rejects(() => loadDecoder(files, { device, config, select: () => true }), /^loadDecoder: options: got the unknown option "select"/);
    // A part whose answer fails while another is read is an error of the call. The runner fails tests in which a rejection is not handled.
    const late = new ReadableStream({ start: (controller) => void setTimeout(() => { controller.enqueue(new Uint8Array(files[0])); controller.close(); }, 30) });
    await rejects(() => loadDecoder([late, Promise.reject(new Error('offline'))], { device, config }), /got a promise that rejected.*offline/s);
    // Nothing of a model that is refused stays.
    const before = device.stats().tensors;
    await assert.rejects(changed((copy) => delete copy['model.norm.weight']));
    await assert.rejects(loadDecoder([half(0, 9), half(8)], { device, config }));
    assert.equal(device.stats().tensors, before);
  });

  test('settings: other families, and values that are missing or wrong, by their names', async () => {
    const { config } = reference;
    const file = safetensors(weightsOf(reference));
    const load = (change) => loadDecoder(file, { device, config: { ...config, ...change } });
    await rejects(() => load({ model_type: 'mamba' }), /^loadDecoder: config: model_type: got "mamba"; takes llama, mistral, qwen2/);
    await rejects(() => load({ num_hidden_layers: undefined }), /^loadDecoder: config: num_hidden_layers: got undefined; takes a whole number from 1/);
    await rejects(() => load({ num_hidden_layers: 1e9 }), /num_hidden_layers: got 1000000000; takes a whole number from 1 to 4096/);
    await rejects(() => load({ num_attention_heads: 5 }), /got 6\.4; takes a whole number/);
    await rejects(() => load({ num_key_value_heads: 3 }), /heads of keys and values: got 3; takes a divisor of the number of heads, 4/);
    await rejects(() => load({ hidden_act: 'tanh' }), /hidden_act: got "tanh"; takes one of silu/);
    await rejects(() => load({ rope_parameters: { rope_type: 'dynamic', rope_theta: 1e4 } }), /rope_type: got "dynamic"; takes 'default', 'linear'/);
    await rejects(() => load({ rms_norm_eps: 'small' }), /rms_norm_eps: got "small"; takes a positive number/);
    await rejects(() => load({ layer_types: ['full_attention'] }), /layer_types: got an array of 1; takes a list of 3/);
    await rejects(() => loadDecoder(file, { device, config: [] }), /^loadDecoder: config: got an array of 0; takes the contents of a config\.json/);
    const gguf = (change) => loadDecoder(ggufOf(reference, (metadata) => ({ ...metadata, ...change })), { device });
    await rejects(() => gguf({ 'general.architecture': 'mamba' }), /^loadDecoder: metadata: general\.architecture: got "mamba"; takes llama, qwen2/);
    await rejects(() => gguf({ 'qwen2.attention.head_count': 0 }), /^loadDecoder: metadata: qwen2: attention\.head_count: got 0; takes a whole number from 1/);
    await rejects(() => gguf({ 'qwen2.rope.scaling.type': 'longrope' }), /rope\.scaling\.type: got "longrope"; takes/);
    await rejects(() => gguf({ 'qwen2.rope.dimension_count': 7 }), /rope\.dimension_count: got 7; takes what makes an even number up to 8/);
  });
});

test('a config.json of before version 5 of transformers says the same', async () => {
  const settings = async (name, change) => {
    const { config, ...rest } = REFERENCES.decoders[name];
    const loaded = await loadDecoder(safetensors(weightsOf(rest)), { device, config: change(config) });
    T.dispose(loaded.weights);
    return loaded.settings;
  };
  const old = {
    'llama with biases, tied, scaled': ({ rope_parameters: { rope_theta, ...rope_scaling }, ...config }) => ({ ...config, rope_theta, rope_scaling }),
    gemma3: ({ rope_parameters: { full_attention: { rope_theta, ...rope_scaling }, sliding_attention }, ...config }) => ({ ...config, layer_types: undefined, rope_theta, rope_scaling, rope_local_base_freq: sliding_attention.rope_theta, sliding_window_pattern: 6 }),
    'phi3 with long contexts': ({ rope_parameters: { rope_theta, rope_type, ...rope_scaling }, ...config }) => ({ ...config, rope_theta, rope_scaling: { ...rope_scaling, type: rope_type } }),
    'phi3 in part rotated': ({ rope_parameters: { rope_theta, partial_rotary_factor }, ...config }) => ({ ...config, rope_theta, partial_rotary_factor }),
    gemma2: ({ rope_parameters: { rope_theta }, ...config }) => ({ ...config, layer_types: undefined, rope_theta }),
  };
  for (const [name, change] of Object.entries(old)) assert.deepEqual(await settings(name, change), await settings(name, (config) => config), name);
});
