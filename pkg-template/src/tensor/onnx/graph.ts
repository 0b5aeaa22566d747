/** Records a graph: each node by its operator, in memory where all is known, else as a recipe of tensors. */

import { describe, invalidArgument, ResiduaError } from '../../arguments/errors.js';
import { Call, UnknownNumbers, type Operator, type Outputs } from './call.js';
import { folds } from './folding.js';
import type { Attribute, FileTensor, FunctionProto, GraphProto, NodeProto } from './model.js';
import { OPERATORS } from './operators/table.js';
import { Value, type ConstantMemory, type Host } from './values.js';

/** Nodes that a recording runs at most, those of loops each time. */
const MOST_NODES = 100_000;

/** How deep functions of a file call one another, at most. */
const MOST_CALLS = 32;

/** The oldest and the newest version of ONNX's operators. */
const VERSIONS = [7, 28] as const;

/** What a recording needs to know. */
export interface Model {
  readonly call: string;
  readonly memory: ConstantMemory;
  readonly opsets: ReadonlyMap<string, number>;
  readonly functions: ReadonlyMap<string, FunctionProto>;
}

/** Values by name: those of a graph, then those of graphs around it. */
export class Scope {
  private readonly values = new Map<string, Value>();

  constructor(private readonly outer: Scope | null = null) {}

  get(name: string): Value | undefined {
    return this.values.get(name) ?? this.outer?.get(name);
  }

  set(name: string, value: Value): void {
    this.values.set(name, value);
  }
}

/** The name of an operator with its domain, which that of ONNX leaves out. */
export function operatorName({ domain, operator }: Pick<NodeProto, 'domain' | 'operator'>): string {
  return domain === '' ? operator : `${domain}.${operator}`;
}

const functionKey = ({ domain, name }: FunctionProto) => (domain === '' ? name : `${domain}.${name}`);

/** Functions by the name of the operator that they define. */
export function functionsByName(functions: readonly FunctionProto[]): ReadonlyMap<string, FunctionProto> {
  return new Map(functions.map((each) => [functionKey(each), each]));
}

/** Throws 'invalid-argument' for a version that is not taken, and for an operator, with all nodes that have one. */
export function checkOperators(call: string, graph: GraphProto, opsets: ReadonlyMap<string, number>, functions: ReadonlyMap<string, FunctionProto>): void {
  checkVersions(call, opsets);
  for (const each of functions.values()) checkVersions(`${call}: function ${describe(each.name)}`, each.opsets);
  const unknown: string[] = [];
  const visit = (nodes: readonly NodeProto[], versions: ReadonlyMap<string, number>) => {
    for (const node of nodes) {
      const name = operatorName(node);
      if (!Object.hasOwn(OPERATORS, name) && !functions.has(name)) unknown.push(nodeText(node, versionOf(versions, node.domain)));
      for (const { graph: inner } of node.attributes.values()) if (inner !== undefined) visit(inner.nodes, versions);
    }
  };
  visit(graph.nodes, opsets);
  for (const each of functions.values()) visit(each.nodes, each.opsets);
  if (unknown.length === 0) return;
  const more = unknown.length > 8 ? ` and ${unknown.length - 8} more` : '';
  throw invalidArgument(call, `${unknown.slice(0, 8).join(', ')}${more}`, `the operators ${Object.keys(OPERATORS).join(', ')}`);
}

function checkVersions(call: string, opsets: ReadonlyMap<string, number>): void {
  const version = opsets.get('');
  const [least, most] = VERSIONS;
  if (version !== undefined && !(version >= least && version <= most)) throw invalidArgument(`${call}: opset`, String(version), `versions ${least} to ${most} of ONNX's operators`);
}

function versionOf(opsets: ReadonlyMap<string, number>, domain: string): number {
  return opsets.get(domain) ?? (domain === '' ? VERSIONS[1] : 1);
}

/** A node in messages. */
function nodeText(node: NodeProto, opset: number): string {
  const name = node.name === '' ? `with output ${describe(node.outputs[0] ?? '')}` : describe(node.name);
  return `node ${name} (${operatorName(node)}, opset ${opset})`;
}

/** One recording of a model. */
export class Recording {
  private count = 0;

  /**
   * @param model what all recordings have in common
   * @param takesBothBranches whether both graphs of a condition are computed where it is not known
   * @param known numbers that were read after an earlier recording, by the places of their values
   */
  constructor(
    private readonly model: Model,
    private readonly takesBothBranches = true,
    private readonly known: ReadonlyMap<string, Host> = new Map(),
  ) {}

  /** Records the nodes of a graph, whose inputs are in the scope. `isWanted` leaves nodes out. */
  nodes(graph: Pick<GraphProto, 'nodes' | 'initializers'>, scope: Scope, isWanted: (node: NodeProto) => boolean = () => true): void {
    for (const tensor of graph.initializers) if (scope.get(tensor.name) === undefined) scope.set(tensor.name, valueOf(tensor));
    for (const node of graph.nodes) if (isWanted(node)) this.node(node, scope, { attributes: null, opsets: this.model.opsets, depth: 0 });
  }

  /** Runs a graph in an attribute of a node. */
  private subgraph(graph: GraphProto, inputs: readonly Value[], outer: Scope, frame: Frame): Value[] {
    const scope = new Scope(outer);
    if (graph.inputs.length !== inputs.length) throw invalidArgument('a graph of an attribute', `${graph.inputs.length} inputs`, `${inputs.length} inputs`);
    graph.inputs.forEach(({ name }, k) => scope.set(name, inputs[k] as Value));
    for (const tensor of graph.initializers) scope.set(tensor.name, valueOf(tensor));
    for (const node of graph.nodes) this.node(node, scope, frame);
    return graph.outputs.map(({ name }) => found(scope, name));
  }

  /** Runs a node: its outputs are in the scope then. */
  private node(node: NodeProto, scope: Scope, frame: Frame): void {
    const opset = versionOf(frame.opsets, node.domain);
    const number = ++this.count;
    try {
      if (number > MOST_NODES) throw new ResiduaError('limit-exceeded', `got more than ${MOST_NODES} nodes, those of loops each time; takes so many at most`);
      const inputs = node.inputs.map((name) => (name === '' ? null : found(scope, name)));
      while (inputs.length > 0 && inputs.at(-1) === null) inputs.pop();
      const attributes = resolved(node, frame.attributes);
      const outputs = this.outputs(node, opset, inputs, attributes, scope, frame);
      node.outputs.forEach((name, k) => {
        if (name === '') return;
        const value = outputs[k];
        if (value == null) throw invalidArgument(`output ${k}`, describe(name), `at most ${outputs.filter((each) => each != null).length} outputs`);
        const place = `${number}: ${k}`;
        const host = this.known.get(place);
        const known = host === undefined ? value : Value.ofHost(host, value.type, value.origins);
        known.place ??= place;
        scope.set(name, known);
      });
    } catch (error) {
      throw located(error, `${this.model.call}: ${nodeText(node, opset)}`);
    }
  }

  private outputs(node: NodeProto, opset: number, inputs: readonly (Value | null)[], attributes: ReadonlyMap<string, Attribute>, scope: Scope, frame: Frame): readonly (Value | null)[] {
    const name = operatorName(node);
    const own = this.model.functions.get(name);
    if (own !== undefined) return this.function(own, inputs, attributes, frame);
    const operator = Object.hasOwn(OPERATORS, name) ? (OPERATORS[name] as Operator) : null;
    if (operator === null) throw invalidArgument('operator', describe(name), 'one that the file was checked for');
    const call = new Call(node, opset, inputs, attributes, this.model.memory, (graph, given) => this.subgraph(graph, given, scope, frame), this.takesBothBranches);
    const fold = node.domain === '' && Object.hasOwn(folds, name) ? folds[name] : undefined;
    const outputs: Outputs = fold?.(call) ?? operator(call);
    return call.wrap(outputs);
  }

  /** Runs a function of the file's own. */
  private function(own: FunctionProto, inputs: readonly (Value | null)[], attributes: ReadonlyMap<string, Attribute>, frame: Frame): Value[] {
    if (frame.depth >= MOST_CALLS) throw new ResiduaError('limit-exceeded', `got functions that call one another; takes ${MOST_CALLS} levels at most`);
    const scope = new Scope();
    own.inputs.forEach((name, k) => {
      const value = inputs[k];
      if (value != null) scope.set(name, value);
    });
    const inner: Frame = { attributes: new Map([...own.defaults, ...attributes]), opsets: own.opsets, depth: frame.depth + 1 };
    for (const node of own.nodes) this.node(node, scope, inner);
    return own.outputs.map((name) => found(scope, name));
  }
}

/** What nodes of a graph or of a function have in common. */
interface Frame {
  /** Those of the function around. */
  readonly attributes: ReadonlyMap<string, Attribute> | null;
  readonly opsets: ReadonlyMap<string, number>;
  readonly depth: number;
}

const values = /* @__PURE__ */ new WeakMap<FileTensor, Value>();

/** The value of a tensor of a file, one for all recordings. */
function valueOf(tensor: FileTensor): Value {
  let value = values.get(tensor);
  if (value === undefined) values.set(tensor, (value = Value.ofFile(tensor)));
  return value;
}

/** Returns the value with a name. Throws 'invalid-argument' where no earlier node has it as output. */
export function found(scope: Scope, name: string): Value {
  const value = scope.get(name);
  if (value === undefined) throw invalidArgument('input', describe(name), 'the name of an input, of an initializer, or of an output of a node before');
  return value;
}

/** The attributes of a node; those that stand for attributes of the function around have their values. */
function resolved(node: NodeProto, outer: ReadonlyMap<string, Attribute> | null): ReadonlyMap<string, Attribute> {
  if (outer === null || [...node.attributes.values()].every(({ reference }) => reference === undefined)) return node.attributes;
  const found = new Map<string, Attribute>();
  for (const [name, attribute] of node.attributes) {
    const value = attribute.reference === undefined ? attribute : outer.get(attribute.reference);
    if (value !== undefined) found.set(name, value);
  }
  return found;
}

/** An error with the node where it happened, the innermost alone. */
function located(error: unknown, place: string): unknown {
  if (!(error instanceof ResiduaError) || error.message.startsWith(place.slice(0, place.indexOf(': ') + 7))) return error;
  const message = `${place}: ${error.message}`;
  return error instanceof UnknownNumbers ? new UnknownNumbers(message, error.origins, error.value) : new ResiduaError(error.code, message, { cause: error });
}
