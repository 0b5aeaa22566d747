/** Random numbers: counter-based, so that a seed gives the same bits everywhere and no state is kept on a device. */

import { makeInspectable } from '../arguments/inspection.js';
import { describe, invalidArgument } from '../arguments/errors.js';
import { checkWholeNumber } from '../arguments/numeric-arguments.js';
import type { DType } from './dtype.js';
import * as distributions from './recipe/distributions.js';
import { inputNode, type Node } from './recipe/node.js';
import { nodeOf, operandOf } from './recipe/operands.js';
import { checkShape, type Shape } from './size.js';
import { Tensor, type Axis, type Operand } from './tensor.js';

/** Places are i32. */
const MOST_ELEMENTS = 2 ** 31 - 1;

/**
 * A generator: Threefry 2×32 with 20 rounds (Salmon et al. 2011). Each call draws from a stream of its own, in the order of the calls; a recipe
 * gives the same numbers whenever it is read, and in a program each run draws anew.
 */
export class Random {
  private bitsOfSeed: bigint;
  private streams = 0;
  private readonly key: Node;
  /** @internal How often a seed was set: programs that draw count their runs from there. */
  epoch = 0;

  /** Starts a generator from a seed: a whole number, of which the low 64 bits count. Throws 'invalid-argument' for anything else. */
  constructor(seed: number | bigint) {
    this.bitsOfSeed = seedOf(seed);
    this.key = inputNode('u32', [3], this);
  }

  /** What JSON.stringify writes: the seed in decimal digits, as JSON has no whole numbers of 64 bits. */
  toJSON(): { seed: string } {
    return { seed: String(this.seed) };
  }

  /** The low 64 bits of the seed. */
  get seed(): bigint {
    return this.bitsOfSeed;
  }

  /** Starts over, with the first stream, also for recipes and programs that draw from it. */
  setSeed(seed: number | bigint): void {
    this.bitsOfSeed = seedOf(seed);
    this.streams = 0;
    this.epoch++;
  }

  /** @internal Gives it another seed; recipes and programs that draw go on. */
  reseed(seed: bigint): void {
    this.bitsOfSeed = seed;
  }

  /** 32 random bits an element. */
  bits(shape: Shape): Tensor<'u32'> {
    return Tensor.make(this.draw('bits', shape));
  }
  /** Numbers in [low, high), by default [0, 1), of 24 random bits each; `low` where f32 has both bounds as one number. */
  uniform(shape: Shape, low = 0, high = 1): Tensor<'f32'> {
    return Tensor.make(distributions.uniform(this.draw('uniform', shape), low, high));
  }
  /** Whole numbers in [low, high). The chance of each is off by at most 2⁻³². */
  integers(shape: Shape, low: number, high: number): Tensor<'i32'> {
    return Tensor.make(distributions.integers(this.draw('integers', shape), low, high));
  }
  /** Normal numbers with a mean and a standard deviation, by default 0 and 1; none is further than 5.3 deviations away. */
  normal(shape: Shape, mean = 0, deviation = 1): Tensor<'f32'> {
    return Tensor.make(distributions.normal('normal', this.draw('normal', shape), mean, deviation, false));
  }
  /** Normal numbers that are within two deviations of the mean. */
  truncatedNormal(shape: Shape, mean = 0, deviation = 1): Tensor<'f32'> {
    return Tensor.make(distributions.normal('truncatedNormal', this.draw('truncatedNormal', shape), mean, deviation, true));
  }
  /** True with a probability, which broadcasts to the shape. */
  bernoulli(shape: Shape, probability: Operand<'f32'>): Tensor<'bool'> {
    return Tensor.make(distributions.bernoulli(this.draw('bernoulli', shape), operandOf('bernoulli: probability', probability, 'f32')));
  }
  /**
   * The numbers from 0 to `count` − 1 in random order: each has 32 random bits, by which they are sorted. Numbers with equal bits keep their order.
   */
  permutation(count: number): Tensor<'i32'> {
    checkWholeNumber('permutation: count', count, 0, MOST_ELEMENTS);
    return Tensor.make(distributions.ascending(this.draw('permutation', [count])));
  }
  /** An index for each row of logits along an axis, the last unless told, with the probabilities softmax(logits). */
  categorical(logits: Tensor<'f32'>, axis: Axis = -1): Tensor<'i32'> {
    const node = nodeOf('categorical: logits', logits);
    return Tensor.make(distributions.categorical(this.draw('categorical', node.shape), node, axis));
  }
  /** x with elements zeroed with a probability, and the others divided by the remaining share. */
  dropout<D extends DType>(x: Tensor<D>, probability: number): Tensor<D> {
    const node = nodeOf('dropout', x);
    return Tensor.make(distributions.dropout(this.draw('dropout', node.shape), node, probability));
  }

  private draw(operation: string, shape: unknown): Node {
    const sizes = checkShape(`${operation}: shape`, shape);
    return distributions.randomBits(this.key, this.streams++, sizes);
  }
}

function seedOf(seed: unknown): bigint {
  if (typeof seed !== 'bigint' && !(typeof seed === 'number' && Number.isSafeInteger(seed))) {
    throw invalidArgument('seed', describe(seed), 'a whole number or a bigint');
  }
  return BigInt.asUintN(64, BigInt(seed));
}

makeInspectable(Random, 'Random');
