// A sentence encoder of BERT's shape that tests make: weights without meaning, as a safetensors file, and word pieces that spell any English word.
import { configOf, madeWeights } from '../www/bench/onnx/bert.js';
import { safetensorsOf } from '../www/bench/onnx/safetensors.js';

const LETTERS = [...'abcdefghijklmnopqrstuvwxyz0123456789'];
export const VOCABULARY = ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]', ...LETTERS, '.', ',', '?', '-', ...LETTERS.map((letter) => `##${letter}`)];
const SHAPE = { layers: 1, heads: 12, width: 48, forward: 64, vocabulary: VOCABULARY.length, places: 512, epsilon: 1e-12 };

/** The bytes of a safetensors file. @param {Record<string, { shape: number[], numbers: Float32Array }>} weights */
export const safetensors = (weights) => Buffer.from(safetensorsOf(weights));

export const madeEncoder = () => safetensors(madeWeights(SHAPE));
/** Its config.json. */
export const CONFIG = configOf(SHAPE);

/** The same word pieces as a tokenizer.json. */
export const TOKENIZER = {
  version: '1.0', truncation: null, padding: null,
  added_tokens: VOCABULARY.slice(0, 5).map((content, id) => ({ id, content, special: true, single_word: false, lstrip: false, rstrip: false, normalized: false })),
  normalizer: { type: 'BertNormalizer', clean_text: true, handle_chinese_chars: true, strip_accents: null, lowercase: true },
  pre_tokenizer: { type: 'BertPreTokenizer' },
  post_processor: { type: 'BertProcessing', cls: ['[CLS]', 2], sep: ['[SEP]', 3] },
  decoder: { type: 'WordPiece', prefix: '##', cleanup: true },
  model: { type: 'WordPiece', unk_token: '[UNK]', continuing_subword_prefix: '##', max_input_chars_per_word: 100, vocab: Object.fromEntries(VOCABULARY.map((piece, id) => [piece, id])) },
};
