// What models of language need besides tensors: grammars, the bytes of tokens, forms of conversations.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { chatForm, chatPrompt, ggufTokenizer, jsonGrammar, tokenBytes, wordPieceTokenizer } from '../../pkg-template/dist/tensor-models.js';

const encoder = new TextEncoder();
/** One token a byte. */
const SINGLE = Array.from({ length: 256 }, (_, byte) => Uint8Array.of(byte));

/** Whether a text is one of a grammar over single bytes. */
function takes(grammar, text) {
  let state = grammar.start;
  for (const byte of typeof text === 'string' ? encoder.encode(text) : text) {
    const isAllowed = grammar.mask(state)[byte] === 1;
    if (!isAllowed) {
      assert.throws(() => grammar.next(state, byte), { code: 'invalid-argument' });
      return false;
    }
    state = grammar.next(state, byte);
  }
  return grammar.isComplete(state);
}

const CASES = [
  { schema: { type: 'string' }, right: ['""', '"a b"', '"é€😀"', String.raw`"\"\\\/\b\n\u00e9\uFFFF"`], wrong: ['"', 'a', '"a', '"\n"', String.raw`"\x"`, String.raw`"\uD800"`, '"a"b'] },
  { schema: { type: 'string', minLength: 2, maxLength: 3 }, right: ['"ab"', '"é€😀"', String.raw`"\n\n"`], wrong: ['""', '"a"', '"abcd"'] },
  { schema: { type: 'integer' }, right: ['0', '-7', '1234567890123456'], wrong: ['01', '1.0', '-', '12345678901234567', '1e3'] },
  { schema: { type: 'number' }, right: ['0', '-0.5', '1e3', '12.25E-07', '3'], wrong: ['.5', '1.', '00', '1e', '+1'] },
  { schema: { type: ['boolean', 'null'] }, right: ['true', 'false', 'null'], wrong: ['tru', 'nullnull', '0'] },
  { schema: { enum: ['a', 1, null, [1, 2]] }, right: ['"a"', '1', 'null', '[1,2]'], wrong: ['"b"', '2', '[1, 2]'] },
  { schema: { const: { a: 'ü' } }, right: ['{"a":"ü"}'], wrong: ['{}'] },
  { schema: { type: 'array', items: { type: 'integer' } }, right: ['[]', '[1]', '[1,2, 3]'], wrong: ['[1,]', '[,1]', '["a"]', '[1  ,2]'] },
  { schema: { type: 'array', items: { type: 'integer' }, minItems: 2, maxItems: 3 }, right: ['[1,2]', '[1,2,3]'], wrong: ['[]', '[1]', '[1,2,3,4]'] },
  { schema: { type: 'array', prefixItems: [{ type: 'integer' }, { type: 'string' }], items: { type: 'null' }, minItems: 1, maxItems: 4 }, right: ['[1]', '[1,"a"]', '[1,"a",null]', '[1,"a",null,null]'], wrong: ['[]', '["a"]', '[1,null]', '[1,"a",null,null,null]'] },
  { schema: { type: 'array', prefixItems: [{ type: 'integer' }], items: false }, right: ['[]', '[1]'], wrong: ['[1,2]'] },
  { schema: { properties: { a: { type: 'integer' }, b: { type: 'string' }, c: { type: 'null' } }, required: ['b'] }, right: ['{"b":"x"}', '{"a": 1, "b": "x"}', '{"b":"x","c":null}', '{"a":1,"b":"x","c":null}'], wrong: ['{}', '{"a":1}', '{"a":1,"c":null}', '{"b":"x","a":1}', '{"b":"x",}', '{"b":"x","d":1}'] },
  { schema: { type: 'object', additionalProperties: { type: 'integer' } }, right: ['{}', '{"x":1}', '{"x":1, "y":2}'], wrong: ['{"x":"a"}', '{1:1}', '{"x":1,}'] },
  { schema: { type: 'object', additionalProperties: false }, right: ['{}'], wrong: ['{"a":1}'] },
  { schema: true, right: ['{"a":[1,{"b":[]}, "c"],"d":null}', '[[[[]]]]', '1', '"x"', 'true'], wrong: ['{"a"}', '[[]', ''] },
  { schema: { anyOf: [{ type: 'integer' }, { type: 'string' }] }, right: ['1', '"1"'], wrong: ['null'] },
  { schema: { $defs: { tree: { type: 'object', properties: { v: { type: 'integer' }, next: { anyOf: [{ $ref: '#/$defs/tree' }, { type: 'null' }] } }, required: ['v', 'next'] } }, $ref: '#/$defs/tree' }, right: ['{"v":1,"next":null}', '{"v":1,"next":{"v":2,"next":{"v":3,"next":null}}}'], wrong: ['{"v":1}', '{"v":1,"next":{}}'] },
  { schema: { type: 'array', items: { $ref: '#' }, title: 'lists of lists' }, right: ['[]', '[[],[[]]]'], wrong: ['[1]', '[[]'] },
];

describe('a grammar from a schema', () => {
  for (const { schema, right, wrong } of CASES) {
    test(`takes what is valid by ${JSON.stringify(schema)}, and nothing else`, () => {
      const grammar = jsonGrammar(schema, SINGLE);
      for (const text of right) {
        JSON.parse(text);
        assert.ok(takes(grammar, text), `${text} is valid`);
      }
      for (const text of wrong) assert.ok(!takes(grammar, text), `${text} is not`);
    });
  }

  test('allows in strings what is UTF-8 alone, and no part of a character at their ends', () => {
    const grammar = jsonGrammar({ type: 'string' }, SINGLE);
    for (const bytes of [[0xc0, 0x80], [0xe0, 0x80, 0x80], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0x80], [0xff], [0xe2, 0x82]]) assert.ok(!takes(grammar, [0x22, ...bytes, 0x22]), bytes.join());
    for (const letter of ['\u0080', '\u07ff', '\u0800', '\ud7ff', '\ue000', '\uffff', '\u{10000}', '\u{10ffff}', '\u007f']) assert.ok(takes(grammar, JSON.stringify(letter)), letter.codePointAt(0).toString(16));
  });

  test('has masks that agree with its steps, for tokens of several bytes', () => {
    const pieces = ['', '{', '{"', '{"a', 'a', '"a"', '":', '": ', '"', ':', ' ', ' 1', '1', '12', '1}', '}', '}}', 'tr', 'true', 'ue', '{"a":', 'é', '\u00e9"'].map((piece) => (piece === '' ? null : encoder.encode(piece)));
    const grammar = jsonGrammar({ properties: { a: { type: ['integer', 'boolean'] } }, required: ['a'] }, pieces);
    const step = (state, id) => {
      try {
        return grammar.next(state, id);
      } catch {
        return null;
      }
    };
    // All texts of up to five tokens.
    let states = [grammar.start];
    let count = 0;
    for (let depth = 0; depth < 5; depth++) {
      states = states.flatMap((state) => {
        const mask = grammar.mask(state);
        return pieces.flatMap((_, id) => {
          const next = step(state, id);
          assert.equal(mask[id], Number(next !== null), `token ${id} after ${depth}`);
          count++;
          return next === null ? [] : [next];
        });
      });
    }
    assert.ok(count > 1000);
  });

  test('is final where nothing more can come', () => {
    const grammar = jsonGrammar({ type: ['integer', 'null'] }, SINGLE);
    const after = (text) => encoder.encode(text).reduce((state, byte) => grammar.next(state, byte), grammar.start);
    assert.deepEqual([grammar.isFinal(after('null')), grammar.isFinal(after('1')), grammar.isComplete(after('1')), grammar.isComplete(after('nul'))], [true, false, true, false]);
  });

  test('refuses what it does not take, by its place', () => {
    const rejects = (schema, message) => assert.throws(() => jsonGrammar(schema, SINGLE), { code: 'invalid-argument', message });
    rejects({ type: 'string', pattern: 'a+' }, /^jsonGrammar: schema #: got "pattern"; takes type, minLength, maxLength here/);
    rejects({ properties: { a: { type: 'integer', minimum: 0 } } }, /^jsonGrammar: schema #\/properties\/a: got "minimum"; takes type here/);
    rejects({ type: 'text' }, /schema #: got type "text"; takes a schema with type, one of string/);
    rejects({ not: {} }, /schema #: got "not"/);
    rejects(null, /schema #: got null; takes an object or true/);
    rejects(false, /schema #: got false/);
    rejects({ enum: [] }, /schema #\/enum: got an array of 0/);
    rejects({ $ref: '#/$defs/none' }, /schema #\/\$ref: got "#\/\$defs\/none"; takes a place in the schema/);
    rejects({ $ref: 'other.json' }, /\$ref: got "other\.json"/);
    rejects({ $ref: '#' }, /begins with itself/);
    rejects({ $defs: { a: { anyOf: [{ type: 'null' }, { $ref: '#/$defs/a' }] } }, type: 'array', items: { $ref: '#/$defs/a' } }, /#\/\$defs\/a, which begins with itself/);
    rejects({ $defs: { a: { type: 'string', pattern: 'x' } }, type: 'array', items: { $ref: '#/$defs/a' } }, /#\/\$defs\/a: got "pattern"/);
    rejects({ type: 'object', properties: { a: {} }, required: ['b'] }, /required: got an array of 1; takes a list of names that are in properties/);
    rejects({ type: 'array', minItems: 3, maxItems: 2 }, /minItems: got 3; takes at most 2/);
    rejects({ type: 'array', minItems: 1, items: false }, /minItems: got 1; takes at most 0/);
    rejects({ type: 'string', minLength: -1 }, /minLength: got -1/);
    assert.throws(() => jsonGrammar({ type: 'null' }, ['a']), /tokens: got an array of 1; takes the bytes of each token, or null/);
  });
});

describe('the bytes of tokens', () => {
  const gguf = (model, tokens, types) => ({ 'tokenizer.ggml.model': model, 'tokenizer.ggml.tokens': tokens, 'tokenizer.ggml.token_type': types });
  const texts = (bytes) => bytes.map((each) => (each === null ? null : Buffer.from(each).toString('latin1')));

  test('of byte-level vocabularies are those that their letters stand for', () => {
    // As GPT-2 has it: a space is Ġ, a line feed Ċ, é the letters Ã and ©.
    const expected = [null, ' a', '\n', '\xc3\xa9', '<x>'];
    assert.deepEqual(texts(tokenBytes(gguf('gpt2', ['<s>', 'Ġa', 'Ċ', 'Ã©', '<x>'], Int32Array.of(3, 1, 1, 1, 4)))), expected);
    const json = { model: { type: 'BPE', vocab: { '<s>': 0, 'Ġa': 1, 'Ċ': 2, 'Ã©': 3, '<x>': 4 } }, decoder: { type: 'ByteLevel' }, added_tokens: [{ id: 0, content: '<s>', special: true }, { id: 4, content: '<x>', special: false }] };
    assert.deepEqual(texts(tokenBytes(json)), expected);
  });

  test('of SentencePiece are letters, and single bytes where they say so', () => {
    const expected = [null, ' a', '\x0a', '\xc3\xa9'];
    assert.deepEqual(texts(tokenBytes(gguf('llama', ['<s>', '▁a', '<0x0A>', 'é'], [3, 1, 6, 1]))), expected);
    assert.deepEqual(texts(tokenBytes({ model: { type: 'BPE', vocab: { '<s>': 0, '▁a': 1, '<0x0A>': 2, é: 3 } }, decoder: { type: 'Sequence', decoders: [{ type: 'ByteFallback' }] }, added_tokens: [{ id: 0, content: '<s>', special: true }] })), expected);
  });

  test('of other vocabularies are refused', () => {
    assert.throws(() => tokenBytes({ model: { type: 'WordPiece', vocab: {} } }), /tokenBytes: source\.model: got "WordPiece"/);
    assert.throws(() => tokenBytes(gguf('bert', [], [])), /tokenizer\.ggml\.model: got "bert"; takes 'llama' or 'gpt2'/);
    assert.throws(() => tokenBytes(gguf('llama', undefined, [])), /tokenizer\.ggml\.tokens: got undefined; takes a list/);
  });
});

describe('conversations', () => {
  const talk = [{ role: 'system', content: 'S' }, { role: 'user', content: 'U' }, { role: 'assistant', content: 'A' }, { role: 'user', content: 'V' }];
  // As the templates in the files of these models write them, without the token that begins a text.
  const expected = {
    chatml: '<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nU<|im_end|>\n<|im_start|>assistant\nA<|im_end|>\n<|im_start|>user\nV<|im_end|>\n<|im_start|>assistant\n',
    llama3: '<|start_header_id|>system<|end_header_id|>\n\nS<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nU<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\nA<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nV<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n',
    llama2: '[INST] <<SYS>>\nS\n<</SYS>>\n\nU [/INST] A </s><s>[INST] V [/INST]',
    mistral: '[INST] S\n\nU[/INST] A</s>[INST] V[/INST]',
    gemma: '<start_of_turn>user\nS\n\nU<end_of_turn>\n<start_of_turn>model\nA<end_of_turn>\n<start_of_turn>user\nV<end_of_turn>\n<start_of_turn>model\n',
    phi3: '<|system|>\nS<|end|>\n<|user|>\nU<|end|>\n<|assistant|>\nA<|end|>\n<|user|>\nV<|end|>\n<|assistant|>\n',
  };
  for (const [form, text] of Object.entries(expected)) {
    test(`are written in the form ${form}, which is known by its template`, () => {
      assert.equal(chatPrompt(talk, form), text);
      assert.equal(chatForm(`{% for message in messages %}${text}{% endfor %}`), form);
      assert.ok(text.startsWith(chatPrompt(talk.slice(0, 2), form)), 'a longer conversation goes on where a shorter one ended');
    });
  }

  // Templates in the ways in which files have them: marks as texts that are put together, escaped and real line feeds, either quotation mark.
  const each = (body, last = '') => `{% for message in messages %}${body}{% endfor %}{% if add_generation_prompt %}${last}{% endif %}`;
  const byRole = (write) => ['system', 'user', 'assistant'].map((role, k) => `{% ${k === 0 ? 'if' : 'elif'} message['role'] == '${role}' %}{{ ${write(role)} }}`).join('') + '{% endif %}';
  const templates = {
    chatml: [
      each(String.raw`{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}`, String.raw`{{ '<|im_start|>assistant\n' }}`),
      each(String.raw`{{- "<|im_start|>" + message.role + "\n" + message.content + "<|im_end|>\n" }}`, String.raw`{{- "<|im_start|>assistant\n" }}`),
      each('<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n', '<|im_start|>assistant\n'),
    ],
    llama3: [each(String.raw`{{ '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n'+ message['content'] | trim + '<|eot_id|>' }}`, String.raw`{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}`)],
    llama2: [each(String.raw`{% if loop.first and system %}{% set content = '<<SYS>>\n' + system + '\n<</SYS>>\n\n' + content %}{% endif %}{{ bos_token + '[INST] ' + content.strip() + ' [/INST]' }}`)],
    mistral: [each(String.raw`{% if message["role"] == "user" %}{{- "[INST] " + message["content"] + "[/INST]" }}{% else %}{{- " " + message["content"] + eos_token }}{% endif %}`)],
    gemma: [each(String.raw`{{ '<start_of_turn>' + role + '\n' + message['content'] | trim + '<end_of_turn>\n' }}`, String.raw`{{'<start_of_turn>model\n'}}`)],
    phi3: [
      each(byRole((role) => String.raw`'<|${role}|>\n' + message['content'] + '<|end|>\n'`), String.raw`{{ '<|assistant|>\n' }}`),
      each(String.raw`{{ '<|' + message['role'] + '|>' + '\n' + message['content'] + '<|end|>\n' }}`, String.raw`{{ '<|assistant|>\n' }}`),
      each(String.raw`{{'<|user|>' + '\n' + message['content'] + '<|end|>' + '\n' + '<|assistant|>' + '\n'}}`),
    ],
  };
  for (const [form, list] of Object.entries(templates)) test(`in the form ${form} are known by the templates in files`, () => list.forEach((template) => assert.equal(chatForm(template), form, template)));

  test('in forms that are like a known one, and differ in marks, spaces or line feeds, are not known', () => {
    const others = [
      // Phi 4, and Phi 4 mini.
      each(byRole((role) => `'<|im_start|>${role}<|im_sep|>' + message['content'] + '<|im_end|>'`), `{{ '<|im_start|>assistant<|im_sep|>' }}`),
      each(`{{ '<|im_start|>' + message['role'] + '<|im_sep|>\\n' + message['content'] + '<|im_end|>\\n' }}`, `{{ '<|im_start|>assistant<|im_sep|>\\n' }}`),
      each(`{{ '<|' + message['role'] + '|>' + message['content'] + '<|end|>' }}`, `{{ '<|assistant|>' }}`),
      // The same marks on lines of the template, which are not of the text.
      each(`\n{{- '<|' + message['role'] + '|>' }}\n{{- message['content'] + '<|end|>' }}\n`, `\n{{- '<|assistant|>' }}\n`),
      each(`{{ '<|im_start|>' + message['role'] + ' ' + message['content'] + '<|im_end|>' }}`),
      each(String.raw`{{ '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n' + message['content'] + '<|eot_id|>' }}`),
      // Mistral before version 3, with the tokeniser Tekken, and since version 7.
      each(`{{ '[INST] ' + message['content'] + ' [/INST]' }}`),
      each(`{{ "[INST]" + message["content"] + "[/INST]" }}`),
      `{{ "[SYSTEM_PROMPT] " + system + "[/SYSTEM_PROMPT]" }}${each('{{ "[INST] " + message["content"] + "[/INST]" }}')}`,
      each(`{{ '<start_of_turn>' + role + ' ' + message['content'] + '<end_of_turn>' }}`),
    ];
    for (const template of others) assert.equal(chatForm(template), null, template);
  });

  test('are refused where turns are missing, and templates that are not known give null', () => {
    const [system, user, assistant] = talk;
    assert.throws(() => chatPrompt([user, user], 'gemma'), { code: 'invalid-argument', message: /^chatPrompt: messages\[1\]: got "user"; takes a message of the assistant/ });
    assert.throws(() => chatPrompt([user, assistant], 'phi3'), /got 2 messages; takes a conversation that ends with a message of the user/);
    assert.throws(() => chatPrompt([system], 'chatml'), /got 1 messages/);
    assert.throws(() => chatPrompt([], 'chatml'), /got 0 messages/);
    assert.throws(() => chatPrompt([{ role: 'user' }], 'chatml'), /messages\[0\]/);
    assert.throws(() => chatPrompt([user], 'alpaca'), /^ResiduaError: chatPrompt: form: got "alpaca"; takes chatml, llama3/);
    assert.deepEqual(['### Instruction:', undefined, '[INST] {{ content }} [/INST]'].map(chatForm), [null, null, null]);
  });
});

/** Writes tokens by the contents of a tokenizer.json as libraries do, without the decoder of pieces: special tokens are left out when it is asked. */
class Pieces {
  constructor({ model, added_tokens }) {
    this.texts = new Map(Object.entries(model.vocab).map(([piece, id]) => [id, piece]));
    this.special = new Set(added_tokens.filter(({ special }) => special).map(({ id }) => id));
    this.added = added_tokens.map(({ content }) => content);
  }

  decode(ids, { skip_special_tokens: skips }) {
    return ids.filter((id) => !(skips && this.special.has(id))).map((id) => this.texts.get(id)).join('');
  }

  encode(text) {
    return { ids: this.added.includes(text) ? [[...this.texts.values()].indexOf(text)] : [] };
  }
}

describe('tokenisers', () => {
  const Never = null;

  test('keep the tokens that a user defined, and leave out those that are no text', () => {
    const [normal, unknown, control, userDefined] = [1, 2, 3, 4];
    const vocabulary = (model, tokens, kinds) => ({ 'tokenizer.ggml.model': model, 'tokenizer.ggml.tokens': tokens, 'tokenizer.ggml.token_type': kinds, 'tokenizer.ggml.merges': [], 'tokenizer.ggml.scores': tokens.map(() => 0) });
    const bytes = ggufTokenizer(vocabulary('gpt2', ['a', 'b', '<think>', '<|end|>'], [normal, normal, userDefined, control]), Pieces);
    assert.equal(bytes.decode([0, 2, 1, 3]), 'a<think>b');
    assert.deepEqual(bytes.encode('<think>'), [2], 'it is one token still');
    const pieces = ggufTokenizer(vocabulary('llama', ['<unk>', '<s>', 'a', 'b', '\n\n'], [unknown, control, normal, normal, userDefined]), Pieces);
    assert.equal(pieces.decode([1, 2, 4, 3, 0]), 'a\n\nb');
    const words = wordPieceTokenizer(['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]', 'a'].join('\n'), Pieces);
    assert.equal(words.decode([2, 5, 1, 4, 3, 0]), 'a');
  });

  test('that are not known, or lack a list, are refused by their names', () => {
    assert.throws(() => ggufTokenizer({ 'tokenizer.ggml.model': 'bert' }, Never), /tokenizer\.ggml\.model: got "bert"; takes 'llama' or 'gpt2'/);
    assert.throws(() => ggufTokenizer({ 'tokenizer.ggml.model': 'gpt2', 'tokenizer.ggml.tokens': ['a'], 'tokenizer.ggml.pre': 'tekken' }, Never), /tokenizer\.ggml\.pre: got "tekken"; takes gpt-2, default, llama-bpe, qwen2, smollm/);
    assert.throws(() => ggufTokenizer({ 'tokenizer.ggml.model': 'llama' }, Never), /tokenizer\.ggml\.tokens: got undefined; takes a list/);
    assert.throws(() => ggufTokenizer({ 'tokenizer.ggml.model': 'gpt2', 'tokenizer.ggml.tokens': ['a'] }, Never), /tokenizer\.ggml\.merges: got undefined/);
    assert.throws(() => wordPieceTokenizer('a\nb\n', Never), /vocabulary: got 2 lines without \[UNK\]/);
  });
});
