/** Loops over tensors: a body that is recorded and compiled once, and runs many times. */

import { describe, invalidArgument } from '../arguments/errors.js';
import { checkWholeNumber } from '../arguments/numeric-arguments.js';
import { checkFlag, checkOptions, type OptionNames } from '../arguments/options.js';
import { inFormOf, type Group } from './device/results.js';
import type { DType } from './dtype.js';
import { scan as scanByRule, type Fold } from './map.js';
import { apply, where } from './recipe/elementwise.js';
import { asRow, rowAt } from './recipe/loop-gradient.js';
import { heldNode, Loop, newCounter, stepsTo } from './recipe/loop.js';
import { complexOfPairs, constantNode, inMemory, type Node } from './recipe/node.js';
import { checkAxis, INDICES, nodeText } from './recipe/operands.js';
import { sizeNode } from './recipe/reductions.js';
import type { ScanOptions } from './recipe/rows.js';
import { permute } from './recipe/views.js';
import { isSize, largest, minus, sameShape, sameSize, sizeText, type Size } from './size.js';
import { Tensor, type Axis } from './tensor.js';

/** A tensor, or a list or record of tensors, in the form of T. */
export type Like<T> = T extends Tensor<infer D> ? Tensor<D> : { -readonly [K in keyof T]: T[K] extends Tensor<infer D> ? Tensor<D> : never };

/** Options of `loop`. */
export interface LoopOptions {
  /** With a count on the device: the most steps that it can mean. */
  most?: number;
}

/** Options of `scan` with a body. */
export interface ScanBodyOptions {
  /** The axis of the inputs along which steps take slices, and of the outputs. Default 0. */
  axis?: Axis;
  /** Goes from the last slice to the first; outputs stand where their slices do. Default false. */
  reverse?: boolean;
}

const LOOP_OPTIONS: OptionNames<LoopOptions> = { most: true };
const SCAN_OPTIONS: OptionNames<ScanBodyOptions> = { axis: true, reverse: true };

/** A tensor with its name in messages. */
interface Part {
  readonly name: string;
  readonly node: Node;
}

/**
 * The state after `count` steps of a body: body(state, i) gives the state after step i, a scalar of i32, from that before it. A state is a tensor, or a list or record of
 * tensors of any types and shapes, which the body keeps. The body is called once, to record; the plan and the time to compile do not depend on the count. What it uses
 * besides the state may be any tensors from outside. What does not depend on the state or the step is computed once, random numbers too.
 *
 * The count is a whole number, a Dim, or a tensor on the device, one number of i32 or u32: of the `most` steps, which all run, those from the count on leave the state as it is.
 *
 * grad() goes through a loop with memory for about 2 √count states: every √count steps one is kept, and the steps between are computed once more. Derivatives of such derivatives
 * are refused with 'invalid-graph'. Throws 'invalid-argument' for a count that is negative or not whole, and for a body that does not give a state as it got.
 */
export function loop<const S extends Tensor | Group>(count: Size | Tensor<'i32'> | Tensor<'u32'>, state: S, body: (state: Like<S>, i: Tensor<'i32'>) => S | Like<S>, options: LoopOptions = {}): Like<S> {
  checkOptions('loop: options', options, LOOP_OPTIONS);
  const { most } = options;
  const limit = count instanceof Tensor ? null : count;
  if (limit !== null && !isSize(limit)) throw invalidArgument('loop: count', describe(count), 'a whole number of at least 0, a Dim, or a Tensor of one number');
  if (limit !== null && most !== undefined) throw invalidArgument('loop: most', describe(most), 'no number, as the count is known without it');
  if (limit === null) checkCount(count as Tensor, most);
  const end = limit === null ? sizeNodeOf(count as Tensor) : null;
  const { states } = recorded('loop', limit ?? (most as number), state, null, body, (next, held, i) => (end === null ? next : where(apply('lt', [i, end]), next, held)));
  return states as Like<S>;
}

function checkCount({ dtype, shape, node }: Tensor, most: unknown): void {
  if (!INDICES.includes(dtype) || shape.some((size) => size !== 1)) throw invalidArgument('loop: count', nodeText(node), 'one number of i32 or u32');
  checkWholeNumber('loop: most', most, 0, 2 ** 31 - 1);
}

/** A count on the device as a scalar of i32. */
function sizeNodeOf(count: Tensor): Node {
  const { node } = count.reshape([]);
  return (count.dtype === 'u32' ? Tensor.make(node).minimum(2 ** 31 - 1).cast('i32').node : node);
}

/**
 * Steps along an axis, the first unless told: body(state, slices, i) gives [state, outputs], the state after step i and any tensors, which are stacked along the axis. Returns
 * [state, outputs]: the last state, and the stacked outputs in the form that the body gave them in. Inputs, state and outputs are each a tensor, or a list or record of tensors; inputs
 * have one size along the axis, a number or a Dim. Slices have the shape without the axis. Outputs may also be left out, `[state]`, or null. For the rest it is as loop() is.
 */
export function scan<const X extends Tensor | Group, const S extends Tensor | Group, const Y extends Tensor | Group | null | undefined = undefined>(
  inputs: X,
  state: S,
  body: (state: Like<S>, slices: Like<X>, i: Tensor<'i32'>) => readonly [state: S | Like<S>, outputs?: Y],
  options?: ScanBodyOptions,
): [state: Like<S>, outputs: Y extends Tensor | Group ? Like<Y> : undefined];
/** The elements of an axis up to each, combined by an associative rule, as fold() does all of them: a linear recurrence, say. It runs in parallel, in one kernel. */
export function scan<const S extends readonly number[]>(x: Tensor<'f32'>, axis: Axis, rule: Fold<S>, options?: ScanOptions): Tensor<'f32'>;
export function scan(inputs: unknown, state: unknown, body: unknown, options: unknown = {}): unknown {
  if (typeof body !== 'function' && typeof state === 'number') return scanByRule(inputs as Tensor<'f32'>, state, body as Fold<readonly number[]>, options as ScanOptions);
  checkOptions('scan: options', options, SCAN_OPTIONS);
  const { axis = 0, reverse } = options as ScanBodyOptions;
  checkFlag('scan: reverse', reverse);
  const given = partsOf('scan: inputs', inputs);
  const [first] = given;
  if (first === undefined) throw invalidArgument('scan: inputs', 'no tensors', 'at least one: loop() takes none');
  const moved = given.map(({ name, node }) => moveAxis(node, checkAxis(`${name}: axis`, axis, node.shape.length), 0));
  const count = (moved[0] as Node).shape[0] as Size;
  moved.forEach(({ shape }, k) => {
    if (!sameSize(shape[0] as Size, count)) throw invalidArgument((given[k] as Part).name, `size ${sizeText(shape[0] as Size)} along axis ${axis}`, `${sizeText(count)}, as ${first.name} has`);
  });
  const slices = { form: inputs, nodes: moved, isReversed: reverse === true };
  const { states, outputs } = recorded('scan', count, state, slices, body, (next) => next);
  return [states, outputs === undefined ? undefined : inFormOf(outputs.form, outputs.stacks.map((node, k) => Tensor.make(moveAxis(node, 0, checkAxis(`${(outputs.names[k] as string)}: axis`, axis, node.shape.length)))))];
}

/** What a scan takes slices of. */
interface Scanned {
  readonly form: unknown;
  readonly nodes: readonly Node[];
  readonly isReversed: boolean;
}

interface Recorded {
  readonly states: unknown;
  readonly outputs: { readonly form: unknown; readonly names: readonly string[]; readonly stacks: readonly Node[] } | undefined;
}

/** Records a body and makes its loop. `settled` makes the state after a step from what the body gave and what it got. */
function recorded(call: string, limit: Size, state: unknown, scanned: Scanned | null, body: unknown, settled: (next: Node, held: Node, i: Node) => Node): Recorded {
  if (typeof body !== 'function') throw invalidArgument(`${call}: body`, describe(body), 'a function');
  const given = partsOf(`${call}: state`, state);
  const counter = newCounter(largest(limit) - 1);
  const place = scanned?.isReversed === true ? minus(minus(limit, 1), counter.dim) : counter.dim;
  const i = sizeNode(counter.dim, 'i32');
  const memory = given.map(({ node }) => heldNode(inMemory(node)));
  const held = memory.map((node, k) => ofType(node, (given[k] as Part).node.dtype));
  const stateOf = (nodes: readonly Node[]) => inFormOf(state, nodes.map((node) => Tensor.make(node)));
  const slices = scanned?.nodes.map((node) => ofType(rowAt(inMemory(node), place), node.dtype));
  const counting = Tensor.make(i);
  const result: unknown = slices === undefined ? body(stateOf(held), counting) : body(stateOf(held), inFormOf(scanned?.form, slices.map((node) => Tensor.make(node))), counting);
  if (scanned !== null && (!Array.isArray(result) || result.length < 1 || result.length > 2)) throw invalidArgument(`${call}: the result of body`, describe(result), '[state, outputs]');
  const [after, outputs] = (scanned === null ? [result, undefined] : result) as [unknown, unknown];
  const next = alike(given, partsOf(`${call}: the state that body gives`, after), `${call}: state`, `${call}: the state that body gives`);
  const left = outputs === undefined || outputs === null ? [] : partsOf(`${call}: the outputs that body gives`, outputs);
  const isNever = limit === 0;
  const loop = new Loop(stepsTo(limit), counter);
  const states = given.map(({ node: first }, k) => {
    const node = settled(next[k] as Node, held[k] as Node, i);
    return isNever ? first : ofType(loop.carry({ first: inMemory(first), held: memory[k] as Node, next: inMemory(node) }), first.dtype);
  });
  const stacks = left.map(({ node }) => (isNever ? constantNode(0, node.dtype, [0, ...node.shape]) : ofType(loop.stack(asRow(inMemory(node)), place, limit), node.dtype)));
  return { states: stateOf(states), outputs: left.length === 0 && (outputs === undefined || outputs === null) ? undefined : { form: outputs, names: left.map(({ name }) => name), stacks } };
}

/** A node of a type, from how it lies in memory. */
function ofType(memory: Node, dtype: DType): Node {
  return dtype === 'c64' ? complexOfPairs(memory) : memory;
}

function moveAxis(x: Node, from: number, to: number): Node {
  if (from === to) return x;
  const axes = x.shape.map((_, axis) => axis).filter((axis) => axis !== from);
  axes.splice(to, 0, from);
  return permute(x, axes);
}

/** The tensors of an argument, with their names. */
function partsOf(argument: string, value: unknown): Part[] {
  if (value instanceof Tensor) return [{ name: argument, node: value.node }];
  const isGroup = Array.isArray(value) || (typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype);
  if (!isGroup) throw invalidArgument(argument, describe(value), 'a Tensor, or a list or record of them');
  return Object.entries(value as object).map(([key, part]) => {
    const name = Array.isArray(value) ? `${argument}[${key}]` : `${argument}.${key}`;
    if (!(part instanceof Tensor)) throw invalidArgument(name, describe(part), 'a Tensor');
    return { name, node: part.node };
  });
}

/** What a body gives, in the order of what it got. Throws unless it has the same names, types and shapes. */
function alike(given: readonly Part[], next: readonly Part[], from: string, to: string): Node[] {
  const nodes = given.map(({ name, node }) => {
    const other = next.find((each) => each.name.slice(to.length) === name.slice(from.length));
    const takes = `${nodeText(node)}, as the state is`;
    if (other === undefined) throw invalidArgument(to + name.slice(from.length), 'nothing', takes);
    if (other.node.dtype !== node.dtype || !sameShape(other.node.shape, node.shape)) throw invalidArgument(other.name, nodeText(other.node), takes);
    return other.node;
  });
  const more = next.find((each) => given.every(({ name }) => each.name.slice(to.length) !== name.slice(from.length)));
  if (more !== undefined) throw invalidArgument(more.name, nodeText(more.node), 'nothing, as the state has no such tensor');
  return nodes;
}
