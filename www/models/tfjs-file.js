/**
 * What a model of TensorFlow.js has, for the page that shows it: layers or nodes, weights, outputs, so that models of a part can be made. The package reads
 * models by itself; this knows no layer and no operator.
 */

import { joined } from './onnx-file.js';

const encoder = new TextEncoder();
const MODELS = ['Model', 'Functional', 'Sequential'];
const BYTES = { float32: 4, int32: 4, bool: 1, uint8: 1, uint16: 2, float16: 2, complex64: 8 };
const DTYPES = { f32: 'float32', f16: 'float32', i32: 'int32', u32: 'int32', u8: 'int32', bool: 'bool' };
const CODES = { float32: 'DT_FLOAT', int32: 'DT_INT32', bool: 'DT_BOOL' };

/** Whether bytes are those of a model.json. */
export const isJson = (bytes) => /^\s*\{/.test(new TextDecoder().decode(bytes.subarray(0, 64)));

/** A model as files: its JSON, and its weights by their paths. */
const filesOf = (json, weights) => ({ json: encoder.encode(JSON.stringify(json)), weights });

/**
 * Reads a model. `nodes` are its layers or nodes, each with the values that it takes and gives; `allOutputs()` and `ofNode(node, inputs)` are models of it,
 * `{ json, weights }`. Throws a RangeError where it is none.
 * @param {Uint8Array} bytes
 * @param {(path: string) => Promise<Uint8Array> | Uint8Array} fileAt
 */
export async function readTfjs(bytes, fileAt) {
  let json;
  try {
    json = JSON.parse(new TextDecoder().decode(bytes));
  } catch (error) {
    throw new RangeError(`the file is no JSON: ${error.message}`);
  }
  const topology = json.modelTopology;
  if (topology === null || typeof topology !== 'object') throw new RangeError('the file has no modelTopology');
  const store = await readWeights(json.weightsManifest ?? [], fileAt);
  const read = Array.isArray(topology.node) ? graphOf(json, store) : layersOf(json, store);
  const producer = [json.format, json.convertedBy ?? json.generatedBy].filter(Boolean).join(', ');
  return { ...read, initializers: store.specs, types: new Map(), opsets: [], producer, whole: { json: bytes, weights: (path) => store.files.get(path) }, weightBytes: store.total };
}

async function readWeights(manifest, fileAt) {
  const [specs, files, parts] = [new Map(), new Map(), new Map()];
  let total = 0;
  for (const { paths, weights } of manifest) {
    const pieces = [];
    for (const path of paths) {
      const piece = await fileAt(path);
      files.set(path, piece);
      pieces.push(piece);
    }
    const all = joined(pieces);
    total += all.length;
    let at = 0;
    for (const spec of weights) {
      const count = spec.shape.reduce((product, size) => product * size, 1);
      const length = count * (BYTES[spec.quantization?.dtype ?? spec.dtype] ?? NaN);
      if (!(at + length <= all.length)) throw new RangeError(`the weight ${spec.name} ends beyond its files`);
      specs.set(spec.name, spec);
      parts.set(spec.name, all.subarray(at, (at += length)));
    }
  }
  return { specs, files, total, only: (names) => ({ manifest: [{ paths: ['part'], weights: names.map((name) => specs.get(name)) }], bytes: joined(names.map((name) => parts.get(name))) }) };
}

// ---------------------------------------------------------------- Layers models

const configOf = (model) => (Array.isArray(model.config) ? { layers: model.config } : model.config);
const nameOf = (layer) => layer.name ?? layer.config.name;

/** The name of a model's first input. */
function inputName(model) {
  const { layers, input_layers: inputs } = configOf(model);
  if (inputs !== undefined) return typeof inputs[0] === 'string' ? inputs[0] : inputs[0][0];
  const [first] = layers;
  if (first.class_name === 'InputLayer') return nameOf(first);
  return MODELS.includes(first.class_name) ? inputName(first) : `${nameOf(first)}_input`;
}

/** A model whose layers name what they take; layers one after another become such a model. */
function functional(model) {
  const config = configOf(model);
  if (model.class_name !== 'Sequential') return config;
  const [first] = config.layers, name = inputName(model), hasInput = first.class_name === 'InputLayer';
  const own = { ...first.config, batch_input_shape: first.config.batch_input_shape ?? first.config.batch_shape ?? config.build_input_shape ?? innerShape(first) };
  const input = hasInput ? first : { class_name: 'InputLayer', name, config: { name, batch_input_shape: own.batch_input_shape, dtype: own.dtype }, inbound_nodes: [] };
  let before = name;
  const rest = (hasInput ? config.layers.slice(1) : config.layers).map((layer) => {
    const chained = { ...layer, name: nameOf(layer), inbound_nodes: [[[before, 0, 0, {}]]] };
    before = chained.name;
    return chained;
  });
  return { name: config.name ?? 'model', layers: [{ ...input, name, inbound_nodes: [] }, ...rest], input_layers: [[name, 0, 0]], output_layers: [[before, 0, 0]] };
}

const innerShape = (layer) => (MODELS.includes(layer.class_name) ? functional(layer).layers.find(({ class_name: kind }) => kind === 'InputLayer')?.config.batch_input_shape : undefined);

const references = (list) => (typeof list[0] === 'string' ? [list] : list).map(([layer, call, output]) => ({ layer, call, output }));

/** What a call of a layer takes: a list, or in newer files tensors among arguments. */
function takenBy(call) {
  if (Array.isArray(call)) return references(call);
  return call.args.flat().map(({ config }) => references([config.keras_history])[0]);
}

function layersOf(json, store) {
  const top = json.modelTopology.model_config ?? json.modelTopology;
  const config = functional(top);
  const calls = config.layers.flatMap((layer) => (layer.inbound_nodes ?? []).map((call, number) => ({ layer, number, takes: takenBy(call) })));
  const outputs = references(config.output_layers);
  const referred = [...calls.flatMap(({ takes }) => takes), ...outputs];
  // A model as a layer was called once before: its calls may count from 1.
  const offsets = new Map(config.layers.map((layer) => {
    const own = referred.filter(({ layer: name }) => name === nameOf(layer));
    return [nameOf(layer), MODELS.includes(layer.class_name) && own.length > 0 && own.every(({ call }) => call > 0) ? 1 : 0];
  }));
  const inputs = new Set(config.layers.filter(({ class_name: kind }) => kind === 'InputLayer').map(nameOf));
  const keyOf = ({ layer, call, output }) => `${output} ${call} ${layer}`;
  // Values have the names that the package gives outputs: that of the layer, and further ones a number.
  const [names, all] = [new Map(), []];
  const nameFor = (reference) => {
    if (inputs.has(reference.layer)) return reference.layer;
    const key = keyOf(reference);
    if (!names.has(key)) {
      const used = new Set(names.values());
      let name = reference.layer;
      for (let k = 1; used.has(name); k++) name = `${reference.layer}:${k}`;
      names.set(key, name);
      all.push(reference);
    }
    return names.get(key);
  };
  const nodes = calls.map(({ layer, number, takes }) => {
    const call = number + offsets.get(nameOf(layer));
    const given = new Set([0, ...referred.filter((each) => each.layer === nameOf(layer) && each.call === call).map(({ output }) => output)]);
    return { name: nameOf(layer), operator: layer.class_name, domain: '', layer, inputs: takes.map(nameFor), takes: [...new Set(takes.map(nameFor))], outputs: [...given].map((output) => nameFor({ layer: nameOf(layer), call, output })) };
  });
  const modelOf = (layers, inputLayers, outputLayers) => ({ format: 'layers-model', modelTopology: { class_name: 'Model', config: { name: config.name ?? 'model', layers, input_layers: inputLayers, output_layers: outputLayers } } });
  const weightsOf = (layer) => {
    const names = [...store.specs.keys()];
    const within = names.filter((name) => `/${name}`.includes(`/${nameOf(layer)}/`));
    return MODELS.includes(layer.class_name) || layer.config.layer !== undefined ? names : within;
  };
  return {
    nodes, outputs: outputs.map(nameFor), constants: new Set(),
    allOutputs: () => filesOf({ ...modelOf(config.layers, config.input_layers, all.map(({ layer, call, output }) => [layer, call, output])), weightsManifest: json.weightsManifest }, (path) => store.files.get(path)),
    ofNode: (node, given) => {
      const names = new Map(given.map(({ name }, k) => [name, `given${k}`]));
      const layers = given.map(({ name, dtype, sizes }) => ({ class_name: 'InputLayer', name: names.get(name), config: { name: names.get(name), batch_input_shape: sizes, dtype: DTYPES[dtype] ?? 'float32' }, inbound_nodes: [] }));
      const layer = { ...node.layer, name: node.name, inbound_nodes: [node.inputs.map((name) => [names.get(name), 0, 0, {}])] };
      const { manifest, bytes } = store.only(weightsOf(node.layer));
      const ends = given.map(({ name }) => [names.get(name), 0, 0]);
      return { names, files: filesOf({ ...modelOf([...layers, layer], ends, [[node.name, 0, 0]]), weightsManifest: manifest }, () => bytes) };
    },
  };
}

// ---------------------------------------------------------------- graph models

/** The node and the value of an input: `a` and `a:0` are one. */
const valueName = (input) => input.replace(/:0$/, '');
const nodeName = (value) => value.replace(/:\d+$/, '');

function graphOf(json, store) {
  const { node: all, library, versions } = json.modelTopology;
  const byName = new Map(all.map((node) => [node.name, node]));
  const taken = (node) => (node.input ?? []).filter((input) => !input.startsWith('^')).map(valueName);
  const signature = json.signature ?? json.userDefinedMetadata?.signature;
  const ends = Object.values(signature?.outputs ?? {}).map(({ name }) => valueName(name));
  const everywhere = new Set(all.flatMap((node) => taken(node).map(nodeName)));
  const outputs = ends.length > 0 ? ends : all.filter(({ name, op }) => !everywhere.has(name) && !['Placeholder', 'Const', 'NoOp'].includes(op)).map(({ name }) => name);
  const ordered = inOrder(byName, outputs.map(nodeName), taken);
  const used = new Set([...ordered.flatMap(taken), ...outputs]);
  const isValue = ({ op }) => !['Placeholder', 'Const', 'NoOp'].includes(op);
  const nodes = ordered.filter(isValue).map((node) => {
    const more = [...used].filter((value) => value !== node.name && nodeName(value) === node.name);
    return { name: node.name, operator: node.op, domain: '', node, inputs: taken(node), takes: [...new Set(taken(node))], outputs: [node.name, ...more] };
  });
  const constants = new Set(ordered.filter(({ op }) => op === 'Const').map(({ name }) => name));
  for (const { takes, outputs: given } of nodes) if (takes.every((name) => constants.has(name))) for (const name of given) constants.add(name);
  const modelOf = (node, outputNames) => ({
    format: 'graph-model', modelTopology: { node, ...(library && { library }), ...(versions && { versions }) },
    signature: { ...(signature?.inputs && node === all ? { inputs: signature.inputs } : {}), outputs: Object.fromEntries(outputNames.map((name, k) => [`o${k}`, { name: name.includes(':') ? name : `${name}:0` }])) },
  });
  const isFixed = (name) => byName.get(name)?.op === 'Const';
  return {
    nodes, outputs, constants,
    allOutputs: () => filesOf({ ...modelOf(all, nodes.flatMap((node) => node.outputs)), weightsManifest: json.weightsManifest }, (path) => store.files.get(path)),
    ofNode: (node, given) => {
      const names = new Map(given.map(({ name }, k) => [name, `given${k}`]));
      const placeholders = given.map(({ name, dtype, sizes }) => ({ name: names.get(name), op: 'Placeholder', attr: { dtype: { type: CODES[DTYPES[dtype] ?? 'float32'] }, shape: { shape: { dim: sizes.map((size) => ({ size: String(size) })) } } } }));
      const fixed = node.takes.filter((name) => isFixed(name) && !names.has(name));
      // Functions have constants of their own.
      const ofFunctions = library === undefined ? [] : [...store.specs.keys()].filter((name) => !byName.has(name));
      const { manifest, bytes } = store.only([...fixed.filter((name) => store.specs.has(name)), ...ofFunctions]);
      const own = { ...node.node, input: node.inputs.map((name) => names.get(name) ?? name) };
      return { names, files: filesOf({ ...modelOf([...placeholders, ...fixed.map((name) => byName.get(name)), own], [node.name]), weightsManifest: manifest }, () => bytes) };
    },
    isFixed,
  };
}

/** The nodes that outputs depend on, each after those that it takes values of. */
function inOrder(byName, roots, taken) {
  const [found, seen] = [[], new Set()];
  const waiting = roots.map((name) => ({ name, isLeft: false })).reverse();
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const node = byName.get(next.name);
    if (node === undefined) throw new RangeError(`the graph has no node ${next.name}`);
    if (next.isLeft) found.push(node);
    else if (!seen.has(next.name)) {
      seen.add(next.name);
      waiting.push({ name: next.name, isLeft: true }, ...taken(node).map((value) => ({ name: nodeName(value), isLeft: false })).reverse());
    }
  }
  return found;
}
