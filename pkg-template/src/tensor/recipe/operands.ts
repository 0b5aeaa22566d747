/** What the caller gives to operations: tensors, numbers, axes, options. */

import { describe, invalidArgument } from '../../arguments/errors.js';
import { checkOptions, checkFlag } from '../../arguments/options.js';
import { checkElement, type DType } from '../dtype.js';
import { shapeText } from '../size.js';
import { Node, numberNode } from './node.js';

/** Something with a recipe: a Tensor. */
export interface Recipe {
  /** The recipe. */
  readonly node: Node;
}

/** An operand of a composition; a number takes the other operand's type. */
export type NodeOrNumber = Node | number;

/** A tensor in messages. */
export function nodeText({ dtype, shape }: Node): string {
  return `a tensor of ${dtype} of shape ${shapeText(shape)}`;
}

/** Returns the recipe of a tensor. Throws 'invalid-argument' for anything else. */
export function nodeOf(argument: string, value: unknown, takes = 'a Tensor'): Node {
  const node = typeof value === 'object' && value !== null ? (value as Partial<Recipe>).node : undefined;
  if (!(node instanceof Node)) throw invalidArgument(argument, describe(value), takes);
  return node;
}

/** Returns the recipe of a tensor, or a number of a type. Throws 'invalid-argument' for anything else and for a number that the type does not have. */
export function operandOf(argument: string, value: unknown, dtype: DType): Node {
  if (typeof value !== 'number') return nodeOf(argument, value, 'a Tensor or a number');
  checkElement(argument, value, dtype);
  return numberNode(value, dtype);
}

/** Throws 'invalid-argument' unless a tensor has one of these types. */
export function checkType(operation: string, node: Node, types: readonly DType[]): void {
  if (!types.includes(node.dtype)) throw invalidArgument(operation, nodeText(node), `a tensor of ${types.join(' or ')}`);
}

/** Types of numbers. */
export const NUMBERS: readonly DType[] = ['f32', 'f16', 'i32', 'u32', 'u8'];
/** Types of numbers, complex ones too. */
export const NUMBERS_OR_COMPLEX: readonly DType[] = [...NUMBERS, 'c64'];
/** All types but that of complex numbers. */
export const NOT_COMPLEX: readonly DType[] = [...NUMBERS, 'bool'];
/** Types of real numbers. */
export const REALS: readonly DType[] = ['f32', 'f16'];
/** Types of indices. */
export const INDICES: readonly DType[] = ['i32', 'u32'];

/** Returns an axis from 0. Throws 'invalid-argument' unless a tensor of this rank has it. */
export function checkAxis(argument: string, axis: unknown, rank: number): number {
  if (typeof axis !== 'number' || !Number.isInteger(axis) || axis < -rank || axis >= rank) {
    const takes = rank === 0 ? 'no axis, as the tensor is a scalar' : `a whole number from ${-rank} to ${rank - 1}, as the rank is ${rank}`;
    throw invalidArgument(argument, describe(axis), takes);
  }
  return axis < 0 ? axis + rank : axis;
}

/** Returns axes from 0, sorted; all of them where none is told. Throws 'invalid-argument' for an axis that is not there or stands twice. */
export function checkAxes(argument: string, axes: unknown, rank: number): number[] {
  if (axes === undefined) return Array.from({ length: rank }, (_, axis) => axis);
  const list = Array.isArray(axes) ? axes : [axes];
  const found = list.map((axis) => checkAxis(argument, axis, rank)).sort((a, b) => a - b);
  const again = found.find((axis, k) => axis === found[k + 1]);
  if (again !== undefined) throw invalidArgument(argument, `axis ${again} twice`, 'each axis at most once');
  return found;
}

/** Options of a reduction. */
export interface Keep {
  /** Leaves reduced axes, with size 1. Default false. */
  keep?: boolean;
}

/** Returns whether options ask to keep reduced axes. Throws 'invalid-argument' for other names. */
export function checkKeep(operation: string, options: Keep | undefined, names: Readonly<Record<string, true>> = { keep: true }): boolean {
  if (options === undefined) return false;
  checkOptions(`${operation}: options`, options, names);
  checkFlag(`${operation}: keep`, options.keep);
  return options.keep === true;
}
