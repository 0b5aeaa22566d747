/** All operators of graph models by name, those with functions among them. */

import type { NodeCall } from './node.js';
import { ARRANGING_OPERATORS } from './arranging.js';
import { ELEMENTWISE_OPERATORS, type Operator } from './elementwise.js';
import { PICTURE_OPERATORS } from './pictures.js';

/** Operators of loops and conditions without functions. */
export const CONTROL_FLOW_V1: readonly string[] = ['Switch', 'Merge', 'Enter', 'Exit', 'NextIteration', 'LoopCond'];

/** The outputs of a function in place of its call. */
const call: Operator = (node) => node.run(node.functionName('f'), node.inputs);

/** One function or the other. */
const condition: Operator = (node) => {
  const { builder } = node;
  const branch = (name: string) => builder.graph([], () => node.run(node.functionName(name), node.inputs.slice(1)));
  const [then_branch, else_branch] = [branch('then_branch'), branch('else_branch')];
  return builder.several('If', [node.input(0)], then_branch.outputs.length, { then_branch, else_branch });
};

/** A function as long as another gives true for the same values. */
const loop: Operator = (node) => {
  const { builder } = node;
  const holds = (values: readonly string[]) => node.run(node.functionName('cond'), values)[0] ?? '';
  const [iteration, before] = [builder.fresh(), builder.fresh()];
  const states = node.inputs.map(() => builder.fresh());
  const first = holds(node.inputs);
  const body = builder.graph([iteration, before, ...states], () => {
    // What is an input as it is becomes a value of the graph.
    const next = node.run(node.functionName('body'), states).map((name) => builder.node('Identity', [name]));
    return [holds(next), ...next];
  });
  return builder.several('Loop', ['', first, ...node.inputs], states.length, { body });
};

const CONTROL_OPERATORS: Readonly<Record<string, Operator>> = {
  PartitionedCall: call, StatefulPartitionedCall: call, If: condition, StatelessIf: condition, While: loop, StatelessWhile: loop,
};

/** The operators by name. */
export const OPERATORS: Readonly<Record<string, (call: NodeCall) => string | readonly string[]>> = { ...ELEMENTWISE_OPERATORS, ...ARRANGING_OPERATORS, ...PICTURE_OPERATORS, ...CONTROL_OPERATORS };
