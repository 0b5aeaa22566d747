/** Kernels of the caller's own, from functions of residua's Values. Each function is called once, to record. */

import type { Scalar, Value } from '../expressions/value.js';
import { fold as foldOf, scan as scanOf, type FoldRule } from './recipe/folds.js';
import { nodeOf, operandOf, type Keep } from './recipe/operands.js';
import type { ScanOptions } from './recipe/rows.js';
import { mapValues } from './recipe/values.js';
import { Tensor, type Axes, type Axis, type Operand } from './tensor.js';

/** A Value in place of each entry. */
export type Values<A> = { -readonly [K in keyof A]: Value };
/** A tensor in place of each entry. */
export type Planes<R> = { -readonly [K in keyof R]: Tensor<'f32'> };

/**
 * A scalar function over tensors and numbers that broadcast, in single precision: integers and bools come as numbers. It is fused with what comes
 * before and after and has gradients. A function that returns a list of numbers makes as many tensors. Values from outside are constants of
 * their present numbers. Throws 'invalid-argument' for results that are no Values or numbers.
 */
export function map<A extends readonly Operand[], const R extends readonly Scalar[]>(fn: (...values: Values<A>) => R, ...inputs: A): Planes<R>;
export function map<A extends readonly Operand[]>(fn: (...values: Values<A>) => Scalar, ...inputs: A): Tensor<'f32'>;
export function map(fn: (...values: any) => unknown, ...inputs: Operand[]): unknown {
  const nodes = inputs.map((input, k) => operandOf(`map: input ${k}`, input, 'f32'));
  const { results, isList } = mapValues('map', fn, nodes);
  const tensors = results.map((node) => Tensor.make<'f32'>(node));
  return isList ? tensors : tensors[0];
}

/** A reduction of the caller's own. */
export interface Fold<S extends readonly number[]> {
  /** The state of nothing. */
  identity: S;
  /** The state of an element, by its number and its position within the reduced axes in C order. */
  lift: (x: Value, index: Value) => { [K in keyof S]: Scalar };
  /** The state of two neighbouring parts, the earlier first. It must be associative. */
  merge: (a: Values<S>, b: Values<S>) => { [K in keyof S]: Scalar };
  /** The result of a state. Default: its first number. */
  finish?: (state: Values<S>) => Scalar;
}

/** A reduction over axes by a rule: elements are lifted to states of a few numbers, which are merged in a fixed order. */
export function fold<const S extends readonly number[]>(x: Tensor<'f32'>, axes: Axes, rule: Fold<S>, options?: Keep): Tensor<'f32'> {
  return Tensor.make(foldOf(nodeOf('fold', x), axes, rule as unknown as FoldRule, options));
}

/** The same of all elements of an axis up to each: a linear recurrence, say. */
export function scan<const S extends readonly number[]>(x: Tensor<'f32'>, axis: Axis, rule: Fold<S>, options?: ScanOptions): Tensor<'f32'> {
  return Tensor.make(scanOf(nodeOf('scan', x), axis, rule as unknown as FoldRule, options));
}
