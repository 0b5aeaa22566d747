/** Conversations as texts, in the forms that models were trained with. */

import { describe, invalidArgument } from '../../arguments/errors.js';

/** One message of a conversation. */
export interface ChatMessage {
  /** Who says it. */
  readonly role: 'system' | 'user' | 'assistant';
  /** What is said. */
  readonly content: string;
}

/** Names of forms. */
export type ChatForm = 'chatml' | 'llama2' | 'llama3' | 'mistral' | 'gemma' | 'phi3';

/** Writes a conversation, to whose end the model adds its answer. The token that begins a text is not written: tokenisers put it before. */
type Writer = (messages: readonly ChatMessage[]) => string;

/** Puts what the system says before the first message of the user, in forms that have no place for it. */
function intoUser(messages: readonly ChatMessage[], join: (system: string, user: string) => string): readonly ChatMessage[] {
  const [first, second, ...rest] = messages;
  if (first?.role !== 'system' || second?.role !== 'user') return messages;
  return [{ role: 'user', content: join(first.content, second.content) }, ...rest];
}

const FORMS: Readonly<Record<ChatForm, Writer>> = {
  chatml: (messages) => `${messages.map(({ role, content }) => `<|im_start|>${role}\n${content}<|im_end|>\n`).join('')}<|im_start|>assistant\n`,
  llama3: (messages) => {
    const header = (role: string) => `<|start_header_id|>${role}<|end_header_id|>\n\n`;
    return `${messages.map(({ role, content }) => `${header(role)}${content.trim()}<|eot_id|>`).join('')}${header('assistant')}`;
  },
  llama2: (messages) =>
    intoUser(messages, (system, user) => `<<SYS>>\n${system}\n<</SYS>>\n\n${user}`)
      .map(({ role, content }, k) => (role === 'user' ? `${k > 0 ? '<s>' : ''}[INST] ${content.trim()} [/INST]` : ` ${content.trim()} </s>`))
      .join(''),
  mistral: (messages) =>
    intoUser(messages, (system, user) => `${system}\n\n${user}`)
      .map(({ role, content }) => (role === 'user' ? `[INST] ${content}[/INST]` : ` ${content}</s>`))
      .join(''),
  gemma: (messages) => {
    const turns = intoUser(messages, (system, user) => `${system}\n\n${user}`).map(({ role, content }) => `<start_of_turn>${role === 'assistant' ? 'model' : role}\n${content.trim()}<end_of_turn>\n`);
    return `${turns.join('')}<start_of_turn>model\n`;
  },
  phi3: (messages) => `${messages.map(({ role, content }) => `<|${role}|>\n${content}<|end|>\n`).join('')}<|assistant|>\n`,
};

/** A line feed in a template, where an escape may stand for it and where it may be a text of its own. */
const FEED = String.raw`(?:['"]\s*\+\s*['"])?(?:\\n|\n)`;
const sign = (...parts: string[]) => new RegExp(parts.join(''));

/** What a template has, and lacks, if it writes as the form does: its marks with the spaces and line feeds around them. */
const SIGNS: readonly { readonly form: ChatForm; readonly has: readonly RegExp[]; readonly lacks?: RegExp }[] = [
  // Phi 4 has another mark after the role.
  { form: 'chatml', has: [/<\|im_start\|>/, sign(String.raw`<\|im_end\|>`, FEED)], lacks: /<\|im_sep\|>/ },
  { form: 'llama3', has: [/<\|start_header_id\|>/, sign(String.raw`<\|end_header_id\|>`, FEED, FEED), /<\|eot_id\|>/] },
  { form: 'llama2', has: [sign('<<SYS>>', FEED), /\[INST\] /, / \[\/INST\]/] },
  // Before version 3 there is a space at the end of a message, and with later tokenisers none at the start; since version 7 the system has marks.
  { form: 'mistral', has: [/\[INST\] /, /\[\/INST\]/], lacks: / \[\/INST\]|\[INST\](?! )|\[SYSTEM_PROMPT\]/ },
  { form: 'gemma', has: [sign('<start_of_turn>model', FEED), sign('<end_of_turn>', FEED)] },
  // Phi 4 mini has the marks without line feeds.
  { form: 'phi3', has: [sign(String.raw`(?:user|['"])\|>`, FEED), sign(String.raw`<\|end\|>`, FEED)] },
];

/** The form of a template, as GGUF files have it under `tokenizer.chat_template` and tokenizer_config.json under `chat_template`; null for one that writes otherwise than these forms. */
export function chatForm(template: unknown): ChatForm | null {
  if (typeof template !== 'string') return null;
  return SIGNS.find(({ has, lacks }) => has.every((mark) => mark.test(template)) && lacks?.test(template) !== true)?.form ?? null;
}

/**
 * A conversation as the text that a model continues with its answer. What the system says is written where the form has a place for it, else before the first message of the user; nothing is added
 * to the messages. Throws 'invalid-argument' for an unknown form, and unless messages of the user and the assistant take turns, from the user's to the user's, after at most one of the system.
 */
export function chatPrompt(messages: readonly ChatMessage[], form: ChatForm): string {
  if (!Object.hasOwn(FORMS, form)) throw invalidArgument('chatPrompt: form', describe(form), Object.keys(FORMS).join(', '));
  if (!Array.isArray(messages)) throw invalidArgument('chatPrompt: messages', describe(messages), 'a list of messages');
  const turns = messages[0]?.role === 'system' ? 1 : 0;
  messages.forEach((message: ChatMessage, k) => {
    const role = k < turns ? 'system' : (k - turns) % 2 === 0 ? 'user' : 'assistant';
    if (message?.role !== role || typeof message.content !== 'string') throw invalidArgument(`chatPrompt: messages[${k}]`, describe(message?.role), `a message of the ${role}, { role, content }`);
  });
  if ((messages.length - turns) % 2 === 0) throw invalidArgument('chatPrompt: messages', `${messages.length} messages`, 'a conversation that ends with a message of the user');
  return FORMS[form](messages);
}
