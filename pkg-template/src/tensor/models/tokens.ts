/** Tokens and texts: tokenisers from what model files hold, over a library of the application, and the bytes of tokens. */

import { describe, invalidArgument } from '../../arguments/errors.js';

/** What a model's text is read and written by. */
export interface TextTokenizer {
  /** The numbers of a text's tokens, with those around it that the model was trained with; at most so many. */
  encode(text: string, most?: number): number[];
  /** The text of tokens, without those that are no text. */
  decode(ids: readonly number[]): string;
}

/** The class `Tokenizer` of the package `@huggingface/tokenizers`, or another with these methods, over the contents of a tokenizer.json. */
export type TokenizerLibrary = new (json: any, config: any) => {
  encode(text: string, options: { add_special_tokens: boolean }): { ids: number[] };
  decode(ids: number[], options: { skip_special_tokens: boolean; clean_up_tokenization_spaces?: boolean }): string;
};

/** Kinds of tokens in GGUF files. */
const [UNKNOWN, CONTROL, USER_DEFINED, BYTE] = [2, 3, 4, 6];

/** How byte-level tokenisers cut a text before they merge, by the name that GGUF files have for it. null: as GPT-2 does, which libraries have. */
const CUTS: Readonly<Record<string, string | null>> = {
  'gpt-2': null,
  default: null,
  'llama-bpe': String.raw`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`,
  qwen2: String.raw`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`,
  smollm: String.raw`\p{N}|'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`,
};

/** An added token. Texts of tokens are without special ones. */
const added = (id: number, content: string, special: boolean) => ({ id, content, special, single_word: false, lstrip: false, rstrip: false, normalized: false });

/** The merges of a SentencePiece vocabulary: each way to put a piece together from two others, the piece with the best score first. */
function mergesOf(tokens: readonly string[], scores: readonly number[], vocabulary: ReadonlyMap<string, number>): [string, string][] {
  const merges: { pair: [string, string]; score: number }[] = [];
  tokens.forEach((token, id) => {
    const letters = [...token];
    for (let at = 1; at < letters.length; at++) {
      const [left, right] = [letters.slice(0, at).join(''), letters.slice(at).join('')];
      if (vocabulary.has(left) && vocabulary.has(right)) merges.push({ pair: [left, right], score: scores[id] as number });
    }
  });
  return merges.sort((a, b) => b.score - a.score).map(({ pair }) => pair);
}

/** What the metadata of a GGUF file say of its tokeniser. */
function ggufVocabulary(call: string, metadata: Readonly<Record<string, unknown>>) {
  const read = (name: string): any => metadata[`tokenizer.ggml.${name}`];
  const list = <T>(name: string): T[] => {
    const found = read(name);
    if (!Array.isArray(found) && !ArrayBuffer.isView(found)) throw invalidArgument(`${call}: metadata: tokenizer.ggml.${name}`, describe(found), 'a list');
    return Array.from(found as ArrayLike<T>);
  };
  const kind = read('model');
  if (kind !== 'llama' && kind !== 'gpt2') throw invalidArgument(`${call}: metadata: tokenizer.ggml.model`, describe(kind), "'llama' or 'gpt2'");
  return { read, list, isBytes: kind === 'gpt2', tokens: list<string>('tokens'), kinds: read('token_type') === undefined ? [] : list<number>('token_type') };
}

/** The tokeniser of a GGUF file: SentencePiece's ('llama') or a byte-level one ('gpt2'). Throws 'invalid-argument' for another, and for lists that are missing. */
export function ggufTokenizer(metadata: Readonly<Record<string, unknown>>, Tokenizer: TokenizerLibrary): TextTokenizer {
  const call = 'ggufTokenizer';
  const { read, list, isBytes, tokens, kinds } = ggufVocabulary(call, metadata);
  const pre = read('pre') ?? 'default';
  // Cuts of another model would give other tokens, and a text of little sense.
  if (isBytes && !Object.hasOwn(CUTS, pre)) throw invalidArgument(`${call}: metadata: tokenizer.ggml.pre`, describe(pre), Object.keys(CUTS).join(', '));
  const vocabulary = new Map(tokens.map((token, id) => [token, id]));
  const cut = CUTS[pre] ?? null;
  const bytes = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: cut === null };
  const hasSpace = read('add_space_prefix') ?? true;
  const spaces = { type: 'Replace', pattern: { String: ' ' }, content: '▁' };
  const json = {
    version: '1.0', truncation: null, padding: null, post_processor: null,
    added_tokens: tokens.flatMap((token, id) => ([UNKNOWN, CONTROL, USER_DEFINED].includes(kinds[id] as number) ? [added(id, token, kinds[id] !== USER_DEFINED)] : [])),
    normalizer: isBytes ? (pre === 'qwen2' ? { type: 'NFC' } : null) : { type: 'Sequence', normalizers: [...(hasSpace ? [{ type: 'Prepend', prepend: '▁' }] : []), spaces] },
    pre_tokenizer: !isBytes ? null : cut === null ? bytes : { type: 'Sequence', pretokenizers: [{ type: 'Split', pattern: { Regex: cut }, behavior: 'Isolated', invert: false }, bytes] },
    decoder: isBytes
      ? bytes
      : { type: 'Sequence', decoders: [{ type: 'Replace', pattern: { String: '▁' }, content: ' ' }, { type: 'ByteFallback' }, { type: 'Fuse' }, ...(hasSpace ? [{ type: 'Strip', content: ' ', start: 1, stop: 0 }] : [])] },
    model: {
      type: 'BPE', dropout: null, unk_token: isBytes ? null : tokens[read('unknown_token_id') ?? 0], continuing_subword_prefix: null, end_of_word_suffix: null, fuse_unk: !isBytes,
      byte_fallback: kinds.includes(BYTE), ignore_merges: pre === 'llama-bpe', vocab: Object.fromEntries(vocabulary),
      merges: isBytes ? list<string>('merges') : mergesOf(tokens, list<number>('scores'), vocabulary),
    },
  };
  const tokenizer = new Tokenizer(json, {});
  const first = read('add_bos_token') ?? !isBytes ? [Number(read('bos_token_id'))] : [];
  return {
    encode: (text, most = Infinity) => [...first, ...tokenizer.encode(text, { add_special_tokens: false }).ids].slice(0, most),
    decode: (ids) => tokenizer.decode([...ids], { skip_special_tokens: true, clean_up_tokenization_spaces: false }),
  };
}

/** The tokeniser of a BERT in lower case: its vocab.txt has a word piece a line. [CLS] and [SEP] stand around a text. */
export function wordPieceTokenizer(vocabulary: string, Tokenizer: TokenizerLibrary): TextTokenizer {
  const pieces = vocabulary.split(/\r?\n/);
  if (pieces.at(-1) === '') pieces.pop();
  const special = ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]'].filter((piece) => pieces.includes(piece));
  for (const piece of ['[UNK]', '[CLS]', '[SEP]']) if (!special.includes(piece)) throw invalidArgument('wordPieceTokenizer: vocabulary', `${pieces.length} lines without ${piece}`, 'a word piece a line, special ones too');
  const json = {
    version: '1.0', truncation: null, padding: null, added_tokens: special.map((piece) => added(pieces.indexOf(piece), piece, true)),
    normalizer: { type: 'BertNormalizer', clean_text: true, handle_chinese_chars: true, strip_accents: true, lowercase: true },
    pre_tokenizer: { type: 'BertPreTokenizer' }, post_processor: null, decoder: { type: 'WordPiece', prefix: '##', cleanup: true },
    model: { type: 'WordPiece', unk_token: '[UNK]', continuing_subword_prefix: '##', max_input_chars_per_word: 100, vocab: Object.fromEntries(pieces.map((piece, id) => [piece, id])) },
  };
  const tokenizer = new Tokenizer(json, {});
  const [begin, end] = ['[CLS]', '[SEP]'].map((piece) => pieces.indexOf(piece)) as [number, number];
  return {
    encode: (text, most = Infinity) => [begin, ...tokenizer.encode(text, { add_special_tokens: false }).ids.slice(0, Math.max(most - 2, 0)), end],
    decode: (ids) => tokenizer.decode([...ids], { skip_special_tokens: true }),
  };
}

/** Throws 'invalid-argument' for the first of a list that is no token of a vocabulary of this size. */
export function checkTokens(argument: string, list: readonly unknown[], vocabulary: number): void {
  const wrong = list.findIndex((id) => !Number.isInteger(id) || (id as number) < 0 || (id as number) >= vocabulary);
  if (wrong >= 0) throw invalidArgument(`${argument}[${wrong}]`, describe(list[wrong]), `a whole number below ${vocabulary}, the vocabulary`);
}

/** Bytes by the letters that GPT-2's tokeniser has for them: printable ones stand for themselves, the others for letters from 256 on. */
const BYTE_OF_LETTER: ReadonlyMap<string, number> = /* @__PURE__ */ (() => {
  const isPlain = (byte: number) => (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
  let next = 256;
  return new Map(Array.from({ length: 256 }, (_, byte) => [String.fromCharCode(isPlain(byte) ? byte : next++), byte]));
})();

/**
 * The bytes of each token, null for tokens that are no text, from the metadata of a GGUF file or the contents of a tokenizer.json of a byte-level or SentencePiece vocabulary: what {@link jsonGrammar}
 * needs of it. Throws 'invalid-argument' for another.
 */
export function tokenBytes(source: Readonly<Record<string, any>>): (Uint8Array | null)[] {
  const call = 'tokenBytes';
  const encoder = new TextEncoder();
  const ofLetters = (token: string) => {
    const bytes = Array.from(token, (letter) => BYTE_OF_LETTER.get(letter));
    return bytes.every((byte) => byte !== undefined) ? Uint8Array.from(bytes as number[]) : encoder.encode(token);
  };
  const ofPiece = (token: string) => {
    const [, byte] = /^<0x([0-9A-Fa-f]{2})>$/.exec(token) ?? [];
    return byte === undefined ? encoder.encode(token.replaceAll('▁', ' ')) : Uint8Array.of(parseInt(byte, 16));
  };
  const { model, added_tokens: extra = [], decoder } = source as { model?: any; added_tokens?: { id: number; content: string; special: boolean }[]; decoder?: unknown };
  if (model === undefined) {
    const { isBytes, tokens, kinds } = ggufVocabulary(call, source);
    return tokens.map((token, id) => ([UNKNOWN, CONTROL].includes(kinds[id] as number) ? null : kinds[id] === USER_DEFINED ? encoder.encode(token) : isBytes ? ofLetters(token) : ofPiece(token)));
  }
  const vocabulary: unknown = model?.vocab;
  if (model?.type !== 'BPE' || typeof vocabulary !== 'object' || vocabulary === null) throw invalidArgument(`${call}: source.model`, describe(model?.type ?? model), "a vocabulary of type 'BPE', or the metadata of a GGUF file");
  const isBytes = JSON.stringify(decoder ?? null).includes('"ByteLevel"');
  const found: (Uint8Array | null)[] = [];
  for (const [token, id] of Object.entries(vocabulary as Record<string, number>)) found[id] = isBytes ? ofLetters(token) : ofPiece(token);
  for (const { id, content, special } of extra) found[id] = special ? null : encoder.encode(content);
  return Array.from(found, (bytes) => bytes ?? null);
}
