/** Checks of the names of options: a misspelt option would silently have no effect. */

import { describe, invalidArgument, ResiduaError } from './errors.js';
import { checkObject } from './numeric-arguments.js';

/** The names of all options of `T`. The compiler finds one that is missing here. */
export type OptionNames<T> = Readonly<Record<keyof T & string, true>>;

/** Throws 'invalid-argument' unless `value` is an object whose keys are all in `names`. The message has the nearest name. */
export function checkOptions(argument: string, value: unknown, names: Readonly<Record<string, true>>): asserts value is object {
  checkObject(argument, value);
  for (const key of Object.keys(value)) {
    if (Object.hasOwn(names, key)) continue;
    const known = Object.keys(names);
    const near = nearest(key, known);
    const advice = near === null ? `takes '${known.join("', '")}'` : `did you mean '${near}'?`;
    throw new ResiduaError('invalid-argument', `${argument}: got the unknown option ${describe(key)}; ${advice}`);
  }
}

/** Throws 'invalid-argument' unless `value` is undefined, true or false. */
export function checkFlag(argument: string, value: unknown): asserts value is boolean | undefined {
  if (value !== undefined && typeof value !== 'boolean') throw invalidArgument(argument, describe(value), 'true or false');
}

/** Returns the options that are in `names`. */
export function pickOptions<T extends object>(options: object, names: OptionNames<T>): T {
  return Object.fromEntries(Object.entries(options).filter(([key]) => Object.hasOwn(names, key))) as T;
}

/** Returns the name with the fewest edits, if they are few for its length, or one that begins as `key` does; else null. */
function nearest(key: string, names: readonly string[]): string | null {
  const low = key.toLowerCase();
  let best: { name: string; edits: number } | null = null;
  for (const name of names) {
    const other = name.toLowerCase();
    const begins = low.length >= 3 && (other.startsWith(low) || low.startsWith(other));
    const edits = begins ? 0.5 : distance(low, other);
    if (edits <= Math.max(1, name.length / 3) && edits < (best?.edits ?? Infinity)) best = { name, edits };
  }
  return best?.name ?? null;
}

/** The number of insertions, deletions and replacements of characters between two words. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] as number) + Number(a[i - 1] !== b[j - 1]);
      next.push(Math.min(replaced, (row[j] as number) + 1, (next[j - 1] as number) + 1));
    }
    row = next;
  }
  return row[b.length] as number;
}
