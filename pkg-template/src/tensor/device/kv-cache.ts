/** Keys and values of a decoder: memory of a fixed size, of which a run writes the part of its tokens. */

import { makeInspectable } from '../../arguments/inspection.js';
import { describe, invalidArgument, invalidGraph, ResiduaError } from '../../arguments/errors.js';
import { checkWholeNumber } from '../../arguments/numeric-arguments.js';
import { checkOptions, type OptionNames } from '../../arguments/options.js';
import { makeDisposable } from '../../compile/dispose.js';
import { isSize, plus, sameShape, sameSize, shapeText, sizeText, smallest, type Size } from '../size.js';
import { Tensor } from '../tensor.js';
import { Body } from './body.js';
import type { StoredTensor } from './stored-tensor.js';

/** Sizes of a cache. */
export interface KvCacheOptions {
  /** Layers, each with keys and values of its own. */
  layers: number;
  /** Heads of the keys and values. */
  heads: number;
  /** Numbers a head. */
  size: number;
  /** Tokens that there is room for. */
  capacity: number;
  /** Sequences. Keys and values then have a first axis of this size. Without it they have none. */
  batch?: number;
  /** Type in which they are stored. Default 'f16'. */
  dtype?: 'f16' | 'f32';
}

const KV_CACHE_OPTIONS: OptionNames<KvCacheOptions> = { layers: true, heads: true, size: true, capacity: true, batch: true, dtype: true };

/** Keys and values of a layer. */
interface Layer {
  readonly k: StoredTensor;
  readonly v: StoredTensor;
}

/** Stores zeros of a type and a shape. */
export type StoreZeros = (what: string, dtype: 'f16' | 'f32', sizes: readonly number[]) => StoredTensor;

/**
 * Keys and values of a decoder for `capacity` tokens, in memory that never grows or moves: 2 · layers stored tensors of [batch?, heads, capacity,
 * size]. `Device.kvCache` makes it. Runs of a program write the tokens that they add, and read those up to them; what stands beyond is never read.
 */
export class KvCache {
  /** Tokens that there is room for. */
  readonly capacity: number;
  /** The same as dispose(), for `using`. */
  declare readonly [Symbol.dispose]: () => void;
  private disposed = false;

  private constructor(
    private readonly layers: readonly Layer[],
    /** Sizes of keys and of values, of which the last but one is the capacity. */
    private readonly sizes: readonly number[],
  ) {
    this.capacity = sizes.at(-2) as number;
  }

  /** @internal Makes a cache. Throws 'invalid-argument', and what `zeros` throws. */
  static make(options: KvCacheOptions, zeros: StoreZeros): KvCache {
    checkOptions('kvCache: options', options, KV_CACHE_OPTIONS);
    const { layers: count, heads, size, capacity, batch, dtype = 'f16' } = options;
    for (const [name, value] of Object.entries({ layers: count, heads, size, capacity, ...(batch === undefined ? {} : { batch }) })) {
      checkWholeNumber(`kvCache: ${name}`, value, 1);
    }
    if (dtype !== 'f16' && dtype !== 'f32') throw invalidArgument('kvCache: dtype', describe(dtype), "'f16' or 'f32'");
    const sizes = [...(batch === undefined ? [] : [batch]), heads, capacity, size];
    const stored: StoredTensor[] = [];
    try {
      for (let k = 0; k < 2 * count; k++) stored.push(zeros(`kvCache: the ${k % 2 === 0 ? 'keys' : 'values'} of layer ${k >> 1} of ${count}`, dtype, sizes));
    } catch (error) {
      for (const tensor of stored) tensor.dispose();
      throw error;
    }
    const layers = Array.from({ length: count }, (_, layer) => ({ k: stored[2 * layer] as StoredTensor, v: stored[2 * layer + 1] as StoredTensor }));
    return new KvCache(layers, sizes);
  }

  /**
   * In the body of a compile: puts keys and values [batch?, heads, tokens, size] of f32 or f16 of a layer at the tokens from `position` on, at each
   * run, and returns all keys and values up to the last of these, [batch?, heads, position + tokens, size] in the cache's type. They are views: no
   * element is copied, and those that are added are converted as they are written. Tokens may be a Dim. Throws 'invalid-argument', 'invalid-graph'
   * outside of a body, 'disposed'. A run that goes beyond the capacity throws 'invalid-argument' and changes nothing.
   */
  append(layer: number, k: Tensor, v: Tensor, position: Size): { k: Tensor; v: Tensor } {
    if (this.disposed) throw new ResiduaError('disposed', 'append: the KvCache was used after dispose()');
    if (!Body.isActive) throw invalidGraph('append: got a call outside of the body of a compile; takes calls inside');
    checkWholeNumber('append: layer', layer, 0, this.layers.length - 1);
    if (!isSize(position)) throw invalidArgument('append: position', describe(position), 'a whole number from 0 or a Dim');
    const tokens = this.check('append: k', k);
    if (!sameSize(tokens, this.check('append: v', v))) throw invalidArgument('append: v', shapeText(v.shape), `as many tokens as k has, ${sizeText(tokens)}`);
    const end = plus(position, tokens);
    if (smallest(end) > this.capacity) throw invalidArgument('append: position', `${sizeText(position)} with ${sizeText(tokens)} tokens`, `at most ${this.capacity} tokens, the capacity`);
    const cells = this.layers[layer] as Layer;
    return { k: put(cells.k, k, position, end), v: put(cells.v, v, position, end) };
  }

  /** What JSON.stringify writes: layers, and the type and shape of the keys and of the values of each. */
  toJSON(): { layers: number; dtype: string; shape: readonly number[] } {
    return { layers: this.layers.length, dtype: (this.layers[0] as Layer).k.dtype, shape: this.sizes };
  }

  /** Frees its memory after the work that was asked for so far. Programs that use it then throw 'disposed'. A second call does nothing. */
  dispose(): void {
    if (this.disposed) return;
    this.disposed = true;
    for (const { k, v } of this.layers) {
      k.dispose();
      v.dispose();
    }
  }

  /** Returns the number of tokens of keys or values. */
  private check(argument: string, x: unknown): Size {
    const takes = `a Tensor of f32 or f16 of shape ${shapeText(this.sizes).replace(`${this.capacity},`, 'tokens,')}`;
    if (!(x instanceof Tensor)) throw invalidArgument(argument, describe(x), takes);
    const { dtype, shape } = x as Tensor;
    const tokens = shape.at(-2);
    const isFit = tokens !== undefined && sameShape(shape, this.sizes.map((size, axis) => (axis === this.sizes.length - 2 ? tokens : size)));
    if (!isFit || (dtype !== 'f32' && dtype !== 'f16')) throw invalidArgument(argument, `${dtype} ${shapeText(shape)}`, takes);
    return tokens;
  }
}

makeDisposable(KvCache);
makeInspectable(KvCache, 'KvCache');

/** Puts what is new at a position, and returns all up to an end. */
function put(cell: StoredTensor, added: Tensor, position: Size, end: Size): Tensor {
  const outer = cell.shape.slice(0, -2);
  cell.assignAt([...outer.map(() => 0), position], added.cast(cell.dtype));
  return cell.slice(...outer.map(() => null), [0, end]);
}
