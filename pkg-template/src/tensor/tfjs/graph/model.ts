/** Translates a graph model: its nodes in an order in which each comes after those that it takes values of. */

import { describe, invalidArgument, ResiduaError } from '../../../arguments/errors.js';
import { numbersOfBytes, type ElementType } from '../../onnx/element-types.js';
import { elementCount } from '../../memory/numbers.js';
import type { FileTensor, GraphProto, ValueInfo } from '../../onnx/model.js';
import { GraphBuilder } from '../builder.js';
import type { Fields } from '../fields.js';
import { NodeCall, readNodes, sourceOf, typeOfCode, whole, type GraphFunction, type GraphNode, type Source } from './node.js';
import { CONTROL_FLOW_V1, OPERATORS } from './table.js';

/** Functions that call one another, at most. */
const MOST_DEPTH = 16;

/** Nodes at most, those of functions at each call. */
const MOST_NODES = 50_000;

/** An input or output as the signature has it. */
interface Signed {
  readonly source: Source;
  readonly type: ElementType | null;
  readonly shape: readonly (number | null)[] | null;
}

/** Reads the topology, and returns what makes a graph of it once the weights are there. */
export function readGraphModel(model: Fields, topology: Fields): (weights: ReadonlyMap<string, FileTensor>) => GraphProto {
  const nodes = readNodes(topology.objects('node', []));
  const functions = new Map((topology.has('library') ? topology.object('library').objects('function', []) : []).map((each) => {
    const found = readFunction(each);
    return [found.name, found] as const;
  }));
  const { inputs, outputs } = endsOf(model, nodes);
  checkOperators(model.place, reached(nodes, outputs), functions);
  return (weights) => translated(model.place, nodes, functions, weights, inputs, outputs);
}

function readFunction(fields: Fields): GraphFunction {
  const signature = fields.object('signature');
  const name = signature.text('name');
  const inputs = signature.objects('inputArg', []).map((each) => each.text('name'));
  const results = fields.object('ret');
  const outputs = signature.objects('outputArg', []).map((each) => sourceOf(results.text(each.text('name'))));
  return { name, inputs, outputs, nodes: readNodes(fields.objects('nodeDef', [])) };
}

/** Inputs and outputs: those of the signature, else nodes that are fed, and nodes that no other takes. */
function endsOf(model: Fields, nodes: ReadonlyMap<string, GraphNode>): { readonly inputs: readonly Signed[]; readonly outputs: readonly Signed[] } {
  const metadata = model.has('userDefinedMetadata') ? model.object('userDefinedMetadata') : null;
  const signature = model.has('signature') ? model.object('signature') : metadata?.has('signature') === true ? metadata.object('signature') : null;
  const signed = (part: string) => (signature?.has(part) === true ? signature.object(part) : null);
  const entries = (part: string) => {
    const fields = signed(part);
    return fields === null ? [] : fields.names.map((name) => readSigned(fields.object(name)));
  };
  const all = [...nodes.values()];
  const fed = () => all.filter(({ operator }) => operator === 'Placeholder').map(({ name }): Signed => ({ source: { node: name, output: 0 }, type: null, shape: null }));
  const taken = new Set(all.flatMap((node) => node.inputs.map((input) => input.node)));
  const last = () => all.filter(({ name, operator }) => !taken.has(name) && operator !== 'Placeholder' && operator !== 'Const' && operator !== 'NoOp').map(({ name }): Signed => ({ source: { node: name, output: 0 }, type: null, shape: null }));
  const [inputs, outputs] = [entries('inputs'), entries('outputs')];
  return { inputs: inputs.length > 0 ? inputs : fed(), outputs: outputs.length > 0 ? outputs : last() };
}

function readSigned(fields: Fields): Signed {
  const type = fields.has('dtype') ? typeOfCode(`${fields.place}: dtype`, fields.any('dtype')) : null;
  const shape = fields.has('tensorShape') ? shapeOf(fields.object('tensorShape')) : null;
  return { source: sourceOf(fields.text('name')), type, shape };
}

/** Sizes as a file has them: null of one that is open; null in all where the number of axes is. */
function shapeOf(fields: Fields): readonly (number | null)[] | null {
  if (fields.flag('unknownRank')) return null;
  return fields.objects('dim', []).map((dim) => {
    const size = whole(`${dim.place}: size`, dim.any('size') ?? '-1');
    return size < 0 ? null : size;
  });
}

/** The nodes on which outputs depend. */
function reached(nodes: ReadonlyMap<string, GraphNode>, outputs: readonly Signed[]): GraphNode[] {
  const found = new Map<string, GraphNode>();
  const waiting = outputs.map(({ source }) => source.node);
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    const node = nodes.get(name);
    if (node === undefined || found.has(name)) continue;
    found.set(name, node);
    waiting.push(...node.inputs.map((input) => input.node));
  }
  return [...found.values()];
}

/** The nodes on which others depend, each after those that it depends on. Throws 'invalid-argument' for one that depends on itself. */
function needed(nodes: ReadonlyMap<string, GraphNode>, roots: readonly string[], place: string, given: ReadonlySet<string> = new Set()): GraphNode[] {
  const [found, state] = [[] as GraphNode[], new Map<string, 'open' | 'done'>()];
  const waiting = [...roots].reverse().map((name) => ({ name, isLeft: false, by: place }));
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { name, isLeft, by } = next;
    if (given.has(name)) continue;
    const node = nodes.get(name);
    if (node === undefined) throw invalidArgument(`${by}: input`, describe(name), 'the name of a node');
    if (isLeft) {
      state.set(name, 'done');
      found.push(node);
      continue;
    }
    const known = state.get(name);
    if (known === 'done') continue;
    if (known === 'open') throw invalidArgument(node.attributes.place, 'a node that depends on itself', 'an acyclic graph');
    state.set(name, 'open');
    waiting.push({ name, isLeft: true, by });
    for (const input of [...node.inputs].reverse()) if (state.get(input.node) !== 'done') waiting.push({ name: input.node, isLeft: false, by: node.attributes.place });
  }
  return found;
}

/** Throws 'invalid-argument' for operators that are not taken, with all nodes that have one. */
function checkOperators(place: string, nodes: readonly GraphNode[], functions: ReadonlyMap<string, GraphFunction>): void {
  const unknown: string[] = [];
  const check = ({ name, operator }: GraphNode) => {
    if (operator === 'Placeholder' || operator === 'Const' || Object.hasOwn(OPERATORS, operator)) return;
    unknown.push(`node ${describe(name)} (${operator}${CONTROL_FLOW_V1.includes(operator) ? ', control flow of TensorFlow 1' : ''})`);
  };
  nodes.forEach(check);
  for (const each of functions.values()) each.nodes.forEach(check);
  if (unknown.length === 0) return;
  const more = unknown.length > 8 ? ` and ${unknown.length - 8} more` : '';
  throw invalidArgument(place, `${unknown.slice(0, 8).join(', ')}${more}`, `the operators ${Object.keys(OPERATORS).join(', ')}`);
}

function inputInfo({ source, type, shape }: Signed, nodes: ReadonlyMap<string, GraphNode>, place: string): ValueInfo {
  const node = nodes.get(source.node);
  if (node === undefined) throw invalidArgument(`${place}: signature`, describe(source.node), 'the name of a node');
  const { attributes } = node;
  const attribute = (name: string) => (attributes.has(name) ? attributes.object(name) : null);
  const own = attribute('shape');
  const sizes = shape ?? (own?.has('shape') === true ? shapeOf(own.object('shape')) : null);
  const dtype = attribute('dtype');
  const named = sizes?.map((size, axis) => size ?? `${node.name}.${axis}`) ?? null;
  return { name: node.name, type: type ?? (dtype === null ? null : typeOfCode(`${attributes.place}: dtype`, dtype.any('type'))), shape: named };
}

function translated(place: string, nodes: ReadonlyMap<string, GraphNode>, functions: ReadonlyMap<string, GraphFunction>, weights: ReadonlyMap<string, FileTensor>, signedInputs: readonly Signed[], signedOutputs: readonly Signed[]): GraphProto {
  const inputs = signedInputs.map((each) => inputInfo(each, nodes, place));
  const names = new Set(inputs.map(({ name }) => name));
  const outputs = signedOutputs.map(({ source, type, shape }) => ({ source, type, shape: shape?.map((size) => size ?? '') ?? null, name: source.output === 0 ? source.node : `${source.node}:${source.output}` }));
  const unique = outputs.filter(({ name }, k) => outputs.findIndex((other) => other.name === name) === k);
  if (unique.length === 0) throw invalidArgument(place, 'a graph without outputs', 'at least one output');
  const builder = new GraphBuilder(new Set([...names, ...unique.map(({ name }) => name)]));
  const translation = new Translation(builder, functions, weights);
  const values = translation.graph(nodes, unique.map(({ source }) => source), new Map([...names].map((name) => [name, [name]])), place);
  builder.where = 'outputs';
  unique.forEach(({ name }, k) => {
    if (!names.has(name)) builder.node('Identity', [values[k] as string], {}, name);
  });
  return { nodes: builder.nodes, initializers: builder.initializers, inputs, outputs: unique.map(({ name, type, shape }) => ({ name, type, shape })) };
}

/** One translation: it counts nodes, those of functions at each call. */
class Translation {
  private count = 0;
  private depth = 0;
  /** Weights by the values that they are. */
  private readonly ofValues = new Map<string, FileTensor>();

  constructor(
    private readonly builder: GraphBuilder,
    private readonly functions: ReadonlyMap<string, GraphFunction>,
    private readonly weights: ReadonlyMap<string, FileTensor>,
  ) {}

  /** The values of outputs of nodes, where the outputs of some nodes are given. */
  graph(nodes: ReadonlyMap<string, GraphNode>, outputs: readonly Source[], given: ReadonlyMap<string, readonly string[]>, place: string): string[] {
    const values = new Map(given);
    const valueOf = ({ node, output }: Source, by: string) => {
      const value = values.get(node)?.[output];
      if (value === undefined) throw invalidArgument(`${by}: input`, `output ${output} of ${describe(node)}`, 'an output that there is');
      return value;
    };
    for (const node of needed(nodes, outputs.map((source) => source.node), place, new Set(given.keys()))) {
      if (++this.count > MOST_NODES) throw new ResiduaError('limit-exceeded', `${place}: got more than ${MOST_NODES} nodes; takes so many at most`);
      this.builder.where = `${node.name} (${node.operator})`;
      values.set(node.name, this.node(node, node.inputs.map((source) => valueOf(source, node.attributes.place))));
    }
    return outputs.map((source) => valueOf(source, place));
  }

  private node(node: GraphNode, inputs: readonly string[]): readonly string[] {
    const { place } = node.attributes;
    if (node.operator === 'Placeholder') throw invalidArgument(place, 'an input that is not in the signature', 'inputs of the signature');
    if (node.operator === 'Const') {
      const weight = this.weights.get(node.name);
      if (weight === undefined) throw invalidArgument(place, 'no weight of this name in weightsManifest', 'one');
      const value = this.builder.weight(weight);
      this.ofValues.set(value, weight);
      return [value];
    }
    const operator = OPERATORS[node.operator];
    if (operator === undefined) throw invalidArgument(place, 'an operator that is not taken', 'one that the file was checked for');
    const found = operator(new NodeCall(this.builder, node, inputs, (value) => this.numbers(value), (name, given) => this.call(name, given, place)));
    return typeof found === 'string' ? [found] : found;
  }

  private numbers(value: string): readonly number[] | null {
    const weight = this.ofValues.get(value);
    if (weight === undefined || weight.bytes === null) return null;
    return numbersOfBytes(weight.type, weight.bytes, elementCount(weight.sizes));
  }

  /** The outputs of a function. */
  private call(name: string, inputs: readonly string[], place: string): string[] {
    const own = this.functions.get(name);
    if (own === undefined) throw invalidArgument(place, `the function ${describe(name)}`, 'a function of the library of the file');
    if (inputs.length < own.inputs.length) throw invalidArgument(place, `${inputs.length} inputs for ${describe(name)}`, `${own.inputs.length}`);
    if (this.depth >= MOST_DEPTH) throw new ResiduaError('limit-exceeded', `${place}: got functions that call one another; takes ${MOST_DEPTH} levels at most`);
    this.depth += 1;
    const outer = this.builder.where;
    try {
      return this.graph(own.nodes, own.outputs, new Map(own.inputs.map((input, k) => [input, [inputs[k] as string]])), `${place}: function ${describe(name)}`);
    } finally {
      this.depth -= 1;
      this.builder.where = outer;
    }
  }
}
