/** Values of JSON as a model has them: each is read by its name and checked, so that a damaged file is an error with a place. */

import { describe, invalidArgument, type ResiduaError } from '../../arguments/errors.js';

/** An object of JSON. */
export class Fields {
  constructor(
    /** The object, in messages. */
    readonly place: string,
    private readonly values: object,
  ) {}

  /** An object, or an error with the place. */
  static of(place: string, value: unknown): Fields {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) throw invalidArgument(place, describe(value), 'an object');
    return new Fields(place, value);
  }

  get names(): readonly string[] {
    return Object.keys(this.values);
  }

  /** A value of any kind; null of one that is absent or undefined too. */
  any(name: string): unknown {
    return (Object.hasOwn(this.values, name) ? (this.values as Record<string, unknown>)[name] : null) ?? null;
  }

  has(name: string): boolean {
    return this.any(name) !== null;
  }

  text(name: string, fallback?: string): string {
    const value = this.any(name) ?? fallback;
    if (typeof value !== 'string') throw this.wrong(name, value, 'a text');
    return value;
  }

  /** One of the texts that a value may be. */
  choice<T extends string>(name: string, choices: readonly T[], fallback?: T): T {
    const value = this.text(name, fallback) as T;
    if (!choices.includes(value)) throw this.wrong(name, value, choices.map((each) => `'${each}'`).join(' or '));
    return value;
  }

  flag(name: string, fallback = false): boolean {
    const value = this.any(name) ?? fallback;
    if (typeof value !== 'boolean') throw this.wrong(name, value, 'true or false');
    return value;
  }

  number(name: string, fallback?: number): number {
    const value = this.any(name) ?? fallback;
    if (typeof value !== 'number') throw this.wrong(name, value, 'a number');
    return value;
  }

  int(name: string, fallback?: number): number {
    const value = this.number(name, fallback);
    if (!Number.isSafeInteger(value)) throw this.wrong(name, value, 'a whole number');
    return value;
  }

  /** Whole numbers in a list; one number stands for `count` of them, where that is told. */
  ints(name: string, count?: number, fallback?: readonly number[]): readonly number[] {
    const value = this.any(name) ?? fallback;
    const list = typeof value === 'number' ? Array.from({ length: count ?? 1 }, () => value) : value;
    if (!Array.isArray(list) || !list.every((each) => Number.isSafeInteger(each)) || (count !== undefined && list.length !== count)) throw this.wrong(name, value, `${count ?? 'a list of'} whole numbers`);
    return list as readonly number[];
  }

  list(name: string, fallback?: readonly unknown[]): readonly unknown[] {
    const value = this.any(name) ?? fallback;
    if (!Array.isArray(value)) throw this.wrong(name, value, 'a list');
    return value as readonly unknown[];
  }

  object(name: string): Fields {
    return Fields.of(`${this.place}: ${name}`, this.any(name));
  }

  /** Objects in a list. */
  objects(name: string, fallback?: readonly unknown[]): Fields[] {
    return this.list(name, fallback).map((value, k) => Fields.of(`${this.place}: ${name}[${k}]`, value));
  }

  /** The same object with other values too. */
  with(values: object): Fields {
    return new Fields(this.place, { ...this.values, ...values });
  }

  wrong(name: string, got: unknown, takes: string): ResiduaError {
    return invalidArgument(`${this.place}: ${name}`, got === null || got === undefined ? 'none' : describe(got), takes);
  }
}
