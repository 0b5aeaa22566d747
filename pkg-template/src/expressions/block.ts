/** The types of a residual function's arguments and result. */

import { describe, gotAndTakes, invalidArgument, invalidGraph } from '../arguments/errors.js';
import { entryAt, refusePositions } from './positions.js';
import { Value, type Scalar } from './value.js';
import { Vec2 } from './vec2.js';
import { Vec3 } from './vec3.js';
import { Vec4 } from './vec4.js';

/**
 * A parameter block with `D` numbers: D = 1 Value, 2 Vec2, 3 Vec3, 4 Vec4 (order w, x, y, z), else an array of Values. Each is a tuple:
 * `p[0]`, `p.at(i)`, `p.length` and iteration give its numbers, and a position past the end throws 'invalid-argument'.
 */
export type Block<D extends number> = number extends D
  ? Value | Vec2 | Vec3 | Vec4 | Value[]
  : D extends 1
    ? Value
    : D extends 2
      ? Vec2
      : D extends 3
        ? Vec3
        : D extends 4
          ? Vec4
          : Value[];

/** The array of a block of five numbers or more. */
class BlockValues extends Array<Value> {
  override at(index: number): Value {
    return entryAt('a block', this, index);
  }
}

// What map, slice and the like make of a block is a plain array.
Object.defineProperty(BlockValues.prototype, 'constructor', { value: Array });
refusePositions(BlockValues.prototype, 'a block', 0);

/** Returns a block of any length as an array. Reading past its end throws 'invalid-argument'. */
export function blockValues(values: Iterable<Value>): Value[] {
  return BlockValues.from(values);
}

/** N of T; a tuple for N up to 4. */
export type Tuple<T, N extends number> = N extends 1 ? [T] : N extends 2 ? [T, T] : N extends 3 ? [T, T, T] : N extends 4 ? [T, T, T, T] : T[];

/** The result of a residual function. The numbers of vectors and lists are consecutive residuals. */
export type Output = Scalar | Vec2 | Vec3 | Vec4 | readonly (Scalar | Vec2 | Vec3 | Vec4)[];

/** Returns a block of `dim` Values, each made by `next`. */
export function makeBlock(dim: number, next: () => Value): Block<number> {
  switch (dim) {
    case 1:
      return next();
    case 2:
      return new Vec2(next(), next());
    case 3:
      return new Vec3(next(), next(), next());
    case 4:
      return new Vec4(next(), next(), next(), next());
    default:
      return blockValues(Array.from({ length: dim }, next));
  }
}

/**
 * Returns the scalars of an output in order. Throws 'invalid-graph' for an empty output or one that is not made of Values, vectors and
 * numbers, and 'invalid-argument' for a number that is not finite.
 */
export function scalarsOf(argument: string, output: unknown): Scalar[] {
  const scalars: Scalar[] = [];
  if (!Array.isArray(output)) append(argument, null, output, scalars);
  else for (let i = 0; i < output.length; i++) append(argument, i, output[i], scalars);
  if (scalars.length === 0) throw invalidGraph(`${argument}: got an empty array; takes at least one Value`);
  return scalars;
}

function append(argument: string, position: number | null, entry: unknown, scalars: Scalar[]): void {
  if (entry instanceof Value) scalars.push(entry);
  else if (typeof entry === 'number' && Number.isFinite(entry)) scalars.push(entry);
  else if (entry instanceof Vec2 || entry instanceof Vec3 || entry instanceof Vec4) scalars.push(...entry);
  else {
    const where = position === null ? argument : `${argument}[${position}]`;
    if (typeof entry === 'number') throw invalidArgument(where, String(entry), 'a Value, a vector or a finite number');
    throw invalidGraph(`${where}: ${gotAndTakes(describe(entry), 'a Value, a vector, a number or an array of these')}`);
  }
}
