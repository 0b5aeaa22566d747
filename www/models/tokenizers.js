/**
 * Tokenisers for `@huggingface/tokenizers`, made of what model files hold: the vocabulary of a GGUF file, or the list of word pieces of a BERT. Each is
 * `{ encode(text) → ids, decode(ids) → text }`; `encode` puts the tokens around the text that the model was trained with.
 */
import { Tokenizer } from '@huggingface/tokenizers';

/** Kinds of tokens in GGUF files. */
const [UNKNOWN, CONTROL, USER_DEFINED, BYTE] = [2, 3, 4, 6];

/** How the byte-level tokenisers cut a text before they merge, by the name that GGUF files have for it. null: as GPT-2 does, which the library has. */
const CUTS = {
  'gpt-2': null, default: null,
  'llama-bpe': String.raw`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`,
  smollm: String.raw`\p{N}|'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`,
};

const added = (id, content) => ({ id, content, special: true, single_word: false, lstrip: false, rstrip: false, normalized: false });

/** The merges of a SentencePiece vocabulary: each way to put a piece together from two others, the piece with the best score first. */
function mergesOf(tokens, scores, vocabulary) {
  const merges = [];
  tokens.forEach((token, id) => {
    const letters = [...token];
    for (let at = 1; at < letters.length; at++) {
      const [left, right] = [letters.slice(0, at).join(''), letters.slice(at).join('')];
      if (vocabulary.has(left) && vocabulary.has(right)) merges.push({ pair: [left, right], score: scores[id] });
    }
  });
  return merges.sort((a, b) => b.score - a.score).map(({ pair }) => pair);
}

/** The tokeniser of a GGUF file: SentencePiece's ('llama') or a byte-level one ('gpt2'). @param {Record<string, any>} metadata */
export function ggufTokenizer(metadata) {
  const read = (name) => metadata[`tokenizer.ggml.${name}`];
  const list = (name) => {
    if (read(name) === undefined) throw new Error(`the file has no tokenizer.ggml.${name}`);
    return Array.from(read(name));
  };
  const [kind, pre] = [read('model'), read('pre') ?? 'default'];
  if (kind !== 'llama' && kind !== 'gpt2') throw new Error(`the file's tokeniser is ${kind}; this page has llama and gpt2`);
  // Cuts of another model would give other tokens, and a text of little sense.
  if (kind === 'gpt2' && !Object.hasOwn(CUTS, pre)) throw new Error(`the file's tokeniser cuts texts as ${pre}; this page has ${Object.keys(CUTS).join(', ')}`);
  const [tokens, kinds] = [list('tokens'), Array.from(read('token_type') ?? [])];
  const vocabulary = new Map(tokens.map((token, id) => [token, id]));
  const isBytes = kind === 'gpt2';
  const cut = CUTS[pre] ?? null;
  const bytes = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: cut === null };
  const json = {
    version: '1.0', truncation: null, padding: null, post_processor: null,
    added_tokens: tokens.flatMap((token, id) => ([UNKNOWN, CONTROL, USER_DEFINED].includes(kinds[id]) ? [added(id, token)] : [])),
    normalizer: isBytes ? null : { type: 'Sequence', normalizers: [{ type: 'Prepend', prepend: '▁' }, { type: 'Replace', pattern: { String: ' ' }, content: '▁' }] },
    pre_tokenizer: !isBytes ? null : cut === null ? bytes : { type: 'Sequence', pretokenizers: [{ type: 'Split', pattern: { Regex: cut }, behavior: 'Isolated', invert: false }, bytes] },
    decoder: isBytes ? bytes : { type: 'Sequence', decoders: [{ type: 'Replace', pattern: { String: '▁' }, content: ' ' }, { type: 'ByteFallback' }, { type: 'Fuse' }, { type: 'Strip', content: ' ', start: 1, stop: 0 }] },
    model: {
      type: 'BPE', dropout: null, unk_token: isBytes ? null : tokens[read('unknown_token_id') ?? 0], continuing_subword_prefix: null, end_of_word_suffix: null, fuse_unk: !isBytes,
      byte_fallback: kinds.includes(BYTE), ignore_merges: pre === 'llama-bpe', vocab: Object.fromEntries(vocabulary),
      merges: isBytes ? list('merges') : mergesOf(tokens, list('scores'), vocabulary),
    },
  };
  const tokenizer = new Tokenizer(json, {});
  const first = read('add_bos_token') ?? !isBytes ? [Number(read('bos_token_id'))] : [];
  return {
    encode: (text) => [...first, ...tokenizer.encode(text, { add_special_tokens: false }).ids],
    decode: (ids) => tokenizer.decode(ids, { skip_special_tokens: true, clean_up_tokenization_spaces: false }),
  };
}

/** The tokeniser of a BERT in lower case: its vocab.txt has a word piece a line. */
export function wordPieceTokenizer(vocabulary) {
  const pieces = vocabulary.split(/\r?\n/);
  if (pieces.at(-1) === '') pieces.pop();
  const special = ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]'].filter((piece) => pieces.includes(piece));
  for (const piece of ['[UNK]', '[CLS]', '[SEP]']) if (!special.includes(piece)) throw new Error(`the list of word pieces has no ${piece}`);
  const json = {
    version: '1.0', truncation: null, padding: null, added_tokens: special.map((piece) => added(pieces.indexOf(piece), piece)),
    normalizer: { type: 'BertNormalizer', clean_text: true, handle_chinese_chars: true, strip_accents: true, lowercase: true },
    pre_tokenizer: { type: 'BertPreTokenizer' }, post_processor: null, decoder: { type: 'WordPiece', prefix: '##', cleanup: true },
    model: { type: 'WordPiece', unk_token: '[UNK]', continuing_subword_prefix: '##', max_input_chars_per_word: 100, vocab: Object.fromEntries(pieces.map((piece, id) => [piece, id])) },
  };
  const tokenizer = new Tokenizer(json, {});
  const [begin, end] = ['[CLS]', '[SEP]'].map((piece) => pieces.indexOf(piece));
  return {
    /** With [CLS] and [SEP] around it, at most so many tokens in all. */
    encode: (text, most = Infinity) => [begin, ...tokenizer.encode(text, { add_special_tokens: false }).ids.slice(0, most - 2), end],
    decode: (ids) => tokenizer.decode(ids, { skip_special_tokens: true }),
  };
}
