/** Loads a file of ONNX: its constants are computed once, and what is left of its graph is recorded for each set of sizes. */

import { makeInspectable } from '../../arguments/inspection.js';
import { describe, invalidArgument, ResiduaError } from '../../arguments/errors.js';
import { checkOptions, type OptionNames } from '../../arguments/options.js';
import { makeDisposable } from '../../compile/dispose.js';
import { checkSignal } from '../../module/cancellation.js';
import { Cell } from '../device/cell.js';
import type { Device } from '../device/device.js';
import { StoredTensor } from '../device/stored-tensor.js';
import { load } from '../files/load.js';
import type { FileSource } from '../files/source.js';
import type { Numeric } from '../memory/numbers.js';
import { LoopResult, nodesOfLoop } from '../recipe/loop.js';
import type { Node } from '../recipe/node.js';
import { largest, product, type Size } from '../size.js';
import { Tensor } from '../tensor.js';
import { checkDims, checkNames, hostOf, publicValue, sizedFeeds, typeOfInput, type Dims, type OnnxFeed, type OnnxValue } from './feeds.js';
import { checkOperators, functionsByName, Recording, Scope, type Model } from './graph.js';
import type { GraphProto, NodeProto, ValueInfo } from './model.js';
import { withReadNumbers } from './known-numbers.js';
import { OnnxPrograms } from './programs.js';
import { readModel, type ModelProto } from './reading.js';
import { ConstantMemory, NO_ORIGINS, Value, type Host } from './values.js';

/** Options of {@link loadOnnx}. */
export interface OnnxOptions {
  /** Where the constants are stored and runs are computed; `Device.default()` unless told. */
  device?: Device;
  /**
   * Sizes that the file names, such as `{ batch: 1, sequence: dim('sequence', 512) }`. With a number the graph is recorded for it. With a Dim one program
   * serves all sizes up to its `max`. A name that is not told here has the sizes of each run, with a program for each.
   */
  dims?: Readonly<Record<string, Size>>;
  /** Gives the files with data outside of the model, by the names that it has for them. */
  external?: (location: string) => FileSource | Promise<FileSource>;
  /** Called as bytes of the model arrive, with their number and that of the file; the latter is 0 while it is not known. */
  onProgress?: (loaded: number, total: number) => void;
  /** Ends the load with 'aborted'. */
  signal?: AbortSignal;
}

const OPTIONS: OptionNames<OnnxOptions> = { device: true, dims: true, external: true, onProgress: true, signal: true };

/** A constant that would be larger than what it is computed from by this factor is computed by each run. */
const MOST_GROWTH = 4;

/** Constants of at most so many elements are stored whatever they are computed from. */
const SMALL_ELEMENTS = 2 ** 16;

/** Constants of at most so many elements are read into memory. */
const FEW_ELEMENTS = 64;

/**
 * A model of ONNX on a device. Integers of 64 bits are i32 here and doubles f32. Outputs have the names that the file has for them.
 */
export class OnnxModel {
  /** The same as dispose(), for `using`. */
  declare readonly [Symbol.dispose]: () => void;
  /** What runs take, in the order of the file. */
  readonly inputs: readonly OnnxValue[];
  /** What runs give. */
  readonly outputs: readonly OnnxValue[];
  private readonly programs: OnnxPrograms;
  private isDisposed = false;

  /** @internal Made by {@link loadOnnx}. */
  constructor(
    /** Where it computes. */
    readonly device: Device,
    private readonly model: Model,
    private readonly infos: { readonly inputs: readonly ValueInfo[]; readonly outputs: readonly ValueInfo[] },
    private readonly constants: Scope,
    private readonly nodes: readonly NodeProto[],
    dims: Dims,
  ) {
    this.inputs = Object.freeze(infos.inputs.map((info) => publicValue(info, dims)));
    this.outputs = Object.freeze(infos.outputs.map((info) => publicValue(info, dims)));
    this.programs = new OnnxPrograms(device, model.memory, (feeds, memory, takesBothBranches, known) => this.record(feeds, memory, takesBothBranches, known));
  }

  /**
   * The outputs as recipes over tensors, to go on computing with: in a program, or with derivatives. An input may be numbers, too: those that decide
   * shapes or conditions must be, as the graph is recorded for them. Throws 'invalid-argument' for inputs of another type or shape, and with node and
   * operator for what a node does not take; 'limit-exceeded' for loops that are too long; 'disposed'.
   */
  recipe(feeds: { readonly [name: string]: Tensor | OnnxFeed }): Record<string, Tensor> {
    this.check();
    checkNames('recipe: feeds', feeds, this.inputs);
    const tensors = this.inputs.filter(({ name }) => feeds[name] instanceof Tensor);
    for (const input of tensors) checkTensor(`recipe: feeds.${input.name}`, input, feeds[input.name] as Tensor);
    const others = this.inputs.filter((input) => !tensors.includes(input));
    const given = new Map<string, Tensor | Host>(tensors.map(({ name }) => [name, feeds[name] as Tensor]));
    for (const sized of sizedFeeds('recipe: feeds', feeds, others)) {
      const { input, sizes, feed } = sized;
      given.set(input.name, hostOf(sized) ?? this.device.tensor(feed as Numeric, sizes, input.dtype));
    }
    return this.record(given, this.model.memory);
  }

  /**
   * Computes the outputs. A feed is a stored tensor, `{ data, shape }`, or numbers alone where the shape of the input follows. The first run with sizes
   * compiles a program for them, which later runs use: those of the last 8 sets of sizes are kept. The outputs belong to that program: the next run with
   * the same sizes writes over them, after the reads that were asked for before it. Rejects as recipe() throws, and as `Device.compile` and `Program.run` do.
   */
  async run(feeds: { readonly [name: string]: OnnxFeed }): Promise<Record<string, StoredTensor>> {
    this.check();
    checkNames('run: feeds', feeds, this.inputs);
    return this.programs.run(sizedFeeds('run: feeds', feeds, this.inputs));
  }

  /** Frees the constants and the programs, with their outputs. A second call does nothing. */
  dispose(): void {
    if (this.isDisposed) return;
    this.isDisposed = true;
    this.programs.dispose();
    this.model.memory.dispose();
  }

  /** What JSON.stringify writes: inputs and outputs. */
  toJSON(): { inputs: readonly OnnxValue[]; outputs: readonly OnnxValue[] } {
    return { inputs: this.inputs, outputs: this.outputs };
  }

  private check(): void {
    if (this.isDisposed) throw new ResiduaError('disposed', 'OnnxModel: got a call after dispose()');
  }

  private record(feeds: ReadonlyMap<string, Tensor | Host>, memory: ConstantMemory, takesBothBranches = true, known: ReadonlyMap<string, Host> = new Map()): Record<string, Tensor> {
    const scope = new Scope(this.constants);
    for (const info of this.infos.inputs) {
      const feed = feeds.get(info.name) as Tensor | Host;
      const origins = new Set([info.name]);
      scope.set(info.name, feed instanceof Tensor ? Value.ofTensor(feed, typeOfInput(info, feed.dtype), origins) : Value.ofHost(feed, typeOfInput(info, 'f32'), origins));
    }
    new Recording({ ...this.model, memory }, takesBothBranches, known).nodes({ nodes: this.nodes, initializers: [] }, scope);
    return Object.fromEntries(this.infos.outputs.map(({ name }) => [name, output(this.model, scope, name).tensor(memory)]));
  }
}

makeDisposable(OnnxModel);
makeInspectable(OnnxModel, 'OnnxModel');

function output({ call }: Model, scope: Scope, name: string): Value {
  const value = scope.get(name);
  if (value === undefined) throw invalidArgument(`${call}: output`, describe(name), 'the name of an output of a node');
  return value;
}

function checkTensor(place: string, { dtype, shape }: OnnxValue, tensor: Tensor): void {
  const takes = `${dtype} [${shape?.map((size) => (typeof size === 'object' ? size.name : size === '' ? '?' : size)).join(', ') ?? '…'}]`;
  const fits = shape === null || (shape.length === tensor.rank && shape.every((size, axis) => typeof size !== 'number' || tensor.shape[axis] === size));
  if (tensor.dtype !== dtype || !fits) throw invalidArgument(place, String(tensor), `a tensor of ${takes}`);
}

/**
 * Loads a model of ONNX with operators of versions 13 to 22, and of others as far as they are the same. Its bytes are read as they arrive, and large
 * initializers go to the device at once. What depends on constants alone is computed once.
 *
 * Rejects with 'invalid-argument' for a file that is no model of ONNX, is damaged, or has operators, types or attributes that are not taken: the message
 * has the node, its operator with the version, and what is taken. With 'limit-exceeded', 'out-of-memory', 'aborted'.
 */
export async function loadOnnx(source: FileSource, options: OnnxOptions = {}): Promise<OnnxModel> {
  const call = 'loadOnnx';
  checkOptions(`${call}: options`, options, OPTIONS);
  const { device, dims = {}, external, onProgress, signal } = options;
  checkDims(`${call}: dims`, dims);
  checkSignal(`${call}: signal`, signal);
  if (external !== undefined && typeof external !== 'function') throw invalidArgument(`${call}: external`, describe(external), 'a function of the name of a file');
  const given = { ...(device && { device }), ...(onProgress && { onProgress }), ...(signal && { signal }) };
  return load(call, source, given, async (work) => {
    const file = await readModel(work, external, signal);
    const functions = functionsByName(file.functions);
    checkOperators(call, file.graph, file.opsets, functions);
    const memory = new ConstantMemory(work.device);
    for (const { stored } of file.graph.initializers) if (stored !== null) memory.keep(stored);
    try {
      return await prepared({ call, memory, opsets: file.opsets, functions }, file, work.device, dims);
    } catch (error) {
      memory.dispose();
      throw error;
    }
  });
}

/** Computes what depends on constants alone, and makes the model of the rest. */
async function prepared(model: Model, { graph }: ModelProto, device: Device, dims: Dims): Promise<OnnxModel> {
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
  return new OnnxModel(device, model, { inputs, outputs: graph.outputs }, constants, rest, dims);
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
