/** Grammars: which tokens may come after those of a text, so that the text becomes one of a language. */

import { describe, invalidArgument, ResiduaError } from '../../arguments/errors.js';
import { Language, type Expression } from './language.js';

/** What may follow the text so far. */
export type GrammarState = Expression;

/** Masks that are kept. */
const MOST_MASKS = 64;

/** A language of texts, and the bytes of each token; {@link jsonGrammar} makes it. It has no state of a text, so several texts can have one. */
export class Grammar {
  /** Before the first token. */
  readonly start: GrammarState;
  /** Tokens in the order of their bytes. */
  private readonly order: Uint32Array;
  /** For each of these how many bytes it shares with the one before. */
  private readonly shared: Uint32Array;
  private readonly masks = new Map<number, Uint8Array>();

  /** @internal Made by jsonGrammar(). */
  constructor(
    start: GrammarState,
    private readonly tokens: readonly (Uint8Array | null)[],
  ) {
    this.start = start;
    const texts = tokens.flatMap((bytes, id) => (bytes === null || bytes.length === 0 ? [] : [{ id, bytes }]));
    texts.sort((a, b) => difference(a.bytes, b.bytes));
    this.order = Uint32Array.from(texts, ({ id }) => id);
    this.shared = Uint32Array.from(texts, ({ bytes }, k) => (k === 0 ? 0 : common(bytes, (texts[k - 1] as { bytes: Uint8Array }).bytes)));
  }

  /** After one more token. Throws 'invalid-argument' for one that may not come. */
  next(state: GrammarState, token: number): GrammarState {
    let found: GrammarState | null = this.tokens[token] == null ? null : state;
    for (const byte of this.tokens[token] ?? []) found = found?.after(byte) ?? null;
    if (found === null) throw invalidArgument('Grammar.next: token', String(token), 'one that the grammar allows here');
    return found;
  }

  /** Whether the text so far is one of the language. */
  isComplete(state: GrammarState): boolean {
    return state.isNullable();
  }

  /** Whether it is, and no longer one begins with it. */
  isFinal(state: GrammarState): boolean {
    return state.isNullable() && !this.mask(state).includes(1);
  }

  /** Which tokens may come: 1 for each that may, else 0. */
  mask(state: GrammarState): Uint8Array {
    const known = this.masks.get(state.id);
    if (known !== undefined) return known;
    const mask = new Uint8Array(this.tokens.length);
    /** What may follow the first bytes of the token at hand, and after how many of them nothing does. */
    const states: GrammarState[] = [state];
    let dead = Infinity;
    this.order.forEach((id, k) => {
      let depth = this.shared[k] as number;
      // A token before this one began with the same bytes, which nothing may follow.
      if (depth > dead) return;
      dead = Infinity;
      const bytes = this.tokens[id] as Uint8Array;
      for (; depth < bytes.length; depth++) {
        const next = (states[depth] as GrammarState).after(bytes[depth] as number);
        if (next === null) {
          dead = depth;
          return;
        }
        states[depth + 1] = next;
      }
      mask[id] = 1;
    });
    if (this.masks.size >= MOST_MASKS) this.masks.delete(this.masks.keys().next().value as number);
    this.masks.set(state.id, mask);
    return mask;
  }
}

/** The mask of a vocabulary, with the tokens that end a text where it is complete. */
export function maskOf(grammar: Grammar, state: GrammarState, vocabulary: number, ends: readonly number[]): Uint8Array {
  const mask = new Uint8Array(vocabulary);
  mask.set(grammar.mask(state).subarray(0, vocabulary));
  for (const end of ends) if (end < vocabulary) mask[end] = Number(grammar.isComplete(state));
  return mask;
}

function common(a: Uint8Array, b: Uint8Array): number {
  const most = Math.min(a.length, b.length);
  let k = 0;
  while (k < most && a[k] === b[k]) k++;
  return k;
}

function difference(a: Uint8Array, b: Uint8Array): number {
  const k = common(a, b);
  return (a[k] ?? -1) - (b[k] ?? -1);
}

/** Keywords that say nothing of what is valid. */
const ANNOTATIONS = ['title', 'description', 'default', 'examples', '$schema', '$id', '$comment', '$defs', 'definitions', 'format', 'deprecated', 'readOnly', 'writeOnly'];

/** Keywords that are taken for each type. */
const KEYWORDS: Readonly<Record<string, readonly string[]>> = {
  string: ['minLength', 'maxLength'], object: ['properties', 'required', 'additionalProperties'], array: ['items', 'prefixItems', 'minItems', 'maxItems'], integer: [], number: [], boolean: [], null: [],
};

type Schema = Readonly<Record<string, unknown>>;

/**
 * The grammar of JSON texts that are valid by a schema, for tokens whose bytes are given, null for those that are no text ({@link tokenBytes}). Texts stand on one line; listed properties come in
 * their order, and others only where none is listed; numbers have up to 16 digits before and after the point. Takes `type`, `enum`, `const`, `properties`, `required`, `additionalProperties`, `items`,
 * `prefixItems`, `minItems`, `maxItems`, `minLength`, `maxLength`, `anyOf`, `oneOf` as `anyOf`, and `$ref` within the schema. Throws 'invalid-argument' for another keyword that says what is valid, and
 * for a schema that contains itself with nothing before.
 */
export function jsonGrammar(schema: Schema | boolean, tokens: readonly (Uint8Array | null)[]): Grammar {
  if (!Array.isArray(tokens) || !tokens.every((bytes) => bytes === null || bytes instanceof Uint8Array)) throw invalidArgument('jsonGrammar: tokens', describe(tokens), 'the bytes of each token, or null');
  const json = new JsonLanguage(schema);
  const start = json.value(schema, '#');
  json.check();
  return new Grammar(start, tokens);
}

/** Texts that are valid by schemas. */
class JsonLanguage {
  private readonly language = new Language();
  private readonly digit = this.language.bytes([0x30, 0x39]);
  private readonly space = this.optional(this.language.text(' '));
  private readonly references = new Map<string, Expression>();

  constructor(private readonly root: unknown) {}

  /** Throws 'invalid-argument' where what a reference leads to is wrong, or begins with itself. */
  check(): void {
    // References in what a reference leads to are added on the way.
    for (const [path, reference] of this.references) {
      try {
        for (let byte = 0; byte < 256; byte++) reference.after(byte);
      } catch (error) {
        if (error instanceof RangeError) throw new ResiduaError('invalid-argument', `jsonGrammar: schema: got ${path}, which begins with itself; takes a reference to itself behind something else`);
        throw error;
      }
    }
  }

  /** Texts that are valid by a schema, which stands at `path`. */
  value(given: unknown, path: string): Expression {
    const { language } = this;
    if (given === true || (isObject(given) && Object.keys(given).every((key) => ANNOTATIONS.includes(key)))) return this.any();
    if (!isObject(given)) throw invalidArgument(`jsonGrammar: schema ${path}`, describe(given), 'an object or true');
    const rest = Object.keys(given).filter((key) => !ANNOTATIONS.includes(key));
    const only = (...names: string[]) => {
      const other = rest.find((key) => !names.includes(key));
      if (other !== undefined) throw invalidArgument(`jsonGrammar: schema ${path}`, describe(other), `${names.join(', ')} here`);
    };
    const { $ref, anyOf, oneOf, type } = given;
    if ($ref !== undefined) {
      only('$ref');
      return this.reference($ref, path);
    }
    if ('const' in given || 'enum' in given) {
      only('const', 'enum', 'type');
      const values = 'const' in given ? [given['const']] : given['enum'];
      if (!Array.isArray(values) || values.length === 0) throw invalidArgument(`jsonGrammar: schema ${path}/enum`, describe(values), 'a list of values');
      return language.choice(...values.map((value) => language.text(JSON.stringify(value))));
    }
    const choices = anyOf ?? oneOf;
    if (choices !== undefined) {
      only(anyOf === undefined ? 'oneOf' : 'anyOf');
      if (!Array.isArray(choices) || choices.length === 0) throw invalidArgument(`jsonGrammar: schema ${path}`, describe(choices), 'a list of schemas');
      return language.choice(...choices.map((each, k) => this.value(each, `${path}/${k}`)));
    }
    const guessed = Object.keys(KEYWORDS).find((name) => rest.some((key) => (KEYWORDS[name] as readonly string[]).includes(key)));
    const types = type === undefined ? [guessed] : [type].flat();
    for (const name of types) if (typeof name !== 'string' || !Object.hasOwn(KEYWORDS, name)) throw invalidArgument(`jsonGrammar: schema ${path}`, type === undefined ? describe(rest[0]) : `type ${describe(name)}`, `a schema with type, one of ${Object.keys(KEYWORDS).join(', ')}`);
    only('type', ...types.flatMap((name) => KEYWORDS[name as string] as string[]));
    return language.choice(...types.map((name) => this.ofType(name as string, given, path)));
  }

  private ofType(type: string, schema: Schema, path: string): Expression {
    const { language } = this;
    if (type === 'string') return this.string(...this.limits(schema, 'minLength', 'maxLength', path));
    if (type === 'object') return this.object(schema, path);
    if (type === 'array') return this.array(schema, path);
    if (type === 'boolean') return language.choice(language.text('true'), language.text('false'));
    if (type === 'null') return language.text('null');
    const whole = language.sequence(this.optional(language.text('-')), language.choice(language.text('0'), language.sequence(language.bytes([0x31, 0x39]), language.repeat(this.digit, 0, 15))));
    if (type === 'integer') return whole;
    const fraction = language.sequence(language.text('.'), language.repeat(this.digit, 1, 16));
    const exponent = language.sequence(language.choice(language.text('e'), language.text('E')), this.optional(language.choice(language.text('+'), language.text('-'))), language.repeat(this.digit, 1, 2));
    return language.sequence(whole, this.optional(fraction), this.optional(exponent));
  }

  /** A text in quotation marks, of whole characters in UTF-8 (RFC 3629) or escaped. */
  private string(least = 0, most = Infinity): Expression {
    const { language } = this;
    const tail = language.bytes([0x80, 0xbf]);
    const hex = language.bytes([0x30, 0x39], [0x41, 0x46], [0x61, 0x66]);
    const character = language.choice(
      language.bytes([0x20, 0x21], [0x23, 0x5b], [0x5d, 0x7f]),
      language.sequence(language.bytes([0xc2, 0xdf]), tail),
      language.sequence(language.bytes([0xe0, 0xe0]), language.bytes([0xa0, 0xbf]), tail),
      language.sequence(language.bytes([0xe1, 0xec], [0xee, 0xef]), tail, tail),
      language.sequence(language.bytes([0xed, 0xed]), language.bytes([0x80, 0x9f]), tail),
      language.sequence(language.bytes([0xf0, 0xf0]), language.bytes([0x90, 0xbf]), tail, tail),
      language.sequence(language.bytes([0xf1, 0xf3]), tail, tail, tail),
      language.sequence(language.bytes([0xf4, 0xf4]), language.bytes([0x80, 0x8f]), tail, tail),
      language.sequence(language.text('\\'), language.choice(...Array.from('"\\/bfnrt', (letter) => language.text(letter)))),
      // Halves of surrogate pairs would be no characters.
      language.sequence(language.text('\\u'), language.choice(language.sequence(language.bytes([0x30, 0x39], [0x41, 0x43], [0x61, 0x63], [0x45, 0x46], [0x65, 0x66]), hex), language.sequence(language.bytes([0x44, 0x44], [0x64, 0x64]), language.bytes([0x30, 0x37]))), hex, hex),
    );
    return language.sequence(language.text('"'), language.repeat(character, least, most), language.text('"'));
  }

  private object(schema: Schema, path: string): Expression {
    const { language } = this;
    const { properties = {}, required = [], additionalProperties = true } = schema;
    if (!isObject(properties)) throw invalidArgument(`jsonGrammar: schema ${path}/properties`, describe(properties), 'an object of schemas');
    const names = Object.keys(properties);
    if (!Array.isArray(required) || !required.every((name) => names.includes(name as string))) throw invalidArgument(`jsonGrammar: schema ${path}/required`, describe(required), 'a list of names that are in properties');
    const colon = language.sequence(language.text(':'), this.space);
    const comma = language.sequence(language.text(','), this.space);
    let first: Expression = language.empty;
    let further: Expression = language.empty;
    if (names.length === 0 && additionalProperties !== false) {
      const member = language.sequence(this.string(), colon, this.value(additionalProperties, `${path}/additionalProperties`));
      first = this.optional(language.sequence(member, language.repeat(language.sequence(comma, member))));
    }
    // From the last property to the first: what follows where one came before, and where none did.
    for (const name of names.reverse()) {
      const member = language.sequence(language.text(JSON.stringify(name)), colon, this.value(properties[name], `${path}/properties/${name}`));
      const rest = further;
      const isRequired = required.includes(name);
      first = language.choice(language.sequence(member, rest), isRequired ? null : first);
      further = language.choice(language.sequence(comma, member, rest), isRequired ? null : rest);
    }
    return language.sequence(language.text('{'), first, language.text('}'));
  }

  private array(schema: Schema, path: string): Expression {
    const { language } = this;
    const { items = true, prefixItems = [] } = schema;
    const [least = 0, most = Infinity] = this.limits(schema, 'minItems', 'maxItems', path);
    if (!Array.isArray(prefixItems)) throw invalidArgument(`jsonGrammar: schema ${path}/prefixItems`, describe(prefixItems), 'a list of schemas');
    const comma = language.sequence(language.text(','), this.space);
    const listed = prefixItems.slice(0, most).map((each, k) => this.value(each, `${path}/prefixItems/${k}`));
    const count = listed.length;
    // Those after the listed ones.
    let rest: Expression = language.empty;
    if (items !== false && most > count) {
      const item = this.value(items, `${path}/items`);
      const more = language.repeat(language.sequence(comma, item), Math.max(least - Math.max(count, 1), 0), most - Math.max(count, 1));
      rest = count > 0 ? more : least > 0 ? language.sequence(item, more) : this.optional(language.sequence(item, more));
    } else if (least > count) {
      throw invalidArgument(`jsonGrammar: schema ${path}/minItems`, String(least), `at most ${count}, the number of items that there can be`);
    }
    for (const [k, item] of [...listed.entries()].reverse()) {
      const from = language.sequence(k === 0 ? item : language.sequence(comma, item), rest);
      rest = k < least ? from : this.optional(from);
    }
    return language.sequence(language.text('['), rest, language.text(']'));
  }

  private any(): Expression {
    return this.language.later('any', () => this.language.choice(...Object.keys(KEYWORDS).filter((type) => type !== 'integer').map((type) => this.ofType(type, {}, 'any'))));
  }

  private reference(given: unknown, path: string): Expression {
    const steps = typeof given === 'string' && /^#(\/|$)/.test(given) ? given.split('/').slice(1) : null;
    let found: unknown = this.root;
    for (const step of steps ?? []) found = isObject(found) || Array.isArray(found) ? (found as Schema)[decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~')] : undefined;
    if (steps === null || found === undefined) throw invalidArgument(`jsonGrammar: schema ${path}/$ref`, describe(given), "a place in the schema, such as '#/$defs/name'");
    const reference = this.language.later(given as string, () => this.value(found, given as string));
    this.references.set(given as string, reference);
    return reference;
  }

  private limits(schema: Schema, least: string, most: string, path: string): [number | undefined, number | undefined] {
    const [from, to] = [least, most].map((name) => {
      const value = schema[name];
      if (value !== undefined && !(Number.isSafeInteger(value) && (value as number) >= 0)) throw invalidArgument(`jsonGrammar: schema ${path}/${name}`, describe(value), 'a whole number from 0');
      return value as number | undefined;
    });
    if ((from ?? 0) > (to ?? Infinity)) throw invalidArgument(`jsonGrammar: schema ${path}/${least}`, String(from), `at most ${to}, ${most}`);
    return [from, to];
  }

  private optional(part: Expression): Expression {
    return this.language.repeat(part, 0, 1);
  }
}

function isObject(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
