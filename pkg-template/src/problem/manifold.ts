/** The manifolds of parameter blocks: sets on which a solver's steps stay. */

import { describe, invalidArgument } from '../arguments/errors.js';

/** The set on which a block lies: 'unit-quaternion' takes blocks of 4, 'unit-vector' of at least 2, 'angle' (radians) of 1. */
export type Manifold = 'euclidean' | 'unit-quaternion' | 'unit-vector' | 'angle';

/** A part of a product: a manifold, and after a space the number of its coordinates, which 'unit-quaternion' and 'angle' may omit. */
export type ManifoldPart = 'unit-quaternion' | 'unit-quaternion 4' | 'angle' | 'angle 1' | `euclidean ${number}` | `unit-vector ${number}`;

/** Manifolds of the parts of a block, one after the other. Made by manifold.product. */
export class ProductManifold {
  /** @internal */
  constructor(
    /** Its parts with their dimensions, as in 'unit-quaternion 4 × euclidean 3'. */
    readonly name: string,
    /** Numbers of a block. */
    readonly dim: number,
  ) {
    Object.freeze(this);
  }
}

/** Manifolds that are made of others. */
export const manifold = {
  /**
   * The product of two or more manifolds: the first numbers of a block lie on the first, and so on. `manifold.product('unit-quaternion',
   * 'euclidean 3')` is that of a pose in space. Throws 'invalid-argument' for a part that is not a manifold of its dimension.
   */
  product: (...parts: readonly ManifoldPart[]): ProductManifold => {
    if (parts.length < 2) throw invalidArgument('manifold.product: parts', describe(parts), 'at least two manifolds');
    let dim = 0;
    const names = parts.map((part, position) => {
      const size = dimOf(`manifold.product: parts[${position}]`, part);
      dim += size.dim;
      return `${size.manifold} ${size.dim}`;
    });
    return new ProductManifold(names.join(' × '), dim);
  },
} as const;

/** The dimensions that a manifold takes, and the one of a part without a number. */
const DIMS: Readonly<Record<Manifold, { takes: (dim: number) => boolean; only?: number }>> = {
  euclidean: { takes: () => true },
  'unit-quaternion': { takes: (dim) => dim === 4, only: 4 },
  'unit-vector': { takes: (dim) => dim >= 2 },
  angle: { takes: (dim) => dim === 1, only: 1 },
};

/** The largest dimension of a part. */
const MOST = 65_536;

function dimOf(argument: string, part: unknown): { manifold: Manifold; dim: number } {
  const [name, size, ...more] = typeof part === 'string' ? part.split(' ') : [];
  const takes = "'unit-quaternion', 'angle', 'euclidean N' or 'unit-vector N', with the number N of its coordinates";
  if (name === undefined || !Object.hasOwn(DIMS, name) || more.length > 0) throw invalidArgument(argument, describe(part), takes);
  const known = DIMS[name as Manifold];
  const dim = size === undefined ? known.only : Number(size);
  if (dim === undefined || !Number.isInteger(dim) || dim < 1 || dim > MOST || !known.takes(dim)) throw invalidArgument(argument, describe(part), takes);
  return { manifold: name as Manifold, dim };
}

/** Returns the name of a manifold of blocks of `dim`. Throws 'invalid-argument' for any other value or dimension. */
export function manifoldName(argument: string, value: unknown, dim: number): string {
  const isProduct = value instanceof ProductManifold;
  if (!isProduct && (typeof value !== 'string' || !Object.hasOwn(DIMS, value))) {
    throw invalidArgument(argument, describe(value), `one of '${Object.keys(DIMS).join("', '")}', or what manifold.product returns`);
  }
  const [name, takes] = isProduct ? [value.name, value.dim === dim] : [value, DIMS[value as Manifold].takes(dim)];
  if (!takes) throw invalidArgument(argument, `'${name}' for blocks of ${dim}`, 'the dimension that its manifold has');
  return name;
}

/** A part of the blocks on a manifold. */
export interface PartOfManifold {
  readonly manifold: Manifold;
  /** Place of its first number in a block. */
  readonly first: number;
  readonly dim: number;
}

/** The parts of the blocks on the manifold of a name. */
export function manifoldParts(name: string, dim: number): readonly PartOfManifold[] {
  let first = 0;
  return name.split(' × ').map((part) => {
    const [manifold, size = dim] = part.split(' ');
    const width = Number(size);
    return { manifold: manifold as Manifold, first: (first += width) - width, dim: width };
  });
}
