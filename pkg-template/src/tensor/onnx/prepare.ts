/** Readies a graph for runs: what depends on constants alone is computed once. */

import type { Device } from '../device/device.js';
import { Cell } from '../device/cell.js';
import { StoredTensor } from '../device/stored-tensor.js';
import { LoopResult, nodesOfLoop } from '../recipe/loop.js';
import type { Node } from '../recipe/node.js';
import { largest, product, type Dims } from '../size.js';
import type { Tensor } from '../tensor.js';
import { checkOperators, functionsByName, Recording, Scope, type Model } from './graph.js';
import type { GraphProto, NodeProto } from './model.js';
import { withReadNumbers } from './known-numbers.js';
import { LoadedModel } from './loaded-model.js';
import type { ModelProto } from './reading.js';
import { ConstantMemory, NO_ORIGINS, Value, type Host } from './values.js';

/** A constant that would be larger than what it is computed from by this factor is computed by each run. */
const MOST_GROWTH = 4;

/** Constants of at most so many elements are stored whatever they are computed from. */
const SMALL_ELEMENTS = 2 ** 16;

/** Constants of at most so many elements are read into memory. */
const FEW_ELEMENTS = 64;

/** Makes a model of a graph, whose stored initializers it takes over. Rejects with 'invalid-argument' for operators that are not taken. */
export async function modelOf(call: string, file: ModelProto, device: Device, dims: Dims): Promise<LoadedModel> {
  const memory = new ConstantMemory(device);
  for (const { stored } of file.graph.initializers) if (stored !== null) memory.keep(stored);
  try {
    const functions = functionsByName(file.functions);
    checkOperators(call, file.graph, file.opsets, functions);
    return await prepared({ call, memory, opsets: file.opsets, functions }, file, device, dims);
  } catch (error) {
    memory.dispose();
    throw error;
  }
}

/** Computes what depends on constants alone, and makes the model of the rest. */
async function prepared(model: Model, { graph }: ModelProto, device: Device, dims: Dims): Promise<LoadedModel> {
  const names = new Set(graph.initializers.map(({ name }) => name));
  const inputs = graph.inputs.filter(({ name }) => !names.has(name));
  const wanted = neededNodes(graph);
  const known = new Set(names);
  const isConstant = (node: NodeProto) => namesIn(node).every((name) => known.has(name));
  const fixed: NodeProto[] = [];
  const rest: NodeProto[] = [];
  for (const node of wanted) {
    (isConstant(node) ? fixed : rest).push(node);
    if (fixed.at(-1) === node) for (const name of node.outputs) known.add(name);
  }
  const record = (numbers: ReadonlyMap<string, Host>) => {
    const scope = new Scope();
    new Recording(model, true, numbers).nodes({ nodes: fixed, initializers: graph.initializers }, scope);
    return scope;
  };
  const all = await withReadNumbers(device, model.memory, record, () => true);
  const constants = new Scope();
  const used = new Set([...rest.flatMap(namesIn), ...graph.outputs.map(({ name }) => name)]);
  const values = [...used].flatMap((name) => {
    const value = known.has(name) ? all.get(name) : undefined;
    return value === undefined ? [] : [{ name, value }];
  });
  const open = values.filter(({ name, value }) => !names.has(name) && value.host === null);
  // Few numbers may be shapes, which nodes need in memory.
  const few = open.filter(({ value }) => largest(product(value.shape)) <= FEW_ELEMENTS);
  const read = await device.read(...few.map(({ value }) => value.tensor(model.memory)));
  few.forEach(({ name, value }, k) => {
    constants.set(name, Value.ofHost({ sizes: value.shape as readonly number[], data: Array.from(read[k] as ArrayLike<number>) }, value.type, NO_ORIGINS));
  });
  const computed = open.filter((each) => !few.includes(each) && isStorable(each.value.tensor(model.memory)));
  const stored = await device.store(computed.map(({ value }) => value.tensor(model.memory)));
  computed.forEach(({ name, value }, k) => {
    const tensor = stored[k] as StoredTensor;
    model.memory.keep(tensor);
    constants.set(name, Value.ofTensor(tensor, value.type, NO_ORIGINS));
  });
  for (const { name, value } of values) if (constants.get(name) === undefined) constants.set(name, value);
  const kept = values.map(({ name }) => constants.get(name) as Value);
  for (const value of kept) value.home = model.memory;
  model.memory.release(reachable(model, kept));
  return new LoadedModel(device, model, { inputs, outputs: graph.outputs }, constants, rest, dims);
}

/** Whether a constant is computed once: it is a recipe, and not much larger than what it is computed from. */
function isStorable(tensor: Tensor): boolean {
  if (tensor instanceof StoredTensor || tensor.dtype === 'c64') return false;
  let from = 0;
  visit([tensor.node], (node) => {
    if (node.source instanceof Cell) from += largest(product(node.shape));
  });
  const count = largest(product(tensor.shape));
  return count > 0 && (count <= SMALL_ELEMENTS || count <= MOST_GROWTH * from);
}

/** Calls a function with each node of recipes. */
function visit(roots: readonly Node[], take: (node: Node) => void): void {
  const seen = new Set<Node>(roots);
  const waiting = [...roots];
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    take(node);
    const ofLoop = node.source instanceof LoopResult ? nodesOfLoop(node.source.loop) : [];
    for (const operand of [...node.operands, ...ofLoop]) {
      if (seen.has(operand)) continue;
      seen.add(operand);
      waiting.push(operand);
    }
  }
}

/** The stored tensors that values are computed from, or may be once they are used as tensors. */
function reachable({ memory }: Model, values: readonly Value[]): ReadonlySet<StoredTensor> {
  const cells = new Set<unknown>();
  const roots = values.filter((value) => value.host === null || value.hasTensor).map((value) => value.tensor(memory).node);
  visit(roots, ({ source }) => cells.add(source));
  return new Set([...memory.all].filter(({ cell }) => cells.has(cell)));
}

/** The nodes on which the outputs depend, in their order. */
function neededNodes(graph: GraphProto): NodeProto[] {
  const needed = new Set(graph.outputs.map(({ name }) => name));
  const found: NodeProto[] = [];
  for (const node of [...graph.nodes].reverse()) {
    if (!node.outputs.some((name) => needed.has(name))) continue;
    for (const name of namesIn(node)) needed.add(name);
    found.push(node);
  }
  return found.reverse();
}

const namesOfNodes = /* @__PURE__ */ new WeakMap<NodeProto, readonly string[]>();

/** The values that a node takes: its inputs, and those that graphs in its attributes take from outside. */
function namesIn(node: NodeProto): readonly string[] {
  let names = namesOfNodes.get(node);
  if (names === undefined) {
    const graphs = [...node.attributes.values()].flatMap(({ graph }) => (graph === undefined ? [] : [graph]));
    names = [...new Set([...node.inputs.filter((name) => name !== ''), ...graphs.flatMap(freeNames)])];
    namesOfNodes.set(node, names);
  }
  return names;
}

function freeNames(graph: GraphProto): string[] {
  const own = new Set([...graph.inputs.map(({ name }) => name), ...graph.initializers.map(({ name }) => name), ...graph.nodes.flatMap(({ outputs }) => outputs)]);
  return [...graph.nodes.flatMap(namesIn), ...graph.outputs.map(({ name }) => name)].filter((name) => !own.has(name));
}
