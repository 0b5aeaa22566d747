/**
 * Reads JSON of a header as far as safetensors uses it: objects, strings and lists of whole numbers. JSON.parse would take the last of two
 * equal keys without a word.
 */

import { describe, invalidArgument, type ResiduaError } from '../../arguments/errors.js';

/** The deepest nesting of values that are passed over. */
const MOST_DEPTH = 32;

/** Text that is read from its beginning. */
export class JsonHeader {
  private at = 0;

  constructor(
    /** The header, in messages. */
    private readonly place: string,
    private readonly text: string,
  ) {}

  /** Reads an object: `member` reads the value of each key. Throws 'invalid-argument' for a key that was there before. */
  object(what: string, member: (key: string) => void): void {
    const seen = new Set<string>();
    this.list(what, '{', '}', () => {
      const key = this.string('a key');
      if (seen.has(key)) throw this.wrong(`the key ${describe(key)} twice in ${what}`, 'each name once');
      seen.add(key);
      this.expect(':');
      member(key);
    });
  }

  /** Reads a list of whole numbers from 0. */
  numbers(what: string): number[] {
    const numbers: number[] = [];
    this.list(what, '[', ']', () => {
      const [digits = ''] = /^-?[\d.eE+]*/.exec(this.text.slice(this.at, this.at + 40)) ?? [];
      const value = /^\d{1,16}$/.test(digits) ? Number(digits) : NaN;
      if (!Number.isSafeInteger(value)) throw this.wrong(this.found(), `whole numbers below 2^53 in ${what}`);
      this.at += digits.length;
      numbers.push(value);
    });
    return numbers;
  }

  /** Reads a string. */
  string(what: string): string {
    if (this.next() !== '"') throw this.wrong(this.found(), what);
    let end = this.at;
    do {
      end = this.text.indexOf('"', end + 1);
      if (end < 0) throw this.wrong('a string without an end', what);
    } while (this.isEscaped(end));
    try {
      const value = JSON.parse(this.text.slice(this.at, end + 1)) as string;
      this.at = end + 1;
      return value;
    } catch {
      throw this.wrong(this.found(), `${what} without control characters and unknown escapes`);
    }
  }

  /** Passes over a value of any kind. */
  skipValue(what: string): void {
    let depth = 0;
    do {
      const next = this.next();
      if (next === '"') this.string(what);
      else if (next === '{' || next === '[') {
        depth += 1;
        if (depth > MOST_DEPTH) throw this.wrong('values in values', `at most ${MOST_DEPTH} levels`);
        this.at += 1;
        continue;
      } else if (depth > 0 && (next === '}' || next === ']')) {
        depth -= 1;
        this.at += 1;
      } else if (depth > 0 && (next === ',' || next === ':')) {
        this.at += 1;
        continue;
      } else {
        const [word = ''] = /^[-+.\w]*/.exec(this.text.slice(this.at, this.at + 40)) ?? [];
        if (word === '') throw this.wrong(this.found(), what);
        this.at += word.length;
      }
    } while (depth > 0);
  }

  /** Throws unless nothing but white space is left. */
  end(): void {
    if (this.next() !== '') throw this.wrong(this.found(), 'the end of the header');
  }

  private list(what: string, open: string, close: string, item: () => void): void {
    if (this.next() !== open) throw this.wrong(this.found(), `${what}, which begins with '${open}'`);
    this.at += 1;
    if (this.next() === close) {
      this.at += 1;
      return;
    }
    for (;;) {
      this.next();
      item();
      const after = this.next();
      if (after !== ',' && after !== close) throw this.wrong(this.found(), `',' or '${close}' in ${what}`);
      this.at += 1;
      if (after === close) return;
    }
  }

  private expect(character: string): void {
    if (this.next() !== character) throw this.wrong(this.found(), `'${character}'`);
    this.at += 1;
  }

  /** The next character that is no white space; the empty string at the end. */
  private next(): string {
    for (; ; this.at++) {
      const character = this.text[this.at];
      if (character === undefined) return '';
      if (character !== ' ' && character !== '\n' && character !== '\r' && character !== '\t') return character;
    }
  }

  /** Whether an odd number of backslashes precedes a quote. */
  private isEscaped(quote: number): boolean {
    let from = quote;
    while (this.text[from - 1] === '\\') from -= 1;
    return (quote - from) % 2 === 1;
  }

  private found(): string {
    return this.at >= this.text.length ? 'its end' : describe(this.text.slice(this.at, this.at + 20));
  }

  private wrong(got: string, takes: string): ResiduaError {
    return invalidArgument(`${this.place}, character ${this.at}`, got, takes);
  }
}
