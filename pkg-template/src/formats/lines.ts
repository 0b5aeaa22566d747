/** Texts of numbers in lines: words, numbers, and errors with the line's number. */

import { describe, ResiduaError, invalidArgument } from '../arguments/errors.js';

/** Number() also accepts hexadecimal, empty strings and "Infinity". */
const DECIMAL = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/;

/** What a quaternion of this length is divided by: one that has length 1 but for rounding keeps its bits. */
export function quaternionScale(length: number): number {
  return Math.abs(length - 1) <= 1e-15 ? 1 : length;
}

/**
 * Returns the length of the quaternion that begins the pose in space at a position. Throws 'invalid-argument' for one without a direction. `argument` names
 * the poses.
 */
export function quaternionLength(argument: string, poses: Float64Array, position: number): number {
  const length = Math.hypot(...poses.subarray(7 * position, 7 * position + 4));
  if (!(length > 0 && length < Infinity)) {
    throw invalidArgument(argument, `a quaternion of length ${length} at position ${position}`, 'quaternions that have a direction');
  }
  return length;
}

/** Returns an 'invalid-argument' error with a line's number. */
export function lineError(reader: string, line: number, got: string, takes: string): ResiduaError {
  return invalidArgument(`${reader}: line ${line}`, got, takes);
}

/** One line of a text. */
export class Line {
  constructor(
    private readonly reader: string,
    /** From 1. */
    readonly number: number,
    readonly words: readonly string[],
  ) {}

  /** Returns an 'invalid-argument' error with the line's number. */
  error(got: string, takes: string): ResiduaError {
    return lineError(this.reader, this.number, got, takes);
  }

  /** Returns the finite number at a position. `where` follows the word in messages. */
  finite(position: number, where = ''): number {
    const word = this.words[position] ?? '';
    const value = DECIMAL.test(word) ? Number(word) : Number.NaN;
    if (!Number.isFinite(value)) throw this.error(describe(word) + where, 'a finite decimal number');
    return value;
  }

  /** Returns the whole number at a position, from 0 and below `limit`. */
  whole(position: number, limit: number, what: string): number {
    const word = this.words[position] ?? '';
    const value = /^\d+$/.test(word) ? Number(word) : Number.NaN;
    if (!(value < limit)) throw this.error(describe(word), `${what}, a whole number from 0 below ${limit}`);
    return value;
  }
}

/** Calls `read` for each line with words. A word that begins with '#' begins a comment, to the end of the line. Returns the last line. */
export function readLines(reader: string, text: unknown, read: (line: Line) => void): Line {
  if (typeof text !== 'string') throw invalidArgument(`${reader}: text`, describe(text), 'the text of a file');
  const lines = text.split(/\r\n|\n|\r/);
  lines.forEach((content, index) => {
    const words = content.match(/\S+/g) ?? [];
    const comment = content.includes('#') ? words.findIndex((word) => word.startsWith('#')) : -1;
    if (comment >= 0) words.length = comment;
    if (words.length > 0) read(new Line(reader, index + 1, words));
  });
  return new Line(reader, lines.length, []);
}

/** A finite number as text that is read as the same bits. */
export const numberText = (value: number): string => (Object.is(value, -0) ? '-0' : String(value));
