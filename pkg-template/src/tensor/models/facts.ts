/** What a file says of its model: numbers, flags and texts of a GGUF file's metadata or of a config.json, each under the names that either has for it. */

import { describe, invalidArgument } from '../../arguments/errors.js';

/** Values by name; those of GGUF files stand under the name of the architecture there. */
export type Facts = Readonly<Record<string, unknown>>;

/** Reads facts. A value that is missing or of another kind is an 'invalid-argument' with its name. */
export class FactReader {
  constructor(
    /** The call and what is read, in messages. */
    readonly where: string,
    private readonly facts: Facts,
    /** Which of a value's names messages have where none is there: the first is GGUF's, the second that of config.json. */
    private readonly preferred: 0 | 1,
  ) {}

  /** The value under the first of these names that is there, null where none is. */
  find(...names: string[]): { readonly name: string; readonly value: unknown } | null {
    for (const name of names) {
      const value = Object.hasOwn(this.facts, name) ? this.facts[name] : undefined;
      if (value !== undefined && value !== null) return { name, value };
    }
    return null;
  }

  /** A whole number from 1 to `most`. */
  count(names: readonly string[], otherwise?: number, most: number = 2 ** 24): number {
    return this.checked(names, otherwise, `a whole number from 1 to ${most}`, (value) => Number.isSafeInteger(value) && value > 0 && value <= most);
  }

  /** A positive number. */
  number(names: readonly string[], otherwise?: number): number {
    return this.checked(names, otherwise, 'a positive number', (value) => value > 0 && value < Infinity);
  }

  /** A positive number, null where there is none or it is 0. */
  optional(names: readonly string[]): number | null {
    const found = this.find(...names);
    return found === null || found.value === 0 ? null : this.number(names);
  }

  /** True or false. */
  flag(names: readonly string[], otherwise: boolean): boolean {
    const { name, value } = this.find(...names) ?? { name: '', value: otherwise };
    if (typeof value !== 'boolean') throw this.wrong(name, value, 'true or false');
    return value;
  }

  /** A text. */
  text(names: readonly string[], otherwise?: string): string {
    const { name, value } = this.find(...names) ?? { name: this.nameOf(names), value: otherwise };
    if (typeof value !== 'string') throw this.wrong(name, value, 'a text');
    return value;
  }

  /** An object of further facts; null where there is none. */
  inner(name: string): FactReader | null {
    const found = this.find(name);
    if (found === null) return null;
    if (typeof found.value !== 'object' || Array.isArray(found.value)) throw this.wrong(name, found.value, 'an object');
    return new FactReader(`${this.where}.${name}`, found.value as Facts, this.preferred);
  }

  /** Numbers of a list, or the one number that stands for it; none where there is nothing. */
  list(names: readonly string[]): number[] {
    const found = this.find(...names);
    if (found === null) return [];
    const values = Array.isArray(found.value) || ArrayBuffer.isView(found.value) ? Array.from(found.value as ArrayLike<unknown>) : [found.value];
    return values.map((value) => {
      const number = typeof value === 'bigint' ? Number(value) : value;
      if (typeof number !== 'number' || !Number.isFinite(number)) throw this.wrong(found.name, value, 'finite numbers');
      return number;
    });
  }

  /** The error for a fact that does not fit. */
  wrong(name: string, got: unknown, takes: string): Error {
    return invalidArgument(`${this.where}: ${name}`, describe(got), takes);
  }

  private nameOf(names: readonly string[]): string {
    return names[this.preferred] ?? (names[0] as string);
  }

  private checked(names: readonly string[], otherwise: number | undefined, takes: string, fits: (value: number) => boolean): number {
    const { name, value } = this.find(...names) ?? { name: this.nameOf(names), value: otherwise };
    const number = typeof value === 'bigint' ? Number(value) : value;
    if (typeof number !== 'number' || !fits(number)) throw this.wrong(name, value, takes);
    return number;
  }
}
