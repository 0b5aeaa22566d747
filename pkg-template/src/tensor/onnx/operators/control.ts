/** Graphs in attributes: conditions, and loops, whose bodies are compiled once or written out. */

import { invalidArgument, ResiduaError } from '../../../arguments/errors.js';
import { stack, where } from '../../functions.js';
import { scan as scanSteps } from '../../loops.js';
import { checkAxis } from '../../recipe/operands.js';
import { sameShape, type Size } from '../../size.js';
import { arange, ones } from '../../sources.js';
import type { Tensor } from '../../tensor.js';
import { checkLimit, UnknownNumbers, type Call, type Operator } from '../call.js';
import { typeNamed, type ElementType } from '../element-types.js';
import { MOST_ELEMENTS_IN_MEMORY } from '../reading.js';
import type { Value } from '../values.js';

/** Iterations of a loop that are written out, at most. */
const MOST_ITERATIONS = 1024;

/** Up to so many are written out, so that numbers which are known stay known. */
const FEW_ITERATIONS = 16;

/** Iterations of a loop that a computed condition may end: all of them run. */
const MOST_CONDITIONAL = 2 ** 20;

/** One graph where the condition is known; else both, if their outputs have equal types and shapes. */
const condition: Operator = (call) => {
  const known = call.value(0).host?.data[0];
  if (typeof known === 'number') return call.run(call.graph(known !== 0 ? 'then_branch' : 'else_branch'), []);
  if (!call.takesBothBranches) throw new UnknownNumbers('input 0: got a condition that depends on an input; takes one that is known when the graph is recorded', call.value(0).origins);
  const graphs = ['then_branch', 'else_branch'].map((name) => call.run(call.graph(name), [])) as [Value[], Value[]];
  const chosen = call.tensor(0).cast('bool').reshape([]);
  return graphs[0].map((a, k) => {
    const b = graphs[1][k];
    if (b === undefined || a.type !== b.type || !sameShape(a.shape, b.shape)) {
      throw new UnknownNumbers(`input 0: got a condition that is not known when the graph is recorded, with outputs ${k} of different shapes; takes a known one`, call.value(0).origins);
    }
    return call.output(where(chosen, call.tensorOf(a), call.tensorOf(b)), a.type);
  });
};

/** Iterations: one that is compiled once, where there are more than a few and none needs to know numbers; else each by itself. */
const loop: Operator = (call) => {
  const most = call.has(0) ? call.sizes(0)[0] : undefined;
  const goes = call.has(1) ? call.value(1).host?.data[0] : 1;
  const carried = Array.from({ length: Math.max(0, call.count - 2) }, (_, k) => call.value(k + 2));
  const isOfNumbers = carried.length > 0 && carried.every(({ host }) => host !== null);
  const canBeWrittenOut = typeof most !== 'object' && goes !== undefined;
  // No iteration, however many there could be.
  if (goes === 0) return loopWrittenOut(call);
  if (canBeWrittenOut && (most === undefined || most <= FEW_ITERATIONS || isOfNumbers)) return loopWrittenOut(call);
  if (most === undefined) throw new UnknownNumbers('input 1: got a condition that depends on computed numbers, without a number of iterations; takes one that is known when the graph is recorded', call.value(1).origins);
  return compiledOr(() => loopCompiled(call, most, carried, goes === undefined), canBeWrittenOut ? () => loopWrittenOut(call) : null);
};

/** What a compiled loop gives; where its states change their shape or its body needs to know numbers, what iterations give that are written out. */
function compiledOr(compiled: () => Value[], writtenOut: (() => Value[]) | null): Value[] {
  try {
    return compiled();
  } catch (error) {
    if (writtenOut === null || !(error instanceof ResiduaError) || error.code !== 'invalid-argument') throw error;
    return writtenOut();
  }
}

/** Iterations of a body that is compiled once. After one whose condition does not hold the states stay. */
function loopCompiled(call: Call, most: Size, carried: readonly Value[], isConditional: boolean): Value[] {
  const body = call.graph('body');
  const [int64, bool] = [typeNamed('int64'), typeNamed('bool')];
  const types: ElementType[] = [];
  const first = call.has(1) ? call.tensor(1).cast('bool').reshape([]) : ones([], 'bool');
  const begin = [...(isConditional ? [first] : []), ...carried.map((value) => call.tensorOf(value))];
  let isEnded = false;
  const [after, rows] = scanSteps(arange(most, 'i32'), begin, (state, i) => {
    const states = isConditional ? state.slice(1) : state;
    const [holds, ...outputs] = call.run(body, [call.output(i, int64), call.withoutOrigins(bool, [], [1]), ...states.map((tensor, k) => call.output(tensor, (carried[k] as Value).type))]) as [Value, ...Value[]];
    isEnded = !(Number(holds.host?.data[0] ?? 0) > 0);
    const found = outputs.map((value) => call.tensorOf(value));
    outputs.slice(carried.length).forEach(({ type }) => types.push(type));
    const [next, left] = [found.slice(0, carried.length), found.slice(carried.length)];
    if (!isConditional) return [next, left];
    if (left.length > 0 || typeof most !== 'number' || most > MOST_CONDITIONAL) {
      throw new UnknownNumbers(`body: got a condition that depends on computed numbers; takes one that is known when the graph is recorded, or no outputs besides states and at most ${MOST_CONDITIONAL} iterations`, holds.origins);
    }
    const goes = state[0] as Tensor<'bool'>;
    return [[goes.and(call.tensorOf(holds).cast('bool').reshape([])), ...next.map((tensor, k) => where(goes, tensor, states[k] as Tensor))], left];
  });
  if (isEnded && !isConditional) return loopCompiled(call, most, carried, true);
  const last = isConditional ? after.slice(1) : after;
  return [...last.map((tensor, k) => call.output(tensor, (carried[k] as Value).type)), ...rows.map((tensor, k) => call.output(tensor, types[k] as ElementType))];
}

/** Iterations up to a number that is known, while the condition is known to hold. */
function loopWrittenOut(call: Call): Value[] {
  const body = call.graph('body');
  let goes = call.has(1) ? call.number(1) !== 0 : true;
  const most = goes && call.has(0) ? call.number(0) : Infinity;
  const carried = Math.max(0, call.count - 2);
  let state = Array.from({ length: carried }, (_, k) => call.value(k + 2));
  const rows: Value[][] = Array.from({ length: Math.max(0, body.outputs.length - 1 - carried) }, () => []);
  const [int64, bool] = [typeNamed('int64'), typeNamed('bool')];
  for (let i = 0; goes && i < most; i++) {
    checkLimit('iterations', i + 1, MOST_ITERATIONS);
    const outputs = call.run(body, [call.withoutOrigins(int64, [], [i]), call.withoutOrigins(bool, [], [1]), ...state]);
    const [next, ...others] = outputs as [Value, ...Value[]];
    const holds = next.host?.data[0];
    if (typeof holds !== 'number') throw new UnknownNumbers('body: got a condition that depends on computed numbers; takes one that is known when the graph is recorded', next.origins);
    goes = holds !== 0;
    state = others.slice(0, carried);
    others.slice(carried).forEach((value, k) => rows[k]?.push(value));
  }
  return [...state, ...rows.map((list, k) => stacked(call, list, 0, body.outputs[1 + carried + k]?.shape ?? null, k))];
}

/** Values of the iterations along a new axis; in memory where they are there. */
function stacked(call: Call, list: readonly Value[], axis: number, shape: readonly (number | string)[] | null, k: number): Value {
  const [first] = list;
  if (first === undefined) throw invalidArgument('body', `no iteration for output ${k} of shape [${shape?.join(', ') ?? 'unknown'}]`, 'at least one');
  const hosts = list.map((value) => value.host);
  if (axis === 0 && hosts.every((host) => host !== null)) {
    const data = hosts.flatMap((host) => host?.data ?? []);
    if (data.length <= MOST_ELEMENTS_IN_MEMORY) return call.hostOutput(first.type, [list.length, ...(first.shape as readonly number[])], data);
  }
  return call.output(stack(list.map((value) => call.tensorOf(value)), axis), first.type);
}

/** An iteration for each slice of the inputs that are scanned. */
const scan: Operator = (call) => {
  const count = call.int('num_scan_inputs');
  const carried = call.count - count;
  if (!(count > 0 && carried >= 0)) throw invalidArgument('attribute num_scan_inputs', String(count), `1 to ${call.count}`);
  const axes = call.ints('scan_input_axes') ?? [];
  const scanned = Array.from({ length: count }, (_, k) => {
    const x = call.tensor(carried + k);
    return { x, axis: checkAxis('attribute scan_input_axes', axes[k] ?? 0, x.rank), type: call.value(carried + k).type, isReversed: (call.ints('scan_input_directions')?.[k] ?? 0) !== 0 };
  });
  const { x, axis } = scanned[0] as (typeof scanned)[number];
  const steps = x.shape[axis] as Size;
  const first = Array.from({ length: carried }, (_, k) => call.value(k));
  const writtenOut = () => scanWrittenOut(call, scanned, first, steps as number);
  if (typeof steps === 'number' && (steps <= FEW_ITERATIONS || call.hosts !== null)) return writtenOut();
  return compiledOr(() => scanCompiled(call, scanned, first), typeof steps === 'number' ? writtenOut : null);
};

/** An input that is scanned. */
interface Scanned {
  readonly x: Tensor;
  readonly axis: number;
  readonly type: ElementType;
  readonly isReversed: boolean;
}

/** Where an output of a scan has its rows, and whether the first one is the last. */
function directionOf(call: Call, k: number, rank: number): { axis: number; isReversed: boolean } {
  const axis = checkAxis('attribute scan_output_axes', call.ints('scan_output_axes')?.[k] ?? 0, rank);
  return { axis, isReversed: (call.ints('scan_output_directions')?.[k] ?? 0) !== 0 };
}

/** An axis of a tensor in another place. */
function moved(x: Tensor, from: number, to: number): Tensor {
  const axes = Array.from({ length: x.rank }, (_, axis) => axis).filter((axis) => axis !== from);
  axes.splice(to, 0, from);
  return x.permute(axes);
}

/** The iterations of a body that is compiled once. */
function scanCompiled(call: Call, scanned: readonly Scanned[], first: readonly Value[]): Value[] {
  const types: ElementType[] = [];
  const inputs = scanned.map(({ x, axis, isReversed }) => (isReversed ? moved(x, axis, 0).flip(0) : moved(x, axis, 0)));
  const [last, rows] = scanSteps(inputs, first.map((value) => call.tensorOf(value)), (state, slices) => {
    const outputs = call.run(call.graph('body'), [
      ...state.map((tensor, k) => call.output(tensor, (first[k] as Value).type)),
      ...slices.map((tensor, k) => call.output(tensor, (scanned[k] as Scanned).type)),
    ]);
    outputs.slice(first.length).forEach(({ type }) => types.push(type));
    const found = outputs.map((value) => call.tensorOf(value));
    return [found.slice(0, first.length), found.slice(first.length)];
  });
  return [
    ...last.map((tensor, k) => call.output(tensor, (first[k] as Value).type)),
    ...rows.map((tensor, k) => {
      const { axis, isReversed } = directionOf(call, k, tensor.rank);
      return call.output(moved(isReversed ? tensor.flip(0) : tensor, 0, axis), types[k] as ElementType);
    }),
  ];
}

/** The iterations one by one. */
function scanWrittenOut(call: Call, scanned: readonly Scanned[], first: readonly Value[], steps: number): Value[] {
  checkLimit('iterations', steps, MOST_ITERATIONS);
  const body = call.graph('body');
  const carried = first.length;
  let state = [...first];
  const rows: Value[][] = Array.from({ length: Math.max(0, body.outputs.length - carried) }, () => []);
  for (let i = 0; i < steps; i++) {
    const slices = scanned.map((each) => call.output(each.x.pick(each.axis, each.isReversed ? steps - 1 - i : i), each.type));
    const outputs = call.run(body, [...state, ...slices]);
    state = outputs.slice(0, carried);
    outputs.slice(carried).forEach((value, k) => rows[k]?.push(value));
  }
  return [
    ...state,
    ...rows.map((list, k) => {
      const { axis, isReversed } = directionOf(call, k, (list[0]?.shape.length ?? 0) + 1);
      return stacked(call, isReversed ? [...list].reverse() : list, axis, body.outputs[carried + k]?.shape ?? null, k);
    }),
  ];
}

export const CONTROL_OPERATORS: Readonly<Record<string, Operator>> = { If: condition, Loop: loop, Scan: scan };
