/**
 * Sizes of axes: numbers, or polynomials in dims, which are told at each run. Arithmetic on sizes gives a number wherever no dim is left, so
 * a Dim is never a number in disguise, and two sizes are one where their polynomials are.
 */

import { makeInspectable } from '../arguments/inspection.js';
import { describe, invalidArgument, ResiduaError } from '../arguments/errors.js';
import { checkName, checkObject, checkWholeNumber } from '../arguments/numeric-arguments.js';

/**
 * A size that is told at each run. Memory is laid out for the largest one. `plus` gives a Dim that is larger by a number or by another Dim;
 * an operation may give other Dims, such as the product of two.
 */
export interface Dim {
  /** Its name, by which a run tells the size; of a sum or product the formula. */
  readonly name: string;
  /** The largest size; the smallest is 0. */
  readonly max: number;
  /** This and another size. Throws 'invalid-argument' for what is no whole number or Dim. */
  plus(n: Size): Dim;
  /** What JSON.stringify writes: its name. */
  toJSON(): string;
}

/** A number of elements: a whole number from 0, or a Dim. */
export type Size = number | Dim;

/** The sizes of a tensor's axes, the outermost first. */
export type Shape = readonly Size[];

/** A term: a coefficient and the dims that it multiplies, sorted by name. */
interface Term {
  readonly coefficient: number;
  readonly dims: readonly Extent[];
  /** The names of its dims, which tell it from other terms. */
  readonly key: string;
}

/** Σ coefficient · Π dims with at least one dim. Its terms are sorted by their dims and no coefficient is 0. */
export class Extent implements Dim {
  readonly name: string;
  readonly max: number;
  /** The smallest value; negative where a dim is subtracted. */
  readonly min: number;
  /** Equal for equal polynomials alone. */
  readonly key: string;
  readonly terms: readonly Term[];

  private constructor(terms: readonly Term[], name?: string, max?: number) {
    this.terms = terms.length > 0 ? terms : [{ coefficient: 1, dims: [this], key: JSON.stringify(name) }];
    this.key = this.terms.map(({ coefficient, key }) => `${coefficient}*${key}`).join('+');
    this.name = name ?? this.terms.map(termName).join(' + ').replaceAll('+ -', '- ');
    this.max = max ?? this.bound((coefficient) => coefficient > 0);
    this.min = name === undefined ? this.bound((coefficient) => coefficient < 0) : 0;
  }

  /** The dim that a run tells by a name. */
  static named(name: string, max: number): Extent {
    return new Extent([], name, max);
  }

  /** The sum of terms: a number where no dim is left. */
  static of(terms: Iterable<Term>): Size {
    const sums = new Map<string, Term>();
    for (const term of terms) {
      const coefficient = term.coefficient + (sums.get(term.key)?.coefficient ?? 0);
      sums.set(term.key, { ...term, coefficient });
    }
    const left = [...sums.values()].filter(({ coefficient }) => coefficient !== 0);
    // Higher degrees come first, as polynomials are written.
    left.sort((a, b) => b.dims.length - a.dims.length || (a.key < b.key ? -1 : 1));
    const [first] = left;
    if (first === undefined) return 0;
    if (left.length === 1 && first.dims.length === 0) return first.coefficient;
    if (left.length === 1 && first.dims.length === 1 && first.coefficient === 1) return first.dims[0] as Extent;
    return new Extent(left);
  }

  /** Its name in messages, where the class has another one. */
  get [Symbol.toStringTag](): string {
    return 'Dim';
  }

  toJSON(): string {
    return this.name;
  }

  plus(n: Size): Dim {
    if (typeof n === 'number' ? !Number.isInteger(n) : !(n instanceof Extent)) {
      throw invalidArgument('plus', describe(n), 'a whole number or a Dim');
    }
    const sum = plus(this, n);
    if (typeof sum === 'number') throw invalidArgument('plus', describe(n), 'a size with which the sum is still a Dim');
    return sum;
  }

  private bound(counts: (coefficient: number) => boolean): number {
    const value = ({ coefficient, dims }: Term) =>
      dims.length === 0 || counts(coefficient) ? dims.reduce((product, { max }) => product * max, coefficient) : 0;
    return this.terms.reduce((sum, term) => sum + value(term), 0);
  }
}

/**
 * Returns a size that is told at each run: a whole number from 0 to `max`. Dims of one name are one and must have one `max`. Throws
 * 'invalid-argument' for an empty name or a `max` that is no whole number.
 */
export function dim(name: string, max: number): Dim {
  checkName('dim: name', name);
  checkWholeNumber('dim: max', max, 0);
  return Extent.named(name, max);
}

function termName({ coefficient, dims }: Term): string {
  const names = dims.map(({ name }) => name).join('·');
  if (names === '') return String(coefficient);
  return coefficient === 1 ? names : coefficient === -1 ? `-${names}` : `${coefficient}·${names}`;
}

function termOf(coefficient: number, dims: readonly Extent[]): Term {
  const sorted = [...dims].sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  return { coefficient, dims: sorted, key: sorted.map(({ name }) => JSON.stringify(name)).join('*') };
}

/** The terms of a size: of the number 0 none. */
export function termsOf(size: Size): readonly { readonly coefficient: number; readonly dims: readonly Dim[] }[] {
  return terms(size);
}

function terms(size: Size): readonly Term[] {
  if (size instanceof Extent) return size.terms;
  return size === 0 ? [] : [termOf(size as number, [])];
}

/** a + b */
export function plus(a: Size, b: Size): Size {
  if (typeof a === 'number' && typeof b === 'number') return a + b;
  return Extent.of([...terms(a), ...terms(b)]);
}

/** a − b */
export function minus(a: Size, b: Size): Size {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  return plus(a, times(b, -1));
}

/** a · b */
export function times(a: Size, b: Size): Size {
  if (typeof a === 'number' && typeof b === 'number') return a * b;
  const of = terms(b);
  return Extent.of(terms(a).flatMap((x) => of.map((y) => termOf(x.coefficient * y.coefficient, [...x.dims, ...y.dims]))));
}

/** The product of sizes; of none 1. */
export function product(sizes: Shape): Size {
  return sizes.reduce<Size>(times, 1);
}

/** Whether two sizes are one, whatever the dims are. */
export function sameSize(a: Size, b: Size): boolean {
  return a === b || (a instanceof Extent && b instanceof Extent && a.key === b.key);
}

/** Whether two shapes are one, whatever the dims are. */
export function sameShape(a: Shape, b: Shape): boolean {
  return a.length === b.length && a.every((size, axis) => sameSize(size, b[axis] as Size));
}

/** a / b where it is a polynomial with whole coefficients, else null. Polynomial long division. */
export function quotient(a: Size, b: Size): Size | null {
  const [lead] = terms(b);
  if (lead === undefined) return null;
  let [rest, found]: Size[] = [a, 0];
  for (let step = 0; !sameSize(rest as Size, 0); step++) {
    const [first] = terms(rest as Size);
    const part = first === undefined || step > 64 ? null : termQuotient(first, lead);
    if (part === null) return null;
    found = plus(found as Size, part);
    rest = minus(rest as Size, times(part, b));
  }
  return found as Size;
}

function termQuotient(a: Term, b: Term): Size | null {
  const dims = [...a.dims];
  for (const divisor of b.dims) {
    const place = dims.findIndex(({ name }) => name === divisor.name);
    if (place < 0) return null;
    dims.splice(place, 1);
  }
  const coefficient = a.coefficient / b.coefficient;
  return Number.isInteger(coefficient) ? Extent.of([termOf(coefficient, dims)]) : null;
}

/** The value of a size where the dims have these values. */
export function sizeAt(size: Size, valueOf: (dim: Dim) => number): number {
  if (typeof size === 'number') return size;
  return terms(size).reduce((sum, { coefficient, dims }) => sum + dims.reduce((found, each) => found * valueOf(each), coefficient), 0);
}

/** The largest value of a size. */
export function largest(size: Size): number {
  return typeof size === 'number' ? size : size.max;
}

/** The smallest value of a size. */
export function smallest(size: Size): number {
  return size instanceof Extent ? size.min : (size as number);
}

/** A size in messages. */
export function sizeText(size: Size): string {
  return typeof size === 'number' ? String(size) : size.name;
}

/** A shape in messages. */
export function shapeText(shape: Shape): string {
  return `[${shape.map(sizeText).join(', ')}]`;
}

/** Whether something is a whole number from `least` or a Dim. */
export function isSize(value: unknown, least = 0): value is Size {
  return typeof value === 'number' ? Number.isInteger(value) && value >= least : value instanceof Extent;
}

/** Throws 'invalid-argument' unless `value` is a whole number from 0 or a Dim. */
export function checkSize(argument: string, value: unknown): asserts value is Size {
  if (!isSize(value)) throw invalidArgument(argument, describe(value), 'a whole number of at least 0 or a Dim');
}

/** Returns a copy of a shape. Throws 'invalid-argument' unless it is an array of sizes. */
export function checkShape(argument: string, value: unknown): Shape {
  if (!Array.isArray(value)) throw invalidArgument(argument, describe(value), 'an array of sizes');
  value.forEach((size, axis) => checkSize(`${argument}[${axis}]`, size));
  return Object.freeze([...(value as Size[])]);
}

/** Returns the sizes as numbers. Throws 'invalid-argument' where there is a Dim. */
export function knownSizes(argument: string, shape: Shape): number[] {
  return shape.map((size) => {
    if (typeof size === 'number') return size;
    throw new ResiduaError('invalid-argument', `${argument}: got the Dim ${size.name}; takes a shape of numbers, as ${shapeText(shape)} is not known before a run`);
  });
}

/** Sizes of the names in shapes. */
export type Dims = Readonly<Record<string, Size>>;

/** Throws 'invalid-argument' unless an option has sizes by name: whole numbers, and Dims that are no sums. */
export function checkDims(argument: string, value: unknown): asserts value is Dims {
  checkObject(argument, value);
  for (const [name, size] of Object.entries(value as Record<string, unknown>)) {
    const isNumber = typeof size === 'number' && Number.isSafeInteger(size) && size >= 0;
    const [term, ...others] = typeof size === 'object' && size !== null && 'plus' in size ? termsOf(size as Size) : [];
    const isDim = term !== undefined && others.length === 0 && term.coefficient === 1 && term.dims.length === 1 && term.dims[0] === size;
    if (!isNumber && !isDim) throw invalidArgument(`${argument}.${name}`, describe(size), 'a whole number, or a Dim that dim() made');
  }
}

makeInspectable(Extent, 'Dim');
