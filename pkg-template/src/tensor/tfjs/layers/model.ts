/** Translates a Layers model: the calls of its layers become nodes, each after those that it takes values of. */

import { describe, invalidArgument, ResiduaError } from '../../../arguments/errors.js';
import { typeNamed } from '../../onnx/element-types.js';
import type { FileTensor, GraphProto, ValueInfo } from '../../onnx/model.js';
import { GraphBuilder } from '../builder.js';
import { Fields } from '../fields.js';
import { LayerCall, WeightTable, type Layer, type Ranked, type Scope } from './call.js';
import { withMask } from './masks.js';
import { LAYERS, MODELS } from './table.js';

/** How deep models and wrappers stand in one another, at most. */
const MOST_DEPTH = 16;

/** Calls of layers at most; a model that is called twice calls its layers twice. */
const MOST_CALLS = 20_000;

/** A layer of a model with the calls of it: what each takes. */
interface Entry {
  readonly name: string;
  readonly kind: string;
  readonly config: Fields;
  readonly model: LayersModel | null;
  readonly calls: readonly (readonly Reference[])[];
}

/** An output of a call of a layer. */
interface Reference {
  readonly layer: string;
  readonly call: number;
  readonly output: number;
}

/** A model: its layers, and which outputs of them are its own inputs and outputs. */
interface LayersModel {
  readonly place: string;
  readonly entries: readonly Entry[];
  readonly inputs: readonly Reference[];
  readonly outputs: readonly Reference[];
}

/** Reads the topology, and returns what makes a graph of it once the weights are there. */
export function readLayersModel(topology: Fields): (weights: ReadonlyMap<string, FileTensor>) => GraphProto {
  const top = topology.has('model_config') ? topology.object('model_config') : topology;
  const kind = top.choice('class_name', MODELS);
  const unknown: string[] = [];
  const model = readModel(top.place, kind, Fields.of(top.place, settings(top)), unknown, 0);
  if (unknown.length > 0) {
    const more = unknown.length > 8 ? ` and ${unknown.length - 8} more` : '';
    throw invalidArgument(top.place, `${unknown.slice(0, 8).join(', ')}${more}`, `the layers ${Object.keys(LAYERS).join(', ')}`);
  }
  return (weights) => translated(model, new WeightTable(weights));
}

/** The settings of a model: old files have the list of layers alone. */
function settings(model: Fields): unknown {
  const value = model.any('config');
  return Array.isArray(value) ? { layers: value } : value;
}

function readModel(place: string, kind: string, config: Fields, unknown: string[], depth: number): LayersModel {
  if (depth > MOST_DEPTH) throw new ResiduaError('limit-exceeded', `${place}: got models within models; takes ${MOST_DEPTH} levels at most`);
  const layers = config.objects('layers');
  const entries = layers.map((layer) => readEntry(place, layer, unknown, depth, kind === 'Sequential'));
  const names = new Set<string>();
  for (const { name } of entries) {
    if (names.has(name)) throw invalidArgument(place, `two layers ${describe(name)}`, 'each name once');
    names.add(name);
  }
  if (kind === 'Sequential') return inSequence(place, config, entries);
  const references = (name: string) => referencesOf(config.place, config.list(name));
  const outputs = references('output_layers');
  const numbered = counted(entries, outputs);
  return { place, entries: entries.map((entry) => ({ ...entry, calls: entry.calls.map((call) => call.map(numbered)) })), inputs: references('input_layers'), outputs: outputs.map(numbered) };
}

function readEntry(place: string, layer: Fields, unknown: string[], depth: number, isInSequence: boolean): Entry {
  const kind = layer.text('class_name');
  const settingsOf = Fields.of(`${layer.place}: config`, settings(layer));
  const name = layer.has('name') ? layer.text('name') : settingsOf.text('name');
  const config = Fields.of(`${place.split(':')[0]}: layer ${describe(name)} (${kind})`, settings(layer));
  const isModel = MODELS.includes(kind);
  if (!isModel && kind !== 'InputLayer' && !Object.hasOwn(LAYERS, kind)) unknown.push(`layer ${describe(name)} (${kind})`);
  if (config.has('layer')) checkWrapped(config.object('layer'), unknown, depth + 1);
  const calls = isInSequence ? [] : layer.list('inbound_nodes', []).map((call) => callOf(config.place, call));
  return { name, kind, config, model: isModel ? readModel(config.place, kind, config, unknown, depth + 1) : null, calls };
}

/** Notes classes within wrappers that are not taken. */
function checkWrapped(layer: Fields, unknown: string[], depth: number): void {
  if (depth > MOST_DEPTH) throw new ResiduaError('limit-exceeded', `${layer.place}: got layers within layers; takes ${MOST_DEPTH} levels at most`);
  const kind = layer.text('class_name');
  if (MODELS.includes(kind)) return;
  if (!Object.hasOwn(LAYERS, kind)) unknown.push(`${layer.place.replace(/^\w+: /, '')} (${kind})`);
  const config = layer.object('config');
  if (config.has('layer')) checkWrapped(config.object('layer'), unknown, depth + 1);
}

/** What a call of a layer takes: a list of references, or in newer files tensors among arguments. */
function callOf(place: string, call: unknown): Reference[] {
  if (Array.isArray(call)) return referencesOf(place, call);
  const fields = Fields.of(`${place}: inbound_nodes`, call);
  checkArguments(place, fields.any('kwargs'));
  return fields.list('args').flat().map((each) => referenceOf(place, Fields.of(fields.place, each).object('config').list('keras_history')));
}

/** Throws 'invalid-argument' for arguments of a call beside its tensors, unless they say nothing. */
function checkArguments(place: string, values: unknown): void {
  if (typeof values !== 'object' || values === null) return;
  for (const [name, value] of Object.entries(values)) {
    if (value !== null && value !== false) throw invalidArgument(`${place}: argument ${describe(name)} of a call`, describe(value), 'none, or false');
  }
}

/** References in a list, or one. */
function referencesOf(place: string, list: readonly unknown[]): Reference[] {
  return (typeof list[0] === 'string' ? [list] : list).map((each) => referenceOf(place, each));
}

function referenceOf(place: string, value: unknown): Reference {
  const [layer, call, output, settingsOfCall] = Array.isArray(value) ? (value as unknown[]) : [];
  const isPlace = (each: unknown): each is number => typeof each === 'number' && Number.isSafeInteger(each) && each >= 0;
  if (typeof layer !== 'string' || !isPlace(call) || !isPlace(output)) throw invalidArgument(`${place}: reference`, describe(value), '[layer, number of the call, number of the output]');
  checkArguments(place, settingsOfCall);
  return { layer, call, output };
}

/** References with calls counted from 0. A model as a layer was called once before, when it was made: its calls count from 1 where nothing names call 0. */
function counted(entries: readonly Entry[], outputs: readonly Reference[]): (reference: Reference) => Reference {
  const models = new Set(entries.filter(({ model }) => model !== null).map(({ name }) => name));
  const all = [...entries.flatMap(({ calls }) => calls.flat()), ...outputs];
  const fromZero = new Set(all.filter(({ call }) => call === 0).map(({ layer }) => layer));
  return (reference) => (models.has(reference.layer) && reference.call > 0 && !fromZero.has(reference.layer) ? { ...reference, call: reference.call - 1 } : reference);
}

/** Layers one after another; the first has the shape of the input, unless it is an input. */
function inSequence(place: string, config: Fields, entries: readonly Entry[]): LayersModel {
  const [first] = entries;
  if (first === undefined) throw config.wrong('layers', [], 'at least one layer');
  const to = (name: string): Reference => ({ layer: name, call: 0, output: 0 });
  const hasInput = first.kind === 'InputLayer';
  const input: Entry = hasInput ? first : { name: first.model?.inputs[0]?.layer ?? `${first.name}_input`, kind: 'InputLayer', config: inputSettings(config, first), model: null, calls: [] };
  const rest = hasInput ? entries.slice(1) : entries;
  const chained = rest.map((entry, k) => ({ ...entry, calls: [[to(rest[k - 1]?.name ?? input.name)]] }));
  return { place, entries: [input, ...chained], inputs: [to(input.name)], outputs: [to(chained.at(-1)?.name ?? input.name)] };
}

/** The settings of the input of a first layer. */
function inputSettings(config: Fields, first: Entry): Fields {
  const [inner] = first.model === null ? [] : first.model.inputs;
  const own = inner === undefined ? first.config : (first.model?.entries.find(({ name }) => name === inner.layer)?.config ?? first.config);
  return own.has('batch_input_shape') || own.has('batch_shape') || !config.has('build_input_shape') ? own : own.with({ batch_input_shape: config.any('build_input_shape') });
}

const DTYPES: Readonly<Record<string, string>> = { float32: 'float', float16: 'float', mixed_float16: 'float', int32: 'int32', int64: 'int32', uint8: 'uint8', bool: 'bool' };

/** An input of the model. A batch that is open is named 'batch', another open size by its input and axis. */
function inputInfo({ name, config }: Entry): ValueInfo {
  const setting = config.has('batch_input_shape') ? 'batch_input_shape' : 'batch_shape';
  const shape = config.list(setting).map((size, axis) => {
    if (size === null) return axis === 0 ? 'batch' : `${name}.${axis}`;
    if (!Number.isSafeInteger(size) || (size as number) < 0) throw config.wrong(setting, config.any(setting), 'whole numbers or null');
    return size as number;
  });
  const given = config.any('dtype');
  const dtype = typeof given === 'string' ? given : 'float32';
  if (!Object.hasOwn(DTYPES, dtype)) throw config.wrong('dtype', dtype, Object.keys(DTYPES).join(', '));
  return { name, type: typeNamed(DTYPES[dtype] as string), shape };
}

function translated(model: LayersModel, weights: WeightTable): GraphProto {
  const inputs = model.inputs.map(({ layer }) => {
    const entry = model.entries.find(({ name, kind }) => name === layer && kind === 'InputLayer');
    if (entry === undefined) throw invalidArgument(`${model.place}: input_layers`, describe(layer), 'the name of an InputLayer');
    return inputInfo(entry);
  });
  const outputs = outputNames(model);
  const builder = new GraphBuilder(new Set([...inputs.map(({ name }) => name), ...outputs]));
  const values = new Translation(builder, weights).model(model, inputs.map(({ name, shape }) => ({ name, rank: shape?.length ?? 0 })), []);
  const taken = new Set(inputs.map(({ name }) => name));
  builder.where = 'outputs';
  values.forEach(({ name }, k) => {
    if (!taken.has(outputs[k] as string)) builder.node('Identity', [name], {}, outputs[k] as string);
  });
  // The first axis is the batch; other sizes follow once those of the inputs are told.
  const shapeOf = ({ rank }: Ranked) => Array.from({ length: rank }, (_, axis) => (axis === 0 ? (inputs[0]?.shape?.[0] ?? '') : ''));
  return { nodes: builder.nodes, initializers: builder.initializers, inputs, outputs: outputs.map((name, k) => ({ name, type: null, shape: shapeOf(values[k] as Ranked) })) };
}

/** Outputs have the names of their layers; further ones of a layer have a number. */
function outputNames({ outputs }: LayersModel): string[] {
  const used = new Set<string>();
  return outputs.map(({ layer }) => {
    let name = layer;
    for (let k = 1; used.has(name); k++) name = `${layer}:${k}`;
    used.add(name);
    return name;
  });
}

/** One translation: it counts the calls of layers. */
class Translation {
  private count = 0;

  constructor(
    private readonly builder: GraphBuilder,
    private readonly weights: WeightTable,
  ) {}

  /** The outputs of a model that is called with inputs. */
  model({ place, entries, inputs, outputs }: LayersModel, given: readonly Ranked[], models: readonly string[]): Ranked[] {
    this.checkCount(place);
    if (given.length !== inputs.length) throw invalidArgument(`${place}: inputs`, `${given.length} tensors`, `${inputs.length}`);
    const values = new Map<string, Ranked>();
    /** Calls that wait for a value, by that value. */
    const waiting = new Map<string, Waiting[]>();
    const ready: Waiting[] = [];
    const set = (reference: Reference, value: Ranked) => {
      const key = keyOf(reference);
      values.set(key, value);
      const next = waiting.get(key) ?? [];
      waiting.delete(key);
      for (const each of next) attend(each);
    };
    const attend = (each: Waiting) => {
      const missing = each.references.find((reference) => !values.has(keyOf(reference)));
      if (missing === undefined) {
        ready.push(each);
        return;
      }
      const others = waiting.get(keyOf(missing));
      if (others === undefined) waiting.set(keyOf(missing), [each]);
      else others.push(each);
    };
    inputs.forEach((reference, k) => set(reference, given[k] as Ranked));
    for (const entry of entries) entry.calls.forEach((references, call) => attend({ entry, references, call }));
    for (let k = 0; k < ready.length; k++) {
      const { entry, references, call } = ready[k] as Waiting;
      const found = this.call(entry, references.map((reference) => values.get(keyOf(reference)) as Ranked), models);
      found.forEach((value, output) => set({ layer: entry.name, call, output }, value));
    }
    return outputs.map((reference) => {
      const value = values.get(keyOf(reference));
      if (value === undefined) throw invalidArgument(`${place}: output_layers`, `output ${reference.output} of call ${reference.call} of ${describe(reference.layer)}`, 'outputs of calls whose inputs there are');
      return value;
    });
  }

  private checkCount(place: string): void {
    if (++this.count > MOST_CALLS) throw new ResiduaError('limit-exceeded', `${place}: got more than ${MOST_CALLS} calls of layers; takes so many at most`);
  }

  private call(entry: Entry, inputs: readonly Ranked[], models: readonly string[]): readonly Ranked[] {
    return entry.model === null ? this.layer(entry, inputs, { models, layer: entry.name, wrapped: [] }) : this.model(entry.model, inputs, [...models, entry.name]);
  }

  private layer({ name, kind, config }: Entry, inputs: readonly Ranked[], scope: Scope): readonly Ranked[] {
    this.checkCount(config.place);
    if (!Object.hasOwn(LAYERS, kind)) throw invalidArgument(config.place, 'a layer that is not taken here', `the layers ${Object.keys(LAYERS).join(', ')}`);
    const outer = this.builder.where;
    this.builder.where = `${name} (${kind})`;
    try {
      const found = (LAYERS[kind] as Layer)(new LayerCall(this.builder, config, inputs, this.weights, scope, (layer, around, given) => this.wrapped(layer, around, given)));
      return withMask(kind, config.place, inputs, 'rank' in found ? [found] : found);
    } finally {
      this.builder.where = outer;
    }
  }

  /** Applies the layer of a wrapper. */
  private wrapped(layer: Fields, around: Scope, inputs: readonly Ranked[]): readonly Ranked[] {
    const depth = around.models.length + around.wrapped.length;
    const entry = readEntry(layer.place, layer, [], depth, true);
    if (entry.model !== null) return this.model(entry.model, inputs, [...around.models, around.layer, ...around.wrapped, entry.name]);
    return this.layer(entry, inputs, { ...around, wrapped: [...around.wrapped, entry.name] });
  }
}

/** A call of a layer that waits for its inputs. */
interface Waiting {
  readonly entry: Entry;
  readonly references: readonly Reference[];
  readonly call: number;
}

const keyOf = ({ layer, call, output }: Reference) => `${output} ${call} ${layer}`;
