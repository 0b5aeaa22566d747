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

/** What tells each form from the others, in the template that a file has. Those of Mistral before version 3 put spaces elsewhere, each in its way. */
const SIGNS: readonly (readonly [sign: RegExp, form: ChatForm])[] = [
  [/<\|im_start\|>/, 'chatml'], [/<\|start_header_id\|>/, 'llama3'], [/<<SYS>>/, 'llama2'], [/\[INST\](?![^]* \[\/INST\])/, 'mistral'], [/<start_of_turn>/, 'gemma'], [/<\|end\|>/, 'phi3'],
];

/** The form of a template, as GGUF files have it under `tokenizer.chat_template` and tokenizer_config.json under `chat_template`; null for one that is not known. */
export function chatForm(template: unknown): ChatForm | null {
  if (typeof template !== 'string') return null;
  return SIGNS.find(([sign]) => sign.test(template))?.[1] ?? null;
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
