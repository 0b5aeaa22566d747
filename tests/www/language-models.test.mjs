// What pages with language models need without a page: tokenisers over the library that they take, sentences, the files that the build writes, and ONNX graphs of the benchmark.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { ggufTokenizer, wordPieceTokenizer } from '../../pkg-template/dist/tensor-models.js';
import { onnxModel, madeWeights, SMALL } from '../../www/bench/onnx/bert.js';
import { bytes, joined, message, single, whole } from '../../www/bench/onnx/protobuf.js';
import { SAMPLE, sentencesOf } from '../../www/search/sentences.js';
import { encoderOf, learnPairs } from '../../xtask/small-decoder/byte-pairs.mjs';
import { halfBits, writeGguf } from '../../xtask/small-decoder/gguf.mjs';
import { paragraphs } from '../../xtask/small-decoder/text.mjs';
import { llama } from '../language-models.mjs';
import { hasData, readData } from '../shared-data.mjs';

/** The tokenisers of residua/tensor/models over the library in target/vendor; null where that was not made. */
async function tokenizers(t) {
  const library = new URL('../../target/vendor/tokenizers/tokenizers.mjs', import.meta.url);
  if (!existsSync(library)) {
    t.skip('cargo xtask site makes target/vendor');
    return null;
  }
  const { Tokenizer } = await import(library.href);
  return { ggufTokenizer: (metadata) => ggufTokenizer(metadata, Tokenizer), wordPieceTokenizer: (vocabulary) => wordPieceTokenizer(vocabulary, Tokenizer) };
}

const metadataOf = ({ tokens, merges }) => ({
  'tokenizer.ggml.model': 'gpt2', 'tokenizer.ggml.pre': 'gpt-2', 'tokenizer.ggml.tokens': tokens, 'tokenizer.ggml.token_type': tokens.map((_, id) => (id < 2 ? 3 : 1)),
  'tokenizer.ggml.merges': merges, 'tokenizer.ggml.bos_token_id': 0, 'tokenizer.ggml.add_bos_token': true,
});

test('the tokeniser of a GGUF file agrees with the one that the model was trained with, and gives the text back', async (t) => {
  const library = await tokenizers(t);
  if (library === null) return;
  const texts = (await paragraphs()).slice(0, 200);
  const vocabulary = learnPairs(texts, 400);
  const [page, training] = [library.ggufTokenizer(metadataOf(vocabulary)), encoderOf(vocabulary)];
  for (const text of texts) {
    const ids = page.encode(text);
    assert.deepEqual(ids, [0, ...training(text)], text);
    assert.equal(page.decode(ids), text);
  }
});

test('the tokeniser of the Llama gives the expected tokens', async (t) => {
  const [library, data] = [await tokenizers(t), llama(t)];
  if (library === null || data === null) return;
  const { model: { vocab, merges } } = JSON.parse(data.bytes('tokenizer.json'));
  const tokens = Object.keys(vocab).sort((a, b) => vocab[a] - vocab[b]);
  const tokenizer = library.ggufTokenizer(metadataOf({ tokens, merges: merges.map((pair) => [pair].flat().join(' ')) }));
  for (const { text, ids, f16 } of data.prompts) {
    assert.deepEqual(tokenizer.encode(text), ids);
    assert.equal(tokenizer.decode(f16.tokens), f16.text);
  }
});

test('a vocabulary of SentencePiece is merged by its scores, and unknown letters become bytes', async (t) => {
  const library = await tokenizers(t);
  if (library === null) return;
  const bytes = Array.from({ length: 256 }, (_, byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`);
  const pieces = ['▁', 'h', 'e', 'l', 'o', 'he', 'll', '▁he', 'llo', '▁hello'];
  const tokens = ['<unk>', '<s>', '</s>', ...bytes, ...pieces];
  const scores = tokens.map((_, id) => -id);
  const tokenizer = library.ggufTokenizer({
    'tokenizer.ggml.model': 'llama', 'tokenizer.ggml.tokens': tokens, 'tokenizer.ggml.scores': scores, 'tokenizer.ggml.token_type': tokens.map((_, id) => (id === 0 ? 2 : id < 3 ? 3 : id < 259 ? 6 : 1)),
    'tokenizer.ggml.bos_token_id': 1, 'tokenizer.ggml.unknown_token_id': 0,
  });
  const at = (piece) => tokens.indexOf(piece);
  assert.deepEqual(tokenizer.encode('hello hé'), [1, at('▁hello'), at('▁'), at('h'), at('<0xC3>'), at('<0xA9>')]);
  assert.equal(tokenizer.decode(tokenizer.encode('hello hé')), 'hello hé');
});

test('word pieces of the encoder are the expected ones, and long texts are cut before the last token', async (t) => {
  const library = await tokenizers(t);
  if (library === null || !hasData(t, 'tensor/minilm/expected.json')) return;
  const tokenizer = library.wordPieceTokenizer(readData('tensor/minilm/vocab.txt'));
  const { sentences } = JSON.parse(readData('tensor/minilm/expected.json'));
  for (const { text, ids, tokens } of sentences) assert.deepEqual(tokenizer.encode(text), ids.slice(0, tokens), text);
  const long = tokenizer.encode('word '.repeat(500), 256);
  assert.deepEqual([long.length, long[0], long.at(-1)], [256, 101, 102]);
});

test('a text is cut into sentences, at line breaks too', () => {
  assert.deepEqual(sentencesOf('One. Two?\nA line\n\n — \nThe last one!'), ['One.', 'Two?', 'A line', 'The last one!']);
  assert.ok(sentencesOf(SAMPLE).length > 15);
});

test('halves round to the nearest, ties to even', () => {
  const cases = [[0, 0], [-0, 0x8000], [1, 0x3c00], [-2, 0xc000], [65504, 0x7bff], [65520, 0x7c00], [1e9, 0x7c00], [2 ** -24, 1], [2 ** -25, 0], [3 * 2 ** -25, 2], [2 ** -14, 0x0400], [1 + 2 ** -11, 0x3c00], [1 + 3 * 2 ** -11, 0x3c02], [0.1, 0x2e66], [NaN, 0x7e00]];
  for (const [value, bits] of cases) assert.equal(halfBits(value), bits, String(value));
});

test('a GGUF file begins with its counts and ends with its tensors', () => {
  const file = writeGguf({ 'general.architecture': 'llama', count: 7 }, [
    { name: 'a', shape: [1, 32], type: 'q8_0', numbers: Float32Array.from({ length: 32 }, (_, k) => k - 16) },
    { name: 'b', shape: [3], type: 'f32', numbers: Float32Array.of(1, 2, 3) },
  ]);
  assert.equal(file.subarray(0, 4).toString(), 'GGUF');
  assert.deepEqual([file.readUInt32LE(4), file.readBigUInt64LE(8), file.readBigUInt64LE(16)], [3, 2n, 2n]);
  // The data begin at a multiple of 32 bytes: a block of 34 bytes, padded to 64, and 12 bytes, padded to 32.
  const data = file.length - 64 - 32;
  assert.equal(data % 32, 0);
  assert.deepEqual([file.readUInt16LE(data), file.readInt8(data + 2), file.readInt8(data + 2 + 16), file.readInt8(data + 2 + 31)], [halfBits(16 / 127), -127, 0, 119]);
  assert.deepEqual([0, 4, 8].map((at) => file.readFloatLE(data + 64 + at)), [1, 2, 3]);
});

test('fields of Protocol Buffers are encoded as its documentation says', () => {
  const hex = (part) => Buffer.from(joined(part)).toString('hex');
  assert.equal(hex(whole(1, 150)), '089601');
  assert.equal(hex(bytes(2, 'testing')), '120774657374696e67');
  assert.equal(hex(bytes(3, message(whole(1, 150)))), '1a03089601');
  assert.equal(hex(whole(1, -2)), '08feffffffffffffffff01');
  assert.equal(hex(single(4, 1)), '250000803f');
});

test('the graph of the benchmark has every weight once, and reads it', () => {
  const weights = madeWeights(SMALL);
  const text = Buffer.from(onnxModel(SMALL, weights, true)).toString('latin1');
  for (const name of Object.keys(weights)) {
    // Of the two types of tokens one is used, as a constant of its own.
    if (name === 'embeddings.token_type_embeddings.weight') continue;
    // Field 8 of a tensor is its name, field 1 of a node an input.
    const [constants, inputs] = [8, 1].map((field) => text.split(String.fromCharCode((field << 3) | 2, name.length) + name).length - 1);
    assert.ok(constants === 1 && inputs >= 1, `${name}: ${constants} constants, ${inputs} inputs`);
  }
  assert.ok(text.includes('sentence_embedding'));
});

test('the documentation has enough prose for the small model', async () => {
  const texts = await paragraphs();
  assert.ok(texts.join('').length > 100_000);
  for (const text of texts) assert.doesNotMatch(text, /```|\]\(/);
});

test('the small model is a GGUF file of Llama’s architecture', async (t) => {
  const file = new URL('../../target/small-decoder/model.gguf', import.meta.url);
  if (!existsSync(file)) return t.skip('cargo xtask site makes it');
  const found = await readFile(file);
  assert.equal(found.subarray(0, 4).toString(), 'GGUF');
  assert.ok(found.includes('llama.attention.head_count_kv'));
  assert.ok(found.length < 1e6, `${found.length} bytes`);
});
