/** Graphs in attributes: conditions and loops, which are written out. */

import { invalidArgument } from '../../../arguments/errors.js';
import { stack, where } from '../../functions.js';
import { checkAxis } from '../../recipe/operands.js';
import { sameShape, type Size } from '../../size.js';
import { checkLimit, UnknownNumbers, type Call, type Operator } from '../call.js';
import { typeNamed } from '../element-types.js';
import { MOST_ELEMENTS_IN_MEMORY } from '../reading.js';
import type { Value } from '../values.js';

/** Iterations of a loop that are written out, at most. */
const MOST_ITERATIONS = 1024;

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

/** Iterations up to a number that is known, while the condition is known to hold. */
const loop: Operator = (call) => {
  const body = call.graph('body');
  const most = call.has(0) ? call.number(0) : Infinity;
  let goes = call.has(1) ? call.number(1) !== 0 : true;
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
};

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
  const body = call.graph('body');
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
  if (typeof steps !== 'number') throw invalidArgument(`input ${carried}`, 'an axis that is a Dim', 'an axis of a known size');
  checkLimit('iterations', steps, MOST_ITERATIONS);
  let state = Array.from({ length: carried }, (_, k) => call.value(k));
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
      const isReversed = (call.ints('scan_output_directions')?.[k] ?? 0) !== 0;
      const rank = (list[0]?.shape.length ?? 0) + 1;
      const at = checkAxis('attribute scan_output_axes', call.ints('scan_output_axes')?.[k] ?? 0, rank);
      return stacked(call, isReversed ? [...list].reverse() : list, at, body.outputs[carried + k]?.shape ?? null, k);
    }),
  ];
};

export const CONTROL_OPERATORS: Readonly<Record<string, Operator>> = { If: condition, Loop: loop, Scan: scan };
