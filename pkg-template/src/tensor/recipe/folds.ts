/** Reductions and accumulations by a rule of the caller: lift and finish become elementwise nodes, merge stands on the tape. */

import { describe, invalidArgument } from '../../arguments/errors.js';
import { checkNumber, type Value } from '../../expressions/value.js';
import { product, type Size } from '../size.js';
import { apply } from './elementwise.js';
import { constantNode, Node } from './node.js';
import { checkAxes, checkAxis, checkKeep, checkType, type Keep } from './operands.js';
import { sizeNode } from './reductions.js';
import { scanFlags, type ScanOptions } from './rows.js';
import { checkState, mapValues, ruleOf } from './values.js';
import { reshaped } from './views.js';

/** A rule, whose functions take lists. */
export interface FoldRule {
  readonly identity: readonly number[];
  readonly lift: (x: Value, index: Value) => unknown;
  readonly merge: (a: Value[], b: Value[]) => unknown;
  readonly finish?: (state: Value[]) => unknown;
}

/** Reduces axes by a rule. */
export function fold(x: Node, axes: unknown, rule: FoldRule, options?: Keep): Node {
  const keep = checkKeep('fold', options);
  const over = checkAxes('fold: axes', axes, x.shape.length);
  const shape = x.shape.filter((_, axis) => !over.includes(axis));
  const folded = byRule('fold', x, over, rule, (states, attributes, result) => new Node('fold', 'f32', shape, states, [attributes, result, ...over]));
  return keep ? reshaped(folded, x.shape.map((size, axis) => (over.includes(axis) ? 1 : size))) : folded;
}

/** Accumulates along an axis by a rule. */
export function scan(x: Node, axis: unknown, rule: FoldRule, options?: ScanOptions): Node {
  const at = checkAxis('scan: axis', axis, x.shape.length);
  const flags = scanFlags('scan', options);
  return byRule('scan', x, [at], rule, (states, attributes, result) => new Node('scanBy', 'f32', x.shape, states, [attributes, result, at, ...flags]));
}

function byRule(
  operation: string,
  x: Node,
  axes: readonly number[],
  rule: FoldRule,
  make: (states: readonly Node[], rule: { readonly rule: ReturnType<typeof ruleOf> }, result: number) => Node,
): Node {
  checkType(operation, x, ['f32']);
  if (typeof rule !== 'object' || rule === null) throw invalidArgument(`${operation}: rule`, describe(rule), '{ identity, lift, merge, finish? }');
  const { identity, lift, merge, finish } = rule;
  if (!Array.isArray(identity) || identity.length === 0) throw invalidArgument(`${operation}: identity`, describe(identity), 'a list of numbers: the state of nothing');
  identity.forEach((number, k) => checkNumber(`${operation}: identity[${k}]`, number));
  const lifted = mapValues(`${operation}: lift`, lift as (...values: Value[]) => unknown, [x, indexAlong(x, axes)]);
  checkState(`${operation}: lift`, lifted.results.length, lifted.isList, identity.length);
  const merged = { rule: ruleOf(`${operation}: merge`, identity, merge) };
  const states = identity.map((_, result) => make(lifted.results, merged, result));
  if (finish === undefined) return states[0] as Node;
  if (typeof finish !== 'function') throw invalidArgument(`${operation}: finish`, describe(finish), 'a function of a state');
  const finished = mapValues(`${operation}: finish`, (...state) => finish(state), states);
  if (finished.isList) throw invalidArgument(`${operation}: finish`, 'a list', 'a function that returns one number');
  return finished.results[0] as Node;
}

/** The position of each element within the axes, in C order. */
function indexAlong(x: Node, axes: readonly number[]): Node {
  const parts = axes.map((axis, k) => {
    const along = new Node('iota', 'i32', x.shape.map((size, other) => (other === axis ? size : 1)), [], [axis]);
    const stride = product(axes.slice(k + 1).map((inner) => x.shape[inner] as Size));
    return stride === 1 ? along : apply('mul', [along, sizeNode(stride, 'i32')]);
  });
  return parts.length === 0 ? constantNode(0, 'i32') : parts.reduce((sum, part) => apply('add', [sum, part]));
}
